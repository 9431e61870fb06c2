"""The risks to a person that a privacy model bounds, for documents on risks.

Each model of the core declares them in its class. Only the models that a document names are imported.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rrpolicy.builtin import MODELS
from rrpolicy.finding import Risk
from rrpolicy.plugin_spec import Offer
from rrpolicy.privacy.epsilon import scope_loss


@cache
def _model(name: str) -> Any:
    """Return a model of the core by its name, or that of a kind such as `l-diversity/entropy`; None for a plugin's."""
    name = name.partition("/")[0]
    return Offer(name, MODELS[name]).load() if name in MODELS else None


def bounded_risks(model: str) -> frozenset[Risk]:
    """Return the risks that a model bounds; none for a plugin's."""
    found: frozenset[Risk] = getattr(_model(model), "bounds", frozenset())
    return found


def models_that_bound(risk: Risk) -> list[str]:
    """Return the names of the core's models that bound a risk."""
    return [name for name in MODELS if risk in bounded_risks(name)]


def stated_likelihood(model: str) -> Risk | None:
    """Return the risk whose likelihood a model's requirement itself states; None if it states none."""
    found: Risk | None = getattr(_model(model), "states", None)
    return found


def linkage_attacker(model: str, number: str = "") -> str:
    """Return the attacker who links a person to a record with the chance in a finding; "" for a plugin's model.

    `number`: name of a related chance; "" for the limited one.
    """
    if number == scope_loss.LINKING:
        return scope_loss.ATTACKER
    return scope_loss.ATTACKER_OF_ONE if model.partition("/")[0] in MODELS else ""


def includes_sensitive_knowledge(model: str, requirement: str) -> bool | None:
    """Return whether a requirement covers attackers who know other sensitive values; None for most models."""
    phrase: str | None = getattr(_model(model), "others_known", None)
    return None if phrase is None else phrase in requirement


def is_differential_privacy(model: str) -> bool:
    """Return whether a model is differential privacy."""
    return getattr(_model(model), "differential", False)
