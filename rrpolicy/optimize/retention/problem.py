"""What is to be solved, and what a solution says. An allocation shares the noise out between attributes."""

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
        variables: the retention probabilities looked for; attributes of one category are left out.
        objective: what is minimised.
        constraints: every requirement; each sees the keep probabilities of the variables, in their order.
        feasible: whether the assessors accept exact keep probabilities; they alone decide.
        digits: decimals of the released keep probabilities.
        floor: what the requirements reach as all retentions go to 0, and what would help, for RR102; with the
            place of the first that stands in the way.
        place: of the requirements in the policy, for RR102 where none stands in the way by itself.
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
        """Whether the search sees an upper bound in place of a requirement's own number."""
        return any(constraint.bound for constraint in self.constraints)

    @property
    def monotone(self) -> bool:
        """Whether whatever holds goes on holding as all retention probabilities are scaled down."""
        return all(constraint.monotone for constraint in self.constraints)


@frozen
class EvaluationCount:
    """How often the constraints were evaluated from one start."""

    value: int
    jacobian: int


@frozen
class AllocationSolution:
    """Keep probabilities that satisfy every requirement, as decided by the assessors.

    Attributes:
        keep: (variables,) exact, rounded down; of the largest block where there are blocks.
        unrounded: (variables,) keep probabilities before rounding.
        retention: (variables,) retention probabilities before rounding.
        objective: at the unrounded solution.
        starts: how many the search began from.
        agreed: how many of them ended at this objective.
        evaluations: of each start.
        active: names of the requirements that limit the solution.
        pulled_back: what all retentions were scaled by before rounding so that every requirement holds; mostly 1.
        raised: what the logarithms of the retentions of a search on an upper bound were scaled by, towards the exact
            limit; 1 where the search saw the requirements themselves.
        common: (variables,) keep probabilities of the best common retention, rounded down; None if not known.
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
    """Return the error of a problem that no retention probability solves.

    Args:
        problem: what was to be solved.
        names: the requirements that fail however much is randomised.
    """
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
