"""Frozen dataclasses that are quick to define.

`dataclasses.dataclass` compiles six methods of every class whenever the program starts. What an object looks like, what
it equals and its hash differ between classes by the names of their fields alone: here these methods stand once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
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
        cls: the class; None where the decorator is called with options.
        slots: without, objects can hold more than their fields (what is cached), and classes can have several bases.
        kw_only: whether fields are given by name alone.
        eq: whether objects with equal fields are equal; without, each equals itself alone.
    """
    if cls is None:
        return lambda decorated: frozen(decorated, slots=slots, kw_only=kw_only, eq=eq)  # type: ignore[call-overload]
    own = vars(cls)
    shared: dict[str, Callable[..., Any]] = {"__repr__": _text}
    if eq:
        shared |= {"__eq__": _equal}
        if own.get("__hash__") is None:  # Python's own mark of a class that defines equality
            cls.__hash__ = _hash
    for name, method in shared.items():
        if name not in own:
            setattr(cls, name, method)
    return dataclass(frozen=True, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)


@recursive_repr()
def _text(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = _compared(self.__class__)
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(_hashed(self.__class__)(self))


@cache
def _compared(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    return _values([each.name for each in fields(cls) if each.compare])


@cache
def _hashed(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    return _values([each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)])


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives the values of fields; of a single one as a tuple, too."""
    return attrgetter(*names) if len(names) > 1 else lambda of: tuple(getattr(of, name) for name in names)
