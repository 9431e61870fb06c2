"""`rrpolicy keys new FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rrpolicy.escaping.printable import command_line, line


def new(
    file: Annotated[Path, typer.Argument(help="Of the private key; the public one gets .pub added.", metavar="FILE")],
    *,
    unprotected: Annotated[
        bool, typer.Option("--no-passphrase", help="Protect the private key by nothing but its file.")
    ] = False,
) -> int:
    """Make a key to sign releases with: Ed25519, the private half under a passphrase.

    The passphrase is asked for twice, or taken from the environment variable RRPOLICY_PASSPHRASE. Hand out the public
    half by another way than the releases: who verifies with a key from the same hand as the release verifies nothing.
    It is no key of a release: nothing is drawn with it.
    """
    from rrpolicy.signing.signing_keys import make_signing_key, public_path, signing_passphrase

    keyid = make_signing_key(file, None if unprotected else signing_passphrase(new=True))
    print(line(f"wrote {file} and {public_path(file)}; the id of the key is {keyid}"))
    (public,) = public_path(file).read_text(encoding="ascii").splitlines()[1:-1]
    print(line(f'in the file of allowed signers: key = "{public}"'))
    print(f"next: {command_line('sign', Path('BUNDLE'), options={'--key': file})}")
    return 0
