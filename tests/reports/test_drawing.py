"""Where marks stand, and how shares, probabilities and labels are written."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rrpolicy.numbers import matrix_probability, percent
from rrpolicy.report import Histogram, MarginalPanel, MarginalRow
from rrpolicy_reports import plot_layout, text_filters

SHARES = st.floats(-0.2, 1.2)


@given(st.lists(st.tuples(SHARES, SHARES, SHARES, SHARES), min_size=1, max_size=12))
@example([(0.0, 0.0, 0.0, -0.19999999999999998)])
def test_marks_of_a_forest_keep_order_and_stay_on_the_track(values: list[tuple[float, float, float, float]]) -> None:
    rows = tuple(MarginalRow("c", None, abs(r), e, min(a, b), max(a, b), None) for r, e, a, b in values)
    drawn = plot_layout.forest_plot(MarginalPanel("x", 0.95, rows, None, 0))
    at = [t.at for t in drawn.ticks]

    assert at == sorted(at)
    assert -1e-9 <= at[0] < at[-1] <= 1 + 1e-9
    assert 2 <= len(at) <= 6
    for place in drawn.places:
        assert -1e-6 <= place.low <= place.high <= 1 + 1e-6
        assert -1e-6 <= place.estimate <= 1 + 1e-6


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=40))
def test_bars_are_as_high_as_their_people(people: list[int]) -> None:
    edges = tuple(float(i) for i in range(len(people) + 1))
    drawn = plot_layout.histogram_plot(Histogram("risk", edges, tuple(people), None, ()))

    assert sum(b.width for b in drawn.bars) == pytest.approx(1)
    assert [b.people for b in drawn.bars] == people
    assert all(0 <= b.height <= plot_layout.HEIGHT + 1e-9 for b in drawn.bars)
    assert all((b.height == 0) == (b.people == 0) for b in drawn.bars)
    assert max(people) == 0 or max(b.height for b in drawn.bars) > 0.3 * plot_layout.HEIGHT


def test_bins_without_a_finite_range_get_equal_widths() -> None:
    drawn = plot_layout.histogram_plot(Histogram("epsilon", (0.0, 1.0, math.inf), (1, 1), (2, 0), ()))

    assert [b.width for b in drawn.bars] == [0.5, 0.5]
    assert [b.before for b in drawn.bars] == [plot_layout.HEIGHT, 0.0]


def test_a_last_bin_far_wider_than_the_others_is_not_drawn_to_scale() -> None:
    edges = (*(i / 1000 for i in range(21)), 1.0)
    drawn = plot_layout.histogram_plot(Histogram("link", edges, (7,) * 21, None, ()))

    assert drawn.broken
    assert sum(b.width for b in drawn.bars) == pytest.approx(1)
    assert [round(22 * b.width, 9) for b in drawn.bars] == [1] * 20 + [2]
    assert [t.text for t in drawn.across] == ["0", "0.004", "0.008", "0.012", "0.016", "0.02", "1"]
    assert not plot_layout.histogram_plot(Histogram("risk", edges[:21], (7,) * 20, None, ())).broken


@pytest.mark.parametrize(
    ("rows", "kind", "digits"),
    [
        ([(0.5, 0.5, 0.5), (0.25, 0.25, 0.25)], "exact", 1),
        ([(0.5, 0.4, 0.6), (0.25, 0.25, 0.25)], "drawn", 1),
        ([(0.5, 0.4999, 0.5001), (0.25, 0.2, 0.3)], "drawn", 2),
    ],
)
def test_what_intervals_are_and_how_many_digits_they_need(
    rows: list[tuple[float, float, float]], kind: str, digits: int
) -> None:
    made = tuple(MarginalRow("c", None, e, e, low, high, None) for e, low, high in rows)

    assert plot_layout.interval_kind(MarginalPanel("x", 0.95, made, None, 0)) == kind
    assert plot_layout.interval_kind(MarginalPanel("x", 1.0, made, None, 0)) == (
        "exact" if kind == "exact" else "certain"
    )
    assert plot_layout.forest_plot(MarginalPanel("x", 0.95, made, None, 0)).digits == digits


@pytest.mark.parametrize("largest", [0.57, 0.4, 0.01, 0.999])
def test_the_axis_of_a_forest_ends_at_a_number_that_no_mark_is_beyond(largest: float) -> None:
    made = (MarginalRow("c", None, largest, largest, largest - 0.005, largest, None),)
    drawn = plot_layout.forest_plot(MarginalPanel("x", 0.95, made, None, 0))

    assert drawn.ticks[0].at == 0
    assert drawn.ticks[-1].at == 1
    assert float(drawn.ticks[-1].text.removesuffix(" %")) >= 100 * largest - 1e-9


def test_code_is_broken_between_words_alone() -> None:
    shown = text_filters.code_line("rrpolicy verify <B> --strict")

    assert shown.count('<span class="word">') == 4
    assert '<span class="word">--strict</span></bdi>' in shown
    assert "&lt;B&gt;" in shown
    assert re.sub("<[^>]*>", "", shown) == "rrpolicy verify &lt;B&gt; --strict"


def test_sentences_and_names_between_backticks() -> None:
    assert text_filters.prose_text("read `a < b` beside it") == "<bdi>Read <code>a &lt; b</code> beside it.</bdi>"
    assert text_filters.prose_text("") == "<i>empty text</i>"
    assert text_filters.prose_text("`*`") == "<bdi><code>*</code>.</bdi>"


def test_columns_of_numbers_stand_to_the_right() -> None:
    table = [("1 to 9", "1,200", "3.5 %", "–"), ("10", "8.571 × 10⁻⁶", "< 0.01 %", "2")]

    assert text_filters.numeric_columns(table) == (1, 2, 3)
    assert text_filters.numeric_columns([]) == ()


@given(st.floats(0, 1))
def test_probabilities_are_never_rounded_to_certainty(value: float) -> None:
    text = matrix_probability(value)

    assert (text in {"0", "1"}) == (value in {0.0, 1.0})
    assert (plot_layout.shade_step(value) == 0) == (value == 0)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.12345, "12.3 %"),
        (0.0, "0.0 %"),
        (0.00123, "0.12 %"),
        (0.00001, "< 0.01 %"),
        (-0.02, "−2.0 %"),
        (-0.00001, "> −0.01 %"),
        (1.0, "100.0 %"),
        (0.99999, "> 99.9 %"),
    ],
)
def test_shares_in_percent(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.text(max_size=60))
def test_labels_are_one_line_of_escaped_text(text: str) -> None:
    shown = str(text_filters.escaped_label(text))
    inner = shown.removeprefix("<bdi>").removesuffix("</bdi>")

    assert shown.startswith(("<bdi>", "<i>"))
    assert "\n" not in shown
    assert "\x00" not in shown
    assert shown.startswith("<i>") or not set(inner) & set("<>\"'\u202e\u2066")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "<i>empty text</i>"),
        ("  ", "<i>blank text</i>"),
        ("a\x00b\x7f", r"<bdi>a\x00b\x7f</bdi>"),
        ("\u202ea\u2066", r"<bdi>\u202ea\u2066</bdi>"),
        ("ذكر", "<bdi>ذكر</bdi>"),
        ("<b>", "<bdi>&lt;b&gt;</bdi>"),
    ],
)
def test_labels_that_could_be_missed(text: str, shown: Any) -> None:
    assert str(text_filters.escaped_label(text)) == shown
