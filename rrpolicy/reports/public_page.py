"""Content of the public page alone, gathered from public/ alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError
from rrpolicy.escaping.printable import command_line
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.sums.precision import Precision, precision
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.finding import CONDITION, Standing
from rrpolicy.formats.format import CORE_FORMATS
from rrpolicy.manifest.manifest import MANIFEST_FILE
from rrpolicy.numbers import figure, level_percent, percentage_points_up
from rrpolicy.privacy.units import ROWS_NOTE
from rrpolicy.report import AccuracyRow, Download, Fact, Promise, Published, Usage
from rrpolicy.reports.context import declared_facts
from rrpolicy.reports.method_description import COLLECTED, TEST, exact_columns, protection_facts
from rrpolicy.wording import MEASURED, columns_phrase, requirement_title, sentence

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights, Mask
    from rrpolicy.finding import Finding
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.report import FindingRow


class CountingMethod(StrEnum):
    """Method of counting records by a column; the value is its sentence."""

    EXACT = "Count rows: exact."
    NUMBERS = "Use the values directly: they are exact."
    LABELS = "Count rows by label: exact. Categories inside a label: estimates, with bounds that are certain."
    ESTIMATES = "Use estimates: a row counts with its weight."
    SETS = "Use estimates: a row counts, with its weight, for each value in its set."
    GROUPS = (
        "By itself exact: add up the counts of its table. With other columns: estimates, with bounds that are certain."
    )
    WITHHELD = "Do not count: values are randomised, and what would undo it is withheld."
    NOTHING = "Do not count: the released values reveal nothing about the original ones."

    @property
    def rows(self) -> bool:
        """Whether counting rows is correct."""
        return self in {CountingMethod.EXACT, CountingMethod.NUMBERS, CountingMethod.LABELS}

    @property
    def estimated(self) -> bool:
        """Whether counts are estimated."""
        return self in {CountingMethod.ESTIMATES, CountingMethod.SETS, CountingMethod.GROUPS}


def counting_methods(release: Release) -> Mapping[str, CountingMethod]:
    """Return the counting method of each released column, in the order of the files."""
    return {name: _column_counting_method(release, name) for name in release.columns.columns}


def _column_counting_method(release: Release, name: str) -> CountingMethod:
    known = release.columns
    if name in known.refused:
        withheld = any(name in decoder.columns for decoder in release.manifest.withheld)
        return CountingMethod.WITHHELD if withheld else CountingMethod.NOTHING
    if name in known.spread:
        return CountingMethod.LABELS
    return _axis_counting_method(known.axes[name], name) if name in known.axes else CountingMethod.NUMBERS


def _axis_counting_method(axis: AxisWeights, name: str) -> CountingMethod:
    if isinstance(axis, AnatomyWeights):
        return CountingMethod.GROUPS
    if not axis.randomised:
        return CountingMethod.EXACT
    try:
        column_precision(axis, name)
    except PolicyError:
        return CountingMethod.NOTHING
    return CountingMethod.SETS if isinstance(axis, SetWeights) else CountingMethod.ESTIMATES


def column_precision(axis: AxisWeights, name: str) -> Precision | None:
    """Return the precision of counts by one column of an axis, which may couple it with others.

    Raises:
        PolicyError: RR267 if the released values do not distinguish its categories.
    """
    return precision(axis, _category_combinations(axis, name) if len(axis.columns) > 1 else None)


def _category_combinations(axis: AxisWeights, name: str) -> Mask:
    """Return (V, k): the combinations that have each category of a column."""
    import numpy as np

    place = axis.columns.index(name)
    own = [cell[place] for cell in axis.original]
    return np.array([[value == category for category in dict.fromkeys(own)] for value in own], dtype=bool)


SHARES = (0.1, 0.5)
METHOD_TEXT: Mapping[CountingMethod, str] = {
    CountingMethod.EXACT: "Shares are exact.",
    CountingMethod.NUMBERS: "Values are exact.",
    CountingMethod.LABELS: "Shares of labels are exact; of the categories inside a label only bounds are known.",
    CountingMethod.ESTIMATES: f"Estimated, with a {level_percent(LEVEL)} interval.",
    CountingMethod.SETS: f"Estimated, with a {level_percent(LEVEL)} interval.",
    CountingMethod.GROUPS: "Shares by itself are exact; together with other columns only bounds are known.",
    CountingMethod.WITHHELD: "Nothing can be estimated.",
    CountingMethod.NOTHING: "Nothing can be estimated.",
}


def accuracy(release: Release, countings: Mapping[str, CountingMethod]) -> tuple[AccuracyRow, ...]:
    """Return the expected accuracy of shares: a row for each column with intervals, then those without, by method."""
    measured = {name: row for name, how in countings.items() if (row := _accuracy_row(release, name, how)) is not None}
    alike: dict[str, list[str]] = {}
    for name, how in countings.items():
        if name not in measured:
            alike.setdefault(METHOD_TEXT[how], []).append(name)
    rest = (AccuracyRow(columns_phrase(names), told, None, None, None) for told, names in alike.items())
    return (*measured.values(), *rest)


def _accuracy_row(release: Release, name: str, how: CountingMethod) -> AccuracyRow | None:
    axis = release.columns.axes.get(name)
    if how not in {CountingMethod.ESTIMATES, CountingMethod.SETS} or axis is None or not release.records:
        return None
    found = column_precision(axis, name)
    if found is None:
        return None
    tenth, half = (percentage_points_up(found.half_width(share, release.records, LEVEL)) for share in SHARES)
    standing = Standing.EXACT if found.exact else Standing.UPPER_BOUND
    return AccuracyRow(columns_phrase([name]), METHOD_TEXT[how], tenth, half, standing.value, LEVEL)


PAGE = "report.html"
FILE_TEXT: Mapping[str, str] = {
    "README.md": "how to count, in words, with SQL and R",
    "estimate.sql": "tables to begin with, in SQL for DuckDB",
    "questionnaire.json": "the questions, how answers were randomised, and the guarantees given to people",
    "datapackage.json": "the columns and their categories, for tools (Frictionless)",
    "croissant.json": "the same for catalogues and machine learning (Croissant)",
    "dpv.jsonld": "purpose, recipients, measures and risks, for tools (Data Privacy Vocabulary)",
}
WEIGHTS = "weights/"
_DIGITS = 12
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000


def downloads(public: Path, manifest: Manifest) -> tuple[Download, ...]:
    """Return the files: the data, their descriptions, and release.json, which contains the digests of all."""
    return tuple(_download_rows(public, manifest))


def _download_rows(public: Path, manifest: Manifest) -> Iterator[Download]:
    data = dict(told for table in manifest.tables for told in _table_parts(manifest, table.name))
    rest = {path: _file_description(path) for path in manifest.files if path not in {*data, PAGE}}
    first = [path for path in FILE_TEXT if path in rest]
    for path in (*data, *first, *(path for path in rest if path not in first)):
        digest = manifest.files.get(path, "")
        told = data.get(path) or rest[path]
        yield Download(path, told, file_size_text(public / path), digest.partition(":")[2][:_DIGITS])
    yield Download(MANIFEST_FILE, "the whole description, exactly, with the digest of every file", "", "")


def _table_parts(manifest: Manifest, name: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a table with their content."""
    told, stated = _table_description(manifest, name), manifest.data.tables[name]
    if manifest.data.rows_per_file is None:
        yield stated.files[0], told
        return
    for number, path in enumerate(stated.files):
        first = number * manifest.data.rows_per_file
        yield path, f"{told}: rows {first + 1:,} to {min(first + manifest.data.rows_per_file, stated.rows):,}"


def _table_description(manifest: Manifest, name: str) -> str:
    held = {"qit": "the records, each with the number of its group"}
    values = [c.name for table in manifest.tables if table.name == name for c in table.columns if c.kind == "category"]
    if name in held or name == "data":
        return held.get(name, "the records")
    return f"the values of {', '.join(values)}, by group"


def _file_description(path: str) -> str:
    if path.startswith(WEIGHTS):
        return "what a record weighs in each count, of the column in its name"
    return FILE_TEXT.get(path, "a file of the release")


def file_size_text(path: Path) -> str:
    """Return the size of a file; "" if it does not exist."""
    try:
        number = float(path.stat().st_size)
    except OSError:
        return ""
    for unit in _UNITS[:-1]:
        if number < _STEP:
            return f"{figure(number, 3)} {unit}"
        number /= _STEP
    return f"{figure(number, 3)} {_UNITS[-1]}"


def guarantee_rows(findings: Sequence[Finding]) -> tuple[Promise, ...]:
    """Return the guarantees, requirement by requirement."""
    return tuple(map(_guarantee_row, findings))


def _guarantee_row(finding: Finding) -> Promise:
    verdict = MEASURED if finding.verdict is None else finding.verdict.value
    told = finding.promise
    if told and finding.given:
        told = f"{told.removesuffix('.')}, {CONDITION}."
    return Promise(told, requirement_title(finding), verdict)


def not_guaranteed(manifest: Manifest, rows: Sequence[FindingRow], points: Sequence[str]) -> tuple[str, ...]:
    """Return the limits of the guarantees: points that need judgement first, then risks that no requirement covers."""
    return tuple(dict.fromkeys([*points, *_quasi_identifier_sentences(manifest), *_uncovered_sentences(rows)]))


def _quasi_identifier_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield a statement if rows can be found by exact quasi-identifiers."""
    known = [name for name in exact_columns(manifest) if manifest.of_column[name].role is Role.QUASI_IDENTIFIER]
    if known:
        verb = "is" if len(known) == 1 else "are"
        yield f"{columns_phrase(known)} {verb} exact: an attacker who knows that of a person finds the rows that fit"


def _uncovered_sentences(rows: Sequence[FindingRow]) -> Iterator[str]:
    """Yield uncovered risks, the first of each requirement before the second of any."""
    most = max((len(row.not_covered) for row in rows), default=0)
    for place in range(most):
        yield from (row.not_covered[place] for row in rows if place < len(row.not_covered))


def usage(release: Release, countings: Mapping[str, CountingMethod]) -> Usage:
    """Return the instructions for using the release."""
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
        command=command_line("estimate", *(["what-holds"] if by is None else []), ".", options=options),
    )


def counting_rule(countings: Mapping[str, CountingMethod]) -> str:
    """Return whether rows may be counted: the sentence to read first."""
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
    """Return the columns of each counting method; estimated ones first."""
    order = sorted(CountingMethod, key=lambda how: (how.rows, not how.estimated))
    found = {how: [name for name, own in countings.items() if own is how] for how in order}
    return {how: names for how, names in found.items() if names}


def _example_columns(release: Release, countings: Mapping[str, CountingMethod]) -> tuple[str, ...] | None:
    """Return the columns of a first table; None if no count of randomised columns can be estimated."""
    estimated = [name for name, how in countings.items() if how.estimated]
    exact = [name for name, how in countings.items() if how.rows and name in release.columns.axes]
    if not estimated and CountingMethod.WITHHELD in countings.values():
        return None
    if estimated and countings[estimated[0]] is CountingMethod.GROUPS:
        return (*exact[:1], estimated[0])
    sensitive = [n for n in estimated if release.manifest.of_column[n].role.value == "sensitive"]
    return tuple((sensitive or estimated or exact)[:1])


SERIES = (
    "It belongs to a series: all its releases draw an unchanged value of a person equally, so differences between "
    "releases are more certain."
)
INTRODUCTION_KEYS = ("licence", "recipients", "release_model")


def public_section(
    public: Path,
    release: Release,
    rows: Sequence[FindingRow],
    points: Sequence[str],
) -> Published:
    """Return the content of the public page alone."""
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
    if manifest.units.one_record is not None:
        each = f", one a person{manifest.units.selected}"
    owner, purpose = manifest.policy.owner, manifest.policy.purpose
    yield f"{figure(manifest.records, 15)} records{each}, protected{f' and published by {owner}' if owner else ''}."
    if manifest.units.of_rows:
        yield ROWS_NOTE
    if purpose:
        yield f"Purpose: {purpose}."
    if manifest.test:
        yield TEST
    if manifest.collected is not None:
        yield sentence(COLLECTED)
    if manifest.series is not None:
        yield SERIES
    stated = declared_facts(manifest.governance.context)
    yield from (f"{stated[key].name}: {stated[key].value}." for key in INTRODUCTION_KEYS if key in stated)
