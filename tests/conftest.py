"""Fixtures that every room uses: the Adult table, the reference numbers, and skips that fail where nothing may be skipped."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from rrpolicy import discovery
from rrpolicy.drafting.demo import survey
from rrpolicy.plugin_errors import distributions

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # benchmarks/papers/ is not installed; what is installed comes first
settings.register_profile("untimed", settings.get_profile("default"), deadline=None)
if "CI" not in os.environ:  # there Hypothesis sets no deadline by itself, and takes the same examples every time
    settings.load_profile("untimed")
REQUIRE_ALL = os.environ.get("RRPOLICY_REQUIRE_ALL") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count the lines of quick tests alone, unless RRPOLICY_COVER_ALL=1: counting would take minutes of slow ones."""
    if os.environ.get("RRPOLICY_COVER_ALL") != "1":
        for item in items:
            if item.get_closest_marker("slow") is not None:
                item.add_marker(pytest.mark.no_cover)


def data_folder() -> Path:
    """Return the folder of the Adult table; RRPOLICY_DATA points elsewhere."""
    return Path(os.environ.get("RRPOLICY_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def adult_csv() -> Path:
    """Return the gzipped Adult table: rows 1 to 30,162 are its training file."""
    path = data_folder() / "adult.csv.gz"
    if not path.exists():
        pytest.skip(f"the Adult table is not in {data_folder()}; set RRPOLICY_DATA")
    return path


@pytest.fixture(scope="session")
def vectors() -> dict[str, Any]:
    """Return the reference numbers of an independent implementation, tests/vectors/make.py."""
    loaded: dict[str, Any] = json.loads((ROOT / "tests" / "vectors" / "vectors.json").read_text())
    return loaded


def pytest_configure() -> None:
    """Take interrupts as a terminal would send them: a background shell hands down a SIGINT that is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over the tests themselves: they are many, and stay."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let it take everything at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def demo_made_once() -> Iterator[None]:
    """Make each table of the demo once a process, however often it is opened."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(survey, "survey", lru_cache(maxsize=4)(survey.survey))
        yield


@pytest.fixture(scope="session", autouse=True)
def plugins_looked_for_once() -> Iterator[None]:
    """Look for what is installed once for each search path, as long as its folders stay as they are."""
    found: dict[tuple[tuple[str, int], ...], Any] = {}
    look = distributions.installed_entry_points

    def looked() -> Any:
        state = tuple((path, os.stat(path).st_mtime_ns) for path in sys.path if os.path.exists(path))  # noqa: PTH110, PTH116
        if state not in found:
            found[state] = look()
        return found[state]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distributions, "installed_entry_points", looked)
        patched.setattr(discovery, "installed_entry_points", looked)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Turn a skip into a failure under RRPOLICY_REQUIRE_ALL=1."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and nothing may be: {report.longrepr}"
    return report
