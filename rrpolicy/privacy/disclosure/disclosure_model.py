"""The models of disclosure: axes that determine how they are read back, the table, and computation on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.base import Axis, Layout
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.epsilon.scope_loss import general_bound_measures, scope_loss
from rrpolicy.privacy.model import Assessor, PerClass, refuse_layout, unreadable_axes_reason

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.disclosure.risk import DisclosureRisk
    from rrpolicy.privacy.model import MinimumRisk, Smooth
    from rrpolicy.source.protocol import Original


class DisclosureFunctions(Struct, frozen=True):
    """The computation of a model of disclosure on product channels: numbers, finding, functions of `Assessor`."""

    risks: Callable[[Requirement, Product, Original], Iterable[DisclosureRisk]]
    finding: Callable[..., Finding]
    smooth: Callable[[Requirement, Product, Original], Smooth]
    floor: Callable[[Requirement, Product, Original, Collection[str]], Sequence[MinimumRisk]]
    sufficient: Callable[[Requirement, Policy], tuple[PerClass, ...]]
    least: Callable[[Requirement, Product, Original], Problem | None] = lambda *_: None

    def assess(self, requirement: Requirement, channel: Product, original: Original) -> Finding:
        """Return the finding of a requirement."""
        from rrpolicy.privacy.disclosure.risk import unhidden_assumption

        cases = tuple(self.risks(requirement, channel, original))
        revealed = dict.fromkeys(name for case in cases for name in case.revealed)
        rests_on = (*scope_loss(channel).assumptions, *unhidden_assumption(revealed))
        return self.finding(requirement, cases, rests_on, general_bound_measures(channel, original.records))

    def holds(self, requirement: Requirement, channel: Product, original: Original) -> bool:
        """Return the verdict alone."""
        return not any(case.fails for case in self.risks(requirement, channel, original))


class DisclosureModel(Struct, frozen=True):
    """A model of disclosure, for the assessors of every kind of channel.

    `unfit` returns why a requirement cannot be limited to its subgroup, `computed` loads the computation of a
    requirement. `layout` is that of `Assessor`, also checked when a channel is assessed; `foreseen` is the same for
    failures that do not depend on the table, which an assessment finds by itself.
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
        """Refuse axes that do not determine how they are read back, and subgroups by unknown attributes."""
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
