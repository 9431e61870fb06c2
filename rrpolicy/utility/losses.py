"""Losses by generalisation and suppression, from the released rows and their equivalence classes.

With classes E of n records that agree in the released values of some attributes, N records in all, and a record without
information in any of them counted as suppressed:

    ncp                   mean over records and attributes of |g|/|D|, the share of the categories in a label; 0 for a
        category by itself
    discernibility        sum over classes of n^2; a suppressed record counts N
    classification-loss   share of the records that are suppressed, or whose target is not the commonest of their class

All are exact and deterministic. They apply to no channel that draws: its records are not certain to be in a class.

References:
    Xu et al. 2006 (NCP); Bayardo, Agrawal 2005 (discernibility); Iyengar 2002, "Transforming Data to Satisfy Privacy
    Constraints" (classification metric).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.channels.base import Channel, Layout
from rrpolicy.declarations import Role
from rrpolicy.finding import Measure
from rrpolicy.policy.model import Policy
from rrpolicy.utility.metric import Better

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.class_losses import ReleasedRows


class ClassLossOptions(BaseModel):
    """The columns that make classes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="What makes classes; default: the quasi-identifiers with categories."
    )


class TargetOptions(ClassLossOptions):
    """The columns that make classes, and the column that classes should predict."""

    classified: str | None = Field(
        default=None, description="The attribute that is predicted from a class; default: the only sensitive attribute."
    )


class ClassLoss(ABC):
    """A loss of a deterministic release."""

    options: ClassVar[type[ClassLossOptions]] = ClassLossOptions
    better: ClassVar[Better] = "smaller"
    absolute: ClassVar[bool] = True
    name: ClassVar[str]
    meaning: ClassVar[str]

    @abstractmethod
    def of(self, rows: ReleasedRows) -> float:
        """Return the loss of released rows."""

    def unfit(self, options: ClassLossOptions, channel: type[Channel], axes: Layout) -> str | None:
        """Return why there are no certain classes; None if there are."""
        from rrpolicy.channels.axes.identity import Identity
        from rrpolicy.channels.axes.recode import Recode
        from rrpolicy.channels.product.channel import Product
        from rrpolicy.channels.suppression.channel import SuppressionChannel

        if issubclass(channel, SuppressionChannel):
            return None
        if not issubclass(channel, Product):
            return "class membership is random"
        drawn = [name for names, axis in axes if not issubclass(axis, (Identity, Recode)) for name in names]
        concerned = drawn if options.attributes is None else [n for n in drawn if n in options.attributes]
        return f"'{concerned[0]}' is randomised: class membership is random" if concerned else None

    def refuses(self, options: ClassLossOptions, policy: Policy) -> str | None:
        """Return why a policy has no such classes; None if it has."""
        known = {a.name for a in policy.released if a.categorical}
        lost = [name for name in options.attributes or () if name not in known]
        if lost:
            return f"`attributes`: '{lost[0]}' is not released with categories"
        return None if self._attributes(options, policy) else "no quasi-identifier is released with categories"

    def expected(self, options: ClassLossOptions, channel: Channel, original: Original | int) -> Measure | None:
        """Return the loss, exact; None for a number of records alone."""
        from rrpolicy.utility.class_losses import planned_rows

        if isinstance(original, int):
            return None
        rows = planned_rows(
            channel, original, self._attributes(options, original.policy), self._target(options, original)
        )
        return Measure(self.of(rows))

    def realised(self, options: ClassLossOptions, release: Release, original: Original) -> Measure | None:
        """Return the loss of the written release: the same."""
        from rrpolicy.utility.class_losses import written_rows

        names = self._attributes(options, original.policy)
        return Measure(self.of(written_rows(release, original, names, self._target(options, original))))

    @staticmethod
    def _attributes(options: ClassLossOptions, policy: Policy) -> tuple[str, ...]:
        own = tuple(a.name for a in policy.released if a.role is Role.QUASI_IDENTIFIER and a.categorical)
        return options.attributes or own

    def _target(self, options: ClassLossOptions, original: Original) -> str | None:
        del options, original
        return None


class NCP(ClassLoss):
    """The normalised certainty penalty."""

    name = "ncp"
    absolute = False
    meaning = (
        "the share of an attribute's categories that a released label represents, 0 where it is one category, on "
        "average"
        " over records and attributes"
    )

    def of(self, rows: ReleasedRows) -> float:
        """Return the mean over records and attributes."""
        return rows.certainty_penalty()


class Discernibility(ClassLoss):
    """The discernibility metric."""

    name = "discernibility"
    meaning = (
        "the summed squares of the sizes of equivalence classes, a suppressed record counting as many as there are"
        " records: the total number of records that each record is indistinguishable from"
    )

    def of(self, rows: ReleasedRows) -> float:
        """Return the sum over classes."""
        return rows.discernibility()


class ClassificationLoss(ClassLoss):
    """The classification metric."""

    name = "classification-loss"
    options = TargetOptions
    meaning = (
        "the share of the records that are suppressed, or whose value is not the commonest of their equivalence class"
    )

    def refuses(self, options: ClassLossOptions, policy: Policy) -> str | None:
        """Return why there is nothing to predict from classes; None if there is."""
        assert isinstance(options, TargetOptions)
        wrong = super().refuses(options, policy)
        if wrong is not None:
            return wrong
        sensitive = [a.name for a in policy.with_role(Role.SENSITIVE) if a.categorical]
        if options.classified is None and len(sensitive) != 1:
            return f"`classified` must be set: {len(sensitive)} attributes are sensitive"
        name = options.classified or sensitive[0]
        if name not in {a.name for a in policy.released if a.categorical}:
            return f"`classified`: '{name}' is not released with categories"
        if name in self._attributes(options, policy):
            return f"`classified`: '{name}' makes classes itself"
        return None

    def unfit(self, options: ClassLossOptions, channel: type[Channel], axes: Layout) -> str | None:
        """Return why there are no certain classes, or the target is not released unmodified."""
        from rrpolicy.channels.axes.identity import Identity

        assert isinstance(options, TargetOptions)
        changed = {name for names, axis in axes if not issubclass(axis, Identity) for name in names}
        if options.classified in changed:
            return f"'{options.classified}' is not released unchanged"
        return super().unfit(options, channel, axes)

    def of(self, rows: ReleasedRows) -> float:
        """Return the share."""
        return rows.misclassified()

    def _target(self, options: ClassLossOptions, original: Original) -> str | None:
        assert isinstance(options, TargetOptions)
        sensitive = [a.name for a in original.policy.with_role(Role.SENSITIVE) if a.categorical]
        return options.classified or sensitive[0]
