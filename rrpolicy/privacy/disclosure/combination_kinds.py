"""Combinations of quasi-identifiers that tell the same of the sensitive values, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.counts import Ints


@frozen
class CombinationKinds:
    """Kinds of combinations, each with its own shares of the sensitive values.

    Attributes:
        people: (kinds, values) people of each kind by sensitive value.
        kind: (groups,) the kind of each combination.
    """

    people: Ints
    kind: Ints

    @classmethod
    def of(cls, people: Ints) -> CombinationKinds:
        """Return the kinds of combinations.

        Args:
            people: (groups, values) people of the same quasi-identifiers by sensitive value.
        """
        shares = people // np.gcd.reduce(people, axis=1, keepdims=True)
        _, first, kind = np.unique(shares, axis=0, return_index=True, return_inverse=True)
        together = np.zeros((len(first), people.shape[1]), dtype=np.int64)
        np.add.at(together, kind.ravel(), people)
        return cls(together, kind.ravel())
