"""Opening a release: its manifest and its files' digests are checked, no plugin is loaded, and no row is read."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from rrpolicy.channels.table import Column, TableSpec, engine_type_of
from rrpolicy.engine.quoting import type_name
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.scan import DataFile
from rrpolicy.estimate.invert.estimator import ESTIMATORS, Estimators
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.survey.design import design_of
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.formats.format import CORE_FORMATS, Format, Formats
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import MANIFEST_FILE, Manifest
from rrpolicy.manifest.sealed_manifest import check_seal, no_release_error, read_release

TABLE_SETS = ({"data"}, {"qit", "st"}, {"qit", "st_1", "st_2"})
"""Tables that releases consist of."""


def is_countable(manifest: Manifest) -> bool:
    """Return whether a release consists of tables that records can be counted in."""
    return {table.name for table in manifest.tables} in TABLE_SETS


def open_release(
    path: str | Path, *, verify: bool = True, formats: Formats = CORE_FORMATS, estimators: Estimators = ESTIMATORS
) -> Release:
    """Open a bundle, or its public/ folder alone.

    Args:
        path: the bundle's folder or the public/ folder.
        verify: check the digests of release.json and of the data files before anything is read of them. It costs about
            one read of the files; it finds damage and edits, not a bundle that was forged as a whole.
        formats: the known formats of data files.
        estimators: the available estimators of tables.

    Raises:
        PolicyError: RR260 if there is no readable release, RR261 if its schema is of another version, RR269 if the
            data it names is missing, RR270 if it is of a form that counts cannot be estimated from, RR284 if a file
            is not the one that was released, RR285 if nothing known reads its format.
    """
    folder = Path(path)
    if (folder / "public" / MANIFEST_FILE).is_file():
        folder = folder / "public"
    manifest = read_release(folder)
    release = release_of(folder, manifest, formats, estimators)
    if verify:
        check_seal(
            folder, manifest.to_json(), [path for table in manifest.data.tables.values() for path in table.files]
        )
    design = design_of(manifest, release.columns)
    if design is not None and design.weights_inside and not design.totals:
        return replace(release, withheld_design=design)
    return replace(release, design=design)


def with_engine_type(column: Column) -> Column:
    """Return a column with its engine type, from the labels if the manifest does not name one.

    Raises:
        ValueError: if that is not a plain type's name (it becomes part of queries).
    """
    type_ = column.type or engine_type_of(column.labels) + ("[]" if column.kind == "set" else "")
    return replace(column, type=type_ and type_name(type_))


def release_of(
    folder: Path, manifest: Manifest, formats: Formats = CORE_FORMATS, estimators: Estimators = ESTIMATORS
) -> Release:
    """Return a release from its manifest; release.json itself need not be written yet.

    Raises:
        PolicyError: RR260, RR269, RR270, RR285 as `open_release`.
    """
    try:
        return _release(folder, manifest, formats, estimators)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise no_release_error(folder, f"its {MANIFEST_FILE} contradicts itself") from error


def _release(folder: Path, manifest: Manifest, formats: Formats, estimators: Estimators) -> Release:
    tables = {table.name: table for table in manifest.tables}
    if set(tables) not in TABLE_SETS:
        message = (
            f"the release has the tables {', '.join(sorted(tables))}; this version does not know how they belong "
            "together"
        )
        raise PolicyError(Problem("RR270", message, hint="update rrpolicy"))
    files = {name: _data_file(folder, manifest, table, formats) for name, table in tables.items()}
    records = files.get("data") or files["qit"]
    columns = {c.name: c for file in files.values() for c in file.columns if c.kind not in {"group", "count"}}
    axes: dict[str, AxisWeights] = {}
    refused: dict[str, PolicyError] = {}
    for decoder in manifest.decoders:
        try:
            for weights in axis_weights(decoder):
                axes.update(dict.fromkeys(weights.columns, weights))
        except PolicyError as error:
            refused.update(dict.fromkeys(decoder.columns, error))
    nulls = ((c.name, manifest.missing(c)) for c in columns.values())
    known = Columns.of(columns, axes, refused, {name: value for name, value in nulls if value is not None})
    if "qit" in files:
        from rrpolicy.estimate.anatomy import AnatomyRelease

        return AnatomyRelease(
            folder,
            manifest,
            known,
            records,
            estimators,
            values={name: file for name, file in files.items() if name != "qit"},
        )
    return Release(folder, manifest, known, records, estimators)


def _data_format(manifest: Manifest, formats: Formats) -> Format:
    name = manifest.data.format
    if name not in formats:
        flags = " or ".join(f"--plugin {other}" for other in manifest.made_with("rrpolicy_formats"))
        message = f"the data are in the format {name!r}, which nothing that is loaded reads"
        expected = f"one of {', '.join(formats)}, or a plugin that you list yourself"
        hint = f"a plugin is code that runs as you: if you trust it, add {flags}" if flags else "update rrpolicy"
        raise PolicyError(Problem("RR285", message, expected=expected, hint=hint))
    return formats[name]


def _data_file(folder: Path, manifest: Manifest, table: TableSpec, formats: Formats) -> DataFile:
    return DataFile(
        paths=tuple(_resolve_inside(folder, name) for name in manifest.data.tables[table.name].files),
        form=_data_format(manifest, formats),
        columns=tuple(map(with_engine_type, table.columns)),
        table=table.name,
        formulas=manifest.data.csv_formulas,
    )


def _resolve_inside(folder: Path, path: str) -> Path:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise ValueError("a path that leaves the folder")
    file = folder / parts
    if not file.is_file():
        message = f"the release lists the data file {path!r}, which is not in {folder}"
        hint = "copy the whole public/ folder; `rrpolicy verify` shows what is missing"
        raise PolicyError(Problem("RR269", message, hint=hint))
    return file
