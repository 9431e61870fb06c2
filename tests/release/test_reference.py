"""A policy that names its population: people are counted in it when planning, releasing and verifying."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import DataError, PolicyError, RefusedError, RequirementError
from rrpolicy.finding import Verdict
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.privacy.models.delta_presence import DeltaPresence
from rrpolicy.privacy.models.k_map import KMap
from tests.survey import WAIVED

AGES = ["0-29", "30-59", "60+"]
REGISTER = pd.DataFrame(
    [(sex, age, place) for i, sex in enumerate("fm") for j, age in enumerate(AGES) for place in "NESW" * (2 + i + j)],
    columns=["sex", "age", "region"],
)
"""84 people, from 2 to 5 of each kind."""
SAMPLE = REGISTER.iloc[:75:5].assign(disease=lambda t: ["none", "flu", "flu"] * (len(t) // 3)).reset_index(drop=True)
ATTRIBUTES = """
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
age = { role = "quasi-identifier", domain = ["0-29", "30-59", "60+"], scale = "ordinal" }
region = { role = "quasi-identifier", domain = ["N", "E", "S", "W"], hierarchy = [{ NE = ["N", "E"], SW = ["S", "W"] }] }
disease = { role = "sensitive", domain = ["none", "flu"], unchanged = "the topic of the survey" }
"""
POLICY = f"""
schema = 1
[policy]
name = "Sample of a register"
version = "1.0.0"
[source]
uri = "sample.parquet"
[reference]
uri = "register.parquet"
{ATTRIBUTES}{WAIVED}
[[privacy]]
model = "k-map"
k = 9
[[privacy]]
model = "delta-presence"
max = "1/2"
[mechanism]
name = "l-diversity"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    REGISTER.assign(name="nobody").to_parquet(tmp_path / "register.parquet", index=False)
    SAMPLE.to_parquet(tmp_path / "sample.parquet", index=False)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def codes(raised: pytest.ExceptionInfo[rrpolicy.RRPolicyError]) -> set[str]:
    return {problem.code for problem in raised.value.problems}


def people_of(released: pd.DataFrame) -> dict[tuple[str, ...], int]:
    """Count, for every released row of quasi-identifiers, the people of the register that it may be of."""
    within = {"NE": "NE", "SW": "SW", "*": "NESW"} | {place: place for place in "NESW"}
    ages = {"*": AGES} | {age: [age] for age in AGES}
    ages |= {f"{AGES[i]} to {AGES[j]}": AGES[i : j + 1] for i in range(3) for j in range(i + 1, 3)}
    return {
        row: sum(
            row[0] in {sex, "*"} and age in ages[row[1]] and place in within[row[2]]
            for sex, age, place in REGISTER.itertuples(index=False)
        )
        for row in set(released[["sex", "age", "region"]].itertuples(index=False, name=None))
    }


@pytest.mark.parametrize("algorithm", ["full-domain", "mondrian", "tp"])
def test_people_are_counted_in_what_is_written(folder: Path, algorithm: str) -> None:
    text = POLICY + f'algorithm = "{algorithm}"\n'
    if algorithm == "tp":
        distinct = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "3/2"\n'
        text = text.replace('[[privacy]]\nmodel = "delta-presence"\nmax = "1/2"\n', distinct).replace("k = 9", "k = 2")
        text = text.replace('l = "3/2"', "l = 2").replace(
            'domain = ["none", "flu"]', 'domain = ["none", "flu", "cold"]'
        )
        cases = ["none", "flu", "cold"] * (len(SAMPLE) // 3)
        SAMPLE.assign(disease=cases).to_parquet(folder / "sample.parquet", index=False)
    (folder / "policy.toml").write_text(text)

    made = rrpolicy.release(folder / "policy.toml", folder / "out", key=folder / "key")

    table = pd.read_parquet(folder / "out/public/data.parquet")
    people = people_of(table)
    found = json.loads((folder / "out/audit/findings.json").read_text())["findings"]
    assert found[0]["achieved"]["value"] == min(people.values())
    if algorithm != "tp":
        records = Counter(table[["sex", "age", "region"]].itertuples(index=False, name=None))
        assert found[1]["achieved"]["value"] == pytest.approx(max(records[row] / n for row, n in people.items()))
    source, register = folder / "sample.parquet", folder / "register.parquet"
    whole = rrpolicy.verify(made.bundle, source=source, reference=register, key=folder / "key")
    assert whole.passed
    assert not [u for u in whole.undecided if "k-map" in u or "population" in u]
    memory = rrpolicy.verify(made.bundle, source=SAMPLE if algorithm != "tp" else source, reference=REGISTER)
    assert memory.passed


def test_what_was_counted_stays_in_audit(folder: Path) -> None:
    made = rrpolicy.release(folder / "policy.toml", folder / "out", key=folder / "key")

    plan = json.loads((folder / "out/audit/plan.json").read_text())
    digest = plan["reference"]
    assert digest.startswith("sha256:")
    for file in (folder / "out/public").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert digest.encode() not in content
            assert b"register.parquet" not in content
    stated = json.loads((folder / "out/public/release.json").read_text())["findings"]
    assert [(f["model"], f["achieved"], f["basis"]) for f in stated] == [
        ("k-map", None, "original"),
        ("delta-presence", None, "original"),
    ]
    assert {c["name"] for f in stated for c in f["companions"]} == {
        "equivalence classes",
        "smallest class",
        "average class",
        "1/smallest class",
    }
    alone = rrpolicy.verify(made.bundle, source=folder / "sample.parquet", key=folder / "key")
    assert alone.passed
    assert any("--reference" in said for said in alone.undecided)
    assert [f.verdict for f in alone.findings if f.model in {"k-map", "delta-presence"}] == [Verdict.UNDECIDED] * 2


def test_another_population_is_told_from_the_one_that_was_counted(folder: Path) -> None:
    made = rrpolicy.release(folder / "policy.toml", folder / "out")
    other = pd.concat([REGISTER, REGISTER.iloc[:1]])
    found = rrpolicy.verify(made.bundle, source=SAMPLE, reference=other)
    assert "RR562" in {problem.code for problem in found.problems}
    with pytest.raises(PolicyError, match="a population verifies nothing without the table"):
        rrpolicy.verify(made.bundle, reference=REGISTER)

    planned = rrpolicy.plan(folder / "policy.toml", out=folder / "plan.json")
    assert planned.passed
    other.to_parquet(folder / "register.parquet", index=False)
    with pytest.raises(RefusedError, match="the reference table, in which people were counted, changed") as raised:
        rrpolicy.release(folder / "plan.json", folder / "again")
    assert codes(raised) == {"RR401"}
    assert not (folder / "again").exists()
    (folder / "plain.toml").write_text(
        POLICY.replace('[reference]\nuri = "register.parquet"\n', "")
        .replace('"k-map"', '"k-anonymity"')
        .split('[[privacy]]\nmodel = "delta')[0]
        + '[mechanism]\nname = "l-diversity"\n'
    )
    plain = rrpolicy.release(folder / "plain.toml", folder / "plain")
    with pytest.raises(PolicyError, match="declares no population"):
        rrpolicy.verify(plain.bundle, source=SAMPLE, reference=REGISTER)


def test_the_digest_knows_that_there_is_a_population_and_not_where(folder: Path) -> None:
    def digest(text: str) -> str:
        (folder / "policy.toml").write_text(text)
        return open_policy(folder / "policy.toml").policy.digest()

    here = digest(POLICY)
    assert here == digest(POLICY.replace("register.parquet", "elsewhere/people.parquet"))
    assert here != digest(POLICY.replace('[reference]\nuri = "register.parquet"\n', ""))
    assert here != digest(POLICY.replace('"register.parquet"', '"register.parquet"\ntable = "people"'))


def test_the_population_may_be_a_view_in_a_database(folder: Path) -> None:
    import duckdb

    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE kept (gender VARCHAR, age VARCHAR, region VARCHAR)")
        connection.executemany("INSERT INTO kept VALUES (?, ?, ?)", REGISTER.to_numpy().tolist())
        connection.execute("CREATE VIEW everybody AS SELECT gender AS sex, age, region FROM kept")
    (folder / "policy.toml").write_text(POLICY.replace('"register.parquet"', '"people.duckdb"\ntable = "everybody"'))
    found = rrpolicy.plan(folder / "policy.toml")
    assert found.passed


BAD = {
    "nobody": (REGISTER.iloc[:0], "RR317", "no records"),
    "some": (REGISTER.iloc[1:], "RR337", "lacks people of the table: of 1 combinations of values .* 3 in all"),
    "named otherwise": (REGISTER.rename(columns={"region": "land"}), "RR311", "has no column 'region'"),
    "elsewhere": (REGISTER.replace({"region": {"W": "abroad"}}), "RR313", "'region' outside its domain"),
    "of no type": (REGISTER.assign(age=1), "RR312", "age"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_population_of_the_table_is_refused(folder: Path, what: str) -> None:
    table, code, said = BAD[what]
    table = pd.concat([table, REGISTER.iloc[1:]]) if what == "some" else table
    if what == "some":
        SAMPLE.loc[[0, 0, 0, 0, *SAMPLE.index]].to_parquet(folder / "sample.parquet", index=False)
    table.to_parquet(folder / "register.parquet", index=False)
    with pytest.raises(DataError, match=said) as raised:
        rrpolicy.plan(folder / "policy.toml")
    assert codes(raised) == {code}
    (problem,) = raised.value.problems
    assert "reference table" in problem.message
    assert problem.place is not None
    assert problem.place.line == 9


def test_a_population_that_is_not_there_is_named_at_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "register.parquet").unlink()
    assert main(["plan", str(folder / "policy.toml")]) == 3
    assert "policy.toml:9:7: RR300 the reference table: " in capsys.readouterr().err


UNFIT = {
    "unused": ('model = "k-map"\nk = 9', 'model = "k-anonymity"\nk = 2', "RR561"),
    "beside plan_on": ('name = "l-diversity"', 'name = "l-diversity"\nplan_on = "other.parquet"', "RR561"),
    "drawn": ('name = "l-diversity"', 'name = "pram"', "RR228"),
}


@pytest.mark.parametrize("what", UNFIT)
def test_policies_that_cannot_be_counted_are_refused_without_data(folder: Path, what: str) -> None:
    old, new, code = UNFIT[what]
    text = POLICY.replace(old, new)
    if what == "unused":
        text = text.replace('[[privacy]]\nmodel = "delta-presence"\nmax = "1/2"\n', "")
    (folder / "policy.toml").write_text(text)
    with pytest.raises(PolicyError) as raised:
        rrpolicy.check(folder / "policy.toml")
    assert code in codes(raised)


def test_the_least_presence_is_not_asked_of_a_subgroup(folder: Path) -> None:
    limited = 'max = "1/2"\nmin = "1/20"\nwhere = { sex = "f" }'
    (folder / "policy.toml").write_text(POLICY.replace('max = "1/2"', limited))
    with pytest.raises(PolicyError, match="`min` also covers people whose class is not in the table"):
        rrpolicy.check(folder / "policy.toml")
    (folder / "policy.toml").write_text(POLICY.replace('max = "1/2"', limited.replace('min = "1/20"\n', "")))
    assert rrpolicy.plan(folder / "policy.toml").passed


def test_tp_says_how_far_it_reaches(folder: Path) -> None:
    more = 'algorithm = "tp"\n[[privacy]]\nmodel = "l-diversity"\nl = 2\nkind = "distinct"\n'
    (folder / "policy.toml").write_text(POLICY + more)
    with pytest.raises(PolicyError, match="tp reaches k-map as far as l = 2 by frequency implies it") as raised:
        rrpolicy.check(folder / "policy.toml")
    assert "not delta-presence" in str(raised.value)


def test_what_makes_classes_without_categories_cannot_be_counted(folder: Path) -> None:
    rooms = 'rooms = { role = "insensitive", unchanged = "so" }\ndisease = {'
    (folder / "policy.toml").write_text(POLICY.replace("disease = {", rooms))
    policy = open_policy(folder / "policy.toml").policy
    for model, requirement in zip((KMap(), DeltaPresence()), policy.requirements, strict=True):
        assert "'rooms' makes classes and has no categories" in (model.supports(requirement, policy, ()) or "")


def test_nobody_reaches_more_than_everybody(folder: Path) -> None:
    (folder / "policy.toml").write_text(POLICY.replace("k = 9", "k = 85"))
    with pytest.raises(RequirementError, match=r"k-map \(achieves 84\)"):
        rrpolicy.plan(folder / "policy.toml")


def test_candidates_are_compared_beside_their_population(folder: Path) -> None:
    found = rrpolicy.compare(folder / "policy.toml", vary={"privacy.0.k": [9, 20, 85]})
    assert [row.passes for row in found.rows] == [True, True, False]
