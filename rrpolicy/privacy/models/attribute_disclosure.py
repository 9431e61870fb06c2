"""Attribute disclosure under linking: the probability that an attacker reads a person's sensitive value.

    risk(alpha, u) = c_u R_QI(alpha) R_S(u | alpha)

for every combination alpha of quasi-identifiers and sensitive value u that occur together, with c_u the share of u in
the group (Guo, Ying, Wu 2011, Result 1, eq. 6-9). The guarantee is the maximum.
"""

from __future__ import annotations

from typing import ClassVar

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Layout, lists_values
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Risk
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.disclosure.attribute_options import (
    ADVERSARY,
    NAME,
    ONE_EVENT_NOTE,
    OTHERS_KNOWN_PHRASE,
    AttributeDisclosureOptions,
    LimitKind,
)
from rrpolicy.privacy.disclosure.disclosure_model import DisclosureFunctions, DisclosureModel
from rrpolicy.privacy.model import EVERY_MODEL, MORE_RECORDS, Assessor, Order
from rrpolicy.wording import attribute_phrase

ANOTHER_RECORD = (
    "Reading the true value off another person's record: `attribute-disclosure` limits one event, that the attacker "
    "selects a record with the person's own attributes and reads the true value. How often a value read is the true "
    "one (`value read correctly`) also follows from the original table, and is not limited."
)
COMMONEST = (
    "Guessing the commonest value of a group, from known or reconstructed shares of the whole table (`largest "
    "within-group share`): no release lowers that."
    ""
)
KNOWN_ELSEWHERE = "Knowledge from elsewhere, beyond the quasi-identifiers."
LIKELIEST = "Naming the likeliest value, in place of reading one off a record drawn: `best-guess` limits that."
_NOT_COVERED_BY_A_READING = (COMMONEST, MORE_RECORDS, KNOWN_ELSEWHERE, *EVERY_MODEL)
_NOT_COVERED_BY_A_GUESS = (
    "Finding a person's record: the attacker of `best-guess` and `gain` knows it. `identity-disclosure` limits that.",
    MORE_RECORDS,
    KNOWN_ELSEWHERE,
    *EVERY_MODEL,
)


class AttributeDisclosure:
    """The privacy model `attribute-disclosure`."""

    name = NAME
    options = AttributeDisclosureOptions
    not_covered = (ANOTHER_RECORD, *_NOT_COVERED_BY_A_READING)
    measures: ClassVar = {
        f"{NAME}/{LimitKind.CORRECT_READING}": (LIKELIEST, *_NOT_COVERED_BY_A_READING),
        f"{NAME}/{LimitKind.BEST_GUESS}": _NOT_COVERED_BY_A_GUESS,
        f"{NAME}/{LimitKind.GAIN}": _NOT_COVERED_BY_A_GUESS,
    }
    example = 'threshold = "1/3"'
    methods = ("randomised", "partly-randomised", "generalised", "grouped", "sets")
    bounds = frozenset({Risk.READING})
    states = Risk.READING
    others_known = OTHERS_KNOWN_PHRASE

    def describe(self, options: AttributeDisclosureOptions) -> str:
        """Return such as `risk <= 1/3`."""
        parts = [] if options.threshold is None else [f"{options.quantity} <= {options.threshold}"]
        parts += [f"{options.quantity} of {value} <= {t}" for value, t in options.thresholds.items()]
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return (
            ", ".join(parts)
            + of
            + (f", {OTHERS_KNOWN_PHRASE}" if options.known_sensitive else "")
            + (", decided by an estimate" if options.decided_by == "estimate" else "")
        )

    def limits_nothing(self, options: AttributeDisclosureOptions) -> str | None:
        """Return that every limit is 1."""
        limits = [*options.thresholds.values(), *(() if options.threshold is None else (options.threshold,))]
        return "limits nothing: no probability exceeds 1" if all(limit >= 1 for limit in limits) else None

    def without_limit(self, options: AttributeDisclosureOptions) -> str | None:
        """Return the values with a limit of 1."""
        free = [value for value, limit in options.thresholds.items() if limit >= 1]
        return f"sets no limit for {quoted_list(free)}: no probability exceeds 1" if free else None

    def promise(self, options: AttributeDisclosureOptions) -> str:
        """Return the guarantee in plain words."""
        attacker, reading = {
            LimitKind.RISK: (
                "draws a record that fits a person",
                "hits one with the person's own attributes and reads the",
            ),
            LimitKind.CORRECT_READING: ("draws a record that fits a person", "reads the"),
            LimitKind.BEST_GUESS: ("knows which record is a person's", "guesses the"),
            LimitKind.GAIN: (
                "knows which record is a person's",
                "gains, over naming the commonest value unseen, in guessing the",
            ),
        }[options.measure]
        limits = [] if options.threshold is None else [f"at most {percent_rounded_up(options.threshold)}"]
        limits += [
            f"at most {percent_rounded_up(t)} for `{value}`" if t < 1 else f"no limit for `{value}`"
            for value, t in options.thresholds.items()
        ]
        risk = (
            "Guessing the value"
            if options.measure in {LimitKind.BEST_GUESS, LimitKind.GAIN}
            else "Finding the record and reading it"
        )
        return (
            f"{risk}: an attacker who {attacker} {reading} true value{attribute_phrase(options.sensitive)} with a "
            f"probability of {', '.join(limits)}."
        )

    def refuses(self, options: AttributeDisclosureOptions, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive, and thresholds of values that do not exist."""
        sensitive = Requirement(NAME, options).protects(policy)
        if not sensitive:
            return "the policy declares no sensitive attribute"
        for name in sensitive:
            if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
                return f"'{name}' is not a sensitive attribute of the policy"
        domains = [policy.attributes[name].domain for name in sensitive]
        if None not in domains:
            known = {str(value) for domain in domains for value in domain or ()}
            for value in options.thresholds:
                if value not in known:
                    return f"`thresholds` contains '{value}', which is not a category of {', '.join(sensitive)}"
        return None

    def compare(self, old: AttributeDisclosureOptions, new: AttributeDisclosureOptions) -> Order:
        """Compare limits, attackers and attributes.

        A limit of the best guess implies the same of risk and gain, which never exceed it; other measures are
        incomparable.
        """
        values = [*old.thresholds, *new.thresholds, None]
        orders = [Order.by(old.limit_of(v) - new.limit_of(v)) for v in values]
        orders.append(Order.by(new.known_sensitive - old.known_sensitive))
        orders.append(Order.by((old.decided_by == "estimate") - (new.decided_by == "estimate")))
        if not old.sensitive or not new.sensitive:
            orders.append(Order.by(bool(old.sensitive) - bool(new.sensitive)))
        else:
            orders += [Order.WEAKER for a in old.sensitive if a not in new.sensitive]
            orders += [Order.STRONGER for a in new.sensitive if a not in old.sensitive]
        if old.measure is not new.measure:
            both = {old.measure, new.measure}
            if LimitKind.BEST_GUESS not in both or LimitKind.CORRECT_READING in both:
                return Order.INCOMPARABLE
            orders.append(Order.STRONGER if new.measure is LimitKind.BEST_GUESS else Order.WEAKER)
        return Order.together(*orders)

    def assessors(self) -> tuple[Assessor, ...]:
        """Return the assessor for product channels."""
        return (DISCLOSURE_MODEL.assessor(),)


def subgroup_problem(requirement: Requirement[AttributeDisclosureOptions], policy: Policy) -> str | None:
    """Refuse subgroups by unknown attributes."""
    protected = requirement.protects(policy)
    for name in requirement.where:
        role = policy.attributes[name].role
        if role is Role.SENSITIVE and requirement.options.measure.guessed:
            return (
                f"`where` contains the sensitive '{name}', for which the best guess in a group cannot be computed "
                f"separately"
            )
        if role is Role.SENSITIVE and protected != (name,):
            return (
                f"`where` contains the sensitive '{name}', which is allowed only if the entry protects that "
                f"attribute alone"
            )
        if role not in {Role.SENSITIVE, Role.QUASI_IDENTIFIER}:
            return f"`where` contains '{name}', which is neither quasi-identifier nor sensitive"
    return None


def layout(
    requirement: Requirement[AttributeDisclosureOptions], policy: Policy, axes: Layout
) -> tuple[str, str] | None:
    """Refuse a sensitive attribute that is randomised together with others, unless its values can be separated."""
    measure = requirement.options.measure
    problems = (_axis_problem(measure, policy, axes, name) for name in requirement.protects(policy))
    return next((problem for problem in problems if problem is not None), None)


def _axis_problem(measure: LimitKind, policy: Policy, axes: Layout, sensitive: str) -> tuple[str, str] | None:
    """Return why a sensitive attribute cannot be assessed, and a hint.

    Without an axis for it alone, independence is lost. The risk of one of several sensitive attributes on one axis can
    be assessed if the axis has a matrix or the expected ratios of a set.
    """
    own = next((axis for axis in axes if sensitive in axis[0]), None)
    if own is None:
        return f"'{sensitive}' is released without categories, which the risk needs", "give it a domain, or bins"
    attributes, kind = own
    if len(attributes) == 1:
        unknown = measure.guessed and not lists_values(kind) and not hasattr(kind, "best_guess")
        return (
            (f"'{kind.kind}' axes do not report how often the best guess is right", "limit the risk")
            if unknown
            else None
        )
    others = ", ".join(f"'{name}'" for name in attributes if name != sensitive)
    together = f"'{sensitive}' is randomised together with {others}"
    apart = f"randomise '{sensitive}' by itself"
    if measure.guessed:
        return f"{together}; its best guess needs a separate axis", f"{apart}, or limit the risk"
    if measure is LimitKind.CORRECT_READING and lists_values(kind):
        reason = f"one matrix randomises '{sensitive}' with others: the limit needs a separate axis"
        return reason, f"{apart}, or limit the risk"
    known = all(policy.attributes[name].role is Role.SENSITIVE for name in attributes)
    if known and (hasattr(kind, "expected_ratio") or lists_values(kind)):
        return None
    return (
        f"{together}; the risk needs a separate axis for it",
        f"{apart}, or leave it out of the entry's `sensitive`",
    )


def _refuse_certain_guess(
    requirement: Requirement[AttributeDisclosureOptions], policy: Policy, axes: Layout
) -> tuple[str, str] | None:
    """Refuse a limit of the best guess of an unmodified attribute."""
    if requirement.options.measure is not LimitKind.BEST_GUESS:
        return None
    plain = {name for names, kind in axes for name in names if issubclass(kind, Identity)}
    certain = next((name for name in requirement.protects(policy) if name in plain), None)
    if certain is None:
        return None
    return certain_guess_reason(certain), f"randomise '{certain}', or hide it in sets or groups"


def certain_guess_reason(sensitive: str) -> str:
    """Return why the best guess of an unmodified attribute has a probability of 1."""
    return f"'{sensitive}' is released unchanged: an attacker who knows the person's record reads it, a best guess of 1"


def _disclosure_functions(requirement: Requirement[AttributeDisclosureOptions]) -> DisclosureFunctions:
    from rrpolicy.privacy.disclosure import best_guess, constraint, guess_constraints, minimum_risk
    from rrpolicy.privacy.disclosure.attribute import protected_attribute_risks
    from rrpolicy.privacy.disclosure.risk import attribute_finding

    if requirement.options.measure.guessed:
        return DisclosureFunctions(
            best_guess.protected_attribute_guesses,
            attribute_finding,
            guess_constraints.guess_constraint,
            minimum_risk.guess_minimum,
            lambda *_: (),
            best_guess.unreachable_limit,
        )
    reading = requirement.options.measure is LimitKind.CORRECT_READING
    return DisclosureFunctions(
        protected_attribute_risks,
        attribute_finding,
        guess_constraints.correct_inference_constraint if reading else constraint.attribute_constraint,
        minimum_risk.correct_inference_minimum if reading else minimum_risk.attribute_minimum,
        constraint.value_share_tests,
    )


DISCLOSURE_MODEL = DisclosureModel(
    NAME,
    "Guo, Ying, Wu 2011, Result 1, eq. 6-9",
    ADVERSARY,
    (ONE_EVENT_NOTE,),
    subgroup_problem,
    _disclosure_functions,
    layout,
    _refuse_certain_guess,
)
