"""public/dpv.jsonld: the release in the Data Privacy Vocabulary (DPV 2.3), as far as it has terms.

It has none for randomised response, PRAM, k-anonymity and similar methods: these are classes of a separate namespace,
below terms of DPV. `DifferentialPrivacy` is used only for a requirement of `local-dp` that is met unconditionally,
with its scope. Text written by people is a literal and never the name of a term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Decoder,
    MatrixDecoder,
    RecodeDecoder,
    RetentionDecoder,
    WithheldDecoder,
)
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.exports.metadata.method_sentences import ColumnMethod, alters_values, column_methods
from rrpolicy.finding import Finding, Risk, Verdict
from rrpolicy.manifest.manifest import Manifest, StatedRequirement
from rrpolicy.privacy.epsilon.scope_loss import LINKING
from rrpolicy.reports.bounded_risks import bounded_risks, is_differential_privacy, stated_likelihood
from rrpolicy.reports.context import declared_facts
from rrpolicy.wording import measure_words

NAME = "dpv.jsonld"
OWN = "urn:rrpolicy:term:"
"""Namespace of the terms that are not in DPV."""
_CONTEXT: Mapping[str, Json] = {
    "dpv": "https://w3id.org/dpv#",
    "risk": "https://w3id.org/dpv/risk#",
    "dct": "http://purl.org/dc/terms/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rrpolicy": OWN,
}
_FORMS: Mapping[type[Decoder], tuple[str, str]] = {
    RetentionDecoder: ("RandomisedResponse", "randomised response"),
    MatrixDecoder: ("PostRandomisation", "post-randomisation (PRAM)"),
    WithheldDecoder: ("PostRandomisation", "post-randomisation (PRAM)"),
    AdditionDecoder: ("SensitiveAddition", "addition of sensitive values"),
    AnatomyDecoder: ("Anatomy", "anatomy"),
    RecodeDecoder: ("Generalisation", "generalisation"),
}
"""Forms of decoders -> the term and its name."""
_READING = "AttributeDisclosure"


class _MetRequirement(Struct, frozen=True):
    """A requirement that is met, with its finding and its node."""

    id: str
    stated: StatedRequirement
    finding: Finding

    @property
    def family(self) -> str:
        """Return the model's name, without its kind."""
        return self.stated.model.partition("/")[0]

    @property
    def words(self) -> str:
        """Return the requirement in words, with the achieved number if it is public."""
        reached = self.finding.achieved
        return f"{self.finding.model}: {self.finding.stated}" + (
            f"; achieved {measure_words(reached)}" if reached else ""
        )


def dpv(manifest: Manifest) -> dict[str, Json]:
    """Return the release as JSON-LD.

    The manifest needs no `files` and no `digest` yet.
    """
    pairs = zip(manifest.requirements, manifest.findings, strict=False)  # one each; verify reports missing ones
    held = [
        _MetRequirement(f"_:requirement{number}", stated, finding)
        for number, (stated, finding) in enumerate(pairs, 1)
        if finding.verdict is Verdict.SATISFIED
    ]
    treated = [treatment for treatment in column_methods(manifest.decoders) if treatment.changed]
    measures: list[Json] = [
        *map(_treatment_node, treated),
        *(_requirement_node(each, manifest) for each in held),
        *_organisational_measures(manifest),
    ]
    process: dict[str, Json] = {
        "@type": "dpv:Process",
        "dct:title": manifest.policy.name,
        "dct:hasVersion": manifest.policy.version,
        "dct:identifier": manifest.policy.digest,
        "dpv:hasProcessing": {"@id": "dpv:MakeAvailable"},
        **_declared_properties(manifest),
        "dpv:hasTechnicalOrganisationalMeasure": measures,
        "dpv:hasRisk": [*_risk_nodes(held, manifest)],
    }
    return {"@context": dict(_CONTEXT), "@graph": [process, *_own_terms(treated, held)]}


def _declared_properties(manifest: Manifest) -> dict[str, Json]:
    """Return purpose, controller, recipients, legal basis and licence, as far as declared."""
    policy, context = manifest.policy, manifest.governance.context
    found: dict[str, Json] = {}
    if policy.purpose:
        found["dpv:hasPurpose"] = {"@type": "dpv:Purpose", "dct:description": policy.purpose}
    if policy.owner:
        found["dpv:hasDataController"] = {"@type": "dpv:DataController", "dpv:hasName": policy.owner}
    if context.recipients:
        found["dpv:hasRecipient"] = [{"@type": "dpv:Recipient", "dpv:hasName": name} for name in context.recipients]
    if context.legal_basis:
        found["dpv:hasLegalBasis"] = {"@type": "dpv:LegalBasis", "dct:description": context.legal_basis}
    if context.licence:
        found["dct:license"] = {"@type": "dct:LicenseDocument", "dct:title": context.licence}
    return found


def _treatment_node(treatment: ColumnMethod) -> Json:
    term, _ = _FORMS[treatment.form]
    return {"@type": f"rrpolicy:{term}", "dct:description": treatment.words}


def _requirement_node(held: _MetRequirement, manifest: Manifest) -> Json:
    own = f"rrpolicy:{_model_term(held.family)}"
    node: dict[str, Json] = {"@id": held.id, "@type": own, "dct:description": f"{held.words}. {held.finding.adversary}"}
    if is_differential_privacy(held.family) and not held.finding.given:
        scope: dict[str, Json] = {"@type": "dpv:Scope", "dct:description": _epsilon_scope(held, manifest)}
        node |= {"@type": [own, "dpv:DifferentialPrivacy"], "dpv:hasScope": scope}
    return node


def _epsilon_scope(held: _MetRequirement, manifest: Manifest) -> str:
    """Return the scope of an epsilon: a column outside the record scope is protected by neither."""
    scope = held.stated.options.get("scope")
    left_out = {a.name for a in manifest.attributes if scope == "record" and a.assume_unlinkable is not None}
    names = [name for d in manifest.decoders if alters_values(d) for name in d.attributes if name not in left_out]
    epsilon = "" if held.finding.achieved is None else f"epsilon {measure_words(held.finding.achieved)}, "
    scoped = "" if scope is None else f"{scope} scope: "
    return f"local, {epsilon}{scoped}{quoted_list(names)}"


def _organisational_measures(manifest: Manifest) -> Iterator[Json]:
    facts, context = declared_facts(manifest.governance.context), manifest.governance.context
    for key in ("release_model", "environment"):
        if key in facts:
            told = f"{facts[key].name}: {facts[key].value}"
            yield {"@type": "dpv:TechnicalOrganisationalMeasure", "dct:description": told}
    if context.review_by:
        day: dict[str, Json] = {"@type": "xsd:date", "@value": context.review_by}
        yield {"@type": "dpv:ReviewProcedure", "dct:description": "review of the policy", "dct:valid": day}


def _risk_nodes(held: Sequence[_MetRequirement], manifest: Manifest) -> Iterator[Json]:
    """Return the risks to a person, the measures against them, and the residual risks.

    Only findings state likelihoods.
    """
    unchanged = {name for d in manifest.decoders if not alters_values(d) for name in d.attributes}
    for term, what, role in (
        ("risk:UnauthorisedReidentification", Risk.LINKING, Role.QUASI_IDENTIFIER),
        (f"rrpolicy:{_READING}", Risk.READING, Role.SENSITIVE),
    ):
        against = [each for each in held if what in bounded_risks(each.family)]
        likely = list(dict.fromkeys(text for each in against for text in _likelihood_texts(each, what)))
        names = [a.release_as for a in manifest.attributes if a.role is role and a.name in unchanged]
        left = [f"Released unchanged: {quoted_list(names)}."] if names else []
        left += manifest.assumptions if against else [f"No requirement is known to bound {what.meaning}."]
        residual: dict[str, Json] = {"@type": "dpv:ResidualRisk", "dct:description": [*left]}
        if likely:
            residual["dpv:hasLikelihood"] = [{"@type": "dpv:Likelihood", "dct:description": text} for text in likely]
        risk: dict[str, Json] = {"@type": ["dpv:Risk", term], "dct:description": what.meaning}
        if against:
            risk["dpv:isMitigatedByMeasure"] = [{"@id": each.id} for each in against]
        yield {**risk, "dpv:hasResidualRisk": residual}


def _likelihood_texts(held: _MetRequirement, risk: Risk) -> Iterator[str]:
    """Yield the statements of a finding on the likelihood of a risk."""
    if stated_likelihood(held.family) is risk:
        yield held.words
    for companion in held.finding.companions:
        if risk is Risk.LINKING and companion.name == LINKING and not companion.given:
            yield f"{companion.name} = {measure_words(companion.measure)}: {companion.meaning}"


def _own_terms(treated: Sequence[ColumnMethod], held: Sequence[_MetRequirement]) -> list[Json]:
    """Return the additional classes that the file uses, each below one of DPV."""
    found = {_READING: ("attribute disclosure", "risk:UnauthorisedInformationDisclosure")}
    found |= {term: (name, "dpv:Deidentification") for term, name in (_FORMS[t.form] for t in treated)}
    found |= {_model_term(each.family): (each.family, "dpv:TechnicalMeasure") for each in held}
    return [
        {
            "@id": f"rrpolicy:{term}",
            "@type": "rdfs:Class",
            "rdfs:subClassOf": {"@id": above},
            "skos:broader": {"@id": above},
            "skos:prefLabel": {"@value": name, "@language": "en"},
        }
        for term, (name, above) in found.items()
    ]


def _model_term(model: str) -> str:
    """Return the term of a privacy model; a plugin's model names its term."""
    return f"model-{quote(model, safe='')}"
