"""Verification of a bundle: its contents are recomputed, as far as the inputs allow, and nothing is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from rrpolicy.bundle.audit import POLICY_FILE_NAME
from rrpolicy.bundle.manifest import full_manifest
from rrpolicy.canonical_json import Json, digest
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen import replace
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.key_storage import ExternalSecret, KeyLocation, key_location
from rrpolicy.planning.keys import (
    KeyFile,
    SeriesKey,
    derive_key,
    hidden_weights_fingerprint,
    keyed_fingerprint,
    read_key,
    read_series_key,
)
from rrpolicy.planning.plan import Plan
from rrpolicy.privacy.units import UNDECIDED
from rrpolicy.safe_io.document import read_regular
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.memory.input_table import input_table
from rrpolicy.source.memory.kinds import REFERENCE_SCHEME, TUNING_SCHEME
from rrpolicy.verb_options import VerifyOptions, with_options
from rrpolicy.verification.audit import (
    AuditFolder,
    verify_audit,
    verify_reference_table,
    verify_source,
    verify_tuning_table,
)
from rrpolicy.verification.key import verify_key
from rrpolicy.verification.outcome import Log, Verification, VerificationLevel
from rrpolicy.verification.public import PublicFolder, verify_public
from rrpolicy.verification.records import documents_equivalent, log_unreadable, read_checked_record, scan_folder
from rrpolicy.verification.source_consistency import check_attack_record, check_source_consistency

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original


REPORT = "audit/report.json"
COUNTED = (
    ("shares of the original", "marginals.rows.original"),
    ("what this draw attained", "utility.realised"),
    ("how many values are the true ones", "true_values"),
    ("statistics of the original that the mechanism discloses", "sections"),
    ("expected errors of pairs", "pairs"),
    ("associations of the original", "associations"),
)
"""Counts of the original: meaning, then the field of the report."""
PLACE = "findings.place"


def check_audit_page(
    log: Log, audit: AuditFolder, side: PublicFolder, assessment: Assessment, original: Original | None
) -> None:
    """Fill the audit report again, as far as its inputs are available, and render it again.

    Without `original` its counts are only stated.
    """
    from rrpolicy.bundle.pages import build_audit_pieces, rendered_report_files
    from rrpolicy.report import Report
    from rrpolicy.reports.report_builder import audit_report, parse_report

    found = read_checked_record(log, audit.folder / "report.json", Report)
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
    hidden = [*([] if original else COUNTED), *([] if audit.policy else [("where the policy requires it", PLACE)])]
    for meaning, path in hidden:
        log.claim(REPORT, meaning, path)
    fields = {path for _, path in hidden}
    agrees = documents_equivalent(_without_fields(found, fields), _without_fields(expected, fields))
    log.again(f"{REPORT}: filled again", agrees, "RR120", f"{REPORT} is not what the rest of the bundle gives")
    if not agrees:  # it may be such that no page can be made of it
        failure = f"audit/report.html is the page of a {REPORT} that is wrong"
        log.again("audit/report.html: rendered again", False, "RR120", failure)  # noqa: FBT003 it is not made
        return
    pages = rendered_report_files(parse_report(found), side.registry, ("html",))
    for name, page in pages.items():
        failure = f"audit/{name} is not the page of {REPORT}"
        log.again(f"audit/{name}: rendered again", audit.record["files"][name] == digest(page), "RR120", failure)
    if not pages:
        log.undecided.append("audit/report.html: no renderer for it is loaded")


def _stored_policy_files(audit: AuditFolder) -> Mapping[str, bytes]:
    """Return the policy's files in audit/; missing ones that audit.json names were reported already."""
    named = audit.record["policy_files"]
    assert isinstance(named, list)
    listed = {path.relative_to(audit.folder).as_posix(): path for path in audit.folder.rglob("*.toml")}
    return {name: read_regular(path) for name, path in listed.items() if name in named}


def _without_fields(document: Json, fields: set[str], here: str = "") -> Json:
    if isinstance(document, list):
        return [_without_fields(item, fields, here) for item in document]
    if not isinstance(document, dict):
        return document
    named = {key: f"{here}.{key}" if here else key for key in document}
    return {
        key: _without_fields(item, fields, named[key]) for key, item in document.items() if named[key] not in fields
    }


ATTESTATIONS_FOLDER = "attestations"
"""The folder of signed statements, next to public/ and audit/."""
APPROVAL_FILE = "approval.dsse.json"
"""The approval of the policy, which is there before the first signature."""
INSIDE = "the survey's weights, which are withheld: only the key shows whether they are those of the release (--key)"
"""Undecided without a key, if a release uses weights that it does not contain."""
BELOW = {
    VerificationLevel.PUBLIC: "what audit/ states",
    VerificationLevel.AUDIT: "whether the release conforms to its channel",
    VerificationLevel.SOURCE: "whether the source and the key give this release",
}


class _Inputs:
    """The inputs of a verification, as the levels need them.

    Attributes:
        key: the release's key file, or the secret from which it is derived.
        engines: engines of tables in memory, by the scheme of their uris.
    """

    def __init__(self, options: VerifyOptions) -> None:
        self.progress = options["progress"]
        original = input_table(options["source"])
        elsewhere = input_table(options["plan_on"], TUNING_SCHEME)
        people = input_table(options["reference"], REFERENCE_SCHEME)
        self.source, self.plan_on, self.reference = original.uri, elsewhere.uri, people.uri
        self.key = key_location(options["key"])
        self.engines = {**original.engines, **elsewhere.engines, **people.engines}


def _verification_level(level: VerificationLevel | str | None) -> VerificationLevel | None:
    known = [each.word for each in VerificationLevel]
    if isinstance(level, str) and level not in known:
        raise PolicyError(Problem("RR250", f"there is no level '{level}'", expected=", ".join(known)))
    return VerificationLevel.of(level) if isinstance(level, str) else level


@with_options
def verify(bundle: Path, *, rows: bool = True, **options: Unpack[VerifyOptions]) -> Verification:
    """Verify a bundle, or its public/ folder alone; its signatures and its ledger are checked elsewhere.

    Without `rows` the checks of the data files are undecided. Anything unknown is a problem.

    Raises:
        PolicyError: RR250 if the level needs an input that is not given, or the whole bundle if only public/ is given;
            RR260 if there is no such folder.
        RefusedError: RR403 for a key of another plan; RR404 for a listed plugin that is missing, RR412 for a required
            one that is not listed; RR408 or RR421 for scratch.
        DataError: RR327 if the source does not pass the release's policy, RR3xx if it cannot be read.
    """
    given, level, progress = _Inputs(options), _verification_level(options["level"]), options["progress"]
    source, key = given.source, given.key
    if not bundle.is_dir():
        raise PolicyError(
            Problem(
                "RR260",
                f"{bundle} is not a release: there is no such folder",
                expected="a bundle written by `rrpolicy release`, or its public/ folder",
            )
        )
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    if public == bundle and (bundle / "release.json").is_file():
        _require_public_only(bundle, level, given=source is not None or key is not None)
    level = _requested_level(level, audit=public != bundle and (bundle / "audit").is_dir(), source=source, key=key)
    if given.reference is not None and level < VerificationLevel.SOURCE:
        hint = "add --source: people are counted in the classes of the table that was released"
        raise PolicyError(Problem("RR250", "a population verifies nothing without the table", hint=hint))
    log, collected, of_rows = Log(), False, False
    with scratch_folder() as spilled, log_unreadable(log):
        if public != bundle:
            _check_bundle_layout(log, bundle)
        progress("public", 0.1)
        side = _verify_public_side(log, public, spilled.folder, options["plugins"], options["today"], rows=rows)
        collected = side is not None and side.manifest.collected is not None
        of_rows = side is not None and side.manifest.units.of_rows
        if collected and level > VerificationLevel.AUDIT:
            raise no_source_error(bundle)
        if side is not None and level > VerificationLevel.PUBLIC:
            side = replace(side, registry=side.registry.opening(given.engines))
            _verify_further_levels(log, bundle, side, level, given, scratch=spilled.folder)
    achieved = min(level, log.level)  # a broken bundle ends at a lower level
    log.undecided += [UNDECIDED] if achieved < VerificationLevel.SOURCE and not of_rows else []
    lowest = BELOW[VerificationLevel.PUBLIC] if collected else None  # collected records have no source, and no key
    log.undecided += [text for below, text in BELOW.items() if achieved <= below and lowest in {None, text}]
    return log.done(level)


def _require_public_only(public: Path, level: VerificationLevel | None, *, given: bool) -> None:
    """Refuse inputs that need audit/, with which the source and the key are compared, if only public/ is given."""
    if given or (level is not None and level > VerificationLevel.PUBLIC):
        hint = "give the bundle's own folder, which contains public/ and audit/, or leave out --source and --key"
        message = f"{public} is public/ alone: it can be verified up to `--level public`"
        raise PolicyError(Problem("RR250", message, expected="the whole bundle, for any level above", hint=hint))


def no_source_error(bundle: Path) -> PolicyError:
    """Return the error of comparing collected records with a table: none exists."""
    message = f"the records of {bundle} were collected, each randomised before it was sent: there is no source"
    hint = "`rrpolicy verify` without --source and --key: what public/ and audit/ settle is all that can be recomputed"
    return PolicyError(Problem("RR250", message, expected="no table", hint=hint))


def _verify_public_side(
    log: Log, public: Path, scratch: Path, plugins: Sequence[str], today: date | None, *, rows: bool
) -> PublicFolder | None:
    """Check public/; its contradictions are findings, not errors of this call."""
    try:
        return verify_public(log, public, scratch, plugins, today, rows=rows)
    except (DataError, PolicyError) as error:
        log.check("readable", False, "RR110", f"release.json cannot be read: {error.problems[0].message}")  # noqa: FBT003
        return None


def _verify_further_levels(
    log: Log, bundle: Path, side: PublicFolder, level: VerificationLevel, given: _Inputs, *, scratch: Path
) -> None:
    from rrpolicy.source.opening import open_original

    given.progress("audit", 0.4)
    audit = verify_audit(log, bundle / "audit", side, given.source or "")
    if audit is None:
        return
    if level < VerificationLevel.SOURCE:
        check_audit_page(log, audit, side, audit.stated.placed(audit.places), None)
        return
    given.progress("source", 0.5)
    policy = _with_reference_place(audit.plan.policy, given.reference)
    opening = open_original(policy, side.registry.sources, scratch / "spill")
    with side.registry.naming_engines(), open_claimed_source(opening) as original:
        held = None
        if level is VerificationLevel.KEY and given.key is not None:
            held = _verification_key(given.key, audit.plan, original)
        tagged = held is not None and _has_source_tag(held, audit, original)
        conforms = check_source_consistency(log, audit, side, original, scratch, tagged=tagged)
        if conforms is None:
            return
        if held is None and hidden_weights_fingerprint(original) is not None:
            log.undecided.append(INSIDE)
        check_audit_page(log, audit, side, verify_source(log, audit, side, original, scratch), original)
        log.findings.append(conforms)
        verify_tuning_table(log, audit, side, original, uri=given.plan_on, scratch=scratch)
        verify_reference_table(log, audit, original)
        check_attack_record(log, audit, side, original, scratch)
        if held is not None:
            given.progress("drawing again", 0.8)
            verify_key(log, audit, side, original, held, plan_on=given.plan_on, scratch=scratch)


def _has_source_tag(held: KeyFile | SeriesKey, audit: AuditFolder, original: Original) -> bool:
    stated: str = audit.record["source_tag"]
    return keyed_fingerprint(held.key, original, stated) == stated


def _with_reference_place(policy: Policy, reference: str | None) -> Policy:
    """Return a plan's policy with the uri of the population, which the plan does not contain.

    Raises:
        PolicyError: RR250 if the policy names no population.
    """
    if reference is None:
        return policy
    if policy.reference is None:
        raise PolicyError(
            Problem("RR250", "--reference: the release's policy declares no population", hint="leave it out")
        )
    return replace(policy, reference=replace(policy.reference, uri=reference))


def _verification_key(key: KeyLocation, plan: Plan, original: Original) -> KeyFile | SeriesKey:
    """Return the key of a file, or the key that a secret yields for this plan and table, or for its series."""
    series = plan.policy.release.series
    if series is not None:
        if isinstance(key, ExternalSecret):
            return SeriesKey(key.key_of_series(series), series)
        return read_series_key(key, series)
    if isinstance(key, ExternalSecret):
        return derive_key(key, plan.digest(), original)
    return read_key(key)


@contextmanager
def open_claimed_source(opening: AbstractContextManager[Original]) -> Iterator[Original]:
    """Open the claimed source; one that does not pass the release's policy is another table.

    Raises:
        DataError: RR327 for such a table, RR3xx if it cannot be read.
    """
    with ExitStack() as stack:
        try:
            original = stack.enter_context(opening)
        except DataError as error:
            from rrpolicy.source.opening import is_unreadable

            if is_unreadable(error):
                raise
            raise DataError(_other_table_problem(error.problems)) from error
        yield original


_SHOWN = 3
"""The most problems shown of a table that is not the source; one is enough to decide that."""


def _other_table_problem(problems: Sequence[Problem]) -> Problem:
    told = "; ".join(problem.message for problem in problems[:_SHOWN])
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    message = f"this is not the table that was released: it does not pass the release's policy: {told}{more}"
    codes = quoted_list(dict.fromkeys(problem.code for problem in problems[:_SHOWN]))
    hint = f"give the release's own source, unchanged; `rrpolicy explain` explains {codes}, the errors of this table"
    return Problem("RR327", message, expected="the table that the release was made from", hint=hint)


def _check_bundle_layout(log: Log, bundle: Path) -> None:
    """Check that the bundle contains its folders and nothing else; the statements' folder is checked with them."""
    found = {entry.name for entry in bundle.iterdir()}
    _, odd = scan_folder(bundle)
    links = [path for path, why in odd if "/" not in path and "link" in why]
    extra = sorted((found - {"public", "audit", ATTESTATIONS_FOLDER}) | set(links))
    log.check("the bundle's folders", not extra, "RR113", f"{', '.join(extra)} does not belong to the bundle")


def _requested_level(
    level: VerificationLevel | None, *, audit: bool, source: str | None, key: KeyLocation | None
) -> VerificationLevel:
    """Return the level to verify at, and refuse one whose inputs are missing."""
    if level is None:
        if key is not None and source is None:
            raise PolicyError(Problem("RR250", "a key verifies nothing without the table", hint="add --source"))
        if source is None:
            return VerificationLevel.AUDIT if audit else VerificationLevel.PUBLIC
        return VerificationLevel.KEY if key is not None else VerificationLevel.SOURCE
    if level >= VerificationLevel.SOURCE and source is None:
        raise PolicyError(Problem("RR250", f"level {level.word} needs the table", hint="add --source URI"))
    if level is VerificationLevel.KEY and key is None:
        raise PolicyError(Problem("RR250", "level key needs the key file", hint="add --key FILE"))
    return level
