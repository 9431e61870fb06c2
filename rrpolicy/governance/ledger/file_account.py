"""The ledger's file as the account of a policy, an implementation of `rrpolicy.planning.ledger_account`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.budget import check_budget
from rrpolicy.governance.ledger.chain import broken_chain_error
from rrpolicy.governance.ledger.entry import ReleaseEntry, ReleaseSettlement, StatedGuarantee, entry_date
from rrpolicy.governance.ledger.joint_requirements import stated_budget
from rrpolicy.governance.ledger.ledger_file import BranchMovedError, LedgerFile, lock_ledger, read_ledger
from rrpolicy.governance.ledger.overlap import domain_digests, release_component
from rrpolicy.manifest.manifest import LedgerPlace
from rrpolicy.planning.ledger_account import table_digests
from rrpolicy.planning.series import SeriesState
from rrpolicy.policy.identity import entry_identities

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.governance.ledger.chain import Ledger
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.planning.ledger_account import BudgetCheck
    from rrpolicy.planning.plan import Plan
    from rrpolicy.policy.model import LedgerSettings, Policy
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

UNWRITTEN_HINT = "the bundle was not written"
_TRIES = 10
"""Maximum number of attempts to push the outcome of a release while others push."""


class FileAccount:
    """A ledger's file, read; or locked, so that a release can be entered."""

    def __init__(
        self, policy: Policy, registry: Registry, held: LedgerFile | Ledger | None = None, branch: str | None = None
    ) -> None:
        """Open the account of a policy.

        `held` is the locked file, or the ledger as it was read; None to read the file.
        """
        self._policy, self._registry = policy, registry
        self._book = held if isinstance(held, LedgerFile) else None
        self._read = None if isinstance(held, LedgerFile) else held
        self._branch = branch
        self._entered: str | None = None

    def begun(self, name: str) -> SeriesState | None:
        """Return a series with the state of its first release; see `rrpolicy.planning.ledger_account.Account`."""
        first = self._ledger.first_of(name)
        if first is None or first.series is None:
            return None
        return SeriesState(first.name, first.series, release_component(first, self._registry).channel, first.population)

    @property
    def _ledger(self) -> Ledger:
        if self._book is not None:
            return self._book.ledger
        return self._read or read_ledger(ledger_path(self._policy))

    def weigh(
        self, plan: Plan, original: Original | int, findings: Sequence[Finding], draw: str | None = None
    ) -> BudgetCheck:
        """Check a plan against the budget; see `rrpolicy.planning.ledger_account.Account`."""
        weighed = check_budget(self._ledger, self._policy, self._registry, plan, original, findings, draw)
        return replace(weighed, branch=self._branch)

    def enter(self, plan: Plan, manifest: Manifest, draw: str, uncomposed: str | None) -> LedgerPlace:
        """Enter a release; a draw that is already in the ledger keeps its position."""
        book, settings = self._book, self._policy.ledger
        assert book is not None
        assert settings is not None
        for own, entry in book.ledger.releases.items():
            if entry.draw == draw:
                if entry.data != table_digests(manifest):
                    raise broken_chain_error(str(ledger_path(self._policy)), "this draw is in it with other data")
                book.keep()
                return LedgerPlace(entry.previous, own)
        head = book.ledger.head
        entry = release_entry(manifest, plan.policy, head, draw, self._policy.source.population, settings, uncomposed)
        budget, unstated = stated_budget(self._policy), not settings.stated
        entry = replace(entry, budget=budget, unstated=unstated, replaces=self._replaced(manifest))
        _refuse_changed_values(entry, book.ledger, self._policy)
        _refuse_label(entry, book.ledger)
        self._entered = book.append(entry)
        return LedgerPlace(head, self._entered)

    def _replaced(self, manifest: Manifest) -> str | None:
        if manifest.replaces is None:
            return None
        assert self._book is not None
        ledger = self._book.ledger
        found = [own for own, settled in ledger.settled.items() if settled.release == manifest.replaces]
        if not found:
            message = f"the ledger contains no release with the digest {manifest.replaces}, which is to be replaced"
            hint = "`rrpolicy ledger add LEDGER BUNDLE` enters a release from before there was a ledger"
            raise RefusedError(Problem("RR448", message, hint=hint))
        return found[0]

    def settle(self, place: LedgerPlace, release: str | None) -> None:
        """Record that the bundle appeared, or, for a release entered here, that it never will."""
        book = self._book
        assert book is not None
        if (release is None and self._entered != place.entry) or place.entry in book.ledger.settled:
            return
        for left in reversed(range(_TRIES)):
            head, own = book.ledger.head, place.entry
            outcome: Literal["released", "withdrawn"] = "withdrawn" if release is None else "released"
            try:
                book.append(
                    ReleaseSettlement(
                        head, own, outcome, release, UNWRITTEN_HINT if release is None else None, entry_date()
                    )
                )
            except BranchMovedError:  # another release was entered meanwhile: the outcome of this one follows that
                if not left:
                    raise
                book.take()
            else:
                return


def _refuse_changed_values(entry: ReleaseEntry, ledger: Ledger, policy: Policy) -> None:
    """Refuse a release of a series whose rows show changes of values that are declared constant.

    The draw is deterministic: the rows of a series are equal if the table is.
    """
    unchanging = entry.overlap == "same" or (entry.overlap == "nested" and entry.different_values == 1)
    if entry.series is None or not unchanging:
        return
    for other in ledger.releases.values():
        alike = (other.series, other.channel, other.records) == (entry.series, entry.channel, entry.records)
        if alike and other.data != entry.data:
            says = "that it is the same table" if entry.overlap == "same" else "that nobody's values change"
            message = f"the policy declares {says}, but {other.name}, of the same series, declares another one"
            hint = (
                'declare `overlap = "nested"` (or "any"), and as many `different_values` as a person may have, or none'
            )
            raise RefusedError(Problem("RR445", message, policy.place("ledger.overlap"), hint=hint))


def _refuse_label(entry: ReleaseEntry, ledger: Ledger) -> None:
    if entry.label is None:
        return
    if any((e.policy, e.label) == (entry.policy, entry.label) for e in ledger.releases.values()):
        message = f"{entry.name} would be the second release of '{entry.policy}' that is called '{entry.label}'"
        hint = "choose another label with --as; for a correction, give the release that it replaces: --replaces BUNDLE"
        raise RefusedError(Problem("RR447", message, hint=hint))


class FileAccounts:
    """Opens the ledgers that policies name, as files."""

    def __init__(self, branch: str | None = None) -> None:
        """Set the branch of a git server that gets an entry first, such as `origin/main`; None for no branch."""
        self._branch = branch

    def reading(self, policy: Policy, registry: Registry) -> FileAccount:
        """Return the account of a policy for reading; with a branch, in the branch's state."""
        if self._branch is None:
            return FileAccount(policy, registry)
        with lock_ledger(ledger_path(policy), self._branch) as book:
            return FileAccount(policy, registry, book.ledger)

    @contextmanager
    def writing(self, policy: Policy, registry: Registry) -> Iterator[FileAccount]:
        """Return the account of a policy with its file locked."""
        with lock_ledger(ledger_path(policy), self._branch) as book:
            yield FileAccount(policy, registry, book, self._branch)


def ledger_path(policy: Policy) -> Path:
    """Return the path of the ledger that a policy names."""
    assert policy.ledger is not None
    return Path(policy.folder) / policy.ledger.file


def release_entry(  # noqa: PLR0917 each is another thing
    manifest: Manifest,
    policy: Policy,
    previous: str,
    draw: str | None,
    population: str | None,
    declared: LedgerSettings,
    uncomposed: str | None,
) -> ReleaseEntry:
    """Return the entry of a release from the content of release.json and the declarations of the policy alone.

    `draw` is None if it is no longer known; see `rrpolicy.planning.ledger_account.draw_id`.
    """
    guarantees = tuple(
        StatedGuarantee(name, f.requirement, f.achieved, f.verdict or Verdict.UNDECIDED, f.given)
        for name, f in zip(entry_identities(policy).requirements, manifest.findings, strict=True)
    )
    head = manifest.policy
    return ReleaseEntry(
        previous=previous,
        label=manifest.release,
        draw=draw,
        policy=head.name,
        version=head.version,
        policy_digest=head.digest,
        population=population,
        overlap=declared.overlap,
        records=manifest.records,
        max_records=manifest.units.max_records,
        channel=manifest.channel,
        domains=domain_digests((a.name, a.domain) for a in manifest.attributes),
        data=table_digests(manifest),
        derived=tuple(derived.id for derived in manifest.derived),
        guarantees=guarantees,
        uncomposed=uncomposed,
        series=manifest.series,
        different_values=declared.different_values,
        date=entry_date(),
    )
