"""`rrpolicy init` finds whose records belong together: people with several records, and households of people."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.cli.main import main
from tests.survey import WAIVED

Written = Callable[..., Path]


def drafted(path: Path, capsys: Any) -> tuple[str, dict[str, Any]]:
    assert main(["init", str(path)]) == 0
    text = capsys.readouterr().out
    return text, tomllib.loads(text)


def filled(text: str) -> str:
    text = text.replace("fill in: who", "office").replace("fill in: what", "tables").replace('"fill in: bound', '4 # "')
    return text.replace('keep = "fill in', 'keep = "')


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{name} = "))


def test_an_identifier_that_repeats_is_the_unit_with_all_its_records(
    parquet: Written, tmp_path: Path, capsys: Any
) -> None:
    waves = [(person, wave) for person in range(400) for wave in range(1 + person % 5)]
    columns = {
        "rownames": range(1, len(waves) + 1),
        "id": [person + 1 for person, _ in waves],
        "wave": [str(wave) for _, wave in waves],
        "test_id": [["covid", "xcvd1"][i % 7 == 0] for i in range(len(waves))],
        "female": [person % 2 for person, _ in waves],
    }
    text, policy = drafted(parquet(columns, "panel.parquet"), capsys)
    assert policy["source"]["unit"] == "id"
    assert policy["source"]["max_records"] == 5
    assert "max_records = 5 # derived from the data" in text
    assert text.count("unit = ") == 1
    assert "test_id" not in text.partition("[attributes]")[0]
    assert "see `unit`" not in line_of(text, "test_id")
    path = tmp_path / "policy.toml"
    path.write_text(filled(text) + WAIVED)
    for command in ("check", "plan"):
        assert main([command, str(path)]) == 0
    assert f"{len(waves):,} records, at most 5 a person" in capsys.readouterr().out


def test_people_and_their_households_are_an_open_choice(parquet: Written, tmp_path: Path, capsys: Any) -> None:
    rng = random.Random(2)
    rows = [(house, member, rng.randrange(60_000)) for house in range(1, 201) for member in range(1 + house % 9)]
    incomes = {house: amount for house, _, amount in rows}
    columns = {
        "db030": [house for house, _, _ in rows],
        "rb030": [100 * house + member for house, member, _ in rows],
        "hinc": [incomes[house] for house, _, _ in rows],
        "sex": [rng.choice("fm") for _ in rows],
    }
    text, policy = drafted(parquet(columns, "silc.parquet"), capsys)
    choice = "fill in: rb030 (a person, one record each) or db030 (a household, up to 9 records)"
    assert policy["source"]["unit"] == choice
    assert "# max_records = 9 # for " in text
    assert policy["attributes"]["db030"] == {"role": "excluded"}
    assert policy["attributes"]["rb030"] == {"role": "identifier"}
    assert "they go with 'rb030', as the key of households does" in line_of(text, "db030")
    assert "household" not in line_of(text, "hinc")
    path = tmp_path / "policy.toml"
    path.write_text(filled(text))
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert "RR281 'unit' is still to be filled in" in said
    path.write_text(filled(text).replace(choice, "rb030"))
    assert main(["plan", str(path)]) == 0
    assert "'db030' groups people" in capsys.readouterr().out
    path.write_text(filled(text).replace(choice, "db030").replace("# max_records", "max_records") + WAIVED)
    assert main(["plan", str(path)]) == 0
    said = capsys.readouterr().out
    assert "groups people" not in said
    assert "at most 9 a person" in said


@pytest.mark.parametrize("mother", ["mom", "m17"])
def test_mothers_of_children_are_found_by_name_and_by_order(parquet: Written, capsys: Any, mother: str) -> None:
    children = [(m, c) for m in range(1, 301) for c in range(1 + (m % 3 == 0))]
    columns = {
        "rownames": range(1, len(children) + 1),
        "kid": [2 * i + 3 for i in range(len(children))],
        mother: [m + m // 3 for m, _ in children],
        "comm": [m // 12 for m, _ in children],
        "rural": [["Y", "N"][m % 2] for m, _ in children],
    }
    text, policy = drafted(parquet(columns, "children.parquet"), capsys)
    choice = f"fill in: kid (a person, one record each) or {mother} (a household, up to 2 records)"
    assert policy["source"]["unit"] == choice
    assert policy["attributes"][mother] == {"role": "excluded"}
    assert "rownames" not in text.partition("[attributes]")[0]


def test_visits_of_patients_are_no_people(parquet: Written, capsys: Any) -> None:
    visits = range(900)
    columns = {
        "visit_id": [f"v{7919 * i % 10_007}" for i in visits],
        "patient_id": [i // 3 for i in visits],
        "sex": [["f", "m"][i // 3 % 2] for i in visits],
    }
    _, policy = drafted(parquet(columns, "visits.parquet"), capsys)
    assert (policy["source"]["unit"], policy["source"]["max_records"]) == ("patient_id", 3)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("hours", lambda i: i // 6),  # a table sorted by an amount with steps of 1, but of few values
        ("income", lambda i: 1000 + 37 * (i // 3)),
        ("totexp", lambda i: 1000 + 37 * (i // 3)),
        ("region", lambda i: f"r{i // 3:03}"),
    ],
)
def test_amounts_and_places_in_order_are_no_groups(
    parquet: Written, capsys: Any, name: str, values: Callable[[int], object]
) -> None:
    columns = {"rownames": range(1, 301), name: [values(i) for i in range(300)], "sex": ["f", "m"] * 150}
    text, policy = drafted(parquet(columns, "sorted.parquet"), capsys)
    assert "unit" not in policy["source"]
    assert not re.search("# (unit|max_records)", text)
