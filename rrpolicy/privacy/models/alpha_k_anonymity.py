"""(alpha, k)-anonymity: classes of at least k records, in which no sensitive value has a share above alpha.

The general model, which protects every value: n >= k, and n_v <= alpha n for all v.

References:
    Wong, Li, Fu, Wang 2006, "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy Preserving Data
    Publishing": alpha-deassociation with k-anonymity; the general model, in which every value is sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Measure, Risk
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions, ModelWording, SensitiveAttributes
from rrpolicy.privacy.model import EVERY_MODEL, MORE_KNOWN, MORE_RECORDS
from rrpolicy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Mask


class AlphaKAnonymityOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        alpha: the largest share of a sensitive value in a class, in (0, 1].
        k: the least number of records in a class.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    alpha: Annotated[Rational, Field(description="the largest share of a sensitive value in a class, in (0, 1]")]
    k: Annotated[int, Field(ge=1, strict=True, description="the least number of records in an equivalence class")]
    sensitive: SensitiveAttributes = ()

    @field_validator("alpha")
    @classmethod
    def _share(cls, alpha: Fraction) -> Fraction:
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha lies in (0, 1], got {exact(alpha)}")
        return alpha

    @property
    def implied_by(self) -> Fraction:
        """Return the least l for which a frequency of 1/l is within alpha and leaves k records in a class."""
        return max(1 / self.alpha, Fraction(self.k))


class AlphaKAnonymity(ClassModel[AlphaKAnonymityOptions]):
    """The privacy model `alpha-k-anonymity`."""

    name = "alpha-k-anonymity"
    options = AlphaKAnonymityOptions
    not_covered = (
        "How likely each value of a class is for one person, if the attacker knows which are usual for such people.",
        MORE_KNOWN,
        MORE_RECORDS,
        *EVERY_MODEL,
    )
    reference = "Wong, Li, Fu, Wang 2006, the general (alpha, k)-anonymity model"
    example = "alpha = 0.5\nk = 5"
    methods = ("generalised",)
    bounds = frozenset(Risk)
    words = ModelWording("alpha", "largest share of a sensitive value in a class")
    asks = "alpha"
    linking = True

    def limits_nothing(self, options: AlphaKAnonymityOptions) -> str | None:
        """Return that alpha = 1, k = 1 limit nothing."""
        nothing = options.alpha >= 1 and options.k == 1
        return "limits nothing: no share exceeds 1, and every class has one record" if nothing else None

    def promise(self, options: AlphaKAnonymityOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Each record agrees with at least {options.k - 1} others in every quasi-identifier, and no sensitive "
            f"value{attribute_phrase(options.sensitive)} makes up more than {percent_rounded_up(options.alpha)} of "
            "such a group; suppressed records excepted."
        )

    def describe_limit(self, options: AlphaKAnonymityOptions) -> str:
        """Return such as `alpha <= 1/2, k >= 5`."""
        return f"alpha <= {exact(options.alpha)}, k >= {options.k}"

    def strength(self, options: AlphaKAnonymityOptions) -> tuple[Fraction | int, ...]:
        """Return alpha and k: the smaller alpha and the greater k are stronger."""
        return -options.alpha, options.k

    def least_size(self, options: AlphaKAnonymityOptions) -> int:
        """Return k."""
        return options.k

    def out_of_reach(self, options: AlphaKAnonymityOptions, categories: int) -> tuple[str, str] | None:
        """Refuse an alpha below one over the number of categories of an attribute."""
        beyond = options.alpha * categories < 1
        return (f"alpha = {exact(options.alpha)}", f"alpha = 1/{categories} at least") if beyond else None

    def classes_satisfying(self, options: AlphaKAnonymityOptions, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy it: monotone, as a share in merged classes is a mean of theirs."""
        mask: Mask = (histograms.sizes >= options.k) | (histograms.sizes == 0)
        return mask & histograms.frequent(1 / options.alpha)

    def achieved(self, options: AlphaKAnonymityOptions, histograms: Histograms, among: Mask) -> Measure:
        """Return the largest share of a value in some classes (classes,)."""
        from rrpolicy.privacy.classes.histograms import largest_ratio

        del options
        share = largest_ratio(histograms.commonest, histograms.sizes, among & (histograms.sizes > 0))
        return Measure(0.0 if share is None else round_up(share))

    def unlimited(self) -> Iterator[AlphaKAnonymityOptions]:
        """Yield an alpha that limits nothing; the size of the smallest class is a companion."""
        yield AlphaKAnonymityOptions(alpha=Fraction(1), k=1)
