"""`rrpolicy check` without the option parser: a pre-commit hook calls it often."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec import Struct

from rrpolicy import api
from rrpolicy.canonical_json import Json
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.text.output import OutputRequest, show
from rrpolicy.declarations import WARNING_PREFIX
from rrpolicy.errors import Problem, RRPolicyError
from rrpolicy.escaping.printable import condense_sentences, line, shortened_names
from rrpolicy.finding import CONDITION, Finding, Verdict
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.verb_options import CheckOptions

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import CommandOutcome
    from rrpolicy.mechanism import Remark
    from rrpolicy.planning.check import PolicyCheck, RequirementStatement

MAX_NAMES = 24
"""Columns of a role that are named; of more, the first ones."""


def check_all(policies: Sequence[str], wanted: OutputRequest, **options: Unpack[CheckOptions]) -> int:
    """Check policy files, and every policy of a folder; print the result and return the worst exit status."""
    asked = partial(api.check, **options)
    files = [*_files(policies)]
    found = [_check_file(name, asked, text=wanted.form is Output.TEXT) for name in files]
    worst = max(one.status for one in found)
    show(wanted, tuple, lambda: _document(found, worst), lambda: _outcome(found, worst))
    if worst == 0 and wanted.form is Output.TEXT:
        if len(files) > 1:
            print(f"all {len(files)} policies are sound")
        elif found[0].checked is not None:
            print(f"next: {_next_step(found[0])}")
    return worst


def _next_step(one: FileCheck) -> str:
    """Return the command that plans a policy; if its table is missing, with another one or without data."""
    from rrpolicy.escaping.printable import command_line

    uri = "" if one.checked is None else split_counts_uri(one.checked.policy.source.uri)[1]
    file = Path(one.name).parent / uri
    if re.search(r"^[A-Za-z][A-Za-z0-9+.-]+:|[*?\[]", uri) or file.exists():  # of an engine, or several files
        return command_line("plan", one.name)
    with_table, without = ({"--source": "TABLE"}, {"--expected-rows": "N"})
    return (
        f"{command_line('plan', one.name, options=with_table)} (there is not a table at {uri}); "
        f"without data, {command_line('plan', one.name, options=without)}"
    )


def _files(policies: Sequence[str]) -> Iterator[str]:
    for name in policies:
        if os.path.isdir(name):  # noqa: PTH112
            from rrpolicy.policy.tree.document import named_policy_files

            yield from map(str, named_policy_files([Path(name)]))
        else:
            yield name


class FileCheck(Struct, frozen=True):
    """The result of checking one file."""

    name: str
    status: int
    checked: PolicyCheck | None = None
    problems: tuple[Problem, ...] = ()


def _check_file(name: str, asked: Callable[[str], PolicyCheck], *, text: bool) -> FileCheck:
    """Check one file; print the result if `text`, and in any case why it could not be checked."""
    try:
        checked = asked(name)
    except RRPolicyError as error:
        left = _without_floor_gaps(name, error.problems)
        if error.problems and not left:
            if text:
                print(line(f"{name}: rules alone, which are checked with each policy that extends them"))
            return FileCheck(name, 0)
        _print_problems(name, left)
        return FileCheck(name, error.exit_status, None, left)
    if text:
        from rrpolicy.cli.text.terminal_layout import format_for_terminal

        print("\n".join(format_for_terminal(list(map(line, _lines(name, checked))))))
    overdue = [problem for problem in checked.problems if problem.code.startswith("RR4")]
    if overdue:
        _print_problems(name, overdue)
    return FileCheck(name, checked.exit_status, checked)


DEMANDED_CODE = "RR248"
"""The code of an unmet demand of a baseline."""


def _without_floor_gaps(name: str, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems of a file, without those of a baseline: missing tables, and demands on other policies."""
    from rrpolicy.policy.tree.document import FLOOR_ABSENT_TABLES, is_floor

    lacking = {f"the policy has no [{table}]" for table in (*FLOOR_ABSENT_TABLES, "source")}
    lacking.add("the key 'uri' is missing in [source]")
    if lacking.isdisjoint(problem.message for problem in problems) or not is_floor(Path(name).read_bytes()):
        return problems
    return tuple(p for p in problems if p.message not in lacking and p.code != DEMANDED_CODE)


def _outcome(found: Sequence[FileCheck], status: int) -> CommandOutcome:
    from rrpolicy.ci_reports import subjects

    told = [
        subjects.problem_subject(one.problems, one.status, one.name)
        if one.checked is None
        else subjects.check_subject(one.name, one.checked)
        for one in found
    ]
    next_step = _next_step(found[0]) if status == 0 and len(found) == 1 and found[0].checked is not None else ""
    return subjects.command_outcome("check", status, told, next_step)


def _document(found: Sequence[FileCheck], status: int) -> Json:
    from rrpolicy.planning.check_document import CheckDocument, checked_policy, refused_policy
    from rrpolicy.serialization import record

    each = (
        refused_policy(one.name, one.status, one.problems)
        if one.checked is None
        else checked_policy(one.name, one.status, one.checked)
        for one in found
    )
    return record(CheckDocument(status, tuple(each)))


def _print_problems(name: str, problems: Sequence[Problem]) -> None:
    from rrpolicy.cli.terminal import problem_count, wants_colour
    from rrpolicy.policy.diagnostics import render

    print(render(problems, colour=wants_colour()), file=sys.stderr)
    print(f"\n{line(name)}: {problem_count(problems)}", file=sys.stderr)


def _lines(name: str, checked: PolicyCheck) -> list[str]:
    from rrpolicy.policy.identity import entry_identities

    policy = checked.policy
    roles: dict[str, list[str]] = {}
    for attribute in policy.attributes.values():
        roles.setdefault(attribute.role.value, []).append(attribute.name)
    lines = [f"{name}: {policy.name} {policy.version}, mechanism {policy.mechanism.name}"]
    lines += [f"  extends: {', '.join(policy.baselines)}"] if policy.baselines else []
    lines += [f"  {role}: {shortened_names(names, MAX_NAMES)}" for role, names in roles.items()]
    lines += [_finding(f, s) for f, s in zip(checked.findings, checked.stated, strict=True)]
    lines += [
        f"  {gate}: decided by `rrpolicy plan`, which counts the data {_waiver_label(checked, name)}"
        for gate, name in zip(policy.gates, entry_identities(policy).gates, strict=True)
    ]
    kept = (f"'{a.name}': {a.unchanged}" for a in checked.unchanged if a.unchanged is not None)
    lines += [f"  released unchanged: {text}" for text in condense_sentences(kept)]
    lines += (
        ["  matrices: withheld, so that nobody can correct counts of what is randomised"]
        if policy.release.withholds
        else []
    )
    ids = shortened_names([statistic.id for statistic in checked.derived], MAX_NAMES)
    lines += [f"  may be derived from the data: {ids}"] if ids else []
    assumed = [a for a in policy.released if a.assume_unlinkable is not None]
    lines += condense_sentences(f"  assumption: '{a.name}' identifies nobody: {a.assume_unlinkable}" for a in assumed)
    lines += [f"  warning: {text}" for text in _warnings(checked.warnings)]
    lines += [f"  {waived}" for waived in checked.waived]
    if checked.records is not None:
        lines.append(f"  table: {checked.records:,} records; names, types and values are as the policy declares")
    return lines


def _waiver_label(checked: PolicyCheck, name: str) -> str:
    """Return the name that a waiver has for a gate, and the waiver if there is one."""
    return f"[{name}]" + (f"; {checked.waivers[name]}" if name in checked.waivers else "")


def _warnings(remarks: Sequence[Remark]) -> Iterator[str]:
    """Yield warnings with their identities; of those that become one, the identity that waives them all."""
    from rrpolicy.planning.waivers import warning_id

    for name, each in groupby(remarks, key=lambda remark: remark.name):
        same = [*each]
        texts = condense_sentences(remark.text for remark in same)
        ids = (
            [warning_id(remark) for remark in same] if len(texts) == len(same) else [WARNING_PREFIX + name] * len(texts)
        )
        yield from (f"{text} [{identity}]" for text, identity in zip(texts, ids, strict=True))


def _finding(finding: Finding, stated: RequirementStatement) -> str:
    from rrpolicy.wording import MET

    where, named = f"  {finding.model}: {finding.requirement}{stated}: ", f" [{finding.identity}]"
    if finding.verdict is Verdict.SATISFIED:
        return where + (f"{MET} for any data" if not finding.given else f"holds, {CONDITION}") + named
    if finding.verdict is Verdict.FAILED:
        return where + "fails, whatever the data" + named
    return where + "decided by `rrpolicy plan`" + named
