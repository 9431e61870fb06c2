"""l-diversity: every equivalence class holds several sensitive values, none of them too common.

Of a class of n records with counts r_1 >= … >= r_m > 0 of its sensitive values:

    distinct    m >= l
    frequency   r_1 l <= n
    entropy     -sum (r_i/n) log(r_i/n) >= log l
    recursive   r_1 < c (r_l + … + r_m), and m >= l

References:
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, "l-Diversity: Privacy Beyond k-Anonymity", definitions 4.1
    (entropy) and 4.2 (recursive); Xiao, Tao 2006, "Anatomy", definition 2 (frequency).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical import exact
from rrpolicy.policy.model import Policy
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.sensitive import not_sensitive, targets

NAME = "l-diversity"
NOT_COVERED = (
    "How likely each of a class's values is for one person, if the adversary knows which are usual for such people.",
    "Values that differ in name and mean much the same.",
    "Adversaries who know another sensitive attribute, or more than what is released beside the sensitive ones.",
)


class Kind(StrEnum):
    """What is asked of a class's sensitive values."""

    DISTINCT = "distinct"
    FREQUENCY = "frequency"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class Options(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        kind: what is asked of a class's sensitive values.
        l: how many values; a whole number for `distinct` and `recursive`.
        c: of `recursive`: the commonest value is under c times what the values from the l-th on have together.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Annotated[Kind, Field(description="what is asked of the sensitive values of an equivalence class")]
    l: Annotated[Rational, Field(description="how many values, 1 at least; whole for `distinct` and `recursive`")]
    c: Annotated[Rational | None, Field(description="of `recursive`: r_1 < c (r_l + … + r_m)")] = None
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @model_validator(mode="after")
    def _stated(self) -> Self:
        if self.l < 1:
            raise ValueError(f"l must be 1 at least, got {exact(self.l)}")
        if self.kind in {Kind.DISTINCT, Kind.RECURSIVE} and self.l.denominator != 1:
            raise ValueError(f"l counts values in kind {self.kind.value}: a whole number, got {exact(self.l)}")
        if (self.kind is Kind.RECURSIVE) != (self.c is not None):
            raise ValueError("`c` belongs to kind recursive, and only there")
        if self.c is not None and self.c <= 0:
            raise ValueError(f"c must be over 0, got {exact(self.c)}")
        return self


class LDiversity:
    """The privacy model `l-diversity`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED

    def describe(self, options: Options) -> str:
        """Return such as `entropy l >= 3`, with the attributes where the entry names them."""
        words = f"{options.kind.value} l >= {exact(options.l)}"
        if options.c is not None:
            words = f"recursive (c, l) = ({exact(options.c)}, {exact(options.l)})"
        return words + (f" ({', '.join(options.sensitive)})" if options.sensitive else "")

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive, and more values than a domain has."""
        names = targets(options.sensitive, policy)
        reason = not_sensitive(names, policy)
        if reason is not None:
            return reason
        for name in names:
            domain = policy.attributes[name].domain
            if domain is not None and len(domain) < options.l:
                return f"l = {exact(options.l)} is out of reach: '{name}' has {len(domain)} categories"
        return None

    def compare(self, old: Options, new: Options) -> Order:
        """Compare l and c; frequency implies entropy, and entropy implies distinct, at the same l."""
        if (old.sensitive, old.c is None) != (new.sensitive, new.c is None):
            return Order.INCOMPARABLE
        changes = [(new.l > old.l) - (new.l < old.l), _STRENGTH[new.kind] - _STRENGTH[old.kind]]
        if old.c is not None and new.c is not None:
            changes.append((new.c < old.c) - (new.c > old.c))
        if any(c > 0 for c in changes) and any(c < 0 for c in changes):
            return Order.INCOMPARABLE
        return Order.STRONGER if max(changes) > 0 else Order.WEAKER if min(changes) < 0 else Order.EQUAL


_STRENGTH = {Kind.DISTINCT: 1, Kind.ENTROPY: 2, Kind.FREQUENCY: 3, Kind.RECURSIVE: 0}
