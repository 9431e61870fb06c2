"""What a release guarantees, in the words of its privacy models, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rrpolicy.finding import CONDITION
from rrpolicy.policy.model import Role
from rrpolicy.releasing.report.protection import exact, named
from rrpolicy.report import Promise
from rrpolicy.untrusted.printable import listed

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.manifest.manifest import Manifest, StatedRequirement
    from rrpolicy.report import FindingRow


def promises(manifest: Manifest, models: Mapping[str, object]) -> tuple[Promise, ...]:
    """Return what is guaranteed, requirement by requirement.

    Args:
        manifest: of the release.
        models: privacy models by name, which say what they promise.
    """
    stated: Sequence[StatedRequirement | None] = manifest.requirements
    if len(stated) != len(manifest.findings):
        stated = [None] * len(manifest.findings)
    pairs = zip(manifest.findings, stated, strict=True)
    return tuple(_promise(finding, requirement, models) for finding, requirement in pairs)


def _promise(finding: Finding, requirement: StatedRequirement | None, models: Mapping[str, object]) -> Promise:
    verdict = "measured" if finding.verdict is None else finding.verdict.value
    told = "" if requirement is None else _told(requirement, models)
    if told and requirement is not None and requirement.where:
        told = f"{told.removesuffix('.')}, for {listed(f'{k} = {v}' for k, v in requirement.where.items())} only."
    if told and finding.given:
        told = f"{told.removesuffix('.')}, {CONDITION}."
    return Promise(told, f"{finding.model}: {finding.requirement}", verdict)


def _told(requirement: StatedRequirement, models: Mapping[str, object]) -> str:
    """Return what a model promises; "" if it does not say, or if its options are not published."""
    model = models.get(requirement.model)
    promise = getattr(model, "promise", None)
    if promise is None or not requirement.options:
        return ""
    try:
        options = getattr(model, "options").model_validate(requirement.options)  # noqa: B009 models are of many types
    except ValidationError:
        return ""
    return str(promise(options))


def left_open(manifest: Manifest, rows: Sequence[FindingRow], points: Sequence[str]) -> tuple[str, ...]:
    """Return what is not guaranteed: what a person must judge first, then what no requirement covers.

    Args:
        manifest: of the release.
        rows: of the findings, with what each does not cover.
        points: that need a person's judgement.
    """
    return tuple(dict.fromkeys([*points, *_found(manifest), *_uncovered(rows)]))


def _found(manifest: Manifest) -> Iterator[str]:
    """Yield that rows can be found by quasi-identifiers that are exact."""
    known = [name for name in exact(manifest) if manifest.of_column[name].role is Role.QUASI_IDENTIFIER]
    if known:
        verb = "is" if len(known) == 1 else "are"
        yield f"{named(known)} {verb} exact: whoever knows that of a person finds the rows that fit"


def _uncovered(rows: Sequence[FindingRow]) -> Iterator[str]:
    """Yield what is not covered, the first of each requirement before the second of any."""
    most = max((len(row.not_covered) for row in rows), default=0)
    for place in range(most):
        yield from (row.not_covered[place] for row in rows if place < len(row.not_covered))
