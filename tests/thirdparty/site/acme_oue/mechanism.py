"""The mechanism: every quasi-identifier is encoded, with the noise that the policy's amplification allows."""

from __future__ import annotations

from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from acme_oue.amplification import Options as AmplificationOptions
from acme_oue.axis import Unary
from rrpolicy.plugin import (
    Identity,
    Origin,
    Outline,
    Policy,
    PolicyError,
    Problem,
    Product,
    Proposal,
    Remark,
    Role,
    Task,
)


class Options(BaseModel):
    """What a policy may say under [mechanism]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    most_categories: int = 8


class UnaryEncoding:
    """Optimised unary encoding."""

    name = "acme-oue"
    options = Options

    def outline(self, options: Options, policy: Policy) -> Outline:
        """Return the channel: q = 1/(1 + gamma) needs no data."""
        gammas = [r.options.gamma for r in policy.requirements if isinstance(r.options, AmplificationOptions)]
        if not gammas:
            raise PolicyError(
                Problem("RR232", "acme-oue needs an acme-amplification requirement", policy.place("mechanism"))
            )
        axes = tuple(_axis(a, min(gammas), options) for a in policy.released)
        channel = Product(axes, (), tuple(a.release_as or a.name for a in policy.released))
        return Outline(Product, tuple((axis.attributes, type(axis)) for axis in axes), channel)

    def plan(self, options: Options, task: Task) -> Proposal:
        """Return the outlined channel."""
        channel = self.outline(options, task.policy).fixed
        assert channel is not None
        origins = {a.name: Origin.POLICY for a in task.policy.with_role(Role.QUASI_IDENTIFIER)}
        return Proposal(channel, origins, {}, (Remark("acme", "optimised for frequencies"),))


def _axis(attribute, gamma: Fraction, options: Options) -> Unary | Identity:
    name = attribute.release_as or attribute.name
    if attribute.role is not Role.QUASI_IDENTIFIER:
        return Identity.of(attribute.name, attribute.domain, name, assume_unlinkable=attribute.assume_unlinkable)
    if len(attribute.domain) > options.most_categories:
        raise PolicyError(Problem("RR230", f"'{attribute.name}' has too many categories", attribute.place))
    return Unary(attribute.name, attribute.domain, 1 / (1 + gamma), name)
