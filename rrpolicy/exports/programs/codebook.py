"""The code book of a release: the variables of its tables, for programs that number and label categories."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.channels.decoders import AdditionDecoder, IdentityDecoder, RecodeDecoder, WithheldDecoder
from rrpolicy.engine.connect import query_connection
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping import formulas
from rrpolicy.estimate.counts.scan import manifest_mismatch_error, relation

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.channels.table import Column
    from rrpolicy.estimate.counts.scan import DataFile
    from rrpolicy.estimate.release import Release
    from rrpolicy.manifest.manifest import Data

Kind: TypeAlias = Literal["coded", "number", "text"]
_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL.*")


class CodebookVariable(Struct, frozen=True):
    """A released column as a variable of a program.

    Attributes:
        label: its meaning, and its treatment.
        kind: coded: each category has a number; number, or text unmodified.
        categories: for a coded variable, the categories as in the data file.
        codes: for a coded variable: the categories, if they are numbers, else their positions from 1.
        labels: for a coded variable, code -> readable category; empty for numbers.
        missing: codes, or values of a number, that mean a missing value.
        scale: nominal, ordinal, or numbers.
        width: for text: the maximum number of bytes.
        escaped: a leading apostrophe of text is an escape, not part of it.
    """

    name: str
    label: str
    kind: Kind
    categories: tuple[str, ...]
    codes: tuple[int | float, ...]
    labels: Mapping[int | float, str]
    missing: tuple[int | float, ...]
    scale: Literal["nominal", "ordinal", "scale"]
    width: int
    escaped: bool


class Codebook(Struct, frozen=True):
    """One released table.

    Attributes:
        table: its name; its file is `<table>.csv`.
        made_by: the call of DuckDB that writes this file; "" if the release contains it.
    """

    table: str
    variables: tuple[CodebookVariable, ...]
    made_by: str


def codebooks(release: Release) -> tuple[Codebook, ...]:
    """Return the code book of each released table.

    Raises:
        PolicyError: RR513 for data in a format of a plugin's.
    """
    return tuple(_table_codebook(release, file) for file in release.files)


def legal_names(names: Iterable[str], longest: int, reserved: frozenset[str]) -> Iterator[str]:
    """Return valid names for a program, unique even without regard to case: letters, digits and underscores."""
    taken: set[str] = set()
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_") or "column"
        if not stem[0].isalpha() or stem.lower() in reserved or re.fullmatch(r"(?i)(v|str)\d+", stem):
            stem = f"x_{stem}"
        found, again = stem[:longest].rstrip("_"), 1
        while found.lower() in taken:
            again += 1
            found = f"{stem[: longest - len(str(again)) - 1]}_{again}"
        taken.add(found.lower())
        yield found


def _table_codebook(release: Release, file: DataFile) -> Codebook:
    told = {name: _method_of_decoder(decoder) for decoder in release.manifest.decoders for name in decoder.columns}
    widths = _text_widths(file)
    variables = tuple(_codebook_variable(release, column, told.get(column.name, ""), widths) for column in file.columns)
    return Codebook(file.table, variables, _csv_export_call(release.manifest.data, file.table))


def _csv_export_call(data: Data, table: str) -> str:
    """Return the call of DuckDB that writes a table's CSV; all names in it are rrpolicy's."""
    file = f"{table}.{data.format}" if data.rows_per_file is None else f"{table}/*.{data.format}"
    match data.format:
        case "csv" if data.rows_per_file is None:
            return ""
        case "csv":
            source = f"FROM read_csv('{file}', all_varchar = true)"
        case "duckdb":
            return f"duckdb -readonly {file} \"COPY {table} TO '{table}.csv' (HEADER)\""
        case "parquet":
            source = f"FROM '{file}'"
        case other:
            message = f"the data are in the format {other!r}, which no other program is known to read"
            raise PolicyError(Problem("RR513", message, expected="csv, parquet or duckdb"))
    return f"duckdb -c \"COPY ({source}) TO '{table}.csv' (HEADER)\""


def _codebook_variable(release: Release, column: Column, how: str, widths: dict[str, int]) -> CodebookVariable:
    manifest = release.manifest
    escaped = manifest.escaped(column)
    name = column.name if column.attribute in {column.name, ""} else f"{column.name} (of {column.attribute})"
    label = f"{name}: {how}" if how else name
    stated = manifest.of_column.get(column.name)
    missing = manifest.missing(column)
    numbers = [v for v in column.labels if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if column.kind == "set" or column.type.endswith("[]"):
        return CodebookVariable(
            column.name, label, "text", (), (), {}, (), "nominal", widths[column.name], escaped=False
        )
    if len(numbers) == len(column.labels) and _NUMBERS.fullmatch(column.type):
        value = (missing,) if isinstance(missing, (int, float)) and not isinstance(missing, bool) else ()
        return CodebookVariable(column.name, label, "number", (), (), {}, value, "scale", 0, escaped=False)
    if not column.labels:
        width = widths[column.name]
        return CodebookVariable(column.name, label, "text", (), (), {}, (), "nominal", width, escaped=escaped)
    texts = tuple(map(category_text, column.labels))
    spelled = tuple(map(formulas.escape_formula, texts)) if escaped else texts
    if numbers and _non_numeric_categories(release, column, missing) == len(column.labels) - len(numbers):
        codes = _numeric_codes(column.labels, numbers)
        words = {code: t for v, code, t in zip(column.labels, codes, texts, strict=True) if isinstance(v, str)}
        absent: tuple[int | float, ...] = (*words, *(v for v in numbers if _is_missing_category(v, missing)))
        return CodebookVariable(column.name, label, "coded", spelled, codes, words, absent, "scale", 0, escaped=False)
    codes = tuple(range(1, len(texts) + 1))
    absent = tuple(code for code, v in zip(codes, column.labels, strict=True) if _is_missing_category(v, missing))
    ordered = column.kind == "interval" or (stated is not None and stated.scale == "ordinal")
    scale: Literal["ordinal", "nominal"] = "ordinal" if ordered else "nominal"
    labels = dict(zip(codes, texts, strict=True))
    return CodebookVariable(column.name, label, "coded", spelled, codes, labels, absent, scale, 0, escaped=False)


def _non_numeric_categories(release: Release, column: Column, missing: Value | None) -> int:
    """Return the number of categories that are texts and no numbers: missing, outside of the numbers, or suppressed."""
    texts = [v for v in column.labels if isinstance(v, str)]
    groups = release.columns.spread.get(column.name)
    if groups is None:
        return len(texts)
    held = groups.categories_of
    return sum(_is_missing_category(v, missing) or len(held[v]) == len(groups.original) for v in texts)


def _numeric_codes(labels: Sequence[Value], numbers: Sequence[int | float]) -> tuple[int | float, ...]:
    """Return numbers unchanged, and for each text among them an unused negative code."""
    free = itertools.count(min(-1, math.floor(min(numbers)) - 1), -1)
    return tuple(v if isinstance(v, (int, float)) else next(free) for v in labels)


def _is_missing_category(value: Value, missing: Value | None) -> bool:
    return missing is not None and same_category(value, missing)


def _method_of_decoder(decoder: Decoder) -> str:
    match decoder:
        case WithheldDecoder():
            return "randomised; the matrix is withheld, so that counts of it cannot be corrected"
        case AdditionDecoder():
            return "a set of the value and others drawn at random; JSON"
        case RecodeDecoder():
            return "generalised"
        case IdentityDecoder():
            return "unchanged"
        case _ if decoder.drawn:
            return "randomised; plain counts are biased"
    return "unchanged"


def _text_widths(file: DataFile) -> dict[str, int]:
    """Return the maximum number of bytes of text columns in the file, one more if text is escaped."""
    texts = [c for c in file.columns if not c.labels or c.kind == "set" or c.type.endswith("[]")]
    if not texts:
        return {}
    import duckdb

    longest = ", ".join(f"coalesce(max(strlen({identifier(c.name)}::VARCHAR)), 0)" for c in texts)
    with query_connection(alone=file.form.alone) as connection:
        try:
            (found,) = connection.execute(f"SELECT {longest} FROM {relation(connection, file)}").fetchall()  # noqa: S608 - names quoted
        except duckdb.Error as error:
            raise manifest_mismatch_error(str(error).splitlines()[0]) from error
    return {
        c.name: max(1, n + 1) if not c.labels else max(1, len(json.dumps(c.labels, ensure_ascii=False).encode()) + n)
        for c, n in zip(texts, found, strict=True)
    }
