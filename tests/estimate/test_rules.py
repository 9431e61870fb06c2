"""Association rules: sums against every record's own weights, the pruned search against all itemsets, many items."""

from __future__ import annotations

import json
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.results.intervals import FiellerRatios
from rrpolicy.estimate.rules.itemsets import RuleSearch, Weighing, search_rules
from rrpolicy.estimate.rules.transactions import Items, from_masks

LEVEL = 0.95


class Oracle:
    """Rules by the weights of every single record in every itemset, by matrix inversion, without any pruning."""

    def __init__(self, items, weights, beside, records):
        """Take items as (axis, name), the weights of each record in each, what it weighs where an axis is in no item."""
        self.items, self.weights, self.beside, self.records = items, weights, beside, records

    def weight(self, itemset):
        found = np.ones(len(self.weights[0]) if len(self.weights) else 0)
        axes = {self.items[i][0] for i in itemset}
        for axis, weight in self.beside.items():
            found = found * (1 if axis in axes else weight)
        for i in itemset:
            found = found * self.weights[i]
        return found

    def share(self, part, whole):
        g, d = self.weight(part), self.weight(whole)
        square = (np.array([(g * g).sum()]), np.array([(g * d).sum()]), np.array([(d * d).sum()]))
        sums = np.array([g.sum()]), np.array([d.sum() if abs(d.sum()) > 1e-9 * self.records else 0.0])
        return FiellerRatios.shares(*sums, square, self.records)

    def itemsets(self, longest):
        for size in range(1, longest + 1):
            for itemset in combinations(range(len(self.items)), size):
                if len({self.items[i][0] for i in itemset}) == size:
                    yield itemset

    def rules(self, min_support, min_confidence, longest, target="table", *, by="upper"):
        """Yield (given, then) -> support and confidence of the rules that are shown, all parts of itemsets checked.

        By the estimate in place of the upper end it would be the search that loses rules.
        """
        supports = {itemset: self.share(itemset, ()) for itemset in self.itemsets(longest)}
        end = {
            z: (r.ends(LEVEL, target)[0, 1] if by == "upper" else r.estimate[0]) >= min_support * (1 - 1e-9)
            for z, r in supports.items()
        }
        found = {}
        for z, support in supports.items():
            parts = chain.from_iterable(combinations(z, size) for size in range(1, len(z) + 1))
            if len(z) == 1 or not all(end[part] for part in parts):
                continue
            for then in z:
                given = tuple(i for i in z if i != then)
                confidence = self.share(z, given)
                least = (min_support * (1 - 1e-9), min_confidence * (1 - 1e-9))
                if support.estimate[0] >= least[0] and confidence.estimate[0] >= least[1]:
                    found[tuple(self.items[i][1] for i in given), self.items[then][1]] = (support, confidence)
        return found


BINARY = ("no", "yes")


def axes_of(made, design):
    if design == "binary":
        return [
            made.retention(c, BINARY, [((0, 1), keep)])
            for c, keep in zip("abcd", ("4/5", "3/4", "9/10", "7/10"), strict=True)
        ]
    return [
        made.retention("a", ("p", "q", "r", "s"), [((0, 1), "4/5"), ((2, 3), "3/4")]),
        made.matrix("b", ("x", "y", "z"), ("x", "y", "z"), [["7/10", "1/10", "1/5"], ["1/10", "4/5", "1/5"], ["1/5", "1/10", "3/5"]]),
        made.coupled(("c", "d"), [("0", "l"), ("0", "r"), ("1", "l")], [["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/10", "1/10", "4/5"]]),
        made.identity("e", ("in", "out")),
    ]  # fmt: skip


def released(made, axes, records, seed):
    """Return released rows of records whose columns go together."""
    rng = np.random.default_rng(seed)
    latent = rng.random(records)
    rows = {}
    for axis in axes:
        size = len(axis.P[0])
        codes = np.minimum((latent * 0.6 + rng.random(records) * 0.4) * size, size - 1).astype(int)
        rows |= made.draw(axis, codes, rng)
    return rows


def oracle(axes, rows, columns, *, present=(), asked=(), kept=None):
    """Return the oracle of a release: axes, released rows, columns, and what is asked of axes: place -> mask."""
    items, weights, beside = [], [], {}
    records = len(next(iter(rows.values())))
    for place, axis in enumerate(axes):
        names = [c["name"] for c in axis.columns]
        cells = axis.decoder.get("released") or [c if isinstance(c, list) else [c] for c in axis.decoder["labels"]]
        code = np.array([cells.index([rows[n][i] for n in names]) for i in range(records)])
        inverse = np.linalg.inv(axis.array)
        mask = np.array(dict(asked).get(place, [True] * len(cells)))
        if place in dict(asked):
            beside[place] = (inverse.T @ mask.astype(float))[code]
        for j, name in enumerate(names):
            if name not in columns:
                continue
            labels = list(dict.fromkeys(cell[j] for cell in cells))
            labels = [v for v in labels if v in present] or labels
            for label in labels:
                target = np.array([cell[j] == label for cell in cells]) & mask
                if target.any():
                    items.append((place, (name, label)))
                    weights.append((inverse.T @ target.astype(float))[code])
    chosen = np.ones(records, bool) if kept is None else kept
    order = sorted(range(len(items)), key=lambda i: columns.index(items[i][1][0]))
    return Oracle(
        [items[i] for i in order],
        [weights[i][chosen] for i in order],
        {a: w[chosen] for a, w in beside.items()},
        records,
    )


def same(found, expected, target):
    assert {(r.given, r.then) for r in found.rules} == set(expected)
    for rule in found.rules:
        support, confidence = expected[rule.given, rule.then]
        for name, ratio in (("support", support), ("confidence", confidence)):
            assert getattr(rule, name) == pytest.approx(ratio.estimate[0], rel=1e-9)
            assert getattr(rule, f"{name}_se") == pytest.approx(ratio.errors()[target][0], rel=1e-6, abs=1e-9)
            ends = getattr(rule, f"{name}_interval")
            assert ends == pytest.approx(ratio.ends(LEVEL, target)[0], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("design", ["binary", "mixed"])
def test_rules_are_those_of_every_records_own_weights(made, publish, design, target):
    axes = axes_of(made, design)
    rows = released(made, axes, 700, seed=5)
    columns = [c["name"] for axis in axes for c in axis.columns]
    release = rrpolicy.open_release(publish(axes, rows))
    for min_support, min_confidence, longest in ((0.05, 0.3, 2), (0.1, 0.4, 3), (0.02, 0.6, 4), (0.3, 1e-9, 3)):
        found = release.rules(min_support, min_confidence, longest=longest, target=target)
        expected = oracle(axes, rows, columns).rules(min_support, min_confidence, longest, target)

        assert expected
        same(found, expected, target)


def test_rules_under_a_condition_and_of_present_items_alone(made, publish):
    axes = axes_of(made, "mixed")
    rows = released(made, axes, 900, seed=6)
    columns = ["c", "a", "b"]
    release = rrpolicy.open_release(publish(axes, rows))
    kept = np.array(rows["e"]) == "in"
    cases = [
        ("a IN ('p', 'r')", {"asked": [(0, [True, False, True, False])]}),
        ("d = 'l' AND e = 'in'", {"asked": [(2, [True, False, True])], "kept": kept}),
        ("a <> 's' AND b <> 'y'", {"asked": [(0, [True, True, True, False]), (1, [True, False, True])]}),
        (None, {"present": ("1",)}),
    ]
    for where, options in cases:
        for chosen in (columns, columns[1:2] + columns[:1]):
            found = release.rules(0.05, 0.2, chosen, where, present=options.get("present"))
            expected = oracle(axes, rows, chosen, **options).rules(0.05, 0.2, 3)

            assert expected
            same(found, expected, "table")
    assert release.rules(0.9, 0.9, ["a", "b"], "e = 'in' AND e = 'out'").rules == ()
    with pytest.raises(PolicyError, match="RR277") as refused:
        release.rules(0.1, 0.1, present=["nein"])
    assert "'nein'" in str(refused.value)


@st.composite
def weighed_records(draw):
    """Draw items of a few axes, each with rows of bits and weights, and records."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, records = draw(st.integers(2, 6)), draw(st.integers(1, 150))
    axes = np.sort(rng.integers(0, size, size))
    most = draw(st.integers(1, 2))
    share = rng.random(records)[:, None] * draw(st.sampled_from([0.0, 0.7])) + 0.15
    kinds = [
        (rng.random((records, 1)) < share).astype(int)[:, 0] * rng.integers(1, most + 1, records) for _ in range(size)
    ]
    masks = [kind == row for kind in kinds for row in range(1, most + 1)]
    base = -rng.random(size) * draw(st.sampled_from([0.0, 0.5]))
    more = 1 + rng.random((size, most))
    items = Items(
        tuple((f"c{axis}", i) for i, axis in enumerate(axes)),
        axes,
        base,
        more,
        np.arange(size * most).reshape(size, most),
        np.full(size, -1),
    )
    weights = [base[i] + np.concatenate([[0.0], more[i]])[kinds[i]] for i in range(size)]
    everything = Oracle(list(zip(axes.tolist(), items.names, strict=True)), weights, {}, records)
    return Weighing(items, from_masks(masks, records), records), everything


@settings(max_examples=120, deadline=None)
@given(weighed_records(), st.sampled_from([0.02, 0.1, 0.25, 0.6]), st.sampled_from([1e-9, 0.3, 0.8]), st.integers(2, 4))
def test_the_pruned_search_loses_no_rule_that_would_be_shown(drawn, min_support, min_confidence, longest):
    weighing, everything = drawn
    asked = RuleSearch(min_support, min_confidence, longest, "table", LEVEL)
    found = search_rules(weighing, asked)
    shown = {found.parts(row) for row in np.flatnonzero(found.chosen(asked))}

    assert shown == set(everything.rules(min_support, min_confidence, longest))


def test_pruning_by_the_estimate_would_lose_rules():
    """A part whose estimate lies below the least support by chance is in a rule that is shown."""
    lost = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        kinds = [(rng.random(150) < 0.4).astype(int) for _ in range(4)]
        names = [(i, (f"c{i}", 1)) for i in range(4)]
        everything = Oracle(names, [np.where(kind, 1.4, -0.6) for kind in kinds], {}, 150)
        shown = everything.rules(0.05, 1e-9, 3)
        lost += len(set(shown) - set(everything.rules(0.05, 1e-9, 3, by="estimate")))
        items = Items(tuple(n for _, n in names), np.arange(4), np.full(4, -0.6), np.full((4, 1), 2.0), np.arange(4)[:, None], np.full(4, -1))  # fmt: skip
        asked = RuleSearch(0.05, 1e-9, 3, "table", LEVEL)
        found = search_rules(Weighing(items, from_masks([kind == 1 for kind in kinds], 150), 150), asked)
        assert {found.parts(row) for row in np.flatnonzero(found.chosen(asked))} == set(shown)
    assert lost > 0


@pytest.mark.slow
def test_itemsets_that_cannot_be_counted_are_refused():
    names = tuple((f"c{i}", 1) for i in range(1100))
    masks = [np.roll([True] * 15 + [False] * 5, i) for i in range(1100)]
    items = Items.plain(names, np.arange(1100))
    with pytest.raises(PolicyError, match="RR277") as refused:
        search_rules(Weighing(items, from_masks(masks, 20), 20), RuleSearch(0.5, 1.0, 3, "table", LEVEL))
    assert "221,228,700 sets of 3 items would be looked at" in str(refused.value)
    few = Weighing(Items.plain(names[:130], np.arange(130)), from_masks([np.ones(3, bool)] * 130, 3), 3)
    with pytest.raises(PolicyError, match="more than 1,000,000 rules"):
        search_rules(few, RuleSearch(0.5, 0.5, 3, "table", LEVEL))


def test_many_items_are_searched(made, publish):
    """86 items at length 3, 102,340 sets of three; some of the rules against the weights of every record."""
    columns = [f"i{n}" for n in range(86)]
    axes = [made.retention(c, BINARY, [((0, 1), "17/20")]) for c in columns]
    rng = np.random.default_rng(3)
    latent = rng.random((1500, 1))
    codes = (rng.random((1500, 86)) < 0.1 + 0.5 * (latent < rng.random(86) * 0.6)).astype(int)
    rows = {}
    for axis, code in zip(axes, codes.T, strict=True):
        rows |= made.draw(axis, code, rng)
    found = rrpolicy.open_release(publish(axes, rows)).rules(0.1, 0.6, present=["yes"])

    assert found.candidates > 50_000
    assert len(found.rules) > 100
    expected = oracle(axes, rows, columns, present=("yes",))
    number = {name: i for i, (_, name) in enumerate(expected.items)}
    for rule in found.rules[:: len(found.rules) // 20]:
        given = tuple(number[name] for name in rule.given)
        whole = (*given, number[rule.then])
        assert rule.support == pytest.approx(expected.share(whole, ()).estimate[0])
        assert rule.confidence_se == pytest.approx(expected.share(whole, given).errors()["table"][0])


def test_the_bias_of_a_confidence_is_that_of_simulated_releases():
    """E[n/d] - E[n]/E[d], to second order, over 200,000 releases; with the wrong sign it would be caught."""
    rng = np.random.default_rng(12)
    P = np.array([[0.75, 0.25], [0.25, 0.75]])
    true = np.array([[300, 100], [60, 40]])
    w = np.linalg.inv(P).T
    draws = 200_000
    released = sum(
        rng.multinomial(true[i, j], np.outer(P[:, i], P[:, j]).reshape(-1), draws) for i, j in product((0, 1), (0, 1))
    )
    given, both = np.kron(w[:, 1], [1, 1]), np.kron(w[:, 1], w[:, 1])
    sums = [released @ v for v in (both, given, both**2, both * given, given**2)]
    ratios = FiellerRatios.shares(sums[0], sums[1], (sums[2], sums[3], sums[4]), int(true.sum()))
    found = ratios.estimate - true[1, 1] / true[1].sum()
    expected = ratios.bias("table")
    # the formula at the expectations, about which both scatter
    mean = [np.array([s.mean()]) for s in sums]
    bias = float(FiellerRatios.shares(mean[0], mean[1], (mean[2], mean[3], mean[4]), int(true.sum())).bias("table")[0])

    assert abs(bias) > 0.004
    assert abs(found.mean() - bias) < 5 * found.std() / np.sqrt(draws) + 0.35 * abs(bias)
    assert abs(found.mean() + bias) > 0.004
    assert np.sign(np.median(expected)) == np.sign(bias)


def test_the_bias_shown_is_that_of_the_covariances(made, publish):
    axes = axes_of(made, "binary")
    release = rrpolicy.open_release(publish(axes, released(made, axes, 700, seed=5)))
    found = release.rules(0.05, 0.1, ["a", "b"])
    table = release.crosstab(["a", "b"])
    cells, covariance = table.estimate, table.covariance()
    frame = found.to_frame()
    (bias,) = frame[(frame["given"] == "a = yes") & (frame["then"] == "b = yes")]["confidence_bias"]
    d = np.array([0.0, 0.0, 1.0, 1.0])
    n = np.array([0.0, 0.0, 0.0, 1.0])
    whole = d @ cells.reshape(-1)
    ratio = cells[1, 1] / whole
    assert bias == pytest.approx((ratio * d @ covariance @ d - n @ covariance @ d) / whole**2)
    assert [rule.confidence_bias for rule in found.rules] == frame["confidence_bias"].tolist()


def test_a_rule_that_is_named_is_that_of_the_search_without_a_note_of_choice(mixed, capsys):
    release = rrpolicy.open_release(mixed)
    rule = "sex = f, plain = 10 -> wide = a"
    found = release.rule(rule)
    searched = release.rules(1e-9, 1e-9, ["sex", "plain", "wide"])
    (same,) = [r for r in searched.rules if dict(r.given) == {"sex": "f", "plain": 10} and r.then == ("wide", "a")]
    (named,) = found.rules
    assert str(named) == rule
    assert named.sure is None
    assert (named.support, named.support_se, *named.support_interval) == pytest.approx(
        (same.support, same.support_se, *same.support_interval)
    )
    assert (named.confidence, named.confidence_se, *named.confidence_interval, named.confidence_bias) == pytest.approx(
        (same.confidence, same.confidence_se, *same.confidence_interval, same.confidence_bias)
    )
    assert any("chosen by their estimates" in note for note in searched.notes)
    assert not any("chosen by their estimates" in note for note in found.notes)
    assert "sure" not in found.to_frame()
    assert main(["estimate", "rules", str(mixed), "--rule", rule, "--rule", "plain = 10 -> sex = m", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["confidence"] for row in document["rows"]] == pytest.approx(
        [named.confidence, release.rule("plain = 10 -> sex = m").rules[0].confidence]
    )


def test_a_named_rule_is_shown_however_rare_it_is_and_in_the_order_that_was_asked_for(mixed):
    release = rrpolicy.open_release(mixed)
    asked = ["wide = a -> sex = f", "sex = f -> wide = a", "square = true, wide = b -> below = 3"]
    assert [str(rule) for rule in release.rule(asked).rules] == [
        "wide = a -> sex = f", "sex = f -> wide = a", "square = True, wide = b -> below = 3"
    ]  # fmt: skip
    share = release.query("SELECT count(*) FILTER (WHERE wide = 'a') / count(*) AS s FROM release WHERE sex = 'f'")
    rule = release.rule("sex = f -> wide = a", target="table").rules[0]
    frame = share.to_frame()
    assert (rule.confidence, rule.confidence_se) == pytest.approx((frame["s"][0], frame["s_se"][0]))
    assert "<svg" in str(release.rule(asked).plot())


def test_names_and_categories_of_any_spelling_can_stand_in_a_rule(mixed):
    release = rrpolicy.open_release(mixed)
    (rule,) = release.rule("""  "my column" = '''x' ,sex=f->"below"=1""").rules
    assert (dict(rule.given), rule.then) == ({"my column": "'x", "sex": "f"}, ("below", 1))
    (rule,) = release.rule("sex = f -> my column = the rest").rules
    assert rule.then == ("my column", "the rest")


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("sex = f", "RR277"),
        ("sex = f -> ", "RR277"),
        ("-> sex = f", "RR277"),
        ("sex = f -> wide = a -> plain = 10", "RR277"),
        ("sex = f -> wide = a, plain = 10", "RR277"),
        ("sex -> wide = a", "RR277"),
        ("sex = f, sex = m -> wide = a", "RR277"),
        ("p = u -> q = 0.5", "RR277"),
        ("nobody = 1 -> sex = f", "RR262"),
        ("hours = 1 -> sex = f", "RR263"),
        ("sex = x -> wide = a", "RR265"),
        ("below = 4 -> wide = a", "RR265"),
    ],
)
def test_what_is_no_rule_is_refused(mixed, capsys, rule, code):
    with pytest.raises(PolicyError, match=code):
        rrpolicy.open_release(mixed).rule(rule)
    assert main(["estimate", "rules", str(mixed), "--rule", rule]) == 2
    assert code in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--min-support", "0.1"], ["--rule", "sex = f -> wide = a", "--longest", "2"]])
def test_either_thresholds_or_rules_are_asked_for(mixed, capsys, given):
    assert main(["estimate", "rules", str(mixed), *given]) == 2
    assert "RR250" in capsys.readouterr().err


def test_a_category_that_the_condition_fixes_follows_with_certainty(made, publish):
    """Rounding puts its share above 1 by a last digit, where its variance is 0."""
    axes = axes_of(made, "mixed")
    release = rrpolicy.open_release(publish(axes, released(made, axes, 700, seed=5)))
    for where, item in (("a = 'p'", ("a", "p")), ("a = 'q'", ("a", "q")), ("b = 'x'", ("b", "x"))):
        found = release.rules(0.01, 0.3, ["a", "b"], where, longest=2)

        certain = [rule for rule in found.rules if rule.then == item]
        assert certain
        for rule in certain:
            assert rule.confidence == pytest.approx(1)
            assert rule.confidence_se == pytest.approx(0, abs=1e-6)
