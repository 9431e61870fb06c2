"""What the kit asks of every source: tables are opened as they are, and changes are noticed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.testing import check_source, open_policy
from rrpolicy_spark.source import ParquetSource
from tests.testing.test_builtins import EVERYTHING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_folder_of_files_is_opened_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()

    def make(rows: pa.Table) -> str:
        half = rows.num_rows // 2
        for name, part in (("b", rows.slice(0, half)), ("a", rows.slice(half))):
            pq.write_table(part, folder / f"{name}.parquet")
        return f"spark-parquet:{folder}"

    check_source(
        ParquetSource(), open_policy(f'schema = 1\n[policy]\nname = "all"\nversion = "1.0.0"\n{EVERYTHING}'), make
    )
