"""Comparison of values with type annotations: arguments of public functions, and results of plugins.

An annotation of an argument may name a type that is imported for type checkers alone. A value of any type is accepted
for it, except for the names of `_NAMED`.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from fractions import Fraction
from numbers import Integral, Real
from types import GenericAlias, NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from rrpolicy.frozen import field_names, has_fields

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_Mismatch = tuple[str, str, str]
"""Path within the value; the actual value; the expected type."""
_NUMBERS: Mapping[Any, tuple[type, ...]] = {
    float: (int, float, Fraction),
    Fraction: (int, Fraction),
    int: (int,),
    Real: (Real,),
    Integral: (Integral,),
}
"""Type of a number -> the types that it accepts; no boolean is a number."""


class _Tested(type):
    """A class whose instances are the values that pass its test."""

    test: Callable[[Any], bool]

    def __instancecheck__(cls, value: Any) -> bool:
        return cls.test(value)

    def __getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)


def _tested(name: str, test: Callable[[Any], bool]) -> type:
    return _Tested(name, (), {"test": staticmethod(test)})


def _named(name: str) -> type:
    return _tested(name, lambda value: any(cls.__name__ == name for cls in type(value).__mro__))


class _FirstWord:
    """`Literal` of an argument: the function itself refuses an unknown word."""

    def __getitem__(self, words: Any) -> type:
        return type(words[0] if isinstance(words, tuple) else words)


class _Items:
    """`Mapping` of an argument: the function itself refuses items, and names them."""

    def __getitem__(self, items: Any) -> type:
        return Mapping


_SEVERAL: Any = _tested("Iterable", lambda v: isinstance(v, Iterable) and not isinstance(v, (str, bytes, Mapping)))
_OWN = ("Release", "Condition", "Policy", "PlannedRelease", "Questionnaire", "VerificationLevel")
_ALIASES: Mapping[str, str] = {
    "PathLike": "str | os.PathLike",
    "PolicyLike": "str | os.PathLike | Policy",
    "ReleaseInput": "str | os.PathLike | Policy | PlannedRelease",
    "Threshold": "int | float | str | Fraction",
    "Progress": "Callable",
    "Question": "str | Callable",
    "Limits": "Sequence",
    **dict.fromkeys(("Target", "Overlap", "Alone", "ComparisonKind"), "str"),
}
"""Names of unions, and of words whose spelling the function itself checks."""
_NAMED: dict[str, Any] = {
    "int": Integral,
    "float": Real,
    "bool": _tested("bool", lambda v: isinstance(v, Integral) or type(v).__name__ in {"bool", "bool_"}),  # of numpy
    "os": SimpleNamespace(PathLike=os.PathLike),
    "Literal": _FirstWord(),
    **dict.fromkeys(("Sequence", "Iterable", "tuple"), _SEVERAL),
    "Mapping": _Items(),
    **{kind.__name__: kind for kind in (Fraction, date)},
    **{name: _named(name) for name in _OWN},
    "Callable": Callable,
}
"""Types that annotations of arguments name."""


class _Names(dict[str, Any]):
    """The names in annotations of arguments."""

    def __missing__(self, name: str) -> Any:
        return _evaluated(_ALIASES[name]) if name in _ALIASES else getattr(builtins, name, Any)


@functools.cache
def _evaluated(annotation: str) -> Any:
    holder = SimpleNamespace(__annotations__={"value": annotation})
    return get_type_hints(holder, {}, _Names(_NAMED))["value"]


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that raises `TypeError` for an argument of another type than its annotation."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        signature = _signature(function)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python's own words
        for name, value in given.items():
            parameter = signature.parameters[name]
            values = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
            annotation = "Any" if parameter.annotation is parameter.empty else parameter.annotation
            if wrong := [each for each in values if _mismatch(each, _evaluated(annotation)) is not None]:
                expected = re.sub(r"(?<![.\w])\w+", lambda word: _ALIASES.get(word[0], word[0]), annotation)
                message = f"{function.__qualname__}(): expected {expected} as `{name}`, got {_given(wrong[0])}"
                raise TypeError(message)
        return function(*args, **kwargs)

    return run


_signature = functools.cache(inspect.signature)


def check_method_arguments(cls: type[T]) -> type[T]:
    """Return a class whose public methods raise `TypeError` for an argument of another type than its annotation."""
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(cls, name, check_arguments(member))
    return cls


def _given(value: object) -> str:
    """Return the type of an argument; never the value."""
    name = "None" if value is None else type(value).__name__
    return f"{name} of {type(value[0]).__name__}" if isinstance(value, (list, tuple)) and value else name


def type_mismatch(value: object, kind: Any) -> str | None:
    """Return the actual and the expected type of a value; None if they match.

    A whole number also matches a fraction and a float, a fraction also a float; NaN is not a number. The fields of a
    dataclass are compared as well.
    """
    found = _mismatch(value, kind)
    if found is None:
        return None
    where, actual, expected = found
    if where:
        return f"{value_description(value)} whose {where} is {actual}, expected {expected}"
    return f"{actual}, expected {expected}"


def _mismatch(value: object, kind: Any) -> _Mismatch | None:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return None
    if origin in {Union, UnionType}:
        return _union_mismatch(value, inner)
    if isinstance(value, float) and math.isnan(value) and kind is not Real:
        return ("", "not a number", _type_description(kind))
    if origin is Literal:
        right = value in inner
    elif origin is type:
        right = isinstance(value, type) and issubclass(value, inner[0])
    elif kind in _NUMBERS:
        right = isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    else:
        right = isinstance(value, origin or kind)
    if not right:
        return ("", value_description(value), _type_description(kind))
    if origin not in {None, type, Literal, Callable}:
        return _item_mismatch(value, origin, inner)
    return _field_mismatch(value, kind) if has_fields(kind) else None


def _union_mismatch(value: object, kinds: tuple[Any, ...]) -> _Mismatch | None:
    """Return the mismatch of a value with several types: for the type that it is an instance of, if any."""
    found = [_mismatch(value, one) for one in kinds]
    if None in found:
        return None
    inside = (one for one in found if one is not None and (one[0] or one[1] == "not a number"))
    return next(inside, ("", value_description(value), " or ".join(map(_type_description, kinds))))


def _item_mismatch(value: Any, origin: Any, inner: tuple[Any, ...]) -> _Mismatch | None:
    """Return the mismatch of the first item of a collection that has another type."""
    if origin is _SEVERAL:
        items = [(item, inner[0]) for item in value] if isinstance(value, (list, tuple)) else []
    elif origin is tuple and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            return ("", f"a tuple of {len(value)}", f"one of {len(inner)}")
        items = list(zip(value, inner, strict=True))
    elif issubclass(origin, Mapping):
        items = [pair for key, item in value.items() for pair in ((key, inner[0]), (item, inner[1]))]
    else:
        items = [(item, inner[0]) for item in value]
    return next((("item", *found[1:]) for one, of in items if (found := _mismatch(one, of)) is not None), None)


def _field_mismatch(value: Any, kind: Any) -> _Mismatch | None:
    for name, of in _field_types(kind):
        found = _mismatch(getattr(value, name), of)
        if found is not None:
            return (f"`{name}`" if found[0] in {"", "item"} else f"`{name}`: {found[0]}", *found[1:])
    return None


@functools.cache
def _field_types(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((name, hints[name]) for name in field_names(kind))


def value_description(value: object) -> str:
    """Return the type of a value in words; never the value."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return _with_article(_type_name(type(value)))


def _type_description(kind: Any) -> str:
    if kind is NoneType:
        return "None"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) is type:
        return f"a class of {_type_name(get_args(kind)[0])}"
    return _with_article(_type_name(get_origin(kind) or kind))


def _type_name(kind: type) -> str:
    own = kind.__module__ in {"builtins", "fractions"} or kind.__module__.startswith(("rrpolicy", "collections"))
    return kind.__name__ if own else f"{kind.__module__}.{kind.__name__}"


def _with_article(word: str) -> str:
    return f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"
