"""Two files, folders, revisions or releases compared, policy by policy."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.govern.diff.altered import Altered, Comparison, Difference, Effect, Kind, Known, Places, Prices, Sense
from rrpolicy.govern.diff.announced import announced
from rrpolicy.govern.diff.entries import gates, plain_options, requirements
from rrpolicy.govern.diff.keys import columns, settings, waivers
from rrpolicy.govern.diff.pricing import Progress, prices
from rrpolicy.govern.diff.sides import Side, is_release, open_sides
from rrpolicy.releasing.plan.opening import PolicyLike
from rrpolicy.releasing.plan.waivers import Terms
from rrpolicy.source.memory.handed import Handed
from rrpolicy.untrusted.printable import listed


def compare(  # noqa: PLR0917 those of `rrpolicy.diff`
    old: PolicyLike, new: PolicyLike, on: Handed | int | None, root: Path | None, progress: Progress, terms: Terms
) -> Difference:
    """Compare; see `rrpolicy.diff` for the arguments and errors.

    Args:
        old: what was.
        new: what is.
        on: what the prices are computed from, as for `prices`.
        root: that the files lie under which the policies name.
        progress: called with what is being done, and the share done.
        terms: on which day both are judged.
    """
    before = () if is_release(old) else open_sides(old, root)
    after = open_sides(new, root, _plugins(before))
    before = before or open_sides(old, root, () if is_release(new) else _plugins(after))
    if len(before) == len(after) == 1:
        return Difference((_comparison(before[0], after[0], on, progress, terms),))
    one, other = _by_name(before), _by_name(after)
    pairs = [(one[name], side) for name, side in other.items() if name in one]
    gone = {os.path.basename(side.file): side for name, side in one.items() if name not in other}  # noqa: PTH119
    come = {os.path.basename(side.file): side for name, side in other.items() if name not in one}  # noqa: PTH119
    pairs += [(gone[file], side) for file, side in come.items() if file in gone]  # it has another name now
    added = tuple(side.file for file, side in come.items() if file not in gone)
    removed = tuple(side.file for file, side in gone.items() if file not in come)
    return Difference(tuple(_comparison(*pair, on, progress, terms) for pair in pairs), added, removed)


def _plugins(sides: tuple[Side, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plugin for side in sides for plugin in side.policy.plugins))


def _by_name(sides: tuple[Side, ...]) -> Mapping[str, Side]:
    found: dict[str, Side] = {}
    for side in sides:
        first = found.setdefault(side.policy.name, side)
        if first is not side:
            message = f"{first.file} and {side.file} are both called '{side.policy.name}'"
            hint = "policies of a folder are matched by name: give each its own, or compare file by file"
            raise PolicyError(Problem("RR250", message, side.at("policy.name"), hint=hint))
    return found


def _comparison(old: Side, new: Side, on: Handed | int | None, progress: Progress, terms: Terms) -> Comparison:
    found = prices(old, new, on, progress, terms)
    changes = [*settings(old, new), *waivers(old, new), *columns(old, new), *requirements(old, new), *gates(old, new)]
    changes += _mechanism(old, new, found)
    order = list(Effect)
    changes.sort(key=lambda change: order.index(change.effect))
    return Comparison(old.compared, new.compared, tuple(announced(old, new, changes)), found)


def _mechanism(old: Side, new: Side, found: Prices) -> Iterator[Altered]:
    """Yield what changed of the mechanism: its effect is what became of the guarantees."""
    one, other = old.policy.mechanism, new.policy.mechanism
    does, why = found.effect or Effect.INCOMPARABLE, _why(found)
    before, after = ({"name": m.name, **plain_options(m.options)} for m in (one, other))
    keys = ["name"] if one.name != other.name else dict.fromkeys([*before, *after])
    for key in (f"mechanism.{name}" for name in keys if before.get(name) != after.get(name)):
        name = key.removeprefix("mechanism.")
        places = Places(old.at(key), new.at(key))
        yield Altered(key, does, before.get(name), after.get(name), why, Sense.PROTECTION, places)


def _why(found: Prices) -> str:
    """Return what the effect of another mechanism is told by, and what of it cannot be compared, or why nothing can."""
    guarantees = [price for price in found.numbers if price.kind is Kind.GUARANTEE]
    unclear = listed(price.of for price in guarantees if price.effect is None)
    if found.effect is not None and unclear:
        return "by whether a release passes"
    if any(price.known for price in guarantees):
        return f"by the guarantees, recomputed from {found.known}{f'; {unclear} cannot be compared' if unclear else ''}"
    if found.known is not Known.TABLE:
        return (
            f"by the guarantees, which cannot be computed from {found.known}: plan both with --data or --expected-rows"
        )
    sides = (("old", found.before), ("new", found.after))
    refused = " and ".join(f"the {which} policy ({listed(one.problems)})" for which, one in sides if not one.passed)
    return f"by the guarantees, which cannot be compared: there is no plan of {refused or 'both'}"
