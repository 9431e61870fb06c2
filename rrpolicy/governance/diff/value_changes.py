"""What a key was and is, in words: of a list, what was taken out and what was added."""

from __future__ import annotations

import json

from rrpolicy.canonical_json import Json

_LONGEST = 60
_MOST = 20


def old_to_new(before: Json, after: Json) -> str:
    """Return both values, or what a list lost and gained."""
    listed = [[] if value is None else value for value in (before, after)]
    one, other = listed
    if not isinstance(one, list) or not isinstance(other, list):
        return f"{_value_text(before)} -> {_value_text(after)}"
    items = {"taken out": [v for v in one if v not in other], "added": [v for v in other if v not in one]}
    told = [f"{what} {_item_changes(values)}" for what, values in items.items() if values]
    return "; ".join(told) or f"{_value_text(before)} -> {_value_text(after)}"


def _item_changes(values: list[Json]) -> str:
    told = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST]]
    return ", ".join(told) + (f" and {len(values) - _MOST} more" if len(values) > _MOST else "")


def _value_text(value: Json) -> str:
    if value is None:
        return "(none)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
