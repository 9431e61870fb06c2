"""public/release.json, built once from what was planned, found and written; see `rrpolicy.manifest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.canonical import Json, file_digest, own_digest
from rrpolicy.codec.writing import plain
from rrpolicy.finding import Basis
from rrpolicy.manifest.manifest import (
    Data,
    DataTable,
    Manifest,
    PolicyIdentity,
    ReleasedAttribute,
    Series,
    StatedRequirement,
    Units,
)
from rrpolicy.policy.governance import UNDECLARED, Governance
from rrpolicy.policy.model import Attribute, Role

if TYPE_CHECKING:
    from rrpolicy.policy.model import Requirement
    from rrpolicy.releasing.plan.assess import Assessment
    from rrpolicy.releasing.plan.plan import Plan
    from rrpolicy.releasing.tables.sink import Written


def manifest(
    plan: Plan,
    assessment: Assessment,
    written: Mapping[str, Written],
    *,
    label: str | None,
    test: bool,
    governance: Governance = UNDECLARED,
    series: Series | None = None,
    collected: str | None = None,
) -> Manifest:
    """Return the manifest without the digests of the files beside it.

    Args:
        plan: that was executed, settled.
        assessment: of its channel, before the draw.
        written: the data files.
        label: of the release, such as `2026-11`.
        test: the draw came from a test's seed; verify refuses it.
        governance: of the policy as its file states it now.
        series: that the release belongs to.
        collected: digest of the questionnaire that its records were collected with.
    """
    policy, channel, settings = plan.policy, plan.channel, plan.policy.release
    described = channel.to_public_json()
    assert isinstance(described, dict)
    return Manifest(
        release=label,
        policy=PolicyIdentity(policy.name, policy.version, policy.owner, policy.purpose, plan.policy_digest),
        software=plan.software,
        records=plan.records,
        units=Units(policy.source.max_records, assessment.tested),
        mechanism=policy.mechanism.name,
        plan_on=policy.mechanism.elsewhere,
        attributes=tuple(map(_attribute, policy.released)),
        channel=described,
        decoders=channel.decoders(),
        tables=channel.tables(),
        data=Data(
            settings.format,
            settings.csv_formulas,
            {name: DataTable(w.path, w.rows, w.digest) for name, w in written.items()},
        ),
        requirements=tuple(map(stated_requirement, policy.requirements)),
        findings=tuple(finding.up_to(Basis.RELEASE) for finding in assessment.findings),
        # what is to be expected is a statistic of the original
        utility=tuple(finding.public() for finding in assessment.utility),
        origins=plan.origins,
        derived=plan.derived,
        assumptions=assessment.assumptions,
        governance=governance,
        governance_digest=governance.digest(),
        require_signatures=settings.require_signatures,
        series=series,
        collected=collected,
        test=test,
    )


def stated_requirement(requirement: Requirement) -> StatedRequirement:
    """Return a requirement as a manifest states it."""
    options = plain(requirement.options)
    assert isinstance(options, dict)
    return StatedRequirement(requirement.model, options, requirement.where)


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


def _attribute(attribute: Attribute) -> ReleasedAttribute:
    known = ReleasedAttribute(**{f.name: getattr(attribute, f.name) for f in fields(ReleasedAttribute)})
    return replace(
        known,
        release_as=attribute.release_as or attribute.name,
        nulls=attribute.nulls if attribute.categorical else None,
        hierarchy=attribute.hierarchy if attribute.role is Role.SENSITIVE else None,
    )
