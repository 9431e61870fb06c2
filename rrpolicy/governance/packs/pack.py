"""The packs: their list, their sources, and copies of them to extend.

A policy extends a file of its repository, never one of a program. A reader of the policy can read its floor, another
version of rrpolicy changes nothing, and the bundle of a release keeps the file with its digest.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from rrpolicy.canonical_json import digest
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.safe_io.atomic_write import write_new

_SOURCE = "# Source: "
_FILES = files("rrpolicy.governance.packs") / "files"


class BaselinePack(Struct, frozen=True):
    """A baseline that comes with rrpolicy.

    Attributes:
        title: its subject, in a sentence.
        asks: its requirements on a policy that extends it, in a line.
        sources: references.
        digest: digest of its bytes, as in audit/ of a release if the file was not changed.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("text",)

    name: str
    version: str
    title: str
    asks: str
    sources: tuple[str, ...]
    digest: str
    text: str


class PackList(Struct, frozen=True):
    """The baselines that come with rrpolicy.

    Attributes:
        packs: each, without its text.
    """

    schema: ClassVar[str] = "rrpolicy.packs/1"

    packs: tuple[BaselinePack, ...]


def packs() -> tuple[BaselinePack, ...]:
    """Return every pack, by name."""
    names = sorted(file.name.removesuffix(".toml") for file in _FILES.iterdir() if file.name.endswith(".toml"))
    return tuple(_read_pack(name) for name in names)


def pack(name: str) -> BaselinePack:
    """Return one pack."""
    known = {each.name: each for each in packs()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else None
        raise PolicyError(Problem("RR250", f"there is no pack '{name}'", None, f"one of: {', '.join(known)}", hint))
    return known[name]


def write_pack(name: str, folder: Path) -> Path:
    """Write a pack into a folder, for policies to extend."""
    content = pack(name).text.encode()
    (written,) = write_new(folder, {f"{name}.toml": partial(Path.write_bytes, data=content)})
    return written


def _read_pack(name: str) -> BaselinePack:
    content = (_FILES / f"{name}.toml").read_bytes()
    text = content.decode()
    lines = text.splitlines()
    sources = tuple(line.removeprefix(_SOURCE) for line in lines if line.startswith(_SOURCE))
    stated = tomllib.loads(text)
    title = lines[0].removeprefix("# ").partition(": extend it")[0]
    return BaselinePack(
        name, stated["policy"]["version"], title, "; ".join(_pack_requirements(stated)), sources, digest(content), text
    )


def _pack_requirements(stated: Mapping[str, Any]) -> Iterator[str]:
    for entry in stated.get("privacy", ()):
        options = ", ".join(f"{key} {value}" for key, value in entry.items() if key != "model")
        yield f"{entry['model']} ({options})"
    yield from (f"{key} {value}" for key, value in stated.get("source", {}).items())
    context = stated.get("context", {})
    yield from (f"{key} one of {', '.join(values)}" for key, values in context.get("allows", {}).items())
    yield f"states {', '.join(context.get('demands', ()))}"
