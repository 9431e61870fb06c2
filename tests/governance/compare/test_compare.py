"""`rrpolicy compare`: every number is that of `plan`, the front that of a search over all pairs, and nothing is left out."""

from __future__ import annotations

import json
import random
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import DataError, PolicyError
from rrpolicy.finding import Measure, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.compare.comparison import CandidateComparison, CandidateOutcome, CandidateResult
from rrpolicy.reports.alternatives import ComparisonQuantity
from rrpolicy.utility.distances import TotalVariation
from rrpolicy.utility.table_metric import TableMetricOptions

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "rrpolicy" / "schemas" / "rrpolicy.comparison-1.json").read_text())
POLICY = """\
schema = 1

[policy]
name = "survey"
version = "1.0.0"
owner = "survey unit"

[source]
uri = "demo:survey"
other_columns = "excluded"

[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["female", "male"] }
age = { role = "quasi-identifier", bins = [16, 30, 45, 65, inf] }
disease = { role = "sensitive", domain = "observed" }

[[privacy]]
model = "attribute-disclosure"
threshold = "1/2"
sensitive = ["disease"]

[mechanism]
name = "pram"
allocation = "equal"

[[utility]]
metric = "expected-l2"
attributes = ["age"]
max = 0.3

[release]
accept = ["domain:disease", "parameters:sex", "parameters:age", "parameters:disease", "released"]
"""
RISK, TWO_WAY = "privacy/attribute-disclosure?sensitive=disease", "total-variation/two-way"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(POLICY)
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    assert main(["compare", *map(str, arguments), "--output-format", "json"]) == status
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, SCHEMA)
    return document


def as_planned(row: dict[str, Any], text: str, folder: Path) -> None:
    """Hold a candidate to the plan of the policy that says the same."""
    path = folder / "alone.toml"
    path.write_text(text)
    alone = rrpolicy.plan(path, bound=False)
    assert row["policy"]["digest"] == alone.plan.policy_digest
    assert row["outcome"] == ("passes" if alone.passed else "fails")
    assert row["records"] == alone.records
    assert [p["code"] for p in row["problems"]] == [p.code for p in alone.problems]
    for finding in alone.findings:
        found = row["risks"][finding.identity]
        assert finding.achieved is not None
        assert finding.verdict is not None
        assert found["achieved"]["value"] == finding.achieved.value
        assert found["achieved"]["standing"] == finding.achieved.standing.value
        assert found["verdict"] == finding.verdict.value
    for gate in alone.utility:
        assert gate.expected is not None
        assert row["utility"][gate.identity]["value"] == gate.expected.value
    assert row["expected_errors"] == alone.to_json()["expected_errors"]


@pytest.mark.slow
def test_each_candidate_has_the_numbers_of_its_own_plan(policy, tmp_path, capsys):
    found = told(capsys, policy, "--vary", "privacy.0.threshold=1/2,2/3", "--vary", "utility.0.max=0.3,0.001")

    assert [row["changed"] for row in found["candidates"]] == [
        [{"key": "privacy.0.threshold", "value": t}, {"key": "utility.0.max", "value": m}]
        for t in ("1/2", "2/3")
        for m in ("0.3", "0.001")
    ]
    for row in found["candidates"]:
        threshold, most = (one["value"] for one in row["changed"])
        as_planned(row, POLICY.replace('"1/2"', f'"{threshold}"').replace("max = 0.3", f"max = {most}"), tmp_path)
    assert [row["outcome"] for row in found["candidates"]] == ["passes", "fails"] * 2
    assert found["candidates"][1]["problems"][0]["code"] == "RR104"
    loose, strict = found["candidates"][2], found["candidates"][0]
    assert loose["risks"][RISK]["achieved"]["value"] > strict["risks"][RISK]["achieved"]["value"]
    assert loose["utility"][TWO_WAY]["value"] < strict["utility"][TWO_WAY]["value"]
    assert found["map"] == {"risk": RISK, "error": TWO_WAY, "front": [1, 3]}
    # the file asks for 1/2: what asks for less is shown, and not recommended
    attained = loose["risks"][RISK]["achieved"]["value"]
    assert loose["unmet"] == [f"attribute-disclosure: risk <= 1/2 (disease) (attains {attained:.6g})"]
    assert strict["unmet"] == []
    assert found["recommendation"]["candidate"] == 1


@pytest.mark.slow
def test_where_nothing_is_as_strict_as_the_file_none_is_recommended(policy, capsys):
    found = told(capsys, policy, "--vary", "privacy.0.threshold=3/5,2/3")

    assert [row["outcome"] for row in found["candidates"]] == ["passes", "passes"]
    assert found["recommendation"]["candidate"] is None
    assert "in the first one's file" in found["recommendation"]["reason"]
    stricter = told(capsys, policy, "--vary", "privacy.0.threshold=2/5,1/2")
    assert [row["unmet"] for row in stricter["candidates"]] == [[], []]
    graded = [row["protection"]["grade"] for row in stricter["candidates"]]
    assert graded == ["strong", "limited"]
    assert stricter["recommendation"]["candidate"] == 1


def test_the_error_is_the_mean_of_the_metric_over_all_pairs(policy, capsys):
    from rrpolicy.safe_io.tempdirs import scratch_folder
    from rrpolicy.source.opening import open_original

    row = told(capsys, policy)["candidates"][0]
    planned = rrpolicy.plan(policy, bound=False)
    made = planned.opened
    with scratch_folder() as spilled, open_original(made.policy, made.registry.sources, spilled.folder) as original:
        each = [
            TotalVariation().expected(
                TableMetricOptions(attributes=pair, draws=20, seed=1), planned.plan.channel, original
            )
            for pair in (("sex", "age"), ("sex", "disease"), ("age", "disease"))
        ]

    assert all(one is not None and one.standing is Standing.ESTIMATE for one in each)
    assert row["utility"][TWO_WAY]["value"] == pytest.approx(sum(one.value for one in each) / 3, rel=1e-12)
    assert row["utility"][TWO_WAY]["standing"] == "estimate"


@pytest.mark.slow
def test_a_mechanism_that_does_not_fit_is_a_row_that_says_why(policy, capsys, tmp_path):
    found = told(capsys, policy, "--mechanism", "pram,rr-qi,sensitive-addition")

    own, swapped, refused = found["candidates"]
    as_planned(own, POLICY, tmp_path)
    assert refused["outcome"] == "refused"
    assert [p["code"] for p in refused["problems"]] == ["RR297"]
    assert refused["records"] is None
    assert swapped["changed"] == [{"key": "mechanism.name", "value": "rr-qi"}]
    assert main(["compare", str(policy), "--mechanism", "pram,rr-qi,sensitive-addition"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("recommended: ")
    assert "confidential: " in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert re.search(r"^3 .*  refused  not known", printed, re.MULTILINE)
    assert "  3  RR297: " in printed


@pytest.mark.slow
def test_what_another_mechanism_derives_is_asked_for_in_its_row(policy, tmp_path, capsys):
    text = POLICY.replace("pram", "rr-both").replace('allocation = "equal"\n', "")
    text = re.sub(r"accept = .*", 'accept = ["domain:disease"]', text)
    text = re.sub(r"(?s)model = \"attribute.*?\n\n", 'model = "local-dp"\nepsilon = 8\n\n', text)
    text = re.sub(r"(?s)\[\[utility\]\].*?\n\n", "", text)
    policy.write_text(text)
    found = told(capsys, policy, "--mechanism", "pram")

    row = found["candidates"][0]
    assert row["outcome"] == "passes"
    assert row["accept"] is not None
    assert main(["compare", str(policy), "--mechanism", "pram"]) == 0
    assert " (conditional)" in capsys.readouterr().out
    swapped = text.replace("rr-both", "pram")
    as_planned(row, re.sub(r"accept = .*", row["accept"], swapped), tmp_path)
    policy.write_text(swapped)  # its own word on its own mechanism stands
    refused = told(capsys, policy, status=1)["candidates"][0]
    assert (refused["outcome"], refused["accept"]) == ("fails", None)
    assert {p["code"] for p in refused["problems"]} == {"RR108"}


def test_none_that_passes_is_told_with_what_is_attained(policy, capsys):
    found = told(capsys, policy, "--vary", "privacy.0.threshold=1/1000,1/2000", status=1)

    assert found["recommendation"]["candidate"] is None
    assert found["map"]["front"] == []
    assert {p["code"] for p in found["problems"]} == {"RR102"}
    assert "smallest reachable" in found["candidates"][0]["problems"][0]["message"]
    assert main(["compare", str(policy), "--vary", "privacy.0.threshold=1/1000"]) == 1
    assert "recommended: none" in capsys.readouterr().out


@pytest.mark.slow
def test_policies_are_held_against_one_anothers_requirements(policy, tmp_path, capsys):
    other = tmp_path / "other.toml"
    other.write_text(POLICY + '\n[[privacy]]\nmodel = "local-dp"\nepsilon = 30\n')
    found = told(capsys, policy, other)

    one, two = found["candidates"]
    dp = next(name for name in two["risks"] if "local-dp" in name)
    assert one["risks"][dp]["achieved"]["value"] == pytest.approx(two["risks"][dp]["achieved"]["value"], rel=1e-3)
    assert told(capsys, policy, other, "--risk", dp)["map"]["risk"] == dp


def test_a_baseline_stays_a_floor(policy, tmp_path, capsys):
    child = tmp_path / "child.toml"
    child.write_text(
        'schema = 1\n[policy]\nname = "child"\nversion = "1.0.0"\nowner = "x"\nextends = "survey.toml"\n'
        '[source]\nmin_rows = 10\n[[utility]]\nmetric = "expected-l2"\nattributes = ["sex"]\nmax = 0.2\n'
    )
    policy.write_text(POLICY.replace("other_columns", "min_rows = 10\nother_columns"))
    found = told(capsys, child, "--vary", "source.min_rows=10,2")

    assert [row["outcome"] for row in found["candidates"]] == ["passes", "refused"]
    assert found["candidates"][1]["problems"][0]["code"].startswith("RR24")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--vary", "privacy.0.treshold=1/2"], "did you mean 'privacy.0.threshold'?"),
        (["--vary", "threshold=1/2"], "did you mean 'privacy.0.threshold'?"),
        (["--vary", "privacy.0.threshold"], "KEY=VALUE,VALUE"),
        (["--mechanism", "prom"], "did you mean 'pram'?"),
        (["--risk", "privacy/k"], RISK),
    ],
)
def test_a_call_that_makes_no_sense_is_an_error(policy, capsys, arguments, expected):
    assert main(["compare", str(policy), *arguments]) == 2
    printed = capsys.readouterr()
    assert "RR250" in printed.err
    assert expected in printed.err
    assert printed.out == ""


def test_a_table_in_memory_is_read_for_every_candidate(policy):
    import pandas as pd

    half = {"person_id": range(400), "sex": ["female", "male"] * 200, "age": [20, 40, 50, 70] * 100}
    frame = pd.DataFrame(half | {"disease": [f"d{i % 5}" for i in range(400)]})
    found = rrpolicy.compare(policy, source=frame, vary={"privacy.0.threshold": ["1/2", "2/3"]})

    assert [row.records for row in found.rows] == [400, 400]
    alone = rrpolicy.plan(policy, frame, bound=False)
    assert found.rows[0].findings[RISK].achieved == alone.findings[0].achieved


def test_candidates_of_different_tables_are_not_compared(policy, tmp_path, capsys):
    rows = "".join(f"{i},{'fe' * (i % 2)}male,{20 + i % 50},d{i % 5}\n" for i in range(400))
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "people.csv").write_text("person_id,sex,age,disease\n" + rows)
        (tmp_path / folder / "survey.toml").write_text(POLICY.replace("demo:survey", "people.csv"))
    same = tmp_path / "same.toml"
    same.write_text(POLICY.replace("demo:survey", "one/people.csv").replace("max = 0.3", "max = 0.4"))
    pair = [tmp_path / "one" / "survey.toml", tmp_path / "two" / "survey.toml"]

    assert main(["compare", *map(str, pair)]) == 2
    assert "--source TABLE" in capsys.readouterr().err
    assert len(told(capsys, *pair, "--source", tmp_path / "one" / "people.csv")["candidates"]) == 2
    assert len(told(capsys, pair[0], same)["candidates"]) == 2


def test_a_table_that_cannot_be_read_is_no_row(policy):
    with pytest.raises(DataError):
        rrpolicy.compare(policy, source="nowhere.parquet")
    with pytest.raises(PolicyError):
        rrpolicy.compare()


def made(*points: tuple[float, float, float, bool]) -> CandidateComparison:
    """Return a comparison of candidates with these risks, errors, standard errors, and outcomes."""
    from rrpolicy.finding import Basis, Finding

    def row(i: int, risk: float, error: float, se: float, passes: bool) -> CandidateResult:
        finding = Finding("r", "r", "r <= 1", None, Measure(risk), None, Verdict.SATISFIED, Basis.ORIGINAL, "")
        outcome = CandidateOutcome.PASSES if passes else CandidateOutcome.FAILS
        measure = Measure(error, Standing.ESTIMATE if se else Standing.EXACT, se)
        return CandidateResult(f"c{i}", "f", "m", (), None, outcome, findings={"r": finding}, utility={"e": measure})

    risk, error = ComparisonQuantity("r", "", "smaller"), ComparisonQuantity("e", "", "smaller")
    return CandidateComparison(tuple(row(i, *p) for i, p in enumerate(points)), (risk,), (error,), risk, error)


def test_the_front_is_that_of_a_search_over_all_pairs():
    chance = random.Random(7)
    for _ in range(200):
        points = [(chance.randint(0, 5) / 5, chance.randint(0, 5) / 5, 0.0, chance.random() < 0.7) for _ in range(8)]
        passing = {i: p[:2] for i, p in enumerate(points, 1) if p[3]}
        expected = tuple(
            i
            for i, (r, e) in passing.items()
            if not any((s <= r and f < e) or (s < r and f <= e) for s, f in passing.values())
        )
        found = made(*points)
        assert found.front == expected
        assert (found.recommended.candidate in expected) if passing else found.recommended.candidate is None


def graded(rise: float, grade: str, error: float, *, usable: bool = True) -> CandidateResult:
    """Return a candidate with a grade, a rise and an error."""
    from rrpolicy.privacy.protection.grade import ProtectionGrade
    from rrpolicy.privacy.protection.result import ColumnInference, InferenceLevel, ReleaseProtection

    rung = InferenceLevel(Measure(0.5), Measure(0.5), Measure(0))
    ladder = ColumnInference(
        "d", "x", rung, rung, rung, rung, Measure(rise), Measure(rise), None, 0, (), "", ProtectionGrade(grade), "r"
    )
    row = made((0.5, error, 0.0, True)).rows[0]
    return replace(row, protection=ReleaseProtection(ProtectionGrade(grade), "r", None, (ladder,)), usable=usable)


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ([graded(0.1, "weak", 0.1), graded(0.3, "strong", 0.2)], 2),
        ([graded(0.2, "weak", 0.1), graded(0.1, "weak", 0.2)], 2),
        ([graded(0.1, "weak", 0.2), graded(0.10001, "weak", 0.1)], 2),
        ([graded(0.1, "strong", 0.1, usable=False), graded(0.3, "none", 0.2)], 2),
        ([graded(0.1, "strong", 0.1, usable=False)], None),
        ([replace(graded(0.1, "none", 0.1), protection=None), graded(0.3, "none", 0.2)], 2),
    ],
)
def test_protection_decides_before_error(rows, best):
    found = replace(made((0.5, 0.1, 0.0, True)), rows=tuple(rows)).recommended
    assert found.candidate == best
    if best is None:
        assert "worse than assuming equal shares" in found.reason


def test_candidates_are_listed_by_use_grade_rise_and_error():
    rows = (
        graded(0.1, "strong", 0.1, usable=False),
        graded(0.3, "none", 0.1),
        graded(0.2, "weak", 0.1),
        graded(0.1, "weak", 0.2),
        replace(graded(0.1, "strong", 0.1), outcome=CandidateOutcome.FAILS),
        replace(graded(0.1, "strong", 0.1), outcome=CandidateOutcome.FAILS, utility={}),
    )
    found = replace(made((0.5, 0.1, 0.0, True)), rows=rows)
    assert [place for place, _ in found.ranked] == [4, 3, 2, 1, 5, 6]


def test_several_that_protect_alike_are_counted():
    rows = (graded(0.1, "weak", 0.1), graded(0.1, "weak", 0.2), graded(0.3, "none", 0.1))
    found = replace(made((0.5, 0.1, 0.0, True)), rows=rows).recommended
    assert found.candidate == 1
    assert found.reason.startswith(
        "Of 3 candidates with usable tables, 2 protect best: grade weak, the records raise the probability of "
        "one person's true value by 10.0 points. "
    )


def test_what_cannot_be_used_is_not_recommended(policy, tmp_path, capsys):
    strict = re.sub(r"(?s)\[\[utility\]\].*?\n\n", "", POLICY)
    strict = re.sub(r"(?s)model = \"attribute.*?\n\n", 'model = "local-dp"\nepsilon = "1/1000"\n\n', strict)
    policy.write_text(strict)
    page = tmp_path / "page.html"

    assert main(["compare", str(policy), "--html", str(page)]) == 0

    printed, shown = capsys.readouterr().out, page.read_text()
    assert printed.startswith("recommended: none\n  No candidate can be recommended: ")
    assert re.search(r"passes, tables +", printed)
    assert 'class="chosen"' not in shown
    assert '<td class="fails">passes, tables not usable</td>' in shown
    found = told(capsys, policy)
    assert [row["usable"] for row in found["candidates"]] == [False]
    assert found["recommendation"]["candidate"] is None


@pytest.mark.slow
def test_mechanisms_that_guard_different_things_are_told_apart_by_protection(policy, tmp_path, capsys):
    text = re.sub(r"(?s)\[\[utility\]\].*?\n\n", "", POLICY).replace('allocation = "equal"\n', "")
    text = text.replace('"1/2"', '"4/5"')
    policy.write_text(text)
    page = tmp_path / "page.html"
    call = [str(policy), "--mechanism", "pram,rr-s,rr-qi"]
    found = told(capsys, *call)

    rows = {row["mechanism"]: row for row in found["candidates"]}
    assert rows["rr-s"]["unchanged"] == ["sex", "age"]
    assert rows["rr-qi"]["unchanged"] == ["sex", "disease"]  # sex is kept with probability 1
    rank = ["strong", "limited", "weak", "none"].index
    best = found["candidates"][found["recommendation"]["candidate"] - 1]
    passing = [row for row in found["candidates"] if row["outcome"] == "passes"]
    assert len(passing) > 1
    assert rank(best["protection"]["grade"]) == min(rank(row["protection"]["grade"]) for row in passing)
    assert main(["compare", *call, "--html", str(page)]) == 0
    printed, shown = capsys.readouterr().out.splitlines(), page.read_text()
    assert printed[0].startswith(f"recommended: {best['candidate']}, ")
    head = printed[: printed.index("")]
    assert f"  protection: {best['protection']['grade']}" in head
    assert any(re.match(r"  disease: [\d.]+ % → [\d.]+ % guessed rightly", line) for line in head)
    assert any(line.startswith("  released exactly: ") for line in head)
    assert max(map(len, printed)) <= 80
    assert "R1" not in "".join(printed)
    assert "Released exactly: sex, age" in shown
    assert "Released exactly: sex, disease" in shown


def test_generalised_tables_are_usable(capsys):
    """Nothing is reconstructed of a generalised column; its groups are counted as they are released."""
    (row,) = told(capsys, ROOT / "policies" / "l-diversity.toml")["candidates"]

    assert row["usable"]
    assert row["unchanged"] == ["disease", "hours"]


def test_what_differs_by_rounding_alone_is_the_same():
    """Two that were solved for one limit: the one with the clearly smaller error is neither beaten nor passed over."""
    found = made((0.499979, 0.00635, 0.0, True), (0.499981, 0.00412, 0.0, True))
    assert found.front == (2,)
    assert found.recommended.candidate == 2
    alike = made((0.499979, 0.0063, 0.001, True), (0.499981, 0.0061, 0.001, True))
    assert alike.recommended.candidate == 2
    assert made((0.49, 0.0063, 0.001, True), (0.5, 0.0061, 0.001, True)).recommended.candidate == 1


def test_where_neither_risk_nor_error_tells_candidates_apart_the_reason_says_so():
    found = made(
        (0.499954, 0.0989, 0.0058, True), (0.9, 0.2, 0.001, True), (0.499972, 0.09201, 0.0053, True)
    ).recommended
    assert found.candidate == 3
    assert found.reason.startswith(
        "Candidates 1 and 3 cannot be distinguished: their risks differ by at most a thousandth, their errors by "
        "less than "
        "the noise of the draws. 3 is recommended because its estimated error is the smallest: error 0.092"
    )
    assert found.reason.endswith("; more draws (`--draws`) may distinguish them.")
    assert "differ from the lowest by at most a thousandth, which is a tie" in found.rule
    exact = made((0.5, 0.1, 0, True), (0.5, 0.1, 0, True)).recommended
    assert exact.candidate == 1
    assert "their errors not at all. 1 is recommended because it comes first: error 0.1" in exact.reason
    assert "--draws" not in exact.reason
    three = made((0.5, 0.1, 0.01, True), (0.5, 0.1, 0.01, True), (0.6, 0.1, 0.01, True)).recommended
    assert "; 1 more with such errors has a higher risk." in three.reason


def test_a_count_of_candidates_is_no_risk():
    reason = made((0.5, 0.100, 0.01, True), (0.2, 0.120, 0.01, True)).recommended.reason
    assert reason.startswith(
        "Of 2 candidates whose errors cannot be distinguished, candidate 2 has the lowest risk: error "
    )


def test_errors_that_chance_alone_tells_apart_are_alike():
    assert made((0.5, 0.100, 0.01, True), (0.2, 0.120, 0.01, True)).recommended.candidate == 2
    assert made((0.5, 0.100, 0.001, True), (0.2, 0.120, 0.001, True)).recommended.candidate == 1
    assert made((0.5, 0.100, 0.01, True), (0.2, 0.120, 0.01, False)).recommended.candidate == 1
    assert made((0.5, 0.1, 0, True), (0.2, 0.1, 0, True)).recommended.candidate == 2


def test_a_refused_plan_has_a_page_that_says_what_to_do(policy, tmp_path):
    policy.write_text(POLICY.replace('"1/2"', '"1/1000"'))
    page = tmp_path / "page.html"

    assert main(["compare", str(policy), "--html", str(page)]) == 1

    text = page.read_text()
    assert f"{policy.name}: refused</bdi></h1>" in text
    assert "<code>RR102</code>" in text
    assert "the smallest reachable is" in text
    assert "What to do:" in text
    assert ">None</strong>" in text


def test_what_is_to_be_pasted_stands_on_lines_of_its_own(policy, tmp_path, capsys):
    """A hint that is an entry of a policy can be copied from text and page."""
    policy.write_text(re.sub(r"(?s)\[\[privacy\]\].*?\n\n", "", POLICY))
    page = tmp_path / "page.html"

    assert main(["compare", str(policy), "--html", str(page)]) == 1

    printed, shown = capsys.readouterr().out, page.read_text()
    assert "\\n" not in printed
    assert re.search(r"^ +\[\[privacy\]\]\n +model = ", printed, re.MULTILINE)
    assert re.search(r"\[\[privacy\]\]\nmodel = ", shown)


def test_the_page_is_its_owners_alone_and_never_overwrites(policy, tmp_path, capsys):
    policy.write_text(POLICY.replace('name = "survey"', 'name = "<script>alert(1)</script>"'))
    hostile = tmp_path / "<b>x.toml"
    shutil.copy(policy, hostile)
    page = tmp_path / "page.html"
    call = ["compare", str(hostile), "--vary", "privacy.0.threshold=1/2,2/3,1/1000", "--html", str(page)]
    assert main(call) == 0
    text = page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "<b>x.toml" not in text
    assert "<strong>Confidential:</strong>" in text
    assert "http:" not in text.replace("http-equiv", "")
    assert text.count('<circle class="pass"') == 2
    assert '<path class="front"' in text
    capsys.readouterr()
    assert main(call) == 4
    assert "RR402" in capsys.readouterr().err
    assert page.read_text() == text


@pytest.mark.slow
def test_the_adult_table_and_python(adult_csv, tmp_path, capsys):
    policy = tmp_path / "adult.toml"
    policy.write_text(f"""\
schema = 1
[policy]
name = "adult"
version = "1.0.0"
owner = "x"
[source]
uri = "{adult_csv}"
other_columns = "excluded"
missing = ["?"]
[attributes]
sex = {{ role = "quasi-identifier", domain = "observed" }}
race = {{ role = "quasi-identifier", domain = "observed" }}
workclass = {{ role = "sensitive", domain = "observed", nulls = "unknown" }}
[[privacy]]
model = "pk-anonymity"
k = 2
[mechanism]
name = "pram"
allocation = "equal"
[release]
accept = ["domain:sex", "domain:race", "domain:workclass", "parameters:sex", "parameters:race", "parameters:workclass", "released"]
""")
    found = rrpolicy.compare(policy, vary={"privacy.0.k": [2, 20]})

    assert [row.outcome for row in found.rows] == [CandidateOutcome.PASSES] * 2, [row.problems for row in found.rows]
    assert found.risk is not None
    assert found.risk.better == "larger"
    risks = [row.risk(found.risk) for row in found.rows]
    assert risks[0].value < risks[1].value
    assert found.front == (1, 2)
    text = policy.read_text().replace("k = 2", "k = 20")
    as_planned(json.loads(json.dumps(found.to_json()))["candidates"][1], text, tmp_path)


def test_of_alike_candidates_the_one_of_the_lowest_risk_is_named():
    found = made((0.500001, 0.1, 0.01, True), (0.5, 0.1, 0.01, True)).recommended
    assert found.candidate == 2
    assert "2 is recommended because its risk is the lowest by a difference within the tie" in found.reason


def test_candidates_without_both_numbers_are_not_compared():
    found = made((0.5, 0.1, 0.0, True), (0.4, 0.1, 0.0, True))
    found = replace(found, rows=tuple(replace(row, utility={}) for row in found.rows)).recommended
    assert found.candidate is None
    assert found.reason == "2 pass, and none has both numbers that they could be compared by."
