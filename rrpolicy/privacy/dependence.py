"""Unmodified columns that reveal randomised ones: by association, and by values that follow from theirs.

Of a table of r rows and c columns with n records, chi2 its statistic of independence, Cramér's V corrected for bias is

    phi2 = max(0, chi2/n - (r-1)(c-1)/(n-1)),    r' = r - (r-1)^2/(n-1),    V = sqrt(phi2 / min(r'-1, c'-1))

and c' like r'. V counts only where chi2 is beyond chance: its tail, of a gamma law with the exact mean and variance
that chi2 has over all tables with the same margins, is at most `CHANCE` divided by the number of pairs of columns.

A randomised value *follows* from exact ones where all records of a group that agrees in them have it: of five records
or more, and too many for chance, given how frequent the value is among records that agree in all but one of them.

References:
    Bergsma 2013, A bias-correction for Cramér's V and Tschuprow's T, eq. 2-4; Haldane 1940, Dawson 1954, for the mean
    and the variance of chi2 given the margins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from rrpolicy.channels.decoders import RecodeDecoder
from rrpolicy.counts import number_rows, rank_codes
from rrpolicy.declarations import Role
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.finding import Measure, Standing
from rrpolicy.privacy.epsilon.association import rank_groups
from rrpolicy.privacy.epsilon.scope_loss import DOUBTFUL_CRAMERS_V

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.policy.model import Attribute, Policy, Requirement
    from rrpolicy.source.protocol import Original

    Set: TypeAlias = tuple[str, ...]

STRONG = 0.5
"""Cramér's V from which a column gives another one away."""
FEW = 5
"""Records from which a group is looked at, and rare values count by themselves."""
SOME = 0.01
"""Share of the records from which values that follow give a column away."""
CHANCE = 1e-3
"""At most so many of tables without any dependence have one that counts."""
MOST_RECORDS = 20_000
"""About the most records that are looked at."""
MOST_SETS = 50
"""Pairs of exact columns that are looked at."""
MOST_CELLS = 1 << 20


Columns: TypeAlias = "tuple[list[Attribute], list[Attribute]]"
"""Columns that are released unmodified, and those with categories that are drawn at random."""


class Dependence(Struct, frozen=True):
    """The dependence of a randomised column on one that is released unmodified.

    `v` is 0 where it is not beyond chance. `following` is the number of the examined records whose randomised value
    follows from exact ones: from `exact` and `others`. `left_out`: every requirement on the randomised column ignores
    the exact one.
    """

    exact: str
    randomised: str
    v: Measure
    following: int
    records: int
    others: tuple[str, ...]
    left_out: bool

    @property
    def share(self) -> float:
        """Return the share of the records whose value follows."""
        return self.following / self.records

    @property
    def gives_away(self) -> bool:
        """Whether the exact column gives the randomised one away and no requirement takes it into account."""
        return self.left_out and (self.v.value >= STRONG or self.share >= SOME)


def find_dependences(policy: Policy, columns: Columns, original: Original) -> tuple[Dependence, ...]:
    """Return the dependences between exact and randomised columns that are beyond chance, in the policy's order."""
    exact, randomised = columns
    if not exact or not randomised or not original.records:
        return ()
    table = original.sample(*(a.name for a in (*exact, *randomised)))
    table = table.take(number_array(np.arange(0, len(table), -(-len(table) // MOST_RECORDS))))
    return tuple(_CodedRecords(policy, exact, randomised, table, whole=len(table) == original.records).found())


def exact_and_randomised(policy: Policy, channel: Channel) -> Columns:
    """Return the attributes released unmodified, and those with categories that are drawn at random."""
    decoders = channel.decoders()
    drawn = {name for d in decoders if d.drawn for name in d.attributes}
    coarser = {name for d in decoders if isinstance(d, RecodeDecoder) for name in d.attributes}
    exact = [a for a in policy.released if a.name not in drawn | coarser]
    return exact, [a for a in policy.released if a.name in drawn and a.categorical]


def is_disregarded(policy: Policy, exact: Attribute, randomised: Attribute) -> bool:
    """Return whether every requirement on a randomised column ignores one that is released unmodified.

    This is so if the exact column is assumed to identify nobody. Otherwise there must be such requirements, and none
    may count it as known: an epsilon in attribute scope, whose public context it is; any where it is sensitive,
    unless attackers know other sensitive attributes.
    """
    if exact.assume_unlinkable is not None:
        return True
    on = [r for r in policy.requirements if _limits_randomised(r, policy, randomised)]
    return bool(on) and not any(_includes_exact_column(r, exact) for r in on)


def _limits_randomised(requirement: Requirement, policy: Policy, randomised: Attribute) -> bool:
    """Return whether a requirement limits the information on a randomised column, or from it."""
    if hasattr(requirement.options, "sensitive"):
        return randomised.name in requirement.protects(policy)
    return hasattr(requirement.options, "scope") or randomised.role is Role.QUASI_IDENTIFIER


def _includes_exact_column(requirement: Requirement, exact: Attribute) -> bool:
    """Return whether a requirement covers the consequences of a column that is released unmodified."""
    if getattr(requirement.options, "scope", "record") == "attribute":
        return False
    return exact.role is not Role.SENSITIVE or bool(getattr(requirement.options, "known_sensitive", False))


class _CodedRecords:
    """The records that are looked at, in codes."""

    def __init__(
        self,
        policy: Policy,
        exact: Sequence[Attribute],
        randomised: Sequence[Attribute],
        table: pa.Table,
        *,
        whole: bool,
    ) -> None:
        self._n = len(table)
        self._exact = {a.name: a for a in exact}
        self._values = {a.name: _value_codes(table.column(a.name)) for a in exact}
        self._broad = {  # values that several records have on average; else groups of about equal size, in their order
            name: values if (int(values.max()) + 1) * FEW <= len(values) else rank_groups(table.column(name))
            for name, values in self._values.items()
        }
        self._randomised = [a.name for a in randomised]
        self._codes = {a.name: rank_codes(as_numpy(table.column(a.name)))[1] for a in randomised}
        self._left_out = {(e.name, r.name): is_disregarded(policy, e, r) for e in exact for r in randomised}
        self._pairs = len(self._left_out)
        self._standing = Standing.EXACT if whole else Standing.ESTIMATE
        self._error = 0.0 if whole else 1 / math.sqrt(self._n)

    def found(self) -> Iterator[Dependence]:
        """Yield the dependences that are significant."""
        together = self._together()
        alone = {name: self._follows((name,), name, self._randomised) for name in self._exact if self._new(name)}
        broad, codes = ({n: pool_rare_codes(c) for n, c in each.items()} for each in (self._broad, self._codes))
        for (exact, randomised), out in self._left_out.items():
            v = corrected_v(broad[exact], codes[randomised], CHANCE / self._pairs)
            own = alone[exact][randomised] if exact in alone else 0
            following, others = max((own, ()), together.get((exact, randomised), (0, ())), key=lambda each: each[0])
            if v >= DOUBTFUL_CRAMERS_V or following:
                measure = Measure(v, self._standing, self._error)
                yield Dependence(exact, randomised, measure, following, self._n, others, out)

    def _new(self, exact: str) -> bool:
        """Return whether a column is unknown without the release."""
        return self._exact[exact].role is not Role.QUASI_IDENTIFIER

    def _together(self) -> dict[tuple[str, str], tuple[int, Set]]:
        """Return how many values follow from pairs of exact columns and from all of them, and the other columns."""
        new = [name for name in self._exact if self._new(name) and any(self._out(name))]
        sets = list(dict.fromkeys(tuple(sorted((name, o))) for name in new for o in self._exact if o != name))
        every = [tuple(self._exact)] if len(self._exact) > 2 else []  # noqa: PLR2004 two are a pair
        found: dict[tuple[str, str], tuple[int, Set]] = {}
        for members in [*sets[:MOST_SETS], *every]:
            for exact in (name for name in new if name in members):
                for randomised, following in self._follows(members, exact, self._out(exact)).items():
                    if following > found.get((exact, randomised), (0, ()))[0]:
                        found[exact, randomised] = following, tuple(m for m in members if m != exact)
        return found

    def _out(self, exact: str) -> list[str]:
        """Return the randomised columns whose requirements ignore a column."""
        return [name for name in self._randomised if self._left_out[exact, name]]

    def _follows(self, members: Set, exact: str, randomised: Sequence[str]) -> dict[str, int]:
        """Return how many values of randomised columns follow from the exact `members`, and not without `exact`."""
        rest, _ = number_rows((self._values[name] for name in members if name != exact), self._n)
        key, groups = number_rows((rest, self._values[exact]), self._n)
        own = self._values[exact] if len(members) > 1 else np.zeros(self._n, dtype=np.int64)
        order = np.argsort(key, kind="stable")
        size = np.bincount(key, minlength=groups)
        starts = np.cumsum(size) - size
        large = np.flatnonzero(size >= FEW)
        if not len(large):
            return dict.fromkeys(randomised, 0)
        codes = np.column_stack([self._codes[name] for name in randomised])[order]
        low, high = (f.reduceat(codes, starts, axis=0)[large] for f in (np.minimum, np.maximum))
        first, tests = order[starts[large]], math.log(len(large) * self._pairs * max(len(members), 1) / CHANCE)
        told = dict.fromkeys(randomised, 0)
        for place, name in enumerate(randomised):
            same = np.flatnonzero(low[:, place] == high[:, place])
            if not len(same):
                continue
            value = low[same, place]
            usual = np.maximum(
                *(_context_share(self._codes[name], value, code, code[first[same]]) for code in (rest, own))
            )
            sure = size[large[same]] * np.log(usual) < -tests
            told[name] = int(size[large[same]][sure].sum())
        return told


def _context_share(codes: Ints, value: Ints, context: Ints, of: Ints) -> Array:
    """Return the share of a value among the records of a context, for each of some."""
    width = int(codes.max(initial=0)) + 1
    cells, n = np.unique(context * width + codes, return_counts=True)
    found = n[np.searchsorted(cells, of * width + value)]
    share: Array = found / np.bincount(context)[of]
    return share


def _value_codes(column: pa.ChunkedArray) -> Ints:
    """Return the place of each record's value among those that occur."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return rank_codes(as_numpy(column).astype(np.int64))[1]
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    return rank_codes(as_numpy(encoded.indices).astype(np.int64))[1]


def pool_rare_codes(codes: Ints) -> Ints:
    """Return codes with the rare ones as one code, or as the least frequent other if they are few together."""
    n = np.bincount(codes)
    rare = n < FEW
    if not rare.any() or rare.all():
        return codes
    often = np.flatnonzero(~rare)
    into = len(n) if n[rare].sum() >= FEW else often[n[often].argmin()]
    return rank_codes(np.where(rare, into, np.arange(len(n)))[codes])[1]


def corrected_v(rows: Ints, columns: Ints, chance: float) -> float:
    """Return Cramér's V of (records,) codes from 0 that all occur, corrected for bias; 0 unless it is beyond chance.

    Of tables with the same margins, at most the share `chance` has so large a statistic, or none counts.
    """
    n = len(rows)
    a, b = np.bincount(rows), np.bincount(columns)
    r, c = len(a), len(b)
    if min(r, c) < 2 or n < FEW:  # noqa: PLR2004 nothing varies
        return 0.0
    at, count = _count_cells(rows * c + columns, r * c)
    chi2 = n * max(float((count**2 / (a[at // c] * b[at % c])).sum()) - 1, 0.0)
    shortened = [k - (k - 1) ** 2 / (n - 1) for k in (r, c)]
    phi2 = chi2 / n - (r - 1) * (c - 1) / (n - 1)
    if phi2 <= 0 or min(shortened) <= 1 or chi_square_tail(chi2, a, b) > chance:
        return 0.0
    return min(math.sqrt(phi2 / (min(shortened) - 1)), 1.0)


def _count_cells(cells: Ints, size: int) -> tuple[Ints, Array]:
    """Return the cells that occur, and their counts."""
    if size > MOST_CELLS:
        found, n = np.unique(cells, return_counts=True)
        return found, n.astype(float)
    n = np.bincount(cells)
    found = np.flatnonzero(n)
    return found, n[found].astype(float)


def chi_square_tail(chi2: float, a: Ints, b: Ints) -> float:
    """Return about the chance of a statistic as large, over all tables with the same margins."""
    from scipy.special import gammaincc

    n, r, c = int(a.sum()), len(a), len(b)
    mean = n * (r - 1) * (c - 1) / (n - 1)
    (v, w), (x, y) = (
        ((k - 1) * (n - k) / (n - 1), (n * float((1 / m).sum()) - k**2) / (n - 2)) for k, m in ((r, a), (c, b))
    )
    variance = 2 * n / (n - 3) * (v - w) * (x - y) + n**2 / (n - 1) * w * y
    return float(gammaincc(mean**2 / variance, chi2 * mean / variance))
