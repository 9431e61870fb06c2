"""The result of a draw, used for the other files of the bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.staging import Staging
from rrpolicy.bundle.tables.writer import WrittenTable
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.manifest.manifest import ManifestSeries
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.plan import Plan
from rrpolicy.policy.model import Policy
from rrpolicy.registry import Registry

if TYPE_CHECKING:
    from rrpolicy.counts import Counts
    from rrpolicy.planning.key_storage import KeyStorage
    from rrpolicy.planning.ledger_account import BudgetCheck
    from rrpolicy.source.protocol import Original


@frozen
class ExecutedPlan:
    """A plan that was drawn into a staging folder.

    Attributes:
        plan: settled, with its source tag.
        policy: as its file states it.
        assessment: of its channel, before the draw.
        written: the data files, by table.
        registry: of the policy's plugins.
        original: the table; None if its records were collected, each randomised before it was sent.
        staging: the bundle in the making.
        label: of the release, such as `2026-11`.
        policy_file: the policy as written; None if only a plan is available.
        custody: the key's storage.
        series: that the release belongs to; None if it belongs to none.
        draw: see `rrpolicy.planning.ledger_account.draw_id`.
        weighed: with earlier releases of the same people; None if the policy names no ledger.
        test: the draw came from a test's seed.
        questionnaire: of its collected records; None if it was drawn from a table.
        replaces: digest of release.json of the release that it corrects; None if it corrects none.
    """

    plan: Plan
    policy: Policy
    assessment: Assessment
    written: Mapping[str, WrittenTable]
    registry: Registry
    original: Original | None
    staging: Staging
    label: str | None
    policy_file: Path | None
    custody: KeyStorage
    series: ManifestSeries | None
    draw: str
    weighed: BudgetCheck | None
    test: bool
    questionnaire: Questionnaire | None = None
    replaces: str | None = None

    @property
    def released(self) -> Mapping[str, Sequence[int]]:
        """Return the released records of each label, by category column."""
        return {name: counts for table in self.written.values() for name, counts in table.counts.items()}

    @property
    def joint(self) -> Counts | None:
        """Return the released records of each combination of labels, if one table has them and they were counted."""
        return self.written["data"].joint if "data" in self.written else None
