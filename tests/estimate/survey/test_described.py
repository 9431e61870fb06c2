"""What a policy says of the design reaches whoever opens the release."""

from __future__ import annotations

import json

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


def test_a_weight_is_released_as_it_is_decimals_and_all(released):
    import pyarrow.parquet as pq

    table = sample()
    data = pq.read_table(released(table).data.paths[0])
    assert sorted(data["weight"].to_pylist()) == sorted(table["weight"])
