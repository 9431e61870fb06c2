"""What a policy says of the design reaches whoever opens the release."""

from __future__ import annotations

import json
from itertools import product

import pytest

from .conftest import sample

DESIGN = {"region": "stratum", "village": "cluster", "weight": "weight"}


def test_the_design_stands_in_every_description(released):
    release = released(sample())
    told = {a.name: a.design for a in release.manifest.attributes if a.design}
    package = json.loads((release.folder / "datapackage.json").read_text())
    croissant = json.loads((release.folder / "croissant.json").read_text())
    fields = {f["name"]: f["rrpolicy"].get("design") for f in package["resources"][0]["schema"]["fields"]}
    said = {f["name"]: f["description"] for f in croissant["recordSet"][0]["field"]}

    assert told == DESIGN
    assert {name: part for name, part in fields.items() if part} == DESIGN
    assert said["weight"].endswith("survey weight")
    assert "insensitive (cluster of the survey)" in (release.folder / "report.html").read_text()


def test_known_totals_of_the_policy_calibrate_everybodys_estimates(released):
    changes = {'domain = ["F", "M"]': 'domain = ["F", "M"], totals = [1_400, 1_300.5]'}
    release = released(sample(), {"sex": "9/10", "ill": "4/5"}, changes)

    assert release.design.totals == {"sex": {"F": 1400.0, "M": 1300.5}}
    assert release.crosstab("sex").estimate == pytest.approx([1400, 1300.5])
    assert release.crosstab("ill").estimate.sum() == pytest.approx(2700.5)
    stated = release.without_design().with_design(
        weight="weight", strata="region", clusters="village", totals={"sex": {"F": 1400, "M": 1300.5}}
    )
    assert release.mean("income", "ill").se() == pytest.approx(stated.mean("income", "ill").se())


def test_known_totals_have_no_errors(released):
    """Rounding makes their variance negative by a last digit."""
    release = released(sample(2, villages=5, people=16), {"sex": "83/97"}).without_design()

    for women, by in product((900, 1400, 1234, 777), ([], ["sex"])):
        table = release.with_design(totals={"sex": {"F": women, "M": 1300}}).crosstab(by)
        assert table.estimate.sum() == pytest.approx(women + 1300)
        assert table.se("table") == pytest.approx(0, abs=1e-4)
        assert table.se("population") == pytest.approx(0, abs=1e-4)
        assert not any(row["flags"] for row in table.to_dict()["rows"])


def test_a_weight_is_released_as_it_is_decimals_and_all(released):
    import pyarrow.parquet as pq

    table = sample()
    data = pq.read_table(released(table).data.paths[0])
    assert sorted(data["weight"].to_pylist()) == sorted(table["weight"])
