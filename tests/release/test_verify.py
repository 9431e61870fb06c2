"""Verifying: what was written holds, and whatever is changed afterwards is found and named."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy import discovery
from rrpolicy.bundle import execute
from rrpolicy.bundle.execute import current_plan
from rrpolicy.canonical_json import pretty
from rrpolicy.frozen import replace
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.plugin_spec import Software
from rrpolicy.serialization import read
from rrpolicy.source.opening import open_original
from rrpolicy.verification.outcome import Log, VerificationLevel
from rrpolicy.verification.records import log_unreadable
from rrpolicy.verification.verify import verify

from .forging import fill_again, load, reseal_audit, reseal_public, rewrite

FORMATS = ("parquet", "csv", "duckdb")


def run(*arguments):
    from rrpolicy.cli.main import main

    return main([str(a) for a in arguments])


def codes(found):
    return {p.code for p in found.problems}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_every_level_holds(made, form, capsys):
    case = made(form)
    source = case.case.table
    assert run("verify", case.bundle / "public") == 0
    assert "verified at level public; undecided: " in capsys.readouterr().out.splitlines()[-1]
    assert run("verify", case.bundle) == 0
    assert "verified at level audit" in capsys.readouterr().out
    assert run("verify", case.bundle, "--source", source) == 0
    assert run("verify", case.bundle, "--source", source, "--strict") == 1
    capsys.readouterr()
    assert run("verify", case.bundle, "--source", source, "--key", case.key, "--strict") == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == "verified at level key; undecided: nothing"
    assert ("row for row" if form == "duckdb" else "byte for byte") in shown


def test_other_writers_are_compared_row_for_row(copied):
    case = copied("csv")

    def other(document):
        document["writers"]["pyarrow"] = "0.1"

    rewrite(case.bundle / "audit" / "audit.json", other)
    fill_again(case.bundle)
    found = verify(case.bundle, source=str(case.case.table), key=case.key)
    assert found.passed
    assert found.reproduced == "row for row"
    assert found.undecided == ("public/data.csv: its bytes were written by pyarrow 0.1",)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["public", "audit"])
def test_every_changed_file_is_named(copied, side):
    case = copied("parquet")
    for path in sorted((case.bundle / side).rglob("*")):
        if not path.is_file():
            continue
        before = path.read_bytes()
        path.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        found = verify(case.bundle)
        assert not found.passed
        assert any(path.name in p.message for p in found.problems), (path, found.problems)
        path.write_bytes(before)
    assert verify(case.bundle).passed


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_is_found(made, data):
    """Flipped, inserted or removed: in any file, at any place."""
    bundle = made("csv").bundle
    files = sorted(p for p in bundle.rglob("*") if p.is_file())
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != before[place]))
    changed = data.draw(
        st.sampled_from(
            [
                before[:place] + bytes([byte]) + before[place + 1 :],
                before[:place] + bytes([byte]) + before[place:],
                before[:place] + before[place + 1 :],
                before[:place],
            ]
        )
    )
    try:
        path.write_bytes(changed)
        found = verify(bundle)
    finally:
        path.write_bytes(before)
    assert not found.passed
    assert any(path.name in p.message or p.code == "RR110" for p in found.problems)


def test_where_the_data_are_missing_nothing_else_is_called_foreign(copied):
    case = copied("parquet")
    (file,) = (case.bundle / "public").glob("data.*")
    file.unlink()
    found = verify(case.bundle / "public")

    assert [(p.code, p.message) for p in found.problems] == [("RR112", f"public/{file.name} is missing")]


def test_added_missing_and_disguised_files_are_named(copied):
    case = copied("parquet")
    public = case.bundle / "public"
    extra = public / "weights" / "extra.csv"
    extra.write_text("x")
    assert "RR113" in codes(verify(case.bundle))
    extra.unlink()
    (public / "empty").mkdir()
    assert "RR113" in codes(verify(case.bundle))
    (public / "empty").rmdir()
    (case.bundle / "notes.txt").write_text("x")
    assert "RR113" in codes(verify(case.bundle))
    (case.bundle / "notes.txt").unlink()
    page = public / "report.html"
    elsewhere = case.bundle.parent / "elsewhere.html"
    page.rename(elsewhere)
    assert "RR112" in codes(verify(case.bundle))
    page.symlink_to(elsewhere)
    assert "RR113" in codes(verify(case.bundle))
    page.unlink()
    os.link(elsewhere, page)
    assert "RR113" in codes(verify(case.bundle))
    page.unlink()
    elsewhere.rename(page)
    assert verify(case.bundle).passed


def test_an_added_file_that_the_manifest_lists_is_found(copied):
    case = copied("parquet")
    (case.bundle / "public" / "raw.csv").write_text("x")
    reseal_public(case.bundle)
    assert "RR113" in codes(verify(case.bundle / "public"))


def change_keep(document):
    """Claim a stronger randomisation than there was, wherever it stands."""
    text = json.dumps(document["channel"])
    axis = document["channel"]["axes"][0]
    keep = axis["blocks"][0]["keep"] if "keep" in axis["blocks"][0] else axis["blocks"][0]["keep_probability"]
    changed = json.loads(text.replace(f'"{keep}"', '"3/5"'))
    document["channel"] = changed
    document["decoders"] = json.loads(json.dumps(document["decoders"]).replace(f'"{keep}"', '"3/5"'))


def test_an_edited_parameter_is_found_though_the_manifest_was_sealed_again(copied):
    case = copied("parquet")
    reseal_public(case.bundle, change_keep)
    assert not verify(case.bundle / "public").passed  # the files beside the data do not fit the new parameter
    found = verify(case.bundle)
    assert {"RR121", "RR122"} <= codes(found)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(records=d["records"] + 1),
        lambda d: d.update(release="other"),
        lambda d: d["policy"].update(owner="Somebody"),
        lambda d: d["findings"].pop(),
        lambda d: d["findings"][0]["achieved"].update(value=0.1),
        lambda d: d["requirements"][1]["options"].update(k=9),
        lambda d: d["attributes"][0].update(role="insensitive"),
        lambda d: d.update(assumptions=[]),
        lambda d: d.update(surprise=1),
        lambda d: d.pop("utility"),
        lambda d: d.update(schema="rrpolicy.release/2"),
        lambda d: d["data"]["tables"]["data"].update(files=["../audit/plan.json"]),
        lambda d: d["tables"][0]["columns"].reverse(),
        lambda d: d.update(records="2000"),
        lambda d: d.update(findings=None),
        lambda d: d.update(derived=["nothing"]),
    ],
)
def test_an_edited_manifest_is_found(copied, change):
    case = copied("csv")
    rewrite(case.bundle / "public" / "release.json", change)
    assert not verify(case.bundle).passed


def test_a_forger_of_both_sides_is_found_by_the_source(copied):
    """All records rewritten consistently: findings that public/ cannot recompute fall to the source."""
    case = copied("csv")
    findings = case.bundle / "audit" / "findings.json"
    document = json.loads(findings.read_text())
    document["utility"][0]["expected"]["value"] = 1e-9
    findings.write_bytes(pretty(document))
    fill_again(case.bundle)
    assert verify(case.bundle).passed
    assert "RR124" in codes(verify(case.bundle, source=str(case.case.table)))


def test_the_raw_table_in_place_of_the_release_is_found(copied):
    """Everything is rewritten to fit: only the original gives it away."""
    import duckdb

    from rrpolicy.bundle.execute import derived_public_files
    from rrpolicy.bundle.tables.writer import FolderSink
    from rrpolicy.channels.table import TableSpec
    from rrpolicy.discovery import load_registry
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.planning.plan import Plan

    case = copied("csv")
    public = case.bundle / "public"
    plan = Plan.from_json(json.loads((case.bundle / "audit" / "plan.json").read_text()), load_registry())
    (spec,) = plan.channel.tables()
    assert isinstance(spec, TableSpec)
    raw = duckdb.sql(
        "SELECT sex, CASE WHEN level LIKE 'CANARY%' THEN 'plain' ELSE level END AS level, "
        "CASE WHEN age < 40 THEN '0-39' WHEN age < 65 THEN '40-64' ELSE '65+' END AS age_group, hours "
        f"FROM read_csv('{case.case.table}')"
    ).to_arrow_table()
    (public / "data.csv").unlink()
    scratch = case.bundle.parent / "scratch"
    scratch.mkdir()
    sink = FolderSink([spec], public, "csv", scratch)
    for batch in raw.to_batches():
        sink.write("data", batch)
    written = sink.finish()["data"]

    def raw_instead(document):
        document["data"]["tables"]["data"]["digest"] = written.digest
        (public / "datapackage.json").write_bytes(
            derived_public_files(read(Manifest, document), public)["datapackage.json"]
        )

    reseal_public(case.bundle, raw_instead)
    fill_again(case.bundle)
    assert not verify(case.bundle).problems
    found = verify(case.bundle, source=str(case.case.table))
    assert "RR125" in codes(found)
    assert {"RR125", "RR127"} <= codes(verify(case.bundle, source=str(case.case.table), key=case.key))


def test_another_source_is_found(copied, tmp_path):
    case = copied("parquet")
    other = tmp_path / "people.csv"
    text = case.case.table.read_text()
    other.write_text(text.replace(",F,", ",M,", 1))
    assert not verify(case.bundle, source=str(other), key=case.key).passed


def test_a_key_of_another_plan_is_refused(copied, tmp_path, capsys):
    case = copied("parquet")
    key = tmp_path / "other.key"
    shutil.copy(case.key, key)
    document = json.loads(key.read_text())
    document["plan_digest"] = "sha256:" + "0" * 64
    key.write_text(json.dumps(document))
    assert run("verify", case.bundle, "--source", case.case.table, "--key", key) == 4
    assert "RR403" in capsys.readouterr().err


def test_an_open_audit_folder_is_found(copied):
    case = copied("parquet")
    (case.bundle / "audit").chmod(0o755)
    assert "RR123" in codes(verify(case.bundle))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"schema": NaN}', b'{"schema": 1, "schema": 1}', b"\xff", b"[" * 100000]
)
def test_what_cannot_be_read_is_not_verified(copied, content):
    case = copied("parquet")
    (case.bundle / "public" / "release.json").write_bytes(content)
    found = verify(case.bundle)
    assert codes(found) == {"RR110"}
    assert not found.passed


def test_a_level_needs_its_inputs(made, capsys):
    bundle = made("parquet").bundle
    assert run("verify", bundle, "--level", "source") == 2
    assert run("verify", bundle, "--key", made("parquet").key) == 2
    assert "RR250" in capsys.readouterr().err
    assert verify(bundle, level=VerificationLevel.PUBLIC).level is VerificationLevel.PUBLIC


def test_a_tests_release_is_never_verified(case):
    from rrpolicy.bundle.execute import release
    from rrpolicy.bundle.staging import stage
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.planning.keys import generate_key
    from rrpolicy.planning.plan import make_plan
    from rrpolicy.planning.policy_opening import open_policy
    from rrpolicy.source.opening import open_original

    opened, out = open_policy(case.policy), case.folder / "bundle"
    with stage(out) as staging, open_original(opened.policy, opened.registry.sources, staging.scratch) as original:
        plan = make_plan(opened.policy, opened.registry, original)
        streams = Streams.for_tests(1)
        release(plan, opened.policy, opened.registry, original, generate_key(), out, staging=staging, streams=streams)
    assert json.loads((out / "public" / "release.json").read_text())["test"] is True
    assert codes(verify(out)) == {"RR128"}


def test_json_says_the_same(made, capsys):
    bundle = made("csv").bundle
    capsys.readouterr()
    assert run("verify", bundle, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is True
    assert document["level"] == "audit"
    assert document["undecided"]


def test_a_requirement_does_not_hold_of_files_that_are_not_the_channels(copied, capsys):
    case = copied("csv")
    shutil.copy(case.case.table, case.bundle / "public" / "data.csv")

    assert run("verify", case.bundle, "--source", case.case.table) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("NOT verified")
    assert not [line for line in lines if line.endswith(": met")]
    assert any("pk-anonymity" in line and "would be met for the stated channel" in line for line in lines)

    assert run("verify", case.bundle, "--source", case.case.table, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["passed"]
    assert document["findings"]
    assert "satisfied" not in {f["verdict"] for f in document["findings"]}


@pytest.mark.parametrize("more", [["--source"], ["--level", "audit"], ["--key"]])
def test_public_alone_goes_as_far_as_level_public(made, more, capsys):
    case = made("csv")
    inputs = {"--source": [case.case.table], "--key": [case.key]}

    assert run("verify", case.bundle / "public", *more, *inputs.get(more[0], [])) == 2
    said = capsys.readouterr().err
    assert "RR250" in said
    assert "--level public" in said
    assert "whole bundle" in said


def test_what_is_not_verified_is_never_said_to_leave_nothing_undecided(copied, capsys):
    """What would hold of the stated channel is undecided of these files; what ends before the top leaves more so."""
    case = copied("parquet")
    inputs = ["--source", case.case.table, "--key", case.key]
    page = case.bundle / "public" / "report.html"
    page.write_text(page.read_text().replace("satisfied", "is proved", 1))
    reseal_public(case.bundle)

    assert run("verify", case.bundle, *inputs) == 1
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("NOT verified at level key; ")
    assert "pk-anonymity" in last
    assert run("verify", case.bundle, *inputs, "--json") == 1
    assert any("pk-anonymity" in u for u in json.loads(capsys.readouterr().out)["undecided"])

    (case.bundle / "public" / "release.json").write_text("{}")
    assert run("verify", case.bundle, *inputs) == 1
    *_, last = capsys.readouterr().out.splitlines()
    for left in ("what audit/ states", "how many records a person has", "whether the source and the key give"):
        assert left in last


def test_that_the_draw_comes_out_again_is_said_whatever_else_is_wrong(copied, capsys):
    case = copied("csv")
    inputs = ["--source", case.case.table, "--key", case.key]
    page = case.bundle / "public" / "report.html"
    page.write_text(page.read_text().replace("satisfied", "is proved", 1))
    reseal_public(case.bundle)
    assert run("verify", case.bundle, *inputs) == 1
    assert "drawn again from the source and the key: the same data, byte for byte" in capsys.readouterr().out

    data = case.bundle / "public" / "data.csv"
    data.write_bytes(data.read_bytes().replace(b'"F"', b'"M"', 1))
    found = verify(case.bundle, source=str(case.case.table), key=case.key)
    assert "RR127" in codes(found)
    assert found.reproduced is None
    run("verify", case.bundle, *inputs)
    assert "the same data" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda text: text.replace(",F,", ",X,", 1), "RR313"),
        (lambda text: text.replace("person_id", "person", 1), "RR311"),
        (lambda text: text + text.splitlines()[1] + "\n", "RR323"),
    ],
)
def test_a_table_that_cannot_be_the_source_is_called_so(copied, tmp_path, capsys, change, wrong):
    case = copied("parquet")
    rows = case.case.table.read_text()
    other = tmp_path / "others.csv"
    other.write_text(change(rows))
    assert run("verify", case.bundle, "--source", other, "--key", case.key) == 3
    said = capsys.readouterr().err
    assert said.count("RR327 this is") == 1
    assert "not the table that was released" in said
    assert wrong in said
    assert "remove the duplicates" not in said
    assert run("verify", case.bundle, "--source", tmp_path / "none.csv", "--key", case.key) == 3
    assert "RR300" in capsys.readouterr().err


@pytest.mark.parametrize("with_key", [False, True])
def test_another_table_is_not_told_as_faults_of_the_bundle(copied, tmp_path, capsys, with_key):
    case = copied("parquet")
    with case.case.table.open(newline="") as file:
        head, *rows = csv.reader(file)
    alike = [[row[0], *rows[0][1:]] for row in rows]
    key = ["--key", case.key] if with_key else []
    for name, records, number in (("half", rows[: len(rows) // 2], len(rows) // 2), ("other", alike, len(rows))):
        other = tmp_path / f"{name}.csv"
        with other.open("w", newline="") as file:
            csv.writer(file).writerows([head, *records])
        capsys.readouterr()
        assert run("verify", case.bundle, "--source", other, *key) == 1
        first, hint, *further = capsys.readouterr().out.splitlines()
        assert first.startswith("NOT verified: the source is probably not the released table: it has ")
        assert f"{number:,} records" in first
        assert f"{len(rows):,}" in first
        assert "at most 0" not in first
        assert hint.startswith("hint: name the release's own source")
        assert not [line for line in further if line.startswith("RR")]
        assert "whether the release conforms to its channel" in further[-1]
        found = verify(case.bundle, source=str(other), key=case.key if with_key else None)
        assert len(found.problems) == 1


def test_a_chance_that_underflows_is_no_zero():
    from types import SimpleNamespace

    from rrpolicy.finding import Measure, Standing
    from rrpolicy.verification.source_consistency import false_alarm_text

    def told(value, standing=Standing.UPPER_BOUND):
        return false_alarm_text(SimpleNamespace(achieved=Measure(value, standing)))

    assert told(0.0) == " (chance of a false alarm: less than 1e-300)"
    assert told(2.5e-156) == " (chance of a false alarm: at most 2.5e-156)"
    assert not told(0.0, Standing.EXACT)


def test_where_nothing_is_drawn_no_draw_is_spoken_of(tmp_path, capsys):
    from .bundles.make import make

    make(tmp_path / "made", ("full-domain", "mondrian"))
    source = str(tmp_path / "made" / "people.csv")
    for name in ("full-domain", "mondrian"):
        capsys.readouterr()
        assert run("verify", tmp_path / "made" / name / "bundle", "--source", source) == 0
        said = capsys.readouterr().out
        assert "conforms: the released counts are those that follow from the original: met" in said
        assert "plausible draw" not in said


@pytest.fixture
def without_reports(monkeypatch):
    """Find the plugins as they are where the reports are not installed."""
    installed = discovery.installed_entry_points()
    fewer = {name: tuple(e for e in entries if e.name != "reports") for name, entries in installed.items()}
    return lambda: monkeypatch.setattr(discovery, "installed_entry_points", lambda: fewer)


def test_without_the_reports_pages_are_undecided_and_none_is_written(copied, without_reports):
    case = copied("parquet")
    before = {path: path.read_bytes() for path in case.bundle.rglob("*") if path.is_file()}
    without_reports()
    found = verify(case.bundle)
    assert found.passed, found.problems
    assert {
        "public/report.html: no renderer for it is loaded",
        "audit/report.html: no renderer for it is loaded",
    } <= set(found.undecided)
    with pytest.raises(rrpolicy.PolicyError, match="RR257"):
        rrpolicy.attack(case.bundle, source=case.case.table, write=True)
    assert {path: path.read_bytes() for path in case.bundle.rglob("*") if path.is_file()} == before


def test_level_key_needs_the_key(made, capsys):
    case = made("parquet")
    assert run("verify", case.bundle, "--source", case.case.table, "--level", "key") == 2
    assert "level key needs the key file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("audit/plan.json", lambda d: d.pop("records"), "RR110"),
        ("audit/findings.json", lambda d: d["findings"].pop(), "RR122"),
        ("public/release.json", lambda d: d["requirements"][0].update(epsilon=-1), "RR110"),
        ("public/release.json", lambda d: d["channel"].update(order=[]), "RR118"),
    ],
)
def test_a_record_that_was_edited_and_sealed_again_is_found(copied, name, change, code):
    case = copied("parquet")
    path = case.bundle / name
    if "digest" in load(path):
        rewrite(path, change)
    else:
        document = load(path)
        change(document)
        path.write_bytes(pretty(document))
    reseal_audit(case.bundle)
    assert code in codes(verify(case.bundle))
    with pytest.raises(rrpolicy.RequirementError):
        rrpolicy.attack(case.bundle, source=case.case.table)


def test_a_policy_that_extends_a_file_that_is_not_there_is_undecided(copied):
    case = copied("parquet")
    path = case.bundle / "audit" / "policy.toml"
    path.write_text(path.read_text().replace("[source]", 'extends = "elsewhere.toml"\n[source]', 1))
    reseal_audit(case.bundle)
    found = verify(case.bundle)
    assert "the policy as written (it extends a file that is not here)" in found.undecided


def test_another_version_may_choose_otherwise(made, monkeypatch):
    case = made("parquet")
    monkeypatch.setattr(rrpolicy, "__version__", "99.0.0")
    found = verify(case.bundle, source=str(case.case.table), key=case.key)
    assert [text for text in found.undecided if text.startswith("how the mechanism chose: planned by rrpolicy ")]


def test_a_full_disk_is_no_fault_of_the_bundle():
    with pytest.raises(OSError, match="No space left"), log_unreadable(Log()):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"policy_digest": "sha256:0"}, "the policy changed"),
        ({"software": Software("0.0.1", ())}, "of another version"),
        ({"records": 7}, "the table has another number of records"),
        ({"source_tag": "hmac-sha256:" + "0" * 64}, "the table's values changed, or the key is not the plan's"),
    ],
)
def test_a_plan_that_is_not_of_this_policy_and_table_is_not_drawn(made, tmp_path, change, why):
    opened = open_policy(made("parquet").case.policy)
    plan = rrpolicy.plan(made("parquet").case.policy, bound=False).outlook.plan
    with open_original(opened.policy, opened.registry.sources, tmp_path) as original:
        assert current_plan(plan, opened.policy, opened.registry, original, bytes(32)).records == 2000
        with pytest.raises(rrpolicy.RefusedError, match=why):
            current_plan(replace(plan, **change), opened.policy, opened.registry, original, bytes(32))


def test_an_error_of_the_disk_at_the_end_leaves_nothing(case, monkeypatch):
    def broken(path, target):
        raise OSError(5, "Input/output error")

    before = sorted(path.name for path in case.folder.iterdir())
    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="Input/output error"):
        rrpolicy.release(case.policy, case.folder / "bundle")
    assert sorted(path.name for path in case.folder.iterdir()) == before


def test_a_draw_of_another_number_of_records_is_not_released(case, monkeypatch):
    true = execute.draw_to_folder

    def fewer(*arguments):
        return {name: replace(table, rows=table.rows - 1) for name, table in true(*arguments).items()}

    before = sorted(path.name for path in case.folder.iterdir())
    monkeypatch.setattr(execute, "draw_to_folder", fewer)
    with pytest.raises(RuntimeError, match="another number of records"):
        rrpolicy.release(case.policy, case.folder / "bundle")
    assert sorted(path.name for path in case.folder.iterdir()) == before


def test_columns_of_other_types_than_stated_are_found(copied):
    case = copied("parquet")
    path = case.bundle / "public" / "data.parquet"
    table = pq.read_table(path)
    place = table.schema.names.index("hours")
    pq.write_table(table.set_column(place, "hours", table.column("hours").cast(pa.string())), path)
    reseal_public(case.bundle)
    found = verify(case.bundle / "public")
    assert any(
        "its columns are of other types than release.json states: hours" in problem.message
        for problem in found.problems
    ), found.problems
