"""Estimators of tables, and what is wrong with others."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from rrpolicy.plugin import Inversion, PolicyError, Problem
from rrpolicy.testing import check_estimator

from .formats import of_site

ticks = itertools.count(1)
Ridge: Any = of_site("ridge").Ridge


class Moment:
    """The unbiased estimates, again."""

    name = "acme-moment"
    told = "the moment estimates"
    unbiased = True
    exact = True

    def counts(self, asked: Inversion) -> tuple[Any, str]:
        return self.made(np.asarray(asked.moment, dtype=float), asked), ""

    def made(self, moment: Any, asked: Inversion) -> Any:
        return moment


class Clipped(Moment):
    """Without negative cells."""

    unbiased = False

    def made(self, moment: Any, asked: Inversion) -> Any:
        kept = np.maximum(moment, 0)
        return kept * moment.sum() / kept.sum()


class Shrunk(Ridge):
    """Ridge regression."""

    unbiased = False
    exact = False


def making(change: Any, **members: Any) -> type[Moment]:
    """Return an estimator that makes something else of the moment estimates."""
    return type("Making", (Moment,), {"made": lambda self, moment, asked: change(moment, asked), **members})


def of_tables_alone(moment: Any, asked: Inversion) -> Any:
    if len(asked.sizes) > moment.ndim:
        raise PolicyError(Problem("RR268", "acme knows no conditions"))
    return moment


def check(kind: type[Any]) -> None:
    estimator = kind()
    check_estimator(estimator, unbiased=estimator.unbiased, exact=estimator.exact)


HONEST = {"the moment estimates": Moment, "clipped": Clipped, "ridge": Shrunk}
WRONG = {
    "counts that do not add up": (making(lambda m, a: m + 1, unbiased=False), "does not give the counts|add up to"),
    "biased without saying so": (making(lambda m, a: (m + m.sum() / m.size) / 2, exact=False), ("it is declared "
            "unbiased, but 40 draws")),
    "released counts for estimates": (making(lambda m, a: a.answer(a.released) if a.released.shape == m.shape else a.released[:2], exact=False), "returned counts of shape .2, 3., expected .3, 2."),
    "one column for a table": (making(lambda m, a: m.reshape(-1)), "returned counts of shape .6,., expected .3, 2."),
    "no numbers": (making(lambda m, a: m * np.nan), "contains something other than numbers"),
    "another answer each time": (making(lambda m, a: m + np.arange(m.size).reshape(m.shape) * 1e-6 * next(ticks)), "a second call returns another result"),
    "no conditions": (making(of_tables_alone), "counts.. of b where a = 'x' fails: PolicyError"),
    "a name that is taken": (making(lambda m, a: m, name="moment"), "has its own name"),
    "nothing is told": (making(lambda m, a: m, told=" "), "`told` describes it"),
}  # fmt: skip
