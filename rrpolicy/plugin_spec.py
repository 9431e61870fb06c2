"""Offers of parts by name before they are imported, so that a policy loads only the parts that it uses."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Offer(Struct, frozen=True):
    """A name with the location of its implementation. Hooks return offers or the parts themselves.

    Attributes:
        name: name in policies; for assessors, the privacy model's name, or empty for several models.
        where: `package.module:attribute`; a class is called without arguments at its first use.
        channel: for assessors, the kind of channel that they handle; they are imported for no other. Empty: for any.
        recorded: for mechanisms, an earlier name, under which resolved policies record it: their digests, and with them
            plans, ledgers and series, remain valid after a change of name. Policies may use it too. Empty: the name.
        aliases: for mechanisms, other names that policies may use.
    """

    name: str
    where: str
    channel: str = ""
    recorded: str = ""
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """Import and return the part."""
        module, _, attribute = self.where.partition(":")
        thing = getattr(importlib.import_module(module), attribute)
        return thing() if isinstance(thing, type) else thing


class PluginInfo(Struct, frozen=True):
    """A loaded plugin: its entry point's name, its distribution and version, the hooks it implements."""

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ({self.distribution} {self.version})"


class MissingPlugin(Struct, frozen=True):
    """A plugin of a plan or a release that is not loaded.

    Attributes:
        plugin: name in the document.
        code: code of the problem if the plugin is needed: RR404, or RR412 if the caller does not allow it.
        why: continuation of a sentence after its name.
        hint: the action to take.
    """

    plugin: PluginInfo
    code: str
    why: str
    hint: str


class Software(Struct, frozen=True):
    """Dependencies of a plan: rrpolicy's version, and the plugins."""

    rrpolicy: str
    plugins: tuple[PluginInfo, ...]


class LazyMapping(Mapping[str, T], Generic[T]):
    """Parts by name, each made when first looked up. An alias also finds a part; only names are iterated over."""

    def __init__(
        self, names: Mapping[str, Any], make: Callable[[str, Any], T], aliases: Mapping[str, str] | None = None
    ) -> None:
        """Set the parts and the way to make them.

        `names` maps each name to the input of `make`, which is called once with both.
        """
        self._names, self._make, self.aliases = dict(names), make, dict(aliases or {})
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        name = self.aliases.get(name, name)
        if name not in self._made:
            self._made[name] = self._make(name, self._names[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self.aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
