"""Checks of a privacy model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from pydantic import BaseModel, ValidationError

from rrpolicy.declarations import Role
from rrpolicy.numbers import figure, percent, plain_number
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.privacy.model import Order, PrivacyModel
from rrpolicy.testing.assertions import check_options, convert_to_assertion, demand
from rrpolicy.testing.policies import policy_of

OPPOSITE = {Order.STRONGER: Order.WEAKER, Order.WEAKER: Order.STRONGER}
NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:/[1-9]\d*)?)(\s?%)?")
CHAINS = {(Order.STRONGER, Order.STRONGER): Order.STRONGER, (Order.WEAKER, Order.WEAKER): Order.WEAKER}


@convert_to_assertion("the arguments of the privacy model")
def check_privacy_model(
    model: PrivacyModel[Any],
    examples: Sequence[Mapping[str, object]],
    *,
    refused: Sequence[Mapping[str, object]] = (),
    policies: Sequence[OpenedPolicy] = (),
) -> None:
    """Check a privacy model's texts on requirements, and its comparison of them.

        check_privacy_model(Amplification(), [{"gamma": 2}, {"gamma": 3}, {"gamma": "7/2"}], refused=[{"gamma": 0}])

    Args:
        model: the model to check.
        examples: options of valid requirements, two at least; some that differ in their limit alone.
        refused: options that must be refused.
        policies: policies to check requirements with, in addition to those of the kit.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(isinstance(model.name, str) and bool(model.name), "a privacy model has a name")
    check_options(model.options, refused)
    demand(len(examples) > 1, "`examples` are two at least")
    options = [_read_example(model, example) for example in examples]
    asked = [*_foreign_policies(), *(p.policy for p in policies)]
    taken = [_refusal(model, each, policy) is None for each in options for policy in asked]
    demand(any(taken), "refuses() refuses every example of every policy; give `policies` to which they apply")
    for each in options:
        with convert_to_assertion("describe()"):
            _check_words(model, each)
    for one, other in combinations(options, 2):
        same = model.describe(one) == model.describe(other)
        demand(not same or one == other, f"describe() returns '{model.describe(one)}' of different requirements")
    _check_order(model, options)
    _check_example(model)
    measures = {f"measures['{name}']": said for name, said in getattr(model, "measures", {}).items()}
    for name, said in {"not_covered": getattr(model, "not_covered", ()), **measures}.items():
        demand(not isinstance(said, str), f"{name} are sentences, not one text")
        demand(all(isinstance(s, str) and bool(s.strip()) for s in said), f"{name} are sentences")


def _read_example(model: PrivacyModel[Any], example: Mapping[str, object]) -> BaseModel:
    try:
        options: BaseModel = model.options.model_validate(example)
    except ValidationError as error:
        raise AssertionError(f"the example {dict(example)} is refused: {error.errors()[0]['msg']}") from error
    written = options.model_dump(mode="json")
    demand(model.options.model_validate(written) == options, f"options {written} read back otherwise")
    return options


def _check_example(model: PrivacyModel[Any]) -> None:
    example = getattr(model, "example", "")
    try:
        _read_example(model, tomllib.loads(example, parse_float=Decimal)) if example else None
    except tomllib.TOMLDecodeError as error:
        raise AssertionError(f"`example` is not TOML: {error}") from error


def _exact_limit(options: BaseModel) -> Fraction | None:
    stated = getattr(options, "limit", None)
    exact = stated is None or isinstance(stated, (Fraction, int))
    demand(exact, f"limit is {type(stated).__name__}, not an exact Fraction")
    return None if stated is None else Fraction(stated)


def _check_words(model: PrivacyModel[Any], options: BaseModel) -> None:
    words = model.describe(options)
    demand(isinstance(words, str) and bool(words.strip()), "describe() returns words")
    limit = _exact_limit(options)
    if limit is not None:
        spelled = {
            str(limit),
            figure(float(limit)),
            plain_number(float(limit)),
            percent(float(limit)),
            percent(float(limit), 0),
        }
        demand(any(s in words for s in spelled), f"describe() does not contain the limit {limit}: '{words}'")


def _foreign_policies() -> tuple[Policy, ...]:
    of = Attribute("a", Role.QUASI_IDENTIFIER, ("x", "y"), release_as="a")
    secret = Attribute("s", Role.SENSITIVE, ("u", "v"), release_as="s")
    observed = Attribute("s", Role.SENSITIVE, None, observed=True, release_as="s")
    plain = Attribute("i", Role.INSENSITIVE, None, release_as="i")
    return tuple(policy_of(some) for some in ((of,), (secret,), (of, secret), (of, observed), (plain,), ()))


def _refusal(model: PrivacyModel[Any], options: BaseModel, policy: Policy) -> str | None:
    named = ", ".join(f"{a.name}: {a.role.value}" for a in policy.attributes.values()) or "no attributes"
    with convert_to_assertion(f"refuses() of a policy ({named})"):
        reason = model.refuses(options, policy)
    demand(reason is None or (isinstance(reason, str) and bool(reason.strip())), "refuses() returns a reason, or None")
    return reason


def _check_order(model: PrivacyModel[Any], options: Sequence[BaseModel]) -> None:
    with convert_to_assertion("compare()"):
        order = {(a, b): model.compare(x, y) for (a, x), (b, y) in product(enumerate(options), repeat=2)}
    demand(all(isinstance(o, Order) for o in order.values()), "compare() returns an Order")
    stronger: set[bool] = set()
    for (a, b), found in order.items():
        one, other = model.describe(options[a]), model.describe(options[b])
        if a == b:
            demand(found is Order.EQUAL, f"compare() returns that '{one}' is {found} than itself")
        turned = order[b, a]
        demand(
            turned is OPPOSITE.get(found, found),
            f"compare() returns {found} of '{one}' to '{other}', and {turned} back",
        )
        limits = _exact_limit(options[a]), _exact_limit(options[b])
        if limits[0] is not None and limits[1] is not None and _differ_in_limit_only(options[a], options[b]):
            demand(found in OPPOSITE, f"compare() returns that '{other}' is {found} to '{one}', of another limit")
            stronger.add((limits[1] > limits[0]) == (found is Order.STRONGER))
        same = found is not Order.EQUAL or options[a] == options[b] or _mask_numbers(one) == _mask_numbers(other)
        demand(same, f"compare() returns that '{one}' is equal to '{other}', and describe() words them differently")
    demand(len(stronger) < 2, "compare() takes now the greater limit for stronger, now the smaller one")  # noqa: PLR2004
    for a, b, c in product(range(len(options)), repeat=3):
        through = CHAINS.get((order[a, b], order[b, c]))
        said = " to ".join(f"'{model.describe(options[i])}'" for i in (a, b, c))
        demand(through in {None, order[a, c]}, f"compare() is not transitive: {said}")


def _mask_numbers(words: str) -> tuple[str, list[Fraction]]:
    """Return words without their numbers, and these in any notation."""
    numbers = [_canonical_number(number) / (100 if percents else 1) for number, percents in NUMBER.findall(words)]
    return NUMBER.sub("#", words), numbers


def _canonical_number(spelled: str) -> Fraction:
    above, _, below = spelled.partition("/")
    return Fraction(above) / Fraction(below or 1)


def _differ_in_limit_only(one: BaseModel, other: BaseModel) -> bool:
    """Return whether requirements differ in one option, which determines their limits."""
    differing = [n for n in type(one).model_fields if getattr(one, n) != getattr(other, n)]
    return len(differing) == 1 and _exact_limit(one) != _exact_limit(other)
