"""`rrpolicy plugins` and `rrpolicy plugins new NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct

from rrpolicy.cli.terminal import print_json
from rrpolicy.drafting.scaffold.generator import KINDS, write_scaffold
from rrpolicy.escaping.printable import command_line, line, shell_quoted
from rrpolicy.plugin_spec import PluginInfo

if TYPE_CHECKING:
    from rrpolicy.registry import Registry


class PluginList(Struct, frozen=True):
    """The plugins and their offers.

    Attributes:
        plugins: the loaded plugins.
        offers: kind -> the names of the offered parts.
        installed_but_not_loaded: distributions that a policy can list.
    """

    schema: ClassVar[str] = "rrpolicy.plugins/1"

    plugins: tuple[PluginInfo, ...]
    offers: Mapping[str, tuple[str, ...]]
    installed_but_not_loaded: tuple[str, ...]


def command(
    plugins: Annotated[
        list[str] | None, typer.Option("--plugin", help="A distribution to load as well, such as acme-oue>=1.2.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """List the plugins and what each offers.

    The plugins of rrpolicy itself are always loaded; another distribution only when a policy lists it.
    """
    from rrpolicy.discovery import installed_distributions, load_registry

    registry = load_registry(plugins or ())
    loaded = {info.distribution for info in registry.plugins}
    waiting = [name for name in installed_distributions() if name not in loaded]
    if json:
        from rrpolicy.serialization import plain

        print_json(plain(PluginList(tuple(registry.plugins), _offered_names(registry), tuple(waiting))))
        return
    for info in registry.plugins:
        hooks = ", ".join(info.hooks) or "no hooks"
        print(line(f"{info.name}  {info.distribution} {info.version}: {hooks}"))
    print()
    for what, names in _offered_names(registry).items():
        print(line(f"{what}: {', '.join(names) or 'none'}"))
    for name in waiting:
        print(line(f'installed, not loaded: {name} (a policy loads it by `plugins = ["{name}"]`)'))


def _offered_names(registry: Registry) -> dict[str, tuple[str, ...]]:
    """Return the names of everything that the loaded plugins offer, by kind."""
    return {
        "mechanisms": tuple(sorted(registry.mechanisms)),
        "privacy models": tuple(sorted(registry.privacy_models)),
        "utility metrics": tuple(sorted(registry.utility_metrics)),
        "channels and axes": tuple(sorted(registry.kinds)),
        "sources": tuple(sorted(registry.sources)),
        "renderers": tuple(sorted(registry.renderers)),
        "formats": tuple(sorted(registry.formats)),
        "estimators": tuple(sorted(registry.estimators)),
        "codes of plugins": tuple(sorted(registry.codes)),
    }


def new(
    name: Annotated[str, typer.Argument(help="Of the distribution, such as acme-noise.", metavar="NAME")],
    kinds: Annotated[
        list[str], typer.Option("--kind", help=f"What it offers: {', '.join(KINDS)}. Again for each further one.")
    ],
    folder: Annotated[
        Path | None, typer.Option("--into", help="Where to write; by default a folder of that name.", metavar="DIR")
    ] = None,
) -> None:
    """Write the skeleton of a plugin, with tests that pass.

    It is a distribution of its own: what it offers is found by the entry point in its pyproject.toml, and loaded by
    policies that list it. Nothing is overwritten.
    """
    into = folder or Path(name)
    for path in write_scaffold(into, name, kinds):
        print(f"wrote {line(str(path))}")
    print(f"next: pip install -e {shell_quoted(str(into))} && pytest {shell_quoted(str(into))}")
    print(f"then: {command_line('plugins', options={'--plugin': name})}")
