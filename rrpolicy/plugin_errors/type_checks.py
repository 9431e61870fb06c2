"""Type checks of a plugin's return values at the call, so that no error results later in the core's code."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from rrpolicy.errors import PLUGIN_CONTRACT_CODE, Problem, RefusedError
from rrpolicy.plugin_errors.distributions import GROUP, find_author

P = ParamSpec("P")
R = TypeVar("R")
_Mismatch = tuple[str, str, str]
"""Path within the value; the actual value; the expected type."""
_NUMBERS: Mapping[type, tuple[type, ...]] = {float: (int, float, Fraction), Fraction: (int, Fraction), int: (int,)}


def check_return_type(kind: Any, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function of a plugin restricted to the return type of its protocol.

    Args:
        kind: the type, as in an annotation; the fields of a dataclass are checked as well.
        function: to be called.

    Raises:
        RefusedError: RR413 if another type is returned; for a function of the core `TypeError`.
    """

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            value = function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # raised inside the function
            raise plugin_contract_error(function, f"cannot be called as its protocol says: {error}") from error
        check_type(value, kind, function)
        return value

    return run


def check_type(value: object, kind: Any, function: object, name: str = "") -> None:
    """Refuse a value from a function or a property of a plugin if it does not match its protocol.

    Args:
        value: to check.
        kind: the type, as for `check_return_type`.
        function: that returned it; for a property, its object.
        name: of the property.

    Raises:
        RefusedError: RR413; for a function of the core, `TypeError`.
    """
    wrong = type_mismatch(value, kind)
    if wrong is not None:
        raise plugin_contract_error(function, f"is {wrong}" if name else f"returned {wrong}", name)


def check_protocol(value: object, members: Iterable[str], function: object) -> None:
    """Refuse a value from a function of a plugin if it lacks a member of its protocol; see `check_type`."""
    lacking = [member for member in members if not hasattr(value, member)]
    if lacking:
        raise plugin_contract_error(function, f"returned {_value_description(value)}, which lacks {', '.join(lacking)}")


def plugin_contract_error(function: object, wrong: str, name: str = "") -> Exception:
    """Return the error of a plugin's function that violates its protocol.

    Args:
        function: of the plugin; for a property, its object.
        wrong: description of the violation, such as `returned a dict, expected a Proposal`.
        name: of the property.
    """
    who = find_author(function)
    of = getattr(function, "__qualname__", type(function).__name__)
    told = f"`{of}.{name}` {wrong}" if name else f"`{of}` {wrong}"
    if who == GROUP:
        return TypeError(told)
    hint = f"it is a mistake of that plugin: report it to who writes {who.partition(' ')[0]}"
    return RefusedError(Problem(PLUGIN_CONTRACT_CODE, f"{who}: {told}", hint=hint))


def signature_mismatch(thing: object, protocol: type) -> str | None:
    """Return the function of an object, or of a class, whose arguments differ from its protocol's, else None."""
    for name, member in vars(protocol).items():
        stated = member.__func__ if isinstance(member, classmethod) else member
        own = getattr(thing, name, None)
        if name.startswith("_") or not inspect.isfunction(stated) or not callable(own):
            continue
        given = list(inspect.signature(stated).parameters.values())[1:]
        free = isinstance(thing, type) and inspect.isfunction(own)  # of a class: the first argument is the instance
        named = {p.name: None for p in given if p.kind is p.KEYWORD_ONLY}
        try:
            inspect.signature(own).bind(*[None] * (len(given) - len(named) + free), **named)
        except TypeError:
            expected = ", ".join(p.name for p in given) or "nothing"
            return f"`{name}` takes {inspect.signature(own)}, expected {expected}"
        except ValueError:  # it has no signature
            continue
    return None


def type_mismatch(value: object, kind: Any) -> str | None:
    """Return the actual and the expected type of a value; None if they match.

    A whole number is also a fraction and a float, a fraction also a float; NaN is no number.
    """
    told = _type_mismatch(value, kind)
    if told is None:
        return None
    where, is_, expected = told
    return (
        f"{_value_description(value)} whose {where} is {is_}, expected {expected}"
        if where
        else f"{is_}, expected {expected}"
    )


def _type_mismatch(value: object, kind: Any) -> _Mismatch | None:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return None
    if origin in {Union, UnionType}:
        return _union_mismatch(value, inner)
    if isinstance(value, float) and math.isnan(value):
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
        return ("", _value_description(value), _type_description(kind))
    if origin not in {None, type, Literal}:
        return _item_mismatch(value, origin, inner)
    return _field_mismatch(value, kind) if is_dataclass(kind) else None


def _union_mismatch(value: object, kinds: tuple[Any, ...]) -> _Mismatch | None:
    """Return how a value mismatches several types: for the one that it is an instance of, if any."""
    told = [_type_mismatch(value, one) for one in kinds]
    if None in told:
        return None
    inside = (one for one in told if one is not None and (one[0] or one[1] == "not a number"))
    return next(inside, ("", _value_description(value), " or ".join(map(_type_description, kinds))))


def _item_mismatch(value: Any, origin: Any, inner: tuple[Any, ...]) -> _Mismatch | None:
    """Return the mismatch of the first item of a tuple or mapping that has another type."""
    if origin is tuple and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            return ("", f"a tuple of {len(value)}", f"one of {len(inner)}")
        items = list(zip(value, inner, strict=True))
    elif issubclass(origin, Mapping):
        items = [pair for key, item in value.items() for pair in ((key, inner[0]), (item, inner[1]))]
    else:
        items = [(item, inner[0]) for item in value]
    return next((("item", *told[1:]) for one, of in items if (told := _type_mismatch(one, of)) is not None), None)


def _field_mismatch(value: Any, kind: Any) -> _Mismatch | None:
    for name, of in _field_types(kind):
        told = _type_mismatch(getattr(value, name), of)
        if told is not None:
            return (f"`{name}`" if told[0] in {"", "item"} else f"`{name}`: {told[0]}", *told[1:])
    return None


@functools.cache
def _field_types(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


def _value_description(value: object) -> str:
    """Return the type of a value in words; never the value."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return _with_article(_name(type(value)))


def _type_description(kind: Any) -> str:
    if kind is NoneType:
        return "None"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) is type:
        return f"a class of {_name(get_args(kind)[0])}"
    return _with_article(_name(get_origin(kind) or kind))


def _name(kind: type) -> str:
    own = kind.__module__ in {"builtins", "fractions"} or kind.__module__.startswith((GROUP, "collections"))
    return kind.__name__ if own else f"{kind.__module__}.{kind.__name__}"


def _with_article(word: str) -> str:
    return f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"
