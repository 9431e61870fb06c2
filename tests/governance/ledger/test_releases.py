"""Releases through the command line under a policy that keeps a ledger: what it admits, refuses, notes and survives."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import jsonschema
import pytest

import rrpolicy
from rrpolicy.bundle.staging import Staging
from rrpolicy.errors import RefusedError
from rrpolicy.frozen import replace
from rrpolicy.governance.ledger.ledger_file import lock_ledger, read_ledger
from tests.governance.ledger.office import DROP_ROOM, KEEP, LEDGER, PRAM, ROOMS, Office, people, privacy, standing

SCHEMAS = Path(__file__).parents[3] / "rrpolicy" / "schemas"


# --- what is written, and where -----------------------------------------------------------------------------------


def test_a_release_is_entered_and_says_where_it_stands(office):
    policy = standing(office)
    assert office.release(policy, "one")[0] == 0

    (entry,) = office.releases()
    manifest = json.loads((office.folder / "one/public/release.json").read_text())
    audit = json.loads((office.folder / "one/audit/audit.json").read_text())
    own = next(iter(read_ledger(office.ledger).releases))
    assert manifest["ledger"] == {"head": entry.previous, "entry": own} == audit["ledger"]
    assert read_ledger(office.ledger).settled[own].release == manifest["digest"]
    assert (entry.label, entry.population, entry.overlap, entry.records) == ("one", "residents", "any", 240)
    status, told = office.run(
        "verify", office.folder / "one", "--ledger", office.ledger, "--source", office.folder / "people.csv"
    )
    assert status == 0, told
    assert "its place in a ledger" not in told
    assert office.run("ledger", "verify", office.ledger, "--bundle", office.folder / "one/public")[0] == 0


def test_the_ledger_holds_nothing_of_a_person_and_no_key(office):
    key = office.folder / "release.key"
    assert office.release(standing(office), "one", "--key", key)[0] == 0

    text = office.ledger.read_text()
    record = json.loads(key.read_text())
    assert "CANARY" not in text
    assert record["key"] not in text
    assert record["source_tag"] not in text
    assert record["plan_digest"] not in text
    document = json.loads(text.splitlines()[1])
    assert set(document) == {
        "schema", "kind", "previous", "label", "draw", "policy", "version", "policy_digest", "population", "overlap",
        "records", "max_records", "channel", "domains", "data", "derived", "guarantees", "uncomposed", "series", "different_values",
        "budget", "unstated", "date",
    }  # fmt: skip


def test_without_a_ledger_nothing_of_one_is_written(office):
    assert office.release(standing(office, ""), "one")[0] == 0

    manifest = json.loads((office.folder / "one/public/release.json").read_text())
    assert "ledger" not in manifest
    assert "ledger" not in json.loads((office.folder / "one/audit/policy.json").read_text())
    assert len(office.ledger.read_bytes().splitlines()) == 1
    status, told = office.run("verify", office.folder / "one", "--ledger", office.ledger)
    assert (status, "RR130" in told) == (1, True)


def test_a_rerun_under_the_kept_key_is_the_same_release_and_costs_nothing(office):
    policy, plan, key = standing(office), office.folder / "plan.json", office.folder / "plan.key"
    assert office.run("plan", policy, "--out", plan, "--key", key)[0] == 0
    for name in ("one", "two", "three"):
        assert office.run("release", plan, "--key", key, "--out", office.folder / name)[0] == 0

    assert len(office.releases()) == 1
    first, *others = [(office.folder / name / "public/release.json").read_bytes() for name in ("one", "two", "three")]
    assert others == [first, first]
    status, told = office.release(policy, "fresh")
    assert (status, "RR441" in told) == (4, True)


def test_the_plan_shows_the_composed_guarantee_beside_the_single_one_and_is_not_written_if_it_breaks_the_budget(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=5))
    assert office.release(policy, "one")[0] == 0
    plan = office.folder / "plan.json"
    status, told = office.run("plan", policy, "--out", plan)

    assert status == 4
    assert "not met   epsilon <= 5 (record scope): alone 2.89037 and 2.89037; together 5.78074, limit 5" in told
    assert not plan.exists()
    assert "the ledger's budget forbids it" in told
    document = json.loads(office.run("plan", policy, "--json")[1])
    (together,) = document["ledger"]["together"]
    assert document["passed"] is False
    assert together["alone"] == [together["alone"][0]] * 2
    assert together["finding"]["achieved"]["value"] == pytest.approx(2 * together["alone"][0])
    with pytest.raises(RefusedError, match="RR441"):
        rrpolicy.plan(policy).require()


def test_a_stated_budget_holds_for_the_first_release_too(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=1))
    status, told = office.release(policy, "one")

    assert (status, "RR441" in told) == (4, True)
    assert "of this release alone" in told
    assert office.releases() == []


@pytest.mark.slow
def test_every_line_and_every_document_fits_its_schema(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    before = office.ledger.read_bytes()
    assert office.release(policy, "one")[0] == 0
    one = office.ledger.read_bytes()
    office.ledger.write_bytes(before)
    assert office.release(policy, "two")[0] == 0
    office.ledger.write_bytes(one + office.ledger.read_bytes().removeprefix(before))
    assert office.run("ledger", "add", office.ledger, "--join", "--reason", "merged")[0] == 0

    office.enter(policy)
    first, second = read_ledger(office.ledger).releases
    call = ("ledger", "add", office.ledger, "--recall", first, "--reason", "exchanged", "--by", "steward")
    assert office.run(*call, "--replaced-by", second)[0] == 0

    lines = [json.loads(line) for line in office.ledger.read_text().splitlines()]
    assert {line["kind"] for line in lines} == {"ledger", "release", "settlement", "joining", "budget", "recall"}
    shown, verified = (json.loads(office.run("ledger", c, office.ledger, "--json")[1]) for c in ("show", "verify"))
    plan = json.loads(office.run("plan", policy, "--json")[1])
    for document in (*lines, shown, verified, plan):
        schema = json.loads((SCHEMAS / (document["schema"].replace("/", "-") + ".json")).read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | {"surprise": 1}, schema)
    manifest = json.loads((office.folder / "one/public/release.json").read_text())
    jsonschema.validate(manifest, json.loads((SCHEMAS / "rrpolicy.release-1.json").read_text()))


# --- overlap --------------------------------------------------------------------------------------------------------


def twice(office: Office, overlap: str, first: int, second: int, body: str) -> tuple[int, str]:
    policy = office.policy(body + LEDGER + f'overlap = "{overlap}"\n', attributes=DROP_ROOM)
    people(office.folder / "people.csv", first)
    assert office.release(policy, "one")[0] == 0
    people(office.folder / "people.csv", second)
    return office.release(policy, "two")


PK = privacy("pk-anonymity", k="1.001") + KEEP


@pytest.mark.parametrize(
    ("overlap", "records", "status"),
    [
        ("any", 240, 4),  # somebody may be in one of them alone
        ("none", 240, 0),
        ("same", 240, 0),
        ("same", 239, 4),  # it is not the same table
        ("nested", 240, 0),
        ("nested", 239, 4),  # one person is told by the difference
        ("nested", 241, 4),
        ("nested", 120, 0),
    ],
)
def test_who_overlaps_decides_what_is_left_of_k(office, overlap, records, status):
    found, told = twice(office, overlap, 240, records, PK)

    assert found == status, told
    if status:
        assert "RR441" in told
        assert "together 1, limit 1.001" in told
        assert not (office.folder / "two").exists()
        assert len(office.releases()) == 1


@pytest.mark.parametrize(("population", "status"), [("residents", 4), ("others", 0), ("", 4)])
def test_populations_that_are_both_named_have_budgets_of_their_own(office, population, status):
    assert office.release(standing(office), "one")[0] == 0
    source = f'population = "{population}"' if population else ""
    if population == "others":
        office.enter(standing(office, name="q", source=source))
    assert office.release(standing(office, name="q", source=source), "two")[0] == status


def test_epsilon_of_people_who_come_and_go_still_adds_up(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    assert [office.release(policy, f"r{i}")[0] for i in range(4)] == [0, 0, 0, 4]


# --- what composes --------------------------------------------------------------------------------------------------

DISCLOSURE = privacy("attribute-disclosure", threshold="1/4") + '[mechanism]\nname = "rr-both"\n'
K_ANONYMITY = privacy("k-anonymity", k=20) + '[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n'
L = privacy("l-diversity", kind="frequency", l=2)
UNCHANGED = 'unchanged = "a test says so"'


def test_a_release_of_the_same_table_may_have_no_greater_risk_together(office):
    accept = '[release]\naccept = ["released"]\n'
    policy = office.policy(
        DISCLOSURE
        + LEDGER
        + 'overlap = "same"\n'
        + privacy("attribute-disclosure", "ledger.budget", threshold="99/100")
        + accept,
        attributes=DROP_ROOM,
    )
    assert office.release(policy, "one")[0] == 0
    document = json.loads(office.run("plan", policy, "--json")[1])
    (together,) = document["ledger"]["together"]
    assert together["finding"]["achieved"]["value"] > document["findings"][0]["achieved"]["value"]
    assert together["finding"]["basis"] == "original"
    entry = json.loads(office.ledger.read_text().splitlines()[1])
    assert entry["guarantees"][0]["achieved"] is None  # it rests on the original, and the ledger is no place for it

    other = office.policy(DISCLOSURE + LEDGER + accept, attributes=DROP_ROOM, name="q")
    status, told = office.release(other, "two")
    assert (status, "RR442" in told) == (4, True)


def test_generalisation_composes_with_itself_and_gives_a_class_to_hide_in_to_what_is_randomised_after_it(office):
    table = office.policy(K_ANONYMITY + LEDGER + 'overlap = "same"\n', attributes=DROP_ROOM)
    body = table.read_text().replace('disease = { role = "sensitive"', 'disease = { role = "excluded"')
    table.write_text(body)
    assert office.release(table, "one")[0] == 0, office.release(table, "one-again")[1]
    assert office.release(table, "two")[0] == 0

    noisy = office.policy(
        privacy("pk-anonymity", k="1.01") + PRAM + 'keep_probability = { sex = "3/5", region = "2/5", disease = "2/5" }\n'
        + LEDGER + 'overlap = "same"\n', attributes=DROP_ROOM, name="q",
    )  # fmt: skip
    status, told = office.run("plan", noisy)
    assert status == 0, told
    assert "met       k >= 101/100: alone" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        'name = "anatomy"',
        'name = "l-diversity"\nalgorithm = "tp"',
        'name = "l-diversity"\nalgorithm = "mondrian"',
        'name = "l-diversity"\nalgorithm = "full-domain"\nsuppression = 0.5',
        'name = "sensitive-addition"',
    ],
)
def test_a_partition_mechanism_is_not_repeated_but_for_a_reason_and_then_without_a_guarantee(office, mechanism):
    policy = office.policy(L + f"[mechanism]\n{mechanism}\n{LEDGER}" + 'overlap = "same"\n', attributes=DROP_ROOM)
    text = policy.read_text()
    for name in ("sex", "region"):
        text = text.replace(
            f'{name} = {{ role = "quasi-identifier",', f'{name} = {{ role = "quasi-identifier", {UNCHANGED},'
        )
    policy.write_text(text)
    status, told = office.release(policy, "one")
    assert status == 0, told
    status, told = office.release(policy, "two")
    assert (status, "RR442" in told) == (4, True), told
    assert "no rule composes" in office.run("plan", policy)[1]

    policy.write_text(policy.read_text() + 'uncomposed = "both stay in the research centre"\n')
    status, told = office.run("plan", policy)
    assert status == 0, told
    assert (
        "no guarantee for all releases together: released all the same, because both stay in the research centre"
        in told
    )
    status, told = office.release(policy, "two")
    assert status == 0, told
    assert (
        "no guarantee for all releases together: released all the same, because both stay in the research centre"
        in told
    )
    assert office.releases()[-1].uncomposed == "both stay in the research centre"
    status, told = office.run("ledger", "show", office.ledger)
    assert "2: no guarantee for all releases together" in told
    later = standing(office, LEDGER + 'overlap = "same"\n', name="q")
    assert "RR442" in office.release(later, "three")[1]


# --- the averaging attack ---------------------------------------------------------------------------------------------

ROOM = (
    'room = { role = "insensitive", domain = [' + ", ".join(f'"{i}"' for i in range(ROOMS)) + "], "
    'assume_unlinkable = "a test says so" }'
)
ATTRIBUTE_SCOPE = privacy("local-dp", epsilon=2, scope="attribute") + PRAM


def guessed(folder: Path, names: list[str]) -> float:
    """Return the share of people whose sex the majority of their released values tells; rows are linked by room."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for name in names:
        for room, sex in duckdb.sql(f"select room, sex from '{folder / name}/public/data.parquet'").fetchall():
            votes[room][sex] += 1
    with (folder / "people.csv").open() as file:
        true = {row["room"]: row["sex"] for row in csv.DictReader(file)}
    return sum(votes[room].most_common(1)[0][0] == sex for room, sex in true.items()) / len(true)


@pytest.mark.slow
def test_averaging_twenty_releases_tells_everybody_without_the_ledger_and_is_refused_with_it(office):
    people(office.folder / "people.csv", ROOMS)
    body = ATTRIBUTE_SCOPE + 'keep_probability = { sex = "4/5" }\n'
    text = office.policy(body, attributes=ROOM)
    for name in ("region", "disease"):
        role = "quasi-identifier" if name == "region" else "sensitive"
        text.write_text(text.read_text().replace(f'{name} = {{ role = "{role}"', f'{name} = {{ role = "excluded"'))
    free = [f"free{i}" for i in range(20)]
    for name in free:
        status, told = office.release(text, name)
        assert status == 0, told
    # the majority of 20 at keep probability 4/5 is wrong with probability .0016: of 8 people and more in 3e-7 of all runs
    assert guessed(office.folder, free[:1]) < 0.95
    assert guessed(office.folder, free) > 0.98

    kept = office.folder / "kept.toml"
    kept.write_text(text.read_text() + LEDGER + privacy("local-dp", "ledger.budget", epsilon=5, scope="attribute"))
    statuses = [office.release(kept, f"kept{i}")[0] for i in range(20)]
    assert statuses == [0, 0, 0] + [4] * 17  # log 4 = 1.386 each: 4.16 of 5, and the fourth would make it 5.55
    status, told = office.release(kept, "again")
    assert "alone 1.38629 and 1.38629 and 1.38629 and 1.38629; together 5.54518, limit 5" in told
    assert guessed(office.folder, ["kept0", "kept1", "kept2"]) < 0.98  # of three it is wrong with probability .104


@pytest.mark.parametrize(("version", "status"), [("1.0.0", 0), ("0.9.0", 0), ("1.0.1", 1), ("1.10.0", 1)])
def test_an_older_revision_than_the_ledger_knows_is_not_verified(office, version, status):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=20))
    assert 'version = "1.0.0"' in policy.read_text()
    assert office.release(policy, "one")[0] == 0
    policy.write_text(policy.read_text().replace('version = "1.0.0"', f'version = "{version}"'))
    assert office.release(policy, "two")[0] == 0

    found, told = office.run("verify", office.folder / "one", "--ledger", office.ledger)
    assert (found, "RR131" in told) == (status, status == 1), told
    assert office.run("verify", office.folder / "one", "--ledger", office.ledger, "--superseded")[0] == 0
    assert office.run("verify", office.folder / "two", "--ledger", office.ledger)[0] == (1 if version == "0.9.0" else 0)


# --- broken, missing, old ledgers ------------------------------------------------------------------------------------


def untouched(office: Office, policy: Path, code: str) -> None:
    before = sorted(p.name for p in office.folder.iterdir())
    for command in (("plan", policy), ("release", policy, "--out", office.folder / "refused")):
        status, told = office.run(*command)
        assert (status, code in told) == (4, True), told
    assert sorted(p.name for p in office.folder.iterdir()) == before


def test_nothing_is_released_into_a_ledger_that_cannot_be_relied_on(office):
    policy = standing(office)
    assert office.release(policy, "one")[0] == 0
    whole = office.ledger.read_bytes()
    lines = whole.splitlines(keepends=True)
    for content in (b"", whole[:-1], lines[0] + lines[2], whole.replace(b'"records":240', b'"records":241'), b"\0" * 9):
        office.ledger.write_bytes(content)
        untouched(office, policy, "RR440")
    office.ledger.unlink()
    untouched(office, policy, "RR443")
    office.ledger.symlink_to(office.folder / "elsewhere.jsonl")
    (office.folder / "elsewhere.jsonl").write_bytes(whole)
    untouched(office, policy, "RR440")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"channel": {}},
        {"channel": {"kind": "product", "version": 1}},
        {"channel": {"kind": "acme.unknown", "version": 1}},
        {"channel": {"kind": ["product"]}},
        {"domains": {}},
        {"domains": {"sex": None, "region": "x", "disease": "y"}},
        {"guarantees": (), "records": 10**30},
    ],
)
@pytest.mark.parametrize("overlap", ["any", "nested", "same"])
def test_an_entry_that_says_something_else_than_it_must_ends_closed(office, changed, overlap):
    policy = standing(office, LEDGER + f'overlap = "{overlap}"\n')
    assert office.release(policy, "one")[0] == 0
    (entry,) = office.releases()
    with lock_ledger(office.ledger) as book:
        book.append(replace(entry, previous=book.ledger.head, draw=None, **changed))
    status, told = office.release(policy, "two")
    assert (status, "RR441" in told or "RR442" in told) == (4, True), told
    assert office.run("ledger", "show", office.ledger)[0] == 0


def test_an_entry_of_another_number_of_categories_is_another_attribute(office):
    policy = standing(office, LEDGER + 'overlap = "same"\n')
    assert office.release(policy, "one")[0] == 0
    (entry,) = office.releases()
    channel = json.loads(json.dumps(entry.channel).replace('"labels": ["F", "M"]', '"labels": ["F", "M", "X"]'))
    channel["axes"][0]["blocks"][0]["members"] = [0, 1, 2]
    with lock_ledger(office.ledger) as book:
        book.append(replace(entry, previous=book.ledger.head, draw=None, channel=channel))
    assert office.release(policy, "two")[0] == 4


def test_a_ledger_that_was_cut_off_is_found_against_the_last_bundle(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    assert office.release(policy, "one")[0] == 0
    old = office.ledger.read_bytes()
    assert office.release(policy, "two")[0] == 0
    bundle = office.folder / "two"
    assert office.run("ledger", "verify", office.ledger, "--bundle", bundle)[0] == 0

    office.ledger.write_bytes(old)
    assert office.run("ledger", "verify", office.ledger)[0] == 0
    status, told = office.run("ledger", "verify", office.ledger, "--bundle", bundle)
    assert (status, "RR440" in told) == (4, True)
    status, told = office.run("verify", bundle, "--ledger", office.ledger)
    assert (status, "RR130" in told) == (1, True)
    status, told = office.run("ledger", "add", office.ledger, bundle)
    assert (status, "RR130" in told) == (1, True)  # entering it again would hide what happened


def test_a_bundle_whose_place_was_changed_is_found(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    for name in ("one", "two"):
        assert office.release(policy, name)[0] == 0
    from rrpolicy.canonical_json import pretty, record_digest

    file, other = (office.folder / name / "public/release.json" for name in ("two", "one"))
    document = json.loads(file.read_text())
    document["ledger"] = json.loads(other.read_text())["ledger"]
    document["digest"] = record_digest(document)
    file.write_bytes(pretty(document))
    status, told = office.run("ledger", "verify", office.ledger, "--bundle", office.folder / "two")
    assert (status, "RR130" in told) == (1, True)
    assert office.run("verify", office.folder / "two", "--ledger", office.ledger)[0] == 1


def test_an_earlier_bundle_is_entered_and_counts(office):
    assert office.release(standing(office, ""), "old")[0] == 0
    assert office.run("ledger", "add", office.ledger, office.folder / "old", "--population", "residents")[0] == 0
    assert office.run("ledger", "add", office.ledger, office.folder / "old")[0] == 0  # once is enough

    (entry,) = office.releases()
    assert (entry.label, entry.draw, entry.population) == ("old", None, "residents")
    assert office.run("verify", office.folder / "old", "--ledger", office.ledger)[0] == 0
    assert "RR441" in office.release(standing(office), "new")[1]


@pytest.mark.parametrize("arguments", [(), ("--join",), ("--withdraw", "sha256:0"), ("x", "--join", "--reason", "y")])
def test_adding_needs_one_thing_to_add(office, arguments):
    status, told = office.run("ledger", "add", office.ledger, *arguments)
    assert (status, "RR250" in told) == (2, True)


def test_show_tells_what_is_left_by_population(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    for name in ("one", "two"):
        assert office.release(policy, name)[0] == 0
    status, told = office.run("ledger", "show", office.ledger)
    assert status == 0
    assert "population residents" in told
    assert "outcome   epsilon  epsilon together  k together  together with" in told
    document = json.loads(office.run("ledger", "show", office.ledger, "--json")[1])
    assert document["schema"] == "rrpolicy.ledger-shown/1"
    (population,) = document["populations"]
    one, two = (release["together"]["record"] for release in population["releases"])
    assert two == pytest.approx(2 * one)
    assert [release["alone"]["record"] for release in population["releases"]] == [one, one]
    assert [release["outcome"] for release in population["releases"]] == ["released", "released"]


def test_a_release_says_that_it_was_entered_or_that_it_is_an_earlier_one(office):
    policy, key = standing(office), office.folder / "release.key"

    assert "entered in releases.jsonl: commit it\n" in office.release(policy, "one", "--key", key)[1]
    status, told = office.release(policy, "two", "--key", key)
    assert status == 0, told
    assert "the same release as residents 1.0.0 as one: nothing new is entered in releases.jsonl\n" in told
    assert len(office.releases()) == 1


# --- crashes and two at a time ----------------------------------------------------------------------------------------


def test_a_release_that_could_not_be_written_is_withdrawn(office, monkeypatch):
    policy = standing(office)

    def full(_: Staging) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "publish", full)
        status, told = office.release(policy, "one")
        assert (status, "RR408" in told) == (4, True)
    ledger = read_ledger(office.ledger)
    assert ledger.releases == {}
    assert [s.outcome for s in ledger.settled.values()] == ["withdrawn"]
    assert office.release(policy, "one")[0] == 0


def killed(office: Office, policy: Path, where: str) -> None:
    """Run a release that is killed at one point, as by kill -9."""
    code = (
        "import os\nfrom rrpolicy.bundle.staging import Staging\nown = Staging.publish\n"
        f"def publish(self):\n    {where}\n    os._exit(137)\nStaging.publish = publish\n"
        "from rrpolicy.cli.main import main\nimport sys\nmain(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", code, "release", policy, "--out", office.folder / "one", "--as", "one"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 137


@pytest.mark.slow
def test_a_release_that_was_killed_counts_until_somebody_says_what_became_of_it(office):
    policy = standing(office)
    killed(office, policy, "pass")
    assert not (office.folder / "one").exists()
    status, told = office.run("ledger", "verify", office.ledger)
    assert (status, "open: residents 1.0.0 as one" in told) == (0, True)
    assert "RR441" in office.release(policy, "two")[1]

    own = next(iter(read_ledger(office.ledger).open))
    assert office.run("ledger", "add", office.ledger, "--withdraw", own)[0] == 2
    assert office.run("ledger", "add", office.ledger, "--withdraw", own[:20], "--reason", "killed")[0] == 0
    assert "open" not in office.run("ledger", "verify", office.ledger)[1]
    assert office.release(policy, "two")[0] == 0


def test_a_release_that_was_killed_after_it_appeared_is_settled_by_its_bundle(office):
    killed(office, standing(office), "own(self)")
    ledger = read_ledger(office.ledger)
    assert len(ledger.open) == 1
    assert office.run("ledger", "verify", office.ledger, "--bundle", office.folder / "one")[0] == 0
    assert office.run("ledger", "add", office.ledger, office.folder / "one")[0] == 0
    assert read_ledger(office.ledger).open == {}


def test_of_two_releases_at_the_same_time_the_budget_admits_one(office):
    policy = standing(office)
    command = [sys.executable, "-m", "rrpolicy.cli.main", "release", policy, "--out"]
    running = [
        subprocess.Popen([*command, office.folder / f"r{i}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(3)
    ]
    told = [process.communicate(timeout=300)[1].decode() for process in running]

    assert sorted(process.returncode for process in running) == [0, 4, 4], told
    assert len(office.releases()) == 1
    assert office.run("ledger", "verify", office.ledger)[0] == 0


def test_branches_that_each_released_are_joined_and_both_count(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    before = office.ledger.read_bytes()
    assert office.release(policy, "left")[0] == 0
    left = office.ledger.read_bytes()
    office.ledger.write_bytes(before)
    assert office.release(policy, "right")[0] == 0
    office.ledger.write_bytes(left + office.ledger.read_bytes().removeprefix(before))

    untouched(office, policy, "RR440")
    assert office.run("ledger", "add", office.ledger, "--join", "--reason", "merged two branches")[0] == 0
    assert office.run("ledger", "add", office.ledger, "--join", "--reason", "again")[0] == 2
    for name in ("left", "right"):
        assert office.run("ledger", "verify", office.ledger, "--bundle", office.folder / name)[0] == 0
    assert office.release(policy, "third")[0] == 0
    assert "RR441" in office.release(policy, "fourth")[1]


def test_git_merges_two_branches_with_a_conflict_that_is_found(office, monkeypatch):
    env = {
        **os.environ,
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }

    def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["git", *arguments], cwd=office.folder, env=env, capture_output=True, check=False)

    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=10))
    git("init", "-q", "-b", "main")
    git("add", "releases.jsonl")
    git("commit", "-qm", "begin")
    for branch in ("left", "right"):
        git("checkout", "-q", "-b", branch, "main")
        assert office.release(policy, branch)[0] == 0
        git("commit", "-qam", branch)
    assert git("merge", "-q", "left").returncode != 0
    status, told = office.run("ledger", "verify", office.ledger)
    assert (status, "a mark of a merge" in told) == (4, True)
    kept = [line for line in office.ledger.read_bytes().splitlines(keepends=True) if line.startswith(b"{")]
    office.ledger.write_bytes(b"".join(kept))
    assert office.run("ledger", "add", office.ledger, "--join", "--reason", "merged left")[0] == 0
    assert len(office.releases()) == 2


# --- the policy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ledger", "code"),
    [
        ('[ledger]\noverlap = "any"\n', "RR206"),
        (LEDGER + 'overlap = "some"\n', "RR208"),
        (LEDGER + "unknown = 1\n", "RR205"),
        (LEDGER + privacy("no-such-model", "ledger.budget"), "RR210"),
        (LEDGER + privacy("local-dp", "ledger.budget", epsilon=-1), "RR208"),
        (LEDGER + privacy("local-dp", "ledger.budget", epsilon=1) + 'where = { planet = "x" }\n', "RR218"),
    ],
)
def test_what_is_wrong_with_the_ledgers_table_is_said_by_check(office, ledger, code):
    status, told = office.run("check", standing(office, ledger))
    assert (status, code in told) == (2, True), told


def test_a_plan_without_data_says_what_it_would_come_to(office):
    policy = standing(office, more=privacy("local-dp", "ledger.budget", epsilon=5))
    assert office.release(policy, "one")[0] == 0
    document = json.loads(office.run("plan", policy, "--expected-rows", "240", "--json")[1])
    assert [p["code"] for p in document["ledger"]["problems"]] == ["RR441"]

    risk = standing(office, more=privacy("attribute-disclosure", "ledger.budget", threshold="1/2"), name="q")
    assert "no guarantee for all releases together" in office.run("plan", risk, "--expected-rows", "240")[1]
