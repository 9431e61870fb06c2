"""Verdicts become words in one module: `rrpolicy/wording.py`. The test finds such words elsewhere in code and templates."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rrpolicy.finding import Verdict
from rrpolicy.wording import (
    NOT_FIT,
    WAIVED,
    judgement_words,
    margin_text,
    requirements_met,
    unmet_and,
    verdict_word,
)

ROOT = Path(__file__).parents[1]
SENTENCE = re.compile(
    r"\bnot met\b|\b(is|are|requirements?) met\b|\b(and|or|nor) waived\b|\bneeds? judgement\b|\bNot fit for\b"
    r"|\bis undecided\b|^\W*(not )?met\b",
    re.IGNORECASE,
)
"""Verdicts in sentences."""
ALONE = re.compile(r"\W*(not met|met|waived|met, conditional)\W*", re.IGNORECASE)
"""Verdicts as the whole text of a constant."""
ELSEWHERE = {
    "rrpolicy/wording.py": "the one module",
    "rrpolicy/ci_reports/outcome.py": "the meaning of an exit status",
    "rrpolicy/ci_reports/markdown.py": "the title of a list of points",
    "rrpolicy/cli/text/plan.py": "the title of a list of points",
    "rrpolicy/cli/main.py": "the meanings of the exit statuses",
    "rrpolicy/cli/releases/verify.py": "the help of an option",
    "rrpolicy/planning/check_document.py": "the key of a document",
    "rrpolicy/planning/plan.py": "the key of a document",
    "reports/rrpolicy_reports/templates/audit/annex.html": "the title of a list of points",
}


def constants(code: str) -> list[str]:
    """Return the text of a module, without docstrings."""
    tree = ast.parse(code)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return [node.value for node in found if isinstance(node.value, str)]


def verdicts(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [t for t in constants(text) if SENTENCE.search(t) or ALONE.fullmatch(t)]
    return [line for line in text.splitlines() if SENTENCE.search(line)]


def test_verdicts_are_worded_in_one_module() -> None:
    paths = [
        path
        for room in ("rrpolicy", "plugins", "reports")
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in {".py", ".html", ".R"}
    ]

    found = {path.relative_to(ROOT).as_posix(): verdicts(path) for path in paths}

    assert {name for name, texts in found.items() if texts} == set(ELSEWHERE)


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        (
            "wrong.py",
            '"""Whether it is met."""\na = f"{n} are not met and waived"\nb = "waived"\nc = {"unmet": 1}\n',
            2,
        ),
        (
            "wrong.html",
            "{% if row.waived %}<p>Not met, and {{ row.waived }}.</p>{% endif %}\n<p>Requirements met</p>",
            2,
        ),
        ("right.html", '{{ requirements_met(2) }} {{ "undecided" | word }}', 0),
    ],
)
def test_a_verdict_in_words_is_found(tmp_path: Path, name: str, text: str, wrong: int) -> None:
    (tmp_path / name).write_text(text)

    assert len(verdicts(tmp_path / name)) == wrong


def test_the_words_of_a_page() -> None:
    assert [verdict_word(v) for v in (Verdict.SATISFIED, Verdict.FAILED)] == ["met", "not met"]
    assert [requirements_met(n) for n in (0, 1)] == ["Requirements met", "Requirements met; 1 point needs judgement"]
    assert judgement_words(2) == "2 points need judgement"
    assert (unmet_and(), unmet_and("waived until 2099")) == ("not met, and waived", "not met, and waived until 2099")
    assert (NOT_FIT, WAIVED) == ("Not fit for release", "waived")


def test_an_infinite_number_has_no_margin():
    assert margin_text(float("inf"), 2) is None
    assert margin_text(1, float("inf")) is None
    assert str(margin_text(3, 2)).startswith("1 above")
