"""The command line: the help of every command, as the terminal shows it."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from unittest.mock import patch

from rrpolicy.cli.main import ROOMS, TITLES, main

OPENING = """\
# Command line

Exit status: 0 holds; 1 a requirement fails or is undecided; 2 the policy or the call is wrong; 3 the data do not fit the policy; 4
refused; 70 a defect. Every problem has a code that `rrpolicy explain` explains. `NO_COLOR=1` switches colours off, and
`rrpolicy --install-completion` lets the shell complete commands and options.
"""


def commands_page() -> str:
    """Return the page."""
    parts = [OPENING]
    for room, commands in ROOMS.items():
        parts.append(f"## {TITLES[room]}\n")
        parts += [f"### `rrpolicy {name}`\n\n```text\n{_help(name)}\n```\n" for name in commands]
    return "\n".join(parts)


def _help(name: str) -> str:
    with patch.dict(os.environ, COLUMNS="100", NO_COLOR="1"), redirect_stdout(io.StringIO()) as printed:
        main([*name.split(), "--help"])
    return printed.getvalue().strip()
