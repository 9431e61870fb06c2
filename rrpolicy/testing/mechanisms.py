"""Checks of a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.self_check import channel_contradictions
from rrpolicy.errors import PolicyError, RequirementError, RRPolicyError
from rrpolicy.finding import Basis, Derived, Origin, Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Mechanism, Outline, Proposal, Remark, Task
from rrpolicy.planning.derived_statistics import RELEASED, possible_statistics
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import Assessor
from rrpolicy.serialization import plain
from rrpolicy.testing.assertions import check_options, convert_to_assertion, demand, returned_or_none
from rrpolicy.testing.channels import channel_round_trip, check_channel, json_round_trip
from rrpolicy.testing.memory import TableInMemory, similar_tables

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

UNREACHABLE = (RequirementError, PolicyError)
"""The errors with which a mechanism reports that nothing can be planned."""


@convert_to_assertion("the arguments of the mechanism")
def check_mechanism(
    mechanism: Mechanism[Any],
    policy: OpenedPolicy,
    tables: Sequence[Original] = (),
    *,
    impossible: Sequence[OpenedPolicy] = (),
    refused: Sequence[Mapping[str, object]] = (),
) -> Proposal:
    """Check that a mechanism outlines without data, plans deterministically, and plans a channel that can be released.

        policy = open_policy(policy_text("..."), [acme_oue])
        check_mechanism(UnaryEncoding(), policy, refused=[{"keep": 2}])

    Args:
        mechanism: the mechanism to check.
        policy: a policy that selects it, with valid options, and achievable requirements.
        tables: tables to plan for, with equal numbers of records; by default made-up ones. Slightly different ones
            are derived from the first: properties that the outline does not announce must be equal for all.
        impossible: policies that select it with requirements that it cannot achieve.
        refused: tables of its options that must be refused.

    Returns:
        its plan for the first table, for further assertions.

    Raises:
        AssertionError: with the violated requirement.
    """
    settings = policy.policy.mechanism
    demand(mechanism.name == settings.name, "the policy chooses another mechanism")
    check_options(mechanism.options)
    demand(isinstance(settings.options, mechanism.options), "the options are of another class than the mechanism's")
    for options in refused:
        taken = _accepts_options(mechanism, options, policy.policy)
        demand(not taken, f"options {dict(options)} are taken, and should be refused")
    outline = mechanism.outline(settings.options, policy.policy)
    demand(outline == mechanism.outline(settings.options, policy.policy), "two outlines of one policy differ")
    _check_outline(outline, policy)
    others = similar_tables(policy.policy, *tables)
    proposal = _reachable_plan(mechanism, policy, others[0])
    _check_proposal(outline, proposal, policy.policy)
    check_channel(
        proposal.channel, policy, others[:1] if not isinstance(proposal.channel, Product) else tables or others[:1]
    )
    _check_data_disclosure(mechanism, outline, policy, others)
    _check_without_data(mechanism, outline, policy, others[0], proposal)
    _check_undecided(mechanism, policy, others[0])
    _check_observed(mechanism, policy, others[0])
    _check_renamed(mechanism, policy, others[0])
    for other in impossible:
        _check_impossible(mechanism, other, tables)
    return proposal


def _accepts_options(mechanism: Mechanism[Any], options: Mapping[str, object], policy: Policy) -> bool:

    def outline() -> Outline:
        return mechanism.outline(mechanism.options.model_validate(options), policy)

    return returned_or_none(f"refusing options {dict(options)}", outline, ValidationError, PolicyError) is not None


def _check_outline(outline: Outline, policy: OpenedPolicy) -> None:
    released = {a.name for a in policy.policy.released}
    demand(
        isinstance(outline.channel, type) and issubclass(outline.channel, Channel), "the outline contains no channel"
    )
    placed = [name for names, axis in outline.axes for name in names]
    demand(len(set(placed)) == len(placed), "the outline has two axes of one attribute")
    if issubclass(outline.channel, Product):
        categorical = {a.name for a in policy.policy.released if a.categorical}
        demand(set(placed) == categorical, f"the outline has axes of {sorted(placed)}, not of {sorted(categorical)}")
    for said, names in (("solves", outline.solved), ("keeps", outline.kept)):
        strange = sorted(set(names) - released)
        demand(not strange, f"the outline {said} {strange}, which are not released")
    demand(all(isinstance(d, Derived) for d in outline.derived), "the outline derives something else than `Derived`")
    if outline.fixed is not None:
        demand(not outline.solved, "the outline fixes the channel, and solves parameters of it")


def _requirement_assessors(
    policy: OpenedPolicy, original: Original, outline: Outline
) -> tuple[tuple[Requirement, Assessor], ...]:
    resolved = original.policy
    return tuple((r, policy.registry.assessor(r, resolved, outline)) for r in policy.policy.requirements)


def _task(mechanism: Mechanism[Any], policy: OpenedPolicy, original: Original) -> tuple[BaseModel, Task]:
    resolved, options = original.policy, policy.policy.mechanism.options
    outline = mechanism.outline(options, resolved)
    return options, Task(resolved, original, _requirement_assessors(policy, original, outline))


def _reachable_plan(mechanism: Mechanism[Any], policy: OpenedPolicy, original: Original) -> Proposal:
    """Return the plan of a table for which the requirements are achievable."""
    options, task = _task(mechanism, policy, original)
    try:
        with convert_to_assertion("plan()", RequirementError, PolicyError):
            proposal, again = mechanism.plan(options, task), mechanism.plan(options, task)
    except (RequirementError, PolicyError) as error:
        raise AssertionError(f"nothing is planned; give `tables` for which it can be: {error}") from error
    same = channel_round_trip(proposal.channel) == channel_round_trip(again.channel)
    same = same and (proposal.origins, proposal.remarks) == (again.origins, again.remarks)
    demand(same, "two plans of one table differ: a mechanism is deterministic")
    _check_reached(proposal, task)
    return proposal


def _check_reached(proposal: Proposal, task: Task) -> None:
    for requirement, assessor in task.requirements:
        finding = assessor.finding(requirement, proposal.channel, task.original)
        demand(
            finding.verdict is Verdict.SATISFIED,
            f"{requirement.model} is not satisfied by the plan: plan must raise RequirementError otherwise",
        )


def _check_proposal(outline: Outline, proposal: Proposal, policy: Policy) -> None:
    channel = proposal.channel
    for contradiction in channel_contradictions(channel, policy.released):
        raise AssertionError(contradiction)
    demand(isinstance(channel, outline.channel), "the plan's channel is of another class than the outline's")
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    planned = tuple((axis.attributes, type(axis)) for axis in axes)
    demand(planned == outline.axes, f"the plan's axes are not the outline's: {planned} against {outline.axes}")
    if outline.fixed is not None:
        fixed = channel_round_trip(outline.fixed) == channel_round_trip(channel)
        demand(fixed, "the outline fixes another channel than the one that is planned")
    known = {a for axis in axes for a in axis.attributes} | {a.name for a in policy.released}
    demand(set(proposal.origins) <= known, "origins name attributes that are not released")
    demand(all(isinstance(o, Origin) for o in proposal.origins.values()), "origins are not of `Origin`")
    demand(set(proposal.unrounded) <= known, "unrounded parameters are of attributes that are not released")
    without = sorted({a for x in axes if not isinstance(x, Identity) for a in x.attributes} - set(proposal.origins))
    demand(not without, f"origins do not state the source of the parameters of {without}")
    for remark in proposal.remarks:
        demand(isinstance(remark, Remark) and bool(remark.text.strip()), "a remark is empty")
    for name, said in (("unrounded", proposal.unrounded), ("remarks", proposal.remarks)):
        try:
            json_round_trip(name, plain(said))
        except (TypeError, AttributeError) as error:
            raise AssertionError(
                f"{name} contain what a plan cannot contain: {error}; numbers are int and float"
            ) from error


def _check_data_disclosure(
    mechanism: Mechanism[Any], outline: Outline, policy: OpenedPolicy, tables: Sequence[Original]
) -> None:
    """Compare plans of tables of equal size: properties not announced as chosen from the data are equal."""
    plans = [_plan_or_none(mechanism, policy, table) for table in tables]
    chosen = {name for plan in plans if plan for name, origin in plan.origins.items() if origin is Origin.DATA}
    silent = sorted(chosen - set(outline.solved)) if not outline.derived else []
    demand(not silent, f"the parameters of {silent} are chosen from the data, and the outline does not announce it")
    announced = possible_statistics(
        policy.policy, outline, [a for _, a in _requirement_assessors(policy, tables[0], outline)]
    )
    refused = None in plans and RELEASED not in announced
    demand(not refused, "of two tables of as many records one is refused, and no requirement reads the table")
    if not outline.solved and not outline.derived:
        found = {str(channel_round_trip(plan.channel)) for plan in plans if plan}
        demand(len(found) == 1, "two tables of as many records get other plans, and the outline announces nothing")
    for plan in (plan for plan in plans if plan is not None):
        _check_data_independence(plans[0], plan, chosen)


def _check_data_independence(one: Proposal | None, other: Proposal, chosen: set[str]) -> None:
    """Compare the axes of two plans whose parameters are declared independent of the data."""
    if one is None:
        return
    pairs = zip(getattr(one.channel, "axes", ()), getattr(other.channel, "axes", ()), strict=True)
    for axis, changed in pairs:
        if not chosen & set(axis.attributes):
            same = axis.to_json() == changed.to_json()
            names = ", ".join(axis.attributes)
            demand(
                same,
                f"the parameters of {names} differ between two tables, and no origin states that they depend on data",
            )


def _plan_or_none(mechanism: Mechanism[Any], policy: OpenedPolicy, table: Original) -> Proposal | None:
    """Return the plan of a table, or None if the requirements are reported as unachievable for it."""
    options, task = _task(mechanism, policy, table)
    proposal = returned_or_none("plan() of another table", lambda: mechanism.plan(options, task), *UNREACHABLE)
    if proposal is not None:
        _check_reached(proposal, task)
    return proposal


def _check_without_data(
    mechanism: Mechanism[Any], outline: Outline, policy: OpenedPolicy, table: Original, proposal: Proposal
) -> None:
    """Plan with the number of records alone: the plan is refused, or does not depend on the data."""
    options, task = _task(mechanism, policy, table)
    alone, said = replace(task, original=task.records), "planning with the number of records alone, not PolicyError"
    planned = returned_or_none(f"{said} (RR255),", lambda: mechanism.plan(options, alone), *UNREACHABLE)
    if planned is not None and not outline.solved and not outline.derived:
        same = channel_round_trip(planned.channel) == channel_round_trip(proposal.channel)
        demand(same, "the number of records alone gives another plan than the table, and the outline announces nothing")


def _check_undecided(mechanism: Mechanism[Any], policy: OpenedPolicy, table: Original) -> None:
    """Plan with the number of records alone if a requirement needs the table: an undecided one is not a failure."""
    options, task = _task(mechanism, policy, table)
    known = [(r, a) for r, a in task.requirements if a.rests_on(r) <= Basis.CHANNEL]
    asked = (
        *task.requirements,
        *(_table_requirement(mechanism, policy, table) if len(known) == len(task.requirements) else ()),
    )
    whole = replace(task, requirements=asked)
    alone = replace(whole, original=task.records)
    if _is_planned(mechanism, options, alone) is False:
        turned = _is_planned(mechanism, options, whole) and _is_planned(
            mechanism, options, replace(alone, requirements=tuple(known))
        )
        demand(
            not turned,
            "with the number of records alone it raises RequirementError although only the table decides; refuse "
            "`failed` requirements, not `undecided` ones"
            "",
        )


def _table_requirement(
    mechanism: Mechanism[Any], policy: OpenedPolicy, table: Original
) -> tuple[tuple[Requirement, Assessor], ...]:
    """Return a requirement that every channel meets and that is decided by the table; empty if not applicable."""
    model = policy.registry.privacy_models["attribute-disclosure"]
    requirement = Requirement(model.name, model.options.model_validate({"threshold": 1}))
    if model.refuses(requirement.options, table.policy) is not None:
        return ()
    try:
        outline = mechanism.outline(policy.policy.mechanism.options, table.policy)
        return ((requirement, policy.registry.assessor(requirement, table.policy, outline)),)
    except PolicyError:
        return ()


def _is_planned(mechanism: Mechanism[Any], options: BaseModel, task: Task) -> bool | None:
    try:
        with convert_to_assertion("plan()", RequirementError, PolicyError):
            mechanism.plan(options, task)
    except RequirementError:
        return False
    except PolicyError:
        return None
    return True


def _check_observed(mechanism: Mechanism[Any], policy: OpenedPolicy, table: Original) -> None:
    """Plan with the number of records alone if a domain is to be observed: the plan must be refused."""
    changed = next((a for a in table.policy.released if a.categorical), None)
    if changed is None:
        return
    observed = replace(changed, domain=None, observed=True)
    resolved = replace(table.policy, attributes={**table.policy.attributes, changed.name: observed})
    options, asked = policy.policy.mechanism.options, f"where the domain of '{changed.name}' is observed, "
    try:
        with convert_to_assertion(asked + "outline()", PolicyError):
            outline = mechanism.outline(options, resolved)
        required = tuple((r, policy.registry.assessor(r, resolved, outline)) for r in resolved.requirements)
        with convert_to_assertion(
            asked + "planning with the number of records alone, not PolicyError (RR255),", RRPolicyError
        ):
            mechanism.plan(options, Task(resolved, table.records, required))
    except RRPolicyError:
        return
    raise AssertionError(asked + "something is planned with the number of records alone, and not refused (RR255)")


def _check_renamed(mechanism: Mechanism[Any], policy: OpenedPolicy, table: Original) -> None:
    """Plan for columns that are released under other names."""
    attributes = {n: replace(a, release_as=f"{n}_released") for n, a in table.policy.attributes.items()}
    renamed = replace(table.policy, attributes=attributes)

    def plan() -> Proposal:
        return mechanism.plan(*_task(mechanism, policy, replace(TableInMemory.copy(table), policy=renamed)))

    proposal = returned_or_none("planning with columns released under other names", plan, *UNREACHABLE)
    for contradiction in () if proposal is None else channel_contradictions(proposal.channel, renamed.released):
        raise AssertionError(contradiction)


def _check_impossible(mechanism: Mechanism[Any], policy: OpenedPolicy, tables: Sequence[Original]) -> None:
    demand(policy.policy.mechanism.name == mechanism.name, "an impossible policy chooses another mechanism")
    for table in tables or similar_tables(policy.policy)[:1]:
        try:
            with convert_to_assertion(
                "planning what is impossible, not RequirementError (RR102),", RequirementError, PolicyError
            ):
                options, task = _task(mechanism, policy, table)
                proposal = mechanism.plan(options, task)
        except (RequirementError, PolicyError):
            continue
        _check_reached(proposal, task)
        raise AssertionError("a policy that is declared impossible is planned, and every requirement is satisfied")
