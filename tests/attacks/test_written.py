"""The adversarial test as a part of a release: in audit/, its report and evidence; run again by `verify`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rrpolicy
from rrpolicy import api
from rrpolicy.canonical_json import file_digest, pretty, record_digest
from rrpolicy.cli.main import main
from rrpolicy.serialization import read
from tests.survey import SURVEY

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "rrpolicy" / "schemas" / "rrpolicy.attack-1.json").read_text())
SOURCE = "demo:survey"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release without a test."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "policy.toml").write_text(SURVEY)
    assert main(["release", str(folder / "policy.toml"), "--out", str(folder / "bundle")]) == 0
    return folder / "bundle"


@pytest.fixture(scope="module")
def written(released: Path) -> Path:
    """Return the same release with a test."""
    bundle = released.with_name("written")
    shutil.copytree(released, bundle)
    rrpolicy.attack(bundle, source=SOURCE, write=True).require()
    return bundle


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    """Return a copy of the release with a test."""
    return Path(shutil.copytree(written, tmp_path / "bundle"))


def digests(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): file_digest(p) for p in folder.rglob("*") if p.is_file()}


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def reseal(bundle: Path, change: Any) -> None:
    """Change attack.json and fit the report and the record to it, as a forger would who has no source."""
    from rrpolicy.attacks.result import AttackReport
    from rrpolicy.discovery import load_registry
    from rrpolicy.verification.attack import amend_with_attack

    document = load(bundle / "audit" / "attack.json")
    change(document)
    amend_with_attack(bundle, read(AttackReport, document), load_registry(()))
    assert load(bundle / "audit" / "attack.json")["attacks"] == document["attacks"]


def failures(bundle: Path, **options: Any) -> set[str]:
    return {problem.code for problem in rrpolicy.verify(bundle, **options).problems}


def test_a_test_is_written_into_audit_and_its_report_alone(released: Path, written: Path) -> None:
    before, after = digests(released), digests(written)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {f"audit/{name}" for name in ("attack.json", "audit.json", "report.html", "report.json")}
    document = load(written / "audit" / "attack.json")
    jsonschema.validate(document, SCHEMA)
    assert document["releases"] == [load(written / "public" / "release.json")["digest"]]
    assert document == rrpolicy.attack(written, source=SOURCE).to_json()
    assert {path.stat().st_mode & 0o077 for path in (written / "audit").rglob("*")} == {0}
    assert sorted(path.name for path in written.iterdir()) == ["audit", "public"]
    page = (written / "audit" / "report.html").read_text()
    assert "All 5 attacks that could be run succeeded as often as" in page
    assert "Record linkage" in page
    assert "Adversarial test" not in (written / "public" / "report.html").read_text()


def test_a_report_without_a_test_says_so(released: Path) -> None:
    page = (released / "audit" / "report.html").read_text()
    assert "Not run. <code>rrpolicy attack BUNDLE --source TABLE --write</code>" in page


def test_verify_runs_it_again(written: Path) -> None:
    audit, source = rrpolicy.verify(written), rrpolicy.verify(written, source=SOURCE)
    assert audit.passed
    assert source.passed
    stated = {claim.field for claim in audit.claims if claim.file == "audit/attack.json"}
    assert stated == {"attacks", "source", "rrpolicy"}
    assert {claim.field for claim in source.claims if claim.file == "audit/attack.json"} == {"rrpolicy"}
    assert "audit/attack.json: run again" in {check.name for check in source.checks}


def test_writing_it_again_changes_nothing(copied: Path) -> None:
    before = digests(copied)
    assert main(["attack", str(copied), "--source", SOURCE, "--write"]) == 0
    assert digests(copied) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["successes", "predicted", "lowest", "highest", "tail", "trials", "without", "reason"])
def test_a_forged_number_is_found_with_the_table(copied: Path, name: str) -> None:
    def change(document: dict[str, Any]) -> None:
        attack = next(a for a in document["attacks"] if a["name"] == "record linkage")
        attack[name] = "forged" if name == "reason" else attack[name] + 1 if name != "tail" else 0.5

    reseal(copied, change)
    assert failures(copied) == set()
    assert failures(copied, source=SOURCE) == {"RR552"}


def test_an_attack_that_is_left_out_is_found_with_the_table(copied: Path) -> None:
    reseal(copied, lambda document: document["attacks"].pop(0))
    assert failures(copied, source=SOURCE) == {"RR552"}


def test_a_test_of_another_table_is_found(copied: Path) -> None:
    reseal(copied, lambda document: document.update(source="sha256:" + "0" * 64))
    assert failures(copied, source=SOURCE) == {"RR552"}


@pytest.mark.slow
def test_what_contradicts_itself_or_the_release_is_found_without_the_table(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def forged(name: str, change: Any) -> set[str]:
        bundle = Path(shutil.copytree(written, tmp_path / name))
        reseal(bundle, change)
        return failures(bundle)

    assert forged("release", lambda d: d.update(releases=["sha256:" + "0" * 64])) == {"RR121"}
    assert forged("records", lambda d: d.update(records=d["records"] + 1)) == {"RR121"}
    failed = next(i for i, a in enumerate(load(written / "audit" / "attack.json")["attacks"]) if a["successes"])
    assert forged("failed", lambda d: d["attacks"][failed].update(outcome="not as predicted")) == {"RR554"}
    bundle = Path(shutil.copytree(written, tmp_path / "bytes"))
    for name, change in (
        ("passed", {"passed": False}),
        ("surprise", {"surprise": 1}),
        ("false_alarm", {"false_alarm": "1/2"}),
    ):
        path = bundle / "audit" / "attack.json"
        path.write_bytes(pretty(load(written / "audit" / "attack.json") | change))
        record = load(bundle / "audit" / "audit.json")
        record["files"]["attack.json"] = file_digest(path)
        record["digest"] = record_digest(record)
        (bundle / "audit" / "audit.json").write_bytes(pretty(record))
        assert failures(bundle) == {"RR122" if name == "passed" else "RR110"}, name
    (bundle / "audit" / "attack.json").unlink()
    assert "RR112" in failures(bundle) | {p.code for p in rrpolicy.verify(bundle).problems}


def test_what_the_record_does_not_list_does_not_belong(released: Path, written: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(released, tmp_path / "bundle"))
    shutil.copy2(written / "audit" / "attack.json", bundle / "audit" / "attack.json")
    assert failures(bundle) == {"RR113"}


def test_the_page_shows_what_is_in_audit(copied: Path) -> None:
    report = load(copied / "audit" / "report.json")
    report["attacks"][0]["attained"] = "nothing"
    (copied / "audit" / "report.json").write_bytes(pretty(report))
    record = load(copied / "audit" / "audit.json")
    record["files"]["report.json"] = file_digest(copied / "audit" / "report.json")
    record["digest"] = record_digest(record)
    (copied / "audit" / "audit.json").write_bytes(pretty(record))
    assert failures(copied) == {"RR120"}


@pytest.mark.parametrize(("regime", "clause"), [("iso27559", "8.2.3"), ("sp800-188", "SI-19(8)")])
def test_evidence_cites_it(released: Path, written: Path, regime: str, clause: str) -> None:
    def answer(bundle: Path, **options: Any) -> Any:
        found = api.evidence(bundle, regime, **options).evidence
        return found, next(a for a in found.answers if a.clause == clause)

    found, with_test = answer(written)
    assert with_test.covered
    assert {citation.file for citation in with_test.citations} == {"audit/attack.json"}
    assert "audit/attack.json" in {file.path for file in found.files}
    told = [c.text for c in with_test.citations]
    assert any(t.startswith("Adversarial test, record linkage: as predicted: ") for t in told)
    for bundle, options in ((released, {}), (written, {"page": "public"})):
        _, without = answer(bundle, **options)
        assert not without.covered
        assert without.missing == ("an adversarial test in audit/: rrpolicy attack BUNDLE --source TABLE --write",)


@pytest.mark.slow
def test_a_signed_release_is_not_written_into(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Path(shutil.copytree(released, tmp_path / "bundle"))
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", "of a test")
    assert main(["keys", "new", str(tmp_path / "steward.pem")]) == 0
    sign = ["sign", str(bundle), "--key", str(tmp_path / "steward.pem")]
    assert main(sign) == 0
    before = digests(bundle)
    assert main(["attack", str(bundle), "--source", SOURCE, "--write"]) == 4
    assert "RR553" in capsys.readouterr().err
    assert digests(bundle) == before
    assert main(["attack", str(bundle), "--source", SOURCE]) == 0
    shutil.rmtree(bundle / "attestations")
    assert main(["attack", str(bundle), "--source", SOURCE, "--write"]) == 0
    assert main(sign) == 0
    assert rrpolicy.verify(bundle, source=SOURCE, signed_by=[tmp_path / "steward.pem.pub"]).passed


@pytest.mark.slow
def test_what_several_give_away_is_written_into_the_first(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, policy = Path(shutil.copytree(released, tmp_path / "bundle")), str(released.with_name("policy.toml"))
    assert main(["release", policy, "--out", str(tmp_path / "other")]) == 0
    before = digests(tmp_path / "other")
    assert main(["attack", str(bundle), str(tmp_path / "other"), "--source", SOURCE, "--write"]) == 0
    capsys.readouterr()
    assert digests(tmp_path / "other") == before
    document = load(bundle / "audit" / "attack.json")
    jsonschema.validate(document, SCHEMA)
    assert [a["name"] for a in document["together"]] == ["averaging over releases"]
    assert not any(a["of"].startswith("release") for a in document["attacks"])
    other = load(tmp_path / "other" / "public" / "release.json")["digest"]
    assert document["releases"] == [load(bundle / "public" / "release.json")["digest"], other]
    assert f"release 2 has the digest {other}" in (bundle / "audit" / "report.html").read_text()

    found = rrpolicy.verify(bundle, source=SOURCE)
    assert found.passed, found.problems
    assert {c.field for c in found.claims if c.file == "audit/attack.json"} == {"together", "releases", "rrpolicy"}
    reseal(bundle, lambda d: d["attacks"][0].update(successes=1.0))
    assert failures(bundle, source=SOURCE) == {"RR552"}
    reseal(bundle, lambda d: d["releases"].pop())
    assert "RR121" in failures(bundle)


def test_a_bundle_that_cannot_be_written_is_as_it_was(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Path(shutil.copytree(released, tmp_path / "bundle"))
    before, rename = digests(bundle), Path.rename

    def full(path: Path, target: Path) -> Path:
        if path.name.startswith(".audit.") and target.name == "audit" and (path / "attack.json").exists():
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", full)
    assert main(["attack", str(bundle), "--source", SOURCE, "--write"]) == 4
    assert "RR408" in capsys.readouterr().err
    assert digests(bundle) == before
    assert sorted(path.name for path in bundle.iterdir()) == ["audit", "public"]


@pytest.mark.slow
def test_forms_for_ci(released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    sarif, junit = tmp_path / "a.sarif", tmp_path / "a.xml"
    also = ["--also", f"sarif={sarif}", "--also", f"junit={junit}"]
    assert main(["attack", str(released), "--source", SOURCE, "--output-format", "markdown", *also]) == 0
    assert "## rrpolicy attack: passes" in capsys.readouterr().out
    kinds = [result["kind"] for result in load(sarif)["runs"][0]["results"]]
    assert kinds.count("pass") == 5
    assert "record linkage" in junit.read_text()
    shutil.copytree(released, tmp_path / "twice")
    assert main(["attack", str(released), str(tmp_path / "twice"), "--source", SOURCE, *also]) == 1
    assert "RR550" in capsys.readouterr().err
    found = [r for r in load(sarif)["runs"][0]["results"] if r["ruleId"] == "RR550"]
    assert [result["kind"] for result in found] == ["fail"]
    assert "<failure" in junit.read_text()
    with pytest.raises(rrpolicy.RequirementError) as refused:
        rrpolicy.attack(released, tmp_path / "twice", source=SOURCE).require()
    assert [problem.code for problem in refused.value.problems] == ["RR550"]


def test_a_failed_test_heads_the_report_and_a_new_one_takes_its_place(copied: Path) -> None:
    page = copied / "audit" / "report.html"
    before = page.read_text()
    assert "Not fit for release" not in before
    document = load(copied / "audit" / "attack.json")
    reseal(copied, lambda d: d["attacks"][0].update(outcome="not as predicted", tail=0.0))
    assert "Not fit for release" in page.read_text()
    assert (
        "The adversarial test failed: the findings do not describe these files. Do not publish them.</"
        in page.read_text().replace("</bdi>", "")
    )
    assert "RR554" in failures(copied)
    reseal(copied, lambda d: d.update(attacks=document["attacks"]))
    assert page.read_text() == before


def test_the_first_screen_tells_what_the_attack_attained(copied: Path, released: Path) -> None:
    before, after = (load(folder / "audit" / "report.json") for folder in (released, copied))
    attack = next(a for a in load(copied / "audit" / "attack.json")["attacks"] if a["name"].endswith("by record"))
    assert "adversarial test" not in json.dumps(before["tiles"])
    (tile,) = (t for t in after["tiles"] if t["name"] == "Reading a value")
    assert tile["figure"] != "not measured"
    for said in (tile["meaning"], "; ".join(after["points"])):
        assert f"the attacker infers `{attack['of']}` rightly for " in said
        assert f"of {attack['trials']:,}" in said
        assert ", without the release " in said
        assert "was not measured;" not in said
