"""`rrpolicy plan POLICY`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import After, Also, AsJson, OutputForm, Protect, Quiet, with_options
from rrpolicy.cli.text.output import output_request, show
from rrpolicy.errors import RequirementError
from rrpolicy.escaping.printable import command_line
from rrpolicy.verb_options import SOURCE, PathLike, PlanOptions, PreviewOptions, shared
from rrpolicy.wording import NOT_MET

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import CommandOutcome
    from rrpolicy.planning.plan_request import PlannedRelease


@with_options
def command(
    policy: Annotated[Path, typer.Argument(help="A policy file.", metavar="POLICY")],
    *,
    source: Annotated[str | None, After("key"), typer.Option(help=SOURCE)] = None,
    protect: Annotated[Protect, After("today")] = False,
    quiet: Quiet = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write the page of the plan here, even if a requirement fails: failing requirements, attainable "
            "limits, the trade-off. Confidential."
            "",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Explain each number.")] = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[PlanOptions],
) -> int:
    """Show what would be released, at what risk and with what error. Nothing is released.

    With --out the plan is written, and a key with it: `rrpolicy release` then executes exactly this plan, and refuses
    it as stale if the policy, the plugins or the table changed. A plan that does not pass is shown and not written.
    Without data, with --expected-rows, there is no key: beside the plan stands PLAN.questionnaire.json, by which
    `rrpolicy collect randomize` randomises records where they are, and `rrpolicy collect` makes a release of them.
    """
    without_data, paged = options.get("expected_rows") is not None, shared(options, PreviewOptions)
    from rrpolicy.cli.text.plan import lines, verdict
    from rrpolicy.planning.keys import file_passphrase
    from rrpolicy.safe_io.atomic_write import refuse_existing

    wanted = output_request(output, also, json=json)
    if report is not None:
        refuse_existing(report)
    from rrpolicy.cli.text.notices import progress

    with progress() as shown:
        try:
            options["bound"], options["progress"] = False, shown
            options["key_passphrase"] = file_passphrase().decode() if protect else None
            found = api.plan(policy, source, **options)
        except RequirementError:
            if report is not None and not without_data:
                api.preview(policy, report, **paged, source=source, progress=shown)
            raise
        if report is not None:
            api.preview(found, report, **paged, source=source, trade_off=not without_data, progress=shown)
    told = _next_step(found, policy, options.get("out"), source, options.get("key"))
    stands = [f"{problem.code}: {problem.message}" for problem in found.problems]
    way = ["", "in the way", *(f"  {text}" for text in stands)] if stands else []
    more = () if verbose else ("", "`--verbose` explains each number")

    def text() -> list[str]:
        whole = () if quiet else (*lines(found.outlook, explaining=verbose), *more, *way, "", told)
        return [*whole, verdict(found.outlook)]

    show(wanted, text, found.to_json, lambda: _outcome(found, policy, told))
    return found.exit_status


def _outcome(found: PlannedRelease, policy: Path, told: str) -> CommandOutcome:
    from rrpolicy.ci_reports import subjects

    looked = [subjects.plan_subject(str(policy), found.outlook)]
    return subjects.command_outcome("plan", found.exit_status, looked, told.removeprefix("next: "))


def _next_step(
    found: PlannedRelease, policy: Path, out: PathLike | None, source: str | None, key: PathLike | None
) -> str:
    if not found.passed:
        unwritten = "" if out is None else f" ({out} was not written)"
        what = "edit the policy and plan again; `--report PAGE` shows what is attainable"
        if found.outlook.decision.passed:
            return f"the ledger's budget forbids it{unwritten}: `rrpolicy explain {found.problems[0].code}` shows more"
        if {p.code for p in found.problems} == {"RR108"}:
            what = "accept the derived statistics, or declare them; `rrpolicy explain RR108` shows how"
        return f"{NOT_MET}{unwritten}: {what}"
    if found.questionnaire is not None:
        randomize = command_line("collect", "randomize", found.questionnaire, options={"--record": "JSON"})
        collect = command_line("collect", found.file or policy, "TABLE", options={"--out": "DIR"})
        return f"next: {randomize}; of what was collected, {collect}"
    written, given = (
        (policy, None) if found.file is None else (found.file, found.key or (None if key is None else Path(key)))
    )
    if found.policy.release.series is not None:
        given = Path(key or "FILE")  # of the series, not of the plan
    return f"next: {command_line('release', written, options={'--key': given, '--out': 'DIR', '--source': source})}"
