"""Columns that are released as they are, and the reasons that the policy states."""

from __future__ import annotations

import pytest

from rrpolicy.policy.resolved import policy_from_json

POLICY = """\
schema = 1
[policy]
name = "survey"
version = "1.0.0"
[source]
uri = "survey.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
hours = { role = "insensitive"%s }
[[privacy]]
model = "k"
k = 5
[mechanism]
name = "flip"
"""


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
