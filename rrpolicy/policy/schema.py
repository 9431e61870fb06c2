"""The JSON Schema of policy files, with the options of every loaded plugin: editors complete and check from it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rrpolicy.canonical_json import Json
from rrpolicy.policy.file import BudgetEntry, MechanismTable, PolicyFile, PrivacyEntry, ReleaseTable, UtilityEntry
from rrpolicy.policy.policy_decoding import Catalogue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAMED: tuple[tuple[type[BaseModel], str, str], ...] = (
    (PrivacyEntry, "privacy", "model"),
    (BudgetEntry, "privacy", "model"),
    (UtilityEntry, "utility", "metric"),
    (MechanismTable, "mechanism", "name"),
)
_REQUIRED = {"policy": ["name", "version"], "source": ["uri"], "mechanism": ["name"]}


def json_schema(catalogue: Catalogue) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of the policy language.

    A file that extends a baseline may leave out keys that the baseline states; any other must be complete.
    """
    offered = {
        "mechanism": catalogue.mechanisms,
        "privacy": catalogue.privacy_models,
        "utility": catalogue.utility_metrics,
    }
    models: list[type[BaseModel]] = [PolicyFile, *(m for names in offered.values() for m in names.values())]
    models = list(dict.fromkeys(models))
    found, shared = models_json_schema([(m, "validation") for m in models], ref_template="#/$defs/{model}")
    definitions: dict[str, Any] = shared.get("$defs", {})
    keyed = {model: _definition_copy(found[model, "validation"], definitions) for model in models}
    root = keyed[PolicyFile]
    definitions[ReleaseTable.__name__]["properties"]["format"]["enum"] = list(catalogue.formats)
    for entry, section, key in _NAMED:
        others = catalogue.aliases if section == "mechanism" else {}
        variants = list(_entry_variants(definitions[entry.__name__], key, offered[section], keyed, others))
        if section == "mechanism":
            common = {k: v for k, v in definitions[entry.__name__]["properties"].items() if k != key}
            variants.append(_unnamed_mechanism(common, [keyed[model] for model in offered[section].values()]))
        definitions[entry.__name__] = {"description": inspect.getdoc(entry), "oneOf": variants}
    root |= {"title": "rrpolicy policy", "required": ["schema"]}
    root |= {
        "if": {"properties": {"policy": {"required": ["extends"]}}, "required": ["policy"]},
        "else": _root_requirements(),
    }
    used: dict[str, Any] = {}
    waiting = list(_definition_references(root))
    while waiting:
        name = waiting.pop()
        if name not in used and name in definitions:
            used[name] = definitions[name]
            waiting += _definition_references(definitions[name])
    definitions = dict(sorted(used.items()))
    plain: dict[str, Json] = _simplified_schema({"$schema": DIALECT, **root, "$defs": definitions})
    return plain


def _definition_copy(reference: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    name = str(reference.get("$ref", "")).rpartition("/")[2]
    return deepcopy(definitions[name]) if name else deepcopy(dict(reference))


def _entry_variants(
    entry: Mapping[str, Any],
    key: str,
    offered: Mapping[str, type[BaseModel]],
    keyed: Mapping[type[BaseModel], Any],
    aliases: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    for name, options in sorted(offered.items()):
        own = keyed[options]
        described = entry["properties"][key].get("description", "")
        properties = {k: v for k, v in entry["properties"].items() if k != key}
        others = [alias for alias, of in aliases.items() if of == name]
        called = {"enum": [name, *others]} if others else {"const": name}
        yield {
            "title": name,
            "description": own.get("description", name),
            "type": "object",
            "properties": {key: {**called, "description": described}, **properties, **own.get("properties", {})},
            "required": list(dict.fromkeys([key, *entry.get("required", []), *own.get("required", [])])),
            "additionalProperties": own.get("additionalProperties") is True,
            **({"oneOf": entry["oneOf"]} if "oneOf" in entry else {}),
        }


def _unnamed_mechanism(common: Mapping[str, Any], options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the [mechanism] of a policy that takes the name from its baseline: any mechanism's keys."""
    known = sorted({key for own in options for key in own.get("properties", {})})
    return {
        "title": "the baseline's mechanism",
        "type": "object",
        "properties": {**common, **{key: {} for key in known}},
        "not": {"required": ["name"]},
        "additionalProperties": False,
    }


def _root_requirements() -> dict[str, Any]:
    """Return the keys required of a policy that extends no other."""
    sections = {name: {"required": keys} for name, keys in _REQUIRED.items()}
    return {
        "required": ["policy", "source", "attributes", "privacy", "mechanism"],
        "properties": {**sections, "attributes": {"minProperties": 1}, "privacy": {"minItems": 1}},
    }


def _simplified_schema(node: Any) -> Any:
    """Return a schema without null, which TOML lacks, and without redundant titles and defaults."""
    if isinstance(node, list):
        return [_simplified_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    alternatives = node.get("anyOf", [])
    kept = [a for a in alternatives if a != {"type": "null"}]
    if len(kept) < len(alternatives):
        rest = {k: v for k, v in node.items() if k != "anyOf"}
        node = kept[0] | rest if len(kept) == 1 else {**rest, "anyOf": kept}
    silent = node.get("default", 0) is None or isinstance(node.get("default"), dict)
    plainer = {
        k: _simplified_schema(v) for k, v in node.items() if k != "properties" and not (k == "default" and silent)
    }
    if "properties" in node:
        plainer["properties"] = {
            name: _without_title(name, _simplified_schema(field)) for name, field in node["properties"].items()
        }
    return plainer


def _without_title(name: str, field: Any) -> Any:
    if str(field.get("title", "")).replace(" ", "_").lower() == name.rstrip("_"):
        del field["title"]
    return field


def _definition_references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        node = list(node.values())
    for item in node if isinstance(node, list) else ():
        yield from _definition_references(item)
