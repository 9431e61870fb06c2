"""Plugins that are each wrong in one way are caught by name; honest ones pass.

Each module here has honest plugins of one kind, and wrong ones: what is wrong with it, the plugin, and what the kit says.
"""

from __future__ import annotations

import pytest

from . import assessors, axes, channels, estimators, formats, mechanisms, metrics, models, renderers, sinks, sources

KINDS = (mechanisms, axes, channels, models, assessors, metrics, sources, renderers, formats, sinks, estimators)


def cases(which):
    return [
        pytest.param(kind, thing, id=f"{kind.__name__.rpartition('.')[2]}: {name}")
        for kind in KINDS
        for name, thing in getattr(kind, which).items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "thing"), cases("WRONG"))
def test_it_is_caught_by_name(kind, thing):
    wrong, said = thing

    with pytest.raises(AssertionError, match=said):
        kind.check(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "thing"), cases("HONEST"))
def test_it_passes(kind, thing):
    kind.check(thing)


def test_the_zoo_is_large_enough():
    assert len(cases("WRONG")) >= 40
    assert len(cases("HONEST")) >= 10
