"""What a plugin returns is held to its protocol where it is called: the plugin is named, and it is no bug of the core."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.annotations import type_mismatch
from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError
from rrpolicy.finding import Finding, Measure
from rrpolicy.mechanism import Outline, Proposal
from rrpolicy.plugin_errors.type_checks import check_return_type

APART = Path(__file__).parent / "apart"
POLICY = """
schema = 1
[policy]
name = "returned"
version = "1.0.0"
owner = "tests"
purpose = "a plugin that returns something else"
plugins = ["acme-wrong"]
[source]
uri = "survey.rows"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
wave = { role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }
[[privacy]]
model = "acme-promise"
most = 9
[mechanism]
name = "acme-keep"
coin = true
[[utility]]
metric = "acme-loss"
max = "1/2"
[release]
format = "arrow"
"""
PLUGIN = """
from rrpolicy.frozen import replace
import acme_card, acme_coin, acme_keep, acme_loss, acme_promise, acme_rows
from acme_arrow.ipc import Arrow
from acme_arrow.ridge import Ridge
from rrpolicy.plugin import *

class Coin(acme_coin.Coin):
    {coin}
class Keep(acme_keep.Keep):
    {mechanism}
class Promise(acme_promise.Promise):
    {model}
class Loss(acme_loss.Loss):
    {metric}
class Rows(acme_rows.Rows):
    {source}
class Card(acme_card.Card):
    {renderer}
class Lines(Arrow):
    {format}
class Shrunk(Ridge):
    {estimator}

acme_coin.Coin = Coin

def assess(requirement, channel, original):
    {assess}
    return acme_promise.assess(requirement, channel, original)

@hookimpl
def rrpolicy_mechanisms():
    return [Keep()]
@hookimpl
def rrpolicy_channels():
    return [Coin]
@hookimpl
def rrpolicy_privacy_models():
    return [Promise()]
@hookimpl
def rrpolicy_assessors():
    return [Assessor("acme-promise", Product, (Matrix, Identity), Basis.CHANNEL, "none", assess, {more})]
@hookimpl
def rrpolicy_utility_metrics():
    return [Loss()]
@hookimpl
def rrpolicy_sources():
    return [Rows()]
@hookimpl
def rrpolicy_renderers():
    return [Card()]
@hookimpl
def rrpolicy_formats():
    return [Lines()]
@hookimpl
def rrpolicy_estimators():
    return [Shrunk()]
"""
PARTS = ("coin", "mechanism", "model", "metric", "source", "renderer", "format", "estimator")


@pytest.fixture
def wrong(site, distribution, tmp_path):
    """Install acme-wrong with one of its functions replaced; return the folder of a policy that uses it."""

    def install(**parts: str) -> Path:
        told = {**dict.fromkeys(PARTS, "pass"), "assess": "pass", "more": "", **parts}
        site(APART)
        site(Path(__file__).parent / "site")
        made = distribution(tmp_path / "site", "acme-wrong", "wrong", PLUGIN.format(**told))
        listed = "".join(f"{path.name},,\n" for path in APART.glob("*.py"))
        (made / "acme_wrong-1.0.dist-info" / "RECORD").write_text(listed)
        site(made)
        (tmp_path / "survey.rows").write_text(
            "sex|wave\n" + "".join(f"{'fmf'[i % 3]}|{1 + i % 2}\n" for i in range(300))
        )
        (tmp_path / "policy.toml").write_text(POLICY)
        return tmp_path

    return install


OUTLINE = "def outline(self, options, policy):\n        return "
PLAN = "def plan(self, options, task):\n        return "
CASES = {
    "outline, a dict": ("mechanism", OUTLINE + "{}", "check", "`Keep.outline` returned a dict, expected an Outline"),
    "outline, of no class": (
        *("mechanism", OUTLINE + "replace(super().outline(options, policy), channel='product')", "check"),
        "`Keep.outline` returned an Outline whose `channel` is a str, expected a class of Channel",
    ),
    "outline, of odd axes": (
        *("mechanism", OUTLINE + "replace(super().outline(options, policy), axes=(('sex', Matrix),))", "check"),
        "`Keep.outline` returned an Outline whose `axes` is a str, expected a tuple",
    ),
    "plan, a dict": ("mechanism", PLAN + "{}", "plan", "`Keep.plan` returned a dict, expected a Proposal"),
    "plan, without a channel": (
        *("mechanism", PLAN + "Proposal({})", "plan"),
        "`Keep.plan` returned a Proposal whose `channel` is a dict, expected a Channel",
    ),
    "plan, of an odd origin": (
        *("mechanism", PLAN + "replace(super().plan(options, task), origins={'sex': 'policy'})", "plan"),
        "`Keep.plan` returned a Proposal whose `origins` is a str, expected an Origin",
    ),
    "refuses": (
        *("model", "def refuses(self, options, policy):\n        return True", "check"),
        "`Promise.refuses` returned a bool, expected a str or None",
    ),
    "describe": (
        *("model", "def describe(self, options):\n        return options.most", "check"),
        "`Promise.describe` returned a Fraction, expected a str",
    ),
    "assess, None": ("assess", "return None", "plan", "`assess` returned None, expected a Finding"),
    "assess, a verdict that is none": (
        *("assess", "return replace(acme_promise.assess(requirement, channel, original), verdict=True)", "plan"),
        "`assess` returned a Finding whose `verdict` is a bool, expected a Verdict or None",
    ),
    "assess, NaN": (
        "assess",
        "return replace(acme_promise.assess(requirement, channel, original), achieved=Measure(float('nan')))",
        "plan",
        "`assess` returned a Finding whose `achieved`: `value` is not a number, expected a float",
    ),
    "assess, a number of numpy": (
        "assess",
        "import numpy; return replace(acme_promise.assess(requirement, channel, original), groups_over=numpy.int64(1))",
        "plan",
        "`assess` returned a Finding whose `groups_over` is a numpy.int64, expected an int or None",
    ),
    "supports": (
        "more",
        "lambda *_: False",
        "check",
        "`rrpolicy_assessors.<locals>.<lambda>` returned a bool, expected a str or None",
    ),
    "unfit": (
        *("metric", "def unfit(self, options, channel, axes):\n        return 0", "check"),
        "`Loss.unfit` returned an int, expected a str or None",
    ),
    "refuses of a metric": (
        *("metric", "def refuses(self, options, policy):\n        return 0", "check"),
        "`Loss.refuses` returned an int, expected a str or None",
    ),
    "expected": (
        *("metric", "def expected(self, options, channel, original):\n        return 0.1", "plan"),
        "`Loss.expected` returned a float, expected a Measure or None",
    ),
    "open, no context": (
        *("source", "def open(self, uri, table, scratch, reading):\n        return {}", "plan"),
        "`Rows.open` returned a dict, expected a contextlib.AbstractContextManager",
    ),
    "open, no snapshot": (
        "source",
        "def open(self, uri, table, scratch, reading):\n        import contextlib; return contextlib.nullcontext({})",
        "plan",
        "`Rows.open` returned a dict, which lacks columns, records, released_type,",
    ),
    "columns of an axis": (
        *("coin", "def columns(self):\n        return list(super().columns())", "plan"),
        "`Coin.columns` returned a list, expected a tuple",
    ),
    "columns of an axis that no channel takes": (
        *("coin", "def columns(self):\n        return ['sex']", "plan"),
        "`Keep.outline` failed: AttributeError (acme_keep, line ",
    ),
    "decoder of an axis": (
        *("coin", "def decoder(self):\n        return self.entries", "plan"),
        "`Coin.decoder` returned a tuple, expected an IdentityDecoder or",
    ),
    "ratio of an axis": (
        *("coin", "def max_ratio(self):\n        return 4.0", "plan"),
        "`Coin.max_ratio` returned a float, expected a Fraction or None",
    ),
    "size of an axis": (
        *("coin", "original_size = 2.0", "plan"),
        "`Coin.original_size` is a float, expected an int",
    ),
    "writer": (
        *("format", "def writer(self, path, spec, handling):\n        return path", "release"),
        "`Lines.writer` returned a pathlib.PosixPath, which lacks write, close, abandon",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_named(wrong, capsys, case):
    part, line, command, said = CASES[case]
    folder = wrong(**{part: line})
    before = sorted(p.name for p in folder.iterdir())

    out = ["--out", str(folder / "bundle")] if command == "release" else []
    assert main([command, str(folder / "policy.toml"), *out]) == 4

    assert f"RR413 acme-wrong 1.0: {said}" in capsys.readouterr().err
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("part", "line", "command", "said"),
    [
        ("format", "def relation(self, connection, path, spec, handling):\n        return None", ["verify"], "None, expected a str"),
        ("renderer", "def render(self, report):\n        return 'text'", ["report", "--format", "acme-card"], "a str, expected a bytes"),
        ("estimator", "def counts(self, asked):\n        return 1", ["estimate", "--by", "sex", "--estimator", "acme-ridge"], "an int, expected a tuple"),
        ("estimator", "def counts(self, asked):\n        return asked.moment[:1], ''", ["estimate", "--by", "sex", "--estimator", "acme-ridge"], "counts of shape (1,), expected (2,)"),
    ],
)  # fmt: skip
def test_it_is_named_by_who_reads_the_release(wrong, capsys, part, line, command, said):  # noqa: PLR0917
    folder = wrong(**{part: line})
    name, *options = command
    assert main(["release", str(folder / "policy.toml"), "--out", str(folder / "bundle")]) == 0
    assert main([name, str(folder / "bundle"), *options, "--plugin", "acme-wrong"]) == 4
    said_so = capsys.readouterr().err
    assert "RR413 acme-wrong 1.0: `" in said_so
    assert f"returned {said}" in said_so


REALISED = {
    "raise KeyError('of a person')": "`Loss.realised` failed: KeyError",
    "raise PolicyError(Problem('RR239', 'it cannot'))": "`Loss.realised` failed: PolicyError",
    "return 0.25": "`Loss.realised` returned a float, expected a Measure or None",
    "return Measure(float('nan'))": "`Loss.realised` returned a Measure whose `value` is not a number, expected a float",
}


@pytest.mark.parametrize("line", REALISED)
def test_a_release_is_complete_without_what_its_draw_attained(wrong, capsys, line):
    folder = wrong(metric=f"def realised(self, options, release, original):\n        {line}")
    bundle, said = folder / "bundle", f"acme-wrong 1.0: {REALISED[line]}"

    assert main(["release", str(folder / "policy.toml"), "--out", str(bundle), "--key", str(folder / "key")]) == 0

    assert f"what this draw attained by acme-loss is not available: {said}" in capsys.readouterr().err
    report = json.loads((bundle / "audit" / "report.json").read_text())
    assert [row["realised"] for row in report["utility"]] == [f"not available ({said})"]
    assert "not available" in (bundle / "audit" / "report.html").read_text()
    inputs = ["--source", str(folder / "survey.rows"), "--key", str(folder / "key"), "--plugin", "acme-wrong"]
    assert main(["verify", str(bundle), *inputs]) == 0


@pytest.mark.parametrize(
    ("keep", "matrix"),
    [('"1/2"', "pass"), ('"4/5"', "def decoder(self):\n        return replace(super().decoder(), unbiased=False)")],
)
def test_a_matrix_that_cannot_be_undone_is_refused_at_plan(wrong, capsys, keep, matrix):
    folder = wrong(coin=matrix)
    (folder / "policy.toml").write_text(POLICY.replace("coin = true", f"coin = true\nkeep = {keep}"))
    assert main(["plan", str(folder / "policy.toml")]) == 4
    assert "RR414 acme-wrong 1.0: 'sex': its matrix cannot be undone" in capsys.readouterr().err.replace(
        str(folder / "policy.toml") + ":18:8: ", ""
    )


def test_a_metric_refuses_at_check_and_points_at_its_option(wrong, capsys):
    folder = wrong(metric="def refuses(self, options, policy):\n        return 'the largest `most_of` is 1'")
    (folder / "acme_loss.py").write_text((APART / "acme_loss.py").read_text())
    policy = folder / "policy.toml"
    policy.write_text(POLICY.replace('max = "1/2"', 'max = "1/2"\nattributes = ["nope"]'))
    for command in ("check", "plan"):
        assert main([command, str(policy)]) == 2
        assert f"{policy}:23:1: RR205" in capsys.readouterr().err
    policy.write_text(POLICY)
    for command in ("check", "plan"):
        assert main([command, str(policy)]) == 2
        assert f"{policy}:21:10: RR252 acme-loss: the largest `most_of` is 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reason", "place"),
    [
        ("most must be below 9", "16:8"),
        ("what is asked is no `most` that can be", "16:8"),
        ("it asks for too much, the most that is", "15:9"),
    ],
)
def test_what_a_model_refuses_points_at_the_option_that_it_names(wrong, capsys, reason, place):
    folder = wrong(model=f"def refuses(self, options, policy):\n        return {reason!r}")
    assert main(["check", str(folder / "policy.toml")]) == 2
    assert f"policy.toml:{place}: RR227 acme-promise: {reason}" in capsys.readouterr().err


BREACH = """class Breach(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        rho1: Rational
        rho2: Rational
        @model_validator(mode="after")
        def ordered(self):
            if self.rho1 >= self.rho2:
                raise ValueError({reason!r})
            return self
    options = Breach"""


@pytest.mark.parametrize(
    ("reason", "place"),
    [
        ("rho2 must be above rho1", "17:8"),
        ("the upper threshold, rho2, must be above the lower one", "17:8"),
        ("what is read must be ordered", "14:3"),
    ],
)
def test_what_its_options_refuse_points_at_the_option(wrong, capsys, reason, place):
    folder = wrong(model=BREACH.format(reason=reason))
    plugin = folder / "site" / "acme_wrong.py"
    plugin.write_text("from pydantic import BaseModel, ConfigDict, model_validator\n" + plugin.read_text())
    (folder / "policy.toml").write_text(POLICY.replace("most = 9", "rho1 = 0.2\nrho2 = 0.1"))
    assert main(["check", str(folder / "policy.toml")]) == 2
    assert f"policy.toml:{place}: RR208 " in capsys.readouterr().err


def test_the_core_s_own_is_a_bug(monkeypatch, wrong, capsys):
    from rrpolicy.privacy.models.local_dp import LocalDP

    folder = wrong()
    monkeypatch.setattr(LocalDP, "describe", lambda *_: None)
    (folder / "policy.toml").write_text(POLICY.replace('"acme-promise"\nmost = 9', '"local-dp"\nepsilon = 3'))
    assert main(["plan", str(folder / "policy.toml")]) == 70
    assert "a bug" in capsys.readouterr().err


def test_kinds_in_words():
    class Other:
        pass

    assert type_mismatch(Fraction(1, 2), float) is None
    assert type_mismatch(value=True, kind=int) == "a bool, expected an int"
    assert type_mismatch(Other(), Measure | None) == f"a {Other.__module__}.Other, expected a Measure or None"
    assert type_mismatch(Measure, Measure) == "the class Measure, expected a Measure"
    assert type_mismatch((1, "b"), tuple[int, ...]) == "a tuple whose item is a str, expected an int"
    assert type_mismatch((1,), tuple[int, int]) == "a tuple of 1, expected one of 2"
    assert type_mismatch(Proposal, type[Outline]) == "the class Proposal, expected a class of Outline"
    assert type_mismatch(float("inf"), float) is None
    assert type_mismatch(None, Finding) == "None, expected a Finding"


def test_the_functions_raise_it_as_well(wrong):
    folder = wrong(mechanism=PLAN + "{}")
    with pytest.raises(rrpolicy.RefusedError, match=r"RR413: acme-wrong 1\.0: `Keep\.plan` returned a dict"):
        rrpolicy.plan(folder / "policy.toml")


def test_a_function_that_takes_other_arguments_is_a_mistake_of_its_plugin():
    def odd(requirement):
        return requirement

    def failing(requirement):
        return len(requirement)

    with pytest.raises(
        RefusedError, match=r"RR413: .*: `.*odd` cannot be called as its protocol requires: .*takes 1 posit"
    ):
        check_return_type(int, odd)(1, 2, 3)
    with pytest.raises(TypeError, match="has no len"):
        check_return_type(int, failing)(1)
