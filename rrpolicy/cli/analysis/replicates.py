"""`rrpolicy replicates BUNDLE --by COLUMNS --out FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.cli.analysis.common_options import (
    Bundle,
    Designed,
    NoVerify,
    Plugins,
    Where,
    open_for_analysis,
    split_names,
)
from rrpolicy.escaping.printable import line


def command(  # noqa: PLR0917 each option is one
    bundle: Bundle,
    by: Annotated[
        list[str], typer.Option(help="Released columns that the analysis needs, with commas between, or repeat it.")
    ],
    out: Annotated[Path, typer.Option("--out", help="A file that is not there yet: .parquet or .csv.")],
    where: Where = None,
    plugin: Plugins = None,
    design: Designed = None,
    *,
    no_verify: NoVerify = False,
) -> int:
    """Write the corrected table with replicate weights, from which any survey package computes right errors.

    A row for each combination of original categories: its weight is the estimated count, the replicate weights rep_1,
    rep_2, … are a jackknife's. Errors are of randomisation and sampling together.
    """
    release = open_for_analysis(bundle, plugin, design, no_verify=no_verify)
    found = release.replicates(split_names(by, release), where)
    found.write(out)
    rows, size = found.replicates.shape
    print(line(f"wrote {out}: {rows} rows, {size} replicates, scale {found.scale!r}"), file=sys.stderr)
    return 0
