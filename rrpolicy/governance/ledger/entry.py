"""Entries of the ledger: each line is canonical JSON and names the preceding line by its hash.

An entry contains the parts of `release.json` that the composition of releases needs: no value or identifier of a
person, no key, and no number whose basis is the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.finding import Measure, Verdict
from rrpolicy.manifest.manifest import ManifestSeries
from rrpolicy.policy.model import Overlap
from rrpolicy.safe_io.document import read_object
from rrpolicy.serialization import MalformedError, read, record

SCHEMA = "rrpolicy.ledger/1"


def entry_date() -> str:
    """Return today's date, for an entry."""
    return datetime.now(UTC).date().isoformat()


def _check_requirement(documents: tuple[Mapping[str, Json], ...]) -> None:
    """Refuse documents that are not requirements.

    Raises ValueError.
    """
    for document in documents:
        kinds = {key: type(value) for key, value in document.items()}
        if kinds != {"model": str, "options": dict, "where": dict}:
            raise ValueError("a requirement has a model, options and a subgroup")


class LedgerOpening(Struct, frozen=True):
    """The first line.

    Attributes:
        id: random, so that no two ledgers share a hash.
        date: the day; None in a ledger of an earlier version.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "ledger"

    sparse: ClassVar[tuple[str, ...]] = ("date",)

    id: str
    date: str | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        """Return an empty tuple: it is the first entry."""
        return ()


class FollowingEntry(Struct, frozen=True):
    """An entry that follows another one.

    Attributes:
        previous: the hash of that entry.
    """

    schema: ClassVar[str] = SCHEMA

    previous: str

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the hashes of the entries that it follows."""
        return (self.previous,)


class StatedGuarantee(Struct, frozen=True):
    """A guarantee of a single release.

    Attributes:
        achieved: None if the basis of the number is the original.
        given: ids of derived statistics that it is conditional on.
    """

    id: str
    requirement: str
    achieved: Measure | None
    verdict: Verdict
    given: tuple[str, ...] = ()


class ReleaseEntry(FollowingEntry, frozen=True):
    """A release, entered before its bundle appears.

    Attributes:
        draw: id that distinguishes this draw from others of the same policy; see
            `rrpolicy.planning.ledger_account.draw_id`. None for a bundle that was entered later.
        policy_digest: SHA-256 of the resolved policy.
        population: the population that the policy declares; None if not declared.
        overlap: relation of its people to those of earlier releases, as the policy declares.
        max_records: the maximum number of records per unit.
        channel: its public description.
        domains: attribute -> digest of its categories in their order; None for a column without listed categories.
        data: table -> digest of its released rows.
        derived: ids of the statistics of the table that the release discloses.
        guarantees: one for each requirement.
        uncomposed: reason for the release although no rule composes it with earlier ones; None if a rule exists.
        series: the series that it belongs to; None without a series.
        different_values: the maximum number of different values of an attribute per person in a series, as the policy
            declares; None if not declared.
        budget: joint requirements on all releases of these people in the policy, as documents. None for a release that
            was entered by an earlier version.
        unstated: the policy states no budget, so that every requirement belongs to it.
        replaces: hash of the entry of the release that it corrects; None if it corrects none.
        date: the day on which it was entered.
    """

    kind: ClassVar[str] = "release"

    sparse: ClassVar[tuple[str, ...]] = ("budget", "unstated", "replaces", "date")

    label: str | None
    draw: str | None
    policy: str
    version: str
    policy_digest: str
    population: str | None
    overlap: Overlap
    records: int
    max_records: int
    channel: Mapping[str, Json]
    domains: Mapping[str, str | None]
    data: Mapping[str, str]
    derived: tuple[str, ...]
    guarantees: tuple[StatedGuarantee, ...]
    uncomposed: str | None = None
    series: ManifestSeries | None = None
    different_values: int | None = None
    budget: tuple[Mapping[str, Json], ...] | None = None
    unstated: bool = False
    replaces: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        if self.records < 1 or self.max_records < 1:
            raise ValueError("a release has records, and a unit has some")
        _check_requirement(self.budget or ())

    @property
    def name(self) -> str:
        """Return the displayed name."""
        label = "" if self.label is None else f" as {self.label}"
        return f"{self.policy} {self.version}{label}"


class ReleaseSettlement(FollowingEntry, frozen=True):
    """Outcome of a release that was entered.

    Attributes:
        entry: hash of the release's entry.
        outcome: released: the bundle appeared; withdrawn: it never appeared, and the release no longer counts.
        release: digest of release.json; None if it was withdrawn.
        reason: reason for the withdrawal; None if released.
    """

    kind: ClassVar[str] = "settlement"

    sparse: ClassVar[tuple[str, ...]] = ("date",)

    entry: str
    outcome: Literal["released", "withdrawn"]
    release: str | None = None
    reason: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        withdrawn = self.release is None and bool((self.reason or "").strip())
        released = self.release is not None and self.reason is None
        if not (withdrawn if self.outcome == "withdrawn" else released):
            raise ValueError("a withdrawn release has a reason and no digest, a released one a digest and no reason")


class HistoryJoin(FollowingEntry, frozen=True):
    """Two histories of one ledger merged after two writers followed the same entry.

    Attributes:
        also: hashes of the other last entries.
        reason: the cause, in words.
    """

    kind: ClassVar[str] = "joining"

    sparse: ClassVar[tuple[str, ...]] = ("date",)

    also: tuple[str, ...]
    reason: str
    date: str | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the entries that it follows."""
        return (self.previous, *self.also)


class LedgerBudgetEntry(FollowingEntry, frozen=True):
    """Joint requirements on all releases of a population. The last entry for a population applies.

    Attributes:
        population: the population as policies name it; None: for releases of any population.
        requirements: the requirements, as documents.
        reason: reason for raising it, or for entering the population; None for a budget entered before any release.
        by: the person who decided it; None likewise.
    """

    kind: ClassVar[str] = "budget"

    population: str | None
    requirements: tuple[Mapping[str, Json], ...]
    date: str
    reason: str | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        if not self.requirements:
            raise ValueError("a budget requires something")
        _check_requirement(self.requirements)

    @property
    def name(self) -> str:
        """Return the displayed name."""
        return "the ledger's budget" + ("" if self.population is None else f" of {self.population}")


class RecallEntry(FollowingEntry, frozen=True):
    """A recalled release, no longer to be used. The data are known; the release counts as before.

    Attributes:
        entry: hash of the release's entry.
        by: the person who decided it.
        replaced_by: hash of the entry of the release to use in its place; None if there is no replacement.
    """

    kind: ClassVar[str] = "recall"

    entry: str
    reason: str
    by: str
    date: str
    replaced_by: str | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.by.strip():
            raise ValueError("a recall has a reason and the name of who decided it")


Entry: TypeAlias = LedgerOpening | ReleaseEntry | ReleaseSettlement | HistoryJoin | LedgerBudgetEntry | RecallEntry
_KINDS: Mapping[str, type[Entry]] = {
    kind.kind: kind
    for kind in (LedgerOpening, ReleaseEntry, ReleaseSettlement, HistoryJoin, LedgerBudgetEntry, RecallEntry)
}


def encode_entry(entry: Entry) -> bytes:
    """Return an entry as its line in the ledger, without the line's end."""
    return canonical(record(entry))


def entry_hash(line: bytes) -> str:
    """Return the hash with which the next entry refers to this one."""
    return digest(line)


def decode_entry(line: bytes, where: str) -> Entry:
    """Decode an entry.

    `where` is its position, for messages. Raises ValueError if it is not an entry, or is not in the form of
    `encode_entry`.
    """
    document = read_object(line, where)
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise MalformedError(f"must be {' or '.join(_KINDS)}", "kind")
    entry = read(_KINDS[kind], document)
    if encode_entry(entry) != line:
        raise MalformedError("is not spelled as this program spells it")
    return entry
