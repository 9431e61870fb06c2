"""Full-domain generalisation: the best node of the lattice, as axes of a channel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.axes.categories import certainty_penalty
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.declarations import Role
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number, strictest_limit
from rrpolicy.optimize.recode.class_tests import class_tests, lattice_tables, sufficient_tests
from rrpolicy.optimize.recode.lattice import Choice, ClassTest, LatticeSearch
from rrpolicy.optimize.recode.levels import Goal, Recoded, axes_at
from rrpolicy.optimize.recode.loss import GeneralisationLoss

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Channel
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.mechanism import Task
    from rrpolicy.optimize.recode.rollup import LatticeTables
    from rrpolicy.source.protocol import Original

    Build: TypeAlias = Callable[[Sequence[Axis]], Channel]


MUCH_SMALLER_SHARE = 0.75
"""The largest share of a loss that counts as much smaller."""
NODE_BUDGET = 200
"""The most nodes that are tested for that."""
FORCED_FAILURE = "people whom attributes distinguish that are released unchanged fail one"


@dataclass(frozen=True, slots=True)
class Generalised:
    """The chosen generalisation.

    Attributes:
        channel: the channel that releases it.
        levels: for each attribute, the number of its level in the hierarchy.
        choice: the node with its classes.
        nodes: number of nodes of the lattice.
        tested: nodes whose classes were counted.
    """

    channel: Channel
    levels: tuple[int, ...]
    choice: Choice
    nodes: int
    tested: int


def full_domain(  # noqa: PLR0917 what a search is
    task: Task,
    original: Original,
    attributes: Sequence[Recoded],
    goal: Goal,
    build: Build,
    budget: int | None = None,
) -> Generalised:
    """Return the generalisation of least loss that satisfies every requirement.

    Args:
        task: the requirements.
        original: the table.
        attributes: the class-defining ones.
        goal: the loss and its settings.
        build: makes the channel from axes of these attributes.
        budget: nodes whose classes may be counted; None for no limit.

    Raises:
        RequirementError: RR105 if no generalisation is found, at all or within the budget.
    """
    most = int(goal.suppression * original.records)
    tests = class_tests(task.requirements, task.policy, attributes, suppressing=most > 0)
    counted = lattice_tables(original, attributes, tests)
    weights = np.array([float(w / sum(goal.weights)) for w in goal.weights])

    def channel_of(choice: Choice) -> Channel:
        return build(choice_axes(choice, attributes, suppressing=bool(goal.suppression)))

    def accept(choice: Choice) -> bool:
        channel = channel_of(choice) if tests.others else None
        return channel is None or all(a.accepts(r, channel, original) for r, a in tests.others)

    suppressing = most > 0 and bool(tests.tests)
    lasting = bool(tests.others) and not suppressing and all(a.monotone and r.monotone for r, a in tests.others)
    search = LatticeSearch(
        counted, tests.tests, GeneralisationLoss(goal.loss, counted, weights), most, accept, lasting, budget
    )
    best = search.best()
    if best is None:
        coarsest = search.choice(tuple(size - 1 for size in counted.shape))
        whole = channel_of(coarsest)
        failing = {r.model for r, a in tests.others if not a.accepts(r, whole, original)}
        uncut = channel_of(replace(coarsest, kept=np.ones_like(coarsest.kept)))
        found = infeasible_error(
            search, coarsest, failing, attributes, goal, lambda models: achieved_measures(task, models, uncut, original)
        )
        rare = rare_units_hint(task, failing, original)
        raise RequirementError([replace(p, hint=rare) for p in found.problems]) if rare else found
    levels = tuple(a.chosen[place] for a, place in zip(attributes, best.node, strict=True))
    return Generalised(channel_of(best), levels, best, len(np.ravel(search.loss.bounds())), search.tested)


def with_few_suppressed(  # noqa: PLR0917 what a search is
    task: Task, original: Original, attributes: Sequence[Recoded], goal: Goal, build: Build, loss: float
) -> Generalised | None:
    """Return a generalisation that a few suppressed records make much finer; None if no such one is found.

    Only `NODE_BUDGET` nodes are tested, so that a finer one may exist.

    Args:
        task: the requirements.
        original: the table.
        attributes: the class-defining ones.
        goal: the loss, with the share of records that may be suppressed.
        build: makes the channel from axes of these attributes.
        loss: the loss without suppressed records.
    """
    if int(goal.suppression * original.records) == 0 or loss <= 0:
        return None
    try:
        found = full_domain(task, original, attributes, goal, build, NODE_BUDGET)
    except RequirementError:
        return None
    return found if found.choice.suppressed and found.choice.loss <= MUCH_SMALLER_SHARE * loss else None


def certainty_loss(channel: Product, original: Original, attributes: Sequence[Recoded], goal: Goal) -> float:
    """Return the loss `ncp` of a partition, as `Loss` computes it of a node.

    Args:
        channel: a channel with one axis of these attributes.
        original: the table.
        attributes: the class-defining ones.
        goal: the goal, with the weights.
    """
    names = tuple(a.attribute.name for a in attributes)
    axis = next(axis for axis in channel.axes if axis.attributes == names)
    assert isinstance(axis, Recode)
    counts, whole = original.counts(*names), sum(goal.weights)
    labels = axis.recode(counts.codes)
    loss = 0.0
    for place, weight in enumerate(goal.weights):
        size = len(axis.original[place].labels)
        penalty = np.array([certainty_penalty(len(group), size) for group in axis.groups[place]])
        loss += float(weight / whole) * float(penalty[labels[:, place]] @ counts.n) / original.records
    return loss


def choice_axes(choice: Choice, attributes: Sequence[Recoded], *, suppressing: bool) -> tuple[Recode, ...]:
    """Return the axes of a choice; `suppressing` is whether suppression was permitted."""
    suppressed = choice.table.codes[~choice.kept].tolist() if suppressing else None
    return axes_at(attributes, choice.node, suppressed)


def achieved_measures(task: Task, models: Collection[str], channel: Channel, original: Original) -> str:
    """Return models with the number that each of their entries achieves through a channel, for messages."""
    said = []
    for requirement, assessor in task.requirements:
        if requirement.model in models:
            achieved = assessor.finding(requirement, channel, original).achieved
            said.append(requirement.model + ("" if achieved is None else f" (achieves {plain_number(achieved.value)})"))
    return ", ".join(dict.fromkeys(said))


def infeasible_error(  # noqa: PLR0917 what a search is
    search: LatticeSearch,
    coarsest: Choice,
    failing: Collection[str],
    attributes: Sequence[Recoded],
    goal: Goal,
    said: Callable[[Collection[str]], str],
) -> RequirementError:
    """Return the error with the requirements that fail at the coarsest node, and a remedy.

    `failing` are models that an assessor of the whole channel decides; `said` returns the values that they achieve
    there.
    """
    nodes, records, most = len(np.ravel(search.loss.bounds())), search.tables.records, search.most
    stands = (
        f"even at the coarsest of {nodes} nodes, {coarsest.suppressed:,} of {records:,} records would be suppressed"
    )
    if search.satisfies(coarsest):
        names, hint = set(failing), "relax the requirement: the obstacle is not the classes"
    else:
        alone = {t.name: LatticeSearch(search.tables, [t], search.loss, 0) for t in search.tests}
        needed = {name: one.choice(coarsest.node).suppressed for name, one in alone.items()}
        names = {name for name, n in needed.items() if n > most} or {name for name, n in needed.items() if n}
        enough = "" if failing else _sufficient_suppression(coarsest.suppressed / records)
        hint = "; ".join([enough] * bool(enough) + [*_fixed_attribute_remedies(attributes), "or relax the requirement"])
        hint = hint.removeprefix("or ")
    message = f"no generalisation meets every requirement: {stands}" + (
        f"; failing there: {said(names)}" if names else ""
    )
    return RequirementError(Problem("RR105", message, goal.place, hint=hint))


def rare_units_hint(task: Task, failing: Collection[str], original: Original) -> str:
    """Return the hint where units of a rare number of records prevent a requirement; else nothing."""
    if original.units is None or not any(r.model in failing and r.max_records > 1 for r, _ in task.requirements):
        return ""
    size, units = min(original.units.sizes.items(), key=lambda item: (item[1], -item[0]))
    have = "1 unit has" if units == 1 else f"{units:,} units have"
    return (
        f"generalising does not change how many records a unit has, and {have} {size}: leave rare numbers of records "
        "out of the table, or relax the requirement"
    )


def _sufficient_suppression(share: float) -> str:
    """Return the advice to suppress a share of the records; "" if nearly all of them would have to go."""
    wanted = strictest_limit(share, "at most")
    return f"allow `suppression = {wanted}`, which is enough" if float(wanted) < 1 else ""


def _fixed_attribute_remedies(attributes: Sequence[Recoded]) -> Iterator[str]:
    """Yield the advice on attributes whose level is fixed below the coarsest one: by `node`, or by their role."""
    fixed = [a for a in attributes if len(a.chosen) == 1 and a.chosen[0] < len(a.levels) - 1]
    exact = [a.attribute.name for a in fixed if a.attribute.role is not Role.QUASI_IDENTIFIER]
    pinned = [a.attribute.name for a in fixed if a.attribute.role is Role.QUASI_IDENTIFIER]
    if pinned:
        yield f"let `node` generalise {quoted_list(pinned)} further"
    if exact:
        yield f"give {quoted_list(exact)} the role quasi-identifier, or exclude {'it' if len(exact) == 1 else 'them'}"


def multidimensional(
    task: Task, original: Original, attributes: Sequence[Recoded], goal: Goal, build: Build
) -> Channel:
    """Return the channel of the Mondrian partition that satisfies every requirement.

    Requirements that only an assessor of a whole channel decides steer the cuts by sufficient tests.

    Args:
        task: the requirements.
        original: the table.
        attributes: the class-defining ones.
        goal: only its place is used.
        build: makes the channel from axes of these attributes.

    Raises:
        RequirementError: RR105 if even the whole table, as one class, fails.
    """
    from rrpolicy.optimize.recode.mondrian import mondrian_partition

    tests = class_tests(task.requirements, task.policy, attributes, suppressing=False)
    steering = sufficient_tests(tests, task.policy, attributes)
    finest = [replace(a, chosen=(0,)) for a in attributes]
    counted = lattice_tables(original, finest, steering)
    axis = mondrian_partition(counted, attributes, steering.tests)
    if axis is None:
        models = {t.name for t in steering.tests if not _holds_for_table(t, counted)}
        whole = build(axes_at(attributes, [len(a.chosen) - 1 for a in attributes]))
        names = achieved_measures(task, models, whole, original)
        stands = f"even the whole table, as one class, fails {names}" if names else FORCED_FAILURE
        message = f"no partition meets every requirement: {stands}"
        hint = "; or ".join(["relax the requirement", *_fixed_attribute_remedies(attributes)])
        raise RequirementError(Problem("RR105", message, goal.place, hint=hint))
    channel = build([axis])
    failing = [r for r, a in tests.others if not a.accepts(r, channel, original)]
    if failing:
        names = ", ".join(dict.fromkeys(r.model for r in failing))
        message = f"the boxes from the other requirements fail {names}, which mondrian does not cut by"
        hint = "set a larger k or l, which makes larger boxes; relax the requirement; or choose full-domain"
        raise RequirementError(Problem("RR105", message, failing[0].place or goal.place, hint=hint))
    return channel


def _holds_for_table(test: ClassTest, counted: LatticeTables) -> bool:
    table = counted.finest
    counts = table.n[:, None] if test.joint is None else table.histogram(test.joint)
    whole = counts.sum(axis=0, keepdims=True)
    fine = test.rule.holds(whole)
    if test.rule.peaks is not None:
        fine = fine & test.rule.peaks(whole, counts.max(axis=0, keepdims=True))
    if test.rule.people is not None and counted.reference is not None:
        fine = fine & test.rule.people(np.array([counted.records]), np.array([counted.reference.records]))
    return bool(fine.all())
