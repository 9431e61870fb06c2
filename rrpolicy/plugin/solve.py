"""Functions with which a mechanism chooses its parameters: allocation, searches over generalisations, requirements.

`solve.pyi` in the same folder is the list, as for `rrpolicy.plugin`.
"""

from __future__ import annotations

from rrpolicy.plugin import _stub_exports

__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
