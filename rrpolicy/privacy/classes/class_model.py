"""What the models of equivalence classes share: when they apply, and how a finding of theirs is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.base import Axis, Layout
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import UNCHECKED, Basis, Companion, Finding, Measure, Risk, Standing, Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Attribute, Policy, Requirement, Role
from rrpolicy.privacy.classes.class_population import COUNTED
from rrpolicy.privacy.model import (
    Assessor,
    PerClass,
    Written,
    subgroup_obstacle,
)

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask
    from rrpolicy.source.counts import Ints
    from rrpolicy.source.protocol import Original


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


def deterministic_axes() -> tuple[type[Axis], ...]:
    """Return the axes that leave nothing to chance, so that released values make classes."""
    return (Identity, Recode)


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
    """How a model speaks of itself in a finding.

    Attributes:
        model: its name, with its kind where it has several.
        quantity: what is achieved, such as `entropy l`.
        meaning: what the number says, in a sentence.
        reference: where the formula stands.
        least: whether the least achieved is the worst.
    """

    model: str
    quantity: str
    meaning: str
    reference: str
    least: bool


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


@frozen
class ClassModel:
    """A privacy model as it is told of equivalence classes, no matter who made them.

    Attributes:
        reference: where the formulas stand.
        find: given options, the protected columns and the classes with a histogram of each, what they reach, held
            against the options.
        measure: given one column, or None for class sizes alone, and the classes, everything that they reach, without
            a limit; the findings' `requirement` says in words what was measured.
        per_class: as of `Assessor`.
        asks: the option that a caller's threshold of that name is, such as `k`.
        kind: the option by which findings are told apart, such as `l-diversity/entropy`; empty if there is none.
        lacks: given options and a column, what the column lacks to be held to them, and what helps; None if nothing.
        placed: whether options need every value to have a place in the domain that is declared.
        layout: as of `Assessor`.
        called: by option, what a caller's threshold is called where that is another name.
        counted: whether the people of a population must have been counted, and an estimate tells nothing; read of
            options that need to know of these.
    """

    reference: str
    find: Callable[[Any, Sequence[Protected], Classes], Finding]
    measure: Callable[[Protected | None, Classes], Iterable[Finding]]
    per_class: Callable[[Requirement, Policy], tuple[PerClass, ...]]
    asks: str
    kind: str = ""
    lacks: Callable[[Any, Protected], tuple[str, str] | None] = lambda *_: None
    placed: Callable[[Any], bool] = lambda _: False
    layout: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    counted: bool = False

    def held(self, requirement: Requirement, policy: Policy, classes: Classes) -> Finding:
        """Return the finding of an entry for the classes of a release."""
        columns = [Protected.of(policy.attributes[name]) for name in requirement.protects(policy)]
        found = self.find(requirement.options, columns, classes)
        return replace(found, companions=(*found.companions, *_reader_chances(columns, classes)))


def class_outcomes(
    columns: Sequence[Protected],
    classes: Classes,
    achieved: Callable[[Histograms, Mask], Measure],
    satisfied: Callable[[Histograms], Mask] | None = None,
) -> list[ClassOutcome]:
    """Return what the classes concerned reach of each column by itself.

    Args:
        columns: that are protected.
        classes: with a histogram of each.
        achieved: given the histograms of a column, and (classes,) which count, the worst of these.
        satisfied: (classes,) which satisfy the limit; None without a limit.
    """
    return [
        ClassOutcome(
            column.name,
            achieved(classes.histograms[column.name], classes.concerned),
            None if satisfied is None else satisfied(classes.histograms[column.name]),
        )
        for column in columns
    ]


def split_by_attribute(
    requirement: Requirement,
    policy: Policy,
    satisfied: Callable[[Histograms], Mask],
    *,
    monotone: bool,
    monotone_with_suppression: bool = False,
) -> tuple[PerClass, ...]:
    """Return a requirement on single classes, one for each attribute that it protects.

    Args:
        requirement: the entry.
        policy: with its attributes.
        satisfied: (classes,) which satisfy it, by their histograms of an attribute.
        monotone: as of `PerClass`.
        monotone_with_suppression: as of `PerClass`.
    """
    from rrpolicy.privacy.classes.histograms import Histograms

    def holds(dense: Ints) -> Mask:
        return satisfied(Histograms.of_dense(dense))

    where = requirement.where
    return tuple(
        PerClass(name, holds, monotone, monotone_with_suppression, where) for name in requirement.protects(policy)
    )


def conclude(
    words: ModelWording,
    outcomes: Sequence[ClassOutcome],
    classes: Classes,
    limit: Fraction | None,
    companions: Sequence[Companion] = (),
) -> Finding:
    """Return the finding over all sensitive attributes: the worst decides. Without any class it fails.

    Args:
        words: of the model.
        outcomes: one for each sensitive attribute, or one for class sizes.
        classes: that were measured.
        limit: the requirement's; None for a measurement.
        companions: further numbers.
    """
    import numpy as np

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
    each = [Companion(f"{words.quantity} of {o.attribute}", o.achieved, Basis.RELEASE, words.meaning) for o in outcomes]
    return Finding(
        words.model,
        words.model,
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
        reference=words.reference,
    )


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


def rename_finding(finding: Finding, kind: str) -> Finding:
    """Return a finding under the name of its kind, such as `l-diversity/entropy`."""
    name = f"{finding.model}/{kind}"
    return replace(finding, code=name, model=name)


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


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse randomised values, and subgroups by what is not taken to be known."""
    drawn = sorted({axis.kind for axis in axes if not issubclass(axis, deterministic_axes())})
    if drawn:
        return (
            f"{requirement.model} is of released records that agree, and who is in such a class is known only if "
            f"nothing is randomised ({', '.join(drawn)} axes are); ask for attribute-disclosure, identity-disclosure "
            "or pk-anonymity"
        )
    return subgroup_obstacle(requirement, subgroup_attributes(policy), "by which no class can be told")


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


def class_model_assessor(model: str, of_classes: ClassModel) -> Assessor:
    """Return a model's assessor for product channels that leave nothing to chance."""

    def assess(requirement: Requirement, channel: Product, original: Original) -> Finding:
        from rrpolicy.privacy.classes.equivalence import expected_classes

        names = requirement.protects(original.policy)
        return of_classes.held(requirement, original.policy, expected_classes(requirement, channel, original, names))

    def measure(requirement: Requirement, policy: Policy, channel: Product, written: Written) -> Finding:
        from rrpolicy.privacy.classes.equivalence import empirical_classes

        names = requirement.protects(policy)
        return of_classes.held(requirement, policy, empirical_classes(requirement, policy, channel, written, names))

    return Assessor(
        model=model,
        channel=Product,
        axes=deterministic_axes(),
        basis=Basis.RELEASE,
        reference=of_classes.reference,
        assess=assess,
        supports=supports,
        per_class=of_classes.per_class,
        measure=measure,
        layout=of_classes.layout,
        adversary=CLASS_ADVERSARY,
    )
