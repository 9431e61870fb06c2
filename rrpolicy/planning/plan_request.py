"""Planning for a caller: policy and table opened, the plan made, and written with its key if requested."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Unpack

from rrpolicy.canonical_json import Json
from rrpolicy.collection.questionnaire import Questionnaire, collection_problems
from rrpolicy.errors import GatedResult, PolicyError, Problem
from rrpolicy.finding import Finding, UtilityFinding
from rrpolicy.frozen import replace
from rrpolicy.planning.file import plan_document, save_plan, save_questionnaire
from rrpolicy.planning.key_storage import ExternalSecret, key_location
from rrpolicy.planning.keys import KeyFile, derive_key, generate_key, keyed_fingerprint, refuse_existing_key
from rrpolicy.planning.ledger_account import Account, LedgerBackend
from rrpolicy.planning.plan import MarginalError, Plan
from rrpolicy.planning.plan_result import PlanResult, plan_and_assess
from rrpolicy.planning.policy_opening import OpenedPolicy, PolicyLike, reopen_policy
from rrpolicy.planning.waivers import Terms
from rrpolicy.policy.model import Policy
from rrpolicy.safe_io.atomic_write import refuse_existing
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.verb_options import PlanOptions, Progress, to_path, with_options

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True, slots=True)
class PlannedRelease(GatedResult):
    """A planned release with its risk and errors; `rrpolicy.release` executes exactly it.

    It may contain the key with which the release is drawn, so it is not shown and cannot be pickled. Between
    processes a plan is passed as the file that `out` names, with its key in another file.

    Attributes:
        outlook: the plan, its findings, the gate's decision and the expected errors.
        opened: the policy with the table on which it was planned.
        root: the folder of the policy's files, as the caller named it.
        document: the output of `rrpolicy plan --json`.
        held: the key, bound to this plan and this table; None for a plan without one.
        file: file of the plan; None if it was not written.
        key: file of its key; None if it was not written.
        questionnaire: file of the public part of a plan without data, with which records are collected.
    """

    outlook: PlanResult
    opened: OpenedPolicy
    root: Path | None
    document: dict[str, Json] = field(compare=False)
    held: KeyFile | None = None
    file: Path | None = None
    key: Path | None = None
    questionnaire: Path | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems that prevent a release (RR101, RR103, RR104, RR108, RR109, RR415, RR416, RR44x)."""
        return self.outlook.problems

    @property
    def plan(self) -> Plan:
        """Return the plan itself."""
        return self.outlook.plan

    @property
    def policy(self) -> Policy:
        """Return the policy, with observed domains filled in."""
        return self.outlook.plan.policy

    @property
    def records(self) -> int:
        """Return the number of records planned for."""
        return self.outlook.plan.records

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the finding of each requirement."""
        return self.outlook.assessment.findings

    @property
    def utility(self) -> tuple[UtilityFinding, ...]:
        """Return the expected value at each utility gate."""
        return self.outlook.assessment.utility

    @property
    def errors(self) -> tuple[MarginalError, ...]:
        """Return the expected error of each one-way and two-way marginal."""
        return self.outlook.errors

    def to_json(self) -> dict[str, Json]:
        """Return the plan as plain data, without a key."""
        return dict(self.document)

    def __repr__(self) -> str:
        told = ", ".join(f"{problem.code}: {problem.message}" for problem in self.problems) or "passes"
        return f"<plan of {self.policy.name} {self.policy.version} on {self.records:,} records: {told}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError('a plan may contain its key and is not pickled: plan(…, out="plan.json") writes both as files')


@with_options
def run_plan(
    policy: PolicyLike, handed: InputTable, accounts: LedgerBackend | None = None, **options: Unpack[PlanOptions]
) -> PlannedRelease:
    """Plan; see `rrpolicy.plan` for the arguments and errors. `accounts` opens the ledger, if the policy names one."""
    out, root, key = to_path(options["out"]), to_path(options["root"]), key_location(options["key"])
    expected_rows, progress, passphrase = options["expected_rows"], options["progress"], options["key_passphrase"]
    terms, bound = Terms.of(options["today"], waivers=options["waivers"]), options["bound"]
    if expected_rows is not None and (key is not None or handed.uri is not None):
        raise PolicyError(
            Problem("RR250", "--expected-rows plans without data: it goes with neither --source nor --key")
        )
    secret = key if isinstance(key, ExternalSecret) else None
    if key is not None and out is None and secret is None:
        raise PolicyError(Problem("RR250", "--key goes with --out"))
    if passphrase is not None and (out is None or secret is not None):
        raise PolicyError(Problem("RR250", "--key-passphrase protects a key's file: it goes with --out and no secret"))
    kept = None
    if out is not None:
        refuse_existing(out)
        if expected_rows is None and not isinstance(key, ExternalSecret):
            kept = key or out.with_name(out.name + ".key")
    made = reopen_policy(policy, handed, root)
    if isinstance(key, Path) and made.policy.release.series is not None:
        message = "the key of a series goes to `release`; a plan has its own key as well"
        raise PolicyError(Problem("RR250", message, hint="take --key out"))
    if kept is not None:
        refuse_existing_key(kept)
    account = _ledger_account(made, accounts)
    if expected_rows is not None:
        outlook = plan_and_assess(made.policy, made.registry, expected_rows, progress, terms=terms, account=account)
        found = PlannedRelease(outlook, made, root, outlook.to_json())
        return _write_collection_plan(found, out) if out is not None and found.passed else found
    outlook, held = _plan_and_bind(made, progress, terms, account, secret, bound=bound, written=out is not None)
    if held is not None and passphrase is not None:
        held = replace(held, passphrase=passphrase.encode())
    found = PlannedRelease(outlook, made, root, outlook.to_json(), held)
    return _write_plan(found, out, kept) if out is not None and found.passed else found


def _ledger_account(made: OpenedPolicy, accounts: LedgerBackend | None) -> Account | None:
    """Return the ledger that a policy names; None if it names none."""
    if made.policy.ledger is None:
        return None
    assert accounts is not None
    return accounts.reading(made.policy, made.registry)


def _plan_and_bind(
    made: OpenedPolicy,
    progress: Progress,
    terms: Terms | None,
    account: Account | None,
    secret: ExternalSecret | None,
    *,
    bound: bool,
    written: bool,
) -> tuple[PlanResult, KeyFile | None]:
    """Plan and assess on the table, and bind the plan to it by a fresh key if requested or if it is to be written."""
    from rrpolicy.safe_io.tempdirs import scratch_folder
    from rrpolicy.source.opening import open_original
    from rrpolicy.source.tuning_source import open_tuning_table

    sources = made.registry.sources
    with (
        made.registry.naming_engines(),
        scratch_folder() as spilled,
        open_original(made.policy, sources, spilled.folder) as original,
        open_tuning_table(original.policy, sources, spilled.folder / "plan-on") as elsewhere,
    ):
        outlook = plan_and_assess(made.policy, made.registry, original, progress, elsewhere, terms, account)
        binds = bound or (written and outlook.passed)
        return _bind_plan(outlook, original, secret) if binds else (outlook, None)


def _bind_plan(outlook: PlanResult, original: Original, secret: ExternalSecret | None) -> tuple[PlanResult, KeyFile]:
    """Bind a plan to a table: by a fresh key, or by the key that a secret yields for both."""
    digest = outlook.plan.digest()
    if secret is None:
        fresh = generate_key()
        held = KeyFile(fresh, digest, keyed_fingerprint(fresh, original))
    else:
        held = derive_key(secret, digest, original)
    original.unchanged()
    return outlook.with_tag(held.source_tag), held


def _write_plan(found: PlannedRelease, out: Path, key: Path | None) -> PlannedRelease:
    """Write a plan and its key, both or neither; a key from a secret is not written."""
    assert found.held is not None
    document = _plan_json(found, out)
    save_plan(document, out, None if key is None else (key, found.held))
    return replace(found, document=document, file=out, key=key)


def _write_collection_plan(found: PlannedRelease, out: Path) -> PlannedRelease:
    """Write a plan made without data, and its public part, with which records are collected.

    Raises:
        PolicyError: RR520 if no record can be collected for it.
    """
    plan = found.plan
    if problems := tuple(collection_problems(plan.policy, plan.channel, plan.derived)):
        raise PolicyError(problems)
    public = Questionnaire.of(plan.policy, plan.policy_digest, plan.channel, plan.software)
    file = out.with_name(f"{out.stem}.questionnaire.json")
    document = _plan_json(found, out)
    save_questionnaire(public, file, lambda: save_plan(document, out))
    return replace(found, document=document, file=out, questionnaire=file)


def _plan_json(found: PlannedRelease, out: Path) -> dict[str, Json]:
    if not found.opened.policy.files:
        message = "a plan's file contains the path of the policy, and this policy was not loaded from a file"
        raise PolicyError(Problem("RR250", message, hint="write the policy as TOML and load it"))
    return plan_document(found.outlook, Path(found.opened.policy.files[0]), out.parent)
