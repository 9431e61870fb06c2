"""public/release.json, built once from the plan, the findings and the written files; see `rrpolicy.manifest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical, digest, file_digest, record_digest
from rrpolicy.channels.undisclosed_channel import UndisclosedChannel
from rrpolicy.declarations import EMPTY_GOVERNANCE, Governance, Role
from rrpolicy.finding import Basis, Finding, UtilityFinding
from rrpolicy.frozen import field_names, replace
from rrpolicy.manifest.manifest import (
    Data,
    DataTable,
    Manifest,
    ManifestSeries,
    PolicyIdentity,
    ReleasedAttribute,
    StatedRequirement,
    UnitBound,
)
from rrpolicy.policy.model import ROW_UNIT, Attribute
from rrpolicy.serialization import plain

if TYPE_CHECKING:
    from rrpolicy.bundle.tables.writer import WrittenTable
    from rrpolicy.channels.base import Channel
    from rrpolicy.planning.assess import Assessment
    from rrpolicy.planning.plan import Plan
    from rrpolicy.policy.model import ReleaseSettings, Requirement


class ReleaseStatement(Struct, frozen=True):
    """Options of a release that its documents repeat; each has the name of the option.

    Attributes:
        replaces: digest of release.json of the release that it corrects; None if it corrects none.
    """

    label: str | None = None
    replaces: str | None = None


NOTHING_STATED = ReleaseStatement()


def build_manifest(
    plan: Plan,
    assessment: Assessment,
    written: Mapping[str, WrittenTable],
    *,
    test: bool,
    stated: ReleaseStatement = NOTHING_STATED,
    governance: Governance = EMPTY_GOVERNANCE,
    series: ManifestSeries | None = None,
    collected: str | None = None,
) -> Manifest:
    """Return the manifest without the digests of the other files of public/.

    A `test` release is drawn from a test's seed, and verify refuses it.
    """
    policy, channel, settings = plan.policy, published_channel(plan), plan.policy.release
    described = channel.to_public_json()
    assert isinstance(described, dict)
    return Manifest(
        release=stated.label,
        policy=PolicyIdentity(policy.name, policy.version, policy.owner, policy.purpose, public_digest(plan)),
        software=plan.software,
        records=plan.records,
        units=UnitBound(
            policy.source.max_records, ROW_UNIT if policy.of_rows else None, policy.source.one_record_per_unit
        ),
        mechanism=policy.mechanism.name,
        plan_on=policy.mechanism.elsewhere,
        attributes=tuple(map(_released_attribute, policy.released)),
        channel=described,
        decoders=channel.decoders(),
        tables=channel.tables(),
        data=data_files_description(settings, written),
        requirements=tuple(stated_requirement(r, withheld=settings.withholds) for r in policy.requirements),
        findings=tuple(public_finding(finding, settings) for finding in assessment.findings),
        utility=public_utility(assessment.utility, settings),
        origins=plan.origins,
        derived=plan.derived,
        assumptions=assessment.assumptions,
        governance=governance,
        governance_digest=governance.digest(),
        require_signatures=settings.require_signatures,
        require_roles=settings.require_roles,
        require_approval=settings.require_approval,
        series=series,
        collected=collected,
        weights_inside=policy.weights_inside,
        replaces=stated.replaces,
        test=test,
    )


def data_files_description(settings: ReleaseSettings, written: Mapping[str, WrittenTable]) -> Data:
    """Return a manifest's description of data files written under a policy's settings."""
    tables = {name: DataTable(w.files, w.rows, w.digest) for name, w in written.items()}
    return Data(settings.format, settings.csv_formulas, settings.rows_per_file, tables)


def published_channel(plan: Plan) -> Channel:
    """Return the channel that release.json describes: that of the draw, or its public part without matrices."""
    return UndisclosedChannel.of(plan.channel) if plan.policy.release.withholds else plan.channel


def public_finding(finding: Finding, settings: ReleaseSettings) -> Finding:
    """Return a finding as release.json states it."""
    return finding.withheld() if settings.withholds else finding.up_to(Basis.RELEASE)


def public_utility(found: Sequence[UtilityFinding], settings: ReleaseSettings) -> tuple[UtilityFinding, ...]:
    """Return the utility findings for release.json.

    Expected values are statistics of the original. If matrices are withheld, so are limits from which they may be
    computed.
    """
    return () if settings.withholds else tuple(finding.public() for finding in found)


def public_digest(plan: Plan) -> str:
    """Return the policy's digest for release.json.

    If matrices are withheld, hashing a guess of the policy must not confirm it.
    """
    own = plan.policy_digest
    return digest_with_tag(own, plan.source_tag) if plan.policy.release.withholds else own


def digest_with_tag(told: str, source_tag: str | None) -> str:
    """Return a digest that includes the keyed hash of the source, so that it cannot be computed without the key."""
    return digest(canonical({"digest": told, "source_tag": source_tag}))


def full_manifest(public: Manifest, plan: Plan) -> Manifest:
    """Return the manifest with the matrices that public/ may withhold; for audit/, and for measurements."""
    if not public.withholds:
        return public
    described = plan.channel.to_public_json()
    assert isinstance(described, dict)
    policy = replace(public.policy, digest=plan.policy_digest)
    return replace(public, policy=policy, channel=described, decoders=plan.channel.decoders())


def stated_requirement(requirement: Requirement, *, withheld: bool = False) -> StatedRequirement:
    """Return a requirement as a manifest states it; its options contain limits, which may be withheld."""
    options = {} if withheld else plain(requirement.options)
    assert isinstance(options, dict)
    return StatedRequirement(requirement.model, options, requirement.where)


def sealed_record(document: Mapping[str, Json], files: Mapping[str, str]) -> dict[str, Json]:
    """Return a record with the digests of the files that it covers, and its own.

    `files` maps relative paths to digests of their bytes.
    """
    whole: dict[str, Json] = {**document, "files": dict(sorted(files.items()))}
    return {**whole, "digest": record_digest(whole)}


def file_digests(folder: Path, *, but: str) -> dict[str, str]:
    """Return the digest of every file of a folder but one, by relative path with slashes."""
    found = (p for p in folder.rglob("*") if p.is_file())
    paths = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: file_digest(path) for name, path in sorted(paths.items()) if name != but}


def _released_attribute(attribute: Attribute) -> ReleasedAttribute:
    same = (name for name in field_names(ReleasedAttribute) if name != "keeps_nulls")
    known = ReleasedAttribute(**{name: getattr(attribute, name) for name in same})
    return replace(
        known,
        release_as=attribute.release_as or attribute.name,
        nulls=attribute.nulls if attribute.categorical else None,
        keeps_nulls=attribute.nulls is not None and not attribute.categorical,
        hierarchy=attribute.hierarchy if attribute.role is Role.SENSITIVE else None,
    )
