"""The public page of a release of every mechanism: what it is, how to use it, what to expect, what holds and what not."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import duckdb
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.report import Report
from rrpolicy.reports.rerender import rerender_report
from rrpolicy_reports.html import HtmlRenderer
from tests.prose.lint import REPLACED

ALL = "Do not count rows: use the estimates."
SOME = "Do not count rows by {}: use the estimates. By {} alone, counting rows is right."
LABELS = "Counting rows by label is right: nothing was changed at random."
FACTS = {
    "pram": (
        SOME.format("sex, age_group, education, region, disease and income_band", "hours"),
        (
            "Quasi-identifiers and sensitive columns (sex, age_group, education, region, disease and income_band) are "
            "randomised with published probabilities; the insensitive column (hours) is exact."
        ),
        "links a person to a record with a probability above 50 %",
        "'hours' is released unmodified, assuming that it identifies nobody",
    ),
    "rr-both": (
        ALL,
        "All columns are randomised with published probabilities.",
        "reads the true value with a probability of at most 25 %",
        "How often a value read is the true one",
    ),
    "rr-qi": (
        SOME.format("sex, age_group, education and region", "disease and income_band"),
        (
            "Quasi-identifiers (sex, age_group, education and region) are randomised with published probabilities; sensitive "
            "columns (disease and income_band) are exact."
        ),
        "picks that person's record with a probability of at most 2 %",
        "'disease' is sensitive and released unmodified",
    ),
    "rr-s": (
        SOME.format("disease", "sex, age_group and region"),
        (
            "The sensitive column (disease) is randomised with published probabilities; quasi-identifiers (sex, age_group and "
            "region) are exact."
        ),
        "with a probability of at most 10 %, no limit for none",
        "sex, age_group and region are exact: an attacker who knows that of a person finds the rows that fit",
    ),
    "sensitive-addition": (
        SOME.format("disease and income_band", "sex, age_group and region"),
        (
            "disease is released as sets of 3 values that contain the true one; income_band is released as sets "
            "of 2 values that contain the true one"
            "; quasi-identifiers (sex, age_group and region) are exact."
        ),
        "no sensitive value has a share above 33.4 % of disease",
        "sex, age_group and region are exact: an attacker who knows that of a person finds the rows that fit",
    ),
    "anatomy": (
        SOME.format("income_band", "sex, age_group, education and region"),
        (
            "Quasi-identifiers (sex, age_group, education and region) are exact; the sensitive column (income_band) is known "
            "only by groups of 3 or more records."
        ),
        "no sensitive value has a share above 33.4 %",
        "sex, age_group, education and region are exact: an attacker who knows that of a person finds the rows that fit",
    ),
    "l-diversity": (
        LABELS,
        (
            "sex and region are exact or hidden; education and age_group are coarser; disease and hours are exact; nothing "
            "was changed at random."
        ),
        "each record agrees with at least 9 others in every quasi-identifier",
        "'disease' is sensitive and released unmodified",
    ),
    "mondrian": (LABELS, "nothing was changed at random.", "at least 9 others", "'disease' is sensitive"),
    "tp": (LABELS, "are exact or hidden", "at least 2 others", "'income_band' is sensitive"),
}
"""By mechanism what the first screen must say: how to use it, how it was protected, what holds, what does not."""

GONE = re.compile(f"{REPLACED}|audit report")
"""What readers should not meet any more, and the dead end."""


def words(page: str) -> str:
    """Return the text of a page or a part of it as it is read."""
    text = re.sub(r"(?s)<(style|title|desc|svg|pre)\b.*?</\1>", " ", page)
    return " ".join(
        html.unescape(
            re.sub(
                r"</?(bdi|code|strong|em|span)\b[^>]*>",
                "",
                re.sub(r"<(?!/?(bdi|code|strong|em|span)\b)[^>]*>", " ", text),
            )
        ).split()
    )


def part(page: str, name: str) -> str:
    found = re.search(rf'(?s)<section id="{name}".*?</section>', page)
    assert found is not None, name
    return found[0]


@pytest.mark.parametrize("name", FACTS)
def test_the_first_screen_tells_what_matters(released: Callable[[str], Path], name: str) -> None:
    page = (released(name) / "public" / "report.html").read_text()
    first = words(part(page, "about"))
    use, protected, held, not_held = FACTS[name]

    assert first.startswith("What this is 50,000 records, protected and published by survey unit. Purpose: ")
    assert use in first
    assert protected in first
    assert held in first.partition("What is guaranteed")[2].partition("What is not guaranteed")[0]
    assert not_held in first.partition("What is not guaranteed")[2]
    assert GONE.findall(words(page)) == []
    parts = ["about", "use", "protection", "accuracy", "guarantees", "downloads", "annex"]
    assert re.findall(r'<section id="([a-z]+)"', page) == parts


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTS)
def test_the_lines_to_copy_work_in_the_folder_alone(
    released: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    folder = shutil.copytree(released(name) / "public", tmp_path / "public")
    page = (folder / "report.html").read_text()
    copied = re.findall(r"(?s)<pre><code>(.*?)</code></pre>", page)
    snippet, command = (html.unescape(re.sub(r"<[^>]*>", "", text)) for text in copied)
    monkeypatch.chdir(folder)
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(snippet, "snippet", "exec"), {})

    assert "50,000 records" in printed.getvalue()
    capfd.readouterr()
    assert main(shlex.split(command)[1:]) == 0
    assert printed.getvalue().splitlines()[2:5] == capfd.readouterr().out.splitlines()[2:5]


@pytest.mark.parametrize("name", ["pram", "anatomy", "sensitive-addition"])
def test_the_page_comes_from_the_folder_alone_and_lists_its_files(
    released: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(released(name) / "public", tmp_path / "public")
    again = rerender_report(folder, "public", "html", None, (), verify=True)
    assert again.content == (folder / "report.html").read_bytes()
    report = Report.from_json(json.loads(rerender_report(folder, "public", "json", None, (), verify=True).content))
    assert report.published is not None
    files = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    listed = {d.path: d for d in report.published.downloads}

    assert set(listed) == set(files) - {"report.html"}
    for path, file in files.items():
        if path in {"report.html", "release.json"}:
            continue
        assert listed[path].digest == hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        number, unit = listed[path].size.split()
        shown = float(number) * {"bytes": 1, "kB": 1000, "MB": 1e6}[unit]
        assert shown == pytest.approx(file.stat().st_size, rel=0.01)
        assert f'href="./{path}"' in again.text


def test_sets_are_shown_as_they_were_released(released: Callable[[str], Path]) -> None:
    bundle = released("sensitive-addition")
    report = Report.from_json(json.loads((bundle / "audit" / "report.json").read_text()))
    with duckdb.connect() as engine:
        rows = engine.execute(
            f"SELECT disease, income_band FROM read_parquet('{bundle}/public/data.parquet')"
        ).fetchall()
    for panel, column in zip(report.sets, zip(*rows, strict=True), strict=True):
        counted = Counter(frozenset(each) for each in column)
        shown = [(frozenset(panel.values[i] for i in each.members), each.share) for each in panel.sets]

        assert panel.different == len(counted)
        assert len(shown) == min(20, len(counted))
        assert shown[0][1] == max(counted.values()) / 50_000
        assert [share for _, share in shown] == sorted((counted[s] / 50_000 for s, _ in shown), reverse=True)
        assert panel.held == tuple(sum(value in each for each in column) / 50_000 for value in panel.values)
    for side in ("public", "audit"):
        page = (bundle / side / "report.html").read_text()
        assert page.count('<table class="upset">') == (2 if side == "public" else page.count('<table class="upset">'))


@pytest.mark.parametrize("name", ["l-diversity", "mondrian", "tp"])
def test_generalised_columns_are_drawn_as_released_exact(released: Callable[[str], Path], name: str) -> None:
    page = (released(name) / "public" / "report.html").read_text()
    shown = part(page, "accuracy")

    assert "exact, by released label" in shown
    assert 'class="interval"' not in re.sub(r"(?s)<details class=\"marginal\">.*?</details>", "", shown)
    assert "95 % interval" not in shown


@pytest.mark.parametrize("name", ["l-diversity", "mondrian", "tp"])
def test_labels_are_drawn_that_records_have_and_once_where_each_is_a_category(
    released: Callable[[str], Path], name: str
) -> None:
    report = Report.from_json(json.loads((released(name) / "audit" / "report.json").read_text()))
    labels = {m.attribute: m.rows for m in report.marginals if m.of == "labels"}
    inside = {m.attribute: m.rows for m in report.marginals if m.of == "inside labels"}

    assert all(row.estimate > 0 for rows in labels.values() for row in rows)
    assert set(labels) == {a for a, rows in inside.items() if any(row.low != row.high for row in rows)}


def test_a_policy_that_names_no_owner_and_no_purpose_has_a_page_without_gaps(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,ill\n" + "f,no\nm,yes\n" * 200)
    (tmp_path / "policy.toml").write_text(
        'schema = 1\n[policy]\nname = "p"\nversion = "1.0.0"\n[source]\nuri = "people.csv"\n'
        '[attributes]\nsex = { role = "quasi-identifier", domain = ["f", "m"] }\n'
        'ill = { role = "sensitive", domain = ["no", "yes"] }\n'
        '[[privacy]]\nmodel = "local-dp"\nepsilon = 2\nscope = "attribute"\n[mechanism]\nname = "pram"\n'
    )
    rrpolicy.release(tmp_path / "policy.toml", out=tmp_path / "out")
    page = (tmp_path / "out" / "public" / "report.html").read_text()
    about = words(part(page, "about"))

    assert "400 records, protected." in about
    assert "Purpose" not in about


def test_what_is_exact_is_called_so_and_has_no_width(released: Callable[[str], Path]) -> None:
    for name, exact in (("rr-s", "sex, age_group and region"), ("rr-qi", "disease and income_band")):
        report = Report.from_json(
            json.loads(rerender_report(released(name) / "public", "public", "json", None, (), verify=False).content)
        )
        assert report.published is not None
        rows = {row.columns.replace("`", ""): row for row in report.published.accuracy}
        assert (rows[exact].told, rows[exact].tenth, rows[exact].standing) == ("Shares are exact.", None, None)
        assert rows[exact].level is None
        assert all(row.standing == "exact" for row in rows.values() if row.tenth is not None)


def test_half_widths_are_those_that_estimates_have(released: Callable[[str], Path]) -> None:
    """The width promised before any data agrees with the one of a share that is estimated; wrong by N it would not."""
    bundle = released("pram")
    release = rrpolicy.open_release(bundle)
    report = Report.from_json(
        json.loads(rerender_report(bundle / "public", "public", "json", None, (), verify=False).content)
    )
    assert report.published is not None
    for row in report.published.accuracy:
        if row.tenth is None or row.half is None:
            continue
        assert row.level == LEVEL
        promised = [float(text.split()[1]) for text in (row.tenth, row.half)]
        frame = release.crosstab([row.columns.strip("`")]).to_frame()
        share = frame["estimate"] / 50_000
        width = 100 * 1.96 * frame["se"] / 50_000
        between = promised[0] + (promised[1] - promised[0]) * (share - 0.1) / 0.4
        assert (abs(width - between) < 0.12).all()


def test_models_say_what_they_promise() -> None:
    models: dict[str, Any] = dict(load_registry(()).privacy_models)
    asked: dict[str, dict[str, Any]] = {
        "pk-anonymity": {"k": 3},
        "k-anonymity": {"k": 5},
        "identity-disclosure": {"threshold": "1/3"},
        "delta-presence": {"max": "1/7"},
        "attribute-disclosure": {"thresholds": {"flu": "1/4", "none": 1}},
    }
    told = {name: models[name].promise(models[name].options.model_validate(o)) for name, o in asked.items()}

    assert all(hasattr(model, "promise") for model in models.values())
    assert "above 33.4 %" in told["pk-anonymity"]  # rounded up: 33.3 % would promise more than holds
    assert "at least 4 others" in told["k-anonymity"]
    assert "at most 33.4 %" in told["identity-disclosure"]
    assert "at most 14.3 %" in told["delta-presence"]
    assert told["attribute-disclosure"].endswith("at most 25 % for `flu`, no limit for `none`.")
    assert models["k-anonymity"].promise(models["k-anonymity"].options(k=1)).startswith("Nothing")


def test_a_release_of_a_tests_seed_is_not_called_fit(examples: Any) -> None:
    page = HtmlRenderer().render(examples.report(passed=False, decision="A test drew this.")).decode()

    assert words(part(page, "about")).startswith("What this is Not fit for release. A test drew this.")
    assert "tile-held" not in page.partition("</style>")[2]
