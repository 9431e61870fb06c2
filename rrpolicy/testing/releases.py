"""Releases made by the kit: planned, drawn from a seed into a temporary folder, and read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from rrpolicy.bundle.execute import draw_to_folder
from rrpolicy.bundle.manifest import build_manifest
from rrpolicy.bundle.tables.lazy_tables import LazyReleasedTables, open_data_tables
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.errors import RRPolicyError
from rrpolicy.estimate.opening import release_of
from rrpolicy.estimate.release import Release
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.plan import Plan, make_plan, software
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Policy

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original


def plan_kit_release(policy: OpenedPolicy, original: Original, channel: Channel | None = None) -> Plan:
    """Return the plan of a table."""
    if channel is None:
        try:
            return make_plan(policy.policy, policy.registry, original)
        except RRPolicyError as error:
            raise AssertionError(f"nothing is planned; give `tables` for which it can be: {error}") from error
    settled, made = channel.settle(original), software(policy.registry)
    return Plan(original.policy, policy.policy.digest(), settled, original.records, made)


def identity_channel(policy: Policy) -> Product | None:
    """Return the channel that releases the columns unmodified; None if some have no domain."""
    released = policy.released
    if any(a.domain is None for a in released):
        return None
    axes = [Identity.of(a.name, a.domain or (), a.release_as or a.name) for a in released]
    return Product(tuple(axes), (), tuple(a.release_as or a.name for a in released))


@frozen(slots=False)
class KitRelease:
    """A release in a temporary folder.

    Attributes:
        folder: public/, with the data files.
    """

    folder: Path
    manifest: Manifest
    release: Release
    scratch: Path
    policy: OpenedPolicy

    @contextmanager
    def written(self) -> Iterator[LazyReleasedTables]:
        """Open the data files for assessors."""
        files = (self.folder, self.manifest.data, self.manifest.tables, self.scratch)
        with open_data_tables(*files, self.policy.registry.formats) as found:
            yield found


_Key: TypeAlias = tuple[str, int, int]
_SHARED: ContextVar[tuple[ExitStack, dict[_Key, tuple[Original, KitRelease]]] | None] = ContextVar(
    "shared", default=None
)


@contextmanager
def shared_releases() -> Iterator[None]:
    """Share draws of the same plan, table and seed among several checks inside; all are deleted afterwards."""
    with ExitStack() as stack:
        token = _SHARED.set((stack, {}))
        stack.callback(_SHARED.reset, token)
        yield


@contextmanager
def draw_release(plan: Plan, policy: OpenedPolicy, original: Original, seed: int) -> Iterator[KitRelease]:
    """Draw a release once."""
    shared = _SHARED.get()
    if shared is None:
        with _draw_fresh(plan, policy, original, seed) as made:
            yield made
        return
    stack, found = shared
    key = (plan.digest(), id(original), seed)
    if key not in found:  # with the table, so that its id is not reused
        found[key] = (original, stack.enter_context(_draw_fresh(plan, policy, original, seed)))
    yield found[key][1]


@contextmanager
def _draw_fresh(plan: Plan, policy: OpenedPolicy, original: Original, seed: int) -> Iterator[KitRelease]:
    with TemporaryDirectory() as made:
        folder, scratch = Path(made) / "public", Path(made) / "scratch"
        for each in (folder, scratch):
            each.mkdir(mode=0o700)
        registry = policy.registry
        files = draw_to_folder(plan, original, Streams.for_tests(seed), folder, scratch, registry.formats)
        told = build_manifest(plan, Assessment((), ()), files, label=None, test=True)
        release = release_of(folder, told, registry.formats, registry.estimators)
        yield KitRelease(folder, told, release, scratch, policy)
