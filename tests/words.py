"""Sentences that readers met once and should not meet any more; plainer ones took their place."""

from __future__ import annotations

REPLACED = (
    r"All \d+ privacy requirements hold|reached .* asked|with m records a person|group inference|worst released-cell"
    r"|excluded pairs|the largest of any value|Numbers to be read beside it|What it rests on|Spread over people"
    r"|Groups at the top|Only the expectation over draws|would destroy the guarantee|equal records drawn together"
    r"|policy.s meaning|Tag of the source|is a statistic of the original table, but|no category of their own"
    r"|the gate does not pass|(categories|values), all alike|classes of \d+ had to be counted"
    r"|else another of the|an estimate may lie outside|moves the odds|links nobody|[Ww]hoever"
)
"""Each as a regular expression, one of several."""
