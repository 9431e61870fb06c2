"""Levels audit, source and key: checks beyond public/ with the audit folder, the table and the key."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.attacks.result import AttackReport
from rrpolicy.bundle import audit as auditing
from rrpolicy.bundle import manifest as manifests
from rrpolicy.bundle.audit import read_assessment, realised_findings
from rrpolicy.canonical_json import file_digest, pretty, record_digest
from rrpolicy.channels.self_check import finalised_channel
from rrpolicy.collection.questionnaire import QUESTIONNAIRE_FILE as QUESTIONNAIRE
from rrpolicy.collection.questionnaire import Questionnaire, collection_problems
from rrpolicy.errors import MissingNameError, Place, RRPolicyError
from rrpolicy.finding import Basis, Finding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import MANIFEST_FILE
from rrpolicy.planning.assess import Assessment, assess
from rrpolicy.planning.plan import Plan, PlanDocument, fingerprint, reference_fingerprint
from rrpolicy.planning.series import frozen_digests
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.units import MAX_RECORDS_NAME, UNDECIDED, UNIT_WAYS
from rrpolicy.reports.alternatives import AlternativesRecord
from rrpolicy.safe_io.document import read_document, read_regular
from rrpolicy.serialization import plain, read
from rrpolicy.source.units import unit_of_people
from rrpolicy.verification.outcome import Log, VerificationLevel
from rrpolicy.verification.public import RELEASE_PATH as RELEASE
from rrpolicy.verification.public import PublicFolder, check_finding, verify_public
from rrpolicy.verification.records import (
    check_files,
    check_policy_declarations,
    check_waivers_at_release,
    documents_equivalent,
    documents_identical,
    log_unreadable,
    manifest_differences,
    read_checked_record,
    read_sealed_record,
)
from rrpolicy.wording import NOT_MET

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original, Source

PLANNED = (
    *("policy", "software", "records", "units", "mechanism", "plan_on", "attributes", "weights_inside"),
    *("channel", "decoders"),
    "tables",
    *("requirements", "origins", "derived", "require_signatures", "require_roles", "require_approval"),
)


RECORD_PATH, PLAN_PATH, FINDINGS = "audit/audit.json", "audit/plan.json", "audit/findings.json"
CLAIMS = (
    (RECORD_PATH, "the release's label", "release"),
    (RECORD_PATH, "when it was released", "time"),
    (RECORD_PATH, "how the table was given", "source_given_as"),
    (RECORD_PATH, "what became of the key", "key"),
    (RECORD_PATH, "the commit of the policy", "policy_commit", "policy_blob"),
    (RECORD_PATH, "versions of what wrote the files", "writers"),
    (RECORD_PATH, "versions of the software", "software"),
    (RECORD_PATH, "the keyed hash of the source", "source_tag"),
    (PLAN_PATH, "the keyed hash of the source", "source_tag"),
    (PLAN_PATH, "the policy, the software and the channel of the plan", "policy", "software", "channel", "digest"),
    (RECORD_PATH, "digests of the policy and of the plan", "policy_digest", "plan_digest"),
    (PLAN_PATH, "how the mechanism chose", "origins", "unrounded", "remarks", "derived"),
    ("audit/policy.json", "the policy", ""),
    (FINDINGS, "findings that rest on the original", "findings"),
    (FINDINGS, "what is left of the data's use", "utility"),
    (FINDINGS, "what the draw came to", "attained"),
    (FINDINGS, "how strong the release is", "protection"),
    (FINDINGS, "whether it was tested how many records a person has", "tested"),
    (PLAN_PATH, "the table that parameters were chosen on", "plan_on"),
    (FINDINGS, "where the policy requires it", "findings.place"),
)
"""Claims of audit/ that need the source, the key or the policy as written: file, meaning, fields."""
CHOICE_FIELDS = ("origins", "unrounded", "remarks", "derived")
NOT_HERE = frozenset({"RR215", "RR240", "RR289"})
"""Codes of a policy that reads a missing file."""


class AuditFolder(Struct, frozen=True):
    """The contents of audit/.

    Attributes:
        policy: the policy as its file states it; None if the file cannot be read here.
        attacked: the adversarial test; None if none was written.
        compared: the alternatives of the release; None if none were written.
    """

    folder: Path
    record: Mapping[str, Any]
    plan: Plan
    stated: Assessment
    policy: Policy | None
    attacked: AttackReport | None = None
    compared: AlternativesRecord | None = None

    @property
    def places(self) -> Sequence[Place | None]:
        """Return the place of each finding's requirement in the policy."""
        policy = self.policy or self.plan.policy
        return [requirement.place for requirement in policy.requirements]


def verify_records(
    bundle: Path, scratch: Path, plugins: Sequence[str], engines: Mapping[str, Source], *, uri: str
) -> tuple[PublicFolder, AuditFolder]:
    """Check public/ and audit/ of a bundle by themselves, and return them if they are consistent.

    `uri` is "" if the table is not available.

    Raises:
        RequirementError: RR110 to RR137 if they are not.
        RefusedError: as `verify_public` and `verify_audit`.
    """
    log, side, audit = Log(), None, None
    with log_unreadable(log):
        side = verify_public(log, bundle / "public", scratch, plugins)
        if side is not None:
            side = replace(side, registry=side.registry.opening(engines))
            audit = verify_audit(log, bundle / "audit", side, uri)
    log.done(VerificationLevel.AUDIT).require()
    assert side is not None
    assert audit is not None
    return side, audit


def verify_audit(log: Log, folder: Path, side: PublicFolder, uri: str) -> AuditFolder | None:
    """Check audit/ by itself and against public/; None if it is too broken for anything further.

    `uri` is "" if the table is not available.

    Raises:
        RefusedError: RR412 if the plan needs a plugin that the caller does not list.
    """
    log.level = VerificationLevel.AUDIT
    record = read_sealed_record(log, folder / auditing.AUDIT_FILE, auditing.AuditRecord)
    if record is None:
        return None
    for file, meaning, *fields in CLAIMS:
        log.claim(file, meaning, *fields)
    if "together" in record:
        log.claim(RECORD_PATH, "the combined privacy loss with earlier releases (`rrpolicy ledger show`)", "together")
    listed, further = record["policy_files"], {auditing.ATTACK_FILE, auditing.COMPARISON_FILE} & record["files"].keys()
    check_files(log, folder, record["files"], auditing.AUDIT_FILE, {*auditing.FILES, *listed, *further})
    failure = "the field 'policy_files' of audit.json lists a file twice, or not in order"
    log.check("audit.json: policy_files", listed == sorted(set(listed)), "RR113", failure)
    _check_modes(log, folder)
    _check_reference(log, record, side)
    check_waivers_at_release(log, side.manifest, record)
    plan = _read_plan(log, folder, side, uri)
    stated = _read_findings(log, folder)
    attacked = _read_attack_record(log, folder, side) if auditing.ATTACK_FILE in further else None
    compared = _read_comparison(log, folder, side) if auditing.COMPARISON_FILE in further else None
    if plan is None or stated is None or len(further) > (attacked is not None) + (compared is not None):
        return None
    stated = replace(stated, of_rows=plan.policy.of_rows)
    audit = AuditFolder(
        folder, record, plan, stated, _policy_as_written(log, folder, record, plan, side), attacked, compared
    )
    if plan.reference is not None:
        log.claim(PLAN_PATH, "the population that people were counted in", "reference")
    if audit.policy is not None:
        _check_places(log, audit.policy, stated, side)
    _check_plan(log, audit, side)
    _check_findings_agree(log, audit, side)
    return audit


def _read_plan(log: Log, folder: Path, side: PublicFolder, uri: str) -> Plan | None:
    """Read plan.json and check that it contains only the fields of a plan."""
    document = read_checked_record(log, folder / "plan.json", PlanDocument)
    if document is None:
        return None
    try:
        plan = Plan.from_json(document, side.registry, uri=uri, folder=".")
    except RRPolicyError as error:
        if isinstance(error, MissingNameError):
            side.registry.refuse_absent(error.what, error.name)
        log.check("plan.json", False, "RR122", f"audit/plan.json: {error.problems[0].message}")  # noqa: FBT003 it fails
        return None
    failure = "audit/plan.json contains entries that do not belong to a plan"
    log.again("plan.json: written again", documents_identical(document, plan.to_json()), "RR122", failure)
    return plan


def _read_findings(log: Log, folder: Path) -> Assessment | None:
    """Read findings.json and check that it contains only the fields that are read."""
    document = read_checked_record(log, folder / "findings.json", auditing.FindingsDocument)
    if document is None:
        return None
    stated = read_assessment(document)
    agree = documents_identical(document, auditing.findings_document(stated))
    log.check("findings.json: is consistent", agree, "RR122", "audit/findings.json contradicts itself")
    return stated


def _read_attack_record(log: Log, folder: Path, side: PublicFolder) -> AttackReport | None:
    """Read attack.json, check that it is about this release, and that its attacks agree with predictions."""
    name = auditing.ATTACK_FILE
    document = read_checked_record(log, folder / name, AttackReport)
    if document is None:
        return None
    attacked = read(AttackReport, document)
    agree = documents_identical(document, attacked.to_json())
    log.check(f"{name}: is consistent", agree, "RR122", f"audit/{name} contradicts itself")
    right = (attacked.releases[:1], attacked.records) == ((side.manifest.digest,), side.manifest.records)
    right = right and (len(attacked.releases) > 1 or not attacked.together)
    log.check(f"{name}: its release", right, "RR121", f"audit/{name} is the test of another release")
    told = "; ".join(problem.message for problem in attacked.problems)
    log.check(f"{name}: as predicted", attacked.passed, "RR554", f"the adversarial test of this release: {told}")
    log.claim(f"audit/{name}", "results of attacks", "attacks")
    if len(attacked.releases) > 1:
        log.claim(f"audit/{name}", "results of attacks on several releases, and their list", "together", "releases")
    log.claim(f"audit/{name}", "the table that was attacked with", "source")
    log.claim(f"audit/{name}", "versions of the software", "rrpolicy")
    return attacked


def _read_comparison(log: Log, folder: Path, side: PublicFolder) -> AlternativesRecord | None:
    """Read comparison.json and check that it is about this release; its numbers are stated."""
    name = auditing.COMPARISON_FILE
    document = read_checked_record(log, folder / name, AlternativesRecord)
    if document is None:
        return None
    compared = read(AlternativesRecord, document)
    agree = documents_identical(document, plain(compared))
    log.check(f"{name}: is consistent", agree, "RR122", f"audit/{name} contradicts itself")
    own = sum(one.released for one in compared.candidates)
    right = compared.release == side.manifest.digest and own == 1
    log.check(f"{name}: its release", right, "RR121", f"audit/{name} compares another release")
    log.claim(f"audit/{name}", "what the release was compared with", "candidates", "reason")
    log.claim(f"audit/{name}", "versions of the software", "rrpolicy")
    return compared


def _check_modes(log: Log, folder: Path) -> None:
    paths = [folder, *(p for p in folder.rglob("*") if not p.is_symlink())]
    wide = [p.relative_to(folder.parent).as_posix() for p in paths if stat.S_IMODE(p.stat().st_mode) & 0o077]
    failure = f"others than their owner may read {', '.join(wide)}; chmod -R go= {folder.name}"
    log.check("audit/ is private", not wide, "RR123", failure)


def _check_reference(log: Log, record: Mapping[str, Any], side: PublicFolder) -> None:
    """Check that the audit record is about this public side."""
    public = {"digest": record_digest(side.manifest.to_json()), "file": file_digest(side.folder / MANIFEST_FILE)}
    failure = "public/release.json is not the one that audit/audit.json was written for"
    log.check("audit.json: its release.json", record["public"] == public, "RR121", failure)
    for key, value in (
        *([] if side.manifest.withholds else [("policy_digest", side.manifest.policy.digest)]),
        ("software", plain(side.manifest.software)),
        ("release", side.manifest.release),
        *([("ledger", plain(side.manifest.ledger))] if side.manifest.ledger or "ledger" in record else []),
    ):
        failure = f"the field '{key}' of audit.json is not that of release.json"
        log.check(f"audit.json: {key}", record.get(key) == value, "RR121", failure)


def _canonical_mechanism_name(log: Log, plan: Plan, side: PublicFolder) -> str:
    """Return the mechanism's name for release.json: the one stated there, if it is one of the mechanism's names."""
    stated, name, known = side.manifest.mechanism, plan.policy.mechanism.name, side.registry.mechanisms
    if stated != name and name not in known:
        log.undecided.append(f"the mechanism's name ({name} is not loaded)")
        return stated
    return stated if known.aliases.get(stated, stated) == name else name


def _check_plan(log: Log, audit: AuditFolder, side: PublicFolder) -> None:
    """Check that the published description follows from the plan."""
    plan, record = audit.plan, audit.record
    agree = plan.digest() == record["plan_digest"] and plan.source_tag == record["source_tag"]
    agree = agree and plan.policy_digest == record["policy_digest"]
    log.check("plan.json: digests", agree, "RR122", "audit/plan.json is not the plan that audit.json lists")
    policy = read_document(audit.folder / "policy.json")
    spelled = read_regular(audit.folder / "policy.json") == pretty(policy)
    resolved = spelled and documents_identical(policy, plan.policy.to_json())
    log.again("policy.json", resolved, "RR122", "audit/policy.json is not the policy of the plan")
    planned = manifests.build_manifest(plan, Assessment((), ()), {}, test=False)
    differ = manifest_differences(
        side.manifest, replace(planned, mechanism=_canonical_mechanism_name(log, plan, side)), PLANNED
    )
    failure = f"release.json differs from the plan in {', '.join(differ)}"
    log.check("release.json: as planned", not differ, "RR122", failure)
    _check_collection_plan(log, plan, side)
    series, name = side.manifest.series, plan.policy.release.series
    frozen = None if series is None else (series.name, series.mechanism, series.categories)
    failure = "release.json states another series than the plan"
    agrees = frozen == (None if name is None else (name, *frozen_digests(plan.policy)))
    log.check("release.json: the series of the plan", agrees, "RR122", failure)
    data, settings = side.manifest.data, plan.policy.release
    stated = data.format, data.csv_formulas, data.rows_per_file
    form = stated == (settings.format, settings.csv_formulas, settings.rows_per_file)
    log.check("format: as planned", form, "RR122", "the release has another format than the policy declares")


def _check_collection_plan(log: Log, plan: Plan, side: PublicFolder) -> None:
    """Check that the plan was made without data exactly if the release was collected, with its questionnaire."""
    named = None
    if plan.source_tag is None and not tuple(collection_problems(plan.policy, plan.channel, plan.derived)):
        named = Questionnaire.of(plan.policy, plan.policy_digest, plan.channel, plan.software).digest
    failure = "release.json does not contain the questionnaire of its records"
    agrees = named == side.manifest.collected and (plan.source_tag is None) == (side.manifest.collected is not None)
    log.check("release.json: collected", agrees, "RR525", failure)
    if side.manifest.collected is not None:
        log.confirm(f"public/{QUESTIONNAIRE}", "questions")


def _check_findings_agree(log: Log, audit: AuditFolder, side: PublicFolder) -> None:
    """Check that both sides state the same findings, and recompute those that need no data."""
    stated, public = audit.stated, side.manifest
    settings = audit.plan.policy.release
    shown = [finding.up_to(Basis.RELEASE) for finding in stated.findings]
    agree = documents_equivalent(
        plain([manifests.public_finding(f, settings) for f in stated.findings]), plain(public.findings)
    )
    log.check("findings on both sides", agree, "RR122", "the findings of public/ and audit/ differ")
    agree = documents_equivalent(plain(manifests.public_utility(stated.utility, settings)), plain(public.utility))
    log.check("utility on both sides", agree, "RR122", "the utility of public/ and audit/ differs")
    plan = audit.plan
    possible = not stated.tested or plan.policy.unit is not None
    failure = "findings.json states that the number of records per person was tested, and no column identifies people"
    log.check("records of a unit", possible, "RR129", failure)
    selects = plan.policy.selection is not None
    if selects or stated.selected_from is not None:
        log.claim(FINDINGS, "the number of records from which one of each unit was selected", "selected_from")
        possible = selects and (stated.selected_from or 0) >= plan.records
        failure = "findings.json states another number of records than one of each unit can be selected from"
        log.check("records selected from", possible, "RR129", failure)
    findings = assess(plan.policy, side.registry, plan.channel, plan.records, plan.derived).findings
    one_each = len(findings) == len(shown)
    if not log.check("findings: one each", one_each, "RR122", "findings.json lacks or adds a requirement"):
        return
    for finding, found in zip(findings, shown, strict=True):
        check_finding(log, finding.up_to(Basis.RELEASE), found, where="findings.json")
    if public.withholds:
        _note_withheld_verdicts(log, findings, public.findings)


def _note_withheld_verdicts(log: Log, findings: Sequence[Finding], told: Sequence[Finding]) -> None:
    """Note the verdicts in audit/ of findings whose numbers public/ withholds."""
    told_so = {f"{finding.model} {finding.requirement}" for finding in told}
    log.undecided[:] = [text for text in log.undecided if text not in told_so]
    log.confirm(RELEASE, "decoders")
    open_ = [f for f in findings if f.basis is Basis.ORIGINAL or f.verdict is Verdict.UNDECIDED]
    log.undecided += [f"{finding.model} {finding.requirement}" for finding in open_]
    log.findings += [finding for finding in findings if finding not in open_]
    if not open_:
        log.confirm(RELEASE, "findings")


def _policy_as_written(
    log: Log, folder: Path, record: Mapping[str, Any], plan: Plan, side: PublicFolder
) -> Policy | None:
    """Check that policy.toml resolves to the executed policy, and return it, if it can be read by itself."""
    from rrpolicy.planning.policy_opening import OpeningRecord, open_policy

    toml, listed = folder / auditing.POLICY_FILE_NAME, set(record["policy_files"])
    if not listed:
        log.undecided.append("the policy as written")
        return None
    blob = auditing.policy_git_id(record["policy_commit"], read_regular(toml))
    log.check("policy_blob", blob == record["policy_blob"], "RR122", "policy_blob is not git's id of policy.toml")
    log.claim(f"audit/{auditing.POLICY_FILE_NAME}", "comments and spelling of the policy", "comments")
    for name in sorted(listed - {auditing.POLICY_FILE_NAME}):
        log.claim(f"audit/{name}", "comments and spelling of what the policy reads", "comments")
    try:
        before = OpeningRecord(plan.software, plan.policy.mechanism)
        policy = open_policy(toml, root=folder, before=before, find=lambda *_: side.registry).policy
    except RRPolicyError as error:
        if {p.code for p in error.problems} & NOT_HERE:
            log.undecided.append("the policy as written (it extends a file that is not here)")
        else:
            failure = f"audit/{auditing.POLICY_FILE_NAME} cannot be read as a policy: {error.problems[0].message}"
            log.again("policy.toml", False, "RR122", failure)  # noqa: FBT003 it fails
        return None
    failure = "audit/policy.toml does not mean the policy that the release was made under"
    log.again("policy.toml", policy.digest() == plan.policy_digest, "RR122", failure)
    check_policy_declarations(log, side.manifest, policy, RELEASE)
    if policy.mechanism.name not in side.registry.mechanisms:
        log.undecided.append(f"the options of the mechanism as written ({policy.mechanism.name} is not loaded)")
    needed = set(auditing.policy_file_paths(toml, policy.files))
    failure = "audit/ contains other files of the policy than the policy reads"
    log.check("files of the policy", listed == needed, "RR113", failure)
    return policy


def _check_places(log: Log, policy: Policy, stated: Assessment, side: PublicFolder) -> None:
    """Check that the findings name the lines of their requirements in the policy."""
    asked = [plain(r.place) for r in policy.requirements]
    for file, findings in ((RELEASE, side.manifest.findings), (FINDINGS, stated.findings)):
        places = [plain(finding.place) for finding in findings]
        failure = f"{file} lists other lines of the policy than those of its findings"
        log.again(f"{file}: places", documents_identical(places, asked), "RR122", failure)
        log.confirm(file, "findings.place")
    asked_at = dict(zip(entry_identities(policy).requirements, (r.place for r in policy.requirements), strict=True))
    log.findings[:] = [replace(found, place=asked_at.get(found.identity)) for found in log.findings]


def verify_source(log: Log, audit: AuditFolder, side: PublicFolder, original: Original, scratch: Path) -> Assessment:
    """Recompute with the original, if it may be the released table; return the assessment."""
    plan = audit.plan
    as_drawn = documents_equivalent(finalised_channel(plan.channel, original).to_json(), plan.channel.to_json())
    log.check("sampler", as_drawn, "RR124", "the source would be sampled otherwise than the plan states")
    assessment = assess(plan.policy, side.registry, plan.channel, original, plan.derived).placed(audit.places)
    uncounted = plan.reference is not None and original.reference is None  # requirements on people stay undecided
    if assessment.tested != audit.stated.tested:  # counts may lack the column that identifies people
        uncounted |= not assessment.tested
        pairs = zip(assessment.findings, audit.stated.findings, strict=False)
        assessment = replace(assessment, findings=tuple(_with_stated_unit_count(*pair) for pair in pairs))
    for finding, stated in zip(assessment.findings, audit.stated.findings, strict=False):
        check_finding(log, finding, stated, where="findings.json")
        if uncounted and finding.verdict is Verdict.UNDECIDED:
            continue
        holds = finding.verdict is Verdict.SATISFIED
        log.check(f"{finding.model}: holds", holds, "RR124", f"{finding.model}: {finding.requirement} is {NOT_MET}")
    failure = "the utility that was stated is not what the source gives"
    log.check("utility", documents_equivalent(plain(audit.stated.utility), plain(assessment.utility)), "RR124", failure)
    if audit.stated.protection is not None and assessment.tested == audit.stated.tested:
        failure = "the grade of protection, or its basis, is not what the source yields"
        log.check(
            "protection",
            documents_equivalent(plain(audit.stated.protection), plain(assessment.protection)),
            "RR124",
            failure,
        )
        log.confirm(FINDINGS, "protection")
    if plan.policy.selection is not None:
        failure = "the number of records from which one of each unit was selected is not what the source gives"
        log.check("selected from", assessment.selected_from == audit.stated.selected_from, "RR124", failure)
        log.confirm(FINDINGS, "selected_from")
    came_to = realised_findings(
        plan.policy, side.registry, plan.channel, original, side.folder, side.manifest.data, scratch
    )
    failure = "the stated results of the draw are not those of the source and the release"
    agree = documents_equivalent(plain(audit.stated.attained), plain(came_to))
    log.again("attained", agree, "RR132", failure)
    recomputed = assessment.findings
    if uncounted:
        pairs = zip(recomputed, audit.stated.placed(audit.places).findings, strict=False)
        told = tuple(stated if found.verdict is Verdict.UNDECIDED else found for found, stated in pairs)
        assessment = replace(assessment, findings=told)
    assessment = replace(assessment, attained=came_to)
    expected = manifests.build_manifest(plan, assessment, {}, test=False)
    differ = manifest_differences(side.manifest, expected, ("assumptions",))
    failure = "release.json does not state the assumptions that the findings rest on"
    log.again("assumptions", not differ, "RR124", failure)
    for file in (RELEASE, FINDINGS):
        log.confirm(file, *([] if uncounted else ["findings"]), "utility", "attained")
    log.findings[:] = recomputed
    decided = {f"{f.model} {f.requirement}" for f in recomputed if f.verdict is not Verdict.UNDECIDED}
    log.undecided[:] = [u for u in log.undecided if u not in decided]
    if assessment.untested:
        named = "" if unit_of_people(audit.plan.policy) else f" (no column identifies people: {UNIT_WAYS})"
        log.undecided.append(UNDECIDED + named)
    elif audit.stated.tested or assessment.of_rows:
        log.confirm(FINDINGS, "tested")
    return replace(assessment, tested=audit.stated.tested)


def _with_stated_unit_count(finding: Finding, stated: Finding) -> Finding:
    """Return a finding with the stated number of records of a unit: this table has another, or none."""
    own = (c for c in finding.companions if c.name != MAX_RECORDS_NAME)
    return replace(finding, companions=(*own, *(c for c in stated.companions if c.name == MAX_RECORDS_NAME)))


def verify_tuning_table(
    log: Log, audit: AuditFolder, side: PublicFolder, original: Original, *, uri: str | None, scratch: Path
) -> None:
    """Check that the plan's parameters were chosen on a table; undecided if it is not available.

    The other table, at `uri`, is read under the same policy.

    Raises:
        DataError: RR3xx if it cannot be read.
    """
    from rrpolicy.source.tuning_source import open_tuning_table

    if audit.plan.plan_on is None:
        log.confirm(RELEASE, "plan_on")
        log.confirm(PLAN_PATH, "plan_on")
        return
    if uri is None:
        log.undecided.append("the table that the parameters were chosen on (--plan-on)")
        return
    policy = replace(original.policy, mechanism=replace(original.policy.mechanism, plan_on=uri))
    with open_tuning_table(policy, side.registry.sources, scratch / "plan-on") as elsewhere:
        known = elsewhere is not None and fingerprint(elsewhere) == audit.plan.plan_on
    log.check("plan_on", known, "RR135", "the parameters were chosen on another table than the one given")
    if known:
        log.confirm(RELEASE, "plan_on")
        log.confirm(PLAN_PATH, "plan_on")


def verify_reference_table(log: Log, audit: AuditFolder, original: Original) -> None:
    """Check that people are counted in the plan's reference table; undecided if it is not available."""
    if audit.plan.reference is None:
        return
    if original.reference is None:
        log.undecided.append("the population that people were counted in (--reference)")
        return
    known = reference_fingerprint(original) == audit.plan.reference
    log.check("reference", known, "RR562", "people were counted in another reference table than the one given")
    if known:
        log.confirm(PLAN_PATH, "reference")
