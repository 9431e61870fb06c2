"""Small tables, requirements, and what a release is by brute force: rows, classes and models in plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.declarations import Role
from rrpolicy.mechanism import Task
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.models.alpha_k_anonymity import AlphaKAnonymity
from rrpolicy.privacy.models.attribute_disclosure import AttributeDisclosure
from rrpolicy.privacy.models.beta_likeness import BetaLikeness
from rrpolicy.privacy.models.delta_disclosure import DeltaDisclosure
from rrpolicy.privacy.models.identity_disclosure import IdentityDisclosure
from rrpolicy.privacy.models.k_anonymity import KAnonymity
from rrpolicy.privacy.models.l_diversity import LDiversity
from rrpolicy.privacy.models.t_closeness import TCloseness
from rrpolicy.testing import TableInMemory, policies
from tests.models import requirement_of as requirement

OF_CLASSES = (KAnonymity(), LDiversity(), TCloseness(), AlphaKAnonymity(), BetaLikeness(), DeltaDisclosure())
MODELS = {model.name: model for model in (*OF_CLASSES, AttributeDisclosure(), IdentityDisclosure())}
VALUES = ("s0", "s1", "s2", "s3")
TREE = (VALUES, ("s01", "s01", "s23", "s23"), ("*",) * 4)


REQUIREMENTS = {
    "k": [requirement("k-anonymity", k=3)],
    "distinct": [requirement("k-anonymity", k=2), requirement("l-diversity", kind="distinct", l=2)],
    "frequency": [requirement("l-diversity", kind="frequency", l="3/2")],
    "entropy": [requirement("l-diversity", kind="entropy", l=2)],
    "recursive": [requirement("l-diversity", kind="recursive", l=2, c=2)],
    "variational": [requirement("k-anonymity", k=2), requirement("t-closeness", t="2/5")],
    "ordered": [requirement("t-closeness", t="1/4", distance="ordered")],
    "hierarchical": [requirement("t-closeness", t="1/4", distance="hierarchical")],
    "alpha": [requirement("alpha-k-anonymity", alpha="3/5", k=3)],
    "beta": [requirement("beta-likeness", beta=1, likeness="enhanced")],
    "delta": [requirement("delta-disclosure", delta=1, values="occurring")],
    "some": [requirement("l-diversity", kind="entropy", l=2, where={"a": "a1"})],
}
DISCLOSURE = {
    "attribute": [requirement("attribute-disclosure", threshold="1/2")],
    "identity": [requirement("identity-disclosure", threshold="1/3")],
    "attribute and k": [requirement("attribute-disclosure", threshold="1/4"), requirement("k-anonymity", k=2)],
}


def attributes(*, nominal: bool = False) -> tuple[Attribute, ...]:
    a = tuple(f"a{i}" for i in range(6))
    pairs, halves = tuple(f"p{i // 2}" for i in range(6)), tuple(f"h{i // 4}" for i in range(6))
    hierarchy = (a, pairs, halves, ("*",) * 6)
    b = ("b0", "b1", "b2")
    scale: Any = "nominal" if nominal else "ordinal"
    return (
        Attribute("a", Role.QUASI_IDENTIFIER, a, release_as="a", scale=scale, hierarchy=hierarchy),
        Attribute("b", Role.QUASI_IDENTIFIER, b, release_as="b", scale="ordinal"),
        Attribute("c", Role.QUASI_IDENTIFIER, ("c0", "c1"), release_as="c"),
        Attribute("s", Role.SENSITIVE, VALUES, release_as="s", scale="ordinal", hierarchy=TREE),
    )


def policy_of(found: Sequence[Attribute], requirements: Sequence[Requirement], options: Any) -> Policy:
    return policies.policy_of(found, requirements, "l-diversity", options)


def task_of(policy: Policy, rows: Sequence[Sequence[int]]) -> Task:
    columns = {a.name: [row[i] for row in rows] for i, a in enumerate(policy.attributes.values())}
    assessors = [(r, next(iter(MODELS[r.model].assessors()))) for r in policy.requirements]
    return Task(policy, TableInMemory.of(policy, columns), tuple(assessors))


class Rows:
    """A sink that keeps rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def write(self, table: str, batch: Any, n: Any = None, *, in_order: bool = False, sorted_by: int = 0) -> None:
        del table, in_order, sorted_by
        counts = [1] * batch.num_rows if n is None else n.tolist()
        for row, count in zip(batch.to_pylist(), counts, strict=True):
            self.rows += [tuple(row.values())] * count


def released(channel: Any, original: Any) -> list[tuple[Any, ...]]:
    """Return the rows that a channel without chance releases, columns in the policy's order."""
    sink = Rows()
    channel.settle(original).draw(original, Streams.for_tests(1), sink)
    return sink.rows


def holds(requirements: Sequence[Requirement], rows: Sequence[tuple[Any, ...]], hierarchy: Any = None) -> bool:
    """Return whether a released table (quasi-identifiers, then the sensitive value) satisfies what may be asked of it.

    Records that are `*` throughout are in no class, and part of the whole that classes are compared with. A subgroup is not looked at: the caller asks for everybody.
    """
    classes: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for *known, value in rows:
        classes[tuple(known)][value] += 1
    whole: Counter[Any] = sum(classes.values(), Counter())
    if len(classes) > 1:
        classes.pop(("*",) * (len(rows[0]) - 1), None)
    return all(_holds(r, found, whole) for r in requirements for found in classes.values())


def _holds(r: Requirement, found: Counter[Any], whole: Counter[Any]) -> bool:
    options: Any = r.options
    n, counts = found.total(), sorted(found.values(), reverse=True)
    match r.model:
        case "k-anonymity":
            return n >= options.k
        case "l-diversity":
            if options.kind == "distinct":
                return len(counts) >= options.l
            if options.kind == "frequency":
                return counts[0] * options.l <= n
            if options.kind == "entropy":
                entropy = -sum(c / n * math.log(c / n) for c in counts)
                return entropy >= math.log(float(options.l)) - 1e-9
            tail = counts[int(options.l) - 1 :]
            return bool(tail) and counts[0] < options.c * sum(tail)
    return _alike(r, found, whole)


def _alike(r: Requirement, found: Counter[Any], whole: Counter[Any]) -> bool:
    options: Any = r.options
    n, shares = found.total(), {v: Fraction(whole[v], whole.total()) for v in found}
    match r.model:
        case "t-closeness":
            return distance(options.distance, found, whole) <= options.t
        case "alpha-k-anonymity":
            return n >= options.k and max(found.values()) <= options.alpha * n
        case "beta-likeness":
            return all(Fraction(found[v], n) / p - 1 <= min(options.beta, -math.log(p)) for v, p in shares.items())
        case "delta-disclosure":
            bits = [abs(math.log2(Fraction(found[v], n) / p)) for v, p in shares.items()]
            return max(bits) < options.delta - 1e-12
    raise AssertionError(r.model)


def distance(kind: str, found: Counter[Any], whole: Counter[Any]) -> Fraction:
    """Return the distance of two distributions over VALUES: earth mover's, by its definition where it has a closed form."""
    p = [Fraction(found[v], found.total()) - Fraction(whole[v], whole.total()) for v in VALUES]
    if kind == "variational":
        return sum((abs(x) for x in p), Fraction(0)) / 2
    if kind == "ordered":
        return sum((abs(x) for x in itertools.accumulate(p)), Fraction(0)) / (len(VALUES) - 1)
    # two levels: what moves inside a pair costs 1/2, what moves between pairs 1
    inside = sum((min(max(p[i], 0) + max(p[i + 1], 0), max(-p[i], 0) + max(-p[i + 1], 0)) for i in (0, 2)), Fraction(0))
    between = abs(p[0] + p[1])
    return inside / 2 + between
