"""A mechanism that keeps every value with one probability, and what is wrong with others."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.frozen import replace
from rrpolicy.plugin import (
    Derived,
    Identity,
    Origin,
    Outline,
    Policy,
    Problem,
    Product,
    Proposal,
    Rational,
    Remark,
    RequirementError,
    Retention,
    Task,
    Verdict,
    hookimpl,
)
from rrpolicy.testing import check_mechanism, open_policy, policy_text

TEXT = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], release_as = "part" }
health = { role = "sensitive", domain = ["good", "bad"] }
[[privacy]]
model = "local-dp"
epsilon = EPSILON
[mechanism]
name = "acme-keep"
"""
ticks = itertools.count(1)


class Options(BaseModel):
    """How surely a value is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: Rational = Field(default=Fraction(4, 5), gt=0, lt=1)


class Keep:
    """Retention of every attribute; refused where its epsilon is too large."""

    name = "acme-keep"
    options: type[BaseModel] = Options
    text: ClassVar[str] = TEXT

    def keep(self, options: Any, task: Task | None) -> Fraction:
        return options.keep

    def channel(self, policy: Policy, keep: Fraction) -> Product:
        axes = [Retention.uniform(a.name, a.domain, keep, a.release_as) for a in policy.released]
        return Product(tuple(axes), (), tuple(a.release_as or a.name for a in policy.released))

    def outline(self, options: Any, policy: Policy) -> Outline:
        return Outline(Product, tuple(((a.name,), Retention) for a in policy.released))

    def plan(self, options: Any, task: Task) -> Proposal:
        task.require_domains()
        channel = self.channel(task.policy, self.keep(options, task))
        self.require(channel, task)
        return Proposal(channel, dict.fromkeys(task.policy.attributes, Origin.POLICY))

    def require(self, channel: Product, task: Task) -> None:
        found = (assessor.finding(requirement, channel, task.original) for requirement, assessor in task.requirements)
        if any(finding.verdict is Verdict.FAILED for finding in found):
            raise RequirementError(Problem("RR102", "it keeps too much"))


class Fixed(Keep):
    """Says before any data what it will plan."""

    def outline(self, options: Any, policy: Policy) -> Outline:
        known = all(a.domain for a in policy.released)
        return replace(super().outline(options, policy), fixed=self.channel(policy, options.keep) if known else None)


class Counting(Keep):
    """Keeps less of small tables' rarest region, and says so."""

    def keep(self, options: Any, task: Task | None) -> Fraction:
        return Fraction(1, 2) + Fraction(int(task.original.counts("region").n.min()), 10 * task.records)

    def outline(self, options: Any, policy: Policy) -> Outline:
        return replace(super().outline(options, policy), derived=(Derived("rarest", "how rare the rarest region is"),))

    def plan(self, options: Any, task: Task) -> Proposal:
        if isinstance(task.original, int):
            return Keep().plan(options, task)
        return replace(super().plan(options, task), origins=dict.fromkeys(task.policy.attributes, Origin.DATA))


class Secret(Keep):
    def keep(self, options, task):
        return (
            Fraction(1, 2) + Fraction(1, 10 + int(task.original.counts("sex").n[0])) if task.records else options.keep
        )


class SolvedInSecret(Secret):
    def outline(self, options, policy):
        return replace(super().outline(options, policy), solved=("sex", "region"))


class Unannounced(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), origins=dict.fromkeys(task.policy.attributes, Origin.DATA))


class Moody(Keep):
    def keep(self, options, task):
        return options.keep - Fraction(1, 10 + next(ticks))


class Whimsical(Keep):
    def outline(self, options, policy):
        return replace(super().outline(options, policy), derived=(Derived(f"tick{next(ticks)}", "the time"),))


class Yielding(Keep):
    def require(self, channel, task):
        """Let it pass."""


class Abrupt(Keep):
    def require(self, channel, task):
        try:
            super().require(channel, task)
        except RequirementError as error:
            raise ValueError("it keeps too much") from error


class Impatient(Keep):
    """Takes what the table has to decide for a failure."""

    def require(self, channel, task):
        if not all(a.accepts(requirement, channel, task.original) for requirement, a in task.requirements):
            raise RequirementError(Problem("RR102", "it keeps too much"))


class ImpatientOfTheTable(Impatient):
    text = TEXT.replace("[mechanism]", '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 1\n[mechanism]')


class Presuming(Keep):
    """Plans for domains that nobody told it."""

    def plan(self, options, task):
        channel = self.channel(task.policy, self.keep(options, task))
        self.require(channel, task)
        return Proposal(channel, dict.fromkeys(task.policy.attributes, Origin.POLICY))


class Guessing(Presuming):
    def channel(self, policy, keep):
        known = {n: replace(a, domain=a.domain or ("f", "m")) for n, a in policy.attributes.items()}
        return super().channel(replace(policy, attributes=known), keep)


class Choosy(Keep):
    """Plans nothing for tables without variety."""

    def require(self, channel, task):
        super().require(channel, task)
        if not isinstance(task.original, int) and len(task.original.counts("sex").n) == 1:
            raise RequirementError(Problem("RR102", "everybody is alike"))


class ChoosyByRequirement(Choosy):
    """The same, where a requirement reads the table: that it was released at all is told in any case."""

    text = ImpatientOfTheTable.text


class Chatty(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), remarks=(Remark("plans", f"this is plan {next(ticks)}"),))


class Partial(Keep):
    def outline(self, options, policy):
        return Outline(Product, ((("sex",), Retention),))

    def channel(self, policy, keep):
        return Product((Retention.uniform("sex", ("f", "m"), keep),), (), ("sex",))


class Exchanged(Keep):
    def channel(self, policy, keep):
        whole = super().channel(policy, keep)
        return replace(whole, axes=whole.axes[::-1], order=whole.order[::-1])

    def outline(self, options, policy):
        return replace(super().outline(options, policy), axes=super().outline(options, policy).axes[::-1])


class OwnName(Keep):
    def channel(self, policy, keep):
        return super().channel(
            replace(policy, attributes={n: replace(a, release_as=n) for n, a in policy.attributes.items()}), keep
        )


class OwnNameUnseen(OwnName):
    text = TEXT.replace(', release_as = "part"', "")


class OtherAxes(Keep):
    def outline(self, options, policy):
        return Outline(Product, tuple(((a.name,), Identity) for a in policy.released))


class OtherThanFixed(Fixed):
    def keep(self, options, task):
        return options.keep - Fraction(1, 10)


class OriginInWords(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), origins={"sex": "fixed by the policy"})


class Untold(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), origins={"sex": Origin.POLICY})


class AnnouncingOther(Secret):
    def outline(self, options, policy):
        return replace(super().outline(options, policy), derived=(Derived("other", "something else of the table"),))


class Doubles(Keep):
    def channel(self, policy, keep):
        return super().channel(policy, float(keep))


class OfNumpy(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), unrounded={"sex": {"keep": np.float32(0.5)}})


class NotANumber(Keep):
    def plan(self, options, task):
        return replace(super().plan(options, task), unrounded={"sex": {"keep": math.nan}})


class Needy(Keep):
    def plan(self, options, task):
        task.original.counts("sex")
        return super().plan(options, task)


class Meltable(Options):
    model_config = ConfigDict(extra="forbid", frozen=False)


class Deaf(Options):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Boundless(Options):
    keep: Rational = Fraction(4, 5)


def with_options(kind: type[BaseModel], keep: Any = lambda options: min(options.keep, Fraction(4, 5))) -> type[Keep]:
    """Return the mechanism with other options."""

    class Other(Keep):
        options = kind

        def keep(self, options, task):
            return keep(options)

        def outline(self, options, policy):
            keep(options)
            return super().outline(options, policy)

    return Other


def opened(mechanism: Any, epsilon: str) -> Any:
    class Plugin:
        @hookimpl
        def rrpolicy_mechanisms(self):
            return [mechanism]

    return open_policy(policy_text(mechanism.text.replace("EPSILON", epsilon)), [Plugin()])


def check(kind: type[Keep]) -> None:
    mechanism = kind()
    check_mechanism(
        mechanism, opened(mechanism, "5"), impossible=[opened(mechanism, "0.01")], refused=[{"keep": 0}, {"keep": 3}]
    )


HONEST = {
    "retention": Keep,
    "retention that is fixed": Fixed,
    "retention by the table, announced": Counting,
    "refusal by the table, where a requirement reads it": ChoosyByRequirement,
}
WRONG = {
    "parameters from the table in secret": (Secret, "planning with the number of records alone, .* fails|announces nothing"),
    "solved from the table in secret": (SolvedInSecret, "no origin states that they depend on data"),
    "parameters from the table, not announced": (Unannounced, "chosen from the data, and the outline does not announce it"),
    "another plan each time": (Moody, "two plans of one table differ"),
    "another outline each time": (Whimsical, "two outlines of one policy differ"),
    "a weaker plan than required": (Yielding, "local-dp is not satisfied by the plan: plan must raise"),
    "a plan that fails where it should refuse": (Abrupt, "planning what is impossible, not RequirementError .RR102., fails: ValueError"),
    "undecided is failed": (Impatient, "RequirementError although only the table decides"),
    "undecided is failed, as the policy asks": (ImpatientOfTheTable, ("RequirementError although only the table "
            "decides")),
    "a domain that is not known yet": (Presuming, "where the domain of 'sex' is observed, planning .*not PolicyError .RR255., fails: TypeError"),
    "a domain that is guessed": (Guessing, "where the domain of 'sex' is observed, something is planned with the number of records alone"),
    "a refusal by the table in secret": (Choosy, "of two tables of as many records one is refused, and no requirement reads the table"),
    "another remark each time": (Chatty, "two plans of one table differ"),
    "an attribute left out": (Partial, "the outline has axes of .*sex.*, not of"),
    "columns in another order": (Exchanged, "does not keep the policy's order"),
    "its own released name": (OwnName, "is released as 'region', and the policy declares 'part'"),
    "its own released name, where the policy renames nothing": (OwnNameUnseen, ("is released as 'sex', and the "
            "policy declares 'sex_released'")),
    "other axes than outlined": (OtherAxes, "the plan's axes are not the outline's"),
    "another channel than fixed": (OtherThanFixed, "fixes another channel than the one that is planned"),
    "an origin in words": (OriginInWords, "origins are not of `Origin`"),
    "an origin untold": (Untold, "origins do not state the source of the parameters of .'health', 'region'."),
    "another statistic than announced": (AnnouncingOther, "no origin states that they depend on data"),
    "probabilities in doubles": (Doubles, "plan.. fails: AttributeError: 'float' object"),
    "a parameter of numpy": (OfNumpy, "unrounded contain what a plan cannot contain"),
    "a parameter that is not a number": (NotANumber, "unrounded is not JSON"),
    "no plan without the table": (Needy, "planning with the number of records alone, not PolicyError .RR255., fails: AttributeError"),
    "options that change": (with_options(Meltable), "Meltable is not frozen"),
    "options that take any key": (with_options(Deaf), "Deaf takes unknown keys"),
    "a bad option is taken": (with_options(Boundless), "options {'keep': 0} are taken, and should be refused"),
    "a bad option fails": (with_options(Boundless, lambda o: o.keep / (1 if o.keep else 0)), "refusing options {'keep': 0} fails: ZeroDivisionError"),
}  # fmt: skip
