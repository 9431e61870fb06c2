"""The inventory of releases and the archive of one: what a board looks at, and what verifies in five years."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import jsonschema
import pytest

import rrpolicy
from rrpolicy.canonical_json import digest
from rrpolicy.cli.main import main
from rrpolicy.signing.signing_keys import make_signing_key
from tests.survey import SURVEY

CONTEXT = """
[context]
recipients = ["accredited researchers"]
review_by = 2027-12-31

[ledger]
file = "releases.jsonl"
overlap = "same"

[[ledger.budget]]
model = "local-dp"
epsilon = 9

[[waivers]]
finding = "protection"
reason = "a test"
approver = "review board"
until = 2027-11-30
"""
SCHEMA = Path(rrpolicy.__file__).parent / "schemas" / "rrpolicy.inventory-1.json"
AUTUMN = ("--today", "2027-10-15")


def run(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def _made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    (folder / "policies").mkdir()
    text = SURVEY.replace('owner = "survey office"\n', 'owner = "survey office"\npurpose = "teaching"\n') + CONTEXT
    (folder / "policies/survey.toml").write_text(text)
    (folder / "policies/panel.toml").write_text(text.replace('name = "survey"', 'name = "panel"'))
    rrpolicy.init_ledger(folder / "policies/releases.jsonl")
    (folder / "kept").mkdir()
    for name in ("one", "two"):
        rrpolicy.release(folder / "policies/survey.toml", folder / f"kept/{name}", label=name)
    make_signing_key(folder / "steward.pem", None)
    return folder


@pytest.fixture
def office(_made, tmp_path, monkeypatch):
    folder = Path(shutil.copytree(_made, tmp_path / "office"))
    monkeypatch.chdir(folder)
    return folder


def listed(capsys, *more: object) -> tuple[int, dict]:
    capsys.readouterr()
    status = run("ledger", "inventory", "policies", "--bundles", "kept", "--json", *(more or AUTUMN))
    document = json.loads(capsys.readouterr().out)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    return status, document


def test_a_quarters_look(office, capsys):
    status, found = listed(capsys)
    assert status == 0, found
    one, two = found["releases"]
    assert (one["policy"], one["label"], one["state"], two["label"]) == ("survey 1.0.0", "one", "in use", "two")
    assert (one["purpose"], one["recipients"]) == ("teaching", ["accredited researchers"])
    assert one["grade"] in {"strong", "limited", "weak", "none"}
    assert any(sentence.startswith("Reading disease: ") for sentence in one["risks"])
    assert one["soon"] == ["the waiver of protection (review board) ends: 2027-11-30"]
    assert found["unreleased"] == ["panel"]
    assert run("ledger", "inventory", "policies", "--bundles", "kept", *AUTUMN) == 0
    told = capsys.readouterr().out
    assert "2 releases, on 2027-10-15; 0 to decide" in told
    assert "verified: by nobody" in told
    assert "never released: panel" in told


def test_who_verified_attacked_and_signed_is_listed(office, capsys):
    assert run("attack", "kept/one", "--source", "demo:survey", "--write") == 0
    assert run("sign", "kept/one", "--key", "steward.pem") == 0
    assert run("verify", "kept/one", "--sign-with", "steward.pem") == 0
    _, found = listed(capsys)
    one = found["releases"][0]
    assert {fact["name"] for fact in one["attested"]} == {"Signed", "Verified"}
    assert "came out as predicted" in one["attacked"]


def test_what_has_to_be_decided_comes_first_and_fails(office, capsys):
    ledger = office / "policies/releases.jsonl"
    status, found = listed(capsys, "--today", "2028-02-01")
    assert status == 1
    assert "the review is due: 2027-12-31" in found["releases"][0]["decide"]
    assert "the waiver of protection (review board) ends: 2027-11-30" in found["releases"][0]["decide"]

    entry = listed(capsys)[1]["releases"][0]["entry"]
    words = ("ledger", "add", ledger, "--recall", entry, "--reason", "exchanged columns", "--by", "steward")
    assert run(*words) == 0
    status, found = listed(capsys)
    one = found["releases"][0]
    assert (status, one["state"]) == (1, "recalled")
    assert any("exchanged columns; its bundle is still at kept/one" in what for what in one["decide"])
    assert run("ledger", "inventory", "policies", "--bundles", "kept", "--out", "page.html", *AUTUMN) == 1
    page = Path("page.html").read_text()
    assert page.index("To decide") < page.index("survey 1.0.0 as two")
    assert "exchanged columns" in page
    assert run("ledger", "inventory", "policies", "--bundles", "kept", "--out", "page.html", *AUTUMN) == 4
    shutil.rmtree("kept/one")
    assert listed(capsys)[0] == 0  # nothing is left to be taken away


def test_a_notice_beside_a_bundle_is_heeded_without_a_line_in_the_ledger(office, capsys):
    assert run("sign", "kept/two", "--key", "steward.pem", "--recall", "wrong table") == 0
    status, found = listed(capsys)
    assert (status, found["releases"][1]["state"]) == (1, "recalled")
    assert any("wrong table" in what for what in found["releases"][1]["decide"])


def test_bundles_that_no_ledger_has_or_that_were_changed_are_named(office, capsys):
    text = (office / "policies/survey.toml").read_text().partition("[ledger]")[0]
    (office / "alone.toml").write_text(text)
    rrpolicy.release(office / "alone.toml", office / "kept/alone", today=None)
    release = Path("kept/two/public/release.json")
    release.write_text(release.read_text().replace('"records"', '"recordz"', 1))
    (office / "policies/broken.toml").write_text("schema = 1\n[policy]\nname = 3\n[attributes]\nx = 1\n")
    status, found = listed(capsys)
    assert status == 1
    states = {(one["policy"], one["state"]) for one in found["releases"]}
    assert ("survey 1.0.0", "in no ledger") in states
    assert ("kept/two", "unreadable") in states
    assert any(
        "is in no ledger, and the policy declares the ledger releases.jsonl" in w
        for o in found["releases"]
        for w in o["decide"]
    )
    assert any("broken.toml cannot be read" in what for what in found["decide"])


def test_open_and_withdrawn_releases_broken_promises_and_missing_signatures(office, capsys):
    ledger = office / "policies/releases.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-1]))
    status, found = listed(capsys)
    assert (status, found["releases"][1]["state"]) == (1, "open")
    entry = found["releases"][1]["entry"]
    shutil.rmtree("kept/two")
    assert run("ledger", "add", ledger, "--withdraw", entry, "--reason", "killed") == 0
    status, found = listed(capsys)
    assert (status, found["releases"][1]["state"], found["releases"][1]["grade"]) == (0, "withdrawn", None)

    text = (office / "policies/survey.toml").read_text()
    (office / "policies/survey.toml").write_text(
        text.replace("[release]\n", "[release]\nrequire_signatures = 1\n").replace('"1.0.0"', '"1.1.0"')
    )
    rrpolicy.release(office / "policies/survey.toml", office / "kept/three", label="three")
    status, found = listed(capsys)
    assert [one["state"] for one in found["releases"]] == ["an older version", "withdrawn", "in use"]
    assert "it requires signatures, and nobody has signed it" in found["releases"][2]["decide"]


def test_a_promise_that_is_broken_is_to_be_decided(office, capsys):
    ledger = office / "policies/releases.jsonl"
    whole = ledger.read_bytes()
    lines = whole.splitlines(keepends=True)
    other = json.loads(lines[1])
    other["budget"][0]["options"]["epsilon"] = "3"
    from rrpolicy.canonical_json import canonical

    changed = canonical(other) + b"\n"
    again = [lines[0], changed]
    for line in lines[2:]:
        document = json.loads(line)
        document["previous"] = digest(again[-1].rstrip(b"\n"))
        if document.get("entry") == digest(lines[1].rstrip(b"\n")):
            document["entry"] = digest(changed.rstrip(b"\n"))
        if document.get("entry") == digest(lines[3].rstrip(b"\n")):
            document["entry"] = digest(again[3].rstrip(b"\n"))
        again.append(canonical(document) + b"\n")
    ledger.write_bytes(b"".join(again))
    status, found = listed(capsys)
    assert status == 1
    assert any("guaranteed epsilon <= 3" in what for what in found["decide"])


# --- the archive ------------------------------------------------------------------------------------------------------


@pytest.fixture
def archived(office):
    assert run("sign", "kept/one", "--key", "steward.pem") == 0
    ledger = ("--ledger", "policies/releases.jsonl")
    Path("signers.toml").write_text("# kept as it is\n")
    assert run("export", "archive", "kept/one", "--out", "one.zip", *ledger, "--signers", "signers.toml") == 0
    return Path("one.zip")


def test_an_archive_has_no_rows_and_verifies_alone(archived, office, capsys):
    with zipfile.ZipFile(archived) as file:
        names, index = file.namelist(), json.loads(file.read("archive.json"))
    assert not any(name.endswith(".parquet") for name in names)
    assert list(index["rows"]) == ["public/data.parquet"]
    assert index["environment"]["packages"]["rrpolicy"] == rrpolicy.__version__
    shutil.rmtree("kept")
    capsys.readouterr()
    assert run("verify", archived, "--signed-by", "steward.pem.pub") == 0
    told = capsys.readouterr().out
    assert "the released rows: they are not at hand" in told
    assert "verified at level audit" in told
    found = rrpolicy.verify(archived, source="demo:survey", signed_by=["steward.pem.pub"])
    assert any("rows" in what for what in found.undecided)


def test_an_archive_and_the_rows_are_the_bundle_again(archived, office):
    with zipfile.ZipFile(archived) as file:
        file.extractall("again")
    shutil.copy("kept/one/public/data.parquet", "again/bundle/public/data.parquet")
    for path in ("again/bundle/audit", *Path("again/bundle/audit").rglob("*")):
        Path(path).chmod(0o700)
    assert run("verify", "again/bundle", "--source", "demo:survey", "--ledger", "again/ledger.jsonl") == 0


def test_the_ledger_of_an_archive_is_heeded_unless_another_is_named(archived, office, capsys):
    entry = listed(capsys)[1]["releases"][0]["entry"]
    words = ("ledger", "add", "policies/releases.jsonl", "--recall", entry, "--reason", "later", "--by", "steward")
    assert run(*words) == 0
    assert run("verify", archived) == 0
    assert run("verify", archived, "--ledger", "policies/releases.jsonl") == 1
    told = capsys.readouterr().out
    assert "one.zip was recalled" in told


def test_what_does_not_verify_is_not_archived(office):
    assert run("export", "archive", "kept/one/public", "--out", "a.zip") == 2
    report = Path("kept/one/audit/report.html")
    report.write_text("x")
    assert run("export", "archive", "kept/one", "--out", "a.zip") == 1
    assert not Path("a.zip").exists()


@pytest.mark.parametrize(
    "how", ["a file more", "changed", "outside", "no index", "another schema", "no zip inside", "huge"]
)
def test_an_archive_that_was_tampered_with_is_refused(archived, office, capsys, how, monkeypatch):
    with zipfile.ZipFile(archived) as file:
        files = {name: file.read(name) for name in file.namelist()}
    index = json.loads(files["archive.json"])
    if how == "a file more":
        files["bundle/public/more.txt"] = b"x"
    elif how == "changed":
        files["bundle/audit/plan.json"] += b" "
    elif how == "outside":
        files["bundle/../../escaped.txt"] = b"x"
        index["files"]["bundle/../../escaped.txt"] = digest(b"x")
    elif how == "another schema":
        index["schema"] = "acme/1"
    if how == "no index":
        del files["archive.json"]
    elif how == "no zip inside":
        files["archive.json"] = b"["
    else:
        files["archive.json"] = json.dumps(index).encode()
    if how == "huge":
        monkeypatch.setattr("rrpolicy.compliance.archive._LARGEST", 10)
    archived.unlink()
    with zipfile.ZipFile(archived, "x") as file:
        for name, content in files.items():
            file.writestr(name, content)
    capsys.readouterr()
    assert run("verify", archived) == 2
    assert ("RR284" if how == "changed" else "RR260") in capsys.readouterr().err
    assert not list(office.parent.rglob("escaped.txt"))


def test_an_archive_is_never_overwritten_and_needs_a_whole_ledger(archived, office):
    assert run("export", "archive", "kept/one", "--out", "one.zip") == 4
    Path("cut.jsonl").write_text("{}\n")
    assert run("export", "archive", "kept/one", "--out", "two.zip", "--ledger", "cut.jsonl") == 4
    assert not Path("two.zip").exists()


@pytest.mark.parametrize("at", [0, 40, 400, -30])
def test_an_archive_that_is_damaged_anywhere_is_refused(archived, office, capsys, at):
    content = bytearray(archived.read_bytes())
    content[at] ^= 0xFF
    archived.write_bytes(bytes(content))
    capsys.readouterr()
    assert run("verify", archived) in {1, 2}
    told = capsys.readouterr()
    assert "RR2" in told.out + told.err or "RR1" in told.out + told.err


def test_an_attack_that_cannot_be_read_is_said_to_be_so(office, capsys):
    Path("kept/one/audit/attack.json").write_text("{}")
    _, found = listed(capsys)
    assert found["releases"][0]["attacked"].endswith("attack.json cannot be read")


@pytest.mark.parametrize("content", [None, "{}", '{"schema": "rrpolicy.report/1"}'])
def test_a_release_whose_report_cannot_be_read_has_no_grade(office, capsys, content):
    report = Path("kept/one/audit/report.json")
    report.unlink()
    if content is not None:
        report.write_text(content)
    _, found = listed(capsys)
    one, two = found["releases"]
    assert (one["grade"], one["risks"]) == (None, [])
    assert two["grade"] is not None


def test_what_has_to_be_decided_is_printed_first(office, capsys):
    (office / "policies/panel.toml").unlink()
    (office / "policies/broken.toml").write_text("schema = 1\n[policy]\nname = 3\n[attributes]\nx = 1\n")
    capsys.readouterr()
    assert run("ledger", "inventory", "policies", "--bundles", "kept", "--today", "2028-02-01") == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("2 releases, on 2028-02-01; ")
    assert told[1].startswith("DECIDE: policies/broken.toml cannot be read")
    assert any(line.startswith("DECIDE survey 1.0.0 as one: the review is due") for line in told)
    assert not any(line.startswith("never released") for line in told)


def test_a_release_whose_policy_is_gone_is_listed_without_its_declarations(office, capsys):
    (office / "policies/survey.toml").unlink()
    shutil.rmtree("kept/one")
    _, found = listed(capsys)
    one = found["releases"][0]
    assert (one["label"], one["recipients"], one["review_by"]) == ("one", [], None)
