"""What a comparison of two policies finds: each change with its effect and its price, and whether it was announced."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import ClassVar

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.errors import GatedResult, Place, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Measure
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.planning.gate import measure_text
from rrpolicy.policy.governance import Change
from rrpolicy.serialization.fields import UNWRITTEN
from rrpolicy.serialization.writing import plain, record

_LONGEST = 60
_MOST = 20


def old_to_new(before: Json, after: Json) -> str:
    """Return both values, or what a list lost and gained."""
    listed = [[] if value is None else value for value in (before, after)]
    one, other = listed
    if not isinstance(one, list) or not isinstance(other, list):
        return f"{_value_text(before)} -> {_value_text(after)}"
    items = {"taken out": [v for v in one if v not in other], "added": [v for v in other if v not in one]}
    told = [f"{what} {_item_changes(values)}" for what, values in items.items() if values]
    return "; ".join(told) or f"{_value_text(before)} -> {_value_text(after)}"


def _item_changes(values: list[Json]) -> str:
    told = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST]]
    return ", ".join(told) + (f" and {len(values) - _MOST} more" if len(values) > _MOST else "")


def _value_text(value: Json) -> str:
    if value is None:
        return "(none)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class Effect(StrEnum):
    """What a change does, the worst first."""

    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"
    STRONGER = "stronger"
    NEUTRAL = "neutral"

    @classmethod
    def of(cls, *, weaker: bool, stronger: bool) -> Effect:
        """Return the effect of what is weaker in some respect, stronger in some, or both or neither."""
        if weaker:
            return cls.INCOMPARABLE if stronger else cls.WEAKER
        return cls.STRONGER if stronger else cls.NEUTRAL

    @classmethod
    def together(cls, effects: Iterable[Effect]) -> Effect:
        """Return the effect of several changes at once."""
        found = frozenset(effects)
        mixed = cls.INCOMPARABLE in found
        return cls.of(weaker=mixed or cls.WEAKER in found, stronger=mixed or cls.STRONGER in found)

    @property
    def announced(self) -> bool:
        """Whether a policy must say that it was made on purpose: it is weaker, or cannot be told not to be."""
        return self in {Effect.WEAKER, Effect.INCOMPARABLE}


class ChangeSubject(StrEnum):
    """Of what a change speaks."""

    PROTECTION = "protection"
    UTILITY = "utility"


@frozen
class PlacePair:
    """Where something stands in the old and in the new policy, or the nearest key above it; None if nowhere."""

    old: Place | None = None
    new: Place | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the places in short."""
        return {"old": _place_json(self.old), "new": _place_json(self.new)}


@frozen
class PolicyChange:
    """One change.

    Attributes:
        key: what changed: a dotted key such as `attributes.age.bins`, or an entry by its identity.
        effect: what the change does.
        before: the old value as plain data; None if nothing was stated.
        after: the new one.
        why: the effect in a sentence.
        sense: whether protection is weaker or stronger, or what the release must be good for.
        places: where both policies state it.
        said: the new policy's entry that says why it was made, and who decided; None if there is none.
        problem: that it is not announced, and would have to be (RR140); None if nothing is wrong with it.
    """

    key: str
    effect: Effect
    before: Json
    after: Json
    why: str
    sense: ChangeSubject = ChangeSubject.PROTECTION
    places: PlacePair = PlacePair()
    said: Change | None = None
    problem: Problem | None = field(default=None, metadata=UNWRITTEN)

    @property
    def values(self) -> str:
        """Return what it was and is; "" of an entry, whose reason tells of its numbers."""
        return "" if isinstance(self.before or self.after, dict) else old_to_new(self.before, self.after)

    @property
    def explained(self) -> str:
        """Return why it was made, and who decided; "" if nobody says."""
        return "" if self.said is None else f"{self.said.why} (decided by: {self.said.who})"

    def to_json(self) -> dict[str, Json]:
        """Return the change as plain data, and whether it is announced if it has to be."""
        return {**record(self), "announced": self.problem is None if self.effect.announced else None}


class ImpactKind(StrEnum):
    """What a price is of."""

    GUARANTEE = "guarantee"
    UTILITY = "utility"
    ERROR = "error"


IMPACT_TITLES = {
    ImpactKind.GUARANTEE: "guarantees",
    ImpactKind.UTILITY: "utility",
    ImpactKind.ERROR: "expected error of reconstructed shares (root mean square)",
}
"""What prices are of, in words."""


@frozen
class NumberChange:
    """A number before and after.

    Attributes:
        kind: of what.
        of: a requirement or a utility gate by its identity, or the attributes of a marginal.
        before: under the old policy, with its standing; None if it is not known.
        after: under the new one.
        effect: what became of it; of an error it is told by the numbers alone, and of an unknown number nothing is.
        given_before: ids of the derived statistics that the number before is conditional on.
        given_after: of those that the number after is.
    """

    kind: ImpactKind
    of: str
    before: Measure | None
    after: Measure | None
    effect: Effect | None = None
    given_before: tuple[str, ...] = ()
    given_after: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Return whether there is a number to show."""
        return self.before is not None or self.after is not None

    def __str__(self) -> str:
        """Return both numbers with their standing, on what they are conditional, and what became of them."""
        numbers = ((self.before, self.given_before), (self.after, self.given_after))
        told = [f"{measure_text(m)}{f', given {quoted_list(g)}' if g else ''}" if m else "unknown" for m, g in numbers]
        return f"{self.of}: {told[0]} -> {told[1]}" + (f" ({self.effect})" if self.effect else "")


class ImpactBasis(StrEnum):
    """What prices were computed from."""

    TABLE = "the table"
    RECORDS = "the number of records"
    POLICY = "the policies alone"


@frozen
class ReleaseOutcome:
    """Whether a policy lets a release pass, as far as that was computed.

    Attributes:
        passed: None if it takes data to say.
        records: planned for; None without data.
        problems: codes of what stands in the way.
    """

    passed: bool | None
    records: int | None = None
    problems: tuple[str, ...] = ()


@frozen
class PolicyImpact:
    """What both policies come to.

    Attributes:
        known: what was at hand.
        before: whether the old policy lets a release pass.
        after: whether the new one does.
        numbers: of each guarantee, utility gate and marginal.
    """

    known: ImpactBasis
    before: ReleaseOutcome
    after: ReleaseOutcome
    numbers: tuple[NumberChange, ...]

    @property
    def effect(self) -> Effect | None:
        """Return what became of the guarantees; if they tell nothing, of whether a release passes; None if unknown."""
        effects = [price.effect for price in self.numbers if price.kind is ImpactKind.GUARANTEE]
        known = [effect for effect in effects if effect is not None]
        found = Effect.together(known) if known and len(known) == len(effects) else None
        before, after = self.before.passed, self.after.passed
        if found in {None, Effect.NEUTRAL} and before is not None and after is not None and before != after:
            return Effect.of(weaker=after, stronger=before)
        return found

    def told(self, kind: ImpactKind) -> tuple[str, ...]:
        """Return the numbers of a kind, a line each; errors that one policy alone has are a line together."""
        known = [price for price in self.numbers if price.kind is kind and price.known]
        if kind is not ImpactKind.ERROR:
            return tuple(map(str, known))
        finite = [tuple(m is not None and math.isfinite(m.value) for m in (p.before, p.after)) for p in known]
        both, before, after = (
            [price for price, has in zip(known, finite, strict=True) if has == sides]
            for sides in ((True, True), (True, False), (False, True))
        )
        alone = (("before", "after", before), ("after", "before", after))
        return (*map(str, both), *(_one_sided_errors_line(*one) for one in alone if one[-1]))


@frozen
class DiffedPolicy:
    """One of the two policies, as its name is told.

    Attributes:
        file: as the caller named it, such as `main:policies/x.toml`.
        name: of the policy.
        version: of the policy.
        digest: of the policy.
        governance: digest of what people declare and decided.
        release: digest of release.json, of the release that the policy was read from; None if it was read from a file.
    """

    file: str
    name: str
    version: str
    digest: str
    governance: str
    release: str | None = None


@frozen
class DataOnlyChange:
    """The statement that a release under the new policy differs from one under the old by the data alone.

    Attributes:
        name: of the policy.
        version: of the policy.
        policy: its digest, which both have.
        governance: the digest of what people declare, which both have.
        since: digest of release.json of the release that the old policy was read from; None if it is a file.
    """

    schema: ClassVar[str] = "rrpolicy.only-data-changed/1"
    name: str
    version: str
    policy: str
    governance: str
    since: str | None = None

    @property
    def id(self) -> str:
        """Return the digest of the statement, by which an attestation names it."""
        return digest(canonical(record(self)))

    def to_json(self) -> dict[str, Json]:
        """Return the statement as it can be attested, with its id."""
        return {**record(self), "id": self.id}


@frozen
class PolicyDiff(GatedResult):
    """Two policies compared.

    Attributes:
        old: the one before.
        new: the one after.
        changes: each change, the weakest first.
        prices: numbers before and after.
    """

    old: DiffedPolicy
    new: DiffedPolicy
    changes: tuple[PolicyChange, ...]
    prices: PolicyImpact

    @property
    def effect(self) -> Effect:
        """Return what all changes do together."""
        return Effect.together(change.effect for change in self.changes)

    @property
    def only_data(self) -> DataOnlyChange | None:
        """Return the statement that only the data changed; None unless both digests are the same.

        None, too, if a change is felt that is in no digest, such as of what a baseline asks of others.
        """
        same = (self.old.digest, self.old.governance) == (self.new.digest, self.new.governance)
        if not same or any(change.effect is not Effect.NEUTRAL for change in self.changes):
            return None
        return DataOnlyChange(self.new.name, self.new.version, self.new.digest, self.new.governance, self.old.release)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return what is weaker, or cannot be told not to be, and is not announced (RR140)."""
        return tuple(change.problem for change in self.changes if change.problem is not None)

    def to_json(self) -> dict[str, Json]:
        """Return the comparison as plain data."""
        only, guarantees = self.only_data, self.prices.effect
        return {
            "old": plain(self.old),
            "new": plain(self.new),
            "effect": self.effect.value,
            "only_data_changed": None if only is None else only.to_json(),
            "changes": plain(self.changes),
            "prices": {**record(self.prices), "effect": None if guarantees is None else guarantees.value},
        }


@frozen
class Difference(GatedResult):
    """What two files, folders or revisions differ in.

    Attributes:
        comparisons: of each policy that both have.
        added: policies that only the new side has: file and name.
        removed: policies that only the old side has.
    """

    schema: ClassVar[str] = "rrpolicy.diff/1"
    comparisons: tuple[PolicyDiff, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        """Return what all changes of all policies do together."""
        return Effect.together(comparison.effect for comparison in self.comparisons)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return what is weaker, or cannot be told not to be, and is not announced (RR140)."""
        return tuple(problem for comparison in self.comparisons for problem in comparison.problems)

    def to_json(self) -> dict[str, Json]:
        """Return the difference as plain data."""
        from rrpolicy.policy.diagnostics import to_json

        return {**record(self), "effect": self.effect.value, "problems": to_json(self.problems)}


def _one_sided_errors_line(when: str, other: str, prices: Sequence[NumberChange]) -> str:
    """Return in one line the errors that one policy alone has: beside another mechanism they may be all marginals."""
    errors = sorted(m.value for price in prices if (m := price.before if when == "before" else price.after) is not None)
    names = prices[0].of if len(prices) == 1 else f"{len(prices)} marginals"
    span = dict.fromkeys(f"{error:.4g}" for error in (errors[0], errors[-1]))
    return f"{names}: {' to '.join(span)} {when}; {other}, none can be told"


def _place_json(place: Place | None) -> Json:
    return None if place is None else {"file": place.file, "line": place.line, "column": place.column}
