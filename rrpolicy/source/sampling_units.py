"""The sampling units of a survey in its table, counted for the limits of analysts' standard errors, never named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import pyarrow as pa


class SamplingUnits(Struct, frozen=True):
    """Strata and their units: clusters, or records if no column identifies clusters.

    Attributes:
        clustered: whether units are clusters.
        alone: strata with only one unit.
        shared: clusters whose name occurs in several strata.
        single: records, if each of them is a separate cluster; else 0.
    """

    clustered: bool
    alone: int
    alone_records: int
    shared: int
    shared_records: int
    single: int = 0

    @classmethod
    def counted(cls, rows: Iterable[pa.RecordBatch], strata: int, clusters: int) -> SamplingUnits:
        """Count units.

        `rows` are distinct: the columns of strata, those of clusters, and last the number of records.
        """
        units: Counter[tuple[object, ...]] = Counter()
        records: Counter[tuple[object, ...]] = Counter()
        places: Counter[tuple[object, ...]] = Counter()
        inside: Counter[tuple[object, ...]] = Counter()
        for batch in rows:
            for *values, n in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                stratum, cluster = tuple(values[:strata]), tuple(values[strata : strata + clusters])
                units[stratum] += 1 if clusters else n
                records[stratum] += n
                if clusters:
                    places[cluster] += 1
                    inside[cluster] += n
        size = sum(records.values())
        alone = [stratum for stratum, n in units.items() if n == 1]
        shared = [cluster for cluster, n in places.items() if n > 1]
        return cls(
            clusters > 0,
            len(alone),
            sum(records[stratum] for stratum in alone),
            len(shared),
            sum(inside[cluster] for cluster in shared),
            size if clusters and sum(units.values()) == size > 1 else 0,
        )

    def told(self) -> Iterator[str]:
        """Yield the limits of analysts' standard errors, in a sentence each."""
        if self.alone:
            unit = "cluster" if self.clustered else "record"
            yield (
                f"{_plural_count(self.alone, 'stratum has', 'strata have')} one {unit} alone, with "
                f"{_plural_count(self.alone_records, 'record', 'records')}: no error of the population is estimated "
                "until analysts let such strata be centred (RR546); coarser strata spare them that"
            )
        if self.shared:
            yield (
                f"{_plural_count(self.shared, 'name of a cluster occurs', 'names of clusters occur')} in several "
                f"strata, with {_plural_count(self.shared_records, 'record', 'records')}: each counts as a "
                f"separate cluster in each stratum"
            )
        if self.single:
            yield (
                f"each of {self.single:,} records is a separate cluster: stratum and cluster together identify "
                "every record; leave the clusters out, so that each record is a sampling unit"
            )


def _plural_count(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"
