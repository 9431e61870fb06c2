"""Assessment of a frozen channel: every requirement by its assessor, every utility gate by its metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.self_check import unverified_components
from rrpolicy.errors import Place
from rrpolicy.finding import Basis, Companion, Derived, Finding, Measure, Profile, Standing, UtilityFinding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Outline
from rrpolicy.plugin_errors.distributions import find_author
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Gate, Policy, Requirement
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.privacy.units import largest_unit, records_assumption, unit_check_method
from rrpolicy.registry import Registry
from rrpolicy.source.units import unit_of_people

if TYPE_CHECKING:
    from rrpolicy.privacy.model import Written
    from rrpolicy.source.protocol import Original

GIVEN = (
    "releases of the series '{name}' that an attacker links are drawn equally for a person with unchanged values: "
    "a changed released value reveals a change. Guarantees for several of them are given which entries of "
    "a person are equal. A person's identifier is assumed equal in all of them"
)
"""The assumption of every finding about a series."""


class Assessment(Struct, frozen=True):
    """The assessment of a channel: every requirement, every utility gate, and their common assumptions.

    Attributes:
        findings: one for each requirement.
        utility: one for each gate.
        attained: the draw's actual values, for the audit only; nothing before it.
        protection: the grade of protection; None if it was not assessed.
        tested: whether the table's records per unit were compared with the policy's limit.
        of_rows: whether the policy protects each row by itself, so that no number of records is to be tested.
        selected_from: the number of the table's records, of which one of each unit was read; None if all were.
    """

    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...]
    attained: tuple[Finding, ...] = ()
    protection: ReleaseProtection | None = None
    tested: bool = False
    of_rows: bool = False
    selected_from: int | None = None

    @property
    def untested(self) -> bool:
        """Whether the number of records per person matters and was not tested."""
        return not (self.tested or self.of_rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return each assumption once, in the order of the findings."""
        return tuple(dict.fromkeys(a for finding in self.findings for a in finding.assumptions))

    @property
    def audited(self) -> tuple[str, ...]:
        """Return the assumptions, and whether that on records per person was not tested; for the audit only."""
        return (*self.assumptions, unit_check_method(tested=False)) if self.untested else self.assumptions

    def placed(self, places: Sequence[Place | None]) -> Assessment:
        """Return the findings with the places of their requirements in the policy."""
        pairs = zip(self.findings, places, strict=True)
        return replace(self, findings=tuple(replace(finding, place=place) for finding, place in pairs))


def channel_outline(channel: Channel) -> Outline:
    """Return the outline of a finished channel."""
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    return Outline(type(channel), tuple((axis.attributes, type(axis)) for axis in axes))


def requirement_text(requirement: Requirement, registry: Registry) -> str:
    """Return a requirement in words with its limit and its subgroup."""
    text = check_return_type(str, registry.privacy_models[requirement.model].describe)(requirement.options)
    if requirement.max_records > 1:
        text += f", for units of up to {requirement.max_records} records"
    if not requirement.where:
        return text
    return text + " where " + " and ".join(f"{name} = {value}" for name, value in requirement.where.items())


def assess(  # noqa: PLR0917 each is another thing
    policy: Policy,
    registry: Registry,
    channel: Channel,
    original: Original | int,
    derived: Sequence[Derived] = (),
    written: Written | None = None,
) -> Assessment:
    """Assess a channel (RR228 if a requirement has no assessor).

    `original` may be the number of records: findings that need more are then undecided. Findings that compare tables
    are conditional on `derived`. Assessors measure on `written`, the written release, where they can.
    """
    tested = not isinstance(original, int) and original.units is not None and unit_of_people(policy) is not None
    named = entry_identities(policy)
    each = (_requirement_finding(r, policy, registry, channel, original, written) for r in policy.requirements)
    whole = (_with_unit_assumptions(f, policy, original) for f in each)
    findings = (replace(f, identity=name) for f, name in zip(whole, named.requirements, strict=True))
    utility = tuple(
        replace(gate, identity=name)
        for gate, name in zip(_utility_findings(policy, registry, channel, original), named.gates, strict=True)
    )
    found = tuple(f.under(derived, elsewhere=policy.mechanism.elsewhere) for f in findings)
    from rrpolicy.privacy.protection.assess import assess_protection

    grade, selected = assess_protection(channel, original, policy), getattr(original, "selected_from", None)
    return Assessment(found, utility, protection=grade, tested=tested, of_rows=policy.of_rows, selected_from=selected)


def _with_unit_assumptions(finding: Finding, policy: Policy, original: Original | int) -> Finding:
    """Return a finding with the assumptions common to all assessors: the records per unit, and a series."""
    series = policy.release.series
    given = () if series is None else (GIVEN.format(name=series),)
    return replace(
        finding,
        assumptions=(
            *finding.assumptions,
            records_assumption(policy.source.max_records, of_rows=policy.of_rows),
            *given,
        ),
        companions=(*finding.companions, *largest_unit(original)),
    )


def _requirement_finding(  # noqa: PLR0917 what it passes on
    requirement: Requirement,
    policy: Policy,
    registry: Registry,
    channel: Channel,
    original: Original | int,
    written: Written | None,
) -> Finding:
    assessor = registry.assessor(requirement, policy, channel_outline(channel))
    rereads = assessor.rests_on(requirement) <= Basis.RELEASE
    if written is not None and assessor.measure is not None and rereads:
        finding = check_return_type(Finding, assessor.measure)(requirement, policy, channel, written)
    else:
        finding = assessor.finding(requirement, channel, original)
    return replace(
        finding,
        profile=_limited_profile(finding.profile, policy.release.described_groups),
        requirement=requirement_text(requirement, registry),
        place=requirement.place,
        reference=finding.reference or assessor.reference,
        assumptions=(*finding.assumptions, *_trusted_declarations(channel)),
        assessor=registry.provider(assessor),
        promise=_guarantee_text(requirement, registry),
    )


def _limited_profile(profile: Profile | None, least: int) -> Profile | None:
    """Return a profile that describes no group of fewer people."""
    if profile is None or least == 1:
        return profile
    return replace(profile, top=tuple(group for group in profile.top if group[2] >= least))


def _guarantee_text(requirement: Requirement, registry: Registry) -> str:
    """Return a requirement as its model describes it to people; "" if the model has no description."""
    said = getattr(registry.privacy_models[requirement.model], "promise", None)
    text = "" if said is None else check_return_type(str, said)(requirement.options)
    if text and requirement.where:
        whom = " and ".join(f"{name} = {value}" for name, value in requirement.where.items())
        text = f"{text.removesuffix('.')}, for {whom} only."
    return text


def _trusted_declarations(channel: Channel) -> Iterator[str]:
    """Yield properties declared by the author of a channel or an axis that cannot be recomputed."""
    for own in unverified_components(channel):
        if isinstance(own, Channel):
            yield (
                f"How '{own.kind}' releases records, and how their counts are corrected, relies on the declaration of "
                f"{find_author(own)}: a plugin's channel has no matrix to compare with."
            )
        else:
            yield (
                f"The result for {', '.join(own.attributes)} relies on the declaration of {find_author(own)}: its "
                f"matrix was "
                "not listed, so that the ratios of its probabilities were not recomputed."
            )


def _utility_findings(
    policy: Policy, registry: Registry, channel: Channel, original: Original | int
) -> tuple[UtilityFinding, ...]:
    """Return every gate's finding; those of the same draws share them."""
    if not policy.gates:
        return ()
    from rrpolicy.utility.simulation import share_draws

    with share_draws():
        return tuple(_utility_finding(gate, registry, channel, original) for gate in policy.gates)


def _utility_finding(gate: Gate, registry: Registry, channel: Channel, original: Original | int) -> UtilityFinding:
    metric = registry.utility_metrics[gate.metric]
    expected = check_return_type(Measure | None, metric.expected)(gate.options, channel, original)
    beside = getattr(metric, "beside", None)
    companions: tuple[Companion, ...] = ()
    if beside is not None and not isinstance(original, int):
        companions = check_return_type(tuple[Companion, ...], beside)(gate.options, channel, original)
    return UtilityFinding(
        gate.metric,
        gate.options.model_dump(mode="json"),
        expected,
        gate.limit,
        _gate_verdict(expected, gate),
        metric.meaning,
        gate.place,
        bound=gate.bound,
        companions=companions,
    )


def _gate_verdict(expected: Measure | None, gate: Gate) -> Verdict:
    """Return whether an expectation passes: an estimate only by its end, an upper bound never for a lower limit."""
    if expected is None:
        return Verdict.UNDECIDED
    value, bounded = expected.end(gate.bound), expected.standing is Standing.UPPER_BOUND
    if gate.bound == "max":
        return Verdict.SATISFIED if value <= gate.limit else Verdict.FAILED
    if value < gate.limit:
        return Verdict.FAILED
    return Verdict.UNDECIDED if bounded else Verdict.SATISFIED
