"""What a release shows of what a regime asks: plain data, from which every form is written."""

from __future__ import annotations

from enum import StrEnum

from rrpolicy.canonical_json import Json
from rrpolicy.finding import Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.writing import record

SCHEMA = "rrpolicy.evidence/1"


class CitationKind(StrEnum):
    """What stands behind a citation.

    A finding was computed, and `verify` computes it again; a declaration was made by people, and nobody can; a record
    is what the release says of itself, held together by its digests.
    """

    FINDING = "finding"
    DECLARATION = "declaration"
    RECORD = "record"


@frozen
class RequirementDecision:
    """What a release decided of a requirement of its policy.

    Attributes:
        requirement: in words, without what came out.
        verdict: whether it holds.
        given: ids of the derived statistics that this is conditional on; empty if it is not.
    """

    requirement: str
    verdict: Verdict
    given: tuple[str, ...] = ()


@frozen
class Citation:
    """Something of the release that speaks to a clause.

    Attributes:
        kind: what stands behind it.
        text: what it says.
        where: where it stands: a file of the bundle, or a folder of it that ends in `/`, and the field.
        judgement: what was decided, of a finding that decides something.
    """

    kind: CitationKind
    text: str
    where: str
    judgement: RequirementDecision | None = None

    @property
    def file(self) -> str:
        """Return the file, or the folder, in the bundle."""
        return self.where.partition(", ")[0]


@frozen
class ClauseAnswer:
    """What a release says to a clause.

    Attributes:
        clause: as the regime numbers it.
        title: what it asks.
        control: of NIST SP 800-53 that the clause is, as NIST's catalogue of controls calls it; None for any other.
        citations: what speaks to it; nothing if it is not covered.
        missing: what would speak to it and is not there, in words.
    """

    clause: str
    title: str
    control: str | None
    citations: tuple[Citation, ...]
    missing: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Return whether anything speaks to it."""
        return bool(self.citations)


@frozen
class CitedFile:
    """A file of the bundle that is cited: its path there, and the digest of its bytes."""

    path: str
    digest: str


@frozen
class ComplianceEvidence:
    """What a release shows of what a regime asks.

    Attributes:
        regime: its name.
        title: what it is called.
        source: where it stands.
        release: the release: policy, version, label.
        digest: of release.json.
        page: `public` if only what is published was looked at, else `audit`: it then holds numbers of the original.
        released: when the release was made: the moment on the audit page, a label that is a day on the public one; in
            UTC, as RFC 3339 has it. None where that is not told.
        holds_until: the day until which what is declared holds; None where none is stated.
        files: that are cited, and release.json.
        answers: clause by clause.
    """

    regime: str
    title: str
    source: str
    release: str
    digest: str
    page: str
    released: str | None
    holds_until: str | None
    files: tuple[CitedFile, ...]
    answers: tuple[ClauseAnswer, ...]

    def to_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        answers = [{**record(answer), "covered": answer.covered} for answer in self.answers]
        return {"schema": SCHEMA, **record(self), "answers": [*answers]}
