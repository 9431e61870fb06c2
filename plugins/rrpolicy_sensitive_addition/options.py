"""The [mechanism] table of `sensitive-addition`; the sets' size is in [[privacy]]."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class SensitiveAdditionOptions(BaseModel):
    """What a policy may say under [mechanism] with name = "sensitive-addition"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    together: Annotated[
        tuple[tuple[str, ...], ...],
        Field(
            description="Groups of sensitive attributes that are hidden as one: sets then hold combinations of their"
            ' values, and l counts these. Such as [["disease", "income"]]. Default: each attribute by itself.'
        ),
    ] = ()
