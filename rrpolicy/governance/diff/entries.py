"""The [[privacy]] and [[utility]] entries of two policies, matched by their identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from rrpolicy.canonical_json import Json, Value, canonical
from rrpolicy.finding import BOUND_WORDS
from rrpolicy.governance.diff.changes import ChangeSubject, Effect, PlacePair, PolicyChange
from rrpolicy.governance.diff.diff_inputs import DiffInput
from rrpolicy.planning.assess import requirement_text
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.baseline.floor import DROPPED_ROLES
from rrpolicy.policy.directions import DIRECTION_RULES, Direction, DirectionRule
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Gate, Requirement
from rrpolicy.privacy.model import Order
from rrpolicy.registry import Registry
from rrpolicy.serialization import plain

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


_EFFECTS = {
    Order.WEAKER: Effect.WEAKER,
    Order.STRONGER: Effect.STRONGER,
    Order.INCOMPARABLE: Effect.INCOMPARABLE,
    Order.EQUAL: Effect.NEUTRAL,
}


def requirement_changes(old: DiffInput, new: DiffInput) -> Iterator[PolicyChange]:
    """Yield each [[privacy]] entry that was added, removed or changed; entries are compared by their model."""
    before, after = requirements_by_identity(old), requirements_by_identity(new)
    pairs = {name: name for name in before if name in after}
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    for name in gone:
        match = next(
            (n for n in come if requirement_effect(before[name], after[n], new.registry) is not Effect.INCOMPARABLE),
            None,
        )
        if match is not None:
            pairs[name] = match
            come.remove(match)
    for name, match in pairs.items():
        one, other = before[name], after[match]
        if plain(one) != plain(other):
            does = requirement_effect(one, other, new.registry)
            why = f"{requirement_text(one, old.registry)} before, {requirement_text(other, new.registry)} now"
            yield _entry_change(name, does, why, (one, other), (old, new))
    lost = [name for name in gone if name not in pairs]
    for names, entries, others, rated, said, asks in (
        (lost, before, after, Effect.WEAKER, "is required no more", "asks"),
        (come, after, before, Effect.STRONGER, "is required as well", "asked"),
    ):
        own = old if names is lost else new
        for name in names:
            one = entries[name]
            why = f"{requirement_text(one, own.registry)} {said}"
            implied = _implied_requirement(one, others.values(), new.registry)
            if implied is not None:
                why += f", and '{requirement_text(implied, new.registry)}' {asks} for at least as much"
            pair = (one, None) if names is lost else (None, one)
            yield _entry_change(name, rated if implied is None else Effect.NEUTRAL, why, pair, (old, new))


def gate_changes(old: DiffInput, new: DiffInput) -> Iterator[PolicyChange]:
    """Yield each [[utility]] entry that was added, removed or changed: it is weaker if it passes more results."""
    before, after = (dict(zip(entry_identities(s.policy).gates, s.policy.gates, strict=True)) for s in (old, new))
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name), after.get(name)
        was, now = (None if g is None else {**plain_options(g.options), g.bound: g.max or g.min} for g in (one, other))
        if was == now:
            continue
        if one is None or other is None:
            does = Effect.WEAKER if other is None else Effect.STRONGER
            why = "nothing limits this error any more" if other is None else "this error is limited as well"
        else:
            does = _gate_effect(one, other)
            why = f"{_limit_text(one)} before, {_limit_text(other)} now"
        at = (None if g is None else side.shown(g.place) for g, side in ((one, old), (other, new)))
        yield PolicyChange(name, does, was, now, why, ChangeSubject.UTILITY, PlacePair(*at))


def plain_options(options: BaseModel) -> dict[str, Json]:
    """Return the options of an entry as plain data."""
    return options.model_dump(mode="json", exclude_none=True)


def _limit_text(gate: Gate) -> str:
    return f"{BOUND_WORDS[gate.bound]} {gate.max or gate.min}"


def _gate_effect(old: Gate, new: Gate) -> Effect:
    if old.options != new.options or old.bound != new.bound:
        return Effect.INCOMPARABLE
    wider, narrower = new.limit > old.limit, new.limit < old.limit
    return (
        Effect.of(weaker=wider, stronger=narrower) if new.bound == "max" else Effect.of(weaker=narrower, stronger=wider)
    )


def requirements_by_identity(side: DiffInput) -> Mapping[str, Requirement]:
    """Return the [[privacy]] entries of a policy by their identity."""
    return dict(zip(entry_identities(side.policy).requirements, side.policy.requirements, strict=True))


def requirement_effect(old: Requirement, new: Requirement, registry: Registry) -> Effect:
    """Return the effect on a requirement: weaker, too, if it covers fewer people, or if an estimate decides."""
    if old.model != new.model:
        return Effect.INCOMPARABLE
    compare = check_return_type(Order, registry.privacy_models[new.model].compare)
    people = Effect.of(weaker=not _covers_same_people(new, old), stronger=not _covers_same_people(old, new))
    decided = change_effect(DIRECTION_RULES["privacy.decided_by"], old.decided_by, new.decided_by)
    return Effect.together([_EFFECTS[compare(old.options, new.options)], people, decided])


def _covers_same_people(one: Requirement, other: Requirement) -> bool:
    return _items(one.where).items() <= _items(other.where).items()


def _items(where: Mapping[str, Value]) -> dict[str, bytes]:
    return {name: canonical(value) for name, value in where.items()}


def _implied_requirement(one: Requirement, others: Iterable[Requirement], registry: Registry) -> Requirement | None:
    held = {Effect.STRONGER, Effect.NEUTRAL}
    return next((other for other in others if requirement_effect(one, other, registry) in held), None)


def _entry_change(
    name: str,
    does: Effect,
    why: str,
    entries: tuple[Requirement | None, Requirement | None],
    sides: tuple[DiffInput, DiffInput],
) -> PolicyChange:
    before, after = (None if r is None else _requirement_json(r) for r in entries)
    at = (None if r is None else side.shown(r.place) for r, side in zip(entries, sides, strict=True))
    return PolicyChange(name, does, before, after, why, ChangeSubject.PROTECTION, PlacePair(*at))


def _requirement_json(requirement: Requirement) -> dict[str, Json]:
    where = {"where": plain(requirement.where)} if requirement.where else {}
    return {"model": requirement.model, **plain_options(requirement.options), **where}
