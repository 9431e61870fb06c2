"""Passphrases: from the environment, else from the terminal; never an argument, which others could read."""

from __future__ import annotations

import getpass
import os
import sys

MIN_LENGTH = 8
"""The least number of characters of a passphrase."""


class NoPassphraseError(ValueError):
    """A missing or invalid passphrase; the message has the reason, and a remedy."""


def read_passphrase(variable: str, what: str, *, new: bool = False) -> bytes:
    """Return a passphrase.

    The environment `variable` contains it if there is no terminal. A `new` one is entered twice and must be long
    enough.

    Raises:
        NoPassphraseError: if it is missing or too short, or the two differ.
    """
    told = os.environ.get(variable)
    if told is None:
        if not sys.stdin.isatty():
            raise NoPassphraseError(
                f"{what} needs a passphrase, and there is no terminal to type it in: set {variable}"
            )
        told = getpass.getpass(f"Passphrase of {what}: ")
        if new and getpass.getpass("The same again: ") != told:
            raise NoPassphraseError("the two passphrases differ; nothing was written")
    if new and len(told) < MIN_LENGTH:
        raise NoPassphraseError(f"a passphrase of fewer than {MIN_LENGTH} characters protects nothing")
    return told.encode()
