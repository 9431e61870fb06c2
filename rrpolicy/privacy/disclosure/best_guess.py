"""The best guess of a sensitive attribute: one number for each group of people who agree in the attacker's knowledge.

How often the likeliest value is the true one, for an attacker who sees a released value: Bayes vulnerability.

    V(alpha) = sum over v of max over u of c_u P_S[v, u]

for a person of the quasi-identifiers alpha, c the shares of the sensitive values in that group: the attacker knows
which released record is the person's, and names the value that is then the likeliest. Never below max c_u, attained
without the release; 1 where the value is released unmodified. No function of the release has a larger one (data
processing), so that it falls with every retention probability.

Such an attacker reads the whole record. The rest of it counts as released unmodified, and is weighed by its frequency
in the person's group,

    V(alpha) <= sum over w of Pr(w | alpha) sum over v of max over u of c_u(alpha, w) P_S[v, u],

exact where the rest is released unmodified, or where there is no rest; else an upper bound (data processing). The
gain is V less the largest share in the group alpha, which guessing without the release attains. An insensitive column
that is released unmodified belongs to the rest: it is read off the record, and an attacker may not have known it.
Attackers who did know all of them are measured as well, and the largest gain decides. V is largest for them.

References:
    Smith 2009, "On the foundations of quantitative information flow", definition 2 and theorem 1 (vulnerability);
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, "The science of quantitative information flow",
    equation 5.5 (posterior Bayes vulnerability) and definition 5.9 (its additive gain).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.counts import number_rows
from rrpolicy.declarations import Role
from rrpolicy.errors import Problem
from rrpolicy.finding import Basis, Companion, Measure, Risk, Standing
from rrpolicy.numbers import plain_number
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import GROUP_INFERENCE, OTHERS_KNOWN, attackers
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.inference_accuracy import max_product
from rrpolicy.privacy.disclosure.risk import DisclosureRisk, subgroup_mask
from rrpolicy.privacy.evidence import Evidence, KnownAndSensitive, gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, GuessableAxis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.source.protocol import Original


def bayes_vulnerability(shares: Array, axis: Axis) -> Array:
    """Return V of every group, (groups,), from its (groups, categories) shares c."""
    if not isinstance(axis, Transition):
        return cast("GuessableAxis", axis).best_guess(shares)
    right: Array = max_product(axis, shares, 1).sum(axis=1)
    return right


def exact_bayes_vulnerability(counts: Sequence[int], axis: Axis) -> Fraction:
    """Return V of one group times its number of people, exactly, from its people by sensitive value."""
    if not isinstance(axis, Transition):
        return cast("GuessableAxis", axis).exact_best_guess(counts)
    most: dict[int, Fraction] = {}
    for code, n in enumerate(counts):
        if n:
            for released, chance in axis.column(code).items():
                most[released] = max(most.get(released, Fraction(0)), n * chance)
    return sum(most.values(), Fraction(0))


BEST = "the largest chance that the likeliest value is the true one, for who knows which record is the person's"
READ_OFF = " (the insensitive columns read off the record)"
GAIN = "the largest difference between that chance and the largest share of a value in the same group"


class KnowledgeGroups(Struct, frozen=True):
    """Groups of people who agree in the known attributes, in parts that agree in the rest of their records.

    `group` is (parts,) the group of each part of `evidence`. `beside` names the rest of a record, which counts as
    read; `seen` those columns of it that are not released unmodified. `known` are the known columns other than
    quasi-identifiers, in words that follow the attribute's name.
    """

    evidence: Evidence
    group: Ints
    beside: tuple[str, ...]
    seen: tuple[str, ...]
    known: str = ""

    @property
    def groups(self) -> int:
        """Return their number."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def people(self) -> Ints:
        """Return (groups, values) people by sensitive value."""
        people: Ints = np.zeros((self.groups, self.evidence.histograms.shape[1]), dtype=np.int64)
        np.add.at(people, self.group, self.evidence.histograms)
        return people

    def summed(self, x: Array) -> Array:
        """Return (groups,) sums of (parts,) numbers."""
        return np.bincount(self.group, weights=x, minlength=self.groups).astype(np.float64)


@dataclass(frozen=True)
class BestGuesses(DisclosureRisk):
    """The best guess (k,) V, or an upper bound, or its gain, of every group that an entry covers.

    `most` is (k,) people with the commonest value. `exactly_best` returns V of a place, or an upper bound, times the
    people, in fractions; None if too expensive.
    """

    told: KnowledgeGroups
    best: Array
    exact: bool
    gain: bool
    most: Ints
    exactly_best: Callable[[int], Fraction | None]

    @property
    def revealed(self) -> tuple[str, ...]:
        """Return the read attributes that are not released unmodified."""
        return self.told.seen

    @property
    def number(self) -> Array:
        """Return (k,) the guesses, or their gains."""
        return np.maximum(self.best - self.share, 0.0) if self.gain else self.best

    @property
    def quantity(self) -> str:
        """Return the name of the numbers."""
        return f"{'gain of the ' if self.gain else ''}best guess of {self.of}"

    def standing(self, at: int) -> Standing:
        """Return whether the numbers are exact; `at` does not matter."""
        del at
        return Standing.EXACT if self.exact else Standing.UPPER_BOUND

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function for the limited number."""

        def number(i: int) -> Fraction | None:
            best = self.exactly_best(i)
            return None if best is None else (best - (int(self.most[i]) if self.gain else 0)) / int(self.people[i])

        return number

    def beside(self) -> tuple[Companion, ...]:
        """Return the largest guess, the largest one without the release, and the largest gain."""
        standing = self.standing(0)
        gain = float(np.maximum(self.best - self.share, 0.0).max())
        told = (
            ("best guess", Measure(float(self.best.max()), standing), BEST, Risk.READING),
            ("largest within-group share", Measure(float(self.share.max())), GROUP_INFERENCE, Risk.READING),
            ("gain of the best guess", Measure(gain, standing), GAIN, None),
        )
        return tuple(
            Companion(name, measure, Basis.ORIGINAL, text, self.of, chance_of=risk)
            for name, measure, text, risk in told
        )

    def unreachable(self, requirement: Requirement) -> Problem | None:
        """Return the problem (RR510) that the limit is below the best guess without a release; None if it is not."""
        limit = self.limits[0]
        over = np.array(
            [Fraction(int(m), int(n)) > limit for m, n in zip(self.most, self.people, strict=True)], dtype=bool
        )
        if self.gain or not over.any():
            return None
        floor = float(self.share.max())
        message = (
            f"no release brings the best guess of {self.of} under {plain_number(float(limit))}: the largest "
            f"share of a value in a group is {plain_number(floor)}, and an attacker who knows the shares guesses "
            f"so well without the release; {int(over.sum()):,} of {len(over):,} groups with "
            f"{int(self.people[over].sum()):,} people "
            "are over the limit"
        )
        hint = (
            'limit what the release adds to it (`measure = "gain"`), or coarsen the quasi-identifiers or the sensitive '
            "attribute, for larger groups"
        )
        if floor == 1:
            return Problem(
                "RR510", message, requirement.place, "groups in which not everybody has the same value", hint
            )
        raised = "; or raise the threshold to the floor"
        return Problem(
            "RR510", message, requirement.place, f"a threshold of at least {plain_number(floor)}", hint + raised
        )


def knowledge_groups(
    channel: Product, original: Original, sensitive: str, *, others_known: bool
) -> Iterator[KnowledgeGroups]:
    """Yield the groups of a table, and the parts that a released record distinguishes, for each attacker.

    The first attacker knows the quasi-identifiers and every insensitive column that is released with certainty. Where
    there are insensitive columns, a second attacker follows, who knows only the quasi-identifiers. `sensitive` has
    its own axis; `others_known`: the attackers know the other sensitive attributes.
    """
    policy = original.policy
    told = split_axes(channel, policy, sensitive, known_sensitive=others_known)
    rest = [
        axis
        for axis in channel.axes
        if axis not in told.known
        and axis is not told.sensitive
        and (not isinstance(axis, Identity) or axis.released.assume_unlinkable is None)
    ]
    carried = [
        c
        for c in channel.carried
        if c not in told.carried
        and c.assume_unlinkable is None
        and c.attribute != sensitive
        and policy.attributes[c.attribute].role is Role.SENSITIVE
    ]
    evidence = gather_evidence(
        original, KnownAndSensitive((*told.known, *rest), (*told.carried, *carried), told.sensitive)
    )
    plain = {
        *(name for axis in channel.axes if isinstance(axis, Identity) for name in axis.attributes),
        *(c.attribute for c in channel.carried),
    }
    hidden = {*(name for axis in rest for name in axis.attributes), *(c.attribute for c in carried)}
    known = [name for name in evidence.names if name not in hidden]
    others = OTHERS_KNOWN if others_known else ""
    yield _split_groups(evidence, known, plain, others)
    insensitive = {name for name in evidence.names if policy.attributes[name].role is Role.INSENSITIVE}
    if insensitive:
        before = [name for name in known if name not in insensitive]
        yield _split_groups(evidence, before, plain, others + READ_OFF)


def _split_groups(evidence: Evidence, known: Collection[str], plain: Collection[str], of: str) -> KnowledgeGroups:
    columns = [place for place, name in enumerate(evidence.names) if name in known]
    group, _ = number_rows(evidence.values[:, columns].T, len(evidence.values))
    beside = tuple(name for name in evidence.names if name not in known)
    return KnowledgeGroups(evidence, group, beside, tuple(name for name in beside if name not in plain), of)


def protected_attribute_guesses(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Iterator[BestGuesses]:
    """Yield the guesses of each protected attribute and attacker."""
    for name, others_known in attackers(requirement, original):
        for told in knowledge_groups(channel, original, name, others_known=others_known):
            yield _attribute_guesses(requirement, told, name)


def _attribute_guesses(
    requirement: Requirement[AttributeDisclosureOptions], told: KnowledgeGroups, name: str
) -> BestGuesses:
    axis, evidence = told.evidence.sensitive, told.evidence
    assert axis is not None
    best = told.summed(bayes_vulnerability(evidence.shares, axis) * evidence.n) / told.people.sum(axis=1)

    def exactly(group: int) -> Fraction:
        rows = evidence.histograms[told.group == group].tolist()
        return sum((exact_bayes_vulnerability(row, axis) for row in rows), Fraction(0))

    return limited_guesses(requirement, told, name + told.known, best, exactly, exact=not told.seen)


def limited_guesses(
    requirement: Requirement[AttributeDisclosureOptions],
    told: KnowledgeGroups,
    of: str,
    best: Array,
    exactly: Callable[[int], Fraction | None],
    *,
    exact: bool,
) -> BestGuesses:
    """Return the guesses that an entry covers, from (groups,) V or upper bounds of it.

    `exactly` returns V of a group times its people, or None if too expensive; `exact`: `best` is V.
    """
    meant = np.zeros(told.groups, dtype=bool)
    meant[told.group[subgroup_mask(told.evidence, requirement, None, ()).any(axis=1)]] = True
    asked, people = np.flatnonzero(meant), told.people
    first = np.zeros(told.groups, dtype=np.int64)
    first[told.group[::-1]] = np.arange(len(told.group))[::-1]
    n, most = people[asked].sum(axis=1), people[asked].max(axis=1, initial=0)
    return BestGuesses(
        of,
        told.evidence,
        (),
        first[asked],
        np.zeros(len(asked), dtype=np.int64),
        n,
        most / n,
        (requirement.options.limit_of(None),),
        told,
        best[asked],
        exact,
        requirement.options.measure is LimitKind.GAIN,
        most,
        lambda i: exactly(int(asked[i])),
    )


def unreachable_limit(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Problem | None:
    """Return the problem that no release satisfies an entry; None if one may."""
    found = (
        guesses.unreachable(requirement) for guesses in protected_attribute_guesses(requirement, channel, original)
    )
    return next((problem for problem in found if problem is not None), None)
