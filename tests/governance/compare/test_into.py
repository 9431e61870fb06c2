"""A comparison written into audit/ of a release: its report, its seal, and what verify says of forged ones."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import jsonschema
import pytest

import rrpolicy
from rrpolicy.bundle import manifest as manifests
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError, RefusedError
from tests.governance.compare.test_written import POLICY, people

SCHEMAS = Path(__file__).resolve().parents[3] / "rrpolicy" / "schemas"


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return a bundle, its policy and its table."""
    table, policy = tmp_path / "people.csv", tmp_path / "survey.toml"
    table.write_text(people(600))
    policy.write_text(POLICY.replace("demo:survey", "people.csv"))
    rrpolicy.release(policy, tmp_path / "bundle")
    return tmp_path / "bundle", policy, table


def compare(made: tuple[Path, Path, Path], *more: str) -> int:
    bundle, policy, table = map(str, made)
    vary = "privacy.0.epsilon=1,2,0.000001"
    return main(["compare", bundle, policy, "--vary", vary, "--source", table, "--write", *more])


def resealed(bundle: Path, change) -> None:
    """Change comparison.json and seal audit/ again, as a forger would."""
    audit = bundle / "audit"
    document = json.loads((audit / "comparison.json").read_text())
    change(document)
    (audit / "comparison.json").write_bytes(rrpolicy.canonical_json.pretty(document))
    record = {k: v for k, v in json.loads((audit / "audit.json").read_text()).items() if k not in {"files", "digest"}}
    whole = manifests.sealed_record(record, manifests.file_digests(audit, but="audit.json"))
    (audit / "audit.json").write_bytes(rrpolicy.canonical_json.pretty(whole))


@pytest.mark.slow
def test_the_audit_report_shows_the_map_and_the_alternatives(made, capsys):
    bundle, _, table = made
    before = (bundle / "public" / "release.json").read_bytes()
    alone = (bundle / "audit" / "report.html").read_text()
    assert "Not compared." in alone

    assert compare(made) == 0

    page = (bundle / "audit" / "report.html").read_text()
    assert "Not compared." not in page
    assert "this release" in page
    assert page.count('class="chosen" cx="') == 2  # the legend's, and the one on the map
    document = json.loads((bundle / "audit" / "comparison.json").read_text())
    stated = json.loads((bundle / "audit" / "findings.json").read_text())["findings"][0]
    (own,) = [one for one in document["candidates"] if one["released"]]
    assert own["risk"] == stated["achieved"]
    schema = json.loads((SCHEMAS / "rrpolicy.alternatives-1.json").read_text())
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, schema)
    assert [one["outcome"] for one in document["candidates"]].count("passes") == 3
    assert (bundle / "public" / "release.json").read_bytes() == before
    assert "people.csv" not in (bundle / "audit" / "comparison.json").read_text()
    assert stat.S_IMODE((bundle / "audit" / "comparison.json").stat().st_mode) == 0o600
    assert "Alternatives" not in (bundle / "public" / "report.html").read_text()
    assert main(["verify", str(bundle), "--source", str(table)]) == 0
    assert "what the release was compared with" in capsys.readouterr().out
    assert main(["attack", str(bundle), "--source", str(table), "--write"]) == 0
    assert "Map of risk and error" in (bundle / "audit" / "report.html").read_text()
    assert main(["verify", str(bundle)]) == 0


@pytest.mark.slow
def test_it_takes_the_place_of_an_earlier_one(made):
    assert compare(made) == 0
    first = (made[0] / "audit" / "comparison.json").read_bytes()
    assert compare(made) == 0
    assert (made[0] / "audit" / "comparison.json").read_bytes() == first
    assert compare(made, "--error", "total-variation/one-way") == 0
    assert (made[0] / "audit" / "comparison.json").read_bytes() != first
    assert main(["verify", str(made[0])]) == 0


FORGED = {
    "another release": ("RR121", lambda d: d.update(release="sha256:" + "0" * 64)),
    "no release among them": ("RR121", lambda d: [one.update(released=False) for one in d["candidates"]]),
    "two of them": ("RR121", lambda d: [one.update(released=True) for one in d["candidates"]]),
    "another number": ("RR120", lambda d: d["candidates"][1]["error"].update(value=0.001)),
    "another word": ("RR120", lambda d: d.update(reason="It is the best.")),
    "an unknown field": ("RR110", lambda d: d.update(note="x")),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_forged_ones_are_found(made, forgery, capsys):
    assert compare(made) == 0
    code, change = FORGED[forgery]
    resealed(made[0], change)
    capsys.readouterr()

    assert main(["verify", str(made[0])]) == 1
    assert code in capsys.readouterr().out


def test_it_is_written_into_one_unsigned_release(made, tmp_path):
    bundle, policy, table = made
    with pytest.raises(PolicyError, match="0 releases"):
        rrpolicy.compare(policy, source=table, write=True)
    with pytest.raises(PolicyError, match="2 releases"):
        rrpolicy.compare(bundle, bundle, source=table, write=True)
    (bundle / "attestations").mkdir()
    (bundle / "attestations" / "x.json").write_text("{}")
    with pytest.raises(RefusedError, match="RR553"):
        rrpolicy.compare(bundle, policy, source=table, write=True)
