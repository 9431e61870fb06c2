"""What every mechanism must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rrpolicy.canonical import canonical
from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.promises import contradictions
from rrpolicy.channel.reading import channel_from_json
from rrpolicy.channel.sampling.streams import Streams
from rrpolicy.errors import RRPolicyError
from rrpolicy.finding import Origin, Verdict
from rrpolicy.mechanism import Mechanism, Outline, Proposal, Task
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import Assessor
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing.axes import check_axis
from rrpolicy.testing.demand import demand

if TYPE_CHECKING:
    from rrpolicy.source.counts import Ints
    from rrpolicy.source.protocol import Original


def check_mechanism(
    mechanism: Mechanism[Any],
    policy: Policy,
    requirements: Sequence[tuple[Requirement, Assessor]],
    original: Original | int,
    kinds: Mapping[str, type[Channel | Axis]],
) -> Proposal:
    """Check that a mechanism outlines without data, plans deterministically, and plans a channel that can be released.

    Args:
        mechanism: what is checked.
        policy: chooses it, with options that are possible.
        requirements: of the policy, with the assessors that decide them.
        original: a table, which is then also drawn from; or the number of records.
        kinds: channel and axis classes by kind, as `Registry.kinds` has them.

    Returns:
        what it planned, for further assertions.

    Raises:
        AssertionError: saying what is not as promised.
    """
    options = policy.mechanism.options
    demand(mechanism.name == policy.mechanism.name, "the policy chooses another mechanism")
    demand(isinstance(options, mechanism.options), "the options are of another class than the mechanism's")
    outline = mechanism.outline(options, policy)
    demand(outline == mechanism.outline(options, policy), "two outlines of one policy differ")
    task = Task(policy, original, tuple(requirements))
    proposal, again = mechanism.plan(options, task), mechanism.plan(options, task)
    same = canonical(proposal.channel.to_json()) == canonical(again.channel.to_json())
    demand(same, "two plans of one table differ: a mechanism is deterministic")
    _check_channel(outline, proposal, policy, kinds)
    for requirement, assessor in requirements:
        finding = assessor.finding(requirement, proposal.channel, original)
        demand(finding.verdict is Verdict.SATISFIED, f"{requirement.model} does not hold for what was planned")
    if not isinstance(original, int):
        _check_draw(proposal.channel, original)
    return proposal


def _check_channel(
    outline: Outline, proposal: Proposal, policy: Policy, kinds: Mapping[str, type[Channel | Axis]]
) -> None:
    channel = proposal.channel
    for contradiction in contradictions(channel, policy.released):
        raise AssertionError(contradiction)
    demand(isinstance(channel, outline.channel), "the plan's channel is of another class than the outline's")
    axes: tuple[Axis, ...] = getattr(channel, "axes", ())
    planned = tuple((axis.attributes, type(axis)) for axis in axes)
    demand(planned == outline.axes, f"the plan's axes are not the outline's: {planned} against {outline.axes}")
    if outline.fixed is not None:
        fixed = canonical(outline.fixed.to_json()) == canonical(channel.to_json())
        demand(fixed, "the outline fixes another channel than the one that is planned")
    document = channel.to_json()
    demand(channel_from_json(document, kinds).to_json() == document, "the channel reads back as another one")
    channel_from_json(channel.to_public_json(), kinds)
    released = {a.name for a in policy.released}
    told = {column.attribute for table in channel.tables() for column in table.columns if column.attribute}
    demand(told == released, f"released are {sorted(told)}, the policy releases {sorted(released)}")
    known = {a for axis in axes for a in axis.attributes} | released
    demand(set(proposal.origins) <= known, "origins name attributes that are not released")
    chosen = {name for name, origin in proposal.origins.items() if origin is Origin.DATA}
    announced = chosen <= set(outline.solved) or bool(outline.derived)
    demand(announced, "parameters are chosen from the data, and the outline does not announce it")
    for axis in axes:
        check_axis(axis)


class _Collected:
    """A sink that counts distinct rows."""

    def __init__(self) -> None:
        self.parts: dict[str, list[pa.Table]] = {}

    def write(self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False) -> None:
        """Keep a batch with its multiplicities."""
        del in_order
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        times = pa.array([1] * batch.num_rows if n is None else n, pa.int64())
        self.parts.setdefault(table, []).append(pa.table([*plain, times], names=[*batch.schema.names, MULTIPLICITY]))

    def reader(self, table: str) -> pa.RecordBatchReader:
        """Return distinct rows in order, with their counts `n`."""
        everything = pa.concat_tables(self.parts[table])
        names = [name for name in everything.schema.names if name != MULTIPLICITY]
        if any(pa.types.is_nested(everything.schema.field(name).type) for name in names):
            return everything.to_reader()
        grouped = everything.group_by(names).aggregate([(MULTIPLICITY, "sum")]).rename_columns([*names, MULTIPLICITY])
        return grouped.sort_by([(name, "ascending") for name in names]).to_reader()


def _check_draw(channel: Channel, original: Original) -> None:
    settled = channel.settle(original)
    demand(settled.settle(original).to_json() == settled.to_json(), "a settled channel settles otherwise")
    sink, again = _Collected(), _Collected()
    for seed_sink in (sink, again):
        settled.draw(original, Streams.for_tests(7), seed_sink)
    names = {table.name for table in settled.tables()}
    demand(set(sink.parts) == names, f"drawn were {sorted(sink.parts)}, promised {sorted(names)}")
    for table in settled.tables():
        rows, other = sink.reader(table.name).read_all(), again.reader(table.name).read_all()
        demand(
            set(rows.schema.names) == {*(c.name for c in table.columns), MULTIPLICITY}, "other columns than promised"
        )
        demand(rows.equals(other), "two draws from the same bits differ")
    try:
        finding = settled.conforms(original, {name: sink.reader(name) for name in names})
    except RRPolicyError as error:
        raise AssertionError(f"conforms() fails on what was drawn: {error}") from error
    demand(finding.verdict is Verdict.SATISFIED, "conforms() refuses what was drawn")
