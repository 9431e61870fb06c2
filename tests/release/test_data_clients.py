"""The real client of data packages accepts every bundle: each mechanism, in each format, lists and groups included."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

VALIDATE = """
import json, sys, warnings
from frictionless import validate
found = {}
for path in sys.argv[1:]:
    report = validate(path)
    found[path] = [report.valid, [task.stats.get("rows") for task in report.tasks],
                   report.flatten(["type", "note"]) + [[e.type, e.note] for e in report.errors]]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def packages(examples: dict[tuple[str, str], Path]) -> dict[tuple[str, str], Path]:
    """Return datapackage.json of a small release of each mechanism in each format."""
    return {key: public / "datapackage.json" for key, public in examples.items()}


def validated(*paths: Path) -> dict[str, tuple[bool, list[int], list[object]]]:
    """Return what the client says, run as its users run it: in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[bool, list[int], list[object]]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_every_bundle_is_a_valid_data_package(packages):
    found = validated(*packages.values())
    assert {key: found[str(path)][2] for key, path in packages.items() if not found[str(path)][0]} == {}
    for (name, form), path in packages.items():
        release = json.loads((path.parent / "release.json").read_text())
        rows = [release["data"]["tables"][t["name"]]["rows"] for t in release["tables"]]
        assert form == "duckdb" or found[str(path)][1] == rows, (name, form)


def test_the_client_finds_what_is_wrong(packages):
    path = packages["pram", "csv"]
    data = path.parent / "data.csv"
    before = data.read_bytes()
    data.write_bytes(before.replace(b"female", b"neither", 1))
    try:
        valid, _, errors = validated(path)[str(path)]
    finally:
        data.write_bytes(before)
    assert not valid
    assert errors


def test_the_description_follows_version_2(packages):
    for path in packages.values():
        document = json.loads(path.read_text())
        assert document["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
        assert "profile" not in document
        assert document["licenses"] == [{"name": "CC-BY-4.0"}]
        for resource in document["resources"]:
            assert "profile" not in resource
            assert ("bytes" in resource) == (resource["format"] == "csv")
            assert resource["schema"]["missingValues"] is not None


LACKING = policy_text(
    """\
[attributes]
age = {{ role = "quasi-identifier", domain = [1, 2, 3], nulls = "unknown" }}
job = {{ role = "sensitive", domain = [5, 6, 7], nulls = "unknown" }}
{rest}
[[privacy]]
{mechanism}
[release]
format = "{form}"
""",
    "people.csv",
    "lacking",
)
NOTE = '[attributes.note]\nrole = "insensitive"\nnulls = "keep"\nassume_unlinkable = "tests"'
WAYS = {
    "pram": (NOTE, 'model = "local-dp"\nepsilon = 8\nscope = "attribute"\n[mechanism]\nname = "pram"'),
    "rr-both": ("", 'model = "attribute-disclosure"\nthreshold = "1/2"\n[mechanism]\nname = "rr-both"'),
    "tp": ("", 'model = "l-diversity"\nkind = "frequency"\nl = 2\n[mechanism]\nname = "l-diversity"\nalgorithm = "tp"'),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_whom_nothing_is_known_are_valid(tmp_path, way):
    """A client that reads a missing category as no value finds such a row blank, and blank rows are an error to it."""
    rest, mechanism = WAYS[way]
    rows = [
        (age, job, "" if i % 2 else f"note {i % 3}") for i in range(30) for age in (1, 2, 3, "") for job in (5, 6, "")
    ]
    lines = (",".join(map(str, row if rest else row[:2])) for row in rows)
    (tmp_path / "people.csv").write_text("\n".join(["age,job,note" if rest else "age,job", *lines]) + "\n")
    made = []
    for form in ("parquet", "csv"):
        path = tmp_path / f"{form}.toml"
        path.write_text(LACKING.format(rest=rest, mechanism=mechanism, form=form))
        assert main(["release", str(path), "--out", str(tmp_path / form)]) == 0
        made.append(tmp_path / form / "public" / "datapackage.json")
    found = validated(*made)

    assert [found[str(path)][2] for path in made] == [[], []]
    for path in made:
        fields = json.loads(path.read_text())["resources"][0]["schema"]["fields"]
        told = {f["name"]: f["description"] for f in fields if "description" in f}
        assert "'unknown' represents a missing value" in told["age"]
