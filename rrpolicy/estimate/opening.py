"""Opening a release: its manifest and its files' digests are checked, no plugin is loaded, and no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from rrpolicy.canonical import Value
from rrpolicy.channel.document import read_column
from rrpolicy.channel.table import Column, Decoder
from rrpolicy.engine.quoting import type_name
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.scan import DataFile
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.sealed import NAME, check_seal, no_release, read_release
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.form import axis_weights


def open_release(path: str | Path, *, verify: bool = True) -> Release:
    """Open a bundle, or its public/ folder alone.

    Args:
        path: the bundle's folder or the public/ folder.
        verify: check the digests of release.json and of the data files before anything is read of them. It costs about
            one read of the files; it finds damage and edits, not a bundle that was forged as a whole.

    Raises:
        PolicyError: RR260 if there is no readable release, RR261 if its schema is of another version, RR269 if the
            data it names is missing, RR270 if it is of a form that counts cannot be estimated from, RR284 if a file
            is not the one that was released.
    """
    folder = Path(path)
    if (folder / "public" / NAME).is_file():
        folder = folder / "public"
    document = read_release(folder)
    try:
        release = _release(folder, document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, StopIteration) as error:
        raise no_release(folder, f"its {NAME} contradicts itself") from error
    if verify:
        check_seal(folder, document, [table["path"] for table in document["data"]["tables"].values()])
    return release


def decoder_from_json(document: Mapping[str, Any]) -> Decoder:
    """Read what `Decoder.to_json` wrote."""
    return Decoder(
        attributes=tuple(document["attributes"]),
        form=document["form"],
        parameters=document["parameters"],
        unbiased=document["unbiased"],
        independent=document["independent"],
    )


def column_from_json(document: Mapping[str, Any]) -> Column:
    """Read what `Column.to_json` wrote; the engine type is filled in from the labels if it is not there.

    Raises:
        ValueError: if a field is missing or of another type, or the type is not a plain type's name (it becomes part
            of queries).
    """
    column = read_column(dict(document))
    type_ = column.type or engine_type(column.labels) + ("[]" if column.kind == "set" else "")
    return replace(column, type=type_ and type_name(type_))


def engine_type(labels: tuple[Value, ...]) -> str:
    """Return DuckDB's type for a column of these labels; "" if there are none."""
    if not labels:
        return ""
    if all(isinstance(v, bool) for v in labels):
        return "BOOLEAN"
    if any(isinstance(v, (str, bool)) for v in labels):
        return "VARCHAR"
    return "BIGINT" if all(isinstance(v, int) for v in labels) else "DOUBLE"


def _release(folder: Path, document: Mapping[str, Any]) -> Release:
    tables = {t["name"]: t for t in document["tables"]}
    if set(tables) not in ({"data"}, {"qit", "st"}):
        raise PolicyError(
            Problem(
                "RR270",
                f"the release has the tables {', '.join(sorted(tables))}; this version does not know how they belong "
                "together",
                hint="update rrpolicy",
            )
        )
    files = {name: _data_file(folder, document, table) for name, table in tables.items()}
    records = files.get("data") or files["qit"]
    columns = {c.name: c for file in files.values() for c in file.columns if c.kind not in {"group", "count"}}
    decoders = tuple(decoder_from_json(d) for d in document["decoders"])
    axes: dict[str, AxisWeights] = {}
    refused: dict[str, PolicyError] = {}
    for decoder in decoders:
        try:
            for weights in axis_weights(decoder):
                axes.update(dict.fromkeys(weights.columns, weights))
        except PolicyError as error:
            refused[str(decoder.parameters.get("column"))] = error
    nulls = {a["name"]: a["nulls"] for a in document.get("attributes", ()) if a.get("nulls") is not None}
    missing = {c.name: nulls[c.attribute] for c in columns.values() if c.attribute in nulls}
    known = Columns.of(columns, axes, refused, missing)
    if "st" in files:
        from rrpolicy.estimate.anatomy import DealtRelease

        return DealtRelease(folder, document, int(document["records"]), known, records, values=files["st"])
    return Release(folder, document, int(document["records"]), known, records)


def _data_file(folder: Path, document: Mapping[str, Any], table: Mapping[str, Any]) -> DataFile:
    return DataFile(
        path=_inside(folder, document["data"]["tables"][table["name"]]["path"]),
        format=document["data"]["format"],
        columns=tuple(column_from_json(c) for c in table["columns"]),
        table=table["name"],
        formulas=document["data"]["csv_formulas"],
    )


def _inside(folder: Path, path: str) -> Path:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise ValueError("a path that leaves the folder")
    file = folder / parts
    if not file.is_file():
        raise PolicyError(
            Problem(
                "RR269",
                f"the release names the data file {path!r}, which is not in {folder}",
                hint="copy the whole public/ folder; `rrpolicy verify` tells what is missing",
            )
        )
    return file
