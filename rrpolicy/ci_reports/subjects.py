"""Subjects and outcomes from the results of each command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.ci_reports.entries import problem_entries, requirement_entry, review_entry, utility_entry
from rrpolicy.ci_reports.fingerprint import stated_name
from rrpolicy.ci_reports.outcome import (
    BUG,
    CommandOutcome,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeNote,
    OutcomeSubject,
)
from rrpolicy.declarations import REVIEW_KEY
from rrpolicy.errors import Problem
from rrpolicy.governance.diff.changes import IMPACT_TITLES, Effect
from rrpolicy.numbers import grouped_number
from rrpolicy.planning.gate import GIVEAWAY_CODE
from rrpolicy.planning.waivers import EXPIRY_CODES, warning_id
from rrpolicy.policy.folder.root import repository_root
from rrpolicy.policy.identity import entry_identities
from rrpolicy.reports.context import declaration_sentences

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport, AttackResult
    from rrpolicy.declarations import Waiver
    from rrpolicy.governance.cases.run import PolicyTestSuite
    from rrpolicy.governance.diff.changes import PolicyChange, PolicyDiff
    from rrpolicy.mechanism import Remark
    from rrpolicy.planning.check import PolicyCheck
    from rrpolicy.planning.plan_result import PlanResult
    from rrpolicy.planning.waivers import WaivedProblem
    from rrpolicy.policy.model import Gate, Policy
    from rrpolicy.table_risk.table import TableCheck
    from rrpolicy.verification.outcome import Check, UnconfirmedClaim, Verification


def command_outcome(
    command: str,
    exit_status: int,
    subjects: Sequence[OutcomeSubject],
    next: str = "",  # noqa: A002
) -> CommandOutcome:
    """Return the outcome of a command that ran in the working directory."""
    here = Path.cwd()
    return CommandOutcome(command, exit_status, tuple(subjects), (repository_root(here) or here).resolve(), next)


def check_subject(file: str, checked: PolicyCheck) -> OutcomeSubject:
    """Return the findings of `check` on one policy: those that need data are open, and block nothing."""
    policy = checked.policy
    named = entry_identities(policy)
    entries = [requirement_entry(finding, decided=False) for finding in checked.findings]
    entries += [
        _pending_gate_entry(gate, identity, checked.waivers.get(identity))
        for gate, identity in zip(policy.gates, named.gates, strict=True)
    ]
    entries += review_entries(policy, checked.warnings, checked.waived)
    entries += problem_entries(problem for problem in checked.problems if problem.code in EXPIRY_CODES)
    entries += [] if checked.records is None else [_table_entry(policy, checked.records)]
    told = [str(statistic) for statistic in checked.derived]
    notes = (OutcomeNote("may be derived from the data", tuple(told)),) if told else ()
    status = checked.exit_status
    return OutcomeSubject(
        policy.name, policy.version, file, status, tuple(entries), f"mechanism {policy.mechanism.name}", notes
    )


def plan_subject(file: str, outlook: PlanResult) -> OutcomeSubject:
    """Return the findings of `plan`."""
    plan, policy = outlook.plan, outlook.plan.policy
    entries = [requirement_entry(f, accepted=policy.release.accept) for f in outlook.assessment.findings]
    decision = outlook.decision
    waived = {one.what: one.waiver for one in decision.waived}
    entries += [utility_entry(finding, waived) for finding in outlook.assessment.utility]
    gates = {finding.identity for finding in outlook.assessment.utility}
    entries += review_entries(policy, decision.warnings, (one for one in decision.waived if one.what not in gates))
    entries += problem_entries(
        problem for problem in decision.problems if problem.code in {*EXPIRY_CODES, GIVEAWAY_CODE}
    )
    weighed = outlook.weighed
    entries += problem_entries(() if weighed is None else weighed.problems)
    accept = (f"to accept this disclosure, under [release]: {outlook.accept}",) if outlook.accept else ()
    notes = [
        OutcomeNote("declared by people", declaration_sentences(outlook.governance)),
        OutcomeNote("derived from the data", (*map(str, plan.derived), *accept)),
        OutcomeNote("assumptions", outlook.assessment.audited),
        OutcomeNote("released unchanged", tuple(_unchanged_columns(outlook))),
        OutcomeNote("with earlier releases", () if weighed is None else tuple(weighed.lines())),
        OutcomeNote(
            "expected error of reconstructed shares (root mean square, this table)", tuple(_expected_errors(outlook))
        ),
    ]
    summary = f"{policy.mechanism.name} on {plan.records:,} records"
    kept = tuple(note for note in notes if note.lines)
    return OutcomeSubject(policy.name, policy.version, file, outlook.exit_status, tuple(entries), summary, kept)


def review_entries(policy: Policy, warnings: Iterable[Remark], waived: Iterable[WaivedProblem]) -> list[OutcomeEntry]:
    """Return the entries of points that need judgement, including waived ones."""
    whole, due = policy.place("policy"), policy.place("context.review_by")
    open_points = [review_entry(warning_id(remark), remark.text, place=whole) for remark in warnings]
    let_be = [
        review_entry(one.what, one.message, one.waiver, due if one.what == REVIEW_KEY else whole) for one in waived
    ]
    return [*open_points, *let_be]


def diff_subject(found: PolicyDiff) -> OutcomeSubject:
    """Return the findings of `diff` on one policy: every change is an entry, its impact a note."""
    only = found.only_data
    told = () if only is None else (f"policy {only.policy}", f"governance {only.governance}", f"statement {only.id}")
    notes = [OutcomeNote("only the data changed", told)]
    for kind, title in IMPACT_TITLES.items():
        notes.append(OutcomeNote(f"{title}, from {found.prices.known}", found.prices.told(kind)))
    summary = f"{found.effect}, compared with {found.old.file} ({found.old.version})"
    entries = tuple(_change_entry(change) for change in found.changes)
    new, status = found.new, 0 if found.passed else 1
    return OutcomeSubject(new.name, new.version, new.file, status, entries, summary, tuple(n for n in notes if n.lines))


def new_policy_subject(file: str) -> OutcomeSubject:
    """Return the note that a new policy was compared with nothing, so that it does not read as unchanged."""
    entry = OutcomeEntry(
        rule="new policy",
        identity="new",
        part=EntryPart.CHANGE,
        kind=OutcomeKind.REVIEW,
        title="the policy is new",
        message=f"{file} is new: it was compared with nothing",
        blocking=False,
        place=None,
        about="A policy that the other side does not have.",
        hint="`rrpolicy check --extends BASELINE` compares it with a baseline",
    )
    return OutcomeSubject(Path(file).name, "", file, 0, (entry,), "new, compared with nothing")


def _change_entry(change: PolicyChange) -> OutcomeEntry:
    kinds = {Effect.WEAKER: OutcomeKind.REVIEW, Effect.INCOMPARABLE: OutcomeKind.REVIEW}
    problem = change.problem
    said = "; ".join(filter(None, (change.why, change.explained and f"explained: {change.explained}")))
    told = f"{change.key}: {f'{change.values}; ' if change.values else ''}{said}"
    return OutcomeEntry(
        rule=change.effect.value if problem is None else problem.code,
        identity=change.key,
        part=EntryPart.CHANGE,
        kind=kinds.get(change.effect, OutcomeKind.INFORMATIONAL) if problem is None else OutcomeKind.FAIL,
        title=f"{change.key} is {change.effect}",
        message=told if problem is None else problem.message,
        blocking=problem is not None,
        place=change.places.new if problem is None else problem.place,
        about="" if problem is not None else f"A change of a policy that is {change.effect}.",
        expected=None if problem is None else problem.expected,
        hint=None if problem is None else problem.hint,
    )


def test_subject(found: PolicyTestSuite) -> OutcomeSubject:
    """Return the results of one policy's tests; entries of the policy without a test are listed in a note."""
    entries = tuple(
        OutcomeEntry(
            rule="policy test" if one.passed else one.problems[0].code,
            identity=f"test/{one.name}",
            part=EntryPart.CHECK,
            kind=OutcomeKind.MET if one.passed else OutcomeKind.FAIL,
            title=one.name,
            message="it comes out as expected" if one.passed else f"the test '{one.name}': {'; '.join(one.unlike)}",
            blocking=not one.passed,
            place=one.place,
            about="A small table yields the expected plan." if one.passed else "",
        )
        for one in found.tried
    )
    notes = (OutcomeNote("entries that no test covers", found.untested),) if found.untested else ()
    status = 0 if found.passed else 1
    return OutcomeSubject(
        found.name, found.version, found.file, status, entries, f"policy tests: {len(entries)}", notes
    )


def table_subject(found: TableCheck, uri: str, status: int) -> OutcomeSubject:
    """Return the findings of `check-table`."""
    entries = tuple(requirement_entry(finding) for finding in (*found.findings, *found.risks))
    summary = f"{found.records:,} records, {found.classes:,} equivalence classes"
    notes = (OutcomeNote("to be read with it", found.remarks),) if found.remarks else ()
    return OutcomeSubject(found.name, "", uri if Path(uri).is_file() else "", status, entries, summary, notes)


def verification_subject(found: Verification, bundle: Path, status: int, *, strict: bool) -> OutcomeSubject:
    """Return the findings of `verify`.

    With `strict` undecided entries block.
    """
    entries = [requirement_entry(finding, decided=False) for finding in found.held]
    entries += [_check_entry(check) for check in found.checks if check.passed]
    entries += problem_entries(found.problems)
    entries += [review_entry(point.what, point.message, point.waiver, point.place) for point in found.points]
    entries += [_undecided_entry(text, blocking=strict) for text in found.undecided]
    entries += [_claim_entry(claim) for claim in found.claims]
    records = [bundle / "public" / "release.json", bundle / "release.json"]
    file = next((str(path) for path in records if path.is_file()), "")
    again = (f"drawn again from the source and the key: {found.reproduced}",) if found.reproduced else ()
    notes = tuple(
        OutcomeNote(title, lines) for title, lines in (("redraw", again), ("to be read with it", found.notes)) if lines
    )
    summary = f"{'verified' if found.passed else 'NOT verified'} at level {found.level.word}"
    return OutcomeSubject(found.policy or bundle.name, found.version, file, status, tuple(entries), summary, notes)


def attack_subject(found: AttackReport, bundles: Sequence[Path]) -> OutcomeSubject:
    """Return the results of `attack`; as confidential as audit/."""
    entries = [*map(_attack_entry, found.every), *(() if found.decided else problem_entries(found.problems))]
    name, file = ", ".join(bundle.name for bundle in bundles), str(bundles[0] / "public" / "release.json")
    status, summary = found.exit_status, found.last_line()
    return OutcomeSubject(name, "", file if Path(file).is_file() else "", status, tuple(entries), summary)


def _attack_entry(attack: AttackResult) -> OutcomeEntry:
    title = f"{attack.name}: {attack.of}" if attack.of else attack.name
    identity, about = f"attack/{attack.name}/{attack.of}", f"An attacker who knows {attack.knows or 'the release'}."
    if (problem := attack.problem) is not None:
        told, hint, rule = problem.message, problem.hint, problem.code
        return OutcomeEntry(
            rule, identity, EntryPart.CHECK, OutcomeKind.FAIL, title, told, blocking=True, about=about, hint=hint
        )
    if attack.successes is None:
        return OutcomeEntry(
            "attack", identity, EntryPart.CHECK, OutcomeKind.OPEN, title, f"{title}: {attack.reason}", about=about
        )
    told = (
        f"{title}: {attack.outcome}: {grouped_number(attack.successes)}, predicted {grouped_number(attack.predicted)}"
    )
    return OutcomeEntry("attack", identity, EntryPart.CHECK, OutcomeKind.MET, title, told, about=about)


def problem_subject(problems: Sequence[Problem], status: int, asked_of: str = "") -> OutcomeSubject:
    """Return the problems that block a command, or one policy of several."""
    file = next((p.place.file for p in problems if p.place is not None), "")
    file = file or ("" if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", asked_of) else asked_of)
    name, version = stated_name(file) if file else ("rrpolicy", "")
    return OutcomeSubject(name, version, file, status, problem_entries(problems))


def bug_subject(command: str) -> CommandOutcome:
    """Return the outcome of a defect; its message may contain a value of the data and is omitted."""
    message = "rrpolicy has a defect; nothing was released. Standard error shows how to report it"
    entry = OutcomeEntry(
        "defect", "defect", EntryPart.PROBLEM, OutcomeKind.ERROR, "a defect of rrpolicy", message, blocking=True
    )
    return command_outcome(command, BUG, [OutcomeSubject("rrpolicy", "", "", BUG, (entry,))])


def _check_entry(check: Check) -> OutcomeEntry:
    title = f"{check.level.word}: {check.name}"
    message = f"{check.name} holds" + (f": {check.detail}" if check.detail else "")
    identity = f"check/{check.level.word}/{check.name}"
    return OutcomeEntry(f"verify-{check.level.word}", identity, EntryPart.CHECK, OutcomeKind.MET, title, message)


def _undecided_entry(text: str, *, blocking: bool) -> OutcomeEntry:
    message = f"undecided at this level: {text}"
    return OutcomeEntry(
        "undecided", f"undecided/{text}", EntryPart.CHECK, OutcomeKind.OPEN, text, message, blocking=blocking
    )


def _claim_entry(claim: UnconfirmedClaim) -> OutcomeEntry:
    message = f"stated in {claim.file} and not verified: {claim.meaning}"
    identity = f"stated/{claim.file}/{claim.field}"
    return OutcomeEntry("stated", identity, EntryPart.CHECK, OutcomeKind.INFORMATIONAL, claim.meaning, message)


def _table_entry(policy: Policy, records: int) -> OutcomeEntry:
    message = f"the table, of {records:,} records, has the declared names, types and values"
    place = policy.place("source.uri")
    return OutcomeEntry(
        "table", "source", EntryPart.CHECK, OutcomeKind.MET, "the table is as the policy declares", message, place=place
    )


def _pending_gate_entry(gate: Gate, identity: str, waiver: Waiver | None) -> OutcomeEntry:
    title = str(gate)
    message = f"{title} is decided by `rrpolicy plan`, which counts the data"
    return OutcomeEntry(
        gate.metric,
        identity,
        EntryPart.GATE,
        OutcomeKind.OPEN,
        title,
        message,
        place=gate.place,
        limit=gate.limit,
        waived=waiver,
    )


def _unchanged_columns(outlook: PlanResult) -> list[str]:
    from rrpolicy.planning.plan_result import unrandomised_columns

    reasons = {a.release_as: a.why_unchanged for a in outlook.plan.policy.released}
    return [
        f"{name}: {reason}" if (reason := reasons.get(name)) else name for name in unrandomised_columns(outlook.plan)
    ]


def _expected_errors(outlook: PlanResult) -> list[str]:
    return [f"{e.attributes[0]}: {e.told}" for e in outlook.errors if len(e.attributes) == 1]
