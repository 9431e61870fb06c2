"""Content of a ledger, for people: every release with its guarantees, alone and together with earlier releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Self

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.channels.probability import log_rounded_up, round_down
from rrpolicy.channels.product.channel import Product
from rrpolicy.discovery import load_registry
from rrpolicy.governance.ledger.chain import Ledger
from rrpolicy.governance.ledger.entry import LedgerBudgetEntry, RecallEntry, ReleaseEntry, StatedGuarantee
from rrpolicy.governance.ledger.joint_requirements import UnmetJointRequirement, unmet_requirements
from rrpolicy.governance.ledger.ledger_file import read_ledger
from rrpolicy.governance.ledger.overlap import (
    combine_entries,
    overlapping_releases,
)
from rrpolicy.numbers import plain_number
from rrpolicy.privacy.epsilon.scope_loss import ScopeLoss, k_of_cross_ratio, scope_loss
from rrpolicy.registry import Registry
from rrpolicy.serialization import record


class ComposedBounds(Struct, frozen=True):
    """Bounds on releases from likelihood ratios, valid for any table.

    Attributes:
        k: no attacker links a person with a probability above 1/k; None if units have several records.
    """

    record: float
    attribute: float
    k: float | None
    rule: str


class ReleaseFate(Struct, frozen=True):
    """Outcome of a release.

    Attributes:
        digest: digest of release.json; None if its bundle is not known to have appeared.
        recall: None if it was not recalled.
        replaced_by: hash of the entry of the release to use in its place; None if there is no replacement.
    """

    digest: str | None
    recall: RecallEntry | None
    replaced_by: str | None


class LedgerRow(Struct, frozen=True):
    """A release of the ledger.

    Attributes:
        outcome: released, withdrawn, recalled, replaced, or open: unknown whether the bundle appeared.
        with_earlier: number of earlier releases that may contain the same people.
        alone: its bounds by itself; None if unknown.
        together: its bounds together with those; None if no rule composes them.
        unruled: reason why no rule applies; "" if one does.
    """

    hash: str
    entry: ReleaseEntry
    outcome: str
    with_earlier: int
    alone: ComposedBounds | None
    together: ComposedBounds | None
    unruled: str
    place: ReleaseFate


class ListedBudget(Struct, frozen=True):
    """The budget of a population.

    Attributes:
        requirements: requirements on all releases together.
        date: the day from which it applies.
        reason: the reason for raising it.
        by: the person who decided it.
    """

    requirements: tuple[Mapping[str, Json], ...]
    date: str
    reason: str | None
    by: str | None

    @classmethod
    def of(cls, entry: LedgerBudgetEntry | None) -> Self | None:
        """Return the budget of an entry; None if there is none."""
        return None if entry is None else cls(entry.requirements, entry.date, entry.reason, entry.by)


class ListedPolicy(Struct, frozen=True):
    """The policy of a release.

    Attributes:
        name: its name.
        version: its version.
        digest: digest of its content.
    """

    name: str
    version: str
    digest: str


class ListedRecall(Struct, frozen=True):
    """The recall of a release.

    Attributes:
        date: the day.
        by: the person who decided it.
        reason: the reason for the recall.
    """

    date: str
    by: str
    reason: str


class ListedRelease(Struct, frozen=True):
    """A release of the ledger, as the document contains it.

    Attributes:
        entry: hash of its entry.
        label: label of the release.
        records: their number.
        overlap: the relation of its people to those of earlier releases.
        series: name of its series.
        different_values: in a series, the number of people with other values than before.
        outcome: released, withdrawn, recalled, replaced, or open: unknown whether the bundle appeared.
        guarantees: guarantees of the release by itself.
        earlier: number of earlier releases that may contain the same people.
        alone: its bounds by itself; null if unknown.
        together: its bounds together with those; null if no rule composes them.
        unruled: the reason for which no composition rule applies; null if one does.
        uncomposed: the policy's reason for the release although no rule composes it.
        date: the day on which it was entered.
        digest: digest of release.json; null if its bundle is not known to have appeared.
        budget: the budget that its policy states.
        recalled: its recall.
        replaced_by: hash of the entry of the release to use in its place.
    """

    entry: str
    label: str | None
    policy: ListedPolicy
    records: int
    overlap: str
    series: str | None
    different_values: int | None
    outcome: str
    guarantees: tuple[StatedGuarantee, ...]
    earlier: int
    alone: ComposedBounds | None
    together: ComposedBounds | None
    unruled: str | None
    uncomposed: str | None
    date: str | None
    digest: str | None
    budget: tuple[Mapping[str, Json], ...] | None
    recalled: ListedRecall | None
    replaced_by: str | None

    @classmethod
    def of(cls, line: LedgerRow) -> Self:
        """Return a row of the ledger."""
        entry, recall = line.entry, line.place.recall
        return cls(
            entry=line.hash,
            label=entry.label,
            policy=ListedPolicy(entry.policy, entry.version, entry.policy_digest),
            records=entry.records,
            overlap=entry.overlap,
            series=None if entry.series is None else entry.series.name,
            different_values=entry.different_values,
            outcome=line.outcome,
            guarantees=entry.guarantees,
            earlier=line.with_earlier,
            alone=line.alone,
            together=line.together,
            unruled=line.unruled or None,
            uncomposed=entry.uncomposed,
            date=entry.date,
            digest=line.place.digest,
            budget=entry.budget,
            recalled=None if recall is None else ListedRecall(recall.date, recall.by, recall.reason),
            replaced_by=line.place.replaced_by,
        )


class ListedPopulation(Struct, frozen=True):
    """A population of the ledger.

    Attributes:
        population: its name; null for releases without one.
        budget: the budget that applies to it.
        releases: its releases in their order.
    """

    population: str | None
    budget: ListedBudget | None
    releases: tuple[ListedRelease, ...]


class ListedLedger(Struct, frozen=True):
    """Output of `rrpolicy ledger show --json`.

    Attributes:
        head: hash of the last entry.
        populations: populations with their releases.
        unkept: joint requirements that the releases violate or leave undecided.
    """

    schema: ClassVar[str] = "rrpolicy.ledger-shown/1"

    head: str
    populations: tuple[ListedPopulation, ...]
    unkept: tuple[UnmetJointRequirement, ...]


class LedgerView(Struct, frozen=True):
    """Content of a ledger for display.

    Attributes:
        head: hash of the last entry.
        populations: name, or None for releases without one -> its releases in their order.
        budgets: name -> the budget that applies to it; None for the budget of all.
        unkept: joint requirements that the releases violate or leave undecided.
    """

    name: str
    head: str
    populations: tuple[tuple[str | None, tuple[LedgerRow, ...]], ...]
    budgets: Mapping[str | None, LedgerBudgetEntry]
    unkept: tuple[UnmetJointRequirement, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the document of `rrpolicy ledger show --json`."""
        populations = (
            ListedPopulation(name, ListedBudget.of(self.budgets.get(name)), tuple(map(ListedRelease.of, lines)))
            for name, lines in self.populations
        )
        return record(ListedLedger(self.head, tuple(populations), self.unkept))

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text output."""
        yield f"{self.name}: head {self.head}"
        for name, releases in self.populations:
            yield ""
            yield f"population {name}" if name is not None else "no population named: taken to be of anybody"
            if name in self.budgets:
                yield f"  {_budget_text(self.budgets[name])}"
            if not releases:
                continue
            yield from _aligned_rows([*map(_row_cells, releases)])
            for number, line in enumerate(releases, 1):
                if line.unruled:
                    yield f"  {number}: no guarantee for all releases together: {line.unruled}"
                if line.place.recall is not None:
                    recall = line.place.recall
                    yield f"  {number}: recalled on {recall.date} by {recall.by}: {recall.reason}"
                if line.entry.uncomposed is not None:
                    yield f"  {number}: released all the same, because {line.entry.uncomposed}"
        if not any(lines for _, lines in self.populations):
            yield "no release was entered"
        for each in self.unkept:
            yield f"{'BROKEN: ' if each.broken else ''}{each}"


def show_ledger(path: Path, plugins: Sequence[str] = ()) -> LedgerView:
    """Show a ledger; see `rrpolicy.show_ledger` for the arguments and errors."""
    ledger, registry = read_ledger(path), load_registry(plugins)
    found: dict[str | None, list[LedgerRow]] = {}
    entered = {own: entry for own, entry in ledger.entries.items() if isinstance(entry, ReleaseEntry)}
    for number, (own, entry) in enumerate(entered.items()):
        before = dict(list(entered.items())[:number])
        earlier = {name: e for name, e in before.items() if name in ledger.releases}
        found.setdefault(entry.population, []).append(_ledger_row(ledger, registry, own, entry, earlier))
    budgets = {name: ledger.entries[own] for name, own in ledger.budgets.items()}
    stated = {name: entry for name, entry in budgets.items() if isinstance(entry, LedgerBudgetEntry)}
    listed = tuple((name, tuple(found.get(name, ()))) for name in dict.fromkeys((*found, *stated)))
    return LedgerView(str(path), ledger.head, listed, stated, tuple(unmet_requirements(ledger, registry)))


def _budget_text(entry: LedgerBudgetEntry) -> str:
    """Return a budget in words from its stored options, since its plugins may be absent."""
    each = []
    for requirement in entry.requirements:
        options = requirement["options"]
        assert isinstance(options, dict)
        stated = ", ".join(f"{key} = {value}" for key, value in options.items() if value not in (None, []))
        each.append(f"{requirement['model']} ({stated})")
    why = "" if entry.reason is None else f"; {entry.by}: {entry.reason}"
    return f"budget since {entry.date}: {' and '.join(each)}{why}"


def _ledger_row(
    ledger: Ledger, registry: Registry, own: str, entry: ReleaseEntry, earlier: dict[str, ReleaseEntry]
) -> LedgerRow:
    settled, recall = ledger.settled.get(own), ledger.recalled.get(own)
    outcome: str = "open" if settled is None else settled.outcome
    outcome = "recalled" if recall is not None else "replaced" if own in ledger.replaced else outcome
    others = list(overlapping_releases(earlier, entry.overlap, entry.population).values())
    (alone, _), (together, unruled) = (_composed_bounds(registry, before, entry) for before in ((), others))
    digest = None if settled is None else settled.release
    place = ReleaseFate(digest, recall, ledger.replaced.get(own))
    return LedgerRow(own, entry, outcome, len(others), alone, together, unruled, place)


def _composed_bounds(
    registry: Registry, others: Sequence[ReleaseEntry], entry: ReleaseEntry
) -> tuple[ComposedBounds | None, str]:
    joint = combine_entries(others, entry, registry)
    if isinstance(joint, str):
        return None, joint
    most = max(e.max_records for e in (*others, entry))
    exposed = [(scope_loss(g.channel, most), g.people) for g in joint.groups if isinstance(g.channel, Product)]
    return _bounds_of(exposed, joint.rule if others else "", others, entry), ""  # type: ignore[arg-type]


def _bounds_of(
    exposed: Sequence[tuple[ScopeLoss, int]], rule: str, others: Sequence[ReleaseEntry], entry: ReleaseEntry
) -> ComposedBounds:
    people = [(e, entry.records if not others else n) for e, n in exposed]
    several = any(e.max_records > 1 for e in (*others, entry))
    k = None if several else round_down(min(k_of_cross_ratio(e.cross, n) for e, n in people))
    return ComposedBounds(
        _epsilon_text(e.record for e, _ in people), _epsilon_text(e.attribute for e, _ in people), k, rule
    )


def _epsilon_text(ratios: Iterator[Fraction | None]) -> float:
    return max(math.inf if ratio is None else log_rounded_up(ratio) for ratio in ratios)


def _row_cells(line: LedgerRow) -> dict[str, str]:
    """Return the cells of a release by the heads of their columns."""
    entry, reached = line.entry, line.together
    k = "" if reached is None else "?" if reached.k is None else plain_number(reached.k)
    return {
        "release": entry.name,
        "date": entry.date or "",
        "records": f"{entry.records:,}",
        "overlap": entry.overlap,
        "series": "" if entry.series is None else entry.series.name,
        "outcome": line.outcome,
        "epsilon": "no rule" if line.alone is None else plain_number(line.alone.record),
        "epsilon together": "no rule" if reached is None else plain_number(reached.record),
        "k together": k,
        "together with": f"{line.with_earlier} earlier",
        "rule": "" if reached is None else reached.rule,
    }


def _aligned_rows(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    numbered = [("", *rows[0]), *((str(i), *row.values()) for i, row in enumerate(rows, 1))]
    widths = [max(map(len, column)) for column in zip(*numbered, strict=True)]
    for row in numbered:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
