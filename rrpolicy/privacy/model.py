"""What a privacy model is, and what an assessor offers the planner, the gate and the optimiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import BaseModel

from rrpolicy.channel.base import Axis, Channel
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Policy, Requirement

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)


class Order(StrEnum):
    """How one requirement stands to another."""

    STRONGER = "stronger"
    EQUAL = "equal"
    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"


class PrivacyModel(Protocol[Options]):
    """What may be required. The numbers are an assessor's business."""

    @property
    def name(self) -> str:
        """Return the name that policies use."""
        ...

    @property
    def options(self) -> type[Options]:
        """Return the class that validates a [[privacy]] entry's keys (without `model` and `where`)."""
        ...

    def describe(self, options: Options) -> str:
        """Return the requirement in words with its limit, such as `k >= 2`."""
        ...

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Return why the requirement cannot be asked of this policy, or None. No data are needed."""
        ...

    def compare(self, old: Options, new: Options) -> Order:
        """Return how the new requirement stands to the old one."""
        ...


@dataclass(frozen=True, slots=True)
class Smooth:
    """A requirement as an optimiser sees it: values that must be <= 0, and how they change.

    Attributes:
        value: keep probabilities -> constraint values, shape (c,): reached/limit - 1, or another number of that size.
            One probability for each Retention axis that exchanges something, in the channel's order: that of its
            largest block; the other blocks share its retention probability.
        jacobian: the same -> (c, axes).
        name: for messages.
    """

    value: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    name: str


@dataclass(frozen=True, slots=True)
class PerClass:
    """A requirement on single equivalence classes, for lattice search.

    Attributes:
        holds: histograms of the sensitive attribute, (classes, values) -> mask (classes,) of those that satisfy it.
        monotone: whether merging satisfying classes always satisfies it.
        monotone_with_suppression: the same when failing classes may be suppressed.
    """

    holds: Callable[[Array], Array]
    monotone: bool
    monotone_with_suppression: bool


@dataclass(frozen=True, slots=True)
class Assessor:
    """Decides a requirement for one channel kind. Keyed by (model, channel, axis kinds); overlaps are refused.

    Attributes:
        model: the privacy model's name.
        channel: the channel class it reads.
        axes: the axis classes it handles; empty for channels without axes.
        basis: the least that recomputes its number.
        reference: where the formula stands.
        supports: asked at check time, before any data: a reason refuses.
        assess: decides. Gets the original, or only the number of records (verify on public/).
        smooth: for optimisers; None if not offered. Gets records alone only if `basis` is CHANNEL or less.
        per_class: for lattice search; None if not offered.
    """

    model: str
    channel: type[Channel]
    axes: tuple[type[Axis], ...]
    basis: Basis
    reference: str
    assess: Callable[[Requirement, Channel, Original | int], Finding]
    supports: Callable[[Requirement, Policy, Sequence[type[Axis]]], str | None] = lambda *_: None
    smooth: Callable[[Requirement, Channel, Original | int], Smooth] | None = None
    per_class: Callable[[Requirement], PerClass] | None = None
