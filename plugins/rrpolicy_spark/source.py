"""Tables that Spark reads: `spark:catalog.db.table`, and folders of Parquet files after `spark-parquet:`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from rrpolicy.plugin import PLAIN, DataError, Problem, Reading
from rrpolicy.plugin.engines import refuse_versioned_folder
from rrpolicy_spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rrpolicy_spark.snapshot import SparkSnapshot

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class TableSource:
    """Opens tables of Spark's catalogs by the scheme `spark:`; a `Source`."""

    schemes: ClassVar[tuple[str, ...]] = ("spark",)
    paths: ClassVar[bool] = False

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[SparkSnapshot]:
        """Open a table; see `Source.open`.

        `uri` is `spark:` and the table's name, as Spark's SQL has it: `people`, `db.people`, `catalog.db.people`.
        """
        name = uri.partition(":")[2]

        def of(spark: SparkSession) -> DataFrame:
            spark.catalog.refreshTable(name)
            return spark.table(name)

        with _open_snapshot(of, f"'{name}'", table, scratch, reading) as snapshot:
            yield snapshot


class ParquetSource:
    """Opens folders of Parquet files, wherever Spark reaches them, by the scheme `spark-parquet:`; a `Source`."""

    schemes: ClassVar[tuple[str, ...]] = ("spark-parquet",)

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[SparkSnapshot]:
        """Open a folder, or a file; see `Source.open`.

        `uri` is `spark-parquet:` and a path on this computer, or an address such as `s3a://bucket/people`.
        """
        path = uri.partition(":")[2]
        shown = f"'{PurePosixPath(path).name}'"
        if not _ADDRESS.match(path):
            if not Path(path).exists():
                hint = "a relative path starts at the policy's folder; on the command line, at the working folder"
                raise DataError(Problem("RR300", f"{shown}: no such folder", hint=hint))
            refuse_versioned_folder(path, shown)
            path = Path(path).absolute().as_uri()
        schema = None

        def of(spark: SparkSession) -> DataFrame:
            nonlocal schema
            if schema is None:
                schema = spark.read.option("mergeSchema", value=True).parquet(path).schema
            return spark.read.schema(schema).parquet(path)

        with _open_snapshot(of, shown, table, scratch, reading) as snapshot:
            yield snapshot


@contextmanager
def _open_snapshot(
    of: Callable[[SparkSession], DataFrame], name: str, table: str | None, scratch: Path, reading: Reading
) -> Iterator[SparkSnapshot]:
    if table is not None:
        hint = "remove `table`: the uri contains the table's name"
        raise DataError(Problem("RR306", f"{name}: `table` is given together with a uri of Spark's", hint=hint))
    with open_session(scratch) as spark:
        from rrpolicy_spark.snapshot import open_snapshot

        with open_snapshot(spark, lambda: of(spark), name, scratch, reading) as opened:
            yield opened
