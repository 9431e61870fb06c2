"""Installed distributions that provide plugins, and the origin of a piece of code. Nothing of them is imported."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from types import MethodType

GROUP = "rrpolicy"
"""Group of entry points; the core's distribution has the same name."""


def installed_entry_points() -> Mapping[str, Sequence[importlib.metadata.EntryPoint]]:
    """Return the entry points of each distribution that provides plugins, by its canonical name.

    Other distributions are not parsed. If a distribution occurs twice on the search path, the first one counts,
    whatever it provides.
    """
    available: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for found in importlib.metadata.distributions():
        if f"[{GROUP}]" not in (found.read_text("entry_points.txt") or ""):
            continue
        name = _read_name(found)
        if not name:
            continue
        first = importlib.metadata.distribution(name)
        if first.locate_file("") == found.locate_file("") and canonicalize_name(name) not in available:
            entries = found.entry_points.select(group=GROUP)
            available[canonicalize_name(name)] = sorted(entries, key=lambda entry: entry.name)
    return available


def _read_name(found: importlib.metadata.Distribution) -> str:
    """Return a distribution's name, without parsing its other metadata; "" if it has no name."""
    told = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    named = re.search(r"^Name:[ \t]*(\S+)", told.partition("\n\n")[0], re.MULTILINE | re.IGNORECASE)
    return named[1] if named else ""


def canonicalize_name(name: str) -> str:
    """Return a distribution's normalised name by PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def providers() -> Mapping[str, tuple[str, str]]:
    """Return import package -> (name, version) of its distribution, for all distributions that provide plugins.

    The built-in plugins belong to `rrpolicy`, without a version.
    """
    found: dict[str, tuple[str, str]] = {}
    for name, entries in installed_entry_points().items():
        dist = entries[0].dist
        told = (GROUP, "") if name == GROUP else ("", "") if dist is None else (dist.name, dist.version)
        found |= dict.fromkeys((package for entry in entries for package in _entry_packages(entry)), told)
    return found


def find_author(thing: object) -> str:
    """Return the distribution and version of a function, a class or an object; `rrpolicy` for its code."""
    if isinstance(thing, MethodType):
        return find_author(thing.__self__)
    package = str(getattr(thing, "__module__", None) or type(thing).__module__).partition(".")[0]
    name, version = providers().get(package, (package, ""))
    return f"{name} {version}".rstrip()


def _entry_packages(entry: importlib.metadata.EntryPoint) -> set[str]:
    """Return the package of an entry point, and the others that its distribution lists."""
    files = (entry.dist.files if entry.dist else None) or ()
    others = {path.parts[0].removesuffix(".py") for path in files if path.suffix == ".py"}
    return {entry.value.partition(":")[0].partition(".")[0], *(name for name in others if name.isidentifier())}


def install(extra: str) -> str:
    """Return the command that installs the libraries of an extra, valid for a checkout and for a package.

    Args:
        extra: name of an extra of rrpolicy's distribution, such as `models`.
    """
    asked = (part.partition(";") for part in importlib.metadata.requires(GROUP) or ())
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    return "pip install " + " ".join(f"'{library.strip()}'" for library, _, of in asked if marker.search(of))
