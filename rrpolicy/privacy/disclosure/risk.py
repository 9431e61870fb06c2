"""The family of disclosure risks: numbers of people with a limit each, the verdict, and the finding.

Attribute disclosure, correct readings, the best guess, its gain, and linking are each a `DisclosureRisk`. A channel
with its own posterior derives from one of them. Doubles decide, and fractions where they are too near a limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import VALUE, Basis, Companion, Finding, Measure, Profile, Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import model
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT, snap_to_limit

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.evidence import Evidence

OTHER_VALUES = "the others"
SUBGROUP = "people whom the entry covers; an empty subgroup has none"
PEOPLE_OVER = "people whose risk exceeds the limit of their value of this attribute"
BINS = 20
FAR = 4
TOP = 10
_PART = 1 << 20


@dataclass(frozen=True)
class DisclosureRisk(ABC):
    """Limited numbers of one policy entry, one for each (group, value) or for each group.

    Attributes:
        of: wording of the sensitive attribute; includes whether the others are known.
        evidence: the groups.
        labels: categories of the sensitive attribute.
        group: (k,) the group of each number.
        value: (k,) index into `limits`: the code of the sensitive value, or 0.
        people: (k,) people.
        share: (k,) the same number for an attacker who knows only the shares within groups: c_u.
        limits: exact limits.
    """

    of: str
    evidence: Evidence
    labels: tuple[object, ...]
    group: Ints
    value: Ints
    people: Ints
    share: Array
    limits: tuple[Fraction, ...]

    @property
    @abstractmethod
    def number(self) -> Array:
        """Return (k,) the limited numbers, or upper bounds of them."""

    @property
    @abstractmethod
    def quantity(self) -> str:
        """Return the name of the numbers, in words."""

    @abstractmethod
    def standing(self, at: int) -> Standing:
        """Return whether one number is exact."""

    @abstractmethod
    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function from a place to that number, or an upper bound, in fractions; None if too expensive."""

    @abstractmethod
    def beside(self) -> tuple[Companion, ...]:
        """Return related measures."""

    @property
    def revealed(self) -> tuple[str, ...]:
        """Return the attributes that are randomised, but counted as released unmodified."""
        return self.evidence.revealed

    @property
    def ratio(self) -> Array:
        """Return (k,) number / limit."""
        limits: Array = np.array([float(t) for t in self.limits])
        return self.number / limits[self.value]

    def over(self) -> Mask:
        """Return (k,) whether a number exceeds its limit; one that fractions cannot decide does."""
        ratio = self.ratio
        bounded = np.array([t < 1 for t in self.limits])[self.value]
        over: Mask = bounded & (ratio > 1 - NEAR_LIMIT)
        exactly = self.exactly()
        for i in np.flatnonzero(over & (ratio < 1 + NEAR_LIMIT)):
            number = exactly(int(i))
            if number is not None:
                over[i] = number > self.limits[int(self.value[i])]
        return over

    @property
    def fails(self) -> bool:
        """Return whether the limits are exceeded."""
        return bool(self.over().any())

    def decisive(self, over: Mask) -> int:
        """Return the place of the number that the finding shows: farthest over its limit, or else nearest to it."""
        return int(np.argmax(np.where(over, self.ratio, 0) if over.any() else self.ratio))

    def measured(self, at: int) -> Measure:
        """Return one number with its standing; the limit itself if the number equals it."""
        limit = self.limits[int(self.value[at])]
        return Measure(snap_to_limit(float(self.number[at]), limit, lambda: self.exactly()(at)), self.standing(at))

    def profile(self) -> Profile:
        """Return the distribution of the numbers over people."""
        return risk_histograms(
            self.quantity,
            self.number,
            self.share,
            self.people,
            highest_risk_groups(self.evidence, self.number, self.people, self.group),
        )

    def limits_by_value(self) -> tuple[tuple[str, float], ...]:
        """Return each limit with its values: "" where there is one limit, `others` for the values of the usual one."""
        of: dict[Fraction, list[int]] = {}
        for value in np.unique(self.value).tolist():
            of.setdefault(self.limits[value], []).append(value)
        if len(of) == 1:
            return (("", float(next(iter(of)))),)
        usual = max(of, key=lambda limit: len(of[limit]))
        names = {limit: ", ".join(str(self.labels[v]) for v in values) for limit, values in of.items()}
        return tuple((OTHER_VALUES if limit == usual else names[limit], float(limit)) for limit in of)

    def floor(
        self, everything: float, hints: Sequence[str], over: Mask | None = None, at: int | None = None
    ) -> model.MinimumRisk:
        """Return the numbers of a channel of least risk as a floor.

        `everything`: the largest number if everything were randomised. `over` and `at` are by default the numbers over
        their limit and the decisive one.
        """
        over = self.over() if over is None else over
        at = self.decisive(over) if at is None else at
        alike = over & ((self.evidence.histograms > 0).sum(axis=1) == 1)[self.group]
        return model.MinimumRisk(
            of=self.quantity,
            achieved=float(self.number[at]),
            limit=self.limits[int(self.value[at])],
            groups=len(self.evidence.n),
            groups_over=len(np.unique(self.group[over])),
            people_over=int(self.people[over].sum()),
            groups_alike=len(np.unique(self.group[alike])),
            people_alike=int(self.people[alike].sum()),
            everything=everything,
            hints=tuple(hints),
        )


def attribute_finding(
    requirement: Requirement, cases: Sequence[DisclosureRisk], rests_on: tuple[str, ...], further: Sequence[Companion]
) -> Finding:
    """Return the finding of an `attribute-disclosure` entry: its numbers are of the attribute nearest to its limit.

    `further` are related measures that follow those of each attribute.
    """
    options = requirement.options
    found, rests_on = [case for case in cases if len(case.group)], (*options.assumptions, *rests_on)
    named, who = requirement.called, options.adversary
    if not found:
        alone, nothing = (*subgroup_size(requirement, 0), *further), Measure(0.0)
        return model.conclude(
            requirement, nothing, not found, Basis.ORIGINAL, who, rests_on, alone, limit=None, model=named
        )
    overs = [case.over() for case in found]
    ratios = [float(case.ratio.max()) for case in found]
    worst = max(range(len(found)), key=lambda i: (bool(overs[i].any()), ratios[i]))
    top, over = found[worst], overs[worst]
    at = top.decisive(over)
    several = [(case, o) for case, o in zip(found, overs, strict=True) if len(found) > 1]
    related = dict.fromkeys(companion for case in found for companion in case.beside())
    return model.conclude(
        requirement,
        top.measured(at),
        not any(o.any() for o in overs),
        Basis.ORIGINAL,
        who,
        rests_on,
        (
            *subgroup_size(requirement, int(top.people.sum())),
            *(_with_own_limit(companion, options) for companion in related),
            *(
                Companion(
                    "people over the limit", Measure(float(case.people[o].sum())), Basis.ORIGINAL, PEOPLE_OVER, case.of
                )
                for case, o in several
            ),
            *further,
        ),
        limit=top.limits[int(top.value[at])],
        model=named,
        profile=replace(top.profile(), limits=top.limits_by_value()),
        groups_over=len(np.unique(top.group[over])),
        people_over=int(top.people[over].sum()),
    )


def _with_own_limit(companion: Companion, options: AttributeDisclosureOptions) -> Companion:
    """Return a companion with its own limit if it is the limited number of one value."""
    _, by_value, value = companion.of.partition(VALUE)
    if not (options.thresholds and by_value and companion.name == options.quantity):
        return companion
    return replace(companion, limit=options.limit_of(value))


def subgroup_mask(
    evidence: Evidence, requirement: Requirement, sensitive: str | None, labels: tuple[object, ...]
) -> Mask:
    """Return (groups, values) whether a pair occurs and is in the entry's subgroup."""
    mask = evidence.histograms > 0
    for name, category in requirement.where.items():
        if name == sensitive:
            mask = mask & np.array([label == category for label in labels])
        else:
            position = evidence.names.index(name)
            mask = mask & (evidence.values[:, position] == list(evidence.labels[position]).index(category))[:, None]
    return mask


def unhidden_assumption(revealed: Iterable[str]) -> tuple[str, ...]:
    """Return the assumption that some attributes are released unmodified, which gives upper bounds."""
    names = ", ".join(f"'{name}'" for name in revealed)
    return (f"Assumed to be released unchanged, which can only raise the achieved value: {names}.",) if names else ()


def subgroup_size(requirement: Requirement, people: int) -> tuple[Companion, ...]:
    """Return the people in a subgroup: a statistic of the table, which no published text may contain."""
    if not requirement.where:
        return ()
    return (Companion("people in the subgroup", Measure(float(people)), Basis.ORIGINAL, SUBGROUP),)


def risk_histograms(
    quantity: str, risk: Array, before: Array, people: Ints, top: tuple[tuple[str, float, int], ...]
) -> Profile:
    """Return histograms of a (k,) risk over people, in the release and in the original table; audit only."""
    edges = _bin_edges(float(risk.max(initial=0)), float(before.max(initial=0)))
    after, earlier = (tuple(map(int, _people_by_bin(edges, x, people))) for x in (risk, before))
    return Profile(quantity, tuple(map(float, edges)), after, earlier, top)


def _people_by_bin(edges: Array, values: Array, people: Ints) -> Array:
    last = len(edges) - 2
    counted = np.zeros(last + 1)
    for part in _array_chunks(len(values)):
        place = np.clip(np.searchsorted(edges, values[part], side="left") - 1, 0, last)
        counted += np.bincount(place, weights=people[part], minlength=last + 1)
    return counted


def _array_chunks(length: int) -> Iterator[slice]:
    return (slice(low, low + _PART) for low in range(0, length, _PART))


def _bin_edges(most: float, before: float) -> Array:
    """Return equal bins up to the largest risk; if that of the original table is far larger, up to the release's."""
    ceiling = max(most, before)
    end = 1 if ceiling > 0.2 else ceiling or 1  # noqa: PLR2004 - a large risk is shown on the whole scale
    if not 0 < most < end / FAR:
        return np.linspace(0, end, BINS + 1)
    magnitude = 10.0 ** np.floor(np.log10(most))
    near = next(step * magnitude for step in (1, 2, 4, 5, 10) if step * magnitude >= most)
    return np.append(np.linspace(0, near, BINS + 1), end)


def highest_risk_groups(
    evidence: Evidence, risk: Array, people: Ints, of: Ints | Codes | None = None
) -> tuple[tuple[str, float, int], ...]:
    """Return the groups with the largest (k,) risks: description, largest risk, people with it.

    `of` is the group of each risk; by default each has a risk.
    """
    owner = np.arange(len(risk)) if of is None else of
    most = np.full(int(owner.max(initial=-1)) + 1, -np.inf)
    have = np.zeros(len(most), dtype=np.int64)
    np.maximum.at(most, owner, risk)
    for part in _array_chunks(len(owner)):
        highest = risk[part] == most[owner[part]]
        np.add.at(have, owner[part][highest], people[part][highest])
    order = np.lexsort((-have, -most))[:TOP]
    return tuple(
        (evidence.describe(int(group)), float(most[group]), int(have[group])) for group in order if have[group]
    )
