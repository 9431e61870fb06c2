"""`sensitive-addition` from the policy file on: what is refused, what is planned, assessed, released and estimated."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.finding import Basis, Verdict
from rrpolicy.planning.check import check
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.source.opening import open_original
from rrpolicy.testing import check_mechanism, policy_text

from .looking import planned, problems

DISEASES = ("none", "flu", "cold", 'a "rare", one', "[other]")
INCOMES = (1, 2, 3, 4)
POLICY = policy_text(
    """\
[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
disease = { role = "sensitive", domain = ["none", "flu", "cold", 'a "rare", one', "[other]"], release_as = "illness" }
income = { role = "sensitive", domain = [1, 2, 3, 4] }
hours = { role = "insensitive", unchanged = "told to nobody" }
""",
    "people.csv",
    "Addition",
)
TWO = """
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 3
sensitive = ["disease"]
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
sensitive = ["income"]
[mechanism]
name = "sensitive-addition"
"""
TOGETHER = """
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 4
sensitive = ["disease", "income"]
[mechanism]
name = "sensitive-addition"
together = [["disease", "income"]]
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(rest: str = TWO, head: str = POLICY, records: int = 3000) -> Path:
        rng = np.random.default_rng(17)
        with (tmp_path / "people.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["person_id", "sex", "disease", "income", "hours"])
            for i in range(records):
                female = i % 3 > 0
                disease = rng.choice(len(DISEASES), p=[0.6, 0.2, 0.1, 0.1, 0.0] if female else [0.7, 0.3, 0, 0, 0])
                drawn = [DISEASES[disease], INCOMES[rng.integers(4)], rng.integers(3)]
                rows.writerow([i, "F" if female else "M", *drawn])
        path = tmp_path / "policy.toml"
        path.write_text(head + rest)
        return path

    return make


def test_check_decides_the_requirements_without_data(write: Write) -> None:
    found = check(open_policy(write())).findings

    assert [f.verdict for f in found] == [Verdict.SATISFIED, Verdict.SATISFIED]
    assert [f.basis for f in found] == [Basis.CHANNEL, Basis.CHANNEL]
    assert [f.achieved.value for f in found if f.achieved] == [3, 2]


@pytest.mark.parametrize(
    ("l", "message"),
    [(1, "l = 1 lies outside 2..5: 'disease' has 5 values"), (6, "l = 6 lies outside 2..5: 'disease' has 5 values")],
)
def test_sizes_out_of_range_are_refused_with_the_range_and_the_place(write: Write, l: int, message: str) -> None:
    path = write(TWO.replace("l = 3", f"l = {l}"))

    (problem,) = problems(path)

    assert problem.code == "RR295"
    assert problem.message.startswith(message)
    assert problem.expected == "l from 2 to 5"
    assert path.read_text().splitlines()[problem.place.line - 1] in {"[[privacy]]", 'model = "l-diversity"'}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (('sensitive = ["income"]', 'sensitive = ["disease"]'), ["RR297"]),
        (('name = "sensitive-addition"', 'name = "sensitive-addition"\ntogether = [["disease"]]'), ["RR296"]),
        (('name = "sensitive-addition"', 'name = "sensitive-addition"\ntogether = [["disease", "sex"]]'), ["RR296"]),
        (
            ('name = "sensitive-addition"', 'name = "sensitive-addition"\ntogether = [["disease", "income"]]'),
            ["RR296", "RR296"],
        ),
        (('name = "sensitive-addition"', 'name = "sensitive-addition"\ntogether = [["income", "income"]]'), ["RR296"]),
        (('kind = "frequency"\nl = 2', 'kind = "entropy"\nl = 2'), ["RR297"]),
        (('sensitive = ["income"]', 'sensitive = ["income"]\nwhere = { income = 1 }'), ["RR228"]),
    ],
)
def test_what_does_not_fit_is_refused(write: Write, change: tuple[str, str], codes: list[str]) -> None:
    found = problems(write(TWO.replace(*change)))

    assert [p.code for p in found] == codes
    assert all(p.place is not None for p in found)


def test_other_kinds_of_diversity_say_what_sets_can_promise(write: Write) -> None:
    more = '[[privacy]]\nmodel = "l-diversity"\nkind = "entropy"\nl = 2\n'

    (problem,) = problems(write(more + TWO))

    assert problem.code == "RR228"
    assert 'set kind = "frequency", not "entropy"' in problem.message


def test_attributes_without_values_or_with_too_few_are_refused(write: Write) -> None:
    free = POLICY.replace('income = { role = "sensitive", domain = [1, 2, 3, 4] }', 'income = { role = "sensitive" }')

    assert "RR295" in {p.code for p in problems(write(TWO.replace("l = 2", "l = 5")))}
    with pytest.raises(PolicyError):
        check(open_policy(write(TWO, free)))


def test_a_policy_without_a_sensitive_attribute_is_refused(write: Write) -> None:
    found = problems(write(head=POLICY.replace('role = "sensitive"', 'role = "quasi-identifier"')))

    (problem,) = [p for p in found if p.code == "RR296"]
    assert problem.message == "no attribute is sensitive: there is nothing to hide"
    assert problem.place is not None


def test_an_observed_domain_of_one_value_hides_nothing(write: Write) -> None:
    head = POLICY.replace("domain = [1, 2, 3, 4]", 'domain = "observed"')
    path = write(head=head)
    table = path.with_name("people.csv")
    rows = [line.rsplit(",", 2) for line in table.read_text().splitlines()[1:]]
    table.write_text("\n".join(["person_id,sex,disease,income,hours", *(f"{row[0]},1,{row[2]}" for row in rows)]))

    with pytest.raises(PolicyError) as caught:
        planned(path)

    assert [(p.code, p.message) for p in caught.value.problems] == [
        ("RR295", "'income' has 1 values: no set hides one of them")
    ]


def test_too_many_combinations_are_not_hidden_as_one(write: Write) -> None:
    head = POLICY.replace("[1, 2, 3, 4]", str(list(range(20_001))))

    (problem,) = problems(write(TOGETHER, head))

    assert problem.code == "RR296"
    assert problem.message == "taken together they have 100,005 combinations, more than 100,000"


def test_the_plan_has_sets_and_says_both_errors(write: Write) -> None:
    look = planned(write())
    channel = look.plan.channel

    assert isinstance(channel, Product)
    assert [type(a) for a in channel.axes] == [Identity, Sets, Sets]
    assert [a.set_size for a in channel.axes if isinstance(a, Sets)] == [3, 2]
    assert [c.type for a in channel.axes[1:] for c in a.columns()] == ["VARCHAR[]", "BIGINT[]"]
    assert channel.order == ("sex", "illness", "income", "hours")
    assert channel.sampler == "records/2"
    remarks = {r.name: r.measure.value for r in look.plan.remarks[:2]}
    assert remarks["mean-squared-error-this-table"] == pytest.approx(4 * 2 / (3000 * 5 * 2))
    assert remarks["mean-squared-error-population"] == pytest.approx(3 * 16 / (3000 * 2 * 25))
    errors = {e.attributes: e.error for e in look.errors}
    assert errors["disease",] == pytest.approx(np.sqrt(4 * 2 / (3000 * 5 * 2)))


def beside(finding: Any, name: str) -> float:
    return next(c.measure.value for c in finding.companions if c.name == name)


def test_the_largest_posterior_stands_beside_the_bound(write: Write) -> None:
    path = write(
        head=POLICY.replace(
            'hours = { role = "insensitive", unchanged = "told to nobody" }', 'hours = { role = "excluded" }'
        )
    )
    disease, income = planned(path).assessment.findings
    opened = open_policy(path)
    with open_original(opened.policy, opened.registry.sources, path.parent) as original:
        table = original.counts("sex", "disease", "income").dense()

    by_disease, by_income = table.sum(axis=2), table.sum(axis=1)
    men = int(by_disease[1].sum())
    worst = max(c[u] / (c[u] + np.delete(c, u).min()) for c in by_income for u in range(4))
    # men lack three of five values: two others may both be such; women lack one, and two others hold somebody
    assert beside(disease, "largest posterior") == 1
    assert beside(disease, "people with a posterior of 1") == men
    assert beside(income, "largest posterior") == pytest.approx(worst)
    assert beside(income, "people with a posterior of 1") == 0
    assert beside(disease, "k") == 1
    assert beside(disease, "epsilon, record scope") == np.inf
    assert disease.profile is not None
    assert sum(disease.profile.people) == 3000


def test_a_subgroup_is_measured_by_itself(write: Write) -> None:
    head = POLICY.replace(
        'hours = { role = "insensitive", unchanged = "told to nobody" }', 'hours = { role = "excluded" }'
    )
    women = planned(
        write(TWO.replace('sensitive = ["disease"]', 'sensitive = ["disease"]\nwhere = { sex = "F" }'), head)
    )

    finding = women.assessment.findings[0]

    assert finding.verdict is Verdict.SATISFIED
    assert beside(finding, "people with a posterior of 1") == 0
    assert beside(finding, "largest posterior") < 1


def test_together_counts_combinations_and_says_what_that_leaves(write: Write) -> None:
    (finding,) = planned(write(TOGETHER)).assessment.findings

    assert finding.achieved.value == 4
    assert "l counts combinations" in finding.assumptions[0]
    assert beside(finding, "frequency l of disease alone") == 1
    assert beside(finding, "frequency l of income alone") == 1


@pytest.mark.slow
def test_together_l_may_exceed_every_single_domain(write: Write, tmp_path: Path, capsys: Any) -> None:
    path = write(TOGETHER.replace("l = 4", "l = 8"))  # of 5 x 4 combinations

    assert [f.verdict for f in check(open_policy(path)).findings] == [Verdict.SATISFIED]
    (finding,) = planned(path).assessment.findings
    assert finding.achieved.value == 8
    release, key = tmp_path / "release", tmp_path / "key.json"
    assert main(["release", str(path), "--out", str(release), "--key", str(key)]) == 0
    assert main(["verify", str(release), "--source", str(tmp_path / "people.csv"), "--key", str(key)]) == 0
    capsys.readouterr()
    too_large = write(TOGETHER.replace("l = 4", "l = 21"))
    assert [p.code for p in problems(too_large)] == ["RR295"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rest", "head", "hidden"),
    [
        (TWO.replace("l = 3", "l = 5"), POLICY, {"illness"}),
        (TWO.replace("l = 3", "l = 5").replace("l = 2", "l = 4"), POLICY, {"illness", "income"}),
        (TOGETHER.replace("l = 4", "l = 20"), POLICY, {"illness", "income"}),
        (TWO, POLICY.replace("domain = [1, 2, 3, 4]", "domain = [1, 2], outside = 2"), {"income"}),
    ],
)
def test_a_value_hidden_in_all_others_is_released_and_says_nothing(  # noqa: PLR0917 what it passes on
    write: Write, tmp_path: Path, capsys: Any, rest: str, head: str, hidden: set[str]
) -> None:
    path, release, key = write(rest, head), tmp_path / "release", tmp_path / "key.json"
    look = planned(path)
    assert {r.name for r in look.plan.remarks} >= {"nothing-released"}
    attributes = {"disease" if name == "illness" else name for name in hidden}
    assert all((error.error == math.inf) == bool(attributes & set(error.attributes)) for error in look.errors)

    assert main(["release", str(path), "--out", str(release), "--key", str(key)]) == 0
    assert main(["verify", str(release), "--source", str(tmp_path / "people.csv"), "--key", str(key)]) == 0
    found = open_release(release)
    for column in ("sex", "illness", "income"):
        if column in hidden:
            with pytest.raises(PolicyError, match="RR267.*every released set contains all its categories"):
                found.crosstab([column])
        else:
            assert found.crosstab([column]).estimate.sum() == pytest.approx(3000)
    told = (release / "public" / "README.md").read_text()
    assert told.count("which reveals nothing: nothing can be estimated for it") == len(hidden)
    assert not {p.stem for p in (release / "public" / "weights").glob("*.csv")} & hidden
    assert (
        "eleased as the set of all categories, without information" in (release / "public" / "report.html").read_text()
    )
    capsys.readouterr()


def test_hidden_in_all_others_the_risk_is_what_is_known_without_the_release(write: Write) -> None:
    """The largest posterior is the largest share of a value in a group: c_u, counted here by hand."""
    path = write(TWO.replace("l = 3", "l = 5"))
    with (path.parent / "people.csv").open() as file:
        rows = [((row["sex"], row["hours"]), row["disease"]) for row in csv.DictReader(file)]
    groups = Counter(group for group, _ in rows)
    largest = max(n / groups[group] for (group, _), n in Counter(rows).items())
    finding = planned(path).assessment.findings[0]

    assert finding.achieved is not None
    assert finding.achieved.value == 5
    assert beside(finding, "largest posterior") == pytest.approx(largest, rel=1e-12)
    axis = Sets.of("disease", DISEASES, 5)
    assert (axis.max_ratio(), axis.min_cross_ratio()) == (1, 1)


def test_the_conformance_kit_accepts_the_mechanism(write: Write) -> None:
    for rest in (TWO, TOGETHER):
        path = write(rest)
        opened = open_policy(path)
        registry = opened.registry
        mechanism = registry.mechanisms["sensitive-addition"]
        with open_original(opened.policy, registry.sources, path.parent) as original:
            check_mechanism(mechanism, opened, [original])


def test_an_observed_domain_needs_the_data(write: Write) -> None:
    path = write(head=POLICY.replace('domain = ["F", "M"]', 'domain = "observed"'))

    assert check(open_policy(path)).findings[0].verdict is Verdict.UNDECIDED
    with pytest.raises(PolicyError) as caught:
        plan_and_assess(open_policy(path).policy, open_policy(path).registry, 3000)
    assert caught.value.problems[0].code == "RR255"
    assert planned(path).decision.passed


@pytest.mark.slow
@pytest.mark.parametrize("rest", [TWO, TOGETHER], ids=["each", "together"])
@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_a_release_is_verified_and_estimated(write: Write, form: str, rest: str, capsys: Any) -> None:
    path = write(f'[release]\nformat = "{form}"\n{rest}')
    bundle, key = path.parent / "bundle", path.parent / "key"

    assert main(["release", str(path), "--out", str(bundle), "--key", str(key)]) == 0
    assert (
        main(["verify", str(bundle), "--source", str(path.parent / "people.csv"), "--key", str(key), "--strict"]) == 0
    )
    capsys.readouterr()
    assert main(["estimate", str(bundle), "--by", "sex", "--by", "illness", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    opened = open_policy(path)
    with open_original(opened.policy, opened.registry.sources, path.parent) as original:
        true = original.counts("sex", "disease").dense().ravel()

    assert [r["illness"] for r in rows[:5]] == list(DISEASES)
    for row, count in zip(rows, true, strict=True):
        assert abs(row["estimate"] - count) <= 6 * row["se"] + 1e-6
    assert (bundle / "audit").exists()
    public = open_release(bundle / "public")
    income = public.crosstab("income", where="sex = 'F' AND hours = 1")
    assert income.estimate.sum() == pytest.approx(public.crosstab(where="sex = 'F' AND hours = 1").rows[0].estimate)


def test_the_public_side_shows_no_posterior(write: Write) -> None:
    path = write()
    bundle = path.parent / "bundle"
    assert main(["release", str(path), "--out", str(bundle)]) == 0

    public = "".join(
        f.read_text(errors="replace") for f in (bundle / "public").rglob("*") if f.suffix in {".json", ".html"}
    )

    assert "largest posterior" not in public
    assert "largest posterior" in (bundle / "audit" / "findings.json").read_text()


def test_the_gate_on_the_error(write: Write) -> None:
    gate = '[[utility]]\nmetric = "addition-mse"\nattributes = ["disease"]\ntarget = "{}"\nmax = {}\n'
    table, population = 4 * 2 / (3000 * 5 * 2), 3 * 16 / (3000 * 2 * 25)

    held = planned(write(gate.format("table", 1.001 * table) + TWO))
    failed = planned(write(gate.format("population", 0.999 * population) + TWO))
    worst = planned(write('[[utility]]\nmetric = "addition-mse"\nmax = 1\n' + TWO))

    assert held.decision.passed
    assert not failed.decision.passed
    assert failed.assessment.utility[0].expected.value == pytest.approx(population)
    assert worst.assessment.utility[0].expected.value == pytest.approx(max(table, 3 * 1 / (3000 * 4 * 2)))
    with pytest.raises(PolicyError) as caught:
        planned(write('[[utility]]\nmetric = "addition-mse"\nattributes = ["sex"]\nmax = 1\n' + TWO))
    assert caught.value.problems[0].code == "RR252"


def test_both_pages_have_a_section_of_each_attribute(write: Write, capsys: Any) -> None:
    path = write()
    bundle = path.parent / "bundle"
    assert main(["release", str(path), "--out", str(bundle)]) == 0

    for page in ("public", "audit"):
        capsys.readouterr()
        assert main(["report", str(bundle), "--page", page, "--format", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert [s["title"] for s in report["sections"]] == ["Sets of disease", "Sets of income"]
        facts = {f["name"]: f["value"] for f in report["sections"][0]["facts"]}
        assert facts["Values in each set"] == "3"
        assert facts["Probability that a set contains a given other value"] == "1/2"
        marginal = next(m for m in report["marginals"] if m["attribute"] == "illness")
        assert sum(row["released"] for row in marginal["rows"]) == pytest.approx(3)
        assert sum(row["estimate"] for row in marginal["rows"]) == pytest.approx(1)
    html = (bundle / "public" / "report.html").read_text()
    assert "Sets of disease" in html


def test_check_loads_no_numerics(write: Write) -> None:
    path = write()
    program = (
        "import sys\nfrom rrpolicy.cli.main import main\nassert main(['check', sys.argv[1]]) == 0\n"
        "assert not {'numpy', 'scipy', 'pyarrow', 'duckdb'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True)
