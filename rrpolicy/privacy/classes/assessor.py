"""What the models of equivalence classes share: when they apply, and how a finding of theirs is put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channel.axes.identity import Identity
from rrpolicy.channel.axes.recode import Recode
from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.probability import round_down, round_up
from rrpolicy.channel.product.channel import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.privacy.model import Assessor, Layout, PerClass, Written

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.protocol import Original

NULLS = (
    "A missing value counts as a value of its own: records that lack a quasi-identifier agree with each other in it, "
    "and a missing sensitive value is one more sensitive value."
)
READER = (
    "Knows that a person is in the table, their quasi-identifiers and everything else that is released but the "
    "sensitive attributes, and reads the records that agree."
)
SUPPRESSED = (
    "Records whose quasi-identifiers are all suppressed are in no class, and the requirement is not held to them."
)


def deterministic() -> tuple[type[Axis], ...]:
    """Return the axes that leave nothing to chance, so that released values make classes."""
    return (Identity, Recode)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one sensitive attribute's classes reach, or what class sizes reach.

    Attributes:
        attribute: the sensitive attribute; "" for class sizes.
        reached: the worst over the classes concerned.
        passes: (classes,) which satisfy the limit; None without a limit.
    """

    attribute: str
    reached: Measure
    passes: Mask | None


@dataclass(frozen=True, slots=True)
class Words:
    """How a model speaks of itself in a finding.

    Attributes:
        model: its name, with its kind where it has several.
        quantity: what is reached, such as `entropy l`.
        meaning: what the number says, in a sentence.
        reference: where the formula stands.
        least: whether the least reached is the worst.
    """

    model: str
    quantity: str
    meaning: str
    reference: str
    least: bool


def conclude(
    words: Words,
    outcomes: Sequence[Outcome],
    classes: Classes,
    limit: Fraction | None,
    beside: Sequence[Companion] = (),
) -> Finding:
    """Return the finding over all sensitive attributes: the worst decides, and each stands beside it.

    Args:
        words: of the model.
        outcomes: one for each sensitive attribute, or one for class sizes.
        classes: that were measured.
        limit: the requirement's; None for a measurement.
        beside: further numbers.
    """
    import numpy as np

    worst = (min if words.least else max)(outcomes, key=lambda outcome: outcome.reached.value)
    failing = np.zeros(len(classes.sizes), dtype=bool)
    for outcome in outcomes:
        if outcome.passes is not None:
            failing |= ~outcome.passes
    failing &= classes.concerned
    reached = worst.reached
    # rounded outwards, what is the limit itself would read as a margin, and on the wrong side
    if limit is not None and not failing.any() and reached.value in {round_up(limit), round_down(limit)}:
        reached = replace(reached, value=float(limit))
    each = [Companion(f"{words.quantity} of {o.attribute}", o.reached, Basis.RELEASE, words.meaning) for o in outcomes]
    return Finding(
        words.model,
        words.model,
        "",
        None,
        reached,
        limit,
        None if limit is None else Verdict.FAILS if failing.any() else Verdict.HOLDS,
        Basis.RELEASE,
        READER,
        (NULLS, *([SUPPRESSED] if classes.suppressed else [])),
        (*(each if len(outcomes) > 1 else ()), *beside, *_sizes(classes)),
        groups_over=int(failing.sum()),
        people_over=int(classes.sizes[failing].sum()),
        reference=words.reference,
    )


def _sizes(classes: Classes) -> tuple[Companion, ...]:
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


def undecided(model: str, limit: Fraction) -> Finding:
    """Return the finding of who has only the number of records."""
    return Finding(model, model, "", None, None, limit, Verdict.UNDECIDED, Basis.RELEASE, READER)


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse randomised values, and subgroups by what is not taken to be known."""
    drawn = sorted({axis.kind for axis in axes if not issubclass(axis, deterministic())})
    if drawn:
        return (
            f"{requirement.model} speaks of released records that agree, and who is in such a class is known only if "
            f"nothing is randomised ({', '.join(drawn)} axes are); ask for attribute-disclosure, identity-disclosure "
            "or pk-anonymity"
        )
    known = {a.name for a in policy.with_role(Role.QUASI_IDENTIFIER, Role.INSENSITIVE) if a.categorical}
    foreign = [name for name in requirement.where if name not in known]
    return f"`where` names {', '.join(foreign)}, by which no class can be told" if foreign else None


def assessor(
    model: str,
    reference: str,
    *,
    find: Callable[[Requirement, Policy, Classes], Finding],
    limit: Callable[[Requirement], Fraction],
    sensitive: Callable[[Requirement, Policy], tuple[str, ...]],
    per_class: Callable[[Requirement, Policy], tuple[PerClass, ...]],
    supported: Callable[[Requirement, Policy, Sequence[type[Axis]]], str | None] = supports,
    layout: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] | None = None,
) -> Assessor:
    """Return a model's assessor for product channels that leave nothing to chance.

    Args:
        model: its name.
        reference: where the formulas stand.
        find: the finding for classes.
        limit: what is required.
        sensitive: the attributes that are counted.
        per_class: for lattice search.
        supported: as `Assessor.supports`.
        layout: as `Assessor.layout`.
    """

    def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
        assert isinstance(channel, Product)
        if isinstance(original, int):
            return undecided(model, limit(requirement))
        from rrpolicy.privacy.classes.equivalence import expected_classes

        names = sensitive(requirement, original.policy)
        return find(requirement, original.policy, expected_classes(requirement, channel, original, names))

    def measure(requirement: Requirement, policy: Policy, channel: Channel, written: Written) -> Finding:
        assert isinstance(channel, Product)
        from rrpolicy.privacy.classes.equivalence import written_classes

        names = sensitive(requirement, policy)
        return find(requirement, policy, written_classes(requirement, policy, channel, written, names))

    return Assessor(
        model=model,
        channel=Product,
        axes=deterministic(),
        basis=Basis.RELEASE,
        reference=reference,
        assess=assess,
        supports=supported,
        per_class=per_class,
        measure=measure,
        layout=layout,
    )
