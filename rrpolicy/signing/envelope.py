"""DSSE envelopes: files with a payload and its signatures, read strictly and checked by a specialised library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.canonical_json import canonical, pretty
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.signing.statement import PAYLOAD

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, Key

MAX_ENVELOPE_BYTES = 1 << 26


class SignedEnvelope(Struct, frozen=True):
    """A decoded envelope: the signed payload, and the stated ids of the signing keys.

    Attributes:
        statement: the payload as data, canonical and so unambiguous.
        keyids: stated ids of the keys; see `signed_by`.
    """

    payload: bytes
    statement: dict[str, Any]
    keyids: tuple[str, ...]
    envelope: Envelope

    def signed_by(self, key: Key) -> bool:
        """Return whether a key signed it."""
        from securesystemslib.exceptions import VerificationError

        try:
            return key.keyid in self.envelope.verify([key], 1)
        except VerificationError:
            return False

    def written(self) -> bytes:
        """Return the file's bytes."""
        return pretty(self.envelope.to_dict())


def new_envelope(payload: bytes) -> SignedEnvelope:
    """Return an envelope without signatures."""
    from securesystemslib.dsse import Envelope

    return SignedEnvelope(payload, json.loads(payload), (), Envelope(payload, PAYLOAD, {}))


def add_signature(signed: SignedEnvelope, signer: CryptoSigner) -> SignedEnvelope:
    """Return an envelope with an added signature."""
    signed.envelope.sign(signer)
    return SignedEnvelope(signed.payload, signed.statement, tuple(signed.envelope.signatures), signed.envelope)


def read_envelope(path: Path) -> SignedEnvelope:
    """Read an envelope: a canonical payload, one signature per key, and no unknown fields.

    Raises:
        UnreadableError: if it is not an envelope.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    document = read_document(path, most=MAX_ENVELOPE_BYTES)
    if document.keys() != {"payload", "payloadType", "signatures"} or document["payloadType"] != PAYLOAD:
        raise UnreadableError(f"{path.name} is not an envelope of an in-toto statement")
    if not _well_formed_signatures(document["signatures"]) or not isinstance(document["payload"], str):
        raise UnreadableError(f"{path.name} contains invalid signatures")
    try:
        envelope = Envelope.from_dict(deepcopy(document))  # it modifies its argument
        statement = json.loads(envelope.payload)
        spelled = canonical(statement) == envelope.payload and envelope.to_dict() == document
    except (ValueError, KeyError, TypeError, RecursionError, Error) as error:
        raise UnreadableError(f"{path.name} is not an envelope that can be read") from error
    if not spelled or not isinstance(statement, dict):
        raise UnreadableError(f"{path.name} does not contain a statement in its one spelling")
    return SignedEnvelope(envelope.payload, statement, tuple(envelope.signatures), envelope)


def _well_formed_signatures(found: object) -> bool:
    if not isinstance(found, list):
        return False
    return all(
        isinstance(one, dict) and one.keys() == {"keyid", "sig"} and all(isinstance(v, str) for v in one.values())
        for one in found
    )


def verified_key_ids(signed: SignedEnvelope, keys: Sequence[Key]) -> tuple[str, ...]:
    """Return the ids of the given keys that signed, each once."""
    return tuple(dict.fromkeys(key.keyid for key in keys if signed.signed_by(key)))
