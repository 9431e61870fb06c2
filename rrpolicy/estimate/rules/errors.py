"""Errors of estimated rules, where the true table is known.

Support error rho and confidence error delta: mean relative errors over the true rules that were found. False positives
sigma+ = |found - true| / |true|, false negatives sigma- = |true - found| / |true| (Rizvi and Haritsa 2002; Guo 2010,
chapter 3), by the lower ends of the intervals, the estimates and the upper ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.counts import Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.rules.itemsets import By, FoundRules, RuleSearch, Weighing, search_rules
from rrpolicy.estimate.rules.transactions import Items, from_masks
from rrpolicy.numbers import percent_number

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.rules.rules import Rules

BY: tuple[By, ...] = ("lower", "point", "upper")
_ERRORS = ("support_error", "confidence_error", "false_positives", "false_negatives")


class RuleErrors(Struct, frozen=True):
    """Errors of estimated rules; NaN where the divisor is 0.

    Attributes:
        true: rules of the true table.
        found: rules by lower end, estimate and upper end.
        support_error: mean relative error of the supports of true rules that were found, by each.
        confidence_error: mean relative error of their confidences.
        false_positives: found rules that are not true, per true rule.
        false_negatives: true rules that were not found, per true rule.
    """

    true: int
    found: Mapping[By, int]
    support_error: Mapping[By, float]
    confidence_error: Mapping[By, float]
    false_positives: Mapping[By, float]
    false_negatives: Mapping[By, float]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame, one row for each of lower, point and upper."""
        import pandas as pd

        return pd.DataFrame({"by": list(BY), **{n: [getattr(self, n)[by] for by in BY] for n in ("found", *_ERRORS)}})

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; missing numbers are null."""
        rows: dict[str, Json] = {
            by: {"found": self.found[by], **{n: json_number(getattr(self, n)[by]) for n in _ERRORS}} for by in BY
        }
        return {"schema": "rrpolicy.rule-errors/1", "true": self.true, "by": rows}

    def _repr_html_(self) -> str:
        """Return the errors as an HTML table, in percent, for notebooks."""
        frame = self.to_frame()
        cells = [
            [str(by), f"{found:,}", *(percent_number(v) for v in rest)]
            for by, found, *rest in frame.itertuples(index=False)
        ]
        names = [str(name).replace("_", " ") for name in frame]
        return fragment([f"{self.true:,} true rules; errors in percent"], rows(names, cells), ())

    def summary(self) -> str:
        """Return the errors as text, in percent."""
        lines = [f"{self.true:,} true rules; errors in percent"]
        for by in BY:
            errors = (f"{n.replace('_', ' ')} {percent_number(getattr(self, n)[by])}" for n in _ERRORS)
            lines.append(f"by {by}: {self.found[by]:,} found, {', '.join(errors)}")
        return "\n".join(lines)


def rule_errors(rules: Rules, truth: pd.DataFrame) -> RuleErrors:
    """Compare the rules of `Release.rules` with those of the true table of original values, one row per record.

    RR277 if the rules are under a condition, or a column is missing.
    """
    possible = rules.possible
    missing = sorted({column for column, _ in possible.names} - set(truth.columns))
    if rules.where is not None or missing:
        message = f"the true table has no column {missing[0]!r}" if missing else "the rules are under a condition"
        raise PolicyError(Problem("RR277", f"the rules cannot be compared: {message}"))
    known = _true_rules(possible, truth, rules.asked)
    rows = [_match_rules(possible, np.flatnonzero(rules.chosen(by)), known) for by in BY]
    return RuleErrors(len(known), *(dict(zip(BY, column, strict=True)) for column in zip(*rows, strict=True)))


def _match_rules(
    possible: FoundRules, chosen: Ints, known: Mapping[tuple[int, ...], tuple[float, float]]
) -> tuple[int, float, float, float, float]:
    """Return how many rules were found, and their errors in the order of `RuleErrors`."""
    keys = possible.keys
    both = [(row, known[keys[row]]) for row in chosen if keys[row] in known]
    estimates = (possible.supports.estimate, possible.confidences.estimate)
    rho, delta = (
        float(np.mean([abs(values[row] - true[i]) / true[i] for row, true in both])) if both else np.nan
        for i, values in enumerate(estimates)
    )
    positives, negatives = (
        count / len(known) if known else np.nan for count in (len(chosen) - len(both), len(known) - len(both))
    )
    return len(chosen), rho, delta, positives, negatives


def _true_rules(
    possible: FoundRules, truth: pd.DataFrame, asked: RuleSearch
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return the support and confidence of each true rule, by its items and the one that follows."""
    columns = list(dict.fromkeys(column for column, _ in possible.names))
    axes = np.array([columns.index(column) for column, _ in possible.names], np.int64)
    masks = [(truth[column] == value).to_numpy(dtype=bool) for column, value in possible.names]
    weighing = Weighing(Items.plain(possible.names, axes), from_masks(masks, len(truth)), len(truth))
    found = search_rules(weighing, asked)
    rows = np.flatnonzero(found.chosen(asked))
    pairs = zip(found.supports.estimate[rows].tolist(), found.confidences.estimate[rows].tolist(), strict=True)
    keys = found.keys
    return dict(zip((keys[row] for row in rows), pairs, strict=True))
