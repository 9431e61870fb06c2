"""Options read against a policy: class-defining attributes and their levels, or every problem with its place."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.plugin import Attribute, Policy, PolicyError, Problem, Product, Rational, Role, exact
from rrpolicy.plugin.solve import ANYTHING, BY_FREQUENCY, Goal, Recoded, axes_at, class_attributes, recoded


class GeneralisationOptions(BaseModel):
    """Options of [mechanism] with name = "generalisation"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithm: Annotated[
        Literal["full-domain", "mondrian", "tp"],
        Field(
            description="full-domain: each attribute at one level of its hierarchy, the best node of the lattice;"
            " mondrian: the domain cut into boxes; tp: as few suppressed records as it finds, equal records parted."
        ),
    ] = "full-domain"
    suppression: Annotated[
        Rational, Field(description="The largest share of records that may be released as `*`; 0 or more, below 1.")
    ] = Fraction(0)
    loss: Annotated[
        Literal["ncp", "discernibility", "average-class-size", "kl"],
        Field(description="What decides among the nodes that satisfy every requirement."),
    ] = "ncp"
    weights: Annotated[
        dict[str, Rational], Field(description="Quasi-identifier -> how much it counts in `ncp`; by default 1 each.")
    ] = {}
    node: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        Field(description="Quasi-identifier -> the level at which it is released, 0 being its categories."),
    ] = {}

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if not 0 <= self.suppression < 1:
            raise ValueError(f"suppression must be 0 or more and below 1, got {exact(self.suppression)}")
        return self


def suppression_target(policy: Policy) -> tuple[Attribute, Fraction]:
    """Return the sensitive attribute, and the l of l-diversity by frequency that implies all its requirements.

    A class whose commonest value has at most n/l of its records has l different values, entropy log l and l records at
    least.
    """
    (sensitive,) = policy.with_role(Role.SENSITIVE)
    return sensitive, max(l for r in policy.requirements if r.distinct is not None and (l := r.implied_by) is not None)


def suppression_problems(policy: Policy) -> list[Problem]:
    """Return the problems that prevent TP (RR291)."""
    found: list[Problem] = []
    place = policy.place("mechanism.algorithm")
    sensitive = policy.with_role(Role.SENSITIVE)
    if len(sensitive) != 1 or not sensitive[0].categorical:
        message = "tp parts records by one sensitive attribute with categories"
        found.append(Problem("RR291", message, place, hint="exclude the others, or choose full-domain or mondrian"))
    known = {a.name for a in class_attributes(policy)} | {a.name for a in sensitive}
    for attribute in policy.released:
        if attribute.name not in known:
            message = f"tp releases what makes classes and the sensitive attribute, and not '{attribute.name}'"
            found.append(Problem("RR291", message, attribute.place, hint="exclude it, or choose full-domain"))
    return [*found, *_stronger_requirements(policy)]


def _stronger_requirements(policy: Policy) -> list[Problem]:
    """Return requirements that l-diversity by frequency does not imply, as far as this needs no data."""
    asked = [(r, r.implied_by) for r in policy.requirements if r.distinct is not None]
    most = max((ceil(l) for _, l in asked if l is not None), default=0)
    if not most:
        message = "tp needs a requirement of l-diversity, distinct, by frequency or by entropy"
        return [Problem("RR291", message, policy.place("mechanism.algorithm"), hint=f"add\n{BY_FREQUENCY}")]
    found = []
    for requirement in policy.requirements:
        l = requirement.implied_by
        if l is None and not requirement.by_some_frequency:
            message = f"tp reaches l-diversity (distinct, frequency, entropy) and what follows, not {requirement.model}"
            kind = getattr(requirement.options, "kind", "")
            found.append(Problem("RR291", message + (f" {kind}" if kind else ""), requirement.place))
        elif l is not None and l > most:
            message = f"tp reaches {requirement.model} as far as l = {most} by frequency implies it, and no further"
            found.append(
                Problem("RR291", message, requirement.place, hint="set a larger l, or relax the requirement here")
            )
    return found


ONLY_FULL_DOMAIN = ("suppression", "loss", "weights", "node")


@dataclass(frozen=True, slots=True)
class GeneralisationLayout:
    """The inputs of a generalisation.

    Attributes:
        attributes: the class-defining ones, in the policy's order; observed domains may be unknown yet.
        goal: the criterion among satisfying nodes.
        boxes: whether the domain is cut into boxes.
    """

    attributes: tuple[Recoded, ...]
    goal: Goal
    boxes: bool

    @property
    def together(self) -> tuple[str, ...]:
        """Return the attributes that one axis recodes together: all, if labels of one depend on the others."""
        return tuple(r.attribute.name for r in self.attributes) if self.boxes or self.goal.suppression else ()

    @property
    def fixed(self) -> bool:
        """Return whether the policy alone determines the level of each attribute, and nothing is suppressed."""
        known_domains = all(r.attribute.domain for r in self.attributes)
        return known_domains and not self.together and all(len(r.chosen) == 1 for r in self.attributes)


def read_layout(options: GeneralisationOptions, policy: Policy) -> GeneralisationLayout:
    """Return the inputs of the generalisation."""
    attributes = class_attributes(policy)
    problems = [
        *_attribute_problems(policy, attributes),
        *_option_problems(options, policy),
        *_level_problems(options, policy),
    ]
    problems += suppression_problems(policy) if options.algorithm == "tp" else []
    if problems:
        raise PolicyError(problems)
    by_role = {a.name: Fraction(int(a.role is Role.QUASI_IDENTIFIER)) for a in attributes}
    weights = tuple(options.weights.get(name, weight) for name, weight in by_role.items())
    goal = Goal(options.loss, weights, options.suppression, policy.place("mechanism"))
    return GeneralisationLayout(
        tuple(recoded(a, options.node.get(a.name)) for a in attributes), goal, options.algorithm == "mondrian"
    )


def _attribute_problems(policy: Policy, attributes: tuple[Attribute, ...]) -> list[Problem]:
    if not policy.with_role(Role.QUASI_IDENTIFIER):
        hint = 'give what others may know of a person the role "quasi-identifier"'
        return [Problem("RR290", "the policy declares no quasi-identifier", policy.place("mechanism"), hint=hint)]
    found = []
    for attribute in attributes:
        if not attribute.categorical:
            message = f"'{attribute.name}' is released next to the classes and has no categories: it identifies records"
            hint = "give it a domain or bins, exclude it, or state with `assume_unlinkable` why it identifies nobody"
            found.append(Problem("RR290", message, attribute.place, hint=hint))
    return found


def _option_problems(options: GeneralisationOptions, policy: Policy) -> list[Problem]:
    found = []
    given = [key for key in ONLY_FULL_DOMAIN if key in options.model_fields_set and getattr(options, key)]
    if options.algorithm != "full-domain":
        for key in given:
            message = f"`{key}` belongs to the algorithm full-domain, not to {options.algorithm}"
            found.append(Problem("RR291", message, policy.place(f"mechanism.{key}"), hint="drop it"))
    elif options.weights and options.loss != "ncp":
        message = f"`weights` count in the loss ncp, not in {options.loss}"
        found.append(Problem("RR291", message, policy.place("mechanism.weights"), hint="drop one of them"))
    if policy.source.max_records > 1 and (options.algorithm != "full-domain" or options.suppression):
        key = "suppression" if options.algorithm == "full-domain" else "algorithm"
        done = "suppresses" if key == "suppression" or options.algorithm == "tp" else "cuts"
        message = f"`{key}` {done} single records, and a unit of the policy has up to {policy.source.max_records}"
        hint = 'choose `algorithm = "full-domain"` without suppression, which generalises all records of a unit equally'
        found.append(Problem("RR291", message, policy.place(f"mechanism.{key}"), hint=hint))
    return found


def _level_problems(options: GeneralisationOptions, policy: Policy) -> list[Problem]:
    """Return levels and weights that do not exist."""
    found: list[Problem] = []
    names = [a.name for a in policy.with_role(Role.QUASI_IDENTIFIER)]
    for key in ("node", "weights"):
        for name in getattr(options, key):
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"quasi-identifiers are {', '.join(names)}"
                place = policy.place(f"mechanism.{key}.{name}")
                found.append(Problem("RR292", f"'{name}' is not a quasi-identifier of the policy", place, hint=hint))
    for name, level in options.node.items():
        if name in names and level >= (most := len(recoded(policy.attributes[name]).levels)):
            message = f"'{name}' has no level {level}"
            expected = f"a level from 0, its categories, to {most - 1}"
            found.append(Problem("RR292", message, policy.place(f"mechanism.node.{name}"), expected))
    weights = [options.weights.get(name, Fraction(1)) for name in names]
    if names and (min(weights) < 0 or not sum(weights)):
        place = policy.place("mechanism.weights")
        found.append(Problem("RR292", "weights must be 0 or more, and not all of them 0", place))
    return [*found, *(_label_problems(policy) if options.suppression or options.algorithm == "tp" else [])]


def _label_problems(policy: Policy) -> list[Problem]:
    found = []
    for attribute in class_attributes(policy):
        levels = recoded(attribute).levels if attribute.domain else ()
        if any(ANYTHING in level and len(set(level)) > 1 for level in levels):
            message = f"'{ANYTHING}' is one category of several of '{attribute.name}', and would also mean suppressed"
            hint = "rename it, or suppress nothing"
            found.append(Problem("RR292", message, attribute.place, hint=hint))
    return found


def fixed_channel(layout: GeneralisationLayout, policy: Policy) -> Product:
    """Return the channel of a policy that determines the level of each attribute."""
    return Product.of(policy.released, axes_at(layout.attributes, (0,) * len(layout.attributes)))
