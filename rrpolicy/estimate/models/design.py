"""The columns of a model from its formula, and the equations' terms of each original cell."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen import replace
from rrpolicy.plugin_errors.distributions import install

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from rrpolicy.canonical_json import Value
    from rrpolicy.counts import Array

MISSING = "missing"
"""The category of a missing value in the terms of a model."""
_STATEFUL = "__is_stateful_transform__"  # formulaic's mark of a function that reads the rows; Q only quotes a name


class Formula(Struct, frozen=True):
    """Outcome and covariates of a model; words replace odd names of columns on the right side."""

    outcome: str  # unchanged
    covariates: tuple[str, ...]  # unchanged, each once
    right: str
    odd: Mapping[str, str] = msgspec.field(default_factory=dict)

    def with_names(self, text: str) -> str:
        """Return a text with the columns' own names."""
        for word, name in self.odd.items():
            text = text.replace(word, name)
        return text


def read_formula(text: str) -> Formula:
    """Read `outcome ~ terms`, the terms in the language of formulaic (RR540 if it is not installed; RR541)."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
        from formulaic.transforms import TRANSFORMS
    except ImportError:
        message = "formulas are read by formulaic, which is not installed"
        raise PolicyError(Problem("RR540", message, hint=install("models"))) from None
    expected = "outcome ~ terms, such as 'employed ~ age_group + C(region) * sex'; unusual names in `backticks`"
    left, tilde, right = text.partition("~")
    outcome = re.fullmatch(r"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*", left)
    if not tilde or outcome is None:
        words = re.search(r"[^\W\d]\w*(?=\s*([<>=!]=?|in\b))", left)
        hint = None
        if tilde and words is not None:
            hint = (
                f"name the column alone, {words[0]}, and which of its categories count as yes: "
                "--success CATEGORY for each, in Python success=[...]"
            )
        raise PolicyError(Problem("RR541", f"not a formula of one outcome: {text!r}", expected=expected, hint=hint))
    odd = {}
    for place, name in enumerate(dict.fromkeys(re.findall(r"`([^`]+)`", right))):  # formulaic cuts names at points
        word = f"odd_{place}_"
        while word in text:
            word += "_"
        odd[word] = name
        right = right.replace(f"`{name}`", word)
    read = Formula(outcome[1] or outcome[2], (), right, odd)
    called = dict.fromkeys(re.findall(r"(?<![\w.])([^\W\d]\w*)\s*\(", right))
    stateful = [f"{f}()" for f in called if f != "Q" and getattr(TRANSFORMS.get(f), _STATEFUL, False)]
    if stateful:
        hint = "subtract or divide by a constant, as in I(age - 40)"
        message = f"{', '.join(stateful)} depends on how often values occur, which is estimated and not known"
        raise PolicyError(Problem("RR541", message, hint=hint))
    try:
        named = formulaic.Formula(right).required_variables
    except (FormulaicError, SyntaxError, ValueError) as error:
        message = f"not a formula: {text!r}: {read.with_names(str(error))}"
        raise PolicyError(Problem("RR541", message, expected=expected)) from None
    return replace(read, covariates=tuple(sorted(odd.get(str(name), str(name)) for name in named)))


@dataclass(frozen=True)
class CovariateDesign:
    """The covariates of original cells."""

    terms: tuple[str, ...]  # the columns of `matrix`
    matrix: Array = field(repr=False)  # shape (cells, terms)
    frame: pd.DataFrame = field(repr=False)  # a row a cell, a column a covariate
    _formula: Formula = field(repr=False)
    _again: Callable[[pd.DataFrame], Any] = field(repr=False)

    @classmethod
    def of(
        cls, formula: Formula, cells: Sequence[Mapping[str, Value]], domains: Mapping[str, Sequence[Value]]
    ) -> CovariateDesign:
        """Return the design of cells, given by the names of the formula (RR541, RR544).

        The domains have the categories of each covariate, in order; the first of text is the reference.
        """
        import formulaic
        from formulaic.errors import FormulaicError

        for name, domain in domains.items():
            if len(domain) == 1:
                message = f"{name!r} has one category in this release, {domain[0]!r}, and explains nothing"
                raise PolicyError(Problem("RR544", message, hint="take it out of the formula"))
        frame = covariates(cells, domains)
        asked = formula.with_names(formula.right.strip())
        try:
            with np.errstate(all="ignore"):  # anything but numbers is refused below
                made = formulaic.model_matrix(
                    formula.right, _rename_to_identifiers(frame, formula), context={}, na_action="raise"
                )
        except (
            FormulaicError,
            ValueError,
            TypeError,
            NameError,
            AttributeError,
            ArithmeticError,
            SyntaxError,
        ) as error:
            message = f"the terms {asked!r} cannot be computed: {formula.with_names(str(error))}"
            raise PolicyError(Problem("RR541", message)) from None
        matrix = np.asarray(made, dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise PolicyError(Problem("RR541", f"the terms {asked!r} are not numbers for every category"))
        terms = tuple(_as_categories(formula.with_names(str(term)), domains) for term in made.columns)
        return cls(terms, matrix, frame, formula, made.model_spec.get_model_matrix)

    def at(self, frame: pd.DataFrame) -> Array:
        """Return (rows, terms) for other rows of the same covariates (RR542 for a number without a category)."""
        from formulaic.errors import DataMismatchWarning

        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                return np.asarray(self._again(_rename_to_identifiers(frame, self._formula)), dtype=np.float64)
            except DataMismatchWarning:
                message = "a term treats a requested number as a category, and no record has it"
                raise PolicyError(Problem("RR542", message)) from None


def _rename_to_identifiers(frame: pd.DataFrame, formula: Formula) -> pd.DataFrame:
    return frame.rename(columns={name: word for word, name in formula.odd.items()})


def _as_categories(term: str, domains: Mapping[str, Sequence[Value]]) -> str:
    """Return the name of a term with numbers spelled as their categories: `C(age)[T.1]`, where a frame has 1.0."""
    numbers = {str(float(v)): str(v) for domain in domains.values() if is_numeric(domain) for v in domain}
    return re.sub(r"\[(T\.)?([^][]+)\]", lambda found: f"[{found[1] or ''}{numbers.get(found[2], found[2])}]", term)


def covariates(cells: Sequence[Mapping[str, Value]], domains: Mapping[str, Sequence[Value]]) -> pd.DataFrame:
    """Return a frame of covariates: numbers unchanged, all else as categories in the order of the domain."""
    import pandas as pd

    def column(name: str, domain: Sequence[Value]) -> Any:
        values = [cell[name] for cell in cells]
        if is_numeric(domain):
            return pd.Series([float(v) for v in values], dtype="float64")
        categories = [MISSING if v is None else str(v) for v in domain]
        return pd.Series(pd.Categorical([MISSING if v is None else str(v) for v in values], categories=categories))

    return pd.DataFrame({name: column(name, domain) for name, domain in domains.items()}, index=range(len(cells)))


def is_numeric(domain: Sequence[Value]) -> bool:
    """Return whether all categories are numbers."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in domain)
