"""Values that occur in one record only, counted in a pass over rows sorted by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Ints


class UniqueValueCounter:
    """Counts the values that occur in one record only; nulls do not count."""

    def __init__(self) -> None:
        self._last: pa.Array | None = None
        self._records = 0
        self._found = 0

    def take(self, values: pa.Array, n: Ints) -> None:
        """Take the next values, sorted over all calls, and the number of records with each."""
        import numpy as np
        import pyarrow as pa

        from rrpolicy.engine.arrays import as_numpy
        from rrpolicy.source.run_length import differs_from_previous

        if len(values) == 0:
            return
        if self._last is not None:
            values, n = pa.concat_arrays([self._last, values]), np.concatenate(([self._records], n))
        starts = np.flatnonzero(np.concatenate(([True], differs_from_previous(values))))
        records = n if len(starts) == len(n) else np.add.reduceat(n, starts)
        alone = records[:-1] == 1
        if values.null_count:
            alone &= as_numpy(values.is_valid())[starts[:-1]]
        self._found += int(np.count_nonzero(alone))
        self._last, self._records = values.slice(len(values) - 1), int(records[-1])

    def count(self) -> int:
        """Return the number of values that occur in one record only."""
        last = self._last is not None and self._last.null_count == 0 and self._records == 1
        return self._found + int(last)
