"""What a plugin offers has what its protocol says, or is refused by name when it is loaded."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, Protocol

import pytest

from rrpolicy import hookspecs
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.errors import RefusedError
from rrpolicy.estimate.invert.estimator import Estimator
from rrpolicy.formats.format import Format
from rrpolicy.formats.parts import FileSink
from rrpolicy.hookspecs import hookimpl
from rrpolicy.mechanism import Mechanism
from rrpolicy.plugin_errors.type_checks import MEMBERS, signature_mismatch
from rrpolicy.plugin_spec import Offer, PluginInfo
from rrpolicy.privacy.model import Assessor, PrivacyModel
from rrpolicy.registry import Registry
from rrpolicy.report import Renderer
from rrpolicy.source.protocol import Source
from rrpolicy.utility.metric import UtilityMetric

PROTOCOLS: dict[str, tuple[str, str, type]] = {
    "mechanism": ("rrpolicy_mechanisms", "mechanisms", Mechanism),
    "privacy model": ("rrpolicy_privacy_models", "privacy_models", PrivacyModel),
    "utility metric": ("rrpolicy_utility_metrics", "utility_metrics", UtilityMetric),
    "source": ("rrpolicy_sources", "sources", Source),
    "renderer": ("rrpolicy_renderers", "renderers", Renderer),
    "format": ("rrpolicy_formats", "formats", Format),
    "sink": ("rrpolicy_sinks", "sinks", FileSink),
    "estimator": ("rrpolicy_estimators", "estimators", Estimator),
}


def function(options: Any = None) -> None:
    """Do nothing: an offer that points at it is a mistake."""


def registry(hook: str, *things: Any) -> Registry:
    plugin = SimpleNamespace(**{hook: hookimpl(specname=hook)(lambda: list(things))})
    return Registry([("wrong", plugin)], [PluginInfo("wrong", "acme-wrong", "1.0", ())])


def test_every_hook_has_its_members():
    hooks = [name for name in vars(hookspecs) if name.startswith("rrpolicy_") and name != "rrpolicy_codes"]  # pages
    assert len(hooks) == len(MEMBERS)
    assert MEMBERS.keys() == {*PROTOCOLS, "channel or axis kind", "assessor"}
    assert all(hasattr(Axis, m) or m in Axis.__annotations__ for m in MEMBERS["channel or axis kind"])
    assert set(MEMBERS["assessor"]) <= inspect.signature(Assessor).parameters.keys()


@pytest.mark.parametrize("what", PROTOCOLS)
def test_members_are_those_of_the_protocol(what):
    protocol = PROTOCOLS[what][2]
    stated = {n for n in (*vars(protocol), *protocol.__annotations__) if not n.startswith("_")}
    assert set(MEMBERS[what]) == stated


@pytest.mark.parametrize("what", PROTOCOLS)
@pytest.mark.parametrize("missing", ["first", "last"])
def test_what_lacks_one_is_refused_by_name(what, missing):
    hook, asked, _ = PROTOCOLS[what]
    lacking = MEMBERS[what][0 if missing == "first" else -1]
    thing = SimpleNamespace(**{m: "x" for m in MEMBERS[what] if m != lacking})

    told = rf"RR406: the plugin 'wrong' of 'acme-wrong' offers the {what} '.*', which is an object of class "
    with pytest.raises(RefusedError, match=told + rf"SimpleNamespace and lacks {lacking}"):
        getattr(registry(hook, thing), asked)


@pytest.mark.parametrize("what", [w for w in PROTOCOLS if w != "source"])
def test_an_offer_of_a_function_is_refused_when_it_is_used(what):
    hook, asked, _ = PROTOCOLS[what]
    offered = getattr(registry(hook, Offer("x", f"{__name__}:function")), asked)
    assert "x" in offered
    with pytest.raises(RefusedError, match=rf"offers the {what} 'x', which is a function and lacks name, "):
        _ = offered["x"]


def test_a_class_in_place_of_an_object_is_taken_for_what_it_has():
    class Model:
        name = "x"

    with pytest.raises(RefusedError, match="'x', which is a class and lacks options, describe, refuses, compare"):
        _ = registry("rrpolicy_privacy_models", Model).privacy_models


@pytest.mark.parametrize("what", PROTOCOLS)
def test_a_function_that_takes_other_arguments_is_refused_by_name(what):
    hook, asked, protocol = PROTOCOLS[what]
    name, member = next((n, m) for n, m in vars(protocol).items() if n in MEMBERS[what] and inspect.isfunction(m))
    thing = SimpleNamespace(**dict.fromkeys(MEMBERS[what], "x"))
    if what == "source":
        thing.schemes = (".x",)
    setattr(thing, name, lambda one, two, three, four, five, six: None)

    expected = ", ".join(list(inspect.signature(member).parameters)[1:])
    told = rf"RR406.* '.*', whose `{name}` takes \(one, two, three, four, five, six\), expected {expected}"
    with pytest.raises(RefusedError, match=told):
        getattr(registry(hook, thing), asked)
    setattr(thing, name, lambda *given: None)
    assert getattr(registry(hook, thing), asked)


@pytest.mark.parametrize(
    ("kind", "name", "expected"), [(Axis, "split", "codes, n, stream"), (Channel, "draw", "original, streams, sink")]
)
def test_a_kind_whose_function_takes_other_arguments_is_refused_by_name(kind, name, expected):
    wrong = type("Odd", (kind,), {"kind": "acme.odd", "version": 1, name: lambda self: None})
    whole = type("Odd", (kind,), {"kind": "acme.odd", "version": 1})

    with pytest.raises(RefusedError, match=rf"RR406.*'Odd', whose `{name}` takes \(self\), expected {expected}"):
        _ = registry("rrpolicy_channels", wrong).kinds
    assert registry("rrpolicy_channels", whole).kinds["acme.odd"] is whole


def test_a_function_without_a_signature_is_taken_as_it_is() -> None:
    class Picks(Protocol):
        def pick(self, first: int) -> int: ...

    assert signature_mismatch(SimpleNamespace(pick=max), Picks) is None
    assert "`pick` takes" in str(signature_mismatch(SimpleNamespace(pick=lambda: 0), Picks))
