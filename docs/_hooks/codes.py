"""Every error code: the pages that `rrpolicy explain` prints, one page of the site for each hundred."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rrpolicy.error_codes import codes, page

ABOUT: Mapping[str, str] = {
    "RR1": "privacy requirements",
    "RR2": "policies and calls",
    "RR3": "tables and what the plan needs of them",
    "RR4": "what is refused",
    "RR5": "releases and what is built on them",
}
"""What the codes of a hundred are about."""
GUIDE = re.compile(r"`docs/([\w/-]+)\.md`")


def code_pages() -> dict[str, str]:
    """Return the pages by path."""
    return {
        f"reference/codes/{hundred}xx.md": f"# {hundred}xx: {about}\n\n"
        + "\n".join(_section(code) for code in codes() if code.startswith(hundred))
        for hundred, about in ABOUT.items()
    }


def _section(code: str) -> str:
    text = re.sub(r"^## (.*)$", r"**\1**", page(code), flags=re.MULTILINE)
    text = re.sub(r"^# (.*)$", rf"## \1 {{ #{code} }}", text, count=1, flags=re.MULTILINE)
    return GUIDE.sub(r"[\1](../../\1.md)", text) + "\n"
