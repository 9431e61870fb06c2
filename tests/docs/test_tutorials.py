"""Pages of commands: each, run as written in an empty folder, prints what it shows; its pictures are those of its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.console import BLOCK, ROOT, hold

TUTORIALS = ROOT / "docs" / "tutorials"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["tutorials/steward", "tutorials/ci", "tutorials/auditor", "how-to/tables", "how-to/households"]
)
def test_a_page_runs_as_written(page: str, tmp_path: Path) -> None:
    hold(ROOT / "docs" / f"{page}.md", tmp_path)


def test_every_picture_of_a_terminal_is_made_by_a_tutorial() -> None:
    shown = {
        Path(found[2]).name for page in TUTORIALS.glob("*.md") for found in BLOCK.finditer(page.read_text()) if found[2]
    }

    assert shown == {path.name for path in (ROOT / "docs" / "screens").iterdir()}
    assert len(shown) == 10
