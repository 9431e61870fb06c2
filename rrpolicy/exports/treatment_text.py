"""How a column was released, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.channels.decoders import Block
from rrpolicy.escaping.markdown import markdown_code
from rrpolicy.estimate.weights.base import AxisWeights, MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.estimate.weights.sets import SetWeights


def treatment_markdown(axis: AxisWeights | None) -> str:
    """Return as Markdown how the columns of an axis were released; None is an axis that needs no weights."""
    if axis is None or not axis.randomised:
        return "as it is"
    together = f", together with {', '.join(map(markdown_code, axis.columns))}" if len(axis.columns) > 1 else ""
    match axis:
        case RecodeWeights(released=labels, original=values, groups=groups):
            several = sum(1 for group in groups if len(group) > 1)
            return f"generalised: {len(labels)} labels for {len(values)} categories, {several} of them for several"
        case RetentionWeights(blocks=blocks):
            as_one = f"{', '.join(map(markdown_code, axis.columns))} as one: " if together else ""
            return as_one + _replacement_text(blocks, "combinations" if together else "categories")
        case SetWeights(set_size=l, original=values):
            what = "combinations" if together else "categories"
            drawn = f"the original one and {l - 1} drawn at random"
            return f"as a set of {l} of the {len(values)} {what}: {drawn}{together}"
        case MatrixWeights():
            return f"by an explicit transition matrix{together}"
        case _:
            return f"randomised{together}"


def _replacement_text(blocks: Sequence[Block], what: str) -> str:
    kept = sorted(map(_keep_probability_text, blocks))
    if len(blocks) == 1:
        return f"{kept[0]}, otherwise replaced by one of the other {what} of {blocks[0].size}, equally likely"
    return f"exchanged inside {len(blocks)} blocks of {what} only: {'; '.join(dict.fromkeys(kept))}"


def _keep_probability_text(block: Block) -> str:
    return "kept" if block.size == 1 else f"kept with probability {float(block.keep):.6g}"
