"""`rrpolicy report BUNDLE|PLAN` and `rrpolicy report evidence BUNDLE --for REGIME`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rrpolicy import api
from rrpolicy.cli.terminal import print_json
from rrpolicy.cli.text.notices import NO_VERIFY, UNVERIFIED, notices
from rrpolicy.compliance.evidence import regime_names
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


def evidence(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, or its public/ folder alone.", metavar="BUNDLE")],
    regime: Annotated[str, typer.Option("--for", help=f"What asks: {', '.join(regime_names())}.", metavar="REGIME")],
    *,
    form: Annotated[
        Literal["markdown", "html", "json", "oscal"],
        typer.Option("--format", help="How it is written; `oscal` is NIST's assessment results, in JSON."),
    ] = "html",
    page: Annotated[
        Literal["public", "audit"] | None,
        typer.Option("--page", help="Which numbers may be shown; default: audit where audit/ is at hand."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; default: standard output.")] = None,
    signed_by: Annotated[
        list[Path] | None, typer.Option("--signed-by", help="A public key that must have signed the release.")
    ] = None,
    signers: Annotated[
        Path | None, typer.Option("--signers", help="The file of allowed signers, for the roles it requires.")
    ] = None,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution that the bundle names and you trust, such as acme-oue>=1.2."),
    ] = None,
) -> int:
    """Write what a release shows of what a regime asks.

    Every clause cites a finding, a declaration of [context] or a record of the release, or says "not covered". The
    release is verified first. The same bundle gives the same bytes.
    """
    found = api.evidence(bundle, regime, page=page, plugins=plugins or (), signed_by=signed_by or (), signers=signers)
    if out is not None:
        found.write(out, form)
        covered = sum(answer.covered for answer in found.evidence.answers)
        told = f"{covered} of {len(found.evidence.answers)} clauses have something that speaks to them"
        print(line(f"wrote {out}: {told}"), file=sys.stderr)
    elif form in {"json", "oscal"}:
        print_json(found.document(form))
    else:
        sys.stdout.buffer.write(found.content(form))
    return 0
