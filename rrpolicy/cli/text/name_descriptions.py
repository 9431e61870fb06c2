"""Descriptions of a policy's models, mechanisms, metrics, measures, roles and keys, from the parts themselves."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic import BaseModel

from rrpolicy.declarations import Role
from rrpolicy.drafting.protection import example_promise
from rrpolicy.escaping.printable import line
from rrpolicy.policy.schema import json_schema

if TYPE_CHECKING:
    from rrpolicy.registry import Registry


Schema = Mapping[str, Any]
ENTRIES = ("CsvTable", "ChangeEntry", "AllowsTable", "Marginal", "ExplicitMatrix")
"""Tables inside other tables, as the schema names them."""


class TableKey(Struct, frozen=True):
    """A key of a table.

    Attributes:
        value: form of a value; one of `ENTRIES` by its name.
        default: default as TOML, or `required`; "" without one.
    """

    name: str
    value: str
    default: str
    meaning: str


class KeyTable(Struct, frozen=True):
    """A table of a policy.

    Attributes:
        section: header of the table, `[source]` or `[[privacy]]`; for a table inside others its name, and "" for the
            policy itself.
        kind: the model, metric or mechanism that its keys are of; "" where all have the same.
    """

    section: str
    kind: str
    meaning: str
    keys: tuple[TableKey, ...]


def tables(schema: Schema) -> Iterator[KeyTable]:
    """Yield each table of a policy, one for each kind with separate keys."""
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
    """Return the form of a value, in words."""
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
    first = re.sub(r"\s+", " ", text.partition("\n\n")[0]).strip()
    return first[:1].upper() + first[1:] + ("" if first.endswith((".", ":")) or not first else ".")


def describe_name(registry: Registry, name: str) -> str | None:
    """Return the description of a name, in some lines of text; None if the name is unknown."""
    from rrpolicy.estimate.association.measures import MEASURES

    told: list[str] = []
    if name in registry.privacy_models:
        model = registry.privacy_models[name]
        promise = example_promise(model)
        guarantee = [promise] if promise else _docstring_summary(model)
        told += [f"{name}: a privacy model", "", *guarantee, *_option_lines(model.options)]
        told += ["", "it does not cover", *(f"  {limit}" for limit in getattr(model, "not_covered", ())), ""]
    if name in registry.mechanisms:
        mechanism = registry.mechanisms[name]
        other = "" if mechanism.name == name else f", another name of {mechanism.name}"
        told += [
            f"{name}: a mechanism{other}",
            "",
            *_docstring_summary(mechanism),
            *_option_lines(mechanism.options),
            "",
        ]
    if name in registry.utility_metrics:
        metric = registry.utility_metrics[name]
        told += [f"{name}: a utility metric", "", metric.meaning, *_option_lines(metric.options), ""]
    if name in MEASURES:
        told += [f"{name}: a measure of association", "", MEASURES[name].title, ""]
    if name in {*Role}:
        told += [f"{name}: a role of columns", "", Role(name).meaning, ""]
    every = tuple(tables(json_schema(registry.catalogue)))
    own = next((table for table in every if table.section.strip("[]") == name), None)
    if own is not None:
        told += [f"{name}: a table of a policy", "", own.meaning, ""]
        told += [] if own.kind else ["keys", *(f"  {key.name}: {key.meaning}" for key in own.keys), ""]
    for said, places in _key_meanings(every, name).items():
        told += [f"{name}: a key of {' and '.join(places)}", "", *said, ""]
    for table, key in _choice_keys(every):
        if name in _choice_words(key):
            where = f"{table.section or 'the policy'}{f' of {table.kind}' if table.kind else ''}"
            told += [f"{name}: a value of `{key.name}` in {where}", "", key.meaning, ""]
    return "\n".join(map(line, told[:-1])) if told else None


def known_names(registry: Registry) -> tuple[str, ...]:
    """Return every name that `offered` knows."""
    from rrpolicy.estimate.association.measures import MEASURES

    keys = (
        name
        for t in tables(json_schema(registry.catalogue))
        for name in (t.section.strip("[]"), *(k.name for k in t.keys))
    )
    every = tables(json_schema(registry.catalogue))
    return (
        *registry.privacy_models,
        *registry.mechanisms,
        *registry.utility_metrics,
        *MEASURES,
        *Role,
        *filter(None, keys),
        *(value for _, key in _choice_keys(every) for value in _choice_words(key)),
    )


def _choice_keys(every: Iterable[KeyTable]) -> Iterator[tuple[KeyTable, TableKey]]:
    """Yield the keys that choose among words, with their tables; not those that name a model or mechanism."""
    for table in every:
        yield from (
            (table, key) for key in table.keys if len(_choice_words(key)) > 1 and table.kind not in _choice_words(key)
        )


def _choice_words(key: TableKey) -> Sequence[str]:
    return re.findall(r'`"([\w-]+)"`', key.value)


def _key_meanings(every: Iterable[KeyTable], name: str) -> Mapping[tuple[str, ...], Iterable[str]]:
    """Return (meaning, values) of the keys of a name -> the tables that have them so, such as [source]."""
    section, _, key = name.rpartition(".")
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for table in every:
        for one in table.keys:
            if one.name == key and section in {"", table.section.strip("[]")}:
                default = "it is required" if one.default == "required" else f"default: {one.default}"
                said = (one.meaning, "", f"  value: {one.value}", *([f"  {default}"] if one.default else []))
                places = found.setdefault(said, {})
                before = places.get(table.section)
                own = f"{table.section} of {table.kind}" if table.kind else table.section or "the policy"
                places[table.section] = own if before is None else f"{before}, {table.kind}"
    return {said: places.values() for said, places in found.items()}


def _docstring_summary(of: object) -> list[str]:
    return [" ".join((inspect.getdoc(type(of)) or "").partition("\n\n")[0].split())]


def _option_lines(options: type[BaseModel]) -> Iterator[str]:
    yield from ("", "keys")
    for key, field in options.model_fields.items():
        yield f"  {field.alias or key}{f': {field.description}' if field.description else ''}"
