"""`rrpolicy test POLICY…`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import Also, AsJson, OutputForm, with_options
from rrpolicy.cli.text.output import output_request, report_outcome
from rrpolicy.verb_options import RunTestsOptions

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.governance.cases.run import PolicyTestReport, PolicyTestSuite


@with_options
def command(
    policies: Annotated[list[Path], typer.Argument(help="Policies, or folders of policies.", metavar="POLICY…")],
    *,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[RunTestsOptions],
) -> int:
    """Hold policies to the small tables that lie beside them, with what is expected of each.

    The tests of policies/x.toml are policies/tests/x.toml and the files of policies/tests/x/. Exit status 1 says that
    one does not come out as it expects. Nothing is released or written.
    """
    from rrpolicy.cli.text.notices import progress

    wanted = output_request(output, also, json=json)
    with progress() as report:
        options["progress"] = report
        found = api.run_tests(*policies, **options)
    status = 0 if found.passed else 1
    return report_outcome(
        wanted,
        "test",
        status,
        text=lambda: _lines(found),
        document=lambda: {"exit_status": status, **found.to_json()},
        subjects=lambda: _subjects(found),
        problems=found.problems,
    )


def _subjects(found: PolicyTestReport) -> list[OutcomeSubject]:
    from rrpolicy.ci_reports import subjects

    return [subjects.test_subject(one) for one in found.policies]


def _lines(found: PolicyTestReport) -> Iterator[str]:
    for tests in found.policies:
        yield f"{tests.file}: {tests.name} {tests.version}"
        yield from (f"  {'as expected' if one.passed else 'OTHERWISE':<11}  {one.name}" for one in tests.tried)
        yield from _untested_lines(tests)
    count = sum(len(tests.tried) for tests in found.policies)
    failed = sum(not one.passed for tests in found.policies for one in tests.tried)
    every = "the test comes out" if count == 1 else f"all {count} tests come out"
    yield f"{failed} of {count} not as expected" if failed else f"{every} as expected"


def _untested_lines(tests: PolicyTestSuite) -> Iterator[str]:
    if not tests.tried:
        yield "  no tests"
    else:
        yield from (f"  untested: {name}" for name in tests.untested)
