"""What a release guarantees, in the words of its privacy models, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.finding import CONDITION
from rrpolicy.policy.model import Role
from rrpolicy.report import Promise
from rrpolicy.reports.method_description import exact_columns
from rrpolicy.reports.wording import columns_phrase

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.report import FindingRow


def guarantee_rows(findings: Sequence[Finding]) -> tuple[Promise, ...]:
    """Return what is guaranteed, requirement by requirement."""
    return tuple(map(_guarantee_row, findings))


def _guarantee_row(finding: Finding) -> Promise:
    verdict = "measured" if finding.verdict is None else finding.verdict.value
    told = finding.promise
    if told and finding.given:
        told = f"{told.removesuffix('.')}, {CONDITION}."
    return Promise(told, f"{finding.model}: {finding.requirement}", verdict)


def not_guaranteed(manifest: Manifest, rows: Sequence[FindingRow], points: Sequence[str]) -> tuple[str, ...]:
    """Return what is not guaranteed: what a person must judge first, then what no requirement covers.

    Args:
        manifest: of the release.
        rows: of the findings, with what each does not cover.
        points: that need a person's judgement.
    """
    return tuple(dict.fromkeys([*points, *_quasi_identifier_sentences(manifest), *_uncovered_sentences(rows)]))


def _quasi_identifier_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield that rows can be found by quasi-identifiers that are exact."""
    known = [name for name in exact_columns(manifest) if manifest.of_column[name].role is Role.QUASI_IDENTIFIER]
    if known:
        verb = "is" if len(known) == 1 else "are"
        yield f"{columns_phrase(known)} {verb} exact: an attacker who knows that of a person finds the rows that fit"


def _uncovered_sentences(rows: Sequence[FindingRow]) -> Iterator[str]:
    """Yield what is not covered, the first of each requirement before the second of any."""
    most = max((len(row.not_covered) for row in rows), default=0)
    for place in range(most):
        yield from (row.not_covered[place] for row in rows if place < len(row.not_covered))
