"""Finds long sentences and banned words in guides, docstrings, comments and messages; their number may only fall.

python -m tests.prose.lint          list the findings of files with more than allowed.txt allows; exit status 1
python -m tests.prose.lint --write  lower allowed.txt to the numbers found, never raise it; write it if it does not exist
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT, ALLOWED = Path(__file__).resolve().parents[2], Path(__file__).with_name("allowed.txt")
WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())
REPLACED = "|".join(WORDS["sentences"])
"""Sentences that no page, plan or guide contains, as one regular expression."""
LONGEST = 30
CODE = "·"
"""In the place of code: no word, but it may begin a sentence."""
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "rrpolicy/error_codes/*.md")
MODULES = tuple(f"{room}/**/*.{end}" for room in ("rrpolicy", "plugins", "reports") for end in ("py", "pyi"))
GENERATED = {"docs/explanation/coverage.md", "docs/explanation/results.md", "docs/reference/plugins.md"}
REST_GENERATED = re.compile(r"<!-- what follows is written by .*", re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
SENTENCE = re.compile(r"\S.*?(?:(?<!e\.g)(?<!i\.e)(?<!et al)(?<!cf)(?<!vs)[.!?][)\"'”’]*(?=\s+[^\sa-z])|\Z)", re.DOTALL)
MARKUP = re.compile(r"`[^`\n]*`|\bhttps?://\S+|^[ \t]*\**\w+( \(.*?\))?:(?=\s)|^[ \t]*(>>>|\.\.\. ).*", re.MULTILINE)
"""Code in a docstring: quoted names, addresses, the name of an argument, an example."""


class Finding(NamedTuple):
    """A line of a file, the words found there and their replacement."""

    line: int
    words: str
    instead: str


def _patterns(*tables: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the expressions of some tables with their replacements; a space matches any white space."""
    return [
        (re.compile(rf"(?<![\w.])(?:{words})(?![\w(]|\.\w)".replace(" ", r"\s+"), re.IGNORECASE), instead)
        for table in tables
        for words, instead in WORDS[table].items()
    ]


IN_PAGES, IN_CODE = _patterns("sentences", "words"), _patterns("sentences", "words", "code")
IN_MESSAGES = _patterns("sentences", "messages")


def _banned(line: int, text: str, patterns: Sequence[tuple[re.Pattern[str], str]]) -> Iterator[Finding]:
    for pattern, instead in patterns:
        for match in pattern.finditer(text):
            yield Finding(line + text.count("\n", 0, match.start()), " ".join(match[0].split()), instead)


def _long(line: int, text: str) -> Iterator[Finding]:
    if (length := len(re.findall(r"\S*\w\S*", text))) > LONGEST:
        yield Finding(line, f"{' '.join(text.split()[:5])} ... ({length} words)", f"at most {LONGEST} words")


def page(text: str) -> Iterator[Finding]:
    """Yield the findings of a Markdown page; code, tables, addresses, comments and generated parts are not read."""
    text = FRONT_MATTER.sub(lambda match: "\n" * match[0].count("\n"), REST_GENERATED.sub("", text))
    kinds = {"softbreak": "\n", "hardbreak": "\n", "code_inline": CODE}
    tables = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        tables += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        if token.type == "inline" and token.map and not tables:
            parts = (part.content if part.type == "text" else kinds.get(part.type, "") for part in token.children or ())
            plain, line = "".join(parts), token.map[0] + 1
            yield from _banned(line, plain, IN_PAGES)
            for sentence in SENTENCE.finditer(plain):
                yield from _long(line + plain.count("\n", 0, sentence.start()), sentence[0])


def module(text: str) -> Iterator[Finding]:
    """Yield the findings of a module's docstrings, those of attributes included, of its comments and its messages."""
    docstrings: set[ast.expr] = set()
    for node in ast.walk(ast.parse(text)):  # an expression comes before its value
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring)) as value, lineno=line):
                docstrings.add(value)
                plain = MARKUP.sub(CODE, docstring)
                yield from _banned(line, plain, IN_CODE)
                yield from _long(line, plain.strip().partition("\n\n")[0])
            case ast.Constant(value=str(message), lineno=line) if node not in docstrings and " " in message:
                yield from _banned(line, MARKUP.sub(CODE, message), IN_MESSAGES)
    for token in tokenize.generate_tokens(io.StringIO(text).readline) if "#" in text else ():
        if token.type == tokenize.COMMENT:
            yield from _banned(token.start[0], MARKUP.sub(CODE, token.string.lstrip("#: ")), IN_CODE)


def findings(root: Path) -> dict[str, list[Finding]]:
    """Return the findings below a folder, by file."""
    found: dict[str, list[Finding]] = {}
    for patterns, read in ((PAGES, page), (MODULES, module)):
        for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            if name not in GENERATED and (some := sorted(read(path.read_text("utf-8")))):
                found[name] = some
    return found


def counts(allowed: Path) -> dict[str, int]:
    """Return the numbers that a file allows: a path and a number a line."""
    return {path: int(number) for path, number in map(str.split, allowed.read_text().splitlines())}


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, allowed: Path = ALLOWED) -> int:
    """Compare the numbers of findings with those allowed; lower these with `--write`."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose.lint")
    parser.add_argument("--write", action="store_true", help="lower the allowed numbers to those found")
    write = parser.parse_args(arguments).write
    found = findings(root)
    limits = {path: len(some) for path, some in found.items()} if write and not allowed.exists() else counts(allowed)
    lower = {path: min(limit, len(found.get(path, ()))) for path, limit in limits.items()}
    if write:
        allowed.write_text("".join(f"{path} {limit}\n" for path, limit in sorted(lower.items()) if limit))
    elif lower != limits:
        print(f"{sum(limits.values()) - sum(lower.values())} findings fewer than allowed: lower the numbers by --write")
    risen = [path for path, some in found.items() if len(some) > limits.get(path, 0)]
    for path in risen:
        for line, words, instead in found[path]:
            print(f"{path}:{line}: {words!r}; write: {instead}")
        print(f"{path}: {len(found[path])} findings, {limits.get(path, 0)} allowed by {allowed.name}")
    return int(bool(risen))


if __name__ == "__main__":
    sys.exit(main())
