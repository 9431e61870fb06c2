"""The report before the decision: of a plan that passes, of one that does not, and of what cannot be planned."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.report import Report

POLICY = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables"
[source]
uri = "people.csv"
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
town = {{ role = "quasi-identifier", domain = ["a", "b", "c", "d"] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
model = "attribute-disclosure"
threshold = "{threshold}"
[mechanism]
name = "rr-both"
[[utility]]
metric = "expected-l2"
max = {most}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    rows = [f"{'FM'[i % 2]},{'abcd'[i // 3 % 4]},{('no', 'yes')[i % 7 < 2]}" for i in range(2_000)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *rows, ""]))
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(threshold="1/2", most="0.9"))
    return path


def text_of(page: Path) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.read_text().partition("</style>")[2]).split())


def document(policy: Path, out: Path) -> Report:
    return Report.from_json(json.loads(rrpolicy.preview(policy, out, format="json").content))


def test_a_plan_that_passes_says_what_would_be_released(policy: Path, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert main(["plan", str(policy), "--report", str(page), "--quiet"]) == 0
    text = text_of(page)

    assert "Before the decision." in text
    assert "Requirements met" in text
    assert "approved rejected" in text
    assert "What would be changed" in text
    assert "Alternatives" in text
    assert "privacy.0.threshold = 1/4" in text
    assert "Shares of each category" not in text
    assert "Adversarial test" not in text


@pytest.mark.slow
def test_a_gate_that_is_missed_is_said_with_what_is_attainable(policy: Path, tmp_path: Path) -> None:
    policy.write_text(POLICY.format(threshold="1/2", most="0.000001"))
    page = tmp_path / "plan.html"
    assert main(["plan", str(policy), "--report", str(page), "--quiet"]) == 1
    text, found = text_of(page), document(policy, tmp_path / "plan-report.json")

    assert "Not fit for release" in text
    assert "Whether to release" not in text
    assert "approved" not in text
    assert "with these requirements the plan attains max =" in text.replace("With", "with")
    assert [o.code for o in found.obstacles] == ["RR104"]
    assert found.obstacles[0].place.startswith("line ")
    assert found.utility[0].used is not None
    assert found.utility[0].used > 1


def test_what_no_release_satisfies_has_a_page_too(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(POLICY.format(threshold="1/1000", most="0.9"))
    page, bundle = tmp_path / "refused.html", tmp_path / "bundle"
    assert main(["release", str(policy), "--out", str(bundle), "--report", str(page)]) == 1
    found = document(policy, tmp_path / "refused.json")

    assert "RR102" in capsys.readouterr().err
    assert not bundle.exists()
    assert "No release satisfies this policy: nothing could be planned." in text_of(page)
    assert "approved" not in text_of(page)
    assert [o.code for o in found.obstacles] == ["RR102"]
    assert found.findings == ()
    assert found.alternatives is not None
    assert any(row.outcome == "passes" for row in found.alternatives.rows)


def test_the_limit_that_decides_is_varied(policy: Path, tmp_path: Path) -> None:
    loose = '[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "9/10"\n[[privacy]]'
    policy.write_text(policy.read_text().replace("[[privacy]]", loose, 1))
    found = document(policy, tmp_path / "plan.json").alternatives

    assert found is not None
    assert any("privacy.1.threshold" in row.label for row in found.rows)
    assert len({row.risk for row in found.rows}) > 2
    assert found.risk == "privacy/attribute-disclosure"
    (chosen,) = [row for row in found.rows if row.recommended]
    assert chosen.error is not None
    assert f"error {chosen.error}" in found.reason


def test_limits_that_decide_nothing_are_said_to(policy: Path, tmp_path: Path) -> None:
    fixed = 'name = "pram"\nallocation = "fixed"\nkeep_probability = { sex = "3/5", town = "2/5", ill = "3/5" }'
    policy.write_text(policy.read_text().replace('name = "rr-both"', fixed))
    page = tmp_path / "plan.html"
    found = document(policy, tmp_path / "plan.json").alternatives
    rrpolicy.preview(policy, page)

    assert found is not None
    assert found.rows == ()
    assert "Other limits do not change what would be released. Tried: privacy.0.threshold = 1/4, 3/8, 1/2" in (
        text_of(page)
    )
    assert "Candidates that were compared" not in text_of(page)


@pytest.mark.parametrize("counted", [False, True])
def test_a_sensitive_column_as_it_is_points_to_attackers_who_know_it(
    policy: Path, tmp_path: Path, counted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (tmp_path / "people.csv").read_text().split()
    rows = [f"{line},{'xyz'[i % 3]}" for i, line in enumerate(lines[1:])]
    (tmp_path / "people.csv").write_text("\n".join([f"{lines[0]},job", *rows, ""]))
    job = 'job = { role = "sensitive", domain = ["x", "y", "z"] }\n[[privacy]]'
    text = policy.read_text().replace("[[privacy]]", job, 1)
    policy.write_text(text.replace("[mechanism]", "known_sensitive = true\n[mechanism]") if counted else text)
    main(["plan", str(policy)])

    out = capsys.readouterr().out
    assert ("'job' is sensitive and released unmodified" in out) is not counted  # it is randomised then
    assert ("counts with attackers who know it of a person (`known_sensitive`)" in out) is not counted


def test_a_plans_file_gives_the_same_page_without_the_table(policy: Path, tmp_path: Path) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "plan.html"
    assert main(["plan", str(policy), "--out", str(plan), "--quiet"]) == 0
    (tmp_path / "people.csv").unlink()
    assert main(["report", str(plan), "--out", str(page)]) == 0
    again = Report.from_json(json.loads(rrpolicy.render(plan, format="json").content))

    assert "Requirements met" in text_of(page)
    assert again.page == "plan"
    assert again.pairs is not None
    assert again.alternatives is None
    assert again.following[0].value == "rrpolicy release PLAN --out BUNDLE"


def test_an_edited_plan_has_no_page(policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    assert main(["plan", str(policy), "--out", str(plan), "--quiet"]) == 0
    plan.write_text(plan.read_text().replace('"passed": true', '"passed": false'))

    assert main(["report", str(plan), "--out", str(tmp_path / "page.html")]) == 4
    assert "RR401" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_of_a_plan_there_is_no_public_page(policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    assert main(["plan", str(policy), "--out", str(plan), "--quiet"]) == 0

    assert main(["report", str(plan), "--page", "public"]) == 2
    assert "RR250" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "release"])
def test_nothing_is_overwritten(policy: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    more = ["--out", str(tmp_path / "bundle")] if command == "release" else []

    assert main([command, str(policy), *more, "--report", str(page)]) == 4
    assert "RR402" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert not (tmp_path / "bundle").exists()


def test_what_was_attested_stands_in_the_report(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", "correct horse")
    bundle, key, table = tmp_path / "bundle", tmp_path / "auditor.pem", tmp_path / "people.csv"
    assert main(["release", str(policy), "--out", str(bundle)]) == 0
    assert main(["keys", "new", str(key)]) == 0
    before = rrpolicy.render(bundle, page="audit").text
    assert main(["verify", str(bundle), "--source", str(table), "--sign-with", str(key)]) == 0
    after = rrpolicy.render(bundle, page="audit").text

    nobody = "Nobody had verified, attacked or signed this release when this page was written."
    assert nobody in before
    assert nobody not in after
    assert re.search(
        r"Verified:</strong> .*On 2\d{3}-\d\d-\d\d to the level source, signed with the key \w{16}…", after
    )
    assert "Signed:</strong> by nobody; run <code>" in after
    assert "Attacked:</strong> by nobody; run <code>" in after
    assert main(["sign", str(bundle), "--key", str(key)]) == 0
    assert re.search(r"Signed:</strong> .*With the key \w{16}…", rrpolicy.render(bundle, page="audit").text)
    assert main(["verify", str(bundle), "--source", str(table)]) == 0
