"""The Spark session: the caller's if there is one, else a private one, which leaves nothing behind."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.plugin import DataError, Problem
from rrpolicy.plugin.engines import RefusedError, install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
            hint = "raise spark.driver.maxResultSize and spark.driver.memory, or release fewer columns unchanged"
            raise DataError(
                Problem("RR357", message, expected="counts that fit the driver's memory", hint=hint)
            ) from None
        condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        message = f"{name}: Spark cannot read it ({condition})"
        hint = "look at it in Spark: SELECT count(*) FROM the table; catalogs are named in spark-defaults.conf"
        raise DataError(Problem("RR356", message, expected="a table that Spark reads", hint=hint)) from None


INSTALL_HINT = f"{install('spark')}, and Java 17 or later (Debian: openjdk-17-jre-headless)"


@contextmanager
def open_session(scratch: Path) -> Iterator[SparkSession]:
    """Yield the active session, or a private one that ends with the table.

    `scratch` takes the spills and shuffles of a private session, encrypted; the caller wipes it.
    """
    active = _active_session()
    if active is not None:
        yield active
        return
    with _start_session(scratch) as own:
        yield own


def _active_session() -> SparkSession | None:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        message = "Spark is not installed, and this table is read by it"
        raise DataError(Problem("RR355", message, expected="the package pyspark", hint=INSTALL_HINT)) from error
    found: SparkSession | None = SparkSession.getActiveSession()
    return found


def session_settings(scratch: Path) -> Mapping[str, str]:
    """Return the settings of a private session: it writes only into the scratch folder, and encrypts it.

    `scratch` is absolute.
    """
    return {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={scratch}",
        "spark.io.encryption.enabled": "true",
        "spark.eventLog.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


@contextmanager
def _start_session(scratch: Path) -> Iterator[SparkSession]:
    """Start Spark in a private folder, with the settings of SPARK_CONF_DIR and PYSPARK_SUBMIT_ARGS, and end it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    folder = scratch.absolute() / "spark"
    folder.mkdir(mode=0o700)
    conf = SparkConf(loadDefaults=False)
    for name, value in session_settings(folder).items():
        conf.set(name, value)
    with suppress_pandas_warnings(), (folder / "log").open("wb") as log:
        try:
            gateway = launch_gateway(conf, {"cwd": folder, "stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
        except Exception as error:  # of several classes
            message = f"Spark does not start: {type(error).__name__}"
            raise DataError(Problem("RR355", message, expected="Java 17 or later", hint=INSTALL_HINT)) from error
    try:
        with suppress_pandas_warnings():
            context = SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm))
            context.pythonExec = sys.executable
            own = SparkSession(context)
        try:
            yield own
        finally:
            own.stop()
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 else the next session calls an engine that is gone


@contextmanager
def suppress_pandas_warnings() -> Iterator[None]:
    """Suppress pyspark's warnings about pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        yield
