"""Every privacy model and every measure of association, with its formula and source as the program states them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from rrpolicy.discovery import load_registry
from rrpolicy.estimate.association import measures
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.privacy.classes import distance
from rrpolicy.privacy.model import PrivacyModel

OPENING = """\
# Measures

What a privacy requirement asks, and what a measure of association is, from the program that computes them. Utility metrics have
[a page of their own](utility.md), risks of a table that somebody else anonymised stand in
[the guide to `check-table`](../how-to/check-table.md), and letters in [Notation](notation.md).

## Privacy models

The keys of each are in [the policy's reference](policy.md#privacy).
"""
PAIR = """\
## Measures of association

`Release.association(row, column, measure=…)`. With a the share of records that have both, r and c those that have the row and the column
value, and the other cells of the table written alike:
"""


def measures_page() -> str:
    """Return the page."""
    models = load_registry().privacy_models
    return "\n".join([OPENING, *(_model(name, models[name]) for name in sorted(models)), PAIR, *_association()])


def _model(name: str, model: PrivacyModel[Any]) -> str:
    module = inspect.getmodule(type(model))
    text = inspect.getdoc(module) or ""
    said = [_markdown(text)]
    if name == "t-closeness":
        said.append(_markdown((inspect.getdoc(distance) or "").partition("\n\nLight")[0]))
    left = getattr(module, "NOT_COVERED", ())
    if left:
        said.append("Not covered:\n\n" + "\n".join(f"- {line}" for line in left))
    return f"### `{name}`\n\n" + "\n\n".join(said) + "\n"


def _markdown(text: str) -> str:
    """Return a module's docstring as Markdown: its first line without the name, references as a line."""
    text = re.sub(r"^[^\n:]{3,60}: ", "", text)
    text, _, sources = text.partition("References:\n")
    text = re.sub(r"^`rrpolicy\.", "`rrpolicy.", text.strip())
    cited = re.sub(r"\s+", " ", sources).strip()
    return (text[:1].upper() + text[1:]).strip() + (f"\n\nSource: {cited}" if cited else "")


def _association() -> Iterator[str]:
    yield "| measure | in words | of | value | formula |"
    yield "|---|---|---|---|---|"
    for measure in MEASURES.values():
        own = getattr(measures, measure.name, None)
        formula = re.sub(r"\s+", " ", inspect.getdoc(own) or "").removeprefix("Return ") if own else measure.title
        cells = (f"`{measure.name}`", measure.title, measure.kind.title, f"{measure.low} to {measure.high}", formula)
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
