"""`rrpolicy collect`: randomised records become a release, of which everything holds that can, and nothing else is said."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy.bundle.audit import AuditRecord
from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.cli.main import main
from rrpolicy.collection import answers as plausibility
from rrpolicy.collection.answers import implausibilities
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.serialization import faults

from .forging import fill_again, reseal_audit, reseal_public, rewrite
from .village import POLICY, people, planned

PERSONS = 3000
SIGMAS = 5.35
"""Standard errors beyond which one of nine estimates lies by chance in less than one of 10^6 runs."""


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plan, what 3,000 persons sent, each from a run of its own, and the release of it."""
    folder = tmp_path_factory.mktemp("village")
    planned(folder)
    asked = rrpolicy.open_questionnaire(folder / "plan.questionnaire.json")
    sent = [rrpolicy.randomize(asked, person) for person in people(PERSONS)]
    (folder / "sent.jsonl").write_text("\n".join(map(json.dumps, sent)))
    rrpolicy.collect(folder / "plan.json", folder / "sent.jsonl", folder / "bundle", label="2026-11")
    return folder


def frame(village: Path) -> pd.DataFrame:
    return pd.DataFrame([json.loads(line) for line in (village / "sent.jsonl").read_text().splitlines()])


def test_estimates_lie_beside_the_truth(village: Path) -> None:
    truth = pd.DataFrame(people(PERSONS))
    truth["age_group"] = pd.cut(truth["age"], [-1, 39, 64, 200], labels=["0-39", "40-64", "65+"]).astype(str)
    truth["ill"] = truth["ill"].fillna("no answer")
    found = rrpolicy.open_release(village / "bundle").crosstab(by=["age_group", "ill"]).to_frame()

    assert len(found) == 9
    sent, off = frame(village), []
    for row in found.itertuples():
        counts = [((t["age_group"] == row.age_group) & (t["ill"] == row.ill)).sum() for t in (truth, sent)]
        assert abs(row.estimate - counts[0]) < SIGMAS * row.se
        off.append(abs(counts[1] - counts[0]) > SIGMAS * row.se)
    assert any(off)  # as they were sent, the records would be taken for another village


def test_the_page_says_that_nobody_has_an_original(village: Path) -> None:
    page = re.sub(r"<[^>]*>", "", (village / "bundle" / "public" / "report.html").read_text())

    assert (
        "randomised on the person's own machine before it was sent, and there is no original table."
        in html.unescape(page)
    )
    assert "questionnaire.json" in page


def test_what_can_be_recomputed_is_and_the_rest_is_said(village: Path) -> None:
    for level in ("public", "audit"):
        found = rrpolicy.verify(village / "bundle", level=level)  # type: ignore[arg-type]
        assert found.passed, found.problems
        assert {f.model for f in found.findings} == {"local-dp", "pk-anonymity"}
        assert any("on its person's own machine" in text for text in found.undecided)
        assert not any("source" in text for text in found.undecided)
    assert rrpolicy.verify(village / "bundle" / "public").passed
    for call in ("verify", "attack"):
        with pytest.raises(rrpolicy.PolicyError, match=r"RR250: the records .* were collected.*there is no source"):
            getattr(rrpolicy, call)(village / "bundle", source=frame(village))


def test_the_bundle_says_that_there_is_no_original(village: Path) -> None:
    release = json.loads((village / "bundle" / "public" / "release.json").read_text())
    audit = json.loads((village / "bundle" / "audit" / "audit.json").read_text())
    plan = json.loads((village / "bundle" / "audit" / "plan.json").read_text())
    asked = rrpolicy.open_questionnaire(village / "plan.questionnaire.json")

    assert (village / "bundle" / "public" / "questionnaire.json").read_bytes() == (
        village / "plan.questionnaire.json"
    ).read_bytes()
    assert release["collected"] == asked.digest
    assert (release["records"], plan["records"], audit["source_tag"], plan["source_tag"]) == (
        PERSONS,
        PERSONS,
        None,
        None,
    )
    assert audit["key"] == "of each person"
    for page in ("public/report.html", "audit/report.html"):
        assert "there is no original table" in (village / "bundle" / page).read_text()
    assert (
        "none: each record was randomised before it was sent" in (village / "bundle" / "audit/report.html").read_text()
    )
    readme = (village / "bundle" / "public" / "README.md").read_text()
    assert "collected in the field" in readme
    assert "- `questionnaire.json`: " in readme
    assert "randomised before they were sent" in (village / "bundle" / "public" / "croissant.json").read_text()
    assert all(row["original"] is None for m in report(village)["marginals"] for row in m["rows"])
    for kind, document in ((Manifest, release), (AuditRecord, audit), (Questionnaire, asked.to_json())):
        assert not faults(document, kind)


def report(village: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((village / "bundle" / "audit" / "report.json").read_text())
    return found


def test_the_order_in_which_people_answered_is_lost(village: Path, tmp_path: Path) -> None:
    shuffled = frame(village).sample(frac=1, random_state=1)
    found = rrpolicy.collect(village / "plan.json", shuffled, tmp_path / "bundle", label="2026-11")
    one, other = (b / "public" / "data.parquet" for b in (village / "bundle", found.bundle))
    assert one.read_bytes() == other.read_bytes()
    assert found.key is None
    counts = frame(village).value_counts(["sex", "age_group", "ill"]).to_dict()
    written = pd.read_parquet(other)
    assert written.value_counts(["sex", "age_group", "ill"]).to_dict() == counts
    assert written.equals(written.sort_values(["sex", "age_group", "ill"], ignore_index=True))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_collected_and_analysts_need_nothing_else(
    village: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / f"answers.{form}"
    getattr(frame(village), f"to_{form}")(table, index=False)
    call = ["collect", str(village / "plan.json"), str(table), "--as", "2026-11", "--out"]
    assert main([*call, str(tmp_path / "c"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bundle"] == str(tmp_path / "c")
    assert main([*call, str(tmp_path / "b")]) == 0
    told = capsys.readouterr().out
    assert "there is no original, and no key" in told
    commands = re.findall(r"rrpolicy (verify|estimate) (.*)", told)
    assert [name for name, _ in commands] == ["verify", "estimate"]
    for name, rest in commands:
        assert main([name, *rest.split()]) == 0
    assert (
        main(
            ["estimate", "query", str(tmp_path / "b"), "SELECT ill, count(*) AS n FROM release GROUP BY ill", "--json"]
        )
        == 0
    )
    capsys.readouterr()
    same = (village / "bundle" / "public" / name for name in ("estimate.sql", "weights/ill.csv", "README.md"))
    assert all(p.read_bytes() == (tmp_path / "b" / p.relative_to(village / "bundle")).read_bytes() for p in same)


def test_requirements_are_held_against_the_records_that_came_in(village: Path, tmp_path: Path) -> None:
    with pytest.raises(rrpolicy.RequirementError, match="RR101.*pk-anonymity: k >= 3 is not met"):
        rrpolicy.collect(village / "plan.json", frame(village).head(200), tmp_path / "bundle")
    with pytest.raises(rrpolicy.RequirementError, match="these 200 records are randomised already") as refused:
        rrpolicy.collect(village / "plan.json", frame(village).head(200), tmp_path / "bundle")
    assert "smaller keep probabilities" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.assign(phone="0123"), "RR310: the table has a column 'phone'"),
        (lambda t: t.drop(columns="ill"), "RR311: the table has no column 'ill'"),
        (lambda t: t.assign(ill=t["ill"].where(t.index > 0, "SECRET")), "RR313: 1 record has a value of 'ill'"),
        (lambda t: t.assign(ill=t["ill"].where(t.index > 0)), "RR314: 1 record has no value of 'ill'"),
        (lambda t: t.head(0), "RR317"),
        (lambda t: t.assign(ill="no"), "RR524: in 'ill', a value is more or less common"),
        (lambda t: t.assign(sex=t["sex"].replace("m", "f")), "RR524: in 'sex', a value is more or less common"),
    ],
)
def test_what_no_randomiser_sent_is_refused(
    village: Path, tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame], told: str
) -> None:
    with pytest.raises(rrpolicy.DataError, match=re.escape(told)) as refused:
        rrpolicy.collect(village / "plan.json", change(frame(village)), tmp_path / "bundle")
    assert "SECRET" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_lines_that_are_no_records_are_refused(village: Path, tmp_path: Path) -> None:
    for content in ("", "no json", '{"sex": "f"}\n{"sex": 1}', '{"sex": {"f": 1}}'):
        (tmp_path / "sent.jsonl").write_text(content)
        with pytest.raises(rrpolicy.DataError, match="RR"):
            rrpolicy.collect(village / "plan.json", tmp_path / "sent.jsonl", tmp_path / "bundle")


def test_answers_are_not_taken_for_what_is_sent_nor_plans_for_one_another(village: Path, tmp_path: Path) -> None:
    with pytest.raises(rrpolicy.RefusedError, match="RR523.*made without data"):
        rrpolicy.release(village / "plan.json", tmp_path / "bundle", source=pd.DataFrame(people(50)))
    (tmp_path / "policy.toml").write_text(POLICY.replace("epsilon = 5", "epsilon = 6"))
    table = pd.DataFrame([{"name": str(i), **person} for i, person in enumerate(people(PERSONS))])
    rrpolicy.plan(tmp_path / "policy.toml", table, out=tmp_path / "drawn.json").require()
    with pytest.raises(rrpolicy.RefusedError, match="RR523.*made on a table"):
        rrpolicy.collect(tmp_path / "drawn.json", frame(village), tmp_path / "bundle")
    with pytest.raises(rrpolicy.PolicyError, match="RR250"):
        rrpolicy.plan(tmp_path / "policy.toml", out=tmp_path / "p.json", key=tmp_path / "k", expected_rows=9)


def test_a_plan_is_stale_once_its_policy_has_changed(village: Path, tmp_path: Path) -> None:
    for name in ("plan.json", "policy.toml"):
        shutil.copy(village / name, tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY.replace("epsilon = 5", "epsilon = 6"))
    with pytest.raises(rrpolicy.RefusedError, match="RR401"):
        rrpolicy.collect(tmp_path / "plan.json", frame(village), tmp_path / "bundle")


def test_a_collection_is_entered_in_the_ledger_once(village: Path, tmp_path: Path) -> None:
    text = POLICY.replace(
        "[attributes]", '[ledger]\nfile = "l.jsonl"\n[[ledger.budget]]\nmodel = "local-dp"\nepsilon = 6\n[attributes]'
    )
    rrpolicy.init_ledger(tmp_path / "l.jsonl")
    planned(tmp_path, text.replace('uri = "answers.csv"', 'uri = "answers.csv"\npopulation = "village"'))
    for out in ("one", "again"):
        rrpolicy.collect(tmp_path / "plan.json", frame(village), tmp_path / out)
        assert rrpolicy.verify(tmp_path / out, level="audit").passed
    (shown,) = rrpolicy.show_ledger(tmp_path / "l.jsonl").to_json()["populations"]  # type: ignore[index,union-attr,misc]
    assert len(shown["releases"]) == 1
    other = frame(village).sample(frac=1, replace=True, random_state=3)
    with pytest.raises(rrpolicy.RefusedError, match="RR441"):
        rrpolicy.collect(tmp_path / "plan.json", other, tmp_path / "two")


@pytest.fixture
def copied(village: Path, tmp_path: Path) -> Path:
    shutil.copytree(village / "bundle", tmp_path / "bundle", copy_function=shutil.copy2)
    return tmp_path / "bundle"


def forged(bundle: Path) -> None:
    """Make everything again that follows, and seal it."""
    reseal_public(bundle)
    reseal_audit(bundle)
    fill_again(bundle)


def test_a_questionnaire_that_was_exchanged_is_found(copied: Path) -> None:
    rewrite(
        copied / "public" / "questionnaire.json", lambda d: d["questions"][1]["bins"].update(edges=[0, 50, 65, "inf"])
    )
    forged(copied)
    assert "RR525" in {p.code for p in rrpolicy.verify(copied).problems}
    digest = json.loads((copied / "public" / "questionnaire.json").read_text())["digest"]
    reseal_public(copied, lambda d: d.update(collected=digest))
    forged(copied)
    found = rrpolicy.verify(copied)
    assert "RR525" in {p.code for p in found.problems}  # the plan in audit/ asks otherwise


def test_a_release_that_denies_its_collection_is_found(copied: Path) -> None:
    (copied / "public" / "questionnaire.json").unlink()
    reseal_public(copied, lambda d: d.pop("collected"))
    forged(copied)
    assert "RR525" in {p.code for p in rrpolicy.verify(copied).problems}


def test_rows_that_nobody_sent_are_found(village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("rrpolicy.bundle.collected_release.implausibilities", lambda *_: [])
        found = rrpolicy.collect(village / "plan.json", frame(village).assign(ill="no"), tmp_path / "forged")
    assert {p.code for p in rrpolicy.verify(found.bundle).problems} == {"RR525"}


def test_no_table_of_randomised_records_is_implausible_more_often_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumerated: whatever five people answer, the chance of refusal is at most the false-alarm rate."""
    monkeypatch.setattr(plausibility, "FALSE_ALARM", 0.2)
    keep, people_asked = Fraction(1, 2), 5
    axis = Retention.uniform("ill", ["yes", "no", "unsaid"], keep)
    product = Product((axis,), (), ("ill",))
    tables = [t for t in itertools.product(range(people_asked + 1), repeat=3) if sum(t) == people_asked]
    refused = {t for t in tables if list(implausibilities(product, [np.array(t)], people_asked))}
    assert refused
    for answers in itertools.combinations_with_replacement(range(3), people_asked):
        chance = Fraction(0)
        for sent in itertools.product(range(3), repeat=people_asked):
            if tuple(sent.count(u) for u in range(3)) in refused:
                each = [axis.column(v)[u] for v, u in zip(answers, sent, strict=True)]
                part = Fraction(1)
                for p in each:
                    part *= p
                chance += part
        assert chance <= Fraction(2, 10)


def test_cells_that_no_answer_becomes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attributes on one axis: both are released as they are, or exchanged together."""
    same = Domain("a", ("x", "y")), Domain("b", ("x", "y"))
    columns = category_column("a", ("x", "y")), category_column("b", ("x", "y"))
    half = Fraction(1, 2)
    rows = [[half, 0, 0, half], [0, 0, 0, 0], [0, 1, 1, 0], [half, 0, 0, half]]
    axis = Matrix(same, columns, tuple(tuple(map(Fraction, row)) for row in rows))
    product = Product((axis,), (), ("a", "b"))
    assert list(implausibilities(product, [np.array([5, 0, 4, 6])], 15)) == []
    assert list(implausibilities(product, [np.array([5, 1, 4, 5])], 15)) == [
        "in 'a', 'b', 1 record has a value that no answer can produce"
    ]
    monkeypatch.setattr(plausibility, "WIDEST", 15)  # a larger matrix is not listed
    assert list(implausibilities(product, [np.array([5, 1, 4, 5])], 15)) == []


def test_the_sql_of_the_bundle_gives_the_same_estimates(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(village / "bundle" / "public")
    with duckdb.connect() as connection:
        connection.execute(Path("estimate.sql").read_text())
        rows = connection.execute("SELECT ill, estimate, se FROM estimate_ill").fetchall()
    found = rrpolicy.open_release(village / "bundle").crosstab(by=["ill"]).to_frame()
    expected = {row.ill: (row.estimate, row.se) for row in found.itertuples()}
    assert {label: pytest.approx(numbers) for label, *numbers in rows} == {k: list(v) for k, v in expected.items()}
