"""`rrpolicy attack` on bundles as they are written: each kind of channel, two releases, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rrpolicy
from rrpolicy.attacks.result import AttackOutcome, AttackReport, AttackResult
from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text
from tests.survey import SURVEY

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "rrpolicy" / "schemas" / "rrpolicy.attack-1.json").read_text())


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two releases of one table."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "policy.toml").write_text(SURVEY)
    made = [folder / "one", folder / "two"]
    for bundle in made:
        assert main(["release", str(folder / "policy.toml"), "--out", str(bundle)]) == 0
    return made


def document(capsys: pytest.CaptureFixture[str], *given: object) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = main(["attack", *map(str, given), "--source", "demo:survey", "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return status, found


def test_a_release_is_attacked(bundles: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(str(path) for path in bundles[0].rglob("*"))
    assert main(["attack", str(bundles[0]), "--source", "demo:survey"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "audit-class: keep this where audit/ lies"
    assert "  without the release, who knows the same is to be expected to attain 1" in shown
    assert shown[-1] == "adversarial test: 5 as predicted, 0 not as predicted, 0 undecided"
    status, found = document(capsys, bundles[0])
    assert status == 0
    assert found == rrpolicy.attack(bundles[0], source="demo:survey").to_json()
    assert [a["name"] for a in found["attacks"] if a["outcome"] == "as predicted"] == [
        "attribute inference, by record",
        "attribute inference, by person",
        "record linkage",
        "membership",
        "reconstruction",
    ]
    assert sorted(str(path) for path in bundles[0].rglob("*")) == before


def test_two_releases_are_averaged(bundles: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    status, found = document(capsys, *bundles)
    assert status == 0
    assert len(found["releases"]) == 2
    (average,) = found["together"]
    assert (average["name"], average["of"], average["outcome"]) == (
        "averaging over releases",
        "releases 1 and 2",
        "as predicted",
    )


def test_the_same_draw_twice_is_found(bundles: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(bundles[0], tmp_path / "again")
    status, found = document(capsys, bundles[0], tmp_path / "again")
    assert status == 1
    assert found["together"][-1]["outcome"] == "not as predicted"
    assert found["together"][-1]["successes"] == pytest.approx(1)


QUARTER = policy_text(
    """\
[attributes]
ward = { role = "quasi-identifier", domain = ["A", "B", "C"] }
ill = { role = "sensitive", domain = ["no", "flu", "cold"] }
[[privacy]]
model = "local-dp"
epsilon = 8
[mechanism]
name = "pram"
""",
    "third.csv",
    "Quarter",
)


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the releases of two quarters, whose tables have as many records."""
    folder = tmp_path_factory.mktemp("quarters")
    for name, wards in (("third", "AAAAB"), ("fourth", "BCCCC"), ("fifth", "BCCCCA")):
        rows = [f"{wards[i % len(wards)]},{('no', 'flu', 'no', 'cold')[i % 4]}" for i in range(60 * len(wards))]
        (folder / f"{name}.csv").write_text("ward,ill\n" + "\n".join(rows) + "\n")
        (folder / f"{name}.toml").write_text(QUARTER.replace("third.csv", f"{name}.csv"))
        assert main(["release", str(folder / f"{name}.toml"), "--out", str(folder / name)]) == 0
    return [folder / name for name in ("third", "fourth", "fifth")]


def test_a_release_of_another_table_is_undecided(quarters: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    third, fourth, fifth = quarters
    for other in (third, fifth):  # as many records, and more
        found = rrpolicy.attack(other, fourth, source=f"{fourth}.csv")
        assert [a.outcome for a in found.every if a.of.startswith("release 1")] == ["undecided"]
        assert {a.outcome for a in found.attacks if a.of.startswith("release 2")} == {"as predicted"}
        assert [a.reason for a in found.together] == ["they are releases of different tables"]
        assert [p.code for p in found.problems] == ["RR551"]
        assert "probably a release of another table" in found.problems[0].message
        assert "--source FIRST --source SECOND" in str(found.problems[0].hint)
    assert main(["attack", str(third), str(fourth), "--source", f"{fourth}.csv"]) == 1
    shown = capsys.readouterr()
    assert "fit to the table (release 1): undecided" in shown.out
    assert "not as predicted:" not in shown.out + shown.err


def test_each_release_may_have_its_own_table(quarters: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    third, fourth, _ = quarters
    call = ["attack", str(third), str(fourth), "--source", f"{third}.csv", "--source", f"{fourth}.csv"]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert {a["outcome"] for a in found["attacks"]} == {"as predicted"}
    assert [a["reason"] for a in found["together"]] == ["they are releases of different tables"]
    frames = [pd.read_csv(f"{quarter}.csv") for quarter in (third, fourth)]
    assert rrpolicy.attack(third, fourth, source=frames).exit_status == 0
    assert rrpolicy.attack(third, fourth, source=frames[::-1]).exit_status == 1
    once = rrpolicy.attack(third, third, source=[f"{third}.csv"] * 2)
    assert "they are releases of different tables" not in {a.reason for a in once.together}
    assert main([*call, "--source", f"{fourth}.csv"]) == 2
    assert "one table for all releases, or one for each" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "decided"), [("l-diversity", {"homogeneity", "background knowledge"}), ("anatomy", {"homogeneity"})]
)
def test_partitions_give_away_what_their_classes_say(
    name: str, decided: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", str(ROOT / "policies" / f"{name}.toml"), "--out", str(tmp_path / "bundle")]) == 0
    status, found = document(capsys, tmp_path / "bundle")
    assert status == 0
    assert decided <= {a["name"] for a in found["attacks"] if a["outcome"] == "as predicted"}


@pytest.mark.slow
def test_sets_are_attacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = ROOT / "policies" / "sensitive-addition.toml"
    assert main(["release", str(policy), "--out", str(tmp_path / "bundle")]) == 0
    status, found = document(capsys, tmp_path / "bundle")
    assert status == 0
    named = {"attribute inference, by record", "attribute inference, by person", "record linkage", "membership"}
    named |= {"reconstruction"}
    assert {a["name"] for a in found["attacks"] if a["outcome"] == "as predicted"} == named


def test_what_is_no_whole_bundle_is_refused(
    bundles: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attack", str(bundles[0] / "public"), "--source", "demo:survey"]) == 2
    assert "RR260" in capsys.readouterr().err
    changed = tmp_path / "changed"
    shutil.copytree(bundles[0], changed)
    with (changed / "public" / "data.parquet").open("ab") as file:
        file.write(b"x")
    assert main(["attack", str(changed), "--source", "demo:survey"]) == 1
    assert "RR111" in capsys.readouterr().err
    with pytest.raises(rrpolicy.PolicyError) as refused:
        rrpolicy.attack(source="demo:survey")
    assert refused.value.problems[0].code == "RR250"


def test_another_table_is_found_by_what_is_kept_with_certainty(tmp_path, capsys):
    """A keep probability of 1 is certainty: the attacks would else run against values that nobody released."""
    rows = [f"{'f' if i % 2 else 'm'},{'ill' if i % 5 else 'well'}\n" for i in range(500)]
    (tmp_path / "people.csv").write_text("sex,state\n" + "".join(rows))
    (tmp_path / "other.csv").write_text("sex,state\n" + "".join(["f,well\n"] * 20 + rows[20:]))
    (tmp_path / "policy.toml").write_text(
        'schema = 1\n[policy]\nname = "p"\nversion = "1.0.0"\nowner = "o"\npurpose = "a test"\n'
        '[source]\nuri = "people.csv"\n[attributes]\n'
        'sex = { role = "quasi-identifier", domain = ["f", "m"] }\n'
        'state = { role = "sensitive", domain = ["ill", "well"], unchanged = "a test" }\n'
        '[mechanism]\nname = "pram"\nkeep_probability = { sex = "3/4", state = 1 }\n'
        '[[privacy]]\nmodel = "local-dp"\nepsilon = 4\nscope = "attribute"\n'
    )
    bundle = tmp_path / "bundle"
    made = main(["release", str(tmp_path / "policy.toml"), "--out", str(bundle)])
    assert made == 0, capsys.readouterr()
    capsys.readouterr()

    assert main(["attack", str(bundle), "--source", str(tmp_path / "people.csv")]) == 0
    assert main(["attack", str(bundle), "--source", str(tmp_path / "other.csv")]) == 1
    assert "not the one that was released" in "".join(capsys.readouterr())


def test_a_release_of_another_number_of_records_is_refused(quarters: list[Path]) -> None:
    third, _, fifth = quarters
    with pytest.raises(rrpolicy.RequirementError, match="300"):
        rrpolicy.attack(third, source=f"{fifth}.csv")


def test_attacks_on_another_table_are_not_written(quarters: list[Path]) -> None:
    third, fourth, _ = quarters
    with pytest.raises(rrpolicy.RequirementError, match="probably a release of another table"):
        rrpolicy.attack(third, fourth, source=f"{fourth}.csv", write=True)
    assert not (third / "audit" / "attack.json").exists()


def test_a_test_that_decides_nothing_fails() -> None:
    digest = "sha256:" + "0" * 64
    undecided = AttackResult("record linkage", "", "", "", AttackOutcome.UNDECIDED, "there are too many sets")
    for attacks, reason in (((undecided, undecided), "there are too many sets"), ((), "none is known")):
        (problem,) = AttackReport((digest,), digest, 3, "1", attacks).problems
        assert problem.code == "RR551"
        assert problem.message.endswith(f"against this release: {reason}")
