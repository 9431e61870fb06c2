"""What plugins import: few names, each of them there, and nothing of it loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rrpolicy.plugin
import rrpolicy.plugin.solve

MODULES = {"rrpolicy.plugin": (rrpolicy.plugin, 69), "rrpolicy.plugin.solve": (rrpolicy.plugin.solve, 26)}


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name):
    module, most = MODULES[name]

    assert len(module.__all__) <= most
    assert dir(module) == module.__all__
    for listed in module.__all__:
        assert getattr(module, listed) is not None
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'nothing'"):
        _ = module.nothing


def test_no_name_stands_in_both():
    assert not set(rrpolicy.plugin.__all__) & set(rrpolicy.plugin.solve.__all__)


def test_nothing_heavy_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, rrpolicy.plugin, rrpolicy.plugin.solve\n"
        "assert not {'numpy', 'duckdb', 'pydantic', 'rrpolicy.policy.model'} & set(sys.modules)\n"
        "from rrpolicy.plugin import Role\n"
        "assert 'rrpolicy.policy.model' in sys.modules and 'numpy' not in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
