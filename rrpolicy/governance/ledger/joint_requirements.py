"""Requirements on several releases together: those of the ledger's budgets and of earlier policies, and violations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from pydantic import BaseModel

from rrpolicy.canonical_json import canonical
from rrpolicy.errors import PolicyError, Problem, RefusedError, RRPolicyError
from rrpolicy.finding import Finding, Measure, Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.chain import Ledger
from rrpolicy.governance.ledger.entry import LedgerBudgetEntry, ReleaseEntry
from rrpolicy.governance.ledger.overlap import (
    JointReleases,
    combine_entries,
    overlapping_releases,
)
from rrpolicy.numbers import plain_number
from rrpolicy.planning.assess import assess, requirement_text
from rrpolicy.policy.model import MechanismChoice, Policy, ReleaseSettings, Requirement, SourceSettings
from rrpolicy.policy.policy_decoding import requirement_from_json
from rrpolicy.serialization import record

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Json
    from rrpolicy.channels.base import Channel
    from rrpolicy.finding import Derived
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

NO_COLUMNS = "it applies to columns, and the ledger contains none"
_ORDER = (Verdict.SATISFIED, Verdict.UNDECIDED, Verdict.FAILED)


class JointRequirement(Struct, frozen=True):
    """One requirement that all releases of the same people have to meet together.

    Attributes:
        whose: displayed name of the release, or of the ledger's budget, that states it.
        population: the people covered; None if no population is named.
        requirement: the requirement, as a document.
        stated: whether a budget states it; else a single release guaranteed it, and it applies jointly if a
            composition rule applies.
    """

    whose: str
    population: str | None
    requirement: Mapping[str, Json]
    stated: bool = True

    @property
    def model(self) -> str:
        """Return the name of its privacy model."""
        return str(self.requirement["model"])

    def read(self, registry: Registry, max_records: int) -> Requirement:
        """Return the requirement.

        Raises RefusedError: RR404 if no loaded plugin offers its model, RR440 if the model does not accept its options.
        """
        try:
            return requirement_from_json(self.requirement, registry.catalogue, max_records)
        except (ValueError, TypeError) as error:
            message = f"what {self.whose} guaranteed cannot be read as '{self.model}'"
            raise RefusedError(Problem("RR440", message)) from error


class Acceptance(Struct, frozen=True):
    """A recorded acceptance of a violated joint requirement.

    Attributes:
        by: the person.
        reason: the reason for the acceptance.
    """

    by: str | None
    reason: str | None


class UnmetJointRequirement(Struct, frozen=True):
    """A joint requirement that releases violate, or that the ledger cannot decide.

    Attributes:
        promise: the requirement, with the name of its origin.
        requirement: the requirement in words.
        entry: hash of the release's entry that first violates it.
        release: displayed name of that release.
        finding: the finding on that release and all earlier ones of these people together; None if undecided.
        undecided: reason why it is undecided; None if decided.
        accepted: the later budget entry that accepted the violation, with a reason; None if not accepted.
    """

    written: ClassVar[tuple[str, ...]] = (
        *("promised_by", "population", "requirement", "entry", "release", "achieved", "undecided"),
        "accepted=acceptance",
    )

    promise: JointRequirement
    requirement: str
    entry: str
    release: str
    finding: Finding | None
    undecided: str | None = None
    accepted: LedgerBudgetEntry | None = None

    @property
    def broken(self) -> bool:
        """Return whether the violation is certain and not accepted."""
        return self.finding is not None and self.accepted is None

    @property
    def promised_by(self) -> str:
        """Return the origin of the requirement."""
        return self.promise.whose

    @property
    def population(self) -> str | None:
        """Return the population that it is about."""
        return self.promise.population

    @property
    def achieved(self) -> Measure | None:
        """Return the number achieved; None if undecided."""
        return None if self.finding is None else self.finding.achieved

    @property
    def acceptance(self) -> Acceptance | None:
        """Return the person who accepted the violation, and the reason."""
        return None if self.accepted is None else Acceptance(self.accepted.by, self.accepted.reason)

    def __str__(self) -> str:
        said = f"{self.promise.whose} guaranteed {self.requirement} for all releases of these people together"
        if self.finding is None or self.finding.achieved is None:
            return f"{said}; with {self.release} this is not decided: {self.undecided}"
        text = f"{said}; with {self.release} it is {plain_number(self.finding.achieved.value)}"
        return text if self.accepted is None else f"{text}; {self.accepted.by} accepted that: {self.accepted.reason}"


def stated_budget(policy: Policy) -> tuple[Mapping[str, Json], ...]:
    """Return the budget of a policy as stored in the ledger; protected columns are named explicitly."""
    assert policy.ledger is not None
    return tuple(requirement_record(requirement, policy) for requirement in policy.ledger.budget)


def requirement_record(requirement: Requirement, policy: Policy) -> dict[str, Json]:
    """Return a requirement as stored in the ledger."""
    document = record(requirement)
    names = requirement.protects(policy)
    if not names:
        return document
    options = document["options"]
    assert isinstance(options, dict)
    return {**document, "options": {**options, "sensitive": list(names)}}


def applicable_requirements(
    ledger: Ledger, found: Mapping[str, ReleaseEntry], population: str | None
) -> tuple[JointRequirement, ...]:
    """Return the requirements on a release in addition to its own budget.

    A budget of the ledger replaces the requirements of earlier releases of its population: it was decided with a
    reason.

    `found` are the earlier releases that may contain the same people.
    """
    promised = []
    budgets = ledger.budgets
    ended = {name: ledger.before(own) for name, own in budgets.items()}
    for name, own in budgets.items():
        entry = ledger.entries[own]
        assert isinstance(entry, LedgerBudgetEntry)
        if name is None or population in {None, name}:
            promised += [JointRequirement(entry.name, name, r) for r in entry.requirements]
    for own, release in found.items():
        if own not in ended.get(release.population, ()):
            stated = not release.unstated
            promised += [JointRequirement(release.name, release.population, r, stated) for r in release.budget or ()]
    return tuple(promised)


def foreign_column_reason(requirement: Requirement, policy: Policy) -> str | None:
    """Return the reason why a requirement does not apply to a release: its columns are absent or have another role."""
    known = {a.name for a in policy.released}
    strange = [
        name for name in sensitive_columns(requirement) if name not in requirement.protects(policy) or name not in known
    ]
    strange += [name for name in requirement.where if name not in known]
    return f"it covers {', '.join(strange)}, which this release does not have" if strange else None


def sensitive_columns(requirement: Requirement) -> Sequence[str]:
    """Return the sensitive columns that a requirement names."""
    named: Sequence[str] = getattr(requirement.options, "sensitive", None) or ()
    return named


def worst_finding(only: Policy, registry: Registry, joint: JointReleases, derived: Sequence[Derived]) -> Finding:
    """Return the finding on one requirement for the people with the worst result.

    `only` is a policy with one requirement. Raises RRPolicyError if nothing assesses it.
    """
    found = [single_finding(only, registry, group.channel, group.people, derived) for group in joint.groups]
    return max(found, key=lambda f: (_ORDER.index(f.verdict or Verdict.UNDECIDED), _directed_value(f)))


def _directed_value(found: Finding) -> float:
    """Return a finding's value in its limit's direction; the greatest of several is the worst."""
    if found.achieved is None or found.limit is None:
        return 0.0
    gap = found.achieved.value - float(found.limit)
    return abs(gap) if found.verdict is Verdict.FAILED else -abs(gap)


def single_finding(
    only: Policy, registry: Registry, channel: Channel, people: Original | int, derived: Sequence[Derived]
) -> Finding:
    """Return the finding on the only requirement of a policy."""
    (found,) = assess(only, registry, channel, people, derived).findings
    return found


class _NoLedgerOptions(BaseModel):
    """Options of a mechanism as a ledger has them: empty, as it does not record how parameters were chosen."""


def unmet_requirements(ledger: Ledger, registry: Registry) -> Iterator[UnmetJointRequirement]:
    """Yield every joint requirement that the releases of a ledger violate or leave undecided, in their order.

    Only published channels are evaluated. A requirement that depends on a table is reported once as undecided.
    """
    undecided: dict[tuple[str | None, bytes], UnmetJointRequirement] = {}
    entered = list(ledger.releases.items())
    order = list(ledger.entries)
    for number, (own, entry) in enumerate(entered):
        before = replace(ledger, entries={name: ledger.entries[name] for name in order[: order.index(own)]})
        others = overlapping_releases(dict(entered[:number]), entry.overlap, entry.population)
        promised = applicable_requirements(before, {**others, own: entry} if others else {}, entry.population)
        joint = combine_entries(list(others.values()), entry, registry) if promised else ""
        most = max(e.max_records for e in (*others.values(), entry))
        for promise in promised:
            found = _violation(promise, registry, joint, entry, most)
            if found is None:
                continue
            said, told, why = found
            unkept_one = UnmetJointRequirement(
                promise, said, own, entry.name, told, why, _accepting_budget(ledger, promise, own)
            )
            if told is not None:
                yield unkept_one
            elif promise.stated:
                undecided[promise.population, canonical({**promise.requirement})] = unkept_one
    yield from undecided.values()


def _violation(
    promise: JointRequirement, registry: Registry, joint: JointReleases | str, entry: ReleaseEntry, most: int
) -> tuple[str, Finding | None, str] | None:
    try:
        requirement = promise.read(registry, most)
        said = requirement_text(requirement, registry)
        if requirement.where or sensitive_columns(requirement):
            return said, None, NO_COLUMNS
        if isinstance(joint, str):
            return said, None, joint
        found = worst_finding(_minimal_policy(entry, requirement, most), registry, joint, ())
    except RRPolicyError as error:
        return promise.model, None, error.problems[0].message
    if found.verdict is Verdict.SATISFIED:
        return None
    if found.verdict is Verdict.UNDECIDED or found.achieved is None:
        return said, None, "it rests on the table"
    return said, found, ""


def _minimal_policy(entry: ReleaseEntry, requirement: Requirement, most: int) -> Policy:
    """Return a partial policy from a ledger entry, sufficient for requirements that name no column."""
    series = None if entry.series is None else entry.series.name
    return Policy(
        name=entry.policy,
        version=entry.version,
        owner="",
        purpose="",
        plugins=(),
        source=SourceSettings("", max_records=most),
        attributes={},
        requirements=(requirement,),
        mechanism=MechanismChoice("", _NoLedgerOptions()),
        gates=(),
        release=ReleaseSettings("parquet", series=series),
    )


def _accepting_budget(ledger: Ledger, promise: JointRequirement, own: str) -> LedgerBudgetEntry | None:
    """Return the budget entered after a release for the people of its requirement."""
    latest = ledger.budgets.get(promise.population)
    if latest is None or own not in ledger.before(latest):
        return None
    entry = ledger.entries[latest]
    assert isinstance(entry, LedgerBudgetEntry)
    return entry


def unknown_population(ledger: Ledger, population: str | None) -> str | None:
    """Return the reason to refuse a new population name: another spelling would get a separate budget."""
    known = ledger.populations
    if population is None or population in known or (not known and not ledger.releases):
        return None
    named = ", ".join(f"'{ascii(name)[1:-1]}'" for name in known) or "no population by name"
    return f"the ledger does not know the population '{ascii(population)[1:-1]}'; it knows {named}"


def refuse_mixed_alphabets(population: str | None) -> None:
    """Refuse a name with letters of several alphabets, which could imitate another name."""
    import unicodedata

    letters = [c for c in population or "" if c.isalpha()]
    scripts = {unicodedata.name(c, "?").partition(" ")[0] for c in letters}
    if len(scripts) > 1:
        message = f"the population '{ascii(population)[1:-1]}' mixes letters of {' and '.join(sorted(scripts)).lower()}"
        raise PolicyError(Problem("RR446", message, expected="a name in one alphabet"))
