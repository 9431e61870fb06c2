"""Comparison: candidates planned on the same table, assessed under the requirements of all, with the same errors."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.canonical_json import canonical
from rrpolicy.channels.decoders import RecodeDecoder
from rrpolicy.errors import DataError, PolicyError, Problem, RefusedError, RequirementError
from rrpolicy.frozen import replace
from rrpolicy.governance.compare.attach import attach_comparison, release_among
from rrpolicy.governance.compare.candidates import Candidate, Vary, candidates
from rrpolicy.governance.compare.checkpoint import ComparisonCheckpoint
from rrpolicy.governance.compare.comparison import CandidateComparison, CandidateOutcome, CandidateResult, choose_axis
from rrpolicy.governance.compare.criteria import SEED, ComparisonCriteria
from rrpolicy.planning.derived_statistics import acceptance_hint
from rrpolicy.planning.keys import hidden_weights_fingerprint
from rrpolicy.planning.plan import software
from rrpolicy.planning.plan_result import PlanResult, exact_columns, marginal_errors, plan_and_assess
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.policy.model import Policy
from rrpolicy.reports.pairs import has_usable_tables
from rrpolicy.serialization import plain
from rrpolicy.source.opening import absolute_uri, engine_for_uri, is_unreadable, open_snapshot, open_with_reference

if TYPE_CHECKING:
    from rrpolicy.planning.assess import Assessment
    from rrpolicy.planning.ledger_account import LedgerBackend
    from rrpolicy.planning.plan import MarginalError, Plan
    from rrpolicy.planning.policy_opening import OpenedPolicy
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.registry import Registry
    from rrpolicy.source.memory.input_table import InputTable
    from rrpolicy.source.original import TableOriginal
    from rrpolicy.source.protocol import Original, Snapshot


class ComparisonTables:
    """Opened tables for the duration of a comparison."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self.folder = stack, folder
        self._open: dict[bytes, Snapshot] = {}
        self._read: list[TableOriginal] = []

    def original(self, policy: Policy, registry: Registry) -> TableOriginal:
        """Return the table as a policy reads it, reusing the counts of another policy."""
        from rrpolicy.source.original import read_original

        for one in self._read:
            if _reads_equally(one.policy, policy):
                return replace(one, policy=replace(policy, attributes=one.policy.attributes))
        source = policy.source
        key = canonical([source.uri, source.table, policy.folder, plain(policy.reading)])
        if key not in self._open:
            opening = open_snapshot(policy, registry.sources, self.folder / f"table-{len(self._open)}")
            self._open[key] = self._stack.enter_context(opening)
        scratch = self.folder / f"people-{len(self._read)}"
        opening_people = open_with_reference(read_original(policy, self._open[key]), registry.sources, scratch)
        self._read.append(self._stack.enter_context(opening_people))
        return self._read[-1]


def _reads_equally(one: Policy, other: Policy) -> bool:
    """Return whether a table that was read under a policy is the same under another, observed domains included."""
    stated = {name: replace(a, domain=None) if a.observed else a for name, a in one.attributes.items()}
    asked = {name: replace(a, domain=None) if a.observed else a for name, a in other.attributes.items()}
    extra = stated.keys() - asked.keys()  # unnamed columns, which are excluded
    same = {name: a for name, a in stated.items() if name not in extra} == asked
    unnamed = not extra or (one.source.other_columns == other.source.other_columns == "excluded")
    where = all(getattr(one, key) == getattr(other, key) for key in ("source", "folder", "reference"))
    where &= one.release.series == other.release.series
    return same and unnamed and where and not any(not one.attributes[name].role.dropped for name in extra)


Progress = Callable[[str, float], None]


class ComparisonRequest(Struct, frozen=True):
    """Options of a comparison, in addition to the candidates.

    Attributes:
        risk: id of the requirement of the map; None for the first that most have.
        error: id of its error, likewise.
        records: number to plan for, without data; None with the table.
        kept: cache of finished candidates; None without a cache.
        write: write the result into audit/ of the release that is a candidate.
    """

    risk: str | None
    error: str | None
    handed: InputTable
    records: int | None
    draws: int
    kept: ComparisonCheckpoint | None
    terms: Terms
    accounts: LedgerBackend
    write: bool = False


def compare(  # noqa: PLR0917 those of `rrpolicy.compare`
    named: Sequence[Path],
    mechanisms: Sequence[str],
    vary: Vary,
    root: Path | None,
    trusted: Sequence[str],
    call: ComparisonRequest,
    progress: Progress,
) -> CandidateComparison:
    """Compare; see `rrpolicy.compare` for the arguments and errors."""
    from rrpolicy.safe_io.tempdirs import scratch_folder
    from rrpolicy.utility.table_metric import FEWEST_DRAWS, MOST_DRAWS

    if not FEWEST_DRAWS <= call.draws <= MOST_DRAWS:
        raise PolicyError(Problem("RR250", f"{call.draws} draws", expected=f"{FEWEST_DRAWS} to {MOST_DRAWS:,}"))
    into = release_among(named) if call.write else None
    found = list(candidates(named, mechanisms, vary, root, call.handed, trusted))
    written = {one.written.plan.policy_digest for one in found if one.written is not None}
    found = [one for one in found if one.opened is None or one.opened.policy.digest() not in written]
    if call.records is None:
        _require_single_table(found)
    asking = [one.asking for one in found if one.asking is not None]
    asked = ComparisonCriteria.of(
        asking,
        _first_stated_policy(named[0], found[0], root, call.handed),
        call.draws,
        measured=call.records is None and all(_has_table(one) for one in found),
    )
    rows = []
    with ExitStack() as stack:
        tables = ComparisonTables(stack, stack.enter_context(scratch_folder()).folder)
        for place, one in enumerate(found):

            def tell(what: str, share: float, place: int = place) -> None:
                progress(f"candidate {place + 1} of {len(found)}: {what}", (place + share) / len(found))

            rows.append(_candidate_result(one, asked, tables, call, tell))
    risks, utilities = asked.risks(rows), asked.utilities(rows)
    across = choose_axis(risks, rows, "risk", call.risk)
    up = choose_axis(utilities, rows, "error", call.error)
    read = call.records is None or any(one.written is not None for one in found)
    opened = [(place, one.opened.policy) for place, one in enumerate(found, 1) if one.opened is not None]
    unkept = tuple(place for place, policy in opened if call.kept is not None and _has_external_inputs(policy))
    compared = CandidateComparison(tuple(rows), risks, utilities, across, up, confidential=read, unkept=unkept)
    if into is not None:
        own = next(one.written for one in found if one.written is not None and one.file == str(into))
        attach_comparison(into, own.release, compared, own.registry)
    return compared


def _first_stated_policy(
    path: Path, first: Candidate, root: Path | None, handed: InputTable
) -> tuple[Policy, Registry]:
    """Return the first policy as its file states it, with its plugins; for a plan or a release its own policy."""
    if first.written is not None:
        return first.written.plan.policy, first.written.registry
    made = open_policy(path, source=handed.uri, root=root)
    return made.policy, made.registry


def _has_table(one: Candidate) -> bool:
    return one.written is None or one.written.table


def _require_single_table(each: Sequence[Candidate]) -> None:
    """Refuse candidates that would be planned on different tables: their numbers would not be comparable."""
    found: dict[tuple[str | None, ...], tuple[Policy, Registry]] = {}
    for policy, registry in (one.asking for one in each if one.asking is not None and _has_table(one)):
        source = policy.source
        uri = engine_for_uri(source.uri, registry.sources, Path(policy.folder), policy)[1]
        path = os.path.normpath(os.path.abspath(uri))  # noqa: PTH100
        found.setdefault((path, source.table, split_counts_uri(source.uri)[0]), (policy, registry))
    if len(found) > 1:
        pair = list(found.values())[:2]
        read = " and ".join(f"'{absolute_uri(p.source.uri, r.sources, p.folder)}'" for p, r in pair)
        message = f"the candidates read different tables: {read}"
        hint = "name one for all of them: --source TABLE"
        raise PolicyError(Problem("RR250", message, pair[1][0].place("source.uri"), "one table", hint))


def _candidate_result(
    one: Candidate, asked: ComparisonCriteria, tables: ComparisonTables, call: ComparisonRequest, progress: Progress
) -> CandidateResult:
    """Return the result of a candidate; if it cannot be planned, with the reason.

    Raises DataError (RR3xx) if the table cannot be read at all.
    """
    row = CandidateResult(one.label, one.file, one.mechanism, one.changed, None, CandidateOutcome.REFUSED)
    if one.asking is None:
        return replace(row, problems=one.problems)
    policy, registry = one.asking
    row = replace(row, policy=_policy_identity(policy))
    try:
        with registry.naming_engines():
            if one.written is not None:
                return _existing_result(row, one, asked, tables, call)
            original = tables.original(policy, registry) if call.records is None else call.records
            key = _checkpoint_key(policy, registry, asked, original, call)
            kept = None if call.kept is None or key is None else call.kept.get(key)
            found = kept or _planned_result(row, one, asked, tables, call, progress)
            if kept is None and call.kept is not None and key is not None:
                call.kept.put(key, found)
            return replace(found, label=row.label, file=row.file)
    except (PolicyError, RequirementError, DataError) as error:
        if isinstance(error, DataError) and is_unreadable(error):
            raise
        return replace(row, problems=error.problems)
    except RefusedError as error:
        if {problem.code for problem in error.problems} != {"RR444"}:  # this would not continue a series
            raise
        return replace(row, problems=error.problems)


def _has_external_inputs(policy: Policy) -> bool:
    return policy.ledger is not None or bool(policy.mechanism.elsewhere)


def _checkpoint_key(
    policy: Policy, registry: Registry, asked: ComparisonCriteria, original: Original | int, call: ComparisonRequest
) -> str | None:
    """Return the key of a candidate in the cache; None if it is not cached."""
    if call.kept is None or _has_external_inputs(policy):
        return None
    governance = policy.governance
    dated = governance.waivers or governance.context.review is not None
    return call.kept.key(
        b"" if isinstance(original, int) else original.content() + (hidden_weights_fingerprint(original) or b""),
        original if isinstance(original, int) else original.records,
        plain(software(registry)),
        policy.digest(),
        [governance.digest(), call.terms.today.isoformat() if dated else "", call.terms.waivers],
        asked.told(),
        [asked.draws, SEED, asked.measured],
    )


def _existing_result(
    row: CandidateResult, one: Candidate, asked: ComparisonCriteria, tables: ComparisonTables, call: ComparisonRequest
) -> CandidateResult:
    """Return the result of a plan or a release: as it states it, the rest computed from its channel."""
    assert one.written is not None
    plan, registry, assessment = one.written.plan, one.written.registry, one.written.assessment
    original: Original | int = plan.records
    if one.written.table and call.records is None:
        original = tables.original(plan.policy, registry)
        if original.records != plan.records:
            message = f"{one.file} is of a table with another number of records"
            raise RequirementError(Problem("RR124", message, hint="name its own table with --source"))
    row = replace(row, outcome=CandidateOutcome.PASSES, expected_errors=marginal_errors(plan, original))
    return _with_criteria(row, asked, plan, assessment, registry=registry, original=original)


def _with_criteria(
    row: CandidateResult,
    asked: ComparisonCriteria,
    plan: Plan,
    assessment: Assessment,
    *,
    registry: Registry,
    original: Original | int,
) -> CandidateResult:
    """Return the result of a plan with its numbers under the criteria of all candidates."""
    return replace(
        row,
        records=plan.records,
        findings=dict(asked.findings(plan, assessment, registry, original)),
        utility=dict(asked.errors(plan, assessment, registry, original)),
        unmet=tuple(asked.unmet(plan, assessment, registry, original)),
        protection=assessment.protection,
        unchanged=exact_columns(plan),
        usable=_usable_tables(plan, row.expected_errors),
    )


def _planned_result(  # noqa: PLR0917 what it passes on
    row: CandidateResult,
    one: Candidate,
    asked: ComparisonCriteria,
    tables: ComparisonTables,
    call: ComparisonRequest,
    progress: Progress,
) -> CandidateResult:
    from rrpolicy.source.tuning_source import open_tuning_table

    def looked(made: OpenedPolicy) -> tuple[PlanResult, Original | int]:
        account = None if made.policy.ledger is None else call.accounts.reading(made.policy, made.registry)
        if call.records is not None:
            return plan_and_assess(
                made.policy, made.registry, call.records, progress, None, call.terms, account
            ), call.records
        original = tables.original(made.policy, made.registry)
        with open_tuning_table(original.policy, made.registry.sources, tables.folder / "plan-on") as elsewhere:
            outlook = plan_and_assess(made.policy, made.registry, original, progress, elsewhere, call.terms, account)
        return outlook, original

    assert one.opened is not None
    made = one.opened
    outlook, original = looked(made)
    accept = None
    if one.accepting is not None and {problem.code for problem in outlook.problems} == {"RR108"}:
        line = acceptance_hint(made.policy, outlook.plan.derived)
        with suppress(PolicyError):  # its baseline does not allow accepting that
            made = one.accepting([derived.id for derived in outlook.plan.derived])
            (outlook, original), accept = looked(made), line
            row = replace(row, policy=_policy_identity(made.policy))
    progress("measuring", 0.95)
    outcome = CandidateOutcome.PASSES if outlook.passed else CandidateOutcome.FAILS
    row = replace(row, outcome=outcome, problems=outlook.problems, expected_errors=outlook.errors, accept=accept)
    return _with_criteria(row, asked, outlook.plan, outlook.assessment, registry=made.registry, original=original)


def _usable_tables(plan: Plan, errors: Sequence[MarginalError]) -> bool:
    """Return whether tables can be used; those of generalised columns can, as their groups are counted exactly."""
    decoders = (decoder for decoder in plan.channel.decoders() if isinstance(decoder, RecodeDecoder))
    generalised = {name for decoder in decoders for name in decoder.attributes}
    return has_usable_tables([error for error in errors if generalised.isdisjoint(error.attributes)])


def _policy_identity(policy: Policy) -> Mapping[str, str]:
    return {"name": policy.name, "version": policy.version, "digest": policy.digest()}
