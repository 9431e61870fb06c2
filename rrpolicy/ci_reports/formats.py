"""The formats for machines, by name on the command line."""

from __future__ import annotations

import importlib

from rrpolicy.ci_reports.outcome import CommandOutcome

FORMATS = ("sarif", "code-scanning", "junit", "github", "gitlab", "markdown")
"""Each a module of this room, with a function of the same name; a dash is an underscore there."""


def format_outcome(outcome: CommandOutcome, name: str) -> str:
    """Return an outcome in a format, with a final newline.

    Args:
        outcome: results of a command.
        name: one of `FORMATS`.
    """
    own = name.replace("-", "_")
    module = importlib.import_module(f"rrpolicy.ci_reports.{own}")
    text: str = getattr(module, own)(outcome)
    return text
