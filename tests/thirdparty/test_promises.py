"""A plugin's axis that says one thing and does another is refused at plan and release, and found by verify and the kit."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import check_mechanism, open_policy

SITE = Path(__file__).parent / "site"
POLICY = """
schema = 1
[policy]
name = "third-party"
version = "1.0.0"
owner = "tests"
purpose = "a plugin with a mistake"
plugins = ["acme-oue", "acme-wrong"]

[source]
uri = "survey.csv"

[attributes]
id = { role = "identifier" }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], release_as = "part" }

[[privacy]]
model = "local-dp"
epsilon = 5

[mechanism]
name = "acme-wrong"

[[waivers]]
finding = "protection"
reason = "a test: nobody is in the table"
approver = "survey office"
until = 2099-12-31
"""
PLUGIN = """
from dataclasses import dataclass
from rrpolicy.frozen import replace
from fractions import Fraction
from typing import ClassVar
from rrpolicy.channels.decoders import without_matrix
from acme_oue.axis import Unary
from acme_oue.mechanism import Options
from rrpolicy.plugin import Matrix, Measure, Origin, Outline, Product, Proposal, hookimpl

class Odd(Unary):
    kind: ClassVar[str] = "acme.odd"
    {odd}

class Verbatim(Matrix):
    kind: ClassVar[str] = "acme.verbatim"
    {verbatim}

def axis(of):
    return {axis}

def nearly(of, keep=Fraction(98, 100)):
    move = (1 - keep) / 2
    rows = tuple(tuple(keep if u == v else move for v in range(3)) for u in range(3))
    return Verbatim.explicit(of.attribute, of.labels, of.labels, rows, of.name)

class Own(Product):
    kind: ClassVar[str] = "acme.own"
    {own}

class Wrong:
    name = "acme-wrong"
    options = Options
    def outline(self, options, policy):
        region = policy.attributes["region"]
        made = axis(Odd("region", region.domain, Fraction(1, 10), region.release_as))
        return Outline({channel}, ((made.attributes, type(made)),), {channel}((made,), (), (made.columns()[0].name,)))
    def plan(self, options, task):
        return Proposal(self.outline(options, task.policy).fixed, {"region": Origin.POLICY}, {}, ())

@hookimpl
def rrpolicy_mechanisms():
    return [Wrong()]

@hookimpl
def rrpolicy_channels():
    return [Odd, Verbatim, Own]
"""
ZOO = {
    "categories in another order": ({"axis": "replace(of, labels=of.labels[::-1])"}, "in another order"),
    "other categories": ({"axis": "replace(of, labels=('n', 'e', 'w'))"}, "in another order than the policy's, or others"),
    "a category more": ({"axis": "replace(of, labels=(*of.labels, 'w'))"}, "other categories are estimated"),
    "a category less": ({"axis": "replace(of, labels=of.labels[:2])"}, "other categories are estimated"),
    "another released name": ({"axis": "replace(of, name='region')"}, ("is released as 'region', and the policy "
            "declares 'part'")),
    "a decoder of another column": (
        {"odd": "def decoder(self): return replace(Unary.decoder(self), columns=(self.attribute,))"},
        "the decoder reads 'region', and released is 'part'",
    ),
    "a decoder of less noise": (
        {"odd": "def decoder(self): return replace(Unary.decoder(self), rows=replace(self, flip=self.flip / 2).decoder().rows) if self.flip == Fraction(1, 10) else Unary.decoder(self)"},
        "the decoder undoes another matrix",
    ),
    "a decoder with its rows exchanged": (
        {"odd": "def decoder(self): return replace(Unary.decoder(self), rows=Unary.decoder(self).rows[::-1])"},
        "the decoder undoes another matrix",
    ),
    "a decoder of a value that is not released": (
        {"odd": "def decoder(self): d = Unary.decoder(self); return replace(d, released=(('none',), *d.released[1:]))"},
        "the decoder undoes another matrix",
    ),
    "a withheld decoder": (
        {"channel": "Own", "own": "def decoders(self): return tuple(map(without_matrix, Product.decoders(self)))"},
        "its decoder is withheld, which the policy alone decides",
    ),
    "a ratio that is too small": (
        {"axis": "nearly(of)", "verbatim": "def max_ratio(self): return Fraction(1)"},
        "a larger ratio of probabilities than declared (max_ratio)",
    ),
    "an epsilon that is too small": (
        {"odd": "def log_ratio(self): return Measure(0.5)"},
        "the declared epsilon (log_ratio) is smaller",
    ),
    "an epsilon below every ratio": (
        {"odd": "def log_ratio(self): return Measure(float('-inf'))"},
        "the declared epsilon (log_ratio) is smaller",
    ),
    "a cross ratio that is too large": (
        {"odd": "def min_cross_ratio(self): return Fraction(1)"},
        "a smaller cross ratio than declared",
    ),
    "columns that are no distributions": (
        {"odd": "def column(self, code): return {**Unary.column(self, code), 0: Fraction(1, 2)}"},
        "column 0 of the matrix is not a distribution",
    ),
}  # fmt: skip
"""Each is wrong in one way: what replaces a line of the plugin, and what is said of it."""
PLAIN = {"odd": "pass", "verbatim": "pass", "own": "pass", "axis": "of", "channel": "Product"}
"""Lines of a plugin that is right."""
UNMADE = {"columns that are no distributions", "a decoder of another column"}
"""Of these no release comes about: they cannot be drawn from, or no weights can be written."""
HONEST = {
    "unary encoding": {},
    "a matrix of its own class": {"axis": "nearly(of, Fraction(8, 10))", "verbatim": "pass"},
    "a looser bound than need be": {"odd": "def max_ratio(self): return 2 * Unary.max_ratio(self)"},
}


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install acme-wrong with some lines replaced; return a policy that uses it."""

    def install(lines: dict[str, str]) -> Path:
        site = tmp_path / "site"
        info = site / "acme_wrong-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-wrong\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[rrpolicy]\nwrong = acme_wrong\n")
        code = PLUGIN
        for name, line in {**PLAIN, **lines}.items():
            code = code.replace(f"{{{name}}}", line)
        (site / "acme_wrong.py").write_text(code)
        monkeypatch.syspath_prepend(str(SITE))
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()
        (tmp_path / "survey.csv").write_text("id,region\n" + "".join(f"{i},{'nnesss'[i % 6]}\n" for i in range(3000)))
        (tmp_path / "policy.toml").write_text(POLICY)
        return tmp_path / "policy.toml"

    before = set(sys.modules)
    yield install
    for name in set(sys.modules) - before:
        if name.startswith("acme_"):
            del sys.modules[name]


def released(policy: Path) -> int:
    return main(
        ["release", str(policy), "--out", str(policy.with_name("bundle")), "--key", str(policy.with_name("key"))]
    )


def verified(policy: Path) -> int:
    where = ["--source", str(policy.with_name("survey.csv")), "--key", str(policy.with_name("key")), "--strict"]
    allowed = ["--plugin", "acme-oue", "--plugin", "acme-wrong"]
    return main(["verify", str(policy.with_name("bundle")), *where, *allowed])


@pytest.mark.parametrize("name", ZOO)
def test_it_is_refused_before_anything_is_drawn(plugin, capsys, name):
    lines, told = ZOO[name]
    policy = plugin(lines)

    for command in (lambda: main(["plan", str(policy)]), lambda: released(policy)):
        status = command()
        said = capsys.readouterr().err
        assert status == 4, said
        assert "RR414 acme-wrong 1.0: " in said
        assert told in said
    assert sorted(p.name for p in policy.parent.iterdir()) == ["policy.toml", "site", "survey.csv"]


@pytest.mark.parametrize("name", [name for name in ZOO if name not in UNMADE])
def test_a_release_that_was_made_nevertheless_is_not_verified(plugin, capsys, monkeypatch, name):
    """As by a version that did not look."""
    lines, told = ZOO[name]
    policy = plugin(lines)
    monkeypatch.setattr("rrpolicy.planning.plan.channel_contradictions", lambda *_: ())
    assert released(policy) == 0, capsys.readouterr().err
    capsys.readouterr()

    assert verified(policy) == 1
    said = capsys.readouterr().out
    assert "NOT verified" in said
    assert told in said


@pytest.mark.parametrize("name", ZOO)
def test_the_kit_finds_it(plugin, name):
    lines, told = ZOO[name]
    opened = open_policy(plugin(lines))
    with pytest.raises(AssertionError, match=re.escape(told)):
        check_mechanism(opened.registry.mechanisms["acme-wrong"], opened)


@pytest.mark.parametrize("name", HONEST)
def test_honest_ones_pass(plugin, capsys, name):
    policy = plugin(HONEST[name])
    assert (released(policy), verified(policy)) == (0, 0), capsys.readouterr().err


def test_what_cannot_be_listed_rests_on_a_word_that_is_named(plugin, capsys, monkeypatch):
    monkeypatch.setattr("rrpolicy.channels.self_check.LISTED", 3)
    policy = plugin({})
    assert released(policy) == 0
    findings = json.loads((policy.with_name("bundle") / "public" / "release.json").read_text())["findings"]
    assert all("relies on the declaration of acme-wrong 1.0" in " ".join(f["assumptions"]) for f in findings)
    capsys.readouterr()
    assert verified(policy) == 1
    assert "undecided: ratios of region: on the word of acme-wrong 1.0" in capsys.readouterr().out


FALSE = "def decoders(self): return tuple(replace(d, rows=d.rows[::-1]) for d in Product.decoders(self))"


@pytest.mark.parametrize("own", ["pass", FALSE], ids=["honest", "with a false decoder"])
def test_a_channel_of_ones_own_rests_on_a_word_that_is_named(plugin, capsys, own):
    policy = plugin({"channel": "Own", "own": own})
    assert released(policy) == 0, capsys.readouterr().err
    findings = json.loads((policy.with_name("bundle") / "public" / "release.json").read_text())["findings"]
    assert all("'acme.own' releases records" in " ".join(f["assumptions"]) for f in findings)
    capsys.readouterr()

    assert verified(policy) == 1

    said = capsys.readouterr().out
    assert "undecided: draws and decoders of 'acme.own': on the word of acme-wrong 1.0" in said


def test_a_channel_that_settles_on_nothing_is_a_mistake_of_its_plugin(plugin, capsys):
    policy = plugin({"channel": "Own", "own": "def settle(self, original): return None"})

    assert released(policy) == 4

    assert "RR413 acme-wrong 1.0: `Own.settle` returned None, expected a Channel" in capsys.readouterr().err
