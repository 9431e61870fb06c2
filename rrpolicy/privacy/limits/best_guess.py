"""Best guesses held against a limit: one number for each group of people who agree in what the attacker knows.

Whoever knows which released record is a person's reads all of it. What else stands in it is counted as if it were
released as it is, and weighed by how often it occurs in the person's group,

    V(alpha) <= sum over w of Pr(w | alpha) sum over v of max over u of c_u(alpha, w) P_S[v, u],

exact where the rest is released as it is, or there is none; else an upper bound (data processing). The gain is V less
the largest share in the group alpha, which guessing without the release attains. An insensitive column released as it
is belongs to the rest: it is read off the record, and an attacker may not have known it. Attackers who did know all of
them are measured as well, and the largest gain decides. V alone is largest for them.

How often the likeliest value is the true one, for who sees what a record releases: Bayes vulnerability.

    V(alpha) = sum over v of max over u of c_u P_S[v, u]

for a person of the quasi-identifiers alpha, c the shares of the sensitive values in that group: the attacker knows
which released record is the person's, and names the value that is then the likeliest. Never below max c_u, which he
attains unseen; 1 where the value is released as it is. No function of what is released has a larger one (data
processing), so that it falls with every retention probability.

References:
    Smith 2009, "On the foundations of quantitative information flow", definition 2 and theorem 1 (vulnerability);
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, "The science of quantitative information flow",
    equation 5.5 (posterior Bayes vulnerability) and definition 5.9 (its additive gain).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.counts import number_rows
from rrpolicy.declarations import Role
from rrpolicy.errors import Problem
from rrpolicy.finding import Basis, Companion, Measure, Risk, Standing
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import (
    LimitedNumbers,
    attribute_finding,
    subgroup_mask,
    unhidden_assumption,
)
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.exact_risks import snap_to_limit
from rrpolicy.privacy.disclosure.inference_accuracy import max_product
from rrpolicy.privacy.disclosure.related_measures import GROUP_INFERENCE, OTHERS_KNOWN
from rrpolicy.privacy.epsilon.general_bounds import general_bound_measures
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.evidence import (
    Evidence,
    KnownAndSensitive,
    gather_evidence,
    split_axes,
)

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, GuessableAxis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.source.protocol import Original


def bayes_vulnerability(shares: Array, axis: Axis) -> Array:
    """Return V of every group, (groups,).

    Args:
        shares: (groups, categories) c.
        axis: of the sensitive attribute.
    """
    if not isinstance(axis, Transition):
        return cast("GuessableAxis", axis).best_guess(shares)
    right: Array = max_product(axis, shares, 1).sum(axis=1)
    return right


def exact_bayes_vulnerability(counts: Sequence[int], axis: Axis) -> Fraction:
    """Return V of one group times its number of people, exactly.

    Args:
        counts: (categories,) people by sensitive value.
        axis: of the sensitive attribute.
    """
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


@frozen(slots=False)
class KnowledgeGroups:
    """Groups of people who agree in what is known of them, parted by what else stands in their records.

    Attributes:
        evidence: the parts.
        group: (parts,) the group of each.
        beside: names of what parts the groups: what else stands in a record, and counts as read.
        seen: those of them that are not released as they are.
        known: which columns other than the quasi-identifiers make the groups, as it follows the attribute's name.
    """

    evidence: Evidence
    group: Ints
    beside: tuple[str, ...]
    seen: tuple[str, ...]
    known: str = ""

    @property
    def groups(self) -> int:
        """Return the number of groups."""
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


@frozen(slots=False)
class BestGuesses(LimitedNumbers):
    """The best guess, or its gain, of every group that an entry speaks of.

    Attributes:
        best: (k,) V, or upper bounds.
        exact: whether they are exact.
        gain: whether the gain is limited.
        most: (k,) people with the commonest value.
        exactly_best: what tells V, or what it is at most, times the people, exactly; None where that takes too much.
    """

    best: Array
    exact: bool
    gain: bool
    most: Ints
    exactly_best: Callable[[int], Fraction | None]

    @property
    def number(self) -> Array:
        """Return (k,) what is limited."""
        return np.maximum(self.best - self.share, 0.0) if self.gain else self.best

    @property
    def quantity(self) -> str:
        """Return what the numbers are, in words."""
        return f"{'gain of the ' if self.gain else ''}best guess of {self.of}"

    def measured(self, at: int) -> Measure:
        """Return one number with its standing; at its limit exactly, if it is."""
        value = snap_to_limit(float(self.number[at]), self.limits[0], lambda: self.exactly()(at))
        return Measure(value, Standing.EXACT if self.exact else Standing.UPPER_BOUND)

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a number exactly."""

        def number(i: int) -> Fraction | None:
            best = self.exactly_best(i)
            return None if best is None else (best - (int(self.most[i]) if self.gain else 0)) / int(self.people[i])

        return number

    def beside(self) -> tuple[Companion, ...]:
        """Return the guess, what is guessed unseen, and the gain, each at its largest."""
        standing = Standing.EXACT if self.exact else Standing.UPPER_BOUND
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
        """Return that a limit is below what is guessed unseen, which no release lowers (RR510); None if it is not."""
        limit = self.limits[0]
        over = np.array(
            [Fraction(int(m), int(n)) > limit for m, n in zip(self.most, self.people, strict=True)], dtype=bool
        )
        if self.gain or not over.any():
            return None
        floor = float(self.share.max())
        message = (
            f"no release brings the best guess of {self.of} under {float(limit):g}: the largest share of a value in a "
            f"group is {floor:.6g}, and an attacker who knows the shares guesses so well without "
            f"the release; {int(over.sum()):,} of {len(over):,} groups with {int(self.people[over].sum()):,} people "
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
        return Problem("RR510", message, requirement.place, f"a threshold of at least {floor:.6g}", hint + raised)


def knowledge_groups(
    channel: Product, original: Original, sensitive: str, *, others_known: bool
) -> Iterator[KnowledgeGroups]:
    """Yield the groups of a table, and the parts that a released record tells apart, for each attacker.

    The first attacker knows the quasi-identifiers and every insensitive column that is released with certainty. Where
    there are insensitive columns, another one follows, who knows the quasi-identifiers alone.

    Args:
        channel: what is released.
        original: the table.
        sensitive: the attribute that is guessed, on an axis of its own.
        others_known: whether the attackers know the other sensitive attributes.
    """
    policy = original.policy
    told = split_axes(channel, policy, sensitive, known_sensitive=others_known)
    rest = [
        axis for axis in channel.axes if axis not in told.known and axis is not told.sensitive and _is_visible(axis)
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


def _is_visible(axis: Axis) -> bool:
    return not isinstance(axis, Identity) or axis.released.assume_unlinkable is None


def protected_attribute_guesses(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Iterator[tuple[KnowledgeGroups, str, BestGuesses]]:
    """Yield the guesses of each protected attribute: with the quasi-identifiers known, then all others, if asked."""
    policy = original.policy
    others = len(policy.with_role(Role.SENSITIVE)) > 1
    for name in requirement.protects(policy):
        for others_known in (False, True) if requirement.options.known_sensitive and others else (False,):
            for told in knowledge_groups(channel, original, name, others_known=others_known):
                yield told, name, _attribute_guesses(requirement, told, name)


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
    """Return the guesses that an entry speaks of.

    Args:
        requirement: the entry.
        told: the groups.
        of: the sensitive attribute, in words.
        best: (groups,) V, or upper bounds.
        exactly: what tells V of a group times its people; None where that takes too much.
        exact: whether `best` is exact.
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
        best[asked],
        exact,
        requirement.options.measure is LimitKind.GAIN,
        most,
        lambda i: exactly(int(asked[i])),
    )


def assess(requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original) -> Finding:
    """Assess every protected attribute on a product channel."""
    found = list(protected_attribute_guesses(requirement, channel, original))
    seen = dict.fromkeys(name for told, _, _ in found for name in told.seen)
    return attribute_finding(
        requirement,
        tuple(held for _, _, held in found),
        (*scope_loss(channel).assumptions, *unhidden_assumption(seen)),
        general_bound_measures(channel, original.records),
    )


def guess_verdict(requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original) -> bool:
    """Return the verdict alone."""
    return not any(held.over().any() for _, _, held in protected_attribute_guesses(requirement, channel, original))


def unreachable_limit(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Problem | None:
    """Return why no release whatever keeps an entry's limit; None if one may."""
    found = (
        held.unreachable(requirement) for _, _, held in protected_attribute_guesses(requirement, channel, original)
    )
    return next((problem for problem in found if problem is not None), None)
