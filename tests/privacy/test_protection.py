"""How strong a release is, against enumeration: person by person, in fractions, from the definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channel.axes.identity import Identity
from rrpolicy.channel.axes.recode import Recode
from rrpolicy.finding import Standing
from rrpolicy.privacy.protection.assess import BARELY, protection
from rrpolicy.privacy.protection.grade import CHANCE, worst
from rrpolicy.privacy.protection.ladder import Ladder

SEEDS = st.integers(0, 2**32)
TINY = 1e-9
Row = Mapping[str, Any]
Weights = dict[int, Fraction]
Law = Mapping[tuple[int, ...], Mapping[Any, Fraction]]


def beliefs(rows: Sequence[Row], me: int, key: Callable[[Row], Any], name: str) -> Weights:
    """Return the weights of all values for one person: the others with the same key, and one record of the whole."""
    found: Weights = {u: Fraction(n, len(rows)) for u, n in tally(rows, name).items()}
    for place, row in enumerate(rows):
        if place != me and key(row) == key(rows[me]):
            found[row[name]] += 1
    return found


def tally(rows: Sequence[Row], name: str) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for row in rows:
        found[row[name]] += 1
    return dict(found)


def names_it(weights: Weights, own: int) -> Fraction:
    """Return the chance of naming a value, among the likeliest ones."""
    most = max(weights.values())
    likeliest = [u for u, weight in weights.items() if weight == most]
    return Fraction(own in likeliest, len(likeliest))


def reads_it(weights: Weights, own: int, law: Law) -> tuple[Fraction, Fraction]:
    """Return how often the true value is named by its released one, and the probability that is given to it."""
    right = given_to = Fraction(0)
    for v, chance in law[own,].items():
        after = {u: weight * law[u,].get(v, Fraction(0)) for u, weight in weights.items()}
        right += chance * names_it(after, own)
        given_to += chance * after[own] / sum(after.values())
    return right, given_to


class Enumerated:
    """What an attacker attains of every person."""

    def __init__(self, rows: Sequence[Row], name: str, key: Callable[[Row], Any], law: Law, links: Sequence[Any]):
        self.rows, self.name, self.law, self.links = rows, name, law, links
        self.before = [beliefs(rows, i, key, name) for i in range(len(rows))]
        self.by_record = [reads_it(w, row[name], law) for w, row in zip(self.before, rows, strict=True)]
        self.key, self.reads = key, ""

    def with_columns(self, exact: Sequence[str]) -> Enumerated:
        """Let the attacker use the column, released exactly, by which he reads best."""
        best = sum(p for _, p in self.by_record) / len(self.rows)
        for column in exact:
            told = [
                reads_it(beliefs(self.rows, i, lambda r, c=column: r[c], self.name), row[self.name], self.law)
                for i, row in enumerate(self.rows)
            ]
            attained = sum(p for _, p in told) / len(self.rows)
            if attained > best + Fraction(BARELY):
                best, self.by_record, self.reads = attained, told, column
        return self

    @property
    def everybody(self) -> list[tuple[Fraction, ...]]:
        """Return (right by statistics, right by record, right by person, probability of each, rise) of each person."""
        found = []
        for weights, (right, given_to), row, link in zip(
            self.before, self.by_record, self.rows, self.links, strict=True
        ):
            own = row[self.name]
            guess, prior = names_it(weights, own), weights[own] / sum(weights.values())
            by_person = link * right + (1 - link) * guess
            posterior = link * given_to + (1 - link) * prior
            found.append((guess, right, by_person, prior, given_to, posterior, posterior - prior))
        return found

    def agrees(self, ladder: Ladder, *, close: float = TINY) -> None:
        people, n = self.everybody, len(self.rows)
        rise = max(person[-1] for person in people)
        assert ladder.of == self.name
        assert ladder.reads == self.reads
        assert ladder.overall.guess.value == pytest.approx(max(tally(self.rows, self.name).values()) / n)
        for place, rung in enumerate((ladder.statistics, ladder.record, ladder.person)):
            assert rung.guess.value == pytest.approx(float(sum(p[place] for p in people) / n), abs=close)
        assert ladder.rise.value == pytest.approx(max(float(rise), 0.0), abs=close)
        candidates = [p for p in people if abs(float(p[-1] - rise)) <= 10 * close]
        shown = (ladder.statistics.worst.value, ladder.record.worst.value, ladder.person.worst.value)
        assert any(np.allclose([float(x) for x in p[3:6]], shown, atol=close) for p in candidates)
        for value in ladder.values:
            mine = [
                p for p, row in zip(people, self.rows, strict=True) if f"{self.name}{row[self.name]}" == value.value
            ]
            assert value.people == len(mine)
            for place, shown_of_value in enumerate((value.statistics, value.record, value.person)):
                mean = sum(p[3 + place] for p in mine) / len(mine)
                assert shown_of_value == pytest.approx(float(mean), abs=close)
        homogeneous = sum(self._alike(i) for i in range(n))
        assert ladder.statistics.certain.value == homogeneous

    def _alike(self, me: int) -> bool:
        others = [r for i, r in enumerate(self.rows) if i != me and self.key(r) == self.key(self.rows[me])]
        return bool(others) and all(r[self.name] == self.rows[me][self.name] for r in others)


def released_key(world: Any) -> Callable[[Row], Any]:
    """Return by what people are counted together: released quasi-identifiers where they are certain, else originals."""
    recoded = {name for axis in world.channel.axes if isinstance(axis, Recode) for name in axis.attributes}

    def key(row: Row) -> Any:
        return tuple(next(iter(world.law(n)[row[n],])) if n in recoded else row[n] for n in ("a", "b"))

    return key


@settings(deadline=None, max_examples=200, derandomize=True)
@given(seed=SEEDS, sensitive=st.sampled_from("st"))
def test_ladders_of_product_channels_are_their_definition(worlds: Any, brute: Any, seed: int, sensitive: str) -> None:
    world = worlds.world(Random(seed))
    known = [(attributes, law) for attributes, law in world.laws if set(attributes) & {"a", "b", "x"}]
    table = brute.Table(world.rows, known, world.carried)
    chances = table.links()
    links = [
        chances[(*(tuple(row[a] for a in names) for names, _ in known), *(row[c] for c in world.carried))]
        for row in world.rows
    ]
    exact = [
        axis.attributes[0]
        for axis in world.channel.axes
        if isinstance(axis, Identity) and axis.attributes[0] in {"x", "s", "t"} - {sensitive}
    ]
    enumerated = Enumerated(world.rows, sensitive, released_key(world), world.law(sensitive), links)
    axis = next(axis for axis in world.channel.axes if sensitive in axis.attributes)
    if not isinstance(axis, Identity):
        enumerated.with_columns([*exact, *world.carried])
    found = protection(world.channel, world.original, world.policy)
    ladder = next(each for each in found.ladders if each.of == sensitive)
    if not any(link.standing is Standing.UPPER_BOUND for link in (ladder.person.guess,)):
        enumerated.agrees(ladder)
    assert found.linking is not None
    assert found.linking.worst.value == pytest.approx(float(max(links)))
    assert found.linking.mean.value == pytest.approx(float(sum(links) / len(links)))
    assert found.linking.certain.value == sum(link == 1 for link in links)
    assert found.linking.grade is CHANCE.grade(float(max(links)))
    assert found.grade is worst(each.grade for each in found.ladders)
