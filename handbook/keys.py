"""Every key of a policy, from the JSON Schema that editors use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rrpolicy.discovery import load_registry
from rrpolicy.policy.schema import json_schema

Schema = Mapping[str, Any]
OPENING = """\
# Keys of a policy

A policy is one TOML file. `rrpolicy schema` prints the JSON Schema from which this page is made, for editors; in which direction each
key is weaker stands in [Baselines](../how-to/baselines.md). Thresholds may be fractions such as `"1/3"`, which are kept exactly.
"""


def keys_page() -> str:
    """Return the page."""
    schema: Schema = json_schema(load_registry().catalogue)
    return "\n".join([OPENING, *_tables(schema)])


def _tables(schema: Schema) -> Iterator[str]:
    kept = schema["$defs"]
    yield from _keys(kept, {"schema": schema["properties"]["schema"]}, schema["required"])
    for name, given in schema["properties"].items():
        if name == "schema":
            continue
        entry = given.get("items") or given.get("additionalProperties") or given
        table = _named(kept, entry)
        heading = f"[[{name}]]" if given.get("type") == "array" else f"[{name}]"
        yield f"## `{heading}`\n\n{_sentence(given.get('description') or table['description'])}\n"
        if "oneOf" not in table:
            yield from _keys(kept, table["properties"], table.get("required", ()))
            continue
        for kind in table["oneOf"]:
            title = kind["title"]
            yield f"### {title if ' ' in title else f'`{title}`'}\n"
            yield from _keys(kept, kind["properties"], kind.get("required", ()))
    yield "## Entries inside\n"
    for name in ("CsvTable", "ChangeEntry", "AllowsTable", "Marginal", "ExplicitMatrix"):
        yield f"### {name}\n\n{_sentence(kept[name]['description'])}\n"
        yield from _keys(kept, kept[name]["properties"], kept[name].get("required", ()))


def _named(kept: Schema, schema: Schema) -> Schema:
    found: Schema = kept[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _keys(kept: Schema, properties: Schema, required: Any) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, of in properties.items():
        default = "required" if name in required else f"`{json.dumps(of['default'])}`" if "default" in of else ""
        yield f"| `{name}` | {_cell(_shape(kept, of))} | {_cell(default)} | {_cell(_meaning(kept, of))} |"
    yield ""


def _meaning(kept: Schema, of: Schema) -> str:
    return _sentence(of.get("description") or _named(kept, of).get("description", ""))


def _shape(kept: Schema, of: Schema) -> str:
    """Return what a value looks like."""
    if "$ref" in of and "properties" in _named(kept, of):
        name = of["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    of = _named(kept, of)
    for word in ("anyOf", "oneOf"):
        if word in of:
            return " or ".join(dict.fromkeys(_shape(kept, each) for each in of[word]))
    if "const" in of or "enum" in of:
        return ", ".join(f"`{json.dumps(value)}`" for value in of.get("enum", [of.get("const")]))
    if of.get("type") == "array":
        return f"list of {_shape(kept, of['items'])}" if "items" in of else "list"
    if of.get("type") == "object":
        inner = of.get("additionalProperties", True)
        return "table" if isinstance(inner, bool) else f"table of {_shape(kept, inner)}"
    return _simple(of)


def _simple(of: Schema) -> str:
    if "(/" in of.get("pattern", ""):
        return "fraction, as text"
    kinds = of.get("type", [])
    words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    said = " or ".join(words.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    least, most = of.get("minimum"), of.get("maximum")
    return said + (
        f", {least} to {most}" if None not in (least, most) else f", at least {least}" if least is not None else ""
    )


def _sentence(text: str) -> str:
    """Return the first paragraph of a docstring, as a sentence."""
    first = re.sub(r"\s+", " ", text.partition("\n\n")[0]).strip()
    return first[:1].upper() + first[1:] + ("" if first.endswith((".", ":")) or not first else ".")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
