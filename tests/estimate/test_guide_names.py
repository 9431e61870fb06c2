"""What a bundle's README and the analysts' guide print runs for every column name: R as it stands, and SQL."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.engine.quoting import identifier
from rrpolicy.estimate.opening import open_release
from rrpolicy.exports.files import public_files
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest
from tests.survey import WAIVED

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMES = (
    "Sex", "Age group", 'the "quoted" one', "back\\slash \\n", "Größe é", "地域 город", "it's", "a|b`c`<d>&amp;",
    " two  spaces ", "100%", "if", "$x;#", "weights", "😀",
)  # fmt: skip
LOCALES = ("C.UTF-8", "C")


def readme(manifest: Manifest) -> str:
    return public_files(manifest)["README.md"].decode()


def toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def policy(mechanism: str, attributes: str, privacy: str = "") -> str:
    return f"""schema = 1
[policy]
name = "names"
version = "1.0.0"
owner = "o"
purpose = "odd names"
[source]
uri = "people.csv"
{mechanism}
[release]
format = "csv"
{privacy}
{attributes}
{WAIVED}"""


def written(folder: Path, columns: dict[str, list[str]], text: str) -> Path:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    assert main(["release", str(folder / "policy.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out" / "public"


@pytest.fixture(scope="module")
def randomised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    columns = {name: rng.choice(["yes", "Straße \\ 'x'", 'no "'], 400).tolist() for name in NAMES}
    domain = '["yes", "Straße \\\\ \'x\'", "no \\""]'
    attributes = "[attributes]\n" + "\n".join(
        f'{toml(name)} = {{ role = "quasi-identifier", domain = {domain} }}' for name in NAMES
    )
    privacy = '[[privacy]]\nmodel = "local-dp"\nepsilon = 100'
    kept = ", ".join(f"{toml(name)} = 0.6" for name in NAMES)
    mechanism = f'[mechanism]\nname = "pram"\nallocation = "fixed"\nretention_probability = {{ {kept} }}'
    return written(tmp_path_factory.mktemp("odd"), columns, policy(mechanism, attributes, privacy))


def run_r(code: str, folder: Path, locale: str) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    (folder / "example.R").write_text(f"options(warn = 2, digits = 15)\n{code}", encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "--vanilla", "example.R"],
        cwd=folder, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": locale},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("locale", LOCALES)
def test_the_r_of_a_readme_runs_for_every_name(randomised: Path, tmp_path: Path, locale: str) -> None:
    folder = tmp_path / "public"
    shutil.copytree(randomised, folder)
    manifest = open_release(folder).manifest
    pairs = list(zip(NAMES[::2], NAMES[1::2], strict=True))
    parts = []
    for i, pair in enumerate(pairs):
        chosen = tuple(d for name in pair for d in manifest.decoders if d.attributes == (name,))
        one, two = (code for kind, code in BLOCK.findall(readme(replace(manifest, decoders=chosen))) if kind == "r")
        parts += [one, f"write.csv(data.frame(estimate, se), 'one{i}.csv')", two, f"write.csv(estimate, 'two{i}.csv')"]

    run_r("\n".join(parts), folder, locale)

    release = rrpolicy.open_release(folder)
    for i, (first, second) in enumerate(pairs):
        table = release.crosstab(first)
        found = pd.read_csv(folder / f"one{i}.csv")
        np.testing.assert_allclose(sorted(found["estimate"]), sorted(table.estimate), rtol=1e-9)
        np.testing.assert_allclose(sorted(found["se"]), sorted(table.se()), rtol=1e-9)
        both = pd.read_csv(folder / f"two{i}.csv", index_col=0).to_numpy()
        expected = release.crosstab([first, second]).estimate
        np.testing.assert_allclose(np.sort(both, axis=None), np.sort(expected, axis=None), rtol=1e-9)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_r_of_the_analysts_guide_runs_for_every_name(randomised: Path, tmp_path: Path, locale: str) -> None:
    folder = tmp_path / "public"
    shutil.copytree(randomised, folder)
    code = next(c for kind, c in BLOCK.findall((ROOT / "docs" / "tutorials" / "analyst.md").read_text()) if kind == "r")
    manifest = open_release(folder).manifest
    paths = re.findall(r"^- `(weights/[^`]+)`", readme(manifest), re.MULTILINE)
    assert len(paths) == len(NAMES)
    from rrpolicy.exports.weights import r_string

    lines = [code, "out <- c()"]
    lines += [
        f'out <- c(out, sum(weigh({r_string(name)}, "yes", {r_string(path)})))'
        for name, path in zip((d.attributes[0] for d in manifest.decoders), paths, strict=True)
    ]

    run_r("\n".join([*lines, "writeLines(sprintf('%.9f', out), 'out.txt')"]), folder, locale)

    release = rrpolicy.open_release(folder)
    found = [float(v) for v in (folder / "out.txt").read_text().split()]
    expected = [release.crosstab(d.attributes[0]).estimate[0] for d in manifest.decoders]
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_sql_runs_for_every_name(randomised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(randomised)
    text = Path("README.md").read_text(encoding="utf-8")
    release = rrpolicy.open_release(".")
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text(encoding="utf-8")).fetchall()
        for name in NAMES:
            rows = connection.sql(f"FROM {identifier(f'estimate_{name}')}").fetchall()
            assert sorted(r[1] for r in rows) == pytest.approx(sorted(release.crosstab(name).estimate.tolist()))
        for kind, code in BLOCK.findall(text):
            if kind == "sql":
                assert connection.sql(code.rstrip().rstrip(";")).fetchall()
    for kind, code in BLOCK.findall(text):
        if kind == "python":
            exec(code, {})


@pytest.mark.parametrize("names", list(zip(NAMES[::2], NAMES[1::2], strict=True)))
def test_dealt_groups_in_r_python_and_sql(names: tuple[str, str], tmp_path: Path) -> None:
    known, sensitive = names
    rng = np.random.default_rng(5)
    columns = {known: rng.choice(["x y", "Z"], 200).tolist(), sensitive: rng.choice(list("abcd"), 200).tolist()}
    attributes = f"""[attributes]
{toml(known)} = {{ role = "quasi-identifier", domain = ["x y", "Z"] }}
{toml(sensitive)} = {{ role = "sensitive", domain = ["a", "b", "c", "d"] }}"""
    privacy = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2'
    public = written(tmp_path, columns, policy('[mechanism]\nname = "anatomy"', attributes, privacy))
    found = dict(BLOCK.findall((public / "README.md").read_text(encoding="utf-8")))

    run_r(f"{found['r']}\nwrite.csv(estimate, 'out.csv')", public, "C.UTF-8")

    expected = rrpolicy.open_release(public).crosstab([known, sensitive]).estimate
    table = pd.read_csv(public / "out.csv", index_col=0).sort_index(ascending=False).to_numpy()
    np.testing.assert_allclose(np.sort(table, axis=None), np.sort(expected, axis=None), rtol=1e-9)
    with pytest.MonkeyPatch.context() as patched, duckdb.connect() as connection:
        patched.chdir(public)
        connection.execute(Path("estimate.sql").read_text(encoding="utf-8")).fetchall()
        assert connection.sql(found["sql"].rstrip().rstrip(";")).fetchall()
        exec(found["python"], {})
