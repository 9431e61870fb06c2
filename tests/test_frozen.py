"""`frozen` makes what `dataclasses.dataclass(frozen=True)` makes, method by method."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.frozen import frozen


def plain(cls: Any = None, /, *, slots: bool = True, kw_only: bool = False, eq: bool = True) -> Any:
    """Return what the standard library makes of a class."""
    made = dataclass(frozen=True, slots=slots, kw_only=kw_only, eq=eq)
    return made if cls is None else made(cls)


def classes(decorator: Callable[..., Any]) -> dict[str, type[Any]]:
    """Return classes of each kind that the house has, made by a decorator."""

    @decorator
    class Nothing:
        """No field."""

    @decorator
    class One:
        """A single field."""

        a: Any

    @decorator
    class Several:
        """Fields that are left out of one method or the other."""

        a: Any
        b: Any = 2
        unseen: Any = field(default=0, repr=False)
        apart: Any = field(default=0, compare=False)
        unhashed: Any = field(default=0, hash=False)

    @decorator(slots=False)
    class Open:
        """Without slots."""

        a: Any
        b: Any = ()

    @decorator(slots=False)
    class Child(Open):
        """A field more than its parent."""

        c: Any = 3

    @decorator(kw_only=True)
    class Named:
        """By name alone."""

        a: Any = 1
        b: Any = 2

    @decorator(eq=False)
    class Itself:
        """Equal to nothing else."""

        a: Any

    @decorator
    class Own:
        """With methods of its own."""

        a: Any

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        __hash__ = None  # type: ignore[assignment]  # the same as Python writes here

    return {cls.__name__: cls for cls in (Nothing, One, Several, Open, Child, Named, Itself, Own)}


OURS, THEIRS = classes(frozen), classes(plain)
VALUES = st.one_of(st.integers(0, 2), st.text(max_size=1), st.tuples(st.integers(0, 1)), st.just(float("nan")))


@st.composite
def arguments(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return the name of a class, and values for some of its fields."""
    name = draw(st.sampled_from(sorted(THEIRS)))
    needed = [f for f in dataclasses.fields(THEIRS[name]) if f.default is dataclasses.MISSING]
    others = [f for f in dataclasses.fields(THEIRS[name]) if f not in needed and draw(st.booleans())]
    return name, {f.name: draw(VALUES) for f in [*needed, *others]}


@given(arguments(), arguments())
def test_text_comparison_and_hash_are_those_of_the_standard_library(one, other):
    """Also between classes, and of values that equal themselves by being the same."""
    ours, theirs = ([made[name](**values) for name, values in (one, other)] for made in (OURS, THEIRS))
    assert repr(ours[0]) == repr(theirs[0])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert ours[0] == ours[0]
    copied = copy.copy(ours[0])
    assert (copied == ours[0]) == (copy.copy(theirs[0]) == theirs[0])
    if one[0] != "Itself":
        assert hash(ours[0]) == hash(theirs[0])
    assert dataclasses.asdict(ours[0]) == dataclasses.asdict(theirs[0])


@pytest.mark.parametrize("name", sorted(OURS))
def test_objects_stay_as_they_are_made(name):
    """Frozen, with or without slots, of the same signature, for `match` and `replace` too."""
    cls, theirs = OURS[name], THEIRS[name]
    made = cls(**{f.name: 1 for f in dataclasses.fields(cls)})
    for each in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, each.name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(made, each.name)
        assert getattr(dataclasses.replace(made, **{each.name: 5}), each.name) == 5
    assert hasattr(made, "__dict__") == hasattr(theirs(**{f.name: 1 for f in dataclasses.fields(cls)}), "__dict__")
    assert cls.__match_args__ == theirs.__match_args__
    assert [(f.name, f.default, f.kw_only) for f in dataclasses.fields(cls)] == [
        (f.name, f.default, f.kw_only) for f in dataclasses.fields(theirs)
    ]


@frozen
class Node:
    """Names itself."""

    inside: list[Any]


def test_what_holds_itself_has_a_text_and_can_be_pickled():
    """As the standard library's text ends such a circle."""
    node = Node([])
    node.inside.append(node)

    assert repr(node) == "Node(inside=[...])"
    assert pickle.loads(pickle.dumps(Node([1]))) == Node([1])
