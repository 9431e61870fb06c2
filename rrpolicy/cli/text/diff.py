"""A difference as text: the conclusion first, then each change, the weakest first, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.governance.diff.changes import (
    IMPACT_TITLES,
    ChangeSubject,
    Difference,
    PolicyChange,
    PolicyDiff,
    PolicyImpact,
    ReleaseOutcome,
)


def lines(difference: Difference) -> list[str]:
    """Return the difference, line by line; it reads without colour."""
    text: list[str] = []
    for comparison in difference.comparisons:
        text += [*([""] if text else []), *_comparison(comparison)]
    text += [f"new, with nothing to compare it with: {file}" for file in difference.added]
    text += [f"not there any more: {file}" for file in difference.removed]
    return text or ["no policies to compare"]


def _comparison(found: PolicyDiff) -> Iterator[str]:
    old, new = found.old, found.new
    versions = f"{old.version} -> {new.version}" if old.version != new.version else new.version
    yield f"{new.name} {versions}: {old.file} -> {new.file}"
    only = found.only_data
    if only is not None:
        yield "  only the data changed, if anything: policies and what people declare of them have the same digests"
        yield f"    policy {only.policy}"
        yield f"    governance {only.governance}"
        yield f"    statement {only.id}"
    else:
        yield f"  {_summary(found)}"
    for change in found.changes:
        yield from _change(change)
    yield from _prices(found.prices)


def _summary(found: PolicyDiff) -> str:
    counts = {effect: sum(change.effect is effect for change in found.changes) for effect in type(found.effect)}
    told = ", ".join(f"{count} {effect}" for effect, count in counts.items() if count)
    return f"{found.effect}: {told}" if told else "neutral: nothing that a release feels"


def _change(change: PolicyChange) -> Iterator[str]:
    sense = " (utility)" if change.sense is ChangeSubject.UTILITY else ""
    values = f": {change.values}" if change.values else ""
    yield f"  {change.effect:<12} {change.key}{sense}{values}"
    yield f"  {'':<12} {change.why}"
    if change.explained:
        yield f"  {'':<12} explained: {change.explained}"
    place = change.places.new or change.places.old
    if place is not None:
        yield f"  {'':<12} at {place}"


def _prices(prices: PolicyImpact) -> Iterator[str]:
    if prices.before.passed is not None and prices.after.passed is not None:
        outcomes = [_outcome(side) for side in (prices.before, prices.after)]
        yield f"  a release before: {outcomes[0]}; after: {outcomes[1]}"
    for kind, title in IMPACT_TITLES.items():
        told = prices.told(kind)
        if told:
            yield f"  {title}, from {prices.known}"
            yield from (f"    {line}" for line in told)


def _outcome(outcome: ReleaseOutcome) -> str:
    return "passes" if outcome.passed else f"is refused ({', '.join(dict.fromkeys(outcome.problems))})"
