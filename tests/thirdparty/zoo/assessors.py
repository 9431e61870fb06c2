"""An assessor of the model `acme-ratio`, and what is wrong with others."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rrpolicy.frozen import replace
from rrpolicy.plugin import (
    Assessor,
    Attribute,
    Basis,
    Companion,
    Finding,
    Identity,
    Matrix,
    Measure,
    PerClass,
    Product,
    Requirement,
    Retention,
    Role,
    Verdict,
    conclude,
    hookimpl,
)
from rrpolicy.plugin.types import MinimumRisk
from rrpolicy.testing import check_assessor, open_policy, policy_of

from .models import AlphaK, Amplification, Classes, Options

DOMAINS = {"sex": ["f", "m"], "region": ["n", "e", "s"]}
ticks = itertools.count(1)


def assess(requirement: Requirement, channel: Product, original: Any) -> Finding:
    """Return the largest ratio of probabilities of a record."""
    ratios = [axis.max_ratio() for axis in channel.axes]
    ratio = None if None in ratios else math.prod(ratios)
    return found(requirement, ratio)


def found(requirement: Requirement, ratio: Fraction | None) -> Finding:
    held = ratio is not None and ratio <= requirement.options.gamma
    return Finding(
        "acme-ratio",
        "acme-ratio",
        "",
        requirement.place,
        Measure(math.inf if ratio is None else float(ratio)),
        requirement.limit,
        Verdict.SATISFIED if held else Verdict.FAILED,
        Basis.CHANNEL,
        "knows the matrices and the release",
    )


def holds(requirement: Requirement, channel: Product, original: Any) -> bool:
    return assess(requirement, channel, original).verdict is Verdict.SATISFIED


RIGHT = Assessor(
    "acme-ratio",
    Product,
    (Retention, Identity, Matrix),
    Basis.CHANNEL,
    "Evfimievski, Gehrke, Srikant 2003",
    assess,
    holds=holds,
    units=Basis.CHANNEL,
    monotone=True,
)


def saying(**fields: Any) -> Assessor:
    """Return an assessor whose findings say something else."""
    return replace(RIGHT, assess=lambda r, c, o: replace(assess(r, c, o), **fields), holds=None)


def by(ratio: Any) -> Assessor:
    """Return an assessor that reads another number from requirement, channel and table."""
    return replace(RIGHT, assess=lambda r, c, o: found(r, ratio(r, c, o)), holds=None)


def of(channel: Product) -> Fraction | None:
    ratios = [axis.max_ratio() for axis in channel.axes]
    return None if None in ratios else math.prod(ratios)


def strict(r: Any, c: Any, o: Any) -> Finding:
    finding = assess(r, c, o)
    equal = finding.achieved.value == finding.limit
    return replace(finding, verdict=Verdict.FAILED) if equal else finding


def reading(r: Any, c: Any, o: Any) -> Fraction | None:
    """Add a little for the people in one cell."""
    ratio = of(c)
    return ratio if isinstance(o, int) or ratio is None else ratio + Fraction(int(o.counts("sex").n[0]), 10**4)


def labels(r: Any, c: Any, o: Any) -> Fraction:
    return Fraction(20, min(len(axis.columns()[0].labels) for axis in c.axes[1:]))


def of_units(r: Any, c: Any, o: Any) -> Finding:
    return replace(assess(r, c, o), basis=Basis.ORIGINAL if r.max_records > 1 else Basis.CHANNEL)


def of_classes(heeds: Any) -> Assessor:
    """Return an assessor of (alpha, k) that holds the smallest class, and the options, to something."""

    def assess_classes(r: Any, c: Any, o: Any) -> Finding:
        cells = o.counts("sex", "region", "disease").dense()
        sizes = cells.sum(axis=-1)
        rows = zip(cells.reshape(-1, 3), sizes.ravel(), strict=True)
        share = max(Fraction(int(max(row)), int(size)) for row, size in rows if size)
        held = share <= r.options.alpha and heeds(int(sizes[sizes > 0].min()), r.options)
        return conclude(r, Measure(float(share)), held, Basis.ORIGINAL, "knows who is in a class")

    return Assessor("acme-alpha-k", Product, (Identity,), Basis.ORIGINAL, "Wong et al. 2006", assess_classes)


@dataclass
class Plugin:
    """The model with one assessor."""

    assessor: Assessor

    @hookimpl
    def rrpolicy_privacy_models(self):
        return [Amplification(), AlphaK()]

    @hookimpl
    def rrpolicy_assessors(self):
        return [self.assessor]


def check_classes(assessor: Assessor) -> None:
    attributes = [Attribute(n, Role.QUASI_IDENTIFIER, tuple(d), release_as=n) for n, d in DOMAINS.items()]
    attributes.append(Attribute("disease", Role.SENSITIVE, ("none", "flu", "cold"), release_as="disease"))
    for k, alpha in ((2, Fraction(9, 10)), (50, Fraction(9, 10)), (2, Fraction(1, 10))):
        policy = policy_of(attributes, [Requirement("acme-alpha-k", Classes(k=k, alpha=alpha))])
        axes = tuple(Identity.of(a.name, a.domain) for a in attributes)
        channel = Product(axes, (), tuple(a.name for a in attributes))
        check_assessor(assessor, open_policy(policy, [Plugin(assessor)]), [channel])


def check(assessor: Assessor) -> None:
    check_classes(assessor) if assessor.model == "acme-alpha-k" else check_ratio(assessor)


def check_ratio(assessor: Assessor) -> None:
    policy = policy_of(DOMAINS, [Requirement("acme-ratio", Options(gamma=9))])
    kept = {"sex": Fraction(4, 5), "region": Fraction(1, 2)}  # ratios 4 and 2
    channels = [
        Product(tuple(Retention.uniform(n, d, kept[n]) for n, d in DOMAINS.items()), (), tuple(DOMAINS)),
        Product(tuple(Identity.of(n, d) for n, d in DOMAINS.items()), (), tuple(DOMAINS)),
    ]
    check_assessor(assessor, open_policy(policy, [Plugin(assessor)]), channels)


def companion(value: float) -> Companion:
    return Companion("beside", Measure(value), Basis.CHANNEL, "what it says")


HONEST = {
    "alpha and k": of_classes(lambda size, options: size >= options.k),
    "the largest ratio": RIGHT,
    "measured again": replace(RIGHT, measure=lambda r, p, c, w: assess(r, c, 0)),
}
NOT_A_LIMIT = {"limit": None, "verdict": None}
WRONG = {
    "one of two options is passed over": (of_classes(lambda size, options: True), ("however large `k` is required, "
            "it is satisfied: 'k >= 401, alpha <= 9/10'")),
    "one of two options is turned round": (of_classes(lambda size, options: size <= options.k), ("is satisfied "
            "where .* failed, and compare.. returns that it is stronger")),
    "it reads the table": (by(reading), "it reads the table, but declares that the channel is enough"),
    "it needs the table": (by(lambda r, c, o: of(c) if o.counts("sex") else None), "without the table, assess.. fails: AttributeError"),
    "it never fails": (saying(verdict=Verdict.SATISFIED), "8 is achieved, and a limit of 7.99999 is satisfied, not failed"),
    "it never passes": (saying(verdict=Verdict.FAILED), "8 is achieved, and a limit of 8.00001 is failed, not satisfied"),
    "it fails at the limit": (replace(RIGHT, assess=strict, holds=None), "8 is achieved, and a limit of 8 is failed, not satisfied"),
    "holds() says otherwise": (replace(RIGHT, holds=lambda *_: True), "holds.. is True, and assess.. returns failed"),
    "another number each time": (by(lambda r, c, o: Fraction(next(ticks))), "two assessments of one channel differ"),
    "a number without a verdict": (saying(verdict=Verdict.UNDECIDED), "a number without a verdict, or vice versa"),
    "no verdict at all": (saying(verdict=None), "a requirement needs a verdict"),
    "it depends on more": (saying(basis=Basis.ORIGINAL), "the finding depends on more than the assessor declares"),
    "units rest on more": (replace(RIGHT, assess=of_units, holds=None), "depends on more than `units` declares"),
    "nobody is the adversary": (saying(adversary=" "), "does not state its adversary"),
    "a number of numpy": (saying(achieved=Measure(np.float64(8))), "is a number of numpy, not a float"),
    "no number": (saying(achieved=Measure(math.nan)), "`achieved`: `value` is not a number"),
    "a companion that is not a number": (saying(companions=(companion(math.nan),)), "`companions` is not a number"),
    "another limit than required": (saying(limit=Fraction(8)), "the finding's limit is 8, and the requirement's 9"),
    "a limit in doubles": (saying(limit=9.0), "`limit` is a float, expected a Fraction"),
    "an exact number with an error": (saying(achieved=Measure(8.0, error=0.5)), "has an error, and is not an estimate"),
    "another model": (saying(model="local-dp"), "the finding is of another model"),
    "coarser is worse": (by(labels), "monotone: with two labels taken together it is failed"),
    "classes pass that do not": (
        replace(RIGHT, per_class=lambda r, p: (PerClass(None, lambda counts: counts[:, 0] > 0, monotone=True, monotone_with_suppression=True),)),
        "per_class.. lets all classes pass, and assess.. returns failed",
    ),
    "the release is another matter": (
        replace(RIGHT, measure=lambda r, p, c, w: replace(assess(r, c, 0), achieved=Measure(7.5))),
        "measure.. finds something else in the release",
    ),
    "a limit out of reach that is reached": (
        replace(RIGHT, floor=lambda r, c, o, names: [MinimumRisk("sex", 9.0, r.limit, 1, 1, 1, 0, 0, 9.0, ())]),
        "floor.. returns that the limit is out of reach, and assess.. that it is satisfied",
    ),
    "a draw that decides": (replace(RIGHT, attained=lambda c, o, w: assess(Requirement("acme-ratio", Options(gamma=9)), c, o)), "attained.. decides"),
}  # fmt: skip
