"""A format of data files and an estimator that somebody else wrote: from the command line, end to end, and refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.estimate.invert.estimator import OFFERS as ESTIMATORS
from rrpolicy.formats.format import FORMAT_OFFERS as FORMATS
from rrpolicy.policy.schema import json_schema

SITE = Path(__file__).parent / "site"
RECORDS = 4000
REGIONS = ("n", "e", "s", "w")
POLICY = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "a format of another distribution"
plugins = ["acme-arrow>=0.3"]

[source]
uri = "survey.csv"

[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s", "w"] }
wave = { role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }
income = { role = "insensitive", nulls = "keep", assume_unlinkable = "made up" }

[[privacy]]
model = "local-dp"
epsilon = 4

[mechanism]
name = "MECHANISM"

[[utility]]
metric = "expected-l2"
max = "1/2"

[release]
format = "arrow"
"""
SETS = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "lists in a format of another distribution"
plugins = ["acme-arrow"]
[source]
uri = "survey.csv"
other_columns = "excluded"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "sensitive", domain = ["n", "e", "s", "w"] }
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "MECHANISM"
[release]
format = "arrow"
"""


@pytest.fixture
def folder(tmp_path, site, monkeypatch):
    site(SITE)
    generator = np.random.default_rng(1)
    columns = (
        generator.choice(["f", "m"], RECORDS, p=[0.3, 0.7]),
        generator.choice(REGIONS, RECORDS, p=[0.1, 0.2, 0.3, 0.4]),
        generator.choice(["1", "2"], RECORDS),
        np.where(generator.random(RECORDS) < 0.1, "", generator.integers(1, 99, RECORDS).astype(str)),
    )
    rows = "".join(f"{','.join(row)}\n" for row in zip(*columns, strict=True))
    (tmp_path / "survey.csv").write_text("sex,region,wave,income\n" + rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, status: int = 0) -> None:
    assert main(list(arguments)) == status, arguments


def released(policy: str = POLICY, mechanism: str = "pram") -> None:
    Path("policy.toml").write_text(policy.replace("MECHANISM", mechanism))
    run("check", "policy.toml")
    run("plan", "policy.toml", "--out", "plan.json", "--key", "key.json")
    run("release", "plan.json", "--out", "bundle", "--key", "key.json")


def test_it_is_released_verified_and_estimated_from_the_command_line(folder, capsys):
    released()
    told = re.findall(r"rrpolicy ((?:verify|estimate) .*)", capsys.readouterr().out)

    assert ["--plugin 'acme-arrow>=0.3'" in line for line in told] == [True, True]
    table = pa.ipc.open_file(pa.OSFile("bundle/public/data.arrow")).read_all()
    assert table.num_rows == RECORDS
    run("verify", "bundle", "--source", "survey.csv", "--key", "key.json", "--plugin", "acme-arrow")
    assert "the same release, byte for byte" in capsys.readouterr().out
    run("estimate", "bundle", "--by", "sex,region", "--plugin", "acme-arrow", "--json")
    moment = json.loads(capsys.readouterr().out)
    run(
        *("estimate", "bundle", "--by", "sex,region", "--estimator", "acme-ridge", "--plugin", "acme-arrow", "--json"),
    )
    ridge = json.loads(capsys.readouterr().out)
    assert "ridge regression" in json.dumps(ridge)
    assert "biased" in json.dumps(ridge)
    assert json.dumps(moment) != json.dumps(ridge)
    run("estimate", "query", "bundle", "SELECT avg(income) AS m FROM release WHERE sex = 'f'", "--plugin", "acme-arrow")
    run("report", "bundle/public", "--plugin", "acme-arrow", "--out", "page.html")
    assert "sex" in Path("page.html").read_text()


def test_the_estimates_are_those_of_the_same_rows_in_a_format_of_the_core(folder):
    released()
    arrow = rrpolicy.open_release("bundle", plugins=["acme-arrow>=0.3"])
    Path("policy.toml").write_text(Path("policy.toml").read_text().replace('format = "arrow"', 'format = "parquet"'))
    run("plan", "policy.toml", "--out", "plan2.json", "--key", "key2.json")
    run("release", "plan2.json", "--out", "again", "--key", "key2.json")
    parquet = rrpolicy.open_release("again")

    truth = np.unique([line[0] for line in Path("survey.csv").read_text().splitlines()[1:]], return_counts=True)[1]
    for release in (arrow, parquet):
        table = release.crosstab("sex")
        assert np.all(np.abs(table.estimate - truth) <= 6 * table.se())
    for where in (None, "wave = '1'"):
        ridge = arrow.crosstab(["sex", "region"], where, estimator="acme-ridge")
        moment = arrow.crosstab(["sex", "region"], where)
        even = moment.records / 8
        assert ridge.to_frame()[["se", "low", "high"]].equals(moment.to_frame()[["se", "low", "high"]])
        if where is None:  # it is drawn towards an even table
            assert np.abs(ridge.estimate - even).sum() < np.abs(moment.estimate - even).sum()
            assert ridge.estimate.sum() == pytest.approx(RECORDS)


@pytest.mark.parametrize("mechanism", ["sensitive-addition", "anatomy"])
def test_lists_and_two_tables_are_held_as_well(folder, mechanism, capsys):
    released(SETS, mechanism)
    run("verify", "bundle", "--source", "survey.csv", "--key", "key.json", "--plugin", "acme-arrow")
    release = rrpolicy.open_release("bundle", plugins=["acme-arrow"])

    assert release.crosstab("region").estimate.sum() == pytest.approx(RECORDS)


def test_its_sql_runs_as_the_file_says(folder):
    released()
    text = Path("bundle/public/estimate.sql").read_text()
    assert "-- DuckDB does not read Arrow files by itself" in text
    readme = Path("bundle/public/README.md").read_text()
    assert "open_release(\".\", plugins=['acme-arrow'])" in readme

    with duckdb.connect() as connection:
        connection.execute("SET file_search_path = 'bundle/public'")
        connection.register("data.arrow", pa.ipc.open_file(pa.OSFile("bundle/public/data.arrow")).read_all())
        connection.execute(text)
        counted = dict(connection.execute("SELECT sex, estimate FROM estimate_sex").fetchall())

    table = rrpolicy.open_release("bundle", plugins=["acme-arrow"]).crosstab("sex")
    assert list(counted.values()) == pytest.approx(table.estimate.tolist())


def test_without_the_plugin_everything_is_refused_with_what_helps(folder, capsys):
    released()

    with pytest.raises(PolicyError, match="RR285") as refused:
        rrpolicy.open_release("bundle")
    assert "--plugin acme-arrow" in refused.value.problems[0].hint
    run("estimate", "bundle", "--by", "sex", status=2)
    assert "RR285" in capsys.readouterr().err
    run("verify", "bundle", status=4)
    assert "RR412" in capsys.readouterr().err
    Path("policy.toml").write_text(Path("policy.toml").read_text().replace('"acme-arrow>=0.3"', ""))
    run("check", "policy.toml", status=2)
    told = capsys.readouterr().err
    assert "RR210" in told
    assert "parquet" in told


def test_a_plan_in_a_format_that_nothing_offers_is_refused(folder, capsys):
    released()
    text = Path("plan.json").read_text()
    Path("plan.json").write_text(text.replace('"acme-arrow>=0.3"', '"acme-oue"').replace("acme-arrow", "acme-oue"))

    run("release", "plan.json", "--out", "other", "--key", "key.json", status=4)

    assert "RR40" in capsys.readouterr().err
    assert not Path("other").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(1),
        lambda table: table.rename_columns(["sex", "region", "wave", "x"]),
        lambda table: table.replace_schema_metadata({"who": "somebody"}),
        lambda table: None,
    ],
)
def test_a_file_that_is_not_what_was_released_fails(folder, change, capsys):
    released()
    path = Path("bundle/public/data.arrow")
    changed = change(pa.ipc.open_file(pa.OSFile(str(path))).read_all())
    path.chmod(0o644)
    if changed is None:
        path.write_bytes(b"no arrow")
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, changed.schema) as writer:
            writer.write_table(changed)

    run("verify", "bundle", "--plugin", "acme-arrow", status=1)
    assert "public/data.arrow" in capsys.readouterr().out
    run("estimate", "bundle", "--by", "sex", "--plugin", "acme-arrow", status=2)
    assert "RR284" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("hook", "name", "what"),
    [("rrpolicy_formats", "parquet", "format"), ("rrpolicy_estimators", "em", "estimator")],
)
def test_a_name_that_is_taken_is_refused(site, tmp_path, distribution, hook, name, what):  # noqa: PLR0917 fixtures
    code = (
        "from rrpolicy.plugin import Offer, hookimpl\n"
        f"@hookimpl\ndef {hook}():\n    return [Offer('{name}', 'nowhere:Nothing')]\n"
    )
    site(distribution(tmp_path / "taker", "acme-taker", "taker", code))

    registry = load_registry(["acme-taker"])

    with pytest.raises(RefusedError, match=f"RR405.*{what} '{name}'.*'core'.*'taker'"):
        _ = registry.formats if what == "format" else registry.estimators


def test_an_offer_that_calls_itself_otherwise_is_refused(site, tmp_path, distribution):
    code = (
        "from rrpolicy.plugin import Offer, hookimpl\n"
        "class Other:\n    name = 'other'\n    told = 'another'\n    def counts(self, asked): ...\n"
        "@hookimpl\ndef rrpolicy_estimators():\n    return [Offer('acme', 'acme_taker:Other')]\n"
    )
    site(distribution(tmp_path / "taker", "acme-taker", "taker", code))

    with pytest.raises(RefusedError, match="RR406.*'acme'.*calls itself otherwise"):
        load_registry(["acme-taker"]).estimators["acme"]


def test_built_ins_are_offered_by_the_same_hooks(site):
    site(SITE)
    core, more = load_registry(), load_registry(["acme-arrow"])

    assert list(core.formats) == [offer.name for offer in FORMATS]
    assert list(core.estimators) == [offer.name for offer in ESTIMATORS]
    assert set(more.formats) - set(core.formats) == {"arrow"}
    for registry, known in ((core, False), (more, True)):
        listed = json_schema(registry.catalogue)["$defs"]["ReleaseTable"]["properties"]["format"]["enum"]
        assert ("arrow" in listed) is known


def test_what_it_offers_is_listed(site, capsys):
    site(SITE)
    run("plugins", "--plugin", "acme-arrow")
    told = capsys.readouterr().out.splitlines()

    assert "formats: arrow, csv, duckdb, parquet" in told
    assert "estimators: acme-ridge, em, projection" in told


def test_the_built_ins_name_themselves():
    registry = load_registry()
    assert all(registry.formats[name].name == name for name in registry.formats)
    assert all(registry.estimators[name].name == name for name in registry.estimators)
