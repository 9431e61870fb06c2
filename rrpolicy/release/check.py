"""What can be said of a policy before any data: does it make sense, can it be assessed, what holds already.

No numpy, no engine: fast enough for a pre-commit hook.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rrpolicy.channel.base import Channel
from rrpolicy.errors import PolicyError, Problem, RRPolicyError
from rrpolicy.finding import Basis, Finding, Verdict
from rrpolicy.mechanism import Outline
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import Assessor
from rrpolicy.registry import Registry
from rrpolicy.release.assess import words
from rrpolicy.release.opening import Opened

MANY_RECORDS = 2**62


@dataclass(frozen=True, slots=True)
class Checked:
    """What is decided without data; `undecided` findings wait for `plan`."""

    policy: Policy
    findings: tuple[Finding, ...]
    disclosed: tuple[str, ...]


def check(opened: Opened) -> Checked:
    """Check a policy without data.

    Args:
        opened: a policy that loaded, with its registry.

    Raises:
        PolicyError: everything that is wrong, at once (RR22x to RR238).
        RefusedError: a plugin failed.
    """
    policy, registry = opened.policy, opened.registry
    problems = list(refusals(policy, registry))
    outline: Outline | None = None
    try:
        outline = registry.mechanisms[policy.mechanism.name].outline(policy.mechanism.options, policy)
    except PolicyError as error:
        problems += error.problems
    assessors: list[tuple[Requirement, Assessor]] = []
    if outline is not None:
        for requirement in policy.requirements:
            try:
                assessors.append((requirement, registry.assessor(requirement, policy, outline)))
            except PolicyError as error:
                problems += error.problems
        if outline.fixed is not None:
            problems += undeclared(policy, outline.fixed)
    if problems:
        raise PolicyError(problems)
    fixed = None if outline is None else outline.fixed
    findings = tuple(_decide(r, a, fixed, policy, registry) for r, a in assessors)
    return Checked(policy, findings, disclosed(policy))


def refusals(policy: Policy, registry: Registry) -> tuple[Problem, ...]:
    """Return what the privacy models themselves refuse of a policy."""
    found: list[Problem] = []
    if not policy.requirements:
        found.append(
            Problem(
                "RR226",
                "the policy requires nothing: there is no [[privacy]] entry",
                policy.place("policy"),
                hint='say what must hold, such as\n[[privacy]]\nmodel = "local-dp"\nepsilon = 4',
            )
        )
    for requirement in policy.requirements:
        reason = registry.privacy_models[requirement.model].refuses(requirement.options, policy)
        if reason is not None:
            found.append(Problem("RR227", f"{requirement.model}: {reason}", requirement.place))
    return tuple(found)


def undeclared(policy: Policy, channel: Channel) -> tuple[Problem, ...]:
    """Return what the channel's public description discloses and the policy does not accept."""
    return tuple(
        Problem(
            "RR238",
            f"publishing the channel tells the original's '{item}' exactly, and the policy does not accept that",
            policy.place("mechanism"),
            hint=f'add `accept = ["{item}"]` under [release] if that is public anyway, or declare the marginal',
        )
        for item in channel.discloses()
        if item not in policy.release.accept
    )


def disclosed(policy: Policy) -> tuple[str, ...]:
    """Return, in words, what of the release is a statistic of the data by the policy's own choice."""
    return tuple(
        f"the domain of '{a.release_as or a.name}' was observed in the data" for a in policy.released if a.observed
    )


def _decide(
    requirement: Requirement, assessor: Assessor, fixed: Channel | None, policy: Policy, registry: Registry
) -> Finding:
    """Assess at the fewest and at very many records: a verdict that is the same at both needs no data."""
    described = words(requirement, registry)
    undecided = Finding(
        requirement.model,
        requirement.model,
        described,
        requirement.place,
        None,
        None,
        Verdict.UNDECIDED,
        assessor.basis,
        "decided by `rrpolicy plan`, which reads the data",
    )
    if fixed is None or assessor.basis > Basis.CHANNEL:
        return undecided
    try:
        fewest, most = (assessor.assess(requirement, fixed, n) for n in (policy.source.min_rows or 1, MANY_RECORDS))
    except RRPolicyError:
        return undecided
    if fewest.verdict is not most.verdict:
        return replace(undecided, limit=fewest.limit)
    told = fewest.reached if fewest.reached == most.reached else None
    return replace(fewest, requirement=described, place=requirement.place, reached=told)
