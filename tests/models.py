"""Requirements of any privacy model of the core, by its name."""

from __future__ import annotations

from typing import Any

from rrpolicy.builtin import MODELS
from rrpolicy.plugin_spec import Offer
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.model import Assessor


def requirement_of(model: str, where: dict[str, Any] | None = None, **options: Any) -> Requirement:
    """Return an entry with its options, as the model's own class reads them."""
    return Requirement(model, Offer(model, MODELS[model]).load().options(**options), where or {})


def assessors_of(model: str) -> tuple[Assessor, ...]:
    """Return the assessors that a model brings itself."""
    found: tuple[Assessor, ...] = Offer(model, MODELS[model]).load().assessors()
    return found
