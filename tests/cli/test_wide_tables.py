"""Check and plan of a table of 150 columns fit a few screens: points that differ in the column alone are one sentence."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.cli.main import main
from rrpolicy.cli.text import plan as plan_text
from rrpolicy.escaping.printable import condense_sentences, shortened_names
from rrpolicy.planning.plan import MarginalError
from rrpolicy.planning.plan_result import MAX_PAIRS
from rrpolicy.testing import policy_text, write_csv
from tests.survey import WAIVED

MOST_LINES, LONGEST = 120, 400
DRAWN = [f"q{i}" for i in range(120)]
KEPT = [f"u{i}" for i in range(10)]
UNLINKED = [f"x{i}" for i in range(12)]
DROPPED = [f"d{i}" for i in range(8)]


def test_few_names_are_listed_and_many_are_counted():
    assert shortened_names(["a", "b c"]) == "a, 'b c'"
    assert shortened_names(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert shortened_names(list("abcdefghi")) == "a, b, c, d, e, f, g and 2 more"
    assert shortened_names(["a", "b", "c"], most=2) == "a and 2 more"
    assert shortened_names([]) == ""


def test_four_sentences_of_the_same_words_are_one():
    three = ["'a' is kept: known", "'b' is kept: known", "'c' is kept: known"]
    assert condense_sentences(three) == tuple(three)
    assert condense_sentences([*three, "'d' is kept: known"]) == ("'a', 'b', 'c' and 1 more are kept: known",)
    assert condense_sentences(f"'{name}' is kept, as it identifies nobody: known" for name in "abcd") == (
        "'a', 'b', 'c' and 1 more are kept, as they identify nobody: known",
    )
    assert condense_sentences(f"  assumption: '{name}' identifies nobody" for name in "abcd") == (
        "  assumption: 'a', 'b', 'c' and 1 more identify nobody",
    )
    assert condense_sentences(f"{name} (excluded)" for name in "abcde") == ("a, b, c and 2 more (excluded)",)


def test_of_sentences_with_other_numbers_the_largest_is_told():
    numbers = {"a": "9", "b": "1,000.5", "c": "30", "d": "8"}
    found = condense_sentences(f"'{name}' has 2 values, largest {n}" for name, n in numbers.items())
    assert found == ("'b' has 2 values, largest 1,000.5; the same, with smaller numbers, of 'a', 'c', 'd'",)


def test_other_words_and_sentences_without_a_name_stay():
    other = ["all is well", "all is well", "all is well", "all is well", "'a' is new", "'b' is old"]
    assert condense_sentences(other) == tuple(other)


@given(st.lists(st.sampled_from(["'{}' is kept", "{}: kept", "3 of '{}'", "none"]), max_size=30))
def test_no_sentence_is_lost_or_made_longer(kinds):
    texts = [kind.format(f"n{place}") for place, kind in enumerate(kinds)]
    found = condense_sentences(texts)
    assert len(found) <= len(texts)
    assert len(found) == len(texts) or len(set(kinds)) < len(texts) - 2
    for kind in {*kinds} - {"none"}:
        first = f"n{kinds.index(kind)}"
        assert any(first in text for text in found)


def error(*attributes: str, value: float | None = 0.1) -> MarginalError:
    return MarginalError(attributes, value, 4)


def test_the_worst_and_the_best_columns_are_printed_and_the_worst_pairs():
    names = [f"c{i}" for i in range(30)]
    singles = [error(name, value=place / 100) for place, name in enumerate(names)]
    pairs = [error(*pair, value=0.5) for pair in combinations(names, 2)][:MAX_PAIRS]
    impossible = [error(name, value=math.inf) for name in ("odd", "odder")]

    found = [row.strip() for row in plan_text._extreme_errors([*singles, *pairs, *impossible])]
    assert found[0] == "30 columns: the 10 worst and the 10 best; --json has all"
    assert [row.partition(":")[0] for row in found[1:21]] == [*names[:-11:-1], *names[9::-1]]
    assert found[21] == "400 measured pairs of columns: the 10 worst; --json has all"
    assert found[22:32] == [f"{a} x {b}: 0.5" for a, b in list(combinations(names, 2))[:10]]
    assert found[32:] == [f"odd: {impossible[0].told}", f"odder: {impossible[1].told}"]


def test_a_few_columns_are_all_printed():
    names = [f"c{i}" for i in range(13)]
    found = [row.strip() for row in plan_text._extreme_errors([*map(error, names), error("c0", "c1")])]
    assert found == [*(f"{name}: 0.1" for name in names), "c0 x c1: 0.1"]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy of 150 columns; the least error under its epsilon is beyond the range of a product of doubles."""
    columns = [*DRAWN, *KEPT, *UNLINKED, *DROPPED]
    values = (0, 1, 2, 99)
    write_csv(
        tmp_path / "people.csv",
        {
            name: [values[(i * i + (row * row if name in DRAWN else row * 7 // 11)) % 4 - 1] for row in range(200)]
            for i, name in enumerate(columns)
        },
    )
    entries = [f'{name} = {{ role = "quasi-identifier", domain = [0, 1, 2, 99] }}' for name in DRAWN]
    entries += [f'{name} = {{ role = "insensitive", unchanged = "known to all" }}' for name in KEPT]
    entries += [f'{name} = {{ role = "insensitive", assume_unlinkable = "a serial number" }}' for name in UNLINKED]
    entries += [f'{name} = {{ role = "excluded" }}' for name in DROPPED]
    text = "[attributes]\n" + "\n".join(entries)
    text += '\n[[privacy]]\nmodel = "local-dp"\nepsilon = 12\nscope = "attribute"\n'
    text += '[mechanism]\nname = "pram"\nallocation = "optimal"\n'
    path = tmp_path / "policy.toml"
    path.write_text(policy_text(text, "people.csv") + WAIVED)
    return path


def test_check_of_150_columns_is_short(policy: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(policy)]) == 0
    found = [line.strip() for line in capsys.readouterr().out.splitlines()]

    assert len(found) <= 15
    assert max(map(len, found)) <= LONGEST
    assert f"quasi-identifier: {', '.join(DRAWN[:23])} and 97 more" in found
    assert "released unchanged: 'u0', 'u1', 'u2' and 7 more: known to all" in found
    (warned,) = (line for line in found if line.startswith("warning: the domain of "))
    assert warned.startswith("warning: the domain of 'q0', 'q1', 'q2' and 117 more holds 99")
    assert warned.endswith("[warning/missing-code]")


def test_plan_of_150_columns_is_short_and_says_what_is_reached(policy: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", str(policy)]) == 0
    out, err = capsys.readouterr()
    found = [line.strip() for line in out.splitlines()]

    assert "Warning" not in out + err
    assert len(found) <= MOST_LINES
    assert max(map(len, found)) <= LONGEST
    assert any(line.startswith("met       local-dp: epsilon <= 12 (attribute scope); achieved 11.9") for line in found)
    assert "5 of 5 starts of the search ended at the same least error" in found
    assert "and 100 more: --json has all" in found
    assert sum("holds 99" in line for line in found) == 1
    assert sum("assuming that" in line for line in found) == 1
    assert "u0, u1, u2 and 7 more: known to all" in found
    assert "d0, d1, d2 and 5 more (excluded)" in found
    assert sum(line.startswith("related: Cramér's V of x") for line in found) == 10
    assert any(line.startswith("and Cramér's V of 2 more columns, each ") for line in found)
