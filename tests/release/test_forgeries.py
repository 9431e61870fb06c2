"""Every field of every file of a bundle is recomputed or listed as stated: a forger changes it and seals all again.

There are about 1,300 kinds of fields and changes; each run takes one in `RRPOLICY_FORGERIES`, always the same (default
4; 1 takes all, three minutes of a processor), and in addition those that once were missed. Of records it verifies up to the
first check that fails, and one in 24 to the end, so that nothing that follows a failure goes wrong.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.canonical_json import pretty
from rrpolicy.errors import RRPolicyError
from rrpolicy.verification.outcome import Verification, VerificationLevel
from rrpolicy.verification.verify import verify

from . import quickly
from .bundles.make import CASES, KEPT, TESTED, make
from .forging import fill_again, fill_audit, fill_public, load, reseal_audit, reseal_public, rewrite

Path_ = tuple[str | int, ...]
RECORDS = ("public/release.json", *(f"audit/{n}.json" for n in ("audit", "plan", "policy", "findings", "report")))
TEST = "audit/attack.json"
"""The record that one case has."""
SEALS = re.compile(r"(^|\.)(files(\..*)?|digest|file)$")
"""Digests of what stands elsewhere: a forger makes them fit."""

ONE_IN = int(os.environ.get("RRPOLICY_FORGERIES", "4"))
TO_THE_END = 24
MISSED = frozenset({"attributes.matrix.released list 1", "policy_files list 0"})
"""Kinds of changes that verification did not survive once."""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forgeries") / "made"
    make(folder)
    return folder


def name_of(path: Path_) -> str:
    """Return a field's name as a claim has it: no positions in lists."""
    return ".".join(str(part) for part in path if isinstance(part, str))


def parts(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield every value of a document with its path, leaves and containers."""
    yield path, document
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from parts(value, (*path, key))


def changes(value: Any) -> list[Any]:
    """Return what a forger might write instead."""
    if isinstance(value, list):
        return [[*value, value[0]], value[:-1]] if value else [["x"]]
    if isinstance(value, str) and "sha256:" in value:
        return [value[:-1] + ("1" if value[-1] == "0" else "0")]
    other = {bool: lambda v: not v, int: lambda v: v + 1, float: lambda v: v * 1.5 + 0.5, str: lambda v: v + "x"}
    other |= {type(None): lambda _: "x", dict: lambda v: {**v, "surprise": 1}}
    return [other[type(value)](value)]


def put(document: Any, path: Path_, value: Any) -> Any:
    """Return a document with one value exchanged."""
    changed = copy.deepcopy(document)
    if not path:
        return value
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def chance(kind: str) -> int:
    return hashlib.sha256(kind.encode()).digest()[0]


def forgeries(document: Any, seen: set[str]) -> Iterator[tuple[Path_, Any]]:
    """Yield (path, forged value), one of each kind of field."""
    for path, value in parts(document):
        for index, forged in enumerate(changes(value)):
            kind = f"{name_of(path)} {type(value).__name__} {index}"
            if kind not in seen and not SEALS.search(name_of(path)):
                seen.add(kind)
                if kind in MISSED or chance(kind) % ONE_IN == 0:
                    yield path, forged


def verified(*arguments: Any, **options: Any) -> Verification | None:
    """Verify; None if it is refused."""
    try:
        return verify(*arguments, **options)
    except RRPolicyError:
        return None


def admitted(found: Verification | None, file: str, path: Path_) -> bool:
    """Return whether a verification fails, or says by name that it did not verify a field."""
    if found is None:
        return True
    name = name_of(path)
    said = [claim.field for claim in found.claims if claim.file == file]
    return not found.passed or any(not field or name == field or name.startswith(f"{field}.") for field in said)


def earlier(name: str) -> list[str]:
    names = list(CASES)
    return names[: names.index(name)]


def new_forgeries(bundles: Path, case: str, file: str) -> list[tuple[Path_, Any]]:
    """Return the forgeries of a file whose kind no earlier case has."""
    seen: set[str] = set()
    for name in earlier(case) if file in RECORDS else ():
        list(forgeries(load(bundles / name / "bundle" / file), seen))
    return list(forgeries(load(bundles / case / "bundle" / file), seen))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_field_of_release_json_is_recomputed_or_stated(bundles, case, tmp_path):
    public = tmp_path / "bundle" / "public"
    shutil.copytree(bundles / case / "bundle" / "public", public)
    whole = (public / "release.json").read_bytes()
    missed = []
    for path, forged in new_forgeries(bundles, case, "public/release.json"):
        (public / "release.json").write_bytes(pretty(put(json.loads(whole), path, forged)))
        try:
            fill_public(public.parent)
        except Exception:  # noqa: BLE001 what cannot be filled is only sealed
            reseal_public(public.parent)
        if not admitted(verified(public), "public/release.json", path):
            missed.append((name_of(path), forged))
        shutil.rmtree(public)
        shutil.copytree(bundles / case / "bundle" / "public", public)
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize(("case", "file"), [(TESTED, TEST), *((case, file) for case in CASES for file in RECORDS)])
def test_every_field_of_a_record_is_recomputed_with_the_key_or_stated(bundles, case, file, tmp_path):
    inputs = {"source": str(bundles / "people.csv"), "key": bundles / case / "key.json"}
    original, fails = (
        partial(fresh, bundles / case, tmp_path),
        partial(quickly.fails, known=set(), reports=file.endswith("report.json"), **inputs),
    )
    missed = []
    with quickly.remembered():
        assert not fails(original())
        for path, forged in new_forgeries(bundles, case, file):
            if chance(name_of(path)) % TO_THE_END and _fails(original, file, (path, forged), fails):
                continue
            if not _caught(bundles, case, file, (path, forged), tmp_path):
                missed.append((name_of(path), forged))
    assert missed == []


def _fails(original: Callable[[], Path], file: str, forgery: tuple[Path_, Any], fails: Callable[[Path], bool]) -> bool:
    """Forge one field, once with all that follows from it and once alone; return whether a check fails both times."""
    for again in (quickly.fill_records, lambda b: (reseal_public(b), reseal_audit(b))):
        bundle = original()
        (bundle / file).write_bytes(pretty(put(load(bundle / file), *forgery)))
        again(bundle)
        if not fails(bundle):
            return False
    return True


def _caught(bundles: Path, case: str, file: str, forgery: tuple[Path_, Any], folder: Path) -> bool:
    """Forge one field, once with all that follows from it and once alone; return whether both are admitted."""
    path, forged = forgery
    for again in (fill_again, lambda b: (reseal_public(b), reseal_audit(b))):
        bundle = fresh(bundles / case, folder)
        target = bundle / file
        target.write_bytes(pretty(put(load(target), path, forged)))
        again(bundle)
        changed = dict(parts(load(target))).get(path, "gone") == forged  # else it was made again and is right
        if changed and not any(admitted(found, file, path) for found in levels(bundles, case, bundle)):
            return False
    return True


def levels(bundles: Path, case: str, bundle: Path) -> Iterator[Verification | None]:
    """Yield the verification at level key; in its place one that costs less, if it fails: then that would, too."""
    for level in (VerificationLevel.PUBLIC, VerificationLevel.AUDIT):
        found = verified(bundle, level=level)
        if found is None or not found.passed:
            yield found
            return
    yield verified(bundle, source=str(bundles / "people.csv"), key=bundles / case / "key.json")


def fresh(case: Path, folder: Path) -> Path:
    bundle = folder / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(case / "bundle", bundle)
    return bundle


@pytest.mark.slow
@pytest.mark.parametrize("case", KEPT)
def test_every_other_file_is_made_again(bundles, case, tmp_path):
    """A changed file is noticed though all digests fit: only a comment of the policy is not, and is listed."""
    bundle = fresh(bundles / case, tmp_path)
    files = sorted(p.relative_to(bundle).as_posix() for p in bundle.rglob("*") if p.is_file())
    for file in files:
        if file in {*RECORDS, TEST}:
            continue
        bundle = fresh(bundles / case, tmp_path)
        content = (bundle / file).read_bytes()
        (bundle / file).write_bytes(content.replace(b"a", b"e", 1) if b"a" in content else content + b"\n")
        reseal_public(bundle)
        reseal_audit(bundle)
        found = list(levels(bundles, case, bundle))[-1]
        assert not found.passed, file
    bundle = fresh(bundles / case, tmp_path)
    toml = bundle / "audit" / "policy.toml"
    toml.write_text(toml.read_text().replace("# a small table, made up", "# a large table, real"))
    reseal_audit(bundle)
    assert not list(levels(bundles, case, bundle))[-1].passed  # the report shows the policy as it was
    fill_audit(bundle)
    found = list(levels(bundles, case, bundle))[-1]
    assert found.passed
    assert ("audit/policy.toml", "comments") in {(c.file, c.field) for c in found.claims}


def test_an_edited_page_fails_though_all_digests_were_sealed_again(bundles, tmp_path, capsys):
    from rrpolicy.cli.main import main

    case = bundles / "pram"
    inputs = ["--source", str(bundles / "people.csv"), "--key", str(case / "key.json"), "--strict"]
    assert main(["verify", str(case / "bundle"), *inputs]) == 0
    told = capsys.readouterr().out
    assert "stated, not verified:\n" in told
    assert "  audit/audit.json: the release's label; when it was released" in told
    for page in ("public/report.html", "audit/report.html"):
        bundle = fresh(case, tmp_path)
        text = (bundle / page).read_text()
        (bundle / page).write_text(text.replace("satisfied", "is proved", 1))
        reseal_public(bundle)
        reseal_audit(bundle)
        assert main(["verify", str(bundle), *inputs]) == 1
        assert page in capsys.readouterr().out


def test_what_another_version_wrote_is_undecided_and_the_version_is_named(bundles, tmp_path):
    bundle = fresh(bundles / "pram", tmp_path)
    rewrite(bundle / "public" / "release.json", lambda d: d["software"].update(rrpolicy="0.0.9"))
    (bundle / "public" / "report.html").write_text("by an older renderer")
    reseal_public(bundle)
    found = verify(bundle, level=VerificationLevel.PUBLIC)
    assert found.passed
    assert [u for u in found.undecided if "public/report.html" in u and "rrpolicy 0.0.9" in u]


def test_what_is_only_stated_is_named(bundles):
    case = bundles / "pram"
    found = verify(case / "bundle", source=str(bundles / "people.csv"), key=case / "key.json")
    assert {(c.file, c.field) for c in found.claims} == {
        ("public/release.json", "release"),
        *(("audit/audit.json", field) for field in ("release", "time", "source_given_as", "key", "writers")),
        *(("audit/audit.json", field) for field in ("policy_commit", "policy_blob")),
        ("audit/policy.toml", "comments"),
        ("audit/area.csv", "comments"),
    }
    document = found.to_json()
    assert isinstance(document, dict)
    assert {"file": "audit/audit.json", "field": "time", "meaning": "when it was released"} in document["stated"]
