"""What a release shows of what a regime asks: plain data, from which every form is written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rrpolicy.canonical import Json
from rrpolicy.codec.writing import record

SCHEMA = "rrpolicy.evidence/1"


class Kind(StrEnum):
    """What stands behind a citation.

    A finding was computed, and `verify` computes it again; a declaration was made by people, and nobody can; a record
    is what the release says of itself, held together by its digests.
    """

    FINDING = "finding"
    DECLARATION = "declaration"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Citation:
    """Something of the release that speaks to a clause.

    Attributes:
        kind: what stands behind it.
        text: what it says.
        where: where it stands: a file of the bundle and the field.
    """

    kind: Kind
    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a release says to a clause.

    Attributes:
        clause: as the regime numbers it.
        title: what it asks.
        citations: what speaks to it; nothing if it is not covered.
        missing: what would speak to it and is not there, in words.
    """

    clause: str
    title: str
    citations: tuple[Citation, ...]
    missing: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Return whether anything speaks to it."""
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a release shows of what a regime asks.

    Attributes:
        regime: its name.
        title: what it is called.
        source: where it stands.
        release: the release: policy, version, label.
        digest: of release.json.
        page: `public` if only what is published was looked at, else `audit`: it then holds numbers of the original.
        answers: clause by clause.
    """

    regime: str
    title: str
    source: str
    release: str
    digest: str
    page: str
    answers: tuple[Answer, ...]

    def to_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        answers = [{**record(answer), "covered": answer.covered} for answer in self.answers]
        return {"schema": SCHEMA, **record(self), "answers": [*answers]}
