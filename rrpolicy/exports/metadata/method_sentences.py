"""Treatment of the columns, and the resulting limitations, in words for every standard."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Decoder,
    MatrixDecoder,
    RecodeDecoder,
    RetentionDecoder,
    WithheldDecoder,
)
from rrpolicy.escaping.printable import quoted_list

UNCHANGED = "released unchanged"


def alters_values(decoder: Decoder) -> bool:
    """Return whether a released value can differ from the original one, or represent several."""
    if isinstance(decoder, RecodeDecoder):
        return any(len(group) > 1 for groups in decoder.groups for group in groups)
    return decoder.drawn


class ColumnMethod(Struct, frozen=True):
    """A treatment shared by some columns.

    Attributes:
        words: the columns and their treatment, in a sentence.
    """

    form: type[Decoder]
    changed: bool
    words: str


def column_methods(decoders: Sequence[Decoder]) -> tuple[ColumnMethod, ...]:
    """Return the treatments of a release's columns, each treatment once."""
    alike: dict[tuple[type[Decoder], str, bool], list[str]] = {}
    for decoder in decoders:
        key = (type(decoder), _method_text(decoder) if alters_values(decoder) else UNCHANGED, alters_values(decoder))
        alike.setdefault(key, []).extend(_treated_columns(decoder))
    return tuple(
        ColumnMethod(form, was_changed, f"{', '.join(names)}: {what}.")
        for (form, what, was_changed), names in alike.items()
    )


def _treated_columns(decoder: Decoder) -> list[str]:
    """Return the columns of a decoder: one by one if they are decoded separately, else as a group drawn together."""
    if isinstance(decoder, RecodeDecoder) or len(decoder.columns) == 1:
        return [quoted_list([column]) for column in decoder.columns]
    return [f"({quoted_list(decoder.columns)} together)"]


def _method_text(decoder: Decoder) -> str:
    """Return how a decoder that is not an identity alters values."""
    match decoder:
        case RetentionDecoder(columns=columns):
            of, other = ("combination", "combination") if len(columns) > 1 else ("value", "category")
            return f"each {of} is kept with a published probability, otherwise replaced by another {other}"
        case MatrixDecoder():
            return "each value is drawn anew by a published transition matrix"
        case AdditionDecoder(set_size=l):
            drawn = f"released as sets of {l}: the original value and {l - 1} drawn at random"
            return "released as the set of all values, which reveals nothing about it" if decoder.silent else drawn
        case AnatomyDecoder(size=l, of=of):
            return f"released apart from the records (table '{of}'), in groups of at least {l}, dealt at random"
        case RecodeDecoder():
            return "generalised: a label represents one category or several"
        case _:
            return "each value is drawn anew by a transition matrix that the publisher withholds"


def limitations(decoders: Sequence[Decoder]) -> tuple[str, ...]:
    """Return the limitations on the use of undecoded released values."""
    told = []
    drawn = [d for d in decoders if d.drawn]
    dealt = [c for d in drawn if isinstance(d, AnatomyDecoder) for c in d.columns]
    kept = [c for d in drawn if isinstance(d, WithheldDecoder) for c in d.columns]
    randomised = [c for d in drawn if not isinstance(d, (AnatomyDecoder, WithheldDecoder)) for c in d.columns]
    generalised = [c for d in decoders if isinstance(d, RecodeDecoder) and alters_values(d) for c in d.columns]
    if randomised:
        told.append(f"The values of {quoted_list(randomised)} are randomised: estimate, do not count.")
    if kept:
        told.append(
            f"The values of {quoted_list(kept)} are randomised by matrices that the publisher withholds: no count "
            f"of them can be estimated. README.md lists valid analyses."
        )
    if dealt:
        told.append(
            f"Which record of a group has which value of {quoted_list(dealt)} was left to chance and is not in the "
            "release: estimate, do not count."
        )
    if len(dealt) > 1:
        told.append(
            f"Which values of {quoted_list(dealt)} belong to one record is not in the release: study them apart."
        )
    if generalised:
        told.append(
            f"The labels of {quoted_list(generalised)} represent several categories each. A count of one category "
            f"alone is an even share, without a standard error."
        )
    if not drawn:
        told.append("No value was drawn at random: labels can be counted directly.")
    return tuple(told)
