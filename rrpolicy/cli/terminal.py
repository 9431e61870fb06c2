"""What the terminal is asked for."""

from __future__ import annotations

import os
import sys


def wants_colour() -> bool:
    """Whether problems are printed in colour: standard error is a terminal and NO_COLOR is not set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
