"""`rrpolicy init --mechanism --model`: every pair that fits is drafted and passes `check`; no other pair does."""

from __future__ import annotations

import datetime as dt
import re
import sys
import tomllib
from itertools import product

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.drafting.role_guessing import merged_bins, merged_values
from rrpolicy.errors import PolicyError
from rrpolicy.policy.model import intervals

REGISTRY = load_registry()
FITS = {
    name: [model for model, each in REGISTRY.privacy_models.items() if mechanism.method in each.methods]
    for name, mechanism in REGISTRY.mechanisms.items()
}
PAIRS = [*product(FITS, REGISTRY.privacy_models)]
FITTING = [pair for pair in PAIRS if pair[1] in FITS[pair[0]]]
NUMBERS = {
    "beta": "2",
    "rho1": '"1/10"',
    "rho2": '"1/2"',
    "threshold": '"1/3"',
    "t": "0.2",
    "alpha": "0.5",
    "max": "0.5",
}
OPEN = re.compile(r'^(\w+) = "fill in: .*"$', re.MULTILINE)


@pytest.fixture
def people(parquet):
    """A table with columns of every kind that a draft gives categories."""
    columns = {
        "sex": ["F", "M"] * 50,
        "age": [*range(20, 70)] * 2,
        "school": [*range(25)] * 4,
        "birth_day": [dt.date(1950, 1, 1) + dt.timedelta(days=211 * i) for i in range(100)],
        "disease": ["none", "flu", "cold", "asthma"] * 25,
    }
    return parquet(columns, "people.parquet")


def filled(text):
    """Write sensible numbers where the draft leaves a key open."""
    words = {"owner": '"office"', "purpose": '"tables"', "uri": '"people.parquet"', "sampling_fraction": "0.01"}
    return OPEN.sub(lambda found: f"{found[1]} = {({**NUMBERS, **words}).get(found[1], '2')}", text)


@pytest.mark.parametrize(("mechanism", "model"), FITTING)
def test_each_pair_that_fits_is_drafted_and_passes_check_once_filled_in(people, tmp_path, mechanism, model):
    text = rrpolicy.init(str(people), mechanism=mechanism, models=[model]).text
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    with pytest.raises(PolicyError) as caught:
        rrpolicy.check(policy)
    policy.write_text(filled(text))

    assert {problem.code for problem in caught.value.problems} == {"RR281"}
    rrpolicy.check(policy)
    stated = tomllib.loads(text)
    assert stated["mechanism"]["name"] == mechanism
    assert model in {entry["model"] for entry in stated["privacy"]}


@pytest.mark.parametrize(("mechanism", "model"), [pair for pair in PAIRS if pair not in FITTING])
def test_a_pair_that_does_not_fit_is_refused_with_what_fits(people, mechanism, model):
    with pytest.raises(PolicyError) as caught:
        rrpolicy.init(str(people), mechanism=mechanism, models=[model])

    (problem,) = caught.value.problems
    assert problem.code == "RR149"
    assert problem.hint == f"for {model} take {' or '.join(name for name in FITS if model in FITS[name])}"


def test_every_built_in_mechanism_and_model_has_a_draft():
    assert all(FITS.values())
    assert {model for fits in FITS.values() for model in fits} == set(REGISTRY.privacy_models)


PLUGIN = """
from pydantic import BaseModel, Field
from rrpolicy.plugin import Identity, Order, Outline, Product, hookimpl

class Options(BaseModel):
    sharpness: int = Field(description="The greatest sharpness.")

class Sharpness:
    name = "acme-sharpness"
    options = Options
    example = "sharpness = 7"
    methods = ("blurred", "generalised")
    def describe(self, options): return f"sharpness <= {options.sharpness}"
    def promise(self, options): return f"Sharpness: at most {options.sharpness}."
    def refuses(self, options, policy): return None
    def compare(self, old, new): return Order.EQUAL

class BlurOptions(BaseModel):
    width: int = Field(description="The width.")

class Blur:
    name = "acme-blur"
    options = BlurOptions
    method = "blurred"
    def outline(self, options, policy): return Outline(Product)
    def plan(self, options, task): raise NotImplementedError

@hookimpl
def rrpolicy_mechanisms(): return [Blur()]

@hookimpl
def rrpolicy_privacy_models(): return [Sharpness()]
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A distribution of a third party, with a mechanism and a privacy model."""
    info = tmp_path / "site" / "acme_blur-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-blur\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rrpolicy]\nacme = acme_blur\n")
    (info.parent / "acme_blur.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(info.parent))
    yield "acme-blur"
    sys.modules.pop("acme_blur", None)


@pytest.mark.parametrize(
    ("named", "mechanism", "models"),
    [
        ({"mechanism": "acme-blur"}, "acme-blur", ["acme-sharpness"]),
        ({"models": ["acme-sharpness"]}, "generalisation", ["acme-sharpness"]),
        ({"models": ["acme-sharpness", "k-anonymity"]}, "generalisation", ["acme-sharpness", "k-anonymity"]),
    ],
)
def test_the_mechanisms_and_models_of_plugins_are_drafted_as_well(people, plugin, named, mechanism, models):
    text = rrpolicy.init(str(people), plugins=[plugin], **named).text

    stated = tomllib.loads(text)
    assert stated["mechanism"]["name"] == mechanism
    assert [entry["model"] for entry in stated["privacy"]] == models
    assert ("width" in stated["mechanism"]) is (mechanism == "acme-blur")
    if "acme-sharpness" in models:
        assert 'sharpness = "fill in: the greatest sharpness, such as 7"' in text
        assert "# Sharpness: at most 7. (with sharpness = 7)" in text


def test_a_model_of_a_plugin_that_is_not_listed_is_refused(people, plugin):
    with pytest.raises(PolicyError, match="there is no draft with the privacy model 'acme-sharpness'"):
        rrpolicy.init(str(people), models=["acme-sharpness"])


def test_what_is_not_named_is_what_fits(people):
    def chosen(**named):
        stated = tomllib.loads(rrpolicy.init(str(people), **named).text)
        return stated["mechanism"]["name"], [entry["model"] for entry in stated["privacy"]]

    assert chosen() == ("pram", ["local-dp"])
    assert chosen(mechanism="l-diversity") == ("generalisation", ["k-anonymity"])
    assert chosen(models=["k-anonymity", "t-closeness"]) == ("generalisation", ["k-anonymity", "t-closeness"])
    assert chosen(models=["pk-anonymity"]) == ("pram", ["pk-anonymity"])
    assert chosen(mechanism="anatomy", models=["k-anonymity"]) == ("anatomy", ["l-diversity", "k-anonymity"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--mechanism", "generalise"], "did you mean 'generalisation'?"),
        (["--model", "k-anonimity"], "did you mean 'k-anonymity'?"),
        (["--model", "local-dp", "--model", "k-anonymity"], "no mechanism meets local-dp and k-anonymity together"),
    ],
)
def test_the_command_says_what_may_be_meant(people, capsys, arguments, told):
    assert main(["init", str(people), *arguments]) != 0

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "RR149" in printed.err
    assert told in printed.err


def test_ordered_columns_are_planned_with_neighbours_merged_and_not_as_one_group(people, tmp_path):
    policy = tmp_path / "policy.toml"
    text = rrpolicy.init(str(people), mechanism="generalisation").text
    only_age = re.sub(r"^(sex|school|birth_day|disease) = .*$", r'\1 = { role = "excluded" }', text, flags=re.MULTILINE)
    policy.write_text(filled(only_age).replace("k = 2", "k = 40"))

    planned = rrpolicy.plan(policy)

    (remark,) = [r.text for r in planned.plan.remarks if r.text.startswith("'age' is released at level")]
    assert remark.startswith("'age' is released at level 1 of 2")


@pytest.mark.parametrize("parts", range(1, 40))
@pytest.mark.parametrize("binned", [True, False])
def test_levels_nest_keep_the_order_and_end_in_few_groups(parts, binned):
    bounds = [float(i) for i in range(parts + 1)]
    below = [*intervals(bounds)] if binned else [*range(parts)]
    levels = [*merged_bins(bounds)] if binned else [*merged_values(below)]
    merged = [below, *([*level] for level in levels)]

    for under, level in zip(merged, levels, strict=False):
        assert [member for group in level.values() for member in group] == under
        assert {len(group) for group in level.values()} <= {2, 3}
    assert len(levels) == max(parts.bit_length() - 2, 0)
    assert not levels or len(levels[-1]) in {2, 3}
