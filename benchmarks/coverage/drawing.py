"""How often intervals hold: many draws of a release, every question asked of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.coverage.asked import QUESTIONS, Answered, CoarserError
from rrpolicy.errors import RRPolicyError
from rrpolicy.estimate.release import Release
from rrpolicy.testing import TableInMemory, open_policy, policy_text
from rrpolicy.testing.draws import draw_release, plan_kit_release

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.coverage.mechanisms import Mechanism
    from benchmarks.coverage.surveys import Survey
    from rrpolicy.planning.policy_opening import OpenedPolicy
    from rrpolicy.policy.model import Policy

HELD, MISSED, MARKED_HELD, MARKED_MISSED, CERTAIN, WRONG, REFUSED = "hmHMc!r"
"""What came of a question in a draw: an interval that held or not, of a row without a flag or with one; certain ends
that held or not; refused."""
SAMPLE = 200


@dataclass(frozen=True)
class Combination:
    """A survey, or a sample of it, released by a mechanism.

    Attributes:
        survey: the table.
        mechanism: by which it is released, planned for the whole survey.
        records: of a sample; None for all.
    """

    survey: Survey
    mechanism: Mechanism
    records: int | None

    @property
    def name(self) -> str:
        """Return what it is kept under."""
        size = "all" if self.records is None else str(self.records)
        return f"{self.survey.name}, {self.mechanism.name}, {size}"

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return the records: every so many of the survey."""
        frame = self.survey.frame
        if self.records is None:
            return frame
        chosen = np.random.default_rng(self.records).permutation(len(frame))[: self.records]
        return frame.iloc[np.sort(chosen)].reset_index(drop=True)

    @cached_property
    def truths(self) -> tuple[float, ...]:
        """Return the answers of the table itself."""
        return tuple(q.truth(self.frame, self.survey) for q in QUESTIONS)

    def releases(self, seeds: Sequence[int]) -> Iterator[Release]:
        """Yield a release a seed."""
        opened = open_policy(policy_text(self.mechanism.policy(self.survey)))
        whole = plan_kit_release(opened, self._table(opened, self.survey.frame))
        table = self._table(opened, self.frame)
        plan = whole if self.records is None else plan_kit_release(opened, table, whole.channel)
        for seed in seeds:
            with draw_release(plan, opened, table, seed) as made:
                yield made.release

    def asked(self, seeds: Sequence[int]) -> Mapping[str, str]:
        """Return what came of each question, a letter a seed."""
        found = ["".join(self._letters(release)) for release in self.releases(seeds)]
        return {q.text: "".join(letters) for q, letters in zip(QUESTIONS, zip(*found, strict=True), strict=True)}

    def _letters(self, release: Release) -> Iterator[str]:
        for question, truth in zip(QUESTIONS, self.truths, strict=True):
            try:
                answer = question.ask(release, self.survey)
            except (RRPolicyError, CoarserError):
                yield REFUSED
            else:
                yield _letter(answer, truth)

    def _table(self, opened: OpenedPolicy, frame: pd.DataFrame) -> TableInMemory:
        policy: Policy = opened.policy
        domains = {a.name: {v: code for code, v in enumerate(a.domain or ())} for a in policy.released}
        return TableInMemory.of(policy, {n: [d[v] for v in frame[n].tolist()] for n, d in domains.items()})


def _letter(answer: Answered, truth: float) -> str:
    slack = 1e-6 * (abs(truth) + abs(answer.high - answer.low) + 1e-9)
    holds = answer.low - slack <= truth <= answer.high + slack
    if answer.certain:
        return CERTAIN if holds else WRONG
    if answer.flags:
        return MARKED_HELD if holds else MARKED_MISSED
    return HELD if holds else MISSED
