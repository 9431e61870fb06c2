"""Small random tables with all kinds of channels, each with its law written down a second time, entry by entry."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.decoders import Block
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.testing import policies
from rrpolicy.testing.memory import TableInMemory

Law = dict[tuple[int, ...], dict[Any, Fraction]]


def policy_of(attributes: Mapping[str, tuple[str, Sequence[str] | None]]) -> Policy:
    """Return a policy from name -> (role, domain)."""
    named = attributes.items()
    return policies.policy_of([Attribute(n, Role(role), None if d is None else tuple(d)) for n, (role, d) in named])


@dataclass
class World:
    """A table, a channel, and the channel's law as plain dictionaries.

    Attributes:
        laws: (attributes, original codes -> released thing -> probability) of each axis.
        carried: names of carried columns that are evidence.
        rows: one dictionary a person.
    """

    policy: Policy
    original: TableInMemory
    channel: Product
    laws: list[tuple[tuple[str, ...], Law]]
    carried: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def law(self, name: str) -> Law:
        return next(law for attributes, law in self.laws if name in attributes)


def labels(size: int, letter: str) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(size))


def retention(
    name: str, domain: Sequence[str], blocks: Sequence[Sequence[int]], keep: Sequence[Fraction]
) -> tuple[Retention, Law]:
    parts = tuple(Block(tuple(b), Fraction(1) if len(b) == 1 else p) for b, p in zip(blocks, keep, strict=True))
    law: Law = {}
    for block, p in zip(blocks, keep, strict=True):
        for v in block:
            each = (
                {u: p if u == v else (1 - p) / (len(block) - 1) for u in block} if len(block) > 1 else {v: Fraction(1)}
            )
            law[v,] = {u: chance for u, chance in each.items() if chance}
    return Retention((Domain(name, tuple(domain)),), (category_column(name, domain),), parts), law


def column_of(rng: Random, size: int) -> list[Fraction]:
    weights = [rng.choice([0, 1, 2, 5]) for _ in range(size)]
    if not any(weights):
        weights[rng.randrange(size)] = 1
    return [Fraction(w, sum(weights)) for w in weights]


def matrix(rng: Random, names: Sequence[str], domains: Sequence[Sequence[str]]) -> tuple[Matrix, Law]:
    cells = list(itertools.product(*(range(len(d)) for d in domains)))
    released = [labels(rng.randint(1, 3), f"r{n}") for n in names]
    size = int(np.prod([len(r) for r in released]))
    columns = [column_of(rng, size) for _ in cells]
    columns_of = tuple(category_column(n, r) for n, r in zip(names, released, strict=True))
    entries = tuple(tuple(column[u] for column in columns) for u in range(size))
    axis = Matrix(tuple(Domain(n, tuple(d)) for n, d in zip(names, domains, strict=True)), columns_of, entries)
    return axis, {c: {u: p for u, p in enumerate(column) if p} for c, column in zip(cells, columns, strict=True)}


def recode(rng: Random, name: str, domain: Sequence[str]) -> tuple[Recode, Law]:
    level = [rng.choice("xy") for _ in domain]
    axis = Recode.by_levels([Domain(name, tuple(domain))], [level])
    return axis, {(i,): {label: Fraction(1)} for i, label in enumerate(level)}


def one(rng: Random, name: str, domain: Sequence[str], kinds: Sequence[str]) -> tuple[Any, Law]:
    kind, size = rng.choice(list(kinds)), len(domain)
    if kind == "identity":
        return Identity.of(name, tuple(domain)), {(i,): {i: Fraction(1)} for i in range(size)}
    if kind == "retention":
        p = Fraction(rng.randint(0, 12), 12)
        return retention(name, domain, [tuple(range(size))], [p])
    if kind == "blocks":
        split = [[i for i in range(size) if (i % 2) == side] for side in (0, 1)]
        blocks = [tuple(b) for b in split if b]
        return retention(name, domain, blocks, [Fraction(rng.randint(0, 6), 6) for _ in blocks])
    if kind == "recode":
        return recode(rng, name, domain)
    return matrix(rng, [name], [domain])


EVERY = ("identity", "retention", "blocks", "matrix", "recode")


def world(rng: Random, kinds: Sequence[str] = EVERY) -> World:
    """Return a random table of at most 12 people: two quasi-identifiers, another column, two sensitive ones."""
    domains = {n: labels(rng.randint(1, 3), n) for n in ("a", "b", "x")} | {
        n: labels(rng.randint(2, 3), n) for n in ("s", "t")
    }
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "x": "insensitive", "s": "sensitive", "t": "sensitive"}
    carried = rng.random() < 0.3
    spec: dict[str, tuple[str, Sequence[str] | None]] = {n: (roles[n], domains[n]) for n in domains}
    if carried:
        spec["c"] = ("insensitive", None)
    policy = policy_of(spec)
    axes: list[Any] = []
    laws: list[tuple[tuple[str, ...], Law]] = []
    if "matrix" in kinds and rng.random() < 0.25:
        axis, law = matrix(rng, ["a", "b"], [domains["a"], domains["b"]])
        axes.append(axis)
        laws.append((("a", "b"), law))
    else:
        for name in ("a", "b"):
            axis, law = one(rng, name, domains[name], kinds)
            axes.append(axis)
            laws.append(((name,), law))
    axes.append(Identity.of("x", domains["x"]))
    laws.append((("x",), {(i,): {i: Fraction(1)} for i in range(len(domains["x"]))}))
    for name in ("s", "t"):
        axis, law = one(rng, name, domains[name], [k for k in kinds if k != "recode"])
        axes.append(axis)
        laws.append(((name,), law))
    people = rng.randint(1, 12)
    rows: list[dict[str, Any]] = [
        {n: min(rng.randrange(len(d)), rng.randrange(len(d))) for n, d in domains.items()}
        | ({"c": rng.choice([1.5, 2.5, None])} if carried else {})
        for _ in range(people)
    ]
    columns = {n: np.array([r[n] for r in rows], dtype=np.int32) for n in domains}
    extra = {"c": pa.array([r["c"] for r in rows], pa.float64())} if carried else {}
    released = (Column("c", "carried", (), "DOUBLE", "c"),) if carried else ()
    names = [c.name for axis in axes for c in axis.columns()] + [c.name for c in released]
    channel = Product(tuple(axes), released, tuple(names))
    return World(policy, TableInMemory(policy, columns, extra), channel, laws, ["c"] if carried else [], rows)
