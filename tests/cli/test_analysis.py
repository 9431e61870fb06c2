"""The commands on what a release says: each prints what its Python function returns, as text, CSV, JSON and a plot."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from tests.estimate import conftest as made

KINDS = {
    "counts": (["estimate", "{}", "--by", "sex,ill"], lambda r: r.crosstab(["sex", "ill"])),
    "em": (["estimate", "{}", "--by", "sex,ill", "--estimator", "em"], lambda r: r.crosstab(["sex", "ill"], estimator="em")),
    "projection": (
        ["estimate", "{}", "--by", "ill", "--estimator", "projection", "--population"],
        lambda r: r.crosstab("ill", target="population", estimator="projection"),
    ),
    "query": (
        ["estimate", "query", "{}", "SELECT sex, count(*) AS n FROM release GROUP BY sex"],
        lambda r: r.query("SELECT sex, count(*) AS n FROM release GROUP BY sex"),
    ),
    "association": (["estimate", "association", "{}", "sex", "ill"], lambda r: r.association("sex", "ill")),
    "a measure": (
        ["estimate", "association", "{}", "size", "ill", "--measure", "odds_ratio", "--measure", "phi", "--row-present", "2",
         "--row-present", "3.0", "--column-present", "yes", "--population", "--level", "0.9"],
        lambda r: r.association("size", "ill", ["odds_ratio", "phi"], present=([2, 3], ["yes"]), target="population", level=0.9),
    ),
    "deflated": (
        ["estimate", "association", "{}", "sex", "size", "--measure", "chi2", "--deflate"],
        lambda r: r.association("sex", "size", "chi2", deflate=True),
    ),
    "independence": (
        ["estimate", "independence", "{}", "sex", "ill", "--where", "size = 2", "--method", "wald"],
        lambda r: r.independence("sex", "ill", "size = 2", "wald"),
    ),
    "regression": (
        ["estimate", "glm", "{}", "ill ~ sex + size", "--family", "binomial", "--success", "yes", "--population"],
        lambda r: r.glm("ill ~ sex + size", "binomial", success=["yes"], target="population"),
    ),
    "margins": (
        ["estimate", "glm", "{}", "size ~ sex", "--margins", "--where", "ill = 'yes'"],
        lambda r: r.glm("size ~ sex", where="ill = 'yes'").margins(),
    ),
    "loglinear": (["estimate", "loglinear", "{}", "sex*ill + size"], lambda r: r.loglinear("sex*ill + size")),
    "rules": (
        ["estimate", "rules", "{}", "--min-support", "0.05", "--min-confidence", "0.2", "--columns", "sex,ill", "--columns", "size",
         "--longest", "2", "--present", "2", "--present", "yes"],
        lambda r: r.rules(0.05, 0.2, ["sex", "ill", "size"], longest=2, present=[2, "yes"]),
    ),
    "what holds": (["estimate", "what-holds", "{}"], lambda r: r.what_holds()),
}  # fmt: skip
UNDRAWN = {"independence", "what holds"}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    axes = [
        made.retention("sex", ("F", "M"), [((0, 1), "4/5")]),
        made.retention("ill", ("no", "yes"), [((0, 1), "9/10")]),
        made.retention("size", (1, 2, 3), [((0, 1, 2), "3/4")]),
    ]
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, rng.integers(0, len(axis.P), 1200), rng)
    public = tmp_path / "release" / "public"
    public.mkdir(parents=True)
    (public / "release.json").write_text(json.dumps(made.manifest(axes, 1200, "parquet").to_json()))
    made.write_data(public, rows, "parquet")
    made.seal(public)
    return public.parent


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_prints_what_its_function_returns(folder, tmp_path, capsys, kind):
    call, function = KINDS[kind]
    call = [word.format(folder) for word in call]
    expected = function(rrpolicy.open_release(folder))

    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))
    assert main([*call, "--format", "csv"]) == 0
    printed = capsys.readouterr().out
    assert printed == expected.to_csv()
    assert len(list(csv.DictReader(io.StringIO(printed)))) == len(expected.to_frame())
    drawn = tmp_path / "plot.svg"
    plot = [] if kind in UNDRAWN else ["--plot", str(drawn)]
    assert main([*call, *plot]) == 0
    assert capsys.readouterr().out.startswith(expected.summary())
    if plot:
        assert drawn.read_text() == expected.plot()
        assert main([*call, *plot]) == 4
        shown = capsys.readouterr()
        assert ("RR411" in shown.err, shown.out) == (True, "")


def test_a_test_and_statements_are_not_drawn(folder, capsys):
    for call in (["estimate", "independence", str(folder), "sex", "ill"], ["estimate", "what-holds", str(folder)]):
        assert main([*call, "--plot", "none.svg"]) == 2
        assert "RR250" in capsys.readouterr().err


def test_a_plot_is_svg_or_refused(folder, capsys, tmp_path):
    drawn = tmp_path / "plot.png"
    assert main(["estimate", str(folder), "--by", "sex", "--plot", str(drawn)]) == 2
    shown = capsys.readouterr()
    assert "RR250" in shown.err
    assert "plots are drawn as SVG alone, not into 'plot.png'" in shown.err
    assert shown.out == ""
    with pytest.raises(rrpolicy.PolicyError, match="SVG alone"):
        rrpolicy.open_release(folder).crosstab(["sex"]).plot().save(drawn)
    assert not drawn.exists()


def test_what_makes_no_sense_is_refused(folder, capsys):
    bundle = str(folder)
    for call, code in (
        (["estimate", "association", bundle, "sex", "ill", "--row-present", "F"], "RR250"),
        (
            ["estimate", "association", bundle, "sex", "ill", "--row-present", "none", "--column-present", "yes"],
            "RR273",
        ),
        (["estimate", "association", bundle, "sex", "nothing"], "RR262"),
        (["estimate", "rules", bundle, "--min-support", "0", "--min-confidence", "0.5"], "RR277"),
        (["estimate", "rules", bundle, "--min-support", "0.1"], "RR250"),
        (["estimate", "loglinear", bundle, "sex +"], "RR275"),
        (["estimate", "glm", bundle, "sex +"], "RR541"),
        (["estimate", "independence", bundle, "sex", "ill", "--method", "guess"], "RR250"),
    ):
        assert main(call) == 2
        assert code in capsys.readouterr().err


def test_a_test_says_first_that_it_is_of_the_population(folder, capsys):
    assert main(["estimate", "independence", str(folder), "sex", "ill"]) == 0
    first = capsys.readouterr().out.splitlines()[0]

    assert first == "Independence of sex and ill in the population, which the table is a sample of"
