"""Numbers, verdicts and styles as text, for renderers and messages of plugins.

`text.pyi` in the same folder lists the names, as in `rrpolicy.plugin`.
"""

from __future__ import annotations

from rrpolicy.plugin import _stub_exports

__all__, __getattr__ = _stub_exports(__file__, globals())


def __dir__() -> list[str]:
    return __all__
