"""What the README of public/ says where columns were generalised: nothing drawn, counts inside groups lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.estimate.weights.recode import RecodeWeights
    from rrpolicy.releasing.handout.weights import WeightFile

OPENING = """Before publication the values of some columns were generalised: a released label stands for one
original category or for several, and `*` for any of them. **Counts of released labels are exact; counts of the
categories inside a label are not known.** Nothing was changed at random. Rows are sorted by their values: their order
says nothing."""

NEVER = """## What not to do

- Do not take the even spread for data: it has no standard error, and associations inside groups are lost.
- Do not drop the records that are `*` in all columns without saying so: they are not a random sample.
- Do not read a group as a person: at best it says something of all its members. Do not try to find out who is in it."""


def treatment(axis: RecodeWeights) -> str:
    """Return how a column was released."""
    several = sum(1 for group in axis.groups if len(group) > 1)
    return (
        f"generalised: {len(axis.released)} labels for {len(axis.original)} categories, {several} of them for several"
    )


def how_to_count(weights: Sequence[WeightFile]) -> str:
    """Return how counts by original category are estimated."""
    names = ", ".join(f"`{w.path}`" for w in weights)
    return f"""## How to count

Count released labels as they are: those counts are exact, and so are shares and tables of them. A count of *original*
categories is estimated by spreading every record evenly over what its label stands for. The weight tables ({names})
hold, for every released label and every original category that it stands for, that share.

- One column: sum the weights over all records. Several columns: multiply a record's weights, one for each generalised
  column that the table or the condition names. Columns released as they are need none.
- Several categories of one column (`IN`): add their weights first, record by record, then go on.

| | |
|---|---|
| estimate | sum(w): biased where a group is not spread evenly; there is no standard error |
| at least | the records with w = 1: they are certain to be in the cell |
| at most | the records with w > 0: no other can be |

Where both bounds agree, the count is exact."""
