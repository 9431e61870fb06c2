"""`anatomy`: outline without data; a table's eligibility is checked with data."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import AnatomyChannel, Derived, Outline, Policy, Proposal, Task
from rrpolicy_anatomy.layout import read_layout


class AnatomyOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "anatomy"."""

    model_config = ConfigDict(extra="forbid", frozen=True)


GROUP_SIZES = Derived(
    "group-sizes",
    "how many records each group has, and which values can stand together: residues join groups that lack their value, "
    "and only an eligible table is dealt",
)


class Anatomy:
    """Anatomy (Xiao, Tao 2006)."""

    name = "anatomy"
    options = AnatomyOptions

    def outline(self, options: AnatomyOptions, policy: Policy) -> Outline:
        """Return dealt groups; the channel itself if all domains are known."""
        del options
        layout = read_layout(policy)
        known = all(a.domain is not None for a in policy.released if a.categorical)
        fixed = AnatomyChannel.of(policy.released, layout.names, layout.size) if known else None
        return Outline(AnatomyChannel, fixed=fixed, derived=(GROUP_SIZES,))

    def plan(self, options: AnatomyOptions, task: Task) -> Proposal:
        """Return the channel."""
        from rrpolicy_anatomy.plan import propose

        del options
        return propose(task)
