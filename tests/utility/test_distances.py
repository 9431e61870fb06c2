"""Distances of estimated tables: against every release there can be, against analysts' estimates, and as gates."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.discovery import load_registry
from rrpolicy.errors import DataError
from rrpolicy.finding import Measure, Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, open_policy, policy_of, policy_text
from rrpolicy.testing.draws import draw_release, plan_kit_release
from rrpolicy.utility.distances import L1, L2, PMSE, ChiSquare, Hellinger, KLDivergence, TotalVariation
from rrpolicy.utility.draw_counts import CountedRowSink
from rrpolicy.utility.release_estimates import estimate_shares
from rrpolicy.utility.simulation import DrawSettings, EstimatedMarginal, simulated_means
from rrpolicy.utility.table_metric import TableMetricOptions

SEX, REGION, FLU = ("f", "m"), ("n", "e", "s"), ("none", "flu", "cold")
POLICY = policy_of(
    [
        Attribute("sex", Role.QUASI_IDENTIFIER, SEX, release_as="SEX"),
        Attribute("region", Role.QUASI_IDENTIFIER, REGION, release_as="region"),
        Attribute("disease", Role.SENSITIVE, FLU, release_as="disease"),
    ]
)
ATTRIBUTES = tuple(POLICY.attributes.values())
TINY = TableInMemory.of(POLICY, {"sex": [0, 0, 1, 1], "region": [0, 1, 1, 0], "disease": [0, 1, 0, 1]})
DEALT = TableInMemory.of(POLICY, {"sex": [0, 0, 1, 1], "region": [0, 1, 2, 2], "disease": [0, 0, 1, 2]})
METRICS = (TotalVariation(), L1(), L2(), Hellinger(), KLDivergence(), ChiSquare(), PMSE())


def oracle(name: str, p: np.ndarray, q: np.ndarray) -> float:
    """Return a distance by its definition, cell by cell, written without rrpolicy."""
    cells = list(zip(p.ravel().tolist(), q.ravel().tolist(), strict=True))
    positive = sum(max(b, 0) for _, b in cells)
    raised = sum(max(b, 1e-12) for _, b in cells)
    if name == "kl-divergence":
        return sum(a * math.log(a * raised / max(b, 1e-12)) for a, b in cells if a)
    if name == "hellinger":
        return math.sqrt(1 - sum(math.sqrt(a * max(b, 0) / positive) for a, b in cells))
    if name == "chi-square":
        return sum((a - b) ** 2 / a for a, b in cells if a)
    if name == "pmse":  # with n = m = 1: 1/2 sum (a + b) (b/(a + b) - 1/2)^2
        proper = [(a, max(b, 0) / positive) for a, b in cells]
        return sum((a + b) * (b / (a + b) - 0.5) ** 2 for a, b in proper if a + b) / 2
    absolute = sum(abs(a - b) for a, b in cells)
    return {
        "l1": absolute,
        "total-variation": absolute / 2,
        "l2": math.sqrt(sum((a - b) ** 2 for a, b in cells)),
    }[name]


def retained(size: int, keep: float) -> np.ndarray:
    """Return a retention matrix."""
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def every_retention() -> Iterator[tuple[float, np.ndarray]]:
    """Yield the chance of every release of sex and region of the tiny table, and the estimates from it."""
    P, Q = retained(2, 0.8), retained(3, 0.6)
    undo, redo = np.linalg.inv(P), np.linalg.inv(Q)
    records = list(zip(TINY.codes["sex"].tolist(), TINY.codes["region"].tolist(), strict=True))
    for released in product(product(range(2), range(3)), repeat=4):
        chance = math.prod(P[u, s] * Q[v, r] for (u, v), (s, r) in zip(released, records, strict=True))
        counts = np.zeros((2, 3))
        for u, v in released:
            counts[u, v] += 1
        yield chance, undo @ counts @ redo.T / 4


def every_set() -> Iterator[tuple[float, np.ndarray]]:
    """Yield the same of sex, as it is, and disease, in sets of two of three."""
    own = TINY.codes["disease"].tolist()
    for others in product(*([v for v in range(3) if v != d] for d in own)):
        q = np.zeros((2, 3))
        for sex, d, other in zip(TINY.codes["sex"].tolist(), own, others, strict=True):
            for value in range(3):
                q[sex, value] += ((value in {d, other}) - 0.5) / 0.5
        yield 1 / 16, q / 4


def every_deal() -> Iterator[tuple[float, np.ndarray]]:
    """Yield the same of region and disease, dealt into groups of two: a "none" with the "flu", one with the "cold"."""
    region = DEALT.codes["region"].tolist()
    for order in permutations((0, 1)):  # the records with "none", beside the "flu" and the "cold"
        q = np.zeros((3, 3))
        for none, other, value in ((order[0], 2, 1), (order[1], 3, 2)):
            for member in (none, other):
                q[region[member], 0] += 0.5
                q[region[member], value] += 0.5
        yield 1 / 2, q / 4


RANDOMISED = Product.of(
    ATTRIBUTES, [Retention.uniform("sex", SEX, Fraction(4, 5)), Retention.uniform("region", REGION, Fraction(3, 5))]
)
CASES = {
    "retention": (RANDOMISED, TINY, ("sex", "region"), every_retention),
    "sets": (Product.of(ATTRIBUTES, [Sets.of("disease", FLU, 2)]), TINY, ("sex", "disease"), every_set),
    "anatomy": (AnatomyChannel.of(ATTRIBUTES, "disease", 2), DEALT, ("region", "disease"), every_deal),
}


def by_enumeration(metric, attributes, releases, table=TINY) -> float:
    p = table.counts(*attributes).dense() / 4
    return sum(chance * oracle(metric.name, p, q) for chance, q in releases())


def of_shares(figure):
    """Return a number of shares as one of an estimated table."""
    return lambda found: figure(found.shares)


def agrees(measure: Measure, truth: float) -> bool:
    """Return whether a mean of simulated draws is the truth, at a false-alarm rate below 1e-6; else equality."""
    if measure.standing is Standing.EXACT:
        return measure.value == pytest.approx(truth, rel=1e-9, abs=1e-12)
    return abs(measure.value - truth) <= 5 * measure.error + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_expected_is_the_mean_over_every_release(case):
    channel, table, attributes, releases = CASES[case]
    assert sum(chance for chance, _ in releases()) == pytest.approx(1)

    p = table.counts(*attributes).dense() / 4
    figures = {m.name: of_shares(partial(m.of, p)) for m in METRICS}
    found = simulated_means(channel, table, attributes, figures, DrawSettings(1000, 1))

    for metric in METRICS:
        assert agrees(found[metric.name], by_enumeration(metric, attributes, releases, table)), metric.name


def test_the_closed_form_is_exact():
    found = ChiSquare().expected(TableMetricOptions(attributes=("sex", "region")), RANDOMISED, TINY)

    assert found.standing is Standing.EXACT
    assert found.value == pytest.approx(by_enumeration(ChiSquare(), ("sex", "region"), every_retention), rel=1e-12)
    assert ChiSquare().expected(TableMetricOptions(attributes=("sex",)), CASES["sets"][0], TINY) == Measure(0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        # the retention probability taken for the keep probability
        [Retention.uniform("sex", SEX, Fraction(3, 5)), Retention.uniform("region", REGION, Fraction(2, 5))],
        # one attribute is not randomised
        [Retention.uniform("region", REGION, Fraction(3, 5))],
    ],
)
def test_a_wrong_sampler_is_caught(wrong):
    sampled = Product.of(ATTRIBUTES, wrong)
    metric, attributes = TotalVariation(), ("sex", "region")

    found = metric.expected(TableMetricOptions(attributes=attributes, draws=800), sampled, TINY)

    assert not agrees(found, by_enumeration(metric, attributes, every_retention))


def test_draws_that_are_all_alike_are_caught():
    class Stuck(DrawSettings, frozen=True):
        def streams(self, draw):
            return super().streams(0)

    p = TINY.counts("sex", "region").dense() / 4
    figures = {"l2": of_shares(lambda q: L2().of(p, q))}
    truth = by_enumeration(L2(), ("sex", "region"), every_retention)

    found = simulated_means(RANDOMISED, TINY, ("sex", "region"), figures, Stuck(50, 1))["l2"]

    assert found.standing is Standing.ESTIMATE
    assert not agrees(found, truth)


def test_deterministic_releases_are_exact_whatever_the_draws():
    recode = Recode.by_levels([Domain("region", REGION)], [["n or e", "n or e", "s"]])
    channel = Product.of(ATTRIBUTES, [recode])

    found = TotalVariation().expected(TableMetricOptions(attributes=("sex", "region"), draws=20), channel, TINY)

    # every combination of n and e stands once: spread evenly they stay so
    assert found == Measure(0.0)
    uneven = TableInMemory.of(POLICY, {"sex": [0, 0, 0, 1], "region": [0, 0, 0, 2], "disease": [0, 0, 0, 0]})
    assert TotalVariation().expected(TableMetricOptions(attributes=("sex", "region")), channel, uneven) == Measure(
        0.375
    )


MECHANISMS = {
    "pram": """
        [mechanism]
        name = "pram"
        keep_probability = { sex = "3/4", region = "3/5", disease = "9/10" }
        [[privacy]]
        model = "local-dp"
        epsilon = 8""",
    "sensitive-addition": '[mechanism]\nname = "sensitive-addition"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2',
    "anatomy": '[mechanism]\nname = "anatomy"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2',
    "full-domain": '[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n[[privacy]]\nmodel = "k-anonymity"\nk = 60',
    "mondrian": '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n[[privacy]]\nmodel = "k-anonymity"\nk = 60',
    "tp": '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "3/2"',
}
TEXT = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], release_as = "part" }
disease = { role = "sensitive", domain = ["none", "flu", "cold"] }
"""


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_simulated_is_what_analysts_estimate(name):
    """The same draw, undone in memory and from the files of a release."""
    policy = open_policy(policy_text(TEXT + MECHANISMS[name]))
    table = TableInMemory.random(policy.policy, 400, 1)
    plan = plan_kit_release(policy, table)
    for attributes in (("disease", "sex", "region"), ("sex", "disease"), ("region", "sex"), ("disease",)):
        marginal = EstimatedMarginal.of(plan.channel, table, attributes)
        sink = CountedRowSink()
        plan.channel.draw(table, Streams.for_tests(3), sink)
        with draw_release(plan, policy, table, 3) as made:
            written = estimate_shares(made.release, table, attributes)

        whole = replace(marginal, channel=plan.channel)
        found = whole.estimate(sink, 400)
        assert found.shares == pytest.approx(written.shares, abs=1e-12)
        assert found.variance() == pytest.approx(written.variance(), abs=1e-12)


def test_the_seed_alone_tells_the_draws():
    options = TableMetricOptions(attributes=("sex", "region"))
    first, again = (TotalVariation().expected(options, RANDOMISED, TINY) for _ in range(2))
    other = TotalVariation().expected(TableMetricOptions(attributes=("sex", "region"), seed=2), RANDOMISED, TINY)

    assert first == again
    assert first.value != other.value
    assert first.error > 0
    assert TotalVariation().expected(options, RANDOMISED, 4) is None


def test_too_much_is_refused_before_it_starts():
    many = TableInMemory.of(POLICY, {name: np.zeros(300_000, np.int32) for name in ("sex", "region", "disease")})
    channel = Product.of(ATTRIBUTES, [Sets.of("disease", FLU, 2)])

    with pytest.raises(DataError, match="RR346.*10,000 draws of disease"):
        TotalVariation().expected(TableMetricOptions(attributes=("disease",), draws=10_000), channel, many)


def test_a_table_that_cannot_be_is_refused_at_check_time():
    wide = policy_of(
        [Attribute(f"a{i}", Role.QUASI_IDENTIFIER, tuple(range(40)), release_as=f"a{i}") for i in range(4)]
    )
    metric = TotalVariation()

    assert "2,560,000 cells" in metric.refuses(TableMetricOptions(), wide)
    assert metric.refuses(TableMetricOptions(attributes=("a0", "a1")), wide) is None
    assert "'b' is not released" in metric.refuses(TableMetricOptions(attributes=("b",)), wide)
    assert "twice" in metric.refuses(TableMetricOptions(attributes=("a0", "a0")), wide)


GATE = '[release]\naccept = ["released"]\n[[utility]]\nmetric = "total-variation"\nattributes = ["sex", "region"]\n'


def outlook_of(limit):
    from rrpolicy.planning.plan_result import plan_and_assess

    policy = open_policy(policy_text(TEXT + MECHANISMS["pram"] + f"\n{GATE}{limit}\n"))
    return plan_and_assess(policy.policy, policy.registry, TableInMemory.random(policy.policy, 400, 1))


def test_a_simulated_value_passes_by_its_upper_end_alone():
    (finding,) = outlook_of("max = 1").assessment.utility
    value, error = finding.expected.value, finding.expected.error
    assert finding.expected.standing is Standing.ESTIMATE

    between = outlook_of(f"max = {value + 2.9 * error:.9f}")
    over = outlook_of(f"max = {value + 3.1 * error:.9f}")

    assert not between.passed
    assert over.passed
    (problem,) = [p for p in between.problems if p.code == "RR104"]
    assert "(estimate from 100 draws, seed 1)" in problem.message
    assert "upper end at 3 standard errors" in problem.message
    attained = problem.hint.partition("`")[2].partition("`")[0]
    assert outlook_of(attained).passed


CLI = {
    "max = 0.5": (0, "", "total-variation of sex, region: 0.1"),
    "min = 0.5": (2, "RR286", ""),
    "max = 0.5\nmin = 0.1": (2, "RR286", ""),
    "": (2, "RR206", ""),
    "max = 0.001": (1, "RR104", "whose upper end at 3 standard errors is 0."),
}


@pytest.mark.parametrize("limit", CLI)
def test_the_command_says_what_a_gate_comes_to(limit, tmp_path, monkeypatch, capsys):
    status, code, told = CLI[limit]
    monkeypatch.chdir(tmp_path)
    rows = ["sex,region,disease", *(f"{'fm'[i % 2]},{'nes'[i % 3]},none" for i in range(600))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    text = policy_text(TEXT + MECHANISMS["pram"] + f"\n{GATE}{limit}\n")
    (tmp_path / "policy.toml").write_text(text)

    assert main(["plan", "policy.toml", "--source", "t.csv"]) == status

    said = " ".join("".join(capsys.readouterr()).split())
    assert code in said
    assert told in said
    if not status:
        assert "(estimate from 100 draws, seed 1), at most 0.5" in said


def test_numbers_of_a_gate_stay_in_audit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["sex,region,disease", *(f"{'fm'[i % 2]},{'nes'[i % 3]},none" for i in range(600))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    text = policy_text(TEXT + MECHANISMS["pram"] + f"\n{GATE}max = 0.5\n")
    (tmp_path / "policy.toml").write_text(text)

    assert main(["release", "policy.toml", "--source", "t.csv", "--out", "out"]) == 0

    public = json.loads((tmp_path / "out/public/release.json").read_text())["utility"]
    audit = json.loads((tmp_path / "out/audit/findings.json").read_text())["utility"]
    assert public[0]["expected"] is None
    assert audit[0]["expected"]["standing"] == "estimate"
    assert audit[0]["options"]["draws"] == 100
    value = f"{audit[0]['expected']['value']:.6f}"
    assert not any(value in file.read_text(errors="ignore") for file in (tmp_path / "out/public").glob("*.*"))
    page = (tmp_path / "out/audit/report.html").read_text()
    assert "from 100 draws, seed 1" in page
    assert "from 100 draws" not in (tmp_path / "out/public/report.html").read_text()
    assert main(["verify", "out", "--source", "t.csv"]) == 0


def test_every_metric_is_in_the_guide():
    from pathlib import Path

    text = (Path(__file__).resolve().parents[2] / "docs/reference/utility.md").read_text()

    assert {name for name in load_registry().utility_metrics if f"`{name}`" not in text} == set()
