"""Result of comparing two policies: changes with their effects, impact on numbers, and announcements."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.declarations import Change
from rrpolicy.errors import GatedResult, Place, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Measure
from rrpolicy.numbers import plain_number
from rrpolicy.serialization import JsonDocument, record
from rrpolicy.wording import measure_text

_LONGEST = 60
_MOST = 20


def old_to_new(before: Json, after: Json) -> str:
    """Return both values, or the elements that a list lost and gained."""
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
    """Effect of a change, the worst first."""

    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"
    STRONGER = "stronger"
    NEUTRAL = "neutral"

    @classmethod
    def of(cls, *, weaker: bool, stronger: bool) -> Effect:
        """Return the effect of a change that is weaker in some respect, stronger in some, both or neither."""
        if weaker:
            return cls.INCOMPARABLE if stronger else cls.WEAKER
        return cls.STRONGER if stronger else cls.NEUTRAL

    @classmethod
    def together(cls, effects: Iterable[Effect]) -> Effect:
        """Return the combined effect of several changes."""
        found = frozenset(effects)
        mixed = cls.INCOMPARABLE in found
        return cls.of(weaker=mixed or cls.WEAKER in found, stronger=mixed or cls.STRONGER in found)

    @property
    def announced(self) -> bool:
        """Whether the policy must announce it as intended: it is weaker, or possibly weaker."""
        return self in {Effect.WEAKER, Effect.INCOMPARABLE}


class ChangeSubject(StrEnum):
    """Subject of a change."""

    PROTECTION = "protection"
    UTILITY = "utility"


class FileLine(Struct, frozen=True):
    """A place in a policy file.

    Attributes:
        file: path as the user wrote it.
        line: number of the line, from 1.
        column: number of the first character, from 1.
    """

    file: str
    line: int
    column: int

    @classmethod
    def of(cls, place: Place | None) -> FileLine | None:
        """Return a place in short; None if there is none."""
        return None if place is None else cls(place.file, place.line, place.column)


class PlacePair(Struct, frozen=True):
    """Position of a key in the old and the new policy, or of the nearest key above it; None if absent."""

    written: ClassVar[tuple[str, ...]] = ("old=old_line", "new=new_line")

    old: Place | None = None
    new: Place | None = None

    @property
    def old_line(self) -> FileLine | None:
        """Return the place in the old policy."""
        return FileLine.of(self.old)

    @property
    def new_line(self) -> FileLine | None:
        """Return the place in the new policy."""
        return FileLine.of(self.new)


class PolicyChange(Struct, frozen=True):
    """One change.

    Attributes:
        key: a dotted key such as `attributes.age.bins`, or an entry by its identity.
        sense: whether it concerns protection or utility.
        said: the new policy's entry with the reason and the approver; None if there is no such entry.
        problem: a required announcement is missing (RR140); None if not.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("problem",)
    computed: ClassVar[tuple[str, ...]] = ("announced",)

    key: str
    effect: Effect
    before: Json
    after: Json
    why: str
    sense: ChangeSubject = ChangeSubject.PROTECTION
    places: PlacePair = PlacePair()
    said: Change | None = None
    problem: Problem | None = None

    @property
    def values(self) -> str:
        """Return the old and the new value; "" for an entry, whose reason contains its numbers."""
        return "" if isinstance(self.before or self.after, dict) else old_to_new(self.before, self.after)

    @property
    def explained(self) -> str:
        """Return the reason for the change and its approver; "" if the policy does not state them."""
        return "" if self.said is None else f"{self.said.why} (decided by: {self.said.who})"

    @property
    def announced(self) -> bool | None:
        """Return whether a required announcement exists; None if no announcement is required."""
        return self.problem is None if self.effect.announced else None


class ImpactKind(StrEnum):
    """Kind of a number that a change affects."""

    GUARANTEE = "guarantee"
    UTILITY = "utility"
    ERROR = "error"


IMPACT_TITLES = {
    ImpactKind.GUARANTEE: "guarantees",
    ImpactKind.UTILITY: "utility",
    ImpactKind.ERROR: "expected error of reconstructed shares (root mean square)",
}
"""Headings of the kinds of impact."""


class NumberChange(Struct, frozen=True):
    """A number before and after.

    Attributes:
        of: a requirement or a utility gate by its identity, or the attributes of a marginal.
        before: the number under the old policy, with its standing; None if unknown.
        effect: effect of the change: for an error the two numbers determine it, for an unknown number it is None.
        given_before: ids of the derived statistics that the number before is conditional on.
        given_after: likewise for the number after.
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
        numbers = ((self.before, self.given_before), (self.after, self.given_after))
        told = [f"{measure_text(m)}{f', given {quoted_list(g)}' if g else ''}" if m else "unknown" for m, g in numbers]
        return f"{self.of}: {told[0]} -> {told[1]}" + (f" ({self.effect})" if self.effect else "")


class ImpactBasis(StrEnum):
    """Data from which impacts were computed."""

    TABLE = "the table"
    RECORDS = "the number of records"
    POLICY = "the policies alone"


class ReleaseOutcome(Struct, frozen=True):
    """The result of a release under a policy, as far as it was computed.

    Attributes:
        passed: None if data are needed to decide.
        records: planned for; None without data.
        problems: codes of the problems that block it.
    """

    passed: bool | None
    records: int | None = None
    problems: tuple[str, ...] = ()


class PolicyImpact(Struct, frozen=True):
    """Numbers of both policies."""

    computed: ClassVar[tuple[str, ...]] = ("effect",)

    known: ImpactBasis
    before: ReleaseOutcome
    after: ReleaseOutcome
    numbers: tuple[NumberChange, ...]

    @property
    def effect(self) -> Effect | None:
        """Return the effect on the guarantees; if unknown, on whether a release passes; None if that is unknown too."""
        effects = [price.effect for price in self.numbers if price.kind is ImpactKind.GUARANTEE]
        known = [effect for effect in effects if effect is not None]
        found = Effect.together(known) if known and len(known) == len(effects) else None
        before, after = self.before.passed, self.after.passed
        if found in {None, Effect.NEUTRAL} and before is not None and after is not None and before != after:
            return Effect.of(weaker=after, stronger=before)
        return found

    def told(self, kind: ImpactKind) -> tuple[str, ...]:
        """Return the numbers of a kind, one per line; errors of only one of the policies share a line."""
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


class DiffedPolicy(Struct, frozen=True):
    """One of the two policies, as displayed.

    Attributes:
        file: the file as the caller named it, such as `main:policies/x.toml`.
        governance: digest of declarations and approvals.
        release: digest of release.json, of the release that the policy was read from; None if it was read from a file.
    """

    file: str
    name: str
    version: str
    digest: str
    governance: str
    release: str | None = None


class DataOnlyChange(JsonDocument, Struct, frozen=True):
    """The statement that a release under the new policy differs from one under the old by the data alone.

    Attributes:
        policy: its digest, which both have.
        governance: the digest of declarations and approvals, which both have.
        since: digest of release.json of the release that the old policy was read from; None if it is a file.
    """

    schema: ClassVar[str] = "rrpolicy.only-data-changed/1"
    computed: ClassVar[tuple[str, ...]] = ("id",)

    name: str
    version: str
    policy: str
    governance: str
    since: str | None = None

    @property
    def id(self) -> str:
        """Return the digest of the statement, with which an attestation identifies it."""
        return digest(canonical(record(self, without={"id"})))


class PolicyDiff(JsonDocument, Struct, GatedResult, frozen=True):
    """Two policies compared.

    Attributes:
        changes: each change, the weakest first.
    """

    written: ClassVar[tuple[str, ...]] = ("old", "new", "effect", "only_data_changed=only_data", "changes", "prices")

    old: DiffedPolicy
    new: DiffedPolicy
    changes: tuple[PolicyChange, ...]
    prices: PolicyImpact

    @property
    def effect(self) -> Effect:
        """Return the combined effect of all changes."""
        return Effect.together(change.effect for change in self.changes)

    @property
    def only_data(self) -> DataOnlyChange | None:
        """Return the statement that only the data changed; None unless both digests are equal.

        Also None if there is a change outside the digests, such as in a baseline's requirements on other policies.
        """
        same = (self.old.digest, self.old.governance) == (self.new.digest, self.new.governance)
        if not same or any(change.effect is not Effect.NEUTRAL for change in self.changes):
            return None
        return DataOnlyChange(self.new.name, self.new.version, self.new.digest, self.new.governance, self.old.release)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the changes that are weaker, or possibly weaker, and not announced (RR140)."""
        return tuple(change.problem for change in self.changes if change.problem is not None)


class Difference(JsonDocument, Struct, GatedResult, frozen=True):
    """Differences between two files, folders or revisions.

    Attributes:
        added: policies that only the new side has: file and name.
        removed: policies that only the old side has.
    """

    schema: ClassVar[str] = "rrpolicy.diff/1"
    computed: ClassVar[tuple[str, ...]] = ("effect", "problems")

    comparisons: tuple[PolicyDiff, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        """Return the combined effect of all changes of all policies."""
        return Effect.together(comparison.effect for comparison in self.comparisons)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the changes that are weaker, or possibly weaker, and not announced (RR140)."""
        return tuple(problem for comparison in self.comparisons for problem in comparison.problems)


def _one_sided_errors_line(when: str, other: str, prices: Sequence[NumberChange]) -> str:
    """Return in one line the errors of only one of the policies, which may be all after a change of mechanism."""
    errors = sorted(m.value for price in prices if (m := price.before if when == "before" else price.after) is not None)
    names = prices[0].of if len(prices) == 1 else f"{len(prices)} marginals"
    span = dict.fromkeys(plain_number(error, 4) for error in (errors[0], errors[-1]))
    return f"{names}: {' to '.join(span)} {when}; {other}, none can be determined"
