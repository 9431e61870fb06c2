"""Filling the report: the public page from public/ alone, the audit page from the same and from audit data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from rrpolicy.declarations import Governance, Role
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Finding, Measure, Origin, UtilityFinding
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.mechanism import Remark
from rrpolicy.numbers import figure
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.units import ROWS_NOTE, UNTESTED_UNITS_NOTE
from rrpolicy.report import Fact, FindingRow, Report, Section, UtilityRow
from rrpolicy.reports.alternatives import AlternativesRecord, alternatives
from rrpolicy.reports.attacks import add_attack_results
from rrpolicy.reports.attributes import attribute_panels, treatment_counts, true_values_sentence
from rrpolicy.reports.context import context_facts, declared_facts, letterhead
from rrpolicy.reports.decision import chosen_by_optimiser, decision_summary, judgement_points
from rrpolicy.reports.findings import finding_row, utility_row
from rrpolicy.reports.key_figures import key_figure_tiles
from rrpolicy.reports.method_description import COLLECTED, TEST, protection_headline
from rrpolicy.reports.pairs import pair_panel
from rrpolicy.reports.protection_panel import protection_panel
from rrpolicy.wording import measure_words

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport
    from rrpolicy.planning.plan import MarginalError
    from rrpolicy.privacy.protection.result import ReleaseProtection
    from rrpolicy.report import AssociationRow

EXACT_DRAW = "exact: no probability is rounded"
COLLECTED_NOTE = (
    f"{COLLECTED}; the linking guarantee (k) applies to an attacker who does not know who sent which record"
)
WITHHELD_NOTE = (
    "withheld from the public, with every number from which they follow. This is not a privacy measure: each "
    "requirement assumes an attacker who has them"
)
NOTHING_DRAWN = "nothing was drawn at random"
POLICY = "policy.toml"
DIGEST = "SHA-256 of the resolved policy"
WITH_TAG = f"{DIGEST} and the keyed hash (HMAC) of the source"
DROPPED_ROLES = {
    Role.IDENTIFIER: "identifier, never released",
    Role.EXCLUDED: "excluded by the policy",
}
_UNIT = "identifier, counted only for how many records a person has, and never released"


class AuditPageInput(Struct, frozen=True):
    """Content of the audit page beyond the public one. None of it may reach public/.

    Attributes:
        findings: findings of the final assessment, with every number.
        realised: actual error of this release, one per utility finding, in their order, or in words why it is not
            available; empty if not computed.
        origins: attribute -> source of its parameters.
        shares: released column -> category -> original share, from `report_marginals.original_shares`.
        dropped: columns that were not released, from `dropped_columns`.
        provenance: times, commits, digests of audit/, the source's uri without credentials.
        sections: the channel's report sections, from `Channel.sections` with the original.
        models: privacy models by name, with their statements on what they do not cover.
        formats: formats of data files, by name.
        policy_file: the policy's file, as places name it; in audit/ it is policy.toml.
        attacked: the adversarial test, if one was written.
        compared: comparison with alternatives, if one was written.
        time: time of the release, as audit.json states it.
        errors: expected of one-way and two-way shares; None without the table.
        associations: the strongest of the original, and their estimates.
        texts: the policy's files as written, by name.
        protection: protection of the release; None if not assessed.
        untested: statement that the number of records per person was not tested; "" if it was.
        selected_from: the number of the table's records, of which one of each unit was read; None if all were.
    """

    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...] = ()
    realised: tuple[Measure | str | None, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    provenance: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    models: Mapping[str, object] = field(default_factory=dict)
    formats: Formats = field(default_factory=lambda: CORE_FORMATS)
    policy_file: str | None = None
    attacked: AttackReport | None = None
    compared: AlternativesRecord | None = None
    time: str = ""
    errors: tuple[MarginalError, ...] = ()
    associations: tuple[AssociationRow, ...] = ()
    following: tuple[Fact, ...] = ()
    texts: tuple[Fact, ...] = ()
    untested: tuple[str, ...] = ()
    selected_from: int | None = None
    protection: ReleaseProtection | None = None


def public_report(
    public: Path,
    manifest: Manifest,
    *,
    released: Mapping[str, Sequence[int]] | None = None,
    models: Mapping[str, object] | None = None,
    sections: tuple[Section, ...] = (),
    formats: Formats = CORE_FORMATS,
) -> Report:
    """Fill the public page from public artifacts alone.

    The manifest has the digests of all files but the page and release.json, and need not be sealed yet.

    Raises:
        PolicyError: RR260 if the manifest contradicts itself, RR269 if the data are missing.
    """
    from rrpolicy.estimate.opening import is_countable, release_of
    from rrpolicy.reports.public_page import public_section

    page = replace(_common_report(public, manifest, released, models or {}, formats), sections=sections)
    page = replace(page, true_values=true_values_sentence(manifest.attributes, manifest.decoders))
    if not is_countable(manifest):
        return page
    release = release_of(public, manifest, formats)
    return replace(page, published=public_section(public, release, page.findings, page.points))


def _common_report(
    public: Path,
    manifest: Manifest,
    released: Mapping[str, Sequence[int]] | None,
    models: Mapping[str, object],
    formats: Formats,
) -> Report:
    """Return the content of both pages, in its public form."""
    from rrpolicy.estimate.opening import is_countable, release_of
    from rrpolicy.reports.marginals import marginal_panels, set_panels

    optimised = chosen_by_optimiser(manifest.origins)
    rows = tuple(finding_row(finding, models, solved=optimised) for finding in manifest.findings)
    useful = tuple(utility_row(finding, waivers=manifest.governance.waivers) for finding in manifest.utility)
    tables = marginal_panels(public, manifest, released, formats)
    return replace(
        release_description(manifest, manifest.origins, rows, useful),
        points=judgement_points(manifest.attributes, manifest.decoders, manifest.findings, manifest.governance),
        tiles=key_figure_tiles(manifest.findings, manifest.attributes, manifest.decoders, tables),
        marginals=tables,
        sets=set_panels(release_of(public, manifest, formats)) if is_countable(manifest) else (),
    )


def release_description(
    manifest: Manifest, origins: Mapping[str, Origin], rows: tuple[FindingRow, ...], useful: tuple[UtilityRow, ...]
) -> Report:
    """Return the description of a release on every page.

    A plan's manifest is without data.
    """
    passed, sentence = _report_decision(manifest, rows, useful)
    return Report(
        page="public",
        title=_report_title(manifest),
        decision=sentence,
        passed=passed,
        bar=_public_bar(manifest),
        facts=_release_facts(manifest),
        assumptions=manifest.assumptions,
        findings=rows,
        derived=tuple(map(str, manifest.derived)),
        remarks=(),
        attributes=attribute_panels(manifest, origins),
        dropped=(),
        marginals=(),
        utility=useful,
        sections=(),
        provenance=_provenance_facts(manifest),
        context=context_facts(manifest.governance, manifest.governance_digest),
        headline=protection_headline(manifest),
        letterhead=letterhead(manifest.governance.context),
    )


def audit_report(
    public: Path, manifest: Manifest, audit: AuditPageInput, *, released: Mapping[str, Sequence[int]] | None = None
) -> Report:
    """Fill the audit page: the public one, every number, original shares, and how the channel was chosen."""
    from rrpolicy.reports.marginals import add_original_shares

    page = _common_report(public, manifest, released, audit.models, audit.formats)
    optimised = chosen_by_optimiser(manifest.origins)
    rows = tuple(
        finding_row(finding, audit.models, _finding_policy_file(finding, audit.policy_file), solved=optimised)
        for finding in audit.findings
    )
    useful = _utility_rows(audit, manifest)
    panel = protection_panel(audit.protection, audit.findings, audit.remarks)
    passed, sentence = _report_decision(manifest, rows, useful)
    whole = replace(
        page,
        page="audit",
        decision=sentence,
        passed=passed,
        points=judgement_points(
            manifest.attributes,
            manifest.decoders,
            audit.findings,
            manifest.governance,
            audit.remarks,
            panel=panel,
        ),
        bar=(
            *audit_bar(manifest, tested=not audit.untested, selected_from=audit.selected_from),
            *_public_bar(manifest, audit.time),
        ),
        true_values=true_values_sentence(manifest.attributes, manifest.decoders, audit.shares),
        tiles=key_figure_tiles(audit.findings, manifest.attributes, manifest.decoders, page.marginals),
        protection=panel,
        pairs=pair_panel(audit.errors),
        associations=audit.associations,
        following=audit.following,
        texts=audit.texts,
        assumptions=(*_assumption_texts(page.assumptions, rows), *audit.untested),
        findings=rows,
        remarks=tuple(_remark_fact(remark) for remark in audit.remarks),
        attributes=attribute_panels(manifest, audit.origins),
        dropped=audit.dropped,
        marginals=add_original_shares(page.marginals, audit.shares),
        utility=useful,
        sections=audit.sections,
        provenance=(*page.provenance, Fact("Digest of release.json", manifest.digest), *audit.provenance),
        alternatives=alternatives(audit.compared),
    )
    return whole if audit.attacked is None else add_attack_results(whole, audit.attacked)


def parse_report(document: Mapping[str, Any]) -> Report:
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


def dropped_columns(policy: Policy) -> tuple[str, ...]:
    """Return the columns that are never released, each with the reason; audit only."""
    dropped = policy.with_role(*DROPPED_ROLES)
    return tuple(f"{a.name}: {_UNIT if a.name == policy.unit else DROPPED_ROLES[a.role]}" for a in dropped)


def _report_title(manifest: Manifest) -> str:
    release = f", release {manifest.release}" if manifest.release else ""
    return f"{manifest.policy.name}, version {manifest.policy.version}{release}"


def _report_decision(manifest: Manifest, rows: Sequence[FindingRow], useful: Sequence[UtilityRow]) -> tuple[bool, str]:
    """Return the decision; a draw with a test's seed is never fit for release."""
    passed, sentence = decision_summary(rows, useful)
    return (False, f"{TEST} {sentence}") if manifest.test else (passed, sentence)


def _public_bar(manifest: Manifest, time: str = "") -> tuple[Fact, ...]:
    """Return the owner, date, purpose and recipients of a release; the public page omits the time."""
    return declaration_bar(manifest.policy.owner, manifest.policy.purpose, manifest.governance, time.partition("T")[0])


def audit_bar(manifest: Manifest, *, tested: bool, selected_from: int | None = None) -> tuple[Fact, ...]:
    """Return the number of people and columns of a release, and its recipients if declared."""
    most, records = manifest.units.max_records, figure(manifest.records, 15)
    if selected_from is not None:
        whole = figure(selected_from, 15)
        people = f"{records}, one record each{manifest.units.selected}, selected from {whole} records"
    elif most > 1:
        people = f"{records} records, at most {figure(most)} a person{'' if tested else ', which was not tested'}"
    elif tested and not manifest.units.of_rows:
        people = f"{records}, one record each"
    else:
        people = f"{records} records. {ROWS_NOTE if manifest.units.of_rows else UNTESTED_UNITS_NOTE}"
    released = len(manifest.attributes)
    columns = f"{figure(released)}: {treatment_counts(manifest.decoders, released)}"
    nobody = () if manifest.governance.context.recipients else (Fact("Recipients", "not stated"),)
    return (Fact("Records" if people.endswith(".") else "People", people), Fact("Columns", columns), *nobody)


def declaration_bar(owner: str, purpose: str, governance: Governance, day: str = "") -> tuple[Fact, ...]:
    """Return the owner, purpose, date and recipients of a release; undeclared parts are omitted."""
    stated = declared_facts(governance.context)
    named = (
        ("Owner", owner),
        ("Purpose", purpose),
        ("Released", day),
        *((fact.name, fact.value) for key in ("release_model", "recipients") if (fact := stated.get(key))),
    )
    return tuple(Fact(name, value) for name, value in named if value)


def _release_facts(manifest: Manifest) -> tuple[Fact, ...]:
    sampling = EXACT_DRAW if any(decoder.drawn for decoder in manifest.decoders) else NOTHING_DRAWN
    released = len(manifest.attributes)
    named = (
        ("Records", figure(manifest.records, 15)),
        ("Mechanism", manifest.mechanism),
        ("Released attributes", f"{figure(released)}: {treatment_counts(manifest.decoders, released)}"),
        ("Format", manifest.data.format),
        ("Sampling", sampling),
        ("Collected", COLLECTED_NOTE if manifest.collected else None),
        ("Matrices", WITHHELD_NOTE if manifest.withholds else None),
    )
    return tuple(Fact(name, str(value)) for name, value in named if value)


def _provenance_facts(manifest: Manifest) -> tuple[Fact, ...]:
    software = manifest.software
    return (
        Fact("rrpolicy", software.rrpolicy),
        *(Fact("Plugin", f"{p.name} ({p.distribution} {p.version})") for p in software.plugins),
        Fact(WITH_TAG if manifest.withholds else DIGEST, manifest.policy.digest),
        *(Fact(f"Digest of the released table {name}", t.digest) for name, t in manifest.data.tables.items()),
    )


def _finding_policy_file(finding: Finding, own: str | None) -> str | None:
    """Return the name in audit/ of the policy file that requires a finding."""
    if finding.place is None:
        return None
    return POLICY if finding.place.file == own else Path(finding.place.file).name


def _utility_rows(audit: AuditPageInput, manifest: Manifest) -> tuple[UtilityRow, ...]:
    realised = audit.realised or (None,) * len(audit.utility)
    pairs = zip(audit.utility, realised, strict=True)
    return tuple(utility_row(finding, measure, manifest.governance.waivers) for finding, measure in pairs)


def _assumption_texts(public: Sequence[str], rows: Sequence[FindingRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*public, *(text for row in rows for text in row.assumptions)]))


def _remark_fact(remark: Remark) -> Fact:
    told = remark.measure is None or any(sign.isdigit() for sign in remark.text)
    measured = (
        "" if told or remark.measure is None else f" ({measure_words(remark.measure)}, {remark.measure.standing.value})"
    )
    return Fact(remark.name.replace("-", " ").capitalize(), remark.text + measured)
