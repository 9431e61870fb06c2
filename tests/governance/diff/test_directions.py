"""What a baseline forbids, the comparison calls weaker: key by key, by the same table of directions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rrpolicy.governance.diff.changes import Effect
from rrpolicy.governance.diff.diff_inputs import DiffInput
from rrpolicy.governance.diff.entries import change_effect, requirement_changes
from rrpolicy.governance.diff.keys import column_changes, setting_changes, waiver_changes
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.policy.baseline.inheritance import read_merged
from rrpolicy.policy.directions import DIRECTION_RULES, RELAXABLE_KEYS, Direction
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.load import load_policy
from rrpolicy.privacy.model import Order

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
    """A model that knows of no difference: how an entry is decided is told by the table alone."""

    @staticmethod
    def describe(options):
        return str(options)

    @staticmethod
    def compare(old, new):
        return Order.EQUAL


def side(path: Path, extends: tuple[str, ...] = ()) -> DiffInput:
    policy = load_policy(path, lambda *_: CATALOGUE)
    models = {requirement.model: Model for requirement in policy.requirements}
    tree = read_merged(path, [], Root.of(path)).root
    return DiffInput(str(path), OpenedPolicy(policy, SimpleNamespace(privacy_models=models)), tree, extends)


def effects(tmp_path: Path, section: str, key: str, value: str) -> dict[str, Effect]:
    """Return what is found between the baseline of the cases and the same with one key otherwise."""
    sections = {name: dict(table) for name, table in CASES.BASE.items()}
    changed = {**sections, section: {**sections.get(section, {}), key: value}}
    sides = []
    for name, tables in (("old", sections), ("new", changed)):
        path = tmp_path / f"{name}.toml"
        path.write_text(CASES.written(tables))
        sides.append(side(path))
    return {
        a.key: a.effect
        for kind in (setting_changes, waiver_changes, column_changes, requirement_changes)
        for a in kind(*sides)
    }


ONE_BY_ONE = [case for case in CASES.ONE_BY_ONE if case[1] in CASES.BASE]


def test_the_cases_are_not_lost():
    assert len(ONE_BY_ONE) > 40
    assert {"attributes.*.role", "release.accept", "privacy.decided_by"} <= {case[0] for case in ONE_BY_ONE}


@pytest.mark.parametrize("case", ONE_BY_ONE, ids=lambda c: f"{c[0]} {c[2]}={c[3]}")
def test_what_a_baseline_forbids_is_weaker_and_nothing_else(case, tmp_path):
    rule, section, key, value, weaker = case
    found = effects(tmp_path, section, key, value)
    if rule == "attributes.*.hierarchy" and not weaker and found:
        # a baseline's columns may get one; what it does to a release, nothing but planning tells
        assert set(found.values()) == {Effect.INCOMPARABLE}
        return
    told = [e for e in found.values() if e.announced]
    assert bool(told) == weaker, found


EVERY = """\
schema = 1
[policy]
name = "x"
version = "1.0.0"
owner = "an office"
purpose = "research"
extends = "base.toml"
plugins = ["acme-oue"]
may_relax = ["min_rows"]
changes = [{ version = "1.0.0", what = "x", why = "y", who = "z" }]
[source]
uri = "survey.csv"
table = "t"
multiplicity = "n"
min_rows = 5
population = "residents"
missing = ["NA"]
unit = "household_id"
max_records = 2
other_columns = "excluded"
csv = { delimiter = ";", encoding = "latin-1", decimal = ",", quote = "", skip = 1 }
[attributes]
person_id = { role = "identifier" }
household_id = { role = "excluded" }
sex = { role = "quasi-identifier", domain = ["f", "m"], scale = "ordinal", missing = ["?"], release_as = "gender", outside = "o", nulls = "n", hierarchy = [{ "*" = ["f", "m", "o", "n"] }], unchanged = "so" }
age = { role = "quasi-identifier", bins = [0, 50, 100], labels = ["young", "old"], totals = [4, 5.5] }
town = { role = "sensitive", domain = ["a", "b"] }
hours = { role = "insensitive", assume_unlinkable = "so", design = "weight", rounding = 2.5 }
[[privacy]]
model = "k"
k = 3
[mechanism]
name = "flip"
plan_on = "other.csv"
plan_on_table = "t"
[reference]
uri = "people.duckdb"
table = "everybody"
[release]
format = "csv"
accept = ["domain:sex"]
audit_counts = true
described_groups = 5
rows_per_file = 500000
csv_formulas = "keep"
require_signatures = 1
require_roles = ["steward"]
require_approval = ["approver"]
signers = "signers.toml"
protection = "limited"
series = "monthly"
decoders = "withheld"
[context]
recipients = ["r"]
release_model = "public"
environment = "e"
auxiliary_data = ["a"]
legal_basis = "l"
licence = "CC0"
approver = "a"
auditor = "b"
approved_by = "c"
review_by = 2099-01-01
organisation = "o"
address = ["s"]
logo = "data:image/png;base64,AAAA"
notices = ["n"]
footer = "f"
signatories = ["d"]
demands = ["owner"]
allows = { recipients = ["r"], release_model = ["public"], environment = ["e"], legal_basis = ["l"], licence = ["CC0"] }
"""
ENTRIES = ("privacy.", "utility.", "waivers", "ledger.")
"""What is compared entry by entry, or not at all without one."""


BARE = """\
schema = 1
[policy]
name = "y"
version = "1.0.1"
[source]
uri = "other.csv"
one_record_per_unit = "first by hours"
[attributes]
person_id = { role = "identifier" }
household_id = { role = "excluded" }
sex = { role = "quasi-identifier", domain = ["f", "m", "x"] }
age = { role = "quasi-identifier", bins = [0, 40, 100] }
town = { role = "insensitive" }
hours = { role = "insensitive" }
[[privacy]]
model = "k"
k = 3
[mechanism]
name = "flip"
"""


def test_every_key_of_the_table_is_compared(tmp_path):
    may = [name for name in RELAXABLE_KEYS if name != "unit"]
    (tmp_path / "base.toml").write_text(f"schema = 1\n[policy]\nmay_relax = {may}\n".replace("'", '"'))
    (tmp_path / "x.toml").write_text(EVERY)
    (tmp_path / "y.toml").write_text(BARE)
    sides = side(tmp_path / "x.toml", extends=("base.toml",)), side(tmp_path / "y.toml")
    changes = [change for kind in (setting_changes, column_changes) for change in kind(*sides)]
    told = {change.key for change in changes}
    back = {
        change.key: change.effect for kind in (setting_changes, column_changes) for change in kind(*reversed(sides))
    }
    for change in changes:
        column = change.key.startswith("attributes.")
        rule = DIRECTION_RULES.get(f"attributes.*.{change.key.rpartition('.')[2]}" if column else change.key)
        if rule is not None and rule.direction is Direction.NEVER:
            assert (change.effect, back[change.key]) == ("neutral", "neutral"), change
        elif rule is not None and rule.direction not in {Direction.LEDGER, Direction.HELD}:  # names differ; no ledger
            assert {change.effect, back[change.key]} != {"neutral"}, change
    told = {
        ".".join(["attributes", "*", key.rpartition(".")[2]]) if key.startswith("attributes.") else key for key in told
    }

    by_the_guarantees = {"mechanism.name", "mechanism.*"}
    of_one = {key for key in DIRECTION_RULES if key.startswith("policy.changes.")}
    expected = {key for key in DIRECTION_RULES if not key.startswith(ENTRIES)} - by_the_guarantees - of_one - {"schema"}
    assert sorted(told - {"policy.changes"}) == sorted(expected)
    assert "policy.changes" in told


@pytest.mark.parametrize("direction", Direction)
def test_every_direction_is_told_both_ways(direction):
    examples = {
        Direction.NEVER: ("a", "b", "neutral"),
        Direction.APPENDED: (("a", "b"), ("a",), "weaker"),
        Direction.STATED: (None, "because", "weaker"),
        Direction.ASSUMED: (None, "because", "weaker"),
        Direction.ADMITTED: (None, "other", "weaker"),
        Direction.SET: (False, True, "weaker"),
        Direction.LOWERED: (100, 50, "weaker"),
        Direction.RAISED: (1, 2, "weaker"),
        Direction.CHANGED: ("a", "b", "incomparable"),
        Direction.TABLE: (None, "register.csv", "incomparable"),
        Direction.HELD: ({"old": "[40, inf)"}, {"old": "[0, 20)", "new": "[20, inf)"}, "incomparable"),
        Direction.FINER: ((0, 20, 40), (0, 10, 20, 40), "weaker"),
        Direction.LEDGER: (None, "others", "weaker"),
        Direction.CLAIMED: (3, 2, "weaker"),
        Direction.UNIT: ("person", None, "weaker"),
        Direction.ROLE: ("sensitive", "insensitive", "weaker"),
        Direction.PASSED_ON: ((), ("min_rows",), "weaker"),
        Direction.WIDENED: (("a",), ("a", "b"), "weaker"),
        Direction.WIDER: ("enclave", "public", "weaker"),
        Direction.LATER: ("2027-01-01", "2028-01-01", "weaker"),
    }
    old, new, expected = examples[direction]
    rule = next(
        r
        for r in DIRECTION_RULES.values()
        if r.direction is direction
        and (direction is not Direction.SET or r.value is True)
        and (direction is not Direction.WIDER or "enclave" in r.value)
    )
    back = {"weaker": "stronger"}.get(expected, expected)

    assert change_effect(rule, old, new) == expected
    assert change_effect(rule, new, old) == back
    assert change_effect(rule, old, old) == "neutral"


@pytest.mark.parametrize("direction", [Direction.STATED, Direction.ASSUMED])
def test_another_reason_is_a_change_that_somebody_has_to_look_at(direction):
    rule = next(r for r in DIRECTION_RULES.values() if r.direction is direction)
    assert change_effect(rule, "hours are known to nobody", "of no interest") == "incomparable"
