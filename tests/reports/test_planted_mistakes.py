"""Releases with a mistake each: it is refused, or the report's first screen shows it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from tests.survey import waived

COLUMNS = "person,sex,age,region,postcode,black,female,blackfemale,hiv,hiv_code,disease,weight,visits"
AGES = ("18-29", "30-44", "45-59", "60+")
HEAD = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables of health"
[source]
uri = "people.csv"
other_columns = "excluded"
population = "residents"
{source}
[attributes]
"""
EACH_ROW = 'unit = "each row"'
WHO = """sex = { role = "quasi-identifier", domain = ["F", "M"] }
age = { role = "quasi-identifier", domain = ["18-29", "30-44", "45-59", "60+"] }
region = { role = "quasi-identifier", domain = ["N", "E", "S", "W"] }
"""
DISEASE = 'disease = { role = "sensitive", domain = ["none", "asthma", "diabetes", "depression"] }\n'
HIV = 'hiv = { role = "sensitive", domain = ["no", "yes"] }\n'
POSTCODE = f'postcode = {{ role = "quasi-identifier", bins = {[*range(10_000, 10_401, 20)]} }}\n'
UNLINKABLE = 'assume_unlinkable = "nobody knows it"'
K = '[[privacy]]\nmodel = "k-anonymity"\nk = {}\n'
DISTINCT = '[[privacy]]\nmodel = "l-diversity"\nkind = "distinct"\nl = 2\n'
READING = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = {}\n'
MONDRIAN = '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n[release]\naccept = ["cuts", "released"]\n'
NODE = '[mechanism]\nname = "l-diversity"\nnode = { sex = 0, age = 0, region = 0, postcode = 0 }\nsuppression = "3/5"\n'
PLAIN = '[mechanism]\nname = "l-diversity"\n[release]\naccept = ["node", "released"]\n'
RR_BOTH = '[mechanism]\nname = "rr-both"\n'


def town(path: Path, people: int = 6_000) -> None:
    """Write a table: postcodes of about 15 people, a twin of hiv, a product of two columns, a weight that knows age."""
    rng = random.Random(people)
    rows = [COLUMNS]
    for i in range(people):
        age, hiv = rng.randrange(4), rng.random() < 0.05
        female, black = rng.random() < 0.5, rng.random() < 0.25
        row = [
            f"p{i if i < people - 1_000 else rng.randrange(people - 1_000):05d}",
            "F" if female else "M",
            AGES[age],
            rng.choice("NESW"),
            10_000 + rng.randrange(400),
            int(black),
            int(female),
            int(black and female),
            "yes" if hiv else "no",
            int(hiv),
            rng.choices(["none", "asthma", "diabetes", "depression"], [60, 20, 12, 8])[0],
            (0.5, 0.8, 1.2, 1.9)[age if rng.random() < 0.25 else rng.randrange(4)],
            rng.choices([0, 1, 2, 3, -99], [40, 30, 20, 5, 5])[0],
        ]
        rows.append(",".join(map(str, row)))
    path.write_text("\n".join([*rows, ""]))


def dp(epsilon: int) -> str:
    return f'[[privacy]]\nmodel = "local-dp"\nepsilon = {epsilon}\n[mechanism]\nname = "pram"\n'


def policy(attributes: str, rest: str, source: str = EACH_ROW) -> str:
    return HEAD.format(source=source) + attributes + rest


SEEN = {
    "nothing is limited: k of one": (policy(WHO + DISEASE, K.format(1) + PLAIN), ["limits nothing"]),
    "nothing is limited: threshold of one": (policy(WHO + DISEASE, READING.format(1) + RR_BOTH), ["limits nothing"]),
    "epsilon of 30": (policy(WHO + DISEASE, dp(30)), ["limits nothing in practice", r"If the record is known: 9\d"]),
    "epsilon of 60": (policy(WHO + DISEASE, dp(60)), ["limits nothing in practice", r"If the record is known: > 99"]),
    "given to everybody under epsilon of 30": (
        policy(WHO + DISEASE, dp(30) + '[context]\nrelease_model = "public"\n'),
        ["Everybody gets the data", "limits nothing in practice"],
    ),
    "a weight that goes with age": (
        policy(WHO + DISEASE + f'weight = {{ role = "insensitive", {UNLINKABLE} }}\n', dp(6)),
        [r"'weight' .*'age'.*Cram.r's V"],
    ),
    "two in a group, where 95 in 100 have one value": (
        policy(WHO + HIV + POSTCODE, K.format(2) + MONDRIAN),
        ["Protection: weak", r"certain of 3,\d+ people's values"],
    ),
    "two values in a group, of which one is nearly everybody's": (
        policy(WHO + HIV + POSTCODE, K.format(2) + DISTINCT + MONDRIAN),
        ["Protection: (limited|weak)", r"9\d\.\d % → 9\d\.\d % guessed rightly; .*If the record is known: 100"],
    ),
    "a requirement that is not met and waived": (
        policy(
            WHO + DISEASE,
            dp(6) + '[[utility]]\nmetric = "expected-l2"\nmax = 0.000001\n' + waived("utility/expected-l2"),
        ),
        ["not met and waived", "waived until 2099-12-31 by survey office"],
    ),
    "codes of missing values": (
        policy(WHO + 'visits = { role = "sensitive", domain = [0, 1, 2, 3, -99] }\n', dp(6)),
        ["-99", "missing"],
    ),
    "a postcode taken for insensitive": (
        policy(WHO + DISEASE + f'postcode = {{ role = "insensitive", {UNLINKABLE} }}\n', dp(6)),
        ["Assumed, not checked: no attacker knows postcode", "'postcode' is released unmodified"],
    ),
    "half of the records suppressed": (
        policy(WHO + DISEASE + POSTCODE, K.format(11) + NODE + '[release]\naccept = ["suppression", "released"]\n'),
        [r"(2,[5-9]|3,[0-5])\d\d of 6,000 records"],
    ),
}
"""Policies that release, and what the first screen must show."""
REFUSED = {
    "a twin of a randomised column": (
        policy(WHO + HIV + f'hiv_code = {{ role = "insensitive", domain = [0, 1], {UNLINKABLE} }}\n', dp(6)),
        "RR109",
    ),
    "a product of randomised columns": (
        policy(
            'black = { role = "quasi-identifier", domain = [0, 1] }\n'
            'female = { role = "quasi-identifier", domain = [0, 1] }\n'
            f'blackfemale = {{ role = "insensitive", domain = [0, 1], {UNLINKABLE} }}\n' + DISEASE,
            dp(6),
        ),
        "RR109",
    ),
    "persons with several records": (policy('person = { role = "identifier" }\n' + WHO + DISEASE, dp(6), ""), "RR323"),
    "a reference that lacks people": (
        policy(WHO + DISEASE, '[reference]\nuri = "old.csv"\n[[privacy]]\nmodel = "k-map"\nk = 5\n' + PLAIN),
        "RR337",
    ),
    "an expired waiver": (
        policy(WHO + DISEASE, dp(6) + waived("protection").replace("2099", "2025")),
        "RR416",
    ),
    "a weak release without a waiver": (
        policy(WHO + HIV + POSTCODE, K.format(2) + MONDRIAN + 'protection = "limited"\n'),
        "RR107",
    ),
    "nothing to change": (
        policy('sex = { role = "insensitive" }\ndisease = { role = "insensitive" }\n', dp(1)),
        "RR230",
    ),
}
"""Policies that release nothing, and the code that says why."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    town(folder / "people.csv")
    town(folder / "old.csv", 5_000)
    return folder


def placed(tables: Path, name: str, text: str) -> tuple[Path, Path]:
    """Return a policy's file beside the tables, and the folder of its release."""
    stem = re.sub(r"\W+", "-", name)
    (tables / f"{stem}.toml").write_text(text)
    return tables / f"{stem}.toml", tables / stem


def screen(bundle: Path) -> str:
    """Return the text of the audit page's first screen."""
    page = (bundle / "audit" / "report.html").read_text()
    first = page.partition('<section id="decision"')[2].partition('<section id="risk"')[0].partition(">")[2]
    text = re.sub(r"<[^>]*>", "", first).replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
    return " ".join(text.split())


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_seen_on_the_first_screen(tables: Path, name: str) -> None:
    text, expected = SEEN[name]
    path, bundle = placed(tables, name, text)
    assert main(["release", str(path), "--out", str(bundle), "--quiet"]) == 0
    shown = screen(bundle)

    for each in expected:
        assert re.search(each, shown), shown


@pytest.mark.parametrize("name", [name for name in SEEN if "limits nothing" in "".join(SEEN[name][1])])
def test_what_requires_nothing_never_looks_clean(tables: Path, name: str) -> None:
    path, bundle = placed(tables, f"clean: {name}", SEEN[name][0])
    assert main(["release", str(path), "--out", str(bundle), "--quiet"]) == 0

    assert "banner-passed" not in (bundle / "audit" / "report.html").read_text().partition("<body")[2]


def test_a_waiver_of_the_warning_does_not_clean_what_requires_nothing(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, bundle = placed(tables, "waved through", policy(WHO + DISEASE, dp(30) + waived("warning/no-limit")))
    assert main(["plan", str(path)]) == 0
    assert "No privacy requirement limits anything." in capsys.readouterr().out
    assert main(["release", str(path), "--out", str(bundle)]) == 0
    assert "No privacy requirement limits anything." in capsys.readouterr().out
    assert "No privacy requirement limits anything." in screen(bundle)


@pytest.mark.parametrize(("rest", "vacuous"), [(K.format(1), True), (K.format(1) + K.format(10), False)])
def test_a_requirement_is_not_taken_for_another_of_the_same_beginning(
    tables: Path, rest: str, capsys: pytest.CaptureFixture[str], *, vacuous: bool
) -> None:
    path, _ = placed(tables, f"k {vacuous}", policy(WHO + DISEASE, rest + PLAIN))
    assert main(["plan", str(path)]) == 0
    assert ("No privacy requirement limits anything." in capsys.readouterr().out) is vacuous


def test_a_release_prints_its_grade(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, bundle = placed(tables, "printed", policy(WHO + DISEASE, dp(6)))
    assert main(["release", str(path), "--out", str(bundle)]) == 0
    printed = capsys.readouterr().out
    assert "protection: strong. " in printed
    assert re.search(r"Reading disease +6\d\.\d % +6\d\.\d %", printed)


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_refused(tables: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, code = REFUSED[name]
    path, bundle = placed(tables, name, text)

    assert main(["release", str(path), "--out", str(bundle)]) in {1, 2, 3, 4}
    assert code in capsys.readouterr().err
    assert not bundle.exists()


def test_a_stale_plan_is_refused(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, bundle = placed(tables, "stale", policy(WHO + DISEASE, dp(6)).replace("people.csv", "stale.csv"))
    table, plan = tables / "stale.csv", tables / "stale.json"
    town(table, 2_000)
    assert main(["plan", str(path), "--out", str(plan), "--quiet"]) == 0
    table.write_text(table.read_text() + "p99999,F,60+,N,10001,0,1,0,no,0,none,1.9,0\n")

    assert main(["release", str(plan), "--out", str(bundle)]) == 4
    assert "RR401" in capsys.readouterr().err
    assert not bundle.exists()


def test_an_edited_file_is_named_first(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, bundle = placed(tables, "edited", policy(WHO + DISEASE, dp(6)))
    assert main(["release", str(path), "--out", str(bundle), "--quiet"]) == 0
    (released,) = (bundle / "public").glob("*.parquet")
    released.write_bytes(released.read_bytes() + b"\0")
    capsys.readouterr()

    assert main(["verify", str(bundle), "--source", str(tables / "people.csv")]) == 1
    assert released.name in capsys.readouterr().out.splitlines()[0]
