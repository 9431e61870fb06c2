"""Level public: everything that public/ alone lets anyone recompute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rrpolicy.canonical import Json, digest
from rrpolicy.channel.axes.retention import Retention
from rrpolicy.channel.base import Channel
from rrpolicy.channel.reading import channel_from_json
from rrpolicy.discovery import load_allowed
from rrpolicy.errors import DataError, RefusedError, RRPolicyError
from rrpolicy.finding import Basis, Derived, Finding, Verdict
from rrpolicy.mechanism import Origin, parameters_of
from rrpolicy.policy.model import Attribute, MechanismChoice, Policy, ReleaseSettings, Role, SourceSettings
from rrpolicy.policy.stored import requirement_from_json
from rrpolicy.registry import GROUP, Registry
from rrpolicy.releasing.bundle import manifest as manifests
from rrpolicy.releasing.bundle.execute import beside
from rrpolicy.releasing.plan.assess import assess
from rrpolicy.releasing.plan.derived import RELEASED
from rrpolicy.releasing.plan.plan import software
from rrpolicy.releasing.tables.formats import FORMATS, file_name
from rrpolicy.releasing.tables.read import UnlikeSpecError, open_table
from rrpolicy.releasing.tables.written import open_written
from rrpolicy.releasing.verify.outcome import Log
from rrpolicy.releasing.verify.records import alike, check_files, read_sealed, same

PAGE = "report.html"
FILE = "public/release.json"
CLAIMS = (
    ("the release's label", "release"),
    ("what the policy is called and whose it is, and its digest", "policy"),
    ("versions of the software", "software"),
    ("the mechanism's name", "mechanism"),
    ("roles, scales, hierarchies and reasons of the attributes", "attributes"),
    ("what the policy requires", "requirements"),
    ("what the policy asks of the data's use, and whether it is met", "utility"),
    ("where parameters come from", "origins"),
    ("which statistics of the original the release tells", "derived"),
    ("the table that parameters were chosen on", "plan_on"),
    ("how many records a unit has", "units"),
    ("where the policy asks for it", "findings.place"),
    ("how text that begins as a formula does stands in CSV", "data.csv_formulas"),
)
"""What public/ alone cannot confirm: meaning, then the field of release.json."""


ONE_A_RECORD = frozenset({"data", "qit"})
"""Tables that have one row a record."""


class _NoOptions(BaseModel):
    """Of a mechanism that is not needed any more."""


@dataclass(frozen=True, slots=True)
class PublicSide:
    """What public/ says, read.

    Attributes:
        folder: public/.
        document: release.json.
        registry: of the plugins that the manifest names and the caller allows.
        channel: as published.
        by: the software that wrote it, in words; "" if it is the one that is running.
        readable: its data files are there and are the tables that it describes.
    """

    folder: Path
    document: Mapping[str, Any]
    registry: Registry
    channel: Channel
    by: str
    readable: bool = False


def verify_public(log: Log, public: Path, scratch: Path, plugins: Sequence[str] = ()) -> PublicSide | None:
    """Check public/ by itself; None if it is too broken for anything further.

    Args:
        log: takes the checks.
        public: the folder.
        scratch: for reading the data files.
        plugins: distributions that the caller allows.

    Raises:
        RefusedError: RR404 if a plugin that the release needs is missing, RR412 if it is not allowed.
        ValueError: if a document says nothing that can be checked; the caller reports it.
    """
    document = read_sealed(log, public / manifests.NAME, manifests.SCHEMA)
    if document is None:
        return None
    log.check("a real draw", "test" not in document, "RR128", "the release was drawn from a test's seed; never use it")
    side = _side(log, public, document, plugins)
    if side is None:
        return None
    for meaning, name in CLAIMS:
        log.claim(FILE, meaning, name)
    if not _check_description(log, side):
        return None
    data = _data_files(side)
    present = all((public / path).is_file() for path in data)
    regenerated = beside(side.document, side.folder) if present else {}
    check_files(log, public, document, manifests.NAME, {*data, PAGE, *regenerated})
    for path, content in regenerated.items():
        failure = f"public/{path} is not what the manifest and the data give"
        agrees = document["files"].get(path) == digest(content)
        log.again(f"public/{path}: written again", agrees, "RR120", failure, side.by)
    side = replace(side, readable=_check_data(log, side, scratch))
    _check_findings(log, side, scratch if side.readable else None)
    if side.readable:
        check_public_page(log, side)
    return side


def _side(log: Log, public: Path, document: Mapping[str, Any], plugins: Sequence[str]) -> PublicSide | None:
    listed = [str(p["distribution"]) for p in document["software"]["plugins"]]
    registry = load_allowed(sorted({name for name in listed if name != GROUP}), plugins, manifests.NAME)
    by = "" if alike(document["software"], software(registry)) else written_by(document["software"])
    try:
        return PublicSide(public, document, registry, channel_from_json(document["channel"], registry.kinds), by)
    except DataError as error:
        log.check("channel", False, "RR118", f"the field 'channel' of release.json: {error.problems[0].message}")  # noqa: FBT003
        return None


def written_by(document: Mapping[str, Any]) -> str:
    """Return in words which software wrote a bundle: rrpolicy and the other distributions, with their versions."""
    others = {p["distribution"]: p["version"] for p in document["plugins"] if p["distribution"] != GROUP}
    return ", ".join(f"{name} {version}" for name, version in {GROUP: document["rrpolicy"], **others}.items())


def _check_description(log: Log, side: PublicSide) -> bool:
    """Check that what the manifest repeats is what it repeats: of the channel, the findings, and the policy.

    Returns:
        Whether it is; everything further is made from that description.
    """
    before = len(log.problems)
    channel, document = side.channel, side.document
    data = document["data"]
    policy = public_policy(document, side.registry)
    expected: dict[str, Json] = {
        "channel": channel.to_public_json(),
        "decoders": [d.to_json() for d in channel.decoders()],
        "tables": [t.to_json() for t in channel.tables()],
        "requirements": [r.to_json() for r in policy.requirements],
        "assumptions": list(dict.fromkeys(a for f in document["findings"] for a in f["assumptions"])),
    }
    for key, value in expected.items():
        failure = f"the field '{key}' of release.json is not what the rest of it gives"
        log.check(f"{key}: written again", alike(document[key], value), "RR118", failure)
    released = {(c.attribute, c.name) for t in channel.tables() for c in t.columns if c.attribute}
    stated = [(str(a["name"]), str(a["release_as"])) for a in document["attributes"]]
    agree = set(stated) == released and len({name for _, name in stated}) == len(stated)
    failure = "the field 'attributes' of release.json is not the channel's"
    log.check("attributes of the channel", agree, "RR118", failure)
    rows = {table["rows"] for name, table in data["tables"].items() if name in ONE_A_RECORD}
    agree = rows == {document["records"]}
    log.check("records", agree, "RR115", "the field 'records' of release.json is not the number of rows that it states")
    return len(log.problems) == before


def _data_files(side: PublicSide) -> set[str]:
    form = side.document["data"]["format"]
    return {file_name(spec.name, form) for spec in side.channel.tables()}


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
    with open_table(side.folder / stated["path"], data["format"], spec, scratch, data["csv_formulas"]) as table:
        rows = table.rows()
        right = rows == stated["rows"]
        log.check(
            f"{path}: rows", right, "RR115", f"{path} has another number of rows than the manifest says", str(rows)
        )
        bare = table.bare()
        failure = f"{path} holds text that a spreadsheet would run as a formula, not escaped, in {', '.join(bare)}"
        log.check(f"{path}: formulas", not bare, "RR115", failure)
        outside = table.outside()
        failure = f"{path} holds values outside the domain in {', '.join(outside)}"
        log.check(f"{path}: domains", not outside, "RR116", failure)
        found = "sha256:" + row_digest(table.distinct()).hex()
        failure = f"{path}: its rows are not those whose digest the manifest states"
        log.check(f"{path}: digest of the rows", found == stated["digest"], "RR117", failure)
    log.claim(path, "how its rows are written into bytes", "bytes")


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
        check_finding(log, finding, stated, up_to=Basis.RELEASE, where="release.json", by=side.by)
        if finding.basis is Basis.ORIGINAL or finding.verdict is Verdict.UNDECIDED:
            log.undecided.append(f"{finding.model} {finding.requirement}")
            log.claim(FILE, "findings that rest on the original", "findings")
        else:
            log.findings.append(finding)


def _check_derived(log: Log, side: PublicSide, ids: set[str], findings: Sequence[Finding]) -> None:
    """Check that the manifest names every statistic of the table that public/ itself shows to be one."""
    origins = side.document["origins"]
    observed = {f"domain:{a['name']}" for a in side.document["attributes"] if a["observed"]}
    retained = {axis.attribute for axis in getattr(side.channel, "axes", ()) if isinstance(axis, Retention)}
    chosen = {parameters_of(name).id: name for name, origin in origins.items() if origin == Origin.DATA.value}
    told = observed | {item for item, name in chosen.items() if name in retained} | set(side.channel.discloses())
    told |= {RELEASED.id} if told or any(f.basis > Basis.CHANNEL for f in findings) else set()
    strange = {i for i in ids - told - set(chosen) if i.startswith(("domain:", "parameters:", "marginal:"))}
    failure = f"the field 'derived' of release.json is wrong about {', '.join(sorted((told - ids) | strange))}"
    log.check("derived", told <= ids and not strange, "RR118", failure)


def check_finding(log: Log, finding: Finding, stated: Mapping[str, Any], *, up_to: Basis, where: str, by: str) -> None:
    """Compare a recomputed finding with what a record states of it.

    Args:
        log: takes the checks.
        finding: recomputed; its place may be unknown here, and is looked at elsewhere.
        stated: what the record says.
        up_to: the basis of the numbers that the record may show.
        where: the record.
        by: the versions that wrote it, whose words may be others; "" if they are these.
    """
    name = f"{finding.model}: {finding.requirement}"
    settled = finding.verdict is not Verdict.UNDECIDED
    expected = finding.to_json(up_to)
    assert isinstance(expected, dict)
    decisive = ["model", "limit_exact", "basis", *(["reached", "limit", "verdict"] if settled else [])]
    wording = [key for key in expected if key not in {*decisive, "place"}] if settled else ["requirement"]
    differ = [key for key in decisive if not same(stated.get(key), expected[key])]
    failure = f"{name}: recomputed, {', '.join(differ)} differ from what {where} states"
    log.check(f"{name}, in {where}", not differ, "RR119", failure)
    differ = [key for key in wording if not same(stated.get(key), expected[key])]
    failure = f"{name}: written again, {', '.join(differ)} differ from what {where} states"
    log.again(f"{name}, what {where} says of it", not differ, "RR119", failure, by)
    held = stated.get("verdict") == Verdict.HOLDS.value
    log.check(f"{name} is stated to hold", held, "RR119", f"{name}: {where} does not state that it holds")


def check_public_page(log: Log, side: PublicSide) -> None:
    """Render public/report.html again from public/ and compare it byte for byte."""
    from rrpolicy.releasing.bundle.pages import public_page

    name = f"public/{PAGE}"
    pages = public_page(side.folder, side.registry, side.channel)
    if PAGE not in pages:
        log.undecided.append(f"{name}: no renderer for it is loaded")
        return
    agrees = side.document["files"].get(PAGE) == digest(pages[PAGE])
    failure = f"{name} is not the page that the rest of public/ gives"
    log.again(f"{name}: rendered again", agrees, "RR120", failure, side.by)


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
        release=ReleaseSettings(document["data"]["format"], csv_formulas=document["data"]["csv_formulas"]),
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
