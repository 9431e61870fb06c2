"""Columns that are released unmodified and give randomised ones away: what `plan`, `release` and `attack` make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

UNLINKABLE = 'role = "insensitive", assume_unlinkable = "nobody knows it of anyone"'
WAIVER = """
[[waivers]]
finding = "{}"
reason = "the combination is public"
approver = "data protection officer"
until = 2199-01-31
"""
Row = Callable[[random.Random], dict[str, object]]


def write(folder: Path, attributes: str, row: Row, *, records: int = 3000, tail: str = "", epsilon: int = 2) -> Path:
    """Write a table and its policy, in record scope; return the policy's path."""
    rng = random.Random(5)
    rows = [row(rng) for _ in range(records)]
    lines = [",".join(rows[0]), *(",".join(map(str, each.values())) for each in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    text = f"""\
[attributes]
{attributes}
[[privacy]]
model = "local-dp"
epsilon = {epsilon}
[mechanism]
name = "pram"
{tail}"""
    (folder / "policy.toml").write_text(policy_text(text, "people.csv", "Giving away"))
    return folder / "policy.toml"


def planned(policy: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, dict[str, Any]]:
    """Return the exit status of `plan`, its text and its JSON."""
    capsys.readouterr()
    status = main(["plan", str(policy), *more])
    text = capsys.readouterr().out
    assert main(["plan", str(policy), "--json", *more]) == status
    return status, text, json.loads(capsys.readouterr().out)


def twin(rng: random.Random) -> dict[str, object]:
    ill = rng.random() < 0.05
    return {"sex": rng.choice("FM"), "hiv": "pos" if ill else "neg", "hiv_code": "Z21" if ill else "Z00"}


TWIN = f"""\
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
hiv = {{ role = "sensitive", domain = ["neg", "pos"] }}
hiv_code = {{ {UNLINKABLE} }}
"""


def test_a_second_coding_of_a_randomised_column_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write(tmp_path, TWIN, twin)
    status, text, found = planned(policy, capsys)
    assert status == 1
    assert "RR109: 'hiv_code' is released unmodified and gives the randomised 'hiv' away: " in text
    assert "bias, 1.00; the value follows from it for 100.0 % of the records (3,000 of 3,000)" in text
    assert not found["passed"]
    remark = next(r for r in found["remarks"] if r["name"] == "given-away")
    assert (remark["attribute"], remark["other"]) == ("hiv_code", "hiv")
    assert not any(w["id"].startswith("association/") for w in found["warnings"])
    assert main(["release", str(policy), "--out", str(tmp_path / "bundle")]) == 1
    told = capsys.readouterr().err
    assert f"{policy}:10:1: RR109" in told
    assert 'together = [["hiv_code", "hiv"]]' in told
    assert "`assume_unlinkable` is on linkage and does not cover inference" in told
    assert "`association/hiv_code/hiv` waived" in told
    assert main(["plan", str(policy), "--output-format", "sarif"]) == 1
    assert "RR109" in capsys.readouterr().out
    assert main(["explain", "RR109"]) == 0


def test_a_waiver_of_the_pair_lets_it_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write(tmp_path, TWIN, twin, tail=WAIVER.format("association/hiv_code/hiv"))
    status, text, found = planned(policy, capsys)
    assert status == 0
    assert "waived until 2199-01-31 by data protection officer: the combination is public" in text
    assert [one["what"] for one in found["waived"]] == ["association/hiv_code/hiv"]
    assert main(["plan", str(policy), "--no-waivers"]) == 1
    assert main(["plan", str(policy), "--today", "2199-02-01"]) == 4
    assert "RR109" in capsys.readouterr().out
    assert main(["plan", str(policy), "--output-format", "markdown"]) == 0


@pytest.mark.parametrize(
    "name",
    ["association/hiv_code/hours", "association/hiv_code", "association/hiv_code/hiv_code", "warning/given-away"],
)
def test_a_waiver_names_two_released_columns(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write(tmp_path, TWIN, twin, tail=WAIVER.format(name))
    assert main(["plan", str(policy)]) == 2
    assert "RR254" in capsys.readouterr().err


def test_a_waiver_that_ended_after_the_plan_was_written_stops_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write(tmp_path, TWIN, twin, tail=WAIVER.format("association/hiv_code/hiv"))
    plan, bundle = tmp_path / "plan.json", tmp_path / "bundle"
    assert main(["plan", str(policy), "--out", str(plan)]) == 0
    given = ["release", str(plan), "--key", f"{plan}.key", "--out", str(bundle)]
    assert main([*given, "--no-waivers"]) == 1
    assert "RR109" in capsys.readouterr().err
    assert main(given) == 0


def dummy(rng: random.Random) -> dict[str, object]:
    black, female = rng.random() < 0.2, rng.random() < 0.55
    return {"black": int(black), "female": int(female), "blackfemale": int(black and female)}


def test_a_product_gives_both_factors_away_where_it_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attributes = f"""\
black = {{ role = "quasi-identifier", domain = [0, 1] }}
female = {{ role = "quasi-identifier", domain = [0, 1] }}
blackfemale = {{ {UNLINKABLE}, domain = [0, 1] }}
"""
    policy = write(tmp_path, attributes, dummy)
    status, text, _ = planned(policy, capsys)
    assert status == 1
    (black, female) = (line for line in text.splitlines() if "RR109" in line)
    assert "gives the randomised 'black' away" in black
    assert "gives the randomised 'female' away" in female
    assert "the value follows from it for 12.0 % of the records (359 of 3,000)" in female
    policy.write_text(policy.read_text() + WAIVER.format("association/blackfemale/black"))
    assert main(["plan", str(policy)]) == 1
    policy.write_text(policy.read_text() + WAIVER.format("association/blackfemale/female"))
    assert main(["plan", str(policy)]) == 0


def aged(rng: random.Random) -> dict[str, object]:
    age = rng.randrange(20, 80)
    return {"age": age, "age_group": f"{age // 20 * 20}+", "sex": rng.choice("FM")}


def test_an_age_group_gives_the_age_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attributes = f"""\
age = {{ role = "quasi-identifier", bins = [0, 30, 40, 50, 60, 70, inf] }}
age_group = {{ {UNLINKABLE} }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
"""
    status, text, _ = planned(write(tmp_path, attributes, aged), capsys)
    assert status == 1
    assert "'age_group' is released unmodified and gives the randomised 'age' away" in text


def summed(rng: random.Random) -> dict[str, object]:
    visits, beds, known = rng.randrange(5), rng.randrange(5), rng.randrange(3)
    return {"visits": visits, "beds": beds, "known": known, "total": visits + beds}


ADDENDS = f"""\
visits = {{ role = "sensitive", domain = [0, 1, 2, 3, 4] }}
beds = {{ role = "sensitive", domain = [0, 1, 2, 3, 4] }}
known = {{ {UNLINKABLE} }}
total = {{ {UNLINKABLE} }}
"""


def test_a_total_gives_its_parts_away_at_its_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = planned(write(tmp_path, ADDENDS, summed), capsys)
    assert status == 1
    told = [line for line in text.splitlines() if "RR109" in line]
    assert [("'visits'" in line, "'beds'" in line) for line in told] == [(True, False), (False, True)]
    assert all("follows from it for" in line for line in told)


def test_a_total_gives_a_part_away_beside_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attributes = ADDENDS.replace(
        'beds = { role = "sensitive", domain = [0, 1, 2, 3, 4] }', f"beds = {{ {UNLINKABLE} }}"
    )
    status, text, _ = planned(write(tmp_path, attributes, summed), capsys)
    assert status == 1
    assert "gives the randomised 'visits' away" in text
    assert "the value follows from it with beds for" in text


def test_three_columns_together_give_the_fourth_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parity: no two of the columns tell anything of the randomised one, and all three tell it."""

    def row(rng: random.Random) -> dict[str, object]:
        a, b, c = (rng.randrange(2) for _ in range(3))
        return {"a": a, "b": b, "c": c, "secret": (a + b + c) % 2}

    exact = "".join(f"{name} = {{ {UNLINKABLE} }}\n" for name in "abc")
    policy = write(tmp_path, f'{exact}secret = {{ role = "sensitive", domain = [0, 1] }}\n', row)
    status, text, _ = planned(policy, capsys)
    assert status == 1
    assert (
        "'a' is released unmodified and gives the randomised 'secret' away: the value follows from it with b, c" in text
    )


def test_columns_that_go_with_randomised_ones_are_one_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def row(rng: random.Random) -> dict[str, object]:
        region = rng.randrange(4)
        near = region if rng.random() < 0.3 else rng.randrange(4)
        far = region if rng.random() < 0.15 else rng.randrange(4)
        return {"region": region, "near": near, "far": far, "hours": rng.randrange(9)}

    exact = "".join(f"{name} = {{ {UNLINKABLE} }}\n" for name in ("near", "far", "hours"))
    attributes = f'region = {{ role = "quasi-identifier", domain = [0, 1, 2, 3] }}\n{exact}'
    policy = write(tmp_path, attributes, row)
    status, text, found = planned(policy, capsys)
    assert status == 0
    (told,) = (line for line in text.splitlines() if "corrected for bias" in line)
    assert told.startswith("  'near' is released unmodified and goes with the randomised 'region': ")
    assert told.endswith("; so do, less strongly, far")
    (warning,) = (w for w in found["warnings"] if w["id"] == "warning/association")
    assert warning["text"] == told.strip()
    policy.write_text(policy.read_text() + WAIVER.format("warning/association"))
    assert planned(policy, capsys)[1].count("corrected for bias") == 1  # among what is waived
    bundle = tmp_path / "bundle"
    assert main(["release", str(policy), "--out", str(bundle)]) == 0
    assert not any("corrected for bias" in f.read_text(errors="ignore") for f in (bundle / "public").rglob("*.*"))


def test_values_that_follow_for_a_few_records_are_a_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def row(rng: random.Random) -> dict[str, object]:
        rare = rng.random() < 0.006
        return {"code": "rare" if rare else rng.choice("abc"), "state": "x" if rare else rng.choice("xyz")}

    attributes = f'code = {{ {UNLINKABLE} }}\nstate = {{ role = "sensitive", domain = ["x", "y", "z"] }}\n'
    status, text, _ = planned(write(tmp_path, attributes, row), capsys)
    assert status == 0
    assert "goes with the randomised 'state': " in text
    assert "the value follows from it for 0.63 % of the records (19 of 3,000)" in text


@pytest.mark.parametrize("records", [60, 5000])
@pytest.mark.parametrize("seed", range(3))
def test_independent_columns_raise_nothing(
    records: int, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def row(rng: random.Random) -> dict[str, object]:
        rng.seed(rng.getrandbits(64) ^ seed << 70)
        age = rng.randrange(90)
        return {
            "sex": rng.choice("FM"),
            "ill": rng.choices(["no", "flu", "cold"], [90, 8, 2])[0],
            "hours": rng.randrange(40),
            "team": rng.choices("abcdefgh", range(1, 9))[0],
            "wage": round(rng.lognormvariate(7, 1), 2),
            "age": age,
        }

    exact = "".join(f"{name} = {{ {UNLINKABLE} }}\n" for name in ("hours", "team", "age"))
    exact += f'wage = {{ {UNLINKABLE}, unchanged = "a test" }}\n'
    attributes = f"""\
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
ill = {{ role = "sensitive", domain = ["no", "flu", "cold"] }}
{exact}"""
    status, text, found = planned(write(tmp_path, attributes, row, records=records, epsilon=6), capsys)
    assert status == 0
    assert "corrected for bias" not in text
    assert not any(w["id"].startswith("warning/association") for w in found["warnings"])


KNOWN = """\
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
hiv = {{ role = "sensitive", domain = ["neg", "pos"] }}
hiv_code = {{ role = "{}", domain = ["Z00", "Z21"], unchanged = "a test" }}
"""
SCOPED = 'epsilon = 2\nscope = "attribute"'
LIMITED = '[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "gain"\nthreshold = "9/10"\n'


@pytest.mark.parametrize(
    ("role", "more", "refused"),
    [
        ("insensitive", "", True),  # the public context of an epsilon, of which nothing is said
        ("sensitive", "", True),
        ("quasi-identifier", "", True),
        ("insensitive", LIMITED, False),  # it counts what follows from such a column
        ("sensitive", LIMITED, True),
        ("sensitive", f"{LIMITED}known_sensitive = true\n", False),
    ],
)
def test_what_a_requirement_takes_into_account_is_a_point(
    role: str, more: str, refused: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write(tmp_path, KNOWN.format(role), twin)
    one = ", hiv_code = 1" if role != "insensitive" else ""
    kept = f'keep_probability = {{ sex = "3/4", hiv = "3/4"{one} }}\n'
    policy.write_text(policy.read_text().replace("epsilon = 2", SCOPED) + kept + more)
    _, text, _ = planned(policy, capsys)
    assert ("RR109" in text) is refused
    assert ("'hiv_code' is released unmodified and goes with the randomised 'hiv'" in text) is not refused
