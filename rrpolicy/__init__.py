"""rrpolicy: release policies in git, privacy-protected microdata releases, reports that an auditor can recompute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rrpolicy.estimate.opening import open_release

__all__ = ["__version__", "open_release"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what analysts use on first use: `import rrpolicy` itself loads nothing."""
    if name == "open_release":
        from rrpolicy.estimate.opening import open_release

        return open_release
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
