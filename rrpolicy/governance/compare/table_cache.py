"""The tables of all candidates: each is opened once, and read once by those that read it alike."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.canonical_json import canonical
from rrpolicy.policy.model import Policy
from rrpolicy.serialization.writing import plain
from rrpolicy.source.opening import open_snapshot, open_with_reference

if TYPE_CHECKING:
    from rrpolicy.registry import Registry
    from rrpolicy.source.original import TableOriginal
    from rrpolicy.source.protocol import Snapshot


class ComparisonTables:
    """Opened tables, for as long as a comparison takes.

    Attributes:
        folder: for what they spill.
    """

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self.folder = stack, folder
        self._open: dict[bytes, Snapshot] = {}
        self._read: list[TableOriginal] = []

    def original(self, policy: Policy, registry: Registry) -> TableOriginal:
        """Return the table as a policy reads it, with the counts that another one has made already.

        Raises:
            DataError: as `open_original`.
        """
        from rrpolicy.source.original import read_original

        for one in self._read:
            if _reads_equally(one.policy, policy):
                return replace(one, policy=replace(policy, attributes=one.policy.attributes))
        source = policy.source
        key = canonical([source.uri, source.table, policy.folder, plain(policy.reading)])
        if key not in self._open:
            opening = open_snapshot(policy, registry.sources, self.folder / f"table-{len(self._open)}")
            self._open[key] = self._stack.enter_context(opening)
        scratch = self.folder / f"people-{len(self._read)}"
        opening_people = open_with_reference(read_original(policy, self._open[key]), registry.sources, scratch)
        self._read.append(self._stack.enter_context(opening_people))
        return self._read[-1]


def _reads_equally(one: Policy, other: Policy) -> bool:
    """Return whether a table that was read under a policy is the same under another, observed domains included."""
    stated = {name: replace(a, domain=None) if a.observed else a for name, a in one.attributes.items()}
    asked = {name: replace(a, domain=None) if a.observed else a for name, a in other.attributes.items()}
    extra = stated.keys() - asked.keys()  # columns that nobody names, and that are excluded
    same = {name: a for name, a in stated.items() if name not in extra} == asked
    unnamed = not extra or (one.source.other_columns == other.source.other_columns == "excluded")
    where = all(getattr(one, key) == getattr(other, key) for key in ("source", "folder", "reference"))
    where &= one.release.series == other.release.series
    return same and unnamed and where and not any(not one.attributes[name].role.dropped for name in extra)
