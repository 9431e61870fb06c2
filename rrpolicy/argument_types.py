"""Checks of arguments of public functions against their annotations, as far as these name types that are known here."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
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
_TYPES: Mapping[str, Any] = {
    "str": str,
    "int": Integral,
    "float": Real,
    "Fraction": Fraction,
    "date": date,
    "os.PathLike": os.PathLike,
    "Callable": Callable,
    "Mapping": Mapping,
}
"""Types that annotations name."""
_OWN = frozenset({"Release", "Condition", "Policy", "PlannedRelease", "Questionnaire", "VerificationLevel"})


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that raises `TypeError` for an argument of another type than its annotation."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        signature, kinds = _annotations(function)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python's own words
        for name, kind in kinds.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            values = () if name not in given else given[name] if several else (given[name],)
            if wrong := [value for value in values if not _fits(value, kind)]:
                expected = re.sub(r"(?<![.\w])\w+", lambda word: _ALIASES.get(word[0], word[0]), ast.unparse(kind))
                message = f"{function.__qualname__}(): expected {expected} as `{name}`, got {_described(wrong[0])}"
                raise TypeError(message)
        return function(*args, **kwargs)

    return run


def check_method_arguments(cls: type[T]) -> type[T]:
    """Return a class whose public methods raise `TypeError` for an argument of another type than its annotation."""
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(cls, name, check_arguments(member))
    return cls


@functools.cache
def _annotations(function: Callable[..., Any]) -> tuple[inspect.Signature, Mapping[str, ast.expr]]:
    """Return the signature, and the annotation of each parameter that has one."""
    signature = inspect.signature(function)
    stated = {p.name: p.annotation for p in signature.parameters.values() if p.annotation is not p.empty}
    return signature, {name: _expression(text) for name, text in stated.items()}


@functools.cache
def _expression(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits(value: Any, kind: ast.expr) -> bool:
    """Return whether a value is of a kind; of one that is not known here every value is."""
    if isinstance(kind, ast.BinOp):
        return _fits(value, kind.left) or _fits(value, kind.right)
    if isinstance(kind, ast.Constant):
        return value is None
    outer, item = (kind.value, kind.slice) if isinstance(kind, ast.Subscript) else (kind, None)
    name = ast.unparse(outer)
    if name in _ALIASES:
        return _fits(value, _expression(_ALIASES[name]))
    if name == "Literal":
        words: Any = item.elts[0] if isinstance(item, ast.Tuple) else item
        return isinstance(value, type(words.value))
    inside = value if item is not None and isinstance(value, (list, tuple)) else ()
    return _is_instance(value, name) and all(_fits(each, item) for each in inside if item)


def _is_instance(value: object, name: str) -> bool:
    if name in {"int", "float"}:
        return isinstance(value, _TYPES[name]) and not isinstance(value, bool)
    if name == "bool":
        return isinstance(value, Integral) or type(value).__name__ in {"bool", "bool_"}  # of numpy
    if name in {"Sequence", "Iterable", "tuple"}:
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    if name in _OWN:
        return any(cls.__name__ == name for cls in type(value).__mro__)
    return isinstance(value, _TYPES.get(name, object))


def _described(value: object) -> str:
    """Return what a value is; never the value."""
    name = "None" if value is None else type(value).__name__
    return f"{name} of {type(value[0]).__name__}" if isinstance(value, (list, tuple)) and value else name
