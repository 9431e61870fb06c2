"""Contents of categories by name: the interval of a bin, a value of the domain, nulls, and values outside of both."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.policy.directions import REJECT_VALUE
from rrpolicy.policy.file import moment_text
from rrpolicy.policy.model import intervals
from rrpolicy.policy.tree.document import Node

Name: TypeAlias = "tuple[bool, Value]"
"""A category's name, with whether it is a boolean: true is not 1."""
Held: TypeAlias = Mapping[Name, frozenset[str]]
"""Category's name -> the contents of the category, in words."""
_SPARE = ("outside", "nulls")
_LONGEST = 60


def category_contents(
    cells: Mapping[Value, str], outside: Value | None, nulls: Value | None, limited: Container[str] = ()
) -> Held:
    """Return the contents of each category.

    A category of values outside of the domain may grow: a requirement of it then guards more people. If it has a
    separate threshold, other values that join it lose theirs.

    `cells` maps each name to the interval of its bin, or to the value of the domain as text. `limited` are categories
    with a separate threshold, as text.
    """
    found = {_category_name(name): frozenset([content]) for name, content in cells.items()}
    grows = outside is None or category_text(outside) not in limited
    rest = "values outside of the domain" if grows else f"all but {', '.join(cells.values())}"
    for name, content in ((outside, rest), (nulls, "nulls")):
        if name is not None:
            found[_category_name(name)] = found.get(_category_name(name), frozenset()) | {content}
    return found


def table_category_contents(table: Node, limited: Container[str]) -> Held:
    """Return the contents of each category of a column's table in a file, as far as the table has the right shape."""
    outside, nulls = (
        None if at is None or at.value == REJECT_VALUE else _plain_category(at.value) for at in map(table.get, _SPARE)
    )
    bins, domain, labels = table.get("bins"), table.get("domain"), table.get("labels")
    if bins is None:
        values = [_plain_category(item.value) for item in (domain.items if domain is not None else ())]
        spare = (outside, nulls)
        return category_contents(
            {value: category_text(value) for value in values if value not in spare}, outside, nulls, limited
        )
    edges = [_plain_category(item.value) for item in bins.items]
    own = intervals([e if isinstance(e, str) else float(e) for e in edges]) if len(edges) > 1 else ()
    names = own if labels is None else [str(item.value) for item in labels.items]
    return category_contents(dict(zip(names, own, strict=False)), outside, nulls, limited)


def category_name_node(table: Node, name: Name) -> Node:
    """Return the node where a column's table in a file names a category."""
    spare = (
        at for at in map(table.get, _SPARE) if at is not None and _category_name(_plain_category(at.value)) == name
    )
    listed = (at for at in map(table.get, ("labels", "bins", "domain")) if at is not None)
    return next(spare, None) or next(listed, table)


def contents_text(contents: frozenset[str]) -> str:
    """Return contents as text for messages."""
    text = " and ".join(sorted(contents))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _category_name(value: Value) -> Name:
    return isinstance(value, bool), value


def _plain_category(value: object) -> Value:
    """Return a category or an edge as policies resolve it; text if it is neither."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, datetime, time)) and getattr(value, "tzinfo", None) is None:
        return moment_text(value)
    return value if isinstance(value, (str, bool, int, float)) else str(value)
