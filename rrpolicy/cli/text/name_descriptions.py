"""What a privacy model, a mechanism, a metric, a measure, a role or a key of a policy is, as each says itself."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rrpolicy.cli.text.keys import KeyTable, TableKey, tables
from rrpolicy.escaping.printable import line
from rrpolicy.policy.model import Role
from rrpolicy.policy.schema import json_schema

if TYPE_CHECKING:
    from rrpolicy.privacy.model import PrivacyModel
    from rrpolicy.registry import Registry


def describe_name(registry: Registry, name: str) -> str | None:
    """Return what goes by a name, in some lines of text; None if nothing does."""
    from rrpolicy.estimate.association.measures import MEASURES

    told: list[str] = []
    if name in registry.privacy_models:
        model = registry.privacy_models[name]
        told += [f"{name}: a privacy model", "", *_guarantee_lines(model), *_option_lines(model.options)]
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
    """Yield the keys that choose among words, with their tables; not those that say which model or mechanism it is."""
    for table in every:
        yield from (
            (table, key) for key in table.keys if len(_choice_words(key)) > 1 and table.kind not in _choice_words(key)
        )


def _choice_words(key: TableKey) -> Sequence[str]:
    """Return the words that a key chooses among."""
    return re.findall(r'`"([\w-]+)"`', key.value)


def _key_meanings(every: Iterable[KeyTable], name: str) -> Mapping[tuple[str, ...], Iterable[str]]:
    """Return what keys of a name mean and hold -> the tables that have them so, such as [source].

    Args:
        every: of the tables.
        name: of a key, or with the table before it: `source.unit`.
    """
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


def _guarantee_lines(model: PrivacyModel[Any]) -> Iterator[str]:
    """Yield what a model promises under the example of its own, if it has one."""
    example, promise = getattr(model, "example", ""), getattr(model, "promise", None)
    try:
        options = model.options.model_validate(tomllib.loads(example))
    except (ValidationError, tomllib.TOMLDecodeError):
        promise = None
    if promise is None:
        yield from _docstring_summary(model)
    else:
        yield f"{promise(options)} (with {', '.join(example.splitlines())})"


def _docstring_summary(of: object) -> list[str]:
    """Return the first paragraph of the docstring."""
    return [" ".join((inspect.getdoc(type(of)) or "").partition("\n\n")[0].split())]


def _option_lines(options: type[BaseModel]) -> Iterator[str]:
    yield from ("", "keys")
    for key, field in options.model_fields.items():
        yield f"  {field.alias or key}{f': {field.description}' if field.description else ''}"
