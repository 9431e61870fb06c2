"""Public folders made by hand: a manifest as the contract has it, and rows drawn by an ordinary generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.canonical_json import file_digest, record_digest
from rrpolicy.channels.decoders import Decoder
from rrpolicy.declarations import EMPTY_GOVERNANCE
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.serialization import read

DIGEST = "sha256:" + "0" * 64


@dataclass
class Axis:
    """One axis of a release made by hand: its decoder document and its matrix."""

    decoder: dict[str, Any]
    columns: tuple[dict[str, Any], ...]
    P: list[list[Fraction]] = field(repr=False)

    @property
    def array(self) -> np.ndarray:
        return np.array([[float(v) for v in row] for row in self.P])


def column(name: str, labels: Sequence[Any], kind: str = "category", type_: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "labels": list(labels),
        "type": type_,
        "attribute": name,
        "assume_unlinkable": None,
    }


def decoder(attributes: Sequence[str], form: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"form": form, "attributes": list(attributes), "unbiased": True, "independent": True, **parameters}


def undone(axis: Axis) -> Decoder:
    """Return the decoder of an axis as a manifest that states it is read."""
    return manifest([axis], 0, "parquet").decoders[0]


def retention(name: str, labels: Sequence[Any], blocks: Sequence[tuple[Sequence[int], str]]) -> Axis:
    P = [[Fraction(0)] * len(labels) for _ in labels]
    for members, keep in blocks:
        p = Fraction(keep)
        q = (1 - p) / (len(members) - 1) if len(members) > 1 else Fraction(0)
        for u in members:
            for v in members:
                P[u][v] = p if u == v else q
    parameters = {
        "columns": [name],
        "labels": [[label] for label in labels],
        "blocks": [{"members": list(m), "keep_probability": str(Fraction(k))} for m, k in blocks],
    }
    return Axis(decoder([name], "retention", parameters), (column(name, labels),), P)


def matrix(name: str, released: Sequence[Any], original: Sequence[Any], rows: Sequence[Sequence[str]]) -> Axis:
    parameters = {
        "columns": [name],
        "released": [[label] for label in released],
        "original": [[label] for label in original],
        "rows": [[str(Fraction(v)) for v in r] for r in rows],
    }
    P = [[Fraction(v) for v in row] for row in rows]
    return Axis(decoder([name], "matrix", parameters), (column(name, released),), P)


def coupled(names: Sequence[str], cells: Sequence[Sequence[Any]], rows: Sequence[Sequence[str]]) -> Axis:
    parameters = {
        "columns": list(names),
        "released": [list(c) for c in cells],
        "original": [list(c) for c in cells],
        "rows": [[str(Fraction(v)) for v in r] for r in rows],
    }
    columns = tuple(column(n, list(dict.fromkeys(c[j] for c in cells))) for j, n in enumerate(names))
    return Axis(decoder(names, "matrix", parameters), columns, [[Fraction(v) for v in row] for row in rows])


def recoded(name: str, groups: Mapping[Any, Sequence[Any]], *, unbiased: bool = False) -> Axis:
    """Return an axis of labels that stand for categories, which they may share."""
    original = list(dict.fromkeys(v for categories in groups.values() for v in categories))
    parameters = {
        "columns": [name],
        "released": [list(groups)],
        "original": [original],
        "groups": [[[original.index(v) for v in categories] for categories in groups.values()]],
    }
    document = decoder([name], "recode", parameters) | {"unbiased": unbiased}
    return Axis(document, (column(name, list(groups), "category", "VARCHAR"),), [])


def identity(name: str, labels: Sequence[Any]) -> Axis:
    P = [[Fraction(int(u == v)) for v in range(len(labels))] for u in range(len(labels))]
    return Axis(decoder([name], "identity", {"column": name, "labels": list(labels)}), (column(name, labels),), P)


def manifest(axes: Sequence[Axis], records: int, file_format: str, carried: Sequence[dict[str, Any]] = ()) -> Manifest:
    columns = [*(c for a in axes for c in a.columns), *carried]
    document = {
        "schema": "rrpolicy.release/1",
        "release": None,
        "policy": {"name": "survey", "version": "1.0.0", "owner": "o", "purpose": "a test", "digest": DIGEST},
        "software": {"rrpolicy": "0.1.0", "plugins": []},
        "records": records,
        "units": {"max_records": 1},
        "attributes": [
            {
                "name": c["attribute"],
                "release_as": c["name"],
                "role": "insensitive" if c["kind"] == "carried" else "quasi-identifier",
                "domain": c["labels"] or None,
                "observed": False,
                "nulls": None,
                "scale": "nominal",
                "hierarchy": None,
                "assume_unlinkable": None,
                "unchanged": None,
            }
            for c in columns
        ],
        "channel": {"kind": "product", "version": 1},
        "decoders": [a.decoder for a in axes],
        "tables": [{"name": "data", "columns": columns, "sort": [c["name"] for c in columns], "joins": {}}],
        "data": {
            "format": file_format,
            "csv_formulas": "escape",
            "rows_per_file": None,
            "tables": {"data": {"files": [f"data.{file_format}"], "rows": records, "digest": DIGEST}},
        },
        "mechanism": "by-hand",
        "plan_on": False,
        "requirements": [],
        "findings": [],
        "utility": [],
        "origins": {},
        "derived": [],
        "assumptions": [],
        "governance": EMPTY_GOVERNANCE.to_json(),
        "governance_digest": EMPTY_GOVERNANCE.digest(),
        "require_signatures": 0,
        "files": {},
        "digest": DIGEST,
    }
    return read(Manifest, document)


def seal(folder: Path) -> None:
    """Write the digests of a public/ folder as they are now."""
    document = json.loads((folder / "release.json").read_text())
    document["files"] = {p.name: file_digest(p) for p in folder.iterdir() if p.is_file() and p.name != "release.json"}
    (folder / "release.json").write_text(json.dumps(document | {"digest": record_digest(document)}))


def write_data(folder: Path, rows: Mapping[str, Sequence[Any]], file_format: str) -> None:
    connection = writer()
    connection.register("rows_in_memory", pa.table(dict(rows)))
    path = str(folder / f"data.{file_format}").replace("'", "''")
    if file_format == "parquet":
        connection.execute(f"COPY rows_in_memory TO '{path}' (FORMAT parquet)")
    elif file_format == "csv":
        connection.execute(f"COPY rows_in_memory TO '{path}' (FORMAT csv, HEADER, FORCE_QUOTE *)")
    else:
        connection.execute(f"ATTACH '{path}' AS released")
        connection.execute("CREATE TABLE released.data AS FROM rows_in_memory")
        connection.execute("DETACH released")
    connection.unregister("rows_in_memory")


@cache
def writer() -> duckdb.DuckDBPyConnection:
    """Return one engine for all tables: starting it takes longer than writing one."""
    return duckdb.connect()


def draw(axis: Axis, codes: np.ndarray, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Randomise original cells by the axis' matrix; return the released columns."""
    cumulative = axis.array.cumsum(axis=0)[:, codes]
    u = np.minimum((cumulative < rng.random(len(codes))).sum(axis=0), len(axis.P) - 1)
    return labels(axis, u)


def labels(axis: Axis, released: Sequence[int]) -> dict[str, list[Any]]:
    cells = axis.decoder.get("released") or [c if isinstance(c, list) else [c] for c in axis.decoder["labels"]]
    return {c["name"]: [cells[i][j] for i in released] for j, c in enumerate(axis.columns)}


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a bundle's public/ folder and returns it."""

    def write(
        axes: Sequence[Axis],
        rows: Mapping[str, Sequence[Any]],
        file_format: str = "parquet",
        carried: Sequence[dict[str, Any]] = (),
        name: str = "bundle",
    ) -> Path:
        folder = tmp_path / name / "public"
        folder.mkdir(parents=True)
        records = len(next(iter(rows.values())))
        (folder / "release.json").write_text(json.dumps(manifest(axes, records, file_format, carried).to_json()))
        write_data(folder, rows, file_format)
        seal(folder)
        return folder

    return write


@pytest.fixture
def made() -> Any:
    """Return the makers of axes, since test modules import nothing from each other."""
    import types

    return types.SimpleNamespace(
        retention=retention,
        matrix=matrix,
        coupled=coupled,
        recoded=recoded,
        identity=identity,
        column=column,
        decoder=decoder,
        undone=undone,
        manifest=manifest,
        seal=seal,
        draw=draw,
        labels=labels,
        Axis=Axis,
    )


@pytest.fixture
def mixed(publish, made):
    """A release with every form of decoder that weighs records, and names and labels that must be quoted."""
    rng = np.random.default_rng(3)
    hostile = ['a "b"', "=1+1", "'x", "ü\\n\t$y`", "the rest"]
    axes = [
        made.retention("sex", ["f", "m"], [([0, 1], "4/5")]),
        made.retention("my column", hostile, [([0, 1, 2], "2/3"), ([3], "1"), ([4], "1")]),
        made.retention("below", [1, 2, 3], [([0, 1, 2], "1/5")]),
        made.matrix("wide", ["x", "y", "z"], ["a", "b"], [["1/2", "1/6"], ["1/3", "1/6"], ["1/6", "2/3"]]),
        made.matrix("square", [True, False], [True, False], [["9/10", "3/10"], ["1/10", "7/10"]]),
        made.coupled(["p", "q"], [["u", 0.5], ["u", 2.0], ["w", 0.5]],
                     [["8/10", "1/10", "1/10"], ["1/10", "8/10", "1/10"], ["1/10", "1/10", "8/10"]]),
        made.identity("plain", [10, 20]),
    ]  # fmt: skip
    rows = {}
    for axis in axes:
        codes = (
            rng.integers(len(axis.P[0]), size=400) if axis.columns[0]["name"] != "sex" else np.repeat([0, 1], 400 // 2)
        )
        rows |= made.draw(axis, codes, rng)
    values = ["none", "flu", "cold", "=asthma"]
    own = rng.integers(4, size=400)
    rows["ill"] = [
        [values[v] for v in sorted({int(o), *rng.choice([w for w in range(4) if w != o], 1).tolist()})] for o in own
    ]
    rows["hours"] = rng.integers(50, size=400).astype(float).tolist()
    decoder = {"columns": ["ill"], "labels": [[v] for v in values], "set_size": 2}
    sets = made.Axis(made.decoder(["ill"], "addition", decoder), (made.column("ill", values, "set", "VARCHAR[]"),), [])
    carried = made.column("hours", [], "carried", "DOUBLE")
    hours = {"form": "identity", "attributes": ["hours"], "unbiased": True, "independent": True, "column": "hours",
             "labels": []}  # fmt: skip
    every = [*axes, sets, made.Axis(hours, (carried,), [])]
    escaped = dict(rows)
    escaped["my column"] = ["'" + v if v[0] in "='" else v for v in rows["my column"]]
    escaped["ill"] = ["[" + ", ".join(f'"{v}"' for v in held) + "]" for held in rows["ill"]]
    return publish(every, escaped, "csv")
