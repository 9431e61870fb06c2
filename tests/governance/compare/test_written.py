"""Plans and releases compared, comparisons without data, and comparisons that go on where they were broken off."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.channels.product.expected_error import root_mean_squared_error
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError, RefusedError, RequirementError, RRPolicyError
from rrpolicy.governance.compare import compare as comparing
from rrpolicy.governance.compare.criteria import ONE_WAY, SHARES, TWO_WAY

POLICY = """\
schema = 1
[policy]
name = "survey"
version = "1.0.0"
owner = "survey unit"
purpose = "a test"
[source]
uri = "demo:survey"
other_columns = "excluded"
[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [16, 30, 45, 65, inf] }
[[privacy]]
model = "local-dp"
epsilon = 3
[mechanism]
name = "pram"
[[utility]]
metric = "expected-l2"
attributes = ["age"]
max = 0.3
"""
OTHER = POLICY.replace("epsilon = 3", "epsilon = 2").replace('allocation = "equal"', "")
EPSILON = "privacy/local-dp"


def people(number: int) -> str:
    """Return a table as CSV."""
    rows = (f"{i},{'female' if i % 3 else 'male'},{20 + i % 50}\n" for i in range(number))
    return "person_id,sex,age\n" + "".join(rows)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    (folder / "people.csv").write_text(people(2000))
    for name, text in (("three", POLICY), ("two", OTHER)):
        (folder / f"{name}.toml").write_text(text.replace("demo:survey", "people.csv"))
        rrpolicy.release(folder / f"{name}.toml", folder / name)
    return folder / "three", folder / "two"


def test_releases_and_risks_are_told_apart(bundles, tmp_path):
    """Of one policy there may be many releases, and of one model requirements that differ in the attacker alone."""
    both = '[[privacy]]\nmodel = "local-dp"\nepsilon = 9\nscope = "attribute"\n[mechanism]'
    other = tmp_path / "both.toml"
    other.write_text(OTHER.replace("demo:survey", str(bundles[0].parent / "people.csv")).replace("[mechanism]", both))
    found = rrpolicy.compare(*bundles, other, source=str(bundles[0].parent / "people.csv"))

    labels = [row.label for row in found.rows]
    assert [label.partition(", release ")[0] for label in labels] == [*map(str, bundles), str(other)]
    assert len({label.partition(", release ")[2] for label in labels}) == 3
    assert len({risk.meaning.partition(";")[0] for risk in found.risks}) == len(found.risks) == 2


def test_what_is_not_kept_is_said(policy, tmp_path, capsys):
    other = tmp_path / "other.toml"
    other.write_text(OTHER.replace('name = "pram"', 'name = "pram"\nplan_on = "demo:survey?records=900"'))
    call = ["compare", str(policy), str(other), "--expected-rows", "1000"]

    assert main([*call, "--resume", str(tmp_path / "kept")]) in {0, 1}
    assert "not kept, and planned again by each call: 2; " in capsys.readouterr().out
    assert main(call) in {0, 1}
    assert "not kept" not in capsys.readouterr().out


def test_releases_are_compared_by_what_they_state(bundles, capsys):
    found = rrpolicy.compare(*bundles)

    for row, bundle, epsilon in zip(found.rows, bundles, (3, 2), strict=True):
        stated = json.loads((bundle / "audit" / "findings.json").read_text())
        (own,) = [f for name, f in row.findings.items() if f.limit == epsilon]
        assert own.achieved.value == stated["findings"][0]["achieved"]["value"]
        (gate,) = [m for name, m in row.utility.items() if name.startswith("utility/")]
        assert gate.value == stated["utility"][0]["expected"]["value"]
        plan = json.loads((bundle / "audit" / "plan.json").read_text())
        assert row.records == plan["records"]
        assert TWO_WAY not in row.utility  # no table is at hand
        assert row.utility[SHARES].value > 0
        assert row.outcome.value == "passes"
    assert found.recommended.candidate is not None
    assert main(["compare", *map(str, bundles)]) == 0
    assert "root-mean-square/one-way" in capsys.readouterr().out


def test_with_the_table_they_are_measured_as_policies_are(bundles, policy):
    stated = rrpolicy.compare(*bundles)
    policy.write_text(POLICY.replace('version = "1.0.0"', 'version = "1.1.0"'))
    table = bundles[0].parent / "people.csv"
    found = rrpolicy.compare(*bundles, policy, source=table)
    same = rrpolicy.compare(*bundles, bundles[0].parent / "three.toml", source=table)
    assert len(same.rows) == 2  # the policy of a release is that release

    released, _, planned = found.rows
    assert released.utility[TWO_WAY] == planned.utility[TWO_WAY]  # one channel, one seed, one table
    assert released.utility[ONE_WAY] == planned.utility[ONE_WAY]
    assert SHARES not in planned.utility
    assert {n: f.achieved for n, f in released.findings.items()} == {n: f.achieved for n, f in planned.findings.items()}
    for one, other in zip(stated.rows, found.rows, strict=False):
        assert one.findings == other.findings


def test_a_plan_is_compared_as_it_is(policy, tmp_path):
    plan = tmp_path / "plan.json"
    rrpolicy.plan(policy, out=plan)

    again = tmp_path / "again.toml"
    again.write_text(POLICY.replace('version = "1.0.0"', 'version = "1.1.0"'))
    found = rrpolicy.compare(plan, again)

    stated, planned = found.to_json()["candidates"]
    assert stated["risks"] == planned["risks"]
    assert stated["utility"] == planned["utility"]
    with pytest.raises(PolicyError, match="planned already"):
        rrpolicy.compare(plan, mechanisms=["rr-both"])
    policy.write_text(POLICY.replace("epsilon = 3", "epsilon = 4"))
    with pytest.raises(RefusedError, match="RR401"):
        rrpolicy.compare(plan)


def test_a_forged_release_is_no_candidate(bundles, tmp_path):
    forged = tmp_path / "forged"
    shutil.copytree(bundles[0], forged)
    findings = forged / "audit" / "findings.json"
    findings.write_text(findings.read_text().replace('"metric": "expected-l2"', '"metric": "expected-l3"'))
    with pytest.raises(RRPolicyError):
        rrpolicy.compare(forged, bundles[1])
    shutil.rmtree(forged / "audit")
    with pytest.raises(PolicyError, match="RR260"):
        rrpolicy.compare(forged, bundles[1])


def test_another_table_is_told_in_its_row(bundles, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text(people(300))

    found = rrpolicy.compare(bundles[0], source=short)

    assert [problem.code for problem in found.rows[0].problems] == ["RR124"]
    with pytest.raises(RequirementError):
        found.require()


def test_without_data_there_are_the_errors_that_have_a_closed_form(policy, tmp_path, capsys):
    found = rrpolicy.compare(policy, vary={"privacy.0.epsilon": [2, 3]}, expected_rows=10_000)

    assert [row.records for row in found.rows] == [10_000, 10_000]
    for row, epsilon in zip(found.rows, (2, 3), strict=True):
        (tmp_path / "alone.toml").write_text(POLICY.replace("epsilon = 3", f"epsilon = {epsilon}"))
        plan = rrpolicy.plan(tmp_path / "alone.toml", expected_rows=10_000).outlook.plan
        each = [root_mean_squared_error(plan.channel, 10_000, (name,)) for name in ("sex", "age")]
        assert row.utility[SHARES].value == pytest.approx(sum(each) / 2)
        assert TWO_WAY not in row.utility
    assert found.error.id == SHARES
    assert found.to_json()["confidential"] is False
    assert main(["compare", str(policy), "--expected-rows", "100"]) == 0
    assert "confidential" not in capsys.readouterr().out
    assert found.rows[0].utility[SHARES].value > found.rows[1].utility[SHARES].value
    with pytest.raises(PolicyError, match="RR250"):
        rrpolicy.compare(policy, expected_rows=10, source="demo:survey")


@pytest.mark.slow
def test_what_is_finished_is_kept_and_planned_once(policy, tmp_path, monkeypatch, capsys):
    kept, planned = tmp_path / "kept.jsonl", []
    true = comparing.plan_and_assess

    def counting(policy, *arguments):
        planned.append(policy.name)
        return true(policy, *arguments)

    monkeypatch.setattr(comparing, "plan_and_assess", counting)
    vary = {"privacy.0.epsilon": [1, 2, 3]}
    whole = rrpolicy.compare(policy, vary=vary)
    assert len(planned) == 3

    # broken off in the third candidate, in the middle of a line
    rrpolicy.compare(policy, vary={"privacy.0.epsilon": [1, 2, 3]}, resume=kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.write_bytes(kept.read_bytes()[:-20])
    planned.clear()
    again = rrpolicy.compare(policy, vary=vary, resume=kept)
    assert len(planned) == 1
    assert again.to_json() == whole.to_json()

    planned.clear()
    assert rrpolicy.compare(policy, vary=vary, resume=kept).to_json() == whole.to_json()
    assert planned == []
    lines = kept.read_bytes().splitlines()
    assert len(lines) == 4
    assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize("changed", ["draws", "table", "policy", "gates"])
def test_what_changed_is_planned_again(policy, tmp_path, changed):
    table = tmp_path / "people.csv"
    table.write_text(people(300))
    kept = tmp_path / "kept.jsonl"
    rrpolicy.compare(policy, source=table, resume=kept)
    before, draws = len(kept.read_bytes().splitlines()), 20
    match changed:
        case "draws":
            draws = 30
        case "table":
            table.write_text(people(299) + "299,female,30\n")
        case "policy":
            policy.write_text(POLICY.replace("epsilon = 3", "epsilon = 5"))
        case "gates":
            policy.write_text(POLICY.replace("max = 0.3", "max = 0.2"))

    found = rrpolicy.compare(policy, source=table, resume=kept, draws=draws)

    assert len(kept.read_bytes().splitlines()) == before + 1
    assert found.to_json() == rrpolicy.compare(policy, source=table, draws=draws).to_json()


def test_what_another_candidate_asks_for_is_held_anew(policy, tmp_path):
    """The verdict on another one's requirement follows from its limit, which no name of an entry tells."""
    other, kept = tmp_path / "other.toml", tmp_path / "kept.jsonl"
    for k, verdict in ((2, "satisfied"), (40_000, "failed")):
        other.write_text(POLICY.replace('model = "local-dp"\nepsilon = 3', f'model = "pk-anonymity"\nk = {k}'))
        found = rrpolicy.compare(policy, other, resume=kept)
        assert found.rows[0].findings["privacy/pk-anonymity"].verdict == verdict


def test_another_file_is_left_alone(policy, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    for content in (b"", b"notes\n", b'{"schema": "x"}\n'):
        other.write_bytes(content)
        assert main(["compare", str(policy), "--resume", str(other)]) == 2
        assert "RR560" in capsys.readouterr().err
        assert other.read_bytes() == content
    assert main(["compare", str(policy), "--resume", str(tmp_path / "nowhere" / "kept")]) == 4
    assert "RR407" in capsys.readouterr().err


def test_a_cache_of_another_schema_and_one_that_cannot_be_extended_are_refused(policy, tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    kept.write_text('{"schema": "rrpolicy.other/1", "secret": "00"}\n')
    with pytest.raises(PolicyError, match="RR560"):
        rrpolicy.compare(policy, resume=kept)
    kept.unlink()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    rrpolicy.compare(policy, expected_rows=100, resume=kept)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RefusedError, match="RR408"):
        rrpolicy.compare(policy, expected_rows=200, resume=kept)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"draws": 1}, "1 draws"),
        ({"vary": {"privacy.0.epsilon": range(1, 400)}}, "more than "),
        ({"vary": {"privacy.0.epsilon": [{1}]}}, "a policy holds no set|a policy contains no set"),
    ],
)
def test_what_cannot_be_compared_is_refused(policy, options, expected):
    with pytest.raises(PolicyError, match=expected):
        rrpolicy.compare(policy, expected_rows=100, **options)


def test_values_of_every_kind_are_tried_and_equal_ones_once(policy):
    found = rrpolicy.compare(policy, vary={"privacy.0.epsilon": [2, 2.5, "5/2"]}, expected_rows=100)
    assert [row.changed for row in found.rows] == [(("privacy.0.epsilon", "2"),), (("privacy.0.epsilon", "2.5"),)]
    bins = [[16, 30, 65], [16, 45, 65]]
    found = rrpolicy.compare(policy, vary={"attributes.age.bins": bins}, expected_rows=100)
    assert [row.changed[0][1] for row in found.rows] == ["[16, 30, 65]", "[16, 45, 65]"]
    found = rrpolicy.compare(policy, vary={"privacy.0.epsilon": [{"at": 2}]}, expected_rows=100)
    assert [problem.code for problem in found.rows[0].problems] == ["RR208"]
