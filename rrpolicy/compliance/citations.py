"""Citable parts of a release, by name. Each cites existing data and reports missing data; none guesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from rrpolicy.attacks.result import AttackOutcome, AttackReport
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.compliance.evidence import Citation, CitationKind, RequirementDecision
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import CONDITION, Finding, Risk, UtilityFinding, Verdict
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.numbers import figure
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.privacy.units import ROWS_NOTE, UNTESTED_UNITS_NOTE
from rrpolicy.reports.attributes import treatment_counts
from rrpolicy.reports.bounded_risks import bounded_risks, is_differential_privacy, models_that_bound
from rrpolicy.reports.context import declared_facts
from rrpolicy.reports.findings import model_caveats
from rrpolicy.reports.protection_panel import protection_panel
from rrpolicy.wording import VERDICT_WORDS, expected_value_text, measure_text, requirement_title

RELEASE = "public/release.json"
AUDIT = "audit/findings.json"
ATTACK = f"audit/{ATTACK_FILE}"
EXACT_DRAWS = "values are drawn with cryptographic randomness, and no probability is rounded"


class CitedRelease(Struct, frozen=True):
    """Source of citations.

    Attributes:
        findings: findings with the numbers that may be shown.
        dropped: columns that are not released, with the reason; None if unknown.
        population: the population of the records; None if not stated, or unknown here.
        signed: whether there are signed statements on it.
        together: results together with earlier releases of the same people, one per entry of the budget.
        attacked: the adversarial test; None if not written, or not to be shown.
        tested: whether the number of records per person was tested, according to audit/.
        protection: protection of the release; None if not to be shown.
    """

    manifest: Manifest
    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...]
    file: str
    dropped: tuple[str, ...] | None
    population: str | None
    models: Mapping[str, object]
    signed: bool
    together: tuple[str, ...] = ()
    attacked: AttackReport | None = None
    tested: bool = False
    protection: ReleaseProtection | None = None


Cite = Callable[[CitedRelease], Iterator[Citation]]


def find_citations(name: str, release: CitedRelease) -> tuple[tuple[Citation, ...], str | None]:
    """Return the citations of a release under a name; if there are none, also the missing part in words.

    Raises:
        KeyError: if the name is unknown.
    """
    if name.startswith("context."):
        found = tuple(_context(name.removeprefix("context."), release))
        return found, None if found else f"{name.removeprefix('context.')} under [context]"
    cite, missing = CITATIONS[name]
    found = tuple(cite(release))
    if isinstance(missing, Risk) and not found:
        *others, last = models_that_bound(missing)
        missing = f"an entry of {', '.join(others)} or {last}"
    return found, missing or None if not found else None


def _context(key: str, release: CitedRelease) -> Iterator[Citation]:
    fact = declared_facts(release.manifest.governance.context).get(key)
    if fact is not None:
        yield Citation(CitationKind.DECLARATION, f"{fact.name}: {fact.value}", f"{RELEASE}, governance.context.{key}")


def _owner(release: CitedRelease) -> Iterator[Citation]:
    if release.manifest.policy.owner:
        yield Citation(CitationKind.DECLARATION, f"Owner: {release.manifest.policy.owner}", f"{RELEASE}, policy.owner")


def _purpose(release: CitedRelease) -> Iterator[Citation]:
    if release.manifest.policy.purpose:
        yield Citation(
            CitationKind.DECLARATION, f"Purpose: {release.manifest.policy.purpose}", f"{RELEASE}, policy.purpose"
        )


def _public(_release: CitedRelease) -> Iterator[Citation]:
    text = "The processing of the data, the guarantees and the assumptions are published with them"
    yield Citation(CitationKind.RECORD, text, "public/report.html")


def _roles(release: CitedRelease) -> Iterator[Citation]:
    roles: dict[str, list[str]] = {}
    for attribute in release.manifest.attributes:
        roles.setdefault(attribute.role.value, []).append(attribute.name)
    for role, names in roles.items():
        yield Citation(CitationKind.DECLARATION, f"{role.capitalize()}: {quoted_list(names)}", f"{RELEASE}, attributes")


def _units(release: CitedRelease) -> Iterator[Citation]:
    units = release.manifest.units
    most = "one record" if units.max_records == 1 else f"at most {units.max_records} records"
    text = f"Each person, or other unit of protection, has {most}{units.selected}"
    if units.of_rows:
        yield Citation(CitationKind.DECLARATION, ROWS_NOTE.removesuffix("."), f"{RELEASE}, units")
    elif release.tested:
        yield Citation(CitationKind.RECORD, f"{text}: tested on the table", f"{AUDIT}, tested")
    elif units.max_records == 1:
        yield Citation(CitationKind.DECLARATION, UNTESTED_UNITS_NOTE.removesuffix("."), f"{RELEASE}, units")
    else:
        yield Citation(CitationKind.DECLARATION, f"{text}: stated by the publisher", f"{RELEASE}, units")


def _treatment(release: CitedRelease) -> Iterator[Citation]:
    released = len(release.manifest.attributes)
    treated = f"{released}: {treatment_counts(release.manifest.decoders, released)}"
    yield Citation(CitationKind.RECORD, f"Released attributes: {treated}", f"{RELEASE}, decoders")
    for attribute in release.manifest.attributes:
        reason = attribute.assume_unlinkable if attribute.unchanged is None else attribute.unchanged
        if reason is not None:
            text = f"'{attribute.name}' may be released unchanged: {reason}"
            yield Citation(CitationKind.DECLARATION, text, f"{RELEASE}, attributes")


def _mechanism(release: CitedRelease) -> Iterator[Citation]:
    manifest = release.manifest
    text = f"Mechanism {manifest.mechanism}, under policy {manifest.policy.name} {manifest.policy.version}"
    yield Citation(CitationKind.RECORD, text, f"{RELEASE}, mechanism")


def _software(release: CitedRelease) -> Iterator[Citation]:
    software = release.manifest.software
    others = sorted({f"{p.distribution} {p.version}" for p in software.plugins if p.distribution != "rrpolicy"})
    text = ", ".join([f"rrpolicy {software.rrpolicy}", *others])
    yield Citation(CitationKind.RECORD, f"Written by {text}; rrpolicy verify computes it again", f"{RELEASE}, software")


def _sampling(release: CitedRelease) -> Iterator[Citation]:
    if any(decoder.drawn for decoder in release.manifest.decoders):
        yield Citation(CitationKind.RECORD, EXACT_DRAWS.capitalize(), f"{RELEASE}, decoders")


def _dropped(release: CitedRelease) -> Iterator[Citation]:
    for column in release.dropped or ():
        yield Citation(CitationKind.RECORD, column, "audit/policy.json, attributes")


def _derived(release: CitedRelease) -> Iterator[Citation]:
    for statistic in release.manifest.derived:
        yield Citation(CitationKind.RECORD, f"Derived from the table, {statistic}", f"{RELEASE}, derived")


def _assumptions(release: CitedRelease) -> Iterator[Citation]:
    for text in release.manifest.assumptions:
        yield Citation(CitationKind.RECORD, f"Assumption: {text}", f"{RELEASE}, assumptions")


def _utility(release: CitedRelease) -> Iterator[Citation]:
    for finding in release.utility:
        over = f" of {finding.over}" if finding.over else ""
        number = "" if finding.expected is None else f", expected {expected_value_text(finding)}"
        waiver = next((w for w in release.manifest.governance.waivers if w.finding == finding.identity), None)
        let_be = "" if waiver is None or finding.verdict is Verdict.SATISFIED else f", {waiver}"
        requirement = f"{finding.metric}{over} {finding.asked}"
        text = f"{requirement}: {VERDICT_WORDS[finding.verdict]}{number}{let_be}"
        yield Citation(
            CitationKind.FINDING, text, f"{release.file}, utility", RequirementDecision(requirement, finding.verdict)
        )


def _decisions(release: CitedRelease) -> Iterator[Citation]:
    governance = release.manifest.governance
    for waiver in governance.waivers:
        yield Citation(CitationKind.DECLARATION, f"{waiver.finding}: {waiver}", f"{RELEASE}, governance.waivers")
    for change in governance.changes:
        text = f"Made weaker in {change.version}, {change.what}: {change.why} ({change.who})"
        yield Citation(CitationKind.DECLARATION, text, f"{RELEASE}, governance.changes")


def _population(release: CitedRelease) -> Iterator[Citation]:
    if release.population is not None:
        yield Citation(
            CitationKind.DECLARATION, f"Population: {release.population}", "audit/policy.json, source.population"
        )


def _ledger(release: CitedRelease) -> Iterator[Citation]:
    if release.manifest.ledger is not None:
        text = "It is in a ledger of releases of the same people, with one budget for all of them"
        yield Citation(CitationKind.RECORD, text, f"{RELEASE}, ledger")
    for told in release.together:
        yield Citation(CitationKind.RECORD, f"Together with earlier releases: {told}", "audit/audit.json, together")


def _signatures(release: CitedRelease) -> Iterator[Citation]:
    if release.signed:
        text = "Signed statements accompany the release; rrpolicy verify --signed-by KEY shows the signers"
        yield Citation(CitationKind.RECORD, text, "attestations/")


def _adversaries(release: CitedRelease) -> Iterator[Citation]:
    seen = {finding.adversary: finding for finding in release.findings if finding.adversary}
    for adversary, finding in seen.items():
        yield Citation(
            CitationKind.FINDING, f"The adversary of {finding.model}: {adversary}", f"{release.file}, findings"
        )


def _not_covered(release: CitedRelease) -> Iterator[Citation]:
    texts = dict.fromkeys(text for f in release.findings for text in model_caveats(f.model, release.models))
    for text in texts:
        yield Citation(CitationKind.RECORD, f"Not stated by any finding: {text}", "public/report.html")


def _findings(release: CitedRelease) -> Iterator[Citation]:
    for finding in release.findings:
        yield _finding(finding, release)


def _protection(release: CitedRelease) -> Iterator[Citation]:
    """Yield the protection of the release, and the attacker's results without it and with it."""
    found = release.protection
    if found is None:
        return
    panel = protection_panel(found, release.findings)
    assert panel is not None
    texts = [f"{row.name} ({row.grade}): {row.told} {row.worst} {row.certain}" for row in panel.rows]
    for text in (f"{panel.heading} {panel.rule}", *texts):
        yield Citation(CitationKind.FINDING, text.replace("`", "'"), f"{AUDIT}, protection")


def _findings_of_models(concerned: Callable[[str], bool]) -> Cite:
    def cite(release: CitedRelease) -> Iterator[Citation]:
        for finding in release.findings:
            if concerned(finding.model):
                yield _finding(finding, release)

    return cite


def _largest_risk(release: CitedRelease) -> Iterator[Citation]:
    """Yield the bounds on every person's risk: requirements with a number, except means over the most at risk."""
    for finding in release.findings:
        if finding.achieved is not None and not finding.requirement.startswith("mean"):
            yield _finding(finding, release)


def _average_risk(release: CitedRelease) -> Iterator[Citation]:
    for finding in release.findings:
        if finding.requirement.startswith("mean"):
            yield _finding(finding, release)


def _limits(release: CitedRelease) -> Iterator[Citation]:
    for finding in release.findings:
        if Risk.LINKING in bounded_risks(finding.model):
            text = f"Required: {requirement_title(finding)}"
            yield Citation(CitationKind.DECLARATION, text, f"{RELEASE}, requirements")


def _finding(finding: Finding, release: CitedRelease) -> Citation:
    """Return a finding with its standing, so that an estimate or a conditional result is not read as more."""
    number = ""
    if finding.achieved is not None:
        number = f", achieved {measure_text(finding.achieved)} ({finding.achieved.standing.value})"
    elif finding.verdict is Verdict.SATISFIED:
        number = ", the number is in audit/"
    condition = f", {CONDITION}: {quoted_list(finding.given)}" if finding.given else ""
    requirement = requirement_title(finding)
    judged = None if finding.verdict is None else RequirementDecision(requirement, finding.verdict, finding.given)
    text = f"{requirement}: {VERDICT_WORDS[finding.verdict]}{number}{condition}"
    return Citation(CitationKind.FINDING, text, f"{release.file}, findings", judged)


def _attack(release: CitedRelease) -> Iterator[Citation]:
    for attack in () if release.attacked is None else release.attacked.every:
        of = f" ({attack.of})" if attack.of else ""
        told = f"{attack.outcome}: "
        if attack.successes is None or attack.predicted is None:
            told += attack.reason
        else:
            trials = f" of {attack.trials:,}" if attack.trials > 1 else ""
            told += f"{figure(attack.successes)}{trials} {attack.counts}, predicted {figure(attack.predicted)}"
            told += f"; the attacker knows {attack.knows}"
        requirement = f"Adversarial test, {attack.name}{of}: as predicted"
        judged = RequirementDecision(requirement, _VERDICTS[attack.outcome])
        text = f"Adversarial test, {attack.name}{of}: {told}"
        yield Citation(CitationKind.FINDING, text, f"{ATTACK}, attacks", judged)


_VERDICTS = {
    AttackOutcome.AS_PREDICTED: Verdict.SATISFIED,
    AttackOutcome.NOT_AS_PREDICTED: Verdict.FAILED,
    AttackOutcome.UNDECIDED: Verdict.UNDECIDED,
}


CITATIONS: Mapping[str, tuple[Cite, str | Risk]] = {
    "adversaries": (_adversaries, "a [[privacy]] entry, which states its adversary"),
    "assumptions": (_assumptions, "assumptions"),
    "attack": (_attack, "an adversarial test in audit/: rrpolicy attack BUNDLE --source TABLE --write"),
    "decisions": (_decisions, ""),
    "derived": (_derived, "statistics of the table that the release discloses: none"),
    "dropped": (_dropped, "the columns that were not released: audit/ lists them"),
    "findings": (_findings, "a [[privacy]] entry"),
    "ledger": (_ledger, "[ledger]: whether there were other releases of these people"),
    "limits.identity": (_limits, Risk.LINKING),
    "mechanism": (_mechanism, "the mechanism"),
    "not_covered": (_not_covered, "a [[privacy]] entry, which states its limits"),
    "owner": (_owner, "owner under [policy]"),
    "population": (_population, "population under [source]; audit/ has it"),
    "protection": (_protection, ""),
    "public": (_public, "the public report"),
    "purpose": (_purpose, "purpose under [policy]"),
    "risk.attribute": (
        _findings_of_models(lambda model: Risk.READING in bounded_risks(model)),
        Risk.READING,
    ),
    "risk.average": (_average_risk, "an entry of identity-disclosure with a percentile"),
    "risk.identity": (
        _findings_of_models(lambda model: Risk.LINKING in bounded_risks(model)),
        Risk.LINKING,
    ),
    "risk.largest": (_largest_risk, "a requirement whose number may be shown here"),
    "risk.local-dp": (_findings_of_models(is_differential_privacy), "an entry of local-dp"),
    "roles": (_roles, "attributes"),
    "sampling": (_sampling, "a random draw: nothing is drawn"),
    "signatures": (_signatures, "signed statements: rrpolicy sign"),
    "software": (_software, "software"),
    "treatment": (_treatment, "decoders"),
    "units": (_units, "units of protection"),
    "utility": (_utility, "a [[utility]] entry"),
}
"""Name -> its citations, and the missing part if there are none: in words, or the risk that no entry bounds."""
