"""`anatomy` from the policy file on: what is refused, planned, assessed, released, verified and estimated."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rrpolicy.bundle.manifest import sealed_record
from rrpolicy.canonical_json import file_digest, pretty
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.cli.main import main
from rrpolicy.errors import RequirementError
from rrpolicy.estimate.opening import open_release
from rrpolicy.finding import Basis, Standing, Verdict
from rrpolicy.planning.check import check
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from rrpolicy.testing import check_mechanism, policy_text

from .looking import planned, problems

VALUES = ("flu", "cold", "none", 'a "rare", one')
UNCHANGED = '{ role = "insensitive", unchanged = "told to nobody" }'
POLICY = policy_text(
    """\
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"], release_as = "gender" }
age = { role = "quasi-identifier", bins = [0, 30, 60, 120], labels = ["young", "middle", "old"], scale = "ordinal" }
disease = { role = "sensitive", domain = ["flu", "cold", "none", 'a "rare", one'], release_as = "illness" }
hours = { role = "insensitive", unchanged = "told to nobody" }
""",
    "people.csv",
    "Anatomy",
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
        share = (1 - common) / 3
        with (tmp_path / "people.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["person", "sex", "age", "disease", "hours"])
            for i in range(records):
                disease = VALUES[rng.choice(4, p=[common, share, share, share])]
                rows.writerow([f"CANARY{i}", "FM"[rng.integers(2)], rng.integers(0, 100), disease, rng.integers(5)])
        path = tmp_path / "policy.toml"
        path.write_text(head + rest)
        return path

    return make


def test_check_decides_without_data(write):
    head = POLICY.replace('uri = "people.csv"', 'uri = "people.csv"\nmin_rows = 10')
    (found,) = check(open_policy(write(head=head))).findings

    assert (found.verdict, found.basis, found.achieved.value) == (Verdict.SATISFIED, Basis.CHANNEL, 2)


def test_a_plan_tells_groups_residues_and_the_largest_eligible_l(write):
    outlook = planned(write())
    told = {remark.name: remark.text for remark in outlook.plan.remarks}

    assert isinstance(outlook.plan.channel, AnatomyChannel)
    assert "200 groups of 2 different values of 'disease'" in told["groups"]
    assert "1 of 401 records are left" in told["groups"]
    assert told["largest-eligible-l"].endswith("is 2")
    assert {c.name for c in outlook.assessment.findings[0].companions} >= {"1/l", "informed posterior"}


def test_a_table_that_is_not_eligible_is_refused_with_the_share_and_the_largest_l(write):
    path = write(common=0.7, rest=REST.replace("l = 2", "l = 3"))
    with pytest.raises(RequirementError) as caught:
        planned(path)
    (problem,) = caught.value.problems

    assert problem.code == "RR106"
    assert "'flu' has 7" in problem.message  # the policy itself lists the value
    assert "more than 1 in 3" in problem.message
    assert "largest eligible l: 1" in (problem.expected or "")


def test_a_value_that_only_the_data_name_is_not_named(write):
    head = POLICY.replace('domain = ["flu", "cold", "none", \'a "rare", one\']', 'domain = "observed"')
    with pytest.raises(RequirementError) as caught:
        planned(write(head=head, common=0.7))

    assert not any(value in str(caught.value) for value in VALUES)
    assert "one value has 7" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('role = "sensitive"', 'role = "quasi-identifier"', "RR298", "no attribute is sensitive"),
        (
            'role = "quasi-identifier"',
            'role = "sensitive"',
            "RR298",
            "'disease' is one sensitive attribute more than two",
        ),
    ],
)
def test_other_roles_are_refused_with_their_place(write, old, new, code, message):
    found = [p for p in problems(write(head=POLICY.replace(old, new))) if p.code == code]

    assert any(message in p.message for p in found)
    assert all(p.place is not None for p in found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("l = 2", "l = 5", "groups of 5 different values"),
        ("l = 2", "l = 1", "groups of one record hide nothing"),
        ('model = "l-diversity"\nkind = "frequency"\nl = 2', 'model = "k-anonymity"\nk = 1', "does not state how many"),
    ],
)
def test_sizes_that_cannot_be_are_refused(write, old, new, message):
    found = problems(write(rest=REST.replace(old, new)))

    assert any(p.code in {"RR299", "RR227"} for p in found)
    assert any(message in p.message or "out of reach" in p.message for p in found)


def test_nothing_beside_the_sensitive_attribute_is_refused(write):
    head = POLICY.replace('role = "quasi-identifier"', 'role = "excluded"').replace(UNCHANGED, '{ role = "excluded" }')
    head = head.replace(', release_as = "gender"', "").replace(', scale = "ordinal"', "")

    assert [p.code for p in problems(write(head=head)) if p.code == "RR298"] == ["RR298"]


def test_what_no_group_can_give_has_no_assessor(write):
    found = problems(write(rest='[[privacy]]\nmodel = "local-dp"\nepsilon = 2\nscope = "attribute"\n' + REST))

    assert "RR228" in {p.code for p in found}


def test_all_models_hold_anatomy_to_one_threshold(write):
    more = """
[[privacy]]
model = "attribute-disclosure"
threshold = "1/2"
[[privacy]]
model = "identity-disclosure"
threshold = 1
[[privacy]]
model = "l-diversity"
kind = "entropy"
l = 2
"""
    path = write(rest=more + REST, head=POLICY.replace(UNCHANGED, '{ role = "excluded" }'))
    disclosure, *others = planned(path).assessment.findings

    assert {f.verdict for f in (disclosure, *others)} == {Verdict.SATISFIED}
    assert disclosure.achieved.standing is Standing.UPPER_BOUND
    assert 1 / 4 < disclosure.achieved.value <= 1 / 2
    known = planned(write(rest=more + REST)).assessment.findings[0]
    assert known.verdict is Verdict.FAILED  # who knows the hours as well parts people further
    assert known.achieved.value > disclosure.achieved.value


def test_without_data_the_plan_says_what_is_not_known(write):
    opened = open_policy(write())
    outlook = plan_and_assess(opened.policy, opened.registry, 1000)

    assert "eligible" in {r.name: r.text for r in outlook.plan.remarks}["eligibility"]


def test_the_conformance_kit_passes(write, tmp_path):
    for records in (401, 40):
        opened = open_policy(write(records=records))
        with open_original(opened.policy, opened.registry.sources, tmp_path) as original:
            check_mechanism(opened.registry.mechanisms["anatomy"], opened, [original])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_a_release_is_verified_at_every_level_and_estimated(write, tmp_path, form, capsys):
    path = write(rest=f'[release]\nformat = "{form}"\n' + REST)
    plan, key, out = tmp_path / "plan.json", tmp_path / "key.json", tmp_path / "out"
    assert main(["plan", str(path), "--out", str(plan), "--key", str(key)]) == 0
    assert main(["release", str(plan), "--out", str(out), "--key", str(key)]) == 0
    capsys.readouterr()
    source = ["--source", str(tmp_path / "people.csv")]
    for level, more in (("public", []), ("audit", []), ("source", source), ("key", [*source, "--key", str(key)])):
        assert main(["verify", str(out), "--level", level, *more]) == 0
        assert f"verified at level {level}" in capsys.readouterr().out
    assert main(["verify", str(out / "public")]) == 0

    release = open_release(out)
    assert sum(r.estimate for r in release.crosstab(["gender", "illness"]).rows) == pytest.approx(401)
    assert sum(r.estimate for r in release.crosstab(["age"], where="hours > 2").rows) > 0
    capsys.readouterr()
    assert main(["estimate", str(out), "--by", "age,illness", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 12
    for file in (out / "public").iterdir():
        assert b"CANARY" not in file.read_bytes()


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("st", "SELECT * REPLACE (group_id % 200 + 1 AS group_id) FROM t"),
        ("qit", "SELECT * REPLACE (1 AS group_id) FROM t"),
    ],
)
def test_a_changed_table_is_found(write, tmp_path, table, change, capsys):
    out = tmp_path / "out"
    assert main(["release", str(write()), "--out", str(out)]) == 0
    file = out / "public" / f"{table}.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM '{file}'")
        connection.execute(f"COPY ({change}) TO '{file}'")
    capsys.readouterr()

    assert main(["verify", str(out), "--level", "public"]) == 1
    shown = capsys.readouterr()
    assert "RR117" in shown.out + shown.err


def test_the_report_has_a_section_of_its_own(write, tmp_path):
    out = tmp_path / "out"
    assert main(["release", str(write()), "--out", str(out)]) == 0
    report = json.loads((out / "audit" / "report.json").read_text())
    (section,) = report["sections"]

    assert section["title"] == "Groups by disease"
    facts = {f["name"]: f["value"] for f in section["facts"]}
    assert (facts["Groups"], facts["Largest l for which the table is eligible"]) == ("200", "2")
    assert facts["Residues, each in a group that lacked its value"] == "1"
    assert sum(int(row[0].replace(",", "")) for row in section["table"]) == 200
    public = (out / "public" / "report.html").read_text()
    assert "Groups by disease" in public
    assert "commonest" not in public


@pytest.mark.adult
def test_adult_has_no_anatomy_on_workclass_and_one_up_to_seven_on_occupation(adult_csv, tmp_path):
    with duckdb.connect() as connection:
        table = connection.read_csv(str(adult_csv))
        table.project("education, sex, workclass, occupation").write_parquet(str(tmp_path / "adult.parquet"))

    def policy(sensitive: str, l: int) -> Path:
        other = ({"workclass", "occupation"} - {sensitive}).pop()
        path = tmp_path / "policy.toml"
        path.write_text(
            'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "o"\npurpose = "p"\n'
            '[source]\nuri = "adult.parquet"\n[attributes]\n'
            'education = { role = "quasi-identifier", domain = "observed" }\n'
            'sex = { role = "quasi-identifier", domain = "observed" }\n'
            f'{sensitive} = {{ role = "sensitive", domain = "observed" }}\n{other} = {{ role = "excluded" }}\n'
            f'[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = {l}\n[mechanism]\nname = "anatomy"\n'
        )
        return path

    with pytest.raises(RequirementError, match="RR106") as caught:
        planned(policy("workclass", 2))
    assert "largest eligible l: 1" in (caught.value.problems[0].expected or "")
    with pytest.raises(RequirementError) as caught:
        planned(policy("occupation", 8))
    assert "largest eligible l: 7" in (caught.value.problems[0].expected or "")
    outlook = planned(policy("occupation", 7))
    assert outlook.decision.passed
    assert outlook.plan.records == 45_222


def test_what_the_draw_came_to_stands_in_audit_alone_and_is_recomputed(write, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["release", str(write()), "--out", str(out)]) == 0
    audit = out / "audit"
    (measured,) = json.loads((audit / "findings.json").read_text())["attained"]
    report = json.loads((audit / "report.json").read_text())
    (row,) = (row for row in report["findings"] if row["model"] == "written-posteriors")

    assert (measured["verdict"], measured["limit"], measured["basis"]) == (None, None, "original")
    assert sum(measured["profile"]["people"]) == 401
    assert 0.5 <= measured["achieved"]["value"] <= 1
    assert row["verdict"] == "measured"
    assert "decides nothing" in row["requirement"]
    assert row["promise"].startswith("Guessing the value: ")
    for file in (out / "public").iterdir():
        assert b"written-posteriors" not in file.read_bytes()

    measured["companions"][0]["measure"]["value"] += 1
    findings = json.loads((audit / "findings.json").read_text()) | {"attained": [measured]}
    (audit / "findings.json").write_bytes(pretty(findings))
    record = json.loads((audit / "audit.json").read_text())
    record["files"]["findings.json"] = file_digest(audit / "findings.json")
    (audit / "audit.json").write_bytes(pretty(sealed_record({**record, "digest": ""}, record["files"])))
    capsys.readouterr()
    assert main(["verify", str(out), "--source", str(tmp_path / "people.csv")]) == 1
    assert "RR132" in capsys.readouterr().out


def test_a_key_of_a_mechanism_without_options_is_refused_with_words(write: Write) -> None:
    (found,) = problems(write(REST + "l = 2\n"))
    assert (found.code, found.expected) == ("RR205", "no further key: it has no options")
