"""Whether a policy's table is as the policy says: names, types and domains, before anything is planned."""

from __future__ import annotations

from rrpolicy.channels.product.channel import Product
from rrpolicy.mechanism import Outline, Remark
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.planning.review_points import association_warnings


def validate_source(opened: OpenedPolicy, outline: Outline) -> tuple[int, tuple[Remark, ...]]:
    """Read a policy's table as `plan` reads it, and plan nothing.

    Args:
        opened: the policy, with the table that the caller names or holds.
        outline: what its mechanism will plan.

    Returns:
        The number of records, and which columns give randomised ones away, or go with some.

    Raises:
        DataError: RR3xx, everything that the policy does not foresee, at once.
        RefusedError: RR410 if the table changes meanwhile; RR421 if there can be no scratch folder.
    """
    from rrpolicy.safe_io.tempdirs import scratch_folder
    from rrpolicy.source.opening import open_original
    from rrpolicy.source.units import require_unrepeated_people

    with (
        opened.registry.naming_engines(),
        scratch_folder() as spilled,
        open_original(opened.policy, opened.registry.sources, spilled.folder) as original,
    ):
        require_unrepeated_people(original.policy, original)
        remarks: tuple[Remark, ...] = ()
        if issubclass(outline.channel, Product):
            remarks = tuple(association_warnings(original.policy, outline, original))
        original.unchanged()
        return original.records, remarks
