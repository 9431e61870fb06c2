"""docs/tutorials/analyst.md and the R example of a bundle's README: run as they are printed, and all agree."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rrpolicy
from rrpolicy.estimate.opening import open_release
from rrpolicy.exports.files import public_files

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "tutorials" / "analyst.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(text) if kind == language]


def run_r(code: str, folder: Path) -> str:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    script = folder / "example.R"
    script.write_text(f"options(warn = 2, digits = 15)\n{code}")
    done = subprocess.run(
        ["Rscript", "--vanilla", script.name], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """Make the release of the guide, by its own words."""
    folder = tmp_path_factory.mktemp("guide")
    text = GUIDE.read_text()
    (policy,) = blocks(text, "toml")
    (folder / "analysis.toml").write_text(policy)
    shutil.copytree(ROOT / "policies", folder / "policies")
    for command in blocks(text, "sh"):
        words = command.split()
        assert words[0] == "rrpolicy"
        subprocess.run(
            [sys.executable, "-m", "rrpolicy.cli.main", *words[1:]], cwd=folder, check=True, capture_output=True
        )
    return folder


@pytest.fixture(scope="module")
def python(bundle):
    """Run the Python blocks in one session and return what they leave."""
    code = "\n".join(blocks(GUIDE.read_text(), "python"))
    script = bundle / "guide.py"
    left = (
        "import json; json.dump({'difference': difference, 'se': se, 'low': low, 'high': high}, open('left.json', 'w'))"
    )
    script.write_text(f"{code}\n{left}\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name], cwd=bundle, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((bundle / "left.json").read_text()), done.stdout


@pytest.mark.slow
def test_the_python_blocks_run(bundle, python):
    left, printed = python

    assert left["low"] < left["difference"] < left["high"]
    assert (bundle / "disease.svg").read_text().startswith("<svg")
    for words in ("Estimated counts", "odds_ratio", "Pearson", "level kept", "survives randomisation"):
        assert words in printed


def test_the_sql_blocks_give_the_same_numbers(bundle, python):
    import duckdb

    left, _ = python
    code = (
        "import duckdb, json, sys; c = duckdb.connect(); c.execute(open('estimate.sql').read()).fetchall(); "
        "print(json.dumps([c.sql(q).fetchall() for q in json.loads(sys.argv[1])]))"
    )
    queries = [q.rstrip().rstrip(";") for q in blocks(GUIDE.read_text(), "sql")]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(queries)],
        cwd=bundle / "survey" / "public",
        capture_output=True,
        text=True,
        check=True,
    )
    table, ((difference, se),) = json.loads(done.stdout)
    assert duckdb.__version__

    rows = {r.group["disease"]: r for r in rrpolicy.open_release(bundle / "survey").crosstab("disease").rows}
    for disease, estimate, error, *_ in table:
        assert estimate == pytest.approx(rows[disease].estimate)
        assert error == pytest.approx(rows[disease].se)
    assert difference == pytest.approx(left["difference"], rel=1e-9)
    assert se == pytest.approx(left["se"], rel=1e-9)


def test_the_r_blocks_give_the_same_numbers(bundle, python, tmp_path):
    left, _ = python
    public = tmp_path / "public"
    shutil.copytree(bundle / "survey" / "public", public)

    run_r(
        "\n".join(blocks(GUIDE.read_text(), "r"))
        + "\nwrite.csv(data.frame(v = names(estimate), estimate, se), 'table.csv', row.names = FALSE)"
        + "\nwrite.csv(t(comparison), 'comparison.csv', row.names = FALSE)",
        public,
    )

    import pandas as pd

    comparison = pd.read_csv(public / "comparison.csv")
    assert comparison["difference"][0] == pytest.approx(left["difference"], rel=1e-9)
    assert comparison["se"][0] == pytest.approx(left["se"], rel=1e-9)
    table = rrpolicy.open_release(bundle / "survey").crosstab("disease")
    found = pd.read_csv(public / "table.csv")
    np.testing.assert_allclose(found["estimate"], table.estimate, rtol=1e-9)
    np.testing.assert_allclose(found["se"], table.se(), rtol=1e-9)
    assert (public / "disease.pdf").stat().st_size > 1000


def test_the_r_example_of_a_readme_agrees_with_python(publish, made, tmp_path):
    """Text, number and truth-value labels, one with an empty text, by base R from a CSV release."""
    rng = np.random.default_rng(17)
    n = 3000
    axes = [
        made.retention("sex", ("F", "", "NA"), [((0, 1, 2), "4/5")]),
        made.retention("visits", (1, 2, 10), [((0, 1, 2), "3/4")]),
        made.retention("ill", (False, True), [((0, 1), "9/10")]),
        made.identity("region", ("north", "south")),
    ]
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, rng.integers(0, len(axis.P), n), rng)
    pairs = [("sex", "visits", axes[:2]), ("visits", "ill", axes[1:3])]
    for i, (first, second, chosen) in enumerate(pairs):
        names = [a.columns[0]["name"] for a in [*chosen, axes[3]]]
        folder = publish([*chosen, axes[3]], {k: rows[k] for k in names}, "csv", name=f"b{i}")
        for path, content in public_files(open_release(folder).manifest).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        (folder / "data.csv").write_text(as_released({k: rows[k] for k in names}))
        made.seal(folder)
        one, two = blocks((folder / "README.md").read_text(), "r")

        run_r(
            f"{one}\nwrite.csv(data.frame(v = names(estimate), estimate, se), 'one.csv')\n"
            f"{two}\nwrite.csv(as.data.frame.table(estimate), 'two.csv')\n"
            "write.csv(as.data.frame.table(unclass(se)), 'two_se.csv')",
            folder,
        )

        import pandas as pd

        release = rrpolicy.open_release(folder)
        options = {"dtype": {"v": str, "original": str, "original.1": str}, "keep_default_na": False}
        spelled = [_r_spelling(v) for v in release.domain(first)]
        table = pd.read_csv(folder / "one.csv", **options).set_index("v").loc[spelled]
        expected = release.crosstab(first)
        np.testing.assert_allclose(table["estimate"].astype(float), expected.estimate, rtol=1e-9)
        np.testing.assert_allclose(table["se"].astype(float), expected.se(), rtol=1e-9)
        both = release.crosstab([first, second])
        for name, values in (("two.csv", both.estimate), ("two_se.csv", both.se())):
            found = pd.read_csv(folder / name, keep_default_na=False, dtype=str)
            cells = {(r.iloc[1], r.iloc[2]): float(r.iloc[3]) for _, r in found.iterrows()}
            for i_, a in enumerate(release.domain(first)):
                for j, b in enumerate(release.domain(second)):
                    assert cells[_r_spelling(a), _r_spelling(b)] == pytest.approx(values[i_, j], rel=1e-9)


def as_released(rows) -> str:
    """Write rows as a CSV release does: text always quoted, the rest never."""
    spelled = [
        [f'"{v}"' if isinstance(v, str) else str(v).lower() for v in values]
        for values in zip(*rows.values(), strict=True)
    ]
    return "".join(",".join(line) + "\r\n" for line in [[f'"{name}"' for name in rows], *spelled])


def _r_spelling(value) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)
