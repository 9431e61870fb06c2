"""k-anonymity: every released record agrees with at least k - 1 others in everything that an attacker knows.

References:
    Sweeney 2002, "k-Anonymity: A Model for Protecting Privacy", definition 2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rrpolicy.finding import Measure, Risk
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions, ModelWording, records_at_least
from rrpolicy.privacy.model import EVERY_MODEL, MORE_RECORDS, SHARED_VALUE_NOTE, PerClass

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Mask


class KAnonymityOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        k: the least number of records in an equivalence class.
    """

    k: Annotated[int, Field(ge=1, strict=True, description="the least number of records in an equivalence class")]

    @property
    def implied_by(self) -> Fraction:
        """Return k: a class in which no value is more frequent than 1/k has k records."""
        return Fraction(self.k)


class KAnonymity(ClassModel[KAnonymityOptions]):
    """The privacy model `k-anonymity`."""

    name = "k-anonymity"
    options = KAnonymityOptions
    not_covered = (
        SHARED_VALUE_NOTE,
        "Attackers who know more than the released columns that are not sensitive.",
        MORE_RECORDS,
        *EVERY_MODEL,
    )
    reference = "Sweeney 2002, definition 2"
    example = "k = 5"
    methods = ("generalised", "grouped")
    bounds = frozenset({Risk.LINKING})
    words = ModelWording("k", "records in the smallest equivalence class", least=True)
    asks = "k"
    linking = True

    def limits_nothing(self, options: KAnonymityOptions) -> str | None:
        """Return that k = 1 limits nothing."""
        return "limits nothing: every class has one record" if options.k == 1 else None

    def promise(self, options: KAnonymityOptions) -> str:
        """Return the guarantee in plain words."""
        if options.k == 1:
            return "Nothing: with k = 1 a record may be the only one of its kind."
        return (
            f"Re-identification: each record agrees with at least {options.k - 1} others in every quasi-identifier, "
            "unless it is suppressed."
        )

    def least_size(self, options: KAnonymityOptions) -> int:
        """Return k."""
        return options.k

    def achieved(self, options: KAnonymityOptions, histograms: Histograms, among: Mask) -> Measure:
        """Return the size of the smallest class."""
        del options
        sizes = histograms.sizes[among]
        return Measure(float(sizes.min()) if len(sizes) else math.inf)

    def classes_satisfying(self, options: KAnonymityOptions, histograms: Histograms) -> Mask:
        """Return (classes,) which have k records."""
        mask: Mask = (histograms.sizes >= options.k) | (histograms.sizes == 0)
        return mask

    def per_class(self, requirement: Requirement[KAnonymityOptions], policy: Policy) -> tuple[PerClass, ...]:
        """Return the requirement on single classes, by their sizes alone."""
        del policy
        return (records_at_least(requirement.options.k, requirement),)
