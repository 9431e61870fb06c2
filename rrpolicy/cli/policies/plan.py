"""`rrpolicy plan POLICY`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, NoWaivers, OutputForm, Protect, Root, Today, api_options
from rrpolicy.cli.quick_check import SECRETS
from rrpolicy.cli.text.output import QUIET, output_request, show
from rrpolicy.errors import RequirementError
from rrpolicy.escaping.shell import command_line

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import CommandOutcome
    from rrpolicy.planning.plan_request import PlannedRelease


def command(  # noqa: PLR0917 each option is one
    policy: Annotated[Path, typer.Argument(help="A policy file.", metavar="POLICY")],
    out: Annotated[Path | None, typer.Option(help="Write the plan here; `release` then executes exactly it.")] = None,
    key: Annotated[
        str | None, typer.Option(help=f"Where the plan's key goes; default: the plan with .key added. {SECRETS}")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Read this table in place of the policy's.")] = None,
    expected_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Plan for so many records, without data; --out then writes a questionnaire as well.",
        ),
    ] = None,
    root: Root = None,
    today: Today = None,
    *,
    protect: Protect = False,
    no_waivers: NoWaivers = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write the page of the plan here, whether it passes or not: what fails, what is attainable, the "
            "trade-off. Confidential.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what each number means.")] = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
) -> int:
    """Show what would be released, at what risk and with what error. Nothing is released.

    With --out the plan is written, and a key with it: `rrpolicy release` then executes exactly this plan, and refuses
    it as stale if the policy, the plugins or the table changed. A plan that does not pass is shown and not written.
    Without data, with --expected-rows, there is no key: beside the plan stands PLAN.questionnaire.json, by which
    `rrpolicy collect randomize` randomises records where they are, and `rrpolicy collect` makes a release of them.
    """
    options, paged = api_options(api.plan, locals()), api_options(api.preview, locals())
    from rrpolicy.cli.text.notices import progress
    from rrpolicy.cli.text.plan import lines, verdict
    from rrpolicy.planning.keys import file_passphrase
    from rrpolicy.safe_io.atomic_write import refuse_existing

    wanted = output_request(output, also, json=json)
    if report is not None:
        refuse_existing(report)
    with progress() as shown:
        try:
            found = api.plan(
                policy,
                source,
                **options,
                bound=False,
                key_passphrase=file_passphrase().decode() if protect else None,
                progress=shown,
            )
        except RequirementError:
            if report is not None and expected_rows is None:
                api.preview(policy, report, **paged, progress=shown)
            raise
        if report is not None:
            api.preview(found, report, **paged, trade_off=expected_rows is None, progress=shown)
    told = _next_step(found, policy, out, source, key)
    stands = [f"{problem.code}: {problem.message}" for problem in found.problems]
    way = ["", "in the way", *(f"  {text}" for text in stands)] if stands else []
    more = () if verbose else ("", "`--verbose` says what each number means")

    def text() -> list[str]:
        whole = () if quiet else (*lines(found.outlook, explaining=verbose), *more, *way, "", told)
        return [*whole, verdict(found.outlook)]

    show(wanted, text, found.to_json, lambda: _outcome(found, policy, told))
    return found.exit_status


def _outcome(found: PlannedRelease, policy: Path, told: str) -> CommandOutcome:
    from rrpolicy.ci_reports import subjects

    looked = [subjects.plan_subject(str(policy), found.outlook)]
    return subjects.command_outcome("plan", found.exit_status, looked, told.removeprefix("next: "))


def _next_step(found: PlannedRelease, policy: Path, out: Path | None, source: str | None, key: str | None) -> str:
    if not found.passed:
        unwritten = "" if out is None else f" ({out} was not written)"
        what = "edit the policy and plan again; `--report PAGE` shows what is attainable"
        if found.outlook.decision.passed:
            return f"the ledger's budget forbids it{unwritten}: `rrpolicy explain {found.problems[0].code}` says more"
        if {p.code for p in found.problems} == {"RR108"}:
            what = "accept what is derived, or fix it; `rrpolicy explain RR108` says how"
        return f"not met{unwritten}: {what}"
    if found.questionnaire is not None:
        randomize = command_line("collect", "randomize", found.questionnaire, options={"--record": "JSON"})
        collect = command_line("collect", found.file or policy, "TABLE", options={"--out": "DIR"})
        return f"next: {randomize}; of what was collected, {collect}"
    written, given = (policy, None) if found.file is None else (found.file, found.key or key)
    if found.policy.release.series is not None:
        given = key or "FILE"  # of the series, not of the plan
    return f"next: {command_line('release', written, options={'--key': given, '--out': 'DIR', '--source': source})}"
