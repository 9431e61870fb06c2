"""How an analyst uses a release: whether rows may be counted, and lines that work in the folder of its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rrpolicy.escaping.shell import command_line
from rrpolicy.formats.format import CORE_FORMATS
from rrpolicy.report import Usage
from rrpolicy.report_blocks import Fact
from rrpolicy.reports.public.counting_method import CountingMethod
from rrpolicy.reports.wording import columns_phrase

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


def usage(release: Release, countings: Mapping[str, CountingMethod]) -> Usage:
    """Return how the release is used.

    Args:
        release: opened; its data are not read.
        countings: how records are counted by each of its columns.
    """
    by = _example_columns(release, countings)
    form = release.manifest.data.format
    plugins = () if form in CORE_FORMATS else release.manifest.made_with("rrpolicy_formats")
    loading = f", plugins={list(plugins)!r}" if plugins else ""
    asked = "what_holds()" if by is None else f"crosstab({list(by)!r})"
    options = {"--by": by or (), "--plugin": plugins}
    return Usage(
        rule=counting_rule(countings),
        counting=tuple(
            Fact(columns_phrase(columns), how.value) for how, columns in _columns_by_method(countings).items()
        ),
        python=(
            "import rrpolicy",
            "",
            f'release = rrpolicy.open_release("."{loading})',
            f"found = release.{asked}",
            "print(found.summary())",
        ),
        command=command_line("what-holds" if by is None else "estimate", ".", options=options),
    )


def counting_rule(countings: Mapping[str, CountingMethod]) -> str:
    """Return whether rows may be counted: the sentence to know before anything else."""
    alike = _columns_by_method(countings)
    right = [name for name, how in countings.items() if how.rows]
    wrong = [name for name, how in countings.items() if how.estimated]
    lost = [name for name, how in countings.items() if not how.rows and not how.estimated]
    if not wrong and not lost:
        coarse = " by label" if CountingMethod.LABELS in alike else ""
        return f"Counting rows{coarse} is right: nothing was changed at random."
    said = []
    if wrong and right:
        said.append(f"Do not count rows by {columns_phrase(wrong)}: use the estimates.")
    elif wrong:
        said.append("Do not count rows: use the estimates.")
    if lost:
        said.append(f"Nothing can be counted by {columns_phrase(lost)}.")
    if right:
        said.append(f"By {columns_phrase(right)} alone, counting rows is right.")
    return " ".join(said)


def _columns_by_method(countings: Mapping[str, CountingMethod]) -> Mapping[CountingMethod, list[str]]:
    """Return the columns by which records are counted in each way; what is estimated comes first."""
    order = sorted(CountingMethod, key=lambda how: (how.rows, not how.estimated))
    found = {how: [name for name, own in countings.items() if own is how] for how in order}
    return {how: names for how, names in found.items() if names}


def _example_columns(release: Release, countings: Mapping[str, CountingMethod]) -> tuple[str, ...] | None:
    """Return the columns of a table to begin with; None where no count can be estimated of what was randomised."""
    estimated = [name for name, how in countings.items() if how.estimated]
    exact = [name for name, how in countings.items() if how.rows and name in release.columns.axes]
    if not estimated and CountingMethod.WITHHELD in countings.values():
        return None
    if estimated and countings[estimated[0]] is CountingMethod.GROUPS:
        return (*exact[:1], estimated[0])
    sensitive = [n for n in estimated if release.manifest.of_column[n].role.value == "sensitive"]
    return tuple((sensitive or estimated or exact)[:1])
