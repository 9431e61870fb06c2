"""The result of `rrpolicy plan`: the plan with its findings, and the expected error of each marginal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from rrpolicy.canonical_json import Json, exact
from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Block,
    Decoder,
    IdentityDecoder,
    RecodeDecoder,
    RetentionDecoder,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Governance
from rrpolicy.errors import DataError, GatedResult, Problem
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Remark
from rrpolicy.planning.assess import Assessment, assess
from rrpolicy.planning.check import RequirementStatement, requirement_statements
from rrpolicy.planning.derived_statistics import acceptance_hint
from rrpolicy.planning.gate import Decision, gate
from rrpolicy.planning.ledger_account import Account, BudgetCheck
from rrpolicy.planning.plan import IdentifiedWarning, MarginalError, Plan, PlannedMechanism, make_plan
from rrpolicy.planning.waivers import REVIEW_REMARKS, Terms, warning_id
from rrpolicy.policy.model import Policy
from rrpolicy.registry import Registry
from rrpolicy.serialization import record
from rrpolicy.source.units import UNTESTED_UNITS, unit_choice_hint

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

MAX_PAIRS = 400
"""The most pairs of columns whose error is computed, the first ones of the channel."""


class PlanResult(Struct, GatedResult, frozen=True):
    """A plan, its findings, whether it passes, and its remaining utility.

    Attributes:
        plan: the plan that a release executes.
        assessment: findings and utility.
        decision: decision of the gate.
        errors: errors of every one-way and two-way marginal.
        stated: the origin of each requirement, in the order of the findings.
        governance: people's declarations on the policy, as its file states them now; not a part of the plan.
        weighed: the budget used with earlier releases of the same people; None if the policy names no ledger.
    """

    plan: Plan
    assessment: Assessment
    decision: Decision
    errors: tuple[MarginalError, ...]
    stated: tuple[RequirementStatement, ...]
    governance: Governance
    weighed: BudgetCheck | None = None

    def with_tag(self, source_tag: str) -> PlanResult:
        """Return the outlook of the plan with the HMAC of its source."""
        return replace(self, plan=self.plan.with_tag(source_tag))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems that prevent a release: at the gate, and of the budget."""
        return self.decision.problems + (() if self.weighed is None else self.weighed.problems)

    @property
    def accept(self) -> str | None:
        """Return the line to paste below [release] if a requirement is conditional on unaccepted statistics."""
        policy = self.plan.policy
        needed = any(set(f.given) - set(policy.release.accept) for f in self.assessment.findings)
        return acceptance_hint(policy, self.plan.derived) if needed else None

    def to_json(self) -> dict[str, Json]:
        """Return the document of `plan --json` and `plan --out`."""
        policy = self.plan.policy
        document = replace(
            self.plan.document,
            mechanism=PlannedMechanism(policy.mechanism.name, randomisation_parameters(self.plan)),
            passed=self.passed,
            protection=self.assessment.protection,
            findings=self.assessment.findings,
            utility=self.assessment.utility,
            assumptions=tuple(self.assessment.audited),
            accept=self.accept,
            expected_errors=self.errors,
            dropped=tuple(a.name for a in policy.attributes.values() if a.role.dropped),
            unchanged=tuple(unrandomised_columns(self.plan)),
            governance=self.governance,
            governance_digest=self.governance.digest(),
            waived=self.decision.waived,
            warnings=tuple(IdentifiedWarning(warning_id(remark), remark.text) for remark in self.decision.warnings),
            ledger=UNSET if self.weighed is None else self.weighed,
        )
        return record(document)


def plan_and_assess(  # noqa: PLR0917 those of `make_plan`, and two more
    policy: Policy,
    registry: Registry,
    original: Original | int,
    progress: Callable[[str, float], None] = lambda *_: None,
    elsewhere: Original | None = None,
    terms: Terms | None = None,
    account: Account | None = None,
) -> PlanResult:
    """Plan and assess; see `make_plan` for the arguments and errors; `terms` are today's by default.

    `account` is the ledger that the policy names.
    """
    series = policy.release.series
    begun = None if account is None or series is None else account.begun(series)
    plan = make_plan(policy, registry, original, progress, elsewhere, begun)
    progress("assessing", 0.5)
    assessment = assess(plan.policy, registry, plan.channel, original, plan.derived)
    progress("expecting errors", 0.9)
    errors = marginal_errors(plan, original)
    decision = gate(assessment, policy, terms or Terms(), review_warnings(plan))
    weighed = None if account is None else account.weigh(plan, original, assessment.findings)
    return PlanResult(
        plan, assessment, decision, errors, requirement_statements(policy, registry), policy.governance, weighed
    )


def review_warnings(plan: Plan) -> Iterator[Remark]:
    """Yield the points of a plan that need a person's judgement."""
    said = unit_choice_hint(plan.policy)
    if said is not None:
        yield Remark(UNTESTED_UNITS, said)
    yield from (remark for remark in plan.remarks if remark.name in REVIEW_REMARKS)


def unrandomised_columns(plan: Plan) -> tuple[str, ...]:
    """Return the released columns that are not randomised."""
    return tuple(d.column for d in plan.channel.decoders() if isinstance(d, IdentityDecoder))


def exact_columns(plan: Plan) -> tuple[str, ...]:
    """Return the columns that are released exactly: not randomised, or by parameters that change nothing."""
    found: list[str] = []
    for decoder in plan.channel.decoders():
        if isinstance(decoder, IdentityDecoder) or (isinstance(decoder, RetentionDecoder) and not decoder.drawn):
            found += decoder.columns
        elif isinstance(decoder, RecodeDecoder):
            pairs = zip(decoder.attributes, decoder.groups, strict=True)
            kept = [name for name, groups in pairs if all(len(group) == 1 for group in groups)]
            found += [plan.policy.attributes[name].release_as for name in kept]
    return tuple(found)


def randomisation_parameters(plan: Plan) -> dict[str, Json]:
    """Return, for every randomised attribute, its parameters as numbers and exact fractions."""
    found: dict[str, Json] = {}
    for decoder in plan.channel.decoders():
        if isinstance(decoder, IdentityDecoder):
            continue
        name = ",".join(decoder.attributes)
        origin = plan.origins.get(decoder.attributes[0])
        solved = plan.unrounded.get(decoder.attributes[0])
        found[name] = {
            "form": decoder.form,
            **_form_parameters(decoder),
            "origin": None if origin is None else origin.value,
            "unrounded": None if solved is None else dict(solved),
        }
    return found


def _form_parameters(decoder: Decoder) -> dict[str, Json]:
    """Return the chosen parameters of a decoder; of retention in one block its keep probability."""
    none: dict[str, Json] = {"keep_probability": None, "retention_probability": None, "keep_exact": None}
    match decoder:
        case RetentionDecoder(blocks=(block,)):
            return _block_parameters(block)
        case RetentionDecoder(blocks=blocks):
            return {**none, "blocks": [_block_parameters(block) for block in blocks]}
        case AdditionDecoder(set_size=size, labels=labels):
            return {**none, "set_size": size, "values": len(labels)}
        case AnatomyDecoder(size=size):
            return {**none, "group_size": size}
        case _:
            return none


def _block_parameters(block: Block) -> dict[str, Json]:
    return {
        "members": list(block.members),
        "keep_probability": float(block.keep),
        "keep_exact": exact(block.keep),
        "retention_probability": float(block.retention),
        "retention_exact": exact(block.retention),
    }


def marginal_errors(plan: Plan, original: Original | int) -> tuple[MarginalError, ...]:
    """Return the expected errors of the randomised attributes and of their pairs, `MAX_PAIRS` at most."""
    channel = plan.channel
    if not isinstance(channel, Product):
        return ()
    from rrpolicy.channels.product.expected_error import marginal_size, randomised_attributes, root_mean_squared_error

    names = [name for axis in channel.axes for name in axis.attributes]
    noisy = set(randomised_attributes(channel))
    wanted: list[tuple[str, ...]] = [(name,) for name in names if name in noisy]
    wanted += [pair for pair in combinations(names, 2) if noisy & set(pair)][:MAX_PAIRS]

    def error(attributes: tuple[str, ...]) -> float | None:
        try:
            return root_mean_squared_error(channel, original, attributes)
        except DataError:
            return math.inf

    return tuple(MarginalError(each, error(each), marginal_size(channel, each)) for each in wanted)
