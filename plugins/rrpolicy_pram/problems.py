"""Problems of the options, collected so that all are reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rrpolicy.plugin import Attribute, Policy, Problem
from rrpolicy_pram.options import Label


@dataclass
class ProblemCollector:
    """Problems under [mechanism], each with its place."""

    policy: Policy
    problems: list[Problem] = field(default_factory=list)

    def add(self, code: str, message: str, key: str, *, expected: str | None = None, hint: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(Problem(code, message, self.policy.place(f"mechanism.{key}"), expected, hint))


def quoted_names(attributes: Iterable[Attribute]) -> str:
    """Return an attribute's name in quotes; for attributes that are randomised together all of them."""
    return " with ".join(f"'{a.name}'" for a in attributes)


def quoted_labels(labels: Iterable[Label], most: int = 5) -> str:
    """Return the first categories in quotes, and the number of the others."""
    known = [" x ".join(f"'{v}'" for v in (label if isinstance(label, tuple) else (label,))) for label in labels]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) or "none") + more
