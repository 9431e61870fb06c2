"""Finding plugins: by entry point, distribution by distribution, imported only when they may be.

The entry points of the distribution `rrpolicy` are always available. Others load only when the caller's policy or the
command line lists their distribution; an unlisted one is never imported, so it cannot break or change anything. A
bundle cannot cause the import of a plugin that it names.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.errors import Place, PolicyError, Problem, RefusedError
from rrpolicy.plugin_errors.distributions import GROUP, canonicalize_name, installed_entry_points
from rrpolicy.plugin_spec import MissingPlugin, PluginInfo, Software
from rrpolicy.registry import Registry

if TYPE_CHECKING:
    from packaging.requirements import Requirement


class PluginRequest(Struct, frozen=True):
    """A distribution to load plugins from, with its position in the policy."""

    distribution: str
    entries: Sequence[importlib.metadata.EntryPoint]
    place: Place | None

    @property
    def version(self) -> str:
        """Return the installed version; each access parses the distribution's metadata."""
        found = self.entries[0].dist if self.entries else None
        return found.version if found else ""


def load_registry(
    plugins: Iterable[str] = (), place: Callable[[int], Place | None] = lambda _: None, planned: Software | None = None
) -> Registry:
    """Find and import the built-ins and the listed plugins.

    Args:
        plugins: distributions that the policy lists, as PEP 508 requirements such as `acme-oue>=1.2`.
        place: index in `plugins` -> position in the policy.
        planned: software of a plan to execute: plugins of it that are not installed are absent, and refused only if
            needed.

    Raises:
        PolicyError: RR229 if an entry is not a PEP 508 requirement.
        RefusedError: RR404 if a listed distribution is missing or of another version; RR405 if two distributions
            provide the same name; RR406 if a plugin fails on import.
    """
    available = installed_entry_points()
    wanted = {GROUP: PluginRequest(GROUP, available.get(GROUP, ()), None)}
    absent: list[MissingPlugin] = []
    for index, text in enumerate(plugins):
        gone = [] if planned is None else _uninstalled_plugins(text, available, planned)
        if gone:
            absent += gone
            continue
        found = _find_entry_points(text, available, place(index))
        wanted[found.distribution] = found
    _refuse_shared_names(wanted.values())
    loaded = [(entry.name, _import_plugin(entry, w)) for w in wanted.values() for entry in w.entries]
    infos: list[PluginInfo] = []
    for w in wanted.values():
        version = w.version
        infos += [PluginInfo(entry.name, w.distribution, version, ()) for entry in w.entries]
    named = {gone.plugin.distribution for gone in absent}
    return Registry(loaded, infos).beside(sorted(available.keys() - wanted.keys() - named), absent)


def load_allowed(stated: Software, allowed: Iterable[str]) -> Registry:
    """Import the built-ins, and the plugins of a release that the caller allows; the rest is absent.

    `allowed` are distributions that the caller lists, as PEP 508 requirements. Errors are those of `load_registry`.
    """
    trusted = {canonicalize_name(_parse_requirement(text, None).name): text for text in allowed}
    named = sorted({canonicalize_name(plugin.distribution) for plugin in stated.plugins} & trusted.keys())
    return with_missing_plugins(load_registry([trusted[name] for name in named]), stated)


def with_missing_plugins(registry: Registry, stated: Software) -> Registry:
    """Return a registry that knows the plugins of a release that the caller did not allow."""
    loaded = {canonicalize_name(plugin.distribution) for plugin in registry.plugins}
    absent = [
        MissingPlugin(
            plugin,
            "RR412",
            "is not loaded on the word of the release",
            f"a plugin is code that runs as you: if you trust it, add --plugin {plugin.distribution}",
        )
        for plugin in stated.plugins
        if canonicalize_name(plugin.distribution) not in loaded
    ]
    named = {canonicalize_name(gone.plugin.distribution) for gone in absent}
    return registry.beside((name for name in registry.unlisted if name not in named), absent)


def _uninstalled_plugins(text: str, available: Collection[str], planned: Software) -> list[MissingPlugin]:
    """Return those plugins of a listed distribution that a plan was made with, if it is no longer installed."""
    name = canonicalize_name(_parse_requirement(text, None).name)
    if name in available:
        return []
    return [
        MissingPlugin(plugin, "RR404", "is not installed", f"pip install '{plugin.distribution}=={plugin.version}'")
        for plugin in planned.plugins
        if canonicalize_name(plugin.distribution) == name
    ]


def installed_distributions() -> tuple[str, ...]:
    """Return the names of all distributions that provide plugins, loaded or not."""
    return tuple(sorted(installed_entry_points()))


def _parse_requirement(text: str, place: Place | None) -> Requirement:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement as error:
        message = f"'{text}' is not a distribution with a version range: {error}"
        raise PolicyError(Problem("RR229", message, place, 'such as "acme-oue>=1.2"')) from error


def _find_entry_points(
    text: str, available: Mapping[str, Sequence[importlib.metadata.EntryPoint]], place: Place | None
) -> PluginRequest:
    requirement = _parse_requirement(text, place)
    name = canonicalize_name(requirement.name)
    install = f"pip install '{text}'"
    if name not in available:
        raise RefusedError(
            Problem("RR404", f"no installed distribution '{requirement.name}' provides a plugin", place, hint=install)
        )
    wanted = PluginRequest(name, available[name], place)
    version = wanted.version
    if not requirement.specifier.contains(version, prereleases=True):
        message = f"'{requirement.name}' {version} is installed"
        raise RefusedError(Problem("RR404", message, place, str(requirement.specifier), install))
    return wanted


def _refuse_shared_names(wanted: Iterable[PluginRequest]) -> None:
    owner: dict[str, str] = {}
    for w in wanted:
        for entry in w.entries:
            if owner.setdefault(entry.name, w.distribution) != w.distribution:
                message = (
                    f"two installed distributions both provide the plugin '{entry.name}': "
                    f"'{owner[entry.name]}' and '{w.distribution}'"
                )
                hint = "uninstall one of them, or take it out of `plugins`"
                raise RefusedError(Problem("RR405", message, w.place, hint=hint))


def _import_plugin(entry: importlib.metadata.EntryPoint, wanted: PluginRequest) -> object:
    try:
        return entry.load()
    except Exception as error:
        message = (
            f"the plugin '{entry.name}' of '{wanted.distribution}' cannot be imported: {type(error).__name__}: {error}"
        )
        hint = "correct or reinstall it, or take it out of `plugins`"
        raise RefusedError(Problem("RR406", message, wanted.place, hint=hint)) from error
