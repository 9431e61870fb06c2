"""Filling the report: the public page from public/ alone, the audit page from that and what only the audit may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.sealed import NAME, READ, SCHEMA, no_release
from rrpolicy.finding import Finding, Measure
from rrpolicy.mechanism import Remark
from rrpolicy.policy.model import Policy, Role
from rrpolicy.releasing.report.attributes import drawn, panels, treated_so
from rrpolicy.releasing.report.findings import decision, finding_row, utility_row
from rrpolicy.releasing.report.wording import worded
from rrpolicy.report import FindingRow, Report, UtilityRow
from rrpolicy.section import Fact, Section, figure

if TYPE_CHECKING:
    from rrpolicy.releasing.plan.assess import UtilityFinding

EXACT_DRAW = "exact: no probability is rounded"
NOTHING_DRAWN = "nothing was drawn at random"
POLICY = "policy.toml"
FILLED = (*READ, "release", "policy", "software", "attributes", "channel", "findings", "derived", "assumptions")
"""Fields of release.json that the public page is filled from."""
TEST = "A test drew this from a seed that anybody can know: it protects nobody."
DROPPED = {
    Role.IDENTIFIER: "identifier, counted only for how many records a person has, and never released",
    Role.EXCLUDED: "excluded by the policy",
}


@dataclass(frozen=True, slots=True)
class AuditPieces:
    """What the audit page shows beyond the public one. None of it may reach public/.

    Attributes:
        findings: of the final assessment, with every number.
        utility: of the final assessment.
        realised: what the draw attained, one a utility finding, in their order; empty if not computed.
        origins: attribute -> where its parameters come from.
        remarks: what the mechanism says of its choice.
        shares: released column -> category -> original share, from `report_marginals.original_shares`.
        dropped: columns that were not released, from `dropped_columns`.
        provenance: times, commits, digests of audit/, the source's uri without credentials.
        sections: what the channel says of itself, from `Channel.sections` with the original.
        models: privacy models by name, which say themselves what they do not cover.
        policy_file: the policy's own file, as places name it; it stands in audit/ as policy.toml.
    """

    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...] = ()
    realised: tuple[Measure | None, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    provenance: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    models: Mapping[str, object] = field(default_factory=dict)
    policy_file: str | None = None


def public_report(
    public: Path,
    *,
    released: Mapping[str, Sequence[int]] | None = None,
    models: Mapping[str, object] | None = None,
    sections: tuple[Section, ...] = (),
) -> Report:
    """Fill the public page from public artifacts alone; no plugin is needed.

    Args:
        public: the public/ folder.
        released: column -> released records of each of its labels, if they are counted already.
        models: privacy models by name, which say themselves what they do not cover.
        sections: what the published channel says of itself, from `Channel.sections` without the original.

    Raises:
        PolicyError: RR260 if there is no release in the folder, RR269 if its data are missing.
    """
    from rrpolicy.releasing.report.marginals import marginals

    document = release_document(public)
    rows = tuple(finding_row(finding, models or {}) for finding in document["findings"])
    useful = tuple(utility_row(finding) for finding in document.get("utility", ()))
    passed, sentence = _decided(document, rows, useful)
    return Report(
        page="public",
        title=_title(document),
        decision=sentence,
        passed=passed,
        facts=_facts(document),
        assumptions=tuple(document["assumptions"]),
        findings=rows,
        derived=tuple(f"{d['id']}: {d['meaning']}" for d in document["derived"]),
        remarks=(),
        attributes=panels(document["attributes"], document["decoders"], document.get("origins", {})),
        dropped=(),
        marginals=marginals(public, document, released),
        utility=useful,
        sections=sections,
        provenance=_provenance(document),
    )


def audit_report(public: Path, audit: AuditPieces, *, released: Mapping[str, Sequence[int]] | None = None) -> Report:
    """Fill the audit page: the public one, every number, original shares, and how the channel was chosen.

    Args:
        public: the public/ folder.
        audit: what only the audit may see.
        released: as for `public_report`.
    """
    from rrpolicy.releasing.report.marginals import with_original

    document = release_document(public)
    page = public_report(public, released=released, models=audit.models)
    rows = tuple(
        finding_row(_document(finding), audit.models, _file_of(finding, audit.policy_file))
        for finding in audit.findings
    )
    useful = _utility(audit)
    passed, sentence = _decided(document, rows, useful)
    return replace(
        page,
        page="audit",
        decision=sentence,
        passed=passed,
        assumptions=_assumptions(page.assumptions, rows),
        findings=rows,
        remarks=tuple(_remark(remark) for remark in audit.remarks),
        attributes=panels(document["attributes"], document["decoders"], audit.origins),
        dropped=audit.dropped,
        marginals=with_original(page.marginals, audit.shares),
        utility=useful,
        sections=audit.sections,
        provenance=(*page.provenance, Fact("Digest of release.json", document["digest"]), *audit.provenance),
    )


def read_report(document: Mapping[str, Any]) -> Report:
    """Read a report.json.

    Raises:
        PolicyError: RR259 if it is of another schema, or not a report.
    """
    try:
        return Report.from_json(document)
    except ValueError as error:
        raise PolicyError(
            Problem("RR259", f"this is not a report that can be rendered: {str(error).splitlines()[0]}")
        ) from error


def release_document(public: Path) -> Mapping[str, Any]:
    """Return release.json, every field of it checked; its digests need not be written yet.

    Raises:
        PolicyError: RR260 if there is none, or it is not what its schema asks.
    """
    from rrpolicy.untrusted.document import SHOWN, UnreadableError, faults, read_document

    try:
        document = read_document(public / NAME)
    except UnreadableError as error:
        raise no_release(public, str(error)) from error
    wrong = faults(document, SCHEMA, [*FILLED, *(key for key in ("utility", "origins", "units") if key in document)])
    if wrong:
        raise no_release(public, f"in its {NAME}, {'; '.join(wrong[:SHOWN])}")
    return document


def dropped_columns(policy: Policy) -> tuple[str, ...]:
    """Return the columns that are never released, each with the reason; audit only."""
    return tuple(f"{a.name}: {DROPPED[a.role]}" for a in policy.with_role(*DROPPED))


def _title(document: Mapping[str, Any]) -> str:
    policy = document["policy"]
    release = f", release {document['release']}" if document["release"] else ""
    return f"{policy['name']}, version {policy['version']}{release}"


def _decided(document: Mapping[str, Any], rows: Sequence[FindingRow], useful: Sequence[UtilityRow]) -> tuple[bool, str]:
    """Return the decision; what a test's seed drew is never fit for release."""
    passed, sentence = decision(rows, useful)
    return (False, f"{TEST} {sentence}") if document.get("test") else (passed, sentence)


def _facts(document: Mapping[str, Any]) -> tuple[Fact, ...]:
    policy = document["policy"]
    sampling = EXACT_DRAW if any(drawn(decoder) for decoder in document["decoders"]) else NOTHING_DRAWN
    named = (
        ("Records", figure(document["records"], 15)),
        ("Owner", policy.get("owner")),
        ("Purpose", policy.get("purpose")),
        ("Mechanism", document.get("mechanism")),
        ("Released attributes", treated_so(document["attributes"], document["decoders"])),
        ("Format", document["data"]["format"]),
        ("Sampling", sampling),
    )
    return tuple(Fact(name, str(value)) for name, value in named if value)


def _provenance(document: Mapping[str, Any]) -> tuple[Fact, ...]:
    software = document["software"]
    facts = [Fact("rrpolicy", software["rrpolicy"])]
    for plugin in software.get("plugins", ()):
        shown = (
            plugin if isinstance(plugin, str) else f"{plugin['name']} ({plugin['distribution']} {plugin['version']})"
        )
        facts.append(Fact("Plugin", shown))
    facts.append(Fact("Digest of the policy’s meaning", document["policy"]["digest"]))
    for name, table in document["data"]["tables"].items():
        facts.append(Fact(f"Digest of the released table {name}", table["digest"]))
    return tuple(facts)


def _file_of(finding: Finding, own: str | None) -> str | None:
    """Return the name of the policy file that asks for a finding, as it stands in audit/."""
    if finding.place is None:
        return None
    return POLICY if finding.place.file == own else Path(finding.place.file).name


def _utility(audit: AuditPieces) -> tuple[UtilityRow, ...]:
    realised = audit.realised or (None,) * len(audit.utility)
    pairs = zip(audit.utility, realised, strict=True)
    return tuple(utility_row(_document(finding), measure) for finding, measure in pairs)


def _assumptions(public: Sequence[str], rows: Sequence[FindingRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*public, *(text for row in rows for text in row.assumptions)]))


def _remark(remark: Remark) -> Fact:
    told = remark.measure is None or any(sign.isdigit() for sign in remark.text)
    measured = "" if told or remark.measure is None else f" ({worded(remark.measure)}, {remark.measure.standing.value})"
    return Fact(remark.name.replace("-", " ").capitalize(), remark.text + measured)


def _document(finding: Finding | UtilityFinding) -> Mapping[str, Any]:
    document = finding.to_json()
    if not isinstance(document, dict):
        raise TypeError("a finding is a JSON object")
    return document
