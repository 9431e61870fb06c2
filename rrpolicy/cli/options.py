"""Options that several commands have, and a command's options as arguments of a public function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from rrpolicy.ci_reports.formats import Output
from rrpolicy.cli.quick_check import NO_WAIVERS, PROTECT, ROOT, TODAY
from rrpolicy.cli.text.output import ALSO, ALSO_HELP, FLAG, HELP, JSON_HELP

Root: TypeAlias = Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")]
Today: TypeAlias = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help=TODAY)]
NoWaivers: TypeAlias = Annotated[bool, typer.Option("--no-waivers", help=NO_WAIVERS)]
Protect: TypeAlias = Annotated[bool, typer.Option("--key-passphrase", help=PROTECT)]
OutputForm: TypeAlias = Annotated[Output, typer.Option(FLAG, help=HELP)]
Also: TypeAlias = Annotated[list[str] | None, typer.Option(ALSO, help=ALSO_HELP, metavar="FORMAT=FILE")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help=JSON_HELP)]


def api_options(function: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's options that a public function takes by name.

    An option that was not given is left out. Of a moment the day counts; `no_waivers` is `waivers` there.
    """
    named = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    stated = {**given, "waivers": not given["no_waivers"]} if "no_waivers" in given else given
    told = {name: value for name, value in stated.items() if name in named and value is not None}
    return {name: value.date() if isinstance(value, datetime) else value for name, value in told.items()}
