"""`rrpolicy explain CODE`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy.codes import codes, page
from rrpolicy.errors import PolicyError, Problem


def command(code: Annotated[str, typer.Argument(help="A code such as RR203.", metavar="CODE")]) -> None:
    """Explain a code: what it means, what to do, an example."""
    known = codes()
    wanted = code.strip().upper()
    if wanted not in known:
        import difflib

        near = difflib.get_close_matches(wanted, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "a code is RR and three digits, as problems print it"
        raise PolicyError(Problem("RR251", f"there is no code '{code}'", hint=hint))
    print(page(wanted))
