"""An adversarial test put into audit/."""

from __future__ import annotations

from pathlib import Path

from rrpolicy.attacks.result import AttackReport
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.registry import Registry
from rrpolicy.reports.attacks import add_attack_results
from rrpolicy.verification.amend import amend_audit


def amend_with_attack(bundle: Path, found: AttackReport, registry: Registry) -> None:
    """Put a test into audit/ and print the audit report with it, in the place of an earlier test.

    Args:
        bundle: the folder, verified.
        found: of it, and of it together with others; its digest is the first.
        registry: of the plugins; the report's renderers among them.

    Raises:
        PolicyError: as `put_into`.
        RefusedError: as `put_into`.
    """
    amend_audit(bundle, ATTACK_FILE, found.to_json(), lambda report: add_attack_results(report, found), registry)
