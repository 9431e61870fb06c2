"""`rrpolicy archive BUNDLE --out FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy import api
from rrpolicy.escaping.printable import line
from rrpolicy.escaping.shell import command_line


def command(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, with public/ and audit/.", metavar="BUNDLE")],
    out: Annotated[Path, typer.Option("--out", help="The zip file, which is not there yet.", metavar="FILE")],
    ledger: Annotated[Path | None, typer.Option(help="The ledger that it stands in.", metavar="FILE")] = None,
    signers: Annotated[Path | None, typer.Option(help="The file of allowed signers.", metavar="FILE")] = None,
) -> int:
    """Keep what verifies a release in five years in one file, without its rows.

    It holds the policy with its baselines, the plan, the findings, the signatures, the ledger, the digests of the data
    files, and the version of everything that is installed. audit/ is in it: it is as confidential as that.
    """
    made = api.archive(bundle, out, ledger=ledger, signers=signers)
    files, packages = made["files"], made["environment"]
    assert isinstance(files, dict)
    assert isinstance(packages, dict)
    print(line(f"wrote {out}: {len(files)} files, no rows"))
    print(f"next: {command_line('verify', out)}")
    return 0
