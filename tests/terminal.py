"""What a program shows where a terminal reads it."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def on_a_terminal(
    call: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, *, complaints: bool = False
) -> tuple[int, str]:
    """Run a program on a terminal of 80 columns; return its status and what it shows.

    Args:
        call: the program with its arguments.
        environment: its variables, but those of the terminal.
        folder: in which it runs; by default this one.
        complaints: whether the terminal shows standard error, too.
    """
    ours, theirs = pty.openpty()
    variables = {**environment, "TERM": "xterm", "COLUMNS": "80"}
    stderr = theirs if complaints else subprocess.DEVNULL
    parts = []
    with subprocess.Popen(call, cwd=folder, env=variables, stdout=theirs, stderr=stderr) as started:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    return started.returncode, b"".join(parts).decode().replace("\r\n", "\n")
