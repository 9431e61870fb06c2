"""What the public page alone shows, gathered from public/ alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.report import Published
from rrpolicy.report_blocks import figure
from rrpolicy.reports.context import declared
from rrpolicy.reports.protection import protections
from rrpolicy.reports.public.accuracy import accuracy
from rrpolicy.reports.public.counting import countings
from rrpolicy.reports.public.downloads import downloads
from rrpolicy.reports.public.promises import left_open, promises
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


def published(
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
    counted = countings(release)
    return Published(
        about=tuple(_about(manifest)),
        usage=usage(release, counted),
        protection=protections(manifest),
        accuracy=accuracy(release, counted),
        promises=promises(manifest.findings),
        open=left_open(manifest, rows, points),
        owner=manifest.policy.owner,
        downloads=downloads(public, manifest),
    )


def _about(manifest: Manifest) -> Iterator[str]:
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
    stated = declared(manifest.governance.context)
    yield from (f"{stated[key].name}: {stated[key].value}." for key in TOLD if key in stated)
