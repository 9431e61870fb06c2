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
    method = "unary"

    def outline(self, options: Options, policy: Policy) -> Outline:
        """Return the channel, if all domains are known: q = 1/(1 + gamma) needs no data."""
        kinds = tuple(((a.name,), Unary if a.role is Role.QUASI_IDENTIFIER else Identity) for a in policy.released)
        known = all(a.domain for a in policy.released)
        return Outline(Product, kinds, self.channel(options, policy) if known else None)

    def plan(self, options: Options, task: Task) -> Proposal:
        """Return the outlined channel."""
        task.require_domains()
        channel = self.outline(options, task.policy).fixed
        assert channel is not None
        origins = {a.name: Origin.POLICY for a in task.policy.with_role(Role.QUASI_IDENTIFIER)}
        return Proposal(channel, origins, {}, (Remark("acme", "optimised for frequencies"),))

    def channel(self, options: Options, policy: Policy) -> Product:
        """Return the channel of an amplification."""
        gammas = [r.options.gamma for r in policy.requirements if isinstance(r.options, AmplificationOptions)]
        if not gammas:
            raise PolicyError(
                Problem("RR232", "acme-oue needs an acme-amplification requirement", policy.place("mechanism"))
            )
        axes = tuple(_axis(a, min(gammas), options) for a in policy.released)
        return Product(axes, (), tuple(a.release_as or a.name for a in policy.released))


def _axis(attribute, gamma: Fraction, options: Options) -> Unary | Identity:
    name = attribute.release_as or attribute.name
    if attribute.role is not Role.QUASI_IDENTIFIER:
        return Identity.of(attribute.name, attribute.domain, name, assume_unlinkable=attribute.assume_unlinkable)
    if len(attribute.domain) > options.most_categories:
        raise PolicyError(Problem("RR230", f"'{attribute.name}' has too many categories", attribute.place))
    return Unary(attribute.name, attribute.domain, 1 / (1 + gamma), name)
