"""The lint finds what is planted, reads no code, and lets no number rise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prose import lint

LONG = "One two three four five six seven eight nine ten " * 3 + "and one more."


def found(text: str, read=lint.page) -> list[tuple[int, str]]:
    return [(line, words) for line, words, _ in read(text)]


def test_a_long_sentence_and_a_banned_word_of_a_page_are_found_with_their_lines():
    assert found(f"# Title\n\nShort, e.g. this one. {LONG}\nMore text stands\nhere.\n") == [
        (4, "stands"),
        (3, "One two three four five ... (33 words)"),
    ]
    assert found("- one\n- it comes\n  to nothing\n") == [(2, "comes to")]
    assert found("> Equal and\n> Alike.\n") == [(2, "Alike")]


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{LONG} beside\n```\n",
        f"Code:\n\n    {LONG} beside\n",
        f"| a |\n|---|\n| {LONG} beside |\n",
        "`beside` and [here](https://example.org/beside)\n",
        f"---\ntitle: {LONG} beside\n---\n",
        f"<!-- {LONG} beside -->\n",
        f"Text.\n\n<!-- what follows is written by python -m x -->\n\n{LONG} beside\n",
        "Twenty words " * 10 + "end. " + "Twenty words " * 10 + "end.\n",
        "`code` " * 31 + "are no words.\n",
        "The sum x stands for, the outstanding besides.\n",
    ],
)
def test_what_is_no_prose_is_not_read(text: str):
    assert found(text) == []


def test_docstrings_and_comments_are_read_and_code_is_not():
    text = f'''"""What a module does."""
told = "beside"  # it says so
answered(told)

class Told:
    """Return a count.

    {LONG}

    Args:
        told: the `told` value.
        other: it is told apart
            from others.
    """

    asked: int
    """{LONG}"""
'''
    assert sorted(found(text, lint.module)) == [
        (1, "What"),
        (2, "says"),
        (12, "told apart"),
        (17, "One two three four five ... (33 words)"),
    ]


def test_every_word_has_a_replacement_and_is_found():
    assert all(instead for table in lint.WORDS.values() for instead in table.values())
    for words in ("somebody", "as they are", "from then on", "tells them apart", "of its own", "what is what"):
        assert [word for _, word in found(f"A table {words} here.\n")] == [words]
    assert [word for _, word in found('"""A table that speaks."""', lint.module)] == ["speaks"]


def test_a_message_is_read_but_neither_its_code_nor_a_single_word():
    text = 'error = f"the policy of {name} says nothing"\nfine = ["beside", "`beside` is a key", "there is no file"]\n'
    assert found(text, lint.module) == [(1, "says")]


def test_the_allowed_numbers_only_fall(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page, other, allowed = tmp_path / "README.md", tmp_path / "docs" / "a" / "b.md", tmp_path / "allowed.txt"
    other.parent.mkdir(parents=True)
    page.write_text("One is beside two.\n\nThree stands\nbeside four.\n")
    other.write_text("Equal and alike.\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = lint.main(arguments, tmp_path, allowed)
        return status, capsys.readouterr().out, allowed.read_text()

    before = "README.md 3\ndocs/a/b.md 1\n"
    assert run("--write") == (0, "", before)
    assert run() == (0, "", before)

    page.write_text("One is beside two.\n")
    other.write_text("Equal and alike,\nand alike.\n")
    told = (
        "docs/a/b.md:1: 'alike'; write: equal, identical, equally\n"
        "docs/a/b.md:2: 'alike'; write: equal, identical, equally\n"
        "docs/a/b.md: 2 findings, 1 allowed by allowed.txt\n"
    )
    assert run() == (1, "2 findings fewer than allowed: lower the numbers by --write\n" + told, before)
    assert run("--write") == (1, told, "README.md 1\ndocs/a/b.md 1\n")

    page.unlink()
    other.write_text("Equal.\n")
    (tmp_path / "CONTRIBUTING.md").write_text("Alike.\n")
    status, printed, after = run("--write")
    assert (status, after) == (1, "")
    assert "CONTRIBUTING.md: 1 findings, 0 allowed" in printed
