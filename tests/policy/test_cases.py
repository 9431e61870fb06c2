"""Policy files with the problems that each must show: `#! CODE [FILE:]LINE:COLUMN` in their first lines, or `#! ok`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rrpolicy.errors import PolicyError

FILES = sorted((Path(__file__).resolve().parent / "cases").glob("*.toml"))


def expected(path):
    return [line[3:].strip() for line in path.read_text().splitlines() if line.startswith("#! ")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_problems_and_their_places(path, load, cases, monkeypatch):
    monkeypatch.chdir(cases)
    found = ["ok"]
    try:
        load(path.name)
    except PolicyError as error:
        found = []
        for p in error.problems:
            file = "" if p.place is None or p.place.file == path.name else f"{p.place.file}:"
            found.append(f"{p.code} {file}{p.place.line}:{p.place.column}" if p.place else p.code)

    assert expected(path) == found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_underlined_part_is_a_part_of_the_line(path, load, cases, monkeypatch):
    monkeypatch.chdir(cases)
    try:
        load(path.name)
    except PolicyError as error:
        for p in error.problems:
            if p.place and p.place.text:
                line = Path(p.place.file).read_text().splitlines()[p.place.line - 1]
                assert line == p.place.text
                assert 1 <= p.place.column <= len(line) + 1
                assert p.place.column + p.place.width <= len(line) + 2


def test_every_case_states_what_it_expects():
    assert [p.name for p in FILES if not expected(p)] == []
    assert len(FILES) > 40
