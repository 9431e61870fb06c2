"""`rrpolicy report evidence`: every clause cites what is there, or says that nothing is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

import rrpolicy
from rrpolicy.attacks.result import AttackOutcome, AttackReport, AttackResult
from rrpolicy.cli.main import main
from rrpolicy.compliance.citations import CITATIONS
from rrpolicy.compliance.evidence import load_regime, regime_names
from rrpolicy.declarations import Context
from rrpolicy.frozen import field_names
from tests.survey import SURVEY


def test_python_gathers_as_often_as_it_is_asked(bundles):
    first, again = (rrpolicy.evidence(bundles / "bare", "dpia") for _ in range(2))
    assert first.content("markdown") == again.content("markdown")


def found(bundle, name, *options, capsys):
    assert main(["report", "evidence", str(bundle), "--for", name, "--format", "json", *options]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", regime_names())
def test_every_regime_is_well_formed(name):
    asked = load_regime(name)
    assert asked.source
    assert len({clause.id for clause in asked.clauses}) == len(asked.clauses) >= 5
    for clause in asked.clauses:
        for need in clause.needs:
            assert need in CITATIONS or need.removeprefix("context.") in field_names(Context)


@pytest.mark.parametrize("name", regime_names())
def test_every_clause_cites_or_says_what_is_missing(bundles, name, capsys):
    for bundle in ("told", "bare"):
        for answer in found(bundles / bundle, name, capsys=capsys)["answers"]:
            assert answer["covered"] == bool(answer["citations"])
            assert answer["citations"] or answer["missing"]


def test_what_is_declared_is_cited_and_what_is_not_is_missing(bundles, capsys):
    told, bare = (found(bundles / name, "iso27559", capsys=capsys)["answers"] for name in ("told", "bare"))
    by_id = {answer["clause"]: answer for answer in told}
    assert [c["kind"] for c in by_id["8.3.4"]["citations"]] == ["declaration"]
    assert "2099-06-30" in by_id["8.3.4"]["citations"][0]["text"]
    assert not by_id["8.2.3"]["covered"]

    by_id = {answer["clause"]: answer for answer in bare}
    assert by_id["8.3.4"]["missing"] == ["review_by under [context]"]
    assert not by_id["9"]["covered"]


def test_the_grade_and_what_an_attacker_attains_are_cited_from_the_audit_alone(bundles, capsys):
    stated = json.loads((bundles / "told" / "audit" / "findings.json").read_text())["protection"]
    for name in regime_names():
        audit, public = (
            [
                c["text"]
                for a in found(bundles / "told", name, "--page", page, capsys=capsys)["answers"]
                for c in a["citations"]
            ]
            for page in ("audit", "public")
        )
        assert any(text.startswith(f"Protection: {stated['grade']}. ") for text in audit)
        for ladder in stated["ladders"]:
            assert any(text.startswith(f"Reading {ladder['of']} ({ladder['grade']}): ") for text in audit)
        assert not [text for text in public if text.startswith(("Protection", "Reading", "Finding a person"))]


def test_what_was_waived_is_said_where_it_is_cited(waived, capsys):
    answers = {a["clause"]: a for a in found(waived, "ema-0070", capsys=capsys)["answers"]}
    cited = " ".join(c["text"] for c in answers["utility"]["citations"])
    assert "not met" in cited
    assert "waived until 2099-01-31 by owner: a trial" in cited


def test_numbers_keep_their_standing_and_their_condition(bundles, capsys):
    answers = {a["clause"]: a for a in found(bundles / "told", "sp800-188", capsys=capsys)["answers"]}
    (local,) = answers["SI-19(6)"]["citations"]
    assert local["kind"] == "finding"
    assert "given the published parameters" in local["text"]
    assert "(exact)" in local["text"] or "(upper bound)" in local["text"]


def test_the_public_page_holds_no_number_of_the_original(bundles, capsys):
    audit = found(bundles / "told", "dpia", capsys=capsys)
    public = found(bundles / "told", "dpia", "--page", "public", capsys=capsys)
    alone = found(bundles / "told/public", "dpia", capsys=capsys)

    assert (audit["page"], public["page"], alone["page"]) == ("audit", "public", "public")
    assert public["answers"] == alone["answers"]
    manifest = json.loads((bundles / "told/public/release.json").read_text())
    shown = {c["text"] for a in public["answers"] for c in a["citations"] if "utility" in c["where"]}
    assert shown
    assert all(f["expected"] is None for f in manifest["utility"])
    assert not any("expected " in text for text in shown)
    assert any("expected " in c["text"] for a in audit["answers"] for c in a["citations"] if "utility" in c["where"])
    assert main(["report", "evidence", str(bundles / "told/public"), "--for", "dpia", "--page", "audit"]) == 2


@pytest.mark.parametrize("form", ["markdown", "html", "json", "oscal"])
def test_the_same_bundle_gives_the_same_bytes_and_no_text_becomes_markup(bundles, tmp_path, form):
    for name in ("one", "two"):
        assert (
            main(
                [
                    "report",
                    "evidence",
                    str(bundles / "told"),
                    "--for",
                    "hipaa",
                    "--format",
                    form,
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
    content = (tmp_path / "one").read_text()
    assert content == (tmp_path / "two").read_text()
    assert "anonymous" not in content.lower()
    page = MarkdownIt().render(content) if form == "markdown" else content
    if form not in {"json", "oscal"}:
        assert "<script" not in page
        assert "students" in page
    assert main(["report", "evidence", str(bundles / "told"), "--for", "hipaa", "--out", str(tmp_path / "one")]) == 4


def test_what_does_not_verify_is_no_evidence(bundles, tmp_path, capsys):
    bundle = Path(shutil.copytree(bundles / "told", tmp_path / "told"))
    (bundle / "public/README.md").write_text("edited")

    assert main(["report", "evidence", str(bundle), "--for", "dpia", "--out", str(tmp_path / "out.html")]) == 1
    assert not (tmp_path / "out.html").exists()
    assert "RR1" in capsys.readouterr().err


def test_no_other_regime_is_known(bundles, capsys):
    assert main(["report", "evidence", str(bundles / "told"), "--for", "gdpr"]) == 2
    assert "one of: dpia, ema-0070, hipaa, iso27559, sp800-188" in capsys.readouterr().err


def test_units_and_changes_are_cited(tmp_path, capsys):
    change = '[[policy.changes]]\nversion = "1.0.0"\nwhat = "source.min_rows"\nwhy = "a small town"\nwho = "steward"\n'
    text = SURVEY.replace("[source]\n", f"{change}[source]\nmax_records = 3\n").replace("epsilon = 2", "epsilon = 6")
    (tmp_path / "policy.toml").write_text(text)
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle")]) == 0
    capsys.readouterr()
    told = json.dumps([found(tmp_path / "bundle", name, capsys=capsys) for name in regime_names()])
    assert "has at most 3 records: tested on the table" in told
    alone = json.dumps([found(tmp_path / "bundle/public", name, capsys=capsys) for name in regime_names()])
    assert "has at most 3 records: stated by the publisher" in alone
    assert "Made weaker in 1.0.0, source.min_rows: a small town (steward)" in told


def test_a_mean_risk_is_cited(tmp_path, capsys):
    mean = '[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "1/2"\npercentile = 5\n'
    (tmp_path / "policy.toml").write_text(SURVEY.replace("[mechanism]", f"{mean}[mechanism]"))
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle")]) == 0
    capsys.readouterr()
    told = json.dumps([found(tmp_path / "bundle", name, capsys=capsys) for name in regime_names()])
    assert "mean link of the 5 % most at risk <= 1/2" in told


def test_an_attack_that_was_not_run_is_cited_with_its_reason(bundles, tmp_path):
    citing, _ = CITATIONS["attack"]
    undecided = AttackResult("homogeneity", "disease", "", "", AttackOutcome.UNDECIDED, "there are too many sets")
    digest = "sha256:" + "0" * 64
    (cited,) = citing(SimpleNamespace(attacked=AttackReport((digest,), digest, 3, "1", (undecided,))))
    assert "homogeneity (disease)" in cited.text
    assert "undecided: there are too many sets" in cited.text
