"""Opening and attacking bundles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

import rrpolicy
from rrpolicy.attacks.result import AttackReport
from rrpolicy.attacks.run import run_across_releases, run_attacks, run_on_each
from rrpolicy.attacks.target import OTHER_TABLE
from rrpolicy.bundle.audit import ATTACK_FILE
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.planning.plan import fingerprint
from rrpolicy.registry import Registry
from rrpolicy.reports.attacks import add_attack_results
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.opening import open_original
from rrpolicy.verb_options import AttackOptions
from rrpolicy.verification.amend import amend_audit
from rrpolicy.verification.audit import verify_records
from rrpolicy.verification.source_consistency import (
    attack_target,
    false_alarm_text,
    goodness_of_fit_finding,
    record_count_problem,
)
from rrpolicy.verification.verify import no_source_error, open_claimed_source

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackTarget
    from rrpolicy.registry import Registry
    from rrpolicy.source.memory.input_table import InputTable
    from rrpolicy.source.protocol import Original


def amend_with_attack(bundle: Path, found: AttackReport, registry: Registry) -> None:
    """Put a test into audit/ and print the audit report with it, replacing an earlier test.

    The bundle's digest is the first of `found`.

    Raises:
        PolicyError: as `amend_audit`.
        RefusedError: as `amend_audit`.
    """
    amend_audit(bundle, ATTACK_FILE, found.to_json(), lambda report: add_attack_results(report, found), registry)


class AttackedBundle(Struct, frozen=True):
    """A bundle with verified files, with its source."""

    digest: str
    registry: Registry
    original: Original
    target: AttackTarget


def attack(bundles: Sequence[Path], tables: Sequence[InputTable], options: AttackOptions) -> AttackReport:
    """Attack bundles; see `rrpolicy.attack`. `tables` are the original table of all, or that of each."""
    from rrpolicy.verification.amend import require_unsigned

    plugins, write, progress = options["plugins"], options["write"], options["progress"]
    sure = len(tables) == len(bundles)
    if not sure and len(tables) > 1:
        message = f"{len(bundles)} releases and {len(tables)} tables are named"
        raise PolicyError(Problem("RR250", message, expected="one table for all releases, or one for each"))
    if write:
        require_unsigned(bundles[0], "the test")
    with ExitStack() as stack:
        opened = []
        for number, bundle in enumerate(bundles):
            progress("opening", number / len(bundles) / 2)
            given = tables[min(number, len(tables) - 1)]
            table = number if given.engines else [other.uri for other in tables].index(given.uri)
            opened.append(_open_attacked_bundle(stack, bundle, given, table, plugins, sure=sure))
        progress("attacking", 0.5)
        original = opened[0].original
        targets, on_each = run_on_each([each.target for each in opened], sure=sure)
        found = AttackReport(
            releases=tuple(each.digest for each in opened),
            source=fingerprint(original),
            records=original.records,
            version=rrpolicy.__version__,
            attacks=tuple(on_each),
            together=tuple(run_across_releases(targets)),
        )
        if write:
            if not found.decided or targets[0].unfit:
                found.require()
            progress("writing", 0.9)
            own = found if len(targets) == 1 else replace(found, attacks=tuple(run_attacks(targets[0])))
            amend_with_attack(bundles[0], own, opened[0].registry)
    return found


def _open_attacked_bundle(
    stack: ExitStack, bundle: Path, given: InputTable, table: int, plugins: Sequence[str], *, sure: bool
) -> AttackedBundle:
    """Open a bundle with its table, whose number among the tables is `table`.

    `sure`: the caller states that it is the table of this very release, which it may not be if several have one.

    Raises:
        RequirementError: RR110 to RR137 if the bundle is inconsistent, or surely of another table.
    """
    if not (bundle / "public").is_dir() or not (bundle / "audit").is_dir():
        message = f"{bundle} is not a whole bundle: it lacks public/ or audit/"
        raise PolicyError(Problem("RR260", message, expected="a bundle written by `rrpolicy release`"))
    spilled = stack.enter_context(scratch_folder()).folder
    side, audit = verify_records(bundle, spilled, plugins, given.engines, uri=given.uri or "")
    if side.manifest.collected is not None:
        raise no_source_error(bundle)
    stack.enter_context(side.registry.naming_engines())
    opening = open_original(audit.plan.policy, side.registry.sources, spilled / "spill")
    original = stack.enter_context(open_claimed_source(opening))
    target = replace(attack_target(str(bundle), side, audit, original, spilled), table=table)
    if original.records != audit.plan.records:
        if sure:
            other = record_count_problem(original.records, audit.plan.records)
            raise RequirementError(replace(other, message=f"{bundle}: {other.message}"))
        unlike = f"it has {audit.plan.records:,} records, and this table has {original.records:,}"
        target = replace(target, unfit=OTHER_TABLE.format(unlike))
    elif not sure:
        finding = goodness_of_fit_finding(audit, side, original, spilled)
        if finding.verdict is Verdict.FAILED:
            unlike = f"its contents do not look like a draw from this one{false_alarm_text(finding)}"
            target = replace(target, unfit=OTHER_TABLE.format(unlike))
    return AttackedBundle(side.manifest.digest, side.registry, original, target)
