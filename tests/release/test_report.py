"""Filling the report: the public page from public/ alone, the audit page with every number, numbers in words."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rrpolicy import wording as figures
from rrpolicy.canonical_json import canonical, digest
from rrpolicy.channels.decoders import MatrixDecoder, RetentionDecoder, label_cells
from rrpolicy.declarations import EMPTY_GOVERNANCE
from rrpolicy.discovery import load_registry
from rrpolicy.errors import Place, PolicyError
from rrpolicy.finding import Basis, Companion, Finding, Measure, Origin, Profile, Standing, UtilityFinding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.mechanism import Remark
from rrpolicy.numbers import distinguishable_number, figure, significant
from rrpolicy.report import Fact, Report
from rrpolicy.reports import attributes as report_attributes
from rrpolicy.reports import report_builder
from rrpolicy.reports.findings import model_caveats
from rrpolicy.reports.report_builder import AuditPageInput, parse_report
from rrpolicy.serialization import plain

CANARY = 0.61803398874
LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SEX, AREA = ["F", "M"], ["North", "South", "West"]
KEEP = {"sex": Fraction(9, 10), "area": Fraction(3, 5)}
TRUE = {"sex": np.array([0.4, 0.6]), "area": np.array([0.5, 0.3, 0.2])}
RECORDS = 10_000


def finding(**changes: Any) -> Finding:
    fields: dict[str, Any] = {
        "code": "local-dp",
        "model": "local-dp",
        "requirement": "epsilon <= 6",
        "place": Place("policy.toml", 12, 1, "privacy.0"),
        "achieved": Measure(5.25),
        "limit": Fraction(6),
        "verdict": Verdict.SATISFIED,
        "basis": Basis.CHANNEL,
        "adversary": "Knows all but one person's values.",
        "assumptions": ("one person is one record",),
        "companions": (
            Companion("e^epsilon", Measure(math.exp(5.25), Standing.UPPER_BOUND), Basis.CHANNEL, "odds"),
            Companion("worst group", Measure(CANARY), Basis.ORIGINAL, "seen in the data", "disease = Flu"),
        ),
        "reference": "Ikarashi et al. 2014",
        "assessor": "core (rrpolicy)",
    }
    return Finding(**(fields | changes))


def disclosure() -> Finding:
    return finding(
        code="attribute-disclosure",
        model="attribute-disclosure",
        requirement="risk <= 2/3",
        achieved=Measure(CANARY, Standing.UPPER_BOUND),
        limit=Fraction(2, 3),
        basis=Basis.ORIGINAL,
        profile=Profile("risk", (0.0, 0.5, CANARY), (9_000, 1_000), None, (("area=West", CANARY, 3),)),
        groups_over=0,
    )


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A release with exactly the expected released counts, so that reconstruction returns the original shares."""
    folder = tmp_path / "public"
    folder.mkdir()
    columns = {}
    for name, labels in (("sex", SEX), ("area", AREA)):
        d, p = len(labels), float(KEEP[name])
        expected = TRUE[name] * (p - (1 - p) / (d - 1)) + (1 - p) / (d - 1)
        columns[name] = np.repeat(labels, np.rint(expected * RECORDS).astype(int))
    columns["hours"] = np.arange(RECORDS) % 40
    pq.write_table(pa.table(columns), folder / "data.parquet")
    document: dict[str, Any] = {
        "schema": "rrpolicy.release/1",
        "release": "2026-11",
        "policy": {
            "name": "survey",
            "version": "1.0.0",
            "owner": "Statistics",
            "purpose": "teaching",
            "digest": f"sha256:{'a' * 64}",
        },
        "software": {
            "rrpolicy": "0.1.0",
            "plugins": [{"name": "pram", "distribution": "rrpolicy", "version": "0.1.0", "hooks": []}],
        },
        "records": RECORDS,
        "units": {"max_records": 1},
        "attributes": [
            {
                "name": "sex",
                "release_as": "sex",
                "role": "quasi-identifier",
                "domain": SEX,
                "observed": False,
                "scale": "nominal",
                "assume_unlinkable": None,
                "unchanged": None,
            },
            {
                "name": "area",
                "release_as": "area",
                "role": "sensitive",
                "domain": AREA,
                "observed": True,
                "scale": "nominal",
                "assume_unlinkable": None,
                "unchanged": None,
            },
            {
                "name": "hours",
                "release_as": "hours",
                "role": "insensitive",
                "domain": None,
                "observed": False,
                "scale": "interval",
                "assume_unlinkable": None,
                "unchanged": "told to nobody",
            },
        ],
        "channel": {"kind": "product", "version": 1},
        "decoders": [
            {
                "form": "retention",
                "attributes": [name],
                "columns": [name],
                "labels": [[label] for label in labels],
                "blocks": [{"members": list(range(len(labels))), "keep_probability": str(KEEP[name])}],
                "unbiased": True,
                "independent": True,
            }
            for name, labels in (("sex", SEX), ("area", AREA))
        ],
        "tables": [
            {
                "name": "data",
                "columns": [
                    {
                        "name": "sex",
                        "kind": "category",
                        "labels": SEX,
                        "type": "VARCHAR",
                        "attribute": "sex",
                        "assume_unlinkable": None,
                    },
                    {
                        "name": "area",
                        "kind": "category",
                        "labels": AREA,
                        "type": "VARCHAR",
                        "attribute": "area",
                        "assume_unlinkable": None,
                    },
                    {
                        "name": "hours",
                        "kind": "carried",
                        "labels": [],
                        "type": "BIGINT",
                        "attribute": "hours",
                        "assume_unlinkable": None,
                    },
                ],
                "sort": ["sex", "area", "hours"],
                "joins": {},
            }
        ],
        "data": {
            "format": "parquet",
            "csv_formulas": "escape",
            "rows_per_file": None,
            "tables": {"data": {"files": ["data.parquet"], "rows": RECORDS, "digest": f"sha256:{'d' * 64}"}},
        },
        "findings": plain([f.up_to(Basis.RELEASE) for f in (finding(), disclosure())]),
        "mechanism": "",
        "plan_on": False,
        "requirements": [],
        "utility": [],
        "origins": {},
        "derived": [{"id": "domain:area", "meaning": "the categories of area were observed in the data"}],
        "assumptions": ["one person is one record"],
        "governance": EMPTY_GOVERNANCE.to_json(),
        "governance_digest": EMPTY_GOVERNANCE.digest(),
        "require_signatures": 0,
        "files": {},
    }
    for attribute in document["attributes"]:
        attribute.setdefault("hierarchy", None)
        attribute.setdefault("nulls", None)
    (folder / "release.json").write_bytes(canonical(document | {"digest": digest(canonical(document))}))
    return folder


def public_report(folder: Path, **options: Any) -> Report:
    return report_builder.public_report(folder, read_release(folder), **options)


def audit_report(folder: Path, audit: AuditPageInput) -> Report:
    return report_builder.audit_report(folder, read_release(folder), audit)


def pieces() -> AuditPageInput:
    utility = UtilityFinding(
        "expected-l2",
        {"attributes": None, "target": "table"},
        Measure(0.0125),
        Fraction(1, 50),
        Verdict.SATISFIED,
        "Smaller is better.",
        None,
    )
    return AuditPageInput(
        findings=(finding(), disclosure()),
        utility=(utility,),
        realised=(Measure(0.011),),
        origins={"sex": Origin.RECORDS, "area": Origin.DATA},
        remarks=(Remark("gain", "less error than equal allocation", Measure(0.31)),),
        shares={"sex": {"F": 0.4, "M": 0.6}, "area": {"North": 0.5, "South": 0.3, "West": 0.2}},
        dropped=("person_id: identifier, counted only for how many records a person has, and never released",),
        provenance=(Fact("Commit of the policy", "0a1b2c3"),),
    )


def test_the_public_page_is_filled_from_public_alone(public: Path) -> None:
    report = public_report(public)

    assert (report.page, report.passed) == ("public", True)
    assert report.title == "survey, version 1.0.0, release 2026-11"
    assert report.decision == "Both privacy requirements are met."
    assert report.assumptions == ("one person is one record",)
    assert report.derived == ("domain:area: the categories of area were observed in the data",)
    assert Fact("Plugin", "pram (rrpolicy 0.1.0)") in report.provenance
    assert Fact("Released attributes", "3: 2 randomised, 1 unchanged") in report.facts
    assert (report.utility, report.dropped, report.remarks) == ((), (), ())


def test_marginals_are_reconstructed_with_intervals(public: Path) -> None:
    sex, area = public_report(public).marginals
    half = 1.959963984540054 * math.sqrt(0.1 * 0.9 / RECORDS) / 0.8 + 0.5 / RECORDS

    assert [m.attribute for m in (sex, area)] == ["sex", "area"]
    assert [r.category for r in area.rows] == AREA
    assert [r.estimate for r in area.rows] == pytest.approx(TRUE["area"], abs=1e-9)
    assert [r.released for r in sex.rows] == pytest.approx([0.42, 0.58])
    assert [r.original for r in sex.rows] == [None, None]
    assert (sex.rows[0].low, sex.rows[0].high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-9)


def test_counts_at_hand_spare_reading_the_data(public: Path) -> None:
    read = public_report(public).marginals
    (public / "data.parquet").write_bytes(b"")

    assert public_report(public, released={"sex": [4200, 5800], "area": [4000, 3200, 2800]}).marginals[0] == read[0]


def test_panels_tell_treatment_parameters_and_matrix(public: Path) -> None:
    from rrpolicy_reports.html import HtmlRenderer

    sex, area, hours = public_report(public).attributes

    assert Fact("Keep probability", "0.9") in sex.parameters
    assert Fact("Retention probability", "0.4") in area.parameters
    assert Fact("Epsilon of this attribute alone", figure(math.log(9))) in sex.parameters
    assert area.matrix is not None
    assert np.allclose(np.array(area.matrix.rows).sum(axis=0), 1)
    assert area.matrix.rows[0] == pytest.approx((0.6, 0.2, 0.2))
    assert area.domain == "3 categories, observed in the data"
    assert (hours.matrix, hours.parameters) == (None, ())
    assert (sex.reason, area.reason, hours.reason) == ("", "", "told to nobody")
    assert b"told to nobody" in HtmlRenderer().render(public_report(public))


def test_no_audit_number_is_on_the_public_page(public: Path) -> None:
    from rrpolicy_reports.html import HtmlRenderer
    from rrpolicy_reports.json_renderer import JsonRenderer

    report = public_report(public)
    withheld = report.findings[1]

    assert (withheld.achieved, withheld.used, withheld.margin, withheld.histogram) == (None, None, None, None)
    assert (withheld.groups_over, withheld.people_over) == (None, None)
    assert (withheld.verdict, withheld.limit) == ("satisfied", None)
    for renderer in (HtmlRenderer(), JsonRenderer()):
        page = renderer.render(report)
        assert b"618" not in page
        assert b"worst group" not in page


def test_the_audit_page_has_every_number(public: Path) -> None:
    report = audit_report(public, pieces())
    row = report.findings[1]

    assert report.page == "audit"
    assert report.decision == "Both privacy requirements and the utility requirement are met."
    assert (row.achieved, row.standing) == ("at most 0.618034", "upper bound")
    assert row.histogram is not None
    assert row.histogram.top == (("area=West", CANARY, 3),)
    assert report.findings[0].companions[1].of == "disease = Flu"
    assert [r.original for r in report.marginals[1].rows] == [0.5, 0.3, 0.2]
    assert report.attributes[1].origin == "chosen from the data"
    assert report.utility[0].expected == "0.0125"
    assert report.utility[0].realised == "0.011"
    assert report.remarks == (Fact("Gain", "less error than equal allocation (0.31, exact)"),)
    assert report.provenance[-1] == Fact("Commit of the policy", "0a1b2c3")


def test_the_audit_report_reads_back(public: Path) -> None:
    report = audit_report(public, pieces())

    assert parse_report(json.loads(json.dumps(report.to_json()))) == report
    with pytest.raises(PolicyError, match="RR259"):
        parse_report({"schema": "else"})


@pytest.mark.parametrize(
    ("verdict", "achieved", "sentence"),
    [
        (Verdict.FAILED, Measure(7.0), "1 of 1 requirement is not met: local-dp, epsilon <= 6."),
        (Verdict.UNDECIDED, None, "1 of 1 requirement is not met: local-dp, epsilon <= 6 (undecided)."),
        (None, Measure(1.0), "The policy contains no privacy requirement."),
    ],
)
def test_what_does_not_hold_heads_the_page(
    public: Path, verdict: Verdict | None, achieved: Measure | None, sentence: str
) -> None:
    row = finding(verdict=verdict, achieved=achieved, limit=None if verdict is None else Fraction(6))
    report = audit_report(public, AuditPageInput(findings=(row,)))

    assert (report.passed, report.decision) == (False, sentence)


@pytest.mark.parametrize(
    ("changed", "point"),
    [
        ({"role": "sensitive", "unchanged": "everybody knows it"}, "is sensitive and released unmodified: everybody"),
        ({"role": "sensitive"}, "is sensitive and released unmodified"),
        ({"assume_unlinkable": "told to nobody"}, "assuming that it identifies nobody: told to nobody"),
        ({"role": "insensitive", "unchanged": "everybody knows it"}, None),
    ],
)
def test_what_a_person_must_judge_heads_the_page(public: Path, changed: dict[str, Any], point: str | None) -> None:
    document = json.loads((public / "release.json").read_text())
    undone = {name for decoder in document["decoders"] for name in decoder["attributes"]}
    (name,) = (a["name"] for a in document["attributes"] if a["name"] not in undone)
    for attribute in document["attributes"]:
        if attribute["name"] == name:
            attribute.update({"unchanged": None, "assume_unlinkable": None, **changed})
    (public / "release.json").write_text(json.dumps(document))
    for report in (public_report(public), audit_report(public, pieces())):
        assert [point in text for text in report.points if name in text] == [True] * bool(point)
        page = load_registry(()).renderers["html"].render(report).decode()
        said = f"Requirements met; {len(report.points)} point" if report.points else "Requirements met</"
        assert said in page
        heads = "banner-care" if report.page == "audit" else 'tile-care">\n<h3><a href="#guarantees"'
        assert (heads in page.split("<main", 1)[1]) is bool(report.points)


def test_a_condition_and_a_plans_warnings_are_points_unless_they_are_waived(public: Path) -> None:
    warned = Remark("held-by-one", "values that one record alone has: 9", Measure(9.0), attribute="sex")
    conditional = replace(finding(), given=("domain:area",))
    audit = replace(pieces(), findings=(conditional,), remarks=(warned, Remark("gain", "less error", Measure(0.3))))
    report = audit_report(public, audit)
    assert report.points == (
        "how well `area` can be guessed was not measured; a requirement limits how much a release changes any guess",
        "1 requirement is met only given the statistics of the table in the description: domain:area",
        "values that one record alone has: 9",
    )
    assert report.decision.startswith("The privacy requirement and the utility requirement are met, ")


def test_what_a_test_drew_is_not_fit_for_release(public: Path) -> None:
    document = json.loads((public / "release.json").read_text())
    (public / "release.json").write_text(json.dumps(document | {"test": True}))
    report = public_report(public)

    assert report.passed is False
    assert report.decision.startswith("This was drawn from a test's seed")


def test_a_folder_without_a_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="RR260"):
        public_report(tmp_path)


def test_a_model_says_itself_what_it_leaves_open() -> None:
    class Model:
        not_covered = ("Something else.",)

    assert model_caveats("local-dp", {"local-dp": Model()}) == ("Something else.",)
    assert model_caveats("local-dp/kind", {"local-dp": Model()}) == ("Something else.",)
    core = load_registry().privacy_models
    assert model_caveats("l-diversity/entropy", core) == core["l-diversity"].not_covered
    assert "no release is made or refused by them" in model_caveats("written-posteriors", core)[0]
    for name in core:
        assert "does not state its limits" not in model_caveats(name, core)[0]
    assert "does not state its limits" in model_caveats("acme-model", core)[0]
    assert "does not state its limits" in model_caveats("acme-model", {"acme-model": object()})[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, "unbounded"),
        (0.0, "0"),
        (50_000.0, "50,000"),
        (1234.5678, "1,234.57"),
        (0.333333333, "0.333333"),
        (0.00002, "2 × 10⁻⁵"),
        (8.57143e-6, "8.571 × 10⁻⁶"),
        (-0.5, "−0.5"),
        (100.0, "100"),
    ],
)
def test_figures(value: float, text: str) -> None:
    assert figure(value) == text


def test_what_exchanges_nothing_is_released_as_it_is(public: Path) -> None:
    manifest = read_release(public)
    sex, area = manifest.decoders
    assert isinstance(area, RetentionDecoder)
    same = replace(area, blocks=(replace(area.blocks[0], keep=Fraction(1)),))
    exchanged = tuple(tuple(Fraction(int(u != v)) for v in range(2)) for u in range(2))
    matrix = MatrixDecoder(("sex",), ("sex",), label_cells(SEX), label_cells(SEX), exchanged)
    identity = replace(matrix, rows=exchanged[::-1])
    in_part, unchanged = (replace(manifest, decoders=(first, same)) for first in (sex, identity))

    kept = report_attributes.attribute_panels(in_part, {})[1]

    assert kept.treatment == "released unchanged: nothing is ever exchanged"
    assert Fact("Keep probability", "1") in kept.parameters
    assert report_attributes.treatment_counts(in_part.decoders, 3) == "1 randomised, 2 unchanged"
    assert report_attributes.treatment_counts(unchanged.decoders, 3) == "3 unchanged"
    assert not any(decoder.drawn for decoder in unchanged.decoders)
    assert matrix.drawn
    assert Fact("Sampling", "nothing was drawn at random") in report_builder.public_report(public, unchanged).facts


@given(st.fractions(Fraction(1, 1000), 1), st.sampled_from([-1, 0, 1]))
def test_what_rounding_leaves_is_no_margin(limit: Fraction, last: int) -> None:
    value = math.nextafter(float(limit), last * math.inf) if last else float(limit)

    assert (figures.margin_text(value, float(limit)) or "").endswith(
        ("at the limit", "at the limit, as far as digits tell")
    )
    assert "below" in (figures.margin_text(0.999 * float(limit), float(limit)) or "")


@given(st.floats(0.01, 1e6), st.floats(-1e-9, 1e-9))
@example(51471.00501754775, -3.409292044546678e-10)
def test_a_number_is_never_written_as_the_limit_it_misses(limit: float, apart: float) -> None:
    value = limit * (1 + apart)

    assert (distinguishable_number(value, (limit,)) == figure(limit)) <= (abs(value - limit) <= 1e-13 * limit)


@example(5.960464477539063e-08, 6, "at most")
@given(st.floats(1e-9, 1e9), st.sampled_from([4, 6]), st.sampled_from(["at most", "at least"]))
def test_a_bound_is_rounded_to_a_bound(value: float, digits: int, side: Any) -> None:
    text = figures.measure_words(Measure(value, Standing.UPPER_BOUND), side, digits=digits)
    shown = float(text.removeprefix(f"{side} ").replace(",", "").replace(" × 10", "e").translate(LOWERED))

    assert shown >= value * (1 - 1e-9) if side == "at most" else shown <= value * (1 + 1e-9)
    assert shown == pytest.approx(value, rel=10.0 ** (2 - significant(value, digits)))


@pytest.mark.parametrize(
    ("value", "standing", "text"),
    [
        (0.330818, Standing.EXACT, "0.3308"),
        (0.330818, Standing.UPPER_BOUND, "at most 0.3309"),
        (0.999996, Standing.EXACT, "0.999996"),
        (1.0, Standing.EXACT, "1"),
        (1 + 1e-12, Standing.EXACT, "just above 1"),
        (1 - 1e-12, Standing.EXACT, "just below 1"),
        (24945, Standing.EXACT, "24,945"),
        (0.249996, Standing.EXACT, "0.249996"),
    ],
)
def test_what_stands_beside_has_few_digits_but_is_neither_certainty_nor_the_limit(
    value: float, standing: Standing, text: str
) -> None:
    assert figures.measure_words(Measure(value, standing), limit=0.25, digits=figures.COMPANION_DIGITS) == text


@pytest.mark.parametrize(
    ("requirement", "achieved", "limit", "verdict", "side"),
    [
        ("k >= 2", 3.0, 2.0, Verdict.SATISFIED, "at least"),
        ("epsilon <= 6", 7.0, 6.0, Verdict.FAILED, "at most"),
        ("acme budget 5", 7.0, 5.0, Verdict.SATISFIED, "at least"),
        ("acme budget 5", 4.0, 5.0, Verdict.FAILED, "at least"),
        ("acme budget 5", 4.0, 5.0, Verdict.SATISFIED, "at most"),
        ("acme budget 5", None, 5.0, Verdict.UNDECIDED, "at most"),
    ],
)
def test_on_which_side_a_limit_holds(
    requirement: str, achieved: float | None, limit: float, verdict: Verdict, side: str
) -> None:
    assert figures.limit_direction(requirement, achieved, limit, verdict) == side


def test_a_bound_of_what_must_be_large_is_a_lower_one() -> None:
    assert figures.measure_words(Measure(2.5, Standing.UPPER_BOUND), "at least") == "at least 2.5"
    assert figures.measure_words(Measure(2.5, Standing.UPPER_BOUND)) == "at most 2.5"
    assert figures.measure_words(Measure(2.5, Standing.ESTIMATE, 0.123)) == "2.5 ± 0.12"
    assert figures.measure_words(Measure(math.inf, Standing.UPPER_BOUND)) == "unbounded"


@given(st.floats(0, 1e9), st.floats(1e-3, 1e9))
def test_more_than_all_of_a_limit_is_used_where_it_is_missed_and_nowhere_else(achieved: float, limit: float) -> None:
    most, least = (
        figures.used_share_of_limit(achieved, limit, "at most"),
        figures.used_share_of_limit(achieved, limit, "at least"),
    )

    assert most is not None
    assert (most > 1) == (achieved > limit) or math.isclose(most, 1, rel_tol=1e-12)
    assert achieved == 0 or least is not None
    assert least is None or (least > 1) == (achieved < limit) or math.isclose(least, 1, rel_tol=1e-12)


def test_what_is_used_of_a_limit_may_be_nothing_or_no_number() -> None:
    assert figures.used_share_of_limit(1.0, math.inf, "at most") == 0
    assert figures.used_share_of_limit(math.inf, 2.0, "at least") == 0
    assert figures.used_share_of_limit(math.inf, 6.0, "at most") is None
    assert figures.used_share_of_limit(0.0, 0.0, "at most") is None
