"""A resolved policy as JSON, read back: plans and bundles keep it so that a later default cannot reinterpret it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from rrpolicy.canonical import Json, parse_number
from rrpolicy.errors import Problem, RefusedError
from rrpolicy.policy.catalogue import Catalogue
from rrpolicy.policy.model import (
    Attribute,
    Bins,
    CsvSettings,
    Gate,
    MechanismChoice,
    Policy,
    ReleaseSettings,
    Requirement,
    Role,
    SourceSettings,
)


def policy_from_json(document: Mapping[str, Any], catalogue: Catalogue, *, uri: str = "", folder: str = ".") -> Policy:
    """Read what `Policy.to_json` wrote.

    Args:
        document: the resolved policy.
        catalogue: of the plugins that the policy lists.
        uri: of the table, which the document does not hold.
        folder: that a relative uri starts from.

    Raises:
        RefusedError: RR404 if the document is of another schema or names what no loaded plugin offers.
    """
    if document.get("schema") != 1:
        raise RefusedError(Problem("RR404", f"a resolved policy of schema {document.get('schema')!r} is unknown"))
    head, source, release = document["policy"], document["source"], document["release"]
    mechanism = document["mechanism"]
    return Policy(
        name=head["name"],
        version=head["version"],
        owner=head["owner"],
        purpose=head["purpose"],
        plugins=tuple(head["plugins"]),
        source=SourceSettings(
            uri,
            source["table"],
            source["min_rows"],
            source["population"],
            tuple(source["missing"]),
            CsvSettings(**source["csv"]),
            source["unit"],
            source["max_records"],
            source["other_columns"],
        ),
        attributes={a["name"]: _attribute(a) for a in document["attributes"]},
        requirements=tuple(requirement_from_json(r, catalogue, source["max_records"]) for r in document["privacy"]),
        mechanism=MechanismChoice(
            mechanism["name"],
            _options(catalogue.mechanisms, mechanism["name"], mechanism["options"], "mechanism"),
            plan_on="" if mechanism["plan_on"] else None,
            plan_on_table=mechanism["plan_on_table"],
        ),
        gates=tuple(
            Gate(
                g["metric"], _options(catalogue.utility_metrics, g["metric"], g["options"], "utility metric"), g["max"]
            )
            for g in document["utility"]
        ),
        release=ReleaseSettings(
            release["format"], tuple(release["accept"]), release["audit_counts"], release["csv_formulas"]
        ),
        folder=folder,
    )


def requirement_from_json(document: Mapping[str, Any], catalogue: Catalogue, max_records: int) -> Requirement:
    """Read what `Requirement.to_json` wrote.

    Args:
        document: the requirement.
        catalogue: of the privacy models.
        max_records: of a unit, which the document does not hold.

    Raises:
        RefusedError: RR404 if no loaded plugin offers the privacy model.
    """
    model = document["model"]
    options = _options(catalogue.privacy_models, model, document["options"], "privacy model")
    return Requirement(model, options, dict(document["where"]), max_records=max_records)


def _options(known: Mapping[str, type[BaseModel]], name: str, options: Json, what: str) -> BaseModel:
    if name not in known:
        raise RefusedError(Problem("RR404", f"no loaded plugin offers the {what} '{name}'"))
    read = known[name].model_validate(options)
    defaults = {key: field.get_default(call_default_factory=True) for key, field in known[name].model_fields.items()}
    # what stands at its default counts as not given: mechanisms refuse options that are given and have no use
    read.model_fields_set.intersection_update(k for k, default in defaults.items() if getattr(read, k) != default)
    return read


def _edge(document: Json) -> float | str:
    """Read an edge of bins: a number, an infinity, or a date or time as text."""
    if isinstance(document, str) and document not in {"inf", "-inf"}:
        return document
    return parse_number(document)


def _attribute(document: Mapping[str, Any]) -> Attribute:
    bins, hierarchy, domain = document["bins"], document["hierarchy"], document["domain"]
    return Attribute(
        name=document["name"],
        role=Role(document["role"]),
        domain=None if domain is None else tuple(domain),
        observed=document["observed"],
        outside=document["outside"],
        nulls=document["nulls"],
        scale=document["scale"],
        bins=None if bins is None else Bins(tuple(map(_edge, bins["edges"])), tuple(bins["labels"])),
        release_as=document["release_as"],
        hierarchy=None if hierarchy is None else tuple(tuple(level) for level in hierarchy),
        assume_unlinkable=document["assume_unlinkable"],
        unchanged=document["unchanged"],
        missing=None if document["missing"] is None else tuple(document["missing"]),
    )
