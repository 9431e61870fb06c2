"""How dear a risk is: beside elementary numpy passes, beside the plain dense formula, and in memory at 10^9 cells."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import Ratio, least
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.probability import keep_probability
from rrpolicy.channels.product.channel import Product
from rrpolicy.counts import Counts, tabulate
from rrpolicy.declarations import Role
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.evidence import gather_evidence, split_axes
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.testing import policy_of

WIDE = (1000, 1000, 1000)
PEOPLE = 100_000
EMGRW = (16, 7, 2, 5, 7)


@dataclass
class Original:
    """A contingency table read as an original."""

    policy: Policy
    table: Counts

    @property
    def records(self) -> int:
        return self.table.records

    def counts(self, *attributes: str) -> Counts:
        return self.table if attributes == self.table.attributes else self.table.marginal(*attributes)


def original(shape: tuple[int, ...], codes: Any, n: Any, sensitive: int = 1) -> Any:
    """Return a table whose last `sensitive` attributes are sensitive."""
    names = [f"a{i}" for i in range(len(shape))]
    roles = [Role.QUASI_IDENTIFIER] * (len(shape) - sensitive) + [Role.SENSITIVE] * sensitive
    attributes = {
        name: Attribute(name, role, tuple(f"{k}" for k in range(d)))
        for name, role, d in zip(names, roles, shape, strict=True)
    }
    policy = policy_of(attributes.values())
    return Original(policy, tabulate(tuple(names), shape, np.asarray(codes, np.int32), np.asarray(n, np.int64)))


def channel(table: Any, retention: Fraction) -> Product:
    """Return one retention probability for all."""
    attributes = table.policy.attributes.values()
    axes = [Retention.uniform(a.name, a.domain, keep_probability(retention, len(a.domain))) for a in attributes]
    return Product(tuple(axes), (), tuple(table.policy.attributes))


def dense_table(shape: tuple[int, ...], seed: int) -> Any:
    codes = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
    return original(shape, codes, np.random.default_rng(seed).integers(1, 100, len(codes)), sensitive=0)


def sparse_table(shape: tuple[int, ...], people: int, seed: int, sensitive: int = 1) -> Any:
    """Return people whose attributes depend on one another."""
    generator = np.random.default_rng(seed)
    latent = generator.normal(size=people)
    scores = [latent + generator.normal(size=people) for _ in shape]
    codes = [np.clip((s + 3) * d / 6, 0, d - 1).astype(np.int32) for s, d in zip(scores, shape, strict=True)]
    return original(shape, np.stack(codes, axis=1), np.ones(people), sensitive)


def risk_in_passes(table: Any) -> float:
    """Return the time of one evaluation of R at every group, in passes over an array of as many doubles."""
    released = channel(table, Fraction(4, 5))
    evidence = gather_evidence(table, split_axes(released, table.policy, None))
    return least(lambda: quasi_identifier_reconstruction(evidence), rounds=3) / elementary_pass(table.table.size)


def elementary_pass(size: int) -> float:
    """Return the seconds of one numpy expression over so many doubles."""
    x = np.random.default_rng(1).random(size)
    return least(lambda: x * 1.5)


def plain_risk(pi: Any, keep: Any) -> Any:
    """Return the risk of every cell by the formula as it stands, in dense arrays: the reference for solving."""
    move = [(1 - p) / (d - 1) for p, d in zip(keep, pi.shape, strict=True)]
    known = [(p - q) * np.eye(d) + q for p, q, d in zip(keep, move, pi.shape, strict=True)]
    *known, sensitive = known
    groups = pi.sum(axis=-1)
    released = groups
    for axis, matrix in enumerate(known):
        released = np.moveaxis(np.tensordot(matrix, released, axes=(1, axis)), 0, axis)
    back = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
    for axis, matrix in enumerate(known):
        back = np.moveaxis(np.tensordot(matrix.T**2, back, axes=(1, axis)), 0, axis)
    share = np.divide(pi, groups[..., None], out=np.zeros_like(pi), where=groups[..., None] > 0)
    seen = share @ sensitive.T
    read = np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > 0) @ sensitive**2
    return share * share * read * (groups * back)[..., None]


def constraint_beside_plain() -> tuple[float, float]:
    """Return what a value and a gradient of all constraints cost, in evaluations of the plain risk."""
    table = sparse_table(EMGRW, 30_162, 2)
    keep = np.array([0.4, 0.7, 0.9, 0.95, 0.8])
    pi = table.table.dense() / table.records
    entry = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold=Fraction(1, 3)))
    smooth = attribute.AttributeDisclosure().assessors()[0].smooth(entry, channel(table, Fraction(4, 5)), table)
    assert abs(3 * plain_risk(pi, keep).max() - 1 - smooth.value(keep).max()) < 1e-9
    plain = least(lambda: plain_risk(pi, keep), times=100)
    return (
        least(lambda: smooth.value(keep), times=100) / plain,
        least(lambda: smooth.jacobian(keep), times=100) / plain,
    )


def wide() -> dict[str, float]:
    """Assess linking in a domain of 10^9 cells; meant for a process of its own, whose memory is read at its end."""
    table = sparse_table(WIDE, PEOPLE, 3, sensitive=0)
    released = channel(table, Fraction(4, 5))
    start = time.perf_counter()
    entry = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold=Fraction(1, 2)))
    finding = identity.IdentityDisclosure().assessors()[0].finding(entry, released, table)
    seconds = time.perf_counter() - start
    assert finding.achieved is not None
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 2**20
    return {"groups": len(table.table.n), "seconds": seconds, "gib": peak, "achieved": finding.achieved.value}


def run() -> list[Ratio]:
    """Measure all of it."""
    ratios = []
    for shape in ((10,) * 7, (100, 100, 1000), (3162, 3162)):
        passes = risk_in_passes(dense_table(shape, 1))
        name = f"risk of every group, {' x '.join(map(str, shape))} cells all occupied, passes an axis"
        ratios.append(Ratio(name, passes / len(shape), 12, "of x * 1.5 over as many doubles"))
    passes = risk_in_passes(sparse_table((100, 100, 1000), PEOPLE, 4, sensitive=0))
    ratios.append(Ratio("the same, 100 x 100 x 1000 cells, 10^5 people, passes an axis", passes / 3, 12, ""))
    value, gradient = constraint_beside_plain()
    note = "of one plain dense evaluation"
    ratios.append(Ratio("constraints of a 7,840-cell table, a value", value, 1, note))
    ratios.append(Ratio("constraints of a 7,840-cell table, a gradient", gradient, 4, note))
    code = "import json; from benchmarks.speed.bench_disclosure import wide; print(json.dumps(wide()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    note = f"{found['groups']:,} groups, {found['seconds']:.1f} s"
    return [*ratios, Ratio("linking in a domain of 10^9 cells, GiB at the peak", found["gib"], 1, note)]
