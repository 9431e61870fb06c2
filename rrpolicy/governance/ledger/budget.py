"""Checks of a release against the joint budget with earlier releases of the same people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.axes.recode import Recode
from rrpolicy.errors import Place, Problem, RRPolicyError
from rrpolicy.finding import Derived, Finding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.composition import LinkedChannel, ReleaseComponent, composition_obstacle
from rrpolicy.governance.ledger.joint_requirements import (
    JointRequirement,
    applicable_requirements,
    foreign_column_reason,
    single_finding,
    stated_budget,
    unknown_population,
    worst_finding,
)
from rrpolicy.governance.ledger.overlap import (
    JointReleases,
    PresenceGroup,
    combine_releases,
    domain_digests,
    draw_identity,
    overlapping_releases,
    release_component,
)
from rrpolicy.planning.assess import requirement_text
from rrpolicy.planning.ledger_account import BudgetCheck, CompositionEntry, composition_text, shortened_list
from rrpolicy.policy.identity import entry_identities
from rrpolicy.privacy.models import pk_anonymity
from rrpolicy.wording import NOT_MET

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.governance.ledger.chain import Ledger
    from rrpolicy.governance.ledger.entry import ReleaseEntry
    from rrpolicy.planning.plan import Plan
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

ALONE = "there is no earlier release of these people"
NONE = "no rule composes these releases"
UNDECIDED = "it is decided with the table"
OTHER_TABLES = "it rests on the table, and earlier releases were of another one, or of other categories, or too wide"
HINT = (
    "release fewer attributes or hide more of them; raise [[ledger.budget]]; or declare how the tables overlap "
    "(`overlap`), if less is true than what is assumed"
)


EARLIER = "`rrpolicy ledger add LEDGER --budget POLICY --reason TEXT --by NAME` raises it, and stays in the ledger"
OTHERS = (
    "write the name as the ledger has it; if these are other people, `rrpolicy ledger add LEDGER --budget POLICY "
    "--reason TEXT --by NAME` enters them"
)
UNRULED = (
    "declare how the tables overlap (`overlap`), if less is true than what is assumed, or release other people's data; "
    "`uncomposed` under [ledger] states why it is released all the same"
)


def check_budget(  # noqa: PLR0917 each is another thing
    ledger: Ledger,
    policy: Policy,
    registry: Registry,
    plan: Plan,
    original: Original | int,
    findings: Sequence[Finding],
    draw: str | None,
) -> BudgetCheck:
    """Check a plan against the budget; see `rrpolicy.planning.ledger_account.Account`."""
    settings = policy.ledger
    assert settings is not None
    rerun = next((e.name for e in ledger.releases.values() if draw is not None and e.draw == draw), None)
    found = overlapping_releases(ledger.releases, settings.overlap, policy.source.population)
    promised = applicable_requirements(ledger, found, policy.source.population)
    whole = BudgetCheck(settings.file, ledger.head, tuple(entry.name for entry in found.values()), ALONE, rerun=rerun)
    if rerun is not None:
        return whole
    why = unknown_population(ledger, policy.source.population)
    if why is not None:
        place, expected = policy.place("source.population"), "a population that the ledger knows"
        whole = replace(whole, problems=(Problem("RR446", why, place, expected, OTHERS),))
    if not (found or settings.stated or promised):
        return whole
    earlier = tuple(found.values())
    most = max(policy.source.max_records, *(entry.max_records for entry in earlier), 1)
    required = [replace(requirement, max_records=most) for requirement in settings.budget]
    others, lost = _foreign_requirements(promised, policy, most, registry)
    required += [requirement for requirement, _ in others]
    budget = replace(plan.policy, requirements=tuple(required), gates=())
    joint = _joint_with_earlier(plan, earlier, policy, registry, original)
    own: list[Finding | None] = [None] * len(settings.budget) if settings.stated else [*findings]
    own += [None] * len(others)
    alone = list(
        _single_release_values(budget, registry, earlier, _own_findings(budget, registry, plan, original, own))
    )
    if isinstance(joint, str):
        each = zip(required, alone, strict=True)
        together = [CompositionEntry(requirement_text(r, registry), None, numbers, joint) for r, numbers in each]
    else:
        derived = (*plan.derived, *_derived_statistics(earlier))
        together = list(_budget_results(budget, registry, joint, original, derived, alone))
    rule = NONE if isinstance(joint, str) else joint.rule
    own_terms = [_Term(requirement.model, requirement.place) for requirement in settings.budget]
    terms = [*own_terms, *(_Term(p.model, None, p) for _, p in others), *(_Term(p.model, None, p) for p, _ in lost)]
    every = zip((*together, *(each for _, each in lost)), terms, strict=True)
    told = tuple(replace(each, promised_by=term.whose) for each, term in every)
    return _with_problems(replace(whole, rule=rule, together=told), policy, terms)


class _Term(Struct, frozen=True):
    """Origin of an entry of the budget.

    Attributes:
        promise: the earlier requirement; None if it is the policy's.
    """

    model: str
    place: Place | None
    promise: JointRequirement | None = None

    @property
    def whose(self) -> str:
        return "" if self.promise is None else self.promise.whose

    @property
    def needs_rule(self) -> bool:
        """Return whether a release without a composition rule is refused."""
        return self.promise is None or self.promise.stated


def _foreign_requirements(
    promised: Sequence[JointRequirement], policy: Policy, most: int, registry: Registry
) -> tuple[list[tuple[Requirement, JointRequirement]], list[tuple[JointRequirement, CompositionEntry]]]:
    """Return earlier requirements missing from the policy's budget, and those that cannot be decided."""
    known = [*stated_budget(policy)]
    found: list[tuple[Requirement, JointRequirement]] = []
    lost = []
    for promise in sorted(promised, key=lambda each: not each.stated):
        if promise.requirement in known:
            continue
        try:
            requirement = promise.read(registry, most)
            said, why = requirement_text(requirement, registry), foreign_column_reason(requirement, policy)
        except RRPolicyError as error:
            said, why = promise.model, error.problems[0].message
        known.append({**promise.requirement})
        if why is None:
            found.append((requirement, promise))
        else:
            lost.append((promise, CompositionEntry(said, None, (), why, promise.whose)))
    return found, lost


def _joint_with_earlier(
    plan: Plan, earlier: Sequence[ReleaseEntry], policy: Policy, registry: Registry, original: Original | int
) -> JointReleases | str:
    """Return the joint releases of a plan and earlier ones, or in words why no rule composes them."""
    assert policy.ledger is not None
    if not earlier:
        return JointReleases(ALONE, (PresenceGroup(plan.channel, original),))
    try:
        parts = [release_component(entry, registry) for entry in earlier]
    except RRPolicyError as error:
        return f"an earlier release cannot be read: {error.problems[0].message}"
    domains = domain_digests((a.name, a.domain) for a in plan.policy.released)
    parts.append(
        ReleaseComponent("this release", plan.channel, plan.records, domains, _common_series(plan, policy, earlier))
    )
    for part in parts:
        if (why := composition_obstacle(part.channel)) is not None:
            return f"in {part.name}, {why}"
    return combine_releases(parts, policy.ledger, earlier, original)


def _common_series(plan: Plan, policy: Policy, earlier: Sequence[ReleaseEntry]) -> str | None:
    """Return the id that a plan shares with the releases of its series; its key is checked against theirs."""
    name = policy.release.series
    begun = next((e.series for e in earlier if e.series is not None and e.series.name == name), None)
    if name is None:
        return None
    return f"the new series {name}" if begun is None else draw_identity(begun, plan.channel)


def _budget_results(  # noqa: PLR0917 each is another thing
    budget: Policy,
    registry: Registry,
    joint: JointReleases,
    original: Original | int,
    derived: Sequence[Derived],
    alone: Sequence[tuple[float | None, ...]],
) -> Iterator[CompositionEntry]:
    for requirement, single in zip(budget.requirements, alone, strict=True):
        only = replace(budget, requirements=(requirement,))
        said = requirement_text(requirement, registry)
        try:
            found = worst_finding(only, registry, joint, derived)
        except RRPolicyError as error:
            yield CompositionEntry(said, None, single, error.problems[0].message)
            continue
        if found.verdict is not Verdict.SATISFIED and joint.composed is not None:
            found = _linking_within_classes(only, registry, joint.composed, original, derived) or found
        if found.verdict is Verdict.UNDECIDED or found.achieved is None:
            why = UNDECIDED if isinstance(original, int) else OTHER_TABLES
            yield CompositionEntry(said, None, single, why)
        else:
            yield CompositionEntry(said, found, single)


def _linking_within_classes(
    policy: Policy, registry: Registry, composed: LinkedChannel, original: Original | int, derived: Sequence[Derived]
) -> Finding | None:
    """Return the finding of linking inside the deterministic classes: k = 1 + (K - 1) r.

    Only for Pk-anonymity, which grants the attacker all originals: inside a class of K people with equal deterministic
    values, only the random part distinguishes them, with smallest cross ratio r.
    """
    (requirement,) = policy.requirements
    table = not isinstance(original, int) and not composed.strange and not composed.carried
    if requirement.model != pk_anonymity.NAME or requirement.max_records > 1 or not composed.certain or not table:
        return None
    smallest = smallest_class(original, composed.certain)  # type: ignore[arg-type]
    return single_finding(policy, registry, composed.drawn, smallest, derived)


def smallest_class(original: Original, certain: Sequence[Axis]) -> int:
    """Return the minimum number of people who agree in all values that deterministic axes release."""
    import numpy as np

    from rrpolicy.counts import number_rows

    names = list(dict.fromkeys(name for axis in certain for name in axis.attributes))
    counts = original.counts(*names)
    columns = []
    for axis in certain:
        codes = counts.codes[:, [names.index(name) for name in axis.attributes]]
        columns.append(axis.recode(codes) if isinstance(axis, Recode) else codes)
    group, _ = number_rows(np.concatenate(columns, axis=1).T, len(counts.n))
    return int(np.bincount(group, weights=counts.n).min()) if len(counts.n) else 0


def _own_findings(
    budget: Policy, registry: Registry, plan: Plan, original: Original | int, known: Sequence[Finding | None]
) -> Iterator[Finding | None]:
    """Yield the release's result for each entry of a budget; results of the policy's requirements are known."""
    for requirement, found in zip(budget.requirements, known, strict=True):
        try:
            only = replace(budget, requirements=(requirement,))
            yield found or single_finding(only, registry, plan.channel, original, plan.derived)
        except RRPolicyError:
            yield None


def _derived_statistics(earlier: Iterable[ReleaseEntry]) -> Iterator[Derived]:
    """Yield the derived statistics of earlier releases, on which measures that compare tables are conditional, too."""
    for entry in earlier:
        yield from (Derived(f"{name} ({entry.name})", "disclosed by an earlier release") for name in entry.derived)


def _single_release_values(
    budget: Policy, registry: Registry, earlier: Sequence[ReleaseEntry], own: Iterable[Finding | None]
) -> Iterator[tuple[float | None, ...]]:
    """Yield, for each entry of the budget, the result of every release by itself, the new one last."""
    ids = entry_identities(budget).requirements
    for requirement, name, found in zip(budget.requirements, ids, own, strict=True):
        only = replace(budget, requirements=(requirement,))
        number = None if found is None or found.achieved is None else found.achieved.value
        yield (*(_earlier_release_value(only, registry, entry, name) for entry in earlier), number)


def _earlier_release_value(budget: Policy, registry: Registry, entry: ReleaseEntry, name: str) -> float | None:
    """Return an earlier release's result for an entry of the budget: as stated, or computed from its channel."""
    stated = next((g.achieved for g in entry.guarantees if g.id == name), None)
    if stated is not None:
        return stated.value
    try:
        found = single_finding(budget, registry, release_component(entry, registry).channel, entry.records, ()).achieved
    except RRPolicyError:
        return None
    return None if found is None else found.value


def _with_problems(weighed: BudgetCheck, policy: Policy, terms: Sequence[_Term]) -> BudgetCheck:
    """Return the check with the problems that block the release."""
    assert policy.ledger is not None
    reason, place = policy.ledger.uncomposed, policy.place("ledger")
    names = ", ".join(shortened_list(weighed.earlier))
    said = f"together with {len(weighed.earlier)} earlier ({names})" if weighed.earlier else "of this release alone"
    over: list[Problem] = []
    unruled: list[Problem] = []
    for each, term in zip(weighed.together, terms, strict=True):
        what = f"{term.model}: {each.said}"
        if each.finding is None and term.needs_rule:
            message = f"{what} has no guarantee for all releases together {said}: {each.unruled}"
            unruled.append(Problem("RR442", message, place, "releases that a rule composes", UNRULED))
        elif each.finding is not None and each.finding.verdict is not Verdict.SATISFIED:
            message = f"{what} is {NOT_MET} {said}: {composition_text(each)}; {weighed.rule}"
            over.append(Problem("RR441", message, term.place or place, hint=EARLIER if each.promised_by else HINT))
    if unruled and reason is not None:
        return replace(weighed, uncomposed=reason, problems=(*weighed.problems, *over))
    return replace(weighed, problems=(*weighed.problems, *over, *unruled))
