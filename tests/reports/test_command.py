"""`rrpolicy report`: renders again, by page and form, and never writes into a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.canonical_json import file_digest, pretty, record_digest
from rrpolicy.cli.main import main
from rrpolicy_reports.html import HtmlRenderer
from rrpolicy_reports.json_renderer import JsonRenderer


@pytest.fixture
def bundle(examples: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "public").mkdir(parents=True)
    (folder / "audit").mkdir()
    report = folder / "audit" / "report.json"
    report.write_bytes(JsonRenderer().render(examples.report("audit")))
    record = {"files": {"report.json": file_digest(report)}}
    (folder / "audit" / "audit.json").write_bytes(pretty({**record, "digest": record_digest(record)}))
    return folder


def test_the_audit_page_is_rendered_again(
    examples: Any, bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status = main(["report", str(bundle), "--out", str(tmp_path / "again.html")])

    assert status == 0
    assert (tmp_path / "again.html").read_bytes() == HtmlRenderer().render(examples.report("audit"))
    assert "wrote the audit report" in capfd.readouterr().err


def test_json_goes_to_standard_output(examples: Any, bundle: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["report", str(bundle), "--format", "json"])

    assert status == 0
    assert capfd.readouterr().out.encode() == JsonRenderer().render(examples.report("audit"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--format", "docx"], "RR257"),
        (["--out", "{bundle}/public/report.html"], "RR258"),
        (["--out", "{bundle}/audit/../audit/new.html"], "RR258"),
        (["--page", "public"], "RR260"),
        (["--page", "else"], "RR250"),
    ],
)
def test_wrong_calls_are_refused(
    bundle: Path, arguments: list[str], code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status = main(["report", str(bundle), *(a.format(bundle=bundle) for a in arguments)])

    assert status == 2
    assert code in capfd.readouterr().err
    assert {p.name for p in bundle.rglob("*") if p.is_file()} == {"report.json", "audit.json"}


@pytest.mark.parametrize("content", ["no json", json.dumps({"schema": "rrpolicy.report/9"}), "[]"])
def test_an_unreadable_audit_report_is_refused(bundle: Path, content: str, capfd: pytest.CaptureFixture[str]) -> None:
    (bundle / "audit" / "report.json").write_text(content)

    assert main(["report", str(bundle)]) == 2
    assert "RR284" in capfd.readouterr().err
    assert main(["report", str(bundle), "--no-verify"]) == 2
    said = capfd.readouterr().err
    assert "RR259" in said
    assert "not checked" in said


def test_the_public_folder_alone_has_no_audit_page(bundle: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(bundle / "public"), "--page", "audit"]) == 2
    assert "RR259" in capfd.readouterr().err
