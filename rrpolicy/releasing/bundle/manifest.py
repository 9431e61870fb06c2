"""public/release.json: what was released, how, and what holds of it. Read by verify, by estimate and by people.

It holds nothing whose basis is the original, no time, no host and no path.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rrpolicy.canonical import Json, file_digest, own_digest
from rrpolicy.finding import Basis
from rrpolicy.policy.model import Attribute, Role
from rrpolicy.releasing.plan.assess import Assessment, UtilityFinding
from rrpolicy.releasing.plan.plan import Plan
from rrpolicy.releasing.tables.sink import Written

SCHEMA = "rrpolicy.release/1"
NAME = "release.json"


def manifest(
    plan: Plan, assessment: Assessment, written: Mapping[str, Written], *, label: str | None, test: bool
) -> dict[str, Json]:
    """Return release.json without the digests of the files beside it.

    Args:
        plan: that was executed, settled.
        assessment: of its channel, before the draw.
        written: the data files.
        label: of the release, such as `2026-11`.
        test: the draw came from a test's seed; verify refuses it.
    """
    policy, channel = plan.policy, plan.channel
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "release": label,
        "policy": {
            "name": policy.name,
            "version": policy.version,
            "owner": policy.owner,
            "purpose": policy.purpose,
            "digest": plan.policy_digest,
        },
        "software": dict(plan.software),
        "records": plan.records,
        "units": {"max_records": policy.source.max_records, "tested": assessment.tested},
        "mechanism": policy.mechanism.name,
        "plan_on": policy.mechanism.elsewhere,
        "attributes": [_attribute(a) for a in policy.released],
        "channel": channel.to_public_json(),
        "decoders": [d.to_json() for d in channel.decoders()],
        "tables": [t.to_json() for t in channel.tables()],
        "data": {
            "format": policy.release.format,
            "csv_formulas": policy.release.csv_formulas,
            "tables": {name: {"path": w.path, "rows": w.rows, "digest": w.digest} for name, w in written.items()},
        },
        "requirements": [r.to_json() for r in policy.requirements],
        "findings": [f.to_json(up_to=Basis.RELEASE) for f in assessment.findings],
        "utility": [_utility(u) for u in assessment.utility],
        "origins": {name: origin.value for name, origin in plan.origins.items()},
        "derived": [statistic.to_json() for statistic in plan.derived],
        "assumptions": list(assessment.assumptions),
    }
    if test:
        document["test"] = True
    return document


def sealed(document: Mapping[str, Json], files: Mapping[str, str]) -> dict[str, Json]:
    """Return a record with the digests of the files that it covers, and its own.

    Args:
        document: the record, without `files` and `digest`.
        files: relative path -> digest of its bytes.
    """
    whole: dict[str, Json] = {**document, "files": dict(sorted(files.items()))}
    return {**whole, "digest": own_digest(whole)}


def file_digests(folder: Path, *, but: str) -> dict[str, str]:
    """Return the digest of every file of a folder but one, by relative path with slashes."""
    found = (p for p in folder.rglob("*") if p.is_file())
    paths = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: file_digest(path) for name, path in sorted(paths.items()) if name != but}


def _attribute(attribute: Attribute) -> Json:
    return {
        "name": attribute.name,
        "release_as": attribute.release_as or attribute.name,
        "role": attribute.role.value,
        "domain": None if attribute.domain is None else list(attribute.domain),
        "observed": attribute.observed,
        "nulls": attribute.nulls if attribute.categorical else None,
        "scale": attribute.scale,
        "hierarchy": _hierarchy(attribute),
        "assume_unlinkable": attribute.assume_unlinkable,
        "unchanged": attribute.unchanged,
    }


def _hierarchy(attribute: Attribute) -> Json:
    """Return the levels of a sensitive attribute, by which t-closeness may be measured; null for any other."""
    if attribute.hierarchy is None or attribute.role is not Role.SENSITIVE:
        return None
    return [list(level) for level in attribute.hierarchy]


def _utility(finding: UtilityFinding) -> Json:
    """Return a utility gate as the public may see it: the number is a statistic of the original."""
    document = finding.to_json()
    assert isinstance(document, dict)
    return {**document, "value": None, "standing": None, "error": None}
