"""`rrpolicy sign BUNDLE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.options import with_options
from rrpolicy.escaping.printable import command_line, line
from rrpolicy.verb_options import SignOptions


@with_options
def command(
    bundle: Annotated[
        Path,
        typer.Argument(
            help="The bundle's folder, with public/ and audit/; or a policy's file.", metavar="BUNDLE|POLICY"
        ),
    ],
    key: Annotated[Path, typer.Option("--key", help="The private key, as `rrpolicy keys new` writes it.")],
    **options: Unpack[SignOptions],
) -> int:
    """Sign a release, approve a policy, or recall a release; a signature is added to those that are there.

    What is signed is an in-toto statement in a DSSE envelope, in attestations/ beside public/: it names every file by
    its digest, and says what the release promises. A release that does not verify is not signed. The steward signs
    first, who approves it signs the same statement, and an auditor signs with `rrpolicy verify --sign-with`.

    A policy is approved as it stands: its resolved meaning, and what it declares and decided. The approval lies beside
    it, and `release` refuses it once any of that has changed.

    The key's passphrase is asked for, or taken from the environment variable RRPOLICY_PASSPHRASE.
    """
    from rrpolicy.signing.signing_keys import public_path

    made = api.sign(bundle, key, **options)
    beside = f", in addition to {len(made.others)} before it" if made.others else ""
    if bundle.is_file():
        print(line(f"approved {bundle} in its present state, with the key {made.keyid[:16]}…{beside}: {made.file}"))
        print(f"next: commit {line(str(made.file))}")
        return 0
    if options.get("recall") is not None:
        print(line(f"recalled {bundle} with the key {made.keyid[:16]}…: {made.file}"))
        print(
            "next: `rrpolicy ledger add LEDGER --recall HASH --reason TEXT --by NAME`, and inform everyone who "
            "has the data"
        )
        return 0
    print(line(f"signed {bundle} with the key {made.keyid[:16]}…{beside}: {made.file}"))
    signed = 1 + len(made.others)
    if signed < made.required:
        print(f"next: {made.required - signed} more to sign: {command_line('sign', bundle, options={'--key': 'FILE'})}")
        return 0
    given = [str(public_path(key)), *("FILE.pub" for _ in made.others)]
    print(f"next: {command_line('verify', bundle, options={'--signed-by': given})}")
    return 0
