"""An engine's errors in words for the author of a policy. Their own texts may quote data and are never passed on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rrpolicy.errors import DataError, Problem, RefusedError, RRPolicyError

_LINE = re.compile(r"Line: (\d+)")


@contextmanager
def engine_errors(what: str, skipped: int = 0) -> Iterator[None]:
    """Turn errors of DuckDB, Arrow and the operating system into those of rrpolicy.

    No message contains a value of the data. `skipped` is the number of lines of a CSV file before those that the engine
    reads.
    """
    import duckdb
    import pyarrow as pa

    try:
        yield
    except RRPolicyError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise translate_error(what, error, skipped) from None


def translate_error(what: str, error: Exception, skipped: int = 0) -> RRPolicyError:
    """Return rrpolicy's error for one of an engine's."""
    text = str(error)
    problem = _csv_problem(what, text, skipped) if "CSV Error" in text else _engine_problem(what, text)
    return RefusedError(problem) if problem.code.startswith("RR4") else DataError(problem)


def _csv_problem(what: str, text: str, skipped: int) -> Problem:
    line = _LINE.search(text)
    where = f"{what}, line {int(line[1]) + skipped}" if line else what
    if "unicode" in text.lower() or "utf-8" in text.lower():
        hint = 'name its encoding, such as `encoding = "latin-1"` under [source.csv]; `rrpolicy init` finds it out'
        return Problem("RR304", f"{where}: not UTF-8 text", expected="UTF-8", hint=hint)
    found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if found:
        few = int(found[2]) < int(found[1])
        return Problem(
            "RR303",
            f"{where}: {found[2]} fields in a row, the header has {found[1]}",
            expected="as many fields in every row as in the header",
            hint="a last line is short where the file was not copied whole: get it again; otherwise correct the line"
            if few
            else "quote fields that contain commas, quotes or line breaks",
        )
    if "unterminated quote" in text:
        return Problem("RR303", f"{where}: a quoted field does not end", hint='double every quote inside it: ""')
    hint = "fields separated, quoted and encoded as [source.csv] declares; by default commas, double quotes, UTF-8"
    return Problem("RR303", f"{where}: the row cannot be read as CSV", hint=hint)


_MEANINGS: tuple[tuple[tuple[str, ...], str, str, str | None], ...] = (
    (
        ("no space left", "failed to offload", "max_temp_directory_size"),
        "RR408",
        "the disk is full while the table is read",
        "free space where the output is written",
    ),
    (
        ("could not set lock", "conflicting lock"),
        "RR305",
        "another process has the database open for writing",
        "let it end, or release from a copy of the database",
    ),
    (
        ("permission error", "disabled by configuration"),
        "RR309",
        "the view reads files outside of its database",
        "open those files in the policy, or store the view's result as a table",
    ),
    (
        ("permission denied", "no such file", "cannot open file"),
        "RR300",
        "cannot be opened",
        "check the path and the permissions",
    ),
    (("out of memory",), "RR322", "reading needs more memory than allowed", "coarsen domains, or carry fewer columns"),
    (
        ("conversion error", "could not convert", "out of range"),
        "RR312",
        "a value does not fit the type of its column",
        "look at the column in DuckDB; rrpolicy does not repeat messages that may quote data",
    ),
)


def _engine_problem(what: str, text: str) -> Problem:
    low = text.lower()
    for signs, code, message, hint in _MEANINGS:
        if any(sign in low for sign in signs):
            return Problem(code, f"{what}: {message}", hint=hint)
    hint = "open it with DuckDB to see what is wrong; rrpolicy does not repeat messages that may quote data"
    return Problem("RR302", f"{what}: damaged, or not a file of its kind", hint=hint)
