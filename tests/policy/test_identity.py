"""What entries are called: by what they speak of, not by where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.policy.identity import entry_identities

HEAD = """\
schema = 1
[policy]
name = "survey"
version = "1.0.0"
[source]
uri = "demo:survey"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
"a=b&c,d" = { role = "quasi-identifier", domain = ["x", "y ?#"] }
disease = { role = "sensitive", domain = ["flu", "hiv"] }
[mechanism]
name = "pram"
"""
K = '[[privacy]]\nmodel = "pk-anonymity"\nk = %s\n'
L = '[[privacy]]\nmodel = "l-diversity"\nkind = "%s"\nl = 2\n'
WHERE = '[[privacy]]\nmodel = "local-dp"\nepsilon = 3\nwhere = { "a=b&c,d" = "y ?#" }\n'
GATE = '[[utility]]\nmetric = "expected-l2"\nmax = %s\n'
OF = 'attributes = ["sex", "a=b&c,d"]\n'


def named(tmp_path, entries):
    file = tmp_path / "policy.toml"
    file.write_text(HEAD + entries)
    found = entry_identities(rrpolicy.load_policy(file))
    return [*found.requirements, *found.gates]


def test_entries_are_named_by_what_they_speak_of(tmp_path):
    entries = K % 3 + L % "entropy" + WHERE + GATE % "0.1" + GATE % "0.2" + OF

    assert named(tmp_path, entries) == [
        "privacy/pk-anonymity",
        "privacy/l-diversity?kind=entropy",
        "privacy/local-dp?where.a%3Db%26c%2Cd=y %3F%23",
        "utility/expected-l2",
        "utility/expected-l2?attributes=a%3Db%26c%2Cd,sex",
    ]


def test_a_limit_and_who_decides_are_no_part_of_the_name(tmp_path):
    names = named(tmp_path, K % 3 + GATE % "0.1")

    assert named(tmp_path, K % '"9/2"' + GATE % "0.3") == names


def test_entries_that_differ_in_numbers_alone_are_counted(tmp_path):
    assert named(tmp_path, K % 3 + K % 5) == ["privacy/pk-anonymity", "privacy/pk-anonymity#2"]


@pytest.mark.slow
@given(
    st.permutations([K % 3, L % "entropy", L % "distinct", WHERE, GATE % "0.1", GATE % "0.2" + OF]), st.integers(1, 6)
)
def test_no_entry_changes_the_name_of_another(tmp_path_factory, order, first):
    folder = tmp_path_factory.mktemp("names")
    whole = named(folder, "".join(order))

    assert len(set(whole)) == len(order)
    kept = [entry for entry in order[:first] if entry.startswith("[[privacy]]")] or [K % 3]
    assert set(named(folder, "".join(kept))) <= set(whole)
