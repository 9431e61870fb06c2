"""One-way tables of a release: released and reconstructed shares from public/ alone, original ones for the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import category_text
from rrpolicy.estimate.counts.grouping import GroupAxis
from rrpolicy.estimate.counts.scan import count, count_each, count_sets
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.opening import is_countable, release_of
from rrpolicy.estimate.results.flags import MEANINGS, SPREAD
from rrpolicy.estimate.results.table import (
    METHOD,
    UNIFORM_SPREAD_METHOD,
    Crosstab,
    CrosstabRow,
)
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.report import MarginalPanel, MarginalRow, ReleasedSet, SetPanel
from rrpolicy.reports.attributes import category_label

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights
    from rrpolicy.estimate.weights.recode import RecodeWeights
    from rrpolicy.source.protocol import Original


SURE = 1.0
"""Confidence level of certain limits: nothing was drawn."""
MOST = 200
"""Maximum number of categories of an attribute that are shown; the rarest of the release are omitted."""
WIDEST = 5_000
"""Maximum number of categories of a marginal that is reconstructed for the page."""
SETS = "Released as sets: the released share is the share of records whose set contains the category."
GROUPS = "Released by groups of records: exact for all records together, not for some of them."
DIGITS = 3
"""Decimals of original shares (0.1 %) unless the policy allows exact counts in audit/."""


def marginal_panels(
    public: Path,
    manifest: Manifest,
    released: Mapping[str, Sequence[int]] | None = None,
    formats: Formats = CORE_FORMATS,
) -> tuple[MarginalPanel, ...]:
    """Return the one-way table of every category column that can be estimated from a release.

    `released` has column -> released records of each label; columns without them are counted from the data file.
    """
    if not is_countable(manifest):
        return ()
    release = release_of(public, manifest, formats)
    if released is None:
        released = _label_counts(release)
    found = []
    for name, axis in release.columns.axes.items():
        if len(axis.original) > WIDEST:
            continue
        if isinstance(axis, AnatomyWeights):
            found.append(_group_table_panel(release, axis))
        elif name in release.columns.spread:
            found += _generalised_panels(release, release.columns.spread[name], released.get(name))
        elif len(axis.columns) == 1:
            found.append(_axis_marginal_panel(release, axis, released.get(name)))
        else:
            found.append(_coupled_marginal(release, axis, name))
    return tuple(found)


def released_label_counts(
    public: Path, manifest: Manifest, formats: Formats = CORE_FORMATS
) -> Mapping[str, Sequence[int]]:
    """Return column -> released records of each of its labels, for `marginal_panels`, in one pass."""
    if not is_countable(manifest):
        return {}
    return _label_counts(release_of(public, manifest, formats))


def _label_counts(release: Release) -> Mapping[str, Sequence[int]]:
    axes = {
        name: release.columns.spread.get(name, axis)
        for name, axis in release.columns.axes.items()
        if len(axis.original) <= WIDEST and not isinstance(axis, AnatomyWeights | SetWeights)
    }
    alone = {name: axis for name, axis in axes.items() if len(axis.columns) == 1}
    counts = count_each(release.data, tuple(alone.values()))
    return {name: n.tolist() for name, n in zip(alone, counts, strict=True)}


def _group_table_panel(release: Release, axis: AnatomyWeights) -> MarginalPanel:
    """Return the table of a column in a separate released table, unmodified."""
    counted = release.crosstab(axis.columns).rows
    rows = [
        _marginal_row(category_text(row.group[axis.columns[0]]), row.estimate / release.records, row, release.records)
        for row in counted
    ]
    return _shortened_panel(MarginalPanel(axis.columns[0], LEVEL, tuple(rows), GROUPS, left_out=0))


def _axis_marginal_panel(release: Release, axis: AxisWeights, known: Sequence[int] | None) -> MarginalPanel:
    counts = _released_counts(release, axis, known)
    shares = dict(zip(axis.released, counts[-len(axis.released) :] / release.records, strict=True))
    rows = [
        _marginal_row(category_text(cell[0]), shares.get(cell), row, release.records)
        for cell, row in zip(axis.original, reconstructed_crosstab(axis, counts, release.records).rows, strict=True)
    ]
    remark = SETS if isinstance(axis, SetWeights) else None
    return _shortened_panel(MarginalPanel(axis.columns[0], LEVEL, tuple(rows), remark, left_out=0))


def _generalised_panels(
    release: Release, axis: RecodeWeights, known: Sequence[int] | None
) -> tuple[MarginalPanel, ...]:
    """Return the table of a generalised column by released labels, exact, and that of the categories inside them.

    Labels without records are omitted, as is the table of labels if it equals the other.
    """
    counts = _released_counts(release, axis, known)
    shares = [float(n) / release.records for n in counts]
    labels = [
        MarginalRow(category_text(cell[0]), None, share, share, share, share, None)
        for cell, share in zip(axis.released, shares, strict=True)
        if share
    ]
    own = dict(zip(axis.released, shares, strict=True))
    within = reconstructed_crosstab(axis, counts, release.records).rows
    inside = [
        _marginal_row(category_text(cell[0]), own.get(cell), row, release.records)
        for cell, row in zip(axis.original, within, strict=True)
    ]
    name = axis.columns[0]
    categories = _shortened_panel(MarginalPanel(name, SURE, tuple(inside), None, left_out=0, of="inside labels"))
    if all(row.low == row.high for row in within):
        return (categories,)
    return _shortened_panel(MarginalPanel(name, SURE, tuple(labels), None, left_out=0, of="labels")), categories


def _released_counts(release: Release, axis: AxisWeights, known: Sequence[int] | None) -> Array:
    """Return (axis.counted,) the released records, counted here unless known; those of sets are never known."""
    if known is not None:
        return np.asarray(known, dtype=np.float64)
    counts = np.zeros(axis.counted)
    (codes,), n = count(release.data, [axis])
    np.add.at(counts, codes, n)
    return counts


def _coupled_marginal(release: Release, axis: AxisWeights, name: str) -> MarginalPanel:
    """Return the one-way table of one of several columns that an axis randomises jointly."""
    if isinstance(axis, SetWeights):
        alone = [
            _marginal_row(category_text(row.group[name]), None, row, release.records)
            for row in _crosstab_rows(release, name)
        ]
        return _shortened_panel(
            MarginalPanel(name, LEVEL, tuple(alone), "Released in sets of combinations with other columns.", 0)
        )
    position = axis.columns.index(name)
    (codes,), n = count(release.data, [axis])
    shares = dict.fromkeys((cell[position] for cell in axis.released), 0.0)
    for code, records in zip(codes, n, strict=True):
        shares[axis.released[code][position]] += float(records) / release.records
    rows = [
        _marginal_row(category_text(row.group[name]), shares.get(row.group[name]), row, release.records)
        for row in _crosstab_rows(release, name)
    ]
    return _shortened_panel(MarginalPanel(name, LEVEL, tuple(rows), "Randomised together with other columns.", 0))


def _crosstab_rows(release: Release, name: str) -> tuple[CrosstabRow, ...]:
    return release.crosstab([name], level=LEVEL).rows


def reconstructed_crosstab(axis: AxisWeights, counts: Array, records: int) -> Crosstab:
    """Return the one-way table of an axis from its released counts: weights and their squares, summed.

    `counts` are (axis.counted,) released records.
    """
    return Crosstab(
        by=axis.columns,
        where=None,
        target="table",
        level=LEVEL,
        records=records,
        groups=(GroupAxis(axis.columns, axis.original),),
        estimate=axis.contract(counts, 0, None, 1),
        second_moment=axis.contract(counts, 0, None, 2),
        support=axis.support(counts, 0, None),
        method=METHOD if axis.unbiased else UNIFORM_SPREAD_METHOD,
        lower_bounds=None if axis.unbiased else axis.within(counts, 0, None),
    )


def _marginal_row(name: str, released: float | None, row: CrosstabRow, records: int) -> MarginalRow:
    return MarginalRow(
        category=name,
        original=None,
        released=None if released is None else float(released),
        estimate=row.estimate / records,
        low=row.low / records,
        high=row.high / records,
        remark="; ".join(MEANINGS[flag] for flag in row.flags if flag != SPREAD) or None,
    )


def _shortened_panel(marginal: MarginalPanel) -> MarginalPanel:
    """Return the table without its rarest categories if there are many; common properties of rows are stated once."""
    remarks = {row.remark for row in marginal.rows}
    if len(remarks) == 1 and len(marginal.rows) > 1 and (remark := remarks.pop()):
        rows = tuple(replace(row, remark=None) for row in marginal.rows)
        told = f"Of every category: {remark}."
        marginal = replace(marginal, rows=rows, remark=f"{marginal.remark} {told}" if marginal.remark else told)
    if len(marginal.rows) <= MOST:
        return marginal
    order = sorted(range(len(marginal.rows)), key=lambda i: -(marginal.rows[i].released or 0.0))
    kept = sorted(order[:MOST])
    return replace(marginal, rows=tuple(marginal.rows[i] for i in kept), left_out=len(marginal.rows) - MOST)


def original_category_shares(original: Original) -> dict[str, dict[str, float]]:
    """Return, for each released category column, the original share of every category; audit only.

    Rounded to 0.1 % unless the policy's `release.audit_counts` allows exact ones.
    """
    exact = original.policy.release.audit_counts
    shares: dict[str, dict[str, float]] = {}
    for attribute in original.policy.released:
        if attribute.domain is None:
            continue
        values = original.counts(attribute.name).dense() / original.records
        shares[attribute.release_as] = {
            category_text(label): float(value) if exact else round(float(value), DIGITS)
            for label, value in zip(attribute.domain, values, strict=True)
        }
    return shares


def add_original_shares(
    marginals: Sequence[MarginalPanel], shares: Mapping[str, Mapping[str, float]]
) -> tuple[MarginalPanel, ...]:
    """Return the one-way tables with the original shares added; audit only."""
    return tuple(
        replace(
            marginal,
            rows=tuple(
                replace(row, original=shares.get(marginal.attribute, {}).get(row.category)) for row in marginal.rows
            ),
        )
        if marginal.of != "labels"
        else marginal
        for marginal in marginals
    )


MOST_SETS = 20
"""Maximum number of sets of a column that are shown: the most frequent."""
WIDEST_SETS = 40
"""Maximum number of values of a column whose sets are shown; more are unreadable side by side."""


def set_panels(release: Release) -> tuple[SetPanel, ...]:
    """Return the released sets of each column that is released as sets."""
    return tuple(_set_panel(release, axis) for axis in _set_axes(release) if len(axis.original) <= WIDEST_SETS)


def _set_axes(release: Release) -> Iterator[SetWeights]:
    seen = {id(axis): axis for axis in release.columns.axes.values()}
    return (axis for axis in seen.values() if isinstance(axis, SetWeights))


def _set_panel(release: Release, axis: SetWeights) -> SetPanel:
    found = count_sets(release.data, axis, MOST_SETS)
    return SetPanel(
        attribute=" × ".join(axis.columns),
        values=tuple(map(category_label, axis.original)),
        size=axis.set_size,
        held=tuple(n / release.records for n in found.held),
        sets=tuple(ReleasedSet(members, n / release.records) for members, n in found.sets),
        different=found.different,
    )
