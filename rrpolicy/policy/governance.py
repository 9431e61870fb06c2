"""What people declare of a release, and what they decided: its context, waivers, and why it was made weaker.

None of it is computed and none of it changes a number: it has a digest of its own, beside the policy's, so that an
approval or a new review date makes no plan stale.
"""

from __future__ import annotations

from dataclasses import field
from datetime import date
from typing import Literal

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.errors import Place
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.fields import UNWRITTEN
from rrpolicy.serialization.writing import record

REVIEW_KEY = "review_by"
"""What a waiver names to put off a review."""
WARNING_PREFIX = "warning/"
"""Begins the name of a point that needs a person's judgement."""
ASSOCIATION_PREFIX = "association/"
"""Begins the name of a column released as it is that gives a randomised one away."""


@frozen
class Context:
    """The [context] table: what auditors ask and no program can compute. All of it is published with a release.

    Attributes:
        recipients: who gets the data.
        release_model: how: to everybody, to who signs for it, or inside a secure environment.
        environment: where the data will be used, and under which controls.
        auxiliary_data: other data, that recipients may have, which were considered.
        legal_basis: that the release rests on.
        licence: of the released data, such as an SPDX identifier or an address.
        approver: who is to approve it: a role.
        auditor: who is to audit it: a role.
        approved_by: who approved this policy; a baseline's approval is not inherited.
        review_by: the day until which all this holds; past it nothing is released.
        organisation: whose letterhead the reports bear.
        address: lines below its name.
        logo: an image, as a data: address.
        notices: its own paragraphs, below the decision.
        footer: the last line of the reports.
        signatories: who signs the decision: roles.
    """

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
        """Refuse what is no day.

        Raises:
            ValueError: if it is none.
        """
        self.review  # noqa: B018 it raises

    def to_json(self) -> dict[str, Json]:
        """Return what is stated, and nothing of what is not: a key that a later version knows changes no digest."""
        return {key: value for key, value in record(self).items() if value not in (None, [])}

    @property
    def review(self) -> date | None:
        """Return the day until which it holds."""
        return None if self.review_by is None else date.fromisoformat(self.review_by)


@frozen
class Waiver:
    """One [[waivers]] entry: something that would stand in the way, and may stay so until a day.

    Attributes:
        finding: what is waived: a utility gate (`utility/…`), a point of judgement (`warning/…`), a column that gives
            another one away (`association/…`), or `review_by`.
        reason: why.
        approver: who lets it be: a role.
        until: the last day on which it does, as ISO 8601 has it.
        place: where it stands.
    """

    finding: str
    reason: str
    approver: str
    until: str
    place: Place | None = field(default=None, compare=False, metadata=UNWRITTEN)

    def __post_init__(self) -> None:
        """Refuse what is no day.

        Raises:
            ValueError: if it is none.
        """
        date.fromisoformat(self.until)

    def __str__(self) -> str:
        """Return it in words: until when, by whom and why."""
        return f"waived until {self.until} by {self.approver}: {self.reason}"

    def expired(self, today: date) -> bool:
        """Return whether it holds no more."""
        return today > date.fromisoformat(self.until)


@frozen
class Change:
    """One [[policy.changes]] entry: why the policy was made weaker.

    Attributes:
        version: of the policy, from which on.
        what: the entry or key that became weaker, as `rrpolicy diff` names it.
        why: the reason.
        who: who decided it: a role.
        place: where it stands.
    """

    version: str
    what: str
    why: str
    who: str
    place: Place | None = field(default=None, compare=False, metadata=UNWRITTEN)


@frozen
class Governance:
    """What people declare of a policy and decided on it.

    Attributes:
        context: what is declared.
        waivers: what may stay as it is, until when.
        changes: why it was made weaker.
    """

    context: Context = Context()
    waivers: tuple[Waiver, ...] = ()
    changes: tuple[Change, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return record(self)

    def digest(self) -> str:
        """Return its digest: what signatures cover beside the policy's own."""
        return digest(canonical(self.to_json()))


EMPTY_GOVERNANCE = Governance()
"""Nothing was declared and nothing decided."""
