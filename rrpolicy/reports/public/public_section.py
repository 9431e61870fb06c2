"""What the public page alone shows, gathered from public/ alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.report import Published
from rrpolicy.report_blocks import figure
from rrpolicy.reports.context import declared_facts
from rrpolicy.reports.method_description import protection_facts
from rrpolicy.reports.public.accuracy import accuracy
from rrpolicy.reports.public.counting_method import counting_methods
from rrpolicy.reports.public.downloads import downloads
from rrpolicy.reports.public.guarantees import guarantee_rows, not_guaranteed
from rrpolicy.reports.public.usage import usage

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.report import FindingRow

COLLECTED = "Each record was randomised on the person's own machine before it was sent, and there is no original table."
SERIES = (
    "It is one of a series: in all of its releases, a value of a person that has not changed is released alike, so "
    "that differences between releases are more certain."
)
TOLD = ("licence", "recipients", "release_model")
TEST = "It was drawn from a test's seed that anybody can know: it protects nobody."


def public_section(
    public: Path,
    release: Release,
    rows: Sequence[FindingRow],
    points: Sequence[str],
) -> Published:
    """Return what the public page alone shows.

    Args:
        public: the folder.
        release: opened; its manifest holds the digests of the files but the page's own.
        rows: of the findings.
        points: that need a person's judgement.
    """
    manifest = release.manifest
    counted = counting_methods(release)
    return Published(
        about=tuple(_about_sentences(manifest)),
        usage=usage(release, counted),
        protection=protection_facts(manifest),
        accuracy=accuracy(release, counted),
        promises=guarantee_rows(manifest.findings),
        open=not_guaranteed(manifest, rows, points),
        owner=manifest.policy.owner,
        downloads=downloads(public, manifest),
    )


def _about_sentences(manifest: Manifest) -> Iterator[str]:
    most = manifest.units.max_records
    each = "" if most == 1 else f", at most {figure(most)} a person"
    owner, purpose = manifest.policy.owner, manifest.policy.purpose
    yield f"{figure(manifest.records, 15)} records{each}, protected{f' and published by {owner}' if owner else ''}."
    if purpose:
        yield f"Purpose: {purpose}."
    if manifest.test:
        yield TEST
    if manifest.collected is not None:
        yield COLLECTED
    if manifest.series is not None:
        yield SERIES
    stated = declared_facts(manifest.governance.context)
    yield from (f"{stated[key].name}: {stated[key].value}." for key in TOLD if key in stated)
