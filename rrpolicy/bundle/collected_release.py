"""From collected randomised records to a release: nothing is drawn, and no original is available."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rrpolicy.bundle.execute import check_ledger_budget, folder_sink, policy_with_places, publish_bundle
from rrpolicy.bundle.manifest import ReleaseStatement
from rrpolicy.bundle.pages import ExecutedPlan
from rrpolicy.bundle.release_request import WrittenBundle, open_ledger_account, read_written_bundle
from rrpolicy.bundle.staging import Staging, filesystem_refusals, stage
from rrpolicy.bundle.tables.writer import WrittenTable
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.draw import TABLE, flatten, released_shape
from rrpolicy.channels.values import dictionary_array, labels
from rrpolicy.collection.answers import implausibilities
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.errors import DataError, Problem, RefusedError
from rrpolicy.formats.format import Formats
from rrpolicy.frozen import replace
from rrpolicy.planning.assess import assess
from rrpolicy.planning.file import PlanFile, read_plan
from rrpolicy.planning.gate import Decision, gate
from rrpolicy.planning.key_storage import KeyStorage
from rrpolicy.planning.ledger_account import ApprovalCheck, LedgerBackend, collection_id
from rrpolicy.planning.plan import Plan, require_consistent_channel
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.planning.waivers import Terms
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.source.opening import is_unreadable, open_original
from rrpolicy.verb_options import CollectOptions, shared, to_path

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original, Source

LIMITS = ("RR101", "RR104")
"""Codes of a requirement, or a utility gate, that is not met."""
_RECORDS = 1 << 16
"""Distinct rows written at a time."""


def write_collected_release(
    plan_file: Path,
    out: Path,
    handed: InputTable,
    options: CollectOptions,
    *,
    accounts: LedgerBackend,
    approve: ApprovalCheck,
) -> WrittenBundle:
    """Write the release of records that were collected; see `rrpolicy.collect` and `run_release`."""
    given = read_plan(plan_file, source=handed.uri, root=to_path(options["root"]))
    if given.plan.source_tag is not None:
        message = f"{plan_file} was made on a table: what it releases is drawn from that, not collected"
        hint = "`rrpolicy release PLAN`; to collect, `rrpolicy plan POLICY --expected-rows N --out PLAN`"
        raise RefusedError(Problem("RR523", message, hint=hint))
    opened = given.opened.reading(_load_collected_table(handed))
    terms = Terms.of(options["today"], waivers=options["waivers"])
    with stage(out) as staging, filesystem_refusals(out):
        approve(opened.policy, given.policy_file, staging.folder, terms.today)
        _write_collected_bundle(given, opened, staging, accounts=accounts, terms=terms, options=options)
    return read_written_bundle(opened.policy, out, None)


def _write_collected_bundle(
    given: PlanFile,
    opened: OpenedPolicy,
    staging: Staging,
    *,
    accounts: LedgerBackend,
    terms: Terms,
    options: CollectOptions,
) -> None:
    policy, registry, progress = opened.policy, opened.registry, options["progress"]
    planned = given.plan
    questionnaire = Questionnaire.of(planned.policy, planned.policy_digest, planned.channel, planned.software)
    product = questionnaire.channel
    with (
        registry.naming_engines(),
        _open_collected_table(collected_policy(policy, product), registry.sources, staging.scratch) as table,
        open_ledger_account(opened, accounts) as account,
    ):
        plan = replace(planned, policy=policy_with_places(planned, policy), channel=product, records=table.records)
        require_consistent_channel(product, plan.policy)
        progress("assessing", 0.2)
        _require_plausible(product, table)
        assessment = assess(plan.policy, registry, product, table.records, plan.derived)
        _collected_decision(gate(assessment, policy, terms), planned.records, table.records).require()
        progress("writing", 0.5)
        written = _write_collected_rows(plan, product, table, staging, registry.formats)
        table.unchanged()
        draw = collection_id(plan, written[TABLE].digest)
        weighed = check_ledger_budget(account, plan, table.records, assessment, draw)
        progress("writing the files that accompany the data", 0.8)
        executed = ExecutedPlan(
            plan,
            policy,
            assessment,
            written,
            registry,
            None,
            staging,
            ReleaseStatement(**shared(options, ReleaseStatement)),
            given.policy_file,
            KeyStorage.PERSONS,
            None,
            draw,
            weighed,
            test=False,
            questionnaire=questionnaire,
        )
        publish_bundle(executed, account)


def _collected_decision(decision: Decision, expected: int, records: int) -> Decision:
    """Return a decision on records that are already randomised, so that no record can be suppressed."""
    hint = (
        f"these {records:,} records are randomised already, and nothing can be hidden more: the plan counts on "
        f"{expected:,}. Collect more of them; if no more will come, they cannot be released under this policy"
    )
    return replace(
        decision, problems=tuple(replace(p, hint=hint) if p.code in LIMITS else p for p in decision.problems)
    )


@contextmanager
def _open_collected_table(policy: Policy, sources: Mapping[str, Source], scratch: Path) -> Iterator[Original]:
    """Open a collected table; a misfit is a problem of the collected records, not of the policy's columns.

    Raises:
        DataError: RR3xx.
    """
    expected = ", ".join(f"'{name}'" for name in policy.attributes)
    with ExitStack() as stack:
        try:
            table = stack.enter_context(open_original(policy, sources, scratch))
        except DataError as error:
            if is_unreadable(error):
                raise
            hint = f"a collected table holds what `rrpolicy collect randomize` printed and nothing else: {expected}"
            raise DataError([replace(p, place=None, expected=None, hint=hint) for p in error.problems]) from error
        yield table


def _load_collected_table(handed: InputTable) -> InputTable:
    """Return a collected table; for JSON lines, as `rrpolicy collect randomize` prints them, their contents."""
    if handed.uri is None or not handed.uri.endswith((".jsonl", ".ndjson")):
        return handed
    from rrpolicy.collection.lines import read_records
    from rrpolicy.source.memory.input_table import input_table as held

    records = read_records(None, Path(handed.uri), text=False)
    names = list(dict.fromkeys(name for record in records for name in record))
    try:
        return held(pa.table({name: [record.get(name) for record in records] for name in names}))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"{handed.uri} contains text and numbers, or lists, in one column"
        raise DataError(Problem("RR522", message, expected="what `rrpolicy collect randomize` prints")) from error


def collected_policy(policy: Policy, product: Product) -> Policy:
    """Return the policy under which a table of randomised records is read: each column has its released labels.

    `policy` has the collected table in place of its source.
    """
    columns = [column for table in product.tables() for column in table.columns]
    attributes = {
        c.name: Attribute(
            c.name, policy.attributes[c.attribute].role, c.spelled, release_as=c.name, place=policy.place("attributes")
        )
        for c in columns
    }
    source = replace(policy.source, unit=None, max_records=1, one_record_per_unit=None, missing=())
    settings = replace(policy.release, series=None)
    return replace(
        policy, attributes=attributes, source=source, requirements=(), gates=(), release=settings, ledger=None
    )


def _require_plausible(product: Product, table: Original) -> None:
    """Refuse a table that was not randomised by the channel (RR524)."""
    counts = []
    for axis in product.axes:
        shape = released_shape(axis)
        cells = table.counts(*(c.name for c in axis.columns()))
        flat = flatten(cells.codes.astype(np.int64), shape)
        counts.append(np.bincount(flat, cells.n, math.prod(shape)).astype(np.int64))
    hint = (
        "collect what `rrpolicy collect randomize` prints for this plan's questionnaire, each record once and "
        "unchanged; for answers that were not randomised, plan on their table and release it"
    )
    problems = [Problem("RR524", why, hint=hint) for why in implausibilities(product, counts, table.records)]
    if problems:
        raise DataError(problems)


def _write_collected_rows(
    plan: Plan, product: Product, table: Original, staging: Staging, formats: Formats
) -> Mapping[str, WrittenTable]:
    sink = folder_sink(plan, staging.public, staging.scratch, formats)
    (spec,) = product.tables()
    cells = table.counts(*(c.name for c in spec.columns))
    for low in range(0, len(cells.n), _RECORDS):
        part = slice(low, low + _RECORDS)
        arrays = [dictionary_array(cells.codes[part, i], labels(c)) for i, c in enumerate(spec.columns)]
        sink.write(TABLE, pa.RecordBatch.from_arrays(arrays, names=[c.name for c in spec.columns]), cells.n[part])
    return sink.finish()
