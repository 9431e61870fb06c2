"""Skeleton of a plugin: a distribution with an example of each requested kind, with tests that pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from rrpolicy import __version__
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.safe_io.atomic_write import write_new

KINDS = {
    "mechanism": "a mechanism",
    "axis": "an axis of the product channel",
    "privacy-model": "a privacy model with its assessor",
    "metric": "a utility metric",
    "source": "a source",
    "renderer": "a renderer of the report",
    "format": "a format of released tables",
    "sink": "a sink of data files",
    "estimator": "an estimator",
}
"""Kinds of parts that a plugin may offer, with their names in sentences."""
IMPORTED = {"axis": "Axis", "source": "Source"}
OFFERED_OBJECTS = KINDS.keys() - IMPORTED.keys()
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write_scaffold(folder: Path, name: str, kinds: Collection[str]) -> tuple[Path, ...]:
    """Write a distribution: pyproject.toml, a package with its hooks, and a test of each kind by `rrpolicy.testing`.

    `kinds` are of `KINDS`, at least one. Returns the written files.
    """
    if not NAME.fullmatch(name):
        expected = "lower-case letters, digits and single hyphens, such as acme-noise"
        raise PolicyError(Problem("RR250", f"'{name}' is not a name for a plugin", None, expected))
    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong or not kinds:
        message = f"'{wrong[0]}' is nothing that a plugin offers" if wrong else "nothing is offered"
        raise PolicyError(Problem("RR250", message, None, f"one or more of: {', '.join(KINDS)}"))
    package = name.replace("-", "_")
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"src/{package}/__init__.py": "src/__init__.py",
    }
    for kind in KINDS:
        if kind in kinds:
            module = f"{kind.replace('-', '_')}.py"
            files |= {f"src/{package}/{module}": f"src/{module}", f"tests/test_{module}": f"tests/test_{module}"}
    major, minor = __version__.split(".")[:2]
    offers = [said for kind, said in KINDS.items() if kind in kinds]
    needed = {IMPORTED[kind] for kind in kinds if kind in IMPORTED} | (
        {"Offer"} if OFFERED_OBJECTS & set(kinds) else set()
    )
    told: dict[str, object] = {
        "distribution": name,
        "package": package,
        "kinds": tuple(kinds),
        "offers": " and ".join(filter(None, (", ".join(offers[:-1]), offers[-1]))),
        "imported": ", ".join([*sorted(needed), "hookimpl"]),
        "least": f"{major}.{minor}",
        "below": f"{major}.{int(minor) + 1}" if major == "0" else f"{int(major) + 1}",
    }
    return write_new(folder, {path: _template_writer(template, told) for path, template in files.items()})


def _template_writer(template: str, told: dict[str, object]) -> Callable[[Path], object]:
    from rrpolicy.escaping.templates import template_environment

    made = template_environment("rrpolicy.drafting.scaffold", lambda value: value, keep_trailing_newline=True)
    return partial(Path.write_text, data=made.get_template(f"{template}.jinja").render(told), encoding="utf-8")
