"""A signal at any moment of any command: its exit status, nothing of the original left, and what was killed is swept."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rrpolicy.errors import RefusedError
from rrpolicy.safe_io.interrupts import remove_folder
from rrpolicy.safe_io.tempdirs import locked_directory, remove_stale, scratch_folder
from rrpolicy.testing import policy_text

CANARY = "CANARY-of-a-row"
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MOMENTS = 4
POLICY = policy_text(
    """\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
note = { role = "insensitive", assume_unlinkable = "a test says so", unchanged = "a test says so" }
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[mechanism]
name = "pram"
""",
    "people.csv",
    "Leaving",
)
AT_AN_EVENT = """
import os, signal, sys
number, moment, place, count = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
seen = 0
def hook(event, arguments):
    global seen
    touches = event == "fcntl.flock" or (
        event in {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.chmod", "os.listdir"}
        and isinstance(arguments[0], (str, os.PathLike))
        and os.path.abspath(arguments[0]).startswith(place)
    )
    if touches and signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:  # not while the interpreter starts
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), number)
sys.argv[1:5] = []
sys.addaudithook(hook)
from rrpolicy.cli.main import main
status = main()
total = seen
if not moment:
    open(count, "w").write(str(total))
sys.exit(status)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a table, a policy and a folder for temporary files."""
    rng = random.Random(5)
    rows = [f"{rng.choice('FM')},{CANARY}-{i}" for i in range(3000)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,note", *rows, ""]))
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def started(place: Path, *arguments: object, at: tuple[int, int] | None = None) -> subprocess.Popen[bytes]:
    """Start a command; `at` sends it a signal at its n-th touch of a file in `place`."""
    environment = {**os.environ, "TMPDIR": str(place / "temporary")}
    environment.pop("RRPOLICY_SCRATCH", None)
    head = ["-m", "rrpolicy.cli.main"]
    if at is not None:
        head = ["-c", AT_AN_EVENT, str(at[0]), str(at[1]), str(place), str(place / "temporary" / "count")]
    return subprocess.Popen(
        [sys.executable, "-B", *head, *map(str, arguments)],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(place: Path, *arguments: object) -> int:
    process = started(place, *arguments)
    process.communicate()
    return process.returncode


def files(place: Path) -> set[str]:
    return {str(p.relative_to(place)) for p in place.rglob("*") if not p.is_dir() or p.name.startswith((".", "run-"))}


def spilled(place: Path) -> list[Path]:
    found = []
    for path in (place / "temporary").rglob("*"):
        try:
            if path.is_file() and path.stat().st_size:
                found.append(path)
        except FileNotFoundError:
            continue
    return found


COMMANDS = {
    "plan": ["plan", "policy.toml", "--out", "plan.json"],
    "release": ["release", "policy.toml", "--out", "released", "--key", "kept.key"],
    "init": ["init", "people.csv"],
    "check-table": ["check-table", "people.csv", "--qi", "sex"],
    "verify": ["verify", "bundle", "--source", "people.csv", "--key", "bundle.key"],
    "estimate": ["estimate", "bundle", "--by", "sex"],
    "report": ["report", "bundle", "--out", "report.html"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_leaves_nothing(place, name):
    if "bundle" in COMMANDS[name]:
        assert run(place, "release", "policy.toml", "--out", "bundle", "--key", "bundle.key") == 0
    before = files(place)
    counting = started(place, *COMMANDS[name], at=(0, 0))
    _, errors = counting.communicate()
    assert counting.returncode == 0, errors
    events = int((place / "temporary" / "count").read_text())
    assert events >= 2
    for made in sorted(files(place) - before, reverse=True):
        (place / made).unlink()
    for made in ("released/public/weights", "released/public", "released/audit", "released"):
        if (place / made).is_dir():
            (place / made).rmdir()
    for i in range(MOMENTS):
        sent = SIGNALS[i % len(SIGNALS)]
        process = started(place, *COMMANDS[name], at=(sent, 1 + i * (events - 1) // (MOMENTS - 1)))
        _, errors = process.communicate()
        assert process.returncode == 128 + sent, (i, errors)
        done = errors.decode().splitlines()[-1]
        if done == "rrpolicy: interrupted; nothing was written":
            left = files(place) - before
            assert left <= {"plan.json", "plan.json.key", "report.html"}, (i, left)
            assert len(left) in {0, 1 if name == "report" else 2}, "a plan without its key, or a key without its plan"
        else:
            assert done == f"rrpolicy: interrupted; {place}/released was released"
            assert i == MOMENTS - 1
            assert {"released/audit/audit.json", "kept.key"} <= files(place)


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_signal_ends_a_long_call_of_the_engine_at_once(place, sent):
    import duckdb

    with duckdb.connect(str(place / "long.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(20000)")
        connection.execute("CREATE VIEW v AS SELECT count(*) AS n FROM t x, t y, t z WHERE x.a * y.a % 7 = z.a % 11")
    process = started(place, "init", "long.duckdb", "--table", "v")
    while not list((place / "temporary").glob("*/run-*")):
        time.sleep(0.01)
    time.sleep(0.5)
    begun = time.monotonic()
    process.send_signal(sent)
    _, errors = process.communicate()
    assert process.returncode == 128 + sent, errors
    assert time.monotonic() - begun < 5
    assert not spilled(place)
    assert not list((place / "temporary").glob("*/*"))


@pytest.mark.slow
def test_what_was_killed_is_swept_by_the_next_run_and_what_lives_is_not(place, monkeypatch):
    many = "\n".join(["sex,note", *(f"{'FM'[i % 2]},{CANARY}-{i}" for i in range(200_000)), ""])
    (place / "people.csv").write_text(many)
    command = ["release", "policy.toml", "--out"]
    for out in ("one", "two"):
        process = started(place, *command, out)
        while not any(CANARY.encode() in path.read_bytes() for path in spilled(place)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        (folder,) = (place / "temporary").glob("rrpolicy-*")
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        process.kill()
        process.communicate()
        assert spilled(place)
        assert len(list(folder.iterdir())) == 1, "the second run has swept what the first one left"
    monkeypatch.setenv("RRPOLICY_SCRATCH", str(place / "temporary"))
    with scratch_folder() as living:
        assert list(folder.iterdir()) == [living.folder]
        assert run(place, "release", "policy.toml", "--out", "three") == 0
        assert list(folder.iterdir()) == [living.folder]
    assert not list(folder.iterdir())
    assert not [path.name for path in place.iterdir() if ".rrpolicy-" in path.name]


def test_a_hangup_that_is_ignored_stays_ignored(place):
    command = f"trap '' HUP; exec {sys.executable} -m rrpolicy.cli.main plan policy.toml"
    environment = {**os.environ, "TMPDIR": str(place / "temporary")}
    process = subprocess.Popen(["sh", "-c", command], cwd=place, env=environment, stdout=subprocess.DEVNULL)
    while not list((place / "temporary").glob("*/run-*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("sent", SIGNALS)
def test_commands_without_scratch_leave_with_the_same_status(place, sent):
    process = started(place, "check", "policy.toml", at=(sent, 1))
    _, errors = process.communicate()
    assert process.returncode == 128 + sent, errors


def test_what_is_finished_stays_and_is_named(place):
    """A signal comes between the end of a file and the end of the program."""
    program = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from rrpolicy.safe_io.interrupts import cleanup_on_exit, install_signal_handlers\n"
        "install_signal_handlers()\n"
        "done, begun = Path('done'), Path('begun')\n"
        "with cleanup_on_exit(done, done.exists, 'done was released'), cleanup_on_exit(begun):\n"
        "    done.touch(), begun.touch()\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (143, "rrpolicy: interrupted; done was released\n")
    assert (place / "done").exists()
    assert not (place / "begun").exists()


def removed(folder):
    folder.rmdir()


def exchanged(folder):
    folder.rmdir()
    folder.mkdir(mode=0o700)


@pytest.mark.parametrize(
    ("moment", "change"), [("open", removed), ("flock", removed), ("flock", exchanged)], ids=["open", "lock", "same"]
)
def test_a_folder_that_another_run_removes_at_once_is_made_again(tmp_path, monkeypatch, moment, change):
    module = {"open": os, "flock": fcntl}[moment]
    original, found = getattr(module, moment), []

    def late(what, *more, **options):
        if not found and (moment == "flock" or str(what).startswith(str(tmp_path / "run-"))):
            found.extend(tmp_path.iterdir())
            change(found[0])
        return original(what, *more, **options)

    monkeypatch.setattr(module, moment, late)
    with locked_directory(tmp_path, "run-") as folder:
        assert folder != found[0]
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked_is_none(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output error"), locked_directory(tmp_path, "run-"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_user_is_not_swept(tmp_path, monkeypatch):
    folder = tmp_path / f"run-{'0' * 16}"
    folder.mkdir()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert remove_stale(tmp_path, "run-") == ()
    monkeypatch.undo()
    assert remove_stale(tmp_path, "run-") == (folder.name,)
    assert not folder.exists()


def test_a_scratch_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RRPOLICY_SCRATCH", str(tmp_path / "file"))
    with (
        pytest.raises(RefusedError, match="RR421: no scratch folder can be made in .*: not a directory"),
        scratch_folder(),
    ):
        pass


def test_a_folder_that_does_not_go_away_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("rrpolicy.safe_io.interrupts._PASSES", 2)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    folder = tmp_path / f"run-{'01' * 8}"
    folder.mkdir()
    remove_folder(folder)
    assert [path.name for path in tmp_path.iterdir()] == [f"run-{'10' * 8}"]


def test_a_scratch_folder_of_somebody_else_is_refused(place):
    folder = place / "temporary" / f"rrpolicy-{os.geteuid()}"
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    process = started(place, "plan", "policy.toml")
    _, errors = process.communicate()
    assert process.returncode == 4
    assert b"RR421" in errors
    assert not list(elsewhere.iterdir())
    folder.unlink()
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    process = started(place, "init", "people.csv")
    assert b"RR421" in process.communicate()[1]
    assert process.returncode == 4


@pytest.mark.slow
def test_the_loser_of_a_race_leaves_nothing_and_says_what_happened(place):
    runs = [started(place, "release", "policy.toml", "--out", "out", "--key", f"{i}.key") for i in range(2)]
    told = [process.communicate()[1].decode() for process in runs]
    codes = [process.returncode for process in runs]
    assert sorted(codes) == [0, 4], told
    won, lost = codes.index(0), codes.index(4)
    assert "RR402" in told[lost]
    assert (place / f"{won}.key").exists()
    assert not (place / f"{lost}.key").exists()
    assert {path.name for path in place.iterdir()} == {"people.csv", "policy.toml", "temporary", "out", f"{won}.key"}
    assert run(place, "verify", "out", "--source", "people.csv", "--key", f"{won}.key") == 0
