"""Failures of Spark in rrpolicy's words: its messages may contain values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rrpolicy.plugin import DataError, Problem
from rrpolicy.plugin.engines import RefusedError


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn failures of Spark into errors of rrpolicy: its messages may contain values."""
    try:
        yield
    except (DataError, RefusedError):
        raise
    except Exception as error:  # noqa: BLE001 of Spark's many classes
        told = f"{type(error).__name__}: {error}"
        if "maxResultSize" in told or "OutOfMemoryError" in told:
            message = f"{name}: its distinct combinations are more than the driver takes"
            hint = "raise spark.driver.maxResultSize and spark.driver.memory, or release fewer columns as they are"
            raise DataError(Problem("RR357", message, expected="counts that the driver holds", hint=hint)) from None
        condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        message = f"{name}: Spark cannot read it ({condition})"
        hint = "look at it in Spark: SELECT count(*) FROM the table; catalogs are named in spark-defaults.conf"
        raise DataError(Problem("RR356", message, expected="a table that Spark reads", hint=hint)) from None
