"""A mechanism alone: its axes are the core's, or those of acme-coin."""

from __future__ import annotations

from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import Identity, Matrix, Origin, Outline, Product, Proposal, Rational, Role, hookimpl


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: Rational = Fraction(4, 5)
    coin: bool = False


def axis(attribute, options):
    name = attribute.release_as or attribute.name
    if attribute.role is not Role.QUASI_IDENTIFIER:
        return Identity.of(attribute.name, attribute.domain, name, assume_unlinkable=attribute.assume_unlinkable)
    kind = Matrix
    if options.coin:
        import acme_coin

        kind = acme_coin.Coin
    size, keep = len(attribute.domain), options.keep
    rows = [[keep if u == v else (1 - keep) / (size - 1) for v in range(size)] for u in range(size)]
    return kind.explicit(attribute.name, attribute.domain, attribute.domain, rows, name)


class Keep:
    name = "acme-keep"
    options = Options

    def outline(self, options, policy):
        axes = tuple(axis(attribute, options) for attribute in policy.released)
        channel = Product(axes, (), tuple(a.release_as or a.name for a in policy.released))
        return Outline(Product, tuple((each.attributes, type(each)) for each in axes), channel)

    def plan(self, options, task):
        origins = {a.name: Origin.POLICY for a in task.policy.with_role(Role.QUASI_IDENTIFIER)}
        return Proposal(self.outline(options, task.policy).fixed, origins)


@hookimpl
def rrpolicy_mechanisms():
    return [Keep()]
