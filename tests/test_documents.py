"""Every JSON document of rrpolicy: what its schema allows is read, and what is read is written and read back alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from rrpolicy.artifacts import ARTIFACTS, schema
from rrpolicy.serialization import read, record

Schema = Mapping[str, Any]
MOST = 1 << 53
"""Whole numbers that a double holds."""
TEXTS = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=3) | st.dates().map(str)
SCALARS: Mapping[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "string": TEXTS,
}
JSON = st.none() | st.booleans() | st.integers(-MOST, MOST) | TEXTS
PRINTED = {
    "check": "a document of a command that writes nothing to be read",
    "check-table": "the same",
    "comparison": "the same",
    "diff": "the same",
    "inventory": "the same",
    "ledger-shown": "the same",
    "ledger-verification": "the same",
    "packs": "the same",
    "plugins": "the same",
    "problems": "the same",
    "released": "the same",
    "test": "the same",
    "verification": "the same",
}
"""Documents that are only printed: their classes are not built from them."""


class Generator:
    """Strategies of documents, from a JSON Schema."""

    def __init__(self, whole: Schema) -> None:
        self.whole = whole
        self.named: dict[str, st.SearchStrategy[Any]] = {}

    def values(self, part: Schema) -> st.SearchStrategy[Any]:
        """Return the values that a part of the schema allows."""
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            if name not in self.named:
                self.named[name] = st.deferred(lambda: self.values(self.whole["$defs"][name]))
            return self.named[name]
        if "const" in part or "enum" in part:
            return st.sampled_from(part.get("enum", [part.get("const")]))
        if "anyOf" in part:
            return st.one_of(*map(self.values, part["anyOf"]))
        kinds = part.get("type", "any")
        if isinstance(kinds, list):
            return st.one_of(*(self.values({**part, "type": kind}) for kind in kinds))
        made: Any = getattr(self, f"of_{kinds}", None)
        return SCALARS.get(kinds, JSON) if made is None else made(part)

    def of_string(self, part: Schema) -> st.SearchStrategy[Any]:
        if "pattern" in part:
            return st.from_regex(part["pattern"], fullmatch=True, alphabet=st.characters(codec="ascii"))
        return st.dates().map(str) if part.get("format") == "date" else TEXTS

    def of_integer(self, part: Schema) -> st.SearchStrategy[Any]:
        return st.integers(part.get("minimum", -MOST), part.get("maximum", MOST))

    def of_array(self, part: Schema) -> st.SearchStrategy[Any]:
        if "prefixItems" in part:
            return st.tuples(*map(self.values, part["prefixItems"])).map(list)
        least = part.get("minItems", 0)
        return st.lists(self.values(part.get("items", {})), min_size=least, max_size=max(1, least))

    def of_object(self, part: Schema) -> st.SearchStrategy[Any]:
        if "properties" not in part:
            more = part.get("additionalProperties", {})
            return st.dictionaries(TEXTS, self.values(more if isinstance(more, Mapping) else {}), max_size=1)
        keys = {key: self.values(each) for key, each in part["properties"].items() if key != "exit_status"}
        required = part.get("required", ())
        return st.fixed_dictionaries(
            {key: each for key, each in keys.items() if key in required},
            optional={key: each for key, each in keys.items() if key not in required},
        )


def kinds_of(name: str) -> tuple[Any, ...]:
    """Return the classes that a document may have."""
    module, _, kind = ARTIFACTS[name].where.partition(":")
    found = getattr(import_module(f"rrpolicy.{module}"), kind)
    return get_args(found) or (found,)


UNBUILT = {"plan": {"ledger"}}
"""Keys that are validated and never made an object again: its document lacks the path of the ledger's file."""
CONTRADICTORY = {"LedgerBudgetEntry", "ReleaseSettlement"}
"""Classes whose fields depend on one another, so that hardly any document is read; `tests/governance/ledger` has theirs."""
CASES = [
    (name, i)
    for name in ARTIFACTS
    if name not in PRINTED
    for i, kind in enumerate(kinds_of(name))
    if kind.__name__ not in CONTRADICTORY
]


@cache
def documents_of(name: str, index: int) -> st.SearchStrategy[Any]:
    """Return the documents that the schema of one of the classes allows."""
    whole = schema(name)
    return Generator(whole).values(whole["anyOf"][index] if "anyOf" in whole else whole)


@cache
def validator_of(name: str) -> Any:
    return jsonschema.Draft202012Validator(schema(name))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "index"), CASES)
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_document_that_is_read_and_written_again_is_read_alike(name: str, index: int, data: st.DataObject) -> None:
    """`read(write(x))` is x for each x that can be read, and what is written fits the schema."""
    kind = kinds_of(name)[index]
    document = data.draw(documents_of(name, index))
    document = {key: value for key, value in document.items() if key not in UNBUILT.get(name, ())}
    try:
        found = read(kind, document)
    except ValueError:  # its fields contradict one another, such as days in a wrong order
        reject()
    written = json.loads(json.dumps(record(found)))

    assert read(kind, written) == found
    assert record(read(kind, written)) == record(found)
    assert not [error.message for error in validator_of(name).iter_errors(written)]
