"""The audit report's first screen: who reads only it says correctly what is guaranteed, what is not, and what to ask."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.finding import Companion, Finding, Measure, Risk, Standing
from rrpolicy.frozen import replace
from rrpolicy.numbers import at_most_in_hundred
from rrpolicy.report import Report
from rrpolicy.reports.bounded_risks import bounded_risks
from rrpolicy.reports.key_figures import largest_risks
from rrpolicy.safe_io.document import read_document

WEAK = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables"
[context]
release_model = "{model}"
[source]
uri = "people.csv"
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
town = {{ role = "quasi-identifier", domain = ["a", "b", "c", "d"] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
model = "local-dp"
epsilon = 60
[mechanism]
name = "pram"
allocation = "equal"
[[waivers]]
finding = "protection"
reason = "a course"
approver = "head"
until = 2099-01-01
"""
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
        ("Protection: strong.", "Reading disease", "If the record is known: ", "are the true ones: of disease ", "± "),
    ),
    "rr-both": (
        ("picks that person's record with a probability of at most 2 %",),
        (),
        ("Protection: limited.", "worst off 2.0 %", "are the true ones: of disease ", "± "),
    ),
    "by-value": (
        ("at most 25 %, at most 90 % for none, at most 20 % for diabetes", "at most 20 %, for sex = female only"),
        (
            "1 requirement is met only given the statistics of the table in the description",
            "'hours' is released unmodified",
        ),
        (
            "Protection: limited.",
            "certain of nobody's value",
            "disease = none: 0.327275, required at most 0.9",
            "disease = diabetes: 0.0600822, required at most 0.2",
            "± ",
        ),
    ),
    "l-diversity": (
        ("each record agrees with at least 9 others", "at least 3 different sensitive values"),
        ("'disease' is sensitive and released unmodified", "662 of 50,000 records are released as"),
        (
            "Protection: limited. Assumed, not checked: no attacker knows hours. Requirements met",
            "If the record is known: 100.0 % guessed rightly; certain of 50,000 people's values.",
            "labels exact",
        ),
    ),
    "anatomy": (
        ("no sensitive value has a share above 33.4 %",),
        (),
        (
            (
                "Protection: limited. Finding a person's record: none, which does not count in the grade. Requirements "
                "met"
            ),
            "records are found for certain",
            "guessed rightly",
            "exact",
        ),
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
    return plain(page.partition('<section id="decision"')[2].partition('<section id="risk"')[0])


def plain(html: str) -> str:
    """Return the text of a part of a page."""
    return " ".join(
        re.sub(r"<[^>]*>", "", html).replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<").split()
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SIX)
def test_the_first_screen_has_the_facts(released: Callable[[str], Path], name: str) -> None:
    screen = first_screen(released(name))
    guaranteed, questions, tiles = SIX[name]

    for fact in (*guaranteed, *questions, *tiles):
        assert fact in screen
    assert "empty text" not in screen
    assert re.match(r"Protection: \w+\.", screen.partition(">")[2].strip())
    assert re.search(r"Requirements met(; \d points? needs? judgement)?\.", screen)
    told, _, rest = screen.partition("approved")
    assert "Nobody had verified, attacked or signed this release when this page was written." in told
    assert "Run rrpolicy verify BUNDLE --source TABLE" in told
    assert "What it is good for" in told
    assert "rejected" in rest
    top = plain((released(name) / "audit" / "report.html").read_text().partition('<header class="top">')[2])
    assert re.search(r"People50,000, one record each Columns\d: .* Recipientsnot stated", top)


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


@pytest.mark.parametrize(("model", "said"), [("public", True), ("restricted", False)])
def test_that_anybody_may_have_what_protects_weakly_is_a_point(tmp_path: Path, model: str, *, said: bool) -> None:
    rows = [f"{'FM'[i % 2]},{'abcd'[i // 3 % 4]},{('no', 'yes')[i % 7 < 2]}" for i in range(24)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *rows, ""]))
    policy = tmp_path / "policy.toml"
    policy.write_text(WEAK.format(model=model))
    page = Report.from_json(json.loads(rrpolicy.preview(policy, tmp_path / "page.json", format="json").content))

    assert page.protection is not None
    assert page.protection.grade in {"weak", "none"}
    points = [p for p in page.points if p.startswith("everybody gets the data (`release_model`: public). Protection: ")]
    assert len(points) == said
    assert page.points[0].startswith("`protection` is waived until 2099-01-01 by head")
    assert page.points.index(points[0]) == 1 if said else points == []


def test_who_is_certain_of_a_value_is_named_wherever_people_are_counted(released: Callable[[str], Path]) -> None:
    bundle = released("sensitive-addition")
    report = Report.from_json(read_document(bundle / "audit" / "report.json"))
    counted = [c for row in report.findings for c in row.companions if c.name == "people with a posterior of 1"]

    assert report.protection is not None
    assert [c.value for c in counted if c.value != "0"]
    assert all("for an attacker who knows which record is theirs" in c.meaning for c in counted)
    reading = [row for row in report.protection.rows if row.statistics is not None]
    assert reading
    for row in reading:
        assert row.certain.startswith("An attacker who has to find the record first is certain of ")
        assert "If the record is known: " in row.known
        assert "certain of" in row.known


def test_the_plan_tells_each_value_beside_its_own_limit(
    released: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    policy = released("by-value").parent / "policies" / "of-by-value.toml"
    capsys.readouterr()
    assert main(["plan", str(policy)]) == 0
    text = capsys.readouterr().out

    assert "achieved 0.327275 by disease = none (limit 9/10); " in text
    assert "; 0.0600822 by disease = diabetes (limit 1/5) [original]" in text


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        ("1/2", "Of every 100 values these are the true ones: of `ill` 50, of `sex` 50."),
        ("999/1000", "Of every 100 values these are the true ones: of `ill` 99.90, of `sex` 99.90."),
    ],
)
def test_the_share_of_true_values_is_told_by_column(keep: str, told: str) -> None:
    from fractions import Fraction

    from rrpolicy.channels.decoders import Block, RetentionDecoder
    from rrpolicy.declarations import Role
    from rrpolicy.policy.model import Attribute
    from rrpolicy.reports.attributes import true_values_sentence

    made = [(name, ("a", "b")) for name in ("sex", "ill")]
    decoders = [
        RetentionDecoder((name,), (name,), tuple((v,) for v in labels), (Block((0, 1), Fraction(keep)),))
        for name, labels in made
    ]
    attributes = [Attribute("sex", Role.QUASI_IDENTIFIER, None), Attribute("ill", Role.SENSITIVE, None)]

    assert true_values_sentence(attributes, decoders) == told


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
    found = largest_risks(
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
    (alone,) = largest_risks([finding(0.09, Risk.LINKING)])
    assert alone.limited


@pytest.mark.parametrize("k", [2.0, 5.0, 10.0])
def test_a_chance_that_is_one_over_what_is_limited_is_limited(k: float) -> None:
    model = next(m for m in ("pk-anonymity", "k-anonymity") if Risk.LINKING in bounded_risks(m))
    (chance,) = largest_risks([finding(k, model=model, companions=(beside(1 / k),))])

    assert chance.limited
    assert at_most_in_hundred(chance.measure.end("max")) == f"at most {math.ceil(100 / k)} in 100"


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
    assert at_most_in_hundred(measure.end("max")) == words
