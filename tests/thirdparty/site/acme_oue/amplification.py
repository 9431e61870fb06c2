"""Amplification at most gamma: no released value is gamma times likelier from one original than from another.

Evfimievski, Gehrke, Srikant 2003, "Limiting privacy breaches in privacy preserving data mining", definition 2.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from acme_oue.axis import Unary
from rrpolicy.plugin import (
    Assessor,
    Basis,
    Channel,
    Finding,
    Identity,
    Measure,
    Order,
    Original,
    Policy,
    Product,
    Rational,
    Requirement,
    Verdict,
)


class Options(BaseModel):
    """What a policy may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gamma: Rational


class Amplification:
    """The privacy model."""

    name = "acme-amplification"
    options = Options
    methods = ("unary",)

    def describe(self, options: Options) -> str:
        """Return the requirement in words."""
        return f"amplification <= {options.gamma}"

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse what nothing satisfies."""
        return None if options.gamma > 1 else f"gamma must exceed 1, got {options.gamma}"

    def compare(self, old: Options, new: Options) -> Order:
        """Return how the new requirement stands to the old one."""
        if old.gamma == new.gamma:
            return Order.EQUAL
        return Order.STRONGER if new.gamma < old.gamma else Order.WEAKER


def assessor() -> Assessor:
    """Return the assessor for products of unary and unchanged axes."""
    return Assessor(
        "acme-amplification",
        Product,
        (Unary, Identity),
        Basis.CHANNEL,
        "Evfimievski, Gehrke, Srikant 2003, definition 2",
        assess,
    )


def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
    """Decide by exact fractions; what is released unchanged is public context."""
    assert isinstance(channel, Product)
    assert isinstance(requirement.options, Options)
    achieved = max(axis.amplification for axis in channel.axes if isinstance(axis, Unary))
    return Finding(
        "acme-amplification",
        "acme-amplification",
        f"amplification <= {requirement.options.gamma}",
        requirement.place,
        Measure(float(achieved)),
        requirement.options.gamma,
        Verdict.SATISFIED if achieved <= requirement.options.gamma else Verdict.FAILED,
        Basis.CHANNEL,
        "Anyone who sees the release and knows the encoding, about one attribute at a time.",
    )
