"""Conversion of a person's responses to category positions: as a table's values are read, without an engine."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.collection.questionnaire import Question
from rrpolicy.errors import DataError, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.policy.model import Bins

_SHOWN = 12


def answer_codes(
    questions: Sequence[Question], records: Sequence[Mapping[str, object]], *, text: bool
) -> list[list[int]]:
    """Return the category position of each response, a list per record; nothing is drawn before all are read.

    None is no response. If `text`, responses are from a CSV file: empty text is no response, and numbers are in decimal
    notation.

    Raises:
        DataError: RR522, with all problems of all records at once; messages contain no response.
    """
    problems = []
    codes = []
    for number, answers in enumerate(records, 1):
        where = "" if len(records) == 1 else f"record {number}: "
        problems += [
            Problem("RR522", where + told, expected=e, hint=h) for told, e, h in _unexpected_answers(questions, answers)
        ]
        found = [_answer_code(question, answers.get(question.attribute), text=text) for question in questions]
        for question, code in zip(questions, found, strict=True):
            if code is None and question.attribute in answers:
                problems.append(
                    _answer_problem(question, where, absent=_is_missing(answers[question.attribute], text=text))
                )
        codes.append([-1 if code is None else code for code in found])
    if problems:
        raise DataError(problems)
    return codes


def _unexpected_answers(questions: Sequence[Question], answers: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """Yield unexpected and missing responses of a record: message, expectation, and a hint."""
    asked = [question.attribute for question in questions]
    for name in answers:
        if name not in asked:
            yield (
                f"{name!r} is not asked",
                quoted_list(asked),
                "leave it out: nothing that is not asked leaves the machine",
            )
    for name in asked:
        if name not in answers:
            yield (
                f"there is no answer to '{name}'",
                quoted_list(asked),
                "null stands for no answer, where that is allowed",
            )


def _is_missing(answer: object, *, text: bool) -> bool:
    return answer is None or (isinstance(answer, float) and math.isnan(answer)) or (text and answer == "")


def _answer_code(question: Question, answer: object, *, text: bool) -> int | None:
    """Return the category position of an response; None if it has no category."""
    if _is_missing(answer, text=text):
        return _category_position(question, question.nulls)
    value = answer if isinstance(answer, (str, int, float)) else None
    if value is None:
        return None
    if question.bins is not None:
        number = _parsed_number(value, text=text) if _has_numeric_bins(question.bins) else _sortable_moment(value)
        if number is not None:
            return _bin_position(question, question.bins, number)
        return None if _is_ambiguous(question) else _category_position(question, value)
    for place, category in enumerate(question.categories):
        if same_category(category, value) or (text and category_text(category) == value):
            return place
    return _category_position(question, question.outside)


def _category_position(question: Question, category: Value | None) -> int | None:
    if category is None:
        return None
    return next((i for i, known in enumerate(question.categories) if same_category(known, category)), None)


def _has_numeric_bins(bins: Bins) -> bool:
    return not any(isinstance(edge, str) for edge in bins.edges)


def _is_ambiguous(question: Question) -> bool:
    """Return whether a bin's label reads as a value to be binned, so that the response is ambiguous."""
    return any(_parsed_number(label, text=True) is not None for label in question.categories if isinstance(label, str))


def _parsed_number(value: Value, *, text: bool) -> float | None:
    if isinstance(value, bool) or (isinstance(value, str) and not text):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _sortable_moment(value: Value) -> float | None:
    """Return a date or time as a number that sorts as it does; None if the value is neither."""
    if not isinstance(value, str):
        return None
    for spelled in (value, f"1970-01-01T{value}"):  # a time of day belongs to that day
        try:
            moment = datetime.fromisoformat(spelled)
        except ValueError:
            continue
        return None if moment.tzinfo is not None else (moment - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001
    return None


def _bin_position(question: Question, bins: Bins, number: float) -> int | None:
    """Return the position of the bin of a number: [a, b), the last one closed."""
    edges = [float(e) if not isinstance(e, str) else _sortable_moment(e) for e in bins.edges]
    known = [math.nan if e is None else e for e in edges]
    if number < known[0] or number > known[-1]:
        return _category_position(question, question.outside)
    return _category_position(question, bins.labels[min(bisect_right(known, number), len(known) - 1) - 1])


def _answer_problem(question: Question, where: str, *, absent: bool) -> Problem:
    """Return the problem of an invalid response, without the response."""
    if absent:
        hint = f"give an answer; or ask for a policy with `nulls` of '{question.attribute}', so that none is one"
        return Problem(
            "RR522", f"{where}'{question.attribute}' must be answered", expected=_accepted_answers(question), hint=hint
        )
    what = f"{where}the answer to '{question.attribute}' is none of the categories"
    hint = 'nothing was drawn; write it as the questionnaire does, letter by letter: 1 is a number, "1" is text'
    return Problem("RR522", what, expected=_accepted_answers(question), hint=hint)


def _accepted_answers(question: Question) -> str:
    shown = [category_text(category) for category in question.categories[:_SHOWN]]
    rest = len(question.categories) - len(shown)
    more = f", and {rest} more" if rest else ""
    what = "one of " if question.bins is None else "what lies in one of "
    return what + quoted_list(shown) + more
