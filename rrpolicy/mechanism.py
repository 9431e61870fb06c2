"""What a mechanism is: it reads a policy and counts and proposes a channel. It never draws, assesses or decodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import BaseModel

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.finding import Derived, Measure, Origin
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Attribute, Policy, Requirement, Role
from rrpolicy.privacy.model import Assessor
from rrpolicy.serialization.fields import SPARSE

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)


def parameters_of(attribute: str) -> Derived:
    """Return the statistic that an attribute's parameters are once they are chosen from the data."""
    return Derived(f"parameters:{attribute}", f"the parameters of '{attribute}' were chosen from the data")


@frozen
class Outline:
    """What a mechanism will plan, as far as no data are needed to say it.

    Attributes:
        channel: the channel class.
        axes: (attributes, axis class) in order; empty for channels without axes.
        fixed: the channel itself, if the policy alone determines it; `check` then assesses it.
        kept: quasi-identifiers and sensitive attributes that the mechanism, being what it is, releases as they are,
            such as anatomy's quasi-identifiers. Of any other that is released unchanged the policy must say why.
        solved: attributes whose parameters are solved from the requirements: they are statistics of the table
            (`parameters:<attribute>`) if a requirement reads it, or something else of the description comes from it.
        derived: what the plan chooses from the table, or tells of it, whatever the requirements; observed domains and
            the decision to release are the core's to add.
    """

    channel: type[Channel]
    axes: tuple[tuple[tuple[str, ...], type[Axis]], ...] = ()
    fixed: Channel | None = None
    kept: tuple[str, ...] = ()
    solved: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()

    def unchanged(self, policy: Policy) -> tuple[Attribute, ...]:
        """Return the attributes that are released as they are by the policy's own choice, in its order.

        Without axes, only insensitive attributes are: what a channel without axes does to the others is its definition.
        """
        changed = {name for names, axis in self.axes if axis is not Identity for name in names}
        changed |= set(self.kept)
        if not issubclass(self.channel, Product):
            changed |= {a.name for a in policy.released if a.role is not Role.INSENSITIVE}
        return tuple(a for a in policy.released if a.name not in changed)


@frozen
class Task:
    """What a mechanism gets to plan with.

    Attributes:
        policy: resolved, with observed domains filled in.
        original: the table; or only the number of records (`plan --expected-rows`, data are then not at hand).
        requirements: every requirement with the assessor that will decide it.
        progress: called with (what is being done, share done in [0, 1]).
    """

    policy: Policy
    original: Original | int
    requirements: tuple[tuple[Requirement, Assessor], ...]
    progress: Callable[[str, float], None] = lambda *_: None

    @property
    def records(self) -> int:
        """Return N."""
        return self.original if isinstance(self.original, int) else self.original.records

    def require_domains(self) -> None:
        """Refuse a plan whose observed domains are not known, as only the number of records is given.

        Raises:
            PolicyError: RR255.
        """
        for attribute in self.policy.released:
            if attribute.categorical and attribute.domain is None:
                raise _needs_data_error(f"the observed domain of '{attribute.name}'", attribute.place)


def refuse_without_data(what: str, key: str, task: Task) -> PolicyError:
    """Return the error (RR255) of a plan that needs data and has only their number.

    Args:
        what: needs the data.
        key: below [mechanism], where the policy says so.
        task: for the place.
    """
    return _needs_data_error(what, task.policy.place(f"mechanism.{key}"))


def _needs_data_error(what: str, place: Place | None) -> PolicyError:
    message = f"{what} needs the data, and only the number of records is given"
    return PolicyError(Problem("RR255", message, place, hint="plan with the table: leave out --expected-rows"))


@frozen
class Remark:
    """Something the plan says about how the channel was chosen, or that needs a person's judgement.

    Attributes:
        name: what kind of remark it is.
        text: in words.
        measure: its number.
        attribute: the attribute that it speaks of; "" if it is not of one alone.
        other: the attribute that this one is held against; "" if there is none.
        vacuous: the identity of the requirement that limits nothing; "" if it is of none.
    """

    name: str
    text: str
    measure: Measure | None = None
    attribute: str = ""
    other: str = field(default="", metadata=SPARSE)
    vacuous: str = field(default="", metadata=SPARSE)


@frozen
class Proposal:
    """What a mechanism planned.

    Attributes:
        channel: the proposed channel; the assessors alone decide.
        origins: attribute -> where its parameters come from.
        unrounded: attribute -> the solution before rounding, in words of the mechanism, such as
            {"retention_probability": 0.228…}.
        remarks: gain over another allocation, starts that agreed, what the solution rests on.
    """

    channel: Channel
    origins: Mapping[str, Origin] = field(default_factory=dict)
    unrounded: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()


class Mechanism(Protocol[Options]):
    """Plans, deterministically; nothing after planning needs it installed."""

    @property
    def name(self) -> str:
        """Return the name that policies use."""
        ...

    @property
    def options(self) -> type[Options]:
        """Return the class that validates the [mechanism] table (without `name`)."""
        ...

    def outline(self, options: Options, policy: Policy) -> Outline:
        """Return what will be planned, without data.

        Raises:
            PolicyError: if the options do not fit the policy (RR23x), each problem with its place.
        """
        ...

    def plan(self, options: Options, task: Task) -> Proposal:
        """Return the channel.

        Raises:
            RequirementError: if the requirements cannot be achieved (RR102), saying what would help.
            PolicyError: if data are needed and only the number of records is given (RR255).
        """
        ...
