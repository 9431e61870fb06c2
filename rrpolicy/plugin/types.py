"""Types that signatures of `rrpolicy.plugin` and `rrpolicy.plugin.solve` name, for annotations: you are handed these.

`types.pyi` in the same folder is the list, as for `rrpolicy.plugin`.
"""

from __future__ import annotations

from rrpolicy.plugin import _stub_exports

__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
