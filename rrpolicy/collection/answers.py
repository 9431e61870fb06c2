"""Responses read, randomised before they are sent, and the collected records tested against the randomisation."""

from __future__ import annotations

import math
import secrets
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.draw import axis_stream, flatten, randomise_each, released_shape, unflatten
from rrpolicy.channels.sampling.prng import KEY_BYTES, Streams
from rrpolicy.collection.questionnaire import Question, Questionnaire
from rrpolicy.errors import DataError, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.policy.model import Bins

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Ints


_SHOWN = 12


def answer_codes(
    questions: Sequence[Question], records: Sequence[Mapping[str, object]], *, text: bool
) -> list[list[int]]:
    """Return the category position of each response, a list per record; nothing is drawn before all are read.

    None means that there is no response. If `text`, responses are from a CSV file: empty text is no response, and
    numbers are in decimal notation.

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
                f"{name!r} is not a question",
                quoted_list(asked),
                "leave it out: nothing that is not a question leaves the machine",
            )
    for name in asked:
        if name not in answers:
            yield (
                f"there is no answer to '{name}'",
                quoted_list(asked),
                "use null for no answer, where it is allowed",
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
        moments = any(isinstance(edge, str) for edge in question.bins.edges)
        number = _sortable_moment(value) if moments else _parsed_number(value, text=text)
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
        hint = (
            f"give an answer; or declare `nulls` for '{question.attribute}' in the policy, so that no answer is allowed"
        )
        return Problem(
            "RR522", f"{where}'{question.attribute}' must be answered", expected=_accepted_answers(question), hint=hint
        )
    what = f"{where}the answer to '{question.attribute}' is not one of the categories"
    hint = 'nothing was drawn; write it as the questionnaire does, letter by letter: 1 is a number, "1" is text'
    return Problem("RR522", what, expected=_accepted_answers(question), hint=hint)


def _accepted_answers(question: Question) -> str:
    shown = [category_text(category) for category in question.categories[:_SHOWN]]
    rest = len(question.categories) - len(shown)
    more = f", and {rest} more" if rest else ""
    what = "one of " if question.bins is None else "what lies in one of "
    return what + quoted_list(shown) + more


PATH = "field"
"""The sampler's path, which the streams of a draw are bound to."""


def randomize(
    questionnaire: Questionnaire, records: Sequence[Mapping[str, object]], *, text: bool = False
) -> list[dict[str, Value]]:
    """Return the randomised form of records, each drawn independently, in their order.

    The key is fresh for each call, 256 bits of the operating system, and is discarded after it: no draw can be
    repeated, and two calls are two sets of responses. Each result maps released columns to categories, in the order
    of the released table. A response of None means that there is no response.

    Raises:
        DataError: RR522, with all problems of all records at once; nothing is drawn.
    """
    product, questions = questionnaire.channel, questionnaire.questions
    codes = np.array(answer_codes(questions, records, text=text), dtype=np.int64).reshape(len(records), len(questions))
    place = {question.attribute: (i, len(question.categories)) for i, question in enumerate(questions)}
    streams = Streams(secrets.token_bytes(KEY_BYTES), b"", questionnaire.digest.encode(), PATH)
    released: dict[str, list[Value]] = {}
    for axis in product.axes:
        columns, sizes = zip(*(place[name] for name in axis.attributes), strict=True)
        drawn = randomise_each(axis, flatten(codes[:, list(columns)], sizes), axis_stream(streams, axis))
        for column, labels in zip(axis.columns(), drawn.T, strict=True):
            released[column.name] = [column.spelled[label] for label in labels.tolist()]
    return [{name: released[name][i] for name in product.order} for i in range(len(records))]


FALSE_ALARM = 1e-9
"""Maximum false-alarm probability of all tests of a table together."""
WIDEST = 1 << 20
"""Maximum number of entries of a matrix that is listed; shares of a larger one are not tested."""


def implausibilities(product: Product, counts: Sequence[Ints], records: int) -> Iterator[str]:
    """Yield reasons why a table was not made by randomising records by a channel; no value is named.

    `counts` has for each axis the (cells,) records of each combination of its released labels, in C order.
    """
    import numpy as np

    tested = sum(len(c.labels) for axis in product.axes for c in axis.columns())
    for axis, found in zip(product.axes, counts, strict=True):
        if not isinstance(axis, Transition) or axis.original_size * len(found) > WIDEST:
            continue
        matrix = [axis.column(code) for code in range(axis.original_size)]
        reached = {cell for column in matrix for cell, entry in column.items() if entry}
        strays = int(found.sum()) - int(sum(found[cell] for cell in reached))
        names = ", ".join(f"'{c.name}'" for c in axis.columns())
        if strays:
            have = "1 record has" if strays == 1 else f"{strays:,} records have"
            yield f"in {names}, {have} a value that no answer can produce"
            continue
        labels = unflatten(np.arange(len(found)), released_shape(axis))
        for column, label in zip(axis.columns(), labels, strict=True):
            ends = _probability_range(matrix, label, len(column.labels))
            observed = np.bincount(label, weights=found, minlength=len(column.labels)).astype(np.int64)
            if _is_out_of_range(observed, ends, records, FALSE_ALARM / (2 * tested)):
                yield f"in '{column.name}', a value is more or less common than any answers could make it"


def _probability_range(
    matrix: Sequence[Mapping[int, Fraction]], label: Ints, size: int
) -> Sequence[tuple[Fraction, Fraction]]:
    """Return the smallest and the largest probability of each label of a column, over the possible original values."""
    sums = []
    for column in matrix:
        shares = [Fraction(0)] * size
        for cell, entry in column.items():
            shares[label[cell]] += entry
        sums.append(shares)
    return [(min(each), max(each)) for each in zip(*sums, strict=True)]


def _is_out_of_range(observed: Ints, ends: Sequence[tuple[Fraction, Fraction]], records: int, alpha: float) -> bool:
    from scipy.stats import binom

    return any(
        binom.sf(n - 1, records, float(most)) < alpha or binom.cdf(n, records, float(least)) < alpha
        for n, (least, most) in zip(observed.tolist(), ends, strict=True)
    )
