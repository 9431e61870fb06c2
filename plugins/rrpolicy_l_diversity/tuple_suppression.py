"""The inputs of TP: one sensitive attribute, released with class-defining attributes only."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from rrpolicy.plugin import Attribute, Policy, Problem, Role
from rrpolicy.plugin.solve import BY_FREQUENCY, class_attributes


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
            found.append(Problem("RR291", message, requirement.place, hint="ask for a larger l, or for less here"))
    return found
