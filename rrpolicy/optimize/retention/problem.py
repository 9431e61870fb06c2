"""An allocation problem and its solution: the division of noise between attributes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.errors import Problem, RequirementError
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.optimize.retention.common_retention import MIN_DIGITS
from rrpolicy.privacy.model import Smooth

if TYPE_CHECKING:
    from rrpolicy.errors import Place
    from rrpolicy.optimize.retention.objective import ExpectedError, RetentionVariable


@frozen(slots=False)
class Allocation:
    """Minimise an expected error over retention probabilities in (0, 1], subject to every requirement.

    Attributes:
        variables: the unknown retention probabilities; attributes of one category are left out.
        objective: to minimise.
        constraints: every requirement, a function of the keep probabilities of the variables, in their order.
        feasible: whether the assessors accept exact keep probabilities; they alone decide.
        digits: decimals of the released keep probabilities.
        floor: the requirements' values as all retentions go to 0, and remedies, for RR102; with the place of the first
            that fails.
        place: of the requirements in the policy, for RR102 if none fails by itself.
    """

    variables: tuple[RetentionVariable, ...]
    objective: ExpectedError
    constraints: tuple[Smooth, ...]
    feasible: Callable[[tuple[Fraction, ...]], bool]
    digits: int = MIN_DIGITS
    floor: Callable[[], tuple[str, str, Place | None]] = lambda: ("", "", None)
    place: Place | None = None

    @property
    def bounded(self) -> bool:
        """Return whether the search uses an upper bound in place of a requirement's number."""
        return any(constraint.bound for constraint in self.constraints)

    @property
    def monotone(self) -> bool:
        """Return whether feasible retention probabilities remain feasible when all are scaled down."""
        return all(constraint.monotone for constraint in self.constraints)


@frozen
class EvaluationCount:
    """The number of evaluations of the constraints from one start."""

    value: int
    jacobian: int


@frozen
class AllocationSolution:
    """Keep probabilities that satisfy every requirement, as decided by the assessors.

    Attributes:
        keep: (variables,) exact, rounded down; of the largest block if there are blocks.
        unrounded: (variables,) keep probabilities before rounding.
        retention: (variables,) retention probabilities before rounding.
        objective: at the unrounded solution.
        starts: number of starts of the search.
        agreed: number of starts that ended at this objective.
        evaluations: of each start.
        active: names of the requirements that limit the solution.
        pulled_back: the factor for all retentions before rounding so that every requirement holds; mostly 1.
        raised: the factor for the logarithms of the retentions of a search on an upper bound, towards the exact limit;
            1 if the search used the requirements themselves.
        common: (variables,) keep probabilities of the best common retention, rounded down; None if unknown.
    """

    keep: tuple[Fraction, ...]
    unrounded: tuple[float, ...]
    retention: tuple[float, ...]
    objective: float
    starts: int
    agreed: int
    evaluations: tuple[EvaluationCount, ...]
    active: tuple[str, ...]
    pulled_back: float
    raised: float = 1.0
    common: tuple[Fraction, ...] | None = None


def infeasible_error(problem: Allocation, names: tuple[str, ...]) -> RequirementError:
    """Return the error of a problem that no retention probability solves, with the requirements that always fail."""
    floor, hint, place = problem.floor()
    return RequirementError(
        Problem(
            "RR102",
            f"no keep probabilities satisfy: {', '.join(dict.fromkeys(names)) or 'the requirements together'}"
            + (f"; {floor}" if floor else ""),
            place or problem.place,
            hint=hint or None,
        )
    )
