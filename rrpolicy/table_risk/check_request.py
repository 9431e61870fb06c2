"""Measuring a table for a caller: thresholds validated like a policy's entries, the policy opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.planning.policy_opening import reopen_policy
from rrpolicy.policy.model import Requirement
from rrpolicy.registry import Registry
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.table_risk.measure import class_models
from rrpolicy.table_risk.risks import PopulationOptions
from rrpolicy.table_risk.table import TableCheck, TableRiskRequest, measure_table
from rrpolicy.verb_options import CheckTableOptions, ClassLimits, shared, to_path


def run_table_check(handed: InputTable, options: CheckTableOptions, said: PopulationOptions) -> TableCheck:
    """Measure a table; see `rrpolicy.check_table` for the arguments and errors."""
    policy, known, sensitive = options["policy"], options["qi"], options["sensitive"]
    thresholds = {**shared(options, ClassLimits), "sampling_fraction": options["sampling_fraction"]}
    found = None if policy is None else reopen_policy(policy, root=to_path(options["root"]))
    listed = () if found is None else found.policy.plugins
    loaded = load_registry([*listed, *options["plugins"]]) if found is None or options["plugins"] else found.registry
    reference = {} if said.reference is None else said.reference.engines
    registry = loaded.opening({**handed.engines, **reference})
    with registry.naming_engines(), scratch_folder() as spilled:
        asked = TableRiskRequest(
            handed.uri or "",
            options["table"],
            None if known is None else tuple(known),
            None if sensitive is None else tuple(sensitive),
            None if found is None else found.policy,
            tuple(threshold_requirements(registry, thresholds)),
            options["suppressed"],
            said,
            options["unit"],
        )
        return measure_table(asked, registry, spilled.folder)


_OF_ANY = ("sampling_fraction",)
"""Names that are both options of a call and of some models."""


def threshold_requirements(registry: Registry, thresholds: Mapping[str, Any]) -> list[Requirement]:
    """Turn thresholds into requirements, for every class-based model, by its limit option; RR250 if one is invalid."""
    found = []
    models = {name: model for name, model in class_models(registry).items() if model.asks}
    asking = {told.called.get(told.asks, told.asks) for told in models.values()}
    for name, told in models.items():
        options = registry.privacy_models[name].options
        called = {key: told.called.get(key, key) for key in options.model_fields}
        given = {key: thresholds[its] for key, its in called.items() if thresholds.get(its) is not None}
        if told.asks in given:
            found.append(_threshold_requirement(name, options, given, called))
            continue
        for key in given:
            if key != told.kind and called[key] not in {*asking, *_OF_ANY}:
                words = [called[part].replace("_", "-") for part in (key, told.asks)]
                raise PolicyError(Problem("RR250", "--{} goes with --{}".format(*words)))
    return found


def _threshold_requirement(
    model: str, options: type[BaseModel], given: dict[str, Any], called: Mapping[str, str]
) -> Requirement:
    try:
        return Requirement(model, options.model_validate(given))
    except ValidationError as error:
        first = error.errors()[0]
        key = "".join(f"--{called.get(str(part), str(part)).replace('_', '-')}: " for part in first["loc"][:1])
        told = re.sub(r"`(\w+)`", r"--\1", first["msg"].removeprefix("Value error, "))
        raise PolicyError(Problem("RR250", key + told)) from None
