"""Level public: everything that public/ alone lets anyone recompute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rrpolicy.canonical import digest
from rrpolicy.channel.base import Channel
from rrpolicy.channel.reading import channel_from_json
from rrpolicy.channel.retention import Retention
from rrpolicy.discovery import load_registry
from rrpolicy.errors import DataError, RefusedError, RRPolicyError
from rrpolicy.finding import Basis, Derived, Finding, Verdict
from rrpolicy.mechanism import Origin, parameters_of
from rrpolicy.policy.model import Attribute, MechanismChoice, Policy, ReleaseSettings, Role, SourceSettings
from rrpolicy.policy.resolved import requirement_from_json
from rrpolicy.registry import GROUP, Registry
from rrpolicy.release import manifest as manifests
from rrpolicy.release.assess import assess
from rrpolicy.release.derived import RELEASED
from rrpolicy.release.formats import FORMATS, file_name
from rrpolicy.release.reading import UnlikeSpecError, open_table
from rrpolicy.release.records import check_files, check_record, read_record, same
from rrpolicy.release.verification import Log
from rrpolicy.release.write import beside
from rrpolicy.release.written import open_written

KEYS = (
    *("schema", "release", "policy", "software", "records", "units", "mechanism", "plan_on", "attributes"),
    "channel",
    *("decoders", "tables", "data", "requirements", "findings", "utility", "origins", "derived", "assumptions"),
    *("files", "digest"),
)
PAGE = "report.html"


class _NoOptions(BaseModel):
    """Of a mechanism that is not needed any more."""


@dataclass(frozen=True, slots=True)
class PublicSide:
    """What public/ says, read.

    Attributes:
        folder: public/.
        document: release.json.
        registry: of the plugins that the manifest names.
        channel: as published.
    """

    folder: Path
    document: Mapping[str, Any]
    registry: Registry
    channel: Channel


def verify_public(log: Log, public: Path, scratch: Path) -> PublicSide | None:
    """Check public/ by itself; None if it is too broken for anything further.

    Raises:
        RefusedError: RR404 if a plugin that the release needs is missing.
        ValueError: if a document says nothing that can be checked; the caller reports it.
    """
    document = read_record(public / manifests.NAME)
    keys = (*KEYS, "test") if "test" in document else KEYS
    if not check_record(log, public / manifests.NAME, document, manifests.SCHEMA, keys):
        return None
    log.check("a real draw", "test" not in document, "RR128", "the release was drawn from a test's seed; never use it")
    side = _side(log, public, document)
    if side is None:
        return None
    _check_description(log, side)
    data = _data_files(side)
    regenerated = _regenerated(side) if all((public / path).is_file() for path in data) else {}
    check_files(log, public, document, manifests.NAME, {*data, PAGE, *regenerated})
    for path, content in regenerated.items():
        listed = document["files"].get(path)
        failure = f"public/{path} is not what the manifest and the data give"
        log.check(f"public/{path}: written again", listed == digest(content), "RR120", failure)
    readable = _check_data(log, side, scratch)
    _check_findings(log, side, scratch if readable else None)
    return side


def _side(log: Log, public: Path, document: Mapping[str, Any]) -> PublicSide | None:
    listed = [str(p["distribution"]) for p in document["software"]["plugins"]]
    registry = load_registry(sorted({name for name in listed if name != GROUP}))
    try:
        return PublicSide(public, document, registry, channel_from_json(document["channel"], registry.kinds))
    except DataError as error:
        log.check("channel", False, "RR118", f"the field 'channel' of release.json: {error.problems[0].message}")  # noqa: FBT003
        return None


def _check_description(log: Log, side: PublicSide) -> None:
    """Check that what the manifest repeats of the channel is the channel's."""
    channel, document = side.channel, side.document
    expected = {
        "channel": channel.to_public_json(),
        "decoders": [d.to_json() for d in channel.decoders()],
        "tables": [t.to_json() for t in channel.tables()],
    }
    for key, value in expected.items():
        failure = f"the field '{key}' of release.json is not the channel's"
        log.check(f"{key} of the channel", document[key] == value, "RR118", failure)
    named = sorted(str(a["release_as"]) for a in document["attributes"])
    columns = sorted({c.attribute for t in channel.tables() for c in t.columns if c.attribute})
    agree = columns == sorted(str(a["name"]) for a in document["attributes"]) and len(set(named)) == len(named)
    log.check(
        "attributes of the channel", agree, "RR118", "the field 'attributes' of release.json is not the channel's"
    )


def _data_files(side: PublicSide) -> set[str]:
    form = side.document["data"]["format"]
    return {file_name(spec.name, form) for spec in side.channel.tables()}


def _regenerated(side: PublicSide) -> Mapping[str, bytes]:
    return beside(side.document, side.folder)


def _check_data(log: Log, side: PublicSide, scratch: Path) -> bool:
    """Check every data file; return whether all could be read."""
    data = side.document["data"]
    known = data["format"] in FORMATS and set(data["tables"]) == {t.name for t in side.channel.tables()}
    if not log.check(
        "data", known, "RR110", "the field 'data' of release.json names other tables or an unknown format"
    ):
        return False
    readable = True
    for spec in side.channel.tables():
        stated = data["tables"][spec.name]
        path = file_name(spec.name, data["format"])
        if not log.check(f"{path}: name", stated["path"] == path, "RR115", f"table {spec.name} must stand in {path}"):
            readable = False
            continue
        if not (side.folder / path).is_file():
            readable = False
            continue
        try:
            _check_table(log, side, scratch, spec.name)
        except UnlikeSpecError as error:
            readable = log.check(f"{path}: readable", False, "RR115", f"public/{path}: {error}")  # noqa: FBT003 it fails
    return readable


def _check_table(log: Log, side: PublicSide, scratch: Path, name: str) -> None:
    from rrpolicy.source.rowdigest import row_digest

    data = side.document["data"]
    stated, spec = data["tables"][name], next(t for t in side.channel.tables() if t.name == name)
    path = f"public/{stated['path']}"
    with open_table(side.folder / stated["path"], data["format"], spec, scratch) as table:
        rows = table.rows()
        right = rows == stated["rows"] and (name != "data" or rows == side.document["records"])
        log.check(
            f"{path}: rows", right, "RR115", f"{path} has another number of rows than the manifest says", str(rows)
        )
        outside = table.outside()
        failure = f"{path} holds values outside the domain in {', '.join(outside)}"
        log.check(f"{path}: domains", not outside, "RR116", failure)
        found = "sha256:" + row_digest(table.distinct()).hex()
        failure = f"{path}: its rows are not those whose digest the manifest states"
        log.check(f"{path}: digest of the rows", found == stated["digest"], "RR117", failure)


def _check_findings(log: Log, side: PublicSide, scratch: Path | None) -> None:
    """Recompute every finding that the channel, the number of records and the data files settle.

    Args:
        log: of the verification.
        side: public/.
        scratch: for reading the data files; None if they cannot be read.
    """
    document = side.document
    policy = public_policy(document, side.registry)
    with ExitStack() as stack:
        files = (side.folder, document["data"], side.channel.tables())
        written = None if scratch is None else stack.enter_context(open_written(*files, scratch))
        derived = [Derived(d["id"], d["meaning"]) for d in document["derived"]]
        tested, records = bool(document["units"]["tested"]), int(document["records"])
        findings = assess(policy, side.registry, side.channel, records, derived, written, tested=tested).findings
    _check_derived(log, side, {d.id for d in derived}, findings)
    agree = len(findings) == len(document["findings"]) == len(policy.requirements) > 0
    if not log.check("findings", agree, "RR119", "the manifest does not hold one finding for each requirement"):
        return
    for finding, stated in zip(findings, document["findings"], strict=True):
        check_finding(log, finding, stated, up_to=Basis.RELEASE, where="release.json")
        if finding.basis is Basis.ORIGINAL or finding.verdict is Verdict.UNDECIDED:
            log.undecided.append(f"{finding.model} {finding.requirement}")
        else:
            log.findings.append(finding)


def _check_derived(log: Log, side: PublicSide, ids: set[str], findings: Sequence[Finding]) -> None:
    """Check that the manifest names every statistic of the table that public/ itself shows to be one."""
    origins = side.document["origins"]
    observed = {f"domain:{a['name']}" for a in side.document["attributes"] if a["observed"]}
    retained = [axis.attribute for axis in getattr(side.channel, "axes", ()) if isinstance(axis, Retention)]
    chosen = {parameters_of(name).id for name in retained if origins.get(name) == Origin.DATA.value}
    told = observed | chosen | set(side.channel.discloses())
    told |= {RELEASED.id} if told or any(f.basis > Basis.CHANNEL for f in findings) else set()
    strange = {item for item in ids - told if item.startswith(("domain:", "parameters:", "marginal:"))}
    failure = f"the field 'derived' of release.json is wrong about {', '.join(sorted((told - ids) | strange))}"
    log.check("derived", told <= ids and not strange, "RR118", failure)


def check_finding(log: Log, finding: Finding, stated: Mapping[str, Any], *, up_to: Basis, where: str) -> None:
    """Compare a recomputed finding with what a record states of it; the policy's place may be unknown here."""
    name = f"{finding.model}: {finding.requirement}"
    settled = finding.verdict is not Verdict.UNDECIDED
    expected = finding.to_json(up_to)
    assert isinstance(expected, dict)
    keys = ["model", "requirement", "limit_exact", "basis"]
    if settled:
        keys = [key for key in expected if key != "place"]
    differ = [key for key in keys if not same(stated.get(key), expected[key])]
    failure = f"{name}: recomputed, {', '.join(differ)} differ from what {where} states"
    log.check(f"{name}, in {where}", not differ, "RR119", failure)
    held = stated.get("verdict") == Verdict.HOLDS.value
    log.check(f"{name} is stated to hold", held, "RR119", f"{name}: {where} does not state that it holds")


def public_policy(document: Mapping[str, Any], registry: Registry) -> Policy:
    """Return as much of the policy as release.json tells: enough to assess without data."""
    head = document["policy"]
    try:
        most = int(document["units"]["max_records"])
        requirements = tuple(requirement_from_json(r, registry.catalogue, most) for r in document["requirements"])
    except RefusedError:
        raise
    except RRPolicyError as error:
        raise ValueError("the field 'requirements' of release.json cannot be read") from error
    attributes = {a["name"]: _attribute(a) for a in document["attributes"]}
    return Policy(
        name=head["name"],
        version=head["version"],
        owner=head["owner"],
        purpose=head["purpose"],
        plugins=(),
        source=SourceSettings("", max_records=most),
        attributes=attributes,
        requirements=requirements,
        mechanism=MechanismChoice("", _NoOptions(), plan_on="" if document["plan_on"] else None),
        gates=(),
        release=ReleaseSettings(document["data"]["format"]),
    )


def _attribute(document: Mapping[str, Any]) -> Attribute:
    return Attribute(
        name=document["name"],
        role=Role(document["role"]),
        domain=None if document["domain"] is None else tuple(document["domain"]),
        observed=document["observed"],
        scale=document["scale"],
        hierarchy=None if document["hierarchy"] is None else tuple(tuple(level) for level in document["hierarchy"]),
        release_as=document["release_as"],
        assume_unlinkable=document["assume_unlinkable"],
        unchanged=document["unchanged"],
    )
