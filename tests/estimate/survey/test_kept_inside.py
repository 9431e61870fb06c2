"""Weights that are used inside and not released, and weights that are rounded before anything sees them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import RRPolicyError
from rrpolicy.source.original import TableOriginal
from tests.survey import waived

from .conftest import sample

WEIGHT = 'weight = { role = "insensitive", design = "weight", assume_unlinkable = "so" }'
INSIDE = {WEIGHT: 'weight = { role = "excluded", design = "weight" }'}
KEEP = {"sex": "9/10", "ill": "4/5"}


def code(question, *arguments, **keys):
    with pytest.raises(RRPolicyError) as caught:
        question(*arguments, **keys)
    return caught.value.problems[0].code


@pytest.fixture(scope="module")
def inside(released_once):
    return released_once(sample(), KEEP, INSIDE)


def test_nothing_of_the_weights_is_in_public(released):
    table = sample().assign(weight=lambda t: t["weight"] + 0.123457)
    inside = released(table, KEEP, INSIDE)
    for path in sorted(inside.folder.rglob("*")):
        if path.suffix in {".json", ".md", ".html", ".sql"}:
            text = path.read_text()
            assert '"weight"' not in text.replace('"survey weight"', "")
            assert not [w for w in table["weight"] if f"{w:.6f}" in text]
    assert "weight" not in pq.read_table(inside.data.paths[0]).column_names
    assert json.loads((inside.folder / "release.json").read_text())["weights_inside"] is True
    assert "the publisher kept these weights" in (inside.folder / "README.md").read_text().replace("\n", " ")


@pytest.mark.parametrize(
    "question",
    [
        lambda r, **more: r.crosstab("ill", **more),
        lambda r, **more: r.cube(["ill", "sex"], **more),
        lambda r, **more: r.mean("income", "ill", **more),
        lambda r, **more: r.association("sex", "ill", "phi", **more),
        lambda r, **more: r.query("SELECT ill, count(*) FROM release GROUP BY ill", **more),
        lambda r, **more: r.glm("ill ~ sex", "binomial", **more),
        lambda r, **more: r.rules(0.1, 0.1, **more),
        lambda r, **more: r.rule("sex = F -> ill = yes", **more),
        lambda r, **more: r.pairwise(lambda asked: asked.crosstab("ill", **more)),
    ],
)
def test_these_records_are_estimated_and_nothing_of_the_population(inside, question):
    found = question(inside)

    assert found.target == "table"
    assert "kept the survey's weights" in found.summary()
    assert any("no estimate describes the population" in note for note in found.to_dict()["notes"])
    assert code(question, inside, target="population") == "RR549"
    assert code(question, inside.without_design(), target="population") == "RR549"
    assert code(found.target_scope.of, "population") == "RR549"
    if hasattr(found, "to_frame"):
        found.to_frame()


@pytest.mark.parametrize(
    "question",
    [
        lambda r: r.independence("sex", "ill"),
        lambda r: r.loglinear("sex*ill"),
        lambda r: r.replicates(["sex"]),
        lambda r: r.with_design(strata="region"),
    ],
)
def test_what_speaks_of_the_population_alone_is_refused(inside, question):
    assert code(question, inside) == "RR549"


def test_known_totals_stand_in_for_weights(inside):
    calibrated = inside.with_design(totals={"sex": {"F": 1400, "M": 1300}})
    found = calibrated.crosstab("sex")

    assert found.estimate == pytest.approx([1400, 1300])
    assert any("totals replace" in note for note in found.notes)
    assert (
        found.sample.description
        == "records of equal weight; strata by region; clusters by village; calibrated to known totals of sex"
    )


def test_totals_of_the_policy_stand_in_too(released):
    changes = {**INSIDE, 'domain = ["F", "M"]': 'domain = ["F", "M"], totals = [1_400, 1_300]'}
    found = released(sample(), KEEP, changes).crosstab("sex")

    assert found.target == "population"
    assert found.estimate == pytest.approx([1400, 1300])
    assert any("totals replace" in note for note in found.notes)


def test_the_command_line_says_so(inside, capsys):
    bundle = str(inside.folder.parent)
    assert main(["estimate", bundle, "--by", "ill"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "kept the survey's weights" in printed
    assert "add --population" not in printed
    assert main(["estimate", bundle, "--by", "ill", "--population"]) != 0
    assert "RR549" in capsys.readouterr().err
    assert main(["verify", bundle]) == 0


def test_the_steward_is_told_how_far_off_the_unweighted_shares_are(inside):
    table = sample()
    plan = json.loads((inside.folder.parent / "audit" / "plan.json").read_text())
    (told,) = [r for r in plan["remarks"] if r["name"] == "survey-design"]
    off = {}
    for name in ("region", "sex", "ill", "visits"):
        weighted = table.groupby(name)["weight"].sum() / table["weight"].sum()
        off[name] = (weighted - table[name].value_counts(normalize=True)).abs()
    worst = max(off, key=lambda name: off[name].max())
    label = off[worst].idxmax()

    assert f"up to {100 * off[worst].max():.1f} percentage points ('{worst}', {label})" in told["text"]
    assert "percentage points" in (inside.folder.parent / "audit" / "report.html").read_text()
    assert "percentage points" not in (inside.folder / "report.html").read_text()


@pytest.mark.parametrize(("value", "found"), [(-1.0, "RR144"), (np.inf, "RR144"), (np.nan, "RR314")])
def test_weights_inside_are_held_to_what_weights_are(released, value, found):
    table = sample()
    table.loc[3, "weight"] = value
    assert code(released, table, KEEP, INSIDE) == found


def test_a_rounded_weight_is_a_multiple_and_nobody_loses_his(released):
    table = sample()
    table.loc[:2, "weight"] = [0.0, 0.4, 1e-9]
    rounding = {'design = "weight", assume_unlinkable': 'design = "weight", rounding = 2.5, assume_unlinkable'}
    release = released(table, None, rounding)
    weights = pq.read_table(release.data.paths[0])["weight"].to_numpy()
    expected = np.where(table["weight"] > 0, np.maximum(2.5, np.floor(table["weight"] / 2.5 + 0.5) * 2.5), 0)

    assert sorted(weights) == sorted(expected)
    assert release.crosstab("ill").estimate.sum() == pytest.approx(expected.sum())
    assert release.manifest.of_column["weight"].rounding == 2.5
    assert "multiples of 2.5" in (release.folder / "report.html").read_text()


def test_a_rounded_weight_is_assessed_as_rounded(released):
    """Without the assumption most records have a weight of their own, and are refused; rounded they are few classes."""
    own = {'assume_unlinkable = "so" }\nsex': 'unchanged = "so" }\nsex'}
    assert code(released, sample(), None, own) == "RR319"
    rounded = {**own, 'design = "weight"': 'design = "weight", rounding = 5'}
    assert len(set(pq.read_table(released(sample(), None, rounded).data.paths[0])["weight"].to_pylist())) <= 4


def test_an_engine_that_does_not_round_is_refused(released, monkeypatch):
    from rrpolicy.source.duckdb import snapshot

    monkeypatch.setattr(snapshot, "with_rounded_weights", lambda source, columns, reading: (source, columns))
    assert code(released, sample(), None, {'design = "weight"': 'design = "weight", rounding = 5'}) == "RR148"


@pytest.mark.parametrize("form", ["csv", "parquet", "counts"])
def test_every_way_to_read_a_table_rounds(released, tmp_path, form):
    table = sample().assign(dice="a")
    release = released(sample(), None, {'design = "weight"': 'design = "weight", rounding = 3'})
    policy = (release.folder.parents[1] / "policy.toml").read_text()
    source = tmp_path / f"t.{'csv' if form == 'csv' else 'parquet'}"
    if form == "csv":
        table.to_csv(source, index=False)
    elif form == "parquet":
        table.astype({"weight": "float32"}).to_parquet(source, index=False)
    else:
        table.value_counts().rename("many").reset_index().to_parquet(source, index=False)
        policy = policy.replace('uri = "memory:"', 'uri = "memory:"\nmultiplicity = "many"')
    (tmp_path / "policy.toml").write_text(policy.replace("memory:", source.name))
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    other = rrpolicy.open_release(tmp_path / "bundle")

    one, two = (pq.read_table(r.data.paths[0])["weight"].to_pylist() for r in (release, other))
    assert sorted(one) == sorted(two)


KEPT = """\
schema = 1
[policy]
name = "kept"
version = "1.0.0"
owner = "survey unit"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
ill = { role = "sensitive", domain = ["no", "yes"] }
weight = { role = "excluded", design = "weight" }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""


def kept(tmp_path, weights=(2, 3)):
    """Write a table of eighty people with these two weights in turn, and the policy; return both files."""
    rows = [f"{'fm'[i % 2]},{['no', 'yes'][i % 3 == 0]},{weights[i % 2]}" for i in range(80)]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["sex,ill,weight", *rows, ""]))
    (tmp_path / "kept.toml").write_text(KEPT)
    return tmp_path / "kept.toml", table


def test_the_tag_of_the_source_covers_weights_that_are_kept_inside(tmp_path, capsys):
    policy, table = kept(tmp_path)
    bundle, key = tmp_path / "bundle", tmp_path / "release.key"
    rrpolicy.release(policy, bundle, key=key)
    assert rrpolicy.verify(bundle, source=str(table), key=key).passed
    assert json.loads((bundle / "audit" / "audit.json").read_text())["source_tag"].startswith("hmac-sha256/2:")
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines[:5], lines[5].rpartition(",")[0] + ",2.0001", *lines[6:], ""]))

    found = rrpolicy.verify(bundle, source=str(table), key=key)
    assert not found.passed
    assert ("source tag", False) in {(check.name, check.passed) for check in found.checks}
    assert [w for w in rrpolicy.verify(bundle, source=str(table)).undecided if "only the key shows" in w]
    table.write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert main(["verify", str(bundle), "--source", str(table), "--key", str(key)]) != 0


def test_a_release_whose_tag_does_not_cover_its_weights_is_verified_by_the_law_of_its_day(tmp_path, monkeypatch):
    policy, table = kept(tmp_path)
    bundle, key = tmp_path / "bundle", tmp_path / "release.key"
    with monkeypatch.context() as patch:
        patch.setattr(TableOriginal, "inside", lambda _: None)
        rrpolicy.release(policy, bundle, key=key)
    assert json.loads((bundle / "audit" / "audit.json").read_text())["source_tag"].startswith("hmac-sha256:")

    assert rrpolicy.verify(bundle, source=str(table), key=key).passed


@pytest.mark.parametrize(
    ("role", "column"),
    [
        ("stratum", 'extra = { role = "insensitive", assume_unlinkable = "so", design = "stratum" }'),
        ("cluster", 'extra = { role = "insensitive", assume_unlinkable = "so", design = "cluster" }'),
        ("weight", 'extra = { role = "insensitive", assume_unlinkable = "so", design = "weight" }'),
        ("multiplicity", 'extra = { role = "excluded" }'),
        ("kept inside", 'extra = { role = "excluded", design = "weight" }'),
    ],
)
def test_every_role_of_a_column_that_a_release_reads_is_in_the_tag(tmp_path, role, column):
    policy, table = kept(tmp_path)
    text = KEPT.replace(KEPT.splitlines()[10], column)
    if role == "multiplicity":
        text = text.replace(column + "\n", "").replace("[attributes]", 'multiplicity = "extra"\n[attributes]')
    released = 'extra = { role = "insensitive"' in text
    policy.write_text(text + (waived("association/extra/sex", "association/extra/ill") if released else ""))
    table.write_text(table.read_text().replace("weight", "extra"))
    key, bundle = tmp_path / "release.key", tmp_path / "bundle"
    rrpolicy.release(policy, bundle, key=key)
    lines = table.read_text().splitlines()
    (first, second) = (i for i, line in enumerate(lines) if line in {lines[1], lines[2]} and i < 3)
    swapped = [
        lines[i].rpartition(",")[0] + "," + lines[j].rpartition(",")[2] for i, j in ((first, second), (second, first))
    ]
    table.write_text("\n".join([lines[0], *swapped, *lines[3:], ""]))

    try:
        failed = [
            check.name for check in rrpolicy.verify(bundle, source=str(table), key=key).checks if not check.passed
        ]
    except RRPolicyError as error:
        failed = [problem.code for problem in error.problems]
    assert failed


@pytest.mark.parametrize("part", ["stratum", "cluster"])
@pytest.mark.parametrize("spelled", ["R{:03}", "{}"])
def test_a_part_of_the_design_that_identifies_every_record_is_refused(tmp_path, part, spelled):
    policy, table = kept(tmp_path)
    column = f'weight = {{ role = "insensitive", assume_unlinkable = "so", design = "{part}" }}'
    policy.write_text(KEPT.replace(KEPT.splitlines()[10], column))
    header, *lines = table.read_text().splitlines()
    rows = [line.rpartition(",")[0] + "," + spelled.format(i) for i, line in enumerate(lines)]
    table.write_text("\n".join([header, *rows, ""]))
    with pytest.raises(RRPolicyError) as caught:
        rrpolicy.plan(policy)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place.key) == ("RR319", "attributes.weight")

    rows[-1] = rows[-1].rpartition(",")[0] + "," + rows[0].rpartition(",")[2]  # two records share one
    table.write_text("\n".join([header, *rows, ""]))
    assert rrpolicy.plan(policy).passed


def test_clusters_of_one_record_within_strata_are_a_point_that_needs_judgement(tmp_path):
    policy, table = kept(tmp_path)
    parts = ("stratum", "cluster")
    columns = [f'{p} = {{ role = "insensitive", assume_unlinkable = "so", design = "{p}" }}' for p in parts]
    policy.write_text(KEPT.replace(KEPT.splitlines()[10], "\n".join(columns)))
    rows = [f"{'fm'[i % 2]},{['no', 'yes'][i % 3 == 0]},{i % 4},{i // 4}" for i in range(80)]
    table.write_text("\n".join(["sex,ill,stratum,cluster", *rows, ""]))

    told = [str(remark) for remark in rrpolicy.plan(policy).plan.remarks]
    assert [text for text in told if "each of 80 records is a separate cluster" in text]
