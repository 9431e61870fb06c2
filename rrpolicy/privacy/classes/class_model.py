"""The base of privacy models of equivalence classes: a model states only its options, formula and words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.canonical_json import Value, exact
from rrpolicy.channels.base import Axis, Layout
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import UNCHECKED, Basis, Companion, Finding, Measure, Risk, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.plugin_errors.type_checks import plugin_contract_error
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.classes.class_population import COUNTED
from rrpolicy.privacy.classes.grouping import (
    CLASS_CHANNELS,
    DETERMINISTIC_AXES,
    ClassChannel,
    equivalence_classes,
    written_classes,
)
from rrpolicy.privacy.model import Assessor, Order, PerClass, Written, conclude, subgroup_obstacle

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask
    from rrpolicy.privacy.classes.unit_classes import UnitClasses
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)
SensitiveAttributes: TypeAlias = Annotated[
    tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")
]
NULLS = (
    "A missing value counts as a separate value: records that lack a quasi-identifier agree with each other in it, "
    "and a missing sensitive value is one more sensitive value."
)
CLASS_ADVERSARY = (
    "Knows that a person is in the table, their quasi-identifiers and everything else that is released but the "
    "sensitive attributes, and reads the records that agree."
)
UNIT_ADVERSARY = (
    "Knows that a unit of protection is in the table, and of all its records the quasi-identifiers and everything else "
    "that is released but the sensitive attributes; reads the records that agree."
)
POPULATION_ADVERSARY = (
    "Knows that the person is in the population, not whether in the table, and everything that makes a class."
)
DRAWN = "the chance of an attacker who draws one of the records that agree with a person's, each equally likely"
SHARE = "largest within-class share"
READ = "the largest share of a value in a class, which guessing the commonest value of a person's class attains"
ALIKE = "people in whose class everybody has the same value"
SUPPRESSED = (
    "Records whose quasi-identifiers are all suppressed are in no class, and the requirement does not cover them."
)


class ClassOptions(BaseModel):
    """Keys of a [[privacy]] entry of a model of equivalence classes; the first is the limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def limit(self) -> Fraction:
        """Return the limit of the achieved number."""
        return Fraction(getattr(self, next(iter(type(self).model_fields))))


class ClassOutcome(Struct, frozen=True):
    """The result for one sensitive attribute, or for class sizes.

    Attributes:
        attribute: the sensitive attribute; "" for class sizes.
        achieved: the number of the worst class concerned.
        passes: (classes,) which satisfy the limit; None without a limit.
    """

    attribute: str
    achieved: Measure
    passes: Mask | None


class ModelWording(Struct, frozen=True):
    """The words of a model for its number.

    Attributes:
        quantity: its name, such as `entropy l`.
        meaning: its meaning, in a sentence.
        least: whether the least is the worst.
    """

    quantity: str
    meaning: str
    least: bool = False


class Protected(Struct, frozen=True):
    """A sensitive column whose values are counted in classes.

    Attributes:
        name: name of the column.
        ordered: whether its values have an order, which is that of the histograms.
        hierarchy: the levels of its values, level 0 first; None without one.
        unlisted: the number of its values outside the declared domain; these have no place in either.
    """

    name: str
    ordered: bool = False
    hierarchy: Sequence[Sequence[Value]] | None = None
    unlisted: int = 0

    @classmethod
    def of(cls, attribute: Attribute, name: str = "", unlisted: int = 0) -> Protected:
        """Return an attribute with a domain, in the table's column of the given name if that differs."""
        ordered = attribute.scale != "nominal" or attribute.bins is not None
        return cls(name or attribute.name, ordered, attribute.hierarchy, unlisted)


class ClassModel(Generic[Options]):
    """A privacy model of equivalence classes, for every channel and every table that has them.

    A model derives from it and states `words`, `achieved` and `classes_satisfying`. Every class is tested, by each
    sensitive attribute that an entry protects; options without `sensitive` test class sizes alone. The model then has
    an assessor on every kind of channel with classes, and `check-table` measures it.

    Attributes:
        name: see `PrivacyModel`.
        options: see `PrivacyModel`; with `limit`, and with `sensitive` if values are protected.
        reference: source of the formulas.
        words: wording of the limited number, if all options have the same; else `wording` returns them.
        asks: the option that a caller's threshold of that name sets, such as `k`; empty if it has no such option. The
            threshold is a line of `ClassLimits` in `rrpolicy/verb_options.py`.
        kind: the option that is part of a finding's name, such as `l-diversity/entropy`; empty if no option is.
        called: option -> the name of a caller's threshold where that differs.
        counted: for options that need a population: whether its people must be counted, so that no estimate decides.
        linking: whether a policy needs quasi-identifiers.
        by_units: whether it can be assessed over units of several records.
        adversary: see `Assessor`.
        estimates: see `Assessor`.
    """

    name: str
    options: type[Options]
    reference: str
    words: ModelWording
    asks: str = ""
    kind: str = ""
    called: Mapping[str, str] = MappingProxyType({})
    counted: bool = False
    linking: bool = False
    by_units: bool = True
    adversary: str = CLASS_ADVERSARY
    estimates: bool = False

    def wording(self, options: Options) -> ModelWording:
        """Return the words of the limited number; the limit itself is not read."""
        del options
        return self.words

    def achieved(self, options: Options, histograms: Histograms, among: Mask) -> Measure:
        """Return the number of the worst of some classes (classes,); the limit is not read."""
        del options, histograms, among
        raise plugin_contract_error(self, "is not defined, and its protocol requires it", "achieved")

    def classes_satisfying(self, options: Options, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy the options; an empty class does."""
        del options, histograms
        raise plugin_contract_error(self, "is not defined, and its protocol requires it", "classes_satisfying")

    def unlimited(self) -> Iterator[Options]:
        """Yield options of every kind, whose limits are not read, to measure classes without a limit."""
        if self.asks:
            yield self.options.model_validate({self.asks: 1})

    def monotone(self, options: Options) -> bool:
        """Return whether merging satisfying classes always satisfies the options."""
        del options
        return True

    def monotone_with_suppression(self, options: Options) -> bool:
        """Return whether this is also true if failing classes may be suppressed, or need not satisfy the options."""
        del options
        return False

    def lacks(self, options: Options, column: Protected) -> tuple[str, str] | None:
        """Return the missing property of a column for these options, and a hint; None if it has all."""
        del options, column
        return None

    def placed(self, options: Options) -> bool:
        """Return whether options need all values to be in the declared domain."""
        del options
        return False

    def least_size(self, options: Options) -> int:
        """Return the number of records that the options require in a class."""
        del options
        return 1

    def out_of_reach(self, options: Options, categories: int) -> tuple[str, str] | None:
        """Return a limit that no attribute with so many categories satisfies, and one that it may; None if it may."""
        del options, categories
        return None

    def describe_limit(self, options: Options) -> str:
        """Return the requirement in words, without the attributes that it protects."""
        words = self.wording(options)
        return f"{words.quantity} {'>=' if words.least else '<='} {exact(_limit(options))}"

    def strength(self, options: Options) -> tuple[Fraction | int, ...]:
        """Return numbers; a requirement with a greater one is stronger."""
        return (_limit(options) if self.wording(options).least else -_limit(options),)

    def incomparable(self, options: Options) -> tuple[object, ...]:
        """Return options that two requirements must share to be compared."""
        return (getattr(options, "sensitive", ()),)

    @property
    def protecting(self) -> bool:
        """Whether it protects sensitive values, and not class sizes alone."""
        return "sensitive" in self.options.model_fields

    def describe(self, options: Options) -> str:
        """Return the requirement in words, with the attributes where the entry names them."""
        named = getattr(options, "sensitive", ())
        return self.describe_limit(options) + (f" ({', '.join(named)})" if named else "")

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers, a size out of reach, and attributes that are not sensitive."""
        if self.linking and not policy.with_role(Role.QUASI_IDENTIFIER):
            return "the policy declares no quasi-identifier"
        k, least = self.least_size(options), policy.source.min_rows
        if least is not None and k > least:
            return (
                f"k = {k} is out of reach for a table of {least} records, which `min_rows` admits: set a k of at "
                f"most {least}, or release more records under a larger `min_rows`"
            )
        if not self.protecting:
            return None
        names = Requirement(self.name, options).protects(policy)
        reason = _not_sensitive_reason(names, policy)
        if reason is not None:
            return reason
        lacking = (self.lacks(options, Protected.of(policy.attributes[name])) for name in names)
        return next(("; ".join(words) for words in lacking if words is not None), None)

    def compare(self, old: Options, new: Options) -> Order:
        """Compare limits and kinds; requirements for other attributes are incomparable."""
        if self.incomparable(old) != self.incomparable(new):
            return Order.INCOMPARABLE
        pairs = zip(self.strength(old), self.strength(new), strict=True)
        return Order.together(*(Order.by(after - before) for before, after in pairs))

    def supports(self, requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Refuse randomised values, and subgroups by unknown attributes."""
        drawn = sorted({axis.kind for axis in axes if not issubclass(axis, DETERMINISTIC_AXES)})
        if drawn:
            return (
                f"{requirement.model} limits classes of equal released records, and class membership is known "
                f"only if nothing is randomised"
                f" ({', '.join(drawn)} axes are); use attribute-disclosure, "
                "identity-disclosure or pk-anonymity"
            )
        return subgroup_obstacle(requirement, subgroup_attributes(policy), "which does not identify a class")

    def layout(self, requirement: Requirement[Options], policy: Policy, axes: Layout) -> tuple[str, str] | None:
        """Refuse a limit that is out of reach for the number of categories of an attribute."""
        del axes
        for name in requirement.protects(policy):
            domain = policy.attributes[name].domain
            beyond = None if domain is None else self.out_of_reach(requirement.options, len(domain))
            if domain is not None and beyond is not None:
                reason = f"{beyond[0]} is out of reach: '{name}' has {len(domain)} categories"
                return reason, f"use {beyond[1]}, or leave '{name}' out of the entry's `sensitive`"
        return None

    def class_test(self, options: Options, column: Protected | None) -> Callable[[Histograms], Mask]:
        """Return the test of classes by their histograms of a column, or of their sizes without one."""
        del column
        return partial(self.classes_satisfying, options)

    def per_class(self, requirement: Requirement[Options], policy: Policy) -> tuple[PerClass, ...]:
        """Return the requirement on single classes, one for each attribute that it protects.

        It is not monotone if failing classes may be suppressed, or if classes without a record of the subgroup need
        not satisfy it: the remaining ones are then merged with others.
        """
        from rrpolicy.privacy.classes.histograms import Histograms

        options, where = requirement.options, requirement.where
        always = self.monotone_with_suppression(options)
        monotone = always or (self.monotone(options) and not where)

        def of_attribute(name: str | None) -> PerClass:
            fine = self.class_test(options, None if name is None else Protected.of(policy.attributes[name]))

            def holds(dense: Ints) -> Mask:
                return fine(Histograms.of_dense(dense))

            return PerClass(name, holds, monotone, always, where)

        return tuple(map(of_attribute, requirement.protects(policy) if self.protecting else (None,)))

    def assessors(self) -> tuple[Assessor, ...]:
        """Return its assessors, one for each kind of channel that has classes."""
        return tuple(self._assessor(kind) for kind in CLASS_CHANNELS if kind.most != 0 or not self.protecting)

    def _assessor(self, kind: ClassChannel) -> Assessor:
        def assess(requirement: Requirement[Options], channel: Any, original: Original) -> Finding:
            if requirement.max_records > 1:
                from rrpolicy.privacy.classes.unit_classes import unit_classes

                if original.units is None:  # counts without the column of the units
                    return conclude(requirement, None, None, Basis.ORIGINAL, UNIT_ADVERSARY)
                return self.held_by_units(requirement, original.policy, unit_classes(requirement, channel, original))
            return self.held(requirement, original.policy, equivalence_classes(requirement, channel, original))

        def measure(requirement: Requirement[Options], policy: Policy, channel: Channel, written: Written) -> Finding:
            return self.held(requirement, policy, written_classes(requirement, policy, channel, written))

        def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
            if kind.most is not None and len(requirement.protects(policy)) > kind.most:
                return kind.refusal
            return self.supports(requirement, policy, axes)

        return Assessor(
            model=self.name,
            channel=kind.channel,
            axes=kind.axes,
            basis=Basis.RELEASE,
            reference=self.reference,
            assess=assess,
            supports=supports,
            per_class=self.per_class if kind.axes else None,
            measure=measure if kind.written is not None else None,
            layout=self.layout,
            estimates=self.estimates,
            units=Basis.ORIGINAL if kind.by_units and self.by_units else None,
            adversary=self.adversary,
            monotone=kind.by_units and not self.protecting,
        )

    def held(self, requirement: Requirement[Options], policy: Policy, classes: Classes) -> Finding:
        """Return the finding of an entry for the classes of a release."""
        columns = [Protected.of(policy.attributes[name]) for name in requirement.protects(policy)]
        found = self.find(requirement.options, columns, classes)
        return replace(found, companions=(*found.companions, *_reader_chances(columns, classes)))

    def held_by_units(self, requirement: Requirement[Options], policy: Policy, classes: UnitClasses) -> Finding:
        """Return the finding of an entry for units of several records: the worst of all ways to count decides.

        Raises:
            PolicyError: RR246 if an attribute varies in a unit, and the model needs an order that tuples do not have.
        """
        columns = [Protected.of(policy.attributes[name]) for name in requirement.protects(policy)]
        for column in columns:
            if column.name in classes.varying and self.lacks(requirement.options, Protected(column.name)) is not None:
                message = (
                    f"{requirement.model}: '{column.name}' varies among the records of a unit, whose values together "
                    "have no order and no hierarchy"
                )
                hint = "use the variational distance, or release one record of each unit"
                place = requirement.place or policy.place("source.max_records")
                raise PolicyError(Problem("RR246", message, place, hint=hint))
        return self.find_by_units(requirement.options, columns, classes)

    def find_by_units(
        self, options: Options, columns: Sequence[Protected], classes: UnitClasses, *, limited: bool = True
    ) -> Finding:
        """Return the finding of units, as `find` does of records: the worst of all ways to count decides."""
        import numpy as np

        constant = [column for column in columns if column.name not in classes.varying]
        varying = [column for column in columns if column.name in classes.varying]
        views = [(classes.units, constant)] if constant or not columns else []
        if varying:
            tuples = [Protected(column.name) for column in varying]
            views += [(classes.records, varying), *((part, tuples) for part in classes.tuples)]
        found = [self.find(options, protected, counted, limited=limited) for counted, protected in views]
        sign = 1 if self.wording(options).least else -1
        worst = min(found, key=lambda f: (f.verdict is not Verdict.FAILED, sign * (f.achieved or Measure(0.0)).value))
        chances: dict[tuple[str, str], Companion] = {}
        for counted, protected in views:
            for chance in _reader_chances(protected, counted, classes.units):
                first = chances.setdefault((chance.name, chance.of), chance)
                chances[chance.name, chance.of] = max(first, chance, key=lambda c: c.measure.value)
        meaning = "the fewest units with a record in one equivalence class: k against who knows one record of a unit"
        known = Companion("k by single records", Measure(float(classes.fewest)), Basis.ORIGINAL, meaning)
        measures = *_class_size_measures(classes.units), known, *chances.values()
        own = tuple(c for c in worst.companions if c.name not in {measure.name for measure in measures})
        companions = tuple(replace(c, basis=Basis.ORIGINAL) for c in (*own, *measures))
        failing = np.zeros(len(classes.units.sizes), dtype=bool)
        keys = [np.arange(len(failing)), classes.key, *(part.first + np.arange(part.keys) for part in classes.keyed)]
        shown = [classes.units, classes.records, *classes.tuples]
        for counted, protected in views if limited else ():
            key = keys[next(i for i, part in enumerate(shown) if part is counted)]
            for column in protected or (None,):
                passes = self._outcome(options, column, counted, limited=True).passes
                if passes is not None:
                    failing[key[~passes & counted.concerned]] = True
        return replace(
            worst,
            basis=Basis.ORIGINAL,
            adversary=UNIT_ADVERSARY,
            companions=companions,
            groups_over=int(failing.sum()),
            people_over=int(classes.units.sizes[failing].sum()),
        )

    def find(
        self, options: Options, columns: Sequence[Protected], classes: Classes, *, limited: bool = True
    ) -> Finding:
        """Return the finding of classes for protected columns, or for their sizes if no column is protected.

        Args:
            options: options of the entry.
            columns: the protected columns.
            classes: the classes with a histogram of each.
            limited: whether the options limit it; else it is a measurement.
        """
        outcomes = [self._outcome(options, column, classes, limited=limited) for column in columns or (None,)]
        return self._conclude(options, outcomes, classes, limited=limited)

    def measure(
        self, column: Protected | None, classes: Classes, units: UnitClasses | None = None
    ) -> Iterator[Finding]:
        """Yield findings without a limit; `requirement` is the measured quantity in words.

        Args:
            column: the column whose values are protected; None for class sizes alone.
            classes: the classes with a histogram of it.
            units: the classes of units, which are measured in their place; None where records are counted.
        """
        if self.protecting is (column is None) or (units is not None and not self.by_units):
            return
        columns = () if column is None else (column,)
        if units is not None and column is not None and column.name in units.varying:
            column = Protected(column.name)  # values of several records have no order
        for options in self.unlimited():
            if column is not None and (self.lacks(options, column) or (column.unlisted and self.placed(options))):
                continue
            if units is None:
                found = self.find(options, columns, classes, limited=False)
            else:
                found = self.find_by_units(options, columns, units, limited=False)
            words = self.wording(options).quantity + ("" if column is None else f" of {column.name}")
            yield replace(self.rename_by_kind(found, options), requirement=words)

    def rename_by_kind(self, finding: Finding, options: Options) -> Finding:
        """Return a finding with the name of its kind, such as `l-diversity/entropy`, if there are several."""
        if not self.kind:
            return finding
        name = f"{finding.model}/{getattr(options, self.kind)}"
        return replace(finding, code=name, model=name)

    def _outcome(self, options: Options, column: Protected | None, classes: Classes, *, limited: bool) -> ClassOutcome:
        from rrpolicy.privacy.classes.histograms import Histograms

        name = "" if column is None else column.name
        found = Histograms.of_dense(classes.sizes[:, None]) if column is None else classes.histograms[name]
        passes = self.class_test(options, column)(found) if limited else None
        return ClassOutcome(name, self.achieved(options, found, classes.concerned), passes)

    def _conclude(
        self,
        options: Options,
        outcomes: Sequence[ClassOutcome],
        classes: Classes,
        *,
        limited: bool,
        companions: Sequence[Companion] = (),
    ) -> Finding:
        """Return the finding over all outcomes: the worst decides. Without any class it fails."""
        import numpy as np

        words, limit = self.wording(options), _limit(options) if limited else None
        worst = (min if words.least else max)(outcomes, key=lambda outcome: outcome.achieved.value)
        failing = np.zeros(len(classes.sizes), dtype=bool)
        for outcome in outcomes:
            if outcome.passes is not None:
                failing |= ~outcome.passes
        failing &= classes.concerned
        checked = len(classes.sizes) > 0
        achieved = worst.achieved
        # the limit rounded outwards would look like a margin on the wrong side
        if limit is not None and not failing.any() and achieved.value in {round_up(limit), round_down(limit)}:
            achieved = replace(achieved, value=float(limit))
        each = (
            Companion(f"{words.quantity} of {o.attribute}", o.achieved, Basis.RELEASE, words.meaning) for o in outcomes
        )
        return Finding(
            self.name,
            self.name,
            "",
            None,
            achieved if checked else None,
            limit,
            None if limit is None else Verdict.SATISFIED if checked and not failing.any() else Verdict.FAILED,
            Basis.RELEASE,
            CLASS_ADVERSARY,
            (NULLS, *([SUPPRESSED] if classes.suppressed else []), *([] if checked else [UNCHECKED])),
            (*(each if len(outcomes) > 1 else ()), *companions, *_class_size_measures(classes)),
            groups_over=int(failing.sum()),
            people_over=int(classes.sizes[failing].sum()),
            reference=self.reference,
        )


def _limit(options: Any) -> Fraction:
    return Fraction(options.limit)


def _not_sensitive_reason(names: tuple[str, ...], policy: Policy) -> str | None:
    if not names:
        return "the policy declares no sensitive attribute"
    for name in names:
        if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
            return f"'{name}' is not a sensitive attribute of the policy"
        if not policy.attributes[name].categorical:
            return f"'{name}' has no domain, so its values cannot be counted"
    return None


def records_at_least(k: int, requirement: Requirement) -> PerClass:
    """Return the test that a class has k records; it is monotone, also with suppression."""

    def holds(dense: Ints) -> Mask:
        sizes = dense.sum(axis=1)
        mask: Mask = (sizes >= k) | (sizes == 0)
        return mask

    return PerClass(None, holds, monotone=True, monotone_with_suppression=True, where=requirement.where)


def with_population_assumptions(found: Finding, classes: Classes) -> Finding:
    """Return a finding on classes with its assumptions about the population; undecided if that is unknown.

    Counts of a reference table are not part of the release, and public/ shows none of them.
    """
    found = replace(found, adversary=POPULATION_ADVERSARY)
    if classes.population is None:
        found = replace(found, achieved=None, verdict=Verdict.UNDECIDED, groups_over=None, people_over=None)
        return replace(found, assumptions=(*found.assumptions, COUNTED), basis=Basis.ORIGINAL)
    basis = Basis.ORIGINAL if classes.population.standing is Standing.EXACT else found.basis
    return replace(found, assumptions=(*found.assumptions, classes.population.assumption), basis=basis)


def _reader_chances(
    columns: Sequence[Protected], classes: Classes, found_in: Classes | None = None
) -> Iterator[Companion]:
    """Yield the largest probabilities that a reader of the classes finds a person's record or protected value.

    `found_in`: classes in which he finds the record; by default the same.
    """
    if not classes.concerned.any():
        return
    people = classes if found_in is None else found_in
    smallest = Measure(1 / int(people.sizes[people.concerned].min()))
    yield Companion("1/smallest class", smallest, Basis.RELEASE, DRAWN, chance_of=Risk.LINKING)
    for column in columns:
        held = classes.histograms[column.name]
        most, size = held.commonest[classes.concerned], held.sizes[classes.concerned]
        share = Measure(float((most / size.clip(1)).max()))
        yield Companion(SHARE, share, Basis.RELEASE, READ, column.name, chance_of=Risk.READING)
        alike = Measure(float(size[most == size].sum()))
        yield Companion(
            "people in homogeneous classes", alike, Basis.RELEASE, ALIKE, column.name, certain_of=Risk.READING
        )


def _class_size_measures(classes: Classes) -> tuple[Companion, ...]:
    sizes, of = classes.sizes[classes.concerned], classes.of
    found: list[tuple[str, float, str]] = [
        ("equivalence classes", len(sizes), f"groups of {of} that agree in all that is taken to be known")
    ]
    if len(sizes):
        found += [
            ("smallest class", int(sizes.min()), f"{of} in the smallest of them"),
            ("average class", int(sizes.sum()) / len(sizes), f"{of} in a class on average"),
        ]
    if classes.suppressed:
        found.append(("suppressed records", classes.suppressed, "records whose quasi-identifiers are all suppressed"))
    return tuple(Companion(name, Measure(float(x)), Basis.RELEASE, meaning) for name, x, meaning in found)


def population_obstacle(policy: Policy) -> str | None:
    """Return why people of a population cannot be counted; None if they can."""
    if policy.reference is None:
        return (
            "the policy declares no table of the population: state it under `[reference]` with its `uri`, or test "
            "the release with"
            " `rrpolicy check-table --reference`"
        )
    apart = [a.name for a in policy.linking if not a.categorical]
    if apart:
        return f"'{apart[0]}' makes classes and has no categories in which people could be counted: give it a domain"
    return None


def subgroup_attributes(policy: Policy) -> frozenset[str]:
    """Return the attributes that may define a subgroup of classes."""
    return frozenset(a.name for a in policy.with_role(Role.QUASI_IDENTIFIER, Role.INSENSITIVE) if a.categorical)
