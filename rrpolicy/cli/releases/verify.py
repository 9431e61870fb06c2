"""`rrpolicy verify BUNDLE`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.options import After, Also, AsJson, OutputForm, Quiet, with_options
from rrpolicy.cli.text.output import output_request, report_outcome
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.verb_options import VerifyOptions

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import OutcomeSubject
    from rrpolicy.finding import Finding
    from rrpolicy.verification.outcome import Verification


CHANGED_HELP = "RR111"
"""The code of a changed file: it explains other failures, and is printed first."""


@with_options
def command(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, or its public/ folder alone.", metavar="BUNDLE")],
    *,
    sign_with: Annotated[
        Path | None,
        After("as_of"),
        typer.Option("--sign-with", help="Sign the result with this private key, if the release verifies."),
    ] = None,
    quiet: Quiet = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if anything stays undecided.")] = False,
    output: OutputForm = Output.TEXT,
    also: Also = None,
    json: AsJson = False,
    **options: Unpack[VerifyOptions],
) -> int:
    """Recompute what a release promises, as far as the inputs allow. Nothing is believed and nothing is written.

    A release that is not verified is said to be so first. The last line says up to which level, and what stays
    undecided. With --sign-with an auditor's statement of what holds, and of nothing else, is written into
    attestations/.
    """
    from rrpolicy.cli.text.notices import progress

    wanted = output_request(output, also, json=json)
    with progress() as report:
        options["progress"] = report
        found = api.verify(bundle, **options)
    status = 0 if found.passed and not (strict and found.undecided) else 1
    signed = _sign_verification(bundle, found, sign_with) if sign_with is not None and status == 0 else []
    failing = ["--strict: what is undecided fails"] if status and found.passed else []
    return report_outcome(
        wanted,
        "verify",
        status,
        text=lambda: [*([] if quiet else [*_lines(found)[:-1], *signed]), *failing, found.last_line()],
        document=found.to_json,
        subjects=lambda: _subjects(found, bundle, status, strict=strict),
    )


def _sign_verification(bundle: Path, found: Verification, key: Path) -> list[str]:
    from datetime import UTC

    from rrpolicy.signing.signing import sign_verification
    from rrpolicy.signing.signing_keys import read_signer

    made = sign_verification(bundle, found, read_signer(key), datetime.now(UTC))
    return [f"signed what was verified with the key {made.keyid[:16]}…: {made.file}"]


def _subjects(found: Verification, bundle: Path, status: int, *, strict: bool) -> list[OutcomeSubject]:
    from rrpolicy.ci_reports import subjects

    return [subjects.verification_subject(found, bundle, status, strict=strict)]


def _lines(found: Verification) -> list[str]:
    from rrpolicy.verification.outcome import VerificationLevel

    hinted = [problem for problem in found.problems if problem.hint]
    changed = [problem for problem in found.problems if problem.code == CHANGED_HELP and problem not in hinted]
    lines = [f"NOT verified: {p.message} ({p.code})" for p in changed]
    lines += [line for p in hinted for line in (f"NOT verified: {p.message} ({p.code})", f"hint: {p.hint}")]
    if not lines and not found.passed:
        lines.append(f"NOT verified: {len(found.problems)} of {len(found.checks)} checks fail")
    for level in VerificationLevel:
        checks = [c for c in found.checks if c.level is level]
        if checks:
            failed = sum(not c.passed for c in checks)
            lines.append(f"{level.word}: {len(checks)} checks, {f'{failed} fail' if failed else 'all hold'}")
    lines += [
        f"  {finding.model}: {finding.requirement}: {_verdict_text(found, finding)}" for finding in found.findings
    ]
    if found.reproduced:
        same = "the same release" if found.passed else "the same data"
        lines.append(f"drawn again from the source and the key: {same}, {found.reproduced}")
    lines += [f"{p.code}: {p.message}" for p in found.problems if p not in hinted and p not in changed]
    if found.problems:
        lines.append(f"`rrpolicy explain {found.problems[0].code}` shows more")
    stated: dict[str, dict[str, None]] = {}
    for claim in found.claims:
        stated.setdefault(claim.file, {})[claim.meaning] = None
    lines += [f"note: {note}" for note in found.told]
    lines += ["stated, not verified:"] if stated else []
    lines += [f"  {file}: {'; '.join(meanings)}" for file, meanings in stated.items()]
    return [*lines, found.last_line()]


def _verdict_text(found: Verification, finding: Finding) -> str:
    """Return a verdict in words: guarantees of the stated parameters do not apply to inconsistent files."""
    from rrpolicy.finding import CONDITION, Verdict
    from rrpolicy.wording import MET, UNDECIDED, VERDICT_WORDS

    if found.conforms or finding.verdict is not Verdict.SATISFIED:
        return VERDICT_WORDS[finding.verdict] + (
            f", {CONDITION} ({quoted_list(finding.given)})" if finding.given else ""
        )
    open_ = UNDECIDED
    return f"{open_}; it would be {MET} for the stated channel, but this release is not verified to be a draw from it"
