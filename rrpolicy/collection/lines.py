"""Records as lines: read before randomisation, written after it; and the questions, for people."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.escaping.printable import line, quoted_list
from rrpolicy.numbers import exact_number, plain_number
from rrpolicy.policy.model import Bins
from rrpolicy.safe_io.document import UnreadableError, read_object


def read_records(record: str | None, file: Path | None, *, text: bool) -> list[Mapping[str, object]]:
    """Return records to be randomised.

    Without `record` and `file` they are read from standard input, as CSV if `text`.

    Raises:
        PolicyError: RR250 if a record and a file are given, or one record as CSV.
        DataError: RR522 if they cannot be read, or there are no records.
    """
    if record is not None:
        if file is not None or text:
            raise PolicyError(Problem("RR250", "--record gives one record as JSON: it goes with no FILE and no --csv"))
        return [_json_record(record, "the record")]
    try:
        content = sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except OSError as error:
        raise _read_error(f"{file} cannot be read: {(error.strerror or 'no such file').lower()}") from error
    except UnicodeDecodeError as error:
        raise _read_error("the records are not UTF-8") from error
    found = list(_csv_records(content)) if text else list(_json_records(content))
    if not found:
        raise _read_error("there is no record")
    return found


def _json_records(content: str) -> Iterator[Mapping[str, object]]:
    for number, text in enumerate(content.splitlines(), 1):
        if text.strip():
            yield _json_record(text, f"line {number}")


def _json_record(text: str, name: str) -> Mapping[str, object]:
    try:
        return read_object(text.encode(), name)
    except UnreadableError as error:
        raise _read_error(str(error)) from None


def _csv_records(content: str) -> Iterator[Mapping[str, object]]:
    rows = csv.reader(io.StringIO(content), strict=True)
    try:
        header = next(rows, [])
        if len(set(header)) < len(header):
            raise _read_error("the header lists a column twice")
        for row in rows:
            if len(row) != len(header):
                raise _read_error(f"line {rows.line_num} has another number of cells than the header")
            yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise _read_error(f"line {rows.line_num} cannot be read as CSV") from error


def _read_error(why: str) -> DataError:
    return DataError(
        Problem("RR522", why, expected='records such as {"sex": "f"}, one a line', hint="nothing was drawn")
    )


def record_lines(records: Iterable[Mapping[str, Value]], columns: Sequence[str], *, text: bool) -> Iterator[str]:
    """Yield randomised records as lines: JSON, or CSV with a header."""
    if not text:
        for record in records:
            yield json.dumps(record, ensure_ascii=True) + "\n"
        return
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([category_text(record[name]) for name in columns] for record in records)
    yield out.getvalue()


def question_lines(questionnaire: Questionnaire) -> Iterator[str]:
    """Yield the questions, and the guarantee, for people."""
    head = questionnaire.policy
    yield line(f"{head.name} {head.version}, {head.owner}: {head.purpose}")
    for question in questionnaire.questions:
        kind = "" if question.bins is None else _bins_text(question.bins)
        none = "" if question.nulls is None else f"; no answer counts as {question.nulls}"
        other = "" if question.outside is None else f"; anything else counts as {question.outside}"
        yield line(f"  {question.attribute}: {quoted_list(map(category_text, question.categories))}{kind}{none}{other}")
    yield line(f"epsilon {plain_number(questionnaire.epsilon.value)}: {questionnaire.promise}")
    yield f"digest {questionnaire.digest}"


def _bins_text(bins: Bins) -> str:
    """Return the responses that fall into bins, in words."""
    what = "a date or time" if any(isinstance(edge, str) for edge in bins.edges) else "a number"
    told = [edge if isinstance(edge, str) else exact_number(edge) for edge in bins.edges]
    ends = [f"from {told[0]}"] if bins.edges[0] != -math.inf else []
    ends += [f"to {told[-1]}"] if bins.edges[-1] != math.inf else []
    return f"; answer with one of them, or with {' '.join([what, *ends])}, which becomes the one that it lies in"
