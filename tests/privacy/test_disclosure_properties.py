"""What must be true of risk and linking on every table: order, limits, invariances, identities."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.decoders import Block
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure import inference_accuracy as inference
from rrpolicy.privacy.disclosure import reconstruction
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, attribute_risks
from rrpolicy.privacy.disclosure.gradients import FloatRetention
from rrpolicy.privacy.disclosure.identity import linkage_chances
from rrpolicy.privacy.disclosure.inference_accuracy import inference_accuracy
from rrpolicy.privacy.disclosure.minimum_risk import (
    attribute_minimum,
    fully_randomised,
    linking_minimum,
    with_common_retention,
)
from rrpolicy.privacy.evidence import gather_evidence, is_revealing, split_axes
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.privacy.models import identity_disclosure as identity
from rrpolicy.privacy.protection import guessing
from tests.models import assessors_of

SEEDS = st.integers(0, 2**32)
TINY = 1e-12
RISK = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold=Fraction(1, 2)))
LINK = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold=Fraction(1, 2)))
EXCHANGING = ("identity", "retention", "blocks")
PROBABILITIES = st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=2)


def table(found: AttributeRisks) -> dict[Any, float]:
    return {
        (found.evidence.describe(int(g)), int(v)): float(r)
        for g, v, r in zip(found.group, found.value, found.risk, strict=True)
    }


def at(world: Any, retention: Fraction) -> Product:
    return with_common_retention(world.channel, retention)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, rhos=PROBABILITIES, which=st.integers(0, 4))
def test_risk_and_linking_rise_with_every_keep_probability(
    worlds: Any, seed: int, rhos: list[Fraction], which: int
) -> None:
    world = worlds.world(Random(seed), EXCHANGING)
    low, high = sorted(rhos)
    start = at(world, Fraction(1, 3))
    name = [a.attributes[0] for a in start.axes][which % len(start.axes)]
    below, above = with_common_retention(start, low, (name,)), with_common_retention(start, high, (name,))
    for sensitive in "st":
        lower, upper = (table(attribute_risks(RISK, c, world.original, sensitive)) for c in (below, above))
        assert all(lower[key] <= upper[key] + TINY for key in upper)
    lower, upper = (linkage_chances(LINK, c, world.original).link for c in (below, above))
    assert np.all(lower <= upper + TINY)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS, rho=st.fractions(0, 1, max_denominator=50))
def test_risk_lies_between_its_floor_and_the_untouched_table(worlds: Any, seed: int, rho: Fraction) -> None:
    world = worlds.world(Random(seed), EXCHANGING)
    floor, here, untouched = (
        table(attribute_risks(RISK, at(world, r), world.original, "s")) for r in (Fraction(0), rho, Fraction(1))
    )
    assert all(floor[k] - TINY <= here[k] <= untouched[k] + TINY for k in here)
    found = attribute_risks(RISK, at(world, Fraction(1)), world.original, "s")
    np.testing.assert_allclose(found.risk, found.share, rtol=1e-13)
    sizes = linkage_chances(LINK, at(world, Fraction(1)), world.original)
    np.testing.assert_allclose(sizes.link, 1 / sizes.people, rtol=1e-13)


def reach(axes: list[Any], rows: Any, alpha: Any) -> Any:
    """Return the mask of groups that alpha may be taken for: in the same block of every axis."""
    same = np.ones(len(rows), dtype=bool)
    for column, axis in enumerate(axes):
        block = next((b.members for b in getattr(axis, "blocks", ()) if alpha[column] in b.members), (alpha[column],))
        same &= np.isin(rows[:, column], block)
    return same


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_the_floor_is_the_limit_of_no_retention(worlds: Any, seed: int) -> None:
    """c_u pi[alpha]/pi[reach(alpha)] f_S, which small retentions approach and do not pass."""
    world = worlds.world(Random(seed), EXCHANGING)
    world.channel = replace(world.channel, axes=tuple(a for a in world.channel.axes), carried=world.channel.carried)
    bottom = attribute_risks(RISK, at(world, Fraction(0)), world.original, "s")
    near = attribute_risks(RISK, at(world, Fraction(1, 10**6)), world.original, "s")
    assert np.all(near.risk >= bottom.risk - TINY)
    np.testing.assert_allclose(near.risk, bottom.risk, atol=1e-4)
    evidence = bottom.evidence
    known = [next(a for a in world.channel.axes if n in a.attributes) if n != "c" else None for n in evidence.names]
    target = next(a for a in world.channel.axes if "s" in a.attributes)
    for g, v, risk in zip(bottom.group.tolist(), bottom.value.tolist(), bottom.risk, strict=True):
        share = evidence.histograms[g] / evidence.n[g]
        block = next((list(b.members) for b in getattr(target, "blocks", ()) if v in b.members), [v])
        randomised = share[v] / share[block].sum() if isinstance(target, Retention) else 1.0
        people = evidence.n[reach(known, evidence.values, evidence.values[g])].sum()
        assert risk == pytest.approx(share[v] * evidence.n[g] / people * randomised, abs=TINY)
    (floor, *_) = attribute_minimum(RISK, world.channel, world.original)
    assert floor.achieved == pytest.approx(bottom.risk.max(), abs=TINY)
    assert floor.everything <= floor.achieved + TINY
    best = attribute_risks(RISK, fully_randomised(world.channel, world.original), world.original, "s")
    assert floor.everything == pytest.approx(best.risk.max(), abs=TINY)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS, tau=st.fractions(Fraction(1, 20), 1, max_denominator=20))
def test_who_stands_in_the_way_stays_over_at_any_retention(worlds: Any, seed: int, tau: Fraction) -> None:
    world = worlds.world(Random(seed), EXCHANGING)
    entry = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold=tau, sensitive=("s",)))
    (floor,) = attribute_minimum(entry, world.channel, world.original)
    small = attribute.AttributeDisclosure().assessors()[0].finding(entry, at(world, Fraction(1, 10**9)), world.original)
    assert floor.feasible == (small.verdict is Verdict.SATISFIED)
    assert floor.people_over == small.people_over
    assert floor.groups_over == small.groups_over
    assert floor.people_alike <= floor.people_over
    assert floor.feasible == ("stay over it" not in floor.text)
    link = linking_minimum(
        Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold=tau)), world.channel, world.original
    )
    smallest = (
        identity.IdentityDisclosure()
        .assessors()[0]
        .finding(
            Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold=tau)),
            at(world, Fraction(1, 10**9)),
            world.original,
        )
    )
    assert link.people_over == smallest.people_over
    assert link.feasible == (smallest.verdict is Verdict.SATISFIED)


def test_a_threshold_at_the_floor_is_reached_only_where_nothing_moves(worlds: Any) -> None:
    """Half of an unchanged group may have a value under 1/2; a group of two that is randomised stays over 1/2."""
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 1], "s": [0, 0]})
    a, _ = worlds.retention("a", ("a0", "a1"), [(0, 1)], [Fraction(2, 3)])
    channel = Product((a, Identity.of("s", ("s0", "s1"))), (), ("a", "s"))
    (floor,) = attribute_minimum(RISK, channel, original)
    assert (floor.achieved, floor.groups_over, floor.people_alike) == (0.5, 2, 2)
    assert floor.hints[-1].startswith("raise the threshold above 0.5: `threshold = 0.501`")
    halves = worlds.TableInMemory.of(policy, {"a": [0, 0], "s": [0, 1]})
    unmoved = Product((Identity.of("a", ("a0", "a1")), Identity.of("s", ("s0", "s1"))), (), ("a", "s"))
    (floor,) = attribute_minimum(RISK, unmoved, halves)
    assert floor.feasible


def test_the_floor_says_what_would_help(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1", "a2")), "s": ("sensitive", ("s0", "s1"))})
    original = worlds.TableInMemory.of(policy, {"a": [0, 0, 1, 1, 2, 2], "s": [0, 0, 1, 1, 0, 1]})
    s, _ = worlds.retention("s", ("s0", "s1"), [(0, 1)], [Fraction(2, 3)])
    (floor,) = attribute_minimum(RISK, Product((Identity.of("a", ("a0", "a1", "a2")), s), (), ("a", "s")), original)
    assert floor.text == (
        "risk of s: the smallest reachable is 1, the limit 1/2; 2 of 3 groups with 4 people stay over it however much is "
        "randomised; in 2 of 3 groups, 4 people, because everybody has the same sensitive value"
    )
    assert floor.hints[0] == "randomise a too, which reaches down to 0.333333"
    a, _ = worlds.retention("a", ("a0", "a1", "a2"), [(0,), (1, 2)], [Fraction(1), Fraction(2, 3)])
    (floor,) = attribute_minimum(RISK, Product((a, s), (), ("a", "s")), original)
    assert floor.hints[0].startswith("join the blocks of a, which reaches down to 0.333333")
    link = linking_minimum(LINK, Product((a, s), (), ("a", "s")), original)
    assert (link.achieved, link.everything, link.feasible) == (0.5, pytest.approx(1 / 6), True)
    tight = Requirement(
        identity.NAME, identity.IdentityDisclosureOptions(threshold=Fraction(1, 4), percentile=Fraction(100))
    )
    assert linking_minimum(tight, Product((a, s), (), ("a", "s")), original).achieved == pytest.approx(1 / 3)


def test_odd_names_in_hints_are_told_apart_and_can_be_copied(worlds: Any) -> None:
    domains = {"sex, as told": ("quasi-identifier", ("a", "b")), 'ill "now"': ("sensitive", ("no", "yes"))}
    original = worlds.TableInMemory.of(
        worlds.policy_of(domains), {"sex, as told": [0, 0, 1, 1], 'ill "now"': [0, 0, 0, 1]}
    )
    ill, _ = worlds.retention('ill "now"', ("no", "yes"), [(0, 1)], [Fraction(2, 3)])
    channel = Product((Identity.of("sex, as told", ("a", "b")), ill), (), tuple(domains))
    (floor,) = attribute_minimum(RISK, channel, original)
    assert floor.hints[0].startswith("randomise 'sex, as told' too")
    many = worlds.TableInMemory.of(worlds.policy_of(domains), {"sex, as told": [0] * 4, 'ill "now"': [0, 0, 0, 1]})
    (floor,) = attribute_minimum(RISK, channel, many)
    entry = floor.hints[-1].partition("in an entry with `")[2].partition("`")[0]
    assert tomllib.loads(entry) == {"sensitive": ['ill "now"']}


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS, shuffle=st.randoms(use_true_random=False))
def test_relabelling_changes_nothing(worlds: Any, seed: int, shuffle: Random) -> None:
    world = worlds.world(Random(seed), EXCHANGING)
    renamed: dict[str, list[int]] = {}
    axes: list[Any] = []
    for axis in world.channel.axes:
        order = list(range(axis.original_size))
        shuffle.shuffle(order)
        renamed[axis.attributes[0]] = order
        if isinstance(axis, Retention):
            blocks = tuple(Block(tuple(sorted(order[m] for m in b.members)), b.keep) for b in axis.blocks)
            axes.append(replace(axis, blocks=blocks))
        else:
            axes.append(axis)
    codes = {name: np.array(renamed[name], dtype=np.int32)[column] for name, column in world.original.codes.items()}
    other = replace(world.original, codes=codes)
    before, after = (
        np.sort(attribute_risks(RISK, c, o, "s").risk)
        for c, o in ((world.channel, world.original), (replace(world.channel, axes=tuple(axes)), other))
    )
    np.testing.assert_allclose(before, after, rtol=1e-12)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_a_constant_attribute_changes_nothing(worlds: Any, seed: int) -> None:
    """Also one that is randomised: nobody has its other categories, and what it becomes says nothing."""
    world = worlds.world(Random(seed), ("identity", "retention", "blocks", "matrix"))
    attributes = (
        dict(world.policy.attributes) | worlds.policy_of({"z": ("quasi-identifier", ("z0", "z1", "z2"))}).attributes
    )
    z, _ = worlds.one(Random(seed + 1), "z", ("z0", "z1", "z2"), ("identity", "retention", "matrix"))
    codes = dict(world.original.codes) | {"z": np.ones(world.original.records, dtype=np.int32)}
    original = replace(world.original, policy=replace(world.policy, attributes=attributes), codes=codes)
    channel = replace(world.channel, axes=(*world.channel.axes, z), order=(*world.channel.order, "z"))
    for sensitive in "st":
        np.testing.assert_allclose(
            np.sort(attribute_risks(RISK, channel, original, sensitive).risk),
            np.sort(attribute_risks(RISK, world.channel, world.original, sensitive).risk),
            rtol=1e-12,
        )
    np.testing.assert_allclose(
        np.sort(linkage_chances(LINK, channel, original).link),
        np.sort(linkage_chances(LINK, world.channel, world.original).link),
        rtol=1e-12,
    )


def dense(axis: Any) -> list[list[Fraction]]:
    columns = [axis.column(code) for code in range(axis.original_size)]
    return [[column.get(u, Fraction(0)) for column in columns] for u in range(axis.released_size)]


def explicit(axis: Any, rows: list[list[Fraction]]) -> Matrix:
    name, size = axis.attributes[0], axis.original_size
    column = category_column(name, [f"u{i}" for i in range(len(rows))])
    return Matrix((Domain(name, tuple(f"v{i}" for i in range(size))),), (column,), tuple(tuple(row) for row in rows))


def with_rows(channel: Product, change: Any) -> Product:
    """Return the channel with every axis of one attribute written out and its rows changed."""
    axes = tuple(explicit(a, change(dense(a))) if len(a.attributes) == 1 else a for a in channel.axes)
    return replace(
        channel,
        axes=axes,
        order=tuple(c.name for a in axes for c in a.columns()) + tuple(c.name for c in channel.carried),
    )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS, part=st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10))
def test_splitting_a_released_value_and_constant_channels_change_nothing(
    worlds: Any, seed: int, part: Fraction
) -> None:
    world = worlds.world(Random(seed))

    def split(rows: list[list[Fraction]]) -> list[list[Fraction]]:
        return [[part * p for p in rows[0]], *rows[1:], [(1 - part) * p for p in rows[0]]]

    def beside_a_constant(rows: list[list[Fraction]]) -> list[list[Fraction]]:
        """The column-wise Kronecker product with a channel that releases the same whatever the original is."""
        return [[chance * p for p in row] for chance in (part, 1 - part) for row in rows]

    def beside_itself(rows: list[list[Fraction]]) -> list[list[Fraction]]:
        return [[p * q for p, q in zip(one, two, strict=True)] for one in rows for two in rows]

    before = attribute_risks(RISK, world.channel, world.original, "s")
    links_before = linkage_chances(LINK, world.channel, world.original).link
    for change in (split, beside_a_constant, beside_itself):
        channel = with_rows(world.channel, change)
        after, links_after = (
            attribute_risks(RISK, channel, world.original, "s"),
            linkage_chances(LINK, channel, world.original).link,
        )
        if change is beside_itself:
            assert max(table(before).values()) <= max(table(after).values()) + TINY
            assert np.sort(links_before)[-1] <= np.sort(links_after)[-1] + TINY
        else:
            np.testing.assert_allclose(np.sort(after.risk), np.sort(before.risk), rtol=1e-12)
            np.testing.assert_allclose(np.sort(links_after), np.sort(links_before), rtol=1e-12)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS, times=st.integers(2, 5))
def test_more_people_alike_are_linked_less(worlds: Any, seed: int, times: int) -> None:
    world = worlds.world(Random(seed))
    codes = {n: np.tile(c, times) for n, c in world.original.codes.items()}
    carried = {n: worlds.pa.concat_arrays([c] * times) for n, c in world.original.carried.items()}
    more = replace(world.original, codes=codes, carried=carried)
    np.testing.assert_allclose(
        linkage_chances(LINK, world.channel, more).link,
        linkage_chances(LINK, world.channel, world.original).link / times,
        rtol=1e-12,
    )
    for of in "st":
        np.testing.assert_allclose(
            attribute_risks(RISK, world.channel, more, of).risk,
            attribute_risks(RISK, world.channel, world.original, of).risk,
            rtol=1e-12,
        )


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_the_round_trip_keeps_the_table(worlds: Any, brute: Any, seed: int) -> None:
    """diag(pi) P^T diag(1/lambda) P: columns sum to 1, pi is fixed, its diagonal is R, which is N pi times the link."""
    world = worlds.world(Random(seed))
    laws = [(attributes, law) for attributes, law in world.laws if set(attributes) & {"a", "b", "x"}]
    small = brute.Table(world.rows, laws, world.carried)
    trip, total = small.round_trip(), small.total
    for alpha in small.groups:
        assert sum(trip[gamma, alpha] for gamma in small.groups) == 1
        assert sum(trip[alpha, gamma] * Fraction(small.groups[gamma], total) for gamma in small.groups) == Fraction(
            small.groups[alpha], total
        )
        released, column, pi = small.released, small.column(alpha), Fraction(small.groups[alpha], total)
        chi2 = sum(((column.get(b, Fraction(0)) - p) ** 2 / p for b, p in released.items() if p), Fraction(0))
        assert trip[alpha, alpha] / pi - 1 == chi2
    found = linkage_chances(LINK, world.channel, world.original)
    trace = float(sum(trip[alpha, alpha] for alpha in small.groups))
    assert (found.people * found.link).sum() == pytest.approx(trace, rel=1e-12)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_who_guesses_under_sensitive_noise_alone_succeeds_with_the_share(worlds: Any, seed: int) -> None:
    """Success is c_u if the quasi-identifiers are released as they are."""
    world = worlds.world(Random(seed), ("retention", "blocks", "matrix"))
    axes = tuple(
        Identity.of(n, world.policy.attributes[n].domain)
        if n in {"a", "b"}
        else next(x for x in world.channel.axes if n in x.attributes)
        for n in ("a", "b", "x", "s", "t")
    )
    order = tuple(c.name for axis in axes for c in axis.columns()) + tuple(c.name for c in world.channel.carried)
    found = attribute_risks(RISK, replace(world.channel, axes=axes, order=order), world.original, "s")
    np.testing.assert_allclose(inference_accuracy(found.evidence)[found.group, found.value], found.share, rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ({"threshold": "1/2"}, {"threshold": "1/2"}, Order.EQUAL),
        ({"threshold": "1/2"}, {"threshold": "1/3"}, Order.STRONGER),
        ({"threshold": "1/2"}, {"threshold": "2/3"}, Order.WEAKER),
        ({"threshold": "1/2"}, {"threshold": "1/2", "thresholds": {"flu": "1/3"}}, Order.STRONGER),
        ({"threshold": "1/2"}, {"threshold": "1/3", "thresholds": {"flu": "2/3"}}, Order.INCOMPARABLE),
        ({"threshold": "1/2"}, {"threshold": "1/2", "known_sensitive": True}, Order.STRONGER),
        ({"threshold": "1/2", "known_sensitive": True}, {"threshold": "1/3"}, Order.INCOMPARABLE),
        ({"threshold": "1/2", "sensitive": ("s",)}, {"threshold": "1/2"}, Order.STRONGER),
        ({"threshold": "1/2", "sensitive": ("s", "t")}, {"threshold": "1/2", "sensitive": ("t",)}, Order.WEAKER),
        ({"threshold": "1/2", "sensitive": ("s", "t")}, {"threshold": "1/2", "sensitive": ("t", "s")}, Order.EQUAL),
        ({"threshold": "1/2", "sensitive": ("s",)}, {"threshold": "1/2", "sensitive": ("t",)}, Order.INCOMPARABLE),
    ],
)
def test_what_is_asked_is_compared(old: Any, new: Any, order: Order) -> None:
    assert (
        attribute.AttributeDisclosure().compare(
            attribute.AttributeDisclosureOptions(**old), attribute.AttributeDisclosureOptions(**new)
        )
        is order
    )


@pytest.mark.parametrize("options", [{}, {"threshold": 0}, {"threshold": "3/2"}, {"thresholds": {"flu": 0}}])
def test_thresholds_that_bound_nothing_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="threshold"):
        attribute.AttributeDisclosureOptions(**options)


def test_a_subgroup_is_of_what_the_attacker_knows(worlds: Any) -> None:
    policy = worlds.policy_of(
        {
            "a": ("quasi-identifier", ("a0", "a1")),
            "s": ("sensitive", ("s0", "s1")),
            "t": ("sensitive", ("t0",)),
            "x": ("insensitive", ("x0",)),
        }
    )

    def refusal(where: dict[str, str], **options: Any) -> str | None:
        entry = Requirement(attribute.NAME, attribute.AttributeDisclosureOptions(threshold="1/2", **options), where)
        return attribute.AttributeDisclosure().assessors()[0].supports(entry, policy, [Identity, Retention, Matrix])

    assert refusal({"a": "a0"}) is None
    assert refusal({"s": "s0"}, sensitive=("s",)) is None
    assert "protects that attribute alone" in (refusal({"s": "s0"}) or "")
    assert "protects that attribute alone" in (refusal({"s": "s0"}, sensitive=("t",)) or "")
    assert "neither" in (refusal({"x": "x0"}) or "")
    entry = Requirement(identity.NAME, identity.IdentityDisclosureOptions(threshold="1/2"), {"s": "s0"})
    assert "not a quasi-identifier" in (
        identity.IdentityDisclosure().assessors()[0].supports(entry, policy, [Identity]) or ""
    )
    model = attribute.AttributeDisclosure()
    assert "not a sensitive attribute" in (
        model.refuses(attribute.AttributeDisclosureOptions(threshold="1/2", sensitive=("a",)), policy) or ""
    )
    assert "not a category" in (
        model.refuses(attribute.AttributeDisclosureOptions(thresholds={"flu": "1/2"}), policy) or ""
    )
    assert model.refuses(attribute.AttributeDisclosureOptions(threshold="1/2"), policy) is None
    none = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1"))})
    assert "no sensitive" in (model.refuses(attribute.AttributeDisclosureOptions(threshold="1/2"), none) or "")
    bare = worlds.policy_of({"s": ("sensitive", ("s0",))})
    assert "no quasi-identifier" in (
        identity.IdentityDisclosure().refuses(identity.IdentityDisclosureOptions(threshold="1/2"), bare) or ""
    )


def test_a_coupled_sensitive_attribute_is_refused(worlds: Any) -> None:
    policy = worlds.policy_of({"a": ("quasi-identifier", ("a0", "a1")), "s": ("sensitive", ("s0", "s1"))})
    axis, _ = worlds.matrix(Random(1), ["a", "s"], [("a0", "a1"), ("s0", "s1")])
    original = worlds.TableInMemory.of(policy, {"a": [0, 1], "s": [0, 1]})
    channel = Product((axis,), (), ("a", "s"))
    (assessor,) = attribute.AttributeDisclosure().assessors()
    for ask in (assessor.finding, assessor.accepts, assessor.smooth):
        with pytest.raises(Exception, match="separate axis"):
            ask(RISK, channel, original)


def test_without_the_table_nothing_is_decided(worlds: Any) -> None:
    world = worlds.world(Random(1))
    for model, entry in ((attribute, RISK), (identity, LINK)):
        assert assessors_of(model.NAME)[0].finding(entry, world.channel, 100).verdict is Verdict.UNDECIDED
        assert not assessors_of(model.NAME)[0].accepts(entry, world.channel, 100)


@pytest.mark.parametrize("limit", ["MOST_AXES", "BLOCK"])
def test_memory_changes_no_number(worlds: Any, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Many axes are sliced by length instead of by search, and arrays of another shape are made in blocks."""
    rng, found = Random(11), []
    for _ in range(12):
        world = worlds.world(rng, ("identity", "retention", "matrix"))
        found.append(gather_evidence(world.original, split_axes(world.channel, world.policy, "s")))
    expected = [inference_accuracy(evidence) for evidence in found]
    monkeypatch.setattr(reconstruction, limit, 1)
    for evidence, numbers in zip(found, expected, strict=True):
        assert inference_accuracy(evidence, most=4) == pytest.approx(numbers, rel=1e-9)


def test_what_takes_too_much_is_bounded(worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world = worlds.world(Random(3), ("retention",))
    evidence = gather_evidence(world.original, split_axes(world.channel, world.policy, "s"))
    axis, counts = evidence.sensitive, evidence.histograms
    shares, part = counts.sum(axis=0) / counts.sum(), np.arange(counts.shape[1])
    exact = guessing.guess_from_record(axis, counts, shares, part)
    assert inference.worst_posterior(evidence) is not None
    monkeypatch.setattr(inference, "MOST_CELLS", 0)
    monkeypatch.setattr(guessing, "MOST_WORK", 0)
    assert inference.worst_posterior(evidence) is None
    bound = guessing.guess_from_record(axis, counts, shares, part)
    assert (exact.standing, bound.standing) == (Standing.EXACT, Standing.UPPER_BOUND)
    assert bound.right.sum() >= exact.right.sum()


def test_an_axis_that_is_not_listed_counts_as_revealing() -> None:
    class Unlisted:
        kind = "unlisted"

    assert is_revealing(Unlisted())  # type: ignore[arg-type]


def test_probabilities_as_doubles_apply_as_fractions_do() -> None:
    axis = Retention.uniform("a", ("x", "y", "z"), Fraction(2, 3))
    doubles = FloatRetention.as_it_is(axis)
    assert doubles.released_size == axis.released_size
    assert doubles.forward(np.eye(3), 0) == pytest.approx(axis.forward(np.eye(3), 0))
