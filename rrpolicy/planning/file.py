"""A plan as a file, with its key in another file: `release plan.json` executes exactly it, or refuses it as stale."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from rrpolicy.canonical_json import Json, canonical, digest, pretty
from rrpolicy.collection.questionnaire import Questionnaire
from rrpolicy.errors import Problem, RefusedError, write_error
from rrpolicy.finding import Finding, UtilityFinding
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.check import requirement_statements
from rrpolicy.planning.gate import gate
from rrpolicy.planning.keys import KeyFile, new_key_file
from rrpolicy.planning.plan import PLAN_SCHEMA, MarginalError, Plan, PlanDocument, software_matches
from rrpolicy.planning.plan_result import PlanResult, review_warnings
from rrpolicy.planning.policy_opening import OpenedPolicy, OpeningRecord, open_policy
from rrpolicy.planning.waivers import Terms
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.policy_decoding import mechanism_from_json
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.safe_io.atomic_write import appear, refuse_existing
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix
from rrpolicy.safe_io.tempdirs import directory_identity
from rrpolicy.serialization import faults, read

LARGEST = 2**30
"""The most bytes of a plan's file."""


class PlanFile(Struct, frozen=True):
    """A plan that is still fresh, with its policy as the policy's file states it now."""

    plan: Plan
    opened: OpenedPolicy
    policy_file: Path
    assessment: Assessment
    errors: tuple[MarginalError, ...]

    def outlook(self, terms: Terms) -> PlanResult:
        """Return the plan with its findings, decided on a day; without those about a ledger."""
        policy, plan = self.opened.policy, self.plan
        decision = gate(self.assessment, policy, terms, review_warnings(plan))
        found = requirement_statements(policy, self.opened.registry)
        return PlanResult(plan, self.assessment, decision, self.errors, found, policy.governance)


def plan_document(outlook: PlanResult, policy_file: Path, folder: Path) -> dict[str, Json]:
    """Return the plan's document with the policy's path, relative to the folder that the plan will lie in.

    Its digest also covers fields that a reviewer reads and a release does not: an edited number is noticed.
    """
    document = outlook.to_json()
    document["policy_file"] = os.path.relpath(policy_file.absolute(), folder.absolute())
    document["mechanism_as_stated"] = outlook.plan.policy.mechanism.as_stated
    document["file_digest"] = digest(canonical(document))
    return document


def save_plan(document: Mapping[str, Json], path: Path, key: tuple[Path, KeyFile] | None = None) -> None:
    """Write a plan's file and its key's, mode 0600, both as a whole or neither; a plan is audit-class.

    Raises:
        RefusedError: RR402 if there is a plan already, RR403 if there is a key file already; RR407 if a folder is
            missing or cannot be written to, RR408 if the disk is full.
    """
    made = path.with_name(f".{path.name}.{random_suffix()}")
    try:
        with cleanup_on_exit(made):
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
                file.write(pretty(dict(document)))
            identity = directory_identity(made)
            appeared = partial(_has_identity, path, identity)
            with nullcontext() if key is None else new_key_file(*key, appeared):
                appear(made, path)
    except OSError as error:
        raise write_error(str(path), error) from error


def save_questionnaire(questionnaire: Questionnaire, path: Path, plan: Callable[[], None]) -> None:
    """Write a questionnaire, readable by everyone, and then its plan: both or neither.

    Raises:
        RefusedError: RR402 if there is a file already; RR407 if it cannot be written, RR408 if the disk is full.
    """
    refuse_existing(path)
    made, done = path.with_name(f".{path.name}.{random_suffix()}"), False
    try:
        with cleanup_on_exit(made):
            made.write_bytes(pretty(questionnaire.to_json()))
            appear(made, path)
        with cleanup_on_exit(path, lambda: done):
            plan()
            done = True
    except OSError as error:
        raise write_error(str(path), error) from error


def _has_identity(path: Path, identity: object) -> bool:
    return directory_identity(path) == identity


def read_plan(path: Path, *, source: str | None = None, root: Path | None = None) -> PlanFile:
    """Read a plan's file and its policy.

    Raises:
        RefusedError: RR401 if it is not a plan, or the policy, the plugins or rrpolicy changed since; RR404 if the
            release needs a plugin that is no longer installed. The mechanism is not needed.
    """
    document = _plan_fields(path)
    told = document.pop("file_digest", None)
    if told != digest(canonical(document)):
        raise RefusedError(Problem("RR401", f"{path} was changed after it was written", hint="plan again"))
    policy_file = path.parent / document["policy_file"]
    try:
        before = _opening_record(document)
        opened = open_policy(policy_file, source=source, root=root, before=before)
        with opened.registry.naming_absent():
            plan = Plan.from_json(document, opened.registry, uri=opened.policy.source.uri, folder=opened.policy.folder)
        assessment = Assessment(
            tuple(map(partial(read, Finding), document["findings"])),
            tuple(map(partial(read, UtilityFinding), document["utility"])),
            protection=read(ReleaseProtection, document["protection"]),
        )
        errors = tuple(read(MarginalError, error) for error in document["expected_errors"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise RefusedError(Problem("RR401", f"{path} contradicts itself", hint="plan again")) from error
    chosen = opened.policy.mechanism
    if opened.policy.digest() != plan.policy_digest:
        raise stale_plan_error("the policy has changed")
    if chosen.name not in opened.registry.mechanisms and chosen.as_stated != document.get("mechanism_as_stated"):
        raise stale_plan_error(
            f"what the policy states of the mechanism '{chosen.name}', which is not installed, has changed"
        )
    if not software_matches(plan.software, opened.registry):
        raise stale_plan_error("rrpolicy or a plugin is of another version")
    return PlanFile(plan, opened, policy_file, assessment, errors)


def _opening_record(document: Mapping[str, Any]) -> OpeningRecord:
    """Return a plan's record of plugins that may have been removed since."""
    mechanism = document["policy"]["resolved"]["mechanism"]
    return OpeningRecord(read(Software, document["software"]), mechanism_from_json(mechanism, None))


def _plan_fields(path: Path) -> dict[str, Any]:
    """Return a plan's document, with every field checked."""
    hint = "`rrpolicy plan POLICY --out PLAN` writes one"
    try:
        document = read_document(path, most=LARGEST)
    except UnreadableError as error:
        raise RefusedError(Problem("RR401", f"{path} cannot be read as a plan: {error}", hint=hint)) from error
    if document.get("schema") != PLAN_SCHEMA or "policy_file" not in document:
        raise RefusedError(
            Problem("RR401", f"{path} is not a plan of schema {PLAN_SCHEMA}", hint="`rrpolicy plan --out` writes one")
        )
    wrong = faults(document, PlanDocument)
    if wrong:
        raise RefusedError(Problem("RR401", f"{path} is not a plan: {wrong}", hint=hint))
    return document


def stale_plan_error(why: str) -> RefusedError:
    """Return the error of a plan that no longer fits."""
    hint = "plan again, into another file or with the old plan and its key removed"
    return RefusedError(Problem("RR401", f"the plan is stale: {why} since it was made", hint=hint))
