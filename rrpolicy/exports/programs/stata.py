"""Labels for Stata 14 and later: a do-file that reads the CSV, numbers categories, and labels variables and values.

Text from outside is only in expressions, as a literal of plain characters and `uchar(code)` for every other one:
Stata expands macros and begins comments inside of quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.exports.programs.codebook import (
    Codebook,
    CodebookVariable,
    codebooks,
    legal_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rrpolicy.estimate.release import Release

_LONGEST, _LABEL = 32, 80
_RESERVED = frozenset({"byte", "double", "float", "if", "in", "int", "long", "strl", "using", "with"})
_MISSING = (".a", ".b", ".c")
"""Extended missing values, for the category of missing values and for texts among numbers."""
_PLAIN = frozenset(" _.,:;()-<>=+%&?!@")


def stata_program(release: Release) -> str:
    """Return the do-file."""
    return "\n".join(line for book in codebooks(release) for line in _table_commands(book)) + "\n"


def stata_string(value: str) -> str:
    """Return a string expression of Stata and of Mata."""
    parts: list[str] = []
    run = ""
    for character in value:
        if character.isalnum() or character in _PLAIN:
            run += character
            continue
        parts += [f'"{run}"'] * bool(run) + [f"uchar({ord(character)})"]
        run = ""
    return " + ".join([*parts, *[f'"{run}"'] * (bool(run) or not parts)])


def _table_commands(book: Codebook) -> Iterator[str]:
    yield f"// Reads {book.table}.csv of a release of rrpolicy: categories are numbered in their order, and labelled."
    yield "// Run it in the folder of the file. Plain counts of randomised variables are biased: see README.md there."
    if book.made_by:
        yield f"// The release has the table otherwise; this writes {book.table}.csv, in a shell: {book.made_by}"
    yield "version 14"
    yield "clear"
    options = (
        'delimiters(",") varnames(nonames) rowrange(2:) stringcols(_all) bindquotes(strict) maxquotedrows(unlimited)'
    )
    yield f'import delimited using "{book.table}.csv", {options} encoding("UTF-8")'
    names = tuple(legal_names((v.name for v in book.variables), _LONGEST, _RESERVED))
    for place, (variable, name) in enumerate(zip(book.variables, names, strict=True), 1):
        yield from _variable_commands(variable, f"v{place}", name)
    yield f"order {' '.join(names)}"
    yield f'save "{book.table}.dta"'
    yield ""


def _variable_commands(variable: CodebookVariable, column: str, name: str) -> Iterator[str]:
    yield ""
    match variable.kind:
        case "coded":
            yield f"generate {'double' if variable.scale == 'scale' else 'long'} {name} = ."
            for code, category in zip(variable.codes, variable.categories, strict=True):
                yield f"quietly replace {name} = {code} if {column} == {stata_string(category)}"
            yield f"assert !missing({name})"
            absent = dict(zip(variable.missing, _MISSING, strict=False))
            yield from (f"quietly replace {name} = {code} if {name} == {value}" for value, code in absent.items())
            for value, label in variable.labels.items():
                yield f'mata: st_vlmodify("{name}", {absent.get(value, value)}, {stata_string(label)})'
            yield f"label values {name} {name}"
            yield f"drop {column}"
        case "number":
            yield f"generate double {name} = real({column})"
            yield from (f"quietly replace {name} = .a if {name} == {value}" for value in variable.missing)
            yield f"drop {column}"
        case _:
            if variable.escaped:
                yield f"quietly replace {column} = substr({column}, 2, .) if substr({column}, 1, 1) == uchar(39)"
            yield f"rename {column} {name}"
    yield f'mata: st_varlabel("{name}", {stata_string(variable.label[:_LABEL])})'
