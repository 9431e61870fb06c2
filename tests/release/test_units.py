"""One person, one record, or as many as the policy admits: from the policy to what an auditor and an analyst read."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.flags import MOMENT
from rrpolicy.privacy.units import ROWS_NOTE, UNDECIDED
from rrpolicy.testing import policy_text
from tests.survey import WAIVED

from .forging import reseal_audit

POLICY = policy_text(
    """\
{source}
[attributes]
person_id = {{ role = "{role}" }}
house = {{ role = "excluded" }}
sex = {{ role = "quasi-identifier", domain = ["f", "m"] }}
age = {{ role = "quasi-identifier", domain = [1, 2, 3] }}
disease = {{ role = "sensitive", domain = ["none", "flu", "cold"] }}
{rest}
""",
    "visits.csv",
    "visits",
)
PRAM = """
[[privacy]]
model = "local-dp"
epsilon = 8
[[privacy]]
model = "pk-anonymity"
k = 2
[mechanism]
name = "pram"
"""
ACCEPT = """
[release]
accept = ["parameters:sex", "parameters:age", "parameters:disease", "released"]
"""
ANATOMY = """
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "anatomy"
"""
GENERAL = """
[[privacy]]
model = "k-anonymity"
k = 2
[mechanism]
name = "l-diversity"
algorithm = "mondrian"
"""

Case = Callable[..., Path]


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a function that writes a policy and a table of so many people with so many records each."""

    def make(
        records: tuple[int, ...] = (1,),
        *,
        rest: str = PRAM,
        source: str = "",
        role: str = "identifier",
        people: int = 600,
    ) -> Path:
        rng = random.Random(5)
        with (tmp_path / "visits.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["person_id", "house", "sex", "age", "disease"])
            for person in range(people):
                for _ in range(records[person % len(records)]):
                    drawn = [rng.choice("fm"), rng.randint(1, 3), rng.choice(["none", "flu", "cold"])]
                    rows.writerow([f"SECRET{person}", f"house {person // 2}", *drawn])
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(source=source, role=role, rest=rest))
        return path

    return make


def codes(capsys: Any) -> str:
    text: str = capsys.readouterr().err
    assert "SECRET" not in text
    return text


def test_duplicates_of_the_identifier_end_every_command_with_exit_3(case: Case, capsys: Any) -> None:
    policy = case()
    folder = policy.parent
    bundle, key = folder / "bundle", folder / "release.key"
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    assert run("plan", policy, "--out", folder / "plan.json") == 0
    case((1, 2))
    capsys.readouterr()

    for command in (
        ["plan", policy],
        ["release", policy, "--out", folder / "other"],
        ["release", folder / "plan.json", "--out", folder / "other"],
        ["verify", bundle, "--source", folder / "visits.csv"],
        ["verify", bundle, "--source", folder / "visits.csv", "--key", key, "--strict"],
    ):
        assert run(*command) == 3, command
        assert "RR323" in (said := codes(capsys))
        assert "300 exceed 1 a unit" in said
    assert not (folder / "other").exists()


def test_fifty_thousand_rows_of_one_person(case: Case, tmp_path: Path, capsys: Any) -> None:
    policy = case(people=2)
    (tmp_path / "visits.csv").write_text("person_id,house,sex,age,disease\n" + "SECRET,h,f,1,flu\n" * 50_000)

    assert run("check", policy) == 0
    assert run("plan", policy) == 3
    assert "49,999 exceed 1 a unit" in codes(capsys)


def test_nulls_of_the_identifier_end_with_exit_3(case: Case, tmp_path: Path, capsys: Any) -> None:
    policy = case()
    table = tmp_path / "visits.csv"
    table.write_text(table.read_text().replace("SECRET0,", ",", 1))

    assert run("plan", policy) == 3
    assert "RR324" in codes(capsys)


def findings(bundle: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    public = json.loads((bundle / "public" / "release.json").read_text())
    audit = json.loads((bundle / "audit" / "findings.json").read_text())
    return public, audit


@pytest.mark.parametrize("tested", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_the_audit_page_prints_the_verification_that_can_succeed(case: Case, *, tested: bool, kept: bool) -> None:
    policy = case(rest=PRAM, role="identifier" if tested else "excluded")
    bundle, key, table = (policy.parent / name for name in ("bundle", "release.key", "visits.csv"))
    assert run("release", policy, "--out", bundle, *(["--key", key] if kept else [])) == 0

    what, command = json.loads((bundle / "audit" / "report.json").read_text())["following"][0].values()
    assert ("--strict" in command) is (tested and kept)
    assert ("the key was destroyed" in what) is not kept
    assert (UNDECIDED in what) is not tested
    given = {"BUNDLE": bundle, "TABLE": table, "KEY": key}
    assert run(*(given.get(word, word) for word in command.split()[1:])) == 0
    assert run("verify", bundle, "--source", table, *(["--key", key] if kept else []), "--strict") == (
        0 if tested and kept else 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("rest", [PRAM, ANATOMY, GENERAL], ids=["pram", "anatomy", "generalised"])
@pytest.mark.parametrize("tested", [True, False])
def test_every_mechanism_says_what_was_tested(case: Case, capsys: Any, *, rest: str, tested: bool) -> None:
    policy = case(rest=rest, role="identifier" if tested else "excluded")
    policy.write_text(policy.read_text().replace("[1, 2, 3]", '["1", "2", "3"]'))
    bundle, key, table = (policy.parent / name for name in ("bundle", "release.key", "visits.csv"))
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    public, audit = findings(bundle)
    told = f"How many records a person has was {'tested on the table' if tested else 'not tested'}."

    assert public["units"] == {"max_records": 1}
    assert audit["tested"] is tested
    for finding in (*public["findings"], *audit["findings"]):
        assert [a for a in finding["assumptions"] if "one record (stated by the publisher)" in a]
    counted = [
        [c["measure"]["value"] for c in f["companions"] if c["name"] == "records of one unit"]
        for f in audit["findings"]
    ]
    assert counted == [[1.0] if tested else []] * len(audit["findings"])
    assert "records of one unit" not in json.dumps(public)
    assert told in (bundle / "audit" / "report.html").read_text()
    assert not any(b"tested" in path.read_bytes() for path in (bundle / "public").glob("*.json"))
    capsys.readouterr()
    assert run("verify", bundle, "--source", table, "--key", key, "--strict") == (0 if tested else 1)
    assert (UNDECIDED in capsys.readouterr().out.splitlines()[-1]) is not tested
    assert run("verify", bundle) == 0
    assert UNDECIDED in capsys.readouterr().out.splitlines()[-1]


def test_several_records_a_person_from_plan_to_estimate(case: Case, capsys: Any) -> None:
    policy = case((1, 2, 3), source="max_records = 3", rest=PRAM + ACCEPT)
    bundle, key, table = (policy.parent / name for name in ("bundle", "release.key", "visits.csv"))
    assert run("check", policy) == 0
    assert "for units of up to 3 records" in capsys.readouterr().out
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    public, audit = findings(bundle)
    epsilon, k = audit["findings"]
    private, hidden = public["findings"]

    assert public["units"] == {"max_records": 3}
    assert public["origins"]["sex"] == "chosen from the data"  # k rests on how many units there are
    assert private["achieved"] == epsilon["achieved"]
    assert (hidden["achieved"], hidden["verdict"], hidden["basis"]) == (None, "satisfied", "original")
    assert k["achieved"]["value"] >= 2
    product = 1.0
    for decoder in public["decoders"]:
        for block in decoder.get("blocks", ()):
            keep, size = eval_fraction(block["keep_probability"]), len(block["members"])
            product *= keep * (size - 1) / (1 - keep)
    assert k["achieved"]["value"] == pytest.approx(1 + 199 * product**-6)
    assert eval_fraction(str(epsilon["achieved"]["value"])) == pytest.approx(3 * math.log(product))
    capsys.readouterr()
    assert run("verify", bundle, "--source", table, "--key", key, "--strict") == 0
    assert run("verify", bundle / "public") == 0
    assert run("estimate", bundle / "public", "--by", "sex") == 0
    assert "--population" not in capsys.readouterr().out
    assert run("estimate", bundle / "public", "--by", "sex", "--population") == 2
    assert "RR247" in codes(capsys)
    assert (
        run("estimate", "query", bundle / "public", "SELECT sex, count(*) FROM release GROUP BY sex", "--population")
        == 2
    )
    assert "RR247" in codes(capsys)
    release = open_release(bundle / "public")
    for ask in (
        lambda: release.cube(["sex"], target="population"),
        lambda: release.mean("age", target="population"),
        lambda: release.independence("sex", "age"),
        lambda: release.loglinear("sex + age"),
    ):
        with pytest.raises(PolicyError, match="up to 3 records"):
            ask()
    results = [
        release.crosstab(["sex"]),
        release.mean("age"),
        release.association("sex", "age"),
        release.query("SELECT sex, count(*) AS n, share() AS s, avg(age) AS a FROM release GROUP BY sex"),
    ]
    for result in results:
        # some draws leave cells below 0, of which a measure of association has no error, and every row says so
        told = result is results[2] and all(result.flags) and MOMENT not in result.estimator
        assert np.isfinite(result.se()).any() or told
        assert np.array_equal(result.se("table"), result.se(), equal_nan=True)
        asked = [lambda r=result: r.se("population"), lambda r=result: r.conf_int(target="population")]
        asked += [lambda r=result: r.covariance("population")] if result is results[0] else []
        for ask in asked:
            with pytest.raises(PolicyError, match="up to 3 records"):
                ask()
    assert "do not use se_population" in (bundle / "public" / "estimate.sql").read_text()
    assert "up to 3 a person" in (bundle / "public" / "README.md").read_text()


def eval_fraction(text: str) -> float:
    top, _, bottom = str(text).partition("/")
    return float(top) / float(bottom or 1)


@pytest.mark.parametrize(
    ("source", "role", "message"),
    [
        ("max_records = 2", "excluded", "no column identifies people"),
        ('unit = "sex"', "identifier", "is released"),
        ('unit = "person"', "identifier", "not an attribute of the policy"),
        ("max_records = 2", "identifier", "needs one record a person"),
    ],
)
def test_units_that_cannot_be_are_refused_at_check(
    case: Case, capsys: Any, source: str, role: str, message: str
) -> None:
    rest = ANATOMY if "one record" in message else PRAM

    assert run("check", case(source=source, role=role, rest=rest)) == 2
    said = codes(capsys)
    assert "RR246" in said
    assert message in said


def test_a_column_that_the_policy_leaves_out_may_tell_units_apart(case: Case, capsys: Any) -> None:
    policy = case(source='other_columns = "excluded"\nunit = "house"')
    policy.write_text(policy.read_text().replace('house = { role = "excluded" }\n', ""))

    assert run("check", policy) == 0
    assert run("plan", policy) == 3
    assert "300 exceed 1 a unit" in codes(capsys)


def test_households_are_units_too(case: Case, capsys: Any) -> None:
    assert run("plan", case(source='unit = "house"')) == 3
    assert "300 exceed 1 a unit" in codes(capsys)
    assert run("plan", case(source='unit = "house"\nmax_records = 2', rest=PRAM + ACCEPT)) == 0


def test_a_forged_test_is_found(case: Case, capsys: Any) -> None:
    policy = case(role="excluded")
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    path = bundle / "audit" / "findings.json"
    path.write_text(path.read_text().replace('"tested": false', '"tested": true'))
    reseal_audit(bundle)
    capsys.readouterr()

    for options in ((), ("--source", policy.parent / "visits.csv")):
        assert run("verify", bundle, *options) == 1
        assert "RR129" in capsys.readouterr().out  # the plan's policy names no column to test by


def test_the_plan_counts_people_and_rows_and_refuses_without_a_unit(case: Case, capsys: Any) -> None:
    policy = case((1, 1, 2), source="IDENTIFIERS", people=300)
    policy.write_text(policy.read_text().replace("IDENTIFIERS\n", "").replace('"excluded"', '"identifier"'))

    for command in (
        ["plan", policy],
        ["check", policy, "--source"],
        ["release", policy, "--out", policy.parent / "no"],
    ):
        assert run(*command) == 3
        said = " ".join(codes(capsys).split())
        assert "RR329 'person_id' (identifier) repeats: 300 people in 400 rows" in said
        assert 'write `unit = "person_id"` and `max_records = 2` under [source]' in said
    assert not (policy.parent / "no").exists()


def test_whether_a_person_has_one_record_is_stated_only_where_it_was_tested(case: Case, capsys: Any) -> None:
    said = {}
    for source, role in (("", "identifier"), ('unit = "each row"', "identifier"), ("", "excluded")):
        policy = case(source=source, role=role)
        if role == "excluded":
            table = policy.parent / "visits.csv"
            policy.write_text(policy.read_text().replace('house = { role = "excluded" }', ""))
            policy.write_text(policy.read_text().replace("[attributes]", 'other_columns = "excluded"\n[attributes]'))
            table.write_text(table.read_text().replace("house", "block", 1))
        bundle = policy.parent / f"bundle{len(said)}"
        assert run("release", policy, "--out", bundle) == 0
        assert run("verify", bundle) == 0
        assert run("verify", bundle / "public") == 0
        capsys.readouterr()
        assert run("plan", policy) == 0
        page = (bundle / "public" / "report.html").read_text()
        said[source, role] = [capsys.readouterr().out, (bundle / "public" / "README.md").read_text(), page]
    untested = "600 records. Whether a person has one record or several was not tested."
    for (source, role), texts in said.items():
        tested, of_rows = (source, role) == ("", "identifier"), bool(source)
        assert ("600 records, one a person" in texts[0]) is tested
        assert (untested in texts[0]) is (not tested and not of_rows)
        assert all((ROWS_NOTE in text) is of_rows for text in texts)
        for text in texts[1:]:
            assert "600 records" in text
            assert "one a person" not in text


def test_rows_are_protected_by_themselves_where_the_policy_declares_it(case: Case, capsys: Any) -> None:
    assert run("plan", case((1, 2), source='unit = "each row"')) == 0
    assert f"900 records. {ROWS_NOTE}" in capsys.readouterr().out
    assert run("check", case((1, 2), source='unit = "each row"\nmax_records = 2')) == 2
    assert "RR246" in codes(capsys)


def test_verify_leads_with_the_data_file_that_was_changed(case: Case, capsys: Any) -> None:
    policy = case(rest=PRAM + '[release]\nformat = "csv"\n')
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    data = next((bundle / "public").glob("*.csv"))
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:1] + lines[2:]))
    capsys.readouterr()

    assert run("verify", bundle, "--source", policy.parent / "visits.csv") == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"NOT verified: public/{data.name} was changed: its bytes are not those that were written (RR111)"


HOUSES = """
[[privacy]]
model = "k-anonymity"
k = 3
[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 2
[mechanism]
name = "generalisation"
"""


def households(folder: Path, number: int = 150) -> list[list[tuple[str, int, str]]]:
    """Write a table of households of one to three people, shuffled, and return their members."""
    rng = random.Random(11)
    kinds, diseases = ["none", "flu", "cold"], [1, 2, 3]
    found = [
        [(rng.choice("fm"), rng.choice(diseases), rng.choice(kinds)) for _ in range(1 + house % 3)]
        for house in range(number)
    ]
    rows = [(f"p{house}-{i}", f"SECRET{house}", *member) for house, m in enumerate(found) for i, member in enumerate(m)]
    rng.shuffle(rows)
    with (folder / "visits.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("person_id", "house", "sex", "age", "disease"), *rows])
    return found


def test_generalisation_hides_whole_households(case: Case, tmp_path: Path, capsys: Any) -> None:
    policy = case(source='unit = "house"\nmax_records = 3', rest=HOUSES)
    found = households(tmp_path)
    bundle, key, table = tmp_path / "bundle", tmp_path / "release.key", tmp_path / "visits.csv"
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    public, audit = findings(bundle)
    groups = {d["attributes"][0]: d["groups"][0] for d in public["decoders"] if "groups" in d}

    def fewest(sex_groups: Any, age_groups: Any, *, together: bool) -> int:
        """Return the least number of households with one key; not together: of records in one class."""
        code = [({"f": 0, "m": 1}[s], a - 1) for members in found for s, a, _ in members]
        seen = [
            tuple(
                next(i for i, g in enumerate(gs) if c in g)
                for c, gs in zip(both, (sex_groups, age_groups), strict=True)
            )
            for both in code
        ]
        starts = list(itertools.accumulate(map(len, found), initial=0))
        whole = [tuple(sorted(seen[a:b])) for a, b in itertools.pairwise(starts)]
        return min(Counter(whole if together else seen).values())

    chosen = groups["sex"], groups["age"]
    singles = [[0], [1]], [[0], [1], [2]]
    assert chosen != singles
    assert fewest(*singles, together=False) >= 3 > fewest(*singles, together=True)
    k, l = audit["findings"]
    assert k["achieved"]["value"] == fewest(*chosen, together=True) >= 3
    assert l["verdict"] == "satisfied"
    assert {f["basis"] for f in audit["findings"]} == {"original"}
    assert [f["achieved"] for f in public["findings"]] == [None, None]
    written = (path for path in (bundle / "public").rglob("*") if path.is_file())
    assert not any(b"SECRET" in path.read_bytes() for path in written)
    capsys.readouterr()
    assert run("verify", bundle, "--source", table, "--key", key, "--strict") == 0
    assert run("verify", bundle / "public") == 0


def test_single_records_are_not_suppressed_where_a_unit_has_several(case: Case, capsys: Any) -> None:
    for rest in (GENERAL, HOUSES + 'suppression = "1/20"\n', GENERAL.replace("mondrian", "tp")):
        assert run("check", case(source='unit = "house"\nmax_records = 2', rest=rest)) == 2
        assert "RR291" in codes(capsys)


def test_a_rare_number_of_records_prevents_a_release_and_the_hint_says_so(
    case: Case, tmp_path: Path, capsys: Any
) -> None:
    policy = case(source='unit = "house"\nmax_records = 4', rest=HOUSES)
    households(tmp_path)
    with (tmp_path / "visits.csv").open("a", newline="") as file:
        file.writelines(f"extra-{i},SECRETX,f,1,flu\r\n" for i in range(4))

    assert run("plan", policy) == 1
    said = " ".join(codes(capsys).split())
    assert "RR105 no generalisation meets every requirement" in said
    assert "1 unit has 4: leave rare numbers of records out of the table" in said


def test_a_released_household_number_makes_households_unique_by_their_members(
    case: Case, tmp_path: Path, capsys: Any
) -> None:
    rest = GENERAL.replace('algorithm = "mondrian"\n', "")
    policy = case(source='unit = "person_id"', rest=rest)
    stated = 'role = "insensitive", design = "cluster", assume_unlinkable = "an office number", unchanged = "errors"'
    policy.write_text(policy.read_text().replace('house = { role = "excluded" }', f"house = {{ {stated} }}"))
    found = households(tmp_path)
    alike = Counter(tuple(sorted((sex, age) for sex, age, _ in members)) for members in found)
    alone = sum(n == 1 for n in alike.values())

    assert run("plan", policy) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert alone > 5
    assert f"links the released records of 150 clusters; of {alone} of them no other has the same composition" in said
    large = (tmp_path / "visits.csv").read_text()
    (tmp_path / "visits.csv").write_text(re.sub(r"SECRET\d+", lambda m: f"district{int(m[0][6:]) % 3}", large))
    assert run("plan", policy) == 0
    assert "same composition" not in " ".join(capsys.readouterr().out.split())


def test_a_policy_of_rows_leaves_nothing_to_test_and_says_so_first(case: Case, capsys: Any) -> None:
    policy = case((1, 2), source='unit = "each row"')
    bundle, key, table = (policy.parent / name for name in ("bundle", "release.key", "visits.csv"))
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    public, audit = findings(bundle)
    capsys.readouterr()

    assert public["units"] == {"max_records": 1, "of": "each row"}
    assert audit["tested"] is False
    for finding in (*public["findings"], *audit["findings"]):
        assert [a for a in finding["assumptions"] if a.startswith(ROWS_NOTE)]
    for page in ("audit", "public"):
        text = (bundle / page / "report.html").read_text()
        assert text.index(ROWS_NOTE) < text.index(f"{ROWS_NOTE} If a person contributes m rows")
        assert "was not tested" not in text
    assert run("verify", bundle, "--source", table, "--key", key, "--strict") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("undecided: nothing")
    for options in ((bundle,), (bundle / "public",)):
        assert run("verify", *options) == 0
        assert UNDECIDED not in capsys.readouterr().out.splitlines()[-1]


def test_of_rows_or_of_people_is_stated_alike_on_both_sides(case: Case, capsys: Any) -> None:
    policy = case(source='unit = "each row"')
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    path = bundle / "public" / "release.json"
    path.write_text(path.read_text().replace(',"of":"each row"', "").replace(',\n    "of": "each row"', ""))
    assert "each row" not in json.dumps(json.loads(path.read_text())["units"])
    capsys.readouterr()
    assert run("verify", bundle) == 1


def test_without_an_identifier_verify_names_the_two_ways_to_decide(case: Case, capsys: Any) -> None:
    policy = case(role="excluded")
    bundle, key, table = (policy.parent / name for name in ("bundle", "release.key", "visits.csv"))
    assert run("release", policy, "--out", bundle, "--key", key) == 0
    capsys.readouterr()
    assert run("verify", bundle, "--source", table, "--key", key, "--strict") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    what = json.loads((bundle / "audit" / "report.json").read_text())["following"][0]
    for text in (last, json.dumps(what, ensure_ascii=False).replace("\\", "")):
        assert UNDECIDED in text
        assert "name it as unit under [source]" in text
        assert 'declare unit = "each row"' in text


WAIVER = """
[[waivers]]
finding = "warning/unprotected-groups?attribute=house"
reason = "flats of students, who are no family"
approver = "the board"
until = 2099-01-01
"""


@pytest.mark.parametrize("identifier", [True, False])
def test_households_that_a_person_as_unit_leaves_unprotected_are_a_point(
    case: Case, capsys: Any, *, identifier: bool
) -> None:
    policy = case(source='unit = "person_id"')
    if identifier:
        policy.write_text(
            policy.read_text().replace('house = { role = "excluded" }', 'house = { role = "identifier" }')
        )
    for command in (["plan", policy], ["check", policy, "--source"]):
        assert run(*command) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "'house' groups people: 300 values, up to 2 records each." in said
        assert "Each guarantee is for one 'person_id', not for all records that share 'house'" in said
        assert 'Write unit = "house" and max_records = 2' in said
        assert "SECRET" not in said
    bundle = policy.parent / "bundle"
    assert run("release", policy, "--out", bundle) == 0
    assert "groups people" in (bundle / "audit" / "report.html").read_text()
    assert not any(b"groups people" in path.read_bytes() for path in (bundle / "public").rglob("*.*"))
    policy.write_text(policy.read_text() + WAIVER)
    capsys.readouterr()
    assert run("plan", policy) == 0
    said = capsys.readouterr().out
    assert "the board" in said.partition("\nwaived\n")[2].partition("\n\n")[0]
    assert "groups people" not in said.partition("what needs judgement")[2]


GROUPED = """\
schema = 1
[policy]
name = "households"
version = "1.0.0"
owner = "o"
purpose = "p"
[source]
uri = "people.csv"
unit = "UNIT"
[attributes]
nr = { role = "excluded" }
db030 = { role = "excluded" }
rb030 = { role = "identifier" }
amount = { role = "excluded" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""


@pytest.mark.parametrize(
    ("person", "found"),
    [
        (lambda house, member: house * 100 + member, True),
        (lambda house, member: f"H{house:03}-{member}", True),
        (lambda house, member: (house * 7919 + member * 104_729) % 1_000_003, False),
    ],
    ids=["digits", "order of text", "unrelated"],
)
def test_a_group_without_the_name_of_a_key_is_known_by_the_key_of_its_people(
    tmp_path: Path, capsys: Any, person: Callable[[int, int], object], *, found: bool
) -> None:
    rng = random.Random(3)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["nr", "db030", "rb030", "amount", "sex"])
        count = 0
        for house in range(1, 101):
            amount = rng.randrange(100_000)
            for member in range(1 + house % 4):
                count += 1
                number = f"H{house:03}" if isinstance(person(house, member), str) else house
                rows.writerow([count, number, person(house, member), amount, rng.choice("fm")])
    policy = tmp_path / "policy.toml"
    policy.write_text(GROUPED.replace("UNIT", "rb030"))
    assert run("plan", policy) == 0
    said = capsys.readouterr().out
    assert ("'db030' groups people: 100 values, up to 4 records each" in said) is found
    assert "'amount' groups" not in said
    assert "'nr' groups" not in said
    policy.write_text(GROUPED.replace('"UNIT"', '"db030"\nmax_records = 4') + WAIVED)
    assert run("plan", policy) == 0
    assert "groups people" not in capsys.readouterr().out


def test_hints_name_the_fitting_column_and_never_the_number_of_rows(tmp_path: Path, capsys: Any) -> None:
    with (tmp_path / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["rownames", "kid", "test_id", "sex"])
        rows.writerows([i + 1, 2 * i, i % 2, "fm"[i % 2]] for i in range(2400))
    policy = tmp_path / "policy.toml"
    roles = 'rownames = { role = "identifier" }\nkid = { role = "identifier" }\ntest_id = { role = "excluded" }\n'
    head, _, tail = GROUPED.partition("nr = ")
    text = head + roles + tail[tail.index("sex = ") :]
    policy.write_text(text.replace('unit = "UNIT"\n', ""))
    for command in ("check", "plan"):
        assert run(command, policy) == 0
        said = capsys.readouterr().out
        assert 'unit = "kid"' in said
        assert 'unit = "rownames"' not in said
    policy.write_text(text.replace("UNIT", "test_id"))
    assert run("plan", policy) == 3
    said = " ".join(codes(capsys).split())
    assert "RR323" in said
    assert 'name the one that does: `unit = "kid"`' in said
    assert "rownames" not in said
    assert "max_records = 1200" not in said
