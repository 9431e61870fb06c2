"""The expected distance of estimates: against the reference, against simulation, and as a gate."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.canonical_json import file_digest
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import EMPTY_GOVERNANCE, Role
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.finding import Standing
from rrpolicy.manifest.manifest import (
    Data,
    DataTable,
    Manifest,
    PolicyIdentity,
    UnitBound,
)
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, policy_of
from rrpolicy.utility.expected_l2 import ExpectedL2, ExpectedL2Options

METRIC = ExpectedL2()
GENDERS, DISEASES = ("Male", "Female"), ("Cancer", "Flu", "Anemia")
POLICY = policy_of(
    [
        Attribute("gender", Role.QUASI_IDENTIFIER, GENDERS, release_as="g"),
        Attribute("disease", Role.SENSITIVE, DISEASES, release_as="d"),
    ]
)


def channel(gender, disease):
    return Product(
        (
            Retention.uniform("gender", GENDERS, Fraction(gender).limit_denominator(100), "g"),
            Retention.uniform("disease", DISEASES, Fraction(disease).limit_denominator(100), "d"),
        ),
        (),
        ("g", "d"),
    )


@pytest.fixture(scope="module")
def toy(vectors):
    counts = np.array(vectors["toy_table"]["counts"])
    codes = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
    return TableInMemory.of(POLICY, {"gender": codes[:, 0], "disease": codes[:, 1]})


def test_the_toy_table_matches_the_reference(toy, vectors):
    checked = 0
    for case in vectors["toy_table"]["cases"]:
        for target in ("table", "population"):
            expected = case[
                f"expected_l2_squared_of_this_{target}" if target == "table" else f"expected_l2_squared_of_the_{target}"
            ]
            if expected is None or case["p_gender"] == 1:
                continue
            found = METRIC.expected(ExpectedL2Options(target=target), channel(case["p_gender"], case["p_disease"]), toy)
            assert found.value**2 == pytest.approx(expected, abs=1e-9)
            assert found.standing is Standing.EXACT
            checked += 1
    assert checked >= 6


def test_the_number_of_records_is_enough_for_this_table(toy):
    plain = channel("4/5", "7/10")

    assert METRIC.expected(ExpectedL2Options(), plain, 100) == METRIC.expected(ExpectedL2Options(), plain, toy)
    assert METRIC.expected(ExpectedL2Options(target="population"), plain, 100) is None


def test_a_marginal_is_expected_on_its_own(toy):
    plain = channel("4/5", "7/10")

    found = METRIC.expected(ExpectedL2Options(attributes=("gender",)), plain, toy)

    # (||P^-1||_F^2 / d - 1)/N with ||P^-1||_F^2 = (d-1)^3/(d p - 1)^2 + 1
    assert found.value**2 == pytest.approx(((1 / 0.6**2 + 1) / 2 - 1) / 100, rel=1e-12)


def test_what_is_not_released_with_categories_is_refused(toy):
    with pytest.raises(PolicyError, match="RR239.*'age'"):
        METRIC.expected(ExpectedL2Options(attributes=("age",)), channel("4/5", "7/10"), toy)


def test_nothing_randomised_means_no_error(toy):
    same = Product((Identity.of("gender", GENDERS, "g"), Identity.of("disease", DISEASES, "d")), (), ("g", "d"))

    assert METRIC.expected(ExpectedL2Options(attributes=("gender", "disease")), same, toy).value == 0


def write_public(folder, product, codes):
    """Write a public folder as a release has it, from released codes."""
    import duckdb

    folder.mkdir(exist_ok=True)
    names = ("g", "d")
    rows = [(GENDERS[a], DISEASES[b]) for a, b in codes]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE data (g VARCHAR, d VARCHAR)")
        connection.executemany("INSERT INTO data VALUES (?, ?)", rows)
        connection.execute(f"COPY (FROM data ORDER BY ALL) TO '{folder / 'data.parquet'}' (FORMAT parquet)")
    zeros = "sha256:" + "0" * 64
    manifest = Manifest(
        release=None,
        policy=PolicyIdentity("survey", "1", "tests", "tests", zeros),
        software=Software("0.1.0", ()),
        records=len(rows),
        units=UnitBound(1),
        mechanism="pram",
        plan_on=False,
        attributes=(),
        channel=product.to_public_json(),
        decoders=product.decoders(),
        tables=product.tables(),
        data=Data("parquet", "escape", None, {"data": DataTable(("data.parquet",), len(rows), zeros)}),
        requirements=(),
        findings=(),
        utility=(),
        origins={},
        derived=(),
        assumptions=(),
        governance=EMPTY_GOVERNANCE,
        governance_digest=EMPTY_GOVERNANCE.digest(),
        require_signatures=0,
    )
    sealed = manifest.sealed({"data.parquet": file_digest(folder / "data.parquet")})
    (folder / "release.json").write_text(json.dumps(sealed.to_json()))
    assert [c.name for c in product.tables()[0].columns] == list(names)


@pytest.mark.slow
def test_the_realised_distance_is_that_of_the_estimates(toy, tmp_path):
    """The mean over draws of the squared realised distance is the expected one; 5 standard errors, fixed seed."""
    product = channel("4/5", "7/10")
    generator = np.random.default_rng(4)
    squares = []
    for draw in range(40):
        codes = np.column_stack([toy.codes["gender"], toy.codes["disease"]])
        for place, axis in enumerate(product.axes):
            block = axis.blocks[0]
            replaced = generator.random(len(codes)) >= float(block.retention)
            codes[replaced, place] = generator.integers(0, block.size, replaced.sum())
        write_public(tmp_path / str(draw), product, codes)
        measure = METRIC.realised(ExpectedL2Options(), open_release(tmp_path / str(draw), verify=False), toy)
        squares.append(measure.value**2)

    expected = METRIC.expected(ExpectedL2Options(), product, toy).value ** 2

    assert abs(np.mean(squares) - expected) <= 5 * np.std(squares) / math.sqrt(len(squares))
    assert (
        METRIC.realised(ExpectedL2Options(target="population"), open_release(tmp_path / "0", verify=False), toy) is None
    )


def test_an_untouched_table_is_at_distance_zero(toy, tmp_path):
    same = channel("1", "1")
    codes = np.column_stack([toy.codes["gender"], toy.codes["disease"]])

    write_public(tmp_path / "public", same, codes)

    assert METRIC.realised(
        ExpectedL2Options(), open_release(tmp_path / "public", verify=False), toy
    ).value == pytest.approx(0, abs=1e-12)
    assert METRIC.realised(
        ExpectedL2Options(attributes=("disease",)), open_release(tmp_path / "public", verify=False), toy
    ).value == pytest.approx(0, abs=1e-12)
