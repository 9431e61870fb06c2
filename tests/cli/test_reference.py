"""`rrpolicy explain`, `schema` and `plugins`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from rrpolicy.cli.main import main
from rrpolicy.error_codes import codes

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("spelling", ["RR205", "rr205", " RR205 "])
def test_explain_prints_the_page(spelling, capsys):
    assert main(["explain", spelling]) == 0
    assert capsys.readouterr().out.startswith("# RR205: ")


def test_explain_suggests_a_code_that_is_there(capsys):
    assert main(["explain", "R205"]) == 2
    assert "did you mean RR205?" in capsys.readouterr().err
    assert "RR205" in codes()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "attribute-disclosure",
            "known_sensitive: require the limit also against an attacker who knows the other sensitive attributes",
        ),
        ("identity-disclosure", "an attacker who knows one person's quasi-identifiers picks that person's record"),
        ("L-diversity/frequency", "l-diversity: a privacy model"),
        ("pram", "pram: a mechanism"),
        ("expected-l2", "expected-l2: a utility metric"),
        ("tau", "the column guessed by the row"),
        ("bins", "bins: a key of [attributes] Edges of intervals"),
        ("max_records", "The most records that a unit may have"),
        ("source.max_records", "source.max_records: a key of [source]"),
        ("sensitive", "What nobody should learn of a person from the release."),
        ("quasi-identifier", "quasi-identifier: a role of columns"),
        ("source", "source: a table of a policy Where the table is."),
        ("privacy", "privacy: a table of a policy The requirements; all must be met."),
        ("threshold", "[[privacy]] of identity-disclosure The largest chance of linking"),
    ],
)
def test_explain_tells_what_goes_by_a_name(name, said, capsys):
    assert main(["explain", name]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_explain_tells_of_everything_that_shares_a_name(capsys):
    assert main(["explain", "l-diversity"]) == 0
    said = capsys.readouterr().out
    assert "l-diversity: a privacy model" in said
    assert "l-diversity: a mechanism" in said


def test_explain_knows_every_name_that_policies_use(capsys):
    from rrpolicy.discovery import load_registry

    registry = load_registry(())
    for name in (*registry.privacy_models, *registry.mechanisms, *registry.utility_metrics):
        assert main(["explain", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}: a ")


def test_explain_knows_every_key_and_role_of_the_schema(capsys):
    from rrpolicy.cli.text.name_descriptions import tables
    from rrpolicy.declarations import Role
    from rrpolicy.discovery import load_registry
    from rrpolicy.policy.schema import json_schema

    keys = {key.name for table in tables(json_schema(load_registry(()).catalogue)) for key in table.keys}
    assert {"bins", "where", "keep_probability", "delimiter"} <= keys
    for name in [*sorted(keys)[::12], *Role]:
        assert main(["explain", name]) == 0
        assert f"{name}: a " in capsys.readouterr().out


def test_explain_suggests_a_name_or_says_where_terms_stand(capsys):
    assert main(["explain", "identity-disclosur"]) == 2
    assert "did you mean identity-disclosure?" in capsys.readouterr().err
    assert main(["explain", "value read correctly"]) == 2
    assert "docs/explanation/guarantees.md" in " ".join(capsys.readouterr().err.split())


def test_schema_accepts_the_example_policies(capsys):
    assert main(["export", "schema"]) == 0

    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    names = [
        name
        for v in schema["$defs"]["MechanismTable"]["oneOf"]
        if (own := v["properties"].get("name"))
        for name in own.get("enum", [own.get("const")])
    ]
    assert {"pram", "generalisation", "l-diversity"} <= {*names}
    validator = jsonschema.Draft202012Validator(schema)
    examples = sorted((ROOT / "policies").glob("*.toml"))
    assert examples
    for path in examples:
        found = [
            f"{path.name} {e.json_path}: {e.message}" for e in validator.iter_errors(tomllib.loads(path.read_text()))
        ]
        assert found == []


def test_the_schema_for_a_policy_knows_its_plugins(tmp_path, capsys):
    assert main(["export", "schema"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert main(["export", "schema", "--policy", str(ROOT / "policies" / "pram.toml")]) == 0
    assert json.loads(capsys.readouterr().out) == everything
    (tmp_path / "policy.toml").write_text((ROOT / "policies" / "pram.toml").read_text().replace("schema = 1", ""))
    assert main(["export", "schema", "--policy", str(tmp_path / "policy.toml")]) == 2


def test_plugins_lists_what_each_offers(capsys):
    assert main(["plugins"]) == 0
    told = capsys.readouterr().out
    assert "pram  rrpolicy" in told
    assert "privacy models: " in told

    assert main(["plugins", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "pram" in document["offers"]["mechanisms"]
    assert document["offers"]["formats"] == ["csv", "duckdb", "parquet"]
    assert document["offers"]["estimators"] == ["em", "projection"]
    assert document["offers"]["codes of plugins"] == []
    assert {"core", "pram"} <= {p["name"] for p in document["plugins"]}


def test_a_plugin_that_is_not_installed_is_refused(capsys):
    assert main(["plugins", "--plugin", "acme-oue>=1.2"]) == 4
    assert "RR404" in capsys.readouterr().err
