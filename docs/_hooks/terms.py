"""Where each term of sdcMicro, ARX, mu-Argus and OpenDP leads, as `rrpolicy explain` says it."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.cli.text.terms import GlossaryTerm, all_terms

OPENING = """\
# Coming from sdcMicro or ARX

Terms and functions of sdcMicro, ARX, mu-Argus and OpenDP, and what does the same here or comes nearest. `rrpolicy explain TERM` prints
each, however it is spelled.

| term | what it is | in rrpolicy |
|---|---|---|
"""


def terms_page() -> str:
    """Return the page."""
    return OPENING + "".join(map(_row, sorted(all_terms(), key=lambda term: term.names[0].casefold())))


def _row(term: GlossaryTerm) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(term)) + " |\n"


def _cells(term: GlossaryTerm) -> Iterator[str]:
    others = ", ".join(term.names[1:])
    yield f"**{term.names[0]}**{f'<br>{others}' if others else ''}"
    yield term.meaning
    yield term.done
