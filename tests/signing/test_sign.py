"""Signing and verifying: three signers, other programs, and everybody who tampers."""

from __future__ import annotations

import base64
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError, RequirementError
from rrpolicy.signing.signing import sign_recall, sign_verification
from rrpolicy.signing.signing_keys import read_public, read_signer
from tests.signing.conftest import SECRET

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "signatures.md"
ENVELOPE = "attestations/release.dsse.json"


@pytest.fixture(autouse=True)
def told(monkeypatch):
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", SECRET)


def run(*words) -> int:
    return main([str(word) for word in words])


def signed_by(keys, *names):
    return [word for name in names for word in ("--signed-by", keys / f"{name}.pem.pub")]


@pytest.mark.slow
def test_steward_signs_approver_co_signs_auditor_signs_what_was_verified(bundle, keys, capsys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    assert run("sign", bundle, "--key", keys / "approver.pem") == 0
    assert "in addition to 1 before it" in capsys.readouterr().out

    assert run("verify", bundle, *signed_by(keys, "steward", "approver")) == 0
    assert run("verify", bundle, "--source", "demo:survey", "--sign-with", keys / "stranger.pem") == 0
    capsys.readouterr()
    assert run("verify", bundle, *signed_by(keys, "steward")) == 0
    assert run("verify", bundle, *signed_by(keys, "stranger")) == 1  # an auditor's key signs no release
    assert run("verify", bundle, *signed_by(keys, "steward"), "--verified-by", keys / "stranger.pem.pub") == 0
    assert run("verify", bundle, "--verified-by", keys / "approver.pem.pub") == 1
    assert "no verification of the release is signed by the key approver.pem.pub (" in capsys.readouterr().out

    (result,) = (bundle / "attestations").glob("verification-*.dsse.json")
    predicate = json.loads(base64.b64decode(json.loads(result.read_text())["payload"]))["predicate"]
    assert {"verifier", "timeCreated", "properties"} == predicate.keys()
    said = predicate["properties"]
    assert "RRPOLICY_VERIFIED_SOURCE" in said
    assert "RRPOLICY_VERIFIED_KEY" not in said
    held = [name for name in said if "LOCAL_DP" in name]
    assert len(held) == 1
    assert held[0].endswith("_CONDITIONAL")
    assert run("verify", bundle, "--source", "demo:survey", "--sign-with", keys / "stranger.pem") == 4


def test_the_statement_says_what_was_released_and_promised(bundle, keys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    envelope = json.loads((bundle / ENVELOPE).read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    manifest = json.loads((bundle / "public/release.json").read_text())

    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert {s["name"] for s in statement["subject"]} == {
        "public/release.json",
        "audit/audit.json",
        *(f"public/{name}" for name in manifest["files"]),
    }
    for key in ("policy", "governance_digest", "findings", "derived", "assumptions", "software"):
        assert statement["predicate"][key] == manifest[key]
    audit = json.loads((bundle / "audit/audit.json").read_text())
    assert "sha256:" + statement["predicate"]["plan"]["digest"]["sha256"] == audit["plan_digest"]


def test_another_library_verifies_it(bundle, keys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    envelope = Envelope.from_dict(json.loads((bundle / ENVELOPE).read_text()))

    assert envelope.verify([read_public(keys / "steward.pem.pub")], 1)
    with pytest.raises(VerificationError):
        envelope.verify([read_public(keys / "stranger.pem.pub")], 1)


def test_a_page_of_python_without_rrpolicy_verifies_it(bundle, keys, tmp_path):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip()]) <= 30
    assert "rrpolicy" not in program
    (tmp_path / "check.py").write_text(program)

    def checked(key):
        call = [sys.executable, str(tmp_path / "check.py"), str(bundle), str(keys / f"{key}.pem.pub")]
        return subprocess.run(call, capture_output=True, text=True, check=False)

    assert checked("steward").returncode == 0, checked("steward").stderr
    assert checked("stranger").returncode != 0
    (bundle / "public/README.md").write_text("edited")
    assert checked("steward").returncode != 0


def test_public_alone_is_verified_with_the_statement_beside_it(bundle, keys, tmp_path):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    handed = tmp_path / "handed"
    shutil.copytree(bundle / "public", handed / "public")
    shutil.copytree(bundle / "attestations", handed / "attestations")

    for folder in (handed, handed / "public"):
        assert run("verify", folder, *signed_by(keys, "steward")) == 0
        assert run("verify", folder, *signed_by(keys, "steward", "approver")) == 1
    shutil.rmtree(handed / "attestations")
    assert run("verify", handed, *signed_by(keys, "steward")) == 1
    assert run("verify", handed) == 0


@pytest.mark.slow
def test_a_release_that_requires_signatures_is_verified_with_them_alone(demanding, keys, capsys):
    assert run("verify", demanding) == 1
    assert "RR136" in capsys.readouterr().out
    assert run("report", "evidence", demanding, "--for", "dpia") == 1
    assert run("sign", demanding, "--key", keys / "steward.pem") == 0
    assert "next: 1 more to sign" in capsys.readouterr().out
    assert run("verify", demanding, *signed_by(keys, "steward")) == 1
    assert "1 of 2 are" in capsys.readouterr().out
    assert run("verify", demanding, *signed_by(keys, "steward", "steward")) == 1

    assert run("sign", demanding, "--key", keys / "approver.pem") == 0
    assert run("verify", demanding, *signed_by(keys, "steward", "approver")) == 0
    assert run("report", "evidence", demanding, "--for", "dpia", *signed_by(keys, "steward", "approver")) == 0
    assert run("verify", demanding) == 1


def rewritten(change):
    """Return an attack that edits the envelope."""

    def attack(bundle, other, keys):
        path = bundle / ENVELOPE
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return attack


def payload_edited(document):
    statement = json.loads(base64.b64decode(document["payload"]))
    statement["predicate"]["records"] += 1
    spelled = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["payload"] = base64.b64encode(spelled.encode()).decode()


def spelled_otherwise(document):
    statement = json.loads(base64.b64decode(document["payload"]))
    document["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()


def swapped(bundle, other, keys):
    assert run("sign", other, "--key", keys / "steward.pem") == 0
    shutil.copy(other / ENVELOPE, bundle / ENVELOPE)


def replayed(bundle, other, keys):
    """Put another release's files under this one's signature."""
    shutil.rmtree(bundle / "public")
    shutil.copytree(other / "public", bundle / "public")
    shutil.rmtree(bundle / "audit")
    shutil.copytree(other / "audit", bundle / "audit")


def linked(bundle, other, keys):
    shutil.move(bundle / ENVELOPE, bundle.parent / "elsewhere.json")
    (bundle / ENVELOPE).symlink_to(bundle.parent / "elsewhere.json")


def signed_by_a_stranger_in_the_stewards_name(document):
    document["signatures"][0]["sig"] = base64.b64encode(os.urandom(64)).decode()


ATTACKS = {
    "stripped": lambda bundle, other, keys: shutil.rmtree(bundle / "attestations"),
    "envelope gone": lambda bundle, other, keys: (bundle / ENVELOPE).unlink(),
    "signatures gone": rewritten(lambda d: d["signatures"].clear()),
    "payload edited": rewritten(payload_edited),
    "payload spelled otherwise": rewritten(spelled_otherwise),
    "type edited": rewritten(lambda d: d.update(payloadType="application/json")),
    "key twice": rewritten(lambda d: d["signatures"].append(d["signatures"][0])),
    "no base64": rewritten(lambda d: d.update(payload="%%%")),
    "no text": rewritten(lambda d: d.update(payload=1)),
    "no list of signatures": rewritten(lambda d: d.update(signatures={})),
    "something else in it": rewritten(lambda d: d.update(note="x")),
    "forged signature": rewritten(signed_by_a_stranger_in_the_stewards_name),
    "another's key id": rewritten(lambda d: d["signatures"][0].update(keyid="0" * 64)),
    "swapped": swapped,
    "replayed": replayed,
    "linked": linked,
    "extra file": lambda bundle, other, keys: (bundle / "attestations/note.txt").write_text("x"),
    "extra statement": lambda bundle, other, keys: shutil.copy(bundle / ENVELOPE, bundle / "attestations/x.dsse.json"),
    "extra folder": lambda bundle, other, keys: (bundle / "attestations/x.dsse.json").mkdir(),
    "hidden file": lambda bundle, other, keys: (bundle / "attestations/.x.dsse.json").write_text("{}"),
    "no JSON": lambda bundle, other, keys: (bundle / ENVELOPE).write_text("{"),
    "public file edited": lambda bundle, other, keys: (bundle / "public/README.md").write_text("edited"),
    "audit edited": lambda bundle, other, keys: (bundle / "audit/audit.json").write_text("{}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_is_done_to_it_fails(bundle, other, keys, attack, capsys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    assert run("verify", bundle, *signed_by(keys, "steward")) == 0
    ATTACKS[attack](bundle, other, keys)
    capsys.readouterr()

    assert run("verify", bundle, *signed_by(keys, "steward")) == 1
    assert "NOT verified" in capsys.readouterr().out
    if attack not in {"stripped", "envelope gone"}:  # which nobody can know who was told of no key
        unknown = attack in {"forged signature", "another's key id"}  # to tell takes the key
        assert run("verify", bundle) == (0 if unknown else 1)


def test_what_does_not_verify_is_not_signed(bundle, keys):
    (bundle / "public/README.md").write_text("edited")

    assert run("sign", bundle, "--key", keys / "steward.pem") == 1
    assert not (bundle / "attestations").exists()
    assert run("verify", bundle, "--sign-with", keys / "steward.pem") == 1
    assert not (bundle / "attestations").exists()


def test_a_key_signs_once_and_no_statement_of_something_else(bundle, other, keys, capsys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    before = (bundle / ENVELOPE).read_bytes()
    assert run("sign", bundle, "--key", keys / "steward.pem") == 4
    assert "RR431" in capsys.readouterr().err

    (other / "attestations").mkdir()
    (other / ENVELOPE).write_bytes(before)
    assert run("sign", other, "--key", keys / "approver.pem") == 4
    assert (other / ENVELOPE).read_bytes() == before


def test_public_alone_is_not_signed(bundle, keys):
    assert run("sign", bundle / "public", "--key", keys / "steward.pem") == 2


def test_keys_are_told_by_the_name_of_their_file(bundle, keys, capsys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    twice = ("steward", "steward")
    assert run("verify", bundle, *signed_by(keys, *twice)) == 0
    notes = [text for text in capsys.readouterr().out.splitlines() if text.startswith("note: ")]
    keyid = read_public(keys / "steward.pem.pub").keyid
    assert notes == [f"note: the release is signed by steward.pem.pub ({keyid[:16]}…)"]


def test_what_lacks_a_signature_alone_keeps_what_it_promises(bundle, keys, capsys):
    assert run("verify", bundle, *signed_by(keys, "steward")) == 1
    told = capsys.readouterr().out
    assert "NOT verified" in told
    assert "local-dp: epsilon <= 2 (record scope): met" in told
    assert "it would be met for" not in told
    assert (
        told.splitlines()[-1].endswith("undecided: nothing")
        or "local-dp" not in told.splitlines()[-1].split("undecided:")[1]
    )

    (bundle / "public/README.md").write_text("edited")
    assert run("verify", bundle, *signed_by(keys, "steward")) == 1
    assert "it would be met for the stated channel" in capsys.readouterr().out


def test_who_sees_signatures_and_names_no_key_is_told_that_it_is_undecided(bundle, keys, capsys):
    assert run("sign", bundle, "--key", keys / "steward.pem") == 0
    assert run("verify", bundle) == 0
    assert "who signed the release (--signed-by)" in capsys.readouterr().out.splitlines()[-1]


def test_what_cannot_be_written_is_not_signed(bundle, keys, capsys):
    (bundle / "attestations").write_text("a file")
    assert run("sign", bundle, "--key", keys / "approver.pem") != 0
    (bundle / "attestations").unlink()
    signer = read_signer(keys / "approver.pem")
    (bundle / "elsewhere").mkdir()
    (bundle / "attestations").symlink_to("elsewhere")
    with pytest.raises(RefusedError, match="RR407"):
        sign_recall(bundle, "two columns were exchanged", signer, datetime.now(UTC))
    (bundle / "attestations").unlink()
    (bundle / "attestations").write_text("a file")
    with pytest.raises(RefusedError, match="RR407"):
        sign_recall(bundle, "two columns were exchanged", signer, datetime.now(UTC))


def test_a_full_disk_loses_no_signature(bundle, keys):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signer = read_signer(keys / "approver.pem")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(RefusedError, match="RR408"):
            sign_recall(bundle, "two columns were exchanged", signer, datetime.now(UTC))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list((bundle / "attestations").iterdir()) == []


def test_a_verification_that_failed_is_not_signed(bundle, keys):
    (bundle / "public/README.md").write_text("edited")
    found = rrpolicy.verify(bundle)

    with pytest.raises(RequirementError):
        sign_verification(bundle, found, read_signer(keys / "approver.pem"), datetime.now(UTC))
    assert not (bundle / "attestations").exists()
