"""Every key of a policy in words, from the JSON Schema that editors use."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rrpolicy.frozen import frozen

Schema = Mapping[str, Any]
ENTRIES = ("CsvTable", "ChangeEntry", "AllowsTable", "Marginal", "ExplicitMatrix")
"""What stands inside other tables, as the schema names it."""


@frozen
class Key:
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
class Table:
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
    keys: tuple[Key, ...]


def tables(schema: Schema) -> Iterator[Table]:
    """Yield each table of a policy, one for each kind that has keys of its own.

    Args:
        schema: of policies, as `json_schema` returns it.
    """
    kept = schema["$defs"]
    yield Table("", "", "", _keys(kept, {"schema": schema["properties"]["schema"]}, schema["required"]))
    for name, given in schema["properties"].items():
        if name == "schema":
            continue
        table = _named(kept, given.get("items") or given.get("additionalProperties") or given)
        section = f"[[{name}]]" if given.get("type") == "array" else f"[{name}]"
        meaning = _sentence(given.get("description") or table["description"])
        for kind in table.get("oneOf", (table,)):
            own = kind["title"] if "oneOf" in table else ""
            yield Table(section, own, meaning, _keys(kept, kind["properties"], kind.get("required", ())))
    for name in ENTRIES:
        inside = kept[name]
        keys = _keys(kept, inside["properties"], inside.get("required", ()))
        yield Table(name, "", _sentence(inside["description"]), keys)


def _named(kept: Schema, schema: Schema) -> Schema:
    found: Schema = kept[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _keys(kept: Schema, properties: Schema, required: Collection[str]) -> tuple[Key, ...]:
    def key(name: str, of: Schema) -> Key:
        default = "required" if name in required else f"`{json.dumps(of['default'])}`" if "default" in of else ""
        meaning = _sentence(of.get("description") or _named(kept, of).get("description", ""))
        return Key(name, _shape(kept, of), default, meaning)

    return tuple(key(name, of) for name, of in properties.items())


def _shape(kept: Schema, of: Schema) -> str:
    """Return what a value looks like."""
    if "$ref" in of and "properties" in _named(kept, of):
        return str(of["$ref"]).rpartition("/")[2]
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
