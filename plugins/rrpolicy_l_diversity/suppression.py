"""What TP can be asked for: one sensitive attribute, released beside what makes classes and nothing else."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from rrpolicy.plugin import Attribute, Policy, Problem, Role, class_attributes

KINDS = ("distinct", "frequency", "entropy")
DISCLOSURE = ("attribute-disclosure", "identity-disclosure")
"""What a large enough l by frequency implies; how large is seen with the data."""


def parted_by(policy: Policy) -> tuple[Attribute, Fraction]:
    """Return the sensitive attribute, and l of l-diversity by frequency that implies all that is required of it.

    A class whose commonest value has at most n/l of its records has l different values, entropy log l and l records at
    least.
    """
    (sensitive,) = policy.with_role(Role.SENSITIVE)
    asked = [Fraction(r.options.l) for r in policy.requirements if r.model == "l-diversity"]  # type: ignore[attr-defined]
    return sensitive, max(asked)


def unfit(policy: Policy) -> list[Problem]:
    """Return what stands in TP's way (RR291)."""
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
    return [*found, *_beyond(policy)]


def _beyond(policy: Policy) -> list[Problem]:
    """Return requirements that l-diversity by frequency does not imply."""
    asked = [r for r in policy.requirements if r.model == "l-diversity" and _kind(r.options) in KINDS]
    if not asked:
        hint = 'add\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 3'
        message = "tp needs a requirement of l-diversity, distinct, by frequency or by entropy"
        return [Problem("RR291", message, policy.place("mechanism.algorithm"), hint=hint)]
    most = max(ceil(Fraction(r.options.l)) for r in asked)  # type: ignore[attr-defined]
    found = []
    for requirement in policy.requirements:
        if requirement in asked or requirement.model in DISCLOSURE:
            continue
        if requirement.model != "k-anonymity":
            message = f"tp reaches l-diversity (distinct, frequency, entropy) and what follows, not {requirement.model}"
            kind = _kind(requirement.options)
            found.append(Problem("RR291", message + (f" {kind}" if kind else ""), requirement.place))
        elif requirement.options.k > most:  # type: ignore[attr-defined]
            message = f"tp reaches k-anonymity up to k = l = {most}"
            found.append(Problem("RR291", message, requirement.place, hint="ask for a larger l, or a smaller k"))
    return found


def _kind(options: object) -> str:
    return str(getattr(getattr(options, "kind", ""), "value", ""))
