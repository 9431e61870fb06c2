"""How far estimated rules are from the true ones, where the true table is known.

Support error rho and confidence error delta: mean relative errors over the true rules that were found. False positives
sigma+ = |found - true| / |true|, false negatives sigma- = |true - found| / |true| (Rizvi and Haritsa 2002; Guo 2010,
chapter 3), by the lower ends of the intervals, the estimates and the upper ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.result import number
from rrpolicy.estimate.rules.sums import By, RuleSet
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.rules.rules import Rules

BY: tuple[By, ...] = ("lower", "point", "upper")


@dataclass(frozen=True)
class RuleErrors:
    """Errors of estimated rules; NaN where nothing can be divided by.

    Attributes:
        true: rules of the true table.
        found: rules by lower end, estimate and upper end.
        support_error: mean relative error of the supports of true rules that were found, by each.
        confidence_error: likewise of confidences.
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

        names = ("found", "support_error", "confidence_error", "false_positives", "false_negatives")
        return pd.DataFrame({"by": list(BY), **{n: [getattr(self, n)[by] for by in BY] for n in names}})

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; numbers that are not there are null."""
        return {
            "schema": "rrpolicy.rule-errors/1",
            "true": self.true,
            "by": {
                by: {
                    "found": self.found[by],
                    "support_error": number(self.support_error[by]),
                    "confidence_error": number(self.confidence_error[by]),
                    "false_positives": number(self.false_positives[by]),
                    "false_negatives": number(self.false_negatives[by]),
                }
                for by in BY
            },
        }

    def _repr_html_(self) -> str:
        """Return the errors as an HTML table, in percent, for notebooks."""
        frame = self.to_frame()
        cells = [
            [str(by), f"{found:,}", *(f"{100 * v:.2f}" for v in rest)]
            for by, found, *rest in frame.itertuples(index=False)
        ]
        names = [str(name).replace("_", " ") for name in frame]
        return fragment([f"{self.true:,} true rules; errors in percent"], rows(names, cells), ())

    def summary(self) -> str:
        """Return the errors as text, in percent."""
        lines = [f"{self.true:,} true rules; errors in percent"]
        for by in BY:
            values = (self.support_error, self.confidence_error, self.false_positives, self.false_negatives)
            support, confidence, positives, negatives = (f"{100 * v[by]:.2f}" for v in values)
            lines.append(
                f"by {by}: {self.found[by]:,} found, support error {support}, confidence error {confidence}, "
                f"false positives {positives}, false negatives {negatives}"
            )
        return "\n".join(lines)


def rule_errors(rules: Rules, truth: pd.DataFrame) -> RuleErrors:
    """Compare estimated rules with those of the true table.

    Args:
        rules: as `Release.rules` returns them, without a condition.
        truth: one row a record, one column for each released name, with original values.

    Raises:
        PolicyError: RR277 if the rules are under a condition, or a column is missing.
    """
    missing = sorted({c for s in rules.sets for c in s.columns} - set(truth.columns))
    if rules.where is not None or missing:
        message = f"the true table has no column {missing[0]!r}" if missing else "the rules are under a condition"
        raise PolicyError(Problem("RR277", f"the rules cannot be compared: {message}"))
    known = [_true(s, truth) for s in rules.sets]
    is_true = [(s >= rules.min_support) & (c >= rules.min_confidence) for s, c in known]
    number_true = sum(int(t.sum()) for t in is_true)
    results = {by: _compared(rules, known, is_true, rules.chosen(by), number_true) for by in BY}
    return RuleErrors(
        number_true,
        {by: r.found for by, r in results.items()},
        {by: r.support for by, r in results.items()},
        {by: r.confidence for by, r in results.items()},
        {by: r.positives for by, r in results.items()},
        {by: r.negatives for by, r in results.items()},
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    found: int
    support: float
    confidence: float
    positives: float
    negatives: float


def _compared(
    rules: Rules, known: list[tuple[Array, Array]], is_true: list[Mask], chosen: tuple[Mask, ...], true: int
) -> _Compared:
    support, confidence, positives, negatives = [], [], 0, 0
    for s, (true_support, true_confidence), t, f in zip(rules.sets, known, is_true, chosen, strict=True):
        both = t & f
        support.append(np.abs(s.support - true_support)[both] / true_support[both])
        confidence.append(np.abs(s.confidence - true_confidence)[both] / true_confidence[both])
        positives, negatives = positives + int((f & ~t).sum()), negatives + int((t & ~f).sum())
    errors = [np.concatenate(e) if e else np.zeros(0) for e in (support, confidence)]
    rho, delta = (float(e.mean()) if e.size else np.nan for e in errors)
    shares = [v / true if true else np.nan for v in (positives, negatives)]
    return _Compared(sum(int(f.sum()) for f in chosen), rho, delta, shares[0], shares[1])


def _true(rules: RuleSet, truth: pd.DataFrame) -> tuple[Array, Array]:
    """Return the true supports and confidences of a set's rules."""
    shape = tuple(map(len, rules.labels))
    flat = np.zeros(len(truth), dtype=np.int64)
    outside = np.zeros(len(truth), dtype=bool)
    for column, labels in zip(rules.columns, rules.labels, strict=True):
        position = {label: i for i, label in enumerate(labels)}
        codes = truth[column].map(position).to_numpy(dtype=float, na_value=-1.0).astype(np.int64)
        outside |= codes < 0
        flat = flat * len(labels) + np.maximum(codes, 0)
    counts = np.bincount(flat[~outside], minlength=int(np.prod(shape))).astype(float).reshape(shape)
    given = counts.sum(axis=rules.columns.index(rules.then), keepdims=True)
    confidence = np.divide(counts, given, out=np.zeros_like(counts), where=given > 0)
    return counts / max(len(truth), 1), confidence
