"""The attributes hidden in sets, as far as the policy determines them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrpolicy.plugin import Attribute, Requirement


@dataclass(frozen=True, slots=True)
class HiddenGroup:
    """A sensitive attribute, or several taken together, and the size of its sets.

    Attributes:
        attributes: in the policy's order.
        l: of the requirement.
        requirement: the entry that requires it.
    """

    attributes: tuple[Attribute, ...]
    l: Fraction
    requirement: Requirement

    @property
    def set_size(self) -> int:
        """Return the smallest whole number that is at least l."""
        return math.ceil(self.l)

    @property
    def values(self) -> int | None:
        """Return S, the number of values or combinations; None while a domain is unknown."""
        sizes = [None if a.domain is None else len(a.domain) for a in self.attributes]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    @property
    def name(self) -> str:
        """Return the attributes' names, quoted."""
        return " with ".join(f"'{a.name}'" for a in self.attributes)
