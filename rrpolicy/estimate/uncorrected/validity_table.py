"""Which analyses of the released data, uncorrected, stay valid (Guo 2010, chapter 4).

What is said of measures and orders holds for expected released proportions; a single release fluctuates around them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from rrpolicy.canonical_json import Json
from rrpolicy.escaping.formulas import Handling
from rrpolicy.escaping.printable import line, visible
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.intervals import describe_p
from rrpolicy.estimate.results.result import json_number
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    import pandas as pd

Verdict: TypeAlias = Literal["valid", "level kept", "never larger", "order kept", "biased"]
MEANING = {
    "valid": "may be done on the released data as they are",
    "level kept": "a test on the released data keeps its level and loses power",
    "never larger": "no larger than in the original, in the expected proportions; larger by chance in a single release",
    "order kept": "biased, but in the expected proportions the order of two of them is the original one; in a single "
    "release close ones may change places",
    "biased": "do it on corrected counts, and not at all where nothing can be corrected",
}
NOTE = (
    "measures and orders are those of the expected released proportions: a single release fluctuates around them, and "
    "association in it is no proof of association in the original; test it"
)


@frozen
class Statement:
    """What holds for one kind of analysis.

    Attributes:
        analysis: in words.
        columns: which columns it speaks of; empty for any.
        verdict: see `MEANING`.
        because: the reason, in a sentence.
        released: what is computed of the table at hand, uncorrected, by name; NaN where an empty cell leaves a measure
            undefined. Empty where no table was counted.
    """

    analysis: str
    columns: tuple[str, ...]
    verdict: Verdict
    because: str
    released: Mapping[str, float] = field(default_factory=dict)


@frozen(slots=False)
class Holds:
    """What holds on the released data as they are.

    Attributes:
        statements: one for each kind of analysis.
        table: which table was counted, in words; "" if none was.
    """

    statements: tuple[Statement, ...] = field()
    table: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: analysis, columns, verdict, because, released."""
        import pandas as pd

        return pd.DataFrame([{**_row(s), "columns": ", ".join(s.columns)} for s in self.statements])

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; numbers that are not there are null."""
        return {
            "schema": "rrpolicy.what-holds/1",
            "table": self.table or None,
            "note": NOTE,
            "statements": [_row(s) for s in self.statements],
        }

    def to_csv(self, *, formulas: Handling = "escape") -> str:
        """Return the statements as CSV with a header; `formulas` as for other results."""
        from rrpolicy.estimate.results.text import csv

        rows = [
            _row(s) | {"columns": ", ".join(s.columns), "released": _format_exactly(s.released)}
            for s in self.statements
        ]
        names = ("analysis", "columns", "verdict", "because", "released")
        return csv({name: [row[name] for row in rows] for name in names}, formulas)

    def summary(self) -> str:
        """Return the statements as text, by verdict."""
        lines = [self.table] if self.table else []
        for verdict, meaning in MEANING.items():
            chosen = [s for s in self.statements if s.verdict == verdict]
            if chosen:
                lines += [f"{verdict}: {meaning}"]
                for s in chosen:
                    lines += [f"  - {s.analysis}{_list_columns(s.columns)}: {s.because}"]
                    lines += [f"    as released: {_format_computed(s.released)}"] if s.released else []
        compared = any(s.verdict in {"never larger", "order kept"} for s in self.statements)
        return "\n".join(map(line, [*lines, *([f"note: {NOTE}"] if compared else [])]))

    def _repr_html_(self) -> str:
        """Return the statements as an HTML table by verdict, for notebooks."""
        names = ["verdict", "analysis", "columns", "because", *(["as released"] if self.table else [])]
        cells = [
            [
                verdict,
                s.analysis,
                ", ".join(s.columns),
                s.because,
                *([_format_computed(s.released)] if self.table else []),
            ]
            for verdict in MEANING
            for s in self.statements
            if s.verdict == verdict
        ]
        used = dict.fromkeys(row[0] for row in cells)
        head = ["What holds of the released data, uncorrected", *([self.table] if self.table else [])]
        table = rows(names, [list(map(visible, row)) for row in cells])
        return fragment(list(map(visible, head)), table, [*(f"{v}: {MEANING[v]}" for v in used), f"note: {NOTE}"])


def _row(statement: Statement) -> dict[str, Json]:
    return {
        "analysis": statement.analysis,
        "columns": list(statement.columns),
        "verdict": statement.verdict,
        "because": statement.because,
        "released": {name: json_number(value) for name, value in statement.released.items()},
    }


def _list_columns(columns: Sequence[str]) -> str:
    return f" ({', '.join(columns)})" if columns else ""


def _format_computed(released: Mapping[str, float]) -> str:
    """Return what was computed as people read it."""

    def told(name: str, value: float) -> str:
        if not math.isfinite(value):
            return f"{name} = undefined"
        return describe_p(value, name) if name == "p_value" else f"{name} = {value:.4g}"

    return ", ".join(told(name, value) for name, value in released.items())


def _format_exactly(released: Mapping[str, float]) -> str:
    """Return the same with every digit, for files."""
    return ", ".join(f"{name} = {value if math.isfinite(value) else 'undefined'}" for name, value in released.items())
