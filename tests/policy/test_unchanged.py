"""Columns that are released as they are, and the reasons that the policy states."""

from __future__ import annotations

import pytest

from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.policy.policy_decoding import policy_from_json
from rrpolicy.testing import policy_text

POLICY = policy_text(
    """\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
hours = { role = "insensitive"%s }
[[privacy]]
model = "k"
k = 5
[mechanism]
name = "flip"
""",
    "survey.csv",
    "survey",
)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ("", None),
        (', unchanged = "counts must be exact"', "counts must be exact"),
        (', assume_unlinkable = "told to nobody"', "told to nobody"),
        (', unchanged = "counts must be exact", assume_unlinkable = "told to nobody"', "counts must be exact"),
    ],
)
def test_the_reason_is_kept(load, write, catalogue, keys, reason):
    policy = load(write(POLICY % keys))

    assert policy.attributes["hours"].why_unchanged == reason
    assert policy_from_json(policy.to_json(), catalogue, uri=policy.source.uri) == policy


def test_a_resolved_policy_that_is_unknown_is_refused(load, write, catalogue):
    document = load(write(POLICY % "")).to_json()

    with pytest.raises(RefusedError, match="RR404: a resolved policy of schema 2 is unknown"):
        policy_from_json({**document, "schema": 2}, catalogue)
    with pytest.raises(RefusedError, match=r"RR404.*'carved'"):
        policy_from_json({**document, "release": {**document["release"], "format": "carved"}}, catalogue)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"survey"', '"fill in: a name"', 3),
        ('version = "1.0.0"', 'version = "1.0.0"\npurpose = """\nFor all\nFill In: what"""', 5),
        ('"survey.csv"', '"fill in: where"', 6),
        ("k = 5", 'k = "fill in: a number"', 12),
        ('["F", "M"]', '["F", "fill in: M"]', 8),
        ('name = "flip"', 'name = "fill in: how"', 14),
    ],
)
def test_what_is_to_be_filled_in_is_the_one_problem_of_its_place(load, write, old, new, line):
    with pytest.raises(PolicyError) as caught:
        load(write((POLICY % "").replace(old, new)))

    (problem,) = caught.value.problems
    assert (problem.code, problem.place.line) == ("RR281", line)


def test_a_baseline_may_leave_open_what_its_policies_say(load, write):
    write((POLICY % "").replace('"survey"', '"fill in: a name"'), "base.toml")
    child = 'schema = 1\npolicy.extends = "base.toml"\n'

    assert load(write(child + 'policy.name = "mine"\n', "child.toml")).name == "mine"
    with pytest.raises(PolicyError) as caught:
        load(write(child, "child.toml"))
    assert [(p.code, p.place.file.rpartition("/")[2]) for p in caught.value.problems] == [("RR281", "base.toml")]


@pytest.mark.parametrize("label", ['"unknown"', "-1", "true"])
def test_no_category_stands_for_nulls_where_there_are_no_categories(load, write, label):
    with pytest.raises(PolicyError) as caught:
        load(write(POLICY % f", nulls = {label}"))

    (problem,) = caught.value.problems
    assert (problem.code, problem.place.line, problem.place.column) == ("RR214", 9, 41)
    assert '`nulls = "keep"`' in problem.hint
    for kept in ('"keep"', '"reject"'):
        load(write(POLICY % f", nulls = {kept}"))
