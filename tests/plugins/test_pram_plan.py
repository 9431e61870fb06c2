"""PRAM plans: from the policy alone, from N, from the table."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.expected_error import expected_squared_error
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, RequirementError
from rrpolicy.finding import Origin, Verdict
from rrpolicy.mechanism import Task
from rrpolicy.policy.model import Requirement
from rrpolicy.testing import TableInMemory, check_mechanism, open_policy
from rrpolicy_pram.mechanism import Pram
from rrpolicy_pram.options import PramOptions

ADULT = {"education": 16, "marital_status": 7, "sex": 2, "race": 5, "workclass": 7}


@pytest.fixture(scope="module")
def plan(make):
    def planned(attributes, options, requirements=(), original=1000):
        policy = make["policy"](attributes, "pram", options, requirements)
        return Pram().plan(options, make["task"](policy, original))

    return planned


def adult(make):
    return [make["attribute"](name, size) for name, size in ADULT.items()]


def retention(proposal):
    return {axis.attributes[0]: axis.blocks[0].retention for axis in proposal.channel.axes}


def test_equal_allocation_on_adult_is_the_reference(make, plan, vectors):
    case = vectors["pk_anonymity"]["retention_for_k"][0]
    assert case["domain_sizes"] == list(ADULT.values())

    proposal = plan(adult(make), PramOptions(), [make["requirement"]("pk-anonymity", k=case["k"])], case["N"])

    assert set(proposal.unrounded) == set(ADULT)
    for name, rho in retention(proposal).items():
        assert proposal.unrounded[name]["retention_probability"] == pytest.approx(case["retention"], abs=1e-9)
        assert case["retention"] - 2e-5 <= rho <= case["retention"]
        assert proposal.origins[name] is Origin.RECORDS


def test_local_dp_needs_no_data_and_no_records(make, plan, vectors):
    requirement = make["requirement"]("local-dp", epsilon=5)

    few, many = (plan(adult(make), PramOptions(), [requirement], n) for n in (1, 10**9))

    assert retention(few) == retention(many)
    expected = vectors["pk_anonymity"]["retention_for_epsilon"][0]["retention"]
    assert few.unrounded["sex"]["retention_probability"] == pytest.approx(expected, abs=1e-11)


def test_the_strictest_of_several_requirements_decides(make, plan):
    weak, strong = make["requirement"]("local-dp", epsilon=9), make["requirement"]("pk-anonymity", k=10)

    both = plan(adult(make), PramOptions(), [weak, strong], 45222)

    assert retention(both) == retention(plan(adult(make), PramOptions(), [strong], 45222))
    assert both.remarks[0].text == "what limits the choice: k >= 10"


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4).filter(lambda s: max(s) > 1),
    epsilon=st.fractions(Fraction(1, 10), 15, max_denominator=50),
    allocation=st.sampled_from(["equal", "optimal"]),
)
def test_what_is_planned_holds_exactly(make, assessors, sizes, epsilon, allocation):
    options = PramOptions(allocation=allocation)
    attributes = [make["attribute"](f"a{i}", d) for i, d in enumerate(sizes)]
    required = make["requirement"]("local-dp", epsilon=epsilon)
    policy = make["policy"](attributes, "pram", options, [required])

    proposal = Pram().plan(options, make["task"](policy, 50))

    assert assessors["local-dp"].assess(required, proposal.channel, 50).verdict is Verdict.SATISFIED
    ratio = Fraction(1)
    for axis in proposal.channel.axes:
        if axis.original_size > 1:
            (block,) = axis.blocks
            ratio *= block.keep / block.move
            assert block.keep > Fraction(1, block.size)
            assert 10**5 % block.keep.denominator == 0 or block.keep - Fraction(1, block.size) < Fraction(1, 10**5)
    assert math.log(ratio.numerator) - math.log(ratio.denominator) <= float(epsilon) + 1e-12


@settings(max_examples=20, deadline=None)
@given(sizes=st.lists(st.integers(2, 12), min_size=2, max_size=4), k=st.integers(2, 40))
def test_optimal_is_never_worse_than_equal(make, plan, sizes, k):
    attributes = [make["attribute"](f"a{i}", d) for i, d in enumerate(sizes)]
    required = [make["requirement"]("pk-anonymity", k=k)]

    equal, optimal = (plan(attributes, PramOptions(allocation=a), required, 5000) for a in ("equal", "optimal"))

    errors = [expected_squared_error(p.channel, 5000) for p in (equal, optimal)]
    assert errors[1] <= errors[0] * (1 + 1e-12)
    gain = next(r for r in optimal.remarks if r.name == "gain-over-equal")
    assert gain.measure.value == pytest.approx(math.sqrt(errors[0] / errors[1]), rel=1e-9)
    assert next(r for r in optimal.remarks if r.name == "starts-agreed").measure.value >= 1


def test_a_fixed_policy_is_outlined_and_needs_nothing(make, plan):
    attributes = [
        make["attribute"]("sex", ["f", "m"]),
        make["attribute"]("region", 4),
        make["attribute"]("education", 3),
        make["attribute"]("city", 3, Role.INSENSITIVE, assume_unlinkable="public anyway"),
        make["attribute"]("hours", [], Role.INSENSITIVE),
    ]
    options = PramOptions(keep_probability={"sex": "4/5", "education": "1/2"}, retention_probability={"region": "0.25"})
    policy = make["policy"](attributes, "pram", options)

    outline = Pram().outline(options, policy)
    proposal = plan(attributes, options)

    assert outline.fixed == proposal.channel
    assert outline.axes == (
        (("sex",), Retention),
        (("region",), Retention),
        (("education",), Retention),
        (("city",), Identity),
    )
    assert [axis.blocks[0].keep for axis in proposal.channel.axes[:3]] == [
        Fraction(4, 5),
        Fraction(1, 4) + Fraction(3, 16),
        Fraction(1, 2),
    ]
    assert proposal.channel.order == ("sex", "region", "education", "city", "hours")
    assert [(c.name, c.kind, c.type) for c in proposal.channel.carried] == [("hours", "carried", "")]
    assert proposal.channel.axes[3].released.assume_unlinkable == "public anyway"
    assert proposal.origins == dict.fromkeys(("sex", "region", "education"), Origin.POLICY)


def test_given_parameters_stay_and_the_rest_is_solved(make, plan, assessors):
    attributes = [make["attribute"]("a", 4), make["attribute"]("b", 6), make["attribute"]("c", 3)]
    required = make["requirement"]("local-dp", epsilon=4)
    given_matrix = {
        "released": ["x", "y", "z"],
        "original": ["c-2", "c-0", "c-1"],
        "rows": [["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"], ["3/5", "1/5", "1/5"]],
    }
    for allocation in ("equal", "optimal"):
        options = PramOptions(allocation=allocation, keep_probability={"a": "1/2"}, matrix={"c": given_matrix})

        proposal = plan(attributes, options, [required], 100)

        a, b, c = proposal.channel.axes
        assert a.blocks[0].keep == Fraction(1, 2)
        assert c.column(0) == {0: Fraction(3, 5), 1: Fraction(1, 5), 2: Fraction(1, 5)}
        left = 4 - 2 * math.log(3)
        assert math.log(b.blocks[0].keep / b.blocks[0].move) == pytest.approx(left, abs=1e-3)
        assert assessors["local-dp"].assess(required, proposal.channel, 100).verdict is Verdict.SATISFIED
        assert proposal.origins == {"a": Origin.POLICY, "b": Origin.RECORDS, "c": Origin.POLICY}


def test_an_attribute_of_one_category_has_no_effect(make, plan):
    required = [make["requirement"]("local-dp", epsilon=2)]
    one = make["attribute"]("country", ["here"])

    alone = plan([make["attribute"]("sex", 2)], PramOptions(), required)
    beside = plan([one, make["attribute"]("sex", 2)], PramOptions(), required)

    assert isinstance(beside.channel.axes[0], Identity)
    assert beside.channel.axes[1].blocks == alone.channel.axes[0].blocks


def test_more_digits_come_closer(make, plan):
    required = [make["requirement"]("pk-anonymity", k=2)]

    (five, nine) = (plan(adult(make), PramOptions(digits=d), required, 45222) for d in (5, 9))

    for name, rho in retention(nine).items():
        assert retention(five)[name] <= rho
        assert nine.unrounded[name]["retention_probability"] - float(rho) <= 2.1e-9


def test_what_is_out_of_reach_says_why_and_what_would_help(make, plan):
    attributes = [make["attribute"]("a", 4), make["attribute"]("b", 3)]
    options = PramOptions(keep_probability={"b": 1})

    with pytest.raises(RequirementError) as error:
        plan(attributes, options, [make["requirement"]("local-dp", epsilon=3)])

    (problem,) = error.value.problems
    assert problem.code == "RR102"
    assert "epsilon <= 3 (record scope)" in problem.message
    assert "local-dp: the smallest reachable is inf" in problem.message
    assert "randomise b too" in problem.hint


@pytest.fixture(scope="module")
def table(make):
    attributes = [make["attribute"]("a", 4), make["attribute"]("b", 6), make["attribute"]("s", 3, Role.SENSITIVE)]

    def build(options, requirements=()):
        policy = make["policy"](attributes, "pram", options, requirements)
        return attributes, TableInMemory.random(policy, 3000, 11)

    return build


def test_an_invariant_matrix_keeps_the_observed_marginal(table, plan):
    options = PramOptions(
        attributes=["a", "b"],
        invariant={"b": "observed"},
        keep_probability={"b": "2/3"},
        retention_probability={"a": "1/2"},
    )
    attributes, original = table(options)

    proposal = plan(attributes, options, [], original)

    matrix = proposal.channel.axes[1]
    n = np.bincount(original.codes["b"], minlength=6)
    pi = [Fraction(int(x), original.records) for x in n]
    for u in range(6):
        assert sum(matrix.entries[u][v] * pi[v] for v in range(6)) == pi[u]
    assert proposal.channel.discloses() == ("marginal:b",)
    assert proposal.origins == {"a": Origin.POLICY, "b": Origin.DATA}
    with pytest.raises(PolicyError, match="RR255"):
        plan(attributes, options, [], 3000)


def test_a_declared_marginal_needs_no_data_and_discloses_nothing(make, plan):
    options = PramOptions(invariant={"sex": {"f": "51/100", "m": "49/100"}}, keep_probability={"sex": "3/4"})
    attributes = [make["attribute"]("sex", ["f", "m"])]

    proposal = plan(attributes, options)

    assert Pram().outline(options, make["policy"](attributes, "pram", options)).fixed == proposal.channel
    (matrix,) = proposal.channel.axes
    assert matrix.entries[0][0] * 51 + matrix.entries[0][1] * 49 == 51
    assert proposal.channel.discloses() == ()


def test_blocks_share_one_retention_and_exchange_inside_only(make, plan):
    attributes = [make["attribute"]("e", ["A", "B", "C", "D", "E"])]
    options = PramOptions(blocks={"e": [["A", "D"], ["B", "C"], ["E"]]}, retention_probability={"e": "1/2"})

    (axis,) = plan(attributes, options).channel.axes

    assert [(b.members, b.keep) for b in axis.blocks] == [
        ((0, 3), Fraction(3, 4)),
        ((1, 2), Fraction(3, 4)),
        ((4,), Fraction(1)),
    ]


def test_a_workload_is_served_first(make, plan):
    attributes = [make["attribute"](name, 8) for name in "abc"]
    workload = [{"marginal": ["a"]}, {"marginal": ["b", "c"], "weight": "0.001"}]
    required = [make["requirement"]("local-dp", epsilon=5)]

    whole = plan(attributes, PramOptions(allocation="optimal"), required)
    served = plan(attributes, PramOptions(allocation="optimal", workload=workload), required)

    assert expected_squared_error(served.channel, 1000, ("a",)) < expected_squared_error(whole.channel, 1000, ("a",))
    assert retention(served)["a"] > 2 * retention(served)["b"]


def test_the_optimum_minimises_what_the_error_formula_says(table, plan):
    """Blocks and matrices included: the objective is the formula that the plan prints."""
    from rrpolicy.optimize.retention.template import ChannelTemplate, expected_error_objective
    from rrpolicy_pram.layout import build
    from rrpolicy_pram.layout_reader import read_layout

    options = PramOptions(
        allocation="optimal",
        blocks={"b": [["b-0", "b-1", "b-2", "b-3"], ["b-4", "b-5"]]},
        invariant={"s": {"s-0": "1/2", "s-1": "1/4", "s-2": "1/4"}},
        retention_probability={"s": "2/3"},
        workload=[{"marginal": ["a", "b", "s"], "weight": 2}, {"marginal": ["b"]}],
    )
    _, original = table(options)
    layout = read_layout(options, original.policy)
    template = ChannelTemplate(build(layout, original.policy), layout.solved)
    assert template.names == ("a", "b")
    goal = expected_error_objective(template, options.workload, original)

    channel = template.filled([Fraction(3, 10) + Fraction(7, 40), Fraction(6, 10) + Fraction(4, 40)])

    expected = 2 * expected_squared_error(channel, original, ("a", "b", "s"))
    expected += expected_squared_error(channel, original, ("b",))
    found = sum(t.weight for t in goal.terms) * math.expm1(goal.value(np.array([0.3, 0.6])) - goal.offset)
    found /= original.records
    assert found == pytest.approx(expected, rel=1e-10)


def test_minimising_over_blocks_needs_the_table(table, plan):
    options = PramOptions(allocation="optimal", blocks={"b": [["b-0", "b-1", "b-2", "b-3"], ["b-4", "b-5"]]})
    attributes, _ = table(options)

    with pytest.raises(PolicyError, match=r"RR255.*minimising this expected error needs the data"):
        plan(attributes, options, [], 3000)


@pytest.mark.parametrize(
    "options",
    [
        PramOptions(),
        PramOptions(allocation="optimal"),
        PramOptions(keep_probability={"a": "3/5", "b": "1/2", "s": "9/10"}),
        PramOptions(keep_probability={"a": "3/5"}, invariant={"a": "observed"}),
    ],
    ids=["equal", "optimal", "fixed", "invariant"],
)
def test_pram_conforms(make, table, options):
    required = make["requirement"]("local-dp", epsilon=8)
    _, original = table(options, [required])

    check_mechanism(Pram(), open_policy(original.policy), [original])


@pytest.mark.parametrize("allocation", ["equal", "optimal"])
@pytest.mark.parametrize("blocks", [{}, {"b": [["b-0", "b-1", "b-2"], ["b-3", "b-4", "b-5"]]}], ids=["plain", "blocks"])
def test_disclosure_is_a_constraint_like_any_other(table, allocation, blocks):
    from rrpolicy.privacy.models import attribute_disclosure

    (assessor,) = attribute_disclosure.AttributeDisclosure().assessors()
    required = Requirement("attribute-disclosure", attribute_disclosure.AttributeDisclosureOptions(threshold="1/2"))
    options = PramOptions(allocation=allocation, blocks=blocks)
    _, original = table(options, [required])

    proposal = check_mechanism(Pram(), open_policy(original.policy), [original])

    achieved = assessor.assess(required, proposal.channel, original).achieved.value
    assert 0.499 < achieved <= 0.5
    assert set(proposal.origins.values()) == {Origin.DATA}


def test_disclosure_that_nothing_reaches_tells_how_many_stand_in_the_way(table, make):
    from rrpolicy.privacy.models import attribute_disclosure

    (assessor,) = attribute_disclosure.AttributeDisclosure().assessors()
    required = Requirement("attribute-disclosure", attribute_disclosure.AttributeDisclosureOptions(threshold="1/20"))
    options = PramOptions(attributes=["s"])
    _, original = table(options, [required])

    with pytest.raises(
        RequirementError,
        match=r"RR102.*risk of s: the smallest reachable is 0\.\d+, the limit 1/20; \d+ of 24 groups with [\d,]+ people",
    ):
        Pram().plan(options, Task(original.policy, original, ((required, assessor),)))


def test_the_options_have_a_schema():
    properties = PramOptions.model_json_schema()["properties"]

    assert set(properties) == {
        "attributes",
        "together",
        "allocation",
        "keep_probability",
        "retention_probability",
        "matrix",
        "blocks",
        "invariant",
        "workload",
        "digits",
    }
    assert all("description" in p for p in properties.values())


ADULT_POLICY = """
schema = 1
[policy]
name = "adult"
version = "1.0.0"
owner = "tests"
purpose = "the reference case"
[source]
uri = "{uri}"
[attributes]
education = {{ role = "quasi-identifier", domain = "observed" }}
marital_status = {{ role = "quasi-identifier", domain = "observed" }}
sex = {{ role = "quasi-identifier", domain = ["Female", "Male"] }}
race = {{ role = "quasi-identifier", domain = "observed" }}
workclass = {{ role = "quasi-identifier", domain = "observed" }}
{excluded}
[[privacy]]
model = "pk-anonymity"
k = 2
[mechanism]
name = "pram"
allocation = "equal"
"""
EXCLUDED = (
    "age fnlwgt education_num occupation relationship capital_gain capital_loss hours_per_week native_country"
    " salary_class"
)


@pytest.mark.adult
def test_adult_is_planned_from_its_file(adult_csv, vectors, tmp_path):
    from rrpolicy.planning.assess import assess
    from rrpolicy.planning.plan import make_plan
    from rrpolicy.planning.policy_opening import open_policy
    from rrpolicy.source.opening import open_original

    path = tmp_path / "adult.toml"
    excluded = "\n".join(f'{name} = {{ role = "excluded" }}' for name in EXCLUDED.split())
    path.write_text(ADULT_POLICY.format(uri=adult_csv.resolve(), excluded=excluded))
    opened = open_policy(path)
    reference = vectors["pk_anonymity"]["retention_for_k"][0]["retention"]

    with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
        plan = make_plan(opened.policy, opened.registry, original)
        (finding,) = assess(plan.policy, opened.registry, plan.channel, original).findings

    assert plan.records == 45222
    assert finding.verdict is Verdict.SATISFIED
    assert {axis.attributes[0]: axis.original_size for axis in plan.channel.axes} == ADULT
    for axis in plan.channel.axes:
        assert plan.unrounded[axis.attributes[0]]["retention_probability"] == pytest.approx(reference, abs=1e-9)
        assert reference - 2e-5 <= axis.blocks[0].retention <= reference


def test_planning_is_deterministic(make, plan):
    required = [make["requirement"]("pk-anonymity", k=7)]

    first, second = (plan(adult(make), PramOptions(allocation="optimal"), required, 30162) for _ in range(2))

    assert first == second


def test_an_outline_loads_no_numpy():
    code = """
import sys
from rrpolicy.policy.model import *
from rrpolicy_pram.mechanism import Pram
from rrpolicy_pram.options import PramOptions
o = PramOptions(keep_probability={"sex": "4/5"}, invariant={"race": {"a": "1/2", "b": "1/2"}}, retention_probability={"race": 0.5})
a = {n: Attribute(n, Role.QUASI_IDENTIFIER, ("a", "b"), release_as=n) for n in ("sex", "race")}
p = Policy("p", "1.0.0", "o", "u", (), SourceSettings("x"), a, (), MechanismChoice("pram", o), (), ReleaseSettings())
assert Pram().outline(o, p).fixed is not None
loaded = {"numpy", "scipy", "pyarrow", "duckdb", "pandas"} & set(sys.modules)
sys.exit(repr(loaded) if loaded else 0)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert found.returncode == 0, found.stderr
