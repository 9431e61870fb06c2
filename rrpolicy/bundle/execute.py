"""Execution of a plan: assess again, gate, draw once, and write a bundle whole or not at all."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rrpolicy.bundle import audit as auditing
from rrpolicy.bundle import manifest as manifests
from rrpolicy.bundle.audit import realised_findings
from rrpolicy.bundle.pages import ExecutedPlan, render_audit_pages, render_public_page
from rrpolicy.bundle.staging import Staging, filesystem_refusals, stage
from rrpolicy.bundle.tables.writer import FolderSink, WrittenTable
from rrpolicy.canonical_json import digest, file_digest, pretty
from rrpolicy.channels.self_check import finalised_channel
from rrpolicy.collection import questionnaire
from rrpolicy.errors import Problem, RefusedError
from rrpolicy.exports.files import metadata_files
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.formats.parts import LOCAL_SINK, FileSink
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import MANIFEST_FILE, LedgerPlace, Manifest, ManifestSeries
from rrpolicy.numbers import fixed_number
from rrpolicy.planning.assess import Assessment, assess
from rrpolicy.planning.gate import gate
from rrpolicy.planning.key_storage import KeyStorage
from rrpolicy.planning.keys import keyed_fingerprint, series_id, tag_bytes
from rrpolicy.planning.ledger_account import Account, BudgetCheck, draw_id
from rrpolicy.planning.plan import (
    Plan,
    fingerprint,
    reference_fingerprint,
    require_consistent_channel,
    software_matches,
)
from rrpolicy.planning.plan_result import review_warnings
from rrpolicy.planning.series import require_same_series, table_series
from rrpolicy.planning.waivers import Terms
from rrpolicy.policy.folder import root
from rrpolicy.policy.model import Policy
from rrpolicy.registry import Registry
from rrpolicy.source.memory.kinds import uri_kind

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.source.protocol import Original

Progress = Callable[[str, float], None]
log = logging.getLogger("rrpolicy")

DRAWING = (0.2, 0.45)
"""The beginning of the draw in a release's progress, and its share."""


def release(  # noqa: PLR0917 each is another thing
    plan: Plan,
    policy: Policy,
    registry: Registry,
    original: Original,
    key: bytes,
    into: Path,
    *,
    stated: manifests.ReleaseStatement = manifests.NOTHING_STATED,
    policy_file: Path | None = None,
    staging: Staging | None = None,
    streams: Streams | None = None,
    elsewhere: Original | None = None,
    terms: Terms | None = None,
    account: Account | None = None,
    custody: KeyStorage = KeyStorage.DESTROYED,
    progress: Progress = lambda *_: None,
    files: FileSink = LOCAL_SINK,
) -> Path:
    """Write a release.

    The channel is drawn from without any change. `key` has 32 bytes: the same key, plan and table give the same
    release. `streams` of a test's seed mark the release, and `verify` refuses it. The caller may have opened `staging`
    of the same target, as the original may spill into its scratch.

    Raises:
        RequirementError: RR101 to RR104, RR108, RR109; nothing is drawn.
        RefusedError: RR415, RR416 if a review is due or a waiver expired; RR441, RR442 if the ledger's budget forbids
            it; RR444 if the series began differently; nothing is drawn. RR401 if the plan is stale, RR402 if the
            folder exists, RR414 if its channel contradicts itself or the policy; RR407, RR408, RR410.
    """
    if streams is not None and not streams.test:
        raise ValueError("streams are derived here; only a test may bring its own")
    assert (account is None) == (policy.ledger is None)
    plan = current_plan(plan, policy, registry, original, key, elsewhere)
    require_consistent_channel(plan.channel, plan.policy)
    progress("assessing", 0.1)
    assessment = assess(plan.policy, registry, plan.channel, original, plan.derived)
    gate(assessment, policy, terms or Terms(), review_warnings(plan)).require()
    draw = draw_id(key, plan)
    series = _checked_series(plan, original, key, account)
    weighed = check_ledger_budget(account, plan, original, assessment, draw)
    with nullcontext(staging) if staging else stage(into) as open_staging, filesystem_refusals(into):
        drawn = streams or draw_streams(plan, key)
        written = _draw_to_staging(plan, original, drawn, open_staging, progress, registry.formats, files)
        original.unchanged()
        progress("measuring what was drawn", 0.7)
        data, spilled = manifests.data_files_description(plan.policy.release, written), open_staging.scratch
        came_to = realised_findings(plan.policy, registry, plan.channel, original, open_staging.public, data, spilled)
        assessment = replace(assessment, attained=came_to)
        progress("writing the files that accompany the data", 0.8)
        executed = ExecutedPlan(
            plan,
            policy,
            assessment,
            written,
            registry,
            original,
            open_staging,
            stated,
            policy_file,
            custody,
            series,
            draw,
            weighed,
            test=streams is not None,
        )
        return publish_bundle(executed, account)


def publish_bundle(executed: ExecutedPlan, account: Account | None) -> Path:
    """Write the other files of the bundle, enter the release in the policy's ledger, and publish the folder.

    Raises:
        RefusedError: RR402, RR407, RR408.
    """
    staging, weighed = executed.staging, executed.weighed
    if account is None or weighed is None:
        write_audit(executed, write_public(executed, None))
        return staging.publish()
    place = account.enter(executed.plan, manifest_without_ledger_place(executed), executed.draw, weighed.uncomposed)
    manifest: Manifest | None = None
    try:
        manifest = write_public(executed, place)
        write_audit(executed, manifest)
        staging.publish()
    finally:
        _record_publication(account, place, manifest if staging.published else None)
    log.info("%s", weighed.entered)
    return staging.target


def check_ledger_budget(
    account: Account | None, plan: Plan, original: Original | int, assessment: Assessment, draw: str
) -> BudgetCheck | None:
    """Check a release against its policy's ledger; None if it names none.

    Raises:
        RefusedError: RR441, RR442 if the budget forbids it.
    """
    if account is None:
        return None
    weighed = account.weigh(plan, original, assessment.findings, draw).require()
    if weighed.uncomposed is not None:
        log.warning("no guarantee for all releases together: released all the same, because %s", weighed.uncomposed)
    return weighed


def _checked_series(plan: Plan, original: Original, key: bytes, account: Account | None) -> ManifestSeries | None:
    """Return the series of a draw under a key; refuse one that began differently."""
    series = table_series(plan.policy, original)
    if series is None or account is None:
        return None
    series = replace(series, id=series_id(key, series.name))
    begun = account.begun(series.name)
    if begun is not None:
        require_same_series(begun, plan.policy, series, plan.channel)
    return series


def _record_publication(account: Account, place: LedgerPlace, manifest: Manifest | None) -> None:
    """Record in the ledger whether a release was published; one that cannot be recorded continues to count."""
    try:
        account.settle(place, None if manifest is None else manifest.digest)
    except RefusedError as error:
        log.warning("the release is in the ledger, but its outcome is not: %s", error.problems[0].message)


def current_plan(  # noqa: PLR0917 each is another thing
    plan: Plan, policy: Policy, registry: Registry, original: Original, key: bytes, elsewhere: Original | None = None
) -> Plan:
    """Return the plan as it will be drawn: settled on the table, with the table's tag under the key.

    Raises:
        RefusedError: RR401 if policy, software, records or source are not those of the plan.
    """
    stale = []
    if plan.policy_digest != policy.digest():
        stale.append("the policy changed")
    if not software_matches(plan.software, registry):
        stale.append("rrpolicy or a plugin is of another version")
    if plan.records != original.records:
        stale.append("the table has another number of records")
    tag = keyed_fingerprint(key, original, plan.source_tag)
    if plan.source_tag not in {None, tag} and plan.records == original.records:
        stale.append("the table's values changed, or the key is not the plan's")
    if plan.plan_on != (None if elsewhere is None else fingerprint(elsewhere)):
        stale.append("the table of `plan_on`, on which the parameters were chosen, changed")
    if plan.reference != reference_fingerprint(original):
        stale.append("the reference table, in which people were counted, changed")
    if stale:
        raise RefusedError(
            Problem("RR401", f"the plan is stale: {'; '.join(stale)}", hint="plan again and review the new plan")
        )
    return replace(
        plan, policy=policy_with_places(plan, policy), channel=finalised_channel(plan.channel, original), source_tag=tag
    )


def policy_with_places(plan: Plan, stated: Policy) -> Policy:
    """Return a plan's policy with the places of the policy file, which a plan's file does not contain."""
    pairs = zip(plan.policy.requirements, stated.requirements, strict=True)
    return replace(plan.policy, requirements=tuple(replace(planned, place=written.place) for planned, written in pairs))


def draw_streams(plan: Plan, key: bytes) -> Streams:
    """Return the streams of a draw: bound to the key, the table, the plan and the sampler's path."""
    from rrpolicy.channels.sampling.prng import Streams

    assert plan.source_tag is not None
    path = getattr(plan.channel, "sampler", plan.channel.kind)
    return Streams(key, tag_bytes(plan.source_tag), bytes.fromhex(plan.digest().removeprefix("sha256:")), path)


def folder_sink(  # noqa: PLR0917 each is another thing
    plan: Plan,
    folder: Path,
    scratch: Path,
    formats: Formats = CORE_FORMATS,
    passed: Callable[[int], None] = lambda _: None,
    files: FileSink = LOCAL_SINK,
) -> FolderSink:
    """Return the writer of a plan's data files into a folder, by the settings of its policy."""
    settings = plan.policy.release
    handling, cut = settings.csv_formulas, settings.rows_per_file
    return FolderSink(plan.channel.tables(), folder, settings.format, scratch, handling, formats, passed, cut, files)


def draw_to_folder(  # noqa: PLR0917 each is another thing
    plan: Plan,
    original: Original,
    streams: Streams,
    folder: Path,
    scratch: Path,
    formats: Formats = CORE_FORMATS,
    passed: Callable[[int], None] = lambda _: None,
    files: FileSink = LOCAL_SINK,
) -> Mapping[str, WrittenTable]:
    """Draw once and write the data files into a folder; `passed` is called with the number of records drawn so far."""
    sink = folder_sink(plan, folder, scratch, formats, passed, files)
    try:
        plan.channel.draw(original, streams, sink)
        return sink.finish()
    except BaseException:
        with suppress(Exception):  # only the first error matters
            sink.abandon()
        raise


def _draw_to_staging(  # noqa: PLR0917 likewise
    plan: Plan,
    original: Original,
    streams: Streams,
    staging: Staging,
    progress: Progress,
    formats: Formats,
    files: FileSink,
) -> Mapping[str, WrittenTable]:
    progress("drawing", DRAWING[0])
    began = monotonic()

    def passed(rows: int) -> None:
        start, share = DRAWING
        rate = rows / max(monotonic() - began, 1e-3)
        text = f"drawing: {rows:,} of {plan.records:,} records, {fixed_number(rate)} a second"
        progress(text, start + share * min(1.0, rows / max(plan.records, 1)))

    written = draw_to_folder(plan, original, streams, staging.public, staging.scratch, formats, passed, files)
    rows = {name: w.rows for name, w in written.items()}
    if rows.get("data", plan.records) != plan.records:
        raise RuntimeError("the draw released another number of records than there are")
    return written


def manifest_without_ledger_place(executed: ExecutedPlan) -> Manifest:
    """Return the manifest of a draw, without its place in a ledger and the digests of other files."""
    return manifests.build_manifest(
        executed.plan,
        executed.assessment,
        executed.written,
        test=executed.test,
        stated=executed.stated,
        governance=executed.policy.governance,
        series=executed.series,
        collected=None if executed.questionnaire is None else executed.questionnaire.digest,
    )


def write_public(executed: ExecutedPlan, place: LedgerPlace | None) -> Manifest:
    """Write the files of public/ other than the data, and return the manifest."""
    public = executed.staging.public
    manifest = replace(manifest_without_ledger_place(executed), ledger=place)
    published_channel = manifests.published_channel(executed.plan)
    for name, content in derived_public_files(manifest, public, executed.registry.formats).items():
        path = public / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    if executed.questionnaire is not None:
        (public / questionnaire.QUESTIONNAIRE_FILE).write_bytes(pretty(executed.questionnaire.to_json()))
    listed = replace(manifest, files=manifests.file_digests(public, but=MANIFEST_FILE))
    pages = render_public_page(public, listed, executed.registry, published_channel, executed.released)
    for name, content in pages.items():
        (public / name).write_bytes(content)
    whole = manifest.sealed({**listed.files, **{name: digest(content) for name, content in pages.items()}})
    (public / MANIFEST_FILE).write_bytes(pretty(whole.to_json()))
    return whole


def derived_public_files(manifest: Manifest, public: Path, formats: Formats = CORE_FORMATS) -> Mapping[str, bytes]:
    """Return the files determined by the manifest and the data, by path; verify writes them again."""
    from rrpolicy.exports.files import public_files

    return {**public_files(manifest, formats), **metadata_files(manifest, public, formats)}


def write_audit(executed: ExecutedPlan, public: Manifest) -> None:
    """Write audit/, which refers to public/ by digest."""
    plan, assessment, folder = executed.plan, executed.assessment, executed.staging.audit
    file, toml = executed.staging.public / MANIFEST_FILE, executed.policy_file
    commit = None if toml is None else root.head_commit(toml.parent)
    written = {} if toml is None else auditing.policy_file_contents(toml, executed.policy.files)
    record = auditing.audit_record(
        plan,
        public,
        file_digest(file),
        given_as=uri_kind(executed.policy.source.uri),
        custody=executed.custody,
        commit=commit,
        policy_files=written,
        draw=None if executed.series is None else executed.draw,
        weighed=executed.weighed,
    )
    for name, content in written.items():
        (folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_private_file(folder / name, content)
    _write_private_file(folder / "policy.json", pretty(plan.policy.to_json()))
    _write_private_file(folder / "plan.json", pretty(plan.to_json()))
    _write_private_file(folder / "findings.json", pretty(auditing.findings_document(assessment)))
    for name, content in render_audit_pages(executed, public, record, written).items():
        _write_private_file(folder / name, content)
    files = manifests.file_digests(folder, but=auditing.AUDIT_FILE)
    _write_private_file(folder / auditing.AUDIT_FILE, pretty(manifests.sealed_record(record, files)))


def _write_private_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
