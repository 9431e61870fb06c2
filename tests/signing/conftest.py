"""A release, and keys of people who sign."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.signing.signing_keys import make_signing_key
from tests.survey import SURVEY

SECRET = "correct horse"


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """The folder of three key pairs: steward, approver, stranger."""
    folder = tmp_path_factory.mktemp("keys")
    for who in ("steward", "approver", "stranger"):
        make_signing_key(folder / f"{who}.pem", SECRET.encode() if who == "steward" else None)
    return folder


@pytest.fixture(scope="session")
def _made(tmp_path_factory):
    made = {}
    for required in (0, 2):
        for number in (1, 2):
            folder = tmp_path_factory.mktemp("made")
            (folder / "policy.toml").write_text(f"{SURVEY}require_signatures = {required}\n")
            rrpolicy.release(folder / "policy.toml", folder / "bundle")
            made[required, number] = folder / "bundle"
    return made


@pytest.fixture
def bundle(_made, tmp_path):
    """A release that requires no signature."""
    return copied(_made[0, 1], tmp_path / "bundle")


@pytest.fixture
def other(_made, tmp_path):
    """Another release of the same table."""
    return copied(_made[0, 2], tmp_path / "other")


@pytest.fixture
def demanding(_made, tmp_path):
    """A release that requires two signatures."""
    return copied(_made[2, 1], tmp_path / "demanding")


def copied(bundle: Path, into: Path) -> Path:
    return Path(shutil.copytree(bundle, into))
