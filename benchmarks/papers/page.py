"""docs/explanation/results.md, written from what is kept in docs/explanation/results/."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.papers.result import Paper, Part, Table

HEAD = """# What the papers claim, and what holds

rrpolicy is built on five pieces of work. `make papers` computes their tables and figures again through `import rrpolicy`, and
writes this page with its plots. Nothing was tuned to agree: where a number or a claim does not hold, it stands here.

- **Ours** is what the public functions give: plans, expected errors, releases and estimates. A number with ± is a mean over
  simulated draws of the planned channel, or over releases, with its standard error; all draws have fixed seeds. Numbers without ±
  are exact, or computed from the original table.
- **Paper** is what the paper prints, as far as the printed number is known here (`tests/vectors/make.py`, and the constants at the
  top of a paper's file in `benchmarks/papers/`). Figures are plots without printed values, and nothing was measured off a page: for them the
  *claim* is compared, and ours stands alone. The figures' own settings and axes were not at hand either; each part says what was
  chosen in their place.
- **Outcome** of a claim is decided by the program, from the numbers shown under the part: *holds*, *fails*, or *in part*, in some
  of the places compared.

Adult is the UCI table of the 1994 census; its file is not part of this repository (`CONTRIBUTING.md`). A test holds this page to the
numbers in `docs/explanation/results/`, the numbers to the programs that made them, and makes the quick parts again. Releases are drawn with keys
that anybody can derive, to come out alike each time: nothing of the kind may be done with people's data that are not public already.
"""

OUTCOMES = ("holds", "in part", "fails")
WORDS = """
Where two numbers stand against each other ("0.6 against 0.9"), the first is that of what the claim speaks of. d_V is the total
variation distance, L2 the Euclidean one, KL the Kullback-Leibler divergence in nats, U the uncertainty coefficient; RR-QI, RR-S and
RR-Both randomise quasi-identifiers, the sensitive attribute, or both; TP suppresses tuples. Codes such as RR102 are rrpolicy's errors
(`rrpolicy explain RR102`).
"""


def page(papers: Sequence[tuple[Paper, Sequence[Part]]]) -> str:
    """Return the page."""
    parts = [HEAD, "\n## In short\n", _counts(papers), WORDS, "\n## Claims\n", _claims(papers)]
    for paper, made in papers:
        parts.append(f"\n## {paper.title}\n\n{paper.about}\n")
        parts += [_part(part) for part in made]
        if paper.left_out:
            parts.append("\n### Left out\n\n" + "\n".join(f"- {line}" for line in paper.left_out) + "\n")
    return "".join(parts)


def _counts(papers: Sequence[tuple[Paper, Sequence[Part]]]) -> str:
    """Return how many claims of each paper, and about it, hold."""
    rows = []
    for paper, parts in papers:
        found = [claim.outcome for part in parts for claim in part.claims]
        name = f"[{_plain(paper.title)}](#{_anchor(paper.title)})"
        rows.append((name, len(found), *(found.count(outcome) for outcome in OUTCOMES)))
    return "\n" + _table(Table(("paper", "claims", *OUTCOMES), tuple(rows)))


def _claims(papers: Sequence[tuple[Paper, Sequence[Part]]]) -> str:
    found = []
    for paper, parts in papers:
        rows = tuple((c.text, c.source, c.outcome, c.why) for p in parts for c in p.claims)
        found.append(
            f"\n**{_plain(paper.title)}**\n\n{_table(Table(('claim', 'whose', 'outcome', 'the numbers'), rows))}"
        )
    return "".join(found)


def _anchor(title: str) -> str:
    """Return what a heading is linked by, as GitHub makes it."""
    return "".join(c for c in title.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def _part(part: Part) -> str:
    lines = [f"\n### {part.title}\n\n{part.asked}\n"]
    lines += [f"\n{_table(table)}" for table in part.tables]
    lines += [f"\n![{_plain(plot.title)}](results/{plot.name}.svg)\n" for plot in part.plots]
    return "".join([*lines, f"\n**Why it differs.** {part.difference}\n"])


def _table(table: Table) -> str:
    head = [f"| {' | '.join(map(_plain, table.columns))} |", "|---" * len(table.columns) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in table.rows)]) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        mean, error = value
        return _number(mean) if error == 0 else _beside(mean, error)
    if isinstance(value, bool | str):
        return _plain(str(value))
    return f"{value:,}" if isinstance(value, int) else _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def _beside(mean: float, error: float) -> str:
    """Return a mean to the first digit of its standard error."""
    decimals = max(0, -math.floor(math.log10(error)))
    return f"{mean:,.{decimals}f} ± {error:.{decimals}f}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
