"""A series: releases over time in which an unchanged value of a person is released equally.

Its first release freezes the channel, the contents of categories, and the identification of people; later ones take the
channel from the ledger and refuse any other. Each axis draws by numbers that depend on all of it
(`rrpolicy.channels.sampling.persistent_noise`), so that an undetected change of the channel would draw anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical, digest
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import DataError, Problem, RefusedError
from rrpolicy.finding import Origin
from rrpolicy.mechanism import Outline, Proposal, Remark
from rrpolicy.serialization import plain

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.manifest.manifest import ManifestSeries
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original

FROZEN = "series"
"""The name of the remark that a channel was taken from the first release of its series."""
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"} | {"UTINYINT", "USMALLINT", "UINTEGER"})
_ANEW = (
    "undo the change. If the change is intended, give the series another name: a new series has its own key and "
    "draws every person again, and both count against the budget of their population"
)
_HINTS: Mapping[str, str] = {
    "the key": "use the key of the series, which its first release made",
    "how people are distinguished": "keep the spelling of each person's identifier: a person with another "
    "spelling is drawn again"
    "",
    "the population": "write the population as before: another name has its own budget, as if no person were in both",
}


class SeriesState(Struct, frozen=True):
    """A series as fixed by its first release."""

    by: str
    series: ManifestSeries
    channel: Channel
    population: str | None


def series_problems(policy: Policy, outline: Outline) -> Iterator[Problem]:
    """Yield why a policy's releases cannot be a series (RR500); no data are needed."""
    if policy.release.series is None:
        return
    place = policy.place("release.series")

    def refused(message: str, hint: str) -> Problem:
        return Problem("RR500", f"series '{policy.release.series}': {message}", place, hint=hint)

    if policy.ledger is None:
        yield refused(
            "only a ledger contains the fixed parts of its first release and the combined privacy loss",
            "`rrpolicy ledger init releases.jsonl`, and name the file under [ledger]",
        )
    if policy.unit is None:
        yield refused(
            "a person's value is drawn equally each time, but no column identifies people",
            "give the column that identifies a person in every table the role identifier, or name it: [source] unit",
        )
    if policy.source.max_records > 1:
        yield refused(
            "of a person with several records, it is not known which is which from one release to the next",
            "release one record a person, or no series",
        )
    if not issubclass(outline.channel, Product):
        yield refused(
            f"{policy.mechanism.name} deals with the records of one table together, so that none is drawn by itself",
            "choose a mechanism that randomises values, such as rr-both or pram",
        )
    for names, axis in outline.axes:
        if not axis.one_number:
            told = ", ".join(f"'{name}'" for name in names)
            yield refused(
                f"{told} is released by an axis of kind '{axis.kind}', which does not draw a record by one number",
                "choose a mechanism that randomises values, such as rr-both or pram",
            )


def table_series(policy: Policy, original: Original | int) -> ManifestSeries | None:
    """Return the series that a table's release belongs to, without the id of its key.

    It is None if it belongs to no series. For a number of records, people's identifiers are unknown.

    Raises:
        DataError: RR328 if people are identified by values that may be spelled differently next time, such as decimal
            numbers.
    """
    name = policy.release.series
    if name is None or isinstance(original, int):
        return None
    from rrpolicy.manifest.manifest import ManifestSeries

    kind = "" if original.units is None else original.units.type
    if kind == "VARCHAR":
        return ManifestSeries(name, "", *frozen_digests(policy), "text")
    if kind in _WHOLE:
        return ManifestSeries(name, "", *frozen_digests(policy), "integer")
    message = f"'{policy.unit}' identifies people and is of type {kind or 'unknown'}"
    hint = "write it as text or as whole numbers, in the same way each time"
    raise DataError(Problem("RR328", message, policy.place("release.series"), "whole numbers or text", hint))


def frozen_digests(policy: Policy) -> tuple[str, str]:
    """Return digests of the parts that a series freezes with its channel: the mechanism, and contents of categories."""
    stands_for = ("name", "role", "domain", "outside", "nulls", "scale", "bins", "hierarchy", "missing")
    told: list[Json] = [{key: plain(getattr(a, key)) for key in stands_for} for a in policy.released]
    return digest(canonical(policy.mechanism.to_json())), digest(canonical(told))


def channel_digest(channel: Channel) -> str:
    """Return the digest of a channel's released values and probabilities, whatever the engine and column names."""
    from rrpolicy.channels.sampling.persistent_noise import axis_digest

    if not isinstance(channel, Product):
        return digest(canonical(channel.to_public_json()))
    axes: list[Json] = [*sorted(axis_digest(axis) for axis in channel.axes)]
    carried: list[Json] = [*sorted(column.attribute for column in channel.carried)]
    return digest(canonical([axes, carried]))


def series_differences(
    begun: SeriesState, series: ManifestSeries, channel: Channel, population: str | None
) -> tuple[str, ...]:
    """Return the differences from the first release of a series, in words.

    An id of "" is not compared.
    """
    told = {
        "the mechanism or its options": begun.series.mechanism == series.mechanism,
        "an attribute's role, its categories, their order or meaning": begun.series.categories == series.categories,
        "what is released with which probabilities": channel_digest(begun.channel) == channel_digest(channel),
        "the population": begun.population == population,
        "how people are distinguished": begun.series.persons == series.persons,
        "the key": series.id in {"", begun.series.id},
    }
    return tuple(what for what, same in told.items() if not same)


def require_same_series(begun: SeriesState, policy: Policy, series: ManifestSeries, channel: Channel) -> None:
    """Refuse a release that would be drawn differently from the first of its series (RR444)."""
    what = series_differences(begun, series, channel, policy.source.population)
    if what:
        message = f"the series '{series.name}' was begun by {begun.by}, and other than there is: {'; '.join(what)}"
        hint = _HINTS.get(what[0], _ANEW)
        raise RefusedError(Problem("RR444", message, policy.place("release.series"), hint=hint))


def continued_proposal(begun: SeriesState, policy: Policy) -> Proposal:
    """Return the first release's channel, its columns described as the policy describes them now.

    Raises:
        RefusedError: RR444 if the policy releases other attributes.
    """
    released = {a.name: a for a in policy.released}
    axes: Sequence[Axis] = getattr(begun.channel, "axes", ())
    known = {name for axis in axes for name in axis.attributes}
    known |= {column.attribute for column in getattr(begun.channel, "carried", ())}
    if known != set(released):
        other = ", ".join(f"'{name}'" for name in sorted(known ^ set(released)))
        message = f"the series '{begun.series.name}' was begun by {begun.by} with other attributes: {other}"
        raise RefusedError(Problem("RR444", message, policy.place("release.series"), hint=_ANEW))
    channel = Product.of(policy.released, axes)
    said = f"the channel is that of {begun.by}, with which the series '{begun.series.name}' was begun"
    origins = {name: Origin.SERIES for axis in axes for name in axis.attributes}
    return Proposal(channel, origins, remarks=(Remark(FROZEN, said),))
