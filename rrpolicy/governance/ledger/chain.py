"""The ledger as a hash chain: each entry names the preceding one by its hash, so that a changed entry breaks the chain.

An entry follows one above it in the file. An edited, removed or moved entry leaves an entry that follows nothing. Two
entries that follow the same one are two histories: both count, and nothing is released until they are joined. Entries
removed at the end leave no trace in the file; a later entry's hash, such as in the last bundle, reveals it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.governance.ledger.entry import (
    Entry,
    LedgerBudgetEntry,
    LedgerOpening,
    RecallEntry,
    ReleaseEntry,
    ReleaseSettlement,
    decode_entry,
    entry_hash,
)
from rrpolicy.safe_io.document import UnreadableError

MAX_LINE_BYTES = 1 << 24
"""Maximum length of an entry in bytes."""
HINT = "take the file from the repository's history as it was; an entry is never changed or taken out"
JOIN = '`rrpolicy ledger add LEDGER --join --reason "…"` makes two histories one'


class Ledger(Struct, frozen=True):
    """A ledger whose chain is intact.

    Attributes:
        entries: hash -> entry, in the order of the file.
        heads: hashes of the entries without a following one; more than one if two writers followed the same entry.
        settled: hash of a release's entry -> its outcome.
        recalled: hash of a release's entry -> its last recall.
    """

    name: str
    entries: Mapping[str, Entry]
    heads: tuple[str, ...]
    settled: Mapping[str, ReleaseSettlement] = field(default_factory=dict)
    recalled: Mapping[str, RecallEntry] = field(default_factory=dict)

    @property
    def releases(self) -> Mapping[str, ReleaseEntry]:
        """Return every release that counts, by its hash: all but withdrawn ones."""
        return {
            name: entry
            for name, entry in self.entries.items()
            if isinstance(entry, ReleaseEntry)
            and not (name in self.settled and self.settled[name].outcome == "withdrawn")
        }

    @property
    def open(self) -> Mapping[str, ReleaseEntry]:
        """Return the releases without a recorded outcome; they count."""
        return {name: entry for name, entry in self.releases.items() if name not in self.settled}

    @property
    def budgets(self) -> Mapping[str | None, str]:
        """Return population -> hash of the budget that applies to it."""
        return {entry.population: own for own, entry in self.entries.items() if isinstance(entry, LedgerBudgetEntry)}

    @property
    def populations(self) -> tuple[str, ...]:
        """Return the names of the populations that a budget or a release names, each once."""
        named = (e.population for e in (*self.releases.values(), *map(self.entries.get, self.budgets.values())))  # type: ignore[union-attr]
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def replaced(self) -> Mapping[str, str]:
        """Return hash of a release's entry -> hash of the entry of the release that corrects it."""
        corrected = {e.replaces: own for own, e in self.releases.items() if e.replaces is not None}
        recalled = {own: r.replaced_by for own, r in self.recalled.items() if r.replaced_by is not None}
        return {**corrected, **recalled}

    def before(self, own: str) -> set[str]:
        """Return the hashes of all entries that an entry follows, directly or indirectly."""
        found: set[str] = set()
        left = list(self.entries[own].parents)
        while left:
            parent = left.pop()
            if parent not in found:
                found.add(parent)
                left += self.entries[parent].parents
        return found

    def first_of(self, series: str) -> ReleaseEntry | None:
        """Return the first release of a series; None if no release of it counts."""
        known = (e for e in self.releases.values() if e.series is not None and e.series.name == series)
        return next(known, None)

    @property
    def head(self) -> str:
        """Return the hash of the last entry.

        Raises RefusedError (RR440) if there are two.
        """
        if len(self.heads) > 1:
            why = f"{len(self.heads)} entries are the last: two writers followed the same entry"
            raise broken_chain_error(self.name, why, JOIN)
        return self.heads[0]

    def expect(self, head: str, whose: str) -> None:
        """Refuse a ledger that lacks an entry which was seen in it."""
        if head not in self.entries:
            raise broken_chain_error(self.name, f"it lacks the entry {head}, which {whose}: it was cut off or put back")

    def expect_all(self, earlier: bytes, when: str) -> None:
        """Refuse a ledger that lacks an earlier entry."""
        for own in read_chain(earlier, f"{self.name} at {when}").entries:
            self.expect(own, f"is in it at {when}")


def read_chain(content: bytes, name: str) -> Ledger:
    """Read a ledger and check its chain.

    Raises RefusedError (RR440) if any part of it is not reliable.
    """
    entries: dict[str, Entry] = {}
    heads: dict[str, None] = {}
    settled: dict[str, ReleaseSettlement] = {}
    recalled: dict[str, RecallEntry] = {}
    for number, (own, entry) in enumerate(_iter_entries(content, name), 1):
        where = f"line {number}"
        if own in entries:
            raise broken_chain_error(name, f"{where} appears twice")
        if isinstance(entry, LedgerOpening) != (number == 1):
            raise broken_chain_error(name, f"{where} {'does not open' if number == 1 else 'opens'} a ledger")
        _remove_followed(entry, entries, heads, name, where)
        if isinstance(entry, ReleaseSettlement):
            _record_settlement(entry, entries, settled, name, where)
        named: tuple[str | None, ...] = ()
        if isinstance(entry, RecallEntry):
            named = (entry.entry, entry.replaced_by)
        elif isinstance(entry, ReleaseEntry):
            named = (entry.replaces,)
        if any(other is not None and not isinstance(entries.get(other), ReleaseEntry) for other in named):
            raise broken_chain_error(name, f"{where} refers to no release above it")
        if isinstance(entry, RecallEntry):
            recalled[entry.entry] = entry
        entries[own] = entry
        heads[own] = None
    if not entries:
        raise broken_chain_error(name, "it is empty")
    return Ledger(name, entries, tuple(heads), settled, recalled)


def _remove_followed(entry: Entry, entries: Mapping[str, Entry], heads: dict[str, None], name: str, where: str) -> None:
    for parent in entry.parents:
        if parent not in entries:
            raise broken_chain_error(
                name, f"{where} follows no entry above it: something was changed, taken out or moved"
            )
        heads.pop(parent, None)
    if len({*entry.parents}) < len(entry.parents):
        raise broken_chain_error(name, f"{where} joins an entry with itself")


def _record_settlement(
    entry: ReleaseSettlement, entries: Mapping[str, Entry], settled: dict[str, ReleaseSettlement], name: str, where: str
) -> None:
    """Record the outcome of a release; the appearance of its bundle may be recorded twice, and remains valid."""
    if not isinstance(entries.get(entry.entry), ReleaseEntry):
        raise broken_chain_error(name, f"{where} settles no release above it")
    before = settled.get(entry.entry)
    if before is not None and before.outcome != entry.outcome and before.outcome == "released":
        raise broken_chain_error(name, f"{where} withdraws a release whose bundle appeared")
    settled[entry.entry] = entry


def _iter_entries(content: bytes, name: str) -> Iterator[tuple[str, Entry]]:
    lines = content.split(b"\n")
    if lines[-1]:
        raise broken_chain_error(name, "its last line has no end: it was cut off while it was written")
    for number, line in enumerate(lines[:-1], 1):
        where = f"line {number}"
        if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
            hint = f"keep the lines of both sides, each once, and take the marks out; then {JOIN}"
            raise broken_chain_error(name, f"{where} is a mark of a merge that git could not finish", hint)
        if len(line) > MAX_LINE_BYTES:
            raise broken_chain_error(name, f"{where} is too long")
        try:
            entry = decode_entry(line, where)
        except UnreadableError as error:
            raise broken_chain_error(name, str(error)) from error
        except (ValueError, TypeError) as error:
            raise broken_chain_error(name, f"{where} is not an entry: {error}") from error
        yield entry_hash(line), entry


def broken_chain_error(name: str, why: str, hint: str = HINT) -> RefusedError:
    """Return the refusal of an unreliable ledger."""
    return RefusedError(Problem("RR440", f"the ledger {name} cannot be relied on: {why}", hint=hint))
