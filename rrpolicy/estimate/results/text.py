"""Estimates as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rrpolicy.estimate.results.flags import MEANING, MEANINGS, SPREAD
from rrpolicy.untrusted.printable import visible

if TYPE_CHECKING:
    from typing import Any

    from rrpolicy.estimate.results.answer import Answer
    from rrpolicy.estimate.results.estimates import Estimates
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Target

_FINE = 1000
_TARGETS = {
    "table": "this table's counts (only the randomisation is random)",
    "population": "N times the population's shares (the table is a random sample)",
}
_KINDS = (
    "low to high: the values that a test of the estimate does not reject; Chebyshev: for any distribution,",
    "approximately, since the standard error is estimated; a row without a mark is not thereby shown to be right",
)
_NOT_BOUNDED = "not bounded"
_OF_TABLE = "this table's counts"
_IMPOSSIBLE = "an estimate lies outside what is possible: corrected counts can be negative; its interval does not"
_INTERVALS = "an estimate may lie outside [0, N], its interval does not"
_EXACT = "exact: what is counted was released as it is, or is counted by released labels"
_BOUNDS = "low and high are not an interval of confidence: no count can lie outside them"
_NO_BOUNDS = "no interval: what is certain holds for this table alone"
_SPREAD_OF_POPULATION = "spread evenly inside released groups: biased, without a standard error or an interval"


def summary(table: Crosstab) -> str:
    """Return an aligned table with a heading and the meaning of its marks."""
    rows = table.rows
    marks = {flag: "*" * (i + 1) for i, flag in enumerate(dict.fromkeys(f for r in rows for f in r.flags))}
    percent = f"{100 * table.level:g} %"
    spread = table.biased and table.target == "table"
    exact = table.target == "table" and not table.biased and all(r.se == 0 for r in rows)
    ends = {"se": "se", "low": f"low {percent}", "high": f"high {percent}"}
    if table.biased:
        ends = {"low": "low, certain", "high": "high, certain"} if spread else {}
    errors = {} if exact else ends
    header = [*map(visible, table.by), *(("count", "share") if exact else ("estimate",)), *errors.values(), ""]
    body = [
        [
            *(visible(str(r.group[b])) for b in table.by),
            *((f"{r.estimate:,.0f}", _percent(r.estimate, table.records)) if exact else (_decimal(r.estimate),)),
            *(_decimal(getattr(r, k)) for k in errors),
            " ".join(marks[f] for f in r.flags),
        ]
        for r in rows
    ]
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    left = {*range(len(table.by)), len(header) - 1}
    lines = [
        "  ".join(_padded(c, widths[i], i in left) for i, c in enumerate(line)).rstrip() for line in [header, *body]
    ]
    where = "" if table.where is None else f" where {visible(table.where)}"
    told = _INTERVALS if not table.biased else _BOUNDS if spread else _NO_BOUNDS
    what = _OF_TABLE if spread or exact else _TARGETS[table.target]
    return "\n".join(
        [
            f"{'Counts' if exact else 'Estimated counts'}{where}: {what}",
            f"{table.records:,} records; {_EXACT if exact else f'{table.method}; {told}'}",
            "",
            *lines,
            *(f"{mark} {_meaning(flag, table.target)}" for flag, mark in marks.items()),
        ]
    )


def _decimal(value: float) -> str:
    return f"{value:,.1f}" if math.isfinite(value) else "-"


def _percent(count: float, records: int) -> str:
    return f"{100 * count / records:.1f} %" if records else "-"


def _meaning(flag: str, target: Target) -> str:
    """Return what a mark of a count means; of a population nothing is certain."""
    return _SPREAD_OF_POPULATION if flag == SPREAD and target == "population" else MEANING[flag]


def _padded(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def to_csv(table: Crosstab) -> str:
    """Return the rows as CSV with a header; several marks are joined by "; "."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*table.column_names, "estimate", "se", "low", "high", "marks", "released"])
    for r in table.rows:
        group = [str(v).lower() if isinstance(v, bool) else v for v in (r.group[b] for b in table.by)]
        writer.writerow([*group, r.estimate, r.se, r.low, r.high, "; ".join(r.flags), r.released])
    return out.getvalue()


def estimates_summary(found: Estimates, title: str) -> str:
    """Return estimates as an aligned table with a heading and the meaning of their marks."""
    percent = f"{100 * found.level:g} %"
    names = list(found.keys[0]) if found.keys else []
    header = [*map(visible, names), "estimate", "se", f"low {percent}", f"high {percent}", "Chebyshev", "estimator", ""]
    marks = {flag: "*" * (i + 1) for i, flag in enumerate(dict.fromkeys(f for row in found.flags for f in row))}
    told = [e for e in dict.fromkeys(found.estimator) if e in MEANINGS]
    body = [
        [
            *(visible(str(v)) for v in key.values()),
            *(_number(v) for v in (estimate, se)),
            *(_end(v) for v in ends),
            "" if not math.isfinite(se) else f"[{_number(wide[0])}, {_number(wide[1])}]",
            estimator,
            " ".join(marks[f] for f in flags),
        ]
        for key, estimate, se, ends, wide, estimator, flags in zip(
            found.keys,
            found.estimate,
            found.se(),
            found.conf_int(),
            found.conf_int(interval="chebyshev"),
            found.estimator,
            found.flags,
            strict=True,
        )
    ]
    where = "" if found.where is None else f" where {visible(found.where)}"
    head = [
        f"{visible(title)}{where}",
        f"of {'this table' if found.target == 'table' else 'the population'}; {found.records:,} records",
        *_KINDS,
        "",
    ]
    legend = [*(f"{e}: {MEANINGS[e]}" for e in told), *(f"{m} {MEANINGS[f]}" for f, m in marks.items())]
    if any(e < least or e > most for e, (least, most) in zip(found.estimate, found.range, strict=True)):
        legend.append(_IMPOSSIBLE)
    return "\n".join([*head, *_aligned(header, body, len(names)), *legend])


def answer_summary(found: Answer) -> str:
    """Return an answer as an aligned table, one block of columns an aggregate."""
    flags = [f for m in found.measured for row in m.flags for f in row]
    marks = {flag: "*" * (i + 1) for i, flag in enumerate(dict.fromkeys(flags))}
    columns = found.columns()
    marked = {m.names[4] for m in found.measured}
    hidden = {m.names[5] for m in found.measured}
    lines: list[list[str]] = []
    left: set[int] = set()
    for name, values in columns.items():
        if name in hidden:
            continue
        numbers = not any(isinstance(v, (str, bool, list)) or v is None for v in values)
        left |= set() if numbers else {len(lines)}
        if name in marked:
            lines.append(["", *(" ".join(marks[f] for f in v) for v in values)])
        else:
            lines.append([visible(name), *(_shown(v) for v in values)])
    widths = [max(map(len, column)) for column in lines]
    rows = [
        "  ".join(_padded(column[i], widths[j], j in left) for j, column in enumerate(lines)).rstrip()
        for i in range(len(found.keys) + 1)
    ]
    where = "" if found.where is None else f" where {visible(found.where)}"
    biased = any(m.certain is not None for m in found.measured)
    ends = f"low and high are {'bounds that are certain' if biased else f'{100 * found.level:g} % intervals'}"
    if biased and found.target == "population":
        ends = _NO_BOUNDS
    exact = found.target == "table" and not biased and bool((found.se() == 0).all())
    plain = exact or (biased and found.target == "table")
    return "\n".join(
        [
            f"{'Figures' if exact else 'Estimates'}{where}: {_OF_TABLE if plain else _TARGETS[found.target]}",
            f"{found.records:,} records; {_EXACT if exact else ends}",
            "",
            *rows,
            *(
                f"{mark} {_meaning(flag, found.target)}" if flag == SPREAD else f"{mark} {MEANINGS[flag]}"
                for flag, mark in marks.items()
            ),
            *(f"note: {visible(note)}" for note in found.notes),
        ]
    )


def answer_csv(found: Answer) -> str:
    """Return an answer as CSV with a header."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = found.columns()
    writer.writerow(columns)
    writer.writerows([_field(v) for v in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def _field(value: Any) -> Any:
    """Return a value as CSV has it."""
    if isinstance(value, list):
        return "; ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _shown(value: Any) -> str:
    """Return a value of an answer as the terminal shows it; empty for a column that is summed over."""
    if isinstance(value, float):
        return f"{value:,.1f}" if math.isfinite(value) and abs(value) >= _FINE else _end(value)
    return "" if value is None else visible(str(value))


def _aligned(header: list[str], body: list[list[str]], keys: int) -> list[str]:
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    left = {*range(keys), len(header) - 2, len(header) - 1}
    lines = ["  ".join(_padded(c, widths[i], i in left) for i, c in enumerate(line)) for line in [header, *body]]
    return [line.rstrip() for line in lines]


def _end(value: float) -> str:
    """Return an end of an interval."""
    return _NOT_BOUNDED if math.isinf(value) else _number(value)


def _number(value: float) -> str:
    return f"{value:,.5g}" if math.isfinite(value) else "-"
