"""k-anonymity: every released record agrees with k - 1 others at least in all that an attacker knows.

References:
    Sweeney 2002, "k-Anonymity: A Model for Protecting Privacy", definition 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ClassOutcome,
    ModelWording,
    Protected,
    class_model_assessor,
    conclude,
)
from rrpolicy.privacy.model import (
    EVERY_MODEL,
    MORE_RECORDS,
    SHARED_VALUE_NOTE,
    Assessor,
    Order,
    PerClass,
)

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.counts import Ints

NAME = "k-anonymity"
REFERENCE = "Sweeney 2002, definition 2"
NOT_COVERED = (
    SHARED_VALUE_NOTE,
    "Attackers who know more than the released columns that are not sensitive.",
    MORE_RECORDS,
    *EVERY_MODEL,
)
WORDS = ModelWording(NAME, "k", "records in the smallest equivalence class", REFERENCE, least=True)


class KAnonymityOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        k: the least number of records in an equivalence class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: Annotated[int, Field(ge=1, strict=True, description="the least number of records in an equivalence class")]

    @property
    def limit(self) -> Fraction:
        """Return k."""
        return Fraction(self.k)

    @property
    def implied_by(self) -> Fraction:
        """Return k: a class in which no value is more frequent than 1/k has k records."""
        return Fraction(self.k)


class KAnonymity:
    """The privacy model `k-anonymity`."""

    name = NAME
    options = KAnonymityOptions
    not_covered = NOT_COVERED
    example = "k = 5"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: KAnonymityOptions) -> str:
        """Return such as `k >= 5`."""
        return f"k >= {options.k}"

    def limits_nothing(self, options: KAnonymityOptions) -> str | None:
        """Return that k = 1 limits nothing."""
        return "limits nothing: every class has one record" if options.k == 1 else None

    def promise(self, options: KAnonymityOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        if options.k == 1:
            return "Nothing: with k = 1 a record may be the only one of its kind."
        return (
            f"Re-identification: each record agrees with at least {options.k - 1} others in every quasi-identifier, "
            "unless it is suppressed."
        )

    def refuses(self, options: KAnonymityOptions, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers, and a k that no table of the least size reaches."""
        if not policy.with_role(Role.QUASI_IDENTIFIER):
            return "the policy names no quasi-identifier"
        least = policy.source.min_rows
        if least is not None and options.k > least:
            told = f"k = {options.k} is out of reach for a table of {least} records, which `min_rows` admits"
            return f"{told}: ask for a k of at most {least}, or release more records under a larger `min_rows`"
        return None

    def compare(self, old: KAnonymityOptions, new: KAnonymityOptions) -> Order:
        """Compare k: the greater is stronger."""
        return Order.by(new.k - old.k)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (class_model_assessor(NAME, CLASS_MODEL),)


def find(options: KAnonymityOptions | None, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach, held against k if there is one."""
    import numpy as np

    del columns
    sizes = classes.sizes[classes.concerned]
    achieved = float(sizes.min()) if len(sizes) else math.inf
    passes: Mask | None = None if options is None else np.asarray(classes.sizes >= options.k)
    limit = None if options is None else options.limit
    return conclude(WORDS, [ClassOutcome("", Measure(achieved), passes)], classes, limit)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the size of the smallest class."""
    if column is None:
        yield replace(find(None, (), classes), requirement="k")


def per_class(requirement: Requirement[KAnonymityOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on single classes: monotone, also with suppression."""
    del policy
    k = requirement.options.k

    def holds(histograms: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        mask: Mask = (sizes >= k) | (sizes == 0)
        return mask

    return (PerClass(None, holds, monotone=True, monotone_with_suppression=True, where=requirement.where),)


CLASS_MODEL = ClassModel(REFERENCE, find, measure, per_class, asks="k")
