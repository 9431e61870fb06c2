"""The packs: written, extended, and every line of them felt by a policy that stands on one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError

NAMES = [pack.name for pack in rrpolicy.packs()]
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[3] / "rrpolicy" / "schemas" / "rrpolicy.packs-1.json").read_text()
)
DECLARED = {
    "owner": '"survey unit"',
    "purpose": '"research on sleep"',
    "recipients": '["recognised research entities"]',
    "environment": '"a computer of the research entity"',
    "auxiliary_data": '["population register"]',
    "legal_basis": '"45 CFR 164.514(e)"',
    "licence": '"CC-BY-4.0"',
    "approver": '"data protection officer"',
    "review_by": "2099-01-01",
}
MODELS = {"public-use-file": "public", "ema-0070": "public", "hipaa-limited-data-set": "enclave"}
ATTRIBUTES = """\
[source]
uri = "demo:survey"
{source}

[attributes]
person_id = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["female", "male"] }}
age = {{ role = "quasi-identifier", bins = [16, 45, inf] }}
disease = {{ role = "sensitive", domain = ["none", "asthma"], outside = "other" }}
education = {{ role = "excluded" }}
region = {{ role = "excluded" }}
occupation = {{ role = "excluded" }}
income_band = {{ role = "excluded" }}
hours = {{ role = "excluded" }}

{privacy}

[mechanism]
name = "{mechanism}"
"""
OWN = '[[privacy]]\nmodel = "k-anonymity"\nk = 3\n'
TESTS = {
    "identity-disclosure": """\
[[test]]
name = "forty in a group"
table = { csv = "survey.csv", repeat = 10 }
[test.expect]
passes = true
entries = { "privacy/identity-disclosure" = "satisfied" }
achieved = { "privacy/identity-disclosure" = { at_most = "9/100" } }

[[test]]
name = "ten are too few: one tenth is over 0.09"
table = { rows = [{ sex = "female", age = 20, disease = "none" }], repeat = 10 }
expect = { passes = false, codes = ["RR105"] }
""",
    "local-dp": """\
[[test]]
name = "randomised"
table = { csv = "survey.csv", repeat = 10 }
[test.expect]
passes = true
entries = { "privacy/local-dp?scope=attribute" = "satisfied" }
achieved = { "privacy/local-dp?scope=attribute" = { at_least = 0.9, at_most = 1 } }
""",
}
CSV = "sex,age,disease\n" + "".join(
    f"{s},{a},{d}\n" for s in ("female", "male") for a in (20, 50) for d in ("none", "asthma")
)


def demanded(name: str) -> list[str]:
    import tomllib

    text = next(pack.text for pack in rrpolicy.packs() if pack.name == name)
    return tomllib.loads(text)["context"]["demands"]


@pytest.fixture
def extending(tmp_path):
    """Write a policy that extends a pack, with its tests; keys of what it declares may be left out or changed."""

    def write(name: str, *, without: str = "", source: str = "", pack: str = "", **other: str) -> Path:
        folder = tmp_path / "policies"
        if not (folder / "packs" / f"{name}.toml").exists():
            rrpolicy.write_pack(name, folder / "packs")
        if pack:
            (folder / "packs" / f"{name}.toml").write_text(pack)
        declared = {**DECLARED, "release_model": f'"{MODELS.get(name, "restricted")}"', **other}
        keys = [key for key in demanded(name) if key != without]
        head = [f"{key} = {declared[key]}" for key in keys if key in {"owner", "purpose"}]
        context = [f"{key} = {declared[key]}" for key in keys if key not in {"owner", "purpose"}]
        series = name == "repeated-series"
        own = OWN if name in {"hipaa-limited-data-set", "scientific-use-file"} else ""
        rest = ATTRIBUTES.format(source=source, privacy=own, mechanism="pram" if series else "l-diversity")
        top = ["schema = 1", "[policy]", 'name = "x"', 'version = "1.0.0"', f'extends = "packs/{name}.toml"', *head]
        path = folder / "x.toml"
        path.write_text("\n".join([*top, "[context]", *context, rest]))
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / "survey.csv").write_text(CSV)
        model = "local-dp" if series else "identity-disclosure"
        if not own:
            (folder / "tests" / "x.toml").write_text(TESTS[model])
        return path

    return write


def codes(path: Path) -> list[str]:
    try:
        return [problem.code for problem in rrpolicy.check(path).problems]
    except PolicyError as error:
        return [problem.code for problem in error.problems]


def test_packs_are_listed_with_their_sources(capsys):
    assert {"ema-0070", "hipaa-limited-data-set", "public-use-file", "repeated-series", "scientific-use-file"} == set(
        NAMES
    )
    assert main(["init", "packs", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert all(pack["sources"] for pack in document["packs"])
    assert main(["init", "packs"]) == 0
    printed = capsys.readouterr().out
    assert "EMA/90915/2016" in printed
    asked = "requires: identity-disclosure (threshold 9/100); release_model one of public; states owner, purpose, "
    assert asked in printed
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "packs": [{"name": "ema-0070"}]}, SCHEMA)


def test_what_is_printed_next_extends_the_pack(extending, tmp_path, capsys):
    folder = tmp_path / "policies" / "packs"
    assert main(["init", "packs", "ema-0070", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert 'in a policy next to packs/, under [policy]: extends = "packs/ema-0070.toml"' in printed
    path = extending("ema-0070")
    assert printed.partition("[policy]: ")[2].strip() in path.read_text()
    assert main(["check", str(path)]) == 0


def test_help_offers_no_option_that_packs_lacks(capsys):
    assert main(["init", "packs", "--help"]) == 0
    assert "--output-format" not in capsys.readouterr().out


def test_a_pack_is_printed_and_written_as_it_is(tmp_path, capsys):
    assert main(["init", "packs", "ema-0070"]) == 0
    printed = capsys.readouterr().out
    assert main(["init", "packs", "ema-0070", "--out", str(tmp_path / "packs")]) == 0
    written = (tmp_path / "packs" / "ema-0070.toml").read_bytes()
    assert written.decode() == printed
    (pack,) = rrpolicy.packs("ema-0070")
    assert pack.digest == "sha256:" + hashlib.sha256(written).hexdigest()
    assert main(["init", "packs", "ema-0070", "--out", str(tmp_path / "packs")]) == 4
    assert "RR411" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["ema-70"], ["ema-70", "--out", "x"], ["--out", "x"]])
def test_a_pack_that_is_none_is_told(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "packs", *arguments]) == 2
    assert "RR250" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_may_stand_on_a_pack(extending, name):
    path = extending(name)

    assert codes(path) == []
    assert rrpolicy.load_policy(path).baselines == (str(path.parent / "packs" / f"{name}.toml"),)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"hipaa-limited-data-set", "scientific-use-file"}])
def test_what_a_pack_requires_is_felt(extending, name):
    assert [p.message for p in rrpolicy.run_tests(extending(name)).problems] == []


@pytest.mark.parametrize(
    ("name", "key"), [(n, k) for n in NAMES for k in demanded(n) if (n, k) != ("hipaa-limited-data-set", "legal_basis")]
)
def test_what_a_pack_demands_has_to_be_stated(extending, name, key):
    assert codes(extending(name, without=key)) == ["RR248"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("ema-0070", "restricted"),
        ("public-use-file", "enclave"),
        ("hipaa-limited-data-set", "public"),
        ("scientific-use-file", "public"),
    ],
)
def test_what_a_pack_does_not_allow_is_refused(extending, name, model):
    assert codes(extending(name, release_model=f'"{model}"')) == ["RR249"]


def test_a_pack_is_a_floor(extending):
    assert codes(extending("hipaa-limited-data-set", source='other_columns = "excluded"')) == ["RR243"]
    assert codes(extending("repeated-series", source="max_records = 2")) == ["RR243"]


LINES = [
    (pack.name, number, line)
    for pack in rrpolicy.packs()
    for number, line in enumerate(pack.text.splitlines())
    if "=" in line and not line.startswith(("#", "schema", "name", "version", "other_columns", "max_records"))
]


@pytest.mark.parametrize("deleted", LINES, ids=lambda d: f"{d[0]}: {d[2][:30]}")
def test_no_line_of_a_pack_goes_unnoticed(extending, deleted):
    name, number, line = deleted
    lines = next(pack.text for pack in rrpolicy.packs() if pack.name == name).splitlines()
    less = "\n".join([*lines[:number], *lines[number + 1 :], ""])

    if line.startswith(("demands", "allows", "legal_basis")):
        wrong = {
            "demands": {"without": "owner"},
            "allows": {"release_model": '"restricted"' if name in {"ema-0070", "public-use-file"} else '"public"'},
        }
        changed = wrong.get(line.split(" ")[0], {"legal_basis": '"none"'})
        with_it = codes(extending(name, **changed))
        assert with_it
        assert codes(extending(name, pack=less, **changed)) != with_it
        return
    try:
        passed = rrpolicy.run_tests(extending(name, pack=less)).passed
    except PolicyError:
        passed = False
    assert not passed


def test_the_bundle_of_a_release_holds_the_pack_with_its_digest(extending, tmp_path):
    path = extending("ema-0070")
    rrpolicy.release(path, tmp_path / "bundle")
    record = json.loads((tmp_path / "bundle" / "audit" / "audit.json").read_text())
    (pack,) = [each for each in rrpolicy.packs() if each.name == "ema-0070"]

    assert record["files"]["packs/ema-0070.toml"] == pack.digest
    assert rrpolicy.verify(tmp_path / "bundle").passed
