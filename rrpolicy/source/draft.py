"""A first policy for a table: roles guessed from names and values, to be edited by who knows the people in it."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrpolicy.canonical import Value
from rrpolicy.errors import DataError, Problem
from rrpolicy.source.columns import Family, family
from rrpolicy.source.opening import engine

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Snapshot, Source

MOST_CATEGORIES = 50
MOST_NUMBERS = 12
_ID = re.compile(
    r"(^|_)(id|ids|uuid|guid|key|ssn|iban|name|firstname|surname|lastname|email|mail|phone|tel|address)($|_)"
)
_SENSITIVE = re.compile(
    r"disease|diagnos|illness|health|hiv|medic|drug|disab|income|salary|wage|wealth|debt|benefit|religio|belief|party|"
    r"politic|vote|union|ethni|race|crime|convict|sexual|orientation|pregnan"
)
_LINKING = re.compile(
    r"age|birth|sex|gender|zip|post|region|city|town|county|state|country|nation|educat|school|occupat|job|profession|"
    r"marital|famil|house|child|language"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted policy.

    Attributes:
        text: TOML.
        warnings: what to look at first.
    """

    text: str
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Profile:
    """What a column looks like."""

    name: str
    kind: str
    records: int = 0
    distinct: int = 0
    singles: int = 0
    nulls: int = 0
    low: Any = None
    high: Any = None
    values: list[Value | Decimal] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Guess:
    role: str
    comment: str
    keys: Mapping[str, str] = field(default_factory=dict)


def draft(uri: str, table: str | None, sources: Mapping[str, Source]) -> Draft:
    """Draft a policy.

    Args:
        uri: the table, relative to the working directory.
        table: the table or view inside a database.
        sources: engines by scheme or ending.

    Raises:
        DataError: RR300 to RR309 if the table cannot be read, RR317 if it is empty.
    """
    source, resolved = engine(uri, sources, Path())
    with (
        tempfile.TemporaryDirectory(prefix="rrpolicy-") as scratch,
        source.open(resolved, table, Path(scratch)) as snapshot,
    ):
        records = snapshot.records()
        if records == 0:
            raise DataError(Problem("RR317", "the table has no records: there is nothing to guess roles from"))
        guesses = {name: _guess(_profile(snapshot, name, kind)) for name, kind in snapshot.columns().items()}
    return Draft(_written(uri, table, guesses, records), tuple(_warnings(guesses)))


def _profile(snapshot: Snapshot, name: str, kind: str) -> _Profile:
    profile = _Profile(name, kind, snapshot.records())
    if family(kind) is Family.OTHER:
        return profile
    for batch in snapshot.tally([], [name]):
        values, n = batch.column(0), batch.column(1).to_numpy()
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        profile.nulls += int(n[~valid].sum())
        profile.singles += int((n[valid] == 1).sum())
        profile.distinct += int(valid.sum())
        known = values.drop_null()
        if len(known):
            profile.low = known[0].as_py() if profile.low is None else profile.low
            profile.high = known[-1].as_py()
            profile.values += known.slice(0, MOST_CATEGORIES + 1 - len(profile.values)).to_pylist()
    return profile


def _guess(column: _Profile) -> _Guess:
    low, kind = column.name.lower(), family(column.kind)
    if kind in {Family.OTHER, Family.MOMENT}:
        return _Guess("excluded", f"{column.kind}: cut it into text, such as the year, in a view to release it")
    if column.distinct <= 1:
        return _Guess("excluded", "one value only: it tells nothing")
    unique = column.distinct > 1 and column.singles >= 0.95 * (column.records - column.nulls)
    if kind is not Family.REAL and (unique or (_ID.search(low) and column.singles > 0.05 * column.records)):
        return _Guess("identifier", f"{column.singles:,} of {column.records:,} records have a value of their own")
    if kind in {Family.INTEGER, Family.REAL} and column.distinct > MOST_NUMBERS:
        return _number(column, low)
    if column.distinct > MOST_CATEGORIES:
        return _Guess(
            "excluded",
            f"{column.distinct:,} distinct values: to release it, list the common ones as `domain`, with `outside`",
        )
    keys = {"domain": "[" + ", ".join(_spelled(v) for v in column.values) + "]", **_nulls(column)}
    return _Guess(_role(low), "taken from the data", keys)


def _role(name: str) -> str:
    return "sensitive" if _SENSITIVE.search(name) else "quasi-identifier"


def _number(column: _Profile, name: str) -> _Guess:
    """Bin a number that may link people or harm them; carry another one that has no values of its own."""
    if (_SENSITIVE.search(name) or _LINKING.search(name)) or column.singles > 0.05 * column.records or column.nulls:
        keys = {"bins": "[" + ", ".join(_edges(float(column.low), float(column.high))) + "]", **_nulls(column)}
        return _Guess(_role(name), "bins from the range of the data", {**keys, "scale": '"ordinal"'})
    return _Guess("insensitive", "released as it is: sound only if nobody knows it of anyone")


def _edges(low: float, high: float) -> Iterator[str]:
    """Yield edges at round numbers, about five bins; open at both ends, so that the extremes are not told."""
    if math.isinf(low) or math.isinf(high):
        low, high = max(low, -100.0), min(high, 100.0)
    span = max((high - low) / 5, 1e-300)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= span)
    first = math.floor(low / step) + 1
    yield "-inf" if low < 0 else "0"
    edges = [f"{k * step:.12g}" for k in range(first, first + 6) if low < k * step < high and k != 0]
    yield from edges or [f"{(low + high) / 2:.12g}"]
    yield "inf"


def _nulls(column: _Profile) -> dict[str, str]:
    if not column.nulls:
        return {}
    taken = {str(v) for v in column.values}
    name = next(n for n in ("unknown", "missing", "no value", *(f"null {i}" for i in range(100))) if n not in taken)
    return {"nulls": _spelled(name)}


def _spelled(value: Value | Decimal) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value) if isinstance(value, Decimal) else repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _spelled(name)


def _warnings(guesses: Mapping[str, _Guess]) -> Iterator[str]:
    yield "every role is a guess from names and counts; nobody knows your data as you do"
    told = [n for n, g in guesses.items() if {"domain", "bins"} & set(g.keys)]
    if told:
        yield f"domains and bins of {', '.join(told)} are taken from the data: a policy that shows them discloses them"
    if not told:
        yield "no column can be randomised as it is: give at least one a `domain` or `bins`, else `check` refuses"


def _written(uri: str, table: str | None, guesses: Mapping[str, _Guess], records: int) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", Path(uri.partition(":")[2] or uri).name.split(".")[0].lower()).strip("-")
    attributes = "\n".join(_line(name, guess) for name, guess in guesses.items())
    named = f"table = {_spelled(table)}\n" if table else ""
    return f"""\
#:schema ./policy.schema.json
# A draft by `rrpolicy init`. Every role is a guess: edit them, then run `rrpolicy check`.
# `rrpolicy schema > policy.schema.json` lets an editor complete and check this file; without it, drop the first line.
#
# WARNING: the domains and bins below are taken from the data. Whoever sees them learns which values occur. Replace them
# by what is known without the data, such as a classification, or accept that they are told.
schema = 1

[policy]
name = "{slug or "release"}"
version = "0.1.0"
owner = "fill in: who answers for this policy"
purpose = "fill in: what the release is for"

[source]
uri = {_spelled(uri)}
{named}min_rows = {_floor(records)} # a table that came in half is refused

# identifier, excluded: never released    quasi-identifier: what others may know    sensitive: what nobody should learn
# insensitive: released as it is
[attributes]
{attributes}

# Whatever is randomised of a person is almost as likely had the person been another. For a promise that counts the
# columns released as they are, too, write scope = "record" and give each of those an assume_unlinkable = "reason".
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"

# Another entry must hold as well, such as: nobody is linked to a record with more certainty than 1 / k.
# [[privacy]]
# model = "pk-anonymity"
# k = 2

[mechanism]
name = "pram"

# [release]
# format = "csv" # or "duckdb"; without it, "parquet"
"""


def _floor(records: int) -> int:
    """Return half of the records, rounded to one digit: the exact number would tell it."""
    half = records // 2
    return max(int(str(half)[0].ljust(len(str(half)), "0")), 1)


def _line(name: str, guess: _Guess) -> str:
    keys = {"role": f'"{guess.role}"', **guess.keys}
    return f"{_key(name)} = {{ {', '.join(f'{k} = {v}' for k, v in keys.items())} }} # {guess.comment}"
