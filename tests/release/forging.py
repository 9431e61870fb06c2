"""A forger's tools: change a bundle, make everything that follows from it again, and seal every digest again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rrpolicy.attacks.result import AttackReport
from rrpolicy.bundle.audit import ATTACK_FILE, read_assessment
from rrpolicy.bundle.execute import derived_public_files
from rrpolicy.bundle.manifest import file_digests
from rrpolicy.bundle.pages import build_audit_pieces, render_public_page, rendered_report_files
from rrpolicy.canonical_json import (
    canonical,
    digest,
    file_digest,
    pretty,
    record_digest,
)
from rrpolicy.discovery import load_registry
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.planning.plan import Plan
from rrpolicy.reports.report_builder import audit_report, parse_report
from rrpolicy.serialization import read


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def stated(public: Path) -> Manifest:
    """Return what a release.json says, whatever its schema asks."""
    return read(Manifest, load(public / "release.json"))


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Change a record and make its own digest fit again."""
    document = load(path)
    change(document)
    document["digest"] = record_digest(document)
    path.write_bytes(pretty(document))
    return document


def reseal_public(bundle: Path, change: Callable[[dict[str, Any]], Any] = lambda _: None) -> None:
    """Rewrite release.json with the files' digests as they are now."""

    def fit(document: dict[str, Any]) -> None:
        change(document)
        document["files"] = file_digests(bundle / "public", but="release.json")

    rewrite(bundle / "public" / "release.json", fit)


def reseal_audit(bundle: Path) -> None:
    """Rewrite audit.json so that it fits everything, as a forger without the source would."""

    def fit(document: dict[str, Any]) -> None:
        public = bundle / "public" / "release.json"
        document["public"] = {"digest": load(public)["digest"], "file": file_digest(public)}
        tested = bundle / "audit" / ATTACK_FILE
        if tested.is_file():
            tested.write_bytes(pretty(load(tested) | {"releases": [load(public)["digest"]]}))
        document["files"] = file_digests(bundle / "audit", but="audit.json")

    rewrite(bundle / "audit" / "audit.json", fit)


def refill_public(bundle: Path) -> None:
    """Make the files beside the data again from release.json, and seal it."""
    public = bundle / "public"
    for name, content in derived_public_files(stated(public), public).items():
        (public / name).write_bytes(content)
    reseal_public(bundle)


def fill_public(bundle: Path) -> None:
    """Make the files beside the data and the public page again from release.json, and seal it."""
    from rrpolicy.channels.json_decoding import channel_from_json

    refill_public(bundle)
    public = bundle / "public"
    manifest, registry = stated(public), load_registry()
    channel = channel_from_json(manifest.channel, registry.kinds)
    for name, content in render_public_page(public, manifest, registry, channel).items():
        (public / name).write_bytes(content)
    reseal_public(bundle)


def replan(bundle: Path) -> None:
    """Make the digests of plan.json fit, and those that audit.json names."""
    path = bundle / "audit" / "plan.json"
    plan = load(path)
    plan["digest"] = digest(
        canonical(
            {
                "schema": plan["schema"],
                "policy": plan["policy"]["digest"],
                "resolved": plan["policy"]["resolved"],
                "channel": plan["channel"],
                "records": plan["records"],
                "software": plan["software"],
                "plan_on": plan["plan_on"],
            }
        )
    )
    path.write_bytes(pretty(plan))
    rewrite(bundle / "audit" / "audit.json", lambda d: d.update(plan_digest=plan["digest"]))


def fill_audit(bundle: Path) -> None:
    """Make both audit reports again, with what only the original tells as it stands, and seal audit.json."""
    audit, registry = bundle / "audit", load_registry()
    record, old = load(audit / "audit.json"), parse_report(load(audit / "report.json"))
    plan = Plan.from_json(load(audit / "plan.json"), registry)
    found = read_assessment(load(audit / "findings.json"))
    assessment = found.placed([None] * len(found.findings))
    public = bundle / "public"
    written = {name: (audit / name).read_bytes() for name in record["policy_files"] if (audit / name).is_file()}
    pieces = build_audit_pieces(plan, assessment, registry, record, None, public, policy_file=None, written=written)
    shares = {m.attribute: {r.category: r.original for r in m.rows if r.original is not None} for m in old.marginals}
    tested = audit / ATTACK_FILE
    attacked = read(AttackReport, load(tested)) if tested.is_file() else None
    report = audit_report(public, stated(public), replace(pieces, shares=shares, attacked=attacked))
    rows = tuple(replace(row, place=o.place) for row, o in zip(report.findings, old.findings, strict=True))
    useful = tuple(replace(row, realised=o.realised) for row, o in zip(report.utility, old.utility, strict=True))
    report = replace(
        report, findings=rows, utility=useful, sections=old.sections, pairs=old.pairs, associations=old.associations
    )
    for name, content in rendered_report_files(report, registry, ("html", "json")).items():
        (audit / name).write_bytes(content)
    reseal_audit(bundle)


def fill_again(bundle: Path) -> None:
    """Make everything again that follows from something else, and seal it; what cannot be made is only sealed."""
    for step in (fill_public, replan, fill_audit):
        try:
            step(bundle)
        except Exception:  # noqa: BLE001 a forger seals what cannot be filled
            reseal_public(bundle)
            reseal_audit(bundle)
    reseal_audit(bundle)
