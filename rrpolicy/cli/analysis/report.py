"""`rrpolicy report BUNDLE|PLAN` and `rrpolicy report evidence BUNDLE --for REGIME`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.options import After, with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import UNVERIFIED, notices
from rrpolicy.compliance.evidence import regime_names
from rrpolicy.escaping.printable import line
from rrpolicy.verb_options import EvidenceOptions, RenderOptions


@with_options
def command(
    bundle: Annotated[
        Path,
        typer.Argument(
            help="The bundle's folder, or its public/ folder alone; or a plan's file.", metavar="BUNDLE|PLAN"
        ),
    ],
    *,
    as_json: Annotated[bool, After("out"), typer.Option("--json", help="The same as --format json.")] = False,
    **options: Unpack[RenderOptions],
) -> int:
    """Write the report of a release again.

    The public page is filled anew from the published files; the audit page from audit/report.json. Both only if their
    digests are those of the release. A bundle is never written into. Of a plan's file it is the report before the
    decision: what fails, what would be changed, and at what risk.
    """
    out = options.get("out")
    if not options["verify"]:
        print(UNVERIFIED, file=sys.stderr)
    if as_json:
        options["format"] = "json"
    with notices():
        found = api.render(bundle, **options)
    if out is None:
        sys.stdout.buffer.write(found.content)
        return 0
    print(f"wrote the {found.page} report to {line(str(out))}", file=sys.stderr)
    return 0


@with_options
def evidence(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, or its public/ folder alone.", metavar="BUNDLE")],
    regime: Annotated[str, typer.Option("--for", help=f"The regime: {', '.join(regime_names())}.", metavar="REGIME")],
    form: Annotated[
        Literal["markdown", "html", "json", "oscal"],
        typer.Option("--format", help="How it is written; `oscal` is NIST's assessment results, in JSON."),
    ] = "html",
    *,
    out: Annotated[
        Path | None, After("page"), typer.Option("--out", help="Where to write it; default: standard output.")
    ] = None,
    **options: Unpack[EvidenceOptions],
) -> int:
    """Write what a release shows of what a regime asks.

    Every clause cites a finding, a declaration of [context] or a record of the release, or says "not covered". The
    release is verified first. The same bundle gives the same bytes.
    """
    found = api.evidence(bundle, regime, **options)
    if out is not None:
        found.write(out, form)
        covered = sum(answer.covered for answer in found.evidence.answers)
        told = f"{covered} of {len(found.evidence.answers)} clauses have evidence"
        print(line(f"wrote {out}: {told}"), file=sys.stderr)
    elif form in {"json", "oscal"}:
        print_json(found.document(form))
    else:
        sys.stdout.buffer.write(found.content(form))
    return 0
