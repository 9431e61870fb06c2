"""From a decoder's form to its record weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rrpolicy.channel.table import Decoder
from rrpolicy.estimate.weights.anatomy import anatomy_weights
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, MatrixWeights, RetentionWeights, cells_of
from rrpolicy.estimate.weights.recode import recode_weights
from rrpolicy.estimate.weights.sets import set_weights


def axis_weights(decoder: Decoder) -> tuple[AxisWeights, ...]:
    """Return the weights of a decoder: one axis; of identity and spread one a column, whose weights multiply.

    The list of forms is closed: no plugin brings an estimator.

    Raises:
        PolicyError: RR270 for a form that counts cannot be estimated from in this version.
    """
    p: Mapping[str, Any] = decoder.parameters
    match decoder.form:
        case "identity":
            return tuple(
                IdentityWeights((column,), cells_of(labels), cells_of(labels))
                for column, labels in zip(p["columns"], p["labels"], strict=True)
                if labels
            )
        case "retention":
            cells = cells_of(p["labels"])
            blocks = tuple((tuple(b["members"]), Fraction(b["keep_probability"])) for b in p["blocks"])
            return (RetentionWeights((p["column"],), cells, cells, blocks),)
        case "matrix":
            columns = tuple(p["columns"]) if "columns" in p else (p["column"],)
            rows = tuple(tuple(Fraction(str(v)) for v in row) for row in p["rows"])
            return (MatrixWeights(columns, cells_of(p["released"]), cells_of(p["original"]), rows),)
        case "membership":
            return (set_weights(decoder),)
        case "spread":
            return recode_weights(decoder)
        case "share":
            return (anatomy_weights(decoder),)
