"""Exact rationals as fields of options."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import BaseModel, Field, ValidationError

from rrpolicy.plugin import Rational


class Options(BaseModel):
    keep: Rational = Field(default=Fraction(1, 2), gt=0, lt=1)


@pytest.mark.parametrize("keep", [0, 1, "1/1", -0.5, 3])
def test_the_bounds_of_a_field_hold(keep):
    with pytest.raises(ValidationError, match="greater than 0|less than 1"):
        Options(keep=keep)
    assert Options(keep="1/3").keep == Fraction(1, 3)
