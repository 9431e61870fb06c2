"""The privacy model of equivalence classes: a model derives from it, and states its options, formula and words only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.canonical_json import Value, exact
from rrpolicy.channels.base import Axis, Layout
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.declarations import Role
from rrpolicy.finding import UNCHECKED, Basis, Companion, Finding, Measure, Risk, Standing, Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plugin_errors.type_checks import plugin_contract_error
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.classes.class_population import COUNTED
from rrpolicy.privacy.classes.grouping import deterministic_axes, equivalence_classes, written_classes
from rrpolicy.privacy.model import Assessor, Order, PerClass, Written, subgroup_obstacle

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)
SensitiveAttributes: TypeAlias = Annotated[
    tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")
]
NULLS = (
    "A missing value counts as a value of its own: records that lack a quasi-identifier agree with each other in it, "
    "and a missing sensitive value is one more sensitive value."
)
CLASS_ADVERSARY = (
    "Knows that a person is in the table, their quasi-identifiers and everything else that is released but the "
    "sensitive attributes, and reads the records that agree."
)
POPULATION_ADVERSARY = (
    "Knows that the person is in the population, not whether in the table, and everything that makes a class."
)
DRAWN = "the chance of an attacker who draws one of the records that agree with a person's, each equally likely"
SHARE = "largest within-class share"
READ = "the largest share of a value in a class, which guessing the commonest value of a person's class attains"
ALIKE = "people in whose class everybody has the same value"
SUPPRESSED = (
    "Records whose quasi-identifiers are all suppressed are in no class, and the requirement is not held to them."
)


class ClassOptions(BaseModel):
    """Keys of a [[privacy]] entry of a model of equivalence classes; the first is the limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def limit(self) -> Fraction:
        """Return what the achieved number is held against."""
        return Fraction(getattr(self, next(iter(type(self).model_fields))))


@frozen
class ClassOutcome:
    """What one sensitive attribute's classes reach, or what class sizes reach.

    Attributes:
        attribute: the sensitive attribute; "" for class sizes.
        achieved: the worst over the classes concerned.
        passes: (classes,) which satisfy the limit; None without a limit.
    """

    attribute: str
    achieved: Measure
    passes: Mask | None


@frozen
class ModelWording:
    """The words of a model for what it measures.

    Attributes:
        quantity: what is achieved, such as `entropy l`.
        meaning: the meaning of the number, in a sentence.
        least: whether the least achieved is the worst.
    """

    quantity: str
    meaning: str
    least: bool = False


@frozen
class Protected:
    """A sensitive column whose values are counted in classes.

    Attributes:
        name: of the column.
        ordered: whether its values have an order, in which the histograms have them.
        hierarchy: the levels of its values, level 0 first; None without one.
        unlisted: how many of its values are not in the domain that is declared, and so have no place in either.
    """

    name: str
    ordered: bool = False
    hierarchy: Sequence[Sequence[Value]] | None = None
    unlisted: int = 0

    @classmethod
    def of(cls, attribute: Attribute, name: str = "", unlisted: int = 0) -> Protected:
        """Return an attribute that has a domain, in the table's column of that name if it has another one."""
        ordered = attribute.scale != "nominal" or attribute.bins is not None
        return cls(name or attribute.name, ordered, attribute.hierarchy, unlisted)


class ClassModel(Generic[Options]):
    """A privacy model of equivalence classes, no matter which channel or which table has them.

    A model derives from it and states `words`, `achieved` and `classes_satisfying`. Every class is tested, by each
    sensitive attribute that an entry protects; options without `sensitive` test class sizes alone. The model then has
    an assessor on every kind of channel with classes, and `check-table` measures it.

    Attributes:
        name: as of `PrivacyModel`.
        options: as of `PrivacyModel`; with `limit`, and with `sensitive` if values are protected.
        reference: where the formulas stand.
        words: for the number that options limit, if these are of one kind; else `wording` returns them.
        asks: the option that a caller's threshold of that name is, such as `k`; empty if there is none.
        kind: the option by which findings are told apart, such as `l-diversity/entropy`; empty if there is none.
        called: by option, what a caller's threshold is called where that is another name.
        counted: whether the people of a population must have been counted, and an estimate decides nothing; read of
            options that need to know of these.
        linking: whether a policy needs quasi-identifiers.
        adversary: as of `Assessor`.
        estimates: as of `Assessor`.
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
    adversary: str = CLASS_ADVERSARY
    estimates: bool = False

    def wording(self, options: Options) -> ModelWording:
        """Return the words for the number that options limit; the limit itself is not read."""
        del options
        return self.words

    def achieved(self, options: Options, histograms: Histograms, among: Mask) -> Measure:
        """Return the number of the worst of some classes (classes,), each with a histogram; the limit is not read."""
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
        """Return whether it does so if failing classes may be suppressed, or need not satisfy the options."""
        del options
        return False

    def lacks(self, options: Options, column: Protected) -> tuple[str, str] | None:
        """Return what a column lacks to be held to options, and what helps; None if nothing."""
        del options, column
        return None

    def placed(self, options: Options) -> bool:
        """Return whether options need every value to have a place in the domain that is declared."""
        del options
        return False

    def least_size(self, options: Options) -> int:
        """Return how many records the options require in a class."""
        del options
        return 1

    def out_of_reach(self, options: Options, categories: int) -> tuple[str, str] | None:
        """Return which limit no attribute of so many categories satisfies, and which one it may; None if it may."""
        del options, categories
        return None

    def describe_limit(self, options: Options) -> str:
        """Return the requirement in words, without the attributes that it protects."""
        words = self.wording(options)
        return f"{words.quantity} {'>=' if words.least else '<='} {exact(_limit(options))}"

    def strength(self, options: Options) -> tuple[Fraction | int, ...]:
        """Return numbers of which a greater one is stronger."""
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
        """Refuse a policy without what the model needs, a size out of reach, and attributes that are not sensitive."""
        if self.linking and not policy.with_role(Role.QUASI_IDENTIFIER):
            return "the policy names no quasi-identifier"
        k, least = self.least_size(options), policy.source.min_rows
        if least is not None and k > least:
            told = f"k = {k} is out of reach for a table of {least} records, which `min_rows` admits"
            return f"{told}: ask for a k of at most {least}, or release more records under a larger `min_rows`"
        if not self.protecting:
            return None
        names = Requirement(self.name, options).protects(policy)
        reason = _not_sensitive_reason(names, policy)
        if reason is not None:
            return reason
        lacking = (self.lacks(options, Protected.of(policy.attributes[name])) for name in names)
        return next(("; ".join(words) for words in lacking if words is not None), None)

    def compare(self, old: Options, new: Options) -> Order:
        """Compare limits and kinds; those of other attributes are incomparable."""
        if self.incomparable(old) != self.incomparable(new):
            return Order.INCOMPARABLE
        pairs = zip(self.strength(old), self.strength(new), strict=True)
        return Order.together(*(Order.by(after - before) for before, after in pairs))

    def supports(self, requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Refuse randomised values, and subgroups by what is not taken to be known."""
        drawn = sorted({axis.kind for axis in axes if not issubclass(axis, deterministic_axes())})
        if drawn:
            return (
                f"{requirement.model} is of released records that agree, and who is in such a class is known only if "
                f"nothing is randomised ({', '.join(drawn)} axes are); ask for attribute-disclosure, "
                "identity-disclosure or pk-anonymity"
            )
        return subgroup_obstacle(requirement, subgroup_attributes(policy), "by which no class can be told")

    def layout(self, requirement: Requirement[Options], policy: Policy, axes: Layout) -> tuple[str, str] | None:
        """Refuse a limit that the number of categories of an attribute puts out of reach."""
        del axes
        for name in requirement.protects(policy):
            domain = policy.attributes[name].domain
            beyond = None if domain is None else self.out_of_reach(requirement.options, len(domain))
            if domain is not None and beyond is not None:
                reason = f"{beyond[0]} is out of reach: '{name}' has {len(domain)} categories"
                return reason, f"ask for {beyond[1]}, or leave '{name}' out of the entry's `sensitive`"
        return None

    def class_test(self, options: Options, column: Protected | None) -> Callable[[Histograms], Mask]:
        """Return the test of classes by their histograms of a column, or of their sizes without one."""
        del column
        return partial(self.classes_satisfying, options)

    def per_class(self, requirement: Requirement[Options], policy: Policy) -> tuple[PerClass, ...]:
        """Return the requirement on single classes, one for each attribute that it protects.

        Not monotone if failing classes may be suppressed, or if classes without a record of the subgroup need not
        satisfy it: those that are kept are then merged with others.
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
        of_product = Assessor(
            model=self.name,
            channel=Product,
            axes=deterministic_axes(),
            basis=Basis.RELEASE,
            reference=self.reference,
            assess=self._assess,
            supports=self.supports,
            per_class=self.per_class,
            measure=self._measure_written,
            layout=self.layout,
            estimates=self.estimates,
            adversary=self.adversary,
        )
        suppressing = replace(
            of_product, channel=SuppressionChannel, axes=(), supports=self._supports_one, per_class=None
        )
        return of_product, suppressing

    def _assess(self, requirement: Requirement[Options], channel: Channel, original: Original) -> Finding:
        return self.held(requirement, original.policy, equivalence_classes(requirement, channel, original))

    def _measure_written(
        self, requirement: Requirement[Options], policy: Policy, channel: Channel, written: Written
    ) -> Finding:
        return self.held(requirement, policy, written_classes(requirement, policy, channel, written))

    def _supports_one(self, requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        if len(requirement.protects(policy)) > 1:
            return "records are parted by one sensitive attribute"
        return self.supports(requirement, policy, axes)

    def held(self, requirement: Requirement[Options], policy: Policy, classes: Classes) -> Finding:
        """Return the finding of an entry for the classes of a release."""
        columns = [Protected.of(policy.attributes[name]) for name in requirement.protects(policy)]
        found = self.find(requirement.options, columns, classes)
        return replace(found, companions=(*found.companions, *_reader_chances(columns, classes)))

    def find(
        self, options: Options, columns: Sequence[Protected], classes: Classes, *, limited: bool = True
    ) -> Finding:
        """Return what classes reach of each column by itself, or by their sizes if there is none.

        Args:
            options: of the entry.
            columns: that are protected.
            classes: with a histogram of each.
            limited: whether it is held against the options; else it is a measurement.
        """
        outcomes = [self._outcome(options, column, classes, limited=limited) for column in columns or (None,)]
        return self._conclude(options, outcomes, classes, limited=limited)

    def measure(self, column: Protected | None, classes: Classes) -> Iterator[Finding]:
        """Yield everything that classes reach without a limit; `requirement` says in words what was measured.

        Args:
            column: whose values are protected; None for class sizes alone.
            classes: with a histogram of it.
        """
        if self.protecting is (column is None):
            return
        for options in self.unlimited():
            if column is not None and (self.lacks(options, column) or (column.unlisted and self.placed(options))):
                continue
            found = self.find(options, () if column is None else (column,), classes, limited=False)
            words = self.wording(options).quantity + ("" if column is None else f" of {column.name}")
            yield replace(self.rename_by_kind(found, options), requirement=words)

    def rename_by_kind(self, finding: Finding, options: Options) -> Finding:
        """Return a finding under the name of its kind, such as `l-diversity/entropy`, where there are several."""
        if not self.kind:
            return finding
        name = f"{finding.model}/{getattr(options, self.kind)}"
        return replace(finding, code=name, model=name)

    def _outcome(self, options: Options, column: Protected | None, classes: Classes, *, limited: bool) -> ClassOutcome:
        """Return what the classes concerned reach of a column, or by their sizes without one."""
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
        """Return the finding over all sensitive attributes: the worst decides. Without any class it fails.

        Args:
            options: of the entry.
            outcomes: one for each sensitive attribute, or one for class sizes.
            classes: that were measured.
            limited: whether there is a limit, and no mere measurement.
            companions: further numbers.
        """
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
        # rounded outwards, what is the limit itself would read as a margin, and on the wrong side
        if limit is not None and not failing.any() and achieved.value in {round_up(limit), round_down(limit)}:
            achieved = replace(achieved, value=float(limit))
        each = [
            Companion(f"{words.quantity} of {o.attribute}", o.achieved, Basis.RELEASE, words.meaning) for o in outcomes
        ]
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
    """Return why attributes cannot be protected, or None."""
    if not names:
        return "the policy names no sensitive attribute"
    for name in names:
        if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
            return f"'{name}' is not a sensitive attribute of the policy"
        if not policy.attributes[name].categorical:
            return f"'{name}' has no domain, so its values cannot be counted"
    return None


def records_at_least(k: int, requirement: Requirement) -> PerClass:
    """Return the test that a class has k records: monotone, also with suppression."""

    def holds(dense: Ints) -> Mask:
        sizes = dense.sum(axis=1)
        mask: Mask = (sizes >= k) | (sizes == 0)
        return mask

    return PerClass(None, holds, monotone=True, monotone_with_suppression=True, where=requirement.where)


def with_population_assumptions(found: Finding, classes: Classes) -> Finding:
    """Return a finding on classes with what it rests on, as far as it speaks of a population.

    Undecided if it needs to know of one and nothing is known. What was counted in a reference table is no part of the
    release, and public/ shows none of it.
    """
    found = replace(found, adversary=POPULATION_ADVERSARY)
    if classes.population is None:
        found = replace(found, achieved=None, verdict=Verdict.UNDECIDED, groups_over=None, people_over=None)
        return replace(found, assumptions=(*found.assumptions, COUNTED), basis=Basis.ORIGINAL)
    basis = Basis.ORIGINAL if classes.population.standing is Standing.EXACT else found.basis
    return replace(found, assumptions=(*found.assumptions, classes.population.assumption), basis=basis)


def _reader_chances(columns: Sequence[Protected], classes: Classes) -> Iterator[Companion]:
    """Yield what a reader of the classes attains: who a record is, and each protected value, for who is worst off."""
    if not classes.concerned.any():
        return
    smallest = Measure(1 / int(classes.sizes[classes.concerned].min()))
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
    sizes = classes.sizes[classes.concerned]
    found: list[tuple[str, float, str]] = [
        ("equivalence classes", len(sizes), "groups of records that agree in all that is taken to be known")
    ]
    if len(sizes):
        found += [
            ("smallest class", int(sizes.min()), "records in the smallest of them"),
            ("average class", int(sizes.sum()) / len(sizes), "records in a class on average"),
        ]
    if classes.suppressed:
        found.append(("suppressed records", classes.suppressed, "records whose quasi-identifiers are all suppressed"))
    return tuple(Companion(name, Measure(float(x)), Basis.RELEASE, meaning) for name, x, meaning in found)


def population_obstacle(policy: Policy) -> str | None:
    """Return why a plan cannot count the people of a population; None if it can."""
    if policy.reference is None:
        return (
            "the policy names no table of the population: state it, `[reference]` with its `uri`, or hold the release "
            "to one with `rrpolicy check-table --reference`"
        )
    apart = [a.name for a in policy.linking if not a.categorical]
    if apart:
        return f"'{apart[0]}' makes classes and has no categories in which people could be counted: give it a domain"
    return None


def subgroup_attributes(policy: Policy) -> frozenset[str]:
    """Return the attributes by which subgroups of what makes classes are told."""
    return frozenset(a.name for a in policy.with_role(Role.QUASI_IDENTIFIER, Role.INSENSITIVE) if a.categorical)
