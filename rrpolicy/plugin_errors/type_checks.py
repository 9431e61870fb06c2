"""Type checks of a plugin's return values at the call, so that no error results later in the core's code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from rrpolicy.annotations import type_mismatch, value_description
from rrpolicy.errors import PLUGIN_CONTRACT_CODE, Problem, RefusedError
from rrpolicy.plugin_errors.distributions import GROUP, find_author

P = ParamSpec("P")
R = TypeVar("R")


def check_return_type(kind: Any, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function of a plugin restricted to the return type of its protocol.

    The fields of a dataclass are checked as well.

    Raises:
        RefusedError: RR413 if another type is returned; for a function of the core `TypeError`.
    """

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            value = function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # raised inside the function
            raise plugin_contract_error(function, f"cannot be called as its protocol requires: {error}") from error
        check_type(value, kind, function)
        return value

    return run


def check_type(value: object, kind: Any, function: object, name: str = "") -> None:
    """Refuse a value from a function or a property of a plugin if it does not match its protocol.

    For a property, `function` is its object and `name` its name.

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
        raise plugin_contract_error(function, f"returned {value_description(value)}, which lacks {', '.join(lacking)}")


def plugin_contract_error(function: object, wrong: str, name: str = "") -> Exception:
    """Return the error of a plugin's function that violates its protocol.

    `wrong` describes the violation, such as `returned a dict, expected a Proposal`. For a property, `function` is its
    object and `name` its name.
    """
    who = find_author(function)
    of = getattr(function, "__qualname__", type(function).__name__)
    told = f"`{of}.{name}` {wrong}" if name else f"`{of}` {wrong}"
    if who == GROUP:
        return TypeError(told)
    hint = f"it is an error of that plugin: report it to the authors of {who.partition(' ')[0]}"
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


MEMBERS: Mapping[str, tuple[str, ...]] = {
    "mechanism": ("name", "options", "outline", "plan"),
    "channel or axis kind": ("kind", "version", "from_json"),
    "privacy model": ("name", "options", "describe", "refuses", "compare"),
    "assessor": ("model", "channel", "axes", "assess"),
    "utility metric": ("name", "options", "meaning", "unfit", "expected", "realised"),
    "source": ("schemes", "open"),
    "renderer": ("name", "suffix", "render"),
    "format": ("name", "media_type", "packaged", "alone", "same_bytes", "note", "writer", "relation", "sql"),
    "sink": ("name", "writer"),
    "estimator": ("name", "told", "counts"),
}
"""Kind of an offer -> the members that its protocol requires."""
PROTOCOLS: Mapping[str, str] = {
    "mechanism": "rrpolicy.mechanism:Mechanism",
    "privacy model": "rrpolicy.privacy.model:PrivacyModel",
    "utility metric": "rrpolicy.utility.metric:UtilityMetric",
    "source": "rrpolicy.source.protocol:Source",
    "renderer": "rrpolicy.report:Renderer",
    "format": "rrpolicy.formats.format:Format",
    "sink": "rrpolicy.formats.parts:FileSink",
    "estimator": "rrpolicy.estimate.invert.estimator:Estimator",
}
"""Kind of an offer -> the protocol whose functions the offer's must match in their arguments."""
KIND = "channel or axis kind"
KINDS = ("rrpolicy.channels.base:Channel", "rrpolicy.channels.base:Axis")
"""Base classes of kinds; the class is checked against the base that it inherits."""


def protocol_mismatch(thing: object, what: str) -> str:
    """Return the difference between an object and its protocol in words; "" if it conforms.

    `what` is a key of `MEMBERS`.
    """
    lacking = [member for member in MEMBERS.get(what, ()) if not hasattr(thing, member)]
    if lacking:
        return f"which is {_type_description(thing)} and lacks {', '.join(lacking)}"
    of = thing if isinstance(thing, type) else type(thing)
    if of.__module__.startswith(GROUP):
        return ""
    if what == KIND:
        told = [base for base in map(_resolve, KINDS) if issubclass(of, base)]
    else:
        told = [_resolve(PROTOCOLS[what])] if what in PROTOCOLS else []
    wrong = signature_mismatch(thing, told[0]) if told else None
    return "" if wrong is None else f"whose {wrong}"


def _resolve(name: str) -> type:
    module, _, attribute = name.partition(":")
    found: type = getattr(import_module(module), attribute)
    return found


def _type_description(thing: object) -> str:
    if isinstance(thing, type):
        return "a class"
    return "a function" if isinstance(thing, FunctionType) else f"an object of class {type(thing).__name__}"
