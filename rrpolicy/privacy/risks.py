"""Which risk to a person a privacy model bounds, for documents that speak of risks and not of models."""

from __future__ import annotations

from collections.abc import Mapping

from rrpolicy.finding import Risk
from rrpolicy.privacy.disclosure import attribute_options, identity_options
from rrpolicy.privacy.epsilon import exposure
from rrpolicy.privacy.models import (
    alpha_k_anonymity,
    beta_likeness,
    delta_disclosure,
    delta_presence,
    k_anonymity,
    k_map,
    l_diversity,
    local_dp,
    pk_anonymity,
    rho1_to_rho2,
    t_closeness,
)

_BOTH = frozenset(Risk)
_LINKING, _READING = frozenset({Risk.LINKING}), frozenset({Risk.READING})
_BOUNDED: Mapping[str, frozenset[Risk]] = {
    local_dp.NAME: _BOTH,
    rho1_to_rho2.NAME: _BOTH,
    pk_anonymity.NAME: _LINKING,
    k_anonymity.NAME: _LINKING,
    k_map.NAME: _LINKING,
    delta_presence.NAME: frozenset(),
    identity_options.NAME: _LINKING,
    l_diversity.NAME: _READING,
    t_closeness.NAME: _READING,
    alpha_k_anonymity.NAME: _BOTH,
    beta_likeness.NAME: _READING,
    delta_disclosure.NAME: _READING,
    attribute_options.NAME: _READING,
}
_LIKELIHOODS: Mapping[str, Risk] = {identity_options.NAME: Risk.LINKING, attribute_options.NAME: Risk.READING}


def bounded_by(model: str) -> frozenset[Risk]:
    """Return the risks that a model bounds; nothing is known of a plugin's.

    Args:
        model: its name, or one of its kinds, such as `l-diversity/entropy`.
    """
    return _BOUNDED.get(model.partition("/")[0], frozenset())


def likelihood_in(model: str) -> Risk | None:
    """Return the risk whose likelihood a model's requirement itself states; None if it states none."""
    return _LIKELIHOODS.get(model.partition("/")[0])


def linked_by(model: str, number: str = "") -> str:
    """Return who links a person to a record with a chance that a finding tells, as every page names that attacker.

    Args:
        model: of the finding.
        number: name of the chance beside it; "" for what the requirement itself limits.

    Returns:
        "" of a plugin's model, of whose attacker nothing is known.
    """
    if number == exposure.LINKING:
        return exposure.ATTACKER
    return identity_options.ATTACKER if model.partition("/")[0] in _BOUNDED else ""


def others_known(model: str, requirement: str) -> bool | None:
    """Return whether a requirement counts with attackers who know a person's other sensitive values.

    Args:
        model: that it belongs to.
        requirement: as a finding states it.

    Returns:
        None of a model that knows no such attackers.
    """
    if model.partition("/")[0] != attribute_options.NAME:
        return None
    return attribute_options.OTHERS_KNOWN in requirement


def differential_privacy(model: str) -> bool:
    """Return whether a model is differential privacy."""
    return model.partition("/")[0] == local_dp.NAME
