"""The output formats of a command's result: one table, for `--output-format`, `--also`, the action and the tests."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rrpolicy.ci_reports.outcome import CommandOutcome


class Output(StrEnum):
    """A form, with the module of this room that writes it.

    The module has a function of the form's name, with an underscore for a dash: outcome -> text with a final newline.
    """

    module: str

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif", "sarif"
    CODE_SCANNING = "code-scanning", "sarif"
    JUNIT = "junit", "junit"
    GITHUB = "github", "annotations"
    GITLAB = "gitlab", "annotations"
    MARKDOWN = "markdown", "markdown"

    def __new__(cls, value: str, module: str = "") -> Self:
        """Return a member that is its name on the command line."""
        made = str.__new__(cls, value)
        made._value_, made.module = value, module
        return made


FORMATS = tuple(form for form in Output if form.module)
"""The forms that are written from an outcome; the text and the document are the command's own."""


def format_outcome(outcome: CommandOutcome, form: Output) -> str:
    """Return an outcome in one of `FORMATS`, with a final newline."""
    module = import_module(f"rrpolicy.ci_reports.{form.module}")
    text: str = getattr(module, form.replace("-", "_"))(outcome)
    return text
