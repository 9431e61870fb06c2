"""Posteriors of the members of a group of anatomy, given the released quasi-identifiers of all of them.

A group has m members and m values. c_v(j) is the share of value v among people who agree with member j in everything
that the attacker knows. Groups are assigned uniformly within each value, so that every assignment of the values to the
members has a probability in proportion to the product of the shares. With M[j, v] = c_v(j),

    Pr(member i has u | group) = c_u(i) perm(M without row i and column u) / perm(M),

with perm the permanent. A value that occurs twice is two columns. Permanents come from dynamic programming over sets of
values: F[T] sums, over all assignments of the values of T to the first |T| members, the products of their shares, and
B[T] the same for the last |T| members, so that every entry above is a sum of F[T] B[all but T and u]. That takes
O(2^m m) for all members and values of a group. Doubles suffice, as nothing is subtracted.

Rows may be scaled: odds of the values serve as well as shares.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints

MOST_MEMBERS = 16
"""Members of a group beyond which permanents are not computed."""
_ENTRIES = 1 << 17
"""Entries (sets, groups) of one array in memory."""


def member_posteriors(shares: Array) -> Array:
    """Return (groups, members, values) the probability of each value for each member; zeros for an impossible group.

    `shares` has (groups, m, m) shares or odds of the group's values for each member, up to a factor of the member.

    Raises:
        ValueError: if a group has more than `MOST_MEMBERS` members.
    """
    groups, members = _validate_shares(shares)
    out = np.zeros(shares.shape)
    for part in _group_chunks(groups, members):
        out[part] = _compute_posteriors(np.ascontiguousarray(shares[part].transpose(1, 2, 0))).transpose(2, 0, 1)
    return out


def permanent_weights(shares: Array) -> Array:
    """Return (groups, m) perm(M without row i and column u) for one member i who is not among the rows.

    `shares` has (groups, m - 1, m) shares of the other members, as for `member_posteriors`. The member's posterior of u
    is in proportion to the result times the member's own shares.

    Raises:
        ValueError: if a group has more than `MOST_MEMBERS` members.
    """
    groups, members = _validate_shares(shares)
    out = np.empty((groups, members))
    whole = (1 << members) - 1
    for part in _group_chunks(groups, members):
        rows = np.ascontiguousarray(shares[part].transpose(1, 2, 0))
        sums = _subset_sums(rows / _row_maxima(rows), members)
        out[part] = sums[[whole ^ (1 << value) for value in range(members)]].T
    return out


def _validate_shares(shares: Array) -> tuple[int, int]:
    groups, _, members = shares.shape
    if members > MOST_MEMBERS:
        raise ValueError(f"permanents are computed for up to {MOST_MEMBERS} members, not for {members}")
    return groups, members


def _group_chunks(groups: int, members: int) -> list[slice]:
    step = max(1, _ENTRIES >> members)
    return [slice(start, start + step) for start in range(0, groups, step)]


def _row_maxima(rows: Array) -> Array:
    """Return (members, 1, groups) each row's largest entry, so that products stay far from underflow."""
    most: Array = rows.max(axis=1, keepdims=True)
    return np.where(most > 0, most, 1.0)


def _compute_posteriors(rows: Array) -> Array:
    """Return (members, values, groups) posteriors from (members, values, groups) shares."""
    members = len(rows)
    rows = rows / _row_maxima(rows)
    ahead, behind = _subset_sums(rows, members), _subset_sums(rows[::-1], members)
    total, whole = ahead[-1], len(ahead) - 1
    out = np.zeros(rows.shape)
    for member in range(members):
        for value in range(members):
            taken = _subsets_lacking(members, member)[value]
            pairs = ahead[taken] * behind[whole ^ taken ^ (1 << value)]
            np.divide(rows[member, value] * pairs.sum(axis=0), total, out=out[member, value], where=total > 0)
    return out


def _subset_sums(rows: Array, members: int) -> Array:
    """Return (2^m, groups) F for (at most m, m, groups) rows; zeros for sets of more values than rows."""
    sums = np.zeros((1 << members, rows.shape[2]))
    sums[0] = 1.0
    for member, row in enumerate(rows):
        for value in range(members):
            taken = _subsets_lacking(members, member)[value]
            sums[taken | (1 << value)] += sums[taken] * row[value]
    return sums


@lru_cache(maxsize=64)
def _subsets_lacking(members: int, size: int) -> list[Ints]:
    """Return, for each value, the sets of `size` values without it, as bits."""
    sets = np.arange(1 << members, dtype=np.int64)
    sets = sets[np.bitwise_count(sets) == size]
    return [sets[(sets >> value) & 1 == 0] for value in range(members)]
