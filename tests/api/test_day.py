"""A user's whole day in Python: what the command line does, with a table in memory, on results that say what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.finding import Verdict
from rrpolicy.frozen import field_names, has_fields

from .conftest import RECORDS, people


def test_a_day_with_a_data_frame(folder: Path) -> None:
    frame = people()

    policy = rrpolicy.load_policy(folder / "policy.toml")
    assert (policy.name, list(policy.attributes)[:2]) == ("people", ["person_id", "sex"])

    checked = rrpolicy.check(policy)
    assert checked.passed
    assert [f.model for f in checked.findings] == ["local-dp"]

    planned = rrpolicy.plan(policy, frame)
    assert planned.require() is planned
    assert (planned.records, planned.passed, planned.problems) == (RECORDS, True, ())
    assert [f.verdict for f in planned.findings] == [Verdict.SATISFIED]
    assert {e.attributes for e in planned.errors} >= {("sex",), ("age",), ("region",)}

    released = rrpolicy.release(planned, folder / "bundle", label="2026-11", key=folder / "release.key")
    assert released.public == folder / "bundle" / "public"
    assert released.data == {"data": released.public / "data.parquet"}
    assert {"public/data.parquet", "audit/report.html"} <= released.files.keys()
    assert released.findings[0].verdict is Verdict.SATISFIED
    assert released.digest == json.loads((released.public / "release.json").read_text())["digest"]

    verified = rrpolicy.verify(released.bundle, source=frame, key=released.key)
    assert verified.passed
    assert not verified.undecided
    assert verified.level.word == "key"

    counts = rrpolicy.open_release(released.public).crosstab("sex").to_frame()
    assert counts["estimate"].sum() == pytest.approx(RECORDS)

    page = rrpolicy.render(released.bundle, out=folder / "report.html")
    assert (page.page, page.form, page.file) == ("audit", "html", folder / "report.html")
    assert page.text.startswith("<!doctype html>")

    table = rrpolicy.check_table(frame, qi=["sex", "age"], sensitive=["region"], k=200, l=2)
    assert not table.passed
    assert {p.code for p in table.problems} == {"RR101"}

    draft = rrpolicy.init(frame)
    assert 'uri = "memory:"' in draft.text
    assert draft.warnings


def test_a_plan_crosses_processes_as_a_file(folder: Path) -> None:
    planned = rrpolicy.plan(folder / "policy.toml", people(), out=folder / "plan.json")
    assert planned.file == folder / "plan.json"
    assert planned.key is not None

    released = rrpolicy.release(planned.file, folder / "bundle", source=people())

    assert released.key is None
    assert not planned.key.exists()
    assert rrpolicy.verify(released.bundle, source=people(), level="source").passed


def test_the_commands_print_what_the_functions_return(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    def printed(*arguments: str) -> object:
        main(arguments)
        return json.loads(capsys.readouterr().out)

    assert printed("plan", "policy.toml", "--json") == rrpolicy.plan("policy.toml", bound=False).to_json()
    released = printed("release", "policy.toml", "--out", "one", "--key", "key", "--json")
    other = rrpolicy.release("policy.toml", "two").to_json()
    assert released == {**other, "bundle": "one", "key": "key"}
    given = ("verify", "one", "--source", "people.parquet", "--key", "key", "--json")
    assert printed(*given) == rrpolicy.verify("one", source="people.parquet", key="key").to_json()
    table = ("check-table", "people.parquet", "--qi", "sex,age", "--k", "500", "--json")
    found = rrpolicy.check_table("people.parquet", qi=["sex", "age"], k=500)
    assert printed(*table) == {"exit_status": 1, **found.to_json()}
    main(["init", "people.parquet"])
    assert capsys.readouterr().out == rrpolicy.init("people.parquet").text
    assert printed("report", "one", "--json") == json.loads(rrpolicy.render("one", format="json").content)


def test_results_are_frozen(folder: Path) -> None:
    planned = rrpolicy.plan(folder / "policy.toml", people())
    for result in (planned, rrpolicy.check(folder / "policy.toml"), rrpolicy.release(planned, folder / "bundle")):
        assert has_fields(type(result))
        with pytest.raises(AttributeError):
            setattr(result, field_names(type(result))[0], None)
