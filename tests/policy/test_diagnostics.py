from __future__ import annotations

from rrpolicy.errors import Place, Problem
from rrpolicy.policy.diagnostics import render
from rrpolicy.serialization import plain


def test_a_problem_reads_well_without_colour():
    place = Place("policy.toml", 12, 5, "privacy.0.k", "k = 1", 1)
    problem = Problem("RR208", "'k' cannot be 1", place, "2 or more", "first line\nsecond line")

    assert (
        render([problem])
        == """\
policy.toml:12:5: RR208 'k' cannot be 1
   |
12 | k = 1
   |     ^
  expected: 2 or more
  hint: first line
    second line"""
    )


def test_colour_changes_nothing_but_colour():
    import re

    place = Place("p.toml", 1, 1, "", "x = 1", 1)
    problems = [
        Problem("RR205", "unknown key 'x'", place, "one of: y", "did you mean 'y'?"),
        Problem("RR200", "no file"),
    ]

    assert re.sub(r"\x1b\[\d+m", "", render(problems, colour=True)) == render(problems)
    assert "\x1b" in render(problems, colour=True)


def test_the_caret_stands_under_wide_characters_and_tabs():
    lines = render([Problem("RR212", "twice", Place("p", 1, 9, "", '\td = ["日", "x"]', 3))]).splitlines()

    assert lines[2] == '1 | \td = ["日", "x"]'
    assert lines[3] == "  | \t        ^^^"
    lines = render([Problem("RR212", "twice", Place("p", 1, 7, "", 'd = ["日本", "x"]', 2))]).splitlines()
    assert lines[3] == "  |       ^^^^"


def test_a_file_cannot_steer_the_terminal():
    place = Place("p\x1b[2J.toml", 1, 1, "", 'x = "\x1b]0;title\x07\u202e"', 3)

    told = render([Problem("RR205", "unknown key '\x1b[31m'", place, "a\x9b", "b\x07")])

    assert not any(c in told for c in "\x1b\x07\x9b\u202e")


def test_a_long_line_is_cut_around_the_place():
    place = Place("p", 1, 5001, "", "x" * 5000 + "HERE" + "y" * 5000, 4)

    lines = render([Problem("RR212", "there", place)]).splitlines()

    assert max(map(len, lines)) < 200
    start = lines[3].index("^")
    assert lines[2][start : start + 4] == "HERE"
    assert lines[3].count("^") == 4


def test_as_plain_data():
    place = Place("p.toml", 3, 4, "a.b", "text", 2)

    assert plain([Problem("RR205", "m", place, "e")]) == [
        {
            "code": "RR205",
            "message": "m",
            "file": "p.toml",
            "line": 3,
            "column": 4,
            "width": 2,
            "key": "a.b",
            "expected": "e",
            "hint": None,
        }
    ]
    assert plain([Problem("RR200", "m")])[0]["line"] is None
