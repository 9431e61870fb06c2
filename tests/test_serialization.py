"""The codec: what is written is read back, and nothing else is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Literal

import pytest

from rrpolicy.canonical_json import Json, Value
from rrpolicy.serialization.fields import AUDIT, UNWRITTEN, document_key
from rrpolicy.serialization.reading import MalformedError, UnknownVersionError, read
from rrpolicy.serialization.writing import plain, record


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

    name: str
    ends: tuple[tuple[str, float, int], ...]
    labels: tuple[Value, ...]
    parts: Mapping[str, Leaf | Twig]
    colour: Colour
    rank: Rank
    path: Literal["cells", "records"]
    counted: int = field(metadata=document_key("n"))
    tested: bool = False
    least: float | None = None
    secret: tuple[int, ...] | None = field(default=None, metadata=AUDIT)
    note: Mapping[str, Json] = field(default_factory=dict)
    place: str = field(default="here", metadata=UNWRITTEN)


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
        ({"name": "a\0b"}, "'name' must be text without NUL"),
        ({"n": True}, "'n' must be a whole number"),
        ({"n": 1.0}, "'n' must be a whole number"),
        ({"tested": 1}, "'tested' must be true or false"),
        ({"least": "1"}, "'least' must be a number"),
        ({"least": []}, "'least' must be a number"),
        ({"least": False}, "'least' must be a number"),
        ({"ends": [["a", 1.0]]}, r"'ends\[0\]' must be a list of 3"),
        ({"ends": [["a", "b", 1]]}, r"'ends\[0\]' must be a number"),
        ({"labels": [None]}, r"'labels\[0\]' must be text or a whole number"),
        ({"labels": [["x"]]}, r"'labels\[0\]' must be text"),
        ({"labels": {}}, "'labels' must be a list"),
        ({"parts": []}, "'parts' must be an object"),
        ({"parts": {"one": {"form": "root"}}}, "'parts.one.form' must be leaf or twig"),
        ({"parts": {"one": []}}, "'parts.one' must be an object"),
        ({"parts": {"one": {"form": "leaf"}}}, "'parts.one.shares' is missing"),
        ({"parts": {"one": {"form": "leaf", "shares": ["2/4"]}}}, r"'parts.one.shares\[0\]' must be in lowest terms"),
        ({"parts": {"one": {"form": "leaf", "shares": ["1/0"]}}}, "must be a rational"),
        ({"parts": {"one": {"form": "leaf", "shares": [0.5]}}}, "must be a rational"),
        ({"parts": {"one": {"form": "leaf", "shares": ["9" * 5000]}}}, "must be a rational"),
        ({"colour": "RED"}, "'colour' must be bright red"),
        ({"rank": 0}, "'rank' must be low"),
        ({"path": "rows"}, "'path' must be cells or records"),
        ({"path": ["cells"]}, "'path' must be cells or records"),
        ({"kind": "bush"}, "'kind' must be 'tree'"),
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
