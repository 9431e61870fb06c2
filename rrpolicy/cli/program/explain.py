"""`rrpolicy explain NAME`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.text.terminal_layout import wrap_for_stream
from rrpolicy.error_codes import codes, page
from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    from rrpolicy.registry import Registry

UNKNOWN = (
    "a code is RR and three digits, as problems print it; `rrpolicy plugins` lists names, `plan --verbose` "
    "explains its numbers, and docs/explanation/guarantees.md the guarantee of each model"
)

SUGGESTIONS = 0.8
"""Least similarity of two spellings for a suggestion: a wrong letter or two, not a word."""


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="A code such as RR203, the name of a privacy model, mechanism, utility metric or measure, or of a "
            "key or role of a policy, or a term of other programs, such as 'top coding'.",
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
    """Explain a code, a name or a term: what it means, what to do, an example; of a name what it promises and takes.

    A key may have its table before it, such as source.unit. Of terms of sdcMicro, ARX and mu-Argus it says what does
    the same here, or what comes nearest.

    A plugin's own codes and names are explained by the plugin, which is loaded where it is listed: --plugin.
    """
    known, wanted, others = codes(), name.strip().upper(), tuple[str, ...]()
    if wanted in known:
        print(page(wanted))
        return
    if plugins or not re.fullmatch(r"RR\d*", wanted):
        from rrpolicy.cli.text.name_descriptions import known_names
        from rrpolicy.cli.text.terms import all_terms
        from rrpolicy.discovery import load_registry
        from rrpolicy.escaping.printable import line

        registry = load_registry(plugins or ())
        if wanted in registry.codes:
            print("\n".join(map(line, registry.codes[wanted].strip().splitlines())))
            return
        told = _explanation(registry, name.strip())
        if told:
            print(wrap_for_stream(told, sys.stdout))
            return
        spellings = (name for term in all_terms() for name in term.names)
        known, others = (*spellings, *known, *registry.codes, *known_names(registry)), registry.unlisted
    raise PolicyError(Problem("RR251", f"there is no code or name '{name}'", hint=_hint(name.strip(), known, others)))


def _explanation(registry: Registry, name: str) -> str:
    """Return the explanation of a name in any spelling, and of a term; "" if there is none."""
    from rrpolicy.cli.text.name_descriptions import describe_name, known_names
    from rrpolicy.cli.text.terms import normalise_spelling, terms_by_name

    spelled = {normalise_spelling(each): each for each in known_names(registry)}
    term, lower = terms_by_name().get(normalise_spelling(name)), name.lower()
    tried = dict.fromkeys(
        (lower, spelled.get(normalise_spelling(name), lower), lower if term else lower.partition("/")[0])
    )
    own, here = next(((each, told) for each in tried if (told := describe_name(registry, each))), ("", ""))
    redundant = term is not None and own in term.see
    return "\n\n".join(filter(None, (here, "" if term is None or redundant else term.text())))


def _hint(wanted: str, known: tuple[str, ...], unlisted: tuple[str, ...]) -> str:
    """Return a suggestion, and the plugins that may know the code or the name."""
    import difflib

    from rrpolicy.cli.text.terms import normalise_spelling

    spelled = {normalise_spelling(each): each for each in known}
    near = difflib.get_close_matches(normalise_spelling(wanted), spelled, n=1, cutoff=SUGGESTIONS)
    hint = f"did you mean {spelled[near[0]]}?" if near else UNKNOWN
    if not unlisted:
        return hint
    flags = " or ".join(f"--plugin {name}" for name in unlisted)
    return f"{hint}; if it is a plugin's own, name the plugin: {flags}"
