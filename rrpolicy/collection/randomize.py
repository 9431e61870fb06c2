"""Randomising records where they are collected: exactly, with bits of the operating system that are not stored."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.channels.product.draw import axis_stream, flatten, randomise_each
from rrpolicy.channels.sampling.prng import KEY_BYTES, Streams
from rrpolicy.collection.answers import answer_codes
from rrpolicy.collection.questionnaire import Questionnaire

PATH = "field"
"""The sampler's path, which the streams of a draw are bound to."""


def randomize(
    questionnaire: Questionnaire, records: Sequence[Mapping[str, object]], *, text: bool = False
) -> list[dict[str, Value]]:
    """Return the randomised form of records, each drawn independently, in their order.

    The key is fresh for each call, 256 bits of the operating system, and is discarded after it: no draw can be
    repeated, and two calls are two sets of responses. Each result maps released columns to categories, in the order of
    the released table. A response of None is no response.

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
