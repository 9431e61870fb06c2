"""Everything that is wrong with PRAM's options is told at once, each with its place."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError
from rrpolicy_pram.mechanism import Pram
from rrpolicy_pram.options import PramOptions

GOOD = {"released": ["x", "y"], "original": ["m", "f"], "rows": [["4/5", "1/5"], ["1/5", "4/5"]]}


@pytest.fixture
def problems(make):
    attributes = [
        make["attribute"]("sex", ["f", "m"]),
        make["attribute"]("education", ["A", "B", "C"]),
        make["attribute"]("region", [], observed=True),
        make["attribute"]("hours", [], Role.INSENSITIVE),
        make["attribute"]("name", [], Role.IDENTIFIER),
        make["attribute"]("income", []),
    ]

    def found(requirements=(), **options):
        options.setdefault("attributes", ["sex", "education", "region"])
        read = PramOptions(**options)
        policy = make["policy"](attributes, "pram", read, requirements)
        try:
            Pram().outline(read, policy)
        except PolicyError as error:
            return [(p.code, p.place.key, p.message, p.hint) for p in error.problems]
        return []

    return found


def test_nothing_is_wrong(problems):
    assert problems() == []


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("sexx", "there is no attribute 'sexx'", "did you mean 'sex'?"),
        ("name", "'name' is never released: its role is identifier", "take it out"),
        ("hours", "'hours' is insensitive and released unchanged", "give it the role quasi-identifier or sensitive"),
        ("income", "'income' has no categories to exchange", "give it a domain, or bins if it is a number"),
    ],
)
def test_what_cannot_be_randomised(problems, name, message, hint):
    assert problems(attributes=["sex", name]) == [("RR230", "mechanism.attributes", message, hint)]


def test_an_attribute_is_randomised_once(problems):
    assert [(code, message) for code, _, message, _ in problems(attributes=["sex", "education", "sex"])] == [
        ("RR230", "'sex' appears twice")
    ]


def test_attributes_together_wait_for_an_observed_domain(problems):
    assert problems(together=[["sex", "region"]]) == []


def test_a_quasi_identifier_without_categories_is_found_by_default(problems):
    assert [(code, message) for code, _, message, _ in problems(attributes=None)] == [
        ("RR230", "'income' has no categories to exchange")
    ]


def test_parameters_of_what_is_not_randomised(problems):
    found = problems(attributes=["sex"], keep_probability={"education": "4/5"}, blocks={"hours": [["1"]]})

    assert [(code, key) for code, key, _, _ in found] == [
        ("RR230", "mechanism.keep_probability"),
        ("RR230", "mechanism.blocks"),
    ]


@pytest.mark.parametrize("probability", ["1/2", "0", "-1", "3/2", "0.4999"])
def test_a_keep_probability_out_of_range(problems, probability):
    (problem,) = problems(keep_probability={"sex": probability})

    assert problem[:2] == ("RR231", "mechanism.keep_probability")
    assert "must exceed 1/2" in problem[2]


@pytest.mark.parametrize("probability", ["0", "-1/3", "1.01"])
def test_a_retention_probability_out_of_range(problems, probability):
    assert problems(retention_probability={"sex": probability})[0][0] == "RR231"


@pytest.mark.parametrize("probability", ["0.51", "1"])
def test_probabilities_at_the_edge_are_taken(problems, probability):
    assert problems(keep_probability={"sex": probability}) == []


def test_the_smallest_block_sets_the_bound(problems):
    blocks = {"education": [["A", "B"], ["C"]]}

    assert problems(blocks=blocks, keep_probability={"education": "2/5"})[0][0] == "RR231"
    assert problems(blocks=blocks, keep_probability={"education": "3/5"}) == []


def test_two_words_for_one_parameter(problems):
    (problem,) = problems(keep_probability={"sex": "4/5"}, retention_probability={"sex": "3/5"})

    assert problem[0] == "RR232"
    assert problem[2] == "'sex' has both a keep and a retention probability"


def test_more_than_one_kind_of_matrix(problems):
    found = problems(matrix={"sex": GOOD}, blocks={"sex": [["f", "m"]]}, keep_probability={"sex": "4/5"})

    assert {code for code, *_ in found} == {"RR232"}
    assert len(found) == 2


def test_fixed_needs_every_parameter(problems):
    found = problems(allocation="fixed", keep_probability={"sex": "4/5"})

    assert [message for _, _, message, _ in found] == [
        "nothing gives the parameter of 'education'",
        "nothing gives the parameter of 'region'",
    ]


def test_a_good_matrix(problems):
    assert problems(matrix={"sex": GOOD}) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [["4/5", "1/5"], ["1/5", "3/5"]]}, "its column 'f' sums to 4/5, not to 1"),
        ({"rows": [["6/5", "1/5"], ["-1/5", "4/5"]]}, "its column 'm' has a negative entry"),
        ({"rows": [["1/2", "1/2"], ["1/2", "1/2"]]}, "cannot be undone"),
        ({"rows": [["4/5", "1/5"]]}, "it has 1 rows for 2 released categories"),
        ({"rows": [["4/5"], ["1/5"]]}, "its row 'x' has 1 entries for 2 original categories"),
        ({"original": ["m", "w"]}, "not in it: 'w'; missing: 'f'"),
        ({"original": ["m", "m"]}, "missing: 'f'"),
        ({"released": ["x", "x"]}, "a released category appears twice"),
    ],
)
def test_a_wrong_matrix_names_what_is_wrong(problems, change, message):
    (problem,) = problems(matrix={"sex": {**GOOD, **change}})

    assert problem[0] == "RR233"
    assert problem[1] == "mechanism.matrix"
    assert message in problem[2]


def test_every_offending_column_is_named(problems):
    found = problems(matrix={"sex": {**GOOD, "rows": [["1/5", "1/5"], ["1/5", "1/5"]]}})

    assert [message.split(": ")[1] for _, _, message, _ in found] == [
        "its column 'm' sums to 2/5, not to 1",
        "its column 'f' sums to 2/5, not to 1",
    ]


def test_a_matrix_blocks_and_a_marginal_need_a_declared_domain(problems):
    assert problems(matrix={"region": GOOD})[0][0] == "RR233"
    assert problems(blocks={"region": [["A"]]})[0][0] == "RR234"
    marginal = {"region": {"A": "1"}}
    assert problems(invariant=marginal, keep_probability={"region": "4/5"})[0][0] == "RR236"


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([["A"], ["B"]], "in no block: 'C'"),
        ([["A", "B"], ["C", "D"]], "not categories of it: 'D'"),
        ([["A", "B"], ["B", "C"]], "a category appears twice"),
        ([["A", "B", "C"], []], "a block is empty"),
    ],
)
def test_blocks_that_are_no_partition(problems, blocks, message):
    (problem,) = problems(blocks={"education": blocks})

    assert problem[:2] == ("RR234", "mechanism.blocks")
    assert message in problem[2]


@pytest.mark.parametrize(("model", "options"), [("pk-anonymity", {"k": 5}), ("local-dp", {"epsilon": 4})])
def test_blocks_rule_out_caps_on_epsilon(problems, make, model, options):
    required = [make["requirement"](model, **options)]

    (problem,) = problems(required, blocks={"education": [["A", "B"], ["C"]]})

    assert problem[0] == "RR235"
    assert model in problem[2]
    assert problems(required, blocks={"education": [["A", "B", "C"]]}) == []


@pytest.mark.parametrize(
    ("marginal", "message"),
    [
        ({"f": "1/2"}, "a share for every category"),
        ({"f": "1/2", "m": "1/3"}, "sums to 5/6, not to 1"),
        ({"f": "3/2", "m": "-1/2"}, "has a negative share"),
    ],
)
def test_a_wrong_marginal(problems, marginal, message):
    (problem,) = problems(invariant={"sex": marginal}, keep_probability={"sex": "4/5"})

    assert problem[0] == "RR236"
    assert message in problem[2]


def test_an_invariant_matrix_needs_where_to_start(problems):
    (problem,) = problems(invariant={"sex": "observed"})

    assert problem[0] == "RR236"
    assert "keep_probability = { sex" in problem[3]


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ([{"marginal": ["sex", "education", "region", "hours"]}], "'hours' is not a released attribute"),
        ([{"marginal": ["sex", "sex", "education", "region"]}], "appears twice"),
        ([{"marginal": ["sex", "education", "region"], "weight": 0}], "must be positive"),
        ([{"marginal": ["sex", "education"]}], "'region' is randomised but no marginal"),
    ],
)
def test_a_wrong_workload(problems, workload, message):
    (problem,) = problems(allocation="optimal", workload=workload)

    assert problem[0] == "RR237"
    assert message in problem[2]


def test_everything_is_told_at_once(problems):
    found = problems(
        attributes=["sex", "hours", "nobody"],
        keep_probability={"sex": "1/3", "education": "4/5"},
        retention_probability={"sex": "1/2"},
    )

    assert [code for code, *_ in found] == ["RR230", "RR230", "RR232", "RR231", "RR230"]


@pytest.mark.parametrize(
    "options",
    [
        {"digits": 4},
        {"digits": 13},
        {"allocation": "best"},
        {"keep_probability": {"sex": "much"}},
        {"surprise": 1},
        {"workload": [{"marginal": []}]},
        {"invariant": {"sex": "guessed"}},
    ],
)
def test_what_pydantic_refuses(options):
    with pytest.raises(ValidationError):
        PramOptions(**options)
