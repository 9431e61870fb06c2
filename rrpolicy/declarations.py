"""Declarations of people that a policy makes and a release repeats: about its columns, its context and its exceptions.

Roles and parts in a survey's design are about columns; the context, waivers and reasons for a weaker policy are about
the release. The declarations about the release are not computed, and change no number. They have a separate digest,
so that an approval or a new review date makes no plan stale.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Value, canonical, digest
from rrpolicy.errors import Place
from rrpolicy.serialization import JsonDocument

REVIEW_KEY = "review_by"
"""The name by which a waiver postpones a review."""
WARNING_PREFIX = "warning/"
"""The beginning of names of points that need a person's judgement."""
ASSOCIATION_PREFIX = "association/"
"""The beginning of names of unmodified columns that reveal a randomised one."""


DesignPart: TypeAlias = Literal["weight", "stratum", "cluster"]
"""The part of a column in the design of a survey; see `Attribute`."""


class Role(StrEnum):
    """An attribute's kind of information for an attacker; the terms of ISO/IEC 20889."""

    IDENTIFIER = "identifier"
    EXCLUDED = "excluded"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"

    @property
    def dropped(self) -> bool:
        """Whether the column is never released."""
        return self in {Role.IDENTIFIER, Role.EXCLUDED}

    @property
    def meaning(self) -> str:
        """Return the meaning of the role, in a sentence."""
        return {
            Role.IDENTIFIER: "Tells one unit (a person, a household) from another; it is never released.",
            Role.EXCLUDED: "Is in the table and is never released.",
            Role.QUASI_IDENTIFIER: "What others may know of a person, and find that person's record by.",
            Role.SENSITIVE: "What nobody should learn of a person from the release.",
            Role.INSENSITIVE: "Neither known to others nor harmful to learn: it is released unchanged.",
        }[self]


_INTERVAL = re.compile(r"\[([^,]+), ([^,]+)[)\]]")


def interval_edges(label: Value) -> tuple[float, float] | None:
    """Return the edges of a bin of numbers from its label by `intervals`; None for any other label."""
    told = _INTERVAL.fullmatch(label) if isinstance(label, str) else None
    try:
        low, high = map(float, told.groups()) if told else (math.nan, math.nan)
    except ValueError:
        return None
    return (low, high) if low < high else None


ROUNDING_TOLERANCE = 1e-6
"""Tolerance between the known totals of two columns, as a share of the population: totals are rounded."""

MAX_WEIGHT = 2.0**53
"""The largest weight: beyond it doubles count no people, and sums of powers of weights are infinite."""


def category_weight(category: Value) -> float | None:
    """Return the size of a weight: a number, or a label that spells one; None if outside 0 to the largest weight."""
    try:
        size = float(category) if not isinstance(category, bool) else math.nan
    except ValueError:
        return None
    return size if 0 <= size <= MAX_WEIGHT else None


class Context(Struct, frozen=True):
    """The [context] table: facts that auditors need and no program can compute. All of it is published with a release.

    Attributes:
        recipients: the recipients of the data.
        release_model: public, to registered users, or inside a secure environment.
        environment: the place in which the data will be used, and its controls.
        auxiliary_data: other data, that recipients may have, which were considered.
        legal_basis: the legal basis of the release.
        licence: the licence of the released data, such as an SPDX identifier or an address.
        approver: the role that must approve it.
        auditor: the role that must audit it.
        approved_by: the approver of this policy; a baseline's approval is not inherited.
        review_by: the last day on which these declarations are valid; after it nothing is released.
        organisation: named in the letterhead of reports.
        address: lines below its name.
        logo: an image, as a data: address.
        notices: paragraphs of the organisation, below the decision.
        footer: the last line of the reports.
        signatories: the roles that sign the decision.
    """

    sparse: ClassVar[bool] = True  # a key added by a later version changes no digest

    recipients: tuple[str, ...] = ()
    release_model: Literal["public", "restricted", "enclave"] | None = None
    environment: str | None = None
    auxiliary_data: tuple[str, ...] = ()
    legal_basis: str | None = None
    licence: str | None = None
    approver: str | None = None
    auditor: str | None = None
    approved_by: str | None = None
    review_by: str | None = None  # a day, as ISO 8601 has it
    organisation: str | None = None
    address: tuple[str, ...] = ()
    logo: str | None = None
    notices: tuple[str, ...] = ()
    footer: str | None = None
    signatories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Require that `review_by` is a day.

        Raises:
            ValueError: if it is not a day.
        """
        self.review  # noqa: B018 it raises

    @property
    def review(self) -> date | None:
        """Return the last day on which the context is valid."""
        return None if self.review_by is None else date.fromisoformat(self.review_by)


@dataclass(frozen=True, slots=True)
class Waiver:
    """One [[waivers]] entry: a finding that would prevent the release, permitted until a day.

    Attributes:
        finding: its identity: a utility gate (`utility/…`), a point of judgement (`warning/…`), a column that reveals
            another one (`association/…`), or `review_by`.
        reason: the reason for the permission.
        approver: the role that permits it.
        until: the last day on which it is permitted, as ISO 8601 has it.
        place: the place of the entry in the policy.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("place",)

    finding: str
    reason: str
    approver: str
    until: str
    place: Place | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Require that `until` is a day.

        Raises:
            ValueError: if it is not a day.
        """
        date.fromisoformat(self.until)

    def __str__(self) -> str:
        return f"waived until {self.until} by {self.approver}: {self.reason}"

    def expired(self, today: date) -> bool:
        """Return whether the waiver has expired."""
        return today > date.fromisoformat(self.until)


@dataclass(frozen=True, slots=True)
class Change:
    """One [[policy.changes]] entry: why the policy was made weaker.

    Attributes:
        version: the first version of the policy with the change.
        what: the entry or key that became weaker, as `rrpolicy diff` names it.
        why: the reason.
        who: the role that made the decision.
        place: the place of the entry in the policy.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("place",)

    version: str
    what: str
    why: str
    who: str
    place: Place | None = field(default=None, compare=False)


class Governance(JsonDocument, Struct, frozen=True):
    """People's declarations about a policy and their decisions on it.

    Attributes:
        context: the declarations.
        waivers: findings that are permitted, and until when.
        changes: the reasons for which the policy was made weaker.
    """

    context: Context = Context()
    waivers: tuple[Waiver, ...] = ()
    changes: tuple[Change, ...] = ()

    def digest(self) -> str:
        """Return its digest, which signatures cover in addition to the policy's."""
        return digest(canonical(self.to_json()))


EMPTY_GOVERNANCE = Governance()
"""Nothing was declared and nothing decided."""
