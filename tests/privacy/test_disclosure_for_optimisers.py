"""What optimisers are given: values and gradients, slabs, and the certified bound where a domain is too wide."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.retention import Retention, apply_block_exchange
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure import constraint
from rrpolicy.privacy.disclosure.attribute import attribute_risks
from rrpolicy.privacy.disclosure.certified_bound import SparseBound, cross_kernel
from rrpolicy.privacy.disclosure.gradients import FloatRetention
from rrpolicy.privacy.disclosure.minimum_risk import with_common_retention
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction, released_slabs
from rrpolicy.privacy.evidence import gather_evidence, split_axes
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.testing import check_assessor, open_policy
from tests.models import assessors_of

SEEDS = st.integers(0, 2**32)
KINDS = ("identity", "retention", "blocks", "matrix", "recode")
RISK = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold="1/3", known_sensitive=True))
LINK = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold="1/5"))
MEAN = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold="1/5", percentile="40"))


def free(world: Any) -> list[Retention]:
    return [axis for axis in world.channel.axes if isinstance(axis, Retention)]


def largest(axis: Retention) -> int:
    return max(block.size for block in axis.blocks)


def keep_at(world: Any, rho: list[float]) -> Any:
    return np.array([r + (1 - r) / largest(axis) for r, axis in zip(rho, free(world), strict=True)])


def released_at(world: Any, keep: Any) -> Any:
    """Return the channel with exactly these keep probabilities of the largest blocks."""
    channel = world.channel
    for p, axis in zip(keep, free(world), strict=True):
        d = largest(axis)
        rho = (d * Fraction(float(p)) - 1) / (d - 1) if d > 1 else Fraction(1)
        channel = with_common_retention(channel, rho, axis.attributes)
    return channel


@settings(deadline=None, max_examples=50, derandomize=True)
@given(seed=SEEDS)
def test_values_are_the_assessors(worlds: Any, seed: int) -> None:
    world, rng = worlds.world(Random(seed), KINDS), Random(seed + 1)
    keep = keep_at(world, [rng.uniform(0.05, 0.95) for _ in free(world)])
    there = released_at(world, keep)
    for entry, model in ((RISK, attribute), (LINK, identity), (MEAN, identity)):
        if any(a.attributes == ("x",) and isinstance(a, Retention) for a in world.channel.axes):
            continue
        smooth = assessors_of(model.NAME)[0].smooth(entry, world.channel, world.original)
        achieved = assessors_of(model.NAME)[0].finding(entry, there, world.original).achieved
        assert achieved is not None
        limit = float(entry.options.threshold)
        assert smooth.value(keep).max() == pytest.approx(achieved.value / limit - 1, abs=1e-9)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(seed=SEEDS, together=st.booleans())
def test_gradients_are_the_differences(worlds: Any, seed: int, together: bool) -> None:
    world, rng = worlds.world(Random(seed), KINDS), Random(seed + 1)
    keep = keep_at(world, [rng.uniform(0.1, 0.9) for _ in free(world)])
    with pytest.MonkeyPatch.context() as patch:
        if not together:
            patch.setattr("rrpolicy.privacy.disclosure.gradients.TOGETHER", 1)
        for entry, model in ((RISK, attribute), (LINK, identity), (MEAN, identity)):
            smooth = assessors_of(model.NAME)[0].smooth(entry, world.channel, world.original)
            jacobian, h = smooth.jacobian(keep), 1e-6
            for i, axis in enumerate(free(world)):
                step = np.eye(len(keep))[i] * h
                difference = (smooth.value(keep + step) - smooth.value(keep - step)) / (2 * h)
                expected = np.zeros_like(difference) if largest(axis) == 1 else difference
                np.testing.assert_allclose(
                    jacobian[:, i], expected, rtol=2e-5, atol=2e-5 * max(1, np.abs(jacobian).max())
                )


@settings(deadline=None, max_examples=60, derandomize=True)
@example(seed=225, rho=[0.0] * 8, most=1)  # two axes, of which one is rolled up: a bound, and not exact
@given(seed=SEEDS, rho=st.lists(st.floats(0, 1), min_size=8, max_size=8), most=st.sampled_from([0, 1, 8]))
def test_the_bound_is_never_below_the_truth(worlds: Any, seed: int, rho: list[float], most: int) -> None:
    world = worlds.world(Random(seed), KINDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rrpolicy.privacy.disclosure.certified_bound.MOST_AXES", most)
        evidence = gather_evidence(world.original, split_axes(world.channel, world.policy, "s", known_sensitive=True))
        bound = SparseBound(evidence)
    for at in (rho, [0.0] * 8, [1.0] * 8):
        own = [at[i] if isinstance(a, Retention) else 1.0 for i, a in enumerate(evidence.axes)]
        axes = tuple(
            with_common_retention(
                replace(world.channel, axes=(a,), carried=(), order=tuple(c.name for c in a.columns())), Fraction(r)
            ).axes[0]
            for a, r in zip(evidence.axes, own, strict=True)
        )
        exact, above = quasi_identifier_reconstruction(replace(evidence, axes=axes)), bound.value(own)
        assert np.all(above >= exact * (1 - 1e-12))
        every = all(
            isinstance(a, Retention) and (i in bound.rolled or a.original_size == 1)
            for i, a in enumerate(evidence.axes)
        )
        if every and at[0] in {0.0, 1.0} and len(set(at)) == 1:
            np.testing.assert_allclose(above, exact, rtol=1e-9)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(seed=SEEDS)
def test_the_bound_stands_in_for_wide_domains_with_its_gradient(worlds: Any, seed: int) -> None:
    world, rng = worlds.world(Random(seed), KINDS), Random(seed + 1)
    keep = keep_at(world, [rng.uniform(0.1, 0.9) for _ in free(world)])
    exact = [
        assessors_of(model.NAME)[0].smooth(e, world.channel, world.original).value(keep)
        for e, model in ((RISK, attribute), (LINK, identity))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constraint, "MOST_CELLS", -1)
        for (entry, model), truth in zip(((RISK, attribute), (LINK, identity)), exact, strict=True):
            smooth = assessors_of(model.NAME)[0].smooth(entry, world.channel, world.original)
            assert np.all(smooth.value(keep) >= truth - 1e-12)
            jacobian, h = smooth.jacobian(keep), 1e-6
            for i, axis in enumerate(free(world)):
                step = np.eye(len(keep))[i] * h
                difference = (smooth.value(keep + step) - smooth.value(keep - step)) / (2 * h)
                if largest(axis) > 1:
                    np.testing.assert_allclose(
                        jacobian[:, i], difference, rtol=2e-5, atol=2e-5 * max(1, np.abs(jacobian).max())
                    )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(d=st.integers(2, 9), rho=st.floats(0, 1))
def test_the_kernel_is_its_sum(d: int, rho: float) -> None:
    p = rho + (1 - rho) / d
    q = (1 - p) / (d - 1)
    (kernel,), (slope,) = cross_kernel(rho, np.array([float(d)]))
    if q > 1e-9:
        assert 1 / kernel == pytest.approx(p**2 / q + q**2 / p + (d - 2) * q**2 / q, rel=1e-6)
    h = 1e-6
    if h < rho < 1 - h:
        difference = (cross_kernel(rho + h, np.array([float(d)]))[0] - cross_kernel(rho - h, np.array([float(d)]))[0])[
            0
        ]
        assert slope == pytest.approx(difference / (2 * h), rel=1e-4, abs=1e-6)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS, most=st.integers(1, 40))
def test_slabs_cover_every_context_and_value_once(worlds: Any, seed: int, most: int) -> None:
    """Mass is kept: what all slabs release of pi sums to the share of people in contexts of several groups."""
    world = worlds.world(Random(seed), KINDS)
    evidence = gather_evidence(world.original, split_axes(world.channel, world.policy, "s", known_sensitive=True))
    pi = evidence.n / evidence.records
    parts = list(released_slabs(evidence, most=most))
    total = sum(float(slab.forward(slab.scatter(pi)).sum()) for slab in parts)
    assert total == pytest.approx(float(pi[: evidence.mixed].sum()), abs=1e-12)
    wide = [int(np.prod([max(a.original_size, a.released_size) for a in slab.inside])) for slab in parts]
    assert all(size <= most for size in wide)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_contexts_are_tables_of_their_own(worlds: Any, seed: int) -> None:
    """R of a table with an unchanged column is R of each of its parts."""
    world = worlds.world(Random(seed), ("retention", "matrix", "identity"))
    whole = attribute_risks(RISK, world.channel, world.original, "s")
    x = world.original.codes["x"]
    parts = []
    for value in np.unique(x):
        mask = x == value
        carried = {n: c.filter(worlds.pa.array(mask)) for n, c in world.original.carried.items()}
        part = replace(world.original, codes={n: c[mask] for n, c in world.original.codes.items()}, carried=carried)
        parts.append(attribute_risks(RISK, world.channel, part, "s").risk)
    np.testing.assert_allclose(np.sort(np.concatenate(parts)), np.sort(whole.risk), rtol=1e-12)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, power=st.sampled_from([1, 2]), along=st.integers(0, 2))
def test_exchanging_is_its_matrix(seed: int, power: int, along: int) -> None:
    rng, generator = Random(seed), np.random.default_rng(seed)
    d = rng.randint(1, 6)
    members = list(range(d))
    rng.shuffle(members)
    cut = rng.randint(1, d)
    blocks = [tuple(sorted(b)) for b in (members[:cut], members[cut:]) if b]
    keep = [1.0 if len(b) == 1 else rng.choice([0.0, 1 / len(b), rng.random(), 1.0]) for b in blocks]
    dense = np.zeros((d, d))
    for block, p in zip(blocks, keep, strict=True):
        for u in block:
            for v in block:
                dense[u, v] = p if u == v else (1 - p) / (len(block) - 1)
    shape = [2, 3, 4]
    shape[along] = d
    x = generator.integers(0, 2, shape).astype(float)
    parts = [
        (b, p**power, ((1 - p) / (len(b) - 1) if len(b) > 1 else 0.0) ** power)
        for b, p in zip(blocks, keep, strict=True)
    ]
    before = x.copy()
    found = apply_block_exchange(x, along, parts)
    expected = np.moveaxis(np.tensordot(dense**power, x, axes=(1, along)), 0, along)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
    assert np.array_equal(x, before)


def test_an_axis_in_doubles_has_no_exact_entries() -> None:
    axis = FloatRetention.of(Retention.uniform("a", ("x", "y"), Fraction(2, 3)), 0.5)
    with pytest.raises(TypeError, match="doubles"):
        axis.column(0)
    assert axis.keep == (0.75,)
    assert FloatRetention.as_it_is(Retention.uniform("a", ("x", "y"), Fraction(2, 3))).keep == pytest.approx((2 / 3,))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_assessors_keep_their_promises(worlds: Any, seed: int) -> None:
    world = worlds.world(Random(seed), ("identity", "retention", "blocks"))
    channels = [with_common_retention(world.channel, rho) for rho in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]
    for entry, model in ((RISK, attribute), (LINK, identity), (MEAN, identity)):
        (assessor,) = assessors_of(model.NAME)
        findings = check_assessor(
            assessor, open_policy(replace(world.policy, requirements=(entry,))), channels, [world.original]
        )
        assert len(findings) == len(channels)
        assert all(f.verdict is not None for f in findings)
