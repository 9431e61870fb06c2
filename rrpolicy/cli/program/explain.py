"""`rrpolicy explain CODE`."""

from __future__ import annotations

from typing import Annotated

import typer

from rrpolicy.codes import codes, page
from rrpolicy.errors import PolicyError, Problem


def command(
    code: Annotated[str, typer.Argument(help="A code such as RR203.", metavar="CODE")],
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution whose own code it is, such as acme-oue; repeat it for several."),
    ] = None,
) -> None:
    """Explain a code: what it means, what to do, an example.

    A plugin's own codes are explained by the plugin, which is loaded where it is listed: --plugin.
    """
    known, wanted, others = codes(), code.strip().upper(), tuple[str, ...]()
    if wanted in known:
        print(page(wanted))
        return
    if plugins or not wanted.startswith("RR"):
        from rrpolicy.discovery import load_registry
        from rrpolicy.untrusted.printable import line

        registry = load_registry(plugins or ())
        if wanted in registry.codes:
            print("\n".join(map(line, registry.codes[wanted].strip().splitlines())))
            return
        known, others = (*known, *registry.codes), registry.unlisted
    raise PolicyError(Problem("RR251", f"there is no code '{code}'", hint=_hint(wanted, known, others)))


def _hint(wanted: str, known: tuple[str, ...], unlisted: tuple[str, ...]) -> str:
    """Return what may be meant, and who may know the code."""
    import difflib

    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "a code is RR and three digits, as problems print it"
    if not unlisted:
        return hint
    flags = " or ".join(f"--plugin {name}" for name in unlisted)
    return f"{hint}; if it is a plugin's own, name the plugin: {flags}"
