"""The risks to a person that a privacy model bounds, for documents on risks.

Models are given by name, as where they are offered: those that a policy does not name are not imported.
"""

from __future__ import annotations

from collections.abc import Mapping

from rrpolicy.finding import Risk
from rrpolicy.privacy.epsilon import scope_loss

_BOTH = frozenset(Risk)
_LINKING, _READING = frozenset({Risk.LINKING}), frozenset({Risk.READING})
_BOUNDED: Mapping[str, frozenset[Risk]] = {
    "local-dp": _BOTH,
    "rho1-to-rho2": _BOTH,
    "pk-anonymity": _LINKING,
    "k-anonymity": _LINKING,
    "k-map": _LINKING,
    "delta-presence": frozenset(),
    "identity-disclosure": _LINKING,
    "l-diversity": _READING,
    "t-closeness": _READING,
    "alpha-k-anonymity": _BOTH,
    "beta-likeness": _READING,
    "delta-disclosure": _READING,
    "attribute-disclosure": _READING,
}
_LIKELIHOODS: Mapping[str, Risk] = {"identity-disclosure": Risk.LINKING, "attribute-disclosure": Risk.READING}


def bounded_risks(model: str) -> frozenset[Risk]:
    """Return the risks that a model, or a kind of one such as `l-diversity/entropy`, bounds; none for a plugin's."""
    return _BOUNDED.get(model.partition("/")[0], frozenset())


def stated_likelihood(model: str) -> Risk | None:
    """Return the risk whose likelihood a model's requirement itself states; None if it states none."""
    return _LIKELIHOODS.get(model.partition("/")[0])


def linkage_attacker(model: str, number: str = "") -> str:
    """Return the attacker who links a person to a record with the chance in a finding; "" for a plugin's model.

    `number`: name of a related chance; "" for the limited one.
    """
    if number == scope_loss.LINKING:
        return scope_loss.ATTACKER
    return scope_loss.ATTACKER_OF_ONE if model.partition("/")[0] in _BOUNDED else ""


def includes_sensitive_knowledge(model: str, requirement: str) -> bool | None:
    """Return whether a requirement covers attackers who know other sensitive values; None for most models."""
    if model.partition("/")[0] != "attribute-disclosure":
        return None
    from rrpolicy.privacy.disclosure import attribute_options

    return attribute_options.OTHERS_KNOWN_PHRASE in requirement


def is_differential_privacy(model: str) -> bool:
    """Return whether a model is differential privacy."""
    return model.partition("/")[0] == "local-dp"
