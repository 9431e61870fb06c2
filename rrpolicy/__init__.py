"""rrpolicy: release policies in git, privacy-protected microdata releases, reports that an auditor can recompute."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":  # pragma: no cover  # files are locked, and opened without following links, as on POSIX
    raise ImportError("rrpolicy runs on Linux and macOS; on Windows use WSL or the container (Containerfile)")

if TYPE_CHECKING:
    from rrpolicy.api import (
        add_to_ledger,
        archive,
        attack,
        check,
        check_table,
        collect,
        compare,
        compare_estimates,
        counted,
        diff,
        evidence,
        export,
        init,
        init_ledger,
        inventory,
        load_policy,
        open_questionnaire,
        open_release,
        packs,
        plan,
        preview,
        randomize,
        release,
        render,
        run_tests,
        show_ledger,
        sign,
        sql,
        verify,
        verify_ledger,
        what_holds,
        write_pack,
    )
    from rrpolicy.errors import DataError, PolicyError, Problem, RefusedError, RequirementError, RRPolicyError

__version__ = "0.2.0"
__all__ = [
    "DataError",
    "PolicyError",
    "Problem",
    "RRPolicyError",
    "RefusedError",
    "RequirementError",
    "__version__",
    "add_to_ledger",
    "archive",
    "attack",
    "check",
    "check_table",
    "collect",
    "compare",
    "compare_estimates",
    "counted",
    "diff",
    "evidence",
    "export",
    "init",
    "init_ledger",
    "inventory",
    "load_policy",
    "open_questionnaire",
    "open_release",
    "packs",
    "plan",
    "preview",
    "randomize",
    "release",
    "render",
    "run_tests",
    "show_ledger",
    "sign",
    "sql",
    "verify",
    "verify_ledger",
    "what_holds",
    "write_pack",
]
_ERRORS = frozenset({"DataError", "PolicyError", "Problem", "RRPolicyError", "RefusedError", "RequirementError"})


def __getattr__(name: str) -> Any:
    """Find a public name when it is first used: `import rrpolicy` itself loads nothing heavy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "errors" if name in _ERRORS else "api"
    found = globals()[name] = getattr(import_module(f"rrpolicy.{module}"), name)
    return found


def __dir__() -> list[str]:
    return __all__
