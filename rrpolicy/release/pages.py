"""The report's pages of a bundle, printed by whatever renderers are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rrpolicy.canonical import Json, pretty
from rrpolicy.finding import Measure
from rrpolicy.registry import Registry
from rrpolicy.release import manifest as manifests
from rrpolicy.release.executed import Executed

if TYPE_CHECKING:
    from rrpolicy.release.report import AuditPieces
    from rrpolicy.report import Report

SAMPLERS = {
    "cells": "equal records drawn together",
    "records": "record by record",
}
"""How a release was drawn, by what is public; it changes nothing of what may be released."""


def write_public_page(executed: Executed, document: Mapping[str, Json]) -> None:
    """Write public/report.html, filled from public artifacts alone.

    The page cannot name the digest of release.json, which covers the page.

    Args:
        executed: the draw; the data files are written.
        document: release.json without `files` and `digest`.
    """
    from rrpolicy.release.report import public_report

    registry, public = executed.registry, executed.staging.public
    draft = public / manifests.NAME
    draft.write_bytes(pretty({**document, "files": {}, "digest": ""}))
    sections = executed.plan.channel.sections(executed.plan.records, None)
    report = public_report(public, released=executed.released, models=registry.privacy_models, sections=sections)
    draft.unlink()
    for name, content in _rendered(report, registry, ("html",)).items():
        (public / name).write_bytes(content)


def audit_pages(executed: Executed, record: Mapping[str, Json]) -> Mapping[str, bytes]:
    """Return report.html and report.json of audit/, by name.

    Args:
        executed: the draw; its public/ folder is finished.
        record: audit.json so far.
    """
    from rrpolicy.release.report import audit_report

    report = audit_report(executed.staging.public, _pieces(executed, record), released=executed.released)
    return _rendered(report, executed.registry, ("html", "json"))


def _pieces(executed: Executed, record: Mapping[str, Json]) -> AuditPieces:
    from rrpolicy.release.report import AuditPieces, dropped_columns
    from rrpolicy.release.report_marginals import original_shares
    from rrpolicy.section import Fact

    plan, assessment = executed.plan, executed.assessment
    facts = [
        ("Time", record["time"]),
        ("Commit of the policy's repository", record["policy_commit"]),
        ("Digest of the plan", record["plan_digest"]),
        ("Tag of the source under the key", record["source_tag"]),
        ("Path of the sampler", SAMPLERS.get(getattr(plan.channel, "sampler", ""))),
    ]
    writers = record["writers"]
    if isinstance(writers, dict):
        facts += [(f"Written by {name}", version) for name, version in writers.items()]
    return AuditPieces(
        findings=(*assessment.findings, *assessment.attained),
        utility=assessment.utility,
        realised=_realised(executed),
        origins={name: origin.value for name, origin in plan.origins.items()},
        remarks=plan.remarks,
        shares=original_shares(executed.original),
        dropped=dropped_columns(plan.policy),
        provenance=tuple(Fact(name, str(value)) for name, value in facts if value),
        sections=plan.channel.sections(plan.records, executed.original),
        models=executed.registry.privacy_models,
    )


def _realised(executed: Executed) -> tuple[Measure | None, ...]:
    """Return what this draw attained, after the fact: shown to the audit, and never a reason to draw again."""
    metrics, public = executed.registry.utility_metrics, executed.staging.public
    return tuple(
        metrics[gate.metric].realised(gate.options, public, executed.original) for gate in executed.plan.policy.gates
    )


def _rendered(report: Report, registry: Registry, names: Sequence[str]) -> Mapping[str, bytes]:
    renderers = registry.renderers
    return {f"report{renderers[name].suffix}": renderers[name].render(report) for name in names if name in renderers}
