"""`rrpolicy collect randomize`: what is asked, what is refused, and that what is sent is drawn by exactly the matrices promised."""

from __future__ import annotations

import io
import itertools
import json
import math
import secrets
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import chi2

import rrpolicy
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Stream, Streams
from rrpolicy.cli.main import main
from rrpolicy.collection import answers as sampler
from rrpolicy.collection.answers import answer_codes
from rrpolicy.collection.questionnaire import Question, Questionnaire
from rrpolicy.discovery import load_registry
from rrpolicy.frozen import replace
from rrpolicy.planning.plan import software
from rrpolicy.planning.policy_opening import open_policy, reopen_policy
from rrpolicy.policy.model import Policy
from rrpolicy.source.memory.input_table import input_table
from rrpolicy.source.opening import open_original

from .village import POLICY, planned

FALSE_ALARM = 1e-6
DRAWS = 40_000
MATRIX = """
[mechanism]
name = "pram"
attributes = ["sex", "age", "ill"]
allocation = "fixed"
keep_probability = { age = "3/5", ill = "2/3" }
[mechanism.matrix.sex]
released = ["f", "m", "unsaid"]
original = ["f", "m"]
rows = [["7/10", "1/10"], ["1/10", "7/10"], ["1/5", "1/5"]]
"""


@pytest.fixture
def asked(tmp_path: Path) -> Questionnaire:
    """Return a questionnaire with a matrix that is not square, so that no two axes are alike."""
    text = POLICY[: POLICY.index("[mechanism]")].replace("epsilon = 5", "epsilon = 6") + MATRIX
    found = planned(tmp_path, text, 30_000)
    assert found.questionnaire == tmp_path / "plan.questionnaire.json"
    return rrpolicy.open_questionnaire(found.questionnaire)


def law(asked: Questionnaire, original: tuple[int, ...]) -> dict[tuple[object, ...], Fraction]:
    """Return the exact probability of each released record, from the matrices as the questionnaire writes them."""
    columns = []
    for axis, code in zip(asked.to_json()["channel"]["axes"], original, strict=True):  # type: ignore[index,arg-type,call-overload]
        labels = (axis["column"] if axis["kind"] == "identity" else axis["columns"][0])["labels"]
        if axis["kind"] == "matrix":
            listed = [Fraction(row[code]) for row in axis["rows"]]
        else:
            (block,) = axis["blocks"]
            keep = Fraction(block["keep_probability"])
            listed = [keep if i == code else (1 - keep) / (len(labels) - 1) for i in range(len(labels))]
        columns.append(list(zip(labels, listed, strict=True)))
    return {
        tuple(label for label, _ in each): math.prod((p for _, p in each), start=Fraction(1))
        for each in itertools.product(*columns)
    }


def deviates(asked: Questionnaire, record: dict[str, Any], original: tuple[int, ...], calls: int) -> bool:
    """Return whether draws of one record deviate from their law, at the false-alarm rate (Pearson's chi-square)."""
    drawn: list[dict[str, Any]] = []
    for _ in range(calls):
        drawn += rrpolicy.randomize(asked, [record] * (DRAWS // calls))
    counts = Counter(tuple(sent.values()) for sent in drawn)
    expected = law(asked, original)
    assert set(counts) <= set(expected)
    statistic = sum((counts[cell] - len(drawn) * p) ** 2 / (len(drawn) * p) for cell, p in expected.items())
    return bool(chi2.sf(float(statistic), len(expected) - 1) < FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 400])
def test_records_are_drawn_by_exactly_the_matrices(asked: Questionnaire, calls: int) -> None:
    assert not deviates(asked, {"sex": "m", "age": 64.9, "ill": None}, (1, 1, 2), calls)
    assert not deviates(asked, {"sex": "f", "age": 65, "ill": "yes"}, (0, 2, 0), calls)


def one_stream(_streams: Streams, _axis: Axis) -> Stream:
    """Give all axes the same bits."""
    return Stream(bytes(32))


@pytest.mark.parametrize(
    ("name", "wrong", "calls"),
    [
        ("axis_stream", one_stream, 1),
        ("secrets.token_bytes", bytes, 400),
    ],
)
def test_a_wrong_sampler_is_caught(
    asked: Questionnaire, monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., Any], calls: int
) -> None:
    monkeypatch.setattr(f"rrpolicy.collection.answers.{name}", wrong)
    assert sampler.secrets is secrets
    assert deviates(asked, {"sex": "m", "age": 64.9, "ill": None}, (1, 1, 2), calls)


def test_matrices_that_are_off_by_four_hundredths_are_caught(asked: Questionnaire) -> None:
    from rrpolicy.frozen import replace

    axes = list(asked.channel.axes)
    block = axes[2].blocks[0]  # type: ignore[attr-defined]
    axes[2] = replace(axes[2], blocks=(replace(block, keep=block.keep - Fraction(4, 100)),))  # type: ignore[call-arg]
    other = replace(asked, channel=replace(asked.channel, axes=tuple(axes)))
    drawn = Counter(tuple(r.values()) for r in rrpolicy.randomize(other, [{"sex": "f", "age": 1, "ill": "no"}] * DRAWS))
    expected = law(asked, (0, 0, 1))
    statistic = sum((drawn[cell] - DRAWS * p) ** 2 / (DRAWS * p) for cell, p in expected.items())
    assert chi2.sf(float(statistic), len(expected) - 1) < FALSE_ALARM


def test_answers_are_read_as_the_values_of_a_table_are(tmp_path: Path) -> None:
    """Each value stands for the category that the release of a table with it would give it."""
    policy = tmp_path / "policy.toml"
    policy.write_text("""
schema = 1
[policy]
name = "reading"
version = "1.0.0"
owner = "Tests"
purpose = "Values and their categories."
[source]
uri = "answers.csv"
[attributes]
age = { role = "quasi-identifier", bins = [-5, 0, 40, 65.5], labels = ["a", "b", "c"], outside = "other", nulls = "none" }
open = { role = "quasi-identifier", bins = [0, 40, inf], labels = ["0-39", "40+"], nulls = "none", outside = "none" }
day = { role = "quasi-identifier", bins = [2020-01-01, 2021-01-01, 2022-01-01], labels = ["20", "21"], outside = "x" }
town = { role = "sensitive", domain = ["A", "B"], outside = "else", nulls = "else" }
[[privacy]]
model = "local-dp"
epsilon = 30
[mechanism]
name = "pram"
""")
    ages = [-5.0, -5.1, -0.001, 0.0, 39.999, 40.0, 65.5, 65.6, 1e300, None]
    opens = [-1.0, 0.0, 39.0, 40.0, 1e308, None, -0.0, 12.5, 39.9999999, 41.0]
    days = ["2019-12-31", "2020-01-01", "2020-12-31", "2021-01-01", "2022-01-01", "2022-01-02", *["2021-07-01"] * 4]
    towns = ["A", "B", "C", None, "a", " A", "", "B", "A", "B"]
    frame = pd.DataFrame({"age": ages, "open": opens, "day": pd.to_datetime(days), "town": towns})
    found = reopen_policy(policy, input_table(frame))
    for column in frame:
        with open_original(found.policy, found.registry.sources, tmp_path / str(column)) as original:
            (question,) = (
                Question(a.name, a.domain or (), a.bins, a.outside, a.nulls)
                for a in found.policy.released
                if a.name == column
            )
            given = {"age": ages, "open": opens, "day": days, "town": towns}[str(column)]
            codes = answer_codes([question], [{column: value} for value in given], text=False)  # type: ignore[dict-item]
            counted = original.counts(str(column))
            by_table = dict(zip(counted.codes[:, 0].tolist(), counted.n.tolist(), strict=True))
            assert Counter(code for (code,) in codes) == by_table
            # spelled, as in CSV, they are the same
            texts = ["" if value is None else str(value) for value in given]
            if column != "town":  # of text, nothing and the empty text are one in CSV
                assert answer_codes([question], [{column: value} for value in texts], text=True) == codes  # type: ignore[dict-item]


def test_a_category_that_reads_as_a_number_is_not_taken_for_one() -> None:
    from rrpolicy.policy.model import Bins

    plain = Question("age", ("young", "old"), Bins((0.0, 40.0, math.inf), ("young", "old")), None, None)
    decades = Question("age", ("0", "1"), Bins((0.0, 10.0, math.inf), ("0", "1")), None, None)
    assert answer_codes([plain], [{"age": "old"}], text=False) == [[1]]
    assert answer_codes([decades], [{"age": 1}], text=False) == [[0]]
    assert answer_codes([decades], [{"age": "1"}], text=True) == [[0]]
    with pytest.raises(rrpolicy.DataError, match="RR522"):
        answer_codes([decades], [{"age": "1"}], text=False)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"sex": "SECRET", "age": 1, "ill": "no"}, "the answer to 'sex' is not one of the categories"),
        ({"sex": "f", "age": -1, "ill": "no"}, "the answer to 'age' is not one of the categories"),
        ({"sex": "f", "age": "SECRET", "ill": "no"}, "the answer to 'age' is not one of the categories"),
        ({"sex": "f", "age": True, "ill": "no"}, "the answer to 'age' is not one of the categories"),
        ({"sex": ["f"], "age": 1, "ill": "no"}, "the answer to 'sex' is not one of the categories"),
        ({"sex": None, "age": 1, "ill": "no"}, "'sex' must be answered"),
        ({"age": 1, "ill": "no"}, "there is no answer to 'sex'"),
        ({"sex": "f", "age": 1, "ill": "no", "name": "SECRET"}, "'name' is not a question"),
    ],
)
def test_what_cannot_be_randomised_is_refused_and_not_repeated(
    asked: Questionnaire, tmp_path: Path, capsys: pytest.CaptureFixture[str], record: dict[str, Any], told: str
) -> None:
    good = {"sex": "f", "age": 1, "ill": "no"}
    with pytest.raises(rrpolicy.DataError) as refused:
        rrpolicy.randomize(asked, [good, record])
    assert f"RR522: record 2: {told}" in str(refused.value)

    file = str(tmp_path / "plan.questionnaire.json")
    assert main(["collect", "randomize", file, "--record", json.dumps(record)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err
    assert "SECRET" not in printed.err


def test_the_command_reads_and_prints_lines_in_their_order(
    asked: Questionnaire, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "plan.questionnaire.json")
    assert main(["collect", "randomize", file, "--record", '{"sex": "f", "age": 37, "ill": null}']) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["sex", "age_group", "ill"]

    lines = [{"sex": "f", "age": 70 if i % 2 else 3, "ill": "no"} for i in range(2000)]
    text = "\n".join(map(json.dumps, lines))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["collect", "randomize", file]) == 0
    sent = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kept = sum(s["age_group"] == ("65+" if r["age"] == 70 else "0-39") for s, r in zip(sent, lines, strict=True))
    assert 1050 < kept < 1350  # 3/5 of them; one in three if the order were lost

    (tmp_path / "in.csv").write_text("ill,sex,age\n,m,64\nyes,f,0\n")
    assert main(["collect", "randomize", file, str(tmp_path / "in.csv")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "sex,age_group,ill"
    assert len(printed) == 3

    for name, content in (
        ("a.csv", "ill,sex,age\nno,m\n"),
        ("b.jsonl", '{"sex": "f", "sex": "m"}\n'),
        ("c.jsonl", "\n"),
        ("d.csv", "ill,sex,ill\nno,m,no\n"),
        ("e.csv", 'ill,sex,age\nno,m,"6\n'),
        ("f.jsonl", "\udcff"),
    ):
        (tmp_path / name).write_text(content, errors="surrogateescape")
        assert main(["collect", "randomize", file, str(tmp_path / name)]) == 3
        assert "RR522" in capsys.readouterr().err
    assert main(["collect", "randomize", file, str(tmp_path / "none.jsonl")]) == 3
    assert main(["collect", "randomize", file, str(tmp_path / "in.csv"), "--record", "{}"]) == 2
    capsys.readouterr()


def test_what_is_asked_and_promised_can_be_read(
    asked: Questionnaire, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "randomize", str(tmp_path / "plan.questionnaire.json"), "--questions"]) == 0
    told = capsys.readouterr().out
    assert (
        "age: 0-39, 40-64, 65+; answer with one of them, or with a number from 0, which becomes the one that it lies in"
        in told
    )
    # e^epsilon of one record: 7, (3/5)/(1/5) and (2/3)/(1/6), the largest ratio of each row
    assert f"epsilon {math.log(7 * 3 * 4):.6g}: " in told
    assert asked.digest in told
    assert "name" not in {q.attribute for q in asked.questions}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.update(promise="nothing can happen"), "it was changed after it was written"),
        (lambda d: d.update(schema="rrpolicy.plan/1"), "its schema is 'rrpolicy.plan/1'"),
        (lambda d: d.update(surprise=1), "surprise"),
        (lambda d: d.pop("questions"), "questions"),
    ],
)
def test_a_file_that_is_no_questionnaire_is_refused(
    asked: Questionnaire, tmp_path: Path, change: Callable[[dict[str, Any]], Any], why: str
) -> None:
    document = asked.to_json()
    change(document)
    (tmp_path / "other.json").write_text(json.dumps(document))
    with pytest.raises(rrpolicy.PolicyError, match="RR521") as refused:
        rrpolicy.randomize(tmp_path / "other.json", {})
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(epsilon={"value": 0.5, "standing": "exact", "error": 0.0}),
        lambda d: d.update(unchanged=["sex"]),
        lambda d: d["questions"].pop(),
        lambda d: d["questions"][0]["categories"].pop(),
        lambda d: d["channel"]["axes"][0].update(rows=[["1", "0"], ["0", "1"], ["0", "1"]]),
    ],
)
def test_a_promise_that_is_not_kept_is_refused_however_it_is_sealed(
    asked: Questionnaire, tmp_path: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    from rrpolicy.canonical_json import record_digest

    document: dict[str, Any] = asked.to_json()
    change(document)
    document["digest"] = record_digest(document)
    (tmp_path / "other.json").write_text(json.dumps(document))
    with pytest.raises(rrpolicy.PolicyError, match="RR521.*contradicts itself"):
        rrpolicy.open_questionnaire(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: d["channel"]["axes"][0].update(kind="of-a-plugin"), "RR404"),
        (lambda d: d["channel"].update(kind="of-a-plugin"), "RR404"),
        (lambda d: d["channel"].update(order=["sex"]), "RR521"),
    ],
)
def test_a_channel_that_no_plugin_offers_or_that_contradicts_itself_is_refused(
    asked: Questionnaire, tmp_path: Path, change: Callable[[dict[str, Any]], Any], code: str
) -> None:
    from rrpolicy.canonical_json import record_digest

    document: dict[str, Any] = asked.to_json()
    change(document)
    document["digest"] = record_digest(document)
    (tmp_path / "other.json").write_text(json.dumps(document))
    with pytest.raises(rrpolicy.RRPolicyError, match=code):
        rrpolicy.open_questionnaire(tmp_path / "other.json")
    (tmp_path / "other.json").write_text("{")
    with pytest.raises(rrpolicy.PolicyError, match="RR521"):
        rrpolicy.open_questionnaire(tmp_path / "other.json")


def test_a_questionnaire_says_what_is_sent_as_it_is(tmp_path: Path) -> None:
    text = POLICY.replace(
        'sex = { role = "quasi-identifier", domain = ["f", "m"] }',
        'sex = { role = "insensitive", domain = ["f", "m"], assume_unlinkable = "a test says so" }',
    ).replace('name = "pram"', 'name = "pram"\nattributes = ["age", "ill"]')
    asked = rrpolicy.open_questionnaire(planned(tmp_path, text).questionnaire or "")
    assert asked.unchanged == ("sex",)
    assert "Sent as answered, without protection: 'sex'" in asked.promise
    sent = rrpolicy.randomize(asked, [{"sex": "f", "age": 50, "ill": "no"}] * 200)
    assert {record["sex"] for record in sent} == {"f"}
    assert Questionnaire.from_json(asked.to_json(), load_registry()) == asked


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('domain = ["yes", "no"], nulls = "no answer"', 'domain = "observed"'), "RR255"),
        (('model = "pk-anonymity"\nk = 3', 'model = "attribute-disclosure"\nthreshold = "1/2"'), "RR255"),
        (
            ('name = { role = "identifier" }', 'name = { role = "insensitive", assume_unlinkable = "a test says so" }'),
            "RR520.*'name' has no list of answers",
        ),
        (('[mechanism]\nname = "pram"', '[mechanism]\nname = "l-diversity"'), "RR"),
    ],
)
def test_what_needs_data_cannot_be_collected(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    assert change[0] in POLICY
    with pytest.raises(rrpolicy.RRPolicyError, match=told):
        planned(tmp_path, POLICY.replace(*change)).require()
    assert [p.name for p in tmp_path.iterdir()] == ["policy.toml"]


def test_what_is_drawn_together_or_not_at_all_is_not_collected(tmp_path: Path) -> None:
    planned(tmp_path)
    policy = open_policy(tmp_path / "policy.toml").policy
    same = Identity.of("sex", ["f", "m"])
    sets = Sets.of("ill", ("yes", "no", "no answer"), 2)
    product = Product((same, sets), (), ("sex", "ill"))

    def told(policy: Policy, channel: Any) -> list[str]:
        with pytest.raises(rrpolicy.PolicyError) as refused:
            Questionnaire.of(policy, policy.digest(), channel, software(load_registry()))
        assert {p.code for p in refused.value.problems} == {"RR520"}
        return [p.message.removeprefix("nothing can be collected in the field: ") for p in refused.value.problems]

    series = replace(policy, release=replace(policy.release, series="panel"))
    assert told(series, product) == [
        "releases of the series 'panel' are drawn with one key, and people have none",
        "'ill' is released as sets, which collected tables cannot contain",
    ]
    assert told(policy, Product((same,), (), ("sex",))) == ["no answer would be randomised"]
    assert told(policy, object()) == [
        "pram deals with the records of one table together, so that none is drawn by itself"
    ]


def test_answers_that_a_value_excludes_have_no_guarantee(tmp_path: Path) -> None:
    planned(tmp_path)
    policy = open_policy(tmp_path / "policy.toml").policy
    never = [[Fraction(1), Fraction(1, 2)], [Fraction(0), Fraction(1, 2)]]
    others = (Retention.uniform(name, policy.attributes[name].domain or (), Fraction(3, 5)) for name in ("age", "ill"))
    axes = (Matrix.explicit("sex", ["f", "m"], ["f", "m"], never), *others)

    asked = Questionnaire.of(policy, "", Product(axes, (), ("sex", "age", "ill")), software(load_registry()))

    assert asked.epsilon.value == math.inf
    assert "the sent value excludes some answers: epsilon is infinite, and there is no guarantee" in asked.promise


def test_dates_are_read_and_nothing_else(tmp_path: Path) -> None:
    text = POLICY.replace("bins = [0, 40, 65, inf]", "bins = [1900-01-01, 1960-01-01, 1985-01-01, 2026-01-01]")
    asked = rrpolicy.open_questionnaire(planned(tmp_path, text).questionnaire or "")

    assert list(rrpolicy.randomize(asked, {"sex": "f", "age": "1970-05-01", "ill": "no"})) == [
        "sex",
        "age_group",
        "ill",
    ]
    for wrong in (1970, "in May", "1970-05-01T00:00:00+02:00"):
        with pytest.raises(rrpolicy.DataError, match="RR522: the answer to 'age' is not one of the categories"):
            rrpolicy.randomize(asked, {"sex": "f", "age": wrong, "ill": "no"})


def test_a_questionnaire_on_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(rrpolicy.RefusedError, match="RR408"):
        planned(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["policy.toml"]


def test_what_stands_in_the_way_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "plan.questionnaire.json").write_text("mine")
    with pytest.raises(rrpolicy.RefusedError, match="RR402"):
        planned(tmp_path)
    assert (tmp_path / "plan.questionnaire.json").read_text() == "mine"
    assert not (tmp_path / "plan.json").exists()
    (tmp_path / "plan.questionnaire.json").unlink()
    assert planned(tmp_path).key is None
    with pytest.raises(rrpolicy.RefusedError, match="RR402"):
        planned(tmp_path)
