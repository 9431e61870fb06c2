"""Constraints as functions of retention probabilities, for a search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.optimize.retention.problem import Allocation

MIN_RETENTION = 2.0**-40
"""Below this retention an attribute has no information: a problem infeasible here is infeasible."""
MAX_RETENTION = 1 - 1e-9
"""Above this a solution means no randomisation; the search stays below, where every constraint is finite."""
KNEE = -0.9
HUGE = 1e12
PLACES = 8
"""Points whose values are cached, to which a search returns; of derivatives only the last."""


@dataclass
class CachedConstraints:
    """Constraints for the search: by retention, compressed, cached, counted.

    A value g <= 0 becomes log(1 + g), its tangent below -0.9: the sign stays, a ratio such as risk/tau - 1 becomes
    nearly linear, and values far over the limit do not swamp the others.
    """

    problem: Allocation
    sizes: Array
    values: int = 0
    jacobians: int = 0
    lengths: tuple[int, ...] = ()
    _values: dict[bytes, Array] = field(default_factory=dict)
    _slope: tuple[bytes, Array] | None = None

    def keep(self, rho: Array) -> Array:
        """Return keep probabilities rho + (1 - rho)/d."""
        return rho + (1 - rho) / self.sizes

    def raw(self, rho: Array) -> Array:
        """Return the uncompressed values; NaN counts as infinite."""
        key = rho.tobytes()
        if key not in self._values:
            self.values += 1
            p = self.keep(rho)
            parts = [np.atleast_1d(c.value(p)) for c in self.problem.constraints]
            self.lengths = tuple(len(part) for part in parts)
            self._values[key] = np.where(np.isnan(joined := np.concatenate(parts)), np.inf, joined)
            if len(self._values) > PLACES:
                del self._values[next(iter(self._values))]
        return self._values[key]

    def compressed(self, rho: Array) -> Array:
        """Return values with the same signs, fit for a line search."""
        g = np.minimum(self.raw(rho), HUGE)
        return np.where(g > KNEE, np.log1p(np.maximum(g, KNEE)), math.log1p(KNEE) + (g - KNEE) / (1 + KNEE))

    def slope(self, rho: Array, working: Ints) -> Array:
        """Return the derivatives of the compressed values by the retentions.

        Args:
            rho: (variables,) the retentions.
            working: the constraints whose derivatives are needed.

        Returns:
            (len(working), variables).
        """
        if self._slope is None or self._slope[0] != rho.tobytes():
            self.jacobians += 1
            p = self.keep(rho)
            self._slope = None  # as large as all constraints: let go of the one before first
            parts = [np.atleast_2d(c.jacobian(p)) for c in self.problem.constraints]
            self._slope = rho.tobytes(), parts[0] if len(parts) == 1 else np.concatenate(parts)
        g = np.clip(self.raw(rho)[working], KNEE, HUGE)
        return self._slope[1][working] * ((1 - 1 / self.sizes) / (1 + g)[:, None])

    def over(self, rho: Array, slack: float = 0.0) -> bool:
        """Return whether a constraint is exceeded."""
        return bool(np.any(self.compressed(rho) > slack))

    def names(self, rho: Array, least: float) -> tuple[str, ...]:
        """Return the names of the constraints with a compressed value above `least`, the largest first."""
        value = self.compressed(rho)
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        order = [i for i in np.argsort(-value, kind="stable") if value[i] > least]
        return tuple(dict.fromkeys(self.problem.constraints[owner[i]].name for i in order))
