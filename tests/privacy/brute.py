"""The formulas of disclosure read out over full domains in fractions. Shares nothing with the code under test."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Law = dict[tuple[int, ...], dict[Any, Fraction]]
Pair = tuple[Any, int]


class Table:
    """A table as an attacker sees it: combinations of what he knows, and one sensitive value (or none)."""

    def __init__(
        self,
        rows: Sequence[dict[str, Any]],
        known: Sequence[tuple[tuple[str, ...], Law]],
        carried: Sequence[str] = (),
        sensitive: str | None = None,
        law: Law | None = None,
    ) -> None:
        self.total = len(rows)
        self.known = known
        self.law = law or {(0,): {0: Fraction(1)}}
        self.people: Counter[Pair] = Counter()
        for row in rows:
            alpha = (*(tuple(row[a] for a in names) for names, _ in known), *(row[c] for c in carried))
            self.people[alpha, 0 if sensitive is None else row[sensitive]] += 1
        self.groups: Counter[Any] = Counter()
        for (alpha, _), n in self.people.items():
            self.groups[alpha] += n

    def column(self, alpha: Any) -> dict[Any, Fraction]:
        """Return the released combinations of one original combination."""
        own = [list(law[alpha[i]].items()) for i, (_, law) in enumerate(self.known)]
        rest = tuple(alpha[len(self.known) :])
        found: dict[Any, Fraction] = defaultdict(Fraction)
        for parts in itertools.product(*own):
            chance = Fraction(1)
            for _, p in parts:
                chance *= p
            if chance:
                found[(*(u for u, _ in parts), *rest)] += chance
        return found

    @property
    def released(self) -> dict[Any, Fraction]:
        """Return lambda."""
        total: dict[Any, Fraction] = defaultdict(Fraction)
        for alpha, n in self.groups.items():
            for beta, chance in self.column(alpha).items():
                total[beta] += Fraction(n, self.total) * chance
        return total

    def round_trip(self) -> dict[tuple[Any, Any], Fraction]:
        """Return Pr(the record drawn for alpha comes from gamma), as (gamma, alpha)."""
        released = self.released
        columns = {alpha: self.column(alpha) for alpha in self.groups}
        return {
            (gamma, alpha): Fraction(self.groups[gamma], self.total)
            * sum(
                (columns[gamma].get(beta, Fraction(0)) * p / released[beta] for beta, p in columns[alpha].items()),
                Fraction(0),
            )
            for gamma in self.groups
            for alpha in self.groups
        }

    def share(self, alpha: Any, u: int) -> Fraction:
        return Fraction(self.people[alpha, u], self.groups[alpha])

    def seen(self, alpha: Any) -> dict[Any, Fraction]:
        """Return P_S c."""
        total: dict[Any, Fraction] = defaultdict(Fraction)
        for (w,), column in self.law.items():
            for v, p in column.items():
                total[v] += self.share(alpha, w) * p
        return total

    def risks(self) -> dict[Pair, Fraction]:
        trip = self.round_trip()
        found = {}
        for alpha, u in self.people:
            seen = self.seen(alpha)
            back = sum((p * self.share(alpha, u) * p / seen[v] for v, p in self.law[u,].items()), Fraction(0))
            found[alpha, u] = self.share(alpha, u) * trip[alpha, alpha] * back
        return found

    def links(self) -> dict[Any, Fraction]:
        trip = self.round_trip()
        return {alpha: trip[alpha, alpha] / n for alpha, n in self.groups.items()}

    def success(self) -> dict[Pair, Fraction]:
        trip = self.round_trip()
        found = {}
        for alpha, u in self.people:
            seen, total = self.seen(alpha), Fraction(0)
            for (gamma, w), _ in self.people.items():
                for v, p in self.law[w,].items():
                    if seen.get(v):
                        read = self.share(alpha, u) * self.law[u,].get(v, Fraction(0)) / seen[v]
                        total += trip[gamma, alpha] * self.share(gamma, w) * p * read
            found[alpha, u] = total
        return found

    def worst_posterior(self) -> Fraction:
        weight: dict[Any, list[Fraction]] = defaultdict(list)
        for (alpha, u), n in self.people.items():
            for beta, p in self.column(alpha).items():
                for v, q in self.law[u,].items():
                    weight[beta, v].append(n * p * q)
        return max(max(w) / sum(w) for w in weight.values() if sum(w))
