"""Attribution of an unexpected error: to the plugin whose code it passed through, or to rrpolicy.

All calls into plugins are covered in one place, for every hook: where an error leaves the public functions, its
traceback contains the distributions that it passed through. The error's message may contain values of the data, and is
not reported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from rrpolicy.errors import PLUGIN_CONTRACT_CODE, Problem, RefusedError, RRPolicyError
from rrpolicy.plugin_errors.distributions import GROUP, providers

P = ParamSpec("P")
R = TypeVar("R")


def attribute_errors_to_plugin(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose unexpected errors name the plugin in whose code they were raised.

    Raises:
        RefusedError: RR413 in place of an error that passed through a plugin; every other error is unchanged.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RRPolicyError:
            raise
        except Exception as error:
            found = plugin_error(error)
            if found is None:
                raise
            raise found from error

    return run


def plugin_error(error: Exception) -> RefusedError | None:
    """Return the error of the plugin that an unexpected error passed through; None if it passed through no plugin.

    Of several plugins it is the one that rrpolicy called.
    """
    frames = list(_traceback_frames(error.__traceback__))
    packages = {package: told for package, told in providers().items() if told[0] != GROUP}
    own = [(frame, line) for frame, line in frames if _frame_package(frame) in packages]
    if not own:
        return None
    called, package = own[0][0], _frame_package(own[0][0])
    distribution, version = packages[package]
    last, line = [(frame, line) for frame, line in own if _frame_package(frame) == package][-1]
    where = f"{last.f_globals.get('__name__', package)}, line {line}"
    return RefusedError(
        Problem(
            PLUGIN_CONTRACT_CODE,
            f"{distribution} {version}: `{called.f_code.co_qualname}` failed: {type(error).__name__} ({where})",
            hint=f"it is an error of that plugin: report it to the authors of {distribution}, with what "
            "RRPOLICY_TRACEBACK=1 prints; look it over first, as it may contain a value of the data",
        )
    )


def _traceback_frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _frame_package(frame: FrameType) -> str:
    """Return the top-level package of a frame's module."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
