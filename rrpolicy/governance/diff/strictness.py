"""Comparison of a key's strictness between two policies, by its entry in the table of directions.

`rrpolicy.policy.baseline.floor` compares a file with its baseline; this module compares whole policies, with all
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rrpolicy.governance.diff.changes import Effect
from rrpolicy.policy.baseline.floor import DROPPED_ROLES
from rrpolicy.policy.directions import Direction, DirectionRule

OBSERVED = "observed"


def change_effect(rule: DirectionRule, old: Any, new: Any) -> Effect:
    """Return the effect of a change of a key: weaker in one direction, the other, both or neither.

    None means neither stated nor a default.
    """
    return Effect.of(weaker=_is_weaker(rule, old, new), stronger=_is_weaker(rule, new, old))


def _is_weaker(rule: DirectionRule, old: Any, new: Any) -> bool:
    return _WEAKER[rule.direction](rule.value, old, new)


def _has_additions(old: Any, new: Any) -> bool:
    """Return whether a value was stated or listed that was not before; another reason is another statement."""
    if isinstance(new, Sequence) and not isinstance(new, str):
        return any(item not in (old or ()) for item in new)
    return new is not None and new != old


def _is_greater(number: int | None, limit: int | None, unstated: Any) -> bool:
    number, limit = (unstated if value is None else value for value in (number, limit))
    return number is not None and (limit is None or number > limit)


def _is_finer(old: Any, new: Any) -> bool:
    """Return whether categories are newly distinguished, or reordered, or taken from the data."""
    if old is None or old == OBSERVED:
        return False
    if new is None or new == OBSERVED or type(old) is not type(new):
        return True
    rest = iter(old)
    return not all(item in rest for item in new)


def _recategorised(old: Any, new: Any) -> bool:
    return any(name in old and old[name] != content for name, content in (new or {}).items()) if old else False


_WEAKER: Mapping[Direction, Callable[[Any, Any, Any], bool]] = {
    Direction.NEVER: lambda *_: False,
    Direction.STATED: lambda _, old, new: _has_additions(old, new),
    Direction.ASSUMED: lambda _, old, new: _has_additions(old, new),
    Direction.PASSED_ON: lambda _, old, new: _has_additions(old, new),
    Direction.WIDENED: lambda _, old, new: bool(old) and (not new or _has_additions(old, new)),
    Direction.APPENDED: lambda _, old, new: _has_additions(new, old),
    Direction.ADMITTED: lambda none, old, new: old in {None, none} and new not in {None, none},
    Direction.SET: lambda weaker, old, new: new == weaker != old,
    Direction.LOWERED: lambda unstated, old, new: _is_greater(old, new, unstated),
    Direction.RAISED: lambda unstated, old, new: _is_greater(new, old, unstated),
    Direction.LATER: lambda _, old, new: old is not None and (new is None or new > old),
    Direction.WIDER: lambda order, old, new: old is not None and (new is None or order.index(new) > order.index(old)),
    Direction.CHANGED: lambda _, old, new: old is not None and new != old,
    Direction.TABLE: lambda _, old, new: new != old,
    Direction.HELD: lambda _, old, new: _recategorised(old, new),
    Direction.LEDGER: lambda strictest, old, new: new not in (old, strictest),
    Direction.CLAIMED: lambda _, old, new: new is not None and (old is None or new < old),
    Direction.UNIT: lambda _, old, new: old is not None and new != old,
    Direction.ROLE: lambda _, old, new: old not in {"insensitive", new} and new not in DROPPED_ROLES,
    Direction.FINER: lambda _, old, new: _is_finer(old, new),
}
"""Direction -> whether the second of two values is weaker, given the value of the rule."""
