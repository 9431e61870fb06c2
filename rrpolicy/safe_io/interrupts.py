"""Leaving at once on a signal, and leaving nothing behind.

An exception is not enough: Python swallows one that is raised in a destructor, imports and the engine turn it into
another, and none is raised before a long call of the engine has ended. So a separate thread waits for the signal,
removes unfinished files, and ends the process.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNAL_EXIT_BASE = 128
"""Added to a signal's number: the exit status of a process that it ended."""
TOKEN = 16
"""Characters of the random end of an unfinished folder's name."""
_PASSES, _PAUSE = 50, 0.005


class _CleanupItem(Struct, frozen=True, eq=False):
    """A file or folder that is removed with the process, unless it `stays`; `kept` is then the message."""

    path: Path
    stays: Callable[[], bool]
    kept: str
    remove: Callable[[Path], None]


_cleanup_items: list[_CleanupItem] = []
_kept_messages: list[str] = []
_cleanup_begun = threading.Event()


def random_suffix() -> str:
    """Return an unguessable end of a name."""
    return os.urandom(TOKEN // 2).hex()


def remove_file(path: Path) -> None:
    """Remove a file, if it exists and can be removed."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder whose name ends in a token, though others may still be writing into it.

    A second thread may call it, and then finishes the work of the first one.
    """
    gone = path.with_name(path.name[:-TOKEN] + path.name[-TOKEN:][::-1])
    with suppress(OSError):
        path.rename(gone)  # creating files under its old name now fails
    for _ in range(_PASSES):
        for folder in (path, gone):
            shutil.rmtree(folder, ignore_errors=True)
        if not (path.exists() or gone.exists()):
            return
        time.sleep(_PAUSE)


@contextmanager
def cleanup_on_exit(
    path: Path, stays: Callable[[], bool] = lambda: False, kept: str = "", remove: Callable[[Path], None] = remove_file
) -> Iterator[None]:
    """Remove a file or folder at the end: after an error, on a signal, or because it is no longer needed.

    `path` need not exist yet. `stays` returns whether it is finished, and `kept` is its message on an interrupt.
    """
    entry = _CleanupItem(path, stays, kept, remove)
    _cleanup_items.append(entry)
    if _cleanup_begun.is_set():  # pragma: no cover - the other thread is about to end the process
        _block_main_thread()
    try:
        yield
    finally:
        if not stays():
            remove(path)
        elif kept:
            _kept_messages.append(kept)
        _cleanup_items.remove(entry)


def interruption_summary() -> str:
    """Return the actions of an interrupted process, in words."""
    return "; ".join(_kept_messages) or "nothing was written"


def install_signal_handlers() -> None:
    """Handle SIGINT, SIGTERM and SIGHUP for the rest of the process; a SIGHUP that is ignored (nohup) stays ignored."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_await_signal, args=(reading,), daemon=True).start()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _block_main_thread)


def uninstall_signal_handlers() -> None:
    """Exit by the signal's status without cleaning up: the interpreter is ending, and all is finished."""
    for number in SIGNALS:
        if signal.getsignal(number) is _block_main_thread:
            signal.signal(number, lambda received, _: os._exit(SIGNAL_EXIT_BASE + received))


def _block_main_thread(*_: object) -> None:
    """Block the main thread; the other one ends the process."""
    while True:
        time.sleep(1)


def _await_signal(reading: int) -> None:
    number = 0
    while number not in SIGNALS:
        number = os.read(reading, 1)[0]
    try:
        _remove_unfinished()
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # progress hides the cursor
        os.write(2, f"{shown}rrpolicy: interrupted; {interruption_summary()}\n".encode())
    finally:
        os._exit(SIGNAL_EXIT_BASE + number)


def _remove_unfinished() -> None:
    """Remove unfinished files, twice: the main thread may have been about to create one."""
    _cleanup_begun.set()
    for _ in range(2):
        for entry in tuple(_cleanup_items):
            if not entry.stays():
                entry.remove(entry.path)
            elif entry.kept and entry.kept not in _kept_messages:
                _kept_messages.append(entry.kept)
        time.sleep(_PAUSE)
