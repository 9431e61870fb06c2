"""Opening a policy: the file, resolved, with the plugins that it names and the caller's table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from rrpolicy.channels.product.channel import Product
from rrpolicy.discovery import load_registry
from rrpolicy.errors import Place, PolicyError
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Outline, Remark
from rrpolicy.planning.review_points import association_warnings, unprotected_group_warnings
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.baseline.inheritance import TreeTransform
from rrpolicy.policy.load import load_policy
from rrpolicy.policy.model import MechanismChoice, Policy
from rrpolicy.policy.policy_decoding import Catalogue, PlannedOptions
from rrpolicy.registry import Registry
from rrpolicy.source.opening import absolute_uri

if TYPE_CHECKING:
    from rrpolicy.source.memory.input_table import InputTable


def validate_source(opened: OpenedPolicy, outline: Outline) -> tuple[int, tuple[Remark, ...]]:
    """Read a policy's table as `plan` reads it, and plan nothing.

    Return the number of records, and the points of judgement: columns that reveal randomised ones or are associated
    with some, and columns that group the units of protection.

    Raises:
        DataError: RR3xx, all violations of the policy, at once.
        RefusedError: RR410 if the table changes during reading; RR421 if there can be no scratch folder.
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
        remarks = tuple(unprotected_group_warnings(original.policy, original))
        if issubclass(outline.channel, Product):
            remarks = (*association_warnings(original.policy, outline, original), *remarks)
        original.unchanged()
        return original.records, remarks


PolicyLike: TypeAlias = "str | os.PathLike[str] | Policy"
"""A policy's file, or a policy that was loaded from one."""
Find: TypeAlias = Callable[[tuple[str, ...], Callable[[int], "Place | None"], "Software | None"], Registry]
"""Finds the plugins that a policy may use."""


class OpeningRecord(Struct, frozen=True):
    """A plan's record of the opening of its policy; nothing after planning needs the mechanism."""

    software: Software
    mechanism: MechanismChoice


class OpenedPolicy(Struct, frozen=True):
    """A resolved policy and the registry of the plugins that it may use."""

    policy: Policy
    registry: Registry

    def reading(self, handed: InputTable | None) -> OpenedPolicy:
        """Return it with the caller's table in place of the policy's."""
        if handed is None or handed.uri is None:
            return self
        return OpenedPolicy(_on_table(self.policy, handed.uri, self.registry), self.registry.opening(handed.engines))


def open_policy(
    path: Path,
    *,
    source: str | None = None,
    root: Path | None = None,
    before: OpeningRecord | None = None,
    find: Find | None = None,
    alter: TreeTransform | None = None,
) -> OpenedPolicy:
    """Load a policy file and the plugins that it lists.

    `source` is a uri that replaces the policy's. Plugins of the plan `before` may be absent; if the mechanism's is, its
    options are those of the plan, whatever the file states. `find` finds the plugins, by default by importing those
    that the policy lists. `alter` changes the file's own tree.

    Raises:
        PolicyError: with every problem of the file (RR2xx).
        RefusedError: if a plugin is missing, broken, or uses a name of another (RR404 to RR406).
    """
    used: list[Registry] = []

    def catalogue(plugins: tuple[str, ...], place: Callable[[int], Place | None]) -> Catalogue:
        planned = None if before is None else before.software
        used.append((find or load_registry)(plugins, place, planned))
        names = used[-1].catalogue
        return names if before is None else names.keeping(before.mechanism.name, PlannedOptions)

    try:
        policy = load_policy(path, catalogue, source=source, root=root, alter=alter)
    except PolicyError as error:
        unknown = used[-1].hinted if used else lambda problem: problem
        raise PolicyError([unknown(p) if p.code == "RR210" else p for p in error.problems]) from error
    if before is not None and isinstance(policy.mechanism.options, PlannedOptions):
        policy = replace(policy, mechanism=replace(policy.mechanism, options=before.mechanism.options))
    return OpenedPolicy(policy if source is None else _on_table(policy, source, used[-1]), used[-1])


def _on_table(policy: Policy, uri: str, registry: Registry) -> Policy:
    """Return a policy with a caller's uri, whose path starts in the working directory."""
    return replace(policy, source=replace(policy.source, uri=absolute_uri(uri, registry.sources)))


def reopen_policy(policy: PolicyLike, handed: InputTable | None = None, root: Path | None = None) -> OpenedPolicy:
    """Open a policy's file, or a policy that is already loaded.

    `handed` is the caller's table in place of the policy's. A loaded policy needs no `root`.

    Raises:
        PolicyError: as `open_policy`.
        RefusedError: as `open_policy`.
    """
    if isinstance(policy, Policy):
        return OpenedPolicy(policy, load_registry(policy.plugins)).reading(handed)
    source = None if handed is None else handed.uri
    return open_policy(Path(policy), source=source, root=root).reading(handed)
