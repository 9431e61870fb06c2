"""A first policy for a table: roles guessed from names and values, to be edited by people who know the data.

`rrpolicy check` refuses a draft until the entries that need a person's knowledge are filled in. A column is released
only if its name clearly indicates its role; every other one is excluded, and a comment in the draft shows how to
release it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.drafting.detection import detected_settings, means_missing, missing_codes
from rrpolicy.drafting.profile import ColumnProfile, distinct_texts, profile
from rrpolicy.drafting.protection import ProtectionDraft
from rrpolicy.drafting.role_guessing import Guess, guess, toml_array, with_hierarchy
from rrpolicy.drafting.unit_choice import GroupColumn, group_columns, unit_lines, with_groups
from rrpolicy.engine.column_types import TypeFamily, family
from rrpolicy.errors import DataError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.frozen import replace
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.policy.model import CsvSettings, Reading
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.duckdb.delimited import NUMBER_PATTERN, decimal_comma_pattern
from rrpolicy.source.memory.kinds import MEMORY_SCHEME
from rrpolicy.source.names import contains_word
from rrpolicy.source.opening import engine_for_uri, open_table_snapshot

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Snapshot, Source

IN_MEMORY = f"{MEMORY_SCHEME}:"
_NUMBER = re.compile(rf"\+?({NUMBER_PATTERN}|{decimal_comma_pattern(NUMBER_PATTERN)}|-?[0-9]+)")
_WORDS = frozenset({"none", "nil", "missing", "unknown"})
"""Texts that may be codes of missing values or categories."""


class Draft(Struct, frozen=True):
    """A drafted policy.

    Attributes:
        warnings: points to check first.
    """

    text: str
    warnings: tuple[str, ...]


def draft(  # noqa: PLR0917 what a draft is made of
    uri: str,
    table: str | None,
    sources: Mapping[str, Source],
    plugins: Sequence[str],
    protected: ProtectionDraft,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Draft:
    """Draft a policy.

    `uri` is relative to the working directory.
    """
    source, resolved = engine_for_uri(uri, sources, Path())
    csv = detected_settings(resolved)
    with scratch_folder() as spilled:
        with open_table_snapshot(source, resolved, table, spilled.folder, Reading(csv, column_wise=True)) as snapshot:
            named = _with_progress(snapshot.columns(), "looking for missing values", 0.0, progress)
            codes = {name: found for name in named if (found := _column_missing_codes(snapshot, name, csv))}
        own = {n: c for n, c in codes.items() if _is_column_code(c)}
        reading = Reading(csv, _shared_codes(codes), own, column_wise=True)
        with open_table_snapshot(source, resolved, table, spilled.folder, reading) as snapshot:
            records = snapshot.records()
            if records == 0:
                raise DataError(Problem("RR317", "the table has no records: there is nothing to guess roles from"))
            kinds = snapshot.columns()
            named = _with_progress(kinds, "looking at the columns", 0.5, progress)
            profiles = {name: profile(snapshot, name, kinds[name]) for name in named}
            groups = group_columns(snapshot, profiles, {n: guess(c, reading) for n, c in profiles.items()})
        coded = {name: (*reading.codes(name), *column.codes) for name, column in profiles.items() if column.codes}
        if coded:
            reading = replace(reading, of={**reading.of, **coded})
            with open_table_snapshot(source, resolved, table, spilled.folder, reading) as snapshot:
                profiles |= {name: profile(snapshot, name, snapshot.columns()[name]) for name in coded}
    guesses = with_groups({name: guess(column, reading) for name, column in profiles.items()}, groups)
    if protected.generalises:
        guesses = {name: replace(found, keys=with_hierarchy(found)) for name, found in guesses.items()}
    unit = [*unit_lines(guesses, profiles, groups)]
    if not split_counts_uri(uri)[0]:
        keys = [name for name, found in guesses.items() if found.tells_people or found.shared is not None]
        unit += _order_lines(profiles, keys)
    read = "\n".join(_source_lines(uri, table, records, unit, reading))
    text = _policy_toml(_policy_name(uri), read, guesses, plugins, protected.tables)
    return Draft(text, tuple(_draft_warnings(guesses, groups)))


def _with_progress(
    names: Iterable[str], text: str, share: float, progress: Callable[[str, float], None]
) -> Iterator[str]:
    """Yield names, each after a report of progress: half of the work, starting with a share."""
    every = list(names)
    for place, name in enumerate(every):
        progress(text, share + place / len(every) / 2)
        yield name


def _column_missing_codes(snapshot: Snapshot, name: str, csv: CsvSettings) -> tuple[str, ...]:
    """Return the codes of missing values in a column of text.

    In a numeric column these may be any words; in a text column only words that are not categories.
    """
    if family(snapshot.columns()[name]) is not TypeFamily.TEXT:
        return ()
    values, n = distinct_texts(snapshot, name)
    found = missing_codes(values, n, comma=csv.decimal == ",")
    if all(_NUMBER.fullmatch(v) for v in values if v is not None and v not in found):
        return found if len(found) < len(values) else ()
    return tuple(code for code in found if not _is_column_code([code]))


def _is_column_code(codes: Sequence[str]) -> bool:
    """Return whether a code may be a category in other columns, so that it applies to this column only."""
    return any(code.strip().casefold() in _WORDS or not means_missing(code) for code in codes)


def _shared_codes(codes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for found in codes.values() for code in found if not _is_column_code([code])))


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def _draft_warnings(guesses: Mapping[str, Guess], groups: Sequence[GroupColumn]) -> Iterator[str]:
    yield "every role is a guess from names and counts: check each one"
    told = [n for n, g in guesses.items() if {"domain", "bins"} & set(g.keys)]
    if told:
        yield f"domains and bins of {', '.join(told)} come from the data: sharing this policy reveals them"
    unclear = [n for n, g in guesses.items() if g.role == "excluded"]
    if unclear:
        yield f"{', '.join(unclear)}: excluded; the draft gives the reason, and how to release them where possible"
    if not any(g.released for g in guesses.values()):
        yield "no column is released: give at least one the role quasi-identifier or sensitive, else `check` refuses"
    several = [n for n, g in guesses.items() if g.tells_people]
    if groups:
        repeated = ", ".join(group.name for group in groups)
        yield f"{repeated}: repeats: look at `unit` under [source], which says whose records are protected together"
    elif len(several) > 1:
        yield f"{', '.join(several)}: name the one that identifies people as `unit` under [source]; else none is tested"
    for name, found in guesses.items():
        yield from (f"{name}: {remark}" for remark in found.remarks)


def _policy_name(uri: str) -> str:
    uri = split_counts_uri(uri)[1]
    named = "" if uri.startswith(IN_MEMORY) else Path(uri.partition(":")[2] or uri).name
    return re.sub(r"[^a-z0-9]+", "-", named.split(".")[0].lower()).strip("-")


def _policy_toml(slug: str, source: str, guesses: Mapping[str, Guess], plugins: Sequence[str], tables: str) -> str:
    attributes = "\n".join(line for name, found in guesses.items() for line in _column_lines(name, found))
    needs = f"\nplugins = {toml_array(plugins)}" if plugins else ""
    return f"""\
#:schema ./policy.schema.json
# A draft by `rrpolicy init`. Every role is a guess. `rrpolicy check` refuses the draft while a line contains
# "fill in". Edit the roles, fill in those lines, then check.
# `rrpolicy export schema > policy.schema.json` lets an editor complete and check this file; without it, drop line 1.
#
# WARNING: the domains and bins below are taken from the data. Anyone who sees them learns which values occur. Replace
# them by public knowledge, such as a classification, or accept the disclosure.
schema = 1

[policy]
name = "{slug or "release"}"
version = "0.1.0"
owner = "fill in: who is responsible for this policy"
purpose = "fill in: what the release is for"{needs}

{source}

# identifier, excluded: never released    quasi-identifier: known to others    sensitive: to be protected
# insensitive: released unchanged; `unchanged` states the reason
# A column is excluded unless its name is clear; the line below it would release it.
[attributes]
{attributes}

{tables}
# [release]
# format = "csv" # or "duckdb"; without it, "parquet"
"""


_ORDERING = "date day week month year wave visit session"


def _order_lines(profiles: Mapping[str, ColumnProfile], units: Sequence[str]) -> Iterator[str]:
    """Yield the key that reads one record of each unit, if a column of dates or whole numbers orders them by its name.

    `units` are columns that may identify units; the first that repeats is taken.
    """
    unit = next((name for name in units if profiles[name].most > 1), None)
    ordering = [
        (column.family is TypeFamily.INTEGER, name)
        for name, column in profiles.items()
        if column.family in {TypeFamily.MOMENT, TypeFamily.INTEGER} and column.distinct > 1 and not column.nulls
        if name not in units and contains_word(name, _ORDERING) and not contains_word(name, "birth born")
    ]
    if unit is not None and ordering:
        first = toml_value(f"first by {min(ordering, key=lambda o: o[0])[1]}")
        told = f"one record of each '{visible(unit)}', in place of max_records: it costs less"
        yield f"# one_record_per_unit = {first} # {told}"


def _source_lines(uri: str, table: str | None, records: int, unit: Iterable[str], reading: Reading) -> Iterator[str]:
    yield "[source]"
    multiplicity, uri = split_counts_uri(uri)
    if uri.startswith(IN_MEMORY):
        yield f"uri = {toml_value(IN_MEMORY)} # a table in memory, handed over with each call"
    else:
        yield f"uri = {toml_value(uri)}" + ("" if ":" in uri or Path(uri).is_absolute() else " # relative to this file")
    if multiplicity is not None:
        yield f"multiplicity = {toml_value(multiplicity)} # how many records each row represents"
    if table:
        yield f"table = {toml_value(table)}"
    yield (
        f"min_rows = {_rounded_record_floor(records)} # about nine tenths of the rows: a table that lacks more is "
        "refused"
    )
    yield from unit
    if reading.missing:
        yield f"missing = {toml_array(reading.missing)} # read as no value, in every column"
    plain = CsvSettings()
    stated = {key: getattr(reading.csv, key) for key in ("delimiter", "encoding", "decimal", "quote", "skip")}
    own = {key: value for key, value in stated.items() if value != getattr(plain, key)}
    if own:
        yield from ("", "[source.csv]", *(f"{key} = {toml_value(value)}" for key, value in own.items()))


def _rounded_record_floor(records: int) -> int:
    """Return nine tenths of the records, rounded down to two digits, at least 1: which hides the exact number."""
    most = records * 9 // 10
    return max(int(str(most)[:2].ljust(len(str(most)), "0")), 1)


def _column_lines(name: str, found: Guess) -> Iterator[str]:
    """Yield a column's line; for an excluded column that could be released, also the line that would release it."""
    keys = found.keys if found.released else {}
    comment = visible("; ".join([found.comment, *found.remarks]))
    yield f"{_column_line(name, found.role, keys)} # {comment}"
    if found.keys and not found.released:
        why = "if others may know it; else sensitive" if found.otherwise == "quasi-identifier" else "to release it"
        yield f"# {_column_line(name, found.otherwise, found.keys)} # {why}"


def _column_line(name: str, role: str, keys: Mapping[str, str]) -> str:
    described = {"role": f'"{role}"', **keys}
    return f"{_toml_key(name)} = {{ {', '.join(f'{k} = {v}' for k, v in described.items())} }}"
