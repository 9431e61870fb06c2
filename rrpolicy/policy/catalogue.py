"""The plugin names that the policy language needs, and the options class of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pydantic import BaseModel


class Catalogue(Protocol):
    """The names that a policy may use, with the pydantic class that validates the options of each."""

    @property
    def mechanisms(self) -> Mapping[str, type[BaseModel]]:
        """Return mechanism name -> options class."""
        ...

    @property
    def privacy_models(self) -> Mapping[str, type[BaseModel]]:
        """Return privacy model name -> options class."""
        ...

    @property
    def utility_metrics(self) -> Mapping[str, type[BaseModel]]:
        """Return utility metric name -> options class."""
        ...

    @property
    def formats(self) -> Collection[str]:
        """Return the formats that released data may have."""
        ...

    @property
    def aliases(self) -> Mapping[str, str]:
        """Return other names that policies may use of mechanisms -> their names."""
        ...

    @property
    def recorded(self) -> Mapping[str, str]:
        """Return mechanism name -> the earlier name that resolved policies record it under, where there is one."""
        ...
