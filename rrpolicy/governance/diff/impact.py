"""Impact of a change: guarantees and errors of both policies, from the table, the number of records, or neither.

The channel of each policy is assessed under the requirements of both, so that a removed requirement still has a number
after the change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rrpolicy.errors import DataError, PolicyError, RequirementError, RRPolicyError
from rrpolicy.finding import Finding, Measure, Standing, UtilityFinding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.diff.changes import Effect, ImpactBasis, ImpactKind, NumberChange, PolicyImpact, ReleaseOutcome
from rrpolicy.governance.diff.diff_inputs import DiffInput
from rrpolicy.governance.diff.entries import requirement_effect, requirements_by_identity
from rrpolicy.planning.check import check, plugin_refusals
from rrpolicy.planning.plan import MarginalError
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.policy.model import Requirement
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.source.opening import absolute_uri

if TYPE_CHECKING:
    from rrpolicy.planning.plan import Plan
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

RELATIVE_TOLERANCE = 1e-4
"""Relative difference below which two achieved numbers count as equal: solved parameters are rounded."""
Progress = Callable[[str, float], None]


class _PolicyNumbers(Struct, frozen=True):
    """Numbers of one policy.

    Attributes:
        findings: findings on the requirements of either policy, by identity.
    """

    outcome: ReleaseOutcome
    findings: Mapping[str, Finding] = field(default_factory=dict)
    utility: Mapping[str, UtilityFinding] = field(default_factory=dict)
    errors: tuple[MarginalError, ...] = ()


def policy_impact(
    old: DiffInput, new: DiffInput, on: InputTable | int | None, progress: Progress, terms: Terms
) -> PolicyImpact:
    """Return the numbers of both policies.

    `on` is the table, or each policy's table if unnamed; or the number of records to expect; or None.
    """
    known = ImpactBasis.POLICY if on is None else ImpactBasis.RECORDS if isinstance(on, int) else ImpactBasis.TABLE

    def reckon(side: DiffInput, others: Mapping[str, Requirement]) -> _PolicyNumbers:
        if on is None:
            return _policy_only_numbers(side, terms)
        if isinstance(on, int):
            return _preview_numbers(side, others, on, progress, terms)
        return _numbers_on_table(side, others, _planning_table(side, old, new, on), progress, terms)

    try:
        before = reckon(old, _requirements_only_in(new, old))
    except PolicyError as error:  # the change was made because of that; the new policy must be valid
        before = _refused_numbers(error)
    after = reckon(new, _requirements_only_in(old, new))
    one, other = requirements_by_identity(old), requirements_by_identity(new)
    asked = {name: requirement_effect(one[name], other[name], new.registry) for name in one if name in other}
    return PolicyImpact(known, before.outcome, after.outcome, tuple(_number_changes(before, after, asked)))


def _refused_numbers(error: RRPolicyError, records: int | None = None) -> _PolicyNumbers:
    return _PolicyNumbers(ReleaseOutcome(passed=False, records=records, problems=tuple(p.code for p in error.problems)))


def _requirements_only_in(one: DiffInput, other: DiffInput) -> Mapping[str, Requirement]:
    taken = requirements_by_identity(other)
    return {name: requirement for name, requirement in requirements_by_identity(one).items() if name not in taken}


def _policy_only_numbers(side: DiffInput, terms: Terms) -> _PolicyNumbers:
    found = check(side.opened, terms)
    passed = None if found.passed else False
    outcome = ReleaseOutcome(passed, problems=tuple(problem.code for problem in found.problems))
    return _PolicyNumbers(outcome, {finding.identity: finding for finding in found.findings})


def _planning_table(side: DiffInput, old: DiffInput, new: DiffInput, handed: InputTable) -> InputTable:
    """Return the table that a policy is planned on; a release has none and uses that of the other policy."""
    other = new if side is old else old
    if handed.uri is not None or side.release is None or other.release is not None:
        return handed
    uri = absolute_uri(other.policy.source.uri, other.registry.sources, other.policy.folder)
    return replace(handed, uri=uri)


def _numbers_on_table(
    side: DiffInput, others: Mapping[str, Requirement], handed: InputTable, progress: Progress, terms: Terms
) -> _PolicyNumbers:
    """Return the numbers of a policy on a table; a policy that does not fit the table is refused."""
    from rrpolicy.safe_io.tempdirs import scratch_folder
    from rrpolicy.source.opening import is_unreadable, open_original
    from rrpolicy.source.tuning_source import open_tuning_table

    made = side.opened.reading(handed)
    sources = made.registry.sources
    try:
        with (
            made.registry.naming_engines(),
            scratch_folder() as spilled,
            open_original(made.policy, sources, spilled.folder) as original,
            open_tuning_table(original.policy, sources, spilled.folder / "plan-on") as elsewhere,
        ):
            return _preview_numbers(replace(side, opened=made), others, original, progress, terms, elsewhere=elsewhere)
    except DataError as error:
        if is_unreadable(error):
            raise
        return _refused_numbers(error)


def _preview_numbers(
    side: DiffInput,
    others: Mapping[str, Requirement],
    original: Original | int,
    progress: Progress,
    terms: Terms,
    *,
    elsewhere: Original | None = None,
) -> _PolicyNumbers:
    policy, registry = side.policy, side.registry
    records = original if isinstance(original, int) else original.records
    try:
        outlook = plan_and_assess(policy, registry, original, progress, elsewhere, terms)
    except RequirementError as error:
        return _refused_numbers(error, records)
    findings = {finding.identity: finding for finding in outlook.assessment.findings}
    for name, requirement in others.items():
        finding = assess_requirement(outlook.plan, side.registry, requirement, original)
        if finding is not None:
            findings[name] = finding
    problems = tuple(problem.code for problem in outlook.decision.problems)
    outcome = ReleaseOutcome(outlook.decision.passed, records, problems)
    utility = {gate.identity: gate for gate in outlook.assessment.utility}
    return _PolicyNumbers(outcome, findings, utility, outlook.errors)


def assess_requirement(
    plan: Plan, registry: Registry, requirement: Requirement, original: Original | int
) -> Finding | None:
    """Return the finding of a requirement that the plan's policy does not have; None if it does not apply."""
    from rrpolicy.planning.assess import assess

    policy = plan.policy
    speaks_of = {*requirement.where, *getattr(requirement.options, "sensitive", ())}
    if requirement.model not in registry.privacy_models or not speaks_of <= {a.name for a in policy.released}:
        return None
    asked = replace(policy, requirements=(replace(requirement, max_records=policy.source.max_records),), gates=())
    try:
        if plugin_refusals(asked, registry):
            return None
        return assess(asked, registry, plan.channel, original, plan.derived).findings[0]
    except PolicyError:
        return None  # no assessor covers such a channel


def _number_changes(
    before: _PolicyNumbers, after: _PolicyNumbers, asked: Mapping[str, Effect]
) -> Iterator[NumberChange]:
    """Yield each number before and after; `asked` contains the effect on the requirements of both policies."""
    for name in dict.fromkeys([*before.findings, *after.findings]):
        one, other = before.findings.get(name), after.findings.get(name)
        was, now = (None if f is None or f.verdict is Verdict.UNDECIDED else f.achieved for f in (one, other))
        given = (() if one is None else one.given, () if other is None else other.given)
        yield NumberChange(ImpactKind.GUARANTEE, name, was, now, _guarantee_change(one, other, asked.get(name)), *given)
    for name in dict.fromkeys([*before.utility, *after.utility]):
        was, now = (None if (g := side.utility.get(name)) is None else g.expected for side in (before, after))
        yield NumberChange(ImpactKind.UTILITY, name, was, now)
    errors = [{e.attributes: e.error for e in side.errors} for side in (before, after)]
    for attributes in dict.fromkeys([*errors[0], *errors[1]]):
        was, now = (None if (value := side.get(attributes)) is None else Measure(value) for side in errors)
        yield NumberChange(ImpactKind.ERROR, " x ".join(attributes), was, now)


def _guarantee_change(old: Finding | None, new: Finding | None, asked: Effect | None) -> Effect | None:
    """Return the effect on a guarantee; None if a number is missing, or if the better direction is unknown.

    A number that satisfies a limit lies on its better side, as does the limit of a stronger requirement: this
    determines whether greater numbers are better.
    """
    if old is None or new is None or old.achieved is None or new.achieved is None:
        return None
    if _equal_within_tolerance(old.achieved, new.achieved):
        gained, lost = set(old.given) - set(new.given), set(new.given) - set(old.given)
        return Effect.of(weaker=bool(lost) and not old.given, stronger=bool(gained) and not new.given)
    sides = {side for side in (_better_side(old), _better_side(new)) if side} or _limit_direction(old, new, asked)
    if len(sides) != 1:
        return None
    rises = new.achieved.value > old.achieved.value
    better = rises if sides == {1} else not rises
    return Effect.of(weaker=not better, stronger=better)


def _better_side(finding: Finding) -> int:
    """Return 1 if numbers above the limit are better, -1 if those below are, 0 if the limit is met exactly."""
    if finding.limit is None or finding.achieved is None or finding.verdict is Verdict.UNDECIDED:
        return 0
    above = (finding.achieved.value > finding.limit) - (finding.achieved.value < finding.limit)
    return above if finding.verdict is Verdict.SATISFIED else -above


def _limit_direction(old: Finding, new: Finding, asked: Effect | None) -> set[int]:
    """Return the side of the old limit on which the new one lies, if it is the better or the worse one."""
    if old.limit is None or new.limit is None or asked not in {Effect.STRONGER, Effect.WEAKER}:
        return set()
    rises = (new.limit > old.limit) == (asked is Effect.STRONGER)
    return {1 if rises else -1} if new.limit != old.limit else set()


def _equal_within_tolerance(one: Measure, other: Measure) -> bool:
    """Return whether two numbers are equal within the tolerance, if both are known."""
    noise = 3 * (one.error + other.error) if Standing.ESTIMATE in {one.standing, other.standing} else 0.0
    return math.isclose(one.value, other.value, rel_tol=RELATIVE_TOLERANCE, abs_tol=noise)
