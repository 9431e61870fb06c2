"""Options that commands alone have, and the options of a verb as those of its command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.text.output import ALSO, ALSO_HELP, FLAG, HELP, JSON_HELP, QUIET
from rrpolicy.verb_options import Option, options_of


class After(str):
    """Names the function's option after which the help lists an option that only the command has."""

    __slots__ = ()


Protect: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--key-passphrase", help="Write the key's file under a passphrase, typed in or in RRPOLICY_KEY_PASSPHRASE."
    ),
]
OutputForm: TypeAlias = Annotated[Output, typer.Option(FLAG, help=HELP)]
Also: TypeAlias = Annotated[list[str] | None, typer.Option(ALSO, help=ALSO_HELP, metavar="FORMAT=FILE")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)]
PrintJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print it as JSON on standard output.")]
_KINDS: Mapping[str, Any] = {
    "PathLike": Path,
    "PolicyLike": Path,
    "date": datetime,
    "Sequence[PathLike]": list[Path],
    "Sequence[str]": list[str],
    "str | Sequence[str]": list[str],
    "int": int,
    "bool": bool,
}
"""Type of an option -> the type of the command's value; text for others."""


def with_options(command: Callable[..., Any], shared: Iterable[inspect.Parameter] = ()) -> Callable[..., Any]:
    """Return a command with the options of its verb in place of `**options: Unpack[…]`; `shared` ones follow them."""
    own = [*inspect.signature(command, eval_str=True).parameters.values()]
    last = [*inspect.signature(command).parameters.values()][-1]
    shown: Mapping[str, Option] = {}
    if last.kind is last.VAR_KEYWORD:
        own.pop()
        shown = {name: each for name, each in options_of(last).items() if each.flag is not None}

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        stated = {name: _value(name, given.pop(name), option) for name, option in shown.items()}
        return command(**given, **{name: value for name, value in stated.items() if value is not None})

    parameters = [each for each in own if each.kind is not each.KEYWORD_ONLY]
    parameters += [*(_parameter(name, each) for name, each in shown.items()), *shared]
    parameters += [each for each in own if each.kind is each.KEYWORD_ONLY]
    for each in own:
        for place in getattr(each.annotation, "__metadata__", ()):
            if isinstance(place, After):
                parameters.remove(each)
                parameters.insert(1 + [p.name for p in parameters].index(place), each)
    keywords = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
    vars(run).update(__signature__=inspect.Signature(keywords), __annotations__={})
    return run


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """Return the parameter from which typer makes a verb's option."""
    kind = option.kind or _KINDS.get(option.type.removesuffix(" | None"), str)
    flag, inverted = f"--{(option.flag or name).replace('_', '-')}", option.default is True
    least, most = option.range
    formats = ["%Y-%m-%d"] if kind is datetime else None
    told = typer.Option(flag, help=option.help, metavar=option.metavar, min=least, max=most, formats=formats)
    default = False if inverted else None if option.default == () else option.default
    if default is ...:
        default = inspect.Parameter.empty
    elif default is None:
        kind |= None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def _value(name: str, given: Any, option: Option) -> Any:
    """Return a command's value as the function takes it; None if it was not given."""
    if option.default is True:
        return not given
    if name == "mechanisms" and given is not None:
        return [word.strip() for word in given.split(",")] if given else None
    if name == "vary" and given is not None:
        from rrpolicy.governance.compare.candidates import parse_vary

        return dict(map(parse_vary, given))
    return given.date() if isinstance(given, datetime) else given
