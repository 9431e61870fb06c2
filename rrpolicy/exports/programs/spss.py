"""Labels for SPSS and PSPP: syntax that reads the CSV, numbers categories, and labels variables and values."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.exports.programs.codebook import (
    Codebook,
    CodebookVariable,
    codebooks,
    legal_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rrpolicy.estimate.release import Release

_LONGEST, _VARIABLE_LABEL, _VALUE_LABEL, _LITERAL = 64, 255, 120, 100
"""Maximum bytes of names, labels and of a piece of a literal, which keeps lines short."""
_TEXT = 32_767
"""Maximum bytes of a string variable."""
_RESERVED = frozenset(["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"])


def spss_program(release: Release) -> str:
    """Return the syntax.

    Raises:
        PolicyError: RR512 for text that SPSS cannot represent or distinguish.
    """
    return (
        "\n".join(["* Encoding: UTF-8.", *(line for book in codebooks(release) for line in _table_syntax(book))]) + "\n"
    )


def spss_string(value: str, column: str) -> str:
    """Return a string literal, in pieces that keep lines short.

    Raises:
        PolicyError: RR512 if it contains characters that no literal can.
    """
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in value):
        message = f"a category of {column!r} contains a character that is not printed, such as the end of a line"
        raise PolicyError(Problem("RR512", message, hint="recode it in the policy, or use --for stata or --for r"))
    pieces = [""]
    for character in value:
        if len((pieces[-1] + character).encode()) > _LITERAL:
            pieces.append("")
        pieces[-1] += character
    return " +\n    ".join("'" + piece.replace("'", "''") + "'" for piece in pieces)


def shortened_texts(texts: Sequence[str], most: int) -> Iterator[str]:
    """Return texts of at most so many bytes; truncated ones are numbered, so that they differ from the others."""
    for place, value in enumerate(texts, 1):
        whole, end = value.encode(), f" ... ({place})"
        yield value if len(whole) <= most else whole[: most - len(end)].decode(errors="ignore") + end


def _table_syntax(book: Codebook) -> Iterator[str]:
    yield f"* Reads {book.table}.csv of a release of rrpolicy: categories are numbered in the order of their domain."
    yield "* Run it in the folder of the file. Plain counts of randomised variables are biased: see README.md."
    if book.made_by:
        yield f"* The release has the table otherwise; this writes {book.table}.csv, in a shell: {book.made_by}."
    names = tuple(legal_names((v.name for v in book.variables), _LONGEST, _RESERVED))
    read = (f"    v{i} {_variable_format(v)}" for i, v in enumerate(book.variables, 1))
    yield f"GET DATA /TYPE=TXT /FILE='{book.table}.csv' /ENCODING='UTF8' /ARRANGEMENT=DELIMITED /DELCASE=LINE"
    yield "  /FIRSTCASE=2 /DELIMITERS=',' /QUALIFIER='\"'"
    yield "  /VARIABLES=\n" + "\n".join(read) + "."
    for place, (variable, name) in enumerate(zip(book.variables, names, strict=True), 1):
        yield from _variable_syntax(variable, f"v{place}", name)
    yield "EXECUTE."
    yield "ADD FILES /FILE=*\n  /KEEP=" + "\n    ".join(names) + "."
    yield f"DATASET NAME {book.table}."


def _variable_format(variable: CodebookVariable) -> str:
    if variable.kind == "number":
        return "F40.0"
    longest = variable.width if variable.kind == "text" else max(len(c.encode()) for c in variable.categories)
    if longest > _TEXT:
        message = f"{variable.name!r} contains text of more than {_TEXT:,} bytes"
        raise PolicyError(Problem("RR512", message, hint="use --for stata or --for r"))
    return f"A{max(longest, 1)}"


def _variable_syntax(variable: CodebookVariable, column: str, name: str) -> Iterator[str]:
    own = variable.name
    if variable.kind == "coded":
        if len({c.rstrip(" ") for c in variable.categories}) < len(variable.categories):
            message = f"categories of {own!r} differ in the spaces at their end alone, which SPSS does not distinguish"
            raise PolicyError(
                Problem("RR512", message, hint="recode them in the policy, or use --for stata or --for r")
            )
        pairs = zip(variable.categories, variable.codes, strict=True)
        values = "\n".join(f"  ({spss_string(category, own)} = {code})" for category, code in pairs)
        labels = zip(variable.labels, shortened_texts(tuple(variable.labels.values()), _VALUE_LABEL), strict=True)
        yield f"RECODE {column}\n{values}\n  INTO {name}."
        yield (
            f"VALUE LABELS {name}\n" + "\n".join(f"  {code} {spss_string(label, own)}" for code, label in labels) + "."
        )
        whole = all(isinstance(code, int) for code in variable.codes)
        yield f"FORMATS {name} ({'F8.0' if whole else 'F12.2'})."
    else:
        if variable.escaped:
            yield f'IF (SUBSTR({column}, 1, 1) = "\'") {column} = SUBSTR({column}, 2).'
        yield f"RENAME VARIABLES ({column} = {name})."
        if variable.kind == "number":
            yield f"FORMATS {name} (F12.2)."
    (label,) = shortened_texts([visible(variable.label)], _VARIABLE_LABEL)
    yield f"VARIABLE LABELS {name}\n    {spss_string(label, own)}."
    if variable.missing:
        yield f"MISSING VALUES {name} ({', '.join(map(str, variable.missing))})."
    yield f"VARIABLE LEVEL {name} ({variable.scale.upper()})."
