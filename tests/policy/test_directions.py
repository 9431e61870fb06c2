"""Every key of the policy language has a stated direction, and a baseline forbids it: key by key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import rrpolicy
from rrpolicy.errors import PolicyError
from rrpolicy.policy.directions import (
    DIRECTION_RULES,
    RELAXABLE_KEYS,
    Direction,
    DirectionRule,
)
from rrpolicy.policy.file import PolicyFile

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "baselines.md"
WRITE = os.environ.get("RRPOLICY_WRITE_DOCS") == "1"


def models(annotation: Any, above: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the tables that a type nests, with their dotted key; `*` for the keys of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, above
    below = f"{above}.*" if getattr(annotation, "__origin__", None) is dict else above
    for argument in get_args(annotation):
        yield from models(argument, below)


def keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yield the dotted keys of a table."""
    for name, field in model.model_fields.items():
        key = ".".join(filter(None, [above, field.alias or name]))
        nested = list(models(field.annotation, key))
        for table, place in nested:
            yield from keys(table, place)
        if not nested:
            yield key
    if model.model_config.get("extra") == "allow":
        yield f"{above}.*"


def test_every_key_has_a_direction_and_every_direction_a_key():
    # of some models: `privacy.*` stands for it, too; and whole entries
    options = {"privacy.decided_by", "waivers", "ledger.budget"}
    assert sorted(keys(PolicyFile)) == sorted(set(DIRECTION_RULES) - options)
    assert all(rule.why for rule in DIRECTION_RULES.values())


BASE = {
    "policy": {"name": '"base"', "version": '"1.0.0"', "owner": '"an office"', "plugins": "[]"},
    "source": {"uri": '"survey.csv"', "min_rows": "100", "missing": '["NA"]'},
    "attributes.person_id": {"role": '"identifier"'},
    "attributes.household_id": {"role": '"excluded"'},
    "attributes.sex": {"role": '"quasi-identifier"', "domain": '["F", "M", "X"]'},
    "attributes.age": {
        "role": '"quasi-identifier"',
        "bins": "[0, 20, 40, inf]",
        "scale": '"ordinal"',
        "missing": "[99]",
    },
    "attributes.disease": {"role": '"sensitive"', "domain": '["none", "flu"]'},
    "attributes.region": {"role": '"sensitive"', "domain": '["a", "b"]', "hierarchy": '[{ "*" = ["a", "b"] }]'},
    "attributes.hours": {"role": '"insensitive"'},
    "attributes.weight": {"role": '"insensitive"', "design": '"weight"', "rounding": "25"},
    "privacy": {},
    "mechanism": {"name": '"flip"', "plan_on": '"census.duckdb"', "plan_on_table": '"people"'},
    "reference": {"uri": '"register.duckdb"', "table": '"people"'},
    "release": {
        "accept": '["marginal:sex"]',
        "require_signatures": "2",
        "require_roles": '["steward"]',
        "require_approval": '["approver"]',
        "signers": '"signers.toml"',
        "series": '"monthly"',
        "described_groups": "5",
        "protection": '"limited"',
    },
    "context": {
        "recipients": '["students", "schools"]',
        "release_model": '"restricted"',
        "environment": '"a reading room"',
        "legal_basis": '"Statistics Act"',
        "licence": '"CC-BY-4.0"',
        "approver": '"data protection officer"',
        "auditor": '"audit office"',
        "review_by": "2027-06-30",
    },
    "context.allows": {
        "recipients": '["students", "schools", "everybody"]',
        "release_model": '["restricted", "public"]',
        "environment": '["a reading room", "a laptop"]',
        "legal_basis": '["Statistics Act", "consent"]',
        "licence": '["CC-BY-4.0", "ODbL-1.0"]',
    },
    "ledger": {"file": '"releases.jsonl"', "overlap": '"nested"', "different_values": "3"},
}
WAIVER = '[{ finding = "%s", reason = "a trial", approver = "owner", until = 2027-01-31 }]'

# key of the table -> for each case: section, key and value that the policy states, and whether it is weaker
CASES: dict[str, list[tuple[str, str, str, bool]]] = {
    "source.min_rows": [("source", "min_rows", "99", True), ("source", "min_rows", "101", False)],
    "source.unit": [("source", "unit", '"household_id"', True), ("source", "unit", '"person_id"', False)],
    "source.max_records": [("source", "max_records", "2", True), ("source", "max_records", "1", False)],
    "source.one_record_per_unit": [("source", "one_record_per_unit", '"last by hours"', True)],
    "source.other_columns": [
        ("source", "other_columns", '"excluded"', True),
        ("source", "other_columns", '"refused"', False),
    ],
    "attributes.*.domain": [
        ("attributes.sex", "domain", '"observed"', True),
        ("attributes.sex", "domain", '["F", "M", "X", "other"]', True),
        ("attributes.sex", "domain", '["M", "F"]', True),
        ("attributes.sex", "domain", '["F", "M"]', False),
    ],
    "attributes.*.bins": [
        ("attributes.age", "bins", "[0, 20, 30, 40, inf]", True),
        ("attributes.age", "bins", "[0, 40, inf]", False),
    ],
    "source.multiplicity": [("source", "multiplicity", '"n"', True)],
    "attributes.*.labels": [
        ("attributes.age", "labels", '["[20, 40)", "[0, 20)", "[40, inf)"]', True),
        ("attributes.age", "labels", '["young", "middle", "old"]', False),
    ],
    "attributes.*.outside": [
        ("attributes.sex", "outside", '"other"', True),
        ("attributes.sex", "outside", '"reject"', False),
    ],
    "attributes.*.nulls": [("attributes.sex", "nulls", '"none"', True), ("attributes.sex", "nulls", '"reject"', False)],
    "attributes.*.hierarchy": [
        ("attributes.region", "hierarchy", '[{ "a" = ["a"], "b" = ["b"] }, { "*" = ["a", "b"] }]', True),
        ("attributes.region", "hierarchy", '[{ "*" = ["a", "b"] }]', False),
        ("attributes.sex", "hierarchy", '[{ "*" = ["F", "M", "X"] }]', False),
    ],
    "attributes.*.assume_unlinkable": [("attributes.hours", "assume_unlinkable", '"because"', True)],
    "attributes.*.rounding": [
        ("attributes.weight", "rounding", "5", True),
        ("attributes.weight", "rounding", '"1/2"', True),
        ("attributes.weight", "rounding", "25", False),
    ],
    "attributes.*.unchanged": [
        ("attributes.hours", "unchanged", '"because"', True),
        ("attributes.sex", "unchanged", '"because"', True),
    ],
    "mechanism.plan_on": [
        ("mechanism", "plan_on", '"survey.csv"', True),
        ("mechanism", "plan_on", '"census.duckdb"', False),
        ("mechanism", "name", '"flip"', False),
    ],
    "mechanism.plan_on_table": [
        ("mechanism", "plan_on_table", '"others"', True),
        ("mechanism", "plan_on_table", '"people"', False),
    ],
    "reference.uri": [
        ("reference", "uri", '"survey.csv"', True),
        ("reference", "uri", '"register.duckdb"', False),
    ],
    "reference.table": [
        ("reference", "table", '"others"', True),
        ("reference", "table", '"people"', False),
    ],
    "source.missing": [
        ("source", "missing", '["NA", "?"]', True),
        ("source", "missing", "[]", True),
        ("source", "missing", '["NA"]', False),
    ],
    "attributes.*.missing": [
        ("attributes.age", "missing", "[99, 98]", True),
        ("attributes.age", "missing", "[]", True),
        ("attributes.age", "missing", "[99]", False),
        ("attributes.sex", "missing", '["?"]', True),
        ("attributes.sex", "missing", '["NA"]', False),
    ],
    "attributes.*.role": [
        ("attributes.disease", "role", '"quasi-identifier"', True),
        ("attributes.disease", "role", '"insensitive"', True),
        ("attributes.hours", "role", '"sensitive"\ndomain = ["1", "2"]', False),
    ],
    "release.accept": [
        ("release", "accept", '["marginal:age"]', True),
        ("release", "accept", '["marginal:sex"]', False),
    ],
    "release.audit_counts": [("release", "audit_counts", "true", True), ("release", "audit_counts", "false", False)],
    "release.csv_formulas": [
        ("release", "csv_formulas", '"keep"', True),
        ("release", "csv_formulas", '"escape"', False),
    ],
    "release.described_groups": [
        ("release", "described_groups", "4", True),
        ("release", "described_groups", "6", False),
    ],
    "release.protection": [
        ("release", "protection", '"weak"', True),
        ("release", "protection", '"strong"', False),
    ],
    "release.require_signatures": [
        ("release", "require_signatures", "1", True),
        ("release", "require_signatures", "3", False),
    ],
    "release.signers": [
        ("release", "signers", '"others.toml"', True),
        ("release", "signers", '"./signers.toml"', False),
    ],
    "privacy.decided_by": [
        ("privacy", "decided_by", '"estimate"', True),
        ("privacy", "decided_by", '"bound"', False),
    ],
    "context.recipients": [
        ("context", "recipients", '["students", "everybody"]', True),
        ("context", "recipients", '["schools"]', False),
    ],
    "context.release_model": [
        ("context", "release_model", '"public"', True),
        ("context", "release_model", '"restricted"', False),
    ],
    "context.environment": [("context", "environment", '"a laptop"', True)],
    "context.legal_basis": [("context", "legal_basis", '"consent"', True)],
    "context.licence": [("context", "licence", '"ODbL-1.0"', True)],
    "context.approver": [("context", "approver", '"owner"', True)],
    "context.auditor": [("context", "auditor", '"owner"', True)],
    "context.review_by": [
        ("context", "review_by", "2027-07-01", True),
        ("context", "review_by", "2027-06-29", False),
        ("context", "review_by", "2027-06-30", False),
    ],
    **{
        f"context.allows.{key}": [
            ("context.allows", key, f"{known}, {more}]", True),
            ("context.allows", key, f"{known}]", False),
        ]
        for key, known, more in (
            ("recipients", '["students", "schools"', '"newspapers"'),
            ("release_model", '["restricted"', '"enclave"'),
            ("environment", '["a reading room"', '"anywhere"'),
            ("legal_basis", '["Statistics Act"', '"habit"'),
            ("licence", '["CC-BY-4.0"', '"none"'),
        )
    },
    "waivers": [
        ("", "waivers", WAIVER % "review_by", True),
        ("", "waivers", WAIVER % "warning/held-by-one", True),
        ("", "waivers", WAIVER % "utility/of-the-policy-alone?attributes=sex", False),
    ],
    "source.population": [("source", "population", '"others"', True)],
    "ledger.file": [("ledger", "file", '"other.jsonl"', True), ("ledger", "file", '"./releases.jsonl"', False)],
    "ledger.overlap": [
        ("ledger", "overlap", '"none"', True),
        ("ledger", "overlap", '"same"', True),
        ("ledger", "overlap", '"nested"', False),
        ("ledger", "overlap", '"any"', False),
    ],
    "release.series": [("release", "series", '"weekly"', True), ("release", "series", '"monthly"', False)],
    "ledger.different_values": [
        ("ledger", "different_values", "2", True),
        ("ledger", "different_values", "3", False),
        ("ledger", "different_values", "4", False),
    ],
    "ledger.uncomposed": [("ledger", "uncomposed", '"because"', True)],
    "ledger.budget": [("ledger", "budget", '[{ model = "k", k = 2 }]', True), ("ledger", "budget", "[]", False)],
    "policy.may_relax": [("policy", "may_relax", '["min_rows"]', True), ("policy", "may_relax", "[]", False)],
}
FREE = {Direction.NEVER, Direction.APPENDED}
ONE_BY_ONE = [(key, *case) for key, cases in CASES.items() for case in cases]


def written(sections: dict[str, dict[str, str]]) -> str:
    tables = (
        "\n".join([f"[{name}]" if name else "", *(f"{key} = {value}" for key, value in table.items())])
        for name, table in sorted(sections.items(), key=lambda item: item[0] != "")
        if name != "privacy"
    )
    options = [f"{key} = {value}" for key, value in sections.get("privacy", {}).items()]
    return "\n".join(["schema = 1", *tables, '[[privacy]]\nmodel = "k"\nk = 3', *options, ""])


def extended(load, write, section: str, key: str, value: str, *, relaxed: tuple[str, ...] = ()) -> list[str]:
    """Return the codes of what is wrong with a policy that restates one table of the baseline."""
    base = {name: dict(table) for name, table in BASE.items()}
    if relaxed:
        base["policy"]["may_relax"] = str(list(relaxed)).replace("'", '"')
    write(written(base), "base.toml")
    restated = dict(BASE[section]) if section.startswith("attributes.") else {}
    child = {"policy": {"extends": '"base.toml"'}}
    child[section] = child.get(section, {}) | restated | {key: value}
    try:
        load(write(written(child), "child.toml"))
    except PolicyError as error:
        return [p.code for p in error.problems]
    return []


def test_every_direction_is_tried_with_a_weaker_value():
    tried = {key for key, *_, weaker in ONE_BY_ONE if weaker}
    assert tried == {key for key, rule in DIRECTION_RULES.items() if rule.direction not in FREE}


@pytest.mark.parametrize("case", ONE_BY_ONE, ids=lambda c: f"{c[0]} {c[3]}")
def test_a_baseline_forbids_what_is_weaker_and_nothing_else(load, write, case):
    rule, section, key, value, weaker = case
    code = {Direction.ROLE: "RR242", Direction.PASSED_ON: "RR244"}.get(DIRECTION_RULES[rule].direction, "RR243")

    assert extended(load, write, section, key, value) == ([code] if weaker else [])


@pytest.mark.parametrize("case", ONE_BY_ONE, ids=lambda c: f"{c[0]} {c[3]}")
def test_the_baseline_may_let_it_be_relaxed(load, write, case):
    rule, section, key, value, _ = case
    if DIRECTION_RULES[rule].direction is Direction.ROLE:
        assert key not in RELAXABLE_KEYS
        return
    relaxed = key if section in {"", "policy"} else f"{section}.{key}"
    for names in ((relaxed.replace("policy.may_relax", "min_rows"),), (relaxed, "domain")):
        if {n.rpartition(".")[2] for n in names} <= set(RELAXABLE_KEYS):
            assert extended(load, write, section, key, value, relaxed=names) == []


AGES = '"quasi-identifier"', "[0, 20, 40, inf]"
NAMED = [
    (f"bins = {AGES[1]}\nlabels = {labels}", f"bins = {bins}\nlabels = {others}", "labels")
    for labels, bins, others in (
        ('["young", "middle", "old"]', AGES[1], '["old", "middle", "young"]'),
        ('["young", "middle", "old"]', "[0, 40, inf]", '["young", "old"]'),
    )
] + [
    ('domain = ["a", "b"]\nnulls = "x"\noutside = "y"', 'domain = ["a", "b"]\nnulls = "y"\noutside = "x"', "outside"),
    ('domain = ["a", "b"]\nnulls = "x"', 'domain = ["a", "b"]\nnulls = "a"', "nulls"),
    ('domain = [1, 2]\nnulls = "x"', "domain = [1, 2]\nnulls = 1", "nulls"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "key"), NAMED)
def test_a_category_holds_in_a_policy_what_it_holds_in_the_baseline(load, write, before, after, key):
    column = f'[attributes]\nsex = {{ role = "excluded" }}\n[attributes.v]\nrole = {AGES[0]}\n'
    rest = '\n[[privacy]]\nmodel = "k"\nk = 2\n[mechanism]\nname = "flip"\n'
    base = f"schema = 1\n[policy]\nname = 'b'\nversion = '1.0.0'\n[source]\nuri = 'a.csv'\n{column}{before}{rest}"
    write(base, "base.toml")
    child = f"schema = 1\n[policy]\nextends = 'base.toml'\n{column}"

    with pytest.raises(PolicyError) as caught:
        load(write(child + after, "child.toml"))
    (problem,) = caught.value.problems
    assert problem.code == "RR243"
    assert problem.place.key == f"attributes.v.{key}"
    assert 'may_relax = ["labels"]' in problem.hint
    load(write(child + before, "child.toml"))
    write(base.replace("[source]", 'may_relax = ["labels"]\n[source]'), "base.toml")
    load(write(child + after, "child.toml"))


@pytest.mark.parametrize(
    ("section", "stated"),
    [
        ("source", 'multiplicity = "n"'),
        ("source", 'uri = "counts:n:survey.csv"'),
        ("mechanism", 'plan_on = "census.csv"'),
        ("reference", 'uri = "register.csv"'),
    ],
)
def test_a_table_is_not_added_to_those_that_a_baseline_reads(load, write, section, stated):
    base = {name: dict(table) for name, table in BASE.items() if name != "reference"}
    base["mechanism"] = {"name": '"flip"'}
    key, _, value = stated.partition(" = ")
    child = written({"policy": {"extends": '"base.toml"'}, section: {key: value}})
    write(written(base), "base.toml")

    with pytest.raises(PolicyError) as caught:
        load(write(child, "child.toml"))
    assert {(p.code, p.place.key) for p in caught.value.problems} == {("RR243", f"{section}.{key}")}
    del base["source"]["uri"]  # a policy that names the table says how it is read, too
    write(written(base), "base.toml")
    tables = {"policy": {"extends": '"base.toml"'}, "source": {"uri": '"own.csv"'}}
    load(write(written({**tables, section: {**tables.get(section, {}), key: value}}), "child.toml"))


def test_the_reason_that_a_baseline_accepts_is_not_exchanged(load, write):
    reason = {"assume_unlinkable": '"hours are known to nobody"'}
    base = {**BASE, "attributes.hours": BASE["attributes.hours"] | reason}
    write(written(base), "base.toml")
    child = {"policy": {"extends": '"base.toml"'}, "attributes.hours": base["attributes.hours"]}
    load(write(written(child), "child.toml"))

    with pytest.raises(PolicyError) as caught:
        load(write(written(child).replace("known to nobody", "of no interest"), "child.toml"))
    assert [(p.code, p.place.key) for p in caught.value.problems] == [("RR243", "attributes.hours.assume_unlinkable")]


def test_categories_may_not_be_left_out_of_a_column_that_is_named_again(load, write):
    for column, values, key in (("sex", "domain", "bins"), ("age", "bins", "domain")):
        write(written(BASE), "base.toml")
        other = {"bins": "[0, 1, 2]", "domain": '["1", "2"]'}[key]
        table = {k: v for k, v in BASE[f"attributes.{column}"].items() if k != values} | {key: other}
        child = {"policy": {"extends": '"base.toml"'}, f"attributes.{column}": table}
        with pytest.raises(PolicyError) as caught:
            load(write(written(child), "child.toml"))
        (problem,) = caught.value.problems
        assert problem.code == "RR243"
        assert problem.place.text.startswith(key)
        assert f"`{values}` of '{column}'" in problem.message


def test_an_entry_restated_by_leave_takes_the_place_of_the_baselines(load, write):
    base = {**BASE, "policy": {**BASE["policy"], "may_relax": '["decided_by"]'}}
    write(written(base), "base.toml")
    child = {"policy": {"extends": '"base.toml"'}, "privacy": {"decided_by": '"estimate"'}}

    (requirement,) = load(write(written(child), "child.toml")).requirements
    assert requirement.options.decided_by == "estimate"
    other = written(child).replace("k = 3", "k = 4")
    assert len(load(write(other, "child.toml")).requirements) == 2


def test_an_estimate_may_decide_what_the_baseline_does_not_ask_for(load, write):
    write(written(BASE), "base.toml")
    child = written({"policy": {"extends": '"base.toml"'}, "privacy": {"decided_by": '"estimate"'}})

    with pytest.raises(PolicyError) as caught:
        load(write(child, "child.toml"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.place.key) == ("RR243", "privacy.0.decided_by")
    assert "may_relax" in problem.hint
    load(write(child.replace('model = "k"\nk = 3', 'model = "epsilon"\nepsilon = 2'), "child.toml"))


def test_a_dropped_column_needs_nothing_of_the_baseline(load, write):
    write(written(BASE), "base.toml")
    child = {"policy": {"extends": '"base.toml"'}, "attributes.region": {"role": '"excluded"'}}

    assert "region" not in [a.name for a in load(write(written(child), "child.toml")).released]


@pytest.mark.parametrize(
    ("unit", "column", "role"),
    [
        (None, "person_id", "excluded"),  # now no column identifies people
        (None, "household_id", "identifier"),  # now two columns may
        ("person_id", "household_id", "identifier"),
        ("household_id", "person_id", "excluded"),
    ],
)
def test_whose_the_records_are_stays_as_in_the_baseline(load, write, unit, column, role):
    base = {**BASE, "source": BASE["source"] | ({"unit": f'"{unit}"'} if unit else {})}
    child = {"policy": {"extends": '"base.toml"'}, f"attributes.{column}": {"role": f'"{role}"'}}
    write(written(base), "base.toml")
    file = write(written(child), "child.toml")
    if unit is not None:
        assert load(file).unit == unit
        return
    with pytest.raises(PolicyError) as caught:
        load(file)
    (problem,) = caught.value.problems
    assert problem.code == "RR243"
    assert "'person_id'" in problem.message
    write(written({**base, "policy": BASE["policy"] | {"may_relax": '["source.unit"]'}}), "base.toml")
    assert load(file).unit is None


def test_one_hierarchy_file_is_one_hierarchy_from_wherever_it_is_named(load, write, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "region.csv").write_text("a;*\nb;*\n")
    base = {**BASE, "attributes.region": {**BASE["attributes.region"], "hierarchy": '"region.csv"'}}
    write(written(base), "base.toml")
    for name, codes in (("../region.csv", []), ("./region.csv", ["RR243", "RR215"])):
        region = {**BASE["attributes.region"], "hierarchy": f'"{name}"'}
        child = {"policy": {"extends": '"../base.toml"'}, "attributes.region": region}
        (tmp_path / "deep" / "child.toml").write_text(written(child))
        try:
            load(tmp_path / "deep" / "child.toml", root=tmp_path)
            found = []
        except PolicyError as error:
            found = [p.code for p in error.problems]
        assert found == codes


def test_another_mechanism_does_not_leave_out_the_table_to_plan_on(load, write):
    write(written(BASE), "base.toml")
    child = {"policy": {"extends": '"base.toml"'}, "mechanism": {"name": '"swap"'}}
    with pytest.raises(PolicyError) as caught:
        load(write(written(child), "child.toml"))
    assert {
        "`plan_on`" in p.message or "`plan_on_table`" in p.message for p in caught.value.problems if p.code == "RR243"
    } == {True}


WRONG = ["5", "true", '"sex"', '{ a = "b" }', "[[1], 2]"]
PLACES = [(s, k) for _, s, k, _, _ in ONE_BY_ONE] + [("attributes.age", "scale"), ("source", "uri")]


@pytest.mark.parametrize("place", dict.fromkeys(PLACES), ids=".".join)
def test_values_of_a_wrong_kind_are_problems_of_their_own(load, write, place):
    section, key = place
    for file, value in product(("base.toml", "child.toml"), WRONG):
        sections = {name: {s: dict(table) for s, table in BASE.items()} for name in ("base.toml", "child.toml")}
        sections["child.toml"]["policy"]["extends"] = '"base.toml"'
        sections[file].setdefault(section, {})[key] = value
        write(written(sections["base.toml"]), "base.toml")
        child = write(written(sections["child.toml"]), "child.toml")
        with suppress(PolicyError):
            load(child)


def row(key: str, rule: DirectionRule) -> str:
    value = f" `{str(rule.value).lower()}`" if rule.direction is Direction.SET else ""
    return f"| `{key}` | {rule.direction.value}{value} | {rule.why} |"


def test_the_guide_lists_every_key_with_its_direction():
    text = GUIDE.read_text()
    head = "| key | weaker | why |\n|---|---|---|\n"
    table = head + "\n".join(row(key, rule) for key, rule in DIRECTION_RULES.items()) + "\n"
    if WRITE:
        before, _, rest = text.partition(head)
        after = rest.partition("\n\n")[2]
        GUIDE.write_text(f"{before}{table}\n{after}")
    assert table in GUIDE.read_text(), "RRPOLICY_WRITE_DOCS=1 writes it again"


def test_without_a_ledger_in_the_baseline_a_policy_keeps_one_as_it_likes(load, write):
    write(written({name: table for name, table in BASE.items() if name != "ledger"}), "base.toml")
    child = {
        "policy": {"extends": '"base.toml"'},
        "source": {"population": '"others"'},
        "ledger": {"file": '"own.jsonl"', "overlap": '"none"', "budget": '[{ model = "k", k = 2 }]'},
    }

    kept = load(write(written(child), "child.toml")).ledger
    assert (kept.file, kept.overlap, [r.options.k for r in kept.budget]) == ("own.jsonl", "none", [2])


def test_a_budget_is_added_to_the_baselines_and_the_ledger_stays_the_same_file(load, write, tmp_path):
    ledger = BASE["ledger"] | {"budget": '[{ model = "k", k = 2 }]'}
    write(written({**BASE, "ledger": ledger}), "base.toml")
    child = {
        "policy": {"extends": '"../base.toml"'},
        "ledger": {"budget": '[{ model = "k", k = 4 }]'},
        "release": {"require_roles": '["approver"]'},
    }
    (tmp_path / "below").mkdir()

    policy = load(write(written(child), "below/child.toml"), root=tmp_path)
    assert [r.options.k for r in policy.ledger.budget] == [2, 4]
    assert policy.ledger.file == "../releases.jsonl"
    assert (policy.release.require_roles, policy.release.signers) == (("steward", "approver"), "../signers.toml")
    assert policy.place("ledger.budget.0").file.endswith("base.toml")


def test_a_value_with_a_limit_of_its_own_does_not_join_one_without_a_limit(tmp_path):
    base = """\
schema = 1
[policy]
name = "base"
version = "1.0.0"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
ill = { role = "sensitive", domain = ["none", "cold", "hiv"], outside = "none" }
[[privacy]]
model = "attribute-disclosure"
threshold = "1/5"
THRESHOLDS
[mechanism]
name = "pram"
"""
    child = 'schema = 1\n[policy]\nextends = "base.toml"\n[attributes]\nill = { role = "sensitive", DOMAIN }\n'
    narrowed = child.replace("DOMAIN", 'domain = ["none", "cold"], outside = "none"')
    (tmp_path / "child.toml").write_text(narrowed)
    for thresholds, codes in (("thresholds = { none = 1 }", ["RR243"]), ("", [])):
        (tmp_path / "base.toml").write_text(base.replace("THRESHOLDS", thresholds))
        try:
            found = rrpolicy.check(tmp_path / "child.toml").problems
        except PolicyError as error:
            found = error.problems
        assert [problem.code for problem in found] == codes


@pytest.mark.parametrize("key", [key for key in DIRECTION_RULES if "." in key and not key.endswith(".*")])
def test_a_key_in_a_wrong_table_is_told_where_it_belongs(load, write, key):
    above, _, last = key.rpartition(".")
    wrong = "release" if above != "release" else "context"
    home = {"attributes.*": "[attributes.age]"}.get(above, f"[{above}]")
    for text in (f'schema = 1\n{last} = "x"\n', f'schema = 1\n[{wrong}]\n{last} = "x"\n'):
        with pytest.raises(PolicyError) as caught:
            load(write(text, "p.toml"))
        found = [problem for problem in caught.value.problems if problem.code == "RR205"]
        if not found:  # another table has a key of this name, and it stands there
            assert last in {
                other.rpartition(".")[2] for other in DIRECTION_RULES if other.rpartition(".")[0] in {"", wrong}
            }
            continue
        (problem,) = found
        assert home in problem.hint, problem


def test_a_key_of_the_language_among_options_is_told_where_it_belongs(load, write):
    text = written({**BASE, "mechanism": {"name": '"flip"', "uri": '"x"', "extends": '"y"'}})
    with pytest.raises(PolicyError) as caught:
        load(write(text, "p.toml"))
    hints = [problem.hint for problem in caught.value.problems]
    assert hints == ["`uri` belongs under [source] or [reference]", "`extends` belongs under [policy]"]
