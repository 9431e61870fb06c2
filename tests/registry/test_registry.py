"""Holding plugins: names taken twice, hooks that do not exist, assessors that overlap are refused, never resolved silently."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import rrpolicy.plugin
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.frozen import replace
from rrpolicy.planning.assess import channel_outline
from rrpolicy.plugin import hookimpl
from rrpolicy.plugin_errors.distributions import installed_entry_points
from rrpolicy.plugin_spec import Offer, PluginInfo
from rrpolicy.policy.model import Attribute
from rrpolicy.registry import Registry
from rrpolicy.testing import policy_of
from tests.models import assessors_of, requirement_of


def info(name: str) -> PluginInfo:
    return PluginInfo(name, f"acme-{name}", "1.0", ())


def plugin(hook: str, *things: object) -> Any:
    def offer() -> list[object]:
        return list(things)

    offer.__name__ = hook
    return SimpleNamespace(__name__="acme", **{hook: hookimpl(offer)})


def test_builtins_come_from_the_entry_points_of_the_distribution() -> None:
    registry = load_registry()

    assert {i.distribution for i in registry.plugins} == {"rrpolicy"}
    assert {"pk-anonymity", "local-dp"} <= set(registry.privacy_models)
    assert "pram" in registry.mechanisms
    assert {"product", "identity", "retention", "matrix"} <= set(registry.kinds)
    assert {"parquet", "csv"} & set(registry.sources) or registry.sources


def test_two_plugins_that_offer_one_mechanism_are_refused() -> None:
    offer = [
        plugin("rrpolicy_mechanisms", SimpleNamespace(name="pram", options=None, outline=None, plan=None))
        for _ in range(2)
    ]
    registry = Registry([("one", offer[0]), ("two", offer[1])], [info("one"), info("two")])

    with pytest.raises(RefusedError, match="RR405.*'pram': 'one' of 'acme-one' and 'two' of 'acme-two'"):
        _ = registry.mechanisms


def test_a_hook_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RefusedError, match="RR406"):
        Registry([("one", plugin("rrpolicy_mechanism"))], [info("one")])


def test_a_hook_that_fails_names_its_plugin() -> None:
    def offer() -> list[object]:
        raise RuntimeError("no licence")

    offer.__name__ = "rrpolicy_mechanisms"
    broken = SimpleNamespace(__name__="acme", rrpolicy_mechanisms=hookimpl(offer))
    registry = Registry([("broken", broken)], [info("broken")])

    with pytest.raises(
        RefusedError, match="RR406.*'broken' of 'acme-broken' failed in rrpolicy_mechanisms: RuntimeError: no licence"
    ):
        _ = registry.mechanisms


def test_a_listed_distribution_that_is_missing_is_refused_with_what_to_install() -> None:
    with pytest.raises(RefusedError) as caught:
        load_registry(["acme-nowhere>=1.2"])

    (problem,) = caught.value.problems
    assert problem.code == "RR404"
    assert problem.hint == "pip install 'acme-nowhere>=1.2'"


def test_a_listed_distribution_must_be_a_requirement() -> None:
    with pytest.raises(PolicyError, match="RR229"):
        load_registry(["not a requirement!"])


def test_the_builtin_distribution_of_another_version_is_refused() -> None:
    with pytest.raises(RefusedError, match="RR404.*is installed"):
        load_registry(["rrpolicy>=99"])


def test_what_plugins_import_is_listed_once_and_loads_when_asked_for():
    code = (
        "import sys, rrpolicy.plugin as plugin; assert not [m for m in sys.modules if m.startswith('rrpolicy.channels')];"
        "print(*(getattr(getattr(plugin, name), '__name__', name) for name in dir(plugin)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Mechanism" in done.stdout.split()
    assert len(done.stdout.split()) == len(set(rrpolicy.plugin.__all__))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rrpolicy.plugin.nothing  # noqa: B018


def test_a_distribution_counts_once_by_what_stands_first_on_the_path(tmp_path, monkeypatch) -> None:
    """As what is imported does: an older one behind it provides nothing, nor does one without a name."""
    for place, metadata, entries in (
        ("first", "Name: acme-one\nVersion: 2.0\n", "[console_scripts]\nacme = acme_one:main\n"),
        ("second", "Name: Acme_One\nVersion: 1.0\n", "[rrpolicy]\nacme = acme_one\n"),
        ("second", "Name: acme-two\nVersion: 1.0\n", "[rrpolicy]\nb = acme_two\na = acme_two\n"),
        ("second", "Version: 1.0\n", "[rrpolicy]\nlost = acme_lost\n"),
    ):
        name = metadata.partition("Name: ")[2].partition("\n")[0] or "lost"
        info = tmp_path / place / f"{name.replace('-', '_')}-{metadata[-4:-1]}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
        (info / "entry_points.txt").write_text(entries)
    for place in ("second", "first"):
        monkeypatch.syspath_prepend(str(tmp_path / place))

    found = installed_entry_points()

    assert set(found) == {"rrpolicy", "acme-two"}
    assert [entry.name for entry in found["acme-two"]] == ["a", "b"]
    assert found["acme-two"][0].dist.version == "1.0"


def test_an_offer_that_cannot_be_imported_names_its_plugin() -> None:
    registry = Registry([("one", plugin("rrpolicy_mechanisms", Offer("lost", "acme_nowhere:Lost")))], [info("one")])
    with pytest.raises(RefusedError, match="RR406: the plugin 'one'.* offers 'lost', which fails: ModuleNotFoundError"):
        _ = registry.mechanisms["lost"]


def test_two_plugins_that_open_one_kind_of_source_are_refused() -> None:
    core = load_registry().sources["csv"]
    offers = [("one", plugin("rrpolicy_sources", core)), ("two", plugin("rrpolicy_sources", core))]
    with pytest.raises(RefusedError, match="RR405: two plugins open '.+': 'one' and 'two'"):
        _ = Registry(offers, [info("one"), info("two")]).sources


def test_two_assessors_of_one_requirement_are_refused() -> None:
    age = Attribute("age", Role.QUASI_IDENTIFIER, ("young", "old"))
    policy = policy_of([age])
    assessors = [replace(assessors_of("k-anonymity")[0], axes=axes, needs=()) for axes in ((), (Identity,))]
    offers = [(name, plugin("rrpolicy_assessors", one)) for name, one in zip(("one", "two"), assessors, strict=True)]
    registry = Registry(offers, [info("one"), info("two")])
    with pytest.raises(RefusedError, match="RR405: two assessors handle 'k-anonymity'.*'one' and 'two'"):
        registry.assessor(requirement_of("k-anonymity", k=2), policy, channel_outline(Product.of([age], [])))
