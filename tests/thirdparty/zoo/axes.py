"""Axes: unary encoding as `acme-oue` has it and retention under another name, and what is wrong with others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from rrpolicy.frozen import replace
from rrpolicy.plugin import Identity, MatrixDecoder, Retention
from rrpolicy.testing import check_axis

from .formats import of_site

LABELS = ("x", "y", "z")
KEEP = Fraction(3, 5)
Unary: Any = of_site("axis", "acme_oue").Unary


class Kept(Retention):
    """Retention under another name."""

    kind: ClassVar[str] = "acme.kept"


def splitting(split: Any) -> type[Kept]:
    """Return a retention that splits otherwise."""
    return type("Splitting", (Kept,), {"split": split})


def seeded(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    """Draw by a seed of its own."""
    rng = np.random.default_rng(7)
    rows = [[float(self.column(v).get(u, 0)) for u in range(3)] for v in codes]
    parts = np.array([rng.multinomial(k, row) for k, row in zip(n, rows, strict=True)])
    cell, released = np.nonzero(parts)
    return cell, released[:, None].astype(np.int32), parts[cell, released]


def together(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    """Draw once for all cells of a category that hold as many records."""
    kinds, place = np.unique(np.column_stack([codes, n]), axis=0, return_inverse=True)
    place = place.ravel()
    cell, released, count = Kept.split(self, kinds[:, 0], kinds[:, 1], stream)
    parts = [np.flatnonzero(cell == k) for k in place]
    order = np.concatenate(parts)
    return np.repeat(np.arange(len(codes)), [len(p) for p in parts]), released[order], count[order]


def lost(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    cell, released, count = Kept.split(self, codes, n, stream)
    return cell, released, np.where(count > 30, count - 1, count)


def shifted(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    cell, released, count = Kept.split(self, codes, n, stream)
    return cell, (released + 1) % 4, count


def in_order(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    """Draw category by category: exactly, but not each record by a number of its own."""
    order = np.argsort(codes, kind="stable")
    cell, released, count = Kept.split(self, codes[order], n[order], stream)
    back = np.argsort(order[cell], kind="stable")
    return order[cell][back], released[back], count[back]


def warmed(self: Any, codes: Any, n: Any, stream: Any) -> Any:
    """Draw exactly, after a number that nobody gets."""
    stream.words(1)
    return Kept.split(self, codes, n, stream)


class Doubles(Kept):
    def column(self, code):
        return {u: float(p) for u, p in super().column(code).items()}


class OfNumpy(Kept):
    def column(self, code):
        return {u: Fraction(np.int64(p.numerator), np.int64(p.denominator)) for u, p in super().column(code).items()}


class RoundRatio(Kept):
    def max_ratio(self):
        return float(super().max_ratio())


class Squared(Kept):
    def forward(self, x, axis, power=1):
        return super().forward(x, axis, 1)


class Twice(Kept):
    def columns(self):
        return super().columns() * 2


class Guessing(Kept):
    """Undone as if less had been changed."""

    def decoder(self):
        right = super().decoder()
        cells = tuple((label,) for label in LABELS)
        rows = Retention.uniform("a", LABELS, Fraction(4, 5))
        entries = tuple(tuple(rows.column(v).get(u, Fraction(0)) for v in range(3)) for u in range(3))
        return MatrixDecoder(right.attributes, right.columns, cells, cells, entries)


class Original(Kept):
    """Is undone by the name that the column had."""

    def decoder(self):
        return replace(super().decoder(), columns=self.attributes)


class Renamed(Kept):
    def to_json(self):
        return {**super().to_json(), "kind": "retention"}


def check(axis: Any) -> None:
    check_axis(axis.uniform("a", LABELS, KEEP) if isinstance(axis, type) else axis)


HONEST = {
    "unary encoding": Unary("a", LABELS, Fraction(1, 5), "b"),
    "retention": Kept,
    "retention, nearly all kept": Kept.uniform("a", LABELS, Fraction(999_999, 1_000_000)),
    "as it is": Identity.of("a", LABELS),
}
WRONG = {
    "a seed of its own": (splitting(seeded), "gives the same results from other bits: it does not draw from its stream"),
    "equal cells alike": (splitting(together), "split.. of single records draws . from . with another chance"),
    "records are lost": (splitting(lost), "split.. loses or makes up records"),
    "a code without a label": (splitting(shifted), "a code that 'a' has no label for"),
    "entries in doubles": (Doubles, "the matrix holds .'float'., not int and Fraction"),
    "entries of numpy": (OfNumpy, "the matrix holds .'int64'., not int and Fraction"),
    "records by others' numbers": (splitting(in_order), ("does not draw a record by one number, as .one_number. "
            "declares")),
    "more than one number": (splitting(warmed), "uses more than one number per record"),
    "a ratio in doubles": (RoundRatio, "max_ratio.. is of type float, not a Fraction"),
    "squares that are none": (Squared, "forward.power=2. is not the matrix"),
    "a column twice": (Twice, "released columns share a name"),
    "undone as less noise": (Guessing, "the decoder undoes another matrix than that which is drawn from"),
    "undone by the original's name": (Original.uniform("a", LABELS, KEEP, "b"), "the decoder reads the columns .'a'., and these are .'b'."),
    "the name of another kind": (Renamed, "to_json.. contains its kind"),
}  # fmt: skip
