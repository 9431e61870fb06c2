"""What a baseline forbids, the comparison calls weaker: key by key, by the same table of directions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.govern.diff.altered import Effect
from rrpolicy.govern.diff.entries import requirements
from rrpolicy.govern.diff.keys import columns, settings, waivers
from rrpolicy.govern.diff.sides import Side
from rrpolicy.govern.diff.weaker import effect
from rrpolicy.policy.baseline.inherit import read_merged
from rrpolicy.policy.directions import RULES, Direction
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.load import load_policy
from rrpolicy.privacy.model import Order
from rrpolicy.releasing.plan.opening import Opened

HERE = Path(__file__).resolve()


def module(path: Path):
    spec = importlib.util.spec_from_file_location(f"rrpolicy_test_{path.stem}_of_diff", path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


CASES = module(HERE.parents[2] / "policy" / "test_directions.py")
CATALOGUE = module(HERE.parents[2] / "policy" / "options.py").CATALOGUE


class Model:
    """A model whose entries are ordered by how they are decided alone."""

    @staticmethod
    def describe(options):
        return str(options)

    @staticmethod
    def compare(old, new):
        return Order.by((old.decided_by == "estimate") - (new.decided_by == "estimate"))


def side(path: Path) -> Side:
    policy = load_policy(path, lambda *_: CATALOGUE)
    models = {requirement.model: Model for requirement in policy.requirements}
    tree = read_merged(path, [], Root.of(path)).root
    return Side(str(path), Opened(policy, SimpleNamespace(privacy_models=models)), tree, ())


def effects(tmp_path: Path, section: str, key: str, value: str) -> dict[str, Effect]:
    """Return what is found between the baseline of the cases and the same with one key otherwise."""
    sections = {name: dict(table) for name, table in CASES.BASE.items()}
    changed = {**sections, section: {**sections.get(section, {}), key: value}}
    sides = []
    for name, tables in (("old", sections), ("new", changed)):
        path = tmp_path / f"{name}.toml"
        path.write_text(CASES.written(tables))
        sides.append(side(path))
    return {a.key: a.effect for kind in (settings, waivers, columns, requirements) for a in kind(*sides)}


ONE_BY_ONE = [case for case in CASES.ONE_BY_ONE if case[1] in CASES.BASE]


def test_the_cases_are_not_lost():
    assert len(ONE_BY_ONE) > 40
    assert {"attributes.*.role", "release.accept", "privacy.decided_by"} <= {case[0] for case in ONE_BY_ONE}


@pytest.mark.parametrize("case", ONE_BY_ONE, ids=lambda c: f"{c[0]} {c[2]}={c[3]}")
def test_what_a_baseline_forbids_is_weaker_and_nothing_else(case, tmp_path):
    rule, section, key, value, weaker = case
    try:
        found = effects(tmp_path, section, key, value)
    except PolicyError:
        pytest.skip("the policy is wrong whatever it extends")
    if rule == "attributes.*.hierarchy" and not weaker and found:
        # a baseline's columns may get one; what it does to a release, nothing but planning tells
        assert set(found.values()) == {Effect.INCOMPARABLE}
        return
    told = [e for e in found.values() if e.announced]
    assert bool(told) == weaker, found


@pytest.mark.parametrize("direction", Direction)
def test_every_direction_is_told_both_ways(direction):
    examples = {
        Direction.NEVER: ("a", "b", "neutral"),
        Direction.APPENDED: (("a", "b"), ("a",), "weaker"),
        Direction.STATED: (None, "because", "weaker"),
        Direction.ADMITTED: (None, "other", "weaker"),
        Direction.SET: (False, True, "weaker"),
        Direction.LOWERED: (100, 50, "weaker"),
        Direction.RAISED: (1, 2, "weaker"),
        Direction.CHANGED: ("a", "b", "incomparable"),
        Direction.FINER: ((0, 20, 40), (0, 10, 20, 40), "weaker"),
        Direction.UNIT: ("person", None, "weaker"),
        Direction.ROLE: ("sensitive", "insensitive", "weaker"),
        Direction.PASSED_ON: ((), ("min_rows",), "weaker"),
        Direction.WIDENED: (("a",), ("a", "b"), "weaker"),
        Direction.WIDER: ("enclave", "public", "weaker"),
        Direction.LATER: ("2027-01-01", "2028-01-01", "weaker"),
    }
    old, new, expected = examples[direction]
    rule = next(
        r for r in RULES.values() if r.direction is direction and (direction is not Direction.SET or r.value is True)
    )
    back = {"weaker": "stronger"}.get(expected, expected)

    assert effect(rule, old, new) == expected
    assert effect(rule, new, old) == back
    assert effect(rule, old, old) == "neutral"
