"""Registry of plugins: found by entry point, loaded one by one, refused if two offer the same name.

The entry points of the distribution `rrpolicy` are always available. Others are imported only when a policy lists
their distribution; an unlisted one is never imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import pluggy
from msgspec import Struct, field
from pydantic import BaseModel

from rrpolicy import hookspecs
from rrpolicy.annotations import type_mismatch
from rrpolicy.errors import (
    CODE_PREFIX,
    DataError,
    MissingNameError,
    PolicyError,
    Problem,
    RefusedError,
)
from rrpolicy.frozen import replace
from rrpolicy.plugin_errors.distributions import GROUP
from rrpolicy.plugin_errors.type_checks import check_return_type, protocol_mismatch
from rrpolicy.plugin_spec import (
    LazyMapping,
    MissingPlugin,
    Offer,
    PluginInfo,
)
from rrpolicy.privacy.assessors import can_overlap, refuse_undecidable

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Channel
    from rrpolicy.estimate.invert.estimator import Estimator
    from rrpolicy.formats.format import Format
    from rrpolicy.formats.parts import FileSink
    from rrpolicy.mechanism import Mechanism, Outline
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.model import Assessor, PrivacyModel
    from rrpolicy.report import Renderer
    from rrpolicy.source.protocol import Source
    from rrpolicy.utility.metric import UtilityMetric

HOOKS: Mapping[str, str] = {
    "channel kind": "rrpolicy_channels",
    "axis kind": "rrpolicy_channels",
    "privacy model": "rrpolicy_privacy_models",
    "assessor": "rrpolicy_assessors",
    "utility metric": "rrpolicy_utility_metrics",
    "renderer": "rrpolicy_renderers",
    "format": "rrpolicy_formats",
}
"""Kind of a part that a plan or a release may need -> the hook that offers it."""
_CODE = re.compile(r"[A-Z][A-Z-]*[0-9]+")


class NameCatalogue(Struct, frozen=True):
    """A `Catalogue`: names and options classes."""

    mechanisms: Mapping[str, type[BaseModel]]
    privacy_models: Mapping[str, type[BaseModel]]
    utility_metrics: Mapping[str, type[BaseModel]]
    formats: Collection[str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    recorded: Mapping[str, str] = field(default_factory=dict)

    def keeping(self, mechanism: str, options: type[BaseModel]) -> NameCatalogue:
        """Return the names with one of a mechanism that may be absent; its options are then of the given class."""
        if mechanism in self.mechanisms:
            return self
        known = self.mechanisms
        names = dict.fromkeys([*known, mechanism])
        return replace(self, mechanisms=LazyMapping(names, lambda name, _: known.get(name, options), self.aliases))


class Registry:
    """Parts that plugins offer to one policy, by name. Each hook is called when it is first needed."""

    def __init__(self, plugins: Sequence[tuple[str, object]], infos: Sequence[PluginInfo]) -> None:
        """Register already imported plugins; use `load_registry` to find them.

        Args:
            plugins: (entry-point name, module or object with hook implementations).
            infos: their distributions and versions, in the same order.

        Raises:
            RefusedError: RR406 if a plugin implements an unknown hook.
        """
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        for name, plugin in plugins:
            self._manager.register(plugin, name=name)
        try:
            self._manager.check_pending()
        except pluggy.PluginValidationError as error:
            message = f"a plugin implements a hook that does not exist: {error}"
            raise RefusedError(Problem("RR406", message)) from error
        self._known: dict[tuple[str, type[Channel]], tuple[tuple[str, Assessor], ...]] = {}
        self._called: dict[str, list[tuple[str, Any]]] = {}
        self.absent: tuple[MissingPlugin, ...] = ()
        self.unlisted: tuple[str, ...] = ()
        self.plugins = tuple(
            PluginInfo(i.name, i.distribution, i.version, self._hooks(name))
            for i, (name, _) in zip(infos, plugins, strict=True)
        )

    def _hooks(self, name: str) -> tuple[str, ...]:
        plugin = self._manager.get_plugin(name)
        callers = self._manager.get_hookcallers(plugin) or []
        return tuple(sorted(caller.name for caller in callers))

    def _whose(self, name: str) -> str:
        """Return a plugin's name with its distribution, for messages."""
        return next((f"'{name}' of '{i.distribution}'" for i in self.plugins if i.name == name), f"'{name}'")

    def _call(self, hook: str, what: str) -> list[tuple[str, Any]]:
        """Return (plugin name, offered part) of every plugin, in the order of registration; call each hook once.

        Raises:
            RefusedError: RR406 if a hook fails, or offers a part of another kind.
        """
        if hook in self._called:
            return self._called[hook]
        offered: list[tuple[str, Any]] = []
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            try:
                offered += [(implementation.plugin_name, thing) for thing in implementation.function()]
            except Exception as error:
                raise RefusedError(
                    Problem(
                        "RR406",
                        f"the plugin {self._whose(implementation.plugin_name)} failed in {hook}: "
                        f"{type(error).__name__}: {error}",
                        hint="report it to its authors, or remove it from `plugins`",
                    )
                ) from error
        for plugin, thing in offered:
            if not isinstance(thing, Offer):
                self._refuse_unlike(plugin, thing, what)
        self._called[hook] = offered
        return offered

    def _refuse_unlike(self, plugin: str, thing: Any, what: str, key: str = "") -> None:
        """Raise RR406 if a part lacks a member of its protocol, or has a function with other arguments."""
        wrong = protocol_mismatch(thing, what)
        if wrong:
            name = key or getattr(thing, "name", None) or getattr(thing, "__name__", type(thing).__name__)
            raise RefusedError(
                Problem(
                    "RR406",
                    f"the plugin {self._whose(plugin)} offers the {what} '{name}', {wrong}",
                    hint="implement its protocol in `rrpolicy.plugin`",
                )
            )

    def _named(self, hook: str, name: Callable[[Any], str], what: str) -> LazyMapping[Any]:
        """Return the parts that a hook offers by name; an `Offer` is imported when first looked up."""
        found: dict[str, tuple[str, Any]] = {}
        claimed: dict[str, str] = {}
        aliases: dict[str, str] = {}
        for plugin, thing in self._call(hook, what):
            key = thing.name if isinstance(thing, Offer) else name(thing)
            for each in (key, *_other_names(thing)):
                if each in claimed:
                    whose = f"{self._whose(claimed[each])} and {self._whose(plugin)}"
                    hint = "uninstall one of them, or take it out of `plugins`"
                    raise RefusedError(Problem("RR405", f"two plugins offer the {what} '{each}': {whose}", hint=hint))
                claimed[each] = plugin
            found[key] = (plugin, thing)
            aliases |= dict.fromkeys(_other_names(thing), key)
        return LazyMapping(found, lambda key, offered: self._load(key, offered[0], offered[1], name, what), aliases)

    def _load(self, key: str, plugin: str, thing: Any, name: Callable[[Any], str], what: str = "") -> Any:
        """Return the part behind an offer; refuse one that cannot be imported, lacks a member or has another name."""
        if not isinstance(thing, Offer):
            return thing
        try:
            loaded = thing.load()
        except Exception as error:
            message = f"the plugin '{plugin}' offers '{key}', which fails: {type(error).__name__}: {error}"
            raise RefusedError(Problem("RR406", message)) from error
        self._refuse_unlike(plugin, loaded, what, key)
        if name(loaded) != key:
            raise RefusedError(Problem("RR406", f"the plugin '{plugin}' offers '{key}', which calls itself otherwise"))
        return loaded

    @cached_property
    def mechanisms(self) -> LazyMapping[Mechanism[Any]]:
        """Return mechanisms by name or alias."""
        return self._named("rrpolicy_mechanisms", lambda m: m.name, "mechanism")

    @cached_property
    def privacy_models(self) -> LazyMapping[PrivacyModel[Any]]:
        """Return privacy models by name."""
        return self._named("rrpolicy_privacy_models", lambda m: m.name, "privacy model")

    @cached_property
    def utility_metrics(self) -> LazyMapping[UtilityMetric[Any]]:
        """Return utility metrics by name."""
        return self._named("rrpolicy_utility_metrics", lambda m: m.name, "utility metric")

    @cached_property
    def renderers(self) -> Mapping[str, Renderer]:
        """Return report renderers by name."""
        return self._named("rrpolicy_renderers", lambda r: r.name, "renderer")

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """Return formats of released tables by name."""
        return self._named("rrpolicy_formats", lambda f: f.name, "format")

    @cached_property
    def sinks(self) -> Mapping[str, FileSink]:
        """Return writers of released files by name."""
        return self._named("rrpolicy_sinks", lambda s: s.name, "sink")

    @cached_property
    def estimators(self) -> Mapping[str, Estimator]:
        """Return estimators by name."""
        return self._named("rrpolicy_estimators", lambda e: e.name, "estimator")

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """Return engines by URI scheme or file ending."""
        schemes: dict[str, tuple[str, Source]] = {}
        for plugin, source in self._call("rrpolicy_sources", "source"):
            for scheme in source.schemes:
                if scheme in schemes:
                    raise RefusedError(
                        Problem("RR405", f"two plugins open '{scheme}': '{schemes[scheme][0]}' and '{plugin}'")
                    )
                schemes[scheme] = (plugin, source)
        return {scheme: source for scheme, (_, source) in schemes.items()}

    def holding(self, plugins: Mapping[str, object]) -> Registry:
        """Return the registry with the caller's plugins in addition to those that were found.

        Args:
            plugins: modules or objects with hook implementations, by name.

        Raises:
            RefusedError: RR406 if one implements an unknown hook.
        """
        found = [(info.name, self._manager.get_plugin(info.name)) for info in self.plugins]
        held = [PluginInfo(name, name, "", ()) for name in plugins]
        whole = Registry([*found, *plugins.items()], [*self.plugins, *held])
        return whole.beside(self.unlisted, self.absent)

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """Return the pages on codes of plugins, by code.

        Raises:
            RefusedError: RR405 if rrpolicy or another plugin has the same code, RR406 if it is not a code.
        """
        found: dict[str, tuple[str, str]] = {}
        for plugin, offered in self._call("rrpolicy_codes", "page on a code"):
            wrong = type_mismatch(offered, tuple[str, str])
            code, page = ("", "") if wrong else offered
            if wrong or not _CODE.fullmatch(code) or not page.strip():
                told = wrong or f"the code {code!r}" + ("" if page.strip() else " without a page")
                message = f"the plugin {self._whose(plugin)} offers a page on a code that is {told}"
                hint = "offer pairs such as ('ACME101', '# ACME101: ...'): capital letters and a number, and Markdown"
                raise RefusedError(Problem("RR406", message, hint=hint))
            other = (
                "rrpolicy" if code.startswith(CODE_PREFIX) else self._whose(found[code][0]) if code in found else None
            )
            if other is not None:
                message = f"the plugin {self._whose(plugin)} offers a page on {code}, which is a code of {other}"
                raise RefusedError(Problem("RR405", message, hint="begin codes with a name of the plugin's own"))
            found[code] = (plugin, page)
        return {code: page for code, (_, page) in found.items()}

    def opening(self, engines: Mapping[str, Source]) -> Registry:
        """Return the registry with the caller's engines, by scheme, in addition to those of the plugins."""
        if not engines:
            return self
        found = copy(self)
        found.sources = {**self.sources, **engines}
        return found

    def beside(self, unlisted: Iterable[str], absent: Iterable[MissingPlugin] = ()) -> Registry:
        """Return the registry with the plugins that are not loaded, for messages.

        Args:
            unlisted: installed distributions that no policy or call lists.
            absent: plugins that a plan or a release was made with.
        """
        found = copy(self)
        found.unlisted, found.absent = tuple(unlisted), tuple(absent)
        return found

    @contextmanager
    def naming_absent(self) -> Iterator[None]:
        """Add to errors on unknown names in a document the absent plugins that may offer them.

        Raises:
            RefusedError: RR404 or RR412.
        """
        try:
            yield
        except MissingNameError as error:
            self.refuse_absent(error.what, error.name)
            raise

    def refuse_absent(self, what: str, name: str) -> None:
        """Refuse a name that no loaded plugin offers, if an absent plugin may.

        Args:
            what: kind of the part; a key of `HOOKS`.
            name: name of the part.

        Raises:
            RefusedError: RR404 if the plugin is not installed, RR412 if the caller does not allow it.
        """
        may = [absent for absent in self.absent if HOOKS[what] in absent.plugin.hooks]
        if may:
            whose = " or ".join(dict.fromkeys(f"{a.plugin.distribution} {a.plugin.version}" for a in may))
            message = f"no loaded plugin offers the {what} '{name}'; it needs {whose}, which {may[0].why}"
            raise RefusedError(Problem(may[0].code, message, hint=" or ".join(dict.fromkeys(a.hint for a in may))))

    @contextmanager
    def naming_engines(self) -> Iterator[None]:
        """Add to errors on tables that no loaded engine opens (RR301) the plugins that may.

        Raises:
            DataError: as raised, with these plugins.
        """
        try:
            yield
        except DataError as error:
            raise DataError([self.hinted(p) if p.code == "RR301" else p for p in error.problems]) from error

    def hinted(self, problem: Problem) -> Problem:
        """Return a problem on a name that no loaded plugin offers, with the plugins that may."""
        gone = dict.fromkeys(f"{a.plugin.distribution} {a.plugin.version} {a.why}: {a.hint}" for a in self.absent)
        hints = [*([problem.hint] if problem.hint else []), *gone]
        if self.unlisted:
            told = "if a plugin offers it, list it in `plugins` under [policy], or with --plugin where a command has it"
            hints.append(f"{told}; installed and not listed: {', '.join(self.unlisted)}")
        return replace(problem, hint="; ".join(hints) or None)

    @cached_property
    def kinds(self) -> Mapping[str, type[Channel | Axis]]:
        """Return channel and axis classes by kind."""
        return self._named("rrpolicy_channels", lambda c: c.kind, "channel or axis kind")

    @cached_property
    def _offered(self) -> Mapping[str, Sequence[tuple[str, Any]]]:
        """Return (plugin name, assessor or offer of some) by privacy model; None for those of the model itself."""
        offered: dict[str, list[tuple[str, Any]]] = {}
        for plugin, thing in self._call("rrpolicy_privacy_models", "privacy model"):
            offered.setdefault(thing.name, []).append((plugin, None))
        for plugin, thing in self._call("rrpolicy_assessors", "assessor"):
            offered.setdefault(thing.name if isinstance(thing, Offer) else thing.model, []).append((plugin, thing))
        return offered

    def _assessors(self, model: str, channel: type[Channel]) -> tuple[tuple[str, Assessor], ...]:
        """Return (plugin name, assessor) of one model on one channel.

        Raises:
            RefusedError: RR405 if two assessors cover the same requirement.
        """
        if (model, channel) in self._known:
            return self._known[model, channel]
        kinds = {"", *(vars(c).get("kind") for c in channel.__mro__)}
        known: list[tuple[str, Assessor]] = []
        for plugin, thing in (*self._offered.get(model, ()), *self._offered.get("", ())):
            if isinstance(thing, Offer) and thing.channel not in kinds:
                continue
            for assessor in self._load_assessors(model, plugin, thing):
                for other_plugin, other in known:
                    if can_overlap(assessor, other):
                        raise RefusedError(
                            Problem(
                                "RR405",
                                f"two assessors handle '{model}' on '{assessor.channel.kind}' channels: "
                                f"of '{other_plugin}' and '{plugin}'",
                            )
                        )
                known.append((plugin, assessor))
        self._known[model, channel] = tuple(known)
        return tuple(known)

    def _load_assessors(self, model: str, plugin: str, thing: Any) -> Iterable[Assessor]:
        """Return the assessors that a model brings itself (None), those behind an offer, or the one that is given."""
        if thing is None:
            own: Iterable[Assessor] = getattr(self.privacy_models[model], "assessors", tuple)()
            return own
        loaded = self._load(model, plugin, thing, lambda _: model)
        if not isinstance(thing, Offer):
            return (loaded,)
        return loaded() if thing.name else [assessor for assessor in loaded() if assessor.model == model]

    @cached_property
    def _recorded(self) -> Mapping[str, str]:
        """Return the earlier names of mechanisms in resolved policies, by name."""
        offers = [offer for _, offer in self._call("rrpolicy_mechanisms", "mechanism") if isinstance(offer, Offer)]
        return {offer.name: offer.recorded for offer in offers if offer.recorded}

    @property
    def catalogue(self) -> NameCatalogue:
        """Return the names and options classes that the policy language needs."""
        return NameCatalogue(
            _options_classes(self.mechanisms),
            _options_classes(self.privacy_models),
            _options_classes(self.utility_metrics),
            self.formats,
            self.mechanisms.aliases,
            self._recorded,
        )

    def provider(self, assessor: Assessor) -> str:
        """Return the origin of an assessor: the plugin, its distribution and version."""
        plugin = next(plugin for plugin, known in chain.from_iterable(self._known.values()) if known is assessor)
        return str(next(info for info in self.plugins if info.name == plugin))

    def assessor(self, requirement: Requirement, policy: Policy, outline: Outline) -> Assessor:
        """Return the assessor of a requirement for the planned channel of a mechanism.

        Raises:
            PolicyError: RR228 if there is no assessor or it refuses, RR227 if it refuses the grouping of attributes,
                RR223 if the policy requires an estimate and there is none, RR246 if it covers single records and a
                unit may have several: never a silent pass.
            RefusedError: RR404 or RR412 if there is no assessor, and an absent plugin may offer it.
        """
        axes = tuple(dict.fromkeys(axis for _, axis in outline.axes))
        reasons: list[str] = []
        for _, assessor in self._assessors(requirement.model, outline.channel):
            if not issubclass(outline.channel, assessor.channel):
                continue
            if assessor.needs and not any(issubclass(a, assessor.needs) for a in axes):
                continue
            foreign = [a.kind for a in axes if not issubclass(a, assessor.axes)] if assessor.axes else []
            reason = check_return_type(str | None, assessor.supports)(requirement, policy, axes)
            if reason is None and not foreign:
                refuse_undecidable(assessor, requirement, policy, outline.axes)
                return assessor
            reasons.append(reason or f"no rule for axes of kind {', '.join(sorted(foreign))}")
        self.refuse_absent("assessor", requirement.model)
        kinds = ", ".join(sorted({a.kind for a in axes})) or "none"
        raise PolicyError(
            Problem(
                "RR228",
                f"nothing can assess '{requirement.model}' on a '{outline.channel.kind}' channel (axes: {kinds})"
                + (f": {'; '.join(reasons)}" if reasons else ""),
                requirement.place,
                hint="remove the obstacle, remove the requirement, or choose another mechanism"
                if reasons
                else "take the requirement out, choose another mechanism, or list a plugin that brings an assessor",
            )
        )


def _other_names(thing: Any) -> tuple[str, ...]:
    """Return the aliases of an offered part, each once."""
    names = (thing.recorded, *thing.aliases) if isinstance(thing, Offer) else ()
    return tuple(dict.fromkeys(name for name in names if name and name != thing.name))


def _options_classes(things: LazyMapping[Any]) -> LazyMapping[type[BaseModel]]:
    """Return the options class of each part; a part is imported only when its class is looked up."""
    return LazyMapping(dict.fromkeys(things), lambda name, _: things[name].options, things.aliases)
