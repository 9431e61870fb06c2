"""Additions to audit/ after a release: a document, and the report that shows it, under a new seal.

public/ is not changed. The new audit/ is made next to the old one and replaces it by renaming, so that audit/ is never
half of either.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from rrpolicy.bundle import manifest as manifests
from rrpolicy.bundle.audit import AUDIT_FILE
from rrpolicy.bundle.pages import rendered_report_files
from rrpolicy.canonical_json import Json, pretty
from rrpolicy.errors import PolicyError, Problem, RefusedError, write_error
from rrpolicy.registry import Registry
from rrpolicy.report import Report
from rrpolicy.reports.report_builder import parse_report
from rrpolicy.safe_io.document import read_document, read_regular
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix, remove_folder
from rrpolicy.verification.verify import APPROVAL_FILE, ATTESTATIONS_FOLDER


def require_unsigned(bundle: Path, what: str) -> None:
    """Refuse to write into a release that is signed, before anything is read (RR553)."""
    signed = bundle / ATTESTATIONS_FOLDER
    if signed.is_dir() and any(file.name != APPROVAL_FILE for file in signed.iterdir()):
        message = (
            f"{bundle} is signed, and its signatures cover audit/{AUDIT_FILE}, which {what} written into it changes"
        )
        hint = (
            f"leave the writing out; or move {ATTESTATIONS_FOLDER}/ away, write {what}, and have the release signed "
            "again"
        )
        raise RefusedError(Problem("RR553", message, hint=hint))


def amend_audit(
    bundle: Path, name: str, document: Mapping[str, Json], shown: Callable[[Report], Report], registry: Registry
) -> None:
    """Put a document into audit/ and print the audit report with it, replacing an earlier one.

    Raises:
        PolicyError: RR257 if a renderer of the report is not loaded, RR259 if report.json cannot be read.
        RefusedError: RR407 or RR408 if nothing can be written there; the bundle is then unchanged.
    """
    audit = bundle / "audit"
    report = shown(parse_report(read_document(audit / "report.json")))
    pages = rendered_report_files(report, registry, ("html", "json"))
    if lacking := {"report.html", "report.json"} - pages.keys():
        raise PolicyError(Problem("RR257", f"no renderer of {', '.join(sorted(lacking))} is loaded"))
    files = {name: pretty(dict(document)), **pages}
    if all((audit / file).is_file() and read_regular(audit / file) == files[file] for file in files):
        return
    made, placing = bundle / f".audit.{random_suffix()}", False
    try:
        with cleanup_on_exit(made, lambda: placing, remove=remove_folder):
            _build_audit_folder(made, audit, files)
            placing = True
            _replace_audit_folder(made, audit)
    except OSError as error:
        raise write_error(str(audit), error) from error


def _build_audit_folder(made: Path, audit: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder of the files of audit/ with some replaced, sealed."""
    shutil.copytree(audit, made)
    record = {key: value for key, value in read_document(audit / AUDIT_FILE).items() if key not in {"files", "digest"}}
    for name, content in files.items():
        _write_owner_only_file(made / name, content)
    whole = manifests.sealed_record(record, manifests.file_digests(made, but=AUDIT_FILE))
    _write_owner_only_file(made / AUDIT_FILE, pretty(whole))


def _write_owner_only_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, replacing a copy."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _replace_audit_folder(made: Path, audit: Path) -> None:
    old = audit.with_name(f".audit.{random_suffix()}")
    audit.rename(old)
    try:
        made.rename(audit)
    except OSError:
        old.rename(audit)
        remove_folder(made)
        raise
    remove_folder(old)
