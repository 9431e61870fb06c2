"""`rrpolicy report BUNDLE|PLAN`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rrpolicy import api
from rrpolicy.cli.text.notices import NO_VERIFY, UNVERIFIED, notices
from rrpolicy.escaping.printable import line


def command(
    bundle: Annotated[
        Path,
        typer.Argument(
            help="The bundle's folder, or its public/ folder alone; or a plan's file.", metavar="BUNDLE|PLAN"
        ),
    ],
    *,
    form: Annotated[str, typer.Option("--format", help="html, json, or what a plugin offers.")] = "html",
    page: Annotated[
        Literal["public", "audit"] | None,
        typer.Option("--page", help="Default: audit where audit/report.json is at hand, else public."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; default: standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution to load as well, such as acme-oue>=1.2; a bundle loads none."),
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)] = False,
) -> int:
    """Write the report of a release again.

    The public page is filled anew from the published files; the audit page from audit/report.json. Both only if their
    digests are those of the release. A bundle is never written into. Of a plan's file it is the report before the
    decision: what fails, what would be changed, and at what risk.
    """
    if no_verify:
        print(UNVERIFIED, file=sys.stderr)
    with notices():
        found = api.render(
            bundle,
            page=page,
            format="json" if as_json else form,
            out=out,
            plugins=plugins or (),
            verify=not no_verify,
        )
    if out is None:
        sys.stdout.buffer.write(found.content)
        return 0
    print(f"wrote the {found.page} report to {line(str(out))}", file=sys.stderr)
    return 0
