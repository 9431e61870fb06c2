"""An adversarial test put into audit/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rrpolicy.attacks.result import Attacked
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.registry import Registry
from rrpolicy.releasing.afterwards import put_into, refuse_signed
from rrpolicy.releasing.bundle.audit import ATTACKED
from rrpolicy.releasing.report.attacks import attack_rows
from rrpolicy.report import Report


def refuse_unwritable(bundles: Sequence[Path]) -> None:
    """Refuse what a test cannot be written into, before anything is read.

    Raises:
        PolicyError: RR250 for several bundles: audit/ speaks of one release.
        RefusedError: RR553 if the release is signed.
    """
    if len(bundles) > 1:
        message = f"{len(bundles)} bundles are named, and audit/ speaks of one release"
        raise PolicyError(Problem("RR250", message, hint="write the test of each by itself; several are only printed"))
    refuse_signed(bundles[0], "the test")


def write_into(bundle: Path, found: Attacked, registry: Registry) -> None:
    """Put a test into audit/ and print the audit report with it, in the place of an earlier test.

    Args:
        bundle: the folder, verified.
        found: of it alone.
        registry: of the plugins; the report's renderers among them.

    Raises:
        PolicyError: as `put_into`.
        RefusedError: as `put_into`.
    """

    def shown(report: Report) -> Report:
        return replace(report, attacks=attack_rows(found.attacks))

    put_into(bundle, ATTACKED, found.to_json(), shown, registry)
