"""The picture in the README, docs/report.png: the first screen of an audit report, as the system's Chromium shows it.

python -m docs._hooks.picture
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import rrpolicy

PICTURE = Path(__file__).resolve().parents[1] / "report.png"
WIDTH, HEIGHT = 1200, 900


def write(picture: Path = PICTURE) -> None:
    """Release the demo under its policy, and write the picture of its audit report."""
    with tempfile.TemporaryDirectory() as folder:
        plan = rrpolicy.plan(Path(__file__).resolve().parents[2] / "policies" / "pram.toml").require()
        bundle = rrpolicy.release(plan, Path(folder) / "release", label="2026-11").bundle
        with sync_playwright() as browsers:
            browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto((bundle / "audit" / "report.html").as_uri())
            page.screenshot(path=picture)
            browser.close()


if __name__ == "__main__":
    write()
