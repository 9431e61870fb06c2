"""The audit report's first screen: who reads only it says correctly what is guaranteed, what is not, and what to ask."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rrpolicy
from rrpolicy.finding import Companion, Finding, Measure, Risk, Standing
from rrpolicy.privacy.risks import bounded_by
from rrpolicy.releasing.report.tiles import chances, in_hundred
from rrpolicy.report import Report
from rrpolicy.untrusted.document import read_document

SIX: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "pram": (
        (
            (
                "no attacker, not even one who knows everybody's original values, links a person to a record with a "
                "probability above 50 %."
            ),
            "by a factor of at most 404 (epsilon 6)",
        ),
        ("identifies nobody: weekly hours",),
        ("Protection: strong.", "Reading disease", "If the record is known: ", "± "),
    ),
    "rr-both": (
        ("picks that person's record with a probability of at most 2 %",),
        (),
        ("Protection: limited.", "worst off 2.0 %", "± "),
    ),
    "by-value": (
        ("at most 25 %, at most 90 % for none, at most 20 % for diabetes", "at most 20 %, for sex = female only"),
        ("1 requirement is met only given what the description tells of the table", "'hours' is released unmodified"),
        ("Protection: limited.", "certain of nobody's value", "± "),
    ),
    "l-diversity": (
        ("each record agrees with at least 9 others", "at least 3 different sensitive values"),
        ("'disease' is sensitive and released unmodified", "662 of 50,000 records are released as"),
        ("Protection: limited.", "If the record is known: 100.0 %", "labels exact"),
    ),
    "anatomy": (
        ("no sensitive value has a share above 33.4 %",),
        (),
        ("Protection: limited.", "records are found for certain", "with the release", "exact"),
    ),
    "sensitive-addition": (
        ("no sensitive value has a share above 33.4 % of", "no sensitive value has a share above 50 % of"),
        (),
        ("Protection: limited.", "Finding a person's record", "± "),
    ),
}
"""Of each release: sentences on what is guaranteed, on what needs judgement, and what the tiles show."""


def first_screen(bundle: Path) -> str:
    """Return the text of the page up to the first section after the decision."""
    page = (bundle / "audit" / "report.html").read_text()
    screen = page.partition('<section id="decision"')[2].partition('<section id="risk"')[0]
    return " ".join(re.sub(r"<[^>]*>", "", screen).replace("&#39;", "'").split())


@pytest.mark.slow
@pytest.mark.parametrize("name", SIX)
def test_the_first_screen_has_the_facts(released: Callable[[str], Path], name: str) -> None:
    screen = first_screen(released(name))
    guaranteed, questions, tiles = SIX[name]

    for fact in (*guaranteed, *questions, *tiles):
        assert fact in screen
    assert re.match(
        r"Protection: \w+\. ([^.]+\. ){0,2}Requirements met(; \d points? needs? judgement)?",
        screen.partition(">")[2].strip(),
    )
    assert "rrpolicy verify BUNDLE --source TABLE" in screen
    assert "approved" in screen
    assert "rejected" in screen


@pytest.mark.parametrize("name", SIX)
def test_green_never_stands_above_what_contradicts_it(released: Callable[[str], Path], name: str) -> None:
    page = (released(name) / "audit" / "report.html").read_text()
    report = Report.from_json(read_document(released(name) / "audit" / "report.json"))

    assert report.protection is not None
    green = 'class="banner banner-passed"' in page
    assert green is (report.protection.tone == "good")
    assert report.protection.grade == "strong" or not green
    assert f"Protection: {report.protection.grade}." in first_screen(released(name))
    assert {row.grade for row in report.protection.rows if row.name.startswith("Reading")} >= {report.protection.grade}


@pytest.mark.parametrize("name", SIX)
def test_the_public_page_names_no_point_that_the_audit_does_not_name(
    released: Callable[[str], Path], name: str
) -> None:
    bundle = released(name)
    audit = Report.from_json(read_document(bundle / "audit" / "report.json"))
    public = Report.from_json(json.loads(rrpolicy.render(bundle / "public", format="json").content)).points

    assert audit.protection is not None
    graded = {row.name for row in audit.protection.rows}  # the numbers of what the public page has in words
    said = "\n".join(audit.points)
    for point in public:
        if point.casefold().startswith("re-identification"):
            assert "Finding a person's record" in graded
        elif "can be guessed" in point:
            assert any(f"Reading {name}" in graded for name in re.findall(r"\w+", point))
        else:
            assert all(part in said for part in point.rpartition(": ")[2].split("; "))


@pytest.mark.parametrize("name", SIX)
def test_no_tile_shows_less_than_the_best_guesser_attains(released: Callable[[str], Path], name: str) -> None:
    bundle = released(name)
    stated = json.loads((bundle / "audit" / "findings.json").read_text())
    told = {"linking": [0.0], "reading": [0.0]}
    for finding in (*stated["findings"], *stated["attained"]):
        for number in ({**finding, "measure": finding["achieved"]}, *finding["companions"]):
            if "chance_of" in number:
                told[number["chance_of"]].append(float(number["measure"]["value"]))
    tiles = {tile.name: tile for tile in Report.from_json(read_document(bundle / "audit" / "report.json")).tiles}
    shown = [re.fullmatch(r"up to (\d+) %", tiles["Reading a value"].figure)]
    shown += [re.fullmatch(r"at most (\d+) in 100", tiles["Re-identification"].figure)]

    for most, match in zip((max(told["reading"]), max(told["linking"])), shown, strict=True):
        assert match is None or int(match[1]) >= 100 * most - 1e-9
        assert match is not None or most >= 1 - 1e-3 or most == 0


def finding(value: float, risk: Risk | None = None, **changes: Any) -> Finding:
    from fractions import Fraction

    from rrpolicy.finding import Basis, Verdict

    made = Finding(
        "m",
        "identity-disclosure",
        "link <= 1/10",
        None,
        Measure(value),
        Fraction(1, 10),
        Verdict.SATISFIED,
        Basis.ORIGINAL,
        "knows all",
        chance_of=risk,
    )
    return replace(made, **changes)


def beside(value: float, of: str = "", standing: Standing = Standing.EXACT) -> Companion:
    from rrpolicy.finding import Basis

    risk = Risk.READING if of else Risk.LINKING
    return Companion("chance", Measure(value, standing), Basis.ORIGINAL, "a chance", of, chance_of=risk)


def test_the_worst_number_counts_and_a_limit_is_of_its_own_number_alone() -> None:
    found = chances(
        [
            finding(
                0.05, Risk.LINKING, companions=(beside(0.4), beside(0.2, "pay"), beside(0.7, "pay (others known)"))
            ),
            finding(0.09, Risk.LINKING),
        ]
    )

    assert [(c.risk, c.of, c.measure.value, c.limited) for c in found] == [
        (Risk.LINKING, "", 0.4, False),
        (Risk.READING, "pay", 0.7, False),
    ]
    assert [c.disclosing for c in found] == [False, True]
    (alone,) = chances([finding(0.09, Risk.LINKING)])
    assert alone.limited


@pytest.mark.parametrize("k", [2.0, 5.0, 10.0])
def test_a_chance_that_is_one_over_what_is_limited_is_limited(k: float) -> None:
    model = next(m for m in ("pk-anonymity", "k-anonymity") if Risk.LINKING in bounded_by(m))
    (chance,) = chances([finding(k, model=model, companions=(beside(1 / k),))])

    assert chance.limited
    assert in_hundred(chance.measure) == f"at most {math.ceil(100 / k)} in 100"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (Measure(0.05), "at most 5 in 100"),
        (Measure(0.0501), "at most 6 in 100"),
        (Measure(0.01), "at most 1 in 100"),
        (Measure(0.0099), "at most 1 in 100"),
        (Measure(1 / 457), "at most 1 in 450"),
        (Measure(0.991), "nearly certain"),
        (Measure(0.989), "at most 99 in 100"),
        (Measure(1 - 1e-9), "nearly certain"),
        (Measure(1.0), "not limited"),
        (Measure(0.0), "none"),
        (Measure(0.05, Standing.ESTIMATE, 0.01), "at most 8 in 100"),
    ],
)
def test_chances_are_said_as_people_say_them_and_never_as_less(measure: Measure, words: str) -> None:
    assert in_hundred(measure) == words
