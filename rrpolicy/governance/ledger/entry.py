"""What stands on a line of the ledger; each line is an entry in canonical JSON that names the one before by its hash.

An entry holds what `release.json` publishes anyway, as far as the composition of releases needs it: no person's value,
no mark of a person, no key, and no number that rests on the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import ClassVar, Literal, TypeAlias

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.finding import Measure, Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.manifest.manifest import ManifestSeries
from rrpolicy.policy.model import Overlap
from rrpolicy.safe_io.document import read_object
from rrpolicy.serialization.fields import SPARSE
from rrpolicy.serialization.reading import MalformedError, read
from rrpolicy.serialization.writing import record

SCHEMA = "rrpolicy.ledger/1"


def entry_date() -> str:
    """Return the day on which an entry is made."""
    return datetime.now(UTC).date().isoformat()


def _check_requirement(documents: tuple[Mapping[str, Json], ...]) -> None:
    """Refuse what is no requirement.

    Raises:
        ValueError: if it is none.
    """
    for document in documents:
        kinds = {key: type(value) for key, value in document.items()}
        if kinds != {"model": str, "options": dict, "where": dict}:
            raise ValueError("a requirement has a model, options and a subgroup")


@frozen
class LedgerOpening:
    """The first line.

    Attributes:
        id: random, so that no two ledgers have a hash in common.
        date: the day; None in a ledger of an earlier version.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "ledger"

    id: str
    date: str | None = field(default=None, metadata=SPARSE)

    @property
    def parents(self) -> tuple[str, ...]:
        """Return nothing: it follows no entry."""
        return ()


@frozen
class StatedGuarantee:
    """What a release promised by itself.

    Attributes:
        id: of the policy's entry; see `rrpolicy.policy.identity`.
        requirement: in words.
        achieved: None where the number rests on the original.
        verdict: at the release.
        given: ids of derived statistics that it is conditional on.
    """

    id: str
    requirement: str
    achieved: Measure | None
    verdict: Verdict
    given: tuple[str, ...] = ()


@frozen
class ReleaseEntry:
    """A release, entered before its bundle appears.

    Attributes:
        previous: hash of the entry that it follows.
        label: of the release.
        draw: what tells this draw from any other of the same policy; see `rrpolicy.planning.ledger_account.draw_id`.
        None of
            a bundle that was entered later.
        policy: its name.
        version: the policy's.
        policy_digest: of the policy's resolved meaning.
        population: that the policy declares; None if it declares none.
        overlap: how its people stand to those of earlier releases, as the policy declares.
        records: N.
        max_records: of a unit.
        channel: its public description.
        domains: attribute -> digest of its categories in their order; None for a column without a list of them.
        data: table -> digest of its released rows.
        derived: ids of what the release tells of the table.
        guarantees: one for each requirement.
        uncomposed: why it was released though no rule composes it with earlier ones; None if it was not.
        series: that it belongs to; None if it belongs to none.
        different_values: the most different values that a person has of an attribute in a series, as the policy
            declares; None if it declares none.
        budget: what all releases of these people promise together, as the policy has it; requirements as documents.
            None of a release that was entered by an earlier version.
        unstated: the policy states no budget, so that it is every requirement.
        replaces: hash of the entry of the release that it corrects; None if it corrects none.
        date: the day on which it was entered.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "release"

    previous: str
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
    budget: tuple[Mapping[str, Json], ...] | None = field(default=None, metadata=SPARSE)
    unstated: bool = field(default=False, metadata=SPARSE)
    replaces: str | None = field(default=None, metadata=SPARSE)
    date: str | None = field(default=None, metadata=SPARSE)

    def __post_init__(self) -> None:
        if self.records < 1 or self.max_records < 1:
            raise ValueError("a release has records, and a unit has some")
        _check_requirement(self.budget or ())

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the entry before."""
        return (self.previous,)

    @property
    def name(self) -> str:
        """Return what people call it."""
        label = "" if self.label is None else f" as {self.label}"
        return f"{self.policy} {self.version}{label}"


@frozen
class ReleaseSettlement:
    """What became of a release that was entered.

    Attributes:
        previous: hash of the entry that it follows.
        entry: hash of the release's entry.
        outcome: released, the bundle appeared; withdrawn, it never did, and the release counts no more.
        release: digest of release.json; None if it was withdrawn.
        reason: why it was withdrawn; None if it was not.
        date: the day.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "settlement"

    previous: str
    entry: str
    outcome: Literal["released", "withdrawn"]
    release: str | None = None
    reason: str | None = None
    date: str | None = field(default=None, metadata=SPARSE)

    def __post_init__(self) -> None:
        withdrawn = self.release is None and bool((self.reason or "").strip())
        released = self.release is not None and self.reason is None
        if not (withdrawn if self.outcome == "withdrawn" else released):
            raise ValueError("a withdrawn release has a reason and no digest, a released one a digest and no reason")

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the entry before."""
        return (self.previous,)


@frozen
class HistoryJoin:
    """Two histories of one ledger made one again, after two writers had each followed the same entry.

    Attributes:
        previous: hash of the entry that it follows.
        also: hashes of the other last entries.
        reason: how it came to that, in words.
        date: the day.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "joining"

    previous: str
    also: tuple[str, ...]
    reason: str
    date: str | None = field(default=None, metadata=SPARSE)

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the entries that it follows."""
        return (self.previous, *self.also)


@frozen
class LedgerBudgetEntry:
    """What all releases of a population promise together. The last one of a population holds.

    Attributes:
        previous: hash of the entry that it follows.
        population: as policies name it; None: of whatever population a release is.
        requirements: as documents.
        date: the day.
        reason: why it was raised, or the population entered; None of a budget that stood before any release.
        by: who decided it; None likewise.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "budget"

    previous: str
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
    def parents(self) -> tuple[str, ...]:
        """Return the entry before."""
        return (self.previous,)

    @property
    def name(self) -> str:
        """Return what people call it."""
        return "the ledger's budget" + ("" if self.population is None else f" of {self.population}")


@frozen
class RecallEntry:
    """A release that is not to be used any more. What it released is known; it counts as before.

    Attributes:
        previous: hash of the entry that it follows.
        entry: hash of the release's entry.
        reason: why.
        by: who decided it.
        date: the day.
        replaced_by: hash of the entry of the release to use in its place; None if there is none.
    """

    schema: ClassVar[str] = SCHEMA
    kind: ClassVar[str] = "recall"

    previous: str
    entry: str
    reason: str
    by: str
    date: str
    replaced_by: str | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.by.strip():
            raise ValueError("a recall has a reason and the name of who decided it")

    @property
    def parents(self) -> tuple[str, ...]:
        """Return the entry before."""
        return (self.previous,)


Entry: TypeAlias = LedgerOpening | ReleaseEntry | ReleaseSettlement | HistoryJoin | LedgerBudgetEntry | RecallEntry
_KINDS: Mapping[str, type[Entry]] = {
    kind.kind: kind
    for kind in (LedgerOpening, ReleaseEntry, ReleaseSettlement, HistoryJoin, LedgerBudgetEntry, RecallEntry)
}


def encode_entry(entry: Entry) -> bytes:
    """Return an entry as the ledger holds it, without the line's end."""
    return canonical(record(entry))


def entry_hash(line: bytes) -> str:
    """Return the hash that the next entry names this one by."""
    return digest(line)


def decode_entry(line: bytes, where: str) -> Entry:
    """Read an entry.

    Args:
        line: as it stands in the file, without its end.
        where: it stands, for messages.

    Raises:
        ValueError: if it is none, or is not spelled as `to_line` spells it.
    """
    document = read_object(line, where)
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise MalformedError(f"must be {' or '.join(_KINDS)}", "kind")
    entry = read(_KINDS[kind], document)
    if encode_entry(entry) != line:
        raise MalformedError("is not spelled as this program spells it")
    return entry
