"""Codes of a plugin's own, with their pages; and those of rrpolicy that a source raises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.error_codes import codes

ROOT = Path(__file__).parents[2]
PLUGIN = """
from rrpolicy.plugin import PolicyError, Problem, hookimpl

class Sore:
    schemes = (".sore",)
    def open(self, uri, table, scratch, reading):
        raise PolicyError(Problem("ACME101", "the table is sore"))

@hookimpl
def rrpolicy_sources():
    return [Sore()]

@hookimpl
def rrpolicy_codes():
    return {codes}
"""
PAGE = "# ACME101: a sore table\n\n## What it means\n\nIt hurts."


@pytest.fixture
def plugin(site, distribution, tmp_path):
    def install(codes: str, name: str = "acme-sore") -> None:
        module = name.replace("-", "_")
        folder = distribution(tmp_path / name, name, module, PLUGIN.replace(".sore", f".{module}").format(codes=codes))
        site(folder)

    return install


def test_its_problems_lead_to_their_page(plugin, tmp_path, capsys):
    plugin(f"[('ACME101', {PAGE!r})]")
    assert main(["init", str(tmp_path / "x.acme_sore"), "--plugin", "acme-sore"]) == 2
    assert "`rrpolicy explain ACME101 --plugin DISTRIBUTION` shows more" in capsys.readouterr().err

    assert main(["explain", "acme101", "--plugin", "acme-sore"]) == 0
    assert capsys.readouterr().out == PAGE + "\n"
    assert main(["plugins", "--plugin", "acme-sore"]) == 0
    assert "codes of plugins: ACME101" in capsys.readouterr().out.splitlines()


def test_who_may_know_a_code_is_named_and_not_imported(plugin, capsys):
    plugin(f"[('ACME101', {PAGE!r})]")
    assert main(["explain", "ACME101"]) == 2
    said = capsys.readouterr().err
    assert "RR251 there is no code or name 'ACME101'" in said
    assert "--plugin acme-sore" in said
    assert main(["explain", "ACME10", "--plugin", "acme-sore"]) == 2
    assert "did you mean ACME101?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        ("[('RR203', 'mine')]", "RR405 the plugin 'acme_sore' of 'acme-sore' offers a page on RR203"),
        ("[('RR999', 'mine')]", "which is a code of rrpolicy"),
        ("[('ACME101', 'a'), ('ACME101', 'b')]", "RR405 the plugin 'acme_sore' of 'acme-sore' offers a page on ACME101"),
        ("[('acme', 'mine')]", "RR406 the plugin 'acme_sore' of 'acme-sore' offers a page on a code that is the code 'acme'"),
        ("[('ACME101', ' ')]", "the code 'ACME101' without a page"),
        ("['ACME101']", "a page on a code that is a str, expected a tuple"),
        ("None", "RR406 the plugin 'acme_sore' of 'acme-sore' failed in rrpolicy_codes: TypeError"),
    ],
)  # fmt: skip
def test_codes_of_others_are_refused(plugin, capsys, offered, said):
    plugin(offered)
    assert main(["explain", "ACME101", "--plugin", "acme-sore"]) == 4
    assert said in capsys.readouterr().err


def test_two_plugins_have_no_code_in_common(plugin, capsys):
    plugin(f"[('ACME101', {PAGE!r})]")
    plugin(f"[('ACME101', {PAGE!r})]", "acme-sorer")
    assert main(["explain", "ACME101", "--plugin", "acme-sore", "--plugin", "acme-sorer"]) == 4
    assert "RR405 the plugin 'acme_sorer' of 'acme-sorer' offers a page on ACME101" in capsys.readouterr().err


def test_a_built_in_page_needs_no_plugin(capsys):
    assert main(["explain", "RR203", "--plugin", "acme-nowhere"]) == 0
    assert capsys.readouterr().out.startswith("# RR203")


NOT_A_SOURCE_S = {"RR301", "RR339"}
"""Raised beside what a source raises: no engine for the uri, and a released column that no file can hold."""


def test_the_guide_lists_the_codes_that_sources_raise():
    guide = (
        (ROOT / "docs" / "tutorials" / "plugins.md")
        .read_text()
        .partition("### Codes for sources")[2]
        .partition("\n## ")[0]
    )
    listed = re.findall(r"^\| (RR\d{3}) \|", guide, re.MULTILINE)
    files = [*(ROOT / "rrpolicy" / "engine").glob("*.py"), *(ROOT / "rrpolicy" / "source" / "duckdb").glob("*.py")]
    files += [ROOT / "rrpolicy" / "source" / "memory" / name for name in ("copied_records.py", "stream.py")]
    raised = {code for file in files for code in re.findall(r'"(RR[34]\d{2})"', file.read_text())}
    assert set(listed) == raised - NOT_A_SOURCE_S
    assert listed == sorted(listed)
    assert set(listed) <= set(codes())
