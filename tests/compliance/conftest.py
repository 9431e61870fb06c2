"""Releases that evidence is asked of: one whose policy declares much, and one that declares nothing."""

from __future__ import annotations

import pytest

from rrpolicy.cli.main import main
from tests.survey import SURVEY

MORE = """
[[privacy]]
model = "pk-anonymity"
k = 10
[[utility]]
metric = "expected-l2"
max = "1/10"
"""
CONTEXT = """
[context]
recipients = ["students <script>alert(1)</script>", "| a | cell"]
release_model = "restricted"
environment = "a reading room"
auxiliary_data = ["the electoral roll"]
legal_basis = "Statistics Act"
approver = "review board"
approved_by = "review board"
auditor = "audit office"
review_by = 2099-06-30
"""
WAIVER = '[[waivers]]\nfinding = "utility/expected-l2"\nreason = "a trial"\napprover = "owner"\nuntil = 2099-01-31\n'


def released(policy, text, bundle, *options):
    """Release the survey under a policy, and return the bundle."""
    policy.write_text(text)
    assert main(["release", str(policy), "--out", str(bundle), *options]) == 0
    return bundle


@pytest.fixture(scope="session")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    released(folder / "told.toml", SURVEY + MORE + CONTEXT, folder / "told", "--as", "2026-11-30")
    released(folder / "bare.toml", SURVEY.replace('owner = "survey office"\n', "") + MORE, folder / "bare")
    return folder


@pytest.fixture(scope="session")
def waived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("waived")
    text = SURVEY + MORE.replace('"1/10"', '"1/1000000"') + WAIVER
    return released(folder / "policy.toml", text, folder / "bundle")
