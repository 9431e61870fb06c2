"""`rrpolicy schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.quick_check import ROOT
from rrpolicy.cli.terminal import print_json


def command(
    plugins: Annotated[
        list[str] | None, typer.Option("--plugin", help="A distribution to load as well, such as acme-oue>=1.2.")
    ] = None,
    *,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Load the plugins that this policy lists.", metavar="POLICY")
    ] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
) -> None:
    """Print the JSON Schema of policy files, for editors.

    Save it beside your policies and begin each with `#:schema ./policy.schema.json`; editors with TOML support then
    complete keys and options and mark mistakes.
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.policy.schema import json_schema

    if policy is not None:
        from rrpolicy.planning.policy_opening import open_policy

        catalogue = open_policy(policy, root=root).registry.catalogue
    else:
        catalogue = load_registry(plugins or ()).catalogue
    print_json(json_schema(catalogue))
