"""croissant.json and dpv.jsonld: valid for their clients, of what was stated and found alone, and nothing a name changes."""

from __future__ import annotations

import csv
import json
import logging
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rdflib import RDF, RDFS, Graph, Literal, Namespace, URIRef

from rrpolicy.canonical_json import digest
from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text
from tests.survey import WAIVED

from .bundles.make import make
from .conftest import FORMATS, MECHANISMS

pytestmark = [  # of the clients' own doing
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]

DPV, RISK = Namespace("https://w3id.org/dpv#"), Namespace("https://w3id.org/dpv/risk#")
OWN = Namespace("urn:rrpolicy:term:")
CR, SCHEMA = Namespace("http://mlcommons.org/croissant/"), Namespace("https://schema.org/")
RAI = Namespace("http://mlcommons.org/croissant/RAI/")
TERMS = {
    *("Process", "MakeAvailable", "Purpose", "DataController", "Recipient", "LegalBasis", "TechnicalMeasure"),
    *("TechnicalOrganisationalMeasure", "ReviewProcedure", "DifferentialPrivacy", "Deidentification", "Scope"),
    *("Risk", "ResidualRisk", "Likelihood"),
    *("hasPurpose", "hasDataController", "hasRecipient", "hasLegalBasis", "hasName", "hasProcessing", "hasScope"),
    *("hasTechnicalOrganisationalMeasure", "hasRisk", "hasResidualRisk", "hasLikelihood", "isMitigatedByMeasure"),
}
"""Of DPV 2.3, looked up in the published vocabulary: classes and properties that exist."""
RISKS = {"UnauthorisedReidentification", "UnauthorisedInformationDisclosure"}
"""Of its extension on risks, likewise."""


def warned(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records)


def dataset(public: Path) -> Any:
    """Return a release as the client of Croissant reads it; it raises on an error."""
    import mlcroissant

    return mlcroissant.Dataset(jsonld=str(public / "croissant.json"))


def read(public: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((public / name).read_text(encoding="utf-8"))
    return document


def graph(public: Path, name: str = "dpv.jsonld") -> Graph:
    return Graph().parse(public / name, format="json-ld")


@pytest.mark.slow
def test_the_client_of_croissant_accepts_every_example(examples, caplog):
    for (name, form), public in examples.items():
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            metadata = dataset(public).metadata
        assert not metadata.issues.errors, (name, form)
        told = warned(caplog).replace(f'Property "{CR}citeAs" is recommended', "")
        assert "recommended" not in told, (name, form)
        assert "not standard" not in told, (name, form)
        assert str(metadata.date_published).startswith("2026-11-22")
        assert {f.sha256 for f in metadata.file_objects} == {
            digest((public / f.content_url).read_bytes()).removeprefix("sha256:") for f in metadata.file_objects
        }


@pytest.mark.parametrize("form", FORMATS[:2])
@pytest.mark.parametrize("name", [name for name in MECHANISMS if not name.startswith("rr-")])
def test_the_client_reads_the_records(examples, name, form):
    public = examples[name, form]
    tables = read(public, "release.json")["tables"]
    for table in tables:
        first = next(iter(dataset(public).records(table["name"])))
        assert list(first) == [f"{table['name']}/{c['name']}" for c in table["columns"]]


def test_types_are_those_of_the_columns(examples):
    for (name, form), public in examples.items():
        columns = {c["name"]: c for t in read(public, "release.json")["tables"] for c in t["columns"]}
        fields = [f for r in read(public, "croissant.json")["recordSet"] for f in r["field"]]
        for field in fields:
            listing = columns[field["name"]]["kind"] == "set"
            assert field.get("isArray", False) == (listing and form != "csv"), (name, form)
        if name == "pram":
            assert {f["name"]: f["dataType"] for f in fields}["sex"] == "sc:Text"
            assert {f["name"]: f["dataType"] for f in fields}["hours"] == "sc:Float"


def test_unsigned_numbers_are_numbers(tmp_path):
    """Data packages called a column of type UINTEGER text, which their client found it not to be."""
    duckdb.sql("SELECT (i % 3)::VARCHAR AS s, i::UINTEGER AS u, i::UTINYINT AS t FROM range(40) r(i)").write_parquet(
        str(tmp_path / "t.parquet")
    )
    unlinkable = 'role = "insensitive"\nassume_unlinkable = "tests"\n'
    text = policy_text(
        f"""\
[attributes.s]
role = "quasi-identifier"
domain = ["0", "1", "2"]
[attributes.u]
{unlinkable}[attributes.t]
{unlinkable}[[privacy]]
model = "local-dp"
epsilon = 3
scope = "attribute"
[mechanism]
name = "pram"
[context]
licence = "https://creativecommons.org/licenses/by/4.0/"
""",
        "t.parquet",
        "unsigned",
    )
    (tmp_path / "p.toml").write_text(text)
    assert main(["release", str(tmp_path / "p.toml"), "--out", str(tmp_path / "out")]) == 0
    public = tmp_path / "out" / "public"
    (records,) = read(public, "croissant.json")["recordSet"]
    (resource,) = read(public, "datapackage.json")["resources"]

    assert read(public, "datapackage.json")["licenses"] == [{"path": "https://creativecommons.org/licenses/by/4.0/"}]
    assert [f["dataType"] for f in records["field"]] == ["sc:Text", "sc:Integer", "sc:Integer"]
    assert [f["type"] for f in resource["schema"]["fields"]] == ["string", "integer", "integer"]
    assert next(iter(dataset(public).records("data")))["data/u"] in range(40)


def test_limitations_say_whether_anything_was_drawn(examples):
    drawn = {"pram", "anatomy", "sensitive-addition"}
    for name in (*drawn, "l-diversity", "rr-s"):  # in the last no value needs to be exchanged
        text = " ".join(read(examples[name, "parquet"], "croissant.json")["rai:dataLimitations"])
        note = read(examples[name, "parquet"], "datapackage.json")["rrpolicy"]["note"]
        assert note in text
        assert ("estimate, do not count" in text) == (name in drawn), name
        assert ("No value was drawn at random" in text) == (name not in drawn), name


def test_what_is_declared_stands_in_both(examples):
    public = examples["pram", "parquet"]
    croissant, told = read(public, "croissant.json"), graph(public)

    assert croissant["license"] == "CC-BY-4.0"
    assert croissant["creator"]["name"] == read(public, "release.json")["policy"]["owner"]
    assert croissant["datePublished"] == "2026-11-22"
    assert "2199-06-30" in croissant["rai:dataReleaseMaintenancePlan"]
    assert croissant["rai:dataUseCases"] == [read(public, "release.json")["policy"]["purpose"]]
    assert {"accredited researchers", "a reading room"} <= {w.get("text") for w in croissant["usageInfo"]}
    assert [str(v) for v in told.objects(None, DPV.hasName)].count("accredited researchers") == 1
    for term in ("hasPurpose", "hasDataController", "hasRecipient", "hasLegalBasis"):
        assert len(list(told.objects(None, DPV[term]))) == 1, term


def test_terms_are_those_that_exist(examples):
    """Every term of DPV exists, and every other class is one of our own, declared in the file below one of DPV."""
    for key, public in examples.items():
        told = graph(public)
        used = {str(node) for triple in told for node in triple if isinstance(node, URIRef)}
        for iri in used:
            if iri.startswith(RISK):
                assert iri.removeprefix(RISK) in RISKS, key
            elif iri.startswith(DPV):
                assert iri.removeprefix(DPV) in TERMS, key
            elif iri.startswith(OWN):
                assert (URIRef(iri), RDF.type, RDFS.Class) in told, key
                assert any(
                    str(above).startswith(DPV[""]) or str(above).startswith(RISK)
                    for above in told.objects(URIRef(iri), RDFS.subClassOf)
                ), key
        assert not list(told.subjects(RDF.type, DPV.Anonymisation))


def test_differential_privacy_is_said_of_local_dp_alone(examples):
    for (name, form), public in examples.items():
        told, release = graph(public), read(public, "release.json")
        models = [r["model"] for r in release["requirements"]]
        said = list(told.subjects(RDF.type, DPV.DifferentialPrivacy))
        assert len(said) == models.count("local-dp"), (name, form)
        for node in said:
            (scope,) = told.objects(node, DPV.hasScope)
            (text,) = (str(t) for t in told.objects(scope, URIRef("http://purl.org/dc/terms/description")))
            (epsilon,) = (f["achieved"]["value"] for f in release["findings"] if f["model"] == "local-dp")
            assert f"epsilon {epsilon:.6g}, " in text
            assert "attribute scope: sex, age, education" in text
            assert "hours" not in text


def test_what_holds_on_a_condition_is_no_differential_privacy(tmp_path):
    make(tmp_path / "made", ["pram"])
    public = tmp_path / "made" / "pram" / "bundle" / "public"
    told = graph(public)
    given = [f for f in read(public, "release.json")["findings"] if f["model"] == "local-dp" and f["given"]]
    (node,) = told.subjects(RDF.type, OWN["model-local-dp"])
    (text,) = told.objects(node, URIRef("http://purl.org/dc/terms/description"))

    assert given
    assert "given the published parameters" in text
    assert (None, RDF.type, DPV.DifferentialPrivacy) not in told


def test_the_client_of_croissant_finds_what_is_wrong(examples, tmp_path):
    document = read(examples["pram", "csv"], "croissant.json")
    del document["distribution"][0]["encodingFormat"]
    (tmp_path / "croissant.json").write_text(json.dumps(document))
    with pytest.raises(Exception, match="encodingFormat"):
        dataset(tmp_path)


def test_risks_name_the_measures_that_speak_of_them(examples):
    found = {}
    for name in MECHANISMS:
        told = graph(examples[name, "parquet"])
        (risk,) = told.subjects(RDF.type, RISK.UnauthorisedReidentification)
        (rest,) = told.objects(risk, DPV.hasResidualRisk)
        found[name] = (
            {
                str(t).removeprefix(OWN)
                for m in told.objects(risk, DPV.isMitigatedByMeasure)
                for t in told.objects(m, RDF.type)
                if str(t).startswith(OWN)
            },
            len(list(told.objects(rest, DPV.hasLikelihood))),
        )

    assert found["pram"] == ({"model-local-dp", "model-pk-anonymity"}, 1)
    assert found["l-diversity"] == ({"model-k-anonymity"}, 0)
    assert found["anatomy"] == (set(), 0)
    assert found["rr-both"][0] == {"model-identity-disclosure"}
    assert found["rr-both"][1] >= 1


def test_nothing_says_anonymous(examples):
    for public in examples.values():
        for name in ("croissant.json", "dpv.jsonld"):
            text = (public / name).read_text().lower()
            assert "anonymous" not in text
            assert "anonymis" not in text


def test_a_changed_description_is_found(examples, tmp_path, capsys):
    for name in ("croissant.json", "dpv.jsonld"):
        bundle = tmp_path / name
        shutil.copytree(examples["pram", "csv"], bundle)
        path = bundle / name
        path.write_bytes(path.read_bytes().replace(b"survey-pram", b"survey-else", 1))
        assert main(["verify", str(bundle), "--level", "public"]) == 1
        assert name in capsys.readouterr().out


HOSTILE = (
    "quote \" and \\ and '",
    "https://w3id.org/dpv#Anonymisation",
    "dpv:DifferentialPrivacy",
    "<script>alert(1)</script> {{ 7 * 7 }}",
    "a: @id",
    "../../etc/passwd",
)
UNSEEN = "line\nend\u202e\u0007 and é"


@pytest.fixture(scope="module", params=FORMATS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return public/ of a release of which every name and text is a trap."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = random.Random(7)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerow(HOSTILE)
        writer.writerows([rng.choice(HOSTILE) for _ in HOSTILE] for _ in range(120))
    purpose = "\n".join((*HOSTILE, UNSEEN))
    names = (
        f"[attributes.{json.dumps(n)}]\nrole = 'quasi-identifier'\ndomain = {json.dumps(HOSTILE)}" for n in HOSTILE
    )
    policy = f"""\
schema = 1
[policy]
name = {json.dumps(HOSTILE[1])}
version = "1.0.0"
owner = {json.dumps(HOSTILE[0])}
purpose = {json.dumps(purpose)}
[source]
uri = "t.csv"
{chr(10).join(names)}
[[privacy]]
model = "local-dp"
epsilon = 40
[mechanism]
name = "pram"
[release]
format = "{request.param}"
[context]
recipients = {json.dumps(HOSTILE)}
legal_basis = {json.dumps(HOSTILE[1])}
licence = {json.dumps(HOSTILE[2])}
{WAIVED}"""
    (folder / "p.toml").write_text(policy, encoding="utf-8")
    assert main(["release", str(folder / "p.toml"), "--out", str(folder / "out"), "--as", "2026-13-45"]) == 0
    return folder / "out" / "public"


def test_hostile_names_stay_literals(hostile):
    metadata = dataset(hostile).metadata
    told = graph(hostile)

    assert not metadata.issues.errors
    assert [field.source.extract.column for field in metadata.record_sets[0].fields] == list(HOSTILE)
    assert "datePublished" not in read(hostile, "croissant.json")
    assert {str(v) for v in told.objects(None, DPV.hasName)} == {*HOSTILE}
    assert all(isinstance(v, Literal) for v in told.objects(None, DPV.hasName))
    assert len(list(told.subjects(RDF.type, DPV.DifferentialPrivacy))) == 1, "of the requirement alone"
    assert (None, None, DPV.Anonymisation) not in told
    described = graph(hostile, "croissant.json")
    for predicate in (SCHEMA.license, CR.column, RAI.dataUseCases):
        assert all(isinstance(v, Literal) for v in described.objects(None, predicate)), predicate
    assert (None, None, DPV.Anonymisation) not in described
    for name in ("croissant.json", "dpv.jsonld"):
        assert "\u202e" not in (hostile / name).read_text(encoding="utf-8")
