"""A resolved policy as JSON, read back: plans and bundles keep it so that a later default cannot reinterpret it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from rrpolicy.canonical_json import Json
from rrpolicy.errors import MissingNameError, Problem, RefusedError
from rrpolicy.policy.model import (
    Attribute,
    Gate,
    LedgerSettings,
    MechanismChoice,
    Policy,
    ReferenceSettings,
    ReleaseSettings,
    Requirement,
    SourceSettings,
)
from rrpolicy.serialization import read


class Catalogue(Protocol):
    """The names that a policy may use, with the pydantic class that validates the options of each."""

    @property
    def mechanisms(self) -> Mapping[str, type[BaseModel]]:
        """Return mechanism name -> options class."""
        ...

    @property
    def privacy_models(self) -> Mapping[str, type[BaseModel]]:
        """Return privacy model name -> options class."""
        ...

    @property
    def utility_metrics(self) -> Mapping[str, type[BaseModel]]:
        """Return utility metric name -> options class."""
        ...

    @property
    def formats(self) -> Collection[str]:
        """Return the formats that released data may have."""
        ...

    @property
    def aliases(self) -> Mapping[str, str]:
        """Return other names that policies may use of mechanisms -> their names."""
        ...

    @property
    def recorded(self) -> Mapping[str, str]:
        """Return mechanism name -> the earlier name that resolved policies record it under, where there is one."""
        ...


class PlannedOptions(BaseModel):
    """Options of a mechanism that is absent, as it resolved them: nothing after planning needs it."""

    model_config = ConfigDict(extra="allow", frozen=True)


def mechanism_from_json(document: Mapping[str, Any], catalogue: Catalogue | None) -> MechanismChoice:
    """Read the mechanism of a resolved policy by the options classes available; it may be absent."""
    recorded, options = document["name"], document["options"]
    if catalogue is not None and recorded in catalogue.mechanisms:
        chosen, name = (
            _options_from_json(catalogue.mechanisms, recorded, options, "mechanism"),
            catalogue.aliases.get(recorded),
        )
    else:
        chosen, name = PlannedOptions.model_validate(options), None
    stated = {key: value for key, value in document.items() if key != "plan_on"} | {"name": name or recorded}
    own = {"options": chosen, "plan_on": "" if document["plan_on"] else None}
    return read(MechanismChoice, stated, own | ({} if name is None else {"recorded": recorded}))


def policy_from_json(document: Mapping[str, Any], catalogue: Catalogue, *, uri: str = "", folder: str = ".") -> Policy:
    """Read the output of `Policy.to_json`.

    The document does not contain `uri`. Raises RefusedError (RR404) if it is of another schema or contains a name that
    no loaded plugin offers; a mechanism is not needed any more.
    """
    if document.get("schema") != 1:
        raise RefusedError(Problem("RR404", f"a resolved policy of schema {document.get('schema')!r} is unknown"))
    source = read(SourceSettings, document["source"], {"uri": uri})
    form = document["release"]["format"]
    if form not in catalogue.formats:
        raise MissingNameError("format", form)
    return Policy(
        **{**document["policy"], "plugins": tuple(document["policy"]["plugins"])},
        source=source,
        attributes={a["name"]: read(Attribute, a) for a in document["attributes"]},
        requirements=tuple(requirement_from_json(r, catalogue, source.max_records) for r in document["privacy"]),
        mechanism=mechanism_from_json(document["mechanism"], catalogue),
        gates=tuple(
            read(
                Gate,
                g,
                {"options": _options_from_json(catalogue.utility_metrics, g["metric"], g["options"], "utility metric")},
            )
            for g in document["utility"]
        ),
        release=read(ReleaseSettings, document["release"]),
        ledger=_ledger_from_json(document["ledger"], catalogue, source.max_records) if "ledger" in document else None,
        reference=read(ReferenceSettings, document["reference"], {"uri": None}) if "reference" in document else None,
        folder=folder,
    )


def requirement_from_json(document: Mapping[str, Any], catalogue: Catalogue, max_records: int) -> Requirement:
    """Read a requirement of a resolved policy, or of a release.

    The document does not contain `max_records`. Raises RefusedError (RR404) if no loaded plugin offers the privacy
    model.
    """
    model = document["model"]
    options = _options_from_json(catalogue.privacy_models, model, document["options"], "privacy model")
    return read(Requirement, document, {"options": options, "max_records": max_records})


def _ledger_from_json(document: Mapping[str, Any], catalogue: Catalogue, max_records: int) -> LedgerSettings:
    """Read [ledger]; the document does not contain the file's location."""
    budget = tuple(requirement_from_json(r, catalogue, max_records) for r in document["budget"])
    return read(LedgerSettings, document, {"file": "", "budget": budget})


def _options_from_json(known: Mapping[str, type[BaseModel]], name: str, options: Json, what: str) -> BaseModel:
    if name not in known:
        raise MissingNameError(what, name)
    read = known[name].model_validate(options)
    defaults = {key: field.get_default(call_default_factory=True) for key, field in known[name].model_fields.items()}
    # a value equal to its default counts as not given: mechanisms refuse options that are given and have no use
    read.model_fields_set.intersection_update(k for k, default in defaults.items() if getattr(read, k) != default)
    return read
