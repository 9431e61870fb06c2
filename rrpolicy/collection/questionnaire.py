"""The public part of a plan made without data: the questions to people, and the randomisation of their responses.

It contains no secret and no statistic of any person: anyone who has it can randomise a record and check the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from rrpolicy.canonical_json import Json, Value, record_digest
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import PolicyError, Problem, RRPolicyError
from rrpolicy.finding import Measure
from rrpolicy.manifest.manifest import PolicyIdentity
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.model import Bins, Policy
from rrpolicy.privacy.epsilon.scope_loss import attribute_epsilon_measure, scope_loss
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.serialization import faults, read, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rrpolicy.channels.base import Channel
    from rrpolicy.finding import Derived
    from rrpolicy.registry import Registry

QUESTIONNAIRE_FILE = "questionnaire.json"
"""Name of the file in public/ of a release of records collected with it."""


class Question(Struct, frozen=True):
    """A question to a person.

    Attributes:
        attribute: its name in records before randomisation.
        categories: the possible responses, in the policy's order.
        bins: conversion of a number, date or time to a category; None if the response is a category.
        outside: the category of unexpected responses; None refuses them.
        nulls: the category of a missing response; None refuses it.
    """

    attribute: str
    categories: tuple[Value, ...]
    bins: Bins | None
    outside: Value | None
    nulls: Value | None


class Questionnaire(Struct, frozen=True, dict=True):
    """Questions, channel and guarantee for collection in the field.

    Attributes:
        policy: the policy from which it was made.
        software: the software that made it; if an axis comes from a plugin, reading needs that plugin.
        max_records: the maximum number of records per unit of protection.
        questions: questions in the policy's order.
        channel: the channel that randomises responses, each record independently.
        unchanged: attributes that are sent without randomisation.
        epsilon: privacy loss for all records of a unit and all randomised responses together.
        promise: the guarantee for a person, in words.
    """

    schema: ClassVar[str] = "rrpolicy.questionnaire/1"
    computed: ClassVar[tuple[str, ...]] = ("digest",)

    policy: PolicyIdentity
    software: Software
    max_records: int
    questions: tuple[Question, ...]
    channel: Product
    unchanged: tuple[str, ...]
    epsilon: Measure
    promise: str

    @classmethod
    def of(cls, policy: Policy, policy_digest: str, channel: Channel, software: Software) -> Questionnaire:
        """Return the public part of a plan that collection is possible for; see `collection_problems`.

        Raises:
            PolicyError: RR520 if its channel cannot randomise single records.
        """
        problems = tuple(collection_problems(policy, channel))
        if problems:
            raise PolicyError(problems)
        assert isinstance(channel, Product)
        head = PolicyIdentity(policy.name, policy.version, policy.owner, policy.purpose, policy_digest)
        questions = tuple(Question(a.name, a.domain or (), a.bins, a.outside, a.nulls) for a in policy.released)
        return cls._promising(head, software, policy.source.max_records, questions, channel.described())

    @classmethod
    def _promising(
        cls, policy: PolicyIdentity, software: Software, most: int, questions: tuple[Question, ...], channel: Product
    ) -> Questionnaire:
        """Return the questionnaire with the guarantee of its channel."""
        sent = tuple(a.attribute for a in channel.axes if isinstance(a, Identity) and a.original_size > 1)
        epsilon = attribute_epsilon_measure(scope_loss(channel, most)).measure
        promise = _participant_notice(
            [q.attribute for q in questions], sent, most, bounded=math.isfinite(epsilon.value)
        )
        return cls(policy, software, most, questions, channel, sent, epsilon, promise)

    def promised_again(self) -> Questionnaire:
        """Return the questionnaire with the guarantee computed again from its channel."""
        return self._promising(self.policy, self.software, self.max_records, self.questions, self.channel)

    @cached_property
    def digest(self) -> str:
        """Return the digest of the whole document."""
        return record_digest(record(self, public=True, without={"digest"}))

    def to_json(self) -> dict[str, Json]:
        """Return the document; `from_json` reads it back."""
        return record(self, public=True)

    @classmethod
    def from_json(cls, document: dict[str, Json], registry: Registry) -> Questionnaire:
        """Read the output of `to_json`; it fits its schema.

        Raises:
            RefusedError: RR404, RR412 if the plugin of an axis is not loaded.
            DataError: RR334 if the channel contradicts itself.
            ValueError: if the document contradicts itself, or states a guarantee that the channel does not have.
        """
        with registry.naming_absent():
            channel = channel_from_json(document["channel"], registry.kinds)
        found = read(cls, document, {"channel": channel})
        asked = {q.attribute: len(q.categories) for q in found.questions}
        axes = channel.axes if isinstance(channel, Product) else ()
        known = sorted(a for axis in axes for a in axis.attributes) == sorted(asked)
        if not known or any(math.prod(asked[a] for a in axis.attributes) != axis.original_size for axis in axes):
            raise ValueError("the questions are not the channel's")
        kept = found.promised_again()
        if found.unchanged != kept.unchanged or not math.isclose(found.epsilon.value, kept.epsilon.value, rel_tol=1e-9):
            raise ValueError("the channel does not meet the guarantee")
        return found


def _participant_notice(asked: Sequence[str], sent: Sequence[str], most: int, *, bounded: bool) -> str:
    """Return the guarantee to a person, in words."""
    hidden, open_ = (", ".join(f"'{n}'" for n in asked if (n in sent) is told) for told in (False, True))
    each = "the record" if most == 1 else f"all of up to {most} records of a person, linked with each other"
    kept = f" Sent as answered, without protection: {open_}." if sent else ""
    if not bounded:
        return (
            f"Answers to {hidden} are randomised, but the sent value excludes some answers: epsilon is infinite, "
            f"and there is no guarantee against an attacker who receives"
            f" {each} and knows the sender.{kept}"
        )
    return (
        f"For an attacker who receives {each} the odds of any two guesses at the answers to {hidden} change by a "
        "factor of at most e^epsilon, even if the attacker knows the sender, and whatever else the attacker "
        "knows. Each further record of the same person adds the same amount."
        f"{kept}"
    )


def collection_problems(policy: Policy, channel: Channel, derived: Sequence[Derived] = ()) -> Iterator[Problem]:
    """Yield the reasons why no record can be collected for a plan (RR520)."""

    def refused(message: str, hint: str) -> Problem:
        said = f"nothing can be collected in the field: {message}"
        return Problem("RR520", said, policy.place("mechanism"), hint=hint)

    if policy.release.series is not None:
        yield refused(
            f"releases of the series '{policy.release.series}' are drawn with one key, and people have none",
            "take `series` out of [release]",
        )
    if policy.selection is not None:
        yield refused(
            "each person answers once, so that there is no record of each to select",
            "take `one_record_per_unit` out of [source]",
        )
    if policy.release.withholds:
        yield refused(
            "people randomise by the matrices, so that they cannot be withheld", "take `decoders` out of [release]"
        )
    for statistic in derived:
        yield refused(
            f"{statistic.id} would need a table, and there is not a table",
            "declare domains, and fix parameters by the policy or by requirements that need no data, such as local-dp",
        )
    if not isinstance(channel, Product):
        yield refused(
            f"{policy.mechanism.name} deals with the records of one table together, so that none is drawn by itself",
            "choose a mechanism that randomises values, such as pram",
        )
        return
    if all(isinstance(axis, Identity) for axis in channel.axes):
        yield refused("no answer would be randomised", "choose a mechanism that randomises values, such as pram")
    for column in channel.carried:
        yield refused(
            f"'{column.attribute}' has no list of answers, so any value could be sent",
            "give it a domain or bins, or a dropped role",
        )
    for column in (c for axis in channel.axes for c in axis.columns() if c.kind not in {"category", "interval"}):
        yield refused(
            f"'{column.attribute}' is released as sets, which collected tables cannot contain",
            "choose a mechanism that releases one value a record, such as pram",
        )


def read_questionnaire(path: Path, plugins: Sequence[str] = ()) -> Questionnaire:
    """Read a questionnaire, every field checked.

    Raises:
        PolicyError: RR521 if the file is not a questionnaire, or was changed.
        RefusedError: RR404 to RR406, RR412 for plugins.
    """
    from rrpolicy.discovery import load_allowed

    try:
        document = read_document(path)
    except UnreadableError as error:
        raise _questionnaire_error(path, str(error)) from error
    if document.get("schema") != Questionnaire.schema:
        raise _questionnaire_error(path, f"its schema is {document.get('schema')!r}")
    wrong = faults(document, Questionnaire)
    if wrong:
        raise _questionnaire_error(path, wrong)
    if document["digest"] != record_digest(document):
        raise _questionnaire_error(path, "it was changed after it was written")
    registry = load_allowed(read(Software, document["software"]), plugins)
    try:
        return Questionnaire.from_json(document, registry)
    except RRPolicyError as error:
        if error.problems[0].code != "RR334":
            raise
        raise _questionnaire_error(path, "it contradicts itself") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise _questionnaire_error(path, "it contradicts itself") from error


def _questionnaire_error(path: Path, why: str) -> PolicyError:
    hint = "`rrpolicy plan POLICY --expected-rows N --out plan.json` writes plan.questionnaire.json"
    return PolicyError(
        Problem("RR521", f"{path} is not a questionnaire: {why}", expected=Questionnaire.schema, hint=hint)
    )
