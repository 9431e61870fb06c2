"""The twenty questions: how a release is asked, and what the table itself says, computed without rrpolicy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.canonical_json import Value

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.coverage.surveys import Survey
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result


@dataclass(frozen=True)
class Answered:
    """What a release says.

    Attributes:
        estimate: the number.
        low: end of the interval, at 95 %, or what is certain.
        high: the other.
        flags: what may be doubted of it.
        certain: whether the ends are certain, so that they must hold the truth always.
    """

    estimate: float
    low: float
    high: float
    flags: tuple[str, ...]
    certain: bool


class CoarserError(Exception):
    """The release has other categories than those that were asked for, and no row of them."""


_Ask: TypeAlias = "Callable[[Release, Survey], Answered]"
_Truth: TypeAlias = "Callable[[pd.DataFrame, Survey], float]"


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        text: in words.
        kind: of statistic.
        ask: of a release.
        truth: of the records.
    """

    text: str
    kind: str
    ask: _Ask
    truth: _Truth


def row(result: Result, **key: Value) -> Answered:
    """Return the row of a result that is of some categories."""
    names, rows = result.row_keys()
    named = (dict(zip(names, r, strict=True)) for r in rows)
    place = next((i for i, r in enumerate(named) if all(r[n] == v for n, v in key.items())), None)
    if place is None:
        raise CoarserError
    measured = result.quantities[0]
    low, high = measured.ends(result.level, result.target)[place].tolist()
    certain = result.biased or result.exact or bool(measured.errors[result.target][place] == 0)
    return Answered(float(measured.estimate[place]), low, high, tuple(measured.flags[place]), certain)


def _where(conditions: Mapping[str, Value]) -> str:
    return " AND ".join(f"{name} = {value!r}" for name, value in conditions.items())


def _count(conditions: Callable[[Survey], Mapping[str, Value]]) -> tuple[_Ask, _Truth]:
    def truth(t: pd.DataFrame, s: Survey) -> float:
        return float(np.logical_and.reduce([t[n] == v for n, v in conditions(s).items()]).sum())

    return lambda r, s: row(r.crosstab(where=_where(conditions(s)))), truth


def _sql(select: Callable[[Survey], str], truth: _Truth) -> tuple[_Ask, _Truth]:
    return lambda r, s: row(r.query(f"SELECT {select(s)}")), truth


def _association(measure: str, truth: Callable[[float, float, float, float], float]) -> tuple[_Ask, _Truth]:
    """Return a measure of the outcome beside `other`: of the counts of both, of one, of the other, of none."""

    def asked(r: Release, s: Survey) -> Answered:
        return row(r.association(s.outcome, s.other, measure))

    def told(t: pd.DataFrame, s: Survey) -> float:
        one, two = t[s.outcome] == s.yes, t[s.other] == s.others[1]
        return truth(*(float(c.sum()) for c in (one & two, one & ~two, ~one & two, ~one & ~two)))

    return asked, told


def _u(t: pd.DataFrame, s: Survey) -> float:
    import pandas as pd

    n = pd.crosstab(t[s.group], t[s.outcome]).to_numpy() / len(t)

    def entropy(p: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        return -float((p[p > 0] * np.log(p[p > 0])).sum())

    return (entropy(n.sum(1)) + entropy(n.sum(0)) - entropy(n)) / entropy(n.sum(0))


def _rule(kind: str) -> tuple[_Ask, _Truth]:
    """Return a rule's measure as the association of the rule's two sides has it."""

    def asked(r: Release, s: Survey) -> Answered:
        return row(r.association(s.group, s.outcome, kind, present=([s.groups[0]], [s.yes])))

    def told(t: pd.DataFrame, s: Survey) -> float:
        given, then = t[s.group] == s.groups[0], t[s.outcome] == s.yes
        share = float((given & then).sum() / given.sum())
        return share if kind == "confidence" else share / float(then.mean())

    return asked, told


def _model(formula: str, family: str, term: str) -> tuple[_Ask, _Truth]:
    """Return a coefficient; the truth is that of statsmodels, fitted to the records."""

    def asked(r: Release, s: Survey) -> Answered:
        found = r.glm(formula.format(s=s), family, success=[s.yes] if family == "binomial" else None)
        return row(found, term=term.format(s=s))

    def told(t: pd.DataFrame, s: Survey) -> float:
        import statsmodels.api as sm

        X, y = design(t, s, formula)
        kind = {
            "binomial": sm.families.Binomial(),
            "gaussian": sm.families.Gaussian(),
            "poisson": sm.families.Poisson(),
        }
        return float(sm.GLM(y, X, kind[family]).fit(tol=1e-12).params[term.format(s=s)])

    return asked, told


def design(t: pd.DataFrame, s: Survey, formula: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the covariates of a formula's columns, and the outcome."""
    import pandas as pd

    left, right = (part.strip().format(s=s) for part in formula.split("~"))
    X = pd.DataFrame({"Intercept": 1.0}, index=t.index)
    for name in (part.strip() for part in right.split("+")):
        kinds = {s.group: s.groups, s.other: s.others, s.outcome: s.outcomes}
        if name in kinds:
            for category in kinds[name][1:]:
                X[f"{name}[T.{category}]"] = (t[name] == category).astype(float)
        else:
            X[name] = t[name].astype(float)
    return X, (t[left] == s.yes).astype(float) if left == s.outcome else t[left].astype(float)


def _margin(t: pd.DataFrame, s: Survey) -> float:
    import statsmodels.api as sm

    X, y = design(t, s, _LOGISTIC)
    fitted = sm.GLM(y, X, sm.families.Binomial()).fit(tol=1e-12)
    name = f"{s.other}[T.{s.others[1]}]"
    return float((fitted.predict(X.assign(**{name: 1.0})) - fitted.predict(X.assign(**{name: 0.0}))).mean())


def _effect(r: Release, s: Survey) -> Answered:
    found = r.glm(_LOGISTIC.format(s=s), "binomial", success=[s.yes]).margins()
    return row(found, of=s.other, change=s.others[1])


def _where_yes(t: pd.DataFrame, s: Survey) -> pd.DataFrame:
    return t[t[s.outcome] == s.yes]


_LOGISTIC = "{s.outcome} ~ {s.other} + {s.number}"

QUESTIONS = (
    Question("how many are yes", "count", *_count(lambda s: {s.outcome: s.yes})),
    Question(
        "how many of the last group are yes", "count", *_count(lambda s: {s.outcome: s.yes, s.group: s.groups[-1]})
    ),
    Question(
        "how many of the last group and the first other are yes",
        "count",
        *_count(lambda s: {s.outcome: s.yes, s.group: s.groups[-1], s.other: s.others[0]}),
    ),
    Question(
        "how many of the first group have one of the two highest numbers",
        "count",
        lambda r, s: row(r.crosstab(where=f"{s.group} = {s.groups[0]!r} AND {s.number} IN {s.numbers[-2:]!r}")),
        lambda t, s: float(((t[s.group] == s.groups[0]) & t[s.number].isin(s.numbers[-2:])).sum()),
    ),
    Question(
        "a cell of group by number",
        "count",
        lambda r, s: row(
            r.crosstab([s.group, s.number]), **dict[str, Value]({s.group: s.groups[1], s.number: s.numbers[2]})
        ),
        lambda t, s: float(((t[s.group] == s.groups[1]) & (t[s.number] == s.numbers[2])).sum()),
    ),
    Question(
        "the share of the second group",
        "share",
        lambda r, s: row(
            r.query(f"SELECT {s.group}, share() AS x FROM release GROUP BY {s.group}"), **{s.group: s.groups[1]}
        ),
        lambda t, s: float((t[s.group] == s.groups[1]).mean()),
    ),
    Question(
        "which share of the first group is yes",
        "rate",
        lambda r, s: row(
            r.query(
                f"SELECT {s.group}, {s.outcome}, count(*) / sum(count(*)) OVER (PARTITION BY {s.group}) AS x FROM release GROUP BY {s.group}, {s.outcome}"
            ),
            **{s.group: s.groups[0], s.outcome: s.yes},
        ),
        lambda t, s: float((t.loc[t[s.group] == s.groups[0], s.outcome] == s.yes).mean()),
    ),
    Question(
        "which share of the second other with a low number is yes",
        "rate",
        *_sql(
            lambda s: (
                f"count(*) FILTER (WHERE {s.outcome} = {s.yes!r}) / count(*) AS x FROM release WHERE {s.other} = {s.others[1]!r} AND {s.number} <= {s.numbers[2]}"
            ),
            lambda t, s: float(
                (t.loc[(t[s.other] == s.others[1]) & (t[s.number] <= s.numbers[2]), s.outcome] == s.yes).mean()
            ),
        ),
    ),
    Question("the mean number", "mean", lambda r, s: row(r.mean(s.number)), lambda t, s: float(t[s.number].mean())),
    Question(
        "the mean number of the last group",
        "mean",
        lambda r, s: row(r.mean(s.number, s.group), **{s.group: s.groups[-1]}),
        lambda t, s: float(t.loc[t[s.group] == s.groups[-1], s.number].mean()),
    ),
    Question(
        "the mean number of the yes among the first other",
        "mean",
        lambda r, s: row(r.mean(s.number, (), _where({s.outcome: s.yes, s.other: s.others[0]}))),
        lambda t, s: float(_where_yes(t, s).loc[_where_yes(t, s)[s.other] == s.others[0], s.number].mean()),
    ),
    Question(
        "the sum of the numbers of the yes",
        "total",
        *_sql(
            lambda s: f"sum({s.number}) AS x FROM release WHERE {s.outcome} = {s.yes!r}",
            lambda t, s: float(_where_yes(t, s)[s.number].sum()),
        ),
    ),
    Question(
        "phi of outcome and other",
        "association",
        *_association("phi", lambda a, b, c, d: (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))),
    ),
    Question(
        "the odds ratio of outcome and other",
        "association",
        *_association("odds_ratio", lambda a, b, c, d: a * d / (b * c)),
    ),
    Question(
        "how much the group tells of the outcome (U)",
        "association",
        lambda r, s: row(r.association(s.group, s.outcome, "u")),
        _u,
    ),
    Question("the confidence of: first group, then yes", "rule", *_rule("confidence")),
    Question("the lift of: first group, then yes", "rule", *_rule("interest")),
    Question("the slope of the outcome by the number, logistic", "model", *_model(_LOGISTIC, "binomial", "{s.number}")),
    Question(
        "the slope of the number by the outcome beside the group, linear",
        "model",
        *_model("{s.number} ~ {s.outcome} + {s.group}", "gaussian", "{s.outcome}[T.{s.yes}]"),
    ),
    Question("how much the other moves the outcome, on average", "model", _effect, _margin),
)
