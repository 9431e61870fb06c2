"""What must be read beside a risk stands in one table, a row a value, so that no number is taken for another."""

from __future__ import annotations

import re
from typing import Any

from rrpolicy.plugin import Basis, Companion, Measure, by_value
from rrpolicy_reports.html import HtmlRenderer


def companion(name: str, value: float, of: str) -> Companion:
    return Companion(name, Measure(value), Basis.ORIGINAL, f"what {name} says", of)


def test_values_are_parted_from_the_whole() -> None:
    beside = [
        companion("risk", 0.5, "disease"),
        companion("value read correctly", 0.6, "disease"),
        companion("combinations with zero count", 3, "disease"),
        companion("risk", 0.5, "disease = a = b"),
        companion("value read correctly", 0.6, "disease = a = b"),
        companion("risk", 0.4, "disease = Flu"),
        companion("value read correctly", 0.5, "disease = Flu"),
        companion("risk", 0.1, "disease = none"),
        companion("risk", 0.3, "work = paid"),
        companion("1/k", 1, ""),
    ]
    rest, tables = by_value(beside)
    assert [(c.of, c.name) for c in rest] == [("disease", "combinations with zero count"), ("", "1/k")]
    assert [(t.of, t.names, [value for value, _ in t.rows]) for t in tables] == [
        ("disease", ("risk", "value read correctly"), ["", "a = b", "Flu"]),
        ("disease", ("risk",), ["", "none"]),
        ("work", ("risk",), ["paid"]),
    ]
    assert [c.measure.value for c in tables[0].rows[2][1]] == [0.4, 0.5]
    assert by_value(rest) == (rest, ())


def test_the_page_has_one_table_with_a_row_a_value(examples: Any) -> None:
    page = re.sub("</?bdi>", "", HtmlRenderer().render(examples.failing()).decode())
    (table,) = re.findall(r'<table class="by-value">.*?</table>', page, re.DOTALL)
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
    assert heads == ["Value", "risk", "value read correctly", "largest within-group share"]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table)
    assert [name for name, _ in rows[:3]] == ["<em>maximum over values</em>", "Flu", "Cancer"]
    numbers = [re.findall(r'<td class="number">([^<]*?) ?<', cells) for _, cells in rows]
    assert numbers[0] == ["0.7712", "0.8712", "0.9712"]
    assert numbers[2] == ["0.7712", "0.8712", "0.9712"]
    assert "upper bound" in rows[1][1]
    for meaning in ("The record and the value.", "The value alone.", "The commonest value."):
        assert page.count(meaning) == 1
