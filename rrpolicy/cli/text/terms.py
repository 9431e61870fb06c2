"""Terms of other programs that protect microdata, and the same or the nearest in rrpolicy: `terms.toml`."""

from __future__ import annotations

import importlib.resources
import re
import tomllib
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

_GREEK = str.maketrans({"α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon", "μ": "mu", "µ": "mu"})


class GlossaryTerm(Struct, frozen=True):
    """A term.

    Attributes:
        names: names of the term, the usual one first.
        here: the same in rrpolicy; "" if there is nothing.
        nearest: the nearest in rrpolicy; "" if there is the same.
        see: names that `rrpolicy explain` knows.
    """

    names: tuple[str, ...]
    meaning: str
    here: str = ""
    nearest: str = ""
    see: tuple[str, ...] = ()

    @property
    def done(self) -> str:
        """Return the same in rrpolicy, or a sentence on the nearest."""
        return self.here or f"rrpolicy does not do this. Nearest: {self.nearest}"

    def text(self) -> str:
        """Return all of it, in some lines."""
        others = [f"  also called: {', '.join(self.names[1:])}"] if self.names[1:] else []
        more = [f"  more: {'; '.join(f'rrpolicy explain {name}' for name in self.see)}"] if self.see else []
        lines = (f"{self.names[0]}: a term of statistical disclosure control", "", self.meaning, "", self.done)
        return "\n".join((*lines, *([""] if others or more else []), *others, *more))


def all_terms() -> tuple[GlossaryTerm, ...]:
    """Return the terms in the order of their table."""
    table = importlib.resources.files(__package__ or "").joinpath("terms.toml").read_text("utf-8")
    return tuple(
        GlossaryTerm(tuple(entry.pop("names")), see=tuple(entry.pop("see", ())), **entry)
        for entry in tomllib.loads(table)["term"]
    )


@cache
def terms_by_name() -> Mapping[str, GlossaryTerm]:
    """Return the terms by each of their names, as `spelling` has it."""
    return {normalise_spelling(name): term for term in all_terms() for name in term.names}


def normalise_spelling(name: str) -> str:
    """Return a name without spelling differences: capitals, hyphens, -ize for -ise, Greek letters, a plural."""
    letters = re.sub(r"[^a-z0-9]", "", name.casefold().translate(_GREEK))
    british = re.sub(r"iz(?=e|ing|ation)", "is", letters)
    return re.sub(r"(?<=[a-rt-z]{4})s$", "", british)
