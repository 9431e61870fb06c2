"""The codec: what is written is read back, and nothing else is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from rrpolicy.canonical_json import Json, Value
from rrpolicy.serialization import MalformedError, UnknownVersionError, faults, json_schema, plain, read, record


class Colour(StrEnum):
    RED = "bright red"


class Rank(IntEnum):
    LOW = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    form: ClassVar[str] = "leaf"

    shares: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Twig:
    form: ClassVar[str] = "twig"

    leaves: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    kind: ClassVar[str] = "tree"
    version: ClassVar[int] = 2
    unwritten: ClassVar[tuple[str, ...]] = ("place",)
    audit_only: ClassVar[tuple[str, ...]] = ("secret",)
    renamed: ClassVar[Mapping[str, str]] = {"counted": "n"}

    name: str
    ends: tuple[tuple[str, float, int], ...]
    labels: tuple[Value, ...]
    parts: Mapping[str, Leaf | Twig]
    colour: Colour
    rank: Rank
    path: Literal["cells", "records"]
    counted: int
    tested: bool = False
    least: float | None = None
    secret: tuple[int, ...] | None = None
    note: Mapping[str, Json] = field(default_factory=dict)
    place: str = "here"


TREE = Tree(
    name="oak",
    ends=(("a", math.inf, 1), ("b", -0.5, 2)),
    labels=("x", 1, 1.0, True, "inf"),
    parts={"one": Leaf((Fraction(4, 5), Fraction(0))), "two": Twig((Leaf(()),))},
    colour=Colour.RED,
    rank=Rank.LOW,
    path="cells",
    counted=3,
    tested=True,
    least=-math.inf,
    secret=(1, 2),
    note={"any": [1, {"thing": None}]},
    place="there",
)


def test_what_is_written_is_read_back_to_the_type() -> None:
    document = json.loads(json.dumps(plain(TREE)))
    again = read(Tree, document, {"place": "there"})

    assert again == TREE
    assert [type(label) for label in again.labels] == [type(label) for label in TREE.labels]
    assert document["parts"]["one"] == {"form": "leaf", "shares": ["4/5", "0"]}
    assert (document["kind"], document["version"], document["n"], document["rank"]) == ("tree", 2, 3, "low")
    assert (document["colour"], document["least"]) == ("bright red", "-inf")
    assert "place" not in document
    assert read(Tree, document).place == "here"


def test_what_is_for_the_audit_alone_is_not_published() -> None:
    assert record(TREE).keys() - record(TREE, public=True).keys() == {"secret"}
    assert read(Tree, record(TREE, public=True)).secret is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surprise": 1}, "'surprise' is unknown"),
        ({"place": "there"}, "'place' is unknown"),
        ({"name": 1}, "'name' must be text"),
        ({"n": True}, "'n' must be a whole number"),
        ({"n": 1.0}, "'n' must be a whole number"),
        ({"tested": 1}, "'tested' must be true or false"),
        ({"least": "1"}, "'least' is not an allowed value"),
        ({"least": []}, "'least' must be a number"),
        ({"least": False}, "'least' must be a number"),
        ({"ends": [["a", 1.0]]}, r"'ends\[0\]' must be a list of 3"),
        ({"ends": [["a", "b", 1]]}, r"'ends\[0\]\[1\]' is not an allowed value"),
        ({"labels": [None]}, r"'labels\[0\]' must be true or false or a whole number"),
        ({"labels": [["x"]]}, r"'labels\[0\]' must be true or false"),
        ({"labels": {}}, "'labels' must be a list"),
        ({"parts": []}, "'parts' must be an object"),
        ({"parts": {"one": {"form": "root"}}}, r"'parts\[...\].form' is not an allowed value"),
        ({"parts": {"one": []}}, r"'parts\[...\]' must be an object"),
        ({"parts": {"one": {"form": "leaf"}}}, r"'parts\[...\].shares' is missing"),
        (
            {"parts": {"one": {"form": "leaf", "shares": ["2/4"]}}},
            r"'parts\[...\].shares\[0\]' must be in lowest terms",
        ),
        ({"parts": {"one": {"form": "leaf", "shares": ["1/0"]}}}, "must be a rational"),
        ({"parts": {"one": {"form": "leaf", "shares": [0.5]}}}, "must be a rational"),
        ({"parts": {"one": {"form": "leaf", "shares": ["9" * 5000]}}}, "must be a rational"),
        ({"colour": "RED"}, "'colour' is not an allowed value"),
        ({"rank": 0}, "'rank' must be text"),
        ({"path": "rows"}, "'path' is not an allowed value"),
        ({"path": ["cells"]}, "'path' must be text"),
        ({"kind": "bush"}, "'kind' is not an allowed value"),
    ],
)
def test_anything_else_is_refused_at_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        read(Tree, record(TREE) | change)


def test_what_has_no_default_must_be_there() -> None:
    document = record(TREE)
    del document["name"], document["secret"]
    with pytest.raises(MalformedError, match="'name' is missing"):
        read(Tree, document)
    with pytest.raises(MalformedError, match="must be an object"):
        read(Tree, [])


@pytest.mark.parametrize("version", [1, 3, 2.0, "2", True, None])
def test_other_versions_are_told_from_contradictions(version: Any) -> None:
    with pytest.raises(UnknownVersionError, match="this program reads version 2"):
        read(Tree, record(TREE) | {"version": version})


def test_what_is_no_data_is_not_written() -> None:
    with pytest.raises(TypeError):
        plain({"x": object()})


@dataclass(frozen=True, slots=True)
class Counted:
    """A number with what follows from it.

    Attributes:
        least: the smaller
            end.
        file: where it stands.
    """

    schema: ClassVar[str] = "counted/1"
    written: ClassVar[tuple[str, ...]] = ("schema", "double", "from=least", "file", "colour")

    least: int
    file: Path = Path("x")
    unseen: int = 7

    @property
    def double(self) -> int:
        return 2 * self.least

    @property
    def colour(self) -> Colour | None:
        return None


class Sealed(Struct, frozen=True):
    """A structure with an optional part, and its own digest."""

    computed: ClassVar[tuple[str, ...]] = ("digest",)
    sparse: ClassVar[bool] = True

    parts: tuple[Counted, ...] = ()
    note: str | UnsetType | None = UNSET

    @property
    def digest(self) -> str:
        return str(sorted(record(self, without={"digest"})))


def test_written_names_keys_in_order_and_properties_are_not_read() -> None:
    document = record(Counted(3, Path("a/b")))

    assert list(document.items()) == [
        *(("schema", "counted/1"), ("double", 6), ("from", 3), ("file", "a/b"), ("colour", None))
    ]
    assert read(Counted, document | {"double": 7}) == Counted(3, Path("a/b"))
    with pytest.raises(MalformedError, match="'double' must be a whole number"):
        read(Counted, document | {"double": "7"})
    with pytest.raises(MalformedError, match="'double' is missing"):
        read(Counted, {key: value for key, value in document.items() if key != "double"})


def test_defaults_are_omitted_and_computed_keys_follow() -> None:
    assert record(Sealed()) == {"digest": "[]"}
    assert record(Sealed((Counted(1),), None)).keys() == {"parts", "note", "digest"}
    assert read(Sealed, record(Sealed(note=None))) == Sealed(note=None)
    assert read(Sealed, record(Sealed())).note is UNSET


def test_the_schema_describes_what_is_written() -> None:
    schema = json_schema(Sealed, "a title")
    part = schema["$defs"]["Counted"]

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(record(Sealed((Counted(1),))))), schema)
    assert (schema["title"], schema["required"], schema["additionalProperties"]) == ("a title", ["digest"], False)
    assert part["required"] == ["schema", "double", "from", "colour"]
    assert part["properties"]["from"] == {"type": "integer", "description": "the smaller end."}
    assert part["properties"]["schema"] == {"const": "counted/1"}
    for wrong in ({"parts": [{}], "digest": ""}, {"digest": 1}, {"digest": "", "more": 1}):
        assert faults(wrong, Sealed)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


LEAVES = st.builds(Leaf, st.lists(st.fractions(), max_size=3).map(tuple))
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
TREES = st.builds(
    Tree,
    name=TEXTS,
    ends=st.lists(st.tuples(TEXTS, st.floats(allow_nan=False), st.integers()), max_size=2).map(tuple),
    labels=st.lists(TEXTS | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()).map(
        tuple
    ),
    parts=st.dictionaries(TEXTS, LEAVES | st.builds(Twig, st.lists(LEAVES, max_size=2).map(tuple)), max_size=2),
    colour=st.just(Colour.RED),
    rank=st.just(Rank.LOW),
    path=st.sampled_from(["cells", "records"]),
    counted=st.integers(),
    least=st.none() | st.floats(allow_nan=False),
    secret=st.none() | st.lists(st.integers(), max_size=2).map(tuple),
)


@given(TREES)
def test_any_object_reads_back_from_its_document_and_fits_its_schema(tree: Tree) -> None:
    document = json.loads(json.dumps(record(tree)))

    assert read(Tree, document) == tree
    assert record(read(Tree, document)) == record(tree)
    jsonschema.validate(document, json_schema(Tree, "a tree"))


def test_malformed_errors_quote_no_value() -> None:
    for change in ({"colour": "swordfish"}, {"path": "swordfish"}, {"parts": {"one": {"form": "swordfish"}}}):
        assert "swordfish" not in faults(record(TREE) | change, Tree)


class Odd(Struct):
    value: complex


def test_a_type_that_no_document_has_is_an_error_of_its_author():
    with pytest.raises(TypeError, match="complex"):
        json_schema(Odd, "odd")
    with pytest.raises(MalformedError, match="complex"):
        read(Odd, {"value": "1"})
