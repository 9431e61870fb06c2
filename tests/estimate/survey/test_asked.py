"""What is asked of a release with a design: by default of the population, from the command line too, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.survey import sums
from rrpolicy.frozen import replace

from .conftest import sample

ROOT = Path(__file__).resolve().parents[3]
KEEP = {"sex": "9/10", "ill": "4/5", "visits": "4/5"}

AS_QUASI_IDENTIFIERS = {
    'region = { role = "insensitive"': 'region = { role = "quasi-identifier"',
    'village = { role = "insensitive", design = "cluster", unchanged = "so" }': 'village = { role = "quasi-identifier", '
    f'domain = {sorted(sample()["village"].unique().tolist())}, design = "cluster" }}',
}


@pytest.fixture(scope="module")
def release(released_once):
    return released_once(sample(), KEEP)


def refusal(question, *arguments, **keys):
    with pytest.raises(PolicyError) as caught:
        question(*arguments, **keys)
    return caught.value.problems[0]


def test_the_population_is_spoken_of_by_default_and_the_table_when_asked(release):
    table = release.crosstab("ill", target="table")
    people = release.crosstab("ill")

    assert people.target == "population"
    assert people.estimate == pytest.approx(table.estimate)
    assert not np.isclose(people.se(), table.se()).any()
    assert people.estimate.sum() == pytest.approx(sample()["weight"].sum())
    assert release.without_design().crosstab("ill").target == "table"


def test_people_are_less_certain_than_the_table_where_nothing_was_drawn(released_once):
    """Where something was, the sample's own part is an estimate, which some draws leave below 0."""
    exact = released_once(sample(), dict.fromkeys(KEEP, "1"))

    assert not exact.crosstab("ill", target="table").se().any()
    assert (exact.crosstab("ill").se() > 0).all()


def test_a_cube_sums_to_its_margins(release):
    cube = release.cube(["ill", "sex"])
    assert cube.table("ill").estimate == pytest.approx(cube.table("ill", "sex").estimate.sum(axis=1))
    assert cube.table().estimate == pytest.approx(sample()["weight"].sum())


def test_intervals_are_students(release):
    from scipy.stats import t

    found = release.mean("income")
    assert found.sample.degrees == 33
    low, high = found.conf_int()[0]
    assert (high - low) / 2 / found.se()[0] == pytest.approx(t.ppf(0.975, 33), rel=1e-3)  # Fieller's is not symmetric


def test_what_is_printed_says_what_it_is_of(release):
    text = release.crosstab("ill").summary()
    assert "people of the population (sample and randomisation are random)" in text
    assert "weighted by weight; strata by region; clusters by village" in text
    assert "truncated at 0" in text
    assert release.crosstab("ill").to_dict()["design"].startswith("weighted by weight")
    assert "design" not in release.without_design().crosstab("ill").to_dict()


def test_measures_of_association_have_the_errors_of_the_design(release):
    found = release.association("sex", "ill", "phi")
    assert found.estimator == ("moment",)
    assert "linearised" in found.flags[0]
    table = release.crosstab(["sex", "ill"])

    def phi(counts):
        a, b, c, d = counts / counts.sum()
        return (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))

    counts = table.estimate.reshape(-1)
    slope = np.array([(phi(counts + step) - phi(counts - step)) / 2 for step in np.eye(4)])
    assert found["phi"] == pytest.approx(phi(counts))
    assert found.se()[0] == pytest.approx(np.sqrt(slope @ table.covariance() @ slope), rel=1e-4)


def test_independence_is_tested_by_the_design(release):
    found, plain = release.independence("sex", "ill"), release.without_design().independence("sex", "ill")

    assert "Rao and Scott" in found.method
    assert found.df == pytest.approx(1)
    assert found.df_error == pytest.approx(33)
    assert "clusters by village" in found.summary()
    assert found.to_dict()["design"] == found.sample.description
    assert "released" in plain.method
    assert plain.to_dict()["df_error"] is None
    assert release.independence("sex", "visits", "ill = 'yes'").df_error < 3 * 33
    assert refusal(release.independence, "sex", "ill", method="exact").code == "RR276"


@pytest.mark.parametrize("totals", [None, {"sex": {"F": 1400, "M": 1300}}])
def test_replicate_weights_leave_out_clusters(release, totals):
    """Of counts their variance is the design's, to the last digit; of a share it is the jackknife's."""
    release = release.with_design(totals=totals)
    found, table = release.replicates(["sex", "ill"]), release.crosstab(["sex", "ill"])
    (row,) = release.query("SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release").to_dict()["rows"]
    yes = np.array([key["ill"] == "yes" for key in found.keys])

    assert found.replicates.shape == (4, 36)
    assert found.weights == pytest.approx(table.estimate.reshape(-1))
    for i in range(4):
        assert found.variance(lambda w, i=i: w[i]) == pytest.approx(table.se().reshape(-1)[i] ** 2)
    assert found.variance(lambda w: w[yes].sum() / w.sum()) == pytest.approx(row["se"] ** 2, rel=0.02)


@pytest.mark.parametrize(
    "question",
    [
        lambda r: r.crosstab("ill", estimator="em"),
        lambda r: r.independence("sex", "ill", method="wald"),
        lambda r: r.independence("sex", "dice", method="released"),
        lambda r: r.loglinear("sex*ill"),
        lambda r: r.without_design().with_design(weight="weight").replicates("ill"),
        lambda r: r.rules(0.1, 0.1),
        lambda r: r.change_since(r, "ill"),
        lambda r: r.bootstrap(lambda one: one.crosstab("ill"), 50),
        lambda r: r.association("sex", "ill", deflate=True),
    ],
)
def test_what_knows_no_design_is_refused_and_answered_without(release, question):
    assert refusal(question, release).code == "RR548"


def test_a_stratum_with_one_cluster_is_refused_or_centred(released_once):
    table = sample()
    release = released_once(table[(table["region"] != "west") | (table["village"] == 203)])

    found = refusal(lambda: release.crosstab("ill").se())
    assert (found.code, found.message[:33]) == ("RR546", "a stratum has one cluster alone, ")
    assert (release.with_design(alone="centred").crosstab("ill").se() > 0).all()


def test_randomised_clusters_are_refused_before_the_release_and_after(release, released_once):
    found = refusal(released_once, sample(), {"village": "3/4"}, AS_QUASI_IDENTIFIERS)
    assert found.code == "RR146"
    assert found.place.key == "attributes.village.design"

    assert refusal(release.with_design, clusters="ill").code == "RR545"


def test_clusters_that_an_older_release_randomised_are_refused(release):
    known = replace(release, design=replace(release.design, randomised_clusters=("village",)))
    found = refusal(known.crosstab, "ill")
    assert (found.code, "'village'" in found.message) == ("RR545", True)


def test_too_many_groups_for_a_design_are_refused(release, monkeypatch):
    monkeypatch.setattr(sums, "MOST", 4)
    assert refusal(release.crosstab, ["ill", "visits"]).code == "RR268"
    assert len(release.crosstab("ill").estimate) == 2


@pytest.mark.parametrize(
    ("keep", "told"), [("1", "a category has a known total and nobody in the sample"), ("9/10", "are negative")]
)
def test_known_totals_of_nobody_calibrate_nothing(made, publish, keep, told):
    """Where columns were randomised the corrected number of a category that nobody released is negative."""
    axes = [
        made.retention("sex", ["F", "M"], [((0, 1), keep)]),
        made.retention("ill", ["no", "yes"], [((0, 1), "4/5")]),
    ]
    rows = {"sex": ["F"] * 40, "ill": ["no", "yes"] * 20}
    release = rrpolicy.open_release(publish(axes, rows))
    found = refusal(release.with_design(totals={"sex": {"F": 100, "M": 50}}).crosstab, "ill")
    assert found.code == "RR547"
    assert told in found.message


def test_randomised_strata_are_left_out_of_errors_and_a_note_says_so(released_once):
    known = released_once(sample(), {"region": "3/4"}, dict([next(iter(AS_QUASI_IDENTIFIERS.items()))]))
    found = known.mean("income")
    assert "strata by" not in found.sample.description
    assert any("region" in note and "somewhat too large" in note for note in found.notes)


def test_a_weight_in_bins_without_labels_counts_by_their_middles(released_once):
    table = sample()
    rounded = {
        'design = "weight", assume_unlinkable = "so"': 'design = "weight", bins = [0, 5, 10, 15], unchanged = "so"'
    }
    found = released_once(table, None, rounded).crosstab("ill")
    size = 2.5 + 5 * (table["weight"] // 5)
    assert found.estimate == pytest.approx([size[table["ill"] == v].sum() for v in ("no", "yes")])


def test_a_weight_in_bins_counts_by_its_labels(released_once):
    changes = {
        'weight = { role = "insensitive", design = "weight", assume_unlinkable = "so" }': "weight = { role = "
        '"insensitive", design = "weight", bins = [0, 6, 9, 20], labels = ["4.5", "7.5", "11"], unchanged = "so" }'
    }
    table = sample()
    size = np.select([table["weight"] < 6, table["weight"] < 9], [4.5, 7.5], 11.0)
    found = released_once(table, None, changes).crosstab("ill")
    assert found.estimate == pytest.approx([size[table["ill"] == v].sum() for v in ("no", "yes")])


@pytest.mark.parametrize(
    ("totals", "told"),
    [
        ({"sex": {"F": 10}}, "differ in 'M'"),
        ({"sex": {"F": 10, "M": 5, "X": 1}}, "differ in 'X'"),
        ({"sex": {"F": 10, "M": -1}}, "are not numbers of people"),
        ({"sex": {"F": 10, "M": 5}, "ill": {"no": 10, "yes": 6}}, "populations of different sizes: sex 15, ill 16"),
    ],
)
def test_totals_that_do_not_fit_are_refused(release, totals, told):
    found = refusal(release.with_design, totals=totals)
    assert found.code == "RR547"
    assert told in found.message


def test_calibrated_estimates_have_the_known_totals_without_error(release):
    known = {"sex": {"F": 1400, "M": 1300}, "region": {"north": 600, "south": 900, "west": 1200}}
    calibrated = release.with_design(totals=known)

    for name, totals in known.items():
        table = calibrated.crosstab(name)
        assert table.estimate == pytest.approx(list(totals.values()))
        assert table.se() == pytest.approx(np.zeros(len(totals)), abs=1e-4)


def bundle(release):
    return str(release.folder.parent)


def run(capsys, *arguments):
    status = main([str(a) for a in arguments])
    return status, capsys.readouterr()


def test_the_command_line_takes_the_design_of_the_release_and_others(release, capsys, tmp_path):
    def rows(*more):
        status, printed = run(capsys, "estimate", bundle(release), "--by", "ill", "--json", *more)
        assert status == 0, printed.err
        return json.loads(printed.out)

    totals = tmp_path / "totals.csv"
    totals.write_text("column,category,total\nsex,F,1400\nsex,M,1300\n")
    found, plain = rows(), rows("--design", "none")
    weighted, calibrated = rows("--design", "none", "--design", "weight=weight"), rows("--design", f"totals={totals}")

    assert (found["target"], plain["target"]) == ("population", "table")
    assert sum(r["estimate"] for r in plain["rows"]) == pytest.approx(432)
    assert found["design"] != weighted["design"]
    assert [r["estimate"] for r in weighted["rows"]] == pytest.approx([r["estimate"] for r in found["rows"]])
    assert sum(r["estimate"] for r in calibrated["rows"]) == pytest.approx(2700)


@pytest.mark.parametrize(
    ("part", "code"),
    [("weigth=weight", "RR250"), ("weight=", "RR250"), ("totals=nowhere.csv", "RR547"), ("weight=region", "RR545")],
)
def test_a_part_that_is_none_is_refused(release, capsys, part, code):
    status, printed = run(capsys, "estimate", bundle(release), "--design", part)
    assert status != 0
    assert code in printed.err


def test_a_weight_is_stated_once(release, capsys):
    status, printed = run(capsys, "estimate", bundle(release), "--design", "weight=weight", "--design", "weight=other")
    assert status == 2
    assert "RR250 --design states one weight, one file of totals and one `alone`" in printed.err


def test_every_command_of_analysis_takes_a_design(release, capsys):
    for command in (
        ["estimate", "query", bundle(release), "SELECT ill, count(*) FROM release GROUP BY ill"],
        ["estimate", "glm", bundle(release), "ill ~ sex", "--family", "binomial"],
        ["estimate", "association", bundle(release), "sex", "ill", "--measure", "phi"],
        ["estimate", "independence", bundle(release), "sex", "ill"],
        ["estimate", "loglinear", bundle(release), "sex*ill", "--design", "none"],
        ["estimate", "rules", bundle(release), "--min-support", "0.1", "--min-confidence", "0.5", "--design", "none"],
    ):
        status, printed = run(capsys, *command)
        assert status == 0, printed.err
        assert ("weighted by weight" in printed.out) == ("none" not in command)


@pytest.mark.parametrize(
    ("policy", "column", "code"),
    [("anatomy", "income_band", "RR288"), ("sensitive-addition", "disease", "RR545")],
)
def test_what_is_dealt_or_in_sets_is_refused_and_what_stands_beside_it_answered(policy, column, code, tmp_path):
    rrpolicy.release(ROOT / "policies" / f"{policy}.toml", tmp_path / "bundle")
    release = rrpolicy.open_release(tmp_path / "bundle").with_design(strata="region")

    assert release.crosstab("sex").estimate.sum() == pytest.approx(50_000)
    assert refusal(release.crosstab, column).code == code
    assert refusal(release.crosstab, ["sex", column]).code == code
    assert release.without_design().crosstab(column).target == "table"


def test_generalised_columns_are_weighed_by_their_labels(made, publish):
    rows = {"town": ["A", "BC", "BC", "A"], "w": [1.5, 2.0, 4.0, 1.0]}
    folder = publish(
        [made.recoded("town", {"A": ["A"], "BC": ["B", "C"]})],
        rows,
        carried=[made.column("w", (), "carried", "DOUBLE")],
    )
    release = rrpolicy.open_release(folder).with_design(weight="w")

    assert release.crosstab("town").estimate.tolist() == [2.5, 6.0]
    assert refusal(release.crosstab, "town", spread=True).code == "RR288"


def test_of_a_single_cluster_nothing_is_tested(released_once):
    """Its residuals are rounding: they showed a difference beyond all doubt."""
    release = released_once(sample(), {"sex": "9/10", "ill": "4/5"})
    test = release.independence("sex", "ill", where="village = 3")
    assert np.isnan(test.p_value)
    for question in (
        lambda r: r.mean("income", by="sex", where="village = 3"),
        "SELECT sex, count(*) FILTER (WHERE ill = 'yes') / count(*) AS s FROM release WHERE village = 3 GROUP BY sex",
    ):
        said = release.pairwise(question).summary()
        assert "<0.001" not in said
        assert "is shown to be larger" not in said


def test_means_of_stated_numbers_know_the_design(release):
    own = release.mean("visits", "sex")
    other = release.mean("visits", "sex", values={v: 10 - 3 * v for v in range(4)})

    assert other.estimate == pytest.approx(10 - 3 * own.estimate)
    assert other.se() == pytest.approx(3 * own.se())
    assert other.conf_int() == pytest.approx(10 - 3 * own.conf_int()[:, ::-1])
    assert "weighted by weight" in other.summary()
    ill = release.mean("ill", "sex", values={"no": 0, "yes": 1})
    shares = release.query("SELECT sex, count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release GROUP BY sex")
    assert ill.estimate == pytest.approx(shares.estimate[:, 0])
    assert ill.se() == pytest.approx(shares.se()[:, 0])


def test_bounds_of_bins_know_the_design(released):
    binned = {'income = { role = "insensitive", assume_unlinkable = "so" }': 'income = { role = "sensitive", '
              'bins = [-20, 15, 30, 90], unchanged = "so" }'}  # fmt: skip
    release = released(sample(), {"sex": "9/10"}, binned)
    found = release.mean("income", "sex")
    labels = release.domain("income")
    for side, edges in enumerate([(-20, 15, 30), (15, 30, 90)]):
        stated = release.mean("income", "sex", values=dict(zip(labels, edges, strict=True)))
        assert found.conf_int()[:, side] == pytest.approx(stated.conf_int()[:, side])
    assert found.target == "population"
    whole = release.mean("income")
    truth = np.average(sample()["income"], weights=sample()["weight"])
    assert whole.conf_int()[0, 0] <= truth <= whole.conf_int()[0, 1]
    assert "by lower edges" in whole.summary()
