"""Properties of the terminal, and documents for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Json
    from rrpolicy.errors import Problem


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream, standard error by default, is printed in colour: it is a terminal, and NO_COLOR is not set."""
    return (stream or sys.stderr).isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def problem_count(problems: Sequence[Problem]) -> str:
    """Return the number of problems, and the command that explains the first."""
    from rrpolicy.errors import CODE_PREFIX

    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    code = problems[0].code
    whose = "" if code.startswith(CODE_PREFIX) else " --plugin DISTRIBUTION"
    return f"{count}; `rrpolicy explain {code}{whose}` shows more"


def print_json(document: Json) -> None:
    """Print a document on standard output, for programs."""
    from rrpolicy.canonical_json import pretty
    from rrpolicy.escaping.printable import inert_text

    sys.stdout.write(inert_text(pretty(document).decode()))
