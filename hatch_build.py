"""The README as distributions carry it: what it links to in the repository is not there, so that its links are text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = r"!\[[^]]*\]\([^)]*\)\n\n"
LINK = r"\[([^]]*)\]\((?!https?://)[^)]*\)"


class Readme(MetadataHookInterface):
    """Hands the README on without its pictures and links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put it into the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = re.sub(LINK, r"\1", re.sub(PICTURE, "", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
