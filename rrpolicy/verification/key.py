"""Level key: the source is that of the release, the plan is the key's, and the draw is reproduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.audit import software_versions
from rrpolicy.bundle.execute import draw_streams, draw_to_folder
from rrpolicy.canonical_json import Json, file_digest
from rrpolicy.errors import Problem, RefusedError, RRPolicyError
from rrpolicy.finding import Origin
from rrpolicy.frozen import replace
from rrpolicy.planning.keys import KeyFile, SeriesKey, keyed_fingerprint, series_id
from rrpolicy.planning.ledger_account import draw_id
from rrpolicy.planning.plan import make_plan, reference_fingerprint
from rrpolicy.planning.series import table_series
from rrpolicy.verification.audit import CHOICE_FIELDS, PLAN_PATH, RECORD_PATH, AuditFolder
from rrpolicy.verification.outcome import Log, VerificationLevel
from rrpolicy.verification.public import RELEASE_PATH as RELEASE
from rrpolicy.verification.public import PublicFolder
from rrpolicy.verification.records import documents_equivalent

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

SERIES_CHOICE_NOTE = (
    "how the mechanism chose: that was at the first release of the series, which the ledger knows (--ledger)"
)
"""The part of a plan that only a ledger with the first release decides."""
PLANNED_TOLERANCE = 1e-6
"""Relative; an optimiser ends at slightly different values on another machine."""


def verify_key(
    log: Log,
    audit: AuditFolder,
    side: PublicFolder,
    original: Original,
    key: KeyFile | SeriesKey,
    *,
    plan_on: str | None,
    scratch: Path,
) -> None:
    """Check the source's tag under the key, plan again and draw again.

    Raises:
        RefusedError: RR403 if the key was made for another plan, or another series, and nothing else is wrong with the
            bundle.
    """
    log.level = VerificationLevel.KEY
    plan, record = audit.plan, audit.record
    _check_key(log, audit, side, key)
    tag = keyed_fingerprint(key.key, original, record["source_tag"])
    failure = "the source's values are not those that were released from, or the key is not this release's"
    if not log.check("source tag", tag == record["source_tag"], "RR126", failure):
        return
    if isinstance(key, SeriesKey):
        _check_series(log, audit, side, key, original, tag)
    _note_confirmed_plan(log)
    _check_plan_choice(log, audit, side, original, plan_on, scratch)
    again = scratch / "again"
    again.mkdir()
    written = draw_to_folder(plan, original, draw_streams(plan, key.key), again, scratch, side.registry.formats)
    form = plan.policy.release.format
    exact = side.registry.formats[form].same_bytes and record["writers"] == software_versions()
    how, same_data = "byte for byte" if exact else "row for row", True
    for name, table in written.items():
        agree = table.digest == side.manifest.data.tables[name].digest
        path = side.manifest.pattern(name)
        if exact:
            agree = agree and _files_match(again, side.folder, table.files)
            log.confirm(f"public/{path}", "bytes")
        elif form != "duckdb":
            log.undecided.append(f"public/{path}: its bytes were written by {_version_differences(record['writers'])}")
        failure = f"drawn again from the source and the key, {path} is another one"
        log.check(f"{path}: drawn again, {how}", agree, "RR127", failure)
        same_data = same_data and agree
    log.reproduced = how if same_data else None


def _files_match(again: Path, public: Path, files: Sequence[str]) -> bool:
    """Return whether a table is in the same files, byte by byte."""
    return all((public / f).is_file() and file_digest(again / f) == file_digest(public / f) for f in files)


def _check_key(log: Log, audit: AuditFolder, side: PublicFolder, key: KeyFile | SeriesKey) -> None:
    if isinstance(key, SeriesKey):
        stated = side.manifest.series
        known = stated is not None and series_id(key.key, key.series) == stated.id
        name, failure = "key of the series", "the key is that of another series of the same name"
    else:
        known = key.plan_digest == audit.plan.digest()
        name, failure = "plan of the key", "the key was made for another plan than this bundle's"
    if not known and not log.problems:
        raise RefusedError(Problem("RR403", failure))
    log.check(name, known, "RR126", failure)


def _check_series(  # noqa: PLR0917 each is another thing
    log: Log, audit: AuditFolder, side: PublicFolder, key: SeriesKey, original: Original, tag: str
) -> None:
    """Check the binding of a series' key to this plan, and the series in release.json."""
    drawn = draw_id(key.key, replace(audit.plan, source_tag=tag))
    failure = "this plan was not drawn with the key of the series"
    log.check("plan and source of the draw", audit.record.get("draw") == drawn, "RR126", failure)
    found = table_series(audit.plan.policy, original)
    same = found is not None and replace(found, id=series_id(key.key, key.series)) == side.manifest.series
    log.check("what the series froze", same, "RR126", "release.json states another series than the policy and the key")
    log.confirm(RELEASE, "series")
    log.confirm(RECORD_PATH, "draw")


def _version_differences(stated: Mapping[str, Json]) -> str:
    """Return in words the versions that wrote the files, of those that differ from the running ones."""
    here = software_versions()
    return ", ".join(f"{name} {version}" for name, version in stated.items() if here.get(name) != version)


def _note_confirmed_plan(log: Log) -> None:
    """Note that the key confirms the digest of a plan, and a source, to which it is bound."""
    log.confirm(
        RELEASE,
        "policy",
        "software",
        "mechanism",
        "attributes",
        "weights_inside",
        "requirements",
        "units",
        "data.csv_formulas",
    )
    log.confirm(RECORD_PATH, "software", "source_tag", "policy_digest", "plan_digest")
    log.confirm(PLAN_PATH, "policy", "software", "channel", "digest", "source_tag")
    log.confirm("audit/policy.json", "")


def _check_plan_choice(  # noqa: PLR0917 each is another thing
    log: Log, audit: AuditFolder, side: PublicFolder, original: Original, plan_on: str | None, scratch: Path
) -> None:
    """Plan again and compare the plan's account of its choice; the channel itself is bound by the key."""
    from rrpolicy.source.tuning_source import open_tuning_table

    plan, registry, name = audit.plan, side.registry, audit.plan.policy.mechanism.name
    if Origin.SERIES in plan.origins.values():
        log.undecided.append(SERIES_CHOICE_NOTE)
        return
    if name not in registry.mechanisms:
        log.undecided.append(f"how the mechanism chose ({name} is not loaded)")
        return
    if (plan.plan_on is not None and plan_on is None) or plan.reference != reference_fingerprint(original):
        return
    if log.by:
        log.undecided.append(f"how the mechanism chose: planned by {log.by}; verify with that version")
        return
    policy = replace(plan.policy, mechanism=replace(plan.policy.mechanism, plan_on=plan_on))
    other = (
        nullcontext(None) if plan_on is None else open_tuning_table(policy, registry.sources, scratch / "planned-on")
    )
    try:
        with other as elsewhere:
            again = make_plan(policy, registry, original, elsewhere=elsewhere).to_json()
    except RRPolicyError as error:
        log.check("planned again", False, "RR124", f"planned again, nothing is found: {error.problems[0].message}")  # noqa: FBT003
        return
    stated = plan.to_json()
    differ = [
        key for key in CHOICE_FIELDS if not documents_equivalent(stated.get(key), again.get(key), PLANNED_TOLERANCE)
    ]
    failure = f"planned again from the policy and the source, {', '.join(differ)} of audit/plan.json differ"
    by = "" if audit.record["writers"] == software_versions() else _version_differences(audit.record["writers"])
    if log.again("how the mechanism chose", not differ, "RR124", failure, by) and not differ:
        log.confirm(PLAN_PATH, *CHOICE_FIELDS)
        log.confirm(RELEASE, "origins", "derived")
