"""What each privacy model does not say: printed beside every finding, so that nobody takes it for more than it is."""

from __future__ import annotations

from collections.abc import Mapping

from rrpolicy.privacy.model import EVERY_MODEL

UNKNOWN = ("This model comes from a plugin that does not say what it leaves open; ask its author.", *EVERY_MODEL)


def model_caveats(model: str, offered: Mapping[str, object]) -> tuple[str, ...]:
    """Return what a finding does not say, as its model says it: see `rrpolicy.privacy.model.PrivacyModel`.

    Args:
        model: the privacy model's name, or one of its kinds, such as `l-diversity/entropy`; or what its assessors
            measure besides.
        offered: models by name.
    """
    family = model.partition("/")[0]
    if family in offered:
        one = offered[family]
        own = getattr(one, "measures", {}).get(model, getattr(one, "not_covered", None))
    else:
        own = next((m[family] for o in offered.values() if family in (m := getattr(o, "measures", {}))), None)
    return tuple(map(str, own)) if isinstance(own, tuple) and own else UNKNOWN
