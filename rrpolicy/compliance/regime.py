"""Clauses of a regime as data: files in `regimes/`, in rrpolicy's words, with their source."""

from __future__ import annotations

import importlib.resources
import tomllib
from functools import cache

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen

_FOLDER = "regimes"


@frozen
class Clause:
    """One clause of a regime.

    Attributes:
        id: as the regime numbers it.
        title: subject of the clause.
        needs: parts of a release that support it, by the names of `rrpolicy.compliance.citations`; empty if no part
            does.
        control: id of the corresponding control of NIST SP 800-53, as in NIST's catalogue of controls; None for any
            other clause.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    control: str | None = None


@frozen
class Regime:
    """A law, a standard or a guidance.

    Attributes:
        name: on the command line.
        title: of the regime.
        source: reference to the text, and the note that the words are rrpolicy's.
        clauses: in its order.
    """

    name: str
    title: str
    source: str
    clauses: tuple[Clause, ...]


@cache
def regime_names() -> tuple[str, ...]:
    """Return the names of all regimes."""
    folder = importlib.resources.files(__package__).joinpath(_FOLDER)
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_regime(name: str) -> Regime:
    """Return a regime.

    Raises:
        PolicyError: RR250 if no regime has that name.
    """
    if name not in regime_names():
        raise PolicyError(
            Problem("RR250", f"there is no regime '{name}'", expected=f"one of: {', '.join(regime_names())}")
        )
    file = importlib.resources.files(__package__).joinpath(_FOLDER, f"{name}.toml")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    clauses = tuple(Clause(c["id"], c["title"], tuple(c["needs"]), c.get("control")) for c in document["clause"])
    return Regime(name, document["title"], document["source"], clauses)
