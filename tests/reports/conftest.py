"""The system's Chromium, without network, and pages opened in it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.report import Report
from rrpolicy_reports.html import HtmlRenderer

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def examples() -> Any:
    """Return the module of built reports; tests are not a package."""
    spec = importlib.util.spec_from_file_location("report_examples", Path(__file__).with_name("examples.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chromium() -> str | None:
    """Return the path of the system's Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("RRPOLICY_CHROMIUM") or next((p for p in map(shutil.which, names) if p), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: install it, or name it in RRPOLICY_CHROMIUM")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that renders a report, opens it without JavaScript, and fails on any request of the page."""
    contexts = []
    requests: list[str] = []

    def open_page(report: Report, width: int = 1400, scheme: str = "light", *, script: bool = False) -> Any:
        file = tmp_path / f"{len(contexts)}.html"
        file.write_bytes(HtmlRenderer().render(report))
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [r for r in requests if not r.startswith("file:")] == []
    assert len(requests) == len(contexts)
