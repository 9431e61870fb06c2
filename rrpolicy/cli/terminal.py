"""What the terminal is asked for, and documents for programs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.canonical import Json


def wants_colour() -> bool:
    """Whether problems are printed in colour: standard error is a terminal and NO_COLOR is not set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(document: Json) -> None:
    """Print a document on standard output, for programs."""
    from rrpolicy.canonical import pretty

    sys.stdout.write(pretty(document).decode())
