"""Checks of a policy without data: its consistency, its assessors, and the requirements that are met in any case.

No numpy, no engine: fast enough for a pre-commit hook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rrpolicy.canonical_json import canonical
from rrpolicy.channels.base import Channel
from rrpolicy.channels.decoders import AdditionDecoder, AnatomyDecoder
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.self_check import check_protocols
from rrpolicy.channels.undisclosed_channel import withholding_obstacle
from rrpolicy.declarations import Role, Waiver
from rrpolicy.errors import GatedResult, PolicyError, Problem, RRPolicyError
from rrpolicy.finding import Basis, Derived, Finding
from rrpolicy.formats.format import MAX_FILES, MultiFileFormat, file_count
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Outline, Remark
from rrpolicy.planning.assess import requirement_text
from rrpolicy.planning.derived_statistics import impossible_acceptances, possible_statistics
from rrpolicy.planning.gate import failure_problems
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.planning.review_points import policy_formula_warnings
from rrpolicy.planning.series import series_problems
from rrpolicy.planning.waivers import (
    MISSING_CODE_REMARK,
    NO_LIMIT_REMARK,
    SENSITIVE_NAME_REMARK,
    Terms,
    WaivedProblem,
    expired_problems,
    invalid_waivers,
    split_warnings,
)
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Attribute, Gate, Policy, Requirement
from rrpolicy.privacy.model import Assessor, Order, conclude
from rrpolicy.registry import Registry
from rrpolicy.source.names import SENSITIVE_WORDS, contains_word, likely_missing_codes
from rrpolicy.source.units import UNTESTED_UNITS, unit_choice_hint

MANY_RECORDS = 2**62


class PolicyCheck(Struct, GatedResult, frozen=True):
    """The decisions that need no data; `undecided` findings wait for `plan`. `stated` has each requirement's origin.

    `derived` are the statistics that a plan may derive from the data, `outline` the structure that the mechanism will
    plan. `terms` are the day on which it was judged. `records` is the table's number of records, if the table was read,
    and `seen` its points of judgement; the findings are decided without it.
    """

    policy: Policy
    findings: tuple[Finding, ...]
    derived: tuple[Derived, ...]
    stated: tuple[RequirementStatement, ...]
    outline: Outline
    terms: Terms
    records: int | None = None
    seen: tuple[Remark, ...] = ()

    @property
    def unchanged(self) -> tuple[Attribute, ...]:
        """Return the attributes that the policy deliberately releases unmodified."""
        return self.outline.unchanged(self.policy)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return failures that are independent of the data (RR101), and those caused by the day (RR415, RR416).

        Findings that wait for `plan` are not problems yet.
        """
        return (*failure_problems(self.findings), *expired_problems(self.policy, self.terms)[0])

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """Return the points of judgement without a waiver."""
        return self._judged[0]

    @property
    def waived(self) -> tuple[WaivedProblem, ...]:
        """Return the problems and warnings that are waived."""
        return (*expired_problems(self.policy, self.terms)[1], *self._judged[1])

    @property
    def waivers(self) -> Mapping[str, Waiver]:
        """Return the waivers in force on that day, by the finding that they waive."""
        return self.terms.in_force(self.policy.governance)

    @property
    def _judged(self) -> tuple[tuple[Remark, ...], tuple[WaivedProblem, ...]]:
        said = unit_choice_hint(self.policy)
        points = (
            *((Remark(UNTESTED_UNITS, said),) if said else ()),
            *unlimited_warnings(self.policy, self.stated),
            *missing_code_warnings(self.policy),
            *sensitive_name_warnings(self.policy),
            *policy_formula_warnings(self.policy),
            *self.seen,
        )
        return split_warnings(points, self.policy.governance, self.terms)


class RequirementStatement(Struct, frozen=True):
    """The origin of a requirement, and whether it requires anything that no other requires.

    Attributes:
        origin: the baseline that states it; None if the policy itself does.
        void: the reason for which it adds nothing, in words; None if it adds something.
        limits_nothing: a sentence that it limits nothing; None if it limits something.
        without_limit: the part that it leaves without a limit, in words; None if it limits everything, or nothing.
    """

    origin: str | None = None
    void: str | None = None
    words: str = ""
    limits_nothing: str | None = None
    without_limit: str | None = None

    def __str__(self) -> str:
        """Return the remarks after the requirement's text; "" for no remarks."""
        return (f" (from {self.origin})" if self.origin else "") + (f" ({self.void})" if self.void else "")


def check(opened: OpenedPolicy, terms: Terms | None = None) -> PolicyCheck:
    """Check a policy without data.

    Raises:
        PolicyError: with all problems at once (RR22x to RR238).
        RefusedError: a plugin failed.
    """
    policy, registry = opened.policy, opened.registry
    problems = [*plugin_refusals(policy, registry), *file_split_problems(policy, registry), *invalid_waivers(policy)]
    outline: Outline | None = None
    try:
        outline = policy_outline(policy, registry)
    except PolicyError as error:
        problems += error.problems
    assessors: list[tuple[Requirement, Assessor]] = []
    if outline is not None:
        for requirement in policy.requirements:
            if _assessor_refusal(requirement, policy, registry) is not None:
                continue
            try:
                assessors.append((requirement, registry.assessor(requirement, policy, outline)))
            except PolicyError as error:
                problems += error.problems
        problems += unsupported_gates(policy, registry, outline)
        problems += unexplained_columns(policy, outline)
        problems += tuning_table_problems(policy, outline)
        problems += reference_table_problems(policy)
        problems += series_problems(policy, outline)
        problems += withholding_problems(policy, outline)
        if outline.fixed is not None:
            problems += unaccepted_disclosures(policy, outline.fixed)
    derived: tuple[Derived, ...] = ()
    if outline is not None and len(assessors) == len(policy.requirements):
        deciding = [a for _, a in assessors] + budget_assessors(policy, registry, outline)
        derived = possible_statistics(policy, outline, deciding)
        problems += impossible_acceptances(policy, derived)
    if problems or outline is None:
        raise PolicyError(problems)
    decided = (_data_free_finding(r, a, outline.fixed, policy, registry) for r, a in assessors)
    findings = tuple(
        replace(finding, identity=name).under(derived, elsewhere=policy.mechanism.elsewhere)
        for finding, name in zip(decided, entry_identities(policy).requirements, strict=True)
    )
    return PolicyCheck(policy, findings, derived, requirement_statements(policy, registry), outline, terms or Terms())


def policy_outline(policy: Policy, registry: Registry) -> Outline:
    """Return the outline of a policy's mechanism, as far as it needs no data.

    Raises:
        PolicyError: if its options do not fit the policy (RR23x).
        RefusedError: RR413 if the mechanism returns something else.
    """
    mechanism = registry.mechanisms[policy.mechanism.name]
    outline = check_return_type(Outline, mechanism.outline)(policy.mechanism.options, policy)
    if outline.fixed is not None:
        check_protocols(outline.fixed)
    return outline


def budget_assessors(policy: Policy, registry: Registry, outline: Outline) -> list[Assessor]:
    """Return the assessors that decide a stated budget, as far as the release alone has any."""
    found = []
    for requirement in policy.budget:
        with suppress(PolicyError):
            found.append(registry.assessor(requirement, policy, outline))
    return found


def require_baseline(policy: Policy, baseline: str) -> None:
    """Refuse a policy that does not extend a baseline (RR245)."""
    if Path(baseline).resolve() not in {Path(file).resolve() for file in policy.baselines}:
        known = f"it extends {', '.join(policy.baselines)}" if policy.baselines else "it extends no policy"
        message = f"the policy does not extend {baseline}, which this check demands: {known}"
        hint = "write `extends`, relative to this file, under [policy]"
        raise PolicyError(Problem("RR245", message, policy.place("policy"), f"a policy above {baseline}", hint))


def unsupported_gates(policy: Policy, registry: Registry, outline: Outline) -> Iterator[Problem]:
    """Yield the utility gates whose metric cannot be computed for the mechanism's outline (RR252)."""
    for gate in policy.gates:
        unfit = check_return_type(str | None, registry.utility_metrics[gate.metric].unfit)
        reason = unfit(gate.options, outline.channel, outline.axes)
        if reason is not None:
            hint = "remove the gate, or choose a mechanism or attributes that the metric covers"
            message = f"{gate.metric} does not go with the mechanism {policy.mechanism.name}: {reason}"
            yield Problem("RR252", message, gate.place, "a gate that plan can decide", hint)


def requirement_statements(policy: Policy, registry: Registry) -> tuple[RequirementStatement, ...]:
    """Return, for each requirement, the baseline that states it and the other one of its model that makes it void."""

    def of(requirement: Requirement) -> RequirementStatement:
        beside = _stronger_requirements(requirement, policy, registry)
        void = next((_redundancy_text(requirement, other, policy, registry) for other in beside), None)
        nothing = _optional_model_text(requirement, "limits_nothing", registry)
        part = None if nothing else _optional_model_text(requirement, "without_limit", registry)
        return RequirementStatement(
            _requirement_origin(requirement, policy), void, requirement_text(requirement, registry), nothing, part
        )

    return tuple(map(of, policy.requirements))


def _optional_model_text(requirement: Requirement, method: str, registry: Registry) -> str | None:
    """Return the text of a requirement by an optional method of its model; None without the method."""
    found = getattr(registry.privacy_models[requirement.model], method, None)
    return None if found is None else check_return_type(str | None, found)(requirement.options)


def unlimited_warnings(policy: Policy, each: Sequence[RequirementStatement]) -> Iterator[Remark]:
    """Yield a warning for every requirement that leaves something without a limit."""
    for requirement, one, identity in zip(
        policy.requirements, each, entry_identities(policy).requirements, strict=True
    ):
        if left := one.limits_nothing or one.without_limit:
            text = f"{requirement.model}, {one.words}, {left}"
            yield Remark(NO_LIMIT_REMARK, text, vacuous=identity if one.limits_nothing else "")


def missing_code_warnings(policy: Policy) -> Iterator[Remark]:
    """Yield a warning for every domain with numbers that look like codes of missing values."""
    for attribute in policy.released:
        numbers = [v for v in attribute.domain or () if isinstance(v, (int, float)) and not isinstance(v, bool)]
        numbers.sort()
        if codes := likely_missing_codes(numbers, numbers):
            told, named = " and ".join(map(str, codes)), ", ".join(map(str, codes))
            text = (
                f"the domain of '{attribute.name}' holds {told}, apart from its other numbers: "
                f'if they stand for no value, write `missing = [{named}]` and `nulls = "unknown"`, '
                "and remove them from the domain; otherwise a mean includes them"
            )
            yield Remark(MISSING_CODE_REMARK, text, attribute=attribute.name)


def sensitive_name_warnings(policy: Policy) -> Iterator[Remark]:
    """Yield a warning for every insensitive column whose name suggests a sensitive attribute."""
    for attribute in policy.released:
        if (
            attribute.role is Role.INSENSITIVE
            and attribute.design is None
            and contains_word(attribute.name, SENSITIVE_WORDS)
        ):
            text = (
                f"'{attribute.name}' is insensitive, and by its name it is sensitive: no requirement limits what is "
                'learnt of it. Give it `role = "sensitive"`, or have the warning waived'
            )
            yield Remark(SENSITIVE_NAME_REMARK, text, attribute=attribute.name)


def _requirement_origin(requirement: Requirement, policy: Policy) -> str | None:
    file = None if requirement.place is None else requirement.place.file
    return file if file in policy.baselines else None


def _stronger_requirements(requirement: Requirement, policy: Policy, registry: Registry) -> Iterator[Requirement]:
    """Yield the stronger requirements on the same people; of two equal ones, the first."""
    model, earlier = registry.privacy_models[requirement.model], True
    for other in policy.requirements:
        if other is requirement:
            earlier = False
        elif other.model == requirement.model and canonical(dict(other.where)) == canonical(dict(requirement.where)):
            order = check_return_type(Order, model.compare)(other.options, requirement.options)
            if order is Order.WEAKER or (order is Order.EQUAL and earlier):
                yield other


def _redundancy_text(requirement: Requirement, other: Requirement, policy: Policy, registry: Registry) -> str:
    compare = check_return_type(Order, registry.privacy_models[requirement.model].compare)
    compared = compare(other.options, requirement.options)
    than = "the same as" if compared is Order.EQUAL else "weaker than"
    where = (
        "the one of " + origin
        if (origin := _requirement_origin(other, policy))
        else f"'{requirement_text(other, registry)}'"
    )
    return f"{than} {where}: it adds nothing"


def file_split_problems(policy: Policy, registry: Registry, records: int = 0) -> Iterator[Problem]:
    """Yield why a released table cannot be cut into files as the policy requires (RR350, RR351)."""
    cut, form = policy.release.rows_per_file, policy.release.format
    if cut is None:
        return
    place = policy.place("release.rows_per_file")
    if not isinstance(registry.formats[form], MultiFileFormat):
        hint = "leave `rows_per_file` out: each table is then one file"
        message = f"a table does not lie in several files of the format {form!r}"
        yield Problem("RR350", message, place, 'format = "parquet"', hint)
    elif file_count(records, cut) > MAX_FILES:
        message = (
            f"{records:,} rows would be cut into {file_count(records, cut):,} files; at most {MAX_FILES:,} are written"
        )
        least = -(-records // MAX_FILES)
        yield Problem("RR351", message, place, f"rows_per_file = {least} or more", "files of a million rows read well")


def plugin_refusals(policy: Policy, registry: Registry) -> tuple[Problem, ...]:
    """Return the problems that privacy models and utility metrics find in a policy."""
    found: list[Problem] = []
    if not policy.requirements:
        found.append(
            Problem(
                "RR226",
                "the policy requires nothing: there is no [[privacy]] entry",
                policy.place("policy"),
                hint="state a requirement" + _example_entry(registry),
            )
        )
    for requirement in (*policy.requirements, *policy.budget):
        reason = _assessor_refusal(requirement, policy, registry)
        if reason is not None:
            place = policy.place_of(reason, requirement.place)
            found.append(Problem("RR227", f"{requirement.model}: {reason}", place))
    for gate in policy.gates:
        asked = getattr(registry.utility_metrics[gate.metric], "refuses", None)
        reason = None if asked is None else check_return_type(str | None, asked)(gate.options, policy)
        found += _wrong_side_problems(gate, registry)
        if reason is not None:
            place = policy.place_of(reason, gate.place)
            found.append(Problem("RR252", f"{gate.metric}: {reason}", place))
    return tuple(found)


def _wrong_side_problems(gate: Gate, registry: Registry) -> Iterator[Problem]:
    """Yield a problem if a gate limits the better side of a number (RR286): it would refuse the best releases."""
    better = getattr(registry.utility_metrics[gate.metric], "better", "smaller")
    right = "min" if better == "larger" else "max"
    if gate.bound != right:
        message = f"{gate.metric}: {better} is better, and the gate states `{gate.bound}`"
        yield Problem("RR286", message, gate.place, f"`{right}`")


def _example_entry(registry: Registry) -> str:
    """Return an entry of the first model that has an example."""
    examples = ((name, getattr(model, "example", "")) for name, model in registry.privacy_models.items())
    return next((f', such as\n[[privacy]]\nmodel = "{name}"\n{keys}' for name, keys in examples if keys), "")


def _assessor_refusal(requirement: Requirement, policy: Policy, registry: Registry) -> str | None:
    return check_return_type(str | None, registry.privacy_models[requirement.model].refuses)(
        requirement.options, policy
    )


def unexplained_columns(policy: Policy, outline: Outline) -> tuple[Problem, ...]:
    """Return the columns that the policy releases unmodified without a reason."""
    return tuple(
        Problem(
            "RR280",
            f"'{attribute.name}' is {attribute.role.value} and released unchanged, and the policy gives no reason",
            attribute.place,
            "a reason, which the plan and every report print with the column",
            "exclude it, let the mechanism change it, or add to it:\n"
            'unchanged = "fill in: why everybody may read this of each person"',
        )
        for attribute in outline.unchanged(policy)
        if attribute.why_unchanged is None
    )


def withholding_problems(policy: Policy, outline: Outline) -> tuple[Problem, ...]:
    """Return why the matrices of a release cannot be withheld, if the policy withholds them."""
    if not policy.release.withholds:
        return ()
    told = [withholding_obstacle(outline.channel, outline.axes)]
    told.append("its series publishes them once for all" if policy.release.series is not None else None)
    told.append("its ledger composes what was published" if policy.ledger is not None else None)
    hint = "take `decoders` out of [release], or choose a mechanism such as pram without ledger and series"
    place = policy.place("release.decoders")
    return tuple(
        Problem("RR527", f"the matrices of this release cannot be withheld: {why}", place, "published decoders", hint)
        for why in told
        if why is not None
    )


def tuning_table_problems(policy: Policy, outline: Outline) -> tuple[Problem, ...]:
    """Return why a mechanism cannot choose parameters on another table."""
    if not policy.mechanism.elsewhere or issubclass(outline.channel, Product):
        return ()
    message = f"{policy.mechanism.name} has no parameters that another table could give: it deals with these records"
    return (Problem("RR225", message, policy.place("mechanism.plan_on"), hint="take `plan_on` out"),)


def reference_table_problems(policy: Policy) -> Iterator[Problem]:
    """Yield why a reference table is useless here (RR561): no requirement uses it, or there is another one."""
    place = policy.place("reference")
    if policy.reference is None:
        return
    if not any(r.needs_reference for r in (*policy.requirements, *policy.budget)):
        message = "[reference] declares the population, and no requirement uses it"
        expected = "an entry of `k-map` without `sampling_fraction`, or of `delta-presence`, under [[privacy]]"
        yield Problem("RR561", message, place, expected, "require one of them, or remove [reference]")
    if policy.mechanism.elsewhere:
        message = "people are counted in the reference table and the source, not in `plan_on`"
        place = policy.place("mechanism.plan_on")
        yield Problem("RR561", message, place, "one of `plan_on` and [reference]", "take one of them out")


def unaccepted_disclosures(policy: Policy, channel: Channel) -> tuple[Problem, ...]:
    """Return disclosures of the channel's public description that the policy does not accept."""
    return tuple(
        Problem(
            "RR238",
            f"the published channel reveals the original's '{item}' exactly, and the policy does not accept this",
            policy.place("mechanism"),
            hint=f'add `accept = ["{item}"]` under [release] if that is public anyway, or declare the marginal',
        )
        for item in channel.discloses()
        if item not in policy.release.accept
    )


def unused_design_columns(policy: Policy, channel: Channel) -> tuple[Problem, ...]:
    """Return the columns of the survey's design that the channel makes unusable.

    Randomised strata are left out of errors, which are then larger; clusters have no substitute, nor has a weight that
    is released in sets or separately from the records.
    """
    drawn = {name: decoder for decoder in channel.decoders() if decoder.drawn for name in decoder.attributes}
    found = []
    for attribute in policy.released:
        decoder = drawn.get(attribute.name)
        apart = attribute.design == "weight" and isinstance(decoder, (AdditionDecoder, AnatomyDecoder))
        if decoder is None or not (apart or attribute.design == "cluster"):
            continue
        what = "which records are together" if attribute.design == "cluster" else "what a record weighs"
        found.append(
            Problem(
                "RR146",
                f"'{attribute.name}' is a {attribute.design} of the survey, and its values would be left to chance: "
                f"{what} would not be in the release",
                policy.place(f"attributes.{attribute.name}.design"),
                "a column that is released unchanged, or coarser",
                "leave it out of what the mechanism randomises, or take `design` out",
            )
        )
    return tuple(found)


def _data_free_finding(
    requirement: Requirement, assessor: Assessor, fixed: Channel | None, policy: Policy, registry: Registry
) -> Finding:
    """Assess at the fewest and at very many records: a verdict that is the same at both needs no data."""
    described = requirement_text(requirement, registry)
    basis = assessor.rests_on(requirement)
    who = "decided by `rrpolicy plan`, which reads the data"
    undecided = replace(conclude(requirement, None, None, basis, who, limit=None), requirement=described)
    if fixed is None or basis > Basis.CHANNEL:
        return undecided
    try:
        fewest, most = (assessor.finding(requirement, fixed, n) for n in (policy.source.min_rows or 1, MANY_RECORDS))
    except RRPolicyError:
        return undecided
    if fewest.verdict is not most.verdict:
        return replace(undecided, limit=fewest.limit)
    told = fewest.achieved if fewest.achieved == most.achieved else None
    return replace(fewest, requirement=described, place=requirement.place, achieved=told)
