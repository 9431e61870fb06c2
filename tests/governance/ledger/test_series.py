"""Series through the command line: drawn alike month after month, frozen, composed as enumeration says, verified."""

from __future__ import annotations

import csv
import itertools
import json
import math
import shlex
import stat
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from scipy.stats import binom

from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.governance.ledger import overlap
from rrpolicy.governance.ledger.composition import ReleaseComponent
from rrpolicy.policy.model import Attribute, LedgerSettings
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from tests.governance.ledger.office import DROP_ROOM, KEEP, LEDGER, Office, privacy
from tests.release.forging import fill_again, refill_public, reseal_public, rewrite

ALARM = 1e-6
SCHEMAS = Path(__file__).parents[3] / "rrpolicy" / "schemas"
ROOM = 'room = { role = "insensitive", unchanged = "so that rows can be linked here", assume_unlinkable = "a test" }'
SERIES = '[release]\nseries = "monthly"\nformat = "csv"\n'
NESTED = LEDGER + 'overlap = "nested"\n'


def policy(office: Office, ledger: str = NESTED, release: str = SERIES, *, mechanism: str = KEEP, **named: str) -> Path:
    """Return a policy whose rows an attacker can link: by the room, which is released as it is."""
    named.setdefault("attributes", ROOM)
    return office.policy(privacy("local-dp", epsilon=8) + mechanism + ledger + release, **named)


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="") as file:
        return {row["room"]: row for row in csv.DictReader(file)}


def table(office: Office) -> dict[str, dict[str, str]]:
    return rows(office.folder / "people.csv")


def released(office: Office, name: str) -> dict[str, dict[str, str]]:
    return rows(office.folder / name / "public" / "data.csv")


def month(office: Office, change: dict[str, dict[str, str]]) -> None:
    """Write next month's table: the rows of some rooms become others, or go."""
    people = list(table(office).values())
    with (office.folder / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, people[0])
        writer.writeheader()
        writer.writerows({**p, **change.get(p["room"], {})} for p in people if change.get(p["room"]) != {"gone": ""})


def moved(room: int) -> dict[str, dict[str, str]]:
    """Return a change that is one: of the i-th person the disease is none, flu or cold by i modulo 3."""
    return {str(room): {"disease": ("flu", "cold", "none")[room % 3]}}


@pytest.fixture
def key(office: Office) -> Path:
    return office.folder / "monthly.key"


def begun(office: Office, key: Path, **named: str) -> Path:
    toml = policy(office, **named)
    status, told = office.release(toml, "one", "--key", key)
    assert status == 0, told
    return toml


def test_who_does_not_change_is_released_alike_and_who_does_anew(office, key):
    toml = begun(office, key)
    changed = [room for room, p in table(office).items() if p["region"] == "a"]
    month(office, {room: {"region": "b"} for room in changed} | {"3": {"gone": ""}})
    status, told = office.release(toml, "two", "--key", key)
    assert status == 0, told

    first, second = released(office, "one"), released(office, "two")
    assert set(first) - set(second) == {"3"}
    stayed = {
        column: [r for r in second if r not in changed or column != "region"] for column in ("sex", "region", "disease")
    }
    for column, same in stayed.items():
        assert all(first[r][column] == second[r][column] for r in same)
    differs = sum(first[r]["region"] != second[r]["region"] for r in changed)
    alike = float(2 * Fraction(1, 2) * Fraction(1, 6) + 2 * Fraction(1, 6) ** 2)
    assert binom.cdf(differs, len(changed), 1 - alike) > ALARM
    assert differs > 0


def test_a_value_that_comes_back_is_released_as_it_was(office, key):
    toml = begun(office, key)
    was = {room: p["disease"] for room, p in table(office).items()}
    month(office, {room: {"disease": {"none": "flu", "flu": "cold", "cold": "none"}[d]} for room, d in was.items()})
    assert office.release(toml, "two", "--key", key)[0] == 0
    month(office, {room: {"disease": d} for room, d in was.items()})
    assert office.release(toml, "three", "--key", key)[0] == 0

    first, second, third = (released(office, name) for name in ("one", "two", "three"))
    assert first == third
    assert first != second


@pytest.mark.slow
def test_a_series_of_one_table_costs_once_and_averaging_twenty_releases_gains_nothing(office, key):
    """Without a series the fourth is refused, and averaging wins: tests/governance/ledger/test_releases.py."""
    ledger = LEDGER + 'overlap = "same"\n' + privacy("local-dp", "ledger.budget", epsilon=5)
    keys = []
    for number in range(20):
        # a new version each time, as of a policy that goes on: the plan is another one, the draws are not
        toml = policy(office, ledger)
        toml.write_text(toml.read_text().replace('"1.0.0"', f'"1.0.{number}"'))
        status, told = office.release(toml, f"r{number}", "--key", key)
        assert status == 0, told
        keys.append(released(office, f"r{number}"))

    assert len(office.releases()) == 20
    assert all(other == keys[0] for other in keys)


def test_the_budget_counts_as_many_values_as_a_person_may_have(office, key):
    """Epsilon of one release is log 3 + log 3 + log 2; sex has two values and no third."""
    once, sex = math.log(3) + math.log(3) + math.log(2), math.log(3)
    steps = [once, 2 * once, 3 * once - sex]
    toml = policy(
        office, NESTED + privacy("local-dp", "ledger.budget", epsilon=round(steps[2] + 0.01, 3)), attributes=DROP_ROOM
    )
    for number, step in enumerate(steps):
        status, told = office.run("plan", toml)
        assert status == 0, told
        assert f"together {step:.6g}" in told
        assert office.release(toml, f"r{number}", "--key", key)[0] == 0
        month(office, moved(number))

    status, told = office.release(toml, "more", "--key", key)
    assert (status, "RR441" in told) == (4, True)
    assert "with 4 different values" in told

    toml.write_text(toml.read_text().replace('overlap = "nested"', 'overlap = "nested"\ndifferent_values = 3'))
    status, told = office.release(toml, "more", "--key", key)  # earlier ones declared nothing
    assert (status, "RR441" in told) == (4, True)


@pytest.mark.slow
def test_values_that_are_declared_from_the_beginning_bound_a_long_series(office, key):
    ledger = NESTED + "different_values = 2\n" + privacy("local-dp", "ledger.budget", epsilon=6)
    toml = policy(office, ledger, attributes=DROP_ROOM)
    for number in range(6):
        status, told = office.release(toml, f"r{number}", "--key", key)
        assert status == 0, told
        month(office, moved(number))
    status, told = office.run("plan", toml)
    assert status == 0
    assert "as the policy declares at most 2" in told
    toml.write_text(toml.read_text().replace("different_values = 2", "different_values = 3"))
    status, told = office.run("plan", toml)
    assert (status, "RR441" in told) == (4, True)


def test_in_a_series_with_other_values_nobody_hides_among_others(office, key):
    toml = office.policy(
        privacy("pk-anonymity", k=2)
        + KEEP.replace("1/2", "2/5").replace("3/4", "3/5")
        + NESTED
        + SERIES
        + privacy("pk-anonymity", "ledger.budget", k=2),
        attributes=DROP_ROOM,
    )
    assert office.release(toml, "one", "--key", key)[0] == 0
    month(office, moved(0))
    status, told = office.release(toml, "two", "--key", key)
    assert (status, "RR441" in told, "together 1, limit 2" in told) == (4, True, True)


@pytest.mark.slow
def test_a_table_that_is_declared_the_same_and_is_not_is_found_by_its_rows(office, key):
    for number, declared in enumerate(('overlap = "same"', 'overlap = "nested"\ndifferent_values = 1')):
        toml = policy(
            office,
            f"{LEDGER}{declared}\n",
            SERIES.replace("monthly", f"series {number}"),
            source=f'population = "{number}"',
        )
        own = key.with_name(f"{number}.key")
        office.enter(toml)
        assert office.release(toml, f"{number}-one", "--key", own)[0] == 0
        month(office, {str(i): {"disease": "cold"} for i in range(number, 240, 3)})
        status, told = office.release(toml, f"{number}-two", "--key", own)
        assert (status, "RR445" in told, (office.folder / f"{number}-two").exists()) == (4, True, False), told
        assert office.run("ledger", "verify", office.ledger)[0] == 0
        toml.write_text(toml.read_text().replace(declared, 'overlap = "nested"'))
        status, told = office.release(toml, f"{number}-two", "--key", own)
        assert status == 0, told


def test_what_a_newcomer_did_is_answered(office, key):
    toml = begun(office, key)
    month(office, moved(1))
    text = toml.read_text()
    toml.write_text(text.replace(NESTED, ""))
    for arguments in (["--key", key], ["--key", office.folder / "new.key"], []):
        status, told = office.release(toml, "x", *arguments)
        assert (status, "RR500" in told) == (2, True), told
    toml.write_text(text)
    status, told = office.release(toml, "x", "--key", key, "--key-passphrase")
    assert (status, "RR403" in told) == (4, True), told
    ledger = office.ledger.read_bytes()
    office.ledger.unlink()
    assert office.run("ledger", "init", office.ledger)[0] == 0
    status, told = office.release(toml, "x", "--key", key)
    assert (status, "the ledger contains no release of it" in told) == (4, True), told
    office.ledger.write_bytes(ledger)

    toml.write_text(text.replace('"1.0.0"', '"1.1.0"'))
    assert office.release(toml, "two", "--key", key)[0] == 0
    assert (
        office.run("verify", office.folder / "one", "--ledger", office.ledger)[0] == 0
    )  # an earlier month, not outdated


# --- enumeration --------------------------------------------------------------------------------------------------

LABELS = ("a", "b", "c")
KEPT = {n: Retention.uniform("x", LABELS[:n], Fraction(7, 10)) for n in (2, 3)}
SKEW = Matrix.explicit("x", LABELS[:2], LABELS, [[Fraction(n, 10) for n in row] for row in ((7, 2), (2, 3), (1, 5))])


def pattern(values: tuple[int, ...]) -> tuple[int, ...]:
    """Return which entries are equal to one another."""
    first = {v: i for i, v in reversed(list(enumerate(values)))}
    return tuple(first[v] for v in values)


def law(axis, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Return the law of what a person with these values releases: each distinct value is drawn once."""
    distinct = sorted(set(values))
    found: dict[tuple[int, ...], Fraction] = {}
    for drawn in itertools.product(*(axis.column(v).items() for v in distinct)):
        shown = {v: u for v, (u, _) in zip(distinct, drawn, strict=True)}
        row = tuple(shown[v] for v in values)
        found[row] = found.get(row, Fraction(0)) + math.prod((p for _, p in drawn), start=Fraction(1))
    return found


def composed(axis, releases: int, declared: LedgerSettings) -> tuple[Fraction | None, object]:
    channel = Product.of([Attribute("x", Role.QUASI_IDENTIFIER, LABELS[: axis.original_size])], [axis])
    parts = [ReleaseComponent(f"r{i}", channel, 3, {"x": "d"}, "s") for i in range(releases)]
    entry = SimpleNamespace(overlap="nested", different_values=declared.different_values, series="s")
    (group,) = overlap.combine_releases(parts, declared, [entry] * (releases - 1), 3).groups  # type: ignore[arg-type]
    return scope_loss(group.channel).record, group.people  # type: ignore[arg-type]


@pytest.mark.parametrize(("axis", "releases"), [(KEPT[2], 3), (KEPT[3], 2), (KEPT[3], 3), (SKEW, 3), (KEPT[2], 4)])
def test_epsilon_of_a_series_is_that_of_enumeration_given_which_entries_are_equal(axis, releases):
    worst = Fraction(0)
    for one, other in itertools.product(itertools.product(range(axis.original_size), repeat=releases), repeat=2):
        if pattern(one) == pattern(other):
            a, b = law(axis, one), law(axis, other)
            assert set(a) == set(b)
            worst = max(worst, *(a[row] / b[row] for row in a))
    ratio, people = composed(axis, releases, LedgerSettings("", "nested"))
    assert ratio == worst if isinstance(axis, Retention) else worst <= ratio  # a skew matrix has no two equal extremes
    assert people == 1

    once = max(
        axis.column(v)[u] / axis.column(w)[u]
        for u in range(axis.released_size)
        for v, w in itertools.permutations(range(axis.original_size), 2)
    )
    assert composed(axis, releases, LedgerSettings("", "same"))[0] == once
    assert composed(axis, releases, LedgerSettings("", "nested", different_values=1)) == (once, 3)


def test_a_release_outside_of_a_series_adds_to_what_the_series_declared():
    axis = KEPT[3]
    channel = Product.of([Attribute("x", Role.QUASI_IDENTIFIER, LABELS)], [axis])
    series = [ReleaseComponent(f"r{i}", channel, 3, {"x": "d"}, "s") for i in range(4)]
    entry = SimpleNamespace(overlap="nested", different_values=2, series="s")
    outside = ReleaseComponent("outside", channel, 3, {"x": "d"})
    (group,) = overlap.combine_releases([*series, outside], LedgerSettings("", "nested"), [entry] * 4, 3).groups  # type: ignore[list-item]
    once = axis.max_ratio()
    assert once is not None
    assert scope_loss(group.channel).record == once**3  # type: ignore[arg-type]
    assert group.people == 1


def test_without_the_condition_there_is_no_epsilon_a_return_is_seen():
    returned, went_on = law(KEPT[3], (0, 1, 0)), law(KEPT[3], (0, 1, 2))
    assert set(went_on) - set(returned)


def test_one_permanent_draw_under_two_matrices_would_tell_a_value():
    """What freezing is for: of .70 and then .71 by the same number, some pairs exclude a value (maths: section 10)."""

    def shown(keep: Fraction, v: int, number: Fraction) -> int:
        return v if number < keep else 1 - v

    edges = sorted({Fraction(0), Fraction(70, 100), Fraction(71, 100), Fraction(1)})
    inner = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    seen = {v: {(shown(Fraction(70, 100), v, n), shown(Fraction(71, 100), v, n)) for n in inner} for v in (0, 1)}
    assert seen[0] != seen[1]


# --- what is frozen -----------------------------------------------------------------------------------------------

OTHERWISE = {
    "a matrix": lambda toml: toml.replace('"3/4"', '"4/5"'),
    "a matrix of the same options": lambda toml: toml.replace('region = "1/2"', 'region = "1/3"'),
    "a domain": lambda toml: toml.replace('domain = ["F", "M"]', 'domain = ["F", "M", "X"]'),
    "the order of a domain": lambda toml: toml.replace('domain = ["F", "M"]', 'domain = ["M", "F"]'),
    "an attribute less": lambda toml: toml.replace(
        'disease = { role = "sensitive", domain = ["none", "flu", "cold"] }', 'disease = { role = "excluded" }'
    ).replace(', disease = "1/2"', ""),
    "a role": lambda toml: toml.replace('sex = { role = "quasi-identifier"', 'sex = { role = "sensitive"'),
    "where missing values go": lambda toml: toml.replace('domain = ["F", "M"]', 'domain = ["F", "M"], nulls = "M"'),
    "the population": lambda toml: toml.replace('population = "residents"', 'population = "others"'),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHERWISE)
def test_whatever_else_than_was_begun_is_refused_and_a_new_series_is_composed_with_the_old(what, office, key):
    toml = begun(office, key)
    toml.write_text(OTHERWISE[what](toml.read_text()))
    for command in (["plan", toml], ["release", toml, "--out", office.folder / "two", "--key", key]):
        status, told = office.run(*command)
        assert (status, "RR444" in told) == (4, True), told
    assert not (office.folder / "two").exists()
    assert len(office.releases()) == 1

    toml.write_text(toml.read_text().replace('"monthly"', '"monthly from May"'))
    other = office.folder / "other.key"
    if what == "the population":
        office.enter(toml)
    status, told = office.run("plan", toml)
    assert status == 0, told
    assert "together with residents 1.0.0 as one" in told or what == "the population"
    assert office.release(toml, "two", "--key", other)[0] == 0


def test_a_requirement_may_change_and_holds_of_the_frozen_channel(office, key):
    toml = begun(office, key)
    toml.write_text(toml.read_text().replace("epsilon = 8", "epsilon = 9"))
    assert office.release(toml, "two", "--key", key)[0] == 0
    toml.write_text(toml.read_text().replace("epsilon = 9", "epsilon = 2"))
    status, told = office.run("plan", toml)
    assert (status, "RR101" in told) == (4, True)  # and RR441, as the budget is that of the requirements


def test_parameters_that_the_data_chose_stay_those_of_the_first_release(office, key):
    """Optimised on the first table; the second table would have given others."""
    ask = privacy("attribute-disclosure", threshold="1/2")
    release = SERIES + 'accept = ["parameters:sex", "parameters:region", "parameters:disease", "released"]\n'
    ledger = LEDGER + 'overlap = "none"\n'  # what rests on a table is composed with no other
    toml = office.policy(ask + '[mechanism]\nname = "rr-both"\n' + ledger + release, attributes=ROOM)
    status, told = office.release(toml, "one", "--key", key)
    assert status == 0, told
    month(office, {str(i): {"disease": "none"} for i in range(0, 240, 40)})
    status, told = office.run("plan", toml, "--json")
    assert status == 0, told
    plan = json.loads(told)
    assert set(plan["origins"].values()) == {"frozen at the first release of the series"}
    assert "with which the series 'monthly' was begun" in json.dumps(plan["remarks"])
    status, told = office.release(toml, "two", "--key", key)
    assert status == 0, told
    first, second = (json.loads((office.folder / n / "public/release.json").read_text()) for n in ("one", "two"))
    assert first["channel"] == second["channel"]
    assert first["series"] == second["series"]


# --- keys ---------------------------------------------------------------------------------------------------------


def test_a_series_has_a_key_of_its_own_kind(office, key):
    toml = policy(office)
    status, told = office.release(toml, "one")
    assert (status, "RR403" in told, "--key FILE" in told) == (4, True, True)
    begun(office, key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert json.loads(key.read_text())["schema"] == "rrpolicy.series-key/1"

    month(office, moved(1))
    status, told = office.release(toml, "two", "--key", office.folder / "lost.key")
    assert (status, "was begun by residents 1.0.0 as one" in told) == (4, True)
    assert not (office.folder / "lost.key").exists()
    outside = office.policy(privacy("local-dp", epsilon=8) + KEEP, attributes=ROOM, name="outside")
    status, told = office.release(outside, "three", "--key", key)
    assert (status, "the key of a series" in told) == (4, True)
    assert office.release(outside, "three", "--key", office.folder / "plain.key")[0] == 0
    status, told = office.release(toml, "two", "--key", office.folder / "plain.key")
    assert (status, "the key of one release" in told) == (4, True)


def test_what_is_said_of_a_key_fits_a_series(office, key):
    toml = policy(office)
    kept = "the key of the series 'monthly' is in {}: keep it, each later release of the series needs it"
    for name, people in (("one", {}), ("two", moved(1))):
        month(office, people)
        status, told = office.release(toml, name, "--key", key)
        assert (status, kept.format(key) in told, "gives the same draw again" in told) == (0, True, False), told
        report = json.loads((office.folder / name / "audit/report.json").read_text())
        (said,) = (fact["value"] for fact in report["provenance"] if fact["name"] == "Key")
        assert said.startswith("kept in a file: later releases of the series need it; ")


def test_a_passphrase_that_comes_too_late_is_told_so_of_a_series(office, key, monkeypatch):
    toml = begun(office, key)
    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "a long one")
    status, told = office.release(toml, "two", "--key", key, "--key-passphrase")
    assert (status, "take --key-passphrase out: the series goes on with its key" in told) == (4, True), told


def test_a_secret_of_a_series_that_is_not_set_is_never_left_out(office, monkeypatch):
    toml = policy(office)
    monkeypatch.setenv("SERIES_SECRET", "5c" * 32)
    status, told = office.release(toml, "one", "--key", "env:SERIES_SECRET")
    assert (status, "is derived from env:SERIES_SECRET: keep it" in told) == (0, True), told
    report = json.loads((office.folder / "one/audit/report.json").read_text())
    assert any("environment: later releases of the series need it" in fact["value"] for fact in report["provenance"])
    monkeypatch.delenv("SERIES_SECRET")
    status, told = office.release(toml, "two", "--key", "env:SERIES_SECRET")
    assert (status, "set it to the secret that the series 'monthly' is drawn with" in told) == (4, True), told


def test_another_key_of_a_series_of_the_same_name_is_refused(office, key):
    toml = begun(office, key)
    elsewhere = office.folder / "elsewhere.jsonl"
    assert office.run("ledger", "init", elsewhere)[0] == 0
    other = policy(office, NESTED.replace("releases.jsonl", "elsewhere.jsonl"), name="q")
    assert office.release(other, "q", "--key", office.folder / "q.key")[0] == 0
    month(office, moved(1))
    status, told = office.release(toml, "two", "--key", office.folder / "q.key")
    assert (status, "RR444" in told, "the key" in told) == (4, True, True)
    weekly = policy(office, release=SERIES.replace("monthly", "weekly"), name="w")
    status, told = office.release(weekly, "w", "--key", key)
    assert (status, "the key of another series, 'monthly'" in told) == (4, True)


@pytest.mark.slow
def test_a_key_that_a_secret_gives_or_a_passphrase_protects(office, key, monkeypatch):
    monkeypatch.setenv("SERIES_SECRET", "5c" * 32)
    toml = policy(office)
    assert office.release(toml, "one", "--key", "env:SERIES_SECRET")[0] == 0
    month(office, moved(1))
    assert office.release(toml, "two", "--key", "env:SERIES_SECRET")[0] == 0
    first, second = released(office, "one"), released(office, "two")
    assert sum(first[r]["region"] != second[r]["region"] for r in first) == 0
    status, told = office.run(
        "verify", office.folder / "two", "--source", office.folder / "people.csv", "--key", "env:SERIES_SECRET"
    )
    assert status == 0, told
    monkeypatch.setenv("SERIES_SECRET", "5d" * 32)
    status, told = office.release(toml, "three", "--key", "env:SERIES_SECRET")
    assert (status, "RR444" in told) == (4, True)

    monkeypatch.setenv("RRPOLICY_KEY_PASSPHRASE", "a long one")
    apart = LEDGER + 'overlap = "none"\n'
    weekly = policy(office, apart, SERIES.replace("monthly", "weekly"), name="w")
    assert office.release(weekly, "w", "--key", key, "--key-passphrase")[0] == 0
    assert "key" not in json.loads(key.read_text())
    month(office, moved(2))
    assert office.release(weekly, "w2", "--key", key)[0] == 0
    assert json.loads((office.folder / "w2/audit/audit.json").read_text())["key"] == "file under a passphrase"


def test_a_plan_of_a_series_is_bound_to_its_table_by_a_key_that_goes(office, key):
    toml = begun(office, key)
    month(office, moved(1))
    plan = office.folder / "plan.json"
    status, told = office.run("plan", toml, "--out", plan)
    assert (status, "--key FILE" in told) == (0, True)
    status, told = office.run("plan", toml, "--out", office.folder / "other.json", "--key", key)
    assert (status, "RR250" in told) == (2, True)
    month(office, moved(2))
    status, told = office.release(plan, "two", "--key", key)
    assert (status, "RR401" in told) == (4, True)
    month(office, {"2": {"disease": "cold"}})
    again = office.folder / "again.json"
    assert office.run("plan", toml, "--out", again)[0] == 0
    status, told = office.release(again, "two", "--key", key)
    assert status == 0, told
    assert not (office.folder / "again.json.key").exists()
    assert key.exists()


# --- verification -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_release_of_a_series_verifies_at_every_level(office, key):
    toml = begun(office, key)
    first = (office.folder / "people.csv").read_bytes()
    (office.folder / "january.csv").write_bytes(first)
    month(office, {str(i): {"disease": "flu"} for i in range(0, 240, 5)})
    assert office.release(toml, "two", "--key", key)[0] == 0
    for name, source in (("one", "january.csv"), ("two", "people.csv")):
        told = office.run(
            "verify",
            office.folder / name,
            "--source",
            office.folder / source,
            "--key",
            key,
            "--ledger",
            office.ledger,
            "--strict",
        )
        assert told[0] == 0, told[1]
        assert "byte for byte" in told[1]
        assert "undecided: nothing" in told[1]
        assert office.run("verify", office.folder / name / "public", "--strict", "--level", "public")[0] in {0, 1}
    status, told = office.run("verify", office.folder / "two", "--source", office.folder / "january.csv", "--key", key)
    assert status == 1
    status, told = office.run("verify", office.folder / "two", "--source", office.folder / "people.csv", "--key", key)
    assert (status, "at the first release of the series" in told) == (0, True)


def test_ids_are_part_of_the_source_that_a_key_confirms(office, key):
    begun(office, key)
    people = (office.folder / "people.csv").read_text()
    (office.folder / "others.csv").write_text(people.replace("CANARY-1", "CANARY-x1"))
    status, told = office.run("verify", office.folder / "one", "--source", office.folder / "others.csv", "--key", key)
    assert (status, "RR126" in told) == (1, True)


def test_release_json_says_what_is_shared_and_under_which_condition_and_tells_nobody(office, key):
    people = office.folder / "people.csv"
    head, *others = people.read_text().splitlines()
    people.write_text("\n".join([head, *reversed(others)]) + "\n")
    begun(office, key)
    manifest = json.loads((office.folder / "one/public/release.json").read_text())
    assert manifest["series"]["name"] == "monthly"
    assert manifest["series"]["persons"] == "text"
    assert any("given which entries of a person are equal" in a for a in manifest["assumptions"])
    for path in (office.folder / "one" / "public").rglob("*"):
        assert path.is_dir() or b"CANARY" not in path.read_bytes()
    assert b"CANARY" not in office.ledger.read_bytes()
    secret = json.loads(key.read_text())["key"]
    for path in (office.folder / "one").rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()
    assert [*released(office, "one")] == sorted(table(office), key=int) != [*table(office)]  # by what is released


# --- what cannot be a series --------------------------------------------------------------------------------------

DP = privacy("local-dp", epsilon=8)
HIDDEN = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\nsensitive = ["disease"]\n'
UNFIT = {
    "no ledger": lambda t: t.replace(NESTED, ""),
    "nobody is distinguished": lambda t: t.replace(
        'person = { role = "identifier" }', 'person = { role = "excluded" }'
    ),
    "several records": lambda t: t.replace('uri = "people.csv"', 'uri = "people.csv"\nmax_records = 2'),
    "sets": lambda t: t.replace(KEEP, '[mechanism]\nname = "sensitive-addition"\n').replace(DP, HIDDEN),
    "groups": lambda t: t.replace(KEEP, '[mechanism]\nname = "anatomy"\n').replace(DP, HIDDEN),
}


@pytest.mark.parametrize("what", UNFIT)
def test_what_cannot_be_a_series_is_refused_before_any_data(what, office):
    toml = policy(office)
    toml.write_text(UNFIT[what](toml.read_text()))
    status, told = office.run("check", toml)
    assert (status, "RR500" in told) == (2, True), told
    assert "p.toml:" in told


def test_people_who_are_told_apart_by_decimal_numbers_are_refused(office, key):
    toml = policy(office)
    month(office, {str(i): {"person": f"{i}.5"} for i in range(240)})
    status, told = office.release(toml, "one", "--key", key)
    assert (status, "RR328" in told) == (3, True), told
    month(office, {str(i): {"person": str(i)} for i in range(240)})
    assert office.release(toml, "one", "--key", key)[0] == 0
    month(office, {"0": {"person": "zero"}})
    status, told = office.release(toml, "two", "--key", key)
    assert (status, "how people are distinguished" in told, "keep the spelling" in told) == (4, True, True), told


@pytest.mark.slow
def test_the_released_shares_are_those_of_the_channel(office, key):
    """Over many keys each record's released value has its column's law; the same rooms, so that rows are linked."""
    toml = policy(office, LEDGER + 'overlap = "none"\n')
    found: Counter[bool] = Counter()
    for number in range(12):
        toml.write_text(toml.read_text().replace(f"monthly{number - 1 if number else ''}", f"monthly{number}"))
        assert office.release(toml, f"r{number}", "--key", office.folder / f"{number}.key")[0] == 0
        truth, out = table(office), released(office, f"r{number}")
        found.update(truth[r]["sex"] == out[r]["sex"] for r in truth)
    k, n = found[True], found.total()
    assert 2 * min(binom.cdf(k, n, 0.75), binom.sf(k - 1, n, 0.75)) > ALARM


# --- forgeries ----------------------------------------------------------------------------------------------------

FORGED = {
    "another name": lambda series: {**series, "name": "weekly"},
    "another mechanism": lambda series: {**series, "mechanism": "sha256:" + "0" * 64},
    "other categories": lambda series: {**series, "categories": "sha256:" + "0" * 64},
    "no series": lambda _: None,
    "another key": lambda series: {**series, "id": "hmac-sha256:" + "0" * 64},
    "people distinguished otherwise": lambda series: {**series, "persons": "integer"},
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FORGED)
def test_a_series_that_was_forged_is_found(what, office, key):
    """Who rewrites release.json, and seals everything again, is found by audit/, by the key, or by the ledger."""
    begun(office, key)
    bundle = office.folder / "one"

    def forge(document: dict[str, Any]) -> None:
        series = FORGED[what](document.pop("series"))
        if series is not None:
            document["series"] = series

    rewrite(bundle / "public/release.json", forge)
    refill_public(bundle)
    reseal_public(bundle)
    fill_again(bundle)
    full = ["--source", office.folder / "people.csv", "--key", key]
    status, told = office.run("verify", bundle, *full)
    assert status in {1, 4}, told
    assert "verified at level key" not in told or "NOT verified" in told
    status, told = office.run("verify", bundle, "--ledger", office.ledger)
    assert (status, "RR130" in told) == (1, True), told
    if what in {"another name", "another mechanism", "other categories", "no series"}:
        status, told = office.run("verify", bundle)
        assert (status, "another series than the plan" in told) == (1, True), told


def test_the_ledger_shows_the_series_and_what_was_declared(office, key):
    begun(office, key)
    _, told = office.run("ledger", "show", office.ledger, "--json")
    shown = json.loads(told)
    (line,) = shown["populations"][0]["releases"]
    assert (line["series"], line["different_values"]) == ("monthly", None)
    jsonschema.validate(shown, json.loads((SCHEMAS / "rrpolicy.ledger-shown-1.json").read_text()))
    assert "monthly" in office.run("ledger", "show", office.ledger)[1]
    jsonschema.validate(json.loads(key.read_text()), json.loads((SCHEMAS / "rrpolicy.series-key-1.json").read_text()))


def test_the_command_that_is_printed_next_verifies_the_second_month_to_the_end(office, key):
    toml = begun(office, key)
    month(office, moved(1))
    _, told = office.release(toml, "two", "--key", key)
    command = shlex.split(told.split("next: rrpolicy ")[1].splitlines()[0])
    assert office.run(*command, "--strict")[0] == 0


def test_a_comparison_tells_which_candidate_would_be_no_going_on_with_the_series(office, key):
    toml = begun(office, key)
    month(office, moved(1))
    status, told = office.run(
        "compare", toml, "--vary", "source.population=residents,others", "--output-format", "json"
    )
    assert status == 0, told
    going_on, other = json.loads(told)["candidates"]
    assert going_on["outcome"] == "passes"
    assert (other["outcome"], [p["code"] for p in other["problems"]]) == ("refused", ["RR444"])


def test_auditors_read_what_all_releases_come_to_together(office, key):
    toml = begun(office, key, attributes=DROP_ROOM)
    month(office, moved(1))
    assert office.release(toml, "two", "--key", key)[0] == 0
    bundle = office.folder / "two"
    stated = json.loads((bundle / "audit/audit.json").read_text())["together"]
    assert stated["earlier"] == ["residents 1.0.0 as one"]
    both = 2 * (math.log(3) + math.log(3) + math.log(2))
    (told,) = stated["requirements"]
    assert told["verdict"] == "satisfied"
    assert f"together {both:.6g}, limit 8" in told["told"]
    page = (bundle / "audit/report.html").read_text()
    assert "Together with earlier releases" in page
    assert f"together {both:.6g}" in page
    assert "Together with earlier" not in (bundle / "public/report.html").read_text()
    status, page = office.run("report", "evidence", bundle, "--for", "ema-0070", "--format", "markdown")
    assert status == 0
    assert f"together {both:.6g}" in page
    status, page = office.run("report", "evidence", bundle / "public", "--for", "ema-0070", "--format", "markdown")
    assert (status, "together " in page) == (0, False)
    full = ["--source", office.folder / "people.csv", "--key", key, "--ledger", office.ledger]
    assert office.run("verify", bundle, *full, "--strict")[0] == 0
    jsonschema.validate(
        json.loads((bundle / "audit/audit.json").read_text()),
        json.loads((SCHEMAS / "rrpolicy.audit-1.json").read_text()),
    )
