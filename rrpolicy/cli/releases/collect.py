"""`rrpolicy collect PLAN TABLE`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.cli.quick_check import NO_WAIVERS, ROOT, TODAY
from rrpolicy.cli.terminal import print_json
from rrpolicy.escaping.printable import line
from rrpolicy.escaping.shell import command_line


def command(  # noqa: PLR0917 each option is one
    plan: Annotated[
        Path, typer.Argument(help="A plan that `rrpolicy plan --expected-rows N --out` wrote.", metavar="PLAN")
    ],
    table: Annotated[
        str, typer.Argument(help="The collected records, as `rrpolicy randomize` printed them.", metavar="TABLE")
    ],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder; it must not exist.")],
    label: Annotated[str | None, typer.Option("--as", help="The release's label, such as 2026-11.")] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
    today: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help=TODAY)] = None,
    *,
    no_waivers: Annotated[bool, typer.Option("--no-waivers", help=NO_WAIVERS)] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was released as JSON on standard output.")] = False,
) -> int:
    """Make the release of records that were randomised before they were sent. Nothing is drawn.

    Requirements are assessed for the number of records that came in. The bundle appears whole or not at all.
    """
    from rrpolicy.cli.text.notices import notices
    from rrpolicy.cli.text.progress import progress

    with progress() as report, notices():
        found = api.collect(
            plan,
            table,
            out,
            label=label,
            root=root,
            today=None if today is None else today.date(),
            waivers=not no_waivers,
            progress=report,
        )
    if json:
        print_json(found.to_json())
        return 0
    policy = found.policy
    print(line(f"released {policy.name} {policy.version} into {out}; there is no original, and no key"))
    print(
        "taken on trust, as no record can show it: that each was randomised by this plan's questionnaire, once a person"
    )
    sign = [command_line("sign", out, options={"--key": "FILE"})] if policy.release.require_signatures else []
    signed = ["FILE.pub"] * policy.release.require_signatures
    verify = command_line("verify", out, options={"--plugin": policy.plugins, "--signed-by": signed})
    column = next(a.release_as or a.name for a in policy.released)
    estimate = command_line("estimate", out, options={"--by": column})
    first, *rest = [*sign, verify, estimate]
    print("\n      ".join([f"next: {first}", *rest]))
    return 0
