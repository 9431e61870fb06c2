"""From a formula to the columns that a model is of, and what each original cell has in its equations."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plugin_errors.distributions import install

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from rrpolicy.canonical_json import Value
    from rrpolicy.counts import Array

MISSING = "missing"
"""What stands for a missing value in the terms of a model."""


@frozen(slots=False)
class Formula:
    """What is modelled by what.

    Attributes:
        outcome: a column, as it was written.
        covariates: columns of the right side, as they were written, each once.
        right: the right side, odd names of columns replaced by words that stand for them.
        odd: these words, each with its column.
    """

    outcome: str
    covariates: tuple[str, ...]
    right: str
    odd: Mapping[str, str] = field(default_factory=dict)

    def told(self, text: str) -> str:
        """Return a text with the columns' own names."""
        for word, name in self.odd.items():
            text = text.replace(word, name)
        return text


def read_formula(text: str) -> Formula:
    """Read `outcome ~ terms`, the terms in the language of formulaic.

    Raises:
        PolicyError: RR540 if formulaic is not installed; RR541 if it cannot be read.
    """
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError:
        message = "formulas are read by formulaic, which is not installed"
        raise PolicyError(Problem("RR540", message, hint=install("models"))) from None
    expected = "outcome ~ terms, such as 'employed ~ age_group + C(region) * sex'; odd names in `backticks`"
    left, tilde, right = text.partition("~")
    outcome = re.fullmatch(r"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*", left)
    if not tilde or outcome is None:
        words = re.search(r"[^\W\d]\w*(?=\s*([<>=!]=?|in\b))", left)
        told = None
        if tilde and words is not None:
            told = (
                f"name the column alone, {words[0]}, and which of its categories count as yes: "
                "--success CATEGORY for each, in Python success=[...]"
            )
        raise PolicyError(Problem("RR541", f"not a formula of one outcome: {text!r}", expected=expected, hint=told))
    odd = {}
    for place, name in enumerate(dict.fromkeys(re.findall(r"`([^`]+)`", right))):  # formulaic cuts names at points
        word = f"odd_{place}_"
        while word in text:
            word += "_"
        odd[word] = name
        right = right.replace(f"`{name}`", word)
    read = Formula(outcome[1] or outcome[2], (), right, odd)
    try:
        named = formulaic.Formula(right).required_variables
    except (FormulaicError, SyntaxError, ValueError) as error:
        message = f"not a formula: {text!r}: {read.told(str(error))}"
        raise PolicyError(Problem("RR541", message, expected=expected)) from None
    return replace(read, covariates=tuple(sorted(odd.get(str(name), str(name)) for name in named)))


@frozen(slots=False)
class CovariateDesign:
    """The covariates of original cells.

    Attributes:
        terms: names of the columns of `matrix`.
        matrix: (cells, terms).
        frame: a row a cell, a column a covariate.
    """

    terms: tuple[str, ...]
    matrix: Array = field(repr=False)
    frame: pd.DataFrame = field(repr=False)
    _formula: Formula = field(repr=False)
    _again: Callable[[pd.DataFrame], Any] = field(repr=False)

    @classmethod
    def of(
        cls, formula: Formula, cells: Sequence[Mapping[str, Value]], domains: Mapping[str, Sequence[Value]]
    ) -> CovariateDesign:
        """Make the design of cells.

        Args:
            formula: as read.
            cells: what each is of, by the names of the formula.
            domains: the categories of each covariate, in order; the first of text is what others are compared with.

        Raises:
            PolicyError: RR541 for a term that cannot be computed, or that depends on how often values occur.
        """
        import formulaic
        from formulaic.errors import FormulaicError

        frame = covariates(cells, domains)
        asked = formula.told(formula.right.strip())
        try:
            with np.errstate(all="ignore"):  # what is no number is refused below
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
            message = f"the terms {asked!r} cannot be computed: {formula.told(str(error))}"
            raise PolicyError(Problem("RR541", message)) from None
        spec = made.model_spec
        if spec.transform_state:
            listed = formula.told(", ".join(sorted(map(str, spec.transform_state))))
            hint = "subtract or divide by a number of your own, as in I(age - 40)"
            message = f"{listed} depends on how often values occur, which is estimated and not known"
            raise PolicyError(Problem("RR541", message, hint=hint))
        matrix = np.asarray(made, dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise PolicyError(Problem("RR541", f"the terms {asked!r} are not numbers for every category"))
        terms = tuple(_as_categories(formula.told(str(term)), domains) for term in made.columns)
        return cls(terms, matrix, frame, formula, spec.get_model_matrix)

    def at(self, frame: pd.DataFrame) -> Array:
        """Return (rows, terms) for other rows of covariates, of the same kinds.

        Raises:
            PolicyError: RR542 for a number that a term takes for a category, and that is none.
        """
        from formulaic.errors import DataMismatchWarning

        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                return np.asarray(self._again(_rename_to_identifiers(frame, self._formula)), dtype=np.float64)
            except DataMismatchWarning:
                message = "a number is asked for that a term takes for a category, and that no record has"
                raise PolicyError(Problem("RR542", message)) from None


def _rename_to_identifiers(frame: pd.DataFrame, formula: Formula) -> pd.DataFrame:
    return frame.rename(columns={name: word for word, name in formula.odd.items()})


def _as_categories(term: str, domains: Mapping[str, Sequence[Value]]) -> str:
    """Return the name of a term with numbers as their categories read: `C(age)[T.1]`, where a frame has 1.0."""
    numbers = {str(float(v)): str(v) for domain in domains.values() if is_numeric(domain) for v in domain}
    return re.sub(r"\[(T\.)?([^][]+)\]", lambda found: f"[{found[1] or ''}{numbers.get(found[2], found[2])}]", term)


def covariates(cells: Sequence[Mapping[str, Value]], domains: Mapping[str, Sequence[Value]]) -> pd.DataFrame:
    """Return a frame of covariates: numbers as they are, all else as categories in the order of the domain."""
    import pandas as pd

    def column(name: str, domain: Sequence[Value]) -> Any:
        values = [cell[name] for cell in cells]
        if is_numeric(domain):
            return pd.Series([float(v) for v in values], dtype="float64")
        told = [MISSING if v is None else str(v) for v in domain]
        return pd.Series(pd.Categorical([MISSING if v is None else str(v) for v in values], categories=told))

    return pd.DataFrame({name: column(name, domain) for name, domain in domains.items()}, index=range(len(cells)))


def is_numeric(domain: Sequence[Value]) -> bool:
    """Return whether all categories are numbers."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in domain)
