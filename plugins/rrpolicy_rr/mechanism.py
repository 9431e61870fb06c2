"""`rr-both`, `rr-qi`, `rr-s`: retention of the quasi-identifiers, the sensitive attributes or both, solved for.

Minimise sum_a log ||P_a^-1||_F^2, or the expected error of the declared workload, over the keep probabilities, subject
to every requirement of the policy (Guo, Ying, Wu 2011, Problem 1 and Result 2). The optimiser is the core's.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import (
    Attribute,
    Axis,
    Identity,
    Outline,
    Policy,
    PolicyError,
    Problem,
    Product,
    Proposal,
    Remark,
    Retention,
    Role,
    Task,
)
from rrpolicy.plugin.solve import Marginal, workload_problems


class RandomizedResponseOptions(BaseModel):
    """Options of [mechanism], all of them optional: the requirements determine the parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workload: Annotated[
        tuple[Marginal, ...], Field(description="Marginals whose error is minimised; default: the whole table.")
    ] = ()
    digits: Annotated[int, Field(ge=5, le=12, description="Decimals that keep probabilities are rounded down to.")] = 5
    starts: Annotated[int, Field(ge=1, le=50, description="Points that the search starts from.")] = 5


class RandomizedResponse:
    """Randomises every attribute of some roles by retention-replacement; all others are released unmodified."""

    options = RandomizedResponseOptions

    def __init__(self, name: str, *roles: Role) -> None:
        self.name = name
        self.roles = roles
        self.method = "randomised" if len(roles) > 1 else "partly-randomised"

    def outline(self, options: RandomizedResponseOptions, policy: Policy) -> Outline:
        """Return a product channel with a retention axis for each attribute of the roles."""
        problems = [*self._problems(policy), *workload_problems(options.workload, policy, self._randomised(policy))]
        if problems:
            raise PolicyError(problems)
        axes = tuple(((a.name,), self._axis(a)) for a in policy.released if a.categorical)
        others = {Role.QUASI_IDENTIFIER, Role.SENSITIVE} - set(self.roles)
        kept = tuple(a.name for a in policy.with_role(*others))
        return Outline(Product, axes, kept=kept, solved=tuple(self._randomised(policy)))

    def plan(self, options: RandomizedResponseOptions, task: Task) -> Proposal:
        """Return the channel of least expected error that satisfies every requirement."""
        from rrpolicy.plugin.solve import allocate

        self.outline(options, task.policy)
        task.require_domains()
        axes = [
            Retention.uniform(attribute.name, attribute.domain, keep=Fraction(1))
            for attribute in task.policy.released
            if attribute.domain is not None and self._axis(attribute) is Retention
        ]
        channel = Product.of(task.policy.released, axes)
        if not axes:
            return Proposal(channel)
        found = allocate(
            channel,
            [name for axis in axes for name in axis.attributes],
            task,
            workload=options.workload,
            digits=options.digits,
            starts=options.starts,
        )
        return Proposal(
            found.channel,
            found.origins,
            found.unrounded,
            (*found.remarks, *_unrandomised_remarks(found.channel, task.policy)),
        )

    def _randomised(self, policy: Policy) -> list[str]:
        return [a.name for a in policy.released if a.categorical and self._axis(a) is Retention]

    def _axis(self, attribute: Attribute) -> type[Axis]:
        alone = attribute.domain is not None and len(attribute.domain) == 1
        return Retention if attribute.role in self.roles and not alone else Identity

    def _problems(self, policy: Policy) -> Iterator[Problem]:
        place = policy.place("mechanism.name")
        chosen = policy.with_role(*self.roles)
        if not chosen:
            roles = " or ".join(self.roles)
            hint = f"give an attribute the role {roles}, or choose another mechanism"
            yield Problem("RR230", f"{self.name} has nothing to randomise: no attribute is {roles}", place, hint=hint)
        for attribute in chosen:
            if not attribute.categorical:
                message = f"'{attribute.name}' has no categories to exchange"
                hint = "give it a domain, or bins if it is a number"
                yield Problem("RR230", message, attribute.place or place, hint=hint)


def _unrandomised_remarks(channel: Product, policy: Policy) -> Iterator[Remark]:
    """Yield the attributes whose solution is a keep probability of 1, and the protection left for sensitive ones."""
    sought = [a for a in channel.axes if isinstance(a, Retention) and a.original_size > 1]
    kept = [policy.attributes[n] for a in sought if all(block.keep == 1 for block in a.blocks) for n in a.attributes]
    if not kept:
        return
    named = ", ".join(f"'{a.name}' ({a.role})" for a in kept)
    text = f"no requirement needs randomised values of {named}: released unchanged, with a keep probability of 1"
    sensitive = ", ".join(f"'{a.name}'" for a in kept if a.role is Role.SENSITIVE)
    if sensitive and len(kept) < len(sought):
        text += f"; what protects {sensitive} is that the other attributes are randomised, and nothing else"
    elif len(kept) == len(sought):
        text += "; nothing is randomised"
    yield Remark("unchanged", text)


class RandomizedQIAndSensitive(RandomizedResponse):
    """Randomises every quasi-identifier and every sensitive attribute by retention-replacement, and nothing else."""


class RandomizedQuasiIdentifiers(RandomizedResponse):
    """Randomises every quasi-identifier by retention-replacement; sensitive attributes are released unmodified."""


class RandomizedSensitive(RandomizedResponse):
    """Randomises every sensitive attribute by retention-replacement; quasi-identifiers are released unmodified."""


BOTH = RandomizedQIAndSensitive("rr-both", Role.QUASI_IDENTIFIER, Role.SENSITIVE)
QUASI_IDENTIFIERS = RandomizedQuasiIdentifiers("rr-qi", Role.QUASI_IDENTIFIER)
SENSITIVE = RandomizedSensitive("rr-s", Role.SENSITIVE)
