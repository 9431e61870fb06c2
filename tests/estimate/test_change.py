"""Changes between two releases: unbiased, with the variance that enumeration and repeated draws give."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError

POLICY = """schema = 1
[policy]
name = "panel"
version = "1.0.0"
owner = "Statistics Office"
[source]
uri = "people.csv"
[attributes]
person = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
work = {{ role = "sensitive", domain = ["none", "part", "full"] }}
[[privacy]]
model = "local-dp"
epsilon = 9
[mechanism]
name = "pram"
allocation = "fixed"
keep_probability = {{ sex = "4/5", work = "3/5" }}
[ledger]
file = "releases.jsonl"
overlap = "none"
{series}
"""
LABELS = ("none", "part", "full")
N = 300


def tables() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return two months of people, 240 of 300 unchanged, made up as all are."""
    first = [("FM"[i % 2], LABELS[(i // 2) % 3]) for i in range(N)]
    second = [(s, w) if i < 240 else (s, LABELS[(LABELS.index(w) + 1) % 3]) for i, (s, w) in enumerate(first)]
    return first, second


def write(folder: Path, people: list[tuple[str, str]]) -> None:
    rows = "".join(f"P{i},{s},{w}\n" for i, (s, w) in enumerate(people))
    (folder / "people.csv").write_text("person,sex,work\n" + rows)


def released(folder: Path, draw: int, *, series: bool) -> tuple[rrpolicy.Release, rrpolicy.Release]:
    """Release both months; in a series under one key."""
    toml = folder / "p.toml"
    toml.write_text(POLICY.format(series=f'[release]\nseries = "s{draw}"' if series else ""))
    found = []
    for month, people in enumerate(tables()):
        write(folder, people)
        out = folder / f"{draw}-{month}"
        rrpolicy.release(toml, out, key=folder / f"{draw}.key" if series else None)
        found.append(rrpolicy.open_release(out))
    return found[0], found[1]


@pytest.fixture
def office(tmp_path: Path) -> Path:
    rrpolicy.init_ledger(tmp_path / "releases.jsonl")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("series", "draws"), [(True, 60), (False, 12)], ids=["series", "anew"])
def test_standard_errors_are_those_of_repeated_draws(series, draws, office):
    """The squared standardised errors over draws are chi-squared; with the other releases' errors they are not."""
    truth = Counter(w for _, w in tables()[1])["part"] - Counter(w for _, w in tables()[0])["part"]
    right, naive = 0.0, 0.0
    for draw in range(draws):
        first, second = released(office, draw, series=series)
        stated = second.change_since(first, "work", unchanged=0.8)
        unstated = second.change_since(first, "work")
        error = stated.estimate[1] - truth
        right += (error / stated.se()[1]) ** 2
        naive += (error / unstated.se()[1]) ** 2
    assert 1e-6 < chi2.cdf(right, draws) < 1 - 1e-6
    if series:
        assert chi2.cdf(naive, draws) < 1e-6  # four fifths share their noise: the error is less than half as large
    else:
        assert naive == right


def test_the_variance_of_a_difference_is_that_of_enumeration():
    """Four people, one of whom changes, one cell: all draws of (person, value) in fractions."""
    keep, other = Fraction(3, 5), Fraction(1, 5)

    def weight(cell: int, u: int) -> Fraction:
        return ((1 if u == cell else 0) - other) / (keep - other)

    before, after = (0, 0, 1, 2), (0, 0, 1, 0)
    drawn = sorted({(i, v) for month in (before, after) for i, v in enumerate(month)})
    mean = square = Fraction(0)
    for shown in itertools.product(range(3), repeat=len(drawn)):
        of = dict(zip(drawn, shown, strict=True))
        chance = math.prod((keep if u == v else other for (_, v), u in of.items()), start=Fraction(1))
        change = sum(weight(0, of[i, v]) for i, v in enumerate(after)) - sum(
            weight(0, of[i, v]) for i, v in enumerate(before)
        )
        mean += chance * change
        square += chance * change**2
    assert mean == 1

    def of_one(v: int) -> Fraction:
        return sum(((keep if u == v else other) * weight(0, u) ** 2 for u in range(3)), Fraction(0)) - (v == 0)

    first, second = (sum(map(of_one, month), Fraction(0)) for month in (before, after))
    shared = sum((of_one(v) for v in (0, 0, 1)), Fraction(0))
    assert square - mean**2 == first + second - 2 * shared
    assert shared >= 0


def test_a_table_that_did_not_change_did_not_change(office):
    toml = office / "p.toml"
    toml.write_text(POLICY.format(series='[release]\nseries = "s"'))
    write(office, tables()[0])
    for version in ("1.0.0", "1.0.1"):
        toml.write_text(toml.read_text().replace("1.0.0", version))
        rrpolicy.release(toml, office / version, key=office / "s.key")
    first, second = (rrpolicy.open_release(office / version) for version in ("1.0.0", "1.0.1"))
    found = second.change_since(first, ["sex", "work"], unchanged=1)
    assert not found.estimate.any()
    assert not found.se().any()
    cautious = second.change_since(first, ["sex", "work"])
    assert not cautious.estimate.any()
    alone = second.crosstab(["sex", "work"]).se().reshape(-1)
    assert np.allclose(cautious.se(), np.sqrt(2) * alone)


def test_noise_is_shared_whatever_files_hold_the_table_and_columns_are_called(office):
    toml = office / "p.toml"
    coded = POLICY.replace('["F", "M"]', "[0, 1]").replace('["none", "part", "full"]', "[0, 1, 2]")
    toml.write_text(coded.format(series='[release]\nseries = "s"'))
    months = [[("FM".index(s), LABELS.index(w)) for s, w in month] for month in tables()]
    write(office, [(str(s), str(w)) for s, w in months[0]])
    rrpolicy.release(toml, office / "one", key=office / "s.key")
    codes = {"person": [f"P{i}" for i in range(N)]}
    codes |= {
        "sex": pa.array([s for s, _ in months[0]], pa.int32()),
        "work": pa.array([w for _, w in months[0]], pa.int8()),
    }
    pq.write_table(pa.table(codes), office / "people.parquet")
    toml.write_text(toml.read_text().replace("1.0.0", "1.1.0").replace("people.csv", "people.parquet"))
    toml.write_text(toml.read_text().replace("domain = [0, 1]", 'domain = [0, 1], release_as = "gender"'))
    rrpolicy.release(toml, office / "two", key=office / "s.key")

    one, two = (rrpolicy.open_release(office / name) for name in ("one", "two"))
    assert one.manifest.channel != two.manifest.channel
    change = two.change_since(one, "work", unchanged=1)
    assert not change.estimate.any()
    assert not change.se().any()
    assert "share their noise" in change.summary()


@pytest.mark.parametrize("kind", ["difference", "ratio", "trend"])
def test_releases_of_one_series_are_compared(kind, office, capsys):
    first, second = released(office, 0, series=True)

    found = rrpolicy.compare_estimates([first, second], lambda r: r.crosstab("work"), kind=kind)

    assert "share their noise" in found.summary()
    before, after = (r.crosstab("work").moment_estimate for r in (first, second))
    if kind == "difference":
        apart = [r.crosstab("work").se() for r in (first, second)]
        assert found.to_frame()["estimate"].tolist() == pytest.approx((after - before).tolist())
        assert found.to_frame()["se"].tolist() == pytest.approx(np.hypot(*apart).tolist())
    if kind == "ratio":
        assert found.to_frame()["estimate"].tolist() == pytest.approx((after / before).tolist())
    sql = "SELECT work, count(*) FROM release GROUP BY work"
    assert main(["estimate", "compare", str(office / "0-0"), str(office / "0-1"), "--query", sql, "--kind", kind]) == 0
    assert "share their noise" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("kind", ["difference", "ratio", "trend"])
def test_releases_of_people_with_several_records_are_compared_by_their_tables(kind, office, capsys):
    toml, (people, _) = office / "p.toml", tables()
    several = POLICY.replace('uri = "people.csv"', 'uri = "people.csv"\nmax_records = 2').replace("= 9", "= 20")
    for name, policy, table in (("one", POLICY, people), ("two", several, [*people, *people[:20]])):
        toml.write_text(policy.format(series=""))
        write(office, table)
        rrpolicy.release(toml, office / name)
    sql = "SELECT work, count(*) FROM release GROUP BY work"
    asked = ["estimate", "compare", str(office / "one"), str(office / "two"), "--query", sql, "--kind", kind]

    assert main([*asked, "--json"]) == 0

    row = json.loads(capsys.readouterr().out)["rows"][0]
    one, two = (rrpolicy.open_release(office / name).crosstab("work") for name in ("one", "two"))
    if kind == "difference":
        assert row["se"] == pytest.approx(math.hypot(one.se()[0], two.se()[0]))
    assert main([*asked, "--population"]) == 2
    assert "RR247" in capsys.readouterr().err


@pytest.mark.slow
def test_differences_within_a_series_are_never_said_to_be_more_certain_than_they_are(office):
    """Standard errors allow for any shared noise; those of draws that are all shared are refuted."""
    truth = Counter(w for _, w in tables()[1])["part"] - Counter(w for _, w in tables()[0])["part"]
    squares, shared = 0.0, 0.0
    draws = 40
    for draw in range(draws):
        first, second = released(office, draw, series=True)
        found = rrpolicy.compare_estimates([first, second], lambda r: r.crosstab("work"))
        row = found.to_frame().iloc[1]
        squares += ((row["estimate"] - truth) / row["se"]) ** 2
        one, other = (r.crosstab("work").se()[1] for r in (first, second))
        shared += ((row["estimate"] - truth) / max(abs(one - other), 1.0)) ** 2
    assert chi2.cdf(squares, draws) < 1 - 1e-6
    assert chi2.cdf(shared, draws) > 1 - 1e-6


def test_averages_within_a_series_can_have_errors_of_opposite_signs(office):
    """Where everyone's work is reversed and released as it is, the later share is one less the earlier: twice its error."""
    released_unchanged = (
        POLICY.replace("epsilon = 9", 'epsilon = 9\nscope = "attribute"')
        .replace('work = "3/5"', "")
        .replace('sex = "4/5",', 'sex = "4/5"')
        .replace('role = "sensitive"', 'role = "insensitive", unchanged = "everybody sees it"')
    )
    reversed_work = {"part": "full", "full": "part"}
    months = [[("FM"[i % 2], ("part", "full")[(i // 2) % 2]) for i in range(N)]]
    months.append([(sex, reversed_work[work]) for sex, work in months[0]])
    for name, people in zip(("one", "two"), months, strict=True):
        (office / "p.toml").write_text(released_unchanged.format(series='[release]\nseries = "s"'))
        write(office, people)
        rrpolicy.release(office / "p.toml", office / name, key=office / "s.key")
    one, two = (rrpolicy.open_release(office / name) for name in ("one", "two"))
    sql = "SELECT sex, count(*) FILTER (WHERE work = 'part') / count(*) AS s FROM release GROUP BY sex"

    alone, found = one.query(sql).to_frame(), rrpolicy.compare_estimates([one, two], sql).to_frame()

    assert found["s"].tolist() == pytest.approx((1 - 2 * alone["s"]).tolist())
    assert found["s_se"].tolist() == pytest.approx((2 * alone["s_se"]).tolist())


def test_counts_of_sets_are_compared_with_counts_of_generalised_records(office):
    """Both orders: the sets' table keeps an axis for what the condition names."""
    write(office, tables()[0])
    quasi = POLICY[: POLICY.index("[[privacy]]")].replace("{{", "{").replace("}}", "}")
    kinds = {
        "sets": 'model = "l-diversity"\nkind = "frequency"\nl = 2\n[mechanism]\nname = "sensitive-addition"\n',
        "classes": 'model = "k-anonymity"\nk = 5\n[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n',
    }
    for name, rest in kinds.items():
        (office / "p.toml").write_text(f"{quasi}[[privacy]]\n{rest}")
        rrpolicy.release(office / "p.toml", office / name)
    sets, classes = (rrpolicy.open_release(office / name) for name in kinds)
    counted = [r.crosstab("sex", "work = 'part'") for r in (sets, classes)]
    before, after = (table.moment_estimate.reshape(-1) for table in counted)

    found = classes.change_since(sets, "sex", "work = 'part'")

    assert found.estimate.tolist() == pytest.approx((after - before).tolist())
    assert found.se().tolist() == pytest.approx(counted[0].se().reshape(-1).tolist())
    assert len(found.to_dict()["rows"]) == 2
    assert sets.change_since(classes, "sex", "work = 'part'").estimate.tolist() == pytest.approx(
        (before - after).tolist()
    )


def test_what_is_said_and_refused(office, capsys):
    first, second = released(office, 0, series=True)
    other, _ = released(office, 1, series=False)
    stated = second.change_since(first, "work", unchanged=0.8)
    assert "at least 0.8 of the 300 people" in stated.summary()
    assert "how many people are unchanged was not stated" in second.change_since(first, "work").summary()
    assert "drawn independently" in second.change_since(other, "work", unchanged=0.8).summary()
    assert stated.to_dict()["schema"] == "rrpolicy.change/1"
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(PolicyError, match="RR501"):
            second.change_since(first, "work", unchanged=share)
    with pytest.raises(PolicyError, match="records at most are the same in both releases"):
        second.change_since(first, "work", unchanged=1)
    assert "exact" not in stated.summary().splitlines()[0]
    with pytest.raises(PolicyError, match="RR271"):
        stated.se("population")

    base = ["estimate", str(office / "0-1"), "--since", str(office / "0-0"), "--by", "work"]
    assert main([*base, "--unchanged", "0.8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["estimate"] for row in told["rows"]] == pytest.approx(stated.estimate.tolist())
    assert main([*base, "--where", "sex = 'F'"]) == 0
    assert "Estimated changes of counts" in capsys.readouterr().out
    assert main([*base, "--population"]) == 2
    assert main(["estimate", str(office / "0-1"), "--unchanged", "0.8"]) == 2
