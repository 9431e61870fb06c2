"""A column that the policy by its own choice releases as it is needs a reason; what a mechanism leaves as it is does not."""

from __future__ import annotations

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text(
    """\
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"]{sex} }}
town = {{ role = "quasi-identifier", domain = ["a", "b", "c"] }}
ill = {{ role = "sensitive", domain = ["x", "y", "z"] }}
{more}
[[privacy]]
{privacy}
[mechanism]
{mechanism}
""",
    "survey.parquet",
    "survey",
)
LOCAL_DP = 'model = "local-dp"\nepsilon = 4\nscope = "attribute"'
DISTINCT = 'model = "l-diversity"\nkind = "distinct"\nl = 2'
FREQUENCY = 'model = "l-diversity"\nkind = "frequency"\nl = 2'
DISCLOSURE = 'model = "attribute-disclosure"\nthreshold = "1/2"'
CARRIED = 'hours = { role = "insensitive" }'
PRAM = 'name = "pram"'
SOME = 'name = "pram"\nattributes = ["town", "ill"]'
REASON = ', unchanged = "counts by sex must be exact"'


@pytest.fixture
def check(tmp_path, capsys):
    def check(privacy, mechanism, more="", sex=""):
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(privacy=privacy, mechanism=mechanism, more=more, sex=sex))
        status = main(["check", str(path)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return check


@pytest.mark.parametrize(
    ("mechanism", "more", "column"),
    [
        (PRAM, CARRIED, "hours"),
        (PRAM, 'hours = { role = "insensitive", domain = ["many", "few"] }', "hours"),
        (SOME, "", "sex"),
        (PRAM + "\nkeep_probability = { sex = 1, town = 0.5, ill = 0.5 }", "", "sex"),
        (PRAM + "\nkeep_probability = { sex = 1 }", "", "sex"),
        (PRAM + "\nretention_probability = { sex = 1 }", "", "sex"),
        (PRAM + '\nblocks = { sex = [["F"], ["M"]] }', "", "sex"),
        (
            PRAM + '\nmatrix = { sex = { released = ["F", "M"], original = ["F", "M"], rows = [[1, 0], [0, 1]] } }',
            "",
            "sex",
        ),
    ],
)
def test_what_pram_is_told_to_leave_needs_a_reason(check, mechanism, more, column):
    status, _, told = check('model = "identity-disclosure"\nthreshold = 1', mechanism, more)

    assert status == 2
    assert told.count("RR280") == 2, "once, and where `explain` is named"
    assert f"RR280 '{column}' is " in told
    assert f"{column} = {{ role" in told
    assert 'unchanged = "fill in: why' in told


RECORD = 'model = "local-dp"\nepsilon = 4\nscope = "record"'
TWO = CARRIED + '\nbody = { role = "insensitive", domain = ["tall", "small"] }'


def test_all_columns_that_lack_a_reason_are_named_in_one_run(check):
    status, _, told = check(LOCAL_DP, SOME, TWO)

    assert status == 2
    assert [name for name in ("sex", "hours", "body") if f"RR280 '{name}' is " in told] == ["sex", "hours", "body"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (TWO, "'hours', 'body' are released unchanged, which gives k = 1 and an infinite epsilon; exclude each, "),
        (CARRIED, "'hours' is released unchanged, which gives k = 1 and an infinite epsilon; exclude it, "),
    ],
)
def test_all_columns_that_make_epsilon_infinite_are_named_in_one_message(check, more, said):
    status, _, told = check(RECORD, PRAM, more)

    assert status == 2
    assert told.count("RR228") == 1 + told.count("`rrpolicy explain RR228`")
    assert said in told


@pytest.mark.parametrize(
    ("privacy", "mechanism"),
    [
        (DISTINCT, 'name = "anatomy"'),
        (DISTINCT, 'name = "l-diversity"'),
        (FREQUENCY, 'name = "sensitive-addition"'),
        (DISCLOSURE, 'name = "rr-both"'),
        (DISCLOSURE, 'name = "rr-qi"'),
        (DISCLOSURE, 'name = "rr-s"'),
        (LOCAL_DP, PRAM),
    ],
)
def test_what_a_mechanism_leaves_needs_none_and_what_is_insensitive_does(check, privacy, mechanism):
    assert check(privacy, mechanism)[0] == 0
    carried = 'hours = { role = "insensitive", domain = ["many", "few"]%s }'
    for more, expected in (("", 2), (REASON, 0), (', assume_unlinkable = "told to nobody"', 0)):
        status, _, told = check(privacy, mechanism, carried % more)
        assert status == expected, told
        assert ("RR280 'hours' is insensitive" in told) is (expected == 2)


@pytest.mark.parametrize("algorithm", ["mondrian", "tp"])
def test_what_other_generalisations_leave_needs_none(check, algorithm):
    assert check(DISTINCT, f'name = "l-diversity"\nalgorithm = "{algorithm}"')[0] == 0


def test_the_reason_is_printed(check):
    status, told, _ = check(LOCAL_DP, SOME, sex=REASON)

    assert status == 0
    assert "  released unchanged: 'sex': counts by sex must be exact" in told.splitlines()


def test_a_plan_refuses_it_too(tmp_path, capsys):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(privacy=LOCAL_DP, mechanism=PRAM, more=CARRIED, sex=""))

    assert main(["plan", str(path), "--expected-rows", "1000"]) == 2
    assert "RR280 'hours'" in capsys.readouterr().err
