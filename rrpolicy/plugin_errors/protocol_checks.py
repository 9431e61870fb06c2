"""Checks of a plugin's offers against the protocol of their kind: members, and arguments of functions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import FunctionType

from rrpolicy.plugin_errors.distributions import GROUP
from rrpolicy.plugin_errors.type_checks import signature_mismatch

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
