"""Verifying a forged record quickly: it ends at the first check that fails, and what is known to hold is not looked at.

A bundle that differs from a good one in its records alone has the same data, of which each check is made once. Reports are
left as they are, and not looked at (but report.json where it is itself forged): a forger would make them again. Whatever
else fails, fails then, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rrpolicy import discovery
from rrpolicy.canonical_json import canonical, file_digest
from rrpolicy.serialization import plain
from rrpolicy.verification import public as verify_public
from rrpolicy.verification import verify as verifying
from rrpolicy.verification.outcome import Log

from .forging import refill_public, replan, reseal_audit, reseal_public


class Failed(BaseException):
    """A check failed; nothing catches it."""


@contextmanager
def remembered() -> Iterator[None]:
    """Let the installed plugins be looked for once, and the data files be checked once for each description of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discovery, "installed_entry_points", cache(discovery.installed_entry_points))
        yield


@contextmanager
def ending_at_the_first_failure(known: set[bytes], *, reports: bool) -> Iterator[None]:
    """Raise `Failed` from the first check that fails, but for those of pages.

    Args:
        known: descriptions of data files that hold; filled.
        reports: whether report.json is filled again, and compared.
    """
    check, data = Log.check, verify_public._check_table

    def checked(log: Log, name: str, passed: bool, *rest: str, hint: str | None = None) -> bool:
        if not passed and not name.endswith("html: rendered again"):
            raise Failed(name)
        return check(log, name, passed, *rest, hint=hint)

    def data_checked(log: Log, side: Any, scratch: Path, name: str) -> None:
        stated = side.manifest.data
        described = {"data": plain(stated), "table": name, "tables": plain(side.manifest.tables)}
        described |= {"files": [file_digest(side.folder / path) for path in stated.tables[name].files]}
        if canonical(described) not in known:
            data(log, side, scratch, name)
            known.add(canonical(described))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Log, "check", checked)
        patch.setattr(verify_public, "_check_table", data_checked)
        patch.setattr(verify_public, "check_public_page", lambda *_: None)
        if not reports:
            patch.setattr(verifying, "check_audit_page", lambda *_: None)
        yield


def fails(bundle: Path, known: set[bytes], *, reports: bool = False, **inputs: Any) -> bool:
    """Return whether a check fails that no new reports would mend."""
    with ending_at_the_first_failure(known, reports=reports):
        try:
            verifying.verify(bundle, **inputs)
        except Failed:
            return True
        except Exception:  # noqa: BLE001 looked at by the caller, who verifies again
            return False
    return False


def fill_records(bundle: Path) -> None:
    """Make everything again that follows from a forged record, but for reports, and seal it."""
    for step in (refill_public, replan):
        try:
            step(bundle)
        except Exception:  # noqa: BLE001 a forger seals what cannot be filled
            reseal_public(bundle)
    reseal_audit(bundle)
