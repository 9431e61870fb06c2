"""People's decisions on a policy at a day: waivers that are in force, and a review that is due.

A waiver permits an unmet utility gate, a point of judgement or a due review until a day. It never touches a
[[privacy]] entry: a guarantee that is not met is not a matter of opinion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import permutations

from msgspec import Struct, field

from rrpolicy.declarations import (
    ASSOCIATION_PREFIX,
    REVIEW_KEY,
    WARNING_PREFIX,
    Governance,
    Waiver,
)
from rrpolicy.errors import Problem
from rrpolicy.finding import UtilityFinding, Verdict
from rrpolicy.mechanism import Remark
from rrpolicy.planning.review_points import (
    ASSOCIATION_REMARK,
    CSV_FORMULA_REMARK,
    GIVEAWAY_REMARK,
    SURVEY_DESIGN_REMARK,
    UNIQUE_VALUE_REMARK,
    UNPROTECTED_GROUPS_REMARK,
)
from rrpolicy.policy.identity import association_id, entry_identities
from rrpolicy.policy.model import Policy
from rrpolicy.policy.tree.problems import choices_text, suggest
from rrpolicy.source.units import UNTESTED_UNITS

NO_LIMIT_REMARK = "no-limit"
"""Names the warning of a requirement that leaves a part without a limit."""
MISSING_CODE_REMARK = "missing-code"
"""Names the warning of a domain that contains numbers which look like codes of missing values."""
SENSITIVE_NAME_REMARK = "sensitive-name"
"""Names the warning of an insensitive column whose name suggests a sensitive attribute."""
WARNINGS = (
    ASSOCIATION_REMARK,
    UNIQUE_VALUE_REMARK,
    CSV_FORMULA_REMARK,
    MISSING_CODE_REMARK,
    NO_LIMIT_REMARK,
    SENSITIVE_NAME_REMARK,
    SURVEY_DESIGN_REMARK,
    UNTESTED_UNITS,
    UNPROTECTED_GROUPS_REMARK,
)
"""Names of the points that need a person's judgement."""
REVIEW_REMARKS = (*WARNINGS, GIVEAWAY_REMARK)
"""The same, with those that are refused unless waived; a mechanism's other remarks explain its choice."""
PROTECTION_REMARK = "protection"
"""The name with which a waiver permits a worse grade of protection than the policy requires."""
EXPIRY_CODES = ("RR415", "RR416")
"""Codes of problems caused by the day."""


def _current_day() -> date:
    return datetime.now().astimezone().date()


class Terms(Struct, frozen=True):
    """The day on which a policy is judged, and whether its waivers count.

    Attributes:
        today: the day; default: today, in local time.
    """

    today: date = field(default_factory=_current_day)
    waivers: bool = True

    @classmethod
    def of(cls, today: date | None, *, waivers: bool = True) -> Terms:
        """Return the terms of a call: None is today."""
        return cls(today or _current_day(), waivers)

    def in_force(self, governance: Governance) -> Mapping[str, Waiver]:
        """Return the waivers in force on that day, by the finding that they waive."""
        counted = governance.waivers if self.waivers else ()
        return {waiver.finding: waiver for waiver in counted if not waiver.expired(self.today)}


class WaivedProblem(Struct, frozen=True):
    """A problem that would prevent the release, permitted by a waiver.

    Attributes:
        what: its name, as the waiver has it.
        waiver: the waiver that permits it, with the reason and the last day.
    """

    what: str
    message: str
    waiver: Waiver

    def __str__(self) -> str:
        return f"{self.message}; {self.waiver}"


def expired_problems(policy: Policy, terms: Terms) -> tuple[tuple[Problem, ...], tuple[WaivedProblem, ...]]:
    """Return problems caused by the day: a due review (RR415) unless waived, and expired waivers (RR416)."""
    governance = policy.governance
    problems, waived = [], []
    review, waiver = governance.context.review, terms.in_force(governance).get(REVIEW_KEY)
    if review is not None and terms.today > review:
        message = f"the policy was to be reviewed by {review}"
        if waiver is None:
            hint = "review the policy and state a later day; it makes no plan stale and changes no number"
            problems.append(Problem("RR415", message, policy.place("context.review_by"), "a day to come", hint))
        else:
            waived.append(WaivedProblem(REVIEW_KEY, message, waiver))
    for gone in governance.waivers if terms.waivers else ():
        if gone.expired(terms.today):
            message = f"the waiver of {gone.finding} by {gone.approver} ended on {gone.until}"
            hint = "correct what it waives, then take the waiver out; or have it approved again, until a later day"
            problems.append(Problem("RR416", message, gone.place, "a day to come", hint))
    return tuple(problems), tuple(waived)


def split_warnings(
    warnings: Iterable[Remark], governance: Governance, terms: Terms
) -> tuple[tuple[Remark, ...], tuple[WaivedProblem, ...]]:
    """Return the points of judgement without a waiver, and those with one."""
    force = terms.in_force(governance)
    left, waived = [], []
    for remark in warnings:
        waiver = force.get(warning_id(remark)) or force.get(WARNING_PREFIX + remark.name)
        if waiver is None:
            left.append(remark)
        else:
            waived.append(WaivedProblem(warning_id(remark), remark.text, waiver))
    return tuple(left), tuple(waived)


def warning_id(remark: Remark) -> str:
    """Return the name of a point of judgement, such as `warning/held-by-one?attribute=zip`."""
    if remark.name == GIVEAWAY_REMARK:
        return association_id(remark.attribute, remark.other)
    return f"{WARNING_PREFIX}{remark.name}" + (f"?attribute={remark.attribute}" if remark.attribute else "")


def invalid_waivers(policy: Policy) -> Iterator[Problem]:
    """Yield waivers of findings that cannot be waived, or do not exist (RR254)."""
    known = entry_identities(policy)
    may = [*known.gates, *(WARNING_PREFIX + name for name in WARNINGS), PROTECTION_REMARK, REVIEW_KEY]
    for waiver in policy.governance.waivers:
        finding = waiver.finding
        of_column, _, column = finding.partition("?attribute=")
        if finding in may or (of_column in may and column in policy.attributes and finding.startswith(WARNING_PREFIX)):
            continue
        if finding.startswith(ASSOCIATION_PREFIX) and finding in _column_pair_ids(policy):
            continue
        if finding in known.requirements or finding.startswith("privacy"):
            message = "a [[privacy]] entry has no waiver: no opinion changes a guarantee"
            hint = "take the waiver out; relax the requirement in [[privacy]] if less is meant, where everybody sees it"
        else:
            message = f"there is no '{finding}' to be waived"
            hint = suggest(finding, may) or "`rrpolicy check` lists the names"
        yield Problem("RR254", message, waiver.place, choices_text(may), hint)


def _column_pair_ids(policy: Policy) -> Iterator[str]:
    """Yield the names of pairs of released columns in which one may reveal the other."""
    names = [attribute.name for attribute in policy.released]
    return (association_id(exact, randomised) for exact, randomised in permutations(names, 2))


def unwaived_gates(utility: Iterable[UtilityFinding], governance: Governance) -> tuple[str, ...]:
    """Return the utility gates that are not met and that no waiver names, including expired ones."""
    waived = {waiver.finding for waiver in governance.waivers}
    return tuple(u.identity for u in utility if u.verdict is not Verdict.SATISFIED and u.identity not in waived)
