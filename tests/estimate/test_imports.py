"""Estimates need a release's files and a few rooms: no policy, source or mechanism, and no plugin, can be imported."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = "estimates are free of the core"
ALLOWED = {
    "annotations",
    "canonical_json",
    "channels",  # decoders, columns of tables
    "concurrency",
    "counts",
    "declarations",
    "engine",
    "error_codes",
    "errors",
    "escaping",
    "estimate",
    "finding",
    "formats",
    "frozen",
    "manifest",
    "numbers",
    "plotting",
    "plugin_errors",
    "plugin_spec",
    "report",  # sections of a channel
    "safe_io",
    "schemas",
    "serialization",
}
ALONE = f"""
import sys
from importlib.abc import MetaPathFinder

class Others(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top.startswith("rrpolicy_") or (top == "rrpolicy" and rest and rest.split(".")[0] not in {ALLOWED!r}):
            raise ImportError("estimates need " + name)

sys.meta_path.insert(0, Others())
from rrpolicy.estimate.opening import open_release
"""


def rooms() -> set[str]:
    found = (ROOT / "rrpolicy").iterdir()
    return {p.stem for p in found if (p.is_dir() or p.suffix == ".py") and not p.name.startswith("__")}


def run_alone(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", f"{ALONE}\n{code}", str(folder)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_the_contract_forbids_every_other_room():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["name"] == CONTRACT)
    others = {name.removeprefix("rrpolicy.") for name in contract["forbidden_modules"]}

    assert contract["source_modules"] == ["rrpolicy.estimate"]
    assert others | ALLOWED == rooms()
    assert not others & ALLOWED


def test_another_room_cannot_be_imported_there(tmp_path):
    refused = (
        "for room in 'policy', 'source', 'privacy', 'plugin', 'cli':\n"
        "    try: __import__('rrpolicy.' + room)\n"
        "    except ImportError as error: print(error)\n"
    )
    assert run_alone(refused, tmp_path).splitlines() == [
        f"estimates need rrpolicy.{room}" for room in ("policy", "source", "privacy", "plugin", "cli")
    ]


def test_randomised_columns_are_estimated_alone(mixed):
    asked = """
release = open_release(sys.argv[1])
asked = [
    release.crosstab(["sex", "wide"], "plain = 10"),
    release.cube(["sex", "square"]),
    release.mean("hours", by="sex"),
    release.query("SELECT sex, count(*), share(), sum(hours), avg(hours) FROM release WHERE plain = 10 GROUP BY sex"),
    release.query("SELECT ill, count(*) FROM release GROUP BY ill"),
    release.association("sex", "square"),
    release.glm("plain ~ sex"),
    release.glm("sex ~ square", "binomial", success=["f"]),
    release.rules(0.2, 0.2, ["sex", "square"]),
    release.bootstrap(lambda r: r.crosstab("sex", estimator="em"), 50),
    release.pairwise("SELECT wide, avg(hours) FROM release GROUP BY wide"),
]
for found in asked:
    print(found.schema, len(found.summary()) > 0, len(found.to_json()["rows"]) > 0)
    found.to_frame(), found.to_csv(), found.plot(), found._repr_html_()
print(release.independence("sex", "square"), release.loglinear("sex + square"), release.what_holds())
release.replicates("sex"), release.to_pandas().rrpolicy.crosstab("sex")
"""
    pytest.importorskip("formulaic")
    lines = run_alone(asked, mixed).splitlines()

    assert all(line.endswith("True True") for line in lines[:11])
    assert lines[0].startswith("rrpolicy.estimate/1")


@pytest.mark.parametrize("file_format", ["csv", "parquet", "duckdb"])
def test_generalised_columns_of_every_format_are_estimated_alone(publish, made, file_format):
    age = made.recoded("age", {"young": ["0", "1"], "old": ["2", "3"]})
    sex = made.identity("sex", ["f", "m"])
    folder = publish([age, sex], {"age": ["young", "old", "old"], "sex": ["f", "f", "m"]}, file_format)
    asked = """
release = open_release(sys.argv[1])
release.crosstab(["age", "sex"], spread=True), release.association("age", "sex", spread=True)
print(release.query("SELECT sex, share() FROM release WHERE age = '2' GROUP BY sex").summary())
"""

    assert "spread" in run_alone(asked, folder)


def test_tables_of_groups_are_estimated_alone(tmp_path):
    with tarfile.open(ROOT / "tests" / "release" / "bundles" / "0.2.0.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    asked = """
release = open_release(sys.argv[1])
for names in (list(release.columns.axes)[:2], list(release.columns.axes)[-1:]):
    print(len(release.crosstab(names).rows))
"""

    for name in ("anatomy", "full-domain", "pram"):
        assert len(run_alone(asked, tmp_path / name / "bundle").split()) == 2
