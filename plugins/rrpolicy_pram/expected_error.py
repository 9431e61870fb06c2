"""How the expected error of a marginal depends on what is solved for: the terms of the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.plugin import ExpectedError, Original, PolicyError, Problem, Task, Term, Variable, mean_norms
from rrpolicy_pram.channel import given_axis
from rrpolicy_pram.layout import Explicit, Invariant, Layout, Retained, Treatment
from rrpolicy_pram.options import Options

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def variables(layout: Layout) -> tuple[Variable, ...]:
    """Return what is solved for, in the order of the attributes."""
    return tuple(
        Variable(t.attribute.name, tuple(sorted({len(b) for b in t.rule.blocks})))
        for t in layout.treatments
        if isinstance(t.rule, Retained) and t.solved
    )


def objective(options: Options, layout: Layout, task: Task) -> ExpectedError:
    """Return the expected error of the whole table, or of the declared workload.

    Raises:
        PolicyError: RR255 if it depends on the data and only the number of records is given.
    """
    treatments = {t.attribute.name: t for t in layout.treatments}
    randomised = tuple(name for name, t in treatments.items() if t.rule is not None)
    marginals = [(float(m.weight), m.marginal) for m in options.workload] or [(1.0, randomised)]
    positions = {v.attribute: i for i, v in enumerate(variables(layout))}
    terms = [
        _term(weight, tuple(treatments[n] for n in names if treatments[n].rule is not None), positions, task)
        for weight, names in marginals
    ]
    plain = not options.workload and all(len(v.blocks) == 1 for v in variables(layout))
    offset = math.fsum(math.log(v.size) for v in variables(layout)) if plain else 0.0
    return ExpectedError(tuple(terms), offset)


def needs_data(options: Options, layout: Layout) -> bool:
    """Whether what is least depends on the data: blocks, or a workload with matrices of unequal columns."""
    if any(len(v.blocks) > 1 for v in variables(layout)):
        return True
    return bool(options.workload) and any(_uneven(t) for t in layout.treatments)


def _uneven(treatment: Treatment) -> bool:
    """Whether the error that a category costs differs by category."""
    rule = treatment.rule
    if isinstance(rule, Retained):
        return len({len(block) for block in rule.blocks}) > 1
    return isinstance(rule, (Explicit, Invariant))


def _term(weight: float, treatments: Sequence[Treatment], positions: dict[str, int], task: Task) -> Term:
    solved = [t for t in treatments if t.attribute.name in positions]
    uneven = [t for t in treatments if _uneven(t)]
    even = [t for t in treatments if t not in uneven]
    where = np.array([positions[t.attribute.name] for t in solved], dtype=np.int64)
    factor = math.prod(float(_costs(t)[0]) for t in even if t not in solved)
    if not uneven or isinstance(task.original, int):
        sizes = [float(len(t.rule.blocks[0])) for t in solved if isinstance(t.rule, Retained)]
        return Term(weight, where, np.array([sizes]).reshape(1, len(sizes)), np.array([factor]))
    return _weighed(weight, where, factor, (solved, uneven), task.original)


def _weighed(
    weight: float, where: npt.NDArray[np.int64], factor: float, split: tuple[list[Treatment], list[Treatment]],
    original: Original,
) -> Term:  # fmt: skip
    """Return a term whose mass comes from the data: counts rolled up to the blocks that matter."""
    solved, uneven = split
    counts = original.counts(*(t.attribute.name for t in uneven))
    mass = factor * counts.n / counts.n.sum()
    sizes = np.ones((len(mass), len(solved)))
    for column, t in enumerate(uneven):
        codes = counts.codes[:, column]
        if t in solved:
            sizes[:, solved.index(t)] = _block_sizes(t)[codes]
        else:
            mass = mass * _costs(t)[codes]
    for index, t in enumerate(solved):
        if t not in uneven:
            sizes[:, index] = _block_sizes(t)[0]
    distinct, inverse = np.unique(sizes, axis=0, return_inverse=True)
    return Term(weight, where, distinct, np.bincount(inverse.ravel(), weights=mass).astype(np.float64))


def _block_sizes(treatment: Treatment) -> Array:
    """Return the size of the block of each category."""
    rule = treatment.rule
    if not isinstance(rule, Retained):
        raise TypeError("only retention has blocks")
    sizes = np.empty(sum(map(len, rule.blocks)))
    for block in rule.blocks:
        sizes[list(block)] = len(block)
    return sizes


def _costs(treatment: Treatment) -> Array:
    """Return h(v) = sum_u P[u, v] ||P^-1[., u]||^2 of each category, for parameters that are given."""
    attribute = treatment.attribute
    axis = given_axis(attribute, attribute.domain or (), treatment.rule)
    return np.broadcast_to(np.asarray(mean_norms(axis, (attribute.name,))), (axis.original_size,))


def refuse_without_data(what: str, policy_key: str, task: Task) -> PolicyError:
    """Return the error of a plan that needs data and has only their number."""
    return PolicyError(
        Problem(
            "RR255",
            f"{what} needs the data, and only the number of records is given",
            task.policy.place(f"mechanism.{policy_key}"),
            hint="plan with the table: leave out --expected-rows",
        )
    )
