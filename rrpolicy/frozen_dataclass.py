"""Frozen dataclasses that are fast to define.

`dataclasses.dataclass` compiles six methods of every class whenever the program starts. Methods that differ between
classes only by the names of fields are defined here once; the constructor is compiled at the first use of a class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, slots: bool = True, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, slots: bool = True, kw_only: bool = False, eq: bool = True) -> Any:
    """Make a class a dataclass that is frozen, with the behaviour of `dataclasses.dataclass(frozen=True)`.

    Args:
        cls: the class; None if the decorator is called with options.
        slots: without, objects can have more than their fields (cached values), and classes can have several bases.
        kw_only: whether fields are given by name alone.
        eq: whether objects with equal fields are equal; without, each equals itself alone.
    """
    if cls is None:
        return lambda decorated: frozen(decorated, slots=slots, kw_only=kw_only, eq=eq)  # type: ignore[call-overload]
    own = vars(cls)
    shared: dict[str, Any] = {"__init__": _LazyConstructor(), "__repr__": _text}
    derived = any(map(is_dataclass, cls.__bases__))  # must be seen to be frozen like its parents
    if not derived:
        shared |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
    if slots:
        shared |= {"__getstate__": _state_of, "__setstate__": _restore_state}
    if eq:
        shared |= {"__eq__": _equal}
        if own.get("__hash__") is None:  # Python's mark of a class that defines equality
            cls.__hash__ = _hash
    for name, method in shared.items():
        if name not in own:
            setattr(cls, name, method)
    made: Any = dataclass(init=False, repr=False, eq=False, frozen=derived, slots=slots, kw_only=kw_only)(cls)
    made.__dataclass_params__.frozen = True
    return made


class _LazyConstructor:
    """Placeholder of a class's constructor: at its first use the compiled one replaces it."""

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        cls: Any = next((each for each in owner.__mro__ if vars(each).get("__init__") is self), None)
        if cls is not None:  # else another thread was first
            cls.__init__ = _compile_constructor(cls)
        made: Any = owner
        return made.__init__.__get__(instance, owner)


def _compile_constructor(cls: Any) -> Any:
    """Return the function that sets the fields, then calls `__post_init__` if the class has one."""
    known: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": MISSING}
    placed, named, does = ["self"], ["*"], []
    for each in fields(cls):
        name, default = each.name, f"default_{each.name}"
        made = each.default_factory is not MISSING
        known[default] = each.default_factory if made else each.default
        value = f"{default}()" if made else default
        if not each.init and not made and each.default is MISSING:
            continue  # left unset for the class to set
        if each.init:
            optional = f"{name}={'MISSING' if made else default}"
            parameter = optional if made or each.default is not MISSING else name
            (named if each.kw_only else placed).append(parameter)
            value = f"{value} if {name} is MISSING else {name}" if made else name
        does.append(f"    set_field(self, {name!r}, {value})\n")
    if hasattr(cls, "__post_init__"):
        does.append("    self.__post_init__()\n")
    parameters = ", ".join(placed + (named if len(named) > 1 else []))
    exec(f"def __init__({parameters}):\n{''.join(does) or '    pass'}", known)  # noqa: S102 names of fields alone
    compiled = known["__init__"]
    compiled.__qualname__, compiled.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    compiled.__annotations__ = {each.name: each.type for each in fields(cls) if each.init} | {"return": None}
    return compiled


def _refuse_change(self: Any, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"'{name}' of a {type(self).__qualname__} stays as it was made")


def _state_of(self: Any) -> Any:
    return [getattr(self, each.name) for each in fields(self)]


def _restore_state(self: Any, state: Any) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


@recursive_repr()
def _text(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = _comparison_values(self.__class__)
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(_hash_values(self.__class__)(self))


@cache
def _comparison_values(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    return _values_getter([each.name for each in fields(cls) if each.compare])


@cache
def _hash_values(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    return _values_getter([each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)])


def _values_getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of fields, as a tuple even for a single field."""
    return attrgetter(*names) if len(names) > 1 else lambda of: tuple(getattr(of, name) for name in names)
