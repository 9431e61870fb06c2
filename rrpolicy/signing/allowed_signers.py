"""The file of allowed signers, kept in git with the policies: people with their roles, keys and dates."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import Field, ValidationError

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.policy.file import PolicyFileTable, SingleLineText
from rrpolicy.policy.tree.document import read_document
from rrpolicy.policy.tree.problems import validation_problems
from rrpolicy.signing.signing_keys import parse_public_key

if TYPE_CHECKING:
    from securesystemslib.signer import Key

    from rrpolicy.signing.envelope import SignedEnvelope


class SignerEntry(PolicyFileTable):
    """A key of a person."""

    name: SingleLineText = Field(description="Who signs; several keys of one name are of one person.")
    roles: list[SingleLineText] = Field(min_length=1, description="In which roles, such as steward and approver.")
    key: SingleLineText = Field(description="The line between the first and the last of FILE.pub.")
    since: date = Field(alias="from", description="The first day on which it is trusted.")
    until: date | None = Field(None, description="The last day.")
    revoked: date | None = Field(None, description="The day from which it is trusted no more, such as that of a theft.")


class SignersFile(PolicyFileTable):
    """The allowed signers."""

    require_roles: list[SingleLineText] = Field(
        [], description="Roles, in each of which another person must have signed, whatever the release itself requires."
    )
    signer: list[SignerEntry] = Field(min_length=1, description="One entry a key.")


class Signer(Struct, frozen=True):
    """A key of a person who may sign.

    Attributes:
        since: the first day of the key's validity.
        until: the last day; None without an end.
        revoked: the day of its revocation; None if not revoked.
    """

    name: str
    roles: tuple[str, ...]
    key: Key
    since: date
    until: date | None
    revoked: date | None

    def distrusted(self, day: date) -> str | None:
        """Return the reason why the key is not trusted on a day; None if it is trusted."""
        if self.revoked is not None and day >= self.revoked:
            return f"the key of {self.name} was revoked on {self.revoked}"
        if day < self.since:
            return f"the key of {self.name} is trusted from {self.since}"
        if self.until is not None and day > self.until:
            return f"the key of {self.name} was trusted until {self.until}"
        return None


class AllowedSigners(Struct, frozen=True):
    """The file of allowed signers, as of a day.

    Attributes:
        signers: the people's keys.
        require_roles: in each of these roles a different person must have signed, whatever the release itself
            requires.
        day: the day for which trust in the keys is checked.
    """

    signers: tuple[Signer, ...]
    require_roles: tuple[str, ...]
    day: date


def read_signers(path: Path, day: date) -> AllowedSigners:
    """Read the file of allowed signers.

    Raises:
        PolicyError: RR2xx, all problems of the file, with their lines; RR203 for a required role that no signer has.
    """
    root = read_document(path, str(path))
    try:
        found = SignersFile.model_validate(root.plain())
    except ValidationError as error:
        raise PolicyError(tuple(validation_problems(error, root, SignersFile))) from error
    nodes = root.table["signer"].items
    problems, signers, owners = [], [], dict[str, str]()
    for entry, node in zip(found.signer, nodes, strict=True):
        place = node.table["key"].place
        key = _read_key(entry.key)
        if key is None:
            expected = "the line between the first and the last of FILE.pub, as `rrpolicy keys new` writes it"
            problems.append(Problem("RR250", f"the key of {entry.name} is not a public Ed25519 key", place, expected))
            continue
        if owners.setdefault(key.keyid, entry.name) != entry.name:
            message = f"{owners[key.keyid]} and {entry.name} have one key"
            problems.append(Problem("RR203", message, place, "a key for each person"))
        roles = tuple(dict.fromkeys(entry.roles))
        signers.append(Signer(entry.name, roles, key, entry.since, entry.until, entry.revoked))
    known = dict.fromkeys(role for signer in signers for role in signer.roles)
    for at, role in enumerate(found.require_roles):
        if role not in known and not problems:
            place = root.table["require_roles"].items[at].place
            problems.append(Problem("RR203", f"no signer has the role '{role}'", place, f"one of: {', '.join(known)}"))
    if problems:
        raise PolicyError(tuple(problems))
    return AllowedSigners(tuple(signers), tuple(dict.fromkeys(found.require_roles)), day)


def _read_key(line: str) -> Key | None:
    try:
        base64.b64decode(line, validate=True)
    except ValueError:
        return None
    return parse_public_key(f"-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----\n".encode())


class SignerCheck(Struct, frozen=True):
    """The signers of an envelope, checked against the allowed signers on a day.

    Attributes:
        people: person -> roles, for valid signatures.
        distrusted: reasons why signatures of known people are invalid.
        unknown: ids of keys, stated in the envelope, that are not in the file.
    """

    people: dict[str, tuple[str, ...]]
    distrusted: tuple[str, ...]
    unknown: tuple[str, ...]

    def lacking(self, roles: Sequence[str]) -> tuple[str, ...]:
        """Return the roles without a signer, if each needs a different person."""
        best: tuple[str, ...] = ()
        for filled in _assignments(tuple(roles), self.people):
            best = max(best, filled, key=len)
        return tuple(role for role in roles if role not in best)

    def why(self, roles: Sequence[str]) -> str:
        """Return the signers, and the reason why they are not sufficient."""
        counted = [f"{name} ({', '.join(held)})" for name, held in self.people.items()]
        told = f"signed by {', '.join(counted)}" if counted else "signed by nobody whose signature counts"
        unknown = [f"the key {keyid[:16]}… is not among the allowed signers" for keyid in self.unknown]
        lacking = " and ".join(self.lacking(roles))
        missing = [f"nobody signed as {lacking}, each of whom is another person"] if lacking else []
        return "; ".join([*missing, told, *self.distrusted, *unknown])


def _assignments(roles: tuple[str, ...], people: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield sets of roles that different people can fill."""
    if not roles:
        yield ()
        return
    role, rest = roles[0], roles[1:]
    for name, held in people.items():
        if role in held:
            others = {other: theirs for other, theirs in people.items() if other != name}
            yield from ((role, *filled) for filled in _assignments(rest, others))
    yield from _assignments(rest, people)


def check_signers(signed: SignedEnvelope | None, signers: Sequence[Signer], day: date) -> SignerCheck:
    """Return the people with a valid signature of an envelope on a day."""
    if signed is None:
        return SignerCheck({}, (), ())
    people: dict[str, tuple[str, ...]] = {}
    distrusted: dict[str, None] = {}
    for signer in signers:
        if not signed.signed_by(signer.key):
            continue
        why = signer.distrusted(day)
        if why is None:
            people[signer.name] = (*people.get(signer.name, ()), *signer.roles)
        else:
            distrusted[why] = None
    known = {signer.key.keyid for signer in signers}
    return SignerCheck(people, tuple(distrusted), tuple(k for k in signed.keyids if k not in known))
