"""Functions for engines that read or write tables elsewhere than in rrpolicy's own engine.

`engines.pyi` in the same folder is the list.
"""

from __future__ import annotations

from rrpolicy.plugin import _stub_exports

__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
