"""The [mechanism] table of `anatomy`: nothing; how large the groups are stands in [[privacy]]."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class AnatomyOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "anatomy"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
