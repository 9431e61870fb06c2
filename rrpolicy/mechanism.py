"""Interface of mechanisms: read a policy and counts and propose a channel; never draw, assess or decode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Axis, Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.finding import Derived, Measure, Origin
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.model import Assessor

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)


def parameters_of(attribute: str) -> Derived:
    """Return the derived statistic of an attribute's parameters that are chosen from the data."""
    return Derived(f"parameters:{attribute}", f"the parameters of '{attribute}' were chosen from the data")


class Outline(Struct, frozen=True):
    """Properties of a mechanism's plan that are known without data.

    Attributes:
        channel: the channel class.
        axes: (attributes, axis class) in order; empty for channels without axes.
        fixed: the channel, if the policy alone determines it; `check` then assesses it.
        kept: quasi-identifiers and sensitive attributes that the mechanism by definition releases unmodified, such as
            anatomy's quasi-identifiers. For any other attribute that is released unchanged the policy must state a
            reason.
        solved: attributes whose parameters are solved from the requirements: they are statistics of the table
            (`parameters:<attribute>`) if a requirement reads it, or something else of the description comes from it.
        derived: statistics that the plan chooses from the table or discloses, under any requirements; the core adds
            observed domains and the decision to release.
    """

    channel: type[Channel]
    axes: tuple[tuple[tuple[str, ...], type[Axis]], ...] = ()
    fixed: Channel | None = None
    kept: tuple[str, ...] = ()
    solved: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()

    def unchanged(self, policy: Policy) -> tuple[Attribute, ...]:
        """Return the attributes that are released unmodified by the policy's choice, in its order.

        Without axes these are only insensitive attributes: a channel without axes defines its treatment of the others.
        """
        changed = {name for names, axis in self.axes if axis is not Identity for name in names}
        changed |= set(self.kept)
        if not issubclass(self.channel, Product):
            changed |= {a.name for a in policy.released if a.role is not Role.INSENSITIVE}
        return tuple(a for a in policy.released if a.name not in changed)


@dataclass(frozen=True, slots=True)
class Task:
    """Input of a mechanism's planning.

    Attributes:
        policy: resolved, with observed domains filled in.
        original: the table; or only the number of records (`plan --expected-rows`, without data).
        requirements: every requirement with the assessor that will decide it.
        progress: called with (current step, share done in [0, 1]).
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
        """Refuse a plan whose observed domains are unknown, as only the number of records is given.

        Raises:
            PolicyError: RR255.
        """
        for attribute in self.policy.released:
            if attribute.categorical and attribute.domain is None:
                raise _needs_data_error(f"the observed domain of '{attribute.name}'", attribute.place)


def refuse_without_data(what: str, key: str, task: Task) -> PolicyError:
    """Return the error (RR255) of a plan that needs data but has only the number of records.

    Args:
        what: the part that needs the data.
        key: the key below [mechanism] that requires it.
        task: the task, for the place in the policy.
    """
    return _needs_data_error(what, task.policy.place(f"mechanism.{key}"))


def _needs_data_error(what: str, place: Place | None) -> PolicyError:
    message = f"{what} needs the data, and only the number of records is given"
    return PolicyError(Problem("RR255", message, place, hint="plan with the table: leave out --expected-rows"))


class Remark(Struct, frozen=True):
    """A note in the plan on how the channel was chosen, or on a point that needs judgement.

    Attributes:
        name: kind of remark.
        text: the remark, in words.
        measure: its number.
        attribute: the attribute concerned; "" if it does not concern one alone.
        other: the attribute with which this one is compared; "" if there is no comparison.
        vacuous: identity of a requirement that excludes no release; "" if the remark is not about one.
    """

    sparse: ClassVar[tuple[str, ...]] = ("other", "vacuous")

    name: str
    text: str
    measure: Measure | None = None
    attribute: str = ""
    other: str = ""
    vacuous: str = ""


class Proposal(Struct, frozen=True):
    """Result of a mechanism's planning.

    Attributes:
        channel: the proposed channel; the assessors alone decide.
        origins: attribute -> source of its parameters.
        unrounded: attribute -> the solution before rounding, in words of the mechanism, such as
            {"retention_probability": 0.228…}.
        remarks: gain over another allocation, starts that agreed, assumptions of the solution.
    """

    channel: Channel
    origins: Mapping[str, Origin] = field(default_factory=dict)
    unrounded: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()


class Mechanism(Protocol[Options]):
    """Planner of channels, deterministic; no step after planning needs it installed.

    A mechanism may also have these attributes, by which `init` drafts policies with it:

        method: how it protects: `randomised` if every quasi-identifier and sensitive attribute is, `partly-randomised`
            if some are, `generalised` along hierarchies, `grouped` with the sensitive values in another table, `sets`
            of sensitive values; or another word. It can meet the privacy models that name it in their `methods`.
        sized_by: the option of a [[privacy]] entry that determines the size of its groups or sets.
    """

    @property
    def name(self) -> str:
        """Return the name for policies."""
        ...

    @property
    def options(self) -> type[Options]:
        """Return the class that validates the [mechanism] table (without `name`)."""
        ...

    def outline(self, options: Options, policy: Policy) -> Outline:
        """Return the properties of the plan that are known without data.

        Raises:
            PolicyError: if the options do not fit the policy (RR23x), each problem with its place.
        """
        ...

    def plan(self, options: Options, task: Task) -> Proposal:
        """Return the channel.

        Raises:
            RequirementError: if the requirements cannot be achieved (RR102), with a remedy.
            PolicyError: if data are needed and only the number of records is given (RR255).
        """
        ...
