"""l-diversity: every equivalence class has several sensitive values, none of them too frequent.

Of a class of n records with counts r_1 >= … >= r_m > 0 of its sensitive values:

    distinct    m >= l
    frequency   r_1 l <= n
    entropy     -sum (r_i/n) log(r_i/n) >= log l
    recursive   r_1 < c (r_l + … + r_m), and m >= l

References:
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, "l-Diversity: Privacy Beyond k-Anonymity", definitions 4.1
    (entropy) and 4.2 (recursive); Xiao, Tao 2006, "Anatomy", definition 2 (frequency).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.frozen import replace
from rrpolicy.numbers import figure, percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions, ModelWording, Protected, SensitiveAttributes
from rrpolicy.privacy.model import EVERY_MODEL, MORE_KNOWN
from rrpolicy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask
    from rrpolicy.privacy.classes.unit_classes import UnitClasses

MEASURES = {
    "written-posteriors": (
        "The decision: posteriors are measured after all is drawn, and no release is made or refused by them.",
        "Attackers who know exact counts, and not shares: in tiny tables they learn more.",
        *EVERY_MODEL,
    )
}
"""The measures of anatomy's assessors, with what they do not cover."""

_MOST_L = 10
"""The largest l for which c is reported."""


class DiversityKind(StrEnum):
    """The requirement on a class's sensitive values."""

    DISTINCT = "distinct"
    FREQUENCY = "frequency"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


_STRENGTH = {
    DiversityKind.DISTINCT: 1,
    DiversityKind.ENTROPY: 2,
    DiversityKind.FREQUENCY: 3,
    DiversityKind.RECURSIVE: 0,
}
MEANINGS = {
    DiversityKind.DISTINCT: "sensitive values in the class with the fewest",
    DiversityKind.FREQUENCY: "n/r_1 of the class where one value is commonest: guessing it there is right once in so "
    "many times",
    DiversityKind.ENTROPY: "e^entropy of the class with the least: so many equally frequent values have the same "
    "entropy",
    DiversityKind.RECURSIVE: "r_1/(r_l + … + r_m) of the class where it is largest: every greater c is achieved, too",
}


class LDiversityOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        kind: the requirement on a class's sensitive values.
        l: the number of values; a whole number for `distinct` and `recursive`.
        c: for `recursive`: the commonest value has fewer than c times the records of the values from the l-th on.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    kind: Annotated[DiversityKind, Field(description="the condition on the sensitive values of an equivalence class")]
    l: Annotated[Rational, Field(description="how many values, 1 at least; whole for `distinct` and `recursive`")]
    c: Annotated[Rational | None, Field(description="of `recursive`: r_1 < c (r_l + … + r_m)")] = None
    sensitive: SensitiveAttributes = ()

    @model_validator(mode="after")
    def _stated(self) -> Self:
        if self.l < 1:
            raise ValueError(f"l must be 1 at least, got {exact(self.l)}")
        if self.kind in {DiversityKind.DISTINCT, DiversityKind.RECURSIVE} and self.l.denominator != 1:
            raise ValueError(f"l counts values in kind {self.kind.value}: a whole number, got {exact(self.l)}")
        if (self.kind is DiversityKind.RECURSIVE) != (self.c is not None):
            raise ValueError(
                f"`c` belongs to `kind` recursive, not to {self.kind.value}"
                if self.c is not None
                else "`kind` recursive needs `c`, as in l = 3, c = 2"
            )
        if self.c is not None and self.c <= 0:
            raise ValueError(f"c must be over 0, got {exact(self.c)}")
        return self

    @property
    def limit(self) -> Fraction:
        """Return c for `recursive`, else l."""
        return self.l if self.c is None else self.c

    @property
    def frequency(self) -> Fraction | None:
        """Return l of kind frequency."""
        return self.l if self.kind is DiversityKind.FREQUENCY else None

    @property
    def implied_by(self) -> Fraction | None:
        """Return l: by its frequency a class has l different values and entropy log l; None for `recursive`."""
        return None if self.kind is DiversityKind.RECURSIVE else self.l

    @property
    def distinct(self) -> int:
        """Return the least number of records with distinct values that satisfies it as a group.

        For n such records distinct, frequency and entropy l are n; recursive (c, l) is met if 1 < c (n - l + 1).
        """
        return math.ceil(self.l) if self.c is None else int(self.l) + math.floor(1 / self.c)


class LDiversity(ClassModel[LDiversityOptions]):
    """The privacy model `l-diversity`."""

    name = "l-diversity"
    options = LDiversityOptions
    not_covered = (
        "How likely each value of a class is for one person, if the attacker knows which are usual for such people.",
        "Values that differ in name and mean much the same.",
        MORE_KNOWN,
        *EVERY_MODEL,
    )
    reference = "Machanavajjhala et al. 2007, definitions 4.1 and 4.2; Xiao, Tao 2006, definition 2"
    measures = MEASURES
    example = 'kind = "frequency"\nl = 3'
    methods = ("generalised", "grouped", "sets")
    bounds = frozenset({Risk.READING})
    asks = "l"
    kind = "kind"

    def limits_nothing(self, options: LDiversityOptions) -> str | None:
        """Return that l = 1 limits nothing."""
        nothing = options.l == 1 and (options.c is None or options.c > 1)
        return "limits nothing: a class whose records all have one value complies" if nothing else None

    def promise(self, options: LDiversityOptions) -> str:
        """Return the guarantee in plain words."""
        holds = {
            DiversityKind.DISTINCT: f"there are at least {figure(float(options.l))} different sensitive values",
            DiversityKind.ENTROPY: f"the sensitive values are as even as {figure(float(options.l))} equally "
            "frequent ones",
            DiversityKind.FREQUENCY: f"no sensitive value has a share above {percent_rounded_up(1 / options.l)}",
            DiversityKind.RECURSIVE: "the commonest sensitive value has less than "
            f"{figure(float(options.c or 0))} times the records of the {options.l}-th and all rarer values together",
        }[options.kind]
        of = attribute_phrase(options.sensitive)
        return f"Guessing the value: in each group with equal quasi-identifiers, {holds}{of}."

    def wording(self, options: LDiversityOptions) -> ModelWording:
        """Return the words for a kind."""
        recursive = options.kind is DiversityKind.RECURSIVE
        quantity = "c" if recursive else f"{options.kind.value} l"
        return ModelWording(quantity, MEANINGS[options.kind], least=not recursive)

    def describe_limit(self, options: LDiversityOptions) -> str:
        """Return such as `entropy l >= 3`."""
        if options.c is not None:
            return f"recursive (c, l) = ({exact(options.c)}, {exact(options.l)})"
        return super().describe_limit(options)

    def incomparable(self, options: LDiversityOptions) -> tuple[object, ...]:
        """Return the attributes, and whether it is recursive."""
        return options.sensitive, options.c is None

    def strength(self, options: LDiversityOptions) -> tuple[Fraction | int, ...]:
        """Return l, kind and c; frequency implies entropy, and entropy implies distinct, at the same l."""
        return options.l, _STRENGTH[options.kind], -(options.c or 0)

    def out_of_reach(self, options: LDiversityOptions, categories: int) -> tuple[str, str] | None:
        """Refuse an l above the number of categories of an attribute."""
        return (f"l = {exact(options.l)}", f"l = {categories} at most") if categories < options.l else None

    def classes_satisfying(self, options: LDiversityOptions, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy the requirement; an empty class does."""
        from rrpolicy.privacy.classes.histograms import ratio_at_most

        if options.kind is DiversityKind.FREQUENCY:
            return histograms.frequent(options.l)
        if options.kind is DiversityKind.ENTROPY:
            return histograms.entropic(options.l)
        if options.c is None:
            fine: Mask = histograms.distinct >= int(options.l)
        else:
            fine = ratio_at_most(*histograms.recursive(int(options.l)), options.c, strictly=True)
        fine |= histograms.sizes == 0
        return fine

    def achieved(self, options: LDiversityOptions, histograms: Histograms, among: Mask) -> Measure:
        """Return the number of the worst of some classes (classes,); for `recursive` c at l."""
        from rrpolicy.privacy.classes.histograms import largest_ratio

        kind = options.kind
        nothing = Measure(0.0 if kind is DiversityKind.RECURSIVE else math.inf)
        among = among & (histograms.sizes > 0)
        if not among.any():
            return nothing
        if kind is DiversityKind.DISTINCT:
            return Measure(float(histograms.distinct[among].min()))
        if kind is DiversityKind.ENTROPY:
            number = histograms.least_effective_number(among)
            return nothing if number is None else Measure(number)
        if kind is DiversityKind.FREQUENCY:
            share = largest_ratio(histograms.commonest, histograms.sizes, among)
            return nothing if share is None else Measure(round_down(1 / share))
        ratio = largest_ratio(*histograms.recursive(int(options.l)), among)
        return Measure(math.inf if ratio is None else round_up(ratio))

    def unlimited(self) -> Iterator[LDiversityOptions]:
        """Yield every kind that needs no c."""
        for kind in (DiversityKind.DISTINCT, DiversityKind.FREQUENCY, DiversityKind.ENTROPY):
            yield LDiversityOptions(kind=kind, l=Fraction(1))

    def measure(
        self, column: Protected | None, classes: Classes, units: UnitClasses | None = None
    ) -> Iterator[Finding]:
        """Yield the finding of each kind; for `recursive` c at the largest l that any c permits."""
        yield from super().measure(column, classes, units)
        if column is None or units is not None:
            return
        histograms, kind = classes.histograms[column.name], DiversityKind.RECURSIVE
        distinct = histograms.distinct[classes.concerned & (histograms.sizes > 0)]
        most = int(distinct.min()) if len(distinct) else 1
        companions = []
        for l in range(1, min(most, _MOST_L + 1)):
            options = LDiversityOptions(kind=kind, l=Fraction(l), c=Fraction(1))
            reached = self.achieved(options, histograms, classes.concerned)
            companions.append(Companion(f"c at l = {l}", reached, Basis.RELEASE, MEANINGS[kind]))
        options = LDiversityOptions(kind=kind, l=Fraction(most), c=Fraction(1))
        outcome = self._outcome(options, column, classes, limited=False)
        finding = self._conclude(options, [outcome], classes, limited=False, companions=companions)
        words = f"recursive c at l = {most} of {column.name}"
        yield replace(self.rename_by_kind(finding, options), requirement=words)

    def monotone_with_suppression(self, options: LDiversityOptions) -> bool:
        """Return True for distinct l alone; otherwise all kinds are monotone (Machanavajjhala et al. 2007, 4)."""
        return options.kind is DiversityKind.DISTINCT


BY_FREQUENCY = f'[[privacy]]\nmodel = "{LDiversity.name}"\n{LDiversity.example}'
"""An entry that requires it, for hints."""


def frequency_l(policy: Policy) -> dict[str, tuple[Fraction, Requirement]]:
    """Return the greatest required l by frequency of each sensitive attribute, with its entry.

    Args:
        policy: resolved.

    Returns:
        attribute -> (l, the entry that requires it), without attributes that no entry protects.
    """
    found: dict[str, tuple[Fraction, Requirement]] = {}
    for requirement in policy.requirements:
        l = requirement.frequency
        for name in () if l is None else requirement.protects(policy):
            if l is not None and (name not in found or l > found[name][0]):
                found[name] = (l, requirement)
    return found


def group_size(policy: Policy, attribute: str) -> tuple[int, Requirement] | None:
    """Return the number of records that a group of distinct sensitive values needs, and the entry that requires it.

    Args:
        policy: resolved.
        attribute: the sensitive one.

    Returns:
        None if no entry that such groups satisfy protects the attribute.
    """
    sizes = [(r.distinct, r) for r in policy.requirements if attribute in r.protects(policy)]
    return max(((size, r) for size, r in sizes if size is not None), key=lambda found: found[0], default=None)
