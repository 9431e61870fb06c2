"""Apache Spark as an engine: tables that it counts where they lie, so that only counts travel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rrpolicy.plugin import hookimpl

if TYPE_CHECKING:
    from rrpolicy.plugin import Source


@hookimpl
def rrpolicy_sources() -> Iterable[Source]:
    """Offer tables of Spark's catalogs, and folders of Parquet files that Spark reads."""
    from rrpolicy_spark.source import ParquetSource, TableSource

    return [TableSource(), ParquetSource()]
