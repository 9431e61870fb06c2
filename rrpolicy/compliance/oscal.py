"""Evidence as assessment results of OSCAL, NIST's language for assessments of controls (version 1.2, JSON).

No clause is reported as met. The assessed objectives are rrpolicy's, under each control: that a requirement of the
policy which supports it is met. If no requirement supports a clause, the objective is the clause, and it remains
undecided. A status of OSCAL has two states, so an undecided objective is `not-satisfied` for the reason `other`.

Times are those of the release, and every identifier is a UUID of version 5 of the evidence: the same bundle
gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical
from rrpolicy.compliance.evidence import (
    Citation,
    CitationKind,
    ClauseAnswer,
    ComplianceEvidence,
    RequirementDecision,
)
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import markdown_prose, quoted_list, visible
from rrpolicy.finding import CONDITION, Verdict
from rrpolicy.wording import MET

VERSION = "1.2.3"
OWN = "urn:rrpolicy:oscal"
"""The namespace of names that are not OSCAL's."""
CATALOGUE = "NIST SP 800-53 rev. 5, Security and Privacy Controls for Information Systems and Organizations"
AUDIT = "audit/"
_METHODS = {CitationKind.FINDING: "TEST", CitationKind.DECLARATION: "EXAMINE", CitationKind.RECORD: "EXAMINE"}
_STATES = {
    Verdict.SATISFIED: ("satisfied", "pass"),
    Verdict.FAILED: ("not-satisfied", "fail"),
    Verdict.UNDECIDED: ("not-satisfied", "other"),
}
_READING_NOTE = (
    "No control is declared satisfied: people decide that. A finding states whether one requirement of the release's "
    "policy is satisfied. An undecided requirement is not satisfied, for the reason other, as OSCAL has no "
    "third state. A requirement that is satisfied under a condition is satisfied, and an observation "
    "contains the condition."
    " Times "
    "are those of the release, when its findings were computed."
)
_NO_PLAN = (
    "There is no assessment plan. The requirements of the release's policy and the clauses below were assessed. "
    "`rrpolicy release` computes the assessment, and `rrpolicy verify` computes it again."
)


def as_oscal(evidence: ComplianceEvidence) -> dict[str, Json]:
    """Return the evidence as an OSCAL document of assessment results.

    Raises:
        PolicyError: RR250 if the time of the release is unknown, which OSCAL requires.
    """
    if evidence.released is None:
        raise PolicyError(
            Problem(
                "RR250",
                "OSCAL requires the time when evidence was collected, and the published files do not contain it",
                expected="audit/, which contains the time, or a release whose label is a day",
                hint="name the bundle's folder and take `--page audit`, or release with `--as 2026-11-30`",
            )
        )
    return {"assessment-results": _Results(evidence, evidence.released).document()}


class _Objective(Struct, frozen=True):
    """An objective outside the regime's catalogue.

    Attributes:
        citation: citation of its requirement; None if the objective is the clause itself.
    """

    id: str
    answer: ClauseAnswer
    citation: Citation | None

    @property
    def asks(self) -> str:
        judged = self.citation and self.citation.judgement
        if not judged:
            return f"The clause requires: {self.answer.title}"
        return f"A requirement of the policy for this clause is {MET}: {judged.requirement}"


class _Results(Struct, frozen=True, dict=True):
    evidence: ComplianceEvidence
    released: str

    def document(self) -> dict[str, Json]:
        found = self.evidence
        confidential = " Confidential: it contains numbers of the original table." if found.page == "audit" else ""
        return {
            "uuid": self.id("document"),
            "metadata": {
                "title": markdown_prose(f"{found.title}: what the release {found.release} shows"),
                "last-modified": self.released,
                "version": visible(found.release).strip(),
                "oscal-version": VERSION,
                "props": [
                    {"name": "marking", "value": self.marking(AUDIT if found.page == "audit" else "public/")},
                    _own_property("release-digest", found.digest),
                    _own_property("regime", found.regime),
                ],
                "remarks": f"Paths of files are relative to the folder of the bundle.{confidential}",
            },
            "import-ap": {"href": f"#{self.id('plan')}", "remarks": _NO_PLAN},
            "local-definitions": {"objectives-and-methods": [self.objectives(answer) for answer in found.answers]},
            "results": [
                {
                    "uuid": self.id("result"),
                    "title": markdown_prose(found.title),
                    "description": f"Evidence of the release, verified first: its {found.page} page.",
                    "start": self.released,
                    "end": self.released,
                    "reviewed-controls": self.reviewed(),
                    "observations": [self.observation(citation) for citation in self.observed],
                    "findings": [self.finding(objective) for objective in self.all_objectives],
                    "remarks": _READING_NOTE,
                }
            ],
            "back-matter": {"resources": [*self.resources()]},
        }

    @cached_property
    def id(self) -> Callable[[str], str]:
        root = uuid5(uuid5(NAMESPACE_URL, OWN), canonical(self.evidence.to_json()).decode())
        return lambda name: str(uuid5(root, name))

    def control(self, answer: ClauseAnswer) -> str:
        return answer.control or self.own_id(answer)

    def own_id(self, answer: ClauseAnswer) -> str:
        words = re.sub(r"[^0-9a-z]+", "-", answer.clause.lower()).strip("-")
        return f"{self.evidence.regime}-{words}"

    @cached_property
    def all_objectives(self) -> tuple[_Objective, ...]:
        return tuple(objective for answer in self.evidence.answers for objective in self.objectives_of(answer))

    def objectives_of(self, answer: ClauseAnswer) -> Iterator[_Objective]:
        judged = [citation for citation in answer.citations if citation.judgement is not None]
        for number, citation in enumerate(judged, 1):
            yield _Objective(f"{self.own_id(answer)}.{number}", answer, citation)
        if not judged:
            yield _Objective(f"{self.own_id(answer)}.0", answer, None)

    def objectives(self, answer: ClauseAnswer) -> Json:
        return {
            "control-id": self.control(answer),
            "description": markdown_prose(f"{answer.clause}: {answer.title}"),
            "props": [_own_property("clause", answer.clause)],
            "parts": [
                {"id": objective.id, "name": "objective", "ns": OWN, "prose": markdown_prose(objective.asks)}
                for objective in self.objectives_of(answer)
            ],
        }

    def reviewed(self) -> Json:
        nist = dict.fromkeys(answer.control for answer in self.evidence.answers if answer.control)
        own = [self.own_id(answer) for answer in self.evidence.answers if not answer.control]
        catalogue: dict[str, Json] = {
            "description": f"Controls of {CATALOGUE}, by the ids of its catalogue.",
            "links": [{"href": f"#{self.id('catalogue')}", "rel": "reference"}],
        }
        clauses: dict[str, Json] = {
            "description": "Clauses that are not controls of a catalogue, with ids defined by rrpolicy.",
            "props": [_own_property("ids", "rrpolicy")],
            "links": [{"href": f"#{self.id('regime')}", "rel": "reference"}],
        }
        chosen = ((catalogue, nist), (clauses, own))
        return {
            "description": "The clauses that were looked at, each a control; of each, objectives of rrpolicy's own.",
            "control-selections": [
                {**told, "include-controls": [{"control-id": control} for control in ids]}
                for told, ids in chosen
                if ids
            ],
            "control-objective-selections": [
                {"include-objectives": [{"objective-id": objective.id} for objective in self.all_objectives]}
            ],
        }

    @cached_property
    def observed(self) -> Mapping[Citation, str]:
        """Return the observations, conditions included, with the id of each."""
        cited = [c for answer in self.evidence.answers for c in answer.citations]
        conditions = [_condition(c.judgement) for c in cited if c.judgement is not None and c.judgement.given]
        return {c: self.id(f"observation {n}") for n, c in enumerate(dict.fromkeys((*cited, *conditions)))}

    def observation(self, citation: Citation) -> Json:
        files = [file for file in self.evidence.files if _path_matches(file.path, citation.file)]
        until = self.evidence.holds_until
        return {
            "uuid": self.observed[citation],
            "description": markdown_prose(citation.text),
            "props": [_own_property("kind", citation.kind.value)],
            "methods": [_METHODS[citation.kind]],
            "types": ["control-objective"],
            "relevant-evidence": [
                {"href": f"#{self.id(file.path)}", "description": markdown_prose(citation.where)} for file in files
            ],
            "collected": self.released,
            **({} if until is None else {"expires": f"{until}T23:59:59Z"}),
        }

    def finding(self, objective: _Objective) -> Json:
        answer, decided = objective.answer, objective.citation
        judged = None if decided is None else decided.judgement
        beside = [citation for citation in answer.citations if citation.judgement is None]
        if decided is None or judged is None:
            state, reason = _STATES[Verdict.UNDECIDED]
            title = answer.title
            told = "Nothing computed decides it: people decide whether what is observed is enough." if beside else ""
        else:
            state, reason = _STATES[judged.verdict]
            title, told = judged.requirement, f"{decided.text}."
            beside = [decided, *([_condition(judged)] if judged.given else []), *beside]
        missing = [f"Missing: {text}." for text in answer.missing]
        related: list[Json] = [{"observation-uuid": self.observed[citation]} for citation in beside]
        return {
            "uuid": self.id(f"finding {objective.id}"),
            "title": markdown_prose(f"{answer.clause}: {title}"),
            "description": markdown_prose(
                " ".join([told or "Not covered: the release contains no evidence.", *missing])
            ),
            "target": {
                "type": "objective-id",
                "target-id": objective.id,
                "description": markdown_prose(objective.asks),
                "status": {"state": state, "reason": reason},
            },
            **({"related-observations": related} if related else {}),
        }

    def resources(self) -> Iterator[Json]:
        yield {"uuid": self.id("plan"), "title": "No assessment plan", "description": _NO_PLAN}
        yield {
            "uuid": self.id("regime"),
            "title": markdown_prose(self.evidence.title),
            "citation": {"text": markdown_prose(self.evidence.source)},
        }
        if any(answer.control for answer in self.evidence.answers):
            yield {
                "uuid": self.id("catalogue"),
                "title": CATALOGUE,
                "rlinks": [{"href": "https://doi.org/10.6028/NIST.SP.800-53r5"}],
            }
        for file in self.evidence.files:
            digest = file.digest.removeprefix("sha256:")
            yield {
                "uuid": self.id(file.path),
                "title": markdown_prose(file.path),
                "props": [{"name": "marking", "value": self.marking(file.path)}],
                "rlinks": [{"href": quote(file.path), "hashes": [{"algorithm": "SHA-256", "value": digest}]}],
            }

    @staticmethod
    def marking(path: str) -> str:
        """Return the people who may have a file: files in audit/ contain numbers of the original table."""
        return "confidential" if path.startswith(AUDIT) else "public"


def _path_matches(path: str, cited: str) -> bool:
    return path.startswith(cited) if cited.endswith("/") else path == cited


def _own_property(name: str, value: str) -> Json:
    return {"name": name, "ns": OWN, "value": visible(value)}


def _condition(judged: RequirementDecision) -> Citation:
    """Return the condition of a conditional result, as an observation."""
    text = (
        f"{judged.requirement}: it is {MET} {CONDITION}, which disclose statistics of the table: "
        f"{quoted_list(judged.given)}. An "
        "attacker who knows all other records can recompute them."
    )
    return Citation(CitationKind.RECORD, text, "public/release.json, derived")
