"""The interface of a plan and a release to the ledger that their policy names; its keeper is in a room above.

A policy without [ledger] has no account, and nothing here concerns it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from msgspec import Struct

from rrpolicy.errors import GatedResult, Problem
from rrpolicy.finding import Finding
from rrpolicy.numbers import plain_number
from rrpolicy.wording import UNDECIDED, VERDICT_WORDS

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from rrpolicy.manifest.manifest import LedgerPlace, Manifest
    from rrpolicy.planning.plan import Plan
    from rrpolicy.planning.series import SeriesState
    from rrpolicy.policy.model import Policy
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

_DRAW = b"rrpolicy.draw/1\0"


class CompositionEntry(Struct, frozen=True):
    """One entry of the budget, over all releases of the same people.

    Attributes:
        finding: the finding on all of them as one channel; None if no rule composes them.
        alone: the value that each release achieves by itself, the new one last, if known.
        unruled: the reason for which no rule composes them; None if one does.
        promised_by: the name of the earlier release, or of the ledger's budget, that guaranteed it; None for
            the policy's budget.
    """

    requirement: str
    finding: Finding | None
    alone: tuple[float | None, ...]
    unruled: str | None = None
    promised_by: str | None = None

    @property
    def said(self) -> str:
        """Return the requirement, with its owner."""
        return self.requirement + (f" (guaranteed by {self.promised_by})" if self.promised_by else "")


class Refusal(Struct, frozen=True):
    """A problem that prevents a release, as a plan's document contains it.

    Attributes:
        code: stable, such as `RR441`.
        message: the problem, in words.
    """

    code: str
    message: str


class RecordedRequirement(Struct, frozen=True):
    """One entry of the budget, as audit/ records it.

    Attributes:
        requirement: the requirement with its owner.
        verdict: `no rule` if no rule composes it.
        told: the composition in words.
    """

    requirement: str
    verdict: str
    told: str


class RecordedComposition(Struct, frozen=True):
    """A release with the earlier ones of the same people, as audit/ records it.

    Attributes:
        earlier: names of the earlier releases that may concern the same people.
        rule: the composition rule, in words.
        uncomposed: the policy's reason for a release that no rule composes; None if it has no reason, or needs none.
        requirements: each entry of the budget.
    """

    earlier: tuple[str, ...]
    rule: str
    uncomposed: str | None
    requirements: tuple[RecordedRequirement, ...]


@dataclass(frozen=True, slots=True)
class BudgetCheck(GatedResult):
    """A release with the earlier ones of the same people.

    Attributes:
        ledger: the file, as the policy names it.
        head: hash of the ledger's last entry.
        earlier: names of the earlier releases that may concern the same people.
        rule: the composition rule, in words.
        together: each entry of the budget; empty if there is no earlier release.
        rerun: the name of the entry that has the same draw; None for a new release.
        uncomposed: the policy's reason for a release that no rule composes; None if it has no reason, or needs none.
        branch: branch of a git server on which the release is entered; None if the ledger is only a file.
        problems: problems that prevent the release (RR441, RR442, RR446).
    """

    written: ClassVar[tuple[str, ...]] = ("head", "earlier", "rule", "uncomposed", "together", "problems=refusals")

    ledger: str
    head: str
    earlier: tuple[str, ...]
    rule: str
    together: tuple[CompositionEntry, ...] = ()
    rerun: str | None = None
    uncomposed: str | None = None
    branch: str | None = None
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Return the problems, as a plan's document contains them."""
        return tuple(Refusal(problem.code, problem.message) for problem in self.problems)

    @property
    def stated(self) -> RecordedComposition:
        """Return its part of audit/: the ledger's contents in words."""
        requirements = (
            RecordedRequirement(
                each.said,
                "no rule" if each.finding is None else str(each.finding.verdict or ""),
                composition_text(each),
            )
            for each in self.together
        )
        return RecordedComposition(self.earlier, self.rule, self.uncomposed, tuple(requirements))

    @property
    def entered(self) -> str:
        """Return the release's message about the ledger's file."""
        if self.rerun is not None:
            return f"the same release as {self.rerun}: nothing new is entered in {self.ledger}"
        if self.branch is None:
            return f"entered in {self.ledger}: commit it"
        return f"entered in {self.ledger}: pushed to {self.branch}; before a pull, `git checkout -- {self.ledger}`"

    def lines(self) -> Iterator[str]:
        """Yield its lines in a plan."""
        names = ", ".join(shortened_list(self.earlier))
        yield f"together with {names}: {self.rule}" if self.earlier else f"{self.ledger}: {self.rule}"
        for each in self.together:
            verdict = "no rule" if each.finding is None else VERDICT_WORDS[each.finding.verdict]
            yield f"{verdict:<9} {each.said}: {composition_text(each)}"
        if self.problems:
            yield f"the ledger refuses this release ({', '.join(dict.fromkeys(p.code for p in self.problems))})"
        if self.uncomposed is not None:
            yield f"no guarantee for all releases together: released all the same, because {self.uncomposed}"


def composition_text(each: CompositionEntry) -> str:
    """Return the composed value of an entry of the budget, with the values of the single releases."""
    if each.finding is None:
        return f"no guarantee for all releases together: {each.unruled}"
    alone = " and ".join(shortened_list(["?" if value is None else plain_number(value) for value in each.alone]))
    achieved = each.finding.achieved
    number = UNDECIDED if achieved is None else plain_number(achieved.value)
    limit = "" if each.finding.limit is None else f", limit {plain_number(float(each.finding.limit))}"
    return f"alone {alone}; together {number}{limit}"


class Account(Protocol):
    """A ledger that checks a release against its budget and in which the release is entered."""

    def begun(self, name: str) -> SeriesState | None:
        """Return a series as its first release left it; None if there was none yet.

        Raises:
            RefusedError: RR440, RR443 if the ledger is inconsistent or missing.
            RRPolicyError: if no loaded plugin reads its channel.
        """
        ...

    def weigh(
        self, plan: Plan, original: Original | int, findings: Sequence[Finding], draw: str | None = None
    ) -> BudgetCheck:
        """Check a plan, with earlier releases, against their budget; nothing is written.

        `original` may be the number of records. `draw` is that of `draw_id`; None for a plan that is only inspected.

        Raises:
            RefusedError: RR440, RR443 if the ledger is inconsistent or missing.
        """
        ...

    def enter(self, plan: Plan, manifest: Manifest, draw: str, uncomposed: str | None) -> LedgerPlace:
        """Enter a release whose bundle is about to appear, and return its place in the ledger; it counts immediately.

        `draw` is that of `draw_id`, `uncomposed` that of `weigh`; the manifest has no place in the ledger, and is not
        sealed yet.

        Raises:
            RefusedError: RR440 if it was entered before, with other data; RR407, RR408 if nothing can be written.
        """
        ...

    def settle(self, place: LedgerPlace, release: str | None) -> None:
        """Note that the bundle appeared, or never will.

        `release` is the digest of release.json; None if the bundle was not written.
        """
        ...


class ApprovalCheck(Protocol):
    """A check, before anything is released, that exactly this policy was approved."""

    def __call__(self, policy: Policy, file: Path, into: Path, day: date) -> None:
        """Refuse a policy that is not approved; store its approval with the release.

        Raises:
            RefusedError: RR417.
        """
        ...


class LedgerBackend(Protocol):
    """Opens the ledger that a policy names."""

    def reading(self, policy: Policy, registry: Registry) -> Account:
        """Return the account of a policy that names a ledger, for reading."""
        ...

    def writing(self, policy: Policy, registry: Registry) -> AbstractContextManager[Account]:
        """Return the same, locked against other releases until this one is entered, or abandoned."""
        ...


def draw_id(key: bytes, plan: Plan) -> str:
    """Return the id of a draw of a plan on a table, which reveals nothing of them without the key.

    The key is 256 secret bits; a rerun under it is the same release.
    """
    assert plan.source_tag is not None
    told = _DRAW + plan.digest().encode() + b"\0" + plan.source_tag.encode()
    return "hmac-sha256:" + hmac.new(key, told, hashlib.sha256).hexdigest()


def collection_id(plan: Plan, rows: str) -> str:
    """Return the id of a collected table of a plan; it contains nothing that is not released."""
    return "sha256:" + hashlib.sha256(_DRAW + plan.digest().encode() + b"\0" + rows.encode()).hexdigest()


def table_digests(manifest: Manifest) -> Mapping[str, str]:
    """Return table -> digest of its released rows."""
    return {name: table.digest for name, table in manifest.data.tables.items()}


def shortened_list(names: Sequence[str], most: int = 6) -> tuple[str, ...]:
    """Return the first names, and the number of further ones."""
    rest = len(names) - most
    return (*names[:most], f"{rest} more") if rest > 0 else tuple(names)
