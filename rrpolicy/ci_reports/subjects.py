"""Subjects and outcomes from what each command returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.ci_reports.entries import faults, judgement, requirement, utility
from rrpolicy.ci_reports.fingerprint import stated_name
from rrpolicy.ci_reports.outcome import BUG, Entry, Kind, Note, Outcome, Part, Subject
from rrpolicy.errors import Problem
from rrpolicy.governance.diff.altered import PRICED, Effect
from rrpolicy.planning.gate import GIVES_AWAY
from rrpolicy.planning.waivers import DUE, warning_id
from rrpolicy.policy.folder.repository import top
from rrpolicy.policy.governance import REVIEW
from rrpolicy.policy.identity import identities
from rrpolicy.reports.context import declared_lines

if TYPE_CHECKING:
    from rrpolicy.attacks.result import Attack, Attacked
    from rrpolicy.governance.cases.run import Tests
    from rrpolicy.governance.diff.altered import Altered, Comparison
    from rrpolicy.mechanism import Remark
    from rrpolicy.planning.check import Checked
    from rrpolicy.planning.preview import Outlook
    from rrpolicy.planning.waivers import Waived
    from rrpolicy.policy.governance import Waiver
    from rrpolicy.policy.model import Gate, Policy
    from rrpolicy.table_risk.table import TableCheck
    from rrpolicy.verification.outcome import Check, Claim, Verification


def outcome(command: str, exit_status: int, subjects: Sequence[Subject], next: str = "") -> Outcome:  # noqa: A002
    """Return the outcome of a command that ran in the working directory."""
    here = Path.cwd()
    return Outcome(command, exit_status, tuple(subjects), (top(here) or here).resolve(), next)


def of_check(file: str, checked: Checked) -> Subject:
    """Return what `check` found of one policy: what no policy alone decides stays open, and blocks nothing."""
    policy = checked.policy
    named = identities(policy)
    entries = [requirement(finding, decided=False) for finding in checked.findings]
    entries += [
        _waiting(gate, identity, checked.waivers.get(identity))
        for gate, identity in zip(policy.gates, named.gates, strict=True)
    ]
    entries += judged(policy, checked.warnings, checked.waived)
    entries += faults(problem for problem in checked.problems if problem.code in DUE)
    entries += [] if checked.records is None else [_fits(policy, checked.records)]
    told = [str(statistic) for statistic in checked.derived]
    notes = (Note("may be derived from the data", tuple(told)),) if told else ()
    status = checked.exit_status
    return Subject(
        policy.name, policy.version, file, status, tuple(entries), f"mechanism {policy.mechanism.name}", notes
    )


def of_plan(file: str, outlook: Outlook) -> Subject:
    """Return what `plan` found."""
    plan, policy = outlook.plan, outlook.plan.policy
    entries = [requirement(f, accepted=policy.release.accept) for f in outlook.assessment.findings]
    decision = outlook.decision
    waived = {one.what: one.waiver for one in decision.waived}
    entries += [utility(finding, waived) for finding in outlook.assessment.utility]
    gates = {finding.identity for finding in outlook.assessment.utility}
    entries += judged(policy, decision.warnings, (one for one in decision.waived if one.what not in gates))
    entries += faults(problem for problem in decision.problems if problem.code in {*DUE, GIVES_AWAY})
    weighed = outlook.weighed
    entries += faults(() if weighed is None else weighed.problems)
    accept = (f"to accept what it tells, under [release]: {outlook.accept}",) if outlook.accept else ()
    notes = [
        Note("declared by people", declared_lines(outlook.governance)),
        Note("derived from the data", (*map(str, plan.derived), *accept)),
        Note("assumptions", outlook.assessment.audited),
        Note("released unchanged", tuple(_unchanged(outlook))),
        Note("with earlier releases", () if weighed is None else tuple(weighed.lines())),
        Note("expected error of reconstructed shares (root mean square, this table)", tuple(_errors(outlook))),
    ]
    summary = f"{policy.mechanism.name} on {plan.records:,} records"
    kept = tuple(note for note in notes if note.lines)
    return Subject(policy.name, policy.version, file, outlook.exit_status, tuple(entries), summary, kept)


def judged(policy: Policy, warnings: Iterable[Remark], waived: Iterable[Waived]) -> list[Entry]:
    """Return the entries of points of judgement, those that somebody waived among them."""
    whole, due = policy.place("policy"), policy.place("context.review_by")
    open_points = [judgement(warning_id(remark), remark.text, place=whole) for remark in warnings]
    let_be = [judgement(one.what, one.message, one.waiver, due if one.what == REVIEW else whole) for one in waived]
    return [*open_points, *let_be]


def of_comparison(found: Comparison) -> Subject:
    """Return what `diff` found of one policy: every change is an entry, and what it costs stands beside them."""
    only = found.only_data
    told = () if only is None else (f"policy {only.policy}", f"governance {only.governance}", f"statement {only.id}")
    notes = [Note("only the data changed", told)]
    for kind, title in PRICED.items():
        notes.append(Note(f"{title}, from {found.prices.known}", found.prices.told(kind)))
    summary = f"{found.effect}, compared with {found.old.file} ({found.old.version})"
    entries = tuple(_change(change) for change in found.changes)
    new, status = found.new, 0 if found.passed else 1
    return Subject(new.name, new.version, new.file, status, entries, summary, tuple(n for n in notes if n.lines))


def of_new(file: str) -> Subject:
    """Return that a policy was compared with nothing: nobody is to take it for unchanged."""
    entry = Entry(
        rule="new policy",
        identity="new",
        part=Part.CHANGE,
        kind=Kind.REVIEW,
        title="the policy is new",
        message=f"{file} is new: it was compared with nothing",
        blocking=False,
        place=None,
        about="A policy that the other side does not have.",
        hint="`rrpolicy check --extends BASELINE` holds it to a baseline",
    )
    return Subject(Path(file).name, "", file, 0, (entry,), "new, compared with nothing")


def _change(change: Altered) -> Entry:
    kinds = {Effect.WEAKER: Kind.REVIEW, Effect.INCOMPARABLE: Kind.REVIEW}
    problem = change.problem
    said = "; ".join(filter(None, (change.why, change.explained and f"explained: {change.explained}")))
    told = f"{change.key}: {f'{change.values}; ' if change.values else ''}{said}"
    return Entry(
        rule=change.effect.value if problem is None else problem.code,
        identity=change.key,
        part=Part.CHANGE,
        kind=kinds.get(change.effect, Kind.INFORMATIONAL) if problem is None else Kind.FAIL,
        title=f"{change.key} is {change.effect}",
        message=told if problem is None else problem.message,
        blocking=problem is not None,
        place=change.places.new if problem is None else problem.place,
        about="" if problem is not None else f"A change of a policy that is {change.effect}.",
        expected=None if problem is None else problem.expected,
        hint=None if problem is None else problem.hint,
    )


def of_tests(found: Tests) -> Subject:
    """Return what the tests of one policy came to; entries that none speaks of stand beside them."""
    entries = tuple(
        Entry(
            rule="policy test" if one.passed else one.problems[0].code,
            identity=f"test/{one.name}",
            part=Part.CHECK,
            kind=Kind.MET if one.passed else Kind.FAIL,
            title=one.name,
            message="it comes out as expected" if one.passed else f"the test '{one.name}': {'; '.join(one.unlike)}",
            blocking=not one.passed,
            place=one.place,
            about="A small table, planned, comes to what is expected of it." if one.passed else "",
        )
        for one in found.tried
    )
    notes = (Note("entries that no test speaks of", found.untested),) if found.untested else ()
    status = 0 if found.passed else 1
    return Subject(found.name, found.version, found.file, status, entries, f"policy tests: {len(entries)}", notes)


def of_table(found: TableCheck, uri: str, status: int) -> Subject:
    """Return what `check-table` found."""
    entries = tuple(requirement(finding) for finding in (*found.findings, *found.risks))
    summary = f"{found.records:,} records, {found.classes:,} equivalence classes"
    notes = (Note("to be read with it", found.remarks),) if found.remarks else ()
    return Subject(found.name, "", uri if Path(uri).is_file() else "", status, entries, summary, notes)


def of_verification(found: Verification, bundle: Path, status: int, *, strict: bool) -> Subject:
    """Return what `verify` found.

    Args:
        found: what was recomputed.
        bundle: the folder.
        status: the exit status.
        strict: what is undecided stands in the way, too.
    """
    entries = [requirement(finding, decided=False) for finding in found.held]
    entries += [_check(check) for check in found.checks if check.passed]
    entries += faults(found.problems)
    entries += [judgement(point.what, point.message, point.waiver, point.place) for point in found.points]
    entries += [_undecided(text, blocking=strict) for text in found.undecided]
    entries += [_stated(claim) for claim in found.claims]
    records = [bundle / "public" / "release.json", bundle / "release.json"]
    file = next((str(path) for path in records if path.is_file()), "")
    again = (f"drawn again from the source and the key: {found.reproduced}",) if found.reproduced else ()
    notes = tuple(
        Note(title, lines) for title, lines in (("redraw", again), ("to be read with it", found.notes)) if lines
    )
    summary = f"{'verified' if found.passed else 'NOT verified'} at level {found.level.word}"
    return Subject(found.policy or bundle.name, found.version, file, status, tuple(entries), summary, notes)


def of_attacks(found: Attacked, bundles: Sequence[Path]) -> Subject:
    """Return what `attack` came to; audit-class, as what it found."""
    entries = [*map(_attack, found.every), *(() if found.decided else faults(found.problems))]
    name, file = ", ".join(bundle.name for bundle in bundles), str(bundles[0] / "public" / "release.json")
    status, summary = found.exit_status, found.last_line()
    return Subject(name, "", file if Path(file).is_file() else "", status, tuple(entries), summary)


def _attack(attack: Attack) -> Entry:
    title = f"{attack.name}: {attack.of}" if attack.of else attack.name
    identity, about = f"attack/{attack.name}/{attack.of}", f"An attacker who knows {attack.knows or 'the release'}."
    if (problem := attack.problem) is not None:
        told, hint, rule = problem.message, problem.hint, problem.code
        return Entry(rule, identity, Part.CHECK, Kind.FAIL, title, told, blocking=True, about=about, hint=hint)
    if attack.successes is None:
        return Entry("attack", identity, Part.CHECK, Kind.OPEN, title, f"{title}: {attack.reason}", about=about)
    told = f"{title}: {attack.outcome}: {attack.successes:,.6g}, predicted {attack.predicted:,.6g}"
    return Entry("attack", identity, Part.CHECK, Kind.MET, title, told, about=about)


def of_problems(problems: Sequence[Problem], status: int, asked_of: str = "") -> Subject:
    """Return what stands in the way of a command, or of one policy of several.

    Args:
        problems: that do.
        status: the exit status.
        asked_of: the file or folder that the command was asked of, or the uri of a table; "" if nothing is known.
    """
    file = next((p.place.file for p in problems if p.place is not None), "")
    file = file or ("" if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", asked_of) else asked_of)
    name, version = stated_name(file) if file else ("rrpolicy", "")
    return Subject(name, version, file, status, faults(problems))


def of_bug(command: str) -> Outcome:
    """Return the outcome of a defect; its message may hold a value of the data and is left out."""
    message = "rrpolicy has a defect; nothing was released. Standard error tells how to report it"
    entry = Entry("defect", "defect", Part.PROBLEM, Kind.ERROR, "a defect of rrpolicy", message, blocking=True)
    return outcome(command, BUG, [Subject("rrpolicy", "", "", BUG, (entry,))])


def _check(check: Check) -> Entry:
    title = f"{check.level.word}: {check.name}"
    message = f"{check.name} holds" + (f": {check.detail}" if check.detail else "")
    identity = f"check/{check.level.word}/{check.name}"
    return Entry(f"verify-{check.level.word}", identity, Part.CHECK, Kind.MET, title, message)


def _undecided(text: str, *, blocking: bool) -> Entry:
    message = f"undecided at this level: {text}"
    return Entry("undecided", f"undecided/{text}", Part.CHECK, Kind.OPEN, text, message, blocking=blocking)


def _stated(claim: Claim) -> Entry:
    message = f"stated in {claim.file} and not verified: {claim.meaning}"
    identity = f"stated/{claim.file}/{claim.field}"
    return Entry("stated", identity, Part.CHECK, Kind.INFORMATIONAL, claim.meaning, message)


def _fits(policy: Policy, records: int) -> Entry:
    message = f"the table, of {records:,} records, has the names, types and values that the policy says"
    place = policy.place("source.uri")
    return Entry("table", "source", Part.CHECK, Kind.MET, "the table is as the policy says", message, place=place)


def _waiting(gate: Gate, identity: str, waiver: Waiver | None) -> Entry:
    title = str(gate)
    message = f"{title} is decided by `rrpolicy plan`, which counts the data"
    return Entry(
        gate.metric, identity, Part.GATE, Kind.OPEN, title, message, place=gate.place, limit=gate.limit, waived=waiver
    )


def _unchanged(outlook: Outlook) -> list[str]:
    from rrpolicy.planning.preview import unchanged

    reasons = {a.release_as: a.why_unchanged for a in outlook.plan.policy.released}
    return [f"{name}: {reason}" if (reason := reasons.get(name)) else name for name in unchanged(outlook.plan)]


def _errors(outlook: Outlook) -> list[str]:
    """Return the expected error of each attribute by itself."""
    return [f"{e.attributes[0]}: {e.told}" for e in outlook.errors if len(e.attributes) == 1]
