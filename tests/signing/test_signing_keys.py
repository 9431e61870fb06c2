"""Keys of people who sign: made once, under a passphrase, refused where others may have read them."""

from __future__ import annotations

import stat

import pytest

from rrpolicy.cli.main import main
from rrpolicy.signing.signing_keys import read_public, read_signer
from tests.signing.conftest import SECRET


def test_a_key_is_made_with_its_public_half(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", SECRET)
    path = tmp_path / "steward.pem"

    assert main(["keys", "new", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"ENCRYPTED" in path.read_bytes()
    keyid = read_public(tmp_path / "steward.pem.pub").keyid
    assert keyid in capsys.readouterr().out
    assert read_signer(path).public_key.keyid == keyid
    assert main(["keys", "new", str(path)]) == 4


@pytest.mark.parametrize("told", ["short", ""])
def test_a_passphrase_that_protects_nothing_is_refused(tmp_path, monkeypatch, told):
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", told)

    assert main(["keys", "new", str(tmp_path / "key.pem")]) == 4
    assert not list(tmp_path.iterdir())


def test_without_a_passphrase_nobody_is_asked_where_there_is_nobody(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RRPOLICY_PASSPHRASE", raising=False)

    assert main(["keys", "new", str(tmp_path / "key.pem")]) == 4
    assert "set RRPOLICY_PASSPHRASE" in capsys.readouterr().err
    assert main(["keys", "new", str(tmp_path / "key.pem"), "--no-passphrase"]) == 0


@pytest.mark.parametrize(("typed", "status"), [((SECRET, SECRET), 0), ((SECRET, "another one"), 4), (("no", "no"), 4)])
def test_a_passphrase_is_typed_twice_on_a_terminal(tmp_path, monkeypatch, capsys, typed, status):
    words, asked = iter(typed), []
    monkeypatch.delenv("RRPOLICY_PASSPHRASE", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or next(words))

    assert main(["keys", "new", str(tmp_path / "key.pem")]) == status
    assert asked == ["Passphrase of the signing key: ", "The same again: "]
    assert bool(list(tmp_path.iterdir())) == (status == 0)
    if typed[0] != typed[1]:
        assert "the two passphrases differ; nothing was written" in capsys.readouterr().err


def wrong_passphrase(folder, monkeypatch):
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", "another one")
    return folder / "key.pem"


def readable(folder, monkeypatch):
    (folder / "key.pem").chmod(0o644)
    return folder / "key.pem"


def another_kind(folder, monkeypatch):
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(SECP256R1())
    path = folder / "ec.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    return path


def no_key(folder, monkeypatch):
    path = folder / "none.pem"
    path.write_text("no key")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "given",
    [
        wrong_passphrase,
        readable,
        another_kind,
        no_key,
        lambda f, m: f / "gone.pem",
        lambda f, m: f,
        lambda f, m: f / "key.pem.pub",
    ],
)
def test_a_key_that_cannot_be_used_is_refused(tmp_path, monkeypatch, bundle, capsys, given):
    folder = tmp_path / "held"
    folder.mkdir()
    monkeypatch.setenv("RRPOLICY_PASSPHRASE", SECRET)
    assert main(["keys", "new", str(folder / "key.pem")]) == 0
    path = given(folder, monkeypatch)
    capsys.readouterr()

    assert main(["sign", str(bundle), "--key", str(path)]) == 4
    assert "RR430" in capsys.readouterr().err
    assert not (bundle / "attestations").exists()


def test_a_private_key_is_no_public_one(tmp_path, monkeypatch, bundle):
    assert main(["keys", "new", str(tmp_path / "key.pem"), "--no-passphrase"]) == 0

    assert main(["verify", str(bundle), "--signed-by", str(tmp_path / "key.pem")]) == 4
