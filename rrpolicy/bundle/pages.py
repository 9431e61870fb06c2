"""The report's pages of a bundle, printed by the loaded renderers."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from rrpolicy.bundle.manifest import ReleaseStatement
from rrpolicy.bundle.staging import Staging
from rrpolicy.bundle.tables.writer import WrittenTable
from rrpolicy.canonical_json import Json
from rrpolicy.channels.base import Channel
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.errors import PLUGIN_CONTRACT_CODE, RRPolicyError
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.finding import Measure, Verdict
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest, ManifestSeries
from rrpolicy.numbers import at_most_decimals, figure
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.key_storage import KeyStorage
from rrpolicy.planning.plan import Plan
from rrpolicy.planning.plan_result import marginal_errors
from rrpolicy.plugin_errors.distributions import find_author
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.units import UNDECIDED, UNIT_WAYS, unit_check_method
from rrpolicy.registry import Registry
from rrpolicy.report import AssociationRow
from rrpolicy.wording import MET

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport
    from rrpolicy.counts import Counts
    from rrpolicy.estimate.release import Release
    from rrpolicy.planning.ledger_account import BudgetCheck
    from rrpolicy.policy.model import Gate
    from rrpolicy.report import Fact, Report, Section
    from rrpolicy.reports.alternatives import AlternativesRecord
    from rrpolicy.reports.report_builder import AuditPageInput
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.metric import UtilityMetric


class ExecutedPlan(Struct, frozen=True):
    """A plan that was drawn into a staging folder.

    Attributes:
        plan: settled, with its source tag.
        original: the table; None if its records were collected, each randomised before it was sent.
        series: the series that the release belongs to; None if it belongs to none.
        draw: see `rrpolicy.planning.ledger_account.draw_id`.
        weighed: the budget used with earlier releases of the same people; None if the policy names no ledger.
        questionnaire: the questionnaire of its collected records; None if it was drawn from a table.
    """

    plan: Plan
    policy: Policy
    assessment: Assessment
    written: Mapping[str, WrittenTable]
    registry: Registry
    original: Original | None
    staging: Staging
    stated: ReleaseStatement
    policy_file: Path | None
    custody: KeyStorage
    series: ManifestSeries | None
    draw: str
    weighed: BudgetCheck | None
    test: bool
    questionnaire: Questionnaire | None = None

    @property
    def released(self) -> Mapping[str, Sequence[int]]:
        """Return the released records of each label, by category column."""
        return {name: counts for table in self.written.values() for name, counts in table.counts.items()}

    @property
    def joint(self) -> Counts | None:
        """Return the released records of each combination of labels, if one table has them and they were counted."""
        return self.written["data"].joint if "data" in self.written else None


COLUMNS = 12
"""The most columns whose pairs are examined: the first of the policy that have categories."""
MOST = 3
CELLS = 10_000
"""The most cells of a pair's table for which it is examined."""
ESTIMATED = 256
"""The most cells of a pair's table for which it is estimated: the likeliest table is found at once."""
MOST_CELLS = 1 << 16
"""The most cells of several columns that are counted together."""
DIGITS = 2


def strongest_associations(original: Original, release: Release) -> tuple[AssociationRow, ...]:
    """Return the pairs of columns with the largest Cramér's V in the original, each with its estimate."""
    found = sorted(_original_associations(original), key=lambda pair: -pair[0])[:MOST]
    _prefetch_pair_counts(release, [name for v, cells, *pair in found if v > 0 and cells <= ESTIMATED for name in pair])
    return tuple(_association_row(release, v, cells, one, other) for v, cells, one, other in found if v > 0)


def _original_associations(original: Original) -> Iterator[tuple[float, int, str, str]]:
    """Yield V of pairs of attributes, with their cells and their released names."""
    from rrpolicy.privacy.epsilon.association import exact_cramers_v

    known = [a for a in original.policy.released if a.domain is not None][:COLUMNS]
    for one, other in combinations(known, 2):
        cells = len(one.domain or ()) * len(other.domain or ())
        if cells <= CELLS:
            v = exact_cramers_v(original, one.name, other.name).value
            yield v, cells, one.release_as or one.name, other.release_as or other.name


def _prefetch_pair_counts(release: Release, names: Sequence[str]) -> None:
    """Count the cells of some columns together, in one pass, from which the table of each pair follows."""
    known = release.columns.axes
    axes = list({id(axis): axis for axis in (known[name] for name in names if name in known)}.values())
    unfit = any(isinstance(axis, (AnatomyWeights, SetWeights)) for axis in axes)
    if axes and not unfit and math.prod(len(axis.released) for axis in axes) <= MOST_CELLS:
        count(release.data, axes)


def _association_row(release: Release, v: float, cells: int, one: str, other: str) -> AssociationRow:
    untold = AssociationRow((one, other), figure(v, DIGITS), None, None)
    if {one, other} & release.columns.spread.keys():  # labels go together otherwise than what they stand for
        return untold
    if cells > ESTIMATED:
        return untold
    try:
        found = release.association(one, other, "cramers_v")
    except RRPolicyError:
        return untold
    (estimate,), (error,) = found.estimate.tolist(), found.se().tolist()
    if not math.isfinite(estimate):
        return untold
    return replace(untold, estimate=_format_v(estimate), error=_format_v(error) if math.isfinite(error) else None)


def _format_v(v: float) -> str:
    return at_most_decimals(v, 3, DIGITS)


T = TypeVar("T")
log = logging.getLogger("rrpolicy")
SAMPLERS = {
    "cells": "identical records batched",
    "records": "record by record",
    "records/2": "record by record, in blocks",
    "series": "record by record, by the lasting numbers of its person",
}
"""Names of the samplers, which are chosen by public facts and do not change the distribution."""


def render_public_page(
    public: Path,
    manifest: Manifest,
    registry: Registry,
    channel: Channel,
    released: Mapping[str, Sequence[int]] | None = None,
) -> Mapping[str, bytes]:
    """Return report.html of public/ by its name; nothing if no renderer for it is loaded.

    The page cannot name the digest of release.json, which covers the page. `channel` is the published or the planned
    one: without the original both have the same sections.
    """
    from rrpolicy.reports.report_builder import public_report

    sections = channel.sections(manifest.records, None)
    models, formats = registry.privacy_models, registry.formats
    report = public_report(public, manifest, released=released, models=models, sections=sections, formats=formats)
    return rendered_report_files(report, registry, ("html",))


def render_audit_pages(
    executed: ExecutedPlan, manifest: Manifest, record: Mapping[str, Json], written: Mapping[str, bytes]
) -> Mapping[str, bytes]:
    """Return report.html and report.json of audit/, by name."""
    from rrpolicy.bundle.manifest import full_manifest
    from rrpolicy.reports.report_builder import audit_report

    public = executed.staging.public
    own = None if executed.policy_file is None else str(executed.policy_file)
    pieces = build_audit_pieces(
        *(executed.plan, executed.assessment, executed.registry, record, executed.original, public),
        policy_file=own,
        written=written,
        joint=executed.joint,
    )
    report = audit_report(public, full_manifest(manifest, executed.plan), pieces, released=executed.released)
    return rendered_report_files(report, executed.registry, ("html", "json"))


def build_audit_pieces(  # noqa: PLR0917 each is another thing
    plan: Plan,
    assessment: Assessment,
    registry: Registry,
    record: Mapping[str, Json],
    original: Original | None,
    public: Path,
    *,
    policy_file: str | None,
    written: Mapping[str, bytes] = MappingProxyType({}),
    attacked: AttackReport | None = None,
    compared: AlternativesRecord | None = None,
    joint: Counts | None = None,
) -> AuditPageInput:
    """Return the contents of the audit page beyond the public one.

    Without `original` its counts are left out. `record`, audit.json, needs no `files` and `digest` yet. `joint` has the
    released records of each combination of labels, if they are counted already.
    """
    from rrpolicy.report import Fact
    from rrpolicy.reports.marginals import original_category_shares
    from rrpolicy.reports.report_builder import WITHHELD_NOTE, AuditPageInput, dropped_columns

    facts = [
        ("Time", record["time"]),
        ("Commit of the policy's repository", record["policy_commit"]),
        ("Digest of the plan", record["plan_digest"]),
        ("Keyed hash (HMAC) of the source", record["source_tag"]),
        ("Source given as" if plan.source_tag else "Collected table given as", record["source_given_as"]),
        ("Key", KeyStorage(str(record["key"])).meaning(series=plan.policy.release.series is not None)),
        ("Matrices", WITHHELD_NOTE if plan.policy.release.withholds else None),
        ("Path of the sampler", SAMPLERS.get(getattr(plan.channel, "sampler", "")) if plan.source_tag else None),
        ("Records of a person", unit_check_method(tested=True) if assessment.tested else None),
        ("Original", None if plan.source_tag else "none: each record was randomised before it was sent"),
    ]
    writers = record["writers"]
    assert isinstance(writers, dict)
    facts += [(f"Written by {name}", version) for name, version in writers.items()]
    return AuditPageInput(
        findings=(*assessment.findings, *assessment.attained),
        utility=assessment.utility,
        realised=() if original is None else _realised_measures(plan, registry, public, original, joint),
        origins=plan.origins,
        remarks=plan.remarks,
        shares={} if original is None else original_category_shares(original),
        dropped=dropped_columns(plan.policy),
        provenance=tuple(Fact(name, str(value)) for name, value in facts if value),
        sections=(
            *_composition_sections(record),
            *(() if original is None else plan.channel.sections(plan.records, original)),
        ),
        models=registry.privacy_models,
        formats=registry.formats,
        policy_file=policy_file,
        attacked=attacked,
        compared=compared,
        time=str(record["time"]),
        errors=()
        if original is None
        else _computed_or_empty("the expected errors", lambda: marginal_errors(plan, original)),
        associations=_association_rows(plan, registry, public, original, joint),
        following=_audit_next_steps(plan, assessment, record),
        texts=tuple(
            Fact(name, written[name].decode("utf-8", "replace")) for name in sorted(written) if name.endswith(".toml")
        ),
        untested=(unit_check_method(tested=False),) if assessment.untested else (),
        selected_from=assessment.selected_from,
        protection=assessment.protection,
    )


def _audit_next_steps(plan: Plan, assessment: Assessment, record: Mapping[str, Json]) -> tuple[Fact, ...]:
    """Return the next steps for a release, each with its command."""
    from rrpolicy.report import Fact

    policy = plan.policy
    options = ["--source TABLE"] if plan.source_tag else []
    options += ["--key KEY"] if plan.source_tag and KeyStorage(str(record["key"])) is not KeyStorage.DESTROYED else []
    options += ["--plan-on TABLE"] if plan.plan_on is not None else []
    options += ["--reference TABLE"] if policy.reference is not None else []
    options += ["--ledger FILE"] if policy.ledger is not None else []
    options += ["--signed-by SIGNER.pub"] * policy.release.require_signatures
    undecided = list(_undecidable_checks(plan, assessment, record))
    check = " ".join(["rrpolicy verify BUNDLE", *options, *([] if undecided else ["--strict"])])
    verifying = "Verify it: everything here is computed again"
    if undecided:
        verifying = f"{verifying} as far as the table allows; it stays undecided {'; and '.join(undecided)}"
    return (
        Fact(verifying, check),
        Fact("Attack it: attained and predicted risks", "rrpolicy attack BUNDLE --source TABLE"),
        Fact("Sign your decision, once verified", "rrpolicy sign BUNDLE --key APPROVER.pem"),
    )


def _undecidable_checks(plan: Plan, assessment: Assessment, record: Mapping[str, Json]) -> Iterator[str]:
    """Yield the checks that no verification of a release can decide, each with the missing input: `--strict` fails."""
    if plan.source_tag is None:
        yield f"{UNDECIDED}, since nobody has the collected table as it was"
        return
    if not record["policy_files"]:
        yield "what the policy declares as written, since its file was not at hand"
    if KeyStorage(str(record["key"])) is KeyStorage.DESTROYED:
        kept = "a release with --key keeps it"
        yield f"whether the source and the key give this release, since the key was destroyed ({kept})"
    if assessment.untested:
        yield f"{UNDECIDED}, since no column identifies people: {UNIT_WAYS}"
    if plan.policy.release.series is not None and plan.policy.ledger is None:
        yield "how the mechanism chose at the first release of the series (a ledger knows it)"
    for finding in assessment.findings:
        if finding.verdict is Verdict.UNDECIDED:
            yield f"whether {finding.model}: {finding.requirement} is {MET}"


def _composition_sections(record: Mapping[str, Json]) -> Iterator[Section]:
    """Yield the sections on the release together with earlier ones of the same people, by audit.json."""
    from rrpolicy.report import Section

    stated = record.get("together")
    if not isinstance(stated, dict) or not stated["earlier"]:
        return
    earlier, requirements, uncomposed = stated["earlier"], stated["requirements"], stated["uncomposed"]
    assert isinstance(earlier, list)
    assert isinstance(requirements, list)
    names = ", ".join(map(str, earlier))
    paragraphs = [f"Earlier releases that may contain the same people: {names}.", f"Composed so: {stated['rule']}."]
    if uncomposed is not None:
        paragraphs.append(f"No guarantee for all releases together; released all the same, because {uncomposed}.")
    rows = tuple(tuple(str(each[key]) for key in _TOGETHER) for each in requirements if isinstance(each, dict))
    yield Section(TOGETHER, tuple(paragraphs), header=tuple(_TOGETHER.values()), table=rows)


TOGETHER = "Together with earlier releases"
_TOGETHER = {"requirement": "Requirement", "verdict": "Verdict", "told": "Results"}


def _association_rows(
    plan: Plan, registry: Registry, public: Path, original: Original | None, joint: Counts | None
) -> tuple[AssociationRow, ...]:
    """Return the strongest associations of the original, if it is available and its release can be counted."""
    from rrpolicy.estimate.opening import is_countable
    from rrpolicy.manifest.sealed_manifest import read_release

    if original is None or not is_countable(read_release(public)):
        return ()
    table = original
    return _computed_or_empty(
        "the associations", lambda: strongest_associations(table, _reopened_release(plan, registry, public, joint))
    )


def _reopened_release(plan: Plan, registry: Registry, public: Path, joint: Counts | None) -> Release:
    """Return the release as opened with its plan, its records counted if the writer did."""
    from rrpolicy.bundle.manifest import full_manifest
    from rrpolicy.estimate.counts.scan import prime_cache
    from rrpolicy.estimate.opening import release_of
    from rrpolicy.manifest.sealed_manifest import read_release

    release = release_of(public, full_manifest(read_release(public), plan), registry.formats)
    if joint is not None:
        axes = {id(axis): axis for axis in release.columns.axes.values() if set(axis.columns) <= set(joint.attributes)}
        prime_cache(release.data, tuple(axes.values()), joint)
    return release


def _computed_or_empty(what: str, compute: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
    """Return an informative result; () if it cannot be computed, such as for an inconsistent plugin axis."""
    try:
        return compute()
    except Exception as error:  # noqa: BLE001 a release is complete without it
        log.warning("%s are not in the audit report: %s", what, type(error).__name__)
        return ()


def _realised_measures(
    plan: Plan, registry: Registry, public: Path, original: Original, joint: Counts | None
) -> tuple[Measure | str | None, ...]:
    """Return this draw's actual values, after the fact: shown to the audit, and never a reason to draw again.

    If a metric fails, text has the reason: a release is complete without it.
    """
    if not plan.policy.gates:
        return ()
    release = _reopened_release(plan, registry, public, joint)
    metrics = registry.utility_metrics
    return tuple(_realised_measure(metrics[gate.metric], gate, release, original) for gate in plan.policy.gates)


def _realised_measure(
    metric: UtilityMetric[Any], gate: Gate, release: Release, original: Original
) -> Measure | str | None:
    """Return a metric's value for a release, or that it is not available."""
    try:
        return check_return_type(Measure | None, metric.realised)(gate.options, release, original)
    except Exception as error:  # noqa: BLE001 whatever it is
        if isinstance(error, RRPolicyError) and error.problems[0].code == PLUGIN_CONTRACT_CODE:
            why = error.problems[0].message
        else:
            why = f"{find_author(metric)}: `{type(metric).__qualname__}.realised` failed: {type(error).__name__}"
        log.warning("what this draw attained by %s is not available: %s", gate.metric, why)
        return f"not available ({why})"


def rendered_report_files(report: Report, registry: Registry, names: Sequence[str]) -> Mapping[str, bytes]:
    """Return a report in each of the forms with a loaded renderer, by file name."""
    renderers = registry.renderers
    chosen = [renderers[name] for name in names if name in renderers]
    return {f"report{renderer.suffix}": check_return_type(bytes, renderer.render)(report) for renderer in chosen}
