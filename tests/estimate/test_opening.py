"""Opening a release: what is refused, with its code, and that no plugin is loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from rrpolicy.canonical_json import record_digest
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release


@pytest.fixture
def folder(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    rows = {"sex": list("FFMMFM"), "hours": [1, 2, 3, 4, 5, 6]}
    return publish([sex], rows, carried=[made.column("hours", (), "carried", "BIGINT")])


@pytest.fixture
def edit(made):
    def change(folder, **changes):
        path = folder / "release.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        made.seal(folder)

    return change


def test_the_bundle_and_its_public_folder_are_the_same(folder):
    assert open_release(folder).crosstab("sex").to_dict() == open_release(str(folder.parent)).crosstab("sex").to_dict()


def test_names_and_groups_that_do_not_exist(folder):
    release = open_release(folder)

    assert release.domain("SEX") == ("F", "M")
    for by, code in [(["sx"], "RR262"), (["hours"], "RR263"), (["sex", "sex"], "RR263")]:
        with pytest.raises(PolicyError, match=code):
            release.crosstab(by)
    for options in ({"target": "sample"}, {"level": 95}):
        with pytest.raises(PolicyError, match="RR271"):
            release.crosstab("sex", **options)


def test_the_original_name_leads_to_the_released_one(folder, edit):
    document = json.loads((folder / "release.json").read_text())
    document["tables"][0]["columns"][0]["attribute"] = "gender"
    edit(folder, **document)

    with pytest.raises(PolicyError, match="RR262") as caught:
        open_release(folder).crosstab("gender")

    assert caught.value.problems[0].hint == "did you mean 'sex'?"


def test_a_column_that_is_far_off_is_not_suggested(folder):
    with pytest.raises(PolicyError, match="RR262") as caught:
        open_release(folder).crosstab("fathsex")

    assert (caught.value.problems[0].hint or "").startswith("released are 'sex'")


def test_what_is_no_release_is_refused(folder, tmp_path, edit):
    with pytest.raises(PolicyError, match="RR260"):
        open_release(tmp_path)
    edit(folder, schema="rrpolicy.release/2")
    with pytest.raises(PolicyError, match="RR261"):
        open_release(folder)
    edit(folder, schema="rrpolicy.release/1", decoders=[{"attributes": ["sex"]}])
    with pytest.raises(PolicyError, match="RR260"):
        open_release(folder)
    (folder / "release.json").write_text("[")
    with pytest.raises(PolicyError, match="RR260"):
        open_release(folder)


@pytest.mark.parametrize("path", ["../data.parquet", "/etc/passwd", "gone.parquet"])
def test_the_data_are_looked_for_in_the_folder_alone(folder, path, edit):
    (folder.parent / "data.parquet").write_bytes((folder / "data.parquet").read_bytes())
    edit(
        folder,
        data={
            "format": "parquet",
            "csv_formulas": "escape",
            "rows_per_file": None,
            "tables": {"data": {"files": [path], "rows": 6, "digest": f"sha256:{'0' * 64}"}},
        },
    )

    with pytest.raises(PolicyError, match=r"RR260|RR269"):
        open_release(folder)


def test_a_type_that_is_no_type_never_reaches_a_query(folder, edit):
    document = json.loads((folder / "release.json").read_text())
    document["tables"][0]["columns"][0]["type"] = "VARCHAR) FROM x --"
    edit(folder, **document)

    with pytest.raises(PolicyError, match="RR260"):
        open_release(folder)


@pytest.mark.parametrize(("key", "value"), [("name", "se\0x"), ("labels", ["F\0", "M"]), ("kind", "table")])
def test_a_column_that_no_engine_can_hold_never_reaches_a_query(folder, key, value, edit):
    document = json.loads((folder / "release.json").read_text())
    document["tables"][0]["columns"][0][key] = value
    edit(folder, **document)

    with pytest.raises(PolicyError, match="RR260"):
        open_release(folder)


def test_data_unlike_the_manifest_are_found(folder, edit):
    edit(folder, records=7)
    with pytest.raises(PolicyError, match="RR269"):
        open_release(folder).crosstab("sex")
    document = json.loads((folder / "release.json").read_text())
    document["decoders"][0]["labels"] = [["F"], ["X"]]
    edit(folder, **document)
    with pytest.raises(PolicyError, match="RR269"):
        open_release(folder).crosstab("sex")
    (folder / "data.parquet").write_bytes(b"PAR1")
    edit(folder)
    with pytest.raises(PolicyError, match="RR269"):
        open_release(folder).crosstab("sex")


def test_what_was_changed_after_the_release_is_never_read(folder):
    data, manifest = folder / "data.parquet", folder / "release.json"
    for path, change in ((data, b"\0"), (manifest, b" ")):
        before = path.read_bytes()
        path.write_bytes(before + change if path == data else before.replace(b"a test", b"a text"))
        with pytest.raises(PolicyError, match="RR284") as caught:
            open_release(folder)
        assert path.name in caught.value.problems[0].message
        assert open_release(folder, verify=False).records == 6
        path.write_bytes(before)
    document = json.loads(manifest.read_text())
    del document["files"]["data.parquet"]
    manifest.write_text(json.dumps(document | {"digest": record_digest(document)}))
    with pytest.raises(PolicyError, match="RR284"):
        open_release(folder)


EXTRAS = (
    "CREATE VIEW more AS SELECT 1",
    "CREATE MACRO more(x) AS x + 1",
    "CREATE MACRO more(x) AS TABLE SELECT x",
    "CREATE TABLE more (x INTEGER)",
    "CREATE SCHEMA more",
    "CREATE SEQUENCE more",
    "CREATE TYPE more AS ENUM ('a')",
    "CREATE INDEX more ON data (sex)",
    "COMMENT ON TABLE data IS 'more'",
    "COMMENT ON COLUMN data.sex IS 'more'",
    "ALTER TABLE data ALTER sex SET DEFAULT 'F'",
    "ALTER TABLE data ALTER sex SET NOT NULL",
    "ALTER TABLE data RENAME TO other; CREATE VIEW data AS FROM other",
    "ALTER TABLE data RENAME TO other; CREATE TABLE data AS FROM other; DROP TABLE other; ALTER TABLE data ADD x INTEGER",
)


@pytest.mark.parametrize("statements", EXTRAS)
def test_a_database_holds_the_promised_table_and_nothing_else(publish, made, statements):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    folder = publish([sex], {"sex": list("FFM")}, "duckdb")
    assert open_release(folder).crosstab("sex").records == 3
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(statements)
    made.seal(folder)
    with pytest.raises(PolicyError, match="RR269"):
        open_release(folder).crosstab("sex")


def test_tables_that_this_version_does_not_know_are_refused(folder, made):
    document = json.loads((folder / "release.json").read_text())
    document["tables"][0]["name"] = "rows"
    document["data"]["tables"] = {"rows": document["data"]["tables"]["data"]}
    (folder / "release.json").write_text(json.dumps(document))
    made.seal(folder)
    with pytest.raises(PolicyError, match="RR270: the release has the tables rows; .*update rrpolicy"):
        open_release(folder)


def test_values_of_another_type_or_combination_are_found(publish, made):
    rows = [["8/10", "1/10", "1/10"], ["1/10", "8/10", "1/10"], ["1/10", "1/10", "8/10"]]
    pair = made.coupled(["p", "q"], [["u", 1], ["u", 2], ["w", 1]], rows)
    strange = open_release(publish([pair], {"p": ["u", "w"], "q": [1, 2]}, name="strange"))
    with pytest.raises(PolicyError, match="RR269.*p, q contain a combination outside their domain"):
        strange.crosstab(["p", "q"])
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    frame = open_release(publish([sex], {"sex": ["F", "X"]}, name="frame"))
    with pytest.raises(PolicyError, match="RR269.*'sex' contains values outside its domain"):
        frame.to_pandas()
    level = made.retention("level", ("low", "high"), [((0, 1), "4/5")])
    level.columns[0]["type"] = "BIGINT"
    typed = open_release(publish([level], {"level": [1, 2]}, name="typed"))
    with pytest.raises(PolicyError, match="RR269.*'level' is of another type"):
        typed.crosstab("level")


def test_a_folder_with_glob_characters_is_only_a_folder(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    for file_format in ("parquet", "csv", "duckdb"):
        folder = publish([sex], {"sex": list("FFM")}, file_format, name=f"it's [a]* {file_format}")

        assert open_release(folder).crosstab("sex").estimate.sum() == pytest.approx(3)


def test_tables_too_large_are_refused_with_advice(publish, made):
    wide = [made.identity(f"a{i}", [f"v{j}" for j in range(300)]) for i in range(3)]
    release = open_release(publish(wide, {f"a{i}": ["v0", "v1"] for i in range(3)}))

    with pytest.raises(PolicyError, match="RR268") as caught:
        release.crosstab(["a0", "a1", "a2"])
    with pytest.raises(PolicyError, match="RR268"):
        release.crosstab(["a0", "a1"]).covariance()

    assert "fewer columns" in str(caught.value.problems[0].hint)
    assert release.crosstab(["a0", "a1"]).estimate.sum() == 2
    assert np.count_nonzero(release.crosstab(["a0"], where="a2 = 'v1'").estimate) == 1


def test_no_plugin_is_loaded(folder):
    code = (
        "import sys; from rrpolicy.estimate.opening import open_release; "
        f"open_release({str(folder)!r}).crosstab('sex').to_dict(); "
        "print([m for m in sys.modules if m.startswith('rrpolicy_') or m == 'pluggy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
