"""Checks of a ledger's integrity, and of releases against their entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.chain import Ledger
from rrpolicy.governance.ledger.entry import ReleaseEntry
from rrpolicy.governance.ledger.joint_requirements import UnmetJointRequirement, unmet_requirements
from rrpolicy.governance.ledger.ledger_file import read_ledger
from rrpolicy.manifest.manifest import Manifest, ManifestSeries
from rrpolicy.manifest.sealed_manifest import check_seal, read_release
from rrpolicy.policy.file import precedence
from rrpolicy.serialization import record
from rrpolicy.verification.key import SERIES_CHOICE_NOTE
from rrpolicy.verification.outcome import Check, Verification, VerificationLevel

Earlier: TypeAlias = "tuple[bytes, str] | None"
"""Earlier content of a ledger's file, and its time; None if the file did not exist."""


class VerifiedLedger(Struct, frozen=True):
    """A ledger whose chain is intact.

    Attributes:
        head: hash of the last entry.
        bundles: the bundles that were found in it.
        unkept: joint requirements that its releases violate, with an acceptance, or that are undecided.
    """

    ledger: Ledger
    head: str
    bundles: tuple[str, ...]
    unkept: tuple[UnmetJointRequirement, ...] = ()

    @property
    def open(self) -> tuple[tuple[str, str], ...]:
        """Return hash and name of each release without a recorded outcome."""
        return tuple((own, entry.name) for own, entry in self.ledger.open.items())

    def lines(self) -> Iterator[str]:
        """Yield the results, for people."""
        entries, releases = len(self.ledger.entries), len(self.ledger.releases)
        yield f"the chain is intact: {entries} {_plural('entry', entries)}, {releases} {_plural('release', releases)}"
        yield f"head: {self.head}"
        for bundle in self.bundles:
            yield f"{bundle} is in it as stated"
        for each in self.unkept:
            yield str(each)
        for own, recall in self.ledger.recalled.items():
            yield f"recalled on {recall.date} by {recall.by}: {self.ledger.releases[own].name}: {recall.reason}"
        for own, name in self.open:
            yield f"open: {name}, entered and counted; whether its bundle appeared is not known ({own})"
        if self.open:
            yield "next: `rrpolicy ledger add FILE BUNDLE` if it did, else --withdraw HASH --reason"

    def to_json(self) -> dict[str, Json]:
        """Return the document of `rrpolicy ledger verify --json`."""
        ledger = self.ledger
        return record(
            LedgerVerification(
                passed=True,
                head=self.head,
                entries=len(ledger.entries),
                releases=len(ledger.releases),
                open=tuple(OpenRelease(own, name) for own, name in self.open),
                bundles=self.bundles,
                unkept=self.unkept,
                recalled=tuple(
                    RecalledRelease(own, recall.date, recall.by, recall.reason, recall.replaced_by)
                    for own, recall in ledger.recalled.items()
                ),
            )
        )


class OpenRelease(Struct, frozen=True):
    """A release without a recorded outcome.

    Attributes:
        entry: hash of its entry.
        release: its name.
    """

    entry: str
    release: str


class RecalledRelease(Struct, frozen=True):
    """A recalled release.

    Attributes:
        entry: hash of its entry.
        date: the day of the recall.
        by: the person who decided it.
        reason: the reason for the recall.
        replaced_by: hash of the entry of the release to use in its place.
    """

    entry: str
    date: str
    by: str
    reason: str
    replaced_by: str | None


class LedgerVerification(Struct, frozen=True):
    """Output of `rrpolicy ledger verify --json`.

    Attributes:
        passed: a ledger that fails has no such document.
        head: hash of the last entry.
        entries: their number.
        releases: their number.
        open: releases without a recorded outcome.
        bundles: the bundles that were found in it.
        unkept: joint requirements that its releases violate, with an acceptance, or that are undecided.
        recalled: recalled releases, which must no longer be used.
    """

    schema: ClassVar[str] = "rrpolicy.ledger-verification/1"

    passed: bool
    head: str
    entries: int
    releases: int
    open: tuple[OpenRelease, ...]
    bundles: tuple[str, ...]
    unkept: tuple[UnmetJointRequirement, ...]
    recalled: tuple[RecalledRelease, ...]


def unmet_requirement_problem(each: UnmetJointRequirement) -> Problem:
    """Return the problem of a violated requirement."""
    hint = "`rrpolicy ledger add LEDGER --budget POLICY --reason TEXT --by NAME` records who accepts this, and why"
    return Problem("RR134", str(each), None, "releases that together meet the budget", hint)


def verify_ledger(
    path: Path, expect_head: str | None, bundles: Sequence[Path], earlier: Earlier = None, plugins: Sequence[str] = ()
) -> VerifiedLedger:
    """Verify a ledger; see `rrpolicy.verify_ledger` for the arguments and errors."""
    ledger = read_ledger(path)
    if earlier is not None:
        ledger.expect_all(*earlier)
    head = ledger.head
    if expect_head is not None:
        ledger.expect(expect_head, "was expected in it")
    for bundle in bundles:
        manifest = sealed_manifest(bundle)
        if manifest.ledger is not None:
            ledger.expect(manifest.ledger.head, f"{bundle} follows")
            ledger.expect(manifest.ledger.entry, f"{bundle} declares as its own")
        problem = entry_mismatch(ledger, manifest, str(bundle))
        if problem is not None:
            raise RequirementError(problem)
    found = tuple(unmet_requirements(ledger, load_registry(plugins)))
    broken = [unmet_requirement_problem(each) for each in found if each.broken]
    if broken:
        raise RequirementError(broken)
    return VerifiedLedger(ledger, head, tuple(map(str, bundles)), found)


def verify_in_ledger(
    path: Path,
    bundle: Path,
    found: Verification,
    *,
    superseded: bool = False,
    plugins: Sequence[str] = (),
    name: str = "",
) -> Verification:
    """Return the verification of a bundle, extended by the check that the ledger agrees and has no newer release.

    If `superseded`, it may be a release under an older version of its policy.
    """
    ledger, called = read_ledger(path), name or str(bundle)
    problem: Problem | None
    older, recalled = None, None
    try:
        manifest = sealed_manifest(bundle)
        problem = entry_mismatch(ledger, manifest, called)
        older = None if superseded else outdated_problem(ledger, manifest, called)
        own = find_entry(ledger, manifest)
        recalled = None if own is None else withdrawal_notice(ledger, own, called)
    except PolicyError:
        problem = Problem("RR130", f"{called} cannot be read, so it is in no ledger")
    unkept_here = unmet_requirements(ledger, load_registry(plugins))
    told: dict[str, list[Problem]] = {
        "the ledger's entry": [p for p in (problem,) if p],
        "the newest version of its policy in the ledger": [p for p in (older,) if p],
        "in use: neither recalled nor replaced": [p for p in (recalled,) if p],
        "the joint guarantee of the ledger's releases": [unmet_requirement_problem(e) for e in unkept_here if e.broken],
    }
    checks = [Check(n, VerificationLevel.PUBLIC, not p, "; ".join(each.message for each in p)) for n, p in told.items()]
    claims = tuple(c for c in found.claims if problem is not None or c.field != "ledger")
    problems = tuple(each for several in told.values() for each in several)
    undecided = found.undecided
    if problem is None and SERIES_CHOICE_NOTE in undecided and _matches_series_start(ledger, manifest):
        checks.append(Check("the channel is that with which the series was begun", VerificationLevel.KEY, True, ""))  # noqa: FBT003 it passes
        undecided = tuple(text for text in undecided if text != SERIES_CHOICE_NOTE)
    return replace(
        found,
        checks=(*found.checks, *checks),
        problems=(*found.problems, *problems),
        claims=claims,
        undecided=undecided,
    )


def _matches_series_start(ledger: Ledger, manifest: Manifest) -> bool:
    """Return whether a release has the channel and the key of its series' first release."""
    first = None if manifest.series is None else ledger.first_of(manifest.series.name)
    return first is not None and (first.series, first.channel) == (manifest.series, manifest.channel)


def outdated_problem(ledger: Ledger, manifest: Manifest, name: str) -> Problem | None:
    """Return the problem of a release under a newer version of the policy in the ledger; None without one."""
    policy = manifest.policy
    newer = _newest_version(ledger, policy.name, policy.version, manifest.series)
    if newer is None:
        return None
    message = f"{name} was released under version {policy.version} of its policy, and the ledger knows {newer}"
    hint = "use the newer release; --superseded verifies an older one on purpose"
    return Problem("RR131", message, None, "a release under the newest version of its policy", hint)


def newer_version(ledger: Ledger, entry: ReleaseEntry) -> str | None:
    """Return the newer version of the policy of an entry with a release in the ledger; None if there is none."""
    return _newest_version(ledger, entry.policy, entry.version, entry.series)


def _newest_version(ledger: Ledger, policy: str, version: str, series: ManifestSeries | None) -> str | None:
    own = None if series is None else series.name
    newer = [
        e.version
        for e in ledger.releases.values()
        if e.policy == policy
        and _is_newer(e.version, version)
        and (own is None or e.series is None or e.series.name != own)  # a later release of a series is another month
    ]
    return newer[-1] if newer else None


def _is_newer(one: str, other: str) -> bool:
    try:
        return precedence(one) > precedence(other)
    except ValueError:
        return one != other


def sealed_manifest(bundle: Path) -> Manifest:
    """Return the manifest of a bundle, or of its public/ folder, with a valid digest."""
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    manifest = read_release(public)
    check_seal(public, manifest.to_json(), ())
    return manifest


def entry_mismatch(ledger: Ledger, manifest: Manifest, name: str) -> Problem | None:
    """Return the difference between a release and its entry in the ledger; None if they agree."""
    place, hint = manifest.ledger, "ask the ledger's owner; `rrpolicy ledger add` enters a bundle that is in no ledger"
    found = find_entry(ledger, manifest)
    if found is None:
        why = "refers to no ledger entry" if place is None else "refers to an entry that is not in this ledger"
        return Problem("RR130", f"{name} {why}", None, "a release that was entered before it appeared", hint)
    entry = ledger.entries[found]
    assert isinstance(entry, ReleaseEntry)
    settled = ledger.settled.get(found)
    stated = {
        "the ledger's head": place is None or place.head == entry.previous,
        "records": manifest.records == entry.records,
        "channel": manifest.channel == entry.channel,
        "series": manifest.series == entry.series,
        "policy": manifest.policy.digest == entry.policy_digest,
        "data": {table: written.digest for table, written in manifest.data.tables.items()} == entry.data,
        "what it replaces": manifest.replaces == _replaced_release(ledger, entry),
        "what became of it": settled is None or settled.outcome == "released",
    }
    differ = [what for what, agrees in stated.items() if not agrees]
    if not differ:
        return None
    return Problem("RR130", f"{name} is not the release recorded in the ledger: {', '.join(differ)} differ", hint=hint)


def _replaced_release(ledger: Ledger, entry: ReleaseEntry) -> str | None:
    settled = None if entry.replaces is None else ledger.settled.get(entry.replaces)
    return None if settled is None else settled.release


def withdrawal_notice(ledger: Ledger, own: str, name: str) -> Problem | None:
    """Return the notice that a release was recalled, or replaced by a correction; None if it was not."""
    recall, other = ledger.recalled.get(own), ledger.replaced.get(own)
    if recall is None and other is None:
        return None
    told = "was replaced" if recall is None else f"was recalled on {recall.date} by {recall.by}: {recall.reason}"
    message = f"{name} {told}"
    hint = "do not use it, and inform everyone who has it"
    if other is not None:
        entry = ledger.entries[other]
        assert isinstance(entry, ReleaseEntry)
        hint = f"use {entry.name} in its place ({other})"
    return Problem("RR133", message, None, "a release that is in use", hint)


def find_entry(ledger: Ledger, manifest: Manifest) -> str | None:
    """Return the hash of a release's entry: the one that the release names; else one with the same data and channel."""
    if manifest.ledger is not None:
        named = manifest.ledger.entry
        return named if isinstance(ledger.entries.get(named), ReleaseEntry) else None
    data = {table: written.digest for table, written in manifest.data.tables.items()}
    same = (own for own, e in ledger.releases.items() if e.data == data and e.channel == manifest.channel)
    return next(same, None)


def _plural(word: str, number: int) -> str:
    return word if number == 1 else {"entry": "entries"}.get(word, word + "s")
