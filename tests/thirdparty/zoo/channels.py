"""A channel of a plugin's own, and what is wrong with others."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from rrpolicy.frozen import replace
from rrpolicy.plugin import (
    MULTIPLICITY,
    Basis,
    Channel,
    Column,
    Finding,
    MatrixDecoder,
    Measure,
    Product,
    Retention,
    Standing,
    TableSpec,
    Verdict,
    hookimpl,
)
from rrpolicy.testing import check_channel, open_policy, policy_of

DOMAINS = {"sex": ["f", "m"], "region": ["n", "e", "s"]}
ticks = itertools.count(1)


class Own(Product):
    """A product under another name."""

    kind: ClassVar[str] = "acme.own"
    version: ClassVar[int] = 1


@dataclass
class Through:
    """A sink that changes what it is given."""

    sink: Any
    change: Any

    def write(self, table, batch, n=None, *, in_order=False, sorted_by=0):
        self.sink.write(table, *self.change(batch, n), in_order=in_order, sorted_by=sorted_by)


def drawing(change: Any) -> type[Own]:
    """Return a channel that changes what it draws."""

    class Drawing(Own):
        def draw(self, original, streams, sink):
            Own.draw(self, original, streams, Through(sink, change))

    return Drawing


class Observant(Own):
    def settle(self, original):
        keep = Fraction(1, 2) + Fraction(1, 3 + int(original.counts("sex").n[0]))
        return replace(super().settle(original), axes=(Retention.uniform("sex", ("f", "m"), keep), *self.axes[1:]))


class Restless(Own):
    def draw(self, original, streams, sink):
        super().draw(original, type(streams).for_tests(next(ticks)), sink)


class Verbatim(Own):
    """Releases the table."""

    def draw(self, original, streams, sink):
        for batch in original.rows(*DOMAINS):
            columns = [pa.array([DOMAINS[n][c] for c in batch.column(n).to_pylist()]) for n in DOMAINS]
            sink.write("data", pa.record_batch(columns, names=list(DOMAINS)))


class Content(Own):
    def conforms(self, original, released):
        return replace(super().conforms(original, released), verdict=Verdict.SATISFIED)


class Discontent(Own):
    def conforms(self, original, released):
        return replace(super().conforms(original, released), verdict=Verdict.FAILED)


class Forgetful(Own):
    def decoders(self):
        return super().decoders()[:1]


class Reticent(Own):
    def to_public_json(self):
        return {"kind": self.kind, "version": self.version}


class Misleading(Own):
    """Publishes another matrix than that which it draws from."""

    def to_public_json(self):
        return replace(self, axes=(Retention.uniform("sex", ("f", "m"), Fraction(2, 3)), *self.axes[1:])).to_json()


class Credulous(Own):
    @classmethod
    def from_json(cls, document, kinds):
        return super().from_json({**document, "version": cls.version}, kinds)


class Unheard(Own):
    kind: ClassVar[str] = "acme.unheard"


class Backwards(Own):
    def tables(self):
        (table,) = super().tables()
        return (replace(table, columns=table.columns[::-1]),)


@dataclass(frozen=True)
class Sampling(Channel):
    """Releases `size` records, drawn without replacement, and the others as `*`."""

    kind: ClassVar[str] = "acme.sampling"
    version: ClassVar[int] = 1

    size: int
    records: int

    @classmethod
    def made(cls):
        return cls(100, 400)

    @property
    def share(self) -> Fraction:
        return Fraction(self.size, self.records)

    def tables(self):
        columns = (Column(name, "category", (*domain, "*"), "VARCHAR", name) for name, domain in DOMAINS.items())
        return (TableSpec("data", tuple(columns), tuple(DOMAINS)),)

    def undone(self, names):
        original = tuple(itertools.product(*(DOMAINS[name] for name in names)))
        rows = [tuple(self.share * (u == v) for v in original) for u in original]
        rows.append((1 - self.share,) * len(original))
        released = (*original, ("*",) * len(names))
        return MatrixDecoder(names, names, released, original, tuple(rows), independent=False)

    def decoders(self):
        return (self.undone(tuple(DOMAINS)),)

    def settle(self, original):
        return self

    def chosen(self, streams):
        """Return the places of the records that are released."""
        return np.argsort(streams.stream("sample").words(self.records))[: self.size]

    def draw(self, original, streams, sink):
        whole = pa.Table.from_batches(original.rows(*DOMAINS))
        stays = np.zeros(self.records, dtype=bool)
        stays[self.chosen(streams)] = True
        arrays = [
            pa.array(
                [
                    domain[code] if kept else "*"
                    for code, kept in zip(whole.column(name).to_pylist(), stays, strict=True)
                ]
            )
            for name, domain in DOMAINS.items()
        ]
        sink.write("data", pa.record_batch(arrays, names=list(DOMAINS)))

    def conforms(self, original, released):
        found: Counter[tuple[str, ...]] = Counter()
        for row in released["data"].read_all().to_pylist():
            found[tuple(row[name] for name in DOMAINS)] += row[MULTIPLICITY]
        true: Counter[tuple[str, ...]] = Counter()
        counts = original.counts(*DOMAINS)
        for codes, n in zip(counts.codes.tolist(), counts.n.tolist(), strict=True):
            true[tuple(domain[code] for code, domain in zip(codes, DOMAINS.values(), strict=True))] = n
        hidden = found.pop(("*",) * len(DOMAINS), 0)
        fine = hidden == self.records - self.size and sum(found.values()) == self.size and found <= true
        return Finding(
            code="conforms",
            model="conforms",
            requirement="a sample of the table",
            place=None,
            achieved=Measure(float(fine), Standing.EXACT),
            limit=None,
            verdict=Verdict.SATISFIED if fine else Verdict.FAILED,
            basis=Basis.ORIGINAL,
            adversary="",
        )

    def discloses(self):
        return ()


class EvenChance(Sampling):
    """Says that every second record is released."""

    @property
    def share(self):
        return Fraction(1, 2)


class Foremost(Sampling):
    def chosen(self, streams):
        return np.arange(self.size)


class OneByOne(Sampling):
    """Publishes a decoder an attribute, each true by itself."""

    def decoders(self):
        return tuple(self.undone((name,)) for name in DOMAINS)


class Periodic(OneByOne):
    def chosen(self, streams):
        return np.arange(0, self.records, self.records // self.size)


def check(kind: type[Any]) -> None:
    class Plugin:
        @hookimpl
        def rrpolicy_channels(self):
            return [kind if kind is not Unheard else Own]

    axes = tuple(Retention.uniform(name, domain, Fraction(3, 5)) for name, domain in DOMAINS.items())
    made = kind(axes, (), tuple(DOMAINS)) if issubclass(kind, Own) else kind.made()
    check_channel(made, open_policy(policy_of(DOMAINS), [Plugin()]))


HONEST = {
    "a product under another name": Own,
    "a sample without replacement": Sampling,
    "a sample, each attribute undone by itself": OneByOne,
}
WRONG = {
    "it is drawn as the table is": (Observant, "settle.. reads the table"),
    "its own chance": (Restless, "two draws from the same bits differ"),
    "a cell is lost": (drawing(lambda b, n: (b.slice(1), n[1:] if n is not None else n)), r"draw\(\) releases \d+ records of 400"),
    "columns that nobody "
            "promised": (drawing(lambda b, n: (b.rename_columns(["a", "b"]), n)), "other columns than declared"),
    "the table itself": (Verbatim, "conforms.. refuses what was drawn"),
    "a test that always passes": (Content, "finds nothing wrong where a record of 'data' is missing"),
    "a test that never passes": (Discontent, "conforms.. refuses what was drawn"),
    "a decoder is lacking": (Forgetful, "no decoder undoes .'region'."),
    "a description that nobody can read": (Reticent, "what to_public_json.. wrote cannot be read"),
    "another matrix is published": (Misleading, "decoders.. differs once the channel was written down"),
    "any version is read": (Credulous, "takes a version that it cannot know"),
    "a kind that is not offered": (Unheard, "no plugin of the policy offers the kind 'acme.unheard'"),
    "columns in another order": (Backwards, "does not keep the policy's order"),
    "a decoder of another share": (EvenChance, r"draw\(\) releases .* and the decoder yields .*: draw.. does not use its matrix"),
    "the first records in order": (Foremost, r"with 'sex', 'region' = f, n, on average over 100 draws"),
    "every fourth record in order": (Periodic, "draw.. does not use its matrix"),
}  # fmt: skip
