"""Both pages of a release of every mechanism: what an auditor must find on them, and what must not be on the public one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from rrpolicy.numbers import figure
from rrpolicy.report import Report, Section

NAMES = (
    "pram",
    "rr-both",
    "rr-qi",
    "rr-s",
    "sensitive-addition",
    "anatomy",
    "l-diversity",
    "mondrian",
    "tp",
    "by-value",
)
RECODED = ("l-diversity", "mondrian", "tp")
KNOWN = ("sex", "education", "region", "age_group")
CLASS_SIZES = {"l-diversity": 0.02, "mondrian": 0.0, "tp": 0.6}
"""The mechanisms that make classes, with the largest share of records that each may suppress here."""


def audit(bundle: Path) -> Report:
    return Report.from_json(json.loads((bundle / "audit" / "report.json").read_text()))


def page(bundle: Path, side: str) -> str:
    return (bundle / side / "report.html").read_text()


def section(report: Report, title: str) -> Section:
    (found,) = (s for s in report.sections if s.title == title)
    return found


def facts(part: Section) -> dict[str, str]:
    return {fact.name: fact.value for fact in part.facts}


def plain(text: str) -> int:
    return int(text.partition(" of ")[0].replace(",", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_few_digits_and_every_sentence_an_end(released: Callable[[str], Path], name: str) -> None:
    bundle = released(name)
    for side in ("public", "audit"):
        text = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|pre)>.*?</\1>", "", page(bundle, side)))
        text = re.sub(r"(sha256:)?[0-9a-f]{40,}|[0-9a-f]{12}…", "", text)
        fractions = [f for f in re.findall(r"\d+\.\d+", text) if len(f.split(".")[1]) > 9]

        assert fractions == []
        assert re.search(r"\de[-+]?\d\d", text) is None
        assert "`" not in text
        assert "does not state its limits" not in text


@pytest.mark.parametrize("name", NAMES)
def test_the_public_page_has_what_is_public_alone(released: Callable[[str], Path], name: str) -> None:
    public = page(released(name), "public")
    report = audit(released(name))
    original = [b for f in report.findings for b in f.companions if f.basis == "original" and f.histogram is not None]

    assert report.dropped
    assert not any(text in public for text in report.dropped)
    assert "person_id" not in public
    assert "Groups at the top" not in public
    assert "Class sizes" not in public
    assert "Original, released" not in public
    assert not any(
        b.meaning in public
        for b in original
        if b.name in {"risk", "value read correctly", "largest within-group share"}
    )
    assert "Digest of the plan" not in public


@pytest.mark.parametrize("name", NAMES)
def test_limits_that_are_certain_hold_and_exact_shares_are_those_of_the_original(
    released: Callable[[str], Path], name: str
) -> None:
    report, rounding = audit(released(name)), 0.0005 + 1e-9
    tables = {m.attribute: m for m in report.marginals if m.of != "labels"}
    exact = {m.attribute for m in tables.values() if all(r.low == r.high for r in m.rows)}
    certain = {m.attribute for m in tables.values() if m.of == "inside labels" and m.level == 1}

    whole = {"sex"} if name == "mondrian" else set()  # every box holds one sex, so that each label is one
    assert certain == (set(KNOWN) - whole if name in RECODED else set())
    assert (
        exact
        == {
            "pram": set(),
            "rr-both": set(),
            "by-value": set(),
            "rr-qi": {"disease", "income_band"},
            "rr-s": {"sex", "age_group", "region"},
            "sensitive-addition": {"sex", "age_group", "region"},
            "anatomy": {"sex", "age_group", "education", "region", "income_band"},
            "l-diversity": {"disease"},
            "mondrian": {"disease", "sex"},
            "tp": {"income_band"},
        }[name]
    )
    for attribute in exact | certain:
        for row in tables[attribute].rows:
            assert row.original is not None
            assert row.low - rounding <= row.original <= row.high + rounding
            assert row.low - 1e-9 <= row.estimate <= row.high + 1e-9
            assert row.remark is None


@pytest.mark.parametrize("name", RECODED)
def test_class_sizes_are_those_of_the_released_table(released: Callable[[str], Path], name: str) -> None:
    bundle = released(name)
    names = ", ".join(KNOWN)
    with duckdb.connect() as engine:
        rows = engine.execute(
            f"SELECT {names}, count(*) FROM read_parquet('{bundle}/public/data.parquet') GROUP BY {names}"
        ).fetchall()
    stars = sum(n for *labels, n in rows if set(labels) == {"*"}) if name != "mondrian" else 0
    sizes = [n for *labels, n in rows if name == "mondrian" or set(labels) != {"*"}]
    shown = section(audit(bundle), "Class sizes")
    told = facts(shown)

    assert told["Classes"] == figure(len(sizes))
    assert plain(told["Records in the smallest class"]) == min(sizes)
    assert plain(told["Records in the largest class"]) == max(sizes)
    assert plain(told["Suppressed records, released as *"]) == stars <= CLASS_SIZES[name] * 50_000
    assert [sum(plain(row[i]) for row in shown.table) for i in (1, 2)] == [len(sizes), sum(sizes)]
    assert sum(shown.bars) == pytest.approx(sum(sizes) / 50_000)


@pytest.mark.parametrize("name", RECODED)
def test_the_loss_is_that_of_the_released_labels(released: Callable[[str], Path], name: str) -> None:
    bundle = released(name)
    (spread,) = (
        d for d in json.loads((bundle / "public" / "release.json").read_text())["decoders"] if d["form"] == "recode"
    )
    lost = []
    with duckdb.connect() as engine:
        for column, labels, original, groups in zip(
            spread["columns"], spread["released"], spread["original"], spread["groups"], strict=True
        ):
            width = {
                label: len(group) / len(original) if len(group) > 1 else 0
                for label, group in zip(labels, groups, strict=True)
            }
            values = engine.execute(f"SELECT {column} FROM read_parquet('{bundle}/public/data.parquet')").fetchall()
            lost.append(np.mean([width[value] for (value,) in values]))

    assert facts(section(audit(bundle), "Class sizes"))["Loss (NCP), mean over the columns"] == figure(
        float(np.mean(lost)), 4
    )
    if name != "tp":
        rows = section(audit(bundle), "Generalisation").table
        assert [(row[0], row[4]) for row in rows] == [
            (column, figure(float(loss), 4)) for column, loss in zip(spread["columns"], lost, strict=True)
        ]


def test_what_labels_stand_for_and_how_many_have_them(released: Callable[[str], Path]) -> None:
    bundle = released("l-diversity")
    shown = section(audit(bundle), "Categories of the labels")
    with duckdb.connect() as engine:
        counts = dict(
            engine.execute(
                f"SELECT education, count(*) FROM read_parquet('{bundle}/public/data.parquet') GROUP BY education"
            ).fetchall()
        )
    found = {row[1]: (row[2], bar) for row, bar in zip(shown.table, shown.bars, strict=True) if row[0] == "education"}

    assert found["compulsory"][0] == "none, primary, lower secondary"
    assert found["*"][0] == "every category"
    assert {label: bar for label, (_, bar) in found.items()} == pytest.approx(
        {label: counts[label] / 50_000 for label in found}
    )
    assert "compulsory" in page(bundle, "public")


def test_anatomy_tells_groups_residues_and_the_join(released: Callable[[str], Path]) -> None:
    bundle = released("anatomy")
    shown = section(audit(bundle), "Groups by income_band")
    told = facts(shown)
    with duckdb.connect() as engine:
        sizes = engine.execute(
            f"SELECT n, count(*) FROM (SELECT sum(count) AS n FROM read_parquet('{bundle}/public/st.parquet') "
            "GROUP BY group_id) GROUP BY n ORDER BY n"
        ).fetchall()
        joined = engine.execute(
            f"SELECT count(*) FROM read_parquet('{bundle}/public/qit.parquet') AS qit "
            f"JOIN read_parquet('{bundle}/public/st.parquet') AS st ON {told['Join']}"
        ).fetchone()

    assert plain(told["Groups"]) == sum(n for _, n in sizes) == sum(plain(row[0]) for row in shown.table)
    assert told["Records in a group"] == "3; at most 2 groups have 4 to 5"
    assert sizes[0][0] == 3
    assert sizes[-1][0] <= 5
    assert plain(told["Residues, each in a group that lacked its value"]) == sum(
        (n - 3) * groups for n, groups in sizes
    )
    assert joined == (sum(n * n * groups for n, groups in sizes),)
    assert sum(shown.bars) == pytest.approx(1)


def test_addition_tells_sets_their_chance_and_both_errors(released: Callable[[str], Path]) -> None:
    told = facts(section(audit(released("sensitive-addition")), "Sets of disease"))
    S, l, n = 7, 3, 50_000
    table, population = (S - 1) * (l - 1) / (n * S * (S - l)), l * (S - 1) ** 2 / (n * (S - l) * S**2)

    assert (told["Different values"], told["Values in each set"]) == ("7", "3")
    assert told["Probability that a set contains a given other value"] == "1/3"
    assert told["Mean squared error of a share of this table"].startswith(figure(table, 4))
    assert told["Mean squared error of a share of a uniform population"].startswith(figure(population, 4))


def test_groups_at_the_top_are_named_once(released: Callable[[str], Path]) -> None:
    for name in NAMES:
        for row in audit(released(name)).findings:
            top = () if row.histogram is None else row.histogram.top
            assert len({group for group, _, _ in top}) == len(top)
            assert [value for _, value, _ in top] == sorted((value for _, value, _ in top), reverse=True)


def test_the_value_that_decides_is_named(released: Callable[[str], Path]) -> None:
    first, second, *_ = audit(released("by-value")).findings

    assert (first.achieved_of, first.limit) == ("disease = none", "at most 0.9")
    assert str(second.achieved_of).startswith("income_band = ")
    assert ">disease = none<" in page(released("by-value"), "audit")
    assert ">disease = none<" not in page(released("by-value"), "public")


def test_an_inherited_requirement_names_its_file(released: Callable[[str], Path]) -> None:
    places = [row.place for row in audit(released("pram")).findings]

    assert [str(place).split(",")[0] for place in places] == ["baseline.toml", "policy.toml"]
    assert "baseline.toml" not in page(released("pram"), "public")


LOOK = """() => {
  const visible = e => e.checkVisibility({contentVisibilityAuto: true});
  const named = e => e.closest('[aria-hidden=true]') || e.ownerSVGElement || e.getAttribute('aria-label')
    || (e.getAttribute('aria-labelledby') || '').split(' ').some(id => id && document.getElementById(id));
  return {
    width: document.documentElement.scrollWidth,
    headings: [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(e => Number(e.tagName[1])),
    svgs: [...document.querySelectorAll('svg')].filter(e => !named(e)).length,
    tables: [...document.querySelectorAll('table')].filter(t => !t.caption || !t.caption.textContent.trim()).length,
    scopes: [...document.querySelectorAll('th:not([scope])')].length,
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    wide: [...document.querySelectorAll('main :is(table, svg, figure, p, dl, ul)')].filter(visible)
      .filter(e => !e.closest('.scroll') && e.getBoundingClientRect().width > innerWidth).length,
    over: [...document.querySelectorAll('.histogram text')].filter(visible).filter(t => {
      const a = t.getBoundingClientRect();
      return [...t.closest('.histogram').querySelectorAll('svg rect')].some(r => { const b = r.getBoundingClientRect();
        return b.height > 0 && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; });
    }).length,
    links: [...document.querySelectorAll('a[href^="#"]')].filter(a => !document.querySelector(a.getAttribute('href'))).length,
  };
}"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_both_pages_can_be_read_by_everybody(
    released: Callable[[str], Path], visited: Callable[..., Any], contrast: str, name: str
) -> None:
    for side, width, scheme in (("audit", 360, "light"), ("audit", 1280, "dark"), ("public", 360, "dark")):
        opened = visited(released(name) / side / "report.html", width, scheme)
        seen = opened.evaluate(LOOK)
        ratios = opened.evaluate(contrast)

        assert seen["width"] <= width
        assert (seen["svgs"], seen["tables"], seen["scopes"], seen["wide"], seen["over"], seen["links"]) == (0,) * 6
        assert seen["headings"][0] == 1
        assert all(below - above <= 1 for above, below in itertools.pairwise(seen["headings"]))
        assert len(seen["ids"]) == len(set(seen["ids"]))
        assert len(ratios) > 20
        assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["anatomy", "l-diversity", "by-value"])
def test_print_cuts_nothing_off(released: Callable[[str], Path], visited: Callable[..., Any], name: str) -> None:
    opened = visited(released(name) / "audit" / "report.html", 690, "light")
    opened.emulate_media(media="print")
    cut = opened.evaluate(
        """() => [...document.querySelectorAll('main :is(table, svg[role=img], dd, p)')]
          .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    )
    closed = opened.evaluate(
        """() => [...document.querySelectorAll('details > :not(summary, .sideways)')]
          .filter(e => !e.checkVisibility({contentVisibilityAuto: true})).map(e => e.outerHTML.slice(0, 80))"""
    )

    assert (cut, closed) == ([], [])
