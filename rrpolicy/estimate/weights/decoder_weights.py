"""From a decoder to its record weights."""

from __future__ import annotations

from rrpolicy.channels.decoders import (
    AdditionDecoder,
    AnatomyDecoder,
    Decoder,
    IdentityDecoder,
    MatrixDecoder,
    RecodeDecoder,
    RetentionDecoder,
    label_cells,
)
from rrpolicy.channels.undisclosed_channel import undisclosed_matrix_error
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.estimate.weights.sets import set_weights


def axis_weights(decoder: Decoder) -> tuple[AxisWeights, ...]:
    """Return the weights of a decoder: one axis; of recode one per column, whose weights multiply.

    The list of forms is closed: no plugin brings an estimator.

    Raises:
        PolicyError: RR267 if the released values carry no information; RR526 if the matrix is withheld.
    """
    match decoder:
        case IdentityDecoder(labels=labels):
            own = label_cells(labels)
            return (IdentityWeights(decoder.columns, own, own),) if labels else ()
        case RetentionDecoder(labels=own):
            return (RetentionWeights(decoder.columns, own, own, decoder.blocks),)
        case MatrixDecoder():
            return (MatrixWeights(decoder.columns, decoder.released, decoder.original, decoder.rows),)
        case AdditionDecoder():
            return (set_weights(decoder),)
        case RecodeDecoder():
            parts = zip(decoder.columns, decoder.released, decoder.original, decoder.groups, strict=True)
            return tuple(
                RecodeWeights((name,), label_cells(released), label_cells(original), groups)
                for name, released, original, groups in parts
            )
        case AnatomyDecoder():
            own, d = label_cells(decoder.labels), decoder
            return (AnatomyWeights(d.columns, own, own, d.table, d.key, d.count),)
        case _:
            raise undisclosed_matrix_error(decoder.columns)
