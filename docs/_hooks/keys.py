"""Every key of a policy, from the JSON Schema that editors use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rrpolicy.cli.text.name_descriptions import ENTRIES, KeyTable, tables
from rrpolicy.discovery import load_registry
from rrpolicy.policy.schema import json_schema

OPENING = """\
# Keys of a policy

A policy is one TOML file. `rrpolicy export schema` prints the JSON Schema from which this page is made, for editors; in which direction each
key is weaker stands in [Baselines](../how-to/baselines.md). Thresholds may be fractions such as `"1/3"`, which are kept exactly.
"""


def keys_page() -> str:
    """Return the page."""
    return "\n".join([OPENING, *_lines(tables(json_schema(load_registry().catalogue)))])


def _lines(every: Iterator[KeyTable]) -> Iterator[str]:
    section = ""
    for table in every:
        inside = table.section in ENTRIES
        if inside and section not in ENTRIES:
            yield "## Entries inside\n"
        if table.section != section:
            section = table.section
            yield f"{f'### {section}' if inside else f'## `{section}`'}\n\n{table.meaning}\n"
        if table.kind:
            yield f"### {table.kind if ' ' in table.kind else f'`{table.kind}`'}\n"
        yield from _keys(table)


def _keys(table: KeyTable) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for key in table.keys:
        value = re.sub(rf"\b({'|'.join(ENTRIES)})\b", lambda found: f"[{found[1]}](#{found[1].lower()})", key.value)
        yield f"| `{key.name}` | {_cell(value)} | {_cell(key.default)} | {_cell(key.meaning)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
