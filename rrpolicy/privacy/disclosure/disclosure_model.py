"""What the models of disclosure share: axes that tell how they are read back, the table, and nothing loaded before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.base import Axis, Layout
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import (
    Assessor,
    PerClass,
    refuse_layout,
    unreadable_axes_reason,
)

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.model import MinimumRisk, Smooth
    from rrpolicy.source.protocol import Original


@frozen
class DisclosureFunctions:
    """What computes a model of disclosure on product channels; each as of `Assessor`."""

    assess: Callable[[Requirement, Product, Original], Finding]
    holds: Callable[[Requirement, Product, Original], bool]
    smooth: Callable[[Requirement, Product, Original], Smooth]
    floor: Callable[[Requirement, Product, Original, Collection[str]], Sequence[MinimumRisk]]
    sufficient: Callable[[Requirement, Policy], tuple[PerClass, ...]]
    least: Callable[[Requirement, Product, Original], Problem | None] = lambda *_: None


@frozen
class DisclosureModel:
    """A model of disclosure as its assessors for every kind of channel need it.

    Attributes:
        name: of the model.
        reference: where the formula stands.
        adversary: whom it speaks of.
        assumptions: what it rests on in any case.
        unfit: why a requirement cannot be limited to its subgroup, or None.
        computed: loads what computes a requirement.
        layout: as of `Assessor`; asked again when a channel is assessed.
        foreseen: the same of what fails whatever the table is, which an assessment says by itself.
    """

    name: str
    reference: str
    adversary: str
    assumptions: tuple[str, ...]
    unfit: Callable[[Requirement, Policy], str | None]
    computed: Callable[[Requirement], DisclosureFunctions]
    layout: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] | None = None
    foreseen: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] = lambda *_: None

    def supports(self, requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Refuse axes that do not tell how they read back, and subgroups by what the attacker does not know."""
        return unreadable_axes_reason(axes) or self.unfit(requirement, policy)

    def assessor(self) -> Assessor:
        """Return the assessor for product channels."""

        def computed(requirement: Requirement, channel: Product, original: Original) -> DisclosureFunctions:
            axes = [(axis.attributes, type(axis)) for axis in channel.axes]
            refuse_layout(self.layout, requirement, original.policy, axes)
            return self.computed(requirement)

        return Assessor(
            self.name,
            Product,
            (Axis,),
            Basis.ORIGINAL,
            self.reference,
            lambda *asked: computed(*asked).assess(*asked),
            self.supports,
            lambda *asked: computed(*asked).smooth(*asked),
            holds=lambda *asked: computed(*asked).holds(*asked),
            layout=lambda *asked: (None if self.layout is None else self.layout(*asked)) or self.foreseen(*asked),
            floor=lambda requirement, *asked: self.computed(requirement).floor(requirement, *asked),
            adversary=self.adversary,
            assumptions=self.assumptions,
            monotone=True,
            sufficient=lambda requirement, *asked: self.computed(requirement).sufficient(requirement, *asked),
            least=lambda *asked: computed(*asked).least(*asked),
        )
