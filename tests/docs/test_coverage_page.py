"""docs/explanation/coverage.md: intervals hold as often as they say, and the draws that are kept are those that are drawn."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.coverage.asked import QUESTIONS
from benchmarks.coverage.drawing import HELD, MISSED, REFUSED, WRONG, Combination
from benchmarks.coverage.kept import PAGE, combinations, draws, kept, too_rarely
from benchmarks.coverage.page import page

LETTERS = kept()


def test_the_page_is_of_the_kept_draws() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(LETTERS), "`make questions` computes it again"
    assert list(LETTERS) == [c.name for c in combinations()]
    for combination in combinations():
        told = LETTERS[combination.name]
        assert list(told) == [q.text for q in QUESTIONS]
        assert {len(letters) for letters in told.values()} == {len(draws(combination))}


def test_twenty_questions_of_three_surveys_hold_as_often_as_they_say() -> None:
    assert len(QUESTIONS) == 20
    assert too_rarely(LETTERS) == {}
    pooled = Counter("".join(letters for by in LETTERS.values() for letters in by.values()))
    assert 0.94 <= pooled[HELD] / (pooled[HELD] + pooled[MISSED]) <= 0.96
    assert pooled[WRONG] == 0, "certain ends that do not hold"
    cases = sum(1 for by in LETTERS.values() for told in by.values() if HELD in told)
    assert cases >= 200


def test_intervals_that_are_a_third_too_short_would_be_seen() -> None:
    """Of 1.31 standard errors in place of 1.96: they hold in 81 of 100 draws."""
    short = {"a survey": {q.text: HELD * 380 + MISSED * 20 for q in QUESTIONS}}
    assert too_rarely(short) == {}
    short["a survey"][QUESTIONS[3].text] = HELD * 324 + MISSED * 76
    assert list(too_rarely(short)) == [f"a survey: {QUESTIONS[3].text}"]


def test_what_every_mechanism_refuses_is_refused_always() -> None:
    """A question is answered for a table and a mechanism or it is not; models alone depend on the draw."""
    for combination in combinations():
        for question in QUESTIONS:
            told = LETTERS[combination.name][question.text]
            assert question.kind == "model" or REFUSED not in told or set(told) == {REFUSED}, (
                combination.name,
                question,
            )


@pytest.mark.slow
@pytest.mark.parametrize("combination", combinations(), ids=lambda c: c.name)
def test_draws_made_again_say_the_same(combination: Combination) -> None:
    seeds = draws(combination)[:2]
    assert combination.asked(seeds) == {q: told[: len(seeds)] for q, told in LETTERS[combination.name].items()}
