"""`anatomy` of two sensitive attributes from the policy file on: refused, planned, released, verified, estimated, attacked."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError, RequirementError
from rrpolicy.estimate.opening import open_release
from rrpolicy.finding import Standing, Verdict
from rrpolicy.planning.check import check
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from rrpolicy.testing import check_mechanism, policy_text

from .looking import planned, problems

DISEASES, INCOMES = ("flu", "cold", "none", 'a "rare", one'), ("low", "middle", "high")
POLICY = policy_text(
    """\
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"], release_as = "gender" }
age = { role = "quasi-identifier", bins = [0, 30, 60, 120], labels = ["young", "middle", "old"], scale = "ordinal" }
disease = { role = "sensitive", domain = ["flu", "cold", "none", 'a "rare", one'], release_as = "illness" }
income = { role = "sensitive", domain = ["low", "middle", "high"] }
hours = { role = "insensitive", unchanged = "told to nobody" }
""",
    "people.csv",
    "Anatomy of two",
)
REST = """
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "anatomy"
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(rest: str = REST, head: str = POLICY, records: int = 401, common: float = 0.4) -> Path:
        rng = np.random.default_rng(17)
        with (tmp_path / "people.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["person", "sex", "age", "disease", "income", "hours"])
            for i in range(records):
                disease = rng.integers(4)
                income = 0 if rng.random() < common else rng.choice([1, 2]) if disease else 2
                drawn = [DISEASES[disease], INCOMES[income], rng.integers(5)]
                rows.writerow([f"CANARY{i}", "FM"[rng.integers(2)], rng.integers(0, 100), *drawn])
        path = tmp_path / "policy.toml"
        path.write_text(head + rest)
        return path

    return make


def test_check_decides_without_data_and_a_plan_tells_the_groups(write: Write) -> None:
    (found,) = check(open_policy(write(head=POLICY.replace('.csv"', '.csv"\nmin_rows = 10')))).findings
    outlook = planned(write())
    told = {remark.name: remark.text for remark in outlook.plan.remarks}

    assert (found.verdict, found.achieved and found.achieved.value) == (Verdict.SATISFIED, 2)
    assert "200 groups of 2 different values of 'disease', and of 'income'" in told["groups"]
    assert told["largest-eligible-l"].endswith("is 2")


def test_the_attribute_that_allows_least_decides_what_is_eligible(write: Write) -> None:
    with pytest.raises(RequirementError) as caught:
        planned(write(common=0.7))
    (problem,) = caught.value.problems

    assert problem.code == "RR106"
    assert "'low' has 7" in problem.message
    assert "of the records of 'income'" in problem.message
    assert "largest eligible l: 1" in (problem.expected or "")


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('sex = { role = "quasi-identifier"', 'sex = { role = "sensitive"', "RR298", "'income' is one sensitive"),
        ("l = 2", "l = 4", "RR299", "groups of 4 different values: 'income' has 3"),
        ("l = 2", 'l = 2\nsensitive = ["income"]', "RR299", "different values of 'disease' a group has"),
        ("l = 2", 'l = 2\n[[privacy]]\nmodel = "t-closeness"\nt = 0.2', "RR228", "nothing can assess 't-closeness'"),
        (
            "l = 2",
            'l = 2\n[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 0.9\nknown_sensitive = true',
            "RR228",
            "one of two dealt values",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(write: Write, old: str, new: str, code: str, message: str) -> None:
    found = problems(write(head=POLICY.replace(old, new), rest=REST.replace(old, new)))

    assert any(message in p.message and p.code == code for p in found), [(p.code, p.message) for p in found]
    assert all(p.place is not None for p in found)


def test_too_many_combinations_are_refused(write: Write) -> None:
    many = "domain = [" + ", ".join(f'"d{i}"' for i in range(7000)) + "]"
    head = POLICY.replace('domain = ["flu", "cold", "none", \'a "rare", one\']', many)

    (problem,) = problems(write(head=head))

    assert problem.code == "RR571"
    assert "21,000" in problem.message


def test_the_conformance_kit_passes(write: Write, tmp_path: Path) -> None:
    opened = open_policy(write(records=40))
    with open_original(opened.policy, opened.registry.sources, tmp_path) as original:
        check_mechanism(opened.registry.mechanisms["anatomy"], opened, [original])


DISCLOSURE = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 0.99\n'


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "duckdb"])
def test_a_release_is_verified_estimated_and_attacked(
    write: Write, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(rest=f'[release]\nformat = "{form}"\n' + DISCLOSURE + REST)
    plan, key, out = tmp_path / "plan.json", tmp_path / "key.json", tmp_path / "out"
    assert main(["plan", str(path), "--out", str(plan), "--key", str(key)]) == 0
    assert main(["release", str(plan), "--out", str(out), "--key", str(key)]) == 0
    capsys.readouterr()
    source = ["--source", str(tmp_path / "people.csv")]
    for level, more in (("public", []), ("audit", []), ("source", source), ("key", [*source, "--key", str(key)])):
        assert main(["verify", str(out), "--level", level, *more]) == 0
        assert f"verified at level {level}" in capsys.readouterr().out

    release = open_release(out)
    with (tmp_path / "people.csv").open(newline="") as file:
        people = list(csv.DictReader(file))
    for column, name in (("illness", "disease"), ("income", "income")):
        table = release.crosstab(["gender", column])
        assert sum(r.estimate for r in table.rows) == pytest.approx(401)
        true = Counter((row["sex"], row[name]) for row in people)
        for row in table.rows:
            assert row.low <= true[row.group["gender"], row.group[column]] <= row.high
        alone = {r.group[column]: r.estimate for r in release.crosstab(column).rows}
        assert alone == Counter(row[name] for row in people)
    for ask in (
        lambda: release.crosstab(["illness", "income"]),
        lambda: release.crosstab("gender", where="illness = 'flu' AND income = 'low'"),
        lambda: release.association("illness", "income", spread=True),
    ):
        with pytest.raises(PolicyError, match="RR288") as caught:
            ask()
        assert "separate tables" in str(caught.value)

    monkeypatch.chdir(out / "public")
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text())
        for column in ("illness", "income"):
            found = connection.execute(
                f'SELECT gender, {column}, estimate FROM "estimate_gender_by_{column}"'
            ).fetchall()
            assert {(a, b): n for a, b, n in found} == pytest.approx(
                {(r.group["gender"], r.group[column]): r.estimate for r in release.crosstab(["gender", column]).rows}
            )
    capsys.readouterr()
    assert main(["attack", str(out), *source, "--json"]) == 0
    attacks = json.loads(capsys.readouterr().out)
    told = {(a["name"], a["of"]): a["outcome"] for a in attacks["attacks"]}
    assert told == {
        (n, s): "as predicted" for n in ("homogeneity", "background knowledge") for s in ("disease", "income")
    }
    for file in Path().iterdir():
        assert b"CANARY" not in file.read_bytes()


def test_the_report_and_the_readme_speak_of_both(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["release", str(write(rest=DISCLOSURE + REST)), "--out", str(out)]) == 0
    report = json.loads((out / "audit" / "report.json").read_text())
    (section,) = report["sections"]

    assert section["title"] == "Groups by disease and income"
    assert sum(int(row[0].replace(",", "")) for row in section["table"]) <= 200
    (finding,) = [row for row in report["findings"] if row["model"] == "attribute-disclosure"]
    assert "at most" in json.dumps(finding) or Standing.UPPER_BOUND.value in json.dumps(finding)
    readme = (out / "public" / "README.md").read_text()
    assert "which values of the two columns belong to one record" in " ".join(readme.split())
    public = (out / "public" / "report.html").read_text()
    assert "Groups by disease and income" in public
    assert "Combinations in one group" not in public


def test_a_table_of_both_is_no_metric_and_one_of_each_is(write: Write) -> None:
    gate = '[[utility]]\nmetric = "{}"\nattributes = ["sex", "{}"]\nmax = 1\n'
    outlook = planned(write(rest=gate.format("total-variation", "disease") + REST))
    assert outlook.decision.passed

    with pytest.raises(PolicyError, match="RR267"):
        planned(write(rest=gate.format("total-variation", "income").replace('"sex"', '"disease"') + REST))
