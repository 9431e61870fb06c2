"""`frozen` makes what `dataclasses.dataclass(frozen=True)` makes, method by method."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.frozen_dataclass import frozen


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

    @decorator
    class Made:
        """Values that are made anew for each object, and one that nobody gives."""

        a: Any
        several: Any = field(default_factory=list)
        kept: Any = field(default_factory=list, init=False)
        fixed: Any = field(default="same", init=False)

    @decorator
    class Judged:
        """Looks at itself once it is made."""

        a: Any
        named: Any = field(default=1, kw_only=True)

        def __post_init__(self) -> None:
            if self.a is None:
                raise ValueError("nothing")

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

    return {cls.__name__: cls for cls in (Nothing, One, Several, Open, Child, Made, Judged, Named, Itself, Own)}


OURS, THEIRS = classes(frozen), classes(plain)
VALUES = st.one_of(st.integers(0, 2), st.text(max_size=1), st.tuples(st.integers(0, 1)), st.just(float("nan")))


@st.composite
def arguments(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return the name of a class, and values for some of its fields."""
    name = draw(st.sampled_from(sorted(THEIRS)))
    needed = [
        f for f in dataclasses.fields(THEIRS[name]) if f.init and dataclasses.MISSING is f.default is f.default_factory
    ]
    others = [f for f in dataclasses.fields(THEIRS[name]) if f.init and f not in needed and draw(st.booleans())]
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
    if one[0] not in {"Itself", "Made"}:  # by its place, and holding lists
        assert hash(ours[0]) == hash(theirs[0])
    assert dataclasses.asdict(ours[0]) == dataclasses.asdict(theirs[0])


@pytest.mark.parametrize("name", sorted(OURS))
def test_objects_stay_as_they_are_made(name):
    """Frozen, with or without slots, of the same signature, for `match` and `replace` too."""
    cls, theirs = OURS[name], THEIRS[name]
    given = {f.name: 1 for f in dataclasses.fields(cls) if f.init}
    made = cls(**given)
    for each in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, each.name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(made, each.name)
        if each.init:
            assert getattr(dataclasses.replace(made, **{each.name: 5}), each.name) == 5
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):  # TypeError: bpo-46414, of slots
        theirs(**given).another = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.another = 1
    assert hasattr(made, "__dict__") == hasattr(theirs(**given), "__dict__")
    assert cls.__match_args__ == theirs.__match_args__
    assert [(f.name, f.default, f.kw_only) for f in dataclasses.fields(cls)] == [
        (f.name, f.default, f.kw_only) for f in dataclasses.fields(theirs)
    ]


def told(made: Callable[[], Any]) -> str:
    """Return what comes of a call: a text, or why it was refused."""
    try:
        return repr(made())
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("call", [(), (1,), (1, 2), (1, 2, 3, 4, 5, 6), {"a": 1}, {"a": None}, {"b": 2}, {"z": 1}])
@pytest.mark.parametrize("name", sorted(OURS))
def test_constructors_take_and_refuse_what_those_of_the_standard_library_do(name, call):
    """With the same words; what is made anew is not shared."""
    given, named = ((), call) if isinstance(call, dict) else (call, {})
    told_of = [told(lambda cls=cls: cls(*given, **named)) for cls in (OURS[name], THEIRS[name])]
    assert told_of[0] == told_of[1]


@pytest.mark.parametrize("name", sorted(OURS))
def test_constructors_can_be_looked_at(name):
    """By editors and documentation."""
    ours, theirs = (inspect.signature(each[name]) for each in (OURS, THEIRS))
    assert [(p.name, p.kind, p.annotation) for p in ours.parameters.values()] == [
        (p.name, p.kind, p.annotation) for p in theirs.parameters.values()
    ]
    assert [p.default is p.empty for p in ours.parameters.values()] == [
        p.default is p.empty for p in theirs.parameters.values()
    ]
    assert OURS[name].__init__.__qualname__ == THEIRS[name].__init__.__qualname__


def test_a_constructor_that_another_thread_has_replaced_meanwhile_is_that_of_the_class():
    @frozen
    class Raced:
        """A class with a text of its own, for which nothing looks at the constructor."""

        a: Any

    seen = vars(Raced)["__init__"]  # by two threads
    assert Raced(1).a == 1
    made = Raced.__new__(Raced)
    seen.__get__(made, Raced)(2)

    assert made.a == 2
    assert vars(Raced)["__init__"] is not seen


def test_a_field_that_nothing_sets_is_not_there():
    for decorator in (frozen, plain):

        @decorator
        class Unset:
            """A field without a value."""

            a: Any
            later: Any = field(init=False)

        assert Unset(1).a == 1
        assert not hasattr(Unset(1), "later")


def test_what_is_made_for_an_object_is_its_own():
    """A list of one is not that of another."""
    one, other = OURS["Made"](1), OURS["Made"](1)
    one.several.append(1)
    one.kept.append(2)

    assert (one.several, one.kept, one.fixed) == ([1], [2], "same")
    assert (other.several, other.kept) == ([], [])


def test_what_derives_from_one_is_frozen_too():
    """Made by either decorator; otherwise it is refused."""

    @dataclass(frozen=True)
    class Further(OURS["Open"]):  # type: ignore[misc]  # made by a function
        d: Any = 4

    assert repr(Further(1)).endswith("Further(a=1, b=(), d=4)")
    for name in ("a", "d", "another"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(Further(1), name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(OURS["Child"](1), name, 2)
    with pytest.raises(TypeError, match="frozen"):
        dataclass(type("Loose", (OURS["Open"],), {}))


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
