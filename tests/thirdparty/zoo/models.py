"""A privacy model, and what is wrong with others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import Order, Policy, Rational, Role
from rrpolicy.testing import check_privacy_model


class Options(BaseModel):
    """How much likelier one value may make a released one than another."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gamma: Rational = Field(gt=1)

    @property
    def limit(self) -> Fraction:
        """Return gamma."""
        return self.gamma


EXAMPLES = ({"gamma": 2}, {"gamma": 3}, {"gamma": 4})


class Amplification:
    """The privacy model `acme-ratio`."""

    examples: Any = EXAMPLES
    name = "acme-ratio"
    options: type[BaseModel] = Options
    not_covered: Any = ("What the whole table says of a group.",)

    def describe(self, options: Any) -> str:
        return f"amplification <= {options.gamma}"

    def refuses(self, options: Any, policy: Policy) -> str | None:
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy declares no quasi-identifier"

    def compare(self, old: Any, new: Any) -> Order:
        return Order.by(old.gamma - new.gamma)


class Classes(BaseModel):
    """No class is smaller than k, and no value in one more frequent than alpha."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: int = Field(ge=1, strict=True)
    alpha: Rational = Field(gt=0, le=1)

    @property
    def limit(self) -> Fraction:
        """Return alpha."""
        return self.alpha


class AlphaK:
    """The privacy model `acme-alpha-k`: Wong, Li, Fu, Wang 2006."""

    name = "acme-alpha-k"
    options = Classes

    def describe(self, options: Any) -> str:
        return f"k >= {options.k}, alpha <= {options.alpha}"

    def refuses(self, options: Any, policy: Policy) -> str | None:
        return None if policy.with_role(Role.SENSITIVE) else "no attribute is sensitive"

    def compare(self, old: Any, new: Any) -> Order:
        return Order.together(Order.by(new.k - old.k), Order.by(old.alpha - new.alpha))


class Verbose(Amplification):
    """Says more, and compares the other way round: more is stronger."""

    def describe(self, options: Any) -> str:
        return f"at least {float(options.gamma):g} times as likely"

    def compare(self, old: Any, new: Any) -> Order:
        return Order.by(new.gamma - old.gamma)


class Proud(Amplification):
    def compare(self, old, new):
        return Order.STRONGER if old.gamma >= new.gamma else Order.WEAKER


class Eager(Amplification):
    def compare(self, old, new):
        return Order.EQUAL if old == new else Order.STRONGER


class Absolute(Amplification):
    def compare(self, old, new):
        return Order.by(abs(old.gamma - 3) - abs(new.gamma - 3))


class Blind(Amplification):
    def compare(self, old, new):
        return Order.EQUAL


class Unlimited(BaseModel):
    """The same, of which no limit is told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gamma: Rational = Field(gt=1)


class Circular(Amplification):
    options = Unlimited

    def compare(self, old, new):
        return Order.by((0, 1, -1)[int(new.gamma - old.gamma) % 3])


class Vague(Amplification):
    def describe(self, options):
        return "not amplified much"


class Pair(Unlimited):
    """A ratio, and a share of the people."""

    share: Rational = Field(default=Fraction(1), gt=0, le=1)


class Shared(Amplification):
    """Speaks of a share of the people, and orders by both."""

    options = Pair
    examples = (*EXAMPLES, {"gamma": 2, "share": "1/2"}, {"gamma": 3, "share": "1/2"}, {"gamma": 3, "share": "0.50"})

    def describe(self, options):
        return f"amplification <= {options.gamma} for {100 * options.share} % of the people"

    def compare(self, old, new):
        return Order.together(super().compare(old, new), Order.by(new.share - old.share))


class Forgetful(Shared):
    def compare(self, old, new):
        return Order.by(old.gamma - new.gamma)


class Rounding(Amplification):
    def describe(self, options):
        return (
            f"amplification <= {options.gamma} or {int(options.gamma)}"
            if options.gamma == 9
            else "amplification <= 2, 3, 4"
        )


class Failing(Amplification):
    def refuses(self, options, policy):
        return f"of {policy.with_role(Role.SENSITIVE)[0].name}"


class Mute(Amplification):
    def refuses(self, options, policy):
        return ""


class Refusing(Amplification):
    def refuses(self, options, policy):
        return "never"


class Approximate(Options):
    @property
    def limit(self):
        return float(self.gamma)


class Loose(Options):
    gamma: Rational


class Growing(Options):
    model_config = ConfigDict(extra="forbid", frozen=False)


class Outdated(Amplification):
    example = "ratio = 4"


class Terse(Amplification):
    not_covered = "What the whole table says of a group."


def with_options(kind: type[BaseModel]) -> type[Amplification]:
    """Return the model with other options."""
    return type("Other", (Amplification,), {"options": kind})


def check(kind: type[Amplification]) -> None:
    check_privacy_model(kind(), kind.examples, refused=[{"gamma": 1}, {"gama": 2}])


HONEST = {"amplification": Amplification, "more is stronger": Verbose, "of a share": Shared}
WRONG = {
    "stronger than itself": (Proud, "'amplification <= 2' is stronger than itself"),
    "each is stronger than the other": (Eager, "compare.. returns stronger of .* and stronger back"),
    "now more is stronger, now less": (Absolute, "takes now the greater limit for stronger, now the smaller one|is equal"),
    "all are equal": (Blind, "is equal to .*, of another limit"),
    "an option is not compared": (Forgetful, "is equal to 'amplification <= 2 for 50 % .*describe.. words them differently"),
    "round in a circle": (Circular, "compare.. is not transitive"),
    "the limit is not told": (Vague, "describe.. does not contain the limit 2"),
    "the same words for different limits": (Rounding, "describe.. returns .* of different requirements"),
    "it fails on a policy without sensitive attributes": (Failing, "refuses.. of a policy .a: quasi-identifier. fails: IndexError"),
    "it refuses without a reason": (Mute, "refuses.. returns a reason, or None"),
    "it cannot be asked": (Refusing, "refuses.. refuses every example of every policy"),
    "a limit in doubles": (with_options(Approximate), "limit is float, not an exact Fraction"),
    "a bad limit is taken": (with_options(Loose), "Loose takes {'gamma': 1}, which should be refused"),
    "options that change": (with_options(Growing), "Growing is not frozen"),
    "an example of another version": (Outdated, "the example {'ratio': 4} is refused"),
    "one text for sentences": (Terse, "not_covered are sentences, not one text"),
}  # fmt: skip
