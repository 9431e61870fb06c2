"""`rrpolicy plan POLICY`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.quick_check import ROOT
from rrpolicy.cli.text.pasting import command_line

if TYPE_CHECKING:
    from rrpolicy.release.plan.preview import Outlook


def command(  # noqa: PLR0917 each option is one
    policy: Annotated[Path, typer.Argument(help="A policy file.", metavar="POLICY")],
    out: Annotated[Path | None, typer.Option(help="Write the plan here; `release` then executes exactly it.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="Where the plan's key goes; default: the plan with .key added.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Read this table in place of the policy's.")] = None,
    expected_rows: Annotated[int | None, typer.Option(min=1, help="Plan for so many records, without data.")] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON on standard output.")] = False,
) -> int:
    """Show what would be released, at what risk and with what error. Nothing is released.

    With --out the plan is written, and a key with it: `rrpolicy release` then executes exactly this plan, and refuses
    it as stale if the policy, the plugins or the table changed. A plan that does not pass is shown and not written.
    """
    from rrpolicy.canonical import pretty
    from rrpolicy.cli.text.progress import progress
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.release.appearing import refuse_existing
    from rrpolicy.release.plan.file import plan_document, save_plan
    from rrpolicy.release.plan.keys import refuse_existing_key
    from rrpolicy.release.plan.opening import open_policy
    from rrpolicy.release.plan.preview import look_ahead

    if expected_rows is not None and (out is not None or source is not None):
        raise PolicyError(
            Problem("RR250", "--expected-rows plans without data: it goes with neither --out nor --source")
        )
    if key is not None and out is None:
        raise PolicyError(Problem("RR250", "--key goes with --out"))
    kept = None if out is None else key or out.with_name(out.name + ".key")
    if out is not None and kept is not None:
        refuse_existing(out)
        refuse_existing_key(kept)
    opened = open_policy(policy, source=source, root=root)
    if expected_rows is not None:
        outlook = look_ahead(opened.policy, opened.registry, expected_rows)
        document = outlook.to_json()
    else:
        from rrpolicy.release.plan.keys import KeyFile, new_key, source_tag
        from rrpolicy.scratch import scratch
        from rrpolicy.source.elsewhere import open_elsewhere
        from rrpolicy.source.opening import open_original

        made: KeyFile | None = None
        with (
            scratch() as spilled,
            progress() as report,
            open_original(opened.policy, opened.registry.sources, spilled.folder) as original,
            open_elsewhere(original.policy, opened.registry.sources, spilled.folder / "plan-on") as elsewhere,
        ):
            outlook = look_ahead(opened.policy, opened.registry, original, report, elsewhere)
            if out is not None and outlook.decision.passed:
                secret = new_key()
                tag = source_tag(secret, original.content())
                original.unchanged()
                outlook = outlook.with_tag(tag)
                made = KeyFile(secret, outlook.plan.digest(), tag)
        document = outlook.to_json()
        if out is not None and kept is not None and made is not None:
            document = plan_document(outlook, policy, out.parent)
            save_plan(document, out, made, kept)
    if json:
        sys.stdout.write(pretty(document).decode())
    else:
        from rrpolicy.cli.text.plan import lines
        from rrpolicy.untrusted.printable import visible

        print("\n".join(map(visible, lines(outlook))))
        print(f"\n{_next(outlook, policy, out, kept, source)}")
    return 0 if outlook.decision.passed else 1


def _next(outlook: Outlook, policy: Path, out: Path | None, kept: Path | None, source: str | None) -> str:
    if not outlook.decision.passed:
        unwritten = "" if out is None else f" ({out} was not written)"
        if {p.code for p in outlook.decision.problems} == {"RR108"}:
            what = "accept what is derived, or fix it; `rrpolicy explain RR108` says how"
        else:
            what = "mend the policy, then `rrpolicy plan` again"
        return f"the gate does not pass{unwritten}: {what}"
    if out is None:
        return f"next: {command_line('release', policy, options={'--out': 'DIR', '--source': source})}"
    return f"next: {command_line('release', out, options={'--key': kept, '--out': 'DIR', '--source': source})}"
