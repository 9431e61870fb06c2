"""`rrpolicy release POLICY|plan.json`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.main import file_argument
from rrpolicy.cli.options import After, Protect, with_options
from rrpolicy.cli.terminal import print_json
from rrpolicy.errors import RequirementError
from rrpolicy.escaping.printable import command_line, line, shortest_path
from rrpolicy.policy.folder.root import counts_uri, split_counts_uri
from rrpolicy.verb_options import PreviewOptions, ReleaseOptions, shared

if TYPE_CHECKING:
    from rrpolicy.bundle.release_request import WrittenBundle
    from rrpolicy.policy.model import Policy


@with_options
def command(
    what: Annotated[
        Path, typer.Argument(help="A policy, or a plan that `rrpolicy plan --out` wrote.", metavar="POLICY|PLAN")
    ],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder; it must not exist.")],
    *,
    protect: Annotated[Protect, After("push")] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="If it is refused, write a page here: failing requirements, attainable limits, the trade-off. "
            "Confidential.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print where the release is, and nothing else.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was released as JSON on standard output.")] = False,
    **options: Unpack[ReleaseOptions],
) -> int:
    """Write a release that every requirement allows, or nothing.

    The bundle appears whole or not at all, and nothing is ever overwritten. Anyone who has the key can test any guess
    about the table: keep it as secret as the data, or let it be destroyed. Keep the key of a series as long as the
    series goes on: each later release needs it.
    """
    given = options.get("key")
    key, source = None if given is None else os.fspath(given), options.get("source")
    from rrpolicy.cli.text.notices import notices, progress
    from rrpolicy.formats.format import CORE_FORMATS
    from rrpolicy.planning.keys import file_passphrase
    from rrpolicy.safe_io.atomic_write import refuse_existing

    used = key is not None and what.suffix != ".json" and Path(key).is_file()
    planned = Path(f"{what}.key") if key is None and Path(f"{what}.key").is_file() else Path()
    if page is not None:
        refuse_existing(page)
    with progress() as report, notices():
        try:
            options["key_passphrase"], options["progress"] = file_passphrase().decode() if protect else None, report
            found = api.release(what, out, **options)
        except RequirementError:
            if page is not None and what.suffix != ".json":
                api.preview(what, page, **shared(options, PreviewOptions))
            elif page is not None:
                api.render(what, out=page)
            raise
    if json:
        print_json(found.to_json())
        return 0
    kept = _key_outcome(found, key, used=used)
    kept += f", and so was its file {planned}" if planned.name and not planned.exists() else ""
    print(line(f"released {found.policy.name} {found.policy.version} into {out}; {kept}"))
    if quiet:
        return 0
    from rrpolicy.cli.text.plan import grade_table, requirement_line
    from rrpolicy.cli.text.terminal_layout import format_for_terminal
    from rrpolicy.reports.report_builder import parse_report
    from rrpolicy.safe_io.document import read_document

    pages = f"reports: {found.audit / 'report.html'} (confidential) and {found.public / 'report.html'}"
    panel = parse_report(read_document(found.audit / "report.json")).protection
    told = [*([] if panel is None else grade_table(panel)), *map(requirement_line, found.findings), pages]
    print("\n".join(format_for_terminal(list(map(line, told)))))
    policy = found.policy
    first = command_line("sign", out, options={"--key": "FILE"}) if policy.release.require_signatures else ""
    inputs = {
        "--source": str(source or "") or _uri(policy.source.uri, policy),
        "--key": key,
        "--ledger": _series_ledger(policy),
        "--reference": _population_table(policy),
        "--plugin": policy.plugins,
    }
    signed = ["FILE.pub"] * policy.release.require_signatures
    verify = command_line("verify", out, options={**inputs, "--signed-by": signed})
    print("\n      ".join([f"next: {first}", verify] if first else [f"next: {verify}"]))
    column = next((a.release_as or a.name for a in found.policy.released if a.categorical), None)
    if policy.release.withholds:
        print(f"      {command_line('estimate', 'what-holds', out)}")
    elif column is not None:
        reads = () if policy.release.format in CORE_FORMATS else policy.plugins
        estimate = command_line("estimate", file_argument("estimate", out), options={"--by": column, "--plugin": reads})
        print(f"      {estimate}")
    return 0


def _key_outcome(found: WrittenBundle, key: str | None, *, used: bool) -> str:
    if key is None:
        return "the key was destroyed"
    series, where = found.policy.release.series, "derived from" if found.key is None else "in"
    if series is not None:
        return f"the key of the series '{series}' is {where} {key}: keep it, each later release of the series needs it"
    again = ", which was there: of the same table and plan it gives the same draw again" if used else ""
    return f"the key is {where} {key}{again}"


def _series_ledger(policy: Policy) -> str | None:
    """Return the ledger that verifies the beginning of a series; other releases need none."""
    if policy.release.series is None or policy.ledger is None:
        return None
    return shortest_path(Path(policy.folder) / policy.ledger.file)


def _population_table(policy: Policy) -> str | None:
    people = policy.reference
    return None if people is None or people.uri is None else _uri(people.uri, policy)


def _uri(uri: str, policy: Policy) -> str:
    multiplicity, own = split_counts_uri(uri)
    own = own if ":" in own else shortest_path(Path(policy.folder) / own)
    return own if multiplicity is None else counts_uri(own, multiplicity)
