"""The audit report filled and rendered again, as far as its inputs are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rrpolicy.bundle.audit import POLICY_FILE_NAME
from rrpolicy.bundle.manifest import full_manifest
from rrpolicy.canonical_json import Json, digest
from rrpolicy.planning.assess import Assessment
from rrpolicy.report import SCHEMA
from rrpolicy.safe_io.document import read_regular
from rrpolicy.verification.audit import AuditFolder
from rrpolicy.verification.outcome import Log
from rrpolicy.verification.public import PublicFolder
from rrpolicy.verification.records import documents_equivalent, read_checked_record

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

REPORT = "audit/report.json"
COUNTED = (
    ("shares of the original", "marginals.rows.original"),
    ("what this draw attained", "utility.realised"),
    ("how many values are the true ones", "true_values"),
    ("what the mechanism tells of the original", "sections"),
    ("expected errors of pairs", "pairs"),
    ("associations of the original", "associations"),
)
"""What is counted of the original: meaning, then the field of the report."""
PLACE = "findings.place"


def check_audit_page(
    log: Log, audit: AuditFolder, side: PublicFolder, assessment: Assessment, original: Original | None
) -> None:
    """Fill the audit report again, as far as its inputs are at hand, and render it again.

    Args:
        log: takes the checks.
        audit: audit/.
        side: public/.
        assessment: as findings.json states it, or as the original gives it.
        original: the table; without it, what is counted of it is only stated.
    """
    from rrpolicy.bundle.pages import build_audit_pieces, rendered_report_files
    from rrpolicy.reports.report_builder import audit_report, parse_report

    found = read_checked_record(log, audit.folder / "report.json", SCHEMA)
    if found is None or not side.readable:
        return
    pieces = build_audit_pieces(
        *(audit.plan, assessment, side.registry, audit.record, original, side.folder),
        policy_file=str(audit.folder / POLICY_FILE_NAME),
        written=_stored_policy_files(audit),
        attacked=audit.attacked,
        compared=audit.compared,
    )
    manifest = full_manifest(side.manifest, audit.plan)
    expected = audit_report(side.folder, manifest, pieces, released=side.released).to_json()
    assert isinstance(expected, dict)
    hidden = [*([] if original else COUNTED), *([] if audit.policy else [("where the policy asks for it", PLACE)])]
    for meaning, path in hidden:
        log.claim(REPORT, meaning, path)
    fields = {path for _, path in hidden}
    agrees = documents_equivalent(_without_fields(found, fields), _without_fields(expected, fields))
    log.again(f"{REPORT}: filled again", agrees, "RR120", f"{REPORT} is not what the rest of the bundle gives", side.by)
    if not agrees:  # it may be such that no page can be made of it
        failure = f"audit/report.html is the page of a {REPORT} that is wrong"
        log.again("audit/report.html: rendered again", False, "RR120", failure, side.by)  # noqa: FBT003 it is not made
        return
    pages = rendered_report_files(parse_report(found), side.registry, ("html",))
    for name, page in pages.items():
        failure = f"audit/{name} is not the page of {REPORT}"
        log.again(
            f"audit/{name}: rendered again", audit.record["files"][name] == digest(page), "RR120", failure, side.by
        )
    if not pages:
        log.undecided.append("audit/report.html: no renderer for it is loaded")


def _stored_policy_files(audit: AuditFolder) -> Mapping[str, bytes]:
    """Return the policy's files as they stand in audit/; what audit.json names and is not there was found already."""
    named = audit.record["policy_files"]
    assert isinstance(named, list)
    listed = {path.relative_to(audit.folder).as_posix(): path for path in audit.folder.rglob("*.toml")}
    return {name: read_regular(path) for name, path in listed.items() if name in named}


def _without_fields(document: Json, fields: set[str], here: str = "") -> Json:
    """Return a document without the fields of some dotted names."""
    if isinstance(document, list):
        return [_without_fields(item, fields, here) for item in document]
    if not isinstance(document, dict):
        return document
    named = {key: f"{here}.{key}" if here else key for key in document}
    return {
        key: _without_fields(item, fields, named[key]) for key, item in document.items() if named[key] not in fields
    }
