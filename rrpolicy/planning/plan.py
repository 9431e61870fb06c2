"""Planning: from a policy and a table, or only its number of records, to the frozen channel that a release executes.

A plan is audit-class. It releases nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET, Struct, UnsetType, field

import rrpolicy
from rrpolicy.canonical_json import Digest, Json, canonical, digest
from rrpolicy.channels.base import Channel
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.self_check import channel_contradictions, check_protocols, finalised_channel
from rrpolicy.declarations import Governance
from rrpolicy.errors import PolicyError, Problem, RefusedError, RequirementError
from rrpolicy.finding import Derived, Finding, Origin, UtilityFinding
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import ManifestSeries
from rrpolicy.mechanism import Outline, Proposal, Remark, Task
from rrpolicy.numbers import plain_number
from rrpolicy.planning.check import (
    budget_assessors,
    file_split_problems,
    missing_code_warnings,
    plugin_refusals,
    policy_outline,
    reference_table_problems,
    requirement_statements,
    sensitive_name_warnings,
    tuning_table_problems,
    unaccepted_disclosures,
    unexplained_columns,
    unlimited_warnings,
    unsupported_gates,
    unused_design_columns,
    withholding_problems,
)
from rrpolicy.planning.derived_statistics import derived_statistics_of_plan, impossible_acceptances, possible_statistics
from rrpolicy.planning.keys import SourceTag
from rrpolicy.planning.ledger_account import BudgetCheck
from rrpolicy.planning.review_points import (
    association_warnings,
    channel_formula_warnings,
    survey_design_warnings,
    unique_value_warnings,
    unprotected_group_warnings,
)
from rrpolicy.planning.series import (
    SeriesState,
    continued_proposal,
    frozen_digests,
    require_same_series,
    series_problems,
    table_series,
)
from rrpolicy.planning.waivers import WaivedProblem, invalid_waivers
from rrpolicy.plugin_errors.distributions import find_author
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.policy_decoding import policy_from_json
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.registry import Registry
from rrpolicy.serialization import plain, read, record
from rrpolicy.source.units import require_unrepeated_people

if TYPE_CHECKING:
    from rrpolicy.privacy.model import Assessor
    from rrpolicy.source.protocol import Original

PLAN_SCHEMA = "rrpolicy.plan/1"


class MarginalError(Struct, frozen=True):
    """The root mean squared error of a marginal's reconstructed shares, of this table.

    Attributes:
        attributes: attributes of the marginal.
        error: infinite if nothing can be reconstructed; None if it depends on the data.
        cells: number of cells of the marginal.
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"error": "rmse"})
    unwritten: ClassVar[tuple[str, ...]] = ("cells",)

    attributes: tuple[str, ...]
    error: float | None
    cells: int = 1

    @property
    def relative(self) -> float:
        """Return the error as a share of that of equal shares, at most sqrt((1 - 1/d)/d) in d cells, at its worst."""
        if self.error is None or self.cells <= 1:
            return 0.0
        return self.error / math.sqrt((1 - 1 / self.cells) / self.cells)

    @property
    def useless(self) -> bool:
        """Return whether equal shares, which need no estimate, are nearer to those of every table."""
        return self.relative >= 1

    @property
    def odd(self) -> bool:
        """Return whether there is no number: nothing can be reconstructed, or it depends on the data."""
        return self.error is None or math.isinf(self.error)

    @property
    def told(self) -> str:
        """Return the error in words."""
        if self.error is None:
            return "unknown without data"
        return "cannot be estimated" if math.isinf(self.error) else plain_number(self.error, 4)


class PlannedPolicy(Struct, frozen=True):
    """The policy of a plan.

    Attributes:
        name: its name.
        version: its version.
        digest: digest of the policy as its file states it.
        resolved: the policy with its defaults and domains.
    """

    name: str
    version: str
    digest: Digest
    resolved: Json


class PlannedMechanism(Struct, frozen=True):
    """The mechanism of a plan.

    Attributes:
        name: its name.
        parameters: attributes -> their parameters as numbers and exact fractions.
    """

    name: str
    parameters: Mapping[str, Json]


class IdentifiedWarning(Struct, frozen=True):
    """A point that needs a person's judgement.

    Attributes:
        id: the name with which a waiver accepts it.
        text: the point in words.
    """

    id: str
    text: str


class PlanDocument(Struct, frozen=True, kw_only=True):
    """A plan: `plan --json`, `plan --out` (with findings and the policy's file), and audit/plan.json.

    Attributes:
        digest: digest of the data that determine the release.
        records: the number of records.
        source_tag: HMAC of the source's content under the plan's key; null if no key was made.
        plan_on: fingerprint of the table on which parameters were chosen; null if that was the source.
        reference: fingerprint of the population in which people were counted.
        origins: attribute -> where its parameters come from.
        unrounded: attribute -> the solution before rounding down.
        remarks: remarks of the mechanism on its choice, and points that need judgement.
        derived: statistics of the table that public/ will disclose beyond the number of records.
        passed: whether all gates are met.
        protection: the grade of protection.
        assumptions: assumptions of all findings.
        accept: the line to add below [release]; null if no line is needed.
        expected_errors: errors of each marginal table.
        dropped: columns that are not released.
        unchanged: columns released unmodified.
        governance: people's declarations and decisions.
        waived: problems that waivers permit.
        warnings: points that need a person's judgement.
        ledger: the composition with earlier releases.
        policy_file: path of the policy, relative to the plan's folder.
        mechanism_as_stated: the mechanism's table of the policy file.
        file_digest: digest of this document without this key.
    """

    schema: ClassVar[str] = PLAN_SCHEMA
    sparse: ClassVar[tuple[str, ...]] = (
        *("reference", "mechanism", "passed", "protection", "findings", "utility", "assumptions", "accept"),
        *("expected_errors", "dropped", "unchanged", "governance", "governance_digest", "waived", "warnings"),
        *("ledger", "policy_file", "mechanism_as_stated", "file_digest"),
    )

    digest: Digest
    policy: PlannedPolicy
    records: int
    software: Software
    source_tag: SourceTag | None
    plan_on: str | None
    reference: str | None = None
    channel: Channel
    origins: Mapping[str, str]
    unrounded: Mapping[str, Mapping[str, float]]
    remarks: tuple[Remark, ...]
    derived: tuple[Derived, ...]
    mechanism: PlannedMechanism | UnsetType = UNSET
    passed: bool | UnsetType = UNSET
    protection: ReleaseProtection | UnsetType | None = UNSET
    findings: tuple[Finding, ...] | UnsetType = UNSET
    utility: tuple[UtilityFinding, ...] | UnsetType = UNSET
    assumptions: tuple[str, ...] | UnsetType = UNSET
    accept: str | UnsetType | None = UNSET
    expected_errors: tuple[MarginalError, ...] | UnsetType = UNSET
    dropped: tuple[str, ...] | UnsetType = UNSET
    unchanged: tuple[str, ...] | UnsetType = UNSET
    governance: Governance | UnsetType = UNSET
    governance_digest: Digest | UnsetType = UNSET
    waived: tuple[WaivedProblem, ...] | UnsetType = UNSET
    warnings: tuple[IdentifiedWarning, ...] | UnsetType = UNSET
    ledger: BudgetCheck | UnsetType = UNSET
    policy_file: str | UnsetType = UNSET
    mechanism_as_stated: str | UnsetType = UNSET
    file_digest: Digest | UnsetType = UNSET


class Plan(Struct, frozen=True):
    """The exact definition of a release.

    Attributes:
        policy: resolved, with observed domains filled in if data were available.
        policy_digest: digest of the policy as its file states it; it shows whether a plan is stale.
        channel: the chosen channel, which is drawn from, assessed, published and decoded.
        records: N.
        software: rrpolicy's version and the plugins.
        origins: attribute -> where its parameters come from.
        unrounded: attribute -> the solution before rounding down.
        remarks: remarks of the mechanism on its choice, and points that need judgement.
        derived: statistics of the table that public/ will disclose beyond the number of records.
        source_tag: HMAC of the source's content under the plan's key; None if no key was made.
        plan_on: fingerprint of the table on which parameters were chosen; None if that was the source.
        reference: fingerprint of the population in which people were counted; None if none was.
    """

    policy: Policy
    policy_digest: str
    channel: Channel
    records: int
    software: Software
    origins: Mapping[str, Origin] = field(default_factory=dict)
    unrounded: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    derived: tuple[Derived, ...] = ()
    source_tag: str | None = None
    plan_on: str | None = None
    reference: str | None = None

    def digest(self) -> str:
        """Return the digest of the data that determine the release, without tag or path."""
        return digest(
            canonical(
                {
                    "schema": PLAN_SCHEMA,
                    "policy": self.policy_digest,
                    "resolved": self.policy.to_json(),
                    "channel": self.channel.to_json(),
                    "records": self.records,
                    "software": plain(self.software),
                    "plan_on": self.plan_on,
                    **self._counted_in,
                }
            )
        )

    @property
    def _counted_in(self) -> dict[str, Json]:
        return {} if self.reference is None else {"reference": self.reference}

    def with_tag(self, source_tag: str) -> Plan:
        """Return the plan with the HMAC of its source."""
        return replace(self, source_tag=source_tag)

    @property
    def document(self) -> PlanDocument:
        """Return the plan's document, without findings."""
        policy = self.policy
        return PlanDocument(
            digest=self.digest(),
            policy=PlannedPolicy(policy.name, policy.version, self.policy_digest, policy.to_json()),
            records=self.records,
            software=self.software,
            source_tag=self.source_tag,
            plan_on=self.plan_on,
            reference=self.reference,
            channel=self.channel,
            origins=self.origins,
            unrounded=self.unrounded,
            remarks=self.remarks,
            derived=self.derived,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the plan as plain data; `from_json` reads it back."""
        return record(self.document)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], registry: Registry, *, uri: str = "", folder: str = ".") -> Plan:
        """Read the output of `to_json`.

        Raises:
            RefusedError: RR401 if the document is not a plan of this schema, or does not match its own digest.
        """
        if document.get("schema") != PLAN_SCHEMA:
            raise RefusedError(Problem("RR401", f"not a plan of schema {PLAN_SCHEMA}: {document.get('schema')!r}"))
        plan = cls(
            policy=policy_from_json(document["policy"]["resolved"], registry.catalogue, uri=uri, folder=folder),
            policy_digest=document["policy"]["digest"],
            channel=channel_from_json(document["channel"], registry.kinds),
            records=document["records"],
            software=read(Software, document["software"]),
            origins={name: Origin(value) for name, value in document["origins"].items()},
            unrounded=document["unrounded"],
            remarks=tuple(read(Remark, r) for r in document["remarks"]),
            derived=tuple(read(Derived, d) for d in document["derived"]),
            source_tag=document["source_tag"],
            plan_on=document["plan_on"],
            reference=document.get("reference"),
        )
        if plan.digest() != document["digest"]:
            raise RefusedError(
                Problem("RR401", "the plan was changed after it was written", hint="plan again: `rrpolicy plan --out`")
            )
        return plan


def software(registry: Registry) -> Software:
    """Return the versions that a plan depends on."""
    return Software(rrpolicy.__version__, tuple(registry.plugins))


def software_matches(stated: Software, registry: Registry) -> bool:
    """Return whether the loaded software has the versions that a plan states; absent plugins are not used."""
    absent = {gone.plugin for gone in registry.absent}
    return stated.rrpolicy == rrpolicy.__version__ and set(stated.plugins) - absent == set(registry.plugins)


def make_plan(  # noqa: PLR0917 each is another thing
    policy: Policy,
    registry: Registry,
    original: Original | int,
    progress: Callable[[str, float], None] = lambda *_: None,
    elsewhere: Original | None = None,
    begun: SeriesState | None = None,
) -> Plan:
    """Plan a release.

    `original` may be the number of records to expect. The channel of a series that has begun replaces the mechanism's.

    Raises:
        PolicyError: if the policy requires the impossible (RR22x, RR23x), discloses statistics that it does not accept
            (RR238), or accepts those that it can never disclose (RR224).
        RequirementError: RR102 if the requirements cannot be achieved, RR510 or RR570 if no release of the table can
            keep one.
        DataError: RR329 if people may have several records and no unit is declared; RR328 if
            a series' people are identified by values that may be spelled differently next time.
        RefusedError: RR444 if the series began differently.
    """
    resolved = policy if isinstance(original, int) else original.policy
    records = original if isinstance(original, int) else original.records
    problems = (*plugin_refusals(resolved, registry), *file_split_problems(resolved, registry, records))
    if problems:
        raise PolicyError(problems)
    if not isinstance(original, int):
        require_unrepeated_people(resolved, original)
    mechanism = registry.mechanisms[policy.mechanism.name]
    problems = _data_independent_problems(policy, registry, policy_outline(policy, registry))
    if problems:
        raise PolicyError(problems)
    outline = policy_outline(resolved, registry)
    requirements = tuple((r, registry.assessor(r, resolved, outline)) for r in resolved.requirements)
    deciding = [a for _, a in requirements] + budget_assessors(resolved, registry, outline)
    progress("choosing parameters", 0.0)
    seen = (
        original if elsewhere is None or isinstance(original, int) else _tuning_original(resolved, original, elsewhere)
    )
    task = Task(resolved, seen, requirements, progress)
    proposal = (
        check_return_type(Proposal, mechanism.plan)(resolved.mechanism.options, task)
        if begun is None
        else continued_proposal(begun, resolved)
    )
    check_protocols(proposal.channel)
    if seen is not original and begun is None:
        proposal = _proposal_from_tuning_table(resolved, proposal)
    channel = proposal.channel if isinstance(original, int) else finalised_channel(proposal.channel, original)
    _require_series_start(resolved, channel, original, begun)
    require_consistent_channel(channel, resolved, mechanism)
    problems = (*unaccepted_disclosures(resolved, channel), *unused_design_columns(resolved, channel))
    if problems:
        raise PolicyError(problems)
    require_reachable_limits(requirements, channel, original)
    points = (
        *unlimited_warnings(resolved, requirement_statements(resolved, registry)),
        *missing_code_warnings(resolved),
        *sensitive_name_warnings(resolved),
    )
    if not isinstance(original, int):
        points += (
            *unique_value_warnings(resolved, channel, original),
            *association_warnings(resolved, channel, original),
            *survey_design_warnings(resolved, channel, original),
            *unprotected_group_warnings(resolved, original),
        )
    return Plan(
        policy=resolved,
        policy_digest=policy.digest(),
        channel=channel,
        records=records,
        software=software(registry),
        origins=proposal.origins,
        unrounded=proposal.unrounded,
        remarks=(*proposal.remarks, *points, *channel_formula_warnings(resolved, channel)),
        plan_on=None if elsewhere is None else fingerprint(elsewhere),
        reference=reference_fingerprint(original),
        derived=derived_statistics_of_plan(resolved, registry, outline, deciding, proposal, records=records),
    )


def _stated_series(series: ManifestSeries, policy: Policy) -> ManifestSeries:
    mechanism, categories = frozen_digests(policy)
    return replace(series, id="", mechanism=mechanism, categories=categories)


def _require_series_start(
    policy: Policy, channel: Channel, original: Original | int, begun: SeriesState | None
) -> None:
    """Refuse a plan of a series if its people cannot be identified, or if it began differently."""
    known = table_series(policy, original)
    if begun is not None and policy.release.series is not None:
        stands = begun.series if known is None else known
        require_same_series(begun, policy, _stated_series(stands, policy), channel)


def require_reachable_limits(
    requirements: Iterable[tuple[Requirement, Assessor]], channel: Channel, original: Original | int
) -> None:
    """Refuse limits that no release of a table meets (RR510, RR570)."""
    if isinstance(original, int):
        return
    asked = ((r, a.least) for r, a in requirements if a.least is not None)
    told = (check_return_type(Problem | None, least)(requirement, channel, original) for requirement, least in asked)
    problems = [problem for problem in told if problem is not None]
    if problems:
        raise RequirementError(problems)


def require_consistent_channel(channel: Channel, policy: Policy, mechanism: object = None) -> None:
    """Refuse a channel that contradicts the policy or itself (RR414).

    The message names the author of `mechanism`, if it is available.
    """
    told = list(channel_contradictions(channel, policy.released))
    if told:
        by = "the plan" if mechanism is None else find_author(mechanism)
        raise RefusedError([Problem("RR414", f"{by}: {each}", policy.place("mechanism")) for each in told])


def fingerprint(original: Original) -> str:
    """Return the unkeyed fingerprint of a table that is not the source; it appears in audit/ only."""
    return "sha256:" + original.content().hex()


def reference_fingerprint(original: Original | int) -> str | None:
    """Return the fingerprint of the reference table that was read with a table; None if none was."""
    people = None if isinstance(original, int) else original.reference
    return None if people is None else fingerprint(people)


def _tuning_original(policy: Policy, original: Original, elsewhere: Original) -> Original:
    """Return another table with the original's number of records; refuse the original itself."""
    from rrpolicy.source.tuning_source import ResizedOriginal

    if elsewhere.content() == original.content():
        message = "parameters are to be chosen on another table, but `plan_on` is the source or a copy of it"
        hint = "name a table that is public, or contains nobody of the source; or take `plan_on` out"
        raise PolicyError(Problem("RR225", message, policy.place("mechanism.plan_on"), hint=hint))
    return ResizedOriginal(elsewhere, original.records)


def _proposal_from_tuning_table(policy: Policy, proposal: Proposal) -> Proposal:
    """Return a proposal whose data are another table's; refuse one that would keep that table's marginal."""
    kept = proposal.channel.discloses()
    if kept:
        message = f"an invariant matrix would keep the other table's marginal ({', '.join(kept)}), not this one's"
        hint = "declare the marginal, or take `plan_on` out"
        raise PolicyError(Problem("RR225", message, policy.place("mechanism.plan_on"), hint=hint))
    moved = {Origin.DATA: Origin.ELSEWHERE}
    return replace(proposal, origins={name: moved.get(o, o) for name, o in proposal.origins.items()})


def _data_independent_problems(policy: Policy, registry: Registry, outline: Outline) -> tuple[Problem, ...]:
    """Return problems of a policy for any table, as `check` does; including gates that no metric decides."""
    assessors = [registry.assessor(r, policy, outline) for r in policy.requirements]
    assessors += budget_assessors(policy, registry, outline)
    known = (
        *invalid_waivers(policy),
        *unsupported_gates(policy, registry, outline),
        *unexplained_columns(policy, outline),
        *tuning_table_problems(policy, outline),
        *reference_table_problems(policy),
        *series_problems(policy, outline),
        *withholding_problems(policy, outline),
    )
    return (*known, *impossible_acceptances(policy, possible_statistics(policy, outline, assessors)))
