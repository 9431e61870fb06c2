"""Losses of generalised and suppressed tables: record by record, and as other software counts them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.declarations import Role
from rrpolicy.errors import DataError, PolicyError
from rrpolicy.finding import Measure
from rrpolicy.planning.assess import channel_outline
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, open_policy, policy_of, policy_text
from rrpolicy.testing.draws import draw_release, plan_kit_release
from rrpolicy.utility.addition_mse import AdditionMSE, AdditionMSEOptions
from rrpolicy.utility.associations import AssociationOptions, MutualInformationChange
from rrpolicy.utility.distances import TotalVariation
from rrpolicy.utility.expected_l2 import ExpectedL2, ExpectedL2Options
from rrpolicy.utility.interval_overlap import OverlapOptions
from rrpolicy.utility.losses import (
    NCP,
    ClassificationLoss,
    ClassLossOptions,
    Discernibility,
    TargetOptions,
)
from rrpolicy.utility.query_metrics import QueryOptions, RandomQueryError
from rrpolicy.utility.release_estimates import estimate_shares
from rrpolicy.utility.simulation import EstimatedMarginal
from rrpolicy.utility.table_metric import TableMetricOptions

SEX, REGION, FLU = ("f", "m"), ("n", "e", "s", "w"), ("none", "flu", "cold")
POLICY = policy_of(
    [
        Attribute("sex", Role.QUASI_IDENTIFIER, SEX, release_as="sex"),
        Attribute("region", Role.QUASI_IDENTIFIER, REGION, release_as="region"),
        Attribute("disease", Role.SENSITIVE, FLU, release_as="disease"),
    ]
)
ATTRIBUTES = tuple(POLICY.attributes.values())
TABLE = TableInMemory.of(
    POLICY,
    {
        "sex": [0, 0, 0, 1, 1, 1, 0, 1, 0, 1],
        "region": [0, 1, 0, 2, 3, 2, 3, 0, 2, 1],
        "disease": [0, 1, 0, 2, 0, 2, 1, 1, 2, 0],
    },
)
LEVEL = ("north or east", "north or east", "s", "w")
GENERALISED = Product.of(ATTRIBUTES, [Recode.by_levels([Domain("region", REGION)], [LEVEL])])
SUPPRESSED = SuppressionChannel.of(ATTRIBUTES[:2], ATTRIBUTES[2], [(0, 2, 2, 1), (1, 1, 0, 1), (0, 1, 1, 1)])


def released(which):
    """Return the released rows, by hand: (sex, region, disease) of each record."""
    rows = [*zip(*(TABLE.codes[n].tolist() for n in ("sex", "region", "disease")), strict=True)]
    if which == "generalised":
        return [(s, LEVEL[r], d) for s, r, d in rows]
    gone = Counter({(0, 2, 2): 1, (1, 1, 0): 1, (0, 1, 1): 1})
    found = []
    for row in rows:
        found.append(("*", "*", row[2]) if gone[row] > 0 else row)
        gone[row] -= 1
    return found


def by_hand(which):
    rows = released(which)
    classes = Counter((s, r) for s, r, _ in rows)
    together = Counter(rows)
    squares, wrong, penalty = 0, 0, 0.0
    for s, r, d in rows:
        suppressed = (s, r) == ("*", "*")
        squares += len(rows) if suppressed else classes[s, r]
        most = max(n for (a, b, _), n in together.items() if (a, b) == (s, r))
        wrong += suppressed
        penalty += (s == "*") + (1 if r == "*" else 0.5 if r == LEVEL[0] else 0)
        del d, most
    kept = {c for c in classes if c != ("*", "*")}
    wrong += sum(classes[c] - max(n for (a, b, _), n in together.items() if (a, b) == c) for c in kept)
    return {"ncp": penalty / 2 / len(rows), "discernibility": squares, "classification-loss": wrong / len(rows)}


@pytest.mark.parametrize(("which", "channel"), [("generalised", GENERALISED), ("suppressed", SUPPRESSED)])
@pytest.mark.parametrize("metric", [NCP(), Discernibility(), ClassificationLoss()])
def test_losses_are_those_of_the_records(metric, which, channel):
    assert metric.expected(metric.options(), channel, TABLE) == Measure(pytest.approx(by_hand(which)[metric.name]))
    assert metric.expected(metric.options(), channel, 10) is None


@pytest.mark.parametrize(
    ("channel", "squares", "wrong", "tied"),
    [(GENERALISED, 35_292, 0.445, 25), (SuppressionChannel.of(ATTRIBUTES[:2], ATTRIBUTES[2], [(0, 0, 0, 20)]), 28_308, 0.4425, 43)],
)  # fmt: skip
def test_as_pycanon_counts_them(channel, squares, wrong, tied):
    """pycanon 1.3.6: discernability_metric(raw, anon, ["sex", "region"]); classification_metric(…, ["disease"]).

    It takes suppressed records out of `anon`, and where two values are the commonest of a class it holds neither to be
    wrong: 25 records of one class here, and 7 and 2 times 18 of two.
    """
    table = TableInMemory.random(POLICY, 400, 1)

    assert Discernibility().expected(ClassLossOptions(), channel, table) == Measure(squares)
    found = ClassificationLoss().expected(TargetOptions(), channel, table)
    assert found.value - tied / 400 == pytest.approx(wrong)


MECHANISMS = {
    "full-domain": 'algorithm = "full-domain"\n[[privacy]]\nmodel = "k-anonymity"\nk = 60',
    "suppressing": 'algorithm = "full-domain"\nsuppression = "1/10"\n[[privacy]]\nmodel = "k-anonymity"\nk = 25',
    "mondrian": 'algorithm = "mondrian"\n[[privacy]]\nmodel = "k-anonymity"\nk = 30',
    "tp": 'algorithm = "tp"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "3/2"',
}
TEXT = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s", "w"], release_as = "part" }
disease = { role = "sensitive", domain = ["none", "flu", "cold"] }
[mechanism]
name = "l-diversity"
"""


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_expected_is_what_a_release_attains(name):
    policy = open_policy(policy_text(TEXT + MECHANISMS[name]))
    table = TableInMemory.random(policy.policy, 400, 1)
    plan = plan_kit_release(policy, table)
    with draw_release(plan, policy, table, 1) as made:
        for metric in (NCP(), Discernibility(), ClassificationLoss()):
            expected = metric.expected(metric.options(), plan.channel, table)
            realised = metric.realised(metric.options(), made.release, table)
            assert realised == Measure(pytest.approx(expected.value))


def test_what_is_drawn_has_no_certain_classes():
    channel = Product.of(ATTRIBUTES, [Retention.uniform("region", REGION, Fraction(4, 5))])
    outline = channel_outline(channel)

    assert "'region' is randomised" in NCP().unfit(ClassLossOptions(), outline.channel, outline.axes)
    assert NCP().unfit(ClassLossOptions(attributes=("sex",)), outline.channel, outline.axes) is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"classified": "region"}, "makes classes itself"),
        ({"classified": "hours"}, "'hours' is not released"),
        ({"attributes": ["hours"]}, "'hours' is not released"),
        ({}, None),
    ],
)
def test_what_cannot_be_told_from_classes_is_refused(options, told):
    found = ClassificationLoss().refuses(TargetOptions.model_validate(options), POLICY)

    assert found is None if told is None else told in found


WIDE = tuple(f"v{i}" for i in range(1_100))
WIDE_POLICY = policy_of([Attribute(name, Role.SENSITIVE, WIDE, release_as=name) for name in ("one", "two")])
WIDE_TABLE = TableInMemory.of(WIDE_POLICY, {"one": [0, 1], "two": [0, 1]})


def test_what_no_metric_can_measure_is_refused_with_a_reason():
    named = TargetOptions.model_validate({"classified": "region"})
    two = policy_of([*ATTRIBUTES, Attribute("ill", Role.SENSITIVE, FLU, release_as="ill")])
    assert "2 attributes are sensitive" in str(ClassificationLoss().refuses(TargetOptions(), two))
    outline = channel_outline(GENERALISED)
    assert ClassificationLoss().unfit(named, outline.channel, outline.axes) == "'region' is not released unchanged"
    unknown = QueryOptions.model_validate({"attributes": ("nobody",)})
    assert "'nobody' is not released with categories" in str(RandomQueryError().refuses(unknown, POLICY))
    too_many = "the table of two of them has over 1,000,000 cells"
    assert too_many in str(MutualInformationChange().refuses(AssociationOptions(), WIDE_POLICY))
    plain = policy_of([Attribute("wage", Role.INSENSITIVE, None, release_as="wage")])
    assert TotalVariation().refuses(TableMetricOptions(), plain) == "nothing is released with categories"
    with pytest.raises(ValueError, match="confidence level between 0 and 1"):
        OverlapOptions.model_validate({"level": "2"})


def test_tables_of_too_many_cells_are_not_estimated():
    assert estimate_shares(None, WIDE_TABLE, ("one", "two")) is None
    drawn = Product.of(tuple(WIDE_POLICY.attributes.values()), [Retention.uniform("one", WIDE, Fraction(1, 2))])
    with pytest.raises(DataError, match="RR346"):
        EstimatedMarginal.of(drawn, WIDE_TABLE, ("one", "two"))


def test_errors_of_other_channels_are_unknown():
    assert ExpectedL2().expected(ExpectedL2Options(), SUPPRESSED, TABLE) is None
    assert AdditionMSE().expected(AdditionMSEOptions(), SUPPRESSED, TABLE) is None
    assert AdditionMSE().expected(AdditionMSEOptions(), GENERALISED, TABLE) is None
    sets = Product.of(ATTRIBUTES, [Sets.of("disease", FLU, 2)])
    with pytest.raises(PolicyError, match="RR239.*'region' is not released as sets by itself"):
        AdditionMSE().expected(AdditionMSEOptions.model_validate({"attributes": ("region",)}), sets, TABLE)
