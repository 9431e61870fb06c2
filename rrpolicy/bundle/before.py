"""The report before the decision: the page of a plan, passing or not, and of a policy that no plan can be made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rrpolicy.bundle.manifest import manifest
from rrpolicy.report import Obstacle, Report
from rrpolicy.report_blocks import Fact
from rrpolicy.reports.alternatives import alternatives
from rrpolicy.reports.attributes import true_values
from rrpolicy.reports.before_after import protection_panel
from rrpolicy.reports.decision import points, solved
from rrpolicy.reports.fill import audited_bar, declared_bar, described, dropped_columns
from rrpolicy.reports.findings import finding_row, utility_row
from rrpolicy.reports.pairs import alone, pair_panel
from rrpolicy.reports.tiles import tiles

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.planning.preview import Outlook
    from rrpolicy.policy.model import Policy
    from rrpolicy.registry import Registry
    from rrpolicy.reports.alternatives import ComparedWith

REFUSED = "No release satisfies this policy: nothing could be planned."


def plan_report(outlook: Outlook, registry: Registry, compared: ComparedWith | None = None) -> Report:
    """Return the page of a plan.

    Args:
        outlook: the plan, what was found of it, and whether it passes.
        registry: of the policy's plugins.
        compared: what else could be released.
    """
    plan, assessment = outlook.plan, outlook.assessment
    policy, optimised = plan.policy, solved(plan.origins)
    about = manifest(plan, assessment, {}, label=None, test=False, governance=outlook.governance)
    rows = tuple(finding_row(f, registry.privacy_models, solved=optimised) for f in assessment.findings)
    useful = tuple(utility_row(f, waivers=outlook.governance.waivers) for f in assessment.utility)
    remarks = tuple(dict.fromkeys((*plan.remarks, *outlook.decision.warnings)))
    decoders = plan.channel.decoders()
    panel = protection_panel(assessment.protection, assessment.findings, remarks)
    page = described(about, plan.origins, rows, useful)
    return replace(
        page,
        page="plan",
        bar=(*audited_bar(about, tested=assessment.tested), *page.bar),
        true_values=true_values(about.attributes, decoders),
        passed=outlook.passed,
        points=points(about.attributes, decoders, assessment.findings, outlook.governance, remarks, panel=panel),
        tiles=tiles(assessment.findings, about.attributes, decoders, errors=alone(outlook.errors)),
        protection=panel,
        assumptions=assessment.audited,
        remarks=tuple(Fact(r.name.replace("-", " ").capitalize(), r.text) for r in plan.remarks),
        dropped=dropped_columns(policy),
        sections=plan.channel.sections(plan.records, None),
        pairs=pair_panel(outlook.errors),
        following=_following(outlook),
        obstacles=tuple(map(_obstacle, outlook.problems)),
        alternatives=alternatives(compared),
    )


def refused_report(policy: Policy, problems: Sequence[Problem], compared: ComparedWith | None = None) -> Report:
    """Return the page of a policy that no plan can be made of.

    Args:
        policy: resolved.
        problems: why.
        compared: what else could be released.
    """
    again = Fact("Change the policy, then plan again", "rrpolicy plan POLICY --report PAGE.html")
    return Report(
        page="plan",
        title=f"{policy.name}, version {policy.version}",
        decision=REFUSED,
        passed=False,
        facts=(Fact("Mechanism", policy.mechanism.name),),
        assumptions=(),
        findings=(),
        derived=(),
        remarks=(),
        attributes=(),
        dropped=dropped_columns(policy),
        marginals=(),
        utility=(),
        sections=(),
        provenance=(Fact("SHA-256 of the resolved policy", policy.digest()),),
        bar=declared_bar(policy.owner, policy.purpose, policy.governance),
        following=(again,),
        obstacles=tuple(map(_obstacle, problems)),
        alternatives=alternatives(compared),
    )


def _obstacle(problem: Problem) -> Obstacle:
    place = problem.place
    where = "" if place is None else f"line {place.line}{f', {place.key}' if place.key else ''}"
    return Obstacle(problem.code, problem.message, problem.expected or "", problem.hint or "", where)


def _following(outlook: Outlook) -> tuple[Fact, ...]:
    if outlook.passed:
        return (Fact("Release exactly this", "rrpolicy release PLAN --out BUNDLE"),)
    return (Fact("Change the policy, then plan again", "rrpolicy plan POLICY --report PAGE.html"),)
