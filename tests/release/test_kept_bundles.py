"""Bundles of every version verify for good, and a change of what this one writes does not go unnoticed."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rrpolicy
from rrpolicy.bundle.audit import software_versions
from rrpolicy.verification.verify import verify

from .bundles.make import HERE, KEPT, archive, make

VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each version's bundles, by version."""
    folders = {version: tmp_path_factory.mktemp(version) for version in VERSIONS}
    for version, folder in folders.items():
        with tarfile.open(archive(version)) as packed:
            packed.extractall(folder, filter="tar")  # not "data", which gives folders the mode of the day
    return folders


def names(document: Any, here: str = "") -> Iterator[str]:
    """Yield the dotted names of all keys of a document, without positions in lists."""
    inner = document.items() if isinstance(document, dict) else ()
    for key, value in inner:
        yield f"{here}.{key}"
        yield from names(value, f"{here}.{key}")
    for value in document if isinstance(document, list) else ():
        yield from names(value, here)


def keys(bundle: Path) -> dict[str, set[str]]:
    """Return the names of all keys of each file of a bundle; none of a file that is no JSON document."""
    files = [path for path in bundle.rglob("*") if path.is_file()]
    return {
        path.relative_to(bundle).as_posix(): set(names(json.loads(path.read_text())) if path.suffix == ".json" else ())
        for path in files
    }


def test_this_version_is_kept():
    assert rrpolicy.__version__ in VERSIONS


@pytest.mark.parametrize("case", KEPT)
@pytest.mark.parametrize("version", VERSIONS)
def test_bundles_of_every_version_verify(kept, version, case):
    """Something may be undecided only where other versions made the bundle."""
    folder = kept[version] / case
    found = verify(folder / "bundle", source=str(kept[version] / "people.csv"), key=folder / "key.json")
    assert found.passed, found.problems
    record = json.loads((folder / "bundle" / "audit" / "audit.json").read_text())
    software = [record["software"]["rrpolicy"], *record["writers"].items()]
    if software == [rrpolicy.__version__, *software_versions().items()]:
        assert found.undecided == ()
        assert found.reproduced == "byte for byte"


def test_what_is_written_today_has_the_keys_of_the_kept_bundles(kept, tmp_path):
    """If it should have others: python tests/release/bundles/make.py, while the version is not released yet."""
    make(tmp_path / "made", KEPT)
    for case in KEPT:
        assert keys(tmp_path / "made" / case / "bundle") == keys(kept[rrpolicy.__version__] / case / "bundle"), case


def test_kept_bundles_name_no_place(kept):
    for folder in kept.values():
        for path in (p for p in folder.rglob("*") if p.is_file()):
            assert not [word for word in (b"/tmp", b"/work", b"/home") if word in path.read_bytes()], path
