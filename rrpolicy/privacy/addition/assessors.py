"""The assessors of released sets: of how often a value is named, and of what a set tells of its record."""

from __future__ import annotations

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis
from rrpolicy.privacy.addition import closeness, diversity
from rrpolicy.privacy.model import Assessor
from rrpolicy.privacy.models.l_diversity import LDiversity
from rrpolicy.privacy.models.t_closeness import TCloseness


def l_diversity_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of `l-diversity` for product channels with sets."""
    return (
        Assessor(
            *(LDiversity.name, Product, (Axis,), Basis.CHANNEL, diversity.REFERENCE),
            *(diversity.assess, diversity.supports),
            measure=diversity.measure,
            needs=(Sets,),
        ),
    )


def t_closeness_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of `t-closeness` for sets beside columns that are released as they are."""
    return (
        Assessor(
            *(TCloseness.name, Product, (Identity, Sets), Basis.ORIGINAL, closeness.REFERENCE),
            *(closeness.assess, closeness.supports),
            needs=(Sets,),
            adversary=closeness.ADVERSARY,
            monotone=True,
            least=closeness.unreachable_t,
        ),
    )
