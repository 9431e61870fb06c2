"""Every mechanism with every kind of column: what `init` drafts goes through to `verify --strict`, or is refused."""

from __future__ import annotations

import datetime as dt
import json
import random
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import cycle, product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rrpolicy.cli.main import main
from tests.survey import WAIVED

RECORDS = 240
FORMS = ("parquet", "csv", "duckdb")
D, T = dt.date, dt.datetime


@dataclass(frozen=True)
class Kind:
    """A kind of column.

    Attributes:
        values: what it holds.
        stray: values outside of its domain.
        type: of the column in Parquet.
        keys: what the policy says of it; empty for what the draft says.
        enum: the column of a database is an ENUM.
    """

    values: tuple[Any, ...]
    stray: Any
    type: pa.DataType
    keys: dict[str, Any] = field(default_factory=dict)
    enum: bool = False


DAYS = (D(2020, 1, 1), D(2020, 7, 1), D(2021, 1, 1), D(2021, 7, 1))
TIMES = tuple(T(d.year, d.month, d.day, 8, 30) for d in DAYS)
KINDS = {
    "text": Kind(("a", 'b, "c"', "d"), "e", pa.string()),
    "whole": Kind((1, 2, 3, 10), 7, pa.int16()),
    "decimal": Kind((Decimal("0.5"), Decimal("1.0"), Decimal("2.5")), Decimal("9.5"), pa.decimal128(5, 1)),
    "real": Kind((0.5, 1.25, 2.0), 9.5, pa.float32()),
    "boolean": Kind((True, False), None, pa.bool_()),
    "date": Kind(DAYS[:3], DAYS[3], pa.date32(), {"domain": list(DAYS[:3])}),
    "timestamp": Kind(TIMES[:3], TIMES[3], pa.timestamp("us"), {"domain": list(TIMES[:3])}),
    "bins": Kind(tuple(range(18, 78, 4)), 3, pa.int64(), {"bins": [18, 30, 50, 80], "scale": "ordinal"}),
    "date bins": Kind(DAYS, D(2022, 7, 1), pa.date32(), {"bins": list(DAYS)}),
    "enum": Kind(("a", "b", "c"), "d", pa.dictionary(pa.int8(), pa.string()), enum=True),
}
MODES = ("none", "nulls", "outside", "both")
MECHANISMS = (
    "pram", "rr-both", "rr-qi", "rr-s", "sensitive-addition", "anatomy", "full-domain", "mondrian", "tp",
)  # fmt: skip
PRIVACY: dict[str, list[dict[str, Any]]] = {
    # rr-s brings no group below 1 whose people all have one value, and here many groups are of one person: epsilon.
    **{key: [{"model": "local-dp", "epsilon": 6, "scope": "attribute"}] for key in ("pram", "rr-s")},
    **{key: [{"model": "attribute-disclosure", "threshold": "4/5"}] for key in ("rr-both", "rr-qi")},
    "sensitive-addition": [{"model": "l-diversity", "kind": "frequency", "l": 2}],
    "anatomy": [{"model": "l-diversity", "kind": "frequency", "l": 2}],
    "tp": [{"model": "l-diversity", "kind": "frequency", "l": "3/2"}],
    **{key: [{"model": "k-anonymity", "k": 3}] for key in ("full-domain", "mondrian")},
}


def column(kind: Kind, mode: str, seed: int) -> pa.Array:
    """Return a column of a kind; some values stray or are missing."""
    draw = random.Random(seed)
    values = [kind.values[i % len(kind.values)] for i in range(RECORDS)]
    draw.shuffle(values)
    if mode in {"outside", "both"} and kind.stray is not None:
        values = [kind.stray if draw.random() < 0.1 else v for v in values]
    if mode in {"nulls", "both"}:
        values = [None if draw.random() < 0.1 else v for v in values]
    made = pa.array(values, pa.string() if kind.enum else kind.type)
    return made.dictionary_encode() if kind.enum else made


def written(table: pa.Table, form: str, folder: Path, enums: dict[str, Kind]) -> Path:
    """Write a table as an original of a form."""
    path = folder / f"original.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "csv":
        plain = pa.table(
            {
                n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c
                for n, c in zip(table.column_names, table.columns, strict=True)
            }
        )
        pa.csv.write_csv(plain, path)
    else:
        with duckdb.connect(str(path)) as made:
            made.register("t", table)
            made.execute("CREATE TABLE people AS SELECT * FROM t")
            for name, kind in enums.items():
                labels = ", ".join(f"'{v}'" for v in (*kind.values, kind.stray))
                made.execute(f'ALTER TABLE people ALTER "{name}" TYPE ENUM({labels})')
    return path


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return json.dumps(value) if isinstance(value, (str, bool)) else str(value)


def offered(draft: str) -> dict[str, Any]:
    """Return a draft in which every excluded column is released as the line below it offers."""
    lines: list[str] = []
    for line in draft.splitlines():
        if line.startswith("# ") and "= { role =" in line:
            lines[-1] = line.removeprefix("# ")
        else:
            lines.append(line)
    return tomllib.loads("\n".join(lines))


def spare(kind: Kind, mode: str) -> dict[str, Any]:
    """Return what a steward says of values outside and of nulls."""
    found: dict[str, Any] = {}
    if mode in {"outside", "both"} and kind.stray is not None:
        found["outside"] = "somewhere else"
        if not kind.keys:
            found["domain"] = [float(v) if isinstance(v, Decimal) else v for v in kind.values]
    return found | ({"nulls": "unknown"} if mode in {"nulls", "both"} else {})


def edited(draft: dict[str, Any], kinds: dict[str, Kind], case: Case) -> str:
    """Return a draft as a steward edits it: roles, domains, what is required and how."""
    attributes = {}
    for name, told in draft["attributes"].items():
        role = {"id": "identifier", "s": "sensitive"}.get(name, "quasi-identifier")
        keys = {k: v for k, v in told.items() if k in {"domain", "bins", "nulls", "scale"} and role != "identifier"}
        if name in kinds:
            own = kinds[name].keys | spare(kinds[name], case.mode)
            if str(keys.get("domain")).startswith("fill in"):  # a draft lists no text of an excluded column
                keys["domain"] = list(kinds[name].values)
            keys = {
                k: v for k, v in keys.items() if not (k in {"domain", "bins"} and {"domain", "bins"} & set(own))
            } | own
        attributes[name] = {"role": role, **keys}
    algorithm = {"algorithm": case.mechanism} if case.mechanism in {"full-domain", "mondrian", "tp"} else {}
    tables = {
        "policy": {"name": "test", "version": "1.0.0", "owner": "an office", "purpose": "a test"},
        "source": draft["source"],
        "attributes": attributes,
        "mechanism": {"name": "l-diversity" if algorithm else case.mechanism, **algorithm},
        "release": {"format": case.form},
    }
    lines = ["schema = 1"]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{json.dumps(k)} = {toml(v)}" for k, v in table.items())]
    for entry in PRIVACY[case.mechanism]:
        lines += ["[[privacy]]", *(f"{k} = {toml(v)}" for k, v in entry.items())]
    return "\n".join([*lines, WAIVED])


@dataclass(frozen=True)
class Case:
    """A way through: which mechanism, which kinds of columns as quasi-identifiers and as sensitive, from what to what."""

    mechanism: str
    mode: str
    known: tuple[str, ...]
    sensitive: str
    given: str
    form: str

    def __str__(self) -> str:
        known = "every kind" if self.known == tuple(KINDS) else " and ".join(self.known)
        return f"{self.mechanism}, {self.mode}: {known}, {self.sensitive} ({self.given} to {self.form})"


def cases() -> list[Case]:
    """Return cases in which every mechanism meets every kind in every mode, and every form every kind."""
    forms, sensitive, names = cycle(product(FORMS, FORMS)), cycle(KINDS), tuple(KINDS)
    found = []
    for mechanism, mode in product(MECHANISMS, MODES):
        # Optimal randomised response looks at every combination of quasi-identifiers: a few kinds at a time.
        few = {"rr-both": 3, "rr-qi": 3, "rr-s": 5}.get(mechanism, 1)
        parts = [names[i::few] for i in range(few)]
        for known in parts:
            kind = next(sensitive)
            if mechanism == "sensitive-addition" and kind == "boolean":  # no set of two values hides one of them
                kind = next(sensitive)
            found.append(Case(mechanism, mode, known, kind, *next(forms)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=str)
def test_it_is_released_and_verified(case, tmp_path, monkeypatch, capsys):
    table: dict[str, Any] = {"id": [f"p{i}" for i in range(RECORDS)]}
    kinds = {f"a {name}": KINDS[name] for name in case.known} | {"s": KINDS[case.sensitive]}
    table |= {name: column(kind, case.mode, seed) for seed, (name, kind) in enumerate(kinds.items())}
    if case.known == tuple(KINDS):
        table |= {f"q{i}": column(KINDS["whole"], "none", 100 + i) for i in range(3)}
    monkeypatch.chdir(tmp_path)
    path = written(pa.table(table), case.given, tmp_path, {n: k for n, k in kinds.items() if k.enum})

    def run(*arguments: str) -> int:
        status = main(list(arguments))
        said = capsys.readouterr()
        print(" ".join(arguments), status, said.out[-1500:] if status else "", said.err[-1500:])
        return status

    assert main(["init", path.name]) == 0
    draft = offered(capsys.readouterr().out)
    Path("policy.toml").write_text(edited(draft, kinds, case))
    assert run("check", "policy.toml") == 0
    assert run("plan", "policy.toml", "--out", "plan.json", "--key", "key.json") == 0
    assert run("release", "plan.json", "--key", "key.json", "--out", "release") == 0
    assert run("verify", "release", "--source", path.name, "--key", "key.json", "--strict") == 0
    for name in (next(iter(kinds)), "s"):
        assert run("estimate", "release/public", "--by", name) == 0
