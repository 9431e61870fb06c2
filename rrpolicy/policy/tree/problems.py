"""Errors of pydantic as problems of the policy file at their places."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from rrpolicy.errors import Problem
from rrpolicy.escaping.printable import escape_invisible, inert_text, quoted_list
from rrpolicy.policy.directions import DIRECTION_RULES
from rrpolicy.policy.error_key import offending_key
from rrpolicy.policy.tree.document import Node

_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "an array [ … ]",
    "tuple_type": "an array [ … ]",
    "set_type": "an array [ … ]",
    "frozen_set_type": "an array [ … ]",
    "dict_type": "a table { … }",
    "model_type": "a table { … }",
    "model_attributes_type": "a table { … }",
    "dataclass_type": "a table { … }",
    "none_required": "nothing",
}
_BOUNDS = {"ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}"}
_BOUND_TYPES = frozenset({"greater_than_equal", "greater_than", "less_than_equal", "less_than"})
_LONG = 60


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return a hint such as "did you mean 'role'?", or None if nothing is near."""
    import difflib

    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean '{by_lower[near[0]]}'?" if near else None


def home_table_hint(key: str) -> str | None:
    """Return a hint that names the tables to which a key of the language belongs; None if it is not a key."""
    homes = [above for above, _, last in (known.rpartition(".") for known in DIRECTION_RULES) if last == key]
    if not homes:
        return None
    told = " or ".join(dict.fromkeys(_TABLES.get(above, f"[{above}]") for above in homes))
    return f"`{key}` belongs {told if homes == [''] else f'under {told}'}"


_TABLES = {
    "": "at the top of the file, above every table",
    "attributes.*": "a column, such as [attributes.age]",
    **{several: f"[[{several}]]" for several in ("privacy", "utility", "waivers", "policy.changes", "ledger.budget")},
}
"""Names in messages of tables that are not written in single brackets."""


def choices_text(known: Iterable[str]) -> str:
    """Return `one of: …` with at most a dozen names."""
    names, most = list(known), 12
    more = f", … ({len(names) - most} more)" if len(names) > most else ""
    return f"one of: {quoted_list(names[:most])}{more}"


def short_toml(value: object) -> str:
    """Return a policy's value as TOML writes it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + (value if len(value) <= _LONG else value[: _LONG - 1] + "…") + '"'
    if isinstance(value, Decimal) and not value.is_finite():
        return str(value).lower().replace("infinity", "inf")
    return "an array" if isinstance(value, list) else "a table" if isinstance(value, dict) else str(value)


def unknown_name_problem(code: str, what: str, node: Node, known: Iterable[str], *, at_key: bool = False) -> Problem:
    """Return the problem of an unknown name."""
    names = list(known)
    name = str(node.value) if not at_key else node.key.key.rpartition(".")[2]
    return Problem(
        code, f"unknown {what} '{name}'", node.key if at_key else node.place, choices_text(names), suggest(name, names)
    )


class _LocatedError(Struct, frozen=True):
    """One error of pydantic, found again in the file; `branched` if it concerns one branch of a union."""

    path: tuple[str | int, ...]
    node: Node
    branched: bool
    error: Any


def validation_problems(error: ValidationError, root: Node, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield pydantic's errors of a table, once for each place, and mark the nodes.

    `error` is of validating `root.plain()` or a part of it with `model`.
    """
    located = [_locate_error(root, e) for e in error.errors(include_url=False)]
    groups: dict[tuple[object, ...], list[_LocatedError]] = {}
    for one in located:
        deeper = any(len(o.path) > len(one.path) and o.path[: len(one.path)] == one.path for o in located)
        if not (one.branched and deeper):
            kind = one.error["type"] if one.error["type"] in {"missing", "extra_forbidden"} else ""
            groups.setdefault((one.path, kind, one.error["loc"] if kind == "missing" else None), []).append(one)
    for group in groups.values():
        group[0].node.wrong = True
        mark_nodes(root, group[0].path)
        yield _validation_problem(group, model)


def mark_nodes(root: Node, path: Iterable[str | int]) -> None:
    """Mark every node on the path to a wrong one."""
    node = root
    for part in path:
        node.wrong = True
        node = node.table[part] if isinstance(part, str) else node.items[part]
    node.wrong = True


def _locate_error(root: Node, error: Any) -> _LocatedError:
    node, path, branched = root, list[str | int](), False
    loc = error["loc"][:-1] if error["type"] == "missing" else error["loc"]
    for part in loc:
        if isinstance(part, str) and part in node.table:
            node = node.table[part]
        elif isinstance(part, int) and 0 <= part < len(node.items):
            node = node.items[part]
        else:
            branched = True
            continue
        path.append(part)
    return _LocatedError(tuple(path), node, branched, error)


def _validation_problem(group: list[_LocatedError], model: type[BaseModel]) -> Problem:
    node, error = group[0].node, group[0].error
    last = str(error["loc"][-1]) if error["loc"] else ""
    if error["type"] == "missing":
        expected = _missing_key_text(last, _named_fields(model, error["loc"]))
        return Problem("RR206", f"the key '{last}' is missing{_table_text(node.place.key)}", node.place, expected)
    if error["type"] == "extra_forbidden":
        known, above = accepted_keys(model, error["loc"][:-1]), node.key.key.rpartition(".")[0]
        policy = {"policy", "mechanism"} <= {*accepted_keys(model)}
        hint = (home_table_hint(last) if policy else None) or suggest(last, known)
        if hint is None and last in accepted_keys(model):
            hint = f"[{last}] is a separate table: write its header first, outside of [{above}]"
        return Problem("RR205", f"unknown key '{last}'{_table_text(above)}", node.key, choices_text(known), hint)
    told = str(error.get("ctx", {}).get("error", "")) if error["type"] in {"value_error", "assertion_error"} else ""
    if told and not told.startswith("expected "):
        key = offending_key(told, node.table)
        named = node if key is None else node.table[key]
        message = told if named is not node else f"{_key_text(node.place.key)}: {told}"
        return Problem("RR208", message, named.place, hint=_percentage_hint(named.value, told))
    expected = " or ".join(dict.fromkeys(_expected_text(one.error) for one in group))
    name, value, hint = _key_text(node.place.key), node.plain(), None
    if error["type"] in {"literal_error", "enum"} and isinstance(value, str):
        hint = suggest(value, expected.split("'")[1::2])
    if all(one.error["type"] in _EXPECTED for one in group):
        if isinstance(value, dict) and expected == _EXPECTED["list_type"]:
            hint = f"an array of tables has double brackets: [[{node.place.key}]]"
        hint = hint or _example_hint(model, [part for part in group[0].path if isinstance(part, str)])
        return Problem("RR207", f"{name} is {_toml_kind(value)}", node.place, expected, hint)
    hint = hint or _percentage_hint(value, expected)
    return Problem("RR208", f"{name} cannot be {short_toml(value)}", node.place, expected, hint)


def _percentage_hint(value: object, told: str) -> str | None:
    """Return a hint how to write a percentage, if a number above 1 is given for a share."""
    number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    if not number or not told.endswith(("at most 1", "1 or less")):
        return None
    percent = Decimal(str(value))
    return f"{value} % is written {percent / 100:f}" if 1 < percent <= 100 else None  # noqa: PLR2004


def _example_hint(model: type[BaseModel], path: list[str]) -> str | None:
    """Return a hint how to write a key's value, if its field has an example."""
    examples = [example for field in _named_fields(model, path) for example in field.examples or ()]
    return f"such as `{path[-1]} = {_example_toml(examples[0])}`" if examples else None


def _missing_key_text(key: str, fields: Iterable[FieldInfo]) -> str:
    """Return the value that a missing key needs: the names to choose from, else its description."""
    for field in fields:
        if isinstance(field.annotation, type) and issubclass(field.annotation, Enum):
            return choices_text(str(member.value) for member in field.annotation)
        if get_origin(field.annotation) is Literal:
            return choices_text(map(str, get_args(field.annotation)))
        if field.description:
            text = field.description.removesuffix(".")
            return f"a value for '{key}': {text[0].lower()}{text[1:]}"
    return f"a value for '{key}'"


def _named_fields(model: type[BaseModel], path: Sequence[str | int]) -> list[FieldInfo]:
    if not path:
        return []
    fields = [(f.alias or n, f) for m in _location_classes(model, path[:-1]) for n, f in m.model_fields.items()]
    return [field for name, field in fields if name == path[-1]]


def _example_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_example_toml(item)}" for key, item in value.items()) + " }"
    return f"[{', '.join(map(_example_toml, value))}]" if isinstance(value, list) else short_toml(value)


def accepted_keys(model: type[BaseModel], loc: Iterable[str | int] = ()) -> list[str]:
    """Return the keys that a class, or its nested class at a location, accepts."""
    return [f.alias or n for m in _location_classes(model, loc) for n, f in m.model_fields.items()]


def _location_classes(model: type[BaseModel], loc: Iterable[str | int]) -> list[type[BaseModel]]:
    current = [model]
    for part in loc:
        fields = [f for m in current for n, f in m.model_fields.items() if (f.alias or n) == part]
        current = [m for f in fields for m in _nested_classes(f.annotation)] or current
    return current


def _nested_classes(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _nested_classes(argument)


def _expected_text(error: Any) -> str:
    if error["type"] in _EXPECTED:
        return _EXPECTED[error["type"]]
    told = error.get("ctx", {})
    if error["type"] == "value_error" and "error" in told:
        return str(told["error"]).removeprefix("expected ")
    if "expected" in told:
        return str(told["expected"])
    for bound, words in _BOUNDS.items():
        if bound in told and error["type"] in _BOUND_TYPES:
            return words.format(short_toml(told[bound]))
    message = str(error["msg"])
    return message.removeprefix("Input should be ").removeprefix("Value error, ")


def _toml_kind(value: object) -> str:
    names: dict[type, str] = {
        bool: "true or false",
        str: "text",
        int: "a whole number",
        Decimal: "a number",
        list: "an array",
        dict: "a table",
    }
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a date or time")


def _key_text(key: str) -> str:
    above, _, last = key.rpartition(".")
    if not last.isdigit():
        return f"'{last}'" if last else "the policy"
    return (
        f"[[{above}]] {int(last) + 1}"
        if above in {"privacy", "utility"}
        else f"item {int(last) + 1} of {_key_text(above)}"
    )


def _table_text(key: str) -> str:
    return f" in {entry_text(key)}" if key else ""


def entry_text(key: str) -> str:
    """Return a table as the file writes it; for an array of tables, with the number of the entry, counted from 1."""
    above, _, last = key.rpartition(".")
    return f"[[{above}]] {int(last) + 1}" if last.isdigit() else f"[{key}]"


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return inert_text(escape_invisible(json.dumps(value, ensure_ascii=False), lambda c: f"\\U{ord(c):08x}"))
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else repr(value)
