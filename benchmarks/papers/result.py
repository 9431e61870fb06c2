"""What a part of a paper came to: claims with their outcome, tables, plots. Plain data, kept as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.papers.data import Data

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "explanation" / "results"
_SHARED = ("asking.py", "data.py", "result.py")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that a paper, or the project, states, and whether the numbers beside it bear it out.

    Attributes:
        text: the sentence.
        source: who states it.
        outcome: "holds", "fails", "in part"; decided by the program, never by hand.
        why: the numbers that decide.
    """

    text: str
    source: str
    outcome: str
    why: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words and numbers; a pair of numbers is a mean over draws with its standard error; None is a gap."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over a number.

    Attributes:
        name: of its file.
        title: stands above.
        across: what the horizontal axis is.
        up: what the vertical axis is; drawn from 0.
        lines: name, and its points (x, y).
    """

    name: str
    title: str
    across: str
    up: str
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A table or figure of a paper, or several of one kind.

    Attributes:
        title: which.
        asked: what the paper shows, and what is known of its numbers.
        difference: why ours are others.
        claims: with their outcome.
        tables: of numbers.
        plots: of the same numbers.
    """

    title: str
    asked: str
    difference: str
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A program that makes a part.

    Attributes:
        name: of its file in docs/explanation/results/.
        make: the program.
        quick: whether a test makes it again; what is not quick is held by the digest of its program alone.
        adult: whether it reads the Adult table.
    """

    name: str
    make: Callable[[Data], Part]
    quick: bool = False
    adult: bool = True

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the program, of what it shares with the others and of the data that it reads."""
        folder = Path(__file__).parent
        own = Path(self.make.__code__.co_filename).name
        reads = [folder / name for name in sorted({own, *_SHARED})]
        reads.append(ROOT / "tests" / "vectors" / "vectors.json")
        return hashlib.sha256(b"\0".join(path.read_bytes() for path in reads)).hexdigest()


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes:
        title: author and year, as docs/reference/sources.md has it.
        about: what it is about, in a sentence or two.
        pieces: of it, in order.
        left_out: what is not computed again, and why.
    """

    title: str
    about: str
    pieces: tuple[Piece, ...]
    left_out: tuple[str, ...] = field(default=())


def keep(piece: Piece, part: Part) -> None:
    """Write a part as JSON, numbers to six digits, beside the digest of what made it."""
    document = {"program": piece.digest, "part": _rounded(asdict(part))}
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{piece.name}.json").write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def kept(piece: Piece) -> tuple[str, Part]:
    """Read back what `keep` wrote: the digest, and the part."""
    document = json.loads((KEPT / f"{piece.name}.json").read_text(encoding="utf-8"))
    return document["program"], part_of(document["part"])


def part_of(document: dict[str, Any]) -> Part:
    """Return the part that a document tells of."""
    return Part(
        document["title"],
        document["asked"],
        document["difference"],
        tuple(Claim(**claim) for claim in document["claims"]),
        tuple(Table(tuple(t["columns"]), tuple(map(_cells, t["rows"]))) for t in document["tables"]),
        tuple(
            Plot(**(p | {"lines": tuple((n, tuple(map(tuple, points))) for n, points in p["lines"])}))
            for p in document["plots"]
        ),
    )


def as_kept(part: Part) -> Part:
    """Return a part as it comes back from its file."""
    return part_of(json.loads(json.dumps(_rounded(asdict(part)))))


def judged(where: Sequence[bool]) -> str:
    """Return what a claim comes to that is true in some places."""
    return "holds" if all(where) else "in part" if any(where) else "fails"


def _cells(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
