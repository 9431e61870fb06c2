"""The [mechanism] table of `anatomy`: empty; the groups' size is in [[privacy]]."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class AnatomyOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "anatomy"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
