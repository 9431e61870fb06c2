"""Declarations and decisions in the records of a release: compared with each other, and with the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from rrpolicy.declarations import REVIEW_KEY, Governance
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.planning.waivers import unwaived_gates
from rrpolicy.policy.model import Policy
from rrpolicy.verification.outcome import JudgementPoint, Log

DIGEST = "governance_digest"
_CLOCKS = timedelta(days=1)
"""The day of a release is in its writer's time zone, and the record's time in UTC."""


def check_declarations(log: Log, manifest: Manifest, file: str, today: date) -> None:
    """Check that release.json is consistent on decisions; note problems caused by the day, which fail nothing.

    Args:
        log: takes the checks.
        manifest: release.json.
        file: its name in the bundle.
        today: the day of the verification.
    """
    governance = manifest.governance
    agree = governance.digest() == manifest.governance_digest
    failure = f"the field '{DIGEST}' of release.json is not the digest of its field 'governance'"
    log.check(DIGEST, agree, "RR118", failure)
    let_be = unwaived_gates(manifest.utility, governance)
    failure = f"release.json states utility limits that are neither met nor waived: {', '.join(let_be)}"
    log.check("utility limits: met or waived", not let_be, "RR118", failure)
    if governance.to_json() != Governance().to_json():
        log.claim(file, "what people declared and decided", "governance")
    review = governance.context.review
    if review is not None and today > review:
        message = f"the policy was to be reviewed by {review}; nothing is released under it since"
        log.points.append(JudgementPoint(REVIEW_KEY, message))
    log.points += [JudgementPoint(w.finding, f"the policy lets be: {w.finding}", w) for w in governance.waivers]


def check_waivers_at_release(log: Log, manifest: Manifest, record: Mapping[str, Any]) -> None:
    """Check that no waiver had expired, and no review was due, when the release was made, by the record's time.

    Args:
        log: takes the checks.
        manifest: release.json.
        record: audit.json.
    """
    day = datetime.fromisoformat(record["time"]).date() - _CLOCKS
    governance = manifest.governance
    gone = [waiver.finding for waiver in governance.waivers if waiver.expired(day)]
    failure = f"when the release was made, these waivers had expired: {', '.join(gone)}"
    log.check("waivers when it was released", not gone, "RR122", failure)
    review = governance.context.review
    put_off = any(waiver.finding == REVIEW_KEY for waiver in governance.waivers)
    failure = f"when the release was made, the policy's review of {review} was due"
    log.check("review when it was released", review is None or day <= review or put_off, "RR122", failure)


def check_policy_declarations(log: Log, manifest: Manifest, policy: Policy, file: str, by: str) -> None:
    """Check that the policy as written has the declarations in release.json.

    Args:
        log: takes the check.
        manifest: release.json.
        policy: as its file in audit/ states it.
        file: release.json's name in the bundle.
        by: the versions that wrote the bundle; "" if these.
    """
    agree = policy.governance.digest() == manifest.governance_digest
    failure = "audit/policy.toml does not declare what release.json says that people declared and decided"
    if log.again("policy.toml: what it declares", agree, "RR122", failure, by):
        log.confirm(file, "governance")
        places = {waiver.finding: waiver.place for waiver in policy.governance.waivers}
        due = policy.place("context.review_by")
        log.points[:] = [replace(p, place=due if p.waiver is None else places[p.waiver.finding]) for p in log.points]
