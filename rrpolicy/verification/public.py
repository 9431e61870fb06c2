"""Level public: all checks that need only public/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

from rrpolicy.bundle import manifest as manifests
from rrpolicy.bundle.execute import derived_public_files
from rrpolicy.bundle.tables.lazy_tables import open_data_table, open_data_tables
from rrpolicy.bundle.tables.released_table import ReleasedTable
from rrpolicy.canonical_json import digest
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Channel
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.released_counts import count_released_rows
from rrpolicy.channels.self_check import channel_contradictions, unverified_components
from rrpolicy.collection.answers import implausibilities
from rrpolicy.collection.questionnaire import QUESTIONNAIRE_FILE as QUESTIONNAIRE
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.discovery import load_allowed
from rrpolicy.errors import DataError, RefusedError, RRPolicyError
from rrpolicy.finding import Basis, Finding, Origin, Verdict
from rrpolicy.formats.format import MAX_FILES, UnlikeSpecError, file_count, file_name
from rrpolicy.frozen import field_names, replace
from rrpolicy.manifest.manifest import MANIFEST_FILE, Data, Manifest, ReleasedAttribute, StatedRequirement
from rrpolicy.mechanism import parameters_of
from rrpolicy.planning.assess import assess
from rrpolicy.planning.derived_statistics import RELEASED
from rrpolicy.planning.plan import software_matches
from rrpolicy.planning.waivers import Terms
from rrpolicy.plugin_errors.distributions import GROUP, find_author
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.attributes import KEEP_OUTSIDE
from rrpolicy.policy.model import (
    ROW_UNIT,
    Attribute,
    MechanismChoice,
    Policy,
    ReferenceSettings,
    ReleaseSettings,
    SourceSettings,
)
from rrpolicy.policy.policy_decoding import requirement_from_json
from rrpolicy.registry import Registry
from rrpolicy.serialization import plain, read, record
from rrpolicy.verification.outcome import Log
from rrpolicy.verification.records import (
    check_declarations,
    check_files,
    documents_equivalent,
    documents_identical,
    read_sealed_record,
)
from rrpolicy.wording import MET

PAGE = "report.html"
RELEASE_PATH = "public/release.json"
CLAIMS = (
    ("the release's label", "release"),
    ("what the policy is called and whose it is, and its digest", "policy"),
    ("versions of the software", "software"),
    ("the mechanism's name", "mechanism"),
    ("roles, scales, hierarchies and reasons of the attributes", "attributes"),
    ("what the policy requires", "requirements"),
    (f"the policy's conditions of use, and whether they are {MET}", "utility"),
    ("where parameters come from", "origins"),
    ("which statistics of the original the release discloses", "derived"),
    ("the table that parameters were chosen on", "plan_on"),
    ("how many records a unit has", "units"),
    ("whether a survey's weights were withheld", "weights_inside"),
    ("where the policy requires it", "findings.place"),
    ("how CSV escapes text that begins like a formula", "data.csv_formulas"),
)
WITHOUT_ROWS = "the released rows: they are not at hand"
COLLECTED = "whether each record was randomised on its person's own machine, by the questionnaire: nobody else saw it"
"""Claims that public/ alone cannot confirm: meaning, then the field of release.json."""


ONE_A_RECORD = frozenset({"data", "qit"})
"""Tables that have one row per record."""


class _UnusedMechanismOptions(BaseModel):
    """Of a mechanism that is not needed any more."""


class PublicFolder(Struct, frozen=True, dict=True):
    """The contents of public/.

    Attributes:
        registry: registry of the plugins that the manifest names and the caller allows.
        readable: its data files are present and are the tables that it describes.
    """

    folder: Path
    manifest: Manifest
    registry: Registry
    channel: Channel
    readable: bool = False

    @cached_property
    def released(self) -> Mapping[str, Sequence[int]]:
        """Return column -> released records of each of its labels: both pages show them."""
        from rrpolicy.reports.marginals import released_label_counts

        return released_label_counts(self.folder, self.manifest, self.registry.formats)


def verify_public(
    log: Log, public: Path, scratch: Path, plugins: Sequence[str] = (), today: date | None = None, *, rows: bool = True
) -> PublicFolder | None:
    """Check public/ by itself; None if it is too broken for anything further.

    Without `rows` the checks of the data files are undecided.

    Raises:
        RefusedError: RR404 if a plugin that the caller lists is missing, RR412 if the release needs one that the caller
            does not list.
        ValueError: if a document has no checkable contents; the caller reports it.
    """
    document = read_sealed_record(log, public / MANIFEST_FILE, Manifest)
    if document is None:
        return None
    manifest = read(Manifest, document)
    log.policy, log.version = manifest.policy.name, manifest.policy.version
    log.check("a real draw", not manifest.test, "RR128", "the release was drawn from a test's seed; never use it")
    side = _read_public_folder(log, public, manifest, plugins)
    if side is None:
        return None
    for meaning, name in CLAIMS:
        log.claim(RELEASE_PATH, meaning, name)
    check_declarations(log, manifest, RELEASE_PATH, Terms().today if today is None else today)
    if manifest.ledger is not None:
        log.claim(RELEASE_PATH, "its place in a ledger", "ledger")
    if manifest.series is not None:
        log.claim(RELEASE_PATH, "the series that it belongs to", "series")
    if not (_check_canonical_fields(log, document, manifest) and _check_repeated_fields(log, side)):
        return None
    asked = frozenset() if manifest.collected is None else frozenset({QUESTIONNAIRE})
    if manifest.collected is not None:
        _check_questionnaire(log, side)
    files = (_expected_table_files(manifest.data, spec.name) for spec in side.channel.tables())
    data = asked.union(*files)
    present = all((public / path).is_file() for path in data)
    known = manifest.data.format in side.registry.formats
    regenerated = derived_public_files(manifest, side.folder, side.registry.formats) if present and known else {}
    listed = regenerated or manifest.files  # a file that cannot be written again need not be foreign
    check_files(log, public, manifest.files, MANIFEST_FILE, {*data, PAGE, *listed}, () if rows else data)
    log.undecided += [WITHOUT_ROWS] * (not rows and not present)
    for path, content in regenerated.items():
        failure = f"public/{path} is not what the manifest and the data give"
        agrees = manifest.files.get(path) == digest(content)
        log.again(f"public/{path}: written again", agrees, "RR120", failure)
    side = replace(side, readable=_check_data(log, side, scratch))
    _check_findings(log, side, scratch if side.readable else None)
    if side.readable:
        check_public_page(log, side)
    return side


def _read_public_folder(log: Log, public: Path, manifest: Manifest, plugins: Sequence[str]) -> PublicFolder | None:
    registry = load_allowed(manifest.software, plugins)
    log.by = "" if software_matches(manifest.software, registry) else software_text(manifest.software)
    if manifest.data.format not in registry.formats:
        registry.refuse_absent("format", manifest.data.format)
    try:
        with registry.naming_absent():
            return PublicFolder(public, manifest, registry, channel_from_json(manifest.channel, registry.kinds))
    except DataError as error:
        log.check("channel", False, "RR118", f"the field 'channel' of release.json: {error.problems[0].message}")  # noqa: FBT003
        return None


def software_text(stated: Software) -> str:
    """Return the software that wrote a bundle, in words: rrpolicy and the other distributions, with their versions."""
    others = {p.distribution: p.version for p in stated.plugins if p.distribution != GROUP}
    return ", ".join(f"{name} {version}" for name, version in {GROUP: stated.rrpolicy, **others}.items())


def _check_canonical_fields(log: Log, document: Mapping[str, Any], manifest: Manifest) -> bool:
    """Check that release.json equals its own canonical form, so that copies of a number agree."""
    again = manifest.to_json()
    differ = [key for key in again if not documents_identical(document.get(key), again[key])]
    failure = f"release.json contradicts itself in {', '.join(differ)}"
    return log.check("release.json: is consistent", not differ, "RR118", failure)


def _check_repeated_fields(log: Log, side: PublicFolder) -> bool:
    """Check that the manifest's copies of the channel, findings and policy equal the originals.

    Return whether they do; all further checks use that description.
    """
    before = len(log.problems)
    channel, manifest = side.channel, side.manifest
    expected: dict[str, Any] = {
        "channel": channel.to_public_json(),
        "decoders": channel.decoders(),
        "tables": channel.tables(),
        "requirements": _restated_requirements(side),
        "assumptions": tuple(dict.fromkeys(a for finding in manifest.findings for a in finding.assumptions)),
    }
    for key, value in expected.items():
        failure = f"the field '{key}' of release.json is not what the rest of it gives"
        log.check(
            f"{key}: written again", documents_identical(plain(getattr(manifest, key)), plain(value)), "RR118", failure
        )
    released = {(c.attribute, c.name) for c in manifest.columns if c.attribute}
    stated = [(a.name, a.release_as) for a in manifest.attributes]
    agree = set(stated) == released and len({name for _, name in stated}) == len(stated)
    failure = "the field 'attributes' of release.json is not the channel's"
    log.check("attributes of the channel", agree, "RR118", failure)
    told = list(channel_contradictions(channel, manifest.attributes))
    failure = f"the channel contradicts the attributes or itself: {'; '.join(told)}"
    log.check("the channel's declared properties", not told, "RR118", failure)
    for own in unverified_components(channel):
        named = (
            f"draws and decoders of '{own.kind}'"
            if isinstance(own, Channel)
            else f"ratios of {', '.join(own.attributes)}"
        )
        log.undecided.append(f"{named}: on the word of {find_author(own)}")
    rows = {table.rows for name, table in manifest.data.tables.items() if name in ONE_A_RECORD}
    agree = rows == {manifest.records}
    log.check("records", agree, "RR115", "the field 'records' of release.json is not the number of rows that it states")
    return len(log.problems) == before


def _restated_requirements(side: PublicFolder) -> tuple[StatedRequirement, ...]:
    """Return the requirements as a release states them: read and written again, or without their withheld parts."""
    if side.manifest.withholds:
        return tuple(replace(stated, options={}) for stated in side.manifest.requirements)
    requirements = policy_from_manifest(side.manifest, side.registry).requirements
    return tuple(map(manifests.stated_requirement, requirements))


def _check_questionnaire(log: Log, side: PublicFolder) -> None:
    """Check that the questionnaire is the one named, randomises by the channel, and describes that correctly."""
    document = read_sealed_record(log, side.folder / QUESTIONNAIRE, Questionnaire)
    if document is None:
        return
    asked, manifest = Questionnaire.from_json(document, side.registry), side.manifest
    failure = f"public/{QUESTIONNAIRE} is not the one that release.json lists"
    log.check("questionnaire: as named", asked.digest == manifest.collected, "RR525", failure)
    categories = {a.name: a.domain for a in manifest.attributes}
    told = asked.policy, asked.software, asked.max_records, {q.attribute: q.categories for q in asked.questions}
    stated = manifest.policy, manifest.software, manifest.units.max_records, categories
    agrees = told == stated and documents_identical(asked.channel.to_public_json(), side.channel.to_public_json())
    failure = f"public/{QUESTIONNAIRE} contains other questions than the release, or randomises them otherwise"
    log.check("questionnaire: of this release", agrees, "RR525", failure)
    failure = f"public/{QUESTIONNAIRE} states other guarantees than its channel"
    log.again("questionnaire: its guarantees", asked == asked.promised_again(), "RR525", failure)
    log.claim(f"public/{QUESTIONNAIRE}", "how numbers become categories, and what is not a category", "questions")
    log.undecided.append(COLLECTED)


def _check_plausibility(log: Log, side: PublicFolder, table: ReleasedTable) -> None:
    """Check that the rows can be results of randomisers."""
    product = side.channel
    if side.manifest.collected is None or not isinstance(product, Product):
        return
    single = [(slot,) for slot in range(len(product.axes))]
    found = count_released_rows(product, table.distinct(), single)
    if found.problem is None:
        why = list(implausibilities(product, [found.counts[s] for s in single], found.records))
        log.check("collected: plausible", not why, "RR525", f"this was not collected so: {'; '.join(why)}")


def _expected_table_files(data: Data, table: str) -> list[str]:
    """Return the files of a table with so many rows; if the manifest names another number of files, those.

    A manifest may state any number of rows.
    """
    cut, stated = data.rows_per_file, data.tables.get(table)
    if cut is None or stated is None:
        return [file_name(table, data.format)]
    most = min(file_count(stated.rows, cut), len(stated.files) + 1, MAX_FILES) if cut > 0 else 1
    return [file_name(table, data.format, number) for number in range(most)]


def _check_data(log: Log, side: PublicFolder, scratch: Path) -> bool:
    """Check every data file; return whether all could be read."""
    data = side.manifest.data
    known = data.format in side.registry.formats and set(data.tables) == {t.name for t in side.channel.tables()}
    failure = "the field 'data' of release.json lists other tables or an unknown format"
    if not log.check("data", known, "RR110", failure):
        return False
    readable = True
    for spec in side.channel.tables():
        path, files = side.manifest.pattern(spec.name), _expected_table_files(data, spec.name)
        failure = f"table {spec.name} must be in " + (files[0] if len(files) == 1 else f"{files[0]} to {files[-1]}")
        if not log.check(f"{path}: name", list(data.tables[spec.name].files) == files, "RR115", failure):
            readable = False
            continue
        if not all((side.folder / name).is_file() for name in files):
            readable = False
            continue
        try:
            _check_table(log, side, scratch, spec.name)
        except UnlikeSpecError as error:
            readable = log.check(f"{path}: readable", False, "RR115", f"public/{path}: {error}")  # noqa: FBT003 it fails
    return readable


def _check_table(log: Log, side: PublicFolder, scratch: Path, name: str) -> None:
    from rrpolicy.source.row_digest import row_digest

    data = side.manifest.data
    stated, spec = data.tables[name], next(t for t in side.channel.tables() if t.name == name)
    path, formats = f"public/{side.manifest.pattern(name)}", side.registry.formats
    with open_data_table(side.folder, data, spec, scratch, formats) as table:
        rows = table.rows()
        right = rows == stated.rows
        log.check(
            f"{path}: rows", right, "RR115", f"{path} has another number of rows than release.json states", str(rows)
        )
        cut = data.rows_per_file
        right = cut is None or all(rows == cut for rows in table.rows_of_each()[:-1])
        failure = f"{path}: every file but the last must have {cut} rows"
        log.check(f"{path}: rows of each file", right, "RR115", failure)
        bare = table.bare()
        failure = f"{path} contains text that a spreadsheet would run as a formula, not escaped, in {', '.join(bare)}"
        log.check(f"{path}: formulas", not bare, "RR115", failure)
        outside = table.outside()
        failure = f"{path} contains values outside the domain in {', '.join(outside)}"
        log.check(f"{path}: domains", not outside, "RR116", failure)
        found = "sha256:" + row_digest(table.distinct()).hex()
        failure = f"{path}: its rows are not those whose digest the manifest states"
        log.check(f"{path}: digest of the rows", found == stated.digest, "RR117", failure)
        _check_plausibility(log, side, table)
    log.claim(path, "how its rows are written into bytes", "bytes")


def _check_findings(log: Log, side: PublicFolder, scratch: Path | None) -> None:
    """Recompute every finding determined by the channel, the number of records and the data files.

    Without `scratch` the data files cannot be read.
    """
    manifest = side.manifest
    if manifest.withholds:
        _check_withheld(log, side)
        return
    policy = policy_from_manifest(manifest, side.registry)
    with ExitStack() as stack:
        files = (side.folder, manifest.data, side.channel.tables())
        written = (
            None if scratch is None else stack.enter_context(open_data_tables(*files, scratch, side.registry.formats))
        )
        found = assess(policy, side.registry, side.channel, manifest.records, manifest.derived, written)
    findings = found.findings
    _check_derived(log, side, {d.id for d in manifest.derived}, findings)
    agree = len(findings) == len(manifest.findings) == len(policy.requirements) > 0
    if not log.check("findings", agree, "RR119", "the manifest does not contain one finding for each requirement"):
        return
    for finding, stated in zip(findings, manifest.findings, strict=True):
        check_finding(log, finding.up_to(Basis.RELEASE), stated, where="release.json")
        if finding.basis is Basis.ORIGINAL or finding.verdict is Verdict.UNDECIDED:
            log.undecided.append(f"{finding.model} {finding.requirement}")
            log.claim(RELEASE_PATH, "findings that rest on the original", "findings")
        else:
            log.findings.append(finding)


def _check_withheld(log: Log, side: PublicFolder) -> None:
    """Check that a release with withheld matrices has no number of any finding; none can be recomputed."""
    manifest = side.manifest
    _check_derived(log, side, {d.id for d in manifest.derived}, manifest.findings)
    models = [finding.model.partition("/")[0] for finding in manifest.findings]
    agree = models == [stated.model for stated in manifest.requirements] and len(models) > 0
    if not log.check("findings", agree, "RR119", "the manifest does not contain one finding for each requirement"):
        return
    bare = all(plain(found) == plain(found.withheld()) for found in manifest.findings) and not manifest.utility
    failure = "release.json withholds the matrices but contains numbers from which they may follow"
    log.check("findings: without numbers", bare, "RR119", failure)
    for finding in manifest.findings:
        held = finding.verdict is Verdict.SATISFIED
        failure = f"{finding.model}: release.json does not state that it is {MET}"
        log.check(f"{finding.model} is stated to be {MET}", held, "RR119", failure)
        log.undecided.append(f"{finding.model} {finding.requirement}")
    log.claim(RELEASE_PATH, "findings, whose numbers are withheld with the matrices", "findings")
    log.claim(RELEASE_PATH, "statements about the withheld matrices", "decoders")


def _check_derived(log: Log, side: PublicFolder, ids: set[str], findings: Sequence[Finding]) -> None:
    """Check that the manifest names every statistic of the table that public/ itself contains."""
    origins = side.manifest.origins
    observed = {f"domain:{a.name}" for a in side.manifest.attributes if a.observed}
    axes = (axis for axis in getattr(side.channel, "axes", ()) if isinstance(axis, Retention))
    retained = {name for axis in axes for name in axis.attributes}
    chosen = {parameters_of(name).id: name for name, origin in origins.items() if origin is Origin.DATA}
    told = observed | {item for item, name in chosen.items() if name in retained} | set(side.channel.discloses())
    told |= {RELEASED.id} if told or any(f.basis > Basis.CHANNEL for f in findings) else set()
    strange = {i for i in ids - told - set(chosen) if i.startswith(("domain:", "parameters:", "marginal:"))}
    failure = f"the field 'derived' of release.json is wrong about {', '.join(sorted((told - ids) | strange))}"
    log.check("derived", told <= ids and not strange, "RR118", failure)


def check_finding(log: Log, finding: Finding, stated: Finding, *, where: str) -> None:
    """Compare a recomputed finding with a record's.

    `finding` has the numbers that the record may show; its place may be unknown here, and is checked elsewhere.
    """
    name = f"{finding.model}: {finding.requirement}"
    settled = finding.verdict is not Verdict.UNDECIDED
    found, expected = stated.to_json(), finding.to_json()
    decisive = ["model", "limit_exact", "basis", *(["achieved", "limit", "verdict"] if settled else [])]
    said = dict.fromkeys([*expected, *found])  # some fields exist only if they are not empty
    wording = [key for key in said if key not in {*decisive, "place"}] if settled else ["requirement"]
    differ = [key for key in decisive if not documents_equivalent(found[key], expected[key])]
    failure = f"{name}: recomputed, {', '.join(differ)} differ from what {where} states"
    log.check(f"{name}, in {where}", not differ, "RR119", failure)
    differ = [key for key in wording if not documents_equivalent(found.get(key), expected.get(key))]
    failure = f"{name}: written again, {', '.join(differ)} differ from what {where} states"
    log.again(f"{name}, as described in {where}", not differ, "RR119", failure)
    held = stated.verdict is Verdict.SATISFIED
    log.check(f"{name} is stated to be {MET}", held, "RR119", f"{name}: {where} does not state that it is {MET}")


def check_public_page(log: Log, side: PublicFolder) -> None:
    """Render public/report.html again from public/ and compare it byte for byte."""
    from rrpolicy.bundle.pages import render_public_page

    name = f"public/{PAGE}"
    pages = render_public_page(side.folder, side.manifest, side.registry, side.channel, side.released)
    if PAGE not in pages:
        log.undecided.append(f"{name}: no renderer for it is loaded")
        return
    agrees = side.manifest.files.get(PAGE) == digest(pages[PAGE])
    failure = f"{name} is not the page that the rest of public/ gives"
    log.again(f"{name}: rendered again", agrees, "RR120", failure)


def _policy_attribute(released: ReleasedAttribute) -> Attribute:
    known = {name: getattr(released, name) for name in field_names(ReleasedAttribute)}
    keeps = known.pop("keeps_nulls")
    return Attribute(**known | {"nulls": KEEP_OUTSIDE if keeps else released.nulls})


def policy_from_manifest(manifest: Manifest, registry: Registry) -> Policy:
    """Return the part of the policy in release.json: enough to assess without data."""
    head, most, settings = manifest.policy, manifest.units.max_records, manifest.data
    try:
        with registry.naming_absent():
            stated = map(record, manifest.requirements)
            requirements = tuple(requirement_from_json(r, registry.catalogue, most) for r in stated)
    except RefusedError:
        raise
    except RRPolicyError as error:
        raise ValueError("the field 'requirements' of release.json cannot be read") from error
    return Policy(
        name=head.name,
        version=head.version,
        owner=head.owner,
        purpose=head.purpose,
        plugins=(),
        source=SourceSettings(
            "",
            max_records=most,
            unit=ROW_UNIT if manifest.units.of_rows else None,
            one_record_per_unit=manifest.units.one_record,
        ),
        attributes={a.name: _policy_attribute(a) for a in manifest.attributes},
        requirements=requirements,
        mechanism=MechanismChoice("", _UnusedMechanismOptions(), plan_on="" if manifest.plan_on else None),
        reference=ReferenceSettings() if any(r.needs_reference for r in requirements) else None,
        gates=(),
        release=ReleaseSettings(
            settings.format,
            csv_formulas=settings.csv_formulas,
            rows_per_file=settings.rows_per_file,
            series=None if manifest.series is None else manifest.series.name,
        ),
    )
