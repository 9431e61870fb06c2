"""Apache Spark as an engine: it counts tables in place, and writes the files of releases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rrpolicy.plugin import Offer, hookimpl

if TYPE_CHECKING:
    from rrpolicy.plugin import Source


@hookimpl
def rrpolicy_sources() -> Iterable[Source]:
    """Offer tables of Spark's catalogs, and folders of Parquet files that Spark reads."""
    from rrpolicy_spark.source import ParquetSource, TableSource

    return [TableSource(), ParquetSource()]


@hookimpl
def rrpolicy_sinks() -> Iterable[Offer]:
    """Offer `spark`."""
    return [Offer("spark", "rrpolicy_spark.sink:SPARK")]
