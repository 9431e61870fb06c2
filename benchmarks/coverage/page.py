"""docs/explanation/coverage.md, of what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchmarks.coverage.asked import QUESTIONS
from benchmarks.coverage.drawing import CERTAIN, HELD, MARKED_HELD, MARKED_MISSED, MISSED, REFUSED, SAMPLE, WRONG
from benchmarks.coverage.kept import DRAWS, FEW, LEAST, Letters, too_rarely
from benchmarks.coverage.mechanisms import MECHANISMS, Mechanism
from benchmarks.coverage.surveys import SURVEYS, Survey

_HEAD = """\
# Do the intervals hold?

Twenty questions are asked of three public surveys that ship with statsmodels, released by each mechanism {draws} times ({few} where all
that it answers is certain, once where nothing is drawn), and of samples of {sample} records of them as well. The truth is computed from the records by pandas and statsmodels. An interval of 95 % should hold it in 95 % of draws: by
chance alone a single combination of {draws} lies between {low} and {high} in all but one of a thousand. `make questions`
computes all of it again; the tests make some draws of each again, and find the same.

{surveys}

## By mechanism

*Unmarked*: intervals of rows without a flag. *Least*: the question and survey with the fewest that hold, among those that were unmarked in half of the
draws. *Marked* rows warn: few records, say. *Certain* ends hold always, and did.

{mechanisms}

## By question

Shares of draws in which unmarked intervals hold; `marked`: most draws warn. `certain`: the number itself, or bounds that hold always, as narrow or wide
as they are. `refused`: with the reason. All records of each survey.

{questions}

## Samples of {sample} records

{samples}

## Where they hold too rarely

{rarely}

## How to read it

- An interval speaks of this table: the records themselves are fixed, the draw alone is random.
- What was dealt or generalised has certain bounds or is refused.
- A model whose scores and likelihood have no solution is refused: what is counted is how often the others hold.
- An interval may be without an end: of few records, strongly randomised, most releases bound a slope to one side only.
- A short interval is better only if it holds: this page says whether they do, and nothing of how long they are.
"""


def page(letters: Letters) -> str:
    """Return the page."""
    from scipy.stats import binom

    ends = (float(binom.ppf(q, DRAWS, 0.95)) / DRAWS for q in (0.0005, 0.9995))
    low, high = (f"{end:.3f}".lstrip("0") for end in ends)
    return _HEAD.format(
        draws=DRAWS,
        few=FEW,
        sample=SAMPLE,
        low=low,
        high=high,
        surveys="\n".join(f"- **{s.name}**: {s.about}; {', '.join(f'`{c}`' for c in s.columns)}." for s in SURVEYS),
        mechanisms=_table(
            (
                "mechanism",
                "what it does",
                "records",
                "unmarked",
                "hold",
                "least",
                "marked",
                "hold",
                "certain",
                "refused",
            ),
            (_of_mechanism(letters, m, n) for m in MECHANISMS for n in ((None, SAMPLE) if m.drawn else (None,))),
        ),
        questions=_by_question(letters, None),
        samples=_by_question(letters, SAMPLE),
        rarely=_rarely(letters),
    )


def _rarely(letters: Letters) -> str:
    found = [f"- {of}: {_share(share)}" for of, share in too_rarely(letters).items()]
    if not found:
        return "Nowhere."
    said = f"Significantly less often than in {LEAST:.0%} of draws (a false alarm in all of them together: one in a million), and without a mark."
    return "\n".join([said, "", *found])


def name(survey: Survey, mechanism: Mechanism, records: int | None) -> str:
    """Return what a combination is kept under."""
    return f"{survey.name}, {mechanism.name}, {'all' if records is None else records}"


def _of_mechanism(letters: Letters, mechanism: Mechanism, records: int | None) -> tuple[str, ...]:
    by_question = [
        (f"{q}, {s.name}", Counter(told)) for s in SURVEYS for q, told in letters[name(s, mechanism, records)].items()
    ]
    whole: Counter[str] = sum((c for _, c in by_question), Counter())
    often = [(c[HELD] / (c[HELD] + c[MISSED]), q) for q, c in by_question if 2 * (c[HELD] + c[MISSED]) >= DRAWS]
    least = f"{_share(min(often)[0])}: {min(often)[1]}" if often else ""
    return (
        mechanism.name,
        mechanism.about,
        "all" if records is None else str(records),
        f"{whole[HELD] + whole[MISSED]:,}",
        _of(whole[HELD], whole[MISSED]),
        least,
        f"{whole[MARKED_HELD] + whole[MARKED_MISSED]:,}",
        _of(whole[MARKED_HELD], whole[MARKED_MISSED]),
        f"{whole[CERTAIN] + whole[WRONG]:,}",
        f"{whole[REFUSED]:,}",
    )


def _by_question(letters: Letters, records: int | None) -> str:
    chosen = [(m, s) for m in MECHANISMS for s in SURVEYS if records is None or m.drawn]
    head = ("question", *(m.name for m in MECHANISMS if records is None or m.drawn))
    rows = []
    for q in QUESTIONS:
        cells = {
            m.name: " ".join(_cell(letters[name(s, m, records)][q.text]) for n, s in chosen if n is m)
            for m, _ in chosen
        }
        rows.append((q.text, *cells.values()))
    told = ", ".join(s.name for s in SURVEYS)
    return f"Each cell: {told}.\n\n{_table(head, rows)}"


def _cell(told: str) -> str:
    count = Counter(told)
    unmarked = count[HELD] + count[MISSED]
    if count[MARKED_HELD] + count[MARKED_MISSED] > unmarked:
        return "marked"
    if unmarked:
        return _of(count[HELD], count[MISSED])
    return "certain" if count[CERTAIN] else "refused"


def _of(held: int, missed: int) -> str:
    return _share(held / (held + missed)) if held + missed else ""


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 1 else "1"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
