"""`pram` with `together`: attributes that are randomised as one, from the policy file to estimates."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import expected_squared_error, root_mean_squared_error, weight_norms
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.finding import Origin, Verdict
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure.attribute import attribute_risks
from rrpolicy.privacy.models import attribute_disclosure, local_dp, pk_anonymity
from rrpolicy.testing import (
    TableInMemory,
    check_assessor,
    check_axis,
    check_channel,
    check_mechanism,
    open_policy,
    policy_text,
)
from rrpolicy_pram.mechanism import Pram
from rrpolicy_pram.options import PramOptions
from tests.models import assessors_of

AGE, EDUCATION = ("young", "middle", "old"), ("low", "high")
RHO = Fraction(3, 5)


def joint(rho: Fraction = RHO, blocks: Any = None) -> Retention:
    parts = blocks or [range(6)]
    return Retention.of(
        [Domain("age", AGE), Domain("education", EDUCATION)],
        [(part, rho + (1 - rho) / len(part)) for part in parts],
    )


def retention_matrix(rho: float, size: int) -> Any:
    return rho * np.eye(size) + (1 - rho) / size * np.ones((size, size))


# --- the axis against matrices that numpy writes down


def test_the_axis_keeps_what_the_kit_asks() -> None:
    check_axis(joint())
    check_axis(joint(blocks=[(0, 1), (2, 3, 4, 5)]))


def test_it_is_retention_over_the_product_and_each_attribute_is_kept_with_the_same_retention() -> None:
    P = joint().forward(np.eye(6), 0)
    assert np.allclose(P, retention_matrix(0.6, 6))
    sum_out = np.kron(np.eye(3), np.ones((1, 2)))  # education summed over
    assert np.allclose(sum_out @ P, retention_matrix(0.6, 3) @ sum_out)
    independent = np.kron(retention_matrix(0.6, 3), retention_matrix(0.6, 2))
    assert np.trace(P) > np.trace(independent)  # more combinations are kept whole


def test_ratios_are_those_of_the_matrix() -> None:
    P = retention_matrix(0.6, 6)
    axis = joint()

    assert axis.max_ratio() == Fraction(10)
    assert float(axis.max_ratio() or 0) == pytest.approx((P.max(axis=1) / P.min(axis=1)).max())
    cross = min(P[b, u] * P[a, v] / (P[a, u] * P[b, v]) for a, b, u, v in itertools.product(range(6), repeat=4))
    assert float(axis.min_cross_ratio()) == pytest.approx(cross)
    assert joint(blocks=[(0, 1), (2, 3, 4, 5)]).max_ratio() is None


def test_weights_undo_it_for_every_marginal() -> None:
    """P^T w = c, of combinations and of each attribute: unbiased over the whole law."""
    for axis in (joint(), joint(blocks=[(0, 1), (2, 3), (4, 5)])):
        P = axis.forward(np.eye(6), 0)
        (weights,) = axis_weights(axis.decoder())
        young = np.array([cell[0] == "young" for cell in weights.original])
        high = np.array([cell[1] == "high" for cell in weights.original])
        for mask in (young, high, young & high, young | high):
            assert np.allclose(P.T @ weights.vector(mask), mask)


@pytest.mark.parametrize("blocks", [None, [(0, 1), (2, 3), (4, 5)], [(0, 1), (2, 3, 4, 5)]])
@pytest.mark.parametrize("marginal", [("age", "education"), ("age",), ("education",)])
def test_expected_error_is_that_of_the_matrix_written_out(blocks: Any, marginal: tuple[str, ...]) -> None:
    """The closed form of marginals against the general one, which knows no blocks."""
    axis = joint(blocks=blocks)
    written = Matrix(axis.original, axis.released, tuple(map(tuple, axis.decoder().matrix())))

    expected = np.broadcast_to(weight_norms(written, marginal), 6)

    assert np.broadcast_to(weight_norms(axis, marginal), 6) == pytest.approx(expected)


# --- what the policy may say


@pytest.fixture
def problems(make: Any) -> Callable[..., Any]:
    attributes = [
        make["attribute"]("age", AGE),
        make["attribute"]("education", EDUCATION),
        make["attribute"]("region", [], observed=True),
        make["attribute"]("wide", 5000),
    ]

    def found(requirements: Any = (), **options: Any) -> list[tuple[str, str, str]]:
        read = PramOptions(**({"attributes": ["age", "education", "region"]} | options))
        try:
            Pram().outline(read, make["policy"](attributes, "pram", read, requirements))
        except PolicyError as error:
            return [(p.code, p.place.key if p.place else "", p.message) for p in error.problems]
        return []

    return found


PAIR = (("age", "education"),)
ROWS = [["1/2" if u == v else "1/10" for v in range(6)] for u in range(6)]
CELLS = [list(cell) for cell in itertools.product(AGE, EDUCATION)]
WRITTEN = {"released": CELLS, "original": CELLS, "rows": ROWS}


def test_what_is_right(problems: Any) -> None:
    assert problems(together=PAIR) == []
    assert problems(together=PAIR, retention_probability={"age": "1/2", "education": "1/2"}) == []
    assert problems(together=PAIR, blocks={"education": [["low"], ["high"]]}) == []
    assert problems(together=PAIR, matrix={"education": WRITTEN}) == []


@pytest.mark.parametrize(
    ("together", "message"),
    [
        ([["age"]], "needs two attributes or more"),
        ([["age", "age"]], "contains 'age' twice"),
        ([["age", "education"], ["education", "region"]], "contains 'education' twice"),
        ([["age", "eduction"]], "contains 'eduction', which is not randomised"),
        ([["age", "wide"]], "15,000 combinations, more than 4,096"),
    ],
)
def test_groups_that_cannot_be(problems: Any, together: Any, message: str) -> None:
    found = problems(attributes=["age", "education", "region", "wide"], together=together)

    assert {code for code, *_ in found} == {"RR530"}
    assert any(message in text for *_, text in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_probability": {"age": "4/5"}}, "a keep probability is that of one attribute"),
        ({"invariant": {"age": "observed"}}, "no matrix of theirs is made to keep a marginal"),
        ({"retention_probability": {"age": "1/2", "education": "1/3"}}, "one retention probability, not several"),
    ],
)
def test_parameters_that_a_group_does_not_have(problems: Any, options: Any, message: str) -> None:
    ((code, _, text),) = problems(together=PAIR, **options)

    assert code == "RR531"
    assert message in text


def test_a_matrix_beside_other_parameters_and_of_other_labels(problems: Any) -> None:
    assert {c for c, *_ in problems(together=PAIR, matrix={"age": WRITTEN, "education": WRITTEN})} == {"RR232"}
    both = problems(together=PAIR, matrix={"age": WRITTEN}, retention_probability={"education": "1/2"})
    assert {c for c, *_ in both} == {"RR232"}
    flat = {"released": ["x", "y"], "original": list(AGE), "rows": [["1", "1", "0"], ["0", "0", "1"]]}
    ((code, _, text),) = problems(together=PAIR, matrix={"age": flat})
    assert (code, "by a list of 2 categories" in text) == ("RR233", True)
    ((code, _, text),) = problems(matrix={"age": WRITTEN})
    assert (code, "not lists" in text) == ("RR233", True)


def test_blocks_of_a_group_and_a_cap_on_epsilon_exclude_each_other(problems: Any, make: Any) -> None:
    asked = [make["requirement"]("local-dp", epsilon=2)]
    found = problems(asked, together=PAIR, blocks={"age": [["young", "middle"], ["old"]]})

    assert {code for code, *_ in found} == {"RR235"}


# --- plans


def table(make: Any, options: PramOptions, requirements: Any = (), sensitive: bool = False) -> TableInMemory:
    role = Role.SENSITIVE if sensitive else Role.QUASI_IDENTIFIER
    attributes = [
        make["attribute"]("sex", ["F", "M"]),
        make["attribute"]("age", AGE, role),
        make["attribute"]("education", EDUCATION, role),
        make["attribute"]("region", 4),
    ]
    policy = make["policy"](attributes, "pram", options, requirements)
    return TableInMemory.random(policy, 400, 5)


def planned(make: Any, original: TableInMemory, options: PramOptions) -> Any:
    return Pram().plan(options, make["task"](original.policy, original))


def test_equal_allocation_counts_combinations(make: Any) -> None:
    """k is met with equality; by the definition, from matrices that numpy writes down."""
    options = PramOptions(together=PAIR)
    original = table(make, options, [make["requirement"]("pk-anonymity", k=20)])

    proposal = check_mechanism(Pram(), open_policy(original.policy), [original])

    retained = [a for a in proposal.channel.axes if isinstance(a, Retention)]
    assert [a.attributes for a in retained] == [("sex",), ("age", "education"), ("region",)]
    rho = proposal.unrounded["age"]["retention_probability"]
    assert proposal.unrounded["education"] == proposal.unrounded["age"]
    cross = math.prod((P[1, 0] / P[0, 0]) ** 2 for P in (retention_matrix(rho, d) for d in (2, 6, 4)))
    assert 1 + 399 * cross == pytest.approx(20, rel=1e-6)
    assert {proposal.origins[n] for n in ("age", "education")} == {Origin.RECORDS}


def test_the_optimum_is_that_of_one_attribute_with_as_many_categories(make: Any) -> None:
    asked = [make["requirement"]("local-dp", epsilon=3)]
    options = PramOptions(together=PAIR, allocation="optimal")
    coupled = planned(make, table(make, options, asked), options)
    single = make["policy"](
        [make["attribute"]("sex", 2), make["attribute"]("cell", 6), make["attribute"]("region", 4)],
        "pram",
        PramOptions(allocation="optimal"),
        asked,
    )
    one = Pram().plan(PramOptions(allocation="optimal"), make["task"](single, 400))

    assert coupled.unrounded["age"]["retention_probability"] == pytest.approx(
        one.unrounded["cell"]["retention_probability"], abs=1e-6
    )


def test_a_workload_of_parts_of_a_group_is_minimised_as_the_error_formula_says(make: Any) -> None:
    from rrpolicy.optimize.retention.template import ChannelTemplate, expected_error_objective
    from rrpolicy_pram.layout import build
    from rrpolicy_pram.layout_reader import read_layout

    options = PramOptions(
        together=PAIR,
        allocation="optimal",
        blocks={"age": [["young", "middle"], ["old"]]},
        workload=[{"marginal": ["age", "sex", "region"], "weight": 2}, {"marginal": ["age", "education"]}],
    )
    original = table(make, options)
    layout = read_layout(options, original.policy)
    template = ChannelTemplate(build(layout, original.policy), layout.solved)

    value = expected_error_objective(template, options.workload, original)

    for retention in ((0.3, 0.5, 0.7), (0.9, 0.2, 0.4)):
        sizes = [axis.largest.size for axis in template.open]
        channel = template.filled(
            [Fraction(r + (1 - r) / d).limit_denominator(10**9) for r, d in zip(retention, sizes, strict=True)]
        )
        parts = [expected_squared_error(channel, original, m.marginal) or 0.0 for m in options.workload]
        expected = (2 * (400 * parts[0] + 1) + (400 * parts[1] + 1)) / 3
        assert math.exp(value.value(np.array(retention))) == pytest.approx(expected, rel=1e-6)


def test_a_matrix_over_combinations_and_one_that_leaves_some_out(make: Any) -> None:
    options = PramOptions(attributes=["age", "education"], together=PAIR, matrix={"age": WRITTEN})
    (sex, axis, region) = planned(make, table(make, options), options).channel.axes
    assert isinstance(sex, Identity)
    assert isinstance(region, Identity)
    assert np.allclose(axis.forward(np.eye(6), 0), np.array([[float(Fraction(x)) for x in row] for row in ROWS]))

    fewer = {"released": [*CELLS[:5], ["old", "unknown"]], "original": CELLS[::-1], "rows": [r[::-1] for r in ROWS]}
    options = PramOptions(attributes=["age", "education"], together=PAIR, matrix={"age": fewer})
    axis = planned(make, table(make, options), options).channel.axes[1]
    assert [c.labels for c in axis.columns()] == [AGE, ("low", "high", "unknown")]
    dense = axis.forward(np.eye(6), 0).reshape(3, 3, 6)
    assert np.allclose(dense[2, 2], [0.1] * 5 + [0.5])  # (old, unknown), in the order of the domains
    assert not dense[0, 2].any()  # (young, unknown) is never released
    assert np.allclose(dense.sum(axis=(0, 1)), 1)


# --- what an attacker reads of one sensitive attribute out of two


def law_of(axis: Any) -> list[dict[int, Fraction]]:
    return [dict(axis.column(code)) for code in range(axis.original_size)]


def enumerated(  # noqa: PLR0912 the definition, loop by loop
    rows: list[tuple[int, int, int]], P_a: Any, P: Any
) -> dict[tuple[int, int], tuple[Fraction, Fraction]]:
    """Return (a, s) -> risk and success of reading s, drawing a record by its weight for a; s and t are one in P."""
    total = len(rows)
    groups, cells = Counter(a for a, _, _ in rows), Counter((a, 2 * s + t) for a, s, t in rows)
    lam: dict[int, Fraction] = defaultdict(Fraction)
    for a, n in groups.items():
        for b, p in P_a[a].items():
            lam[b] += Fraction(n, total) * p
    found = {}
    for a, n in groups.items():
        spread: dict[int, Fraction] = defaultdict(Fraction)  # what is released of combinations, by people of a
        for (g, w), count in cells.items():
            if g == a:
                for v, p in P[w].items():
                    spread[v] += Fraction(count, n) * p
        drawn: dict[int, Fraction] = defaultdict(Fraction)  # the same of the record that the attacker draws
        back: dict[int, Fraction] = defaultdict(Fraction)
        for g, m in groups.items():
            back[g] = sum((p * P_a[g].get(b, 0) / lam[b] for b, p in P_a[a].items()), Fraction(0)) * Fraction(m, total)
        for (g, w), count in cells.items():
            for v, p in P[w].items():
                drawn[v] += back[g] * Fraction(count, groups[g]) * p
        for s in {s for g, s, _ in rows if g == a}:
            own: dict[int, Fraction] = defaultdict(Fraction)
            for (g, w), count in cells.items():
                if g == a and w // 2 == s:
                    for v, p in P[w].items():
                        own[v] += Fraction(count, n) * p
            risk = back[a] * sum((x * x / spread[v] for v, x in own.items()), Fraction(0))
            success = sum((drawn[v] * x / spread[v] for v, x in own.items()), Fraction(0))
            found[a, s] = risk, success
    return found


@pytest.mark.parametrize("seed", range(12))
def test_reading_one_of_two_sensitive_attributes_by_enumeration(make: Any, seed: int) -> None:
    rng = Random(seed)
    rows = [(rng.randrange(2), rng.randrange(3), rng.randrange(2)) for _ in range(rng.randint(3, 9))]
    a = Retention.uniform("sex", ("F", "M"), Fraction(rng.randint(5, 9), 10))
    axis: Any = joint(Fraction(rng.randint(1, 9), 10), rng.choice([None, [(0, 1), (2, 3, 4, 5)]]))
    if seed % 3 == 0:
        weights = [[rng.choice([0, 1, 2, 5]) for _ in range(6)] for _ in range(6)]
        columns = [[Fraction(x, sum(c) or 1) for x in c] if sum(c) else [Fraction(1, 6)] * 6 for c in weights]
        axis = Matrix(axis.original, axis.released, tuple(zip(*columns, strict=True)))
    options = PramOptions()
    original = table(make, options, sensitive=True)
    policy = original.policy
    made = TableInMemory.of(
        policy,
        {
            "sex": [r[0] for r in rows],
            "age": [r[1] for r in rows],
            "education": [r[2] for r in rows],
            "region": [0] * len(rows),
        },
    )
    region = Identity.of("region", policy.attributes["region"].domain or ())
    channel = Product((a, axis, region), (), ("sex", "age", "education", "region"))
    entry = Requirement(
        "attribute-disclosure", attribute_disclosure.AttributeDisclosureOptions(threshold="1/2", sensitive=("age",))
    )

    found = attribute_risks(entry, channel, made, "age")

    expected = enumerated(rows, law_of(a), law_of(axis))
    assert len(found.group) == len(expected)
    exactly = found.exactly()
    for i, (group, value) in enumerate(zip(found.group, found.value, strict=True)):
        risk, success = expected[int(found.evidence.codes[group, 0]) if len(found.evidence.axes) else 0, int(value)]
        assert found.risk[i] == pytest.approx(float(risk), rel=1e-12)
        assert found.success[1][i] == pytest.approx(float(success), rel=1e-12)
        assert exactly(i) == risk


def test_assessors_and_their_gradients_take_it(make: Any) -> None:
    """The kit compares verdicts, floors and derivatives by differences."""
    asked = {
        "attribute-disclosure": attribute_disclosure.AttributeDisclosureOptions(threshold="1/2"),
        "local-dp": local_dp.LocalDPOptions(epsilon=9),
        "pk-anonymity": pk_anonymity.PkAnonymityOptions(k=2),
    }
    original = table(make, PramOptions(), sensitive=True)
    regions = original.policy.attributes["region"].domain or ()
    channel = Product(
        (
            Retention.uniform("sex", ("F", "M"), Fraction(4, 5)),
            joint(),
            Retention.uniform("region", regions, Fraction(1, 2)),
        ),
        (),
        ("sex", "age", "education", "region"),
    )
    for model in ("attribute-disclosure", "local-dp", "pk-anonymity"):
        (assessor,) = [a for a in assessors_of(model) if a.channel is Product]
        opened = open_policy(_asking(original.policy, Requirement(model, asked[model])))
        check_assessor(assessor, opened, [channel], [original])


def _asking(policy: Any, requirement: Requirement) -> Any:
    from rrpolicy.frozen import replace

    return replace(policy, requirements=(requirement,))


def test_a_limit_on_one_sensitive_attribute_is_reached_and_not_undershot(make: Any) -> None:
    asked = [make["requirement"]("attribute-disclosure", threshold="2/5", sensitive=["age"])]
    options = PramOptions(together=PAIR, allocation="equal", attributes=["sex", "age", "education", "region"])
    original = table(make, options, asked, sensitive=True)
    task = make["task"](original.policy, original)

    channel = Pram().plan(options, task).channel

    (requirement, assessor) = task.requirements[0]
    finding = assessor.finding(requirement, channel, original)
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert 0.395 < finding.achieved.value <= 0.4


# --- drawing


def test_the_channel_keeps_what_the_kit_asks(make: Any) -> None:
    original = table(make, PramOptions())
    region = Identity.of("region", original.policy.attributes["region"].domain or ())
    channel = Product((Identity.of("sex", ("F", "M")), joint(), region), (), ("sex", "age", "education", "region"))

    check_channel(channel, open_policy(original.policy), [original])


def _statistic(observed: Any, n: int) -> float:
    """Return Pearson's statistic of what one original combination was released as, against the matrix."""
    expected = n * retention_matrix(0.6, 6)[:, 0]
    return float(((observed - expected) ** 2 / expected).sum())


def test_what_is_drawn_has_its_law_and_attributes_drawn_apart_are_found() -> None:
    n = 20_000
    limit = chi2.isf(1e-7, 5)
    codes, count = np.array([0]), np.array([n])

    cell, released, many = joint().split(codes, count, Streams.for_tests(7).stream("joint"))

    assert not cell.any()
    drawn = np.bincount(released[:, 0] * 2 + released[:, 1], weights=many, minlength=6)
    assert _statistic(drawn, n) < limit
    rng = np.random.default_rng(3)  # each attribute with the right retention, but by itself
    apart = [np.where(rng.random(n) < 0.6, 0, rng.integers(0, size, n)) for size in (3, 2)]
    assert _statistic(np.bincount(apart[0] * 2 + apart[1], minlength=6), n) > limit


# --- the guide


def test_the_guide_has_the_numbers_that_the_formulas_give() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "pram.md").read_text("utf-8")
    printed = [[float(x) for x in line.strip("| ").split("|")] for line in re.findall(r"(?m)^\| \d .*$", guide)]

    assert [row[0] for row in printed] == [1, 2, 4, 6]
    for epsilon, *row in printed:
        apart = [Retention.uniform(n, range(d), _keep(epsilon / 2, d)) for n, d in (("age", 6), ("education", 5))]
        domains = [Domain("age", tuple(range(6))), Domain("education", tuple(range(5)))]
        as_one = Retention.of(domains, [(range(30), _keep(epsilon, 30))])
        ways = [Product(axes, (), ("age", "education")) for axes in (tuple(apart), (as_one,))]
        found = [
            100 * (root_mean_squared_error(way, 10_000, marginal) or 0)
            for marginal in (("age", "education"), ("age",), ("education",))
            for way in ways
        ]
        assert [round(x, 3) for x in found] == row
        assert {round(math.log(math.prod(float(a.max_ratio() or 0) for a in way.axes)), 6) for way in ways} == {epsilon}


def _keep(epsilon: float, size: int) -> Fraction:
    """Return p with p/q = e^epsilon."""
    return Fraction(math.exp(epsilon) / (math.exp(epsilon) + size - 1)).limit_denominator(10**12)


# --- from the file to estimates

POLICY = policy_text(
    """\
[attributes]
person_id = { role = "identifier" }
age = { role = "quasi-identifier", bins = [0, 30, 60, 100], release_as = "age_band" }
education = { role = "quasi-identifier", domain = ["low", "high"] }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
""",
    "people.csv",
    "Together",
)
REST = """
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
together = [["age", "education"]]
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("together")
    rng = np.random.default_rng(11)
    with (folder / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person_id", "age", "education", "sex"])
        for i in range(4000):
            age = int(rng.integers(0, 100))
            rows.writerow([i, age, "high" if rng.random() < 0.2 + age / 150 else "low", rng.choice(["F", "M"])])
    (folder / "policy.toml").write_text(POLICY + REST)
    assert main(["release", str(folder / "policy.toml"), "--out", str(folder / "out")]) == 0
    return folder


def test_a_release_is_verified_and_estimated(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(released / "people.csv")
    assert main(["verify", str(released / "out"), "--source", source]) == 0
    assert main(["plan", str(released / "policy.toml")]) == 0
    assert "age,education: keep probability" in capsys.readouterr().out
    opened = open_release(released / "out" / "public")
    with (released / "people.csv").open() as file:
        rows = list(csv.DictReader(file))
    true = Counter((int(r["age"]) // 30 if int(r["age"]) < 60 else 2, r["education"]) for r in rows)
    table = opened.crosstab(["age_band", "education"])
    bands = list(dict.fromkeys(row["age_band"] for row in table.to_dict()["rows"]))
    far = [
        abs(cell["estimate"] - true[bands.index(cell["age_band"]), cell["education"]]) / cell["se"]
        for cell in table.to_dict()["rows"]
    ]
    assert max(far) < 5.3  # 1e-6 over all cells

    both = (released / "out" / "public" / "estimate.sql").read_text()
    assert "weights_age_band_education" in both
    report = (released / "out" / "public" / "report.html").read_text()
    assert "age × education" in report
    assert "a combination is kept" in report


def test_the_sql_of_the_folder_counts_what_python_counts(released: Path) -> None:
    script = (
        "import duckdb, json\nwith duckdb.connect() as c:\n    c.execute(open('estimate.sql').read()).fetchall()\n"
        "    r = c.sql('FROM estimate_age_band_education').fetchall()\n    print(json.dumps([list(x) for x in r]))"
    )
    public = released / "out" / "public"
    done = subprocess.run([sys.executable, "-c", script], cwd=public, capture_output=True, text=True, check=True)
    counted = {(row[0], row[1]): row[2] for row in json.loads(done.stdout)}
    expected = open_release(public).crosstab(["age_band", "education"]).to_dict()["rows"]

    assert len(counted) == len(expected) == 6
    for cell in expected:
        assert counted[cell["age_band"], cell["education"]] == pytest.approx(cell["estimate"], rel=1e-9)
