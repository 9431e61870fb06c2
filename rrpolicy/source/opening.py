"""From a policy's uri to an original: the path resolved, the engine found by scheme or ending, opened and read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.frozen import replace
from rrpolicy.plugin_errors.type_checks import check_protocol, check_return_type
from rrpolicy.policy.folder.root import counts_uri, split_counts_uri
from rrpolicy.policy.model import PLAIN, Policy, Reading
from rrpolicy.source.memory.kinds import MEMORY_SCHEME, REFERENCE_SCHEME, TUNING_SCHEME
from rrpolicy.source.protocol import SNAPSHOT, Snapshot, Source

if TYPE_CHECKING:
    from rrpolicy.source.original import TableOriginal

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)?//")
_ELSEWHERE = frozenset({"RR355", "RR356", "RR358"})
_UNSELECTED = frozenset({"RR311", "RR325", "RR330"})
"""Codes of a table of which no record of each unit can be selected."""
_UNREADABLE = frozenset({"RR322", "RR326", "RR340", "RR341", "RR342", "RR347", "RR348"}) | _ELSEWHERE
"""Codes, in addition to RR300 to RR309, of a table that cannot be read under any policy."""


def is_unreadable(error: DataError) -> bool:
    """Return whether a table cannot be read under any policy; otherwise it does not fit this policy."""
    return any(problem.code.startswith("RR30") or problem.code in _UNREADABLE for problem in error.problems)


@contextmanager
def open_original(policy: Policy, sources: Mapping[str, Source], scratch: Path) -> Iterator[TableOriginal]:
    """Open and read the policy's table, and the reference table with it if the policy names one.

    Relative paths start in the policy's folder. The engine spills to `scratch`, made with mode 0700 if missing and
    wiped by the caller.
    """
    from rrpolicy.source.original import read_original

    with (
        open_snapshot(policy, sources, scratch) as snapshot,
        open_with_reference(read_original(policy, snapshot), sources, scratch / "reference") as original,
    ):
        yield original


@contextmanager
def open_with_reference(
    original: TableOriginal, sources: Mapping[str, Source], scratch: Path
) -> Iterator[TableOriginal]:
    """Yield an original with its reference table; unchanged if its policy names none."""
    from rrpolicy.source.original import read_original
    from rrpolicy.source.reference import reference_policy, reference_problem, require_subset_of_reference

    policy = reference_policy(original.policy)
    if policy is None:
        yield original
        return
    with ExitStack() as stack:
        try:
            people = read_original(policy, stack.enter_context(open_snapshot(policy, sources, scratch)))
        except DataError as error:
            raise DataError([reference_problem(problem, policy) for problem in error.problems]) from error
        require_subset_of_reference(original, people)
        yield replace(original, reference=people)


@contextmanager
def open_snapshot(policy: Policy, sources: Mapping[str, Source], scratch: Path) -> Iterator[Snapshot]:
    """Open the policy's table, to be read under this policy and others; see `open_original`."""
    scratch.mkdir(mode=0o700, exist_ok=True)
    source, uri = engine_for_uri(policy.source.uri, sources, Path(policy.folder), policy)
    with (
        _located_errors(policy),
        open_table_snapshot(source, uri, policy.source.table, scratch, policy.reading) as snapshot,
    ):
        yield snapshot


@contextmanager
def open_table_snapshot(
    source: Source, uri: str, table: str | None, scratch: Path, reading: Reading
) -> Iterator[Snapshot]:
    """Open a table by its engine; see `Source.open`."""
    with check_return_type(AbstractContextManager, source.open)(uri, table, scratch, reading) as snapshot:
        check_protocol(snapshot, SNAPSHOT, source.open)
        if reading.selection is not None and getattr(snapshot, "selected_from", None) is None:
            message = "this engine reads every record, and not one of each unit, as the policy says"
            hint = "write the table as Parquet or CSV, or into a DuckDB database"
            raise DataError(Problem("RR330", message, expected="an engine that selects records", hint=hint))
        yield snapshot


class CountsSource(Struct, frozen=True):
    """A table of distinct rows with counts, read by another engine; a `Source`.

    Attributes:
        multiplicity: the column with the count of each row.
    """

    schemes: ClassVar[tuple[str, ...]] = ()
    engine: Source
    multiplicity: str

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[Snapshot]:
        """Open the table; see `Source.open`.

        A count is never missing.
        """
        counting = replace(reading, multiplicity=self.multiplicity)
        with open_table_snapshot(self.engine, uri, table, scratch, counting) as snapshot:
            if self.multiplicity in snapshot.columns():
                message = (
                    f"this engine reads records alone, and takes '{self.multiplicity}' for a column like any other"
                )
                hint = "write the counts as Parquet or CSV, or into a DuckDB database"
                raise DataError(Problem("RR347", message, expected="an engine that reads counts", hint=hint))
            yield snapshot


@contextmanager
def _located_errors(policy: Policy) -> Iterator[None]:
    """Add the place of the policy's table to the errors of a table that cannot be read."""
    try:
        yield
    except DataError as error:
        if policy.selection is not None and all(p.place is None and p.code in _UNSELECTED for p in error.problems):
            at = policy.place("source.one_record_per_unit")
            raise DataError([replace(problem, place=at) for problem in error.problems]) from error
        place = policy.place("source.uri")
        unread = [
            p.place is None and (p.code.startswith(("RR30", "RR34")) or p.code in _ELSEWHERE) for p in error.problems
        ]
        if place is None or split_counts_uri(policy.source.uri)[1] not in place.text or not any(unread):
            raise  # without a place also where the caller named another table
        placed = [replace(p, place=place) if no else p for p, no in zip(error.problems, unread, strict=True)]
        raise DataError(placed) from error


def engine_for_uri(
    uri: str, sources: Mapping[str, Source], folder: Path, policy: Policy | None = None
) -> tuple[Source, str]:
    """Return the engine for a uri, and the uri with its path resolved.

    `uri` is such as `demo:survey`, `people.parquet`, `parts/*.parquet`, `csv:people.txt`, `counts:n:people.parquet`;
    `policy` is the one whose [source] is at fault if there is no engine.
    """
    multiplicity, own = split_counts_uri(uri)
    if multiplicity is not None:
        counting, resolved = engine_for_uri(own, sources, folder, policy)
        return CountsSource(counting, multiplicity), resolved
    named = policy.place("source.uri") if policy else None
    place = named if named and uri and uri in named.text else None  # the caller may have named another table
    scheme = _SCHEME.fullmatch(uri)
    if scheme and scheme[1] in {MEMORY_SCHEME, TUNING_SCHEME, REFERENCE_SCHEME} and scheme[1] not in sources:
        message = "the policy's table is one in memory, and none was handed over"
        hint = 'in Python, `rrpolicy.release("policy.toml", "bundle", source=frame)`; in a shell, --source FILE'
        raise PolicyError(Problem("RR294", message, named, "a table for this call", hint))
    if scheme and scheme[1] in sources:
        source = sources[scheme[1]]
        return source, f"{scheme[1]}:{folder / scheme[2] if _takes_path(source, scheme[2]) else scheme[2]}"
    if scheme and scheme[2].startswith("//"):
        expected = "a file on this computer; rrpolicy never opens the network"
        hint = "copy the table here, or list a plugin that brings the engine"
        raise DataError(Problem("RR301", f"no engine opens '{scheme[1]}:' addresses", place, expected, hint))
    endings = [s for s in sources if s.startswith(".") and uri.lower().endswith(s)]
    if not endings:
        from rrpolicy.source.duckdb.files import refuse_pipe, refuse_versioned_folder

        if (folder / uri).is_dir():
            refuse_versioned_folder(str(folder / uri), f"'{Path(uri).name}'")
        refuse_pipe("/dev/stdin" if Path(uri).name == "-" else str(folder / uri))
        known = ", ".join(sorted(s if s.startswith(".") else f"{s}:" for s in sources))
        message = f"unsupported format: '{uri}'"
        raise DataError(Problem("RR301", message, place, f"a path or address that ends or begins with one of {known}"))
    return sources[max(endings, key=len)], str(folder / uri)


def _takes_path(source: Source, rest: str) -> bool:
    """Return whether a path follows the scheme of an engine, and not an address."""
    return getattr(source, "paths", True) and not _ADDRESS.match(rest)


def absolute_uri(uri: str, sources: Mapping[str, Source], folder: str = ".") -> str:
    """Return a uri that depends on no folder; by default relative paths start from the working directory."""
    multiplicity, own = split_counts_uri(uri)
    if multiplicity is not None:
        return counts_uri(absolute_uri(own, sources, folder), multiplicity)
    scheme = _SCHEME.fullmatch(uri)
    if scheme and (scheme[1] not in sources or not _takes_path(sources[scheme[1]], scheme[2])):
        return uri
    start = f"{scheme[1]}:" if scheme else ""
    return start + os.path.abspath(os.path.join(folder, uri.removeprefix(start)))  # noqa: PTH100, PTH118
