"""(alpha, k)-anonymity: classes of k records at least, in none of which a sensitive value is more frequent than alpha.

The general model, which protects every value: n >= k, and n_v <= alpha n for all v.

References:
    Wong, Li, Fu, Wang 2006, "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy Preserving Data
    Publishing": alpha-deassociation with k-anonymity; the general model, in which every value is sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.base import Layout
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ModelWording,
    Protected,
    class_model_assessor,
    class_outcomes,
    conclude,
    split_by_attribute,
)
from rrpolicy.privacy.model import EVERY_MODEL, MORE_KNOWN, MORE_RECORDS, Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive_attributes import not_sensitive_reason
from rrpolicy.privacy.wording import attribute_phrase, percent_rounded_up

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask

NAME = "alpha-k-anonymity"
REFERENCE = "Wong, Li, Fu, Wang 2006, the general (alpha, k)-anonymity model"
NOT_COVERED = (
    "How likely each value of a class is for one person, if the attacker knows which are usual for such people.",
    MORE_KNOWN,
    MORE_RECORDS,
    *EVERY_MODEL,
)
WORDS = ModelWording(NAME, "alpha", "largest share of a sensitive value in a class", REFERENCE, least=False)


class AlphaKAnonymityOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        alpha: the largest share of a sensitive value in a class, in (0, 1].
        k: the least number of records in a class.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: Annotated[Rational, Field(description="the largest share of a sensitive value in a class, in (0, 1]")]
    k: Annotated[int, Field(ge=1, strict=True, description="the least number of records in an equivalence class")]
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @field_validator("alpha")
    @classmethod
    def _share(cls, alpha: Fraction) -> Fraction:
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha lies in (0, 1], got {exact(alpha)}")
        return alpha

    @property
    def limit(self) -> Fraction:
        """Return alpha."""
        return self.alpha

    @property
    def implied_by(self) -> Fraction:
        """Return the l from which on a frequency of 1/l is within alpha, and leaves k records in a class."""
        return max(1 / self.alpha, Fraction(self.k))


class AlphaKAnonymity:
    """The privacy model `alpha-k-anonymity`."""

    name = NAME
    options = AlphaKAnonymityOptions
    not_covered = NOT_COVERED
    example = "alpha = 0.5\nk = 5"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: AlphaKAnonymityOptions) -> str:
        """Return such as `alpha <= 1/2, k >= 5`, with the attributes where the entry names them."""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"alpha <= {exact(options.alpha)}, k >= {options.k}{of}"

    def limits_nothing(self, options: AlphaKAnonymityOptions) -> str | None:
        """Return that alpha = 1, k = 1 limit nothing."""
        nothing = options.alpha >= 1 and options.k == 1
        return "limits nothing: no share exceeds 1, and every class has one record" if nothing else None

    def promise(self, options: AlphaKAnonymityOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Each record agrees with at least {options.k - 1} others in every quasi-identifier, and no sensitive "
            f"value{attribute_phrase(options.sensitive)} makes up more than {percent_rounded_up(options.alpha)} of "
            "such a group; suppressed records excepted."
        )

    def refuses(self, options: AlphaKAnonymityOptions, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers, attributes that are not sensitive, and a k out of reach."""
        if not policy.with_role(Role.QUASI_IDENTIFIER):
            return "the policy names no quasi-identifier"
        least = policy.source.min_rows
        if least is not None and options.k > least:
            told = f"k = {options.k} is out of reach for a table of {least} records, which `min_rows` admits"
            return f"{told}: ask for a k of at most {least}, or release more records under a larger `min_rows`"
        return not_sensitive_reason(Requirement(NAME, options).protects(policy), policy)

    def compare(self, old: AlphaKAnonymityOptions, new: AlphaKAnonymityOptions) -> Order:
        """Compare alpha and k: the smaller alpha and the greater k are stronger."""
        if old.sensitive != new.sensitive:
            return Order.INCOMPARABLE
        return Order.together(Order.by(old.alpha - new.alpha), Order.by(new.k - old.k))


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (class_model_assessor(NAME, CLASS_MODEL),)


def layout(requirement: Requirement[AlphaKAnonymityOptions], policy: Policy, axes: Layout) -> tuple[str, str] | None:
    """Refuse an alpha below one in the number of categories of an attribute."""
    del axes
    alpha = requirement.options.alpha
    for name in requirement.protects(policy):
        domain = policy.attributes[name].domain
        if domain is not None and alpha * len(domain) < 1:
            reason = f"alpha = {exact(alpha)} is out of reach: '{name}' has {len(domain)} categories"
            return reason, f"ask for alpha = 1/{len(domain)} at least, or leave '{name}' out of the entry's `sensitive`"
    return None


def classes_satisfying(options: AlphaKAnonymityOptions, histograms: Histograms) -> Mask:
    """Return (classes,) which satisfy the requirement; an empty class does."""
    from rrpolicy.privacy.classes.histograms import ratio_at_most

    rare = ratio_at_most(histograms.commonest, histograms.sizes, options.alpha)
    mask: Mask = rare & ((histograms.sizes >= options.k) | (histograms.sizes == 0))
    return mask


def achieved_alpha(histograms: Histograms, among: Mask) -> Measure:
    """Return the largest share of a value in some classes (classes,)."""
    from rrpolicy.privacy.classes.histograms import largest_ratio

    share = largest_ratio(histograms.commonest, histograms.sizes, among & (histograms.sizes > 0))
    return Measure(0.0 if share is None else round_up(share))


def find(options: AlphaKAnonymityOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach of each column by itself, held against alpha and k."""
    reached = class_outcomes(columns, classes, achieved_alpha, partial(classes_satisfying, options))
    return conclude(WORDS, reached, classes, options.alpha)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the largest share of a value in a class; the smallest class stands beside it."""
    if column is None:
        return
    found = conclude(WORDS, class_outcomes([column], classes, achieved_alpha), classes, None)
    yield replace(found, requirement=f"alpha of {column.name}")


def per_class(requirement: Requirement[AlphaKAnonymityOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on single classes.

    Monotone, as a share in merged classes is a mean of theirs; not so if failing classes may be suppressed, or if some
    need not satisfy it.
    """
    fine = partial(classes_satisfying, requirement.options)
    return split_by_attribute(requirement, policy, fine, monotone=not requirement.where)


CLASS_MODEL = ClassModel(REFERENCE, find, measure, per_class, asks="alpha", layout=layout)
