"""The JSON Schema agrees with the loader on whole files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest

from rrpolicy.policy.schema import DIALECT, json_schema

CASES = Path(__file__).resolve().parent / "cases"
GOOD = sorted(CASES.glob("ok_*.toml")) + sorted(CASES.glob("extends_ok*.toml"))
UNTOLD = {
    "where",
    "float_is_no_whole_number",
    "not_a_number",
}  # JSON Schema knows no domains, 5.0 is 5, NaN is a number
SHAPE = {"RR204", "RR205", "RR206", "RR207", "RR208", "RR210"}


def bad():
    for path in sorted(CASES.glob("*.toml")):
        codes = {line.split()[1] for line in path.read_text().splitlines() if line.startswith("#! ")}
        if codes & SHAPE and path.stem not in UNTOLD:
            yield path


@pytest.fixture(scope="module")
def validator(catalogue):
    schema = json_schema(catalogue)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_good_policies_are_valid(validator, path):
    assert [e.message for e in validator.iter_errors(tomllib.loads(path.read_text()))] == []


@pytest.mark.parametrize("path", list(bad()), ids=lambda p: p.stem)
def test_files_of_a_wrong_shape_are_not(validator, path):
    assert list(validator.iter_errors(tomllib.loads(path.read_text()))) != []


def test_the_options_of_every_plugin_are_in_it(catalogue):
    schema = json_schema(catalogue)

    assert schema["$schema"] == DIALECT
    variants = schema["$defs"]["PrivacyEntry"]["oneOf"]
    assert [v["properties"]["model"]["const"] for v in variants] == ["epsilon", "k"]
    flip = schema["$defs"]["MechanismTable"]["oneOf"][0]["properties"]
    assert flip["digits"]["maximum"] == 12
    assert flip["workload"]["items"]["$ref"] == "#/$defs/Weight"
    assert "Weight" in schema["$defs"]
    assert '"null"' not in str(schema).replace("'", '"')


def test_every_key_of_ours_is_described(catalogue):
    schema = json_schema(catalogue)

    for name in ("PolicyTable", "SourceTable", "AttributeTable", "ReleaseTable"):
        for key, field in schema["$defs"][name]["properties"].items():
            assert field.get("description"), (name, key)
