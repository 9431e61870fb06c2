"""Documents speak of risks: each model of the core says which it bounds, be it none."""

from __future__ import annotations

import pytest

from rrpolicy.builtin import MODELS
from rrpolicy.finding import Risk
from rrpolicy.reports import bounded_risks as risks


def test_every_model_of_the_core_says_which_risks_it_bounds():
    assert {name for name in MODELS if not risks.bounded_risks(name)} == {"delta-presence"}


@pytest.mark.parametrize(("kind", "bounded"), [("l-diversity/entropy", {Risk.READING}), ("somebody's", set())])
def test_a_kind_bounds_what_its_model_does_and_of_a_plugin_nothing_is_known(kind, bounded):
    assert risks.bounded_risks(kind) == bounded
