"""Attribute disclosure under linking: how likely randomised values lead back to a person's sensitive value.

    risk(alpha, u) = c_u R_QI(alpha) R_S(u | alpha)

for every combination alpha of quasi-identifiers and sensitive value u that occur together, c_u the share of u in the
group (Guo, Ying, Wu 2011, Result 1, eq. 6-9). The guarantee is the maximum.
"""

from __future__ import annotations

from typing import ClassVar

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.base import Layout, lists_values
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list
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
from rrpolicy.privacy.wording import attribute_phrase, percent_rounded_up


def coupling_problem(axes: Layout, policy: Policy, sensitive: str) -> tuple[str, str] | None:
    """Return why a sensitive attribute cannot be assessed, and what helps.

    Its axis must be its own, or independence is lost. Of several sensitive attributes together one can be read out of
    what is read of all, if the axis tells enough: its matrix, or what is expected of a set.

    Args:
        axes: (attributes, class) of each.
        policy: for the roles.
        sensitive: the attribute.
    """
    own = next((axis for axis in axes if sensitive in axis[0]), None)
    if own is None:
        return f"'{sensitive}' is released without categories, of which the risk speaks", "give it a domain, or bins"
    attributes, kind = own
    if len(attributes) == 1:
        return None
    known = all(policy.attributes[name].role is Role.SENSITIVE for name in attributes)
    if known and (hasattr(kind, "expected_ratio") or lists_values(kind)):
        return None
    others = ", ".join(f"'{name}'" for name in attributes if name != sensitive)
    return (
        f"'{sensitive}' is randomised together with {others}; the risk needs it on an axis of its own",
        f"randomise '{sensitive}' by itself, or leave it out of the entry's `sensitive`",
    )


REFERENCE = "Guo, Ying, Wu 2011, Result 1, eq. 6-9"
ANOTHER_RECORD = (
    "Reading the true value off another person's record: `attribute-disclosure` limits one event, that the attacker "
    "selects a record with the person's own attributes and reads the true value. How often a value read is the true "
    "one (`value read correctly`) also follows from the original table, and is not limited."
)
COMMONEST = (
    "Guessing the commonest value of a group: who knows or reconstructs the shares of the whole table does "
    "(`largest within-group share`), and no release lowers that."
)
KNOWN_ELSEWHERE = "Knowledge from elsewhere, beyond the quasi-identifiers."
NOT_COVERED = (ANOTHER_RECORD, COMMONEST, MORE_RECORDS, KNOWN_ELSEWHERE, *EVERY_MODEL)
NOT_COVERED_BY_A_READING = (
    "Naming the likeliest value, in place of reading one off a record drawn: `best-guess` limits that.",
    *NOT_COVERED[1:],
)
NOT_COVERED_BY_A_GUESS = (
    "Finding a person's record: the attacker of `best-guess` and `gain` knows it. `identity-disclosure` limits that.",
    MORE_RECORDS,
    KNOWN_ELSEWHERE,
    *EVERY_MODEL,
)


class AttributeDisclosure:
    """The privacy model `attribute-disclosure`."""

    name = NAME
    options = AttributeDisclosureOptions
    not_covered = NOT_COVERED
    measures: ClassVar = {
        f"{NAME}/{LimitKind.CORRECT_READING}": NOT_COVERED_BY_A_READING,
        f"{NAME}/{LimitKind.BEST_GUESS}": NOT_COVERED_BY_A_GUESS,
        f"{NAME}/{LimitKind.GAIN}": NOT_COVERED_BY_A_GUESS,
    }
    example = 'threshold = "1/3"'

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
        """Return that all values may be read with certainty."""
        limits = [*options.thresholds.values(), *(() if options.threshold is None else (options.threshold,))]
        return "limits nothing: no probability exceeds 1" if all(limit >= 1 for limit in limits) else None

    def without_limit(self, options: AttributeDisclosureOptions) -> str | None:
        """Return which values may be read with certainty."""
        free = [value for value, limit in options.thresholds.items() if limit >= 1]
        return f"sets no limit for {quoted_list(free)}: no probability exceeds 1" if free else None

    def promise(self, options: AttributeDisclosureOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
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
            return "the policy names no sensitive attribute"
        for name in sensitive:
            if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
                return f"'{name}' is not a sensitive attribute of the policy"
        domains = [policy.attributes[name].domain for name in sensitive]
        if None not in domains:
            known = {str(value) for domain in domains for value in domain or ()}
            for value in options.thresholds:
                if value not in known:
                    return f"`thresholds` names '{value}', which is no category of {', '.join(sensitive)}"
        return None

    def compare(self, old: AttributeDisclosureOptions, new: AttributeDisclosureOptions) -> Order:
        """Compare limits and what is protected: weaker if something becomes weaker, stronger if stronger.

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


def assessors() -> tuple[Assessor, ...]:
    """Return the assessor for product channels."""
    return (DISCLOSURE_MODEL.assessor(),)


def subgroup_problem(requirement: Requirement[AttributeDisclosureOptions], policy: Policy) -> str | None:
    """Refuse subgroups by what the attacker does not know."""
    protected = requirement.protects(policy)
    for name in requirement.where:
        role = policy.attributes[name].role
        if role is Role.SENSITIVE and requirement.options.measure.guessed:
            return f"`where` names the sensitive '{name}', of which the best guess in a group is not told apart"
        if role is Role.SENSITIVE and protected != (name,):
            return f"`where` names the sensitive '{name}', which an entry can do only if it protects that one alone"
        if role not in {Role.SENSITIVE, Role.QUASI_IDENTIFIER}:
            return f"`where` names '{name}', which is neither quasi-identifier nor sensitive"
    return None


def layout(
    requirement: Requirement[AttributeDisclosureOptions], policy: Policy, axes: Layout
) -> tuple[str, str] | None:
    """Refuse a sensitive attribute that is randomised together with others, unless it can be read out of them."""
    measure = requirement.options.measure
    refuse = (
        _unsupported_guess_problem
        if measure.guessed
        else coupling_problem
        if measure is LimitKind.RISK
        else unreadable_value_problem
    )
    refused = (refuse(axes, policy, name) for name in requirement.protects(policy))
    return next((reason for reason in refused if reason is not None), None)


def unreadable_value_problem(axes: Layout, policy: Policy, sensitive: str) -> tuple[str, str] | None:
    """Return why the value that is read of an attribute cannot be limited, and what helps."""
    for attributes, kind in axes:
        if sensitive in attributes and len(attributes) > 1 and lists_values(kind):
            return (
                f"one matrix randomises '{sensitive}' with others: what is read is limited on an axis of its own",
                f"randomise '{sensitive}' by itself, or limit the risk",
            )
    return coupling_problem(axes, policy, sensitive)


def _unsupported_guess_problem(axes: Layout, policy: Policy, sensitive: str) -> tuple[str, str] | None:
    """Return why no best guess can be told of an attribute, and what helps."""
    own = next((axis for axis in axes if sensitive in axis[0]), None)
    if own is None:
        return coupling_problem(axes, policy, sensitive)
    attributes, kind = own
    if len(attributes) > 1:
        others = ", ".join(f"'{name}'" for name in attributes if name != sensitive)
        return (
            f"'{sensitive}' is randomised together with {others}; its best guess is told on an axis of its own",
            f"randomise '{sensitive}' by itself, or limit the risk",
        )
    if not lists_values(kind) and not hasattr(kind, "best_guess"):
        return f"'{kind.kind}' axes do not tell how often the best guess is right", "limit the risk"
    return None


def refuse_certain_guess(
    requirement: Requirement[AttributeDisclosureOptions], policy: Policy, axes: Layout
) -> tuple[str, str] | None:
    """Refuse a limit of the best guess of what is released as it is."""
    if requirement.options.measure is not LimitKind.BEST_GUESS:
        return None
    plain = {name for names, kind in axes for name in names if issubclass(kind, Identity)}
    open_to_all = [name for name in requirement.protects(policy) if name in plain]
    return (
        (certain_guess_reason(open_to_all[0]), f"randomise '{open_to_all[0]}', or hide it in sets or groups")
        if open_to_all
        else None
    )


def certain_guess_reason(sensitive: str) -> str:
    """Return why the best guess of what is released as it is has a probability of 1."""
    return f"'{sensitive}' is released as it is: who knows which record is a person's reads it, a best guess of 1"


def _disclosure_functions(requirement: Requirement[AttributeDisclosureOptions]) -> DisclosureFunctions:
    if requirement.options.measure.guessed:
        from rrpolicy.privacy.limits import best_guess, retention_cap

        return DisclosureFunctions(
            best_guess.assess,
            best_guess.guess_verdict,
            retention_cap.guess_constraint,
            retention_cap.guess_minimum,
            lambda *_: (),
            best_guess.unreachable_limit,
        )
    if requirement.options.measure is LimitKind.CORRECT_READING:
        from rrpolicy.privacy.limits import correct_inference, correct_inference_gradients

        return DisclosureFunctions(
            correct_inference.assess,
            correct_inference.inference_verdict,
            correct_inference_gradients.correct_inference_constraint,
            correct_inference.correct_inference_minimum,
            correct_inference.class_share_tests,
        )
    from rrpolicy.privacy.disclosure import attribute, constraint, minimum_risk

    return DisclosureFunctions(
        attribute.assess_attribute,
        attribute.attribute_verdict,
        constraint.attribute_constraint,
        minimum_risk.attribute_minimum,
        constraint.value_share_tests,
    )


DISCLOSURE_MODEL = DisclosureModel(
    NAME, REFERENCE, ADVERSARY, (ONE_EVENT_NOTE,), subgroup_problem, _disclosure_functions, layout, refuse_certain_guess
)
