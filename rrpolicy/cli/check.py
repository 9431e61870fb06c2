"""`rrpolicy check POLICY…`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.canonical import Json
from rrpolicy.errors import Problem, RRPolicyError
from rrpolicy.finding import Finding, Verdict

if TYPE_CHECKING:
    from rrpolicy.release.check import Checked


def command(
    policies: Annotated[list[str], typer.Argument(help="Policy files.", metavar="POLICY…")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON on standard output.")] = False,
) -> int:
    """Check policies: no data needed, nothing written.

    Every problem of every file is told, with its place and what to do. What the policy alone decides is decided; the
    rest waits for `rrpolicy plan`.
    """
    worst = 0
    documents: list[Json] = []
    for name in policies:
        document, status = _check(name, quiet=json)
        documents.append(document)
        worst = max(worst, status)
    if json:
        from rrpolicy.canonical import pretty

        print(pretty({"exit_status": worst, "policies": documents}).decode(), end="")
    elif worst == 0:
        print(f"next: rrpolicy plan {policies[0]}" if len(policies) == 1 else f"all {len(policies)} policies hold")
    return worst


def _check(name: str, *, quiet: bool) -> tuple[Json, int]:
    """Check one file and print what was found; return it as plain data with the exit status."""
    from rrpolicy.release.check import check
    from rrpolicy.release.opening import open_policy

    try:
        checked = check(open_policy(Path(name)))
    except RRPolicyError as error:
        return _refused(name, error.problems, error.exit_status), error.exit_status
    fails = any(f.verdict is Verdict.FAILS for f in checked.findings)
    if not quiet:
        print("\n".join(_lines(name, checked)))
    policy = checked.policy
    document: Json = {
        "file": name,
        "policy": {"name": policy.name, "version": policy.version, "digest": policy.digest()},
        "findings": [f.to_json() for f in checked.findings],
        "disclosed": list(checked.disclosed),
        "problems": [],
    }
    return document, 1 if fails else 0


def _refused(name: str, problems: tuple[Problem, ...], status: int) -> Json:
    from rrpolicy.cli.main import wants_colour
    from rrpolicy.policy.diagnostics import render, to_json

    print(render(problems, colour=wants_colour()), file=sys.stderr)
    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    print(f"\n{name}: {count}; `rrpolicy explain {problems[0].code}` says more", file=sys.stderr)
    return {"file": name, "exit_status": status, "problems": to_json(problems)}


def _lines(name: str, checked: Checked) -> list[str]:
    policy = checked.policy
    roles: dict[str, list[str]] = {}
    for attribute in policy.attributes.values():
        roles.setdefault(attribute.role.value, []).append(attribute.name)
    lines = [f"{name}: {policy.name} {policy.version}, mechanism {policy.mechanism.name}"]
    lines += [f"  {role}: {', '.join(names)}" for role, names in roles.items()]
    lines += [_finding(f) for f in checked.findings]
    lines += [f"  {g.metric} <= {g.max}: decided by `rrpolicy plan`, which counts the data" for g in policy.gates]
    lines += [f"  note: {text}" for text in checked.disclosed]
    assumed = [a for a in policy.released if a.assume_unlinkable is not None]
    lines += [f"  assumption: '{a.name}' links nobody: {a.assume_unlinkable}" for a in assumed]
    return lines


def _finding(finding: Finding) -> str:
    where = f"  {finding.model}: {finding.requirement}: "
    if finding.verdict is Verdict.HOLDS:
        return where + "holds, whatever the data"
    if finding.verdict is Verdict.FAILS:
        return where + "fails, whatever the data"
    return where + "decided by `rrpolicy plan`"
