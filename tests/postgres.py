"""PostgreSQL as Debian packs it, started for a session of tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def server_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, where Debian keeps those of the server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def socket_of_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start PostgreSQL on a socket in a folder of its own, as somebody who is not root, and stop it again."""
    programs = server_programs()
    if programs is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: postgresql)")
    folder = Path(
        subprocess.run(["mktemp", "-d", "/tmp/pg-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip()
    )
    root = os.geteuid() == 0
    prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if root else []
    if root:
        known = pwd.getpwnam("postgres")
        os.chown(folder, known.pw_uid, known.pw_gid)

    def program(name: str, *arguments: str) -> None:
        command = [*prefix, str(programs / name), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)

    data = folder / "data"
    try:
        program("initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        program("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield folder
        finally:
            program("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def psql(socket: Path, *arguments: str, text: str | None = None) -> str:
    """Run statements by the server's client, and return what it prints."""
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(socket), "-U", "postgres", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=text, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
