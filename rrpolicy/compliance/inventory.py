"""All releases in a repository and its ledgers, and pending decisions: for a board, once a quarter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from rrpolicy.attacks.result import AttackOutcome, AttackReport
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.canonical_json import Day
from rrpolicy.declarations import Governance
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, RequirementError, RRPolicyError
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.chain import Ledger
from rrpolicy.governance.ledger.entry import ReleaseEntry
from rrpolicy.governance.ledger.joint_requirements import unmet_requirements
from rrpolicy.governance.ledger.ledger_file import read_ledger
from rrpolicy.governance.ledger.verify import (
    entry_mismatch,
    find_entry,
    newer_version,
    sealed_manifest,
    withdrawal_notice,
)
from rrpolicy.manifest.manifest import MANIFEST_FILE, Manifest
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.policy.model import Policy
from rrpolicy.policy.tree.document import named_policy_files
from rrpolicy.report import Fact
from rrpolicy.reports.report_builder import parse_report
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.serialization import JsonDocument, read
from rrpolicy.signing.signature_checks import attestation_facts, refuse_recalled

SOON = timedelta(days=60)
"""Time before a review, or the end of a waiver, from which it is listed."""


class InventoryEntry(Struct, frozen=True):
    """One release.

    Attributes:
        label: label of the release; None if it has none.
        state: one of: in use, an older version, replaced, recalled, withdrawn, open (unknown whether it appeared), or
            in no ledger.
        date: the day on which it was entered; None if in no ledger.
        ledger: the file; None if in no ledger.
        bundle: its folder; None if not available.
        purpose: purpose of the policy; "" if not available.
        grade: grade of protection; None if audit/ is not available.
        risks: an attacker's success without the release and with it, a sentence each.
        review_by: the last day of the policy's validity.
        attested: verifiers, signers and approvers, by the statements in its folder.
        attacked: results of its attacks; "" without attacks, or if audit/ is not available.
    """

    policy: str
    label: str | None
    state: str
    date: str | None = None
    ledger: str | None = None
    entry: str | None = None
    digest: str | None = None
    bundle: str | None = None
    purpose: str = ""
    recipients: tuple[str, ...] = ()
    grade: str | None = None
    risks: tuple[str, ...] = ()
    review_by: str | None = None
    soon: tuple[str, ...] = ()
    attested: tuple[Fact, ...] = ()
    attacked: str = ""
    decide: tuple[str, ...] = ()


class Inventory(JsonDocument, Struct, frozen=True):
    """All releases in a repository and its ledgers.

    Attributes:
        day: day for which reviews and waivers are checked.
        releases: releases in the order of the ledgers, then those in no ledger.
        unreleased: policies without a known release.
        decide: decisions not on a single release: violated requirements, unreadable policies.
    """

    schema: ClassVar[str] = "rrpolicy.inventory/1"
    written: ClassVar[tuple[str, ...]] = ("schema", "passed", "day", "releases", "unreleased", "decide")

    day: Day
    releases: tuple[InventoryEntry, ...]
    unreleased: tuple[str, ...]
    decide: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Return whether nothing is to be decided."""
        return not self.decisions

    @property
    def decisions(self) -> tuple[tuple[str, str], ...]:
        """Return the pending decisions, each with its release; "" for the repository."""
        own = [(release_label(one), what) for one in self.releases for what in one.decide]
        return (*(("", what) for what in self.decide), *own)


def release_label(one: InventoryEntry) -> str:
    """Return the displayed name of a release."""
    return one.policy if one.label is None else f"{one.policy} as {one.label}"


def build_inventory(
    paths: Sequence[Path], bundles: Sequence[Path], day: date, plugins: Sequence[str] = ()
) -> Inventory:
    """Return the inventory of policies, the ledgers that they name, and the bundles below some folders.

    Raises:
        PolicyError: RR200 if a folder contains no policy.
        RefusedError: RR440, RR443 for a ledger.
    """
    policies: dict[str, Policy] = {}
    decide = []
    for path in named_policy_files(paths):
        try:
            policy = open_policy(path).policy
        except RRPolicyError as error:
            decide.append(f"{path} cannot be read: {error.problems[0].message}")
            continue
        policies[policy.name] = policy
    named = (Path(p.folder) / p.ledger.file for p in policies.values() if p.ledger is not None)
    ledgers = {file: read_ledger(file) for file in dict.fromkeys(map(Path.resolve, named))}
    registry = load_registry(plugins)
    for ledger in ledgers.values():
        decide += [f"{ledger.name}: {each}" for each in unmet_requirements(ledger, registry) if each.broken]
    folders = _find_bundles(bundles)
    at: dict[tuple[Path, str], Path] = {}
    alone: list[Path] = []
    for folder in folders:
        place = _ledger_position(folder, ledgers)
        if place is None:
            alone.append(folder)
        else:
            at[place] = folder
    releases = [
        _ledger_release(ledger, file, own, entry, at.get((file, own)), policies, day)
        for file, ledger in ledgers.items()
        for own, entry in ledger.entries.items()
        if isinstance(entry, ReleaseEntry)
    ]
    releases += [_unlisted_bundle(folder, policies, day) for folder in alone]
    known = {one.policy.rpartition(" ")[0] for one in releases}
    return Inventory(day.isoformat(), tuple(releases), tuple(n for n in policies if n not in known), tuple(decide))


def _find_bundles(folders: Sequence[Path]) -> list[Path]:
    released = (file for folder in folders for file in sorted(folder.rglob(f"public/{MANIFEST_FILE}")))
    return list(dict.fromkeys(file.parent.parent for file in released))


def _ledger_position(bundle: Path, ledgers: Mapping[Path, Ledger]) -> tuple[Path, str] | None:
    with suppress(RRPolicyError):
        manifest = sealed_manifest(bundle)
        for file, ledger in ledgers.items():
            own = find_entry(ledger, manifest)
            if own is not None:
                return file, own
    return None


def _ledger_release(  # noqa: PLR0917 each is another thing
    ledger: Ledger,
    file: Path,
    own: str,
    entry: ReleaseEntry,
    bundle: Path | None,
    policies: Mapping[str, Policy],
    day: date,
) -> InventoryEntry:
    """Return a release of a ledger, with its bundle if available."""
    settled, gone = ledger.settled.get(own), withdrawal_notice(ledger, own, entry.name)
    older = newer_version(ledger, entry)
    outcome = "open" if settled is None else settled.outcome
    state = {"open": "open", "withdrawn": "withdrawn"}.get(outcome, "in use" if older is None else "an older version")
    state = state if gone is None else "recalled" if own in ledger.recalled else "replaced"
    decide = ["it was entered, and whether it appeared is not known"] if state == "open" else []
    manifest = None
    if bundle is not None:
        manifest = sealed_manifest(bundle)
        differs = entry_mismatch(ledger, manifest, str(bundle))
        decide += [] if differs is None else [differs.message]
        decide += [] if gone is None else [f"{gone.message}; its bundle is still at {bundle}"]
    policy = policies.get(entry.policy)
    known = policy.governance if manifest is None and policy is not None else None
    return _add_bundle_details(
        InventoryEntry(
            f"{entry.policy} {entry.version}",
            entry.label,
            state,
            entry.date,
            str(file),
            own,
            None if settled is None else settled.release,
            purpose=policy.purpose if policy is not None else "",
            decide=tuple(decide),
        ),
        bundle,
        manifest,
        known,
        day,
    )


def _unlisted_bundle(bundle: Path, policies: Mapping[str, Policy], day: date) -> InventoryEntry:
    """Return a bundle that is in no ledger."""
    try:
        manifest = sealed_manifest(bundle)
    except RRPolicyError as error:
        return InventoryEntry(str(bundle), None, "unreadable", bundle=str(bundle), decide=(error.problems[0].message,))
    policy = policies.get(manifest.policy.name)
    lost = policy is not None and policy.ledger is not None
    decide = (f"it is in no ledger, and the policy declares the ledger {policy.ledger.file}",) if lost else ()  # type: ignore[union-attr]
    head = manifest.policy
    one = InventoryEntry(
        f"{head.name} {head.version}", manifest.release, "in no ledger", digest=manifest.digest, decide=decide
    )
    return _add_bundle_details(one, bundle, manifest, None, day)


def _add_bundle_details(
    one: InventoryEntry, bundle: Path | None, manifest: Manifest | None, known: Governance | None, day: date
) -> InventoryEntry:
    """Return a release with the data of its bundle; without one, with the current declarations of its policy."""
    governance = known if manifest is None else manifest.governance
    if governance is not None and one.state not in {"withdrawn", "recalled", "replaced"}:
        overdue, soon = _deadlines(governance, day)
        one = replace(one, soon=soon, decide=(*one.decide, *overdue))
    if governance is not None:
        context = governance.context
        one = replace(one, recipients=context.recipients, review_by=context.review_by)
    if bundle is None or manifest is None:
        return one
    decide = [*one.decide]
    try:
        refuse_recalled(bundle)
    except RequirementError as error:
        decide.append(error.problems[0].message)
        one = replace(one, state="recalled")
    facts = attestation_facts(bundle)
    signed = any(fact.name == "Signed" for fact in facts)
    if not signed and (manifest.require_signatures or manifest.require_roles):
        decide.append("it requires signatures, and nobody has signed it")
    grade, risks = _risk_summary(bundle)
    return replace(
        one,
        bundle=str(bundle),
        digest=manifest.digest,
        purpose=manifest.policy.purpose,
        grade=grade,
        risks=risks,
        attested=facts,
        attacked=_attack_summary(bundle),
        decide=tuple(decide),
    )


def _deadlines(governance: Governance, day: date) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the deadlines that have passed by a day, and those that are near: the review, and waivers."""
    review = governance.context.review
    days = [] if review is None else [("the review is due", review)]
    days += [
        (f"the waiver of {w.finding} ({w.approver}) ends", date.fromisoformat(w.until)) for w in governance.waivers
    ]
    overdue = tuple(f"{what}: {until}" for what, until in days if until < day)
    return overdue, tuple(f"{what}: {until}" for what, until in days if day <= until <= day + SOON)


def _risk_summary(bundle: Path) -> tuple[str | None, tuple[str, ...]]:
    """Return the grade of a release, and the attacker's results without it and with it."""
    path = bundle / "audit" / "report.json"
    if not path.is_file():
        return None, ()
    try:
        panel = parse_report(read_document(path)).protection
    except (UnreadableError, PolicyError):
        return None, ()
    if panel is None:
        return None, ()
    return panel.grade, tuple(f"{row.name}: {row.told}".replace("`", "") for row in panel.rows)


def _attack_summary(bundle: Path) -> str:
    path = bundle / "audit" / ATTACK_FILE
    if not path.is_file():
        return ""
    try:
        attacks = read(AttackReport, read_document(path)).every
    except (UnreadableError, ValueError, KeyError, TypeError):
        return f"{path} cannot be read"
    right = sum(attack.outcome is AttackOutcome.AS_PREDICTED for attack in attacks)
    return f"{right} of {len(attacks)} attacks came out as predicted"


def inventory_lines(found: Inventory) -> Iterator[str]:
    """Yield an inventory for people, pending decisions first."""
    yield f"{len(found.releases)} releases, on {found.day}; {len(found.decisions)} to decide"
    for whose, what in found.decisions:
        yield f"DECIDE {whose}: {what}" if whose else f"DECIDE: {what}"
    for one in found.releases:
        yield ""
        yield f"{release_label(one)}: {one.state}" + (f", entered {one.date}" if one.date else "")
        yield from (f"  {name}: {value}" for name, value in inventory_facts(one))
    if found.unreleased:
        yield ""
        yield f"never released: {', '.join(found.unreleased)}"


def inventory_facts(one: InventoryEntry) -> Iterator[tuple[str, str]]:
    """Yield the properties of a release, in words."""
    if one.purpose:
        yield "purpose", one.purpose
    if one.recipients:
        yield "recipients", ", ".join(one.recipients)
    yield "protection", one.grade or "not known: its audit/ is not at hand"
    yield from (("risk", sentence) for sentence in one.risks)
    if one.review_by is not None:
        yield "review by", one.review_by
    yield from (("soon", what) for what in one.soon)
    if one.bundle is not None:
        yield from ((fact.name.lower(), fact.value) for fact in one.attested)
        told = {fact.name for fact in one.attested}
        yield from ((name.lower(), "by nobody") for name in ("Verified", "Signed") if name not in told)
        yield "attacked", one.attacked or "by nobody"
        yield "bundle", one.bundle
