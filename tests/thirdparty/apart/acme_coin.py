"""An axis alone, which acme-keep plans with if it is asked to."""

from __future__ import annotations

from typing import ClassVar

from rrpolicy.plugin import Matrix, hookimpl


class Coin(Matrix):
    kind: ClassVar[str] = "acme.coin"


@hookimpl
def rrpolicy_channels():
    return [Coin]
