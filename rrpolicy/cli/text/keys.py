"""Every key of a policy in words, from the JSON Schema that editors use."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rrpolicy.frozen_dataclass import frozen

Schema = Mapping[str, Any]
ENTRIES = ("CsvTable", "ChangeEntry", "AllowsTable", "Marginal", "ExplicitMatrix")
"""What stands inside other tables, as the schema names it."""


@frozen
class TableKey:
    """A key of a table.

    Attributes:
        name: of the key.
        value: what a value looks like; one of `ENTRIES` by its name.
        default: as TOML has it, or `required`; "" where there is none.
        meaning: in a sentence.
    """

    name: str
    value: str
    default: str
    meaning: str


@frozen
class KeyTable:
    """A table of a policy.

    Attributes:
        section: as it is written, `[source]` or `[[privacy]]`; of what stands inside other tables its name, and "" of
            the policy itself.
        kind: the model, metric or mechanism that its keys are of; "" where all have the same.
        meaning: in a sentence.
        keys: that it may have.
    """

    section: str
    kind: str
    meaning: str
    keys: tuple[TableKey, ...]


def tables(schema: Schema) -> Iterator[KeyTable]:
    """Yield each table of a policy, one for each kind that has keys of its own.

    Args:
        schema: of policies, as `json_schema` returns it.
    """
    kept = schema["$defs"]
    yield KeyTable("", "", "", _table_keys(kept, {"schema": schema["properties"]["schema"]}, schema["required"]))
    for name, given in schema["properties"].items():
        if name == "schema":
            continue
        table = _resolve_reference(kept, given.get("items") or given.get("additionalProperties") or given)
        section = f"[[{name}]]" if given.get("type") == "array" else f"[{name}]"
        meaning = _first_paragraph(given.get("description") or table["description"])
        for kind in table.get("oneOf", (table,)):
            own = kind["title"] if "oneOf" in table else ""
            yield KeyTable(section, own, meaning, _table_keys(kept, kind["properties"], kind.get("required", ())))
    for name in ENTRIES:
        inside = kept[name]
        keys = _table_keys(kept, inside["properties"], inside.get("required", ()))
        yield KeyTable(name, "", _first_paragraph(inside["description"]), keys)


def _resolve_reference(kept: Schema, schema: Schema) -> Schema:
    found: Schema = kept[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _table_keys(kept: Schema, properties: Schema, required: Collection[str]) -> tuple[TableKey, ...]:
    def key(name: str, of: Schema) -> TableKey:
        default = "required" if name in required else f"`{json.dumps(of['default'])}`" if "default" in of else ""
        meaning = _first_paragraph(of.get("description") or _resolve_reference(kept, of).get("description", ""))
        return TableKey(name, _value_shape(kept, of), default, meaning)

    return tuple(key(name, of) for name, of in properties.items())


def _value_shape(kept: Schema, of: Schema) -> str:
    """Return what a value looks like."""
    if "$ref" in of and "properties" in _resolve_reference(kept, of):
        return str(of["$ref"]).rpartition("/")[2]
    of = _resolve_reference(kept, of)
    for word in ("anyOf", "oneOf"):
        if word in of:
            return " or ".join(dict.fromkeys(_value_shape(kept, each) for each in of[word]))
    if "const" in of or "enum" in of:
        return ", ".join(f"`{json.dumps(value)}`" for value in of.get("enum", [of.get("const")]))
    if of.get("type") == "array":
        return f"list of {_value_shape(kept, of['items'])}" if "items" in of else "list"
    if of.get("type") == "object":
        inner = of.get("additionalProperties", True)
        return "table" if isinstance(inner, bool) else f"table of {_value_shape(kept, inner)}"
    return _scalar_shape(of)


def _scalar_shape(of: Schema) -> str:
    if "(/" in of.get("pattern", ""):
        return "fraction, as text"
    kinds = of.get("type", [])
    words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    said = " or ".join(words.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    least, most = of.get("minimum"), of.get("maximum")
    return said + (
        f", {least} to {most}" if None not in (least, most) else f", at least {least}" if least is not None else ""
    )


def _first_paragraph(text: str) -> str:
    """Return the first paragraph of a docstring, as a sentence."""
    first = re.sub(r"\s+", " ", text.partition("\n\n")[0]).strip()
    return first[:1].upper() + first[1:] + ("" if first.endswith((".", ":")) or not first else ".")
