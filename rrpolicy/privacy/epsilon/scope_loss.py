"""The privacy loss of a record by a product channel, in two scopes: the exact ratios of k and epsilon.

*Record scope*: every released attribute counts; one that is released unmodified identifies people with a rare value.
*Attribute scope*: neighbours differ in the randomised attributes; columns released unmodified are public context.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.base import Axis
from rrpolicy.channels.probability import log_rounded_up, round_down, round_up
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.finding import V_OF, Basis, Companion, Measure, Risk, Standing
from rrpolicy.policy.model import Policy

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

PUBLIC_RECORDS = "The number of records is public."

LINKING = "1/k"
"""The name of the largest chance of linking a person to a record, as a related measure."""
ATTACKER = "an attacker who knows everybody's original values"
"""The attacker of that chance, in the words of every page: the owners of the records are unknown."""
ATTACKER_OF_ONE = "an attacker who knows one person's quasi-identifiers"
"""The attacker of identity disclosure, and of classes of records, which agree in them."""
DOUBTFUL_CRAMERS_V = 0.05
"""Cramér's V from which an `assume_unlinkable` is warned about."""


class ScopeLoss(Struct, frozen=True):
    """The privacy loss of a channel, for an adversary who links all records of a unit with each other.

    Attributes:
        record: e^epsilon of a whole unit in record scope; None for infinity.
        attribute: e^epsilon of a whole unit in attribute scope; None for infinity.
        cross: product of the smallest cross ratios of one record in record scope.
        unchanged: attributes in record scope that are released unmodified, with two values or more.
        randomised: the other attributes.
        unlinkable: columns taken out of record scope, with the policy's reason.
        max_records: the most records of a unit.
    """

    record: Fraction | None
    attribute: Fraction | None
    cross: Fraction
    unchanged: tuple[str, ...]
    randomised: tuple[str, ...]
    unlinkable: tuple[Column, ...]
    max_records: int = 1

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the policy's assumptions in record scope."""
        return tuple(
            f"'{c.name}' is assumed unlinkable ({c.assume_unlinkable}): the adversary neither knows it of anyone nor "
            "knows how it goes with the randomised attributes. Its own values are not protected: it is released "
            "unchanged."
            for c in self.unlinkable
        )

    @property
    def record_of(self) -> str:
        """Return sentences on the parts of a record in record scope, and on columns that are released in addition."""
        parts = (*self.randomised, *self.unchanged)
        made = f" A record is here made of {_quoted_list(parts)}." if parts else ""
        if not self.unlinkable:
            return made
        names = [c.attribute for c in self.unlinkable]
        those = f"{_quoted_list(names)}, {'which is' if len(names) == 1 else 'which are'} assumed unlinkable"
        return (
            f"{made} No part of it: {those} and released unchanged; any two values of such a column are distinguished "
            "with certainty."
        )

    @property
    def randomised_are(self) -> str:
        """Return the sentence on the attributes in attribute scope."""
        return f" Randomised: {_quoted_list(self.randomised) or 'nothing'}."

    @property
    def swapped(self) -> str:
        """Return the swapped part of a record in record scope, in words."""
        what = f"values of {_quoted_list((*self.randomised, *self.unchanged))}" if self.unlinkable else "whole record"
        return f"one person's {what}{self.in_all}"

    @property
    def linked(self) -> str:
        """Return the sentence on units of several records; empty if a unit has one."""
        if self.max_records == 1:
            return ""
        return (
            f" A unit has up to {self.max_records} records, which the attacker links with each other; the "
            f"guarantee covers all of them together."
        )

    @property
    def in_all(self) -> str:
        """Return in how many records, in words; empty for one."""
        return "" if self.max_records == 1 else f", in all of up to {self.max_records} records,"

    @property
    def why_infinite(self) -> str:
        """Return a sentence on columns released unmodified; empty if there are none."""
        if not self.unchanged:
            return ""
        names = _quoted_list(self.unchanged)
        return f" Released unchanged and assumed known: {names}; a person with a rare value there is not hidden."


def scope_loss(channel: Product, max_records: int = 1) -> ScopeLoss:
    """Return the loss of a channel in both scopes (Ikarashi et al. 2014); exact.

    Records are randomised independently: the channel of a unit of m records is the m-fold product of that of one.
    `assume_unlinkable` counts only for unmodified attributes. A carried column, whose values are not listed, counts as
    one with two values or more.
    """
    record: list[Axis] = []
    randomised: list[Axis] = []
    unchanged: list[str] = []
    unlinkable: list[Column] = []
    for axis in channel.axes:
        if not isinstance(axis, Identity):
            randomised.append(axis)
            record.append(axis)
        elif axis.released.assume_unlinkable is not None:
            unlinkable.append(axis.released)
        else:
            record.append(axis)
            unchanged += [axis.attribute] if axis.original_size > 1 else []
    for column in channel.carried:
        if column.assume_unlinkable is not None:
            unlinkable.append(column)
        else:
            unchanged.append(column.attribute)
    carried = any(column.assume_unlinkable is None for column in channel.carried)
    return ScopeLoss(
        None if carried else _ratio_power(_ratio_product(axis.max_ratio() for axis in record), max_records),
        _ratio_power(_ratio_product(axis.max_ratio() for axis in randomised), max_records),
        Fraction(0) if carried else math.prod((a.min_cross_ratio() for a in record), start=Fraction(1)),
        tuple(unchanged),
        tuple(name for axis in randomised for name in axis.attributes),
        tuple(unlinkable),
        max_records,
    )


def epsilon_of_ratio(ratio: Fraction | None) -> Measure:
    """Return epsilon from its exact exponential, rounded up in the last place."""
    return Measure(log_rounded_up(ratio), Standing.EXACT)


def k_of_cross_ratio(cross: Fraction, records: int) -> Fraction:
    """Return k = 1 + (N-1) prod_a min cross ratio (Ikarashi et al. 2014); 1 for a table of one record or none."""
    return 1 + max(records - 1, 0) * cross


def record_epsilon_measure(exposed: ScopeLoss) -> Companion:
    """Return epsilon in record scope, as a related measure."""
    return Companion(
        "epsilon, record scope",
        epsilon_of_ratio(exposed.record),
        Basis.CHANNEL,
        f"Swapping {exposed.swapped} for any other changes the chance of any release by at most e^epsilon.",
        compares_tables=True,
    )


def attribute_epsilon_measure(exposed: ScopeLoss) -> Companion:
    """Return epsilon in attribute scope, as a related measure."""
    return Companion(
        "epsilon, attribute scope",
        epsilon_of_ratio(exposed.attribute),
        Basis.CHANNEL,
        f"Changing one person's randomised attributes{exposed.in_all or ','} all that is released unchanged being "
        "public, changes the chance of any release by at most e^epsilon, and so the odds of any two guesses at them.",
        compares_tables=True,
    )


def k_measures(k: Fraction, basis: Basis = Basis.CHANNEL) -> tuple[Companion, ...]:
    """Return k, rounded down, and 1/k, rounded up."""
    return (
        Companion(
            "k",
            Measure(round_down(k), Standing.EXACT),
            basis,
            "An attacker who knows everybody's original values, but not whose record is which, links a released record "
            "to a person no better than by guessing among k.",
        ),
        linkage_bound_measure(k, basis),
    )


def linkage_bound_measure(k: Fraction, basis: Basis = Basis.CHANNEL) -> Companion:
    """Return 1/k, rounded up."""
    return Companion(
        LINKING,
        Measure(round_up(1 / k), Standing.EXACT),
        basis,
        "Nobody, not even an attacker who has the original table, links a person to a record with more than this "
        "chance.",
        chance_of=Risk.LINKING,
    )


def general_bound_measures(channel: Product, records: int) -> tuple[Companion, ...]:
    """Return the measures that bound every attacker: k, 1/k, and epsilon in both scopes; `records` is N."""
    exposed = scope_loss(channel)
    return (
        *k_measures(k_of_cross_ratio(exposed.cross, records)),
        record_epsilon_measure(exposed),
        attribute_epsilon_measure(exposed),
    )


def unlinkable_measures(exposed: ScopeLoss, original: Original | int) -> tuple[Companion, ...]:
    """Return the association of each attribute assumed unlinkable with a randomised one; nothing without the table."""
    if isinstance(original, int) or not exposed.unlinkable or not exposed.randomised:
        return ()
    from rrpolicy.privacy.epsilon.association import largest_cramers_v

    found = largest_cramers_v(original, [c.attribute for c in exposed.unlinkable], exposed.randomised)
    return tuple(
        Companion(
            f"{V_OF}{name}",
            association.measure,
            Basis.ORIGINAL,
            f"The strongest association of '{name}', assumed unlinkable, with a randomised attribute: "
            f"'{association.other}'."
            + (
                f" Above {DOUBTFUL_CRAMERS_V}: the assumption is doubtful."
                if association.measure.value > DOUBTFUL_CRAMERS_V
                else ""
            ),
        )
        for name, association in found.items()
    )


def unbounded_reason(policy: Policy, axes: Sequence[type[Axis]], *, record: bool) -> str | None:
    """Return why epsilon is infinite under a policy whatever the data are; None if it need not be.

    The mechanism's options `blocks` and `attributes` count, and the kinds of planned axes; `record`: unmodified
    attributes count. Generalising everybody into one group is not counted as a way out.
    """
    if any(issubclass(axis, Recode) for axis in axes):
        return (
            "generalised values are not randomised: people of two groups are distinguished with certainty, which gives "
            "k = 1 and an infinite epsilon; randomise the quasi-identifiers instead, or use a model of "
            "equivalence classes"
        )
    options = policy.mechanism.options
    blocks = getattr(options, "blocks", None) or {}
    several = [name for name, parts in blocks.items() if len(parts) > 1]
    if several:
        are = "is" if len(several) == 1 else "are"
        return f"{_quoted_list(several)} {are} exchanged inside blocks only, which gives k = 1 and an infinite epsilon"
    chosen = getattr(options, "attributes", None) or ()
    unchanged = [
        attribute.name
        for attribute in (policy.with_role(Role.INSENSITIVE) if record else ())
        if attribute.name not in chosen
        and attribute.assume_unlinkable is None
        and not (attribute.domain is not None and len(attribute.domain) == 1)
    ]
    if unchanged:
        are, each = ("is", "it") if len(unchanged) == 1 else ("are", "each")
        return (
            f"{_quoted_list(unchanged)} {are} released unchanged, which gives k = 1 and an infinite epsilon; "
            f"exclude {each}, randomise it, or state `assume_unlinkable`"
        )
    return None


def _quoted_list(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _ratio_power(ratio: Fraction | None, exponent: int) -> Fraction | None:
    return None if ratio is None else ratio**exponent


def _ratio_product(ratios: Iterable[Fraction | None]) -> Fraction | None:
    product = Fraction(1)
    for ratio in ratios:
        if ratio is None:
            return None
        product *= ratio
    return product
