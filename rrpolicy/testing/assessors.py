"""What every assessor must do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.canonical import canonical
from rrpolicy.channel.base import Channel
from rrpolicy.finding import Basis, Finding, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import Assessor, Smooth
from rrpolicy.testing.demand import demand

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array
    from rrpolicy.source.protocol import Original

SMALL = 1e-6
"""Constraint values nearer to 0 than this decide nothing; only exact numbers do."""


def check_assessor(
    assessor: Assessor,
    requirement: Requirement,
    policy: Policy,
    channels: Sequence[Channel],
    original: Original | int,
) -> tuple[Finding, ...]:
    """Check that an assessor keeps its promises on examples.

    Args:
        assessor: what is checked.
        requirement: of its model.
        policy: that states it.
        channels: examples, best from one that holds to one that fails.
        original: a table; or the number of records, for an assessor that needs no more.

    Returns:
        its findings, one a channel, for further assertions.

    Raises:
        AssertionError: saying what is not as promised.
    """
    demand(requirement.model == assessor.model, "the requirement is of another model")
    demand(bool(assessor.reference), "an assessor says where its formula stands")
    findings = []
    for channel in channels:
        demand(isinstance(channel, assessor.channel), f"the example is no {assessor.channel.kind} channel")
        kinds = [type(axis) for axis in getattr(channel, "axes", ())]
        refused = assessor.supports(requirement, policy, kinds)
        demand(refused is None or bool(refused.strip()), "supports() refuses without a reason")
        if refused is None:
            findings.append(_check_finding(assessor, requirement, channel, original))
    return tuple(findings)


def _check_finding(assessor: Assessor, requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    finding = assessor.finding(requirement, channel, original)
    demand(finding == assessor.finding(requirement, channel, original), "two assessments of one channel differ")
    demand(finding.model == assessor.model, "the finding is of another model")
    demand(
        finding.basis <= assessor.basis_of(requirement.max_records), "the finding rests on more than the assessor says"
    )
    demand(finding.verdict is not None, "a requirement needs a verdict, if only `undecided`")
    demand(bool(finding.adversary.strip()), "the finding does not say which adversary it speaks of")
    demand(
        (finding.achieved is None) == (finding.verdict is Verdict.UNDECIDED),
        "a number without a verdict, or vice versa",
    )
    estimated = finding.achieved is not None and finding.achieved.standing is Standing.ESTIMATE
    demand(not estimated or finding.achieved is None or finding.achieved.error > 0, "an estimate without its error")
    canonical(finding.to_json())
    if finding.basis > Basis.RELEASE:
        demand(finding.up_to(Basis.RELEASE).achieved is None, "public/ would show a number of the original")
    if assessor.smooth is not None and finding.verdict is not Verdict.UNDECIDED:
        _check_smooth(assessor.smooth(requirement, channel, original), channel, finding)
    return finding


def _check_smooth(smooth: Smooth, channel: Channel, finding: Finding) -> None:
    """Compare values with the verdict, and derivatives with differences."""
    import numpy as np

    from rrpolicy.channel.axes.retention import Retention

    axes = [axis for axis in getattr(channel, "axes", ()) if isinstance(axis, Retention)]
    largest = [max(axis.blocks, key=lambda block: block.size) for axis in axes]
    if not axes:
        return
    at: Array = np.array([float(block.keep) for block in largest])
    value = np.atleast_1d(smooth.value(at))
    demand(not bool(np.any(np.isnan(value))), "smooth.value() is not a number")
    if float(np.max(value)) < -SMALL:
        demand(finding.verdict is Verdict.SATISFIED, "smooth says that it holds, assess says not")
    if float(np.max(value)) > SMALL and finding.achieved is not None and finding.achieved.standing is Standing.EXACT:
        demand(finding.verdict is Verdict.FAILED, "smooth says that it fails, assess says not")
    jacobian = np.atleast_2d(smooth.jacobian(at))
    demand(jacobian.shape == (len(value), len(at)), "smooth.jacobian() is not (constraints, keep probabilities)")
    for index, block in enumerate(largest):
        step = 1e-6 * min(float(block.keep) - 1 / block.size, 1 - float(block.keep))
        if block.size == 1 or step <= 0:
            continue
        ahead, behind = at.copy(), at.copy()
        ahead[index] += step
        behind[index] -= step
        difference = (smooth.value(ahead) - smooth.value(behind)) / (2 * step)
        near = np.allclose(
            jacobian[:, index], difference, rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(jacobian).max()))
        )
        demand(bool(near), f"smooth.jacobian() is not the derivative by keep probability {index}")
