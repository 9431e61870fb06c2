"""Association rules with corrected supports and confidences, and their errors where the truth is known.

For a rule X -> Y the support is the share of records with all its categories, the confidence that share divided by the
share of X. With w and v the record weights of (X and Y) and of X, N the records and c the confidence, this table: N^2
Var(support) = sum w^2 - sum w, (sum v)^2 Var(c) = sum (w - c v)^2 - (sum w - 2 c sum w + c^2 sum v); population:
N/(N-1) times the centred sums of squares (delta method; Guo 2010, chapter 3). Intervals are Fieller's sets.

Rules are chosen by their estimates, so that the listed ones tend to be too large. Their intervals are valid for a
rule named before the data were seen, not for the best of many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, Value, category_text
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.counts.columns import category
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.estimates import factor
from rrpolicy.estimate.results.flags import SELECTED, UNFLAGGED, flags_of
from rrpolicy.estimate.results.intervals import FiellerRatios, clip_interval
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn, quantity_column_names
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.rules.itemsets import By, FoundRules, RuleSearch, Weighing, search_rules
from rrpolicy.estimate.rules.transactions import Items, Name, make_items, transactions
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.rules.errors import RuleErrors


_PART = re.compile(
    r"""\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<name>[^"'=,]+?))\s*=\s*"""
    r"""(?:'(?P<text>(?:[^']|'')*)'|(?P<plain>(?:(?!->)[^,'])+?))\s*(?P<end>,|->|$)"""
)
Part = tuple[str, str]


def read_rule(text: str) -> list[Part]:
    """Return the columns of a rule with the spelling of a category; the last one follows (RR277)."""
    parts: list[Part] = []
    ends: list[str] = []
    at = 0
    while not ends or ends[-1]:
        found = _PART.match(text, at)
        if found is None:
            raise _rule_syntax_error(text)
        name = found["name"] or found["quoted"].replace('""', '"')
        parts.append((name, found["plain"] if found["text"] is None else found["text"].replace("''", "'")))
        ends.append(found["end"])
        at = found.end()
    if ends[-2:] != ["->", ""] or "->" in ends[:-2]:
        raise _rule_syntax_error(text)
    return parts


def _rule_syntax_error(text: str) -> PolicyError:
    message = f"{visible(text)!r} is not a rule"
    expected = "columns with categories, and what follows: sex = f, region = north -> disease = asthma"
    hint = "a name with other characters in double quotes, a category with a comma or a quote in single quotes"
    return PolicyError(Problem("RR277", message, expected=expected, hint=hint))


_Given: TypeAlias = tuple[Name, ...]


class AssociationRule(Struct, frozen=True):
    """One rule.

    Attributes:
        given: column -> category of the rule's condition.
        then: column -> category of the rule's conclusion.
        support: share of records with all of them.
        support_se: its standard error.
        support_interval: Fieller's.
        confidence: share of those with the given categories that also have the last one.
        confidence_se: its standard error (delta method).
        confidence_interval: Fieller's.
        confidence_chebyshev: valid for any distribution, approximately: the standard error is estimated.
        confidence_bias: the expected excess of the estimate over the confidence, to second order.
        sure: whether both lower ends reach the thresholds; None for a rule that was named.
    """

    given: _Given
    then: tuple[str, Value]
    support: float
    support_se: float
    support_interval: tuple[float, float]
    confidence: float
    confidence_se: float
    confidence_interval: tuple[float, float]
    confidence_chebyshev: tuple[float, float]
    confidence_bias: float
    sure: bool | None

    def __str__(self) -> str:
        return _rule_label(self.given, self.then)


@dataclass(frozen=True, kw_only=True)
class _RuleList(Result):
    """Rules with their supports and confidences, which are shares of records with all of it, and of those given."""

    schema: ClassVar[str] = "rrpolicy.rules/1"

    items: tuple[tuple[_Given, Name], ...] = field(repr=False)
    supports: FiellerRatios = field(repr=False)
    confidences: FiellerRatios = field(repr=False)
    sure: tuple[bool, ...] | None = field(default=None, repr=False)

    @cached_property
    def _quantities(self) -> tuple[EstimatedQuantity, EstimatedQuantity]:
        def quantity(name: str, ratio: FiellerRatios) -> EstimatedQuantity:
            flags = flags_of(ratio.doubts(self.level, self.target))
            return EstimatedQuantity(quantity_column_names(name), ratio.estimate, ratio.errors(), ratio.ends, flags)

        return quantity("support", self.supports), quantity("confidence", self.confidences)

    @cached_property
    def rules(self) -> tuple[AssociationRule, ...]:
        """Return the rules in order."""
        numbers = [v for m in self._quantities for v in [*m.columns(self.level, self.target).values()][:4]]
        sure = self.sure or (None,) * len(self.items)
        bias = self.confidences.bias(self.target).tolist()
        rows = zip(self.items, *numbers, self._wide.tolist(), bias, sure, strict=True)
        return tuple(
            AssociationRule(given, then, s, s_se, (s_low, s_high), c, c_se, (c_low, c_high), (low, high), bias, sure)
            for (given, then), s, s_se, s_low, s_high, c, c_se, c_low, c_high, (low, high), bias, sure in rows
        )

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the given categories and the one that follows, support and confidence, and whether a rule is sure."""
        bias, wide = self.confidences.bias(self.target), self._wide.T.tolist()
        return (
            ResultColumn("given", tuple(dict(given) for given, _ in self.items)),
            ResultColumn("then", tuple(dict([then]) for _, then in self.items)),
            *self._quantities,
            *(() if self.sure is None else (ResultColumn("sure", self.sure, key=False),)),
            *(
                ResultColumn(f"confidence_{end}_chebyshev", tuple(values), key=False, printed=False)
                for end, values in zip(("low", "high"), wide, strict=True)
            ),
            ResultColumn("confidence_bias", tuple(bias.tolist()), key=False, printed=False),
        )

    def row_keys(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return the rules."""
        return ("rule",), tuple((_rule_label(*item),) for item in self.items)

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the confidences."""
        return (PlottedQuantity(self._quantities[1], "confidence"),)

    @property
    def _wide(self) -> Array:
        """Return (rules, 2) Chebyshev's intervals of the confidences."""
        confidence = self._quantities[1]
        half = factor("chebyshev", self.level) * confidence.errors[self.target]
        return clip_interval(confidence.estimate, half, np.array([[0.0, 1.0]]))


@dataclass(frozen=True, kw_only=True)
class Rules(_RuleList):
    """Rules whose estimated support and confidence reach the thresholds.

    Attributes:
        min_support: least support.
        min_confidence: least confidence.
        possible: the rules whose intervals reach up to the thresholds.
    """

    min_support: float
    min_confidence: float
    possible: FoundRules = field(repr=False)

    @property
    def asked(self) -> RuleSearch:
        """Return the options of the search."""
        longest = self.possible.members.shape[1]
        return RuleSearch(self.min_support, self.min_confidence, longest, self.target, self.level)

    def chosen(self, by: By = "point") -> Mask:
        """Return which of the possible rules reach the thresholds; see `FoundRules.chosen`."""
        return self.possible.chosen(self.asked, by)

    def compared(self, truth: pd.DataFrame) -> RuleErrors:
        """Compare with the rules of the true table; see `rrpolicy.estimate.rules.errors`."""
        from rrpolicy.estimate.rules.errors import rule_errors

        return rule_errors(self, truth)

    @property
    def candidates(self) -> int:
        """Return how many rules were looked at."""
        return self.possible.candidates

    @property
    def title(self) -> str:
        """Return the thresholds, and how many rules reach them."""
        achieved = f"support >= {plain_number(self.min_support)} and confidence >= {plain_number(self.min_confidence)}"
        return f"{len(self.items):,} rules of {self.candidates:,} candidates with {achieved}"

    def metadata(self) -> dict[str, Json]:
        """Return the thresholds, and how many candidates were looked at."""
        return {"min_support": self.min_support, "min_confidence": self.min_confidence, "candidates": self.candidates}

    def method_description(self) -> str:
        """Return the method of estimation, and which rules are sure."""
        return (
            "moment estimates; rules with a part whose interval ends below the least support are left out; sure: "
            "both lower ends meet the thresholds as well"
            ""
        )

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the confidences, with the least that was required."""
        line = ChartReferenceLine(self.min_confidence, "the minimum confidence")
        return (PlottedQuantity(self._quantities[1], "confidence", line=line),)


@dataclass(frozen=True, kw_only=True)
class NamedRules(_RuleList):
    """Rules that were named before the data were seen: their intervals hold unchanged.

    Attributes:
        items: for each rule, the given categories, and the category that follows.
        supports: shares of the records with all of it.
        confidences: shares of those with the given categories that also have the last one.
    """

    @property
    def title(self) -> str:
        """Return the quantities."""
        return "Support and confidence of association rules"


def named_rules(
    release: Release, asked: Sequence[str], *, where: str | None, target: Target, level: float
) -> NamedRules:
    """Estimate rules that are named, as `Release.rule` describes."""
    check_target(target, level, release.max_records)
    written = [read_rule(text) for text in asked]
    if not written:
        raise PolicyError(Problem("RR277", "no rule is named", expected="one or several"))
    names = tuple(dict.fromkeys(release.columns.name(name) for rule in written for name, _ in rule))
    _, weighing = _weigh(release, names, where, None)
    found = [_estimate_rule(release, rule, weighing, target, level) for rule in written]
    return NamedRules(
        items=tuple(rule.parts(0) for rule in found),
        supports=FiellerRatios.joined([rule.supports for rule in found]),
        confidences=FiellerRatios.joined([rule.confidences for rule in found]),
        where=where, target=target, level=level, records=release.records, notes=(UNFLAGGED,),
        max_records=release.max_records,
    )  # fmt: skip


def _estimate_rule(
    release: Release, rule: Sequence[Part], weighing: Weighing, target: Target, level: float
) -> FoundRules:
    items = weighing.items
    places = [_place(release, items, release.columns.name(name), text) for name, text in rule]
    if len(set(items.axes[places].tolist())) < len(places):
        message = "a rule has one category per column, and at most one of columns that were randomised together"
        raise PolicyError(Problem("RR277", message))
    own = sorted(places)
    everything = RuleSearch(-np.inf, -np.inf, len(own), target, level)
    found = search_rules(replace(weighing, items=items.select(own)), everything)
    whole = np.flatnonzero((found.members >= 0).all(axis=1) & (found.then == own.index(places[-1])))
    order = np.array([[own.index(place) for place in places]])
    return replace(found.select(whole), members=order)


def _place(release: Release, items: Items, name: str, text: str) -> int:
    """Return the place of an item by the spelling of its category (RR265; RR277 if the condition leaves none)."""
    for place, (column, value) in enumerate(items.names):
        if column == name and category_text(value) == text:
            return place
    known = tuple(map(category_text, dict.fromkeys(release.columns.axis(name).labels_of(name))))
    category(name, known, text, ordered=False)
    raise PolicyError(Problem("RR277", f"the condition leaves no record with {name} = {text}", hint="leave it out"))


def rules(
    release: Release,
    min_support: float,
    min_confidence: float,
    columns: Sequence[str] | None,
    *,
    where: str | None,
    longest: int,
    present: Sequence[Value] | None,
    target: Target,
    level: float,
) -> Rules:
    """Estimate rules, as `Release.rules` describes."""
    check_target(target, level, release.max_records)
    if not (0 < min_support <= 1 and 0 < min_confidence <= 1 and longest >= 2):  # noqa: PLR2004 - two columns
        message = "a rule needs a least support and a least confidence in (0, 1], and two columns or more"
        raise PolicyError(Problem("RR277", message))
    names = tuple(map(release.columns.name, release.columns.axes if columns is None else columns))
    axes, weighing = _weigh(release, names, where, present)
    search = RuleSearch(min_support, min_confidence, min(longest, max(axes, 2)), target, level)
    possible = search_rules(weighing, search)
    rows = np.flatnonzero(possible.chosen(search))
    found = possible.select(rows)
    items = [found.parts(row) for row in range(len(rows))]
    # the most confident first
    support, confidence, labels = found.supports.estimate, found.confidences.estimate, [_rule_label(*i) for i in items]
    order = np.array(sorted(range(len(rows)), key=lambda i: (-confidence[i], -support[i], labels[i])), np.int64)
    return Rules(
        min_support=min_support, min_confidence=min_confidence, possible=possible,
        items=tuple(items[i] for i in order),
        supports=found.supports.select(order),
        confidences=found.confidences.select(order),
        sure=tuple(possible.chosen(search, "lower")[rows][order].tolist()),
        where=where, target=target, level=level, records=release.records, notes=(SELECTED,),
        max_records=release.max_records,
    )  # fmt: skip


def _weigh(
    release: Release, names: tuple[str, ...], where: str | None, present: Sequence[Value] | None
) -> tuple[int, Weighing]:
    """Return the number of axes of some columns, and the weights of their items."""
    condition = split(where, release.columns)
    axes = list({id(axis): axis for axis in map(release.columns.axis, names)}.values())
    refuse_biased([*axes, *condition.axes], "rules")
    refuse_overlap(release, names, where, "rules")
    items, rows = make_items(release.columns, axes, names, condition, present)
    return len(axes), Weighing(items, transactions(release, axes, rows, condition), release.records)


def _rule_label(given: _Given, then: Name) -> str:
    return f"{', '.join(f'{c} = {v}' for c, v in given)} -> {then[0]} = {then[1]}"
