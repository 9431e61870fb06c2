"""The tests of the shipped policies: each comes out as expected, and no line of a requirement can go without one failing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.errors import PolicyError

POLICIES = Path(__file__).resolve().parents[3] / "policies"
SHIPPED = sorted(path.stem for path in POLICIES.glob("*.toml"))
SECTIONS = ("[[privacy]]", "[[utility]]")


def deletions(policy: str) -> Iterator[tuple[str, int, int]]:
    """Yield what can be deleted of a policy's requirements, as a range of lines: each line, and each entry as a whole."""
    lines = (POLICIES / f"{policy}.toml").read_text().splitlines()
    for start, line in enumerate(lines):
        if line not in SECTIONS:
            continue
        end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("[")), len(lines))
        said = [i for i in range(start + 1, end) if lines[i].strip() and not lines[i].startswith("#")]
        yield f"{policy}:{start + 1} {line}", start, said[-1] + 1
        for i in said:
            yield f"{policy}:{i + 1} {lines[i]}", i, i + 1


DELETED = [(policy, *deletion) for policy in SHIPPED for deletion in deletions(policy)]


@pytest.mark.slow
def test_every_shipped_policy_has_tests_of_every_entry():
    found = rrpolicy.run_tests(POLICIES)

    assert [problem.message for problem in found.problems] == []
    assert [Path(tests.file).stem for tests in found.policies] == SHIPPED
    for tests in found.policies:
        assert tests.untested == (), tests.file
        assert len(tests.tried) >= 2


def test_there_is_something_to_delete():
    assert len(DELETED) > 35


@pytest.mark.slow
@pytest.mark.parametrize("deleted", DELETED, ids=lambda d: d[1])
def test_no_line_of_a_requirement_goes_unnoticed(deleted, tmp_path):
    policy, _, start, end = deleted
    folder = tmp_path / "policies"
    shutil.copytree(POLICIES, folder)
    path = folder / f"{policy}.toml"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:start], *lines[end:], ""]))

    try:
        passed = rrpolicy.run_tests(path).passed
    except PolicyError:
        passed = False  # it is no policy any more
    assert not passed
