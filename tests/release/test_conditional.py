"""Guarantees that compare tables, beside what is derived from the table: conditional, named, accepted or refused."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.planning.assess import assess
from rrpolicy.planning.plan import make_plan
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.policy.model import Policy
from rrpolicy.testing.memory import TableInMemory

HEAD = """
schema = 1
[policy]
name = "Conditional"
version = "1.0.0"
owner = "Tests"
purpose = "Epsilon beside what is derived"
[source]
uri = "people.csv"
[attributes]
a = { role = "quasi-identifier", domain = ["a0", "a1"] }
s = { role = "sensitive", domain = SENSITIVE }
"""
EPSILON = '[[privacy]]\nmodel = "local-dp"\nepsilon = 2\n'
RR_BOTH = '[mechanism]\nname = "rr-both"\nstarts = 1\n'
CANDIDATES = tuple(product(range(2), range(3)))


def disclosure(threshold: str) -> str:
    return f'[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "{threshold}"\n'


def head(values: int) -> str:
    return HEAD.replace("SENSITIVE", json.dumps([f"s{i}" for i in range(values)]))


LIMITED = head(3) + EPSILON + disclosure("13/50") + RR_BOTH


def everybody_else() -> list[tuple[int, int]]:
    rng = random.Random(13)
    return [(int(rng.random() < 0.5), rng.choices([0, 1, 2], [5, 2, 1])[0]) for _ in range(23)]


def write(folder: Path, text: str, rows: list[tuple[int, int]], name: str = "people.csv") -> Path:
    (folder / name).write_text("a,s\n" + "".join(f"a{a},s{s}\n" for a, s in rows))
    (folder / "policy.toml").write_text(text)
    return folder / "policy.toml"


def published(opened: OpenedPolicy, rows: list[tuple[int, int]]) -> object:
    columns = {name: [row[place] for row in rows] for place, name in enumerate("as")}
    plan = make_plan(opened.policy, opened.registry, TableInMemory.of(opened.policy, columns))
    return json.dumps(plan.channel.to_public_json())


def test_who_knows_23_of_24_records_excludes_two_of_six_candidates(tmp_path):
    """The symptom: epsilon 2 was stated to hold for any release, and two candidates are excluded with certainty."""
    opened = open_policy(write(tmp_path, LIMITED, everybody_else()))
    described = [published(opened, [*everybody_else(), candidate]) for candidate in CANDIDATES]

    assert [described.count(one) for one in described] == [4, 1, 4, 1, 4, 4]


def test_that_a_release_passed_excludes_two_of_four_candidates(tmp_path):
    """Six records and one more, keep 0.8, limit 2/5."""
    keep = '[mechanism]\nname = "pram"\nkeep_probability = { a = "4/5", s = "4/5" }\n'
    opened = open_policy(write(tmp_path, head(2) + EPSILON + disclosure("2/5") + keep, []))
    six = [(0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1)]

    def risk(rows: list[tuple[int, int]]) -> float:
        original = TableInMemory.of(opened.policy, {"a": [r[0] for r in rows], "s": [r[1] for r in rows]})
        plan = make_plan(opened.policy, opened.registry, original)
        assert [d.id for d in plan.derived] == ["released"]
        found = assess(plan.policy, opened.registry, plan.channel, original, plan.derived).findings
        assert found[0].given == ("released",)
        assert found[1].given == ()
        return found[1].achieved.value

    risks = [round(risk([*six, candidate]), 4) for candidate in product(range(2), range(2))]
    assert risks == [0.3275, 0.4473, 0.4473, 0.3275]


@pytest.fixture
def limited(tmp_path: Path) -> Path:
    return write(tmp_path, LIMITED, [*everybody_else(), CANDIDATES[0]])


LINE = 'accept = ["parameters:a", "parameters:s", "released"]'


def test_what_is_not_accepted_ends_with_one_and_the_line_to_paste(limited, capsys):
    assert main(["plan", str(limited)]) == 1
    printed = capsys.readouterr().out
    assert f"to accept this disclosure, under [release]: {LINE}" in printed
    assert "epsilon <= 2 (record scope), given the published parameters" in printed
    assert "[channel, conditional]" in printed
    assert "`rrpolicy explain RR108`" in printed.splitlines()[-2]
    assert printed.splitlines()[-1].startswith("does not pass: protection strong, 1 of 2 requirements met")

    assert main(["release", str(limited), "--out", str(limited.parent / "bundle")]) == 1
    refused = capsys.readouterr().err
    assert "RR108" in refused
    assert LINE in refused
    assert "policy.toml:14:9" in refused
    assert not (limited.parent / "bundle").exists()


def test_what_is_accepted_passes_and_is_still_conditional_everywhere(limited, capsys):
    limited.write_text(LIMITED + f"[release]\n{LINE}\n")
    bundle, key = limited.parent / "bundle", limited.parent / "key.json"
    assert main(["plan", str(limited), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    ids = ["parameters:a", "parameters:s", "released"]
    assert [d["id"] for d in plan["derived"]] == ids
    assert plan["accept"] is None
    assert plan["findings"][0]["given"] == ids
    assert any("given the published parameters (parameters:a" in text for text in plan["assumptions"])
    beside = {c["name"]: c["given"] for f in plan["findings"] for c in f["companions"]}
    assert beside["epsilon, attribute scope"] == beside["epsilon, record scope"] == ids
    assert beside["k"] == beside["1/k"] == []

    assert main(["release", str(limited), "--out", str(bundle), "--key", str(key)]) == 0
    capsys.readouterr()
    for source in ([], ["--source", str(limited.parent / "people.csv"), "--key", str(key)]):
        main(["verify", str(bundle), *source, "--strict"])
        lines = capsys.readouterr().out.splitlines()
        assert "conditional: local-dp: epsilon <= 2 (record scope), given the published parameters" in lines[-1]
        told = (
            "  local-dp: epsilon <= 2 (record scope): met, given the published parameters (parameters:a, parameters:s"
        )
        assert any(line.startswith(told) for line in lines)
    document = json.loads((bundle / "public" / "release.json").read_text())
    assert [d["id"] for d in document["derived"]] == ids
    assert document["findings"][0]["given"] == ids
    for page in ("public", "audit"):
        html = (bundle / page / "report.html").read_text()
        assert "standing-conditional" in html
        assert "given the published parameters" in html


def test_a_manifest_that_hides_a_derived_statistic_is_not_verified(limited, capsys):
    from rrpolicy.canonical_json import pretty, record_digest

    limited.write_text(LIMITED + f"[release]\n{LINE}\n")
    assert main(["release", str(limited), "--out", str(limited.parent / "bundle")]) == 0
    file = limited.parent / "bundle" / "public" / "release.json"
    document = json.loads(file.read_text())
    document["derived"] = []
    for finding in document["findings"]:
        finding["given"] = []
    document["digest"] = record_digest(document)
    file.write_bytes(pretty(document))
    capsys.readouterr()

    assert main(["verify", str(file.parent), "--level", "public"]) == 1
    assert (
        "the field 'derived' of release.json is wrong about parameters:a, parameters:s, released"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("item", ["parameters:sex", "domain:a", "node", "anything", "marginal:s"])
def test_what_can_never_occur_is_refused_with_its_place(limited, capsys, item):
    limited.write_text(LIMITED + f'[release]\naccept = ["released", "{item}"]\n')

    assert main(["check", str(limited)]) == 2
    error = capsys.readouterr().err
    assert "RR224" in error
    assert "policy.toml:23:" in error
    assert item in error


def test_parameters_that_no_data_decide_can_never_occur(tmp_path, capsys):
    policy = write(tmp_path, head(3) + EPSILON + RR_BOTH + '[release]\naccept = ["parameters:a"]\n', [])

    assert main(["check", str(policy)]) == 2
    assert "RR224" in capsys.readouterr().err


def census(seed: int = 3, records: int = 60) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(int(rng.random() < 0.5), rng.choices([0, 1, 2], [5, 3, 2])[0]) for _ in range(records)]


ELSEWHERE = LIMITED.replace("starts = 1", 'starts = 1\nplan_on = "census.csv"')


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    write(tmp_path, ELSEWHERE, census(), "census.csv")
    return write(tmp_path, ELSEWHERE + '[release]\naccept = ["released"]\n', [*everybody_else(), CANDIDATES[0]])


def test_parameters_of_another_table_are_the_same_for_every_candidate(elsewhere, capsys):
    described = set()
    for candidate in CANDIDATES:
        write(elsewhere.parent, elsewhere.read_text(), [*everybody_else(), candidate])
        main(["plan", str(elsewhere), "--json"])
        plan = json.loads(capsys.readouterr().out)
        described.add(json.dumps(plan["channel"]))
        assert set(plan["origins"].values()) == {"chosen on another table"}
        assert [d["id"] for d in plan["derived"]] == ["released"]
        assert plan["records"] == 24
        assert any(
            "is public, or contains no person of this one" in text for text in plan["findings"][0]["assumptions"]
        )
    assert len(described) == 1


def test_epsilon_is_unconditional_where_nothing_reads_the_table(tmp_path, capsys):
    blocks = '[mechanism]\nname = "pram"\nallocation = "optimal"\nplan_on = "census.csv"\n'
    text = head(3) + EPSILON + blocks
    write(tmp_path, text, census(), "census.csv")
    policy = write(tmp_path, text, [*everybody_else(), CANDIDATES[0]])

    assert main(["plan", str(policy), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["derived"] == []
    assert plan["findings"][0]["given"] == []


def test_a_plan_is_stale_when_its_other_table_changes(elsewhere, capsys):
    folder = elsewhere.parent
    assert main(["plan", str(elsewhere), "--out", str(folder / "plan.json")]) == 0
    (folder / "census.csv").write_text((folder / "census.csv").read_text() + "a0,s2\n")

    assert main(["release", str(folder / "plan.json"), "--out", str(folder / "bundle")]) == 4
    assert "`plan_on`, on which the parameters were chosen, changed" in capsys.readouterr().err
    assert not (folder / "bundle").exists()


def test_verify_asks_for_the_other_table_and_knows_it(elsewhere, capsys):
    folder = elsewhere.parent
    bundle, key, people = folder / "bundle", folder / "key.json", folder / "people.csv"
    assert main(["release", str(elsewhere), "--out", str(bundle), "--key", str(key)]) == 0
    assert "census" not in "".join(p.read_text(errors="replace") for p in (bundle / "public").rglob("*.json"))
    at_hand = [str(bundle), "--source", str(people), "--key", str(key)]
    capsys.readouterr()

    assert main(["verify", *at_hand, "--strict"]) == 1
    assert "the table that the parameters were chosen on" in capsys.readouterr().out.splitlines()[-1]
    main(["verify", *at_hand, "--plan-on", str(folder / "census.csv")])
    assert "parameters were chosen on" not in capsys.readouterr().out
    assert main(["verify", *at_hand, "--plan-on", str(people)]) == 1
    assert "RR135" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mechanism", "privacy"),
    [
        ('name = "anatomy"', 'model = "l-diversity"\nkind = "frequency"\nl = 2'),
        ('name = "l-diversity"\nalgorithm = "tp"', 'model = "l-diversity"\nkind = "frequency"\nl = 2'),
    ],
)
def test_what_deals_with_the_records_themselves_has_nothing_to_choose_elsewhere(tmp_path, capsys, mechanism, privacy):
    text = f'{head(3)}[[privacy]]\n{privacy}\n[mechanism]\n{mechanism}\nplan_on = "census.csv"\n'

    assert main(["check", str(write(tmp_path, text, []))]) == 2
    assert "RR225" in capsys.readouterr().err


def test_the_source_is_no_other_table(tmp_path, capsys):
    rows = [*everybody_else(), CANDIDATES[0]]
    write(tmp_path, ELSEWHERE, rows, "census.csv")

    assert main(["plan", str(write(tmp_path, ELSEWHERE, rows))]) == 2
    assert "RR225" in capsys.readouterr().err


@pytest.mark.parametrize("records", [7, 24, 60, 61])
def test_another_table_stands_in_with_its_shares_and_the_number_of_records(tmp_path, records):
    from rrpolicy.frozen import replace
    from rrpolicy.source.tuning_source import ResizedOriginal
    from rrpolicy.source.units import Units

    opened = open_policy(write(tmp_path, ELSEWHERE, []))
    policy: Policy = opened.policy
    rows = census()
    table = TableInMemory.of(policy, {"a": [r[0] for r in rows], "s": [r[1] for r in rows]})
    seen = ResizedOriginal(table, records)
    counts = seen.counts("a", "s")

    assert counts.records == seen.records == records
    ends = counts.dense().ravel().cumsum()
    expected = table.counts("a", "s").dense().ravel().cumsum() * Fraction(records, 60)
    assert all(abs(end - share) <= Fraction(1, 2) for end, share in zip(ends.tolist(), expected, strict=True))
    assert (seen.counts("s").dense() == counts.dense().sum(axis=0)).all()
    assert sum(batch.num_rows for batch in seen.rows("a", "s")) == records
    assert (seen.types, seen.content(), seen.sample("a")) == (table.types, table.content(), table.sample("a"))
    assert seen.units is None
    people = replace(table, units=Units({1: 40, 2: 10}, 0))
    assert ResizedOriginal(people, 30).units == Units({1: 20, 2: 5}, 0)
    seen.unchanged()
    if records == 60:
        assert (counts.dense() == table.counts("a", "s").dense()).all()


def test_a_mechanism_that_chooses_from_the_data_in_silence_is_refused(tmp_path):
    from dataclasses import dataclass
    from typing import Any

    from rrpolicy.errors import RefusedError
    from rrpolicy.mechanism import Outline, Proposal

    @dataclass(frozen=True)
    class Silent:
        """A mechanism whose outline keeps to itself what it solves for."""

        real: Any

        def outline(self, options: Any, policy: Policy) -> Outline:
            known = self.real.outline(options, policy)
            return Outline(known.channel, known.axes, known.fixed, known.kept)

        def plan(self, options: Any, task: Any) -> Proposal:
            proposal: Proposal = self.real.plan(options, task)
            return proposal

    opened = open_policy(write(tmp_path, LIMITED, []))
    real = opened.registry.mechanisms["rr-both"]
    opened.registry.__dict__["mechanisms"] = {"rr-both": Silent(real)}

    with pytest.raises(RefusedError) as caught:
        published(opened, [*everybody_else(), CANDIDATES[0]])
    assert [p.code for p in caught.value.problems] == ["RR409"]
