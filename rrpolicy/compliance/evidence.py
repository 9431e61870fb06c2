"""Evidence of a release for the clauses of a regime, as plain data for every output format."""

from __future__ import annotations

import importlib.resources
import tomllib
from enum import StrEnum
from functools import cache

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Verdict
from rrpolicy.serialization import record

_FOLDER = "regimes"


class Clause(Struct, frozen=True):
    """One clause of a regime.

    Attributes:
        needs: parts of a release that support it, by the names of `rrpolicy.compliance.citations`; empty if no part
            does.
        control: id of the corresponding control of NIST SP 800-53, as in NIST's catalogue of controls; None for any
            other clause.
    """

    id: str
    title: str
    needs: tuple[str, ...]
    control: str | None = None


class Regime(Struct, frozen=True):
    """A law, a standard or a guidance.

    Attributes:
        source: reference to the text, and the note that the words are rrpolicy's.
    """

    name: str
    title: str
    source: str
    clauses: tuple[Clause, ...]


@cache
def regime_names() -> tuple[str, ...]:
    """Return the names of all regimes."""
    folder = importlib.resources.files(__package__).joinpath(_FOLDER)
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_regime(name: str) -> Regime:
    """Return a regime.

    Raises:
        PolicyError: RR250 if no regime has that name.
    """
    if name not in regime_names():
        raise PolicyError(
            Problem("RR250", f"there is no regime '{name}'", expected=f"one of: {', '.join(regime_names())}")
        )
    file = importlib.resources.files(__package__).joinpath(_FOLDER, f"{name}.toml")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    clauses = tuple(Clause(c["id"], c["title"], tuple(c["needs"]), c.get("control")) for c in document["clause"])
    return Regime(name, document["title"], document["source"], clauses)


SCHEMA = "rrpolicy.evidence/1"


class CitationKind(StrEnum):
    """Source of a citation.

    A finding was computed, and `verify` computes it again. A declaration was made by people and cannot be computed. A
    record is a statement of the release about itself, protected by its digests.
    """

    FINDING = "finding"
    DECLARATION = "declaration"
    RECORD = "record"


class RequirementDecision(Struct, frozen=True):
    """Decision of a release on a requirement of its policy.

    Attributes:
        requirement: the requirement in words, without the result.
        given: ids of the derived statistics that the verdict is conditional on; empty if unconditional.
    """

    requirement: str
    verdict: Verdict
    given: tuple[str, ...] = ()


class Citation(Struct, frozen=True):
    """A part of the release that supports a clause.

    Attributes:
        where: location: a file of the bundle, or a folder of it that ends in `/`, and the field.
        judgement: the decision, for a finding with a verdict.
    """

    kind: CitationKind
    text: str
    where: str
    judgement: RequirementDecision | None = None

    @property
    def file(self) -> str:
        """Return the file, or the folder, in the bundle."""
        return self.where.partition(", ")[0]


class ClauseAnswer(Struct, frozen=True):
    """Evidence for one clause.

    Attributes:
        control: id of the corresponding control of NIST SP 800-53, as in NIST's catalogue of controls; None for any
            other clause.
        citations: evidence for the clause; empty if it is not covered.
        missing: evidence that is absent, in words.
    """

    clause: str
    title: str
    control: str | None
    citations: tuple[Citation, ...]
    missing: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Return whether there is evidence for the clause."""
        return bool(self.citations)


class CitedFile(Struct, frozen=True):
    """A file of the bundle that is cited: its path there, and the digest of its bytes."""

    path: str
    digest: str


class ComplianceEvidence(Struct, frozen=True):
    """Evidence of a release for the clauses of a regime.

    Attributes:
        release: the release: policy, version, label.
        page: `public` if only published files were read, else `audit`: it then contains numbers of the original.
        released: time of the release: the moment on the audit page, a label that is a day on the public one; in UTC,
            in the format of RFC 3339. None if unknown.
        holds_until: the last day on which the declarations are valid; None if no day is stated.
        files: the cited files, and release.json.
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
