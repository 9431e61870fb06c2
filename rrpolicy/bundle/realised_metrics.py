"""Actual values of one draw, measured on the written release for the audit after the gate; never a reason to redraw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.tables.lazy_tables import open_data_tables
from rrpolicy.channels.base import Channel
from rrpolicy.finding import Finding
from rrpolicy.manifest.manifest import Data
from rrpolicy.planning.assess import channel_outline
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.model import Policy
from rrpolicy.registry import Registry

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original


def realised_findings(  # noqa: PLR0917 each is another thing
    policy: Policy,
    registry: Registry,
    channel: Channel,
    original: Original,
    public: Path,
    data: Data,
    scratch: Path,
) -> tuple[Finding, ...]:
    """Return the measurements on a written release by the assessors of a policy's requirements, each once."""
    outline = channel_outline(channel)
    assessors = [registry.assessor(requirement, policy, outline) for requirement in policy.requirements]
    measures = dict.fromkeys(a.attained for a in assessors if a.attained is not None)
    if not measures:
        return ()
    with open_data_tables(public, data, channel.tables(), scratch, registry.formats) as written:
        found = [check_return_type(Finding | None, measure)(channel, original, written) for measure in measures]
    return tuple(finding for finding in found if finding is not None)
