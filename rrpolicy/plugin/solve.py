"""What a mechanism chooses its parameters with: allocation, searches over generalisations, what requirements ask for.

`solve.pyi` beside it is the list, as of `rrpolicy.plugin`.
"""

from __future__ import annotations

from rrpolicy.plugin import _stub_exports

__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
