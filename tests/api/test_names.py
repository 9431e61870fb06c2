"""A public name stays what it is, whatever is imported beneath it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import rrpolicy


@pytest.mark.parametrize("name", rrpolicy.__all__)
def test_no_room_takes_the_name_of_a_function(name):
    """Importing `rrpolicy.evidence` as a room would put the room in the place of the function of that name."""
    found = find_spec(f"rrpolicy.{name}")
    assert found is None or found.origin is None  # a folder without modules, which a moved room may leave behind


def test_the_public_names_are_listed():
    assert dir(rrpolicy) == sorted(rrpolicy.__all__)
