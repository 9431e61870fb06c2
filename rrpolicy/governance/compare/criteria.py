"""Criteria for every candidate: the requirements and gates of all of them, and errors of the same marginals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import DataError, PolicyError
from rrpolicy.finding import Finding, Measure, Standing, Verdict
from rrpolicy.governance.compare.comparison import CandidateResult
from rrpolicy.governance.diff.impact import assess_requirement
from rrpolicy.planning.assess import channel_outline, requirement_text
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Attribute, Gate, Policy, Requirement
from rrpolicy.reports.alternatives import ComparisonQuantity
from rrpolicy.serialization import plain
from rrpolicy.wording import limit_direction, measure_text

if TYPE_CHECKING:
    from rrpolicy.planning.assess import Assessment
    from rrpolicy.planning.plan import Plan
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original

ONE_WAY, TWO_WAY, SHARES = "total-variation/one-way", "total-variation/two-way", "root-mean-square/one-way"
"""The errors that are always measured: simulated on the table; without a table in closed form, if there is one."""
SEED = 1


class ComparisonCriteria(Struct, frozen=True):
    """The criteria of a comparison.

    Attributes:
        requirements: requirements of all candidates, by identity.
        gates: likewise, with the plugins of the policy.
        shared: attributes that every policy releases with the same categories.
        first: requirements of the first candidate, as its file states them, each in words.
        measured: whether the always measured errors are those on the table.
    """

    requirements: Mapping[str, Requirement]
    gates: Mapping[str, tuple[Gate, Registry]]
    shared: tuple[str, ...]
    first: Mapping[str, Requirement]
    draws: int
    measured: bool

    @classmethod
    def of(
        cls, policies: Sequence[tuple[Policy, Registry]], first: tuple[Policy, Registry], draws: int, *, measured: bool
    ) -> ComparisonCriteria:
        """Return the criteria for candidates with these policies, and the first one's stated requirements."""
        requirements: dict[str, Requirement] = {}
        gates: dict[str, tuple[Gate, Registry]] = {}
        for policy, registry in policies:
            names = entry_identities(policy)
            for name, requirement in zip(names.requirements, policy.requirements, strict=True):
                requirements.setdefault(name, requirement)
            for name, gate in zip(names.gates, policy.gates, strict=True):
                gates.setdefault(name, (gate, registry))
        policy, registry = first
        stated = {f"{one.model}: {requirement_text(one, registry)}": one for one in policy.requirements}
        return cls(requirements, gates, _shared_attributes([policy for policy, _ in policies]), stated, draws, measured)

    def told(self) -> list[Json]:
        """Return every criterion with its limits and options, as plain data."""
        requirements: list[Json] = [
            [name, one.model, one.options.model_dump(mode="json"), plain(one.where), one.max_records]
            for name, one in self.requirements.items()
        ]
        gates: list[Json] = [[name, gate.options.model_dump(mode="json")] for name, (gate, _) in self.gates.items()]
        return [requirements, gates, list(self.shared), list(self.first)]

    def risks(self, rows: Sequence[CandidateResult]) -> tuple[ComparisonQuantity, ...]:
        """Return the requirements with known results."""
        found = []
        for name in self.requirements:
            findings = [row.findings[name] for row in rows if name in row.findings]
            sides = [_finding_direction(finding) for finding in findings if finding.achieved is not None]
            if sides:
                one, knows = findings[0], findings[0].adversary.rstrip(".")
                meaning = f"{one.model}, such as {one.stated}; the attacker {knows[:1].lower()}{knows[1:]}"
                found.append(ComparisonQuantity(name, meaning, "larger" if sides[0] == "at least" else "smaller"))
        return tuple(found)

    def utilities(self, rows: Sequence[CandidateResult]) -> tuple[ComparisonQuantity, ...]:
        """Return the errors with known values: those that are always measured, then the gates."""
        every = "mean total variation distance between the estimated and the true shares, over every"
        told = ", ".join(self.shared)
        drawn = f"{self.draws} simulated draws each, seed {SEED}"
        known = [
            ComparisonQuantity(TWO_WAY, f"{every} pair of {told}; {drawn}", "smaller"),
            ComparisonQuantity(ONE_WAY, f"{every} one of {told}; {drawn}", "smaller"),
            ComparisonQuantity(
                SHARES, f"mean expected error of an estimated share of this table, over {told}", "smaller"
            ),
        ]
        for name, (gate, registry) in self.gates.items():
            metric = registry.utility_metrics[gate.metric]
            known.append(ComparisonQuantity(name, metric.meaning, "smaller" if gate.bound == "max" else "larger"))
        return tuple(one for one in known if any(one.id in row.utility for row in rows))

    def findings(
        self, plan: Plan, assessment: Assessment, registry: Registry, original: Original | int
    ) -> Iterator[tuple[str, Finding]]:
        """Yield the finding of each requirement of any candidate, if it applies to this one."""
        own = {finding.identity: finding for finding in assessment.findings}
        for name, requirement in self.requirements.items():
            finding = own.get(name) or assess_requirement(plan, registry, requirement, original)
            if finding is not None:
                yield name, finding

    def unmet(self, plan: Plan, assessment: Assessment, registry: Registry, original: Original | int) -> Iterator[str]:
        """Yield the requirements of the first candidate's file that this one does not meet, with achieved values."""
        own = {f"{one.model.partition('/')[0]}: {one.requirement}": one for one in assessment.findings}
        for text, requirement in self.first.items():
            finding = own.get(text) or assess_requirement(plan, registry, requirement, original)
            if finding is None or finding.verdict is not Verdict.SATISFIED:
                achieved = None if finding is None else finding.achieved
                yield f"{text} ({'not known' if achieved is None else f'attains {measure_text(achieved)}'})"

    def errors(
        self, plan: Plan, assessment: Assessment, registry: Registry, original: Original | int
    ) -> Iterator[tuple[str, Measure]]:
        """Yield, by name, the errors that are always measured, then each candidate gate's expected value."""
        for name, found in self._always(plan, original):
            if found is not None:
                yield name, found
        own = {gate.identity: gate.expected for gate in assessment.utility}
        outline = channel_outline(plan.channel)
        for name, (gate, _) in self.gates.items():
            metric = registry.utility_metrics.get(gate.metric)
            found = own.get(name)
            if name not in own and metric is not None and not metric.unfit(gate.options, outline.channel, outline.axes):
                found = _expectation_or_none(partial(metric.expected, gate.options, plan.channel, original))
            if found is not None:
                yield name, found

    def _always(self, plan: Plan, original: Original | int) -> Iterator[tuple[str, Measure | None]]:
        from rrpolicy.utility.distances import TotalVariation
        from rrpolicy.utility.table_metric import TableMetricOptions

        for size, name in ((2, TWO_WAY), (1, ONE_WAY)):
            each = []
            for attributes in combinations(self.shared, size):
                options = TableMetricOptions(attributes=attributes, draws=self.draws, seed=SEED)
                each.append(_expectation_or_none(partial(TotalVariation().expected, options, plan.channel, original)))
            yield name, _mean_measure(each)
        if not self.measured:
            yield SHARES, _mean_measure([_share_error(plan, original, attribute) for attribute in self.shared])


def _finding_direction(finding: Finding) -> str:
    achieved = None if finding.achieved is None else finding.achieved.value
    limit = None if finding.limit is None else float(finding.limit)
    return limit_direction(finding.requirement, achieved, limit, finding.verdict)


def _shared_attributes(policies: Sequence[Policy]) -> tuple[str, ...]:
    """Return the attributes that every policy releases with the same categories, in the order of the first."""
    if not policies:
        return ()
    first, *others = [{a.name: a for a in policy.released if a.categorical} for policy in policies]
    return tuple(
        name for name, own in first.items() if all(name in o and _same_categories(own, o[name]) for o in others)
    )


def _same_categories(one: Attribute, other: Attribute) -> bool:
    """Return whether two policies have the same categories: observed ones may be unknown."""
    unknown = one.observed and other.observed and None in {one.domain, other.domain}
    return (one.observed, one.bins) == (other.observed, other.bins) and (unknown or one.domain == other.domain)


def _share_error(plan: Plan, original: Original | int, attribute: str) -> Measure | None:
    """Return the root mean squared error of an attribute's estimated shares, of this table; None if undefined."""
    from rrpolicy.channels.axes.recode import Recode
    from rrpolicy.channels.product.expected_error import root_mean_squared_error

    channel = plan.channel
    if not isinstance(channel, Product):
        return None
    if any(isinstance(axis, Recode) and attribute in axis.attributes for axis in channel.axes):
        return None  # spread inside groups, which has no expected error

    def told() -> Measure | None:
        found = root_mean_squared_error(channel, original, (attribute,))
        return None if found is None else Measure(found)

    return _expectation_or_none(told)


def _expectation_or_none(ask: Callable[[], Measure | None]) -> Measure | None:
    try:
        return ask()
    except (PolicyError, DataError):
        return None


def _mean_measure(each: Sequence[Measure | None]) -> Measure | None:
    """Return the mean of all values; None if there are no values, or one is unknown.

    Draws of different marginals share their bits, so that the standard error of the mean is at most the mean of theirs.
    """
    known = [measure for measure in each if measure is not None]
    if not each or len(known) < len(each):
        return None
    value = math.fsum(measure.value for measure in known) / len(known)
    error = math.fsum(measure.error for measure in known) / len(known)
    drawn = any(measure.standing is Standing.ESTIMATE for measure in known)
    return Measure(value, Standing.ESTIMATE if drawn else Standing.EXACT, error)
