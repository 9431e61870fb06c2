"""Levels audit, source and key: what the audit folder, the table and the key let recompute beyond public/."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrpolicy.bounded import read_regular
from rrpolicy.canonical import Json
from rrpolicy.errors import Problem, RefusedError, RRPolicyError
from rrpolicy.finding import Basis, Verdict
from rrpolicy.policy.root import LARGEST
from rrpolicy.privacy.units import UNDECIDED
from rrpolicy.release import audit as auditing
from rrpolicy.release import manifest as manifests
from rrpolicy.release.assess import Assessment, assess
from rrpolicy.release.attained import attained
from rrpolicy.release.audit import writers
from rrpolicy.release.formats import file_name
from rrpolicy.release.keys import KeyFile, source_tag
from rrpolicy.release.plan import Plan, fingerprint
from rrpolicy.release.reading import open_table
from rrpolicy.release.records import check_files, check_record, differences, read_record, same
from rrpolicy.release.verification import Level, Log
from rrpolicy.release.verify_public import PublicSide, check_finding
from rrpolicy.release.write import draw_into, streams_of

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Original

KEYS = (
    *("schema", "release", "public", "plan_digest", "policy_digest", "source_tag", "software", "writers"),
    *("policy_files", "policy_commit", "policy_blob", "time", "files", "digest"),
)
PLANNED = (
    *("policy", "software", "records", "units", "mechanism", "plan_on", "attributes", "channel", "decoders"),
    "tables",
    *("requirements", "origins", "derived"),
)


@dataclass(frozen=True, slots=True)
class AuditSide:
    """What audit/ says, read."""

    folder: Path
    record: Mapping[str, Any]
    plan: Plan
    findings: Mapping[str, Any]


def verify_audit(log: Log, folder: Path, side: PublicSide, uri: str, start: str) -> AuditSide | None:
    """Check audit/ by itself and against public/; None if it is too broken for anything further.

    Args:
        log: takes the checks.
        folder: audit/.
        side: the public side.
        uri: of the table, for the level source; "" if it is not at hand.
        start: folder that a relative uri starts from.
    """
    log.level = Level.AUDIT
    record = read_record(folder / auditing.NAME)
    if not check_record(log, folder / auditing.NAME, record, auditing.SCHEMA, KEYS):
        return None
    check_files(log, folder, record, auditing.NAME, {*auditing.FILES, *map(str, record["policy_files"])})
    _check_modes(log, folder)
    _check_reference(log, record, side)
    plan_document, findings = read_record(folder / "plan.json"), read_record(folder / "findings.json")
    try:
        plan = Plan.from_json(plan_document, side.registry, uri=uri, folder=start)
    except RRPolicyError as error:
        log.check("plan.json", False, "RR122", f"audit/plan.json: {error.problems[0].message}")  # noqa: FBT003 it fails
        return None
    audit = AuditSide(folder, record, plan, findings)
    _check_plan(log, audit, side)
    _check_stated(log, audit, side)
    _check_as_written(log, audit)
    return audit


def _check_modes(log: Log, folder: Path) -> None:
    paths = [folder, *(p for p in folder.rglob("*") if not p.is_symlink())]
    wide = [p.relative_to(folder.parent).as_posix() for p in paths if stat.S_IMODE(p.stat().st_mode) & 0o077]
    failure = f"others than their owner may read {', '.join(wide)}; chmod -R go= {folder.name}"
    log.check("audit/ is private", not wide, "RR123", failure)


def _check_reference(log: Log, record: Mapping[str, Any], side: PublicSide) -> None:
    """Check that the audit record speaks of this public side."""
    public = {
        "digest": manifests.own_digest(side.document),
        "file": manifests.file_digest(side.folder / manifests.NAME),
    }
    failure = "public/release.json is not the one that audit/audit.json was written for"
    log.check("audit.json: its release.json", record["public"] == public, "RR121", failure)
    for key, value in (
        ("policy_digest", side.document["policy"]["digest"]),
        ("software", side.document["software"]),
        ("release", side.document["release"]),
    ):
        failure = f"the field '{key}' of audit.json is not that of release.json"
        log.check(f"audit.json: {key}", record[key] == value, "RR121", failure)


def _check_plan(log: Log, audit: AuditSide, side: PublicSide) -> None:
    """Check that the published description is what the plan gives."""
    plan, record = audit.plan, audit.record
    agree = plan.digest() == record["plan_digest"] and plan.source_tag == record["source_tag"]
    agree = agree and plan.policy_digest == record["policy_digest"]
    log.check("plan.json: digests", agree, "RR122", "audit/plan.json is not the plan that audit.json names")
    resolved = same(read_record(audit.folder / "policy.json"), plan.policy.to_json())
    log.check("policy.json", resolved, "RR122", "audit/policy.json is not the policy of the plan")
    tested = side.document["units"]["tested"] is True and plan.policy.unit is not None
    planned = manifests.manifest(plan, Assessment((), (), tested=tested), {}, label=None, test=False)
    differ = differences(side.document, planned, PLANNED)
    failure = f"release.json differs from the plan in {', '.join(differ)}"
    log.check("release.json: as planned", not differ, "RR122", failure)
    form = side.document["data"]["format"] == plan.policy.release.format
    log.check("format: as planned", form, "RR122", "the release has another format than the policy says")


def _check_stated(log: Log, audit: AuditSide, side: PublicSide) -> None:
    """Check that both sides state the same findings, and recompute what needs no data."""
    stated, public = audit.findings, side.document
    known = stated.get("schema") == auditing.FINDINGS and set(stated) == {"schema", "findings", "utility", "attained"}
    if not log.check("findings.json", known, "RR110", "audit/findings.json is of another schema"):
        return
    shown = [_public_view(f) for f in stated["findings"]]
    log.check(
        "findings on both sides", same(shown, public["findings"]), "RR122", "the findings of public/ and audit/ differ"
    )
    useful = [{**u, "value": None, "standing": None, "error": None} for u in stated["utility"]]
    log.check(
        "utility on both sides", same(useful, public["utility"]), "RR122", "the utility of public/ and audit/ differs"
    )
    plan, tested = audit.plan, bool(public["units"]["tested"])
    findings = assess(plan.policy, side.registry, plan.channel, plan.records, plan.derived, tested=tested).findings
    for finding, found in zip(findings, shown, strict=False):
        check_finding(log, finding, found, up_to=Basis.RELEASE, where="findings.json")
    log.check("findings: one each", len(findings) == len(shown), "RR122", "findings.json lacks or adds a requirement")


def _public_view(finding: Mapping[str, Any]) -> dict[str, Json]:
    """Return what public/ may show of an audit finding."""
    shown = {basis.name.lower() for basis in Basis if basis is not Basis.ORIGINAL}
    numbers = ("reached", "limit", "limit_exact")
    return {
        **finding,
        **({} if finding["basis"] in shown else dict.fromkeys(numbers)),
        "beside": [c for c in finding["beside"] if c["basis"] in shown],
        "profile": None,
        "groups_over": None,
        "people_over": None,
    }


def _check_as_written(log: Log, audit: AuditSide) -> None:
    """Check that policy.toml means the policy that was executed, where it can be read alone."""
    from rrpolicy.release.opening import open_policy

    if "policy.toml" not in audit.record["policy_files"]:
        log.undecided.append("the policy as written")
        return
    content = read_regular(audit.folder / "policy.toml", LARGEST)
    blob = auditing.policy_blob(audit.record["policy_commit"], content)
    log.check("policy_blob", blob == audit.record["policy_blob"], "RR122", "policy_blob is not git's id of policy.toml")
    try:
        policy = open_policy(audit.folder / "policy.toml", root=audit.folder).policy
    except RRPolicyError:
        log.undecided.append("the policy as written (it extends a file that is not here)")
        return
    failure = "audit/policy.toml does not mean the policy that the release was made under"
    log.check("policy.toml", policy.digest() == audit.plan.policy_digest, "RR122", failure)


def verify_source(log: Log, audit: AuditSide, side: PublicSide, original: Original, scratch: Path) -> None:
    """Recompute everything that the original lets recompute."""
    log.level = Level.SOURCE
    plan = audit.plan
    right = original.records == plan.records
    log.check("records of the source", right, "RR124", "the source has another number of records than the release")
    settled = same(plan.channel.settle(original).to_json(), plan.channel.to_json())
    log.check("sampler", settled, "RR124", "the source would be drawn from in another way than the plan says")
    assessment = assess(plan.policy, side.registry, plan.channel, original, plan.derived)
    for finding, stated in zip(assessment.findings, audit.findings["findings"], strict=False):
        check_finding(log, finding, stated, up_to=Basis.ORIGINAL, where="findings.json")
        holds = finding.verdict is Verdict.HOLDS
        log.check(f"{finding.model}: holds", holds, "RR124", f"{finding.model}: {finding.requirement} does not hold")
    utility = [u.to_json() for u in assessment.utility]
    failure = "the utility that was stated is not what the source gives"
    log.check("utility", same(audit.findings["utility"], utility), "RR124", failure)
    came_to = attained(plan.policy, side.registry, plan.channel, original, side.folder, scratch)
    failure = "what the draw came to, as it was stated, is not what the source and the release give"
    log.check("attained", same(audit.findings["attained"], [f.to_json() for f in came_to]), "RR132", failure)
    expected = manifests.manifest(plan, assessment, {}, label=None, test=False)
    differ = differences(side.document, expected, ("assumptions",))
    log.check(
        "assumptions", not differ, "RR124", "release.json does not state the assumptions that the findings rest on"
    )
    agree = assessment.tested == side.document["units"]["tested"]
    failure = "release.json does not say rightly whether the table was tested for how many records a unit has"
    log.check("records of a unit", agree, "RR129", failure, f"tested: {assessment.tested}")
    log.findings[:] = assessment.findings
    log.undecided[:] = [u for u in log.undecided if u.startswith("the policy")]
    if not assessment.tested:
        log.undecided.append(UNDECIDED)
    _check_conforms(log, audit, side, original, scratch)


def verify_elsewhere(
    log: Log, audit: AuditSide, side: PublicSide, original: Original, *, uri: str | None, scratch: Path
) -> None:
    """Check that a table is the one that the plan's parameters were chosen on; undecided where it is not at hand.

    Args:
        log: takes the check.
        audit: the audit side.
        side: the public side.
        original: the source; the other table is read under the same policy.
        uri: of the other table.
        scratch: for reading it.

    Raises:
        DataError: RR3xx if it cannot be read.
    """
    from rrpolicy.source.elsewhere import open_elsewhere

    if audit.plan.plan_on is None:
        return
    if uri is None:
        log.undecided.append("the table that the parameters were chosen on (--plan-on)")
        return
    policy = replace(original.policy, mechanism=replace(original.policy.mechanism, plan_on=uri))
    with open_elsewhere(policy, side.registry.sources, scratch / "plan-on") as elsewhere:
        known = elsewhere is not None and fingerprint(elsewhere) == audit.plan.plan_on
    log.check("plan_on", known, "RR135", "the parameters were chosen on another table than the one given")


def _check_conforms(log: Log, audit: AuditSide, side: PublicSide, original: Original, scratch: Path) -> None:
    """Test the released rows against what was promised of them."""
    from contextlib import ExitStack

    form = audit.plan.policy.release.format
    with ExitStack() as stack:
        released: dict[str, pa.RecordBatchReader] = {}
        for spec in audit.plan.channel.tables():
            path = side.folder / file_name(spec.name, form)
            released[spec.name] = stack.enter_context(open_table(path, form, spec, scratch)).distinct()
        finding = audit.plan.channel.conforms(original, released)
    log.findings.append(finding)
    if finding.verdict is Verdict.UNDECIDED:
        log.undecided.append("conforms")
        return
    reached = "" if finding.reached is None else f" (chance of a false alarm at most {finding.reached.value:.2g})"
    failure = f"what was released does not look like a draw from the channel{reached}"
    log.check("conforms to the channel", finding.verdict is Verdict.HOLDS, "RR125", failure)


def verify_key(
    log: Log, audit: AuditSide, side: PublicSide, original: Original, key: KeyFile, *, scratch: Path
) -> None:
    """Check the source's tag under the key and draw again.

    Raises:
        RefusedError: RR403 if the key was made for another plan, and nothing else is wrong with the bundle.
    """
    log.level = Level.KEY
    plan, record = audit.plan, audit.record
    if key.plan_digest != plan.digest() and not log.problems:
        raise RefusedError(Problem("RR403", "the key was made for another plan than this bundle's"))
    tag = source_tag(key.key, original.content())
    failure = "the source's values are not those that were released from, or the key is not this release's"
    if not log.check("source tag", tag == record["source_tag"], "RR126", failure):
        return
    again = scratch / "again"
    again.mkdir()
    written = draw_into(plan, original, streams_of(plan, key.key), again, scratch)
    form = plan.policy.release.format
    exact = form != "duckdb" and record["writers"] == writers()
    log.reproduced = "byte for byte" if exact else "row for row"
    for name, table in written.items():
        stated = side.document["data"]["tables"][name]
        agree = table.digest == stated["digest"]
        if exact:
            agree = agree and manifests.file_digest(again / table.path) == manifests.file_digest(
                side.folder / table.path
            )
        failure = f"drawn again from the source and the key, {table.path} is another one"
        log.check(f"{table.path}: drawn again, {log.reproduced}", agree, "RR127", failure)
