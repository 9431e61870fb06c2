"""`rrpolicy explain NAME`."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from rrpolicy.cli.text.screen import wrapped
from rrpolicy.codes import codes, page
from rrpolicy.errors import PolicyError, Problem

UNKNOWN = (
    "a code is RR and three digits, as problems print it; `rrpolicy plugins` lists names, `plan --verbose` says what "
    "each of its numbers means, and docs/explanation/guarantees.md what each model promises"
)


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A code such as RR203, or the name of a privacy model, mechanism, utility metric or measure, or of a "
            "key or role of a policy.",
            metavar="NAME",
        ),
    ],
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin", help="A distribution whose own code or name it is, such as acme-oue; repeat it for several."
        ),
    ] = None,
) -> None:
    """Explain a code or a name: of a code what it means, what to do, an example; of a name what it promises and takes.

    A key may stand with its table, such as source.unit.

    A plugin's own codes and names are explained by the plugin, which is loaded where it is listed: --plugin.
    """
    known, wanted, others = codes(), name.strip().upper(), tuple[str, ...]()
    if wanted in known:
        print(page(wanted))
        return
    if plugins or not re.fullmatch(r"RR\d*", wanted):
        from rrpolicy.cli.text.offered import names, offered
        from rrpolicy.discovery import load_registry
        from rrpolicy.untrusted.printable import line

        registry = load_registry(plugins or ())
        if wanted in registry.codes:
            print("\n".join(map(line, registry.codes[wanted].strip().splitlines())))
            return
        told = offered(registry, name.strip().lower().partition("/")[0])
        if told is not None:
            print(wrapped(told, sys.stdout))
            return
        known, others = (*known, *registry.codes, *names(registry)), registry.unlisted
    raise PolicyError(Problem("RR251", f"there is no code or name '{name}'", hint=_hint(name.strip(), known, others)))


def _hint(wanted: str, known: tuple[str, ...], unlisted: tuple[str, ...]) -> str:
    """Return what may be meant, and who may know the code or the name."""
    import difflib

    spelled = {each.upper(): each for each in known}
    near = difflib.get_close_matches(wanted.upper(), spelled, n=1)
    hint = f"did you mean {spelled[near[0]]}?" if near else UNKNOWN
    if not unlisted:
        return hint
    flags = " or ".join(f"--plugin {name}" for name in unlisted)
    return f"{hint}; if it is a plugin's own, name the plugin: {flags}"
