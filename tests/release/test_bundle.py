"""Whole or not at all: kill -9, interrupts, full disks, read-only places, existing bundles."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rrpolicy.bundle.staging import stage
from rrpolicy.errors import RefusedError


def started(case, out: Path, **options) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-B", "-m", "rrpolicy.cli.main", "release", str(case.policy), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def run(*arguments):
    from rrpolicy.cli.main import main

    return main([str(a) for a in arguments])


def left_of(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()} - {"people.csv", "policy.toml"}


@pytest.mark.slow
def test_kill_at_any_moment_leaves_nothing_or_a_whole_bundle(case):
    whole = case.folder / "whole"
    start = time.monotonic()
    first = started(case, whole)
    first.communicate()
    assert first.returncode == 0
    takes = time.monotonic() - start
    rng = random.Random(3)
    outcomes = set()
    for i in range(6):
        out = case.folder / f"bundle{i}"
        process = started(case, out)
        time.sleep(takes * rng.uniform(0.5, 1.05))
        process.kill()
        process.communicate()
        outcomes.add(out.exists())
        if out.exists():
            assert run("verify", out) == 0
    assert outcomes <= {True, False}
    for i in range(6):
        out = case.folder / f"bundle{i}"
        if not out.exists():
            assert run("release", case.policy, "--out", out) == 0
            assert run("verify", out) == 0
    assert not [name for name in left_of(case.folder) if ".rrpolicy-" in name]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_mid_release_leaves_nothing(case, sent):
    out = case.folder / "bundle"
    process = started(case, out)
    for _ in range(2000):
        if any(".rrpolicy-" in name for name in left_of(case.folder)):
            break
        time.sleep(0.005)
    process.send_signal(sent)
    _, errors = process.communicate()
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[sent], errors
    assert left_of(case.folder) == set()
    assert b"CANARY" not in errors


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_before_the_staging_folder_is_locked_leaves_nothing(case, sent):
    code = f"""
import fcntl, os, sys
from rrpolicy.cli.main import main
locks = fcntl.flock
def lock(*arguments):
    os.kill(os.getpid(), {int(sent)})
    locks(*arguments)
fcntl.flock = lock
sys.exit(main())
"""
    command = [sys.executable, "-B", "-c", code, "release", str(case.policy), "--out", str(case.folder / "bundle")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 128 + sent, done.stderr
    assert left_of(case.folder) == set()


def test_an_existing_bundle_is_never_overwritten(case, capsys):
    out = case.folder / "bundle"
    out.mkdir()
    (out / "mine").write_text("kept")
    assert run("release", case.policy, "--out", out) == 4
    assert "RR402" in capsys.readouterr().err
    assert [p.name for p in out.iterdir()] == ["mine"]
    link = case.folder / "link"
    link.symlink_to(case.folder / "nowhere")
    assert run("release", case.policy, "--out", link) == 4


def test_a_bundle_that_appears_meanwhile_is_not_overwritten(tmp_path):
    out = tmp_path / "bundle"
    with pytest.raises(RefusedError, match="by another run while this one worked"), stage(out) as staging:
        _appear_and_publish(out, staging)
    assert (out / "theirs").read_text() == "kept"
    assert {p.name for p in tmp_path.iterdir()} == {"bundle"}


def _appear_and_publish(out, staging):
    out.mkdir()
    (out / "theirs").write_text("kept")
    staging.publish()


def test_a_file_where_a_folder_should_be_is_refused(case, capsys):
    assert run("release", case.policy, "--out", case.table / "bundle") == 4
    assert "RR407" in capsys.readouterr().err


def test_a_missing_parent_is_refused(case, capsys):
    assert run("release", case.policy, "--out", case.folder / "no" / "bundle") == 4
    assert "RR407" in capsys.readouterr().err


def test_a_running_release_is_not_swept_and_a_dead_one_is(tmp_path):
    out = tmp_path / "bundle"
    with stage(out) as running:
        stale = tmp_path / ".other.rrpolicy-0123456789abcdef"
        (stale / "public").mkdir(parents=True)
        (stale / "public" / "data.csv").write_bytes(b"x")
        (tmp_path / ".bundle.rrpolicy-notes").mkdir()
        with stage(out) as second:
            assert second.swept == (stale.name,)
            assert running.folder.exists()
    assert [p.name for p in tmp_path.iterdir()] == [".bundle.rrpolicy-notes"]


def test_staging_is_private(tmp_path):
    with stage(tmp_path / "bundle") as staging:
        assert staging.folder.stat().st_mode & 0o077 == 0
        assert staging.scratch.stat().st_mode & 0o077 == 0
        (staging.public / "data.csv").write_text("released")
        staging.publish()
        assert staging.published
    assert {p.name for p in (tmp_path / "bundle").iterdir()} == {"public", "audit"}
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "bundle" / "public" / "data.csv").stat().st_mode & 0o777 == 0o666 & ~umask
    assert (tmp_path / "bundle" / "public").stat().st_mode & 0o777 == 0o777 & ~umask


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_a_full_disk_leaves_nothing(case, form):
    """A limit on the size of files stands for a full disk where nothing can be mounted; the errors are alike."""
    case.policy.write_text(case.policy.read_text().replace('"parquet"', f'"{form}"'))
    out = case.folder / "bundle"
    process = started(case, out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)))
    _, errors = process.communicate()
    assert process.returncode == 4, errors
    assert b"RR408" in errors
    assert left_of(case.folder) == set()


def mounted(folder: Path, *options: str) -> bool:
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "none", str(folder)], capture_output=True, check=False)
    return done.returncode == 0


def test_a_small_tmpfs_runs_full(case):
    disk = case.folder / "disk"
    disk.mkdir()
    if os.geteuid() or not mounted(disk, "-o", "size=32k"):
        with pytest.raises(RefusedError, match="RR408"), stage(case.folder / "bundle"):
            raise OSError(28, "No space left on device")
        return
    try:
        process = started(case, disk / "bundle")
        _, errors = process.communicate()
        assert process.returncode == 4, errors
        assert b"RR408" in errors
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_read_only_target(case):
    disk = case.folder / "disk"
    disk.mkdir()
    if os.geteuid():
        disk.chmod(0o500)
        with pytest.raises(RefusedError, match="RR407"), stage(disk / "bundle"):
            pass
        return
    if not mounted(disk, "-o", "ro,size=1m"):
        with pytest.raises(RefusedError, match="RR407"), stage(Path("/proc/self/bundle")):
            pass
        return
    try:
        assert run("release", case.policy, "--out", disk / "bundle") == 4
    finally:
        subprocess.run(["umount", str(disk)], check=True)
