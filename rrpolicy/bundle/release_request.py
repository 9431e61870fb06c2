"""Releasing for a caller: a policy or a plan, the table, the key, and the bundle's folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

from rrpolicy.bundle import audit as auditing
from rrpolicy.bundle.audit import read_assessment
from rrpolicy.bundle.execute import release
from rrpolicy.bundle.manifest import ReleaseStatement
from rrpolicy.bundle.staging import Staging, stage
from rrpolicy.errors import PolicyError, Problem, RefusedError
from rrpolicy.escaping.printable import visible
from rrpolicy.finding import Finding, UtilityFinding
from rrpolicy.formats.parts import LOCAL_SINK, FileSink
from rrpolicy.frozen import replace
from rrpolicy.manifest.sealed_manifest import read_release
from rrpolicy.planning.file import read_plan, stale_plan_error
from rrpolicy.planning.key_storage import ExternalSecret, KeyLocation, KeyStorage, key_location
from rrpolicy.planning.keys import (
    KeyFile,
    SeriesKey,
    derive_key,
    destroy_key,
    generate_key,
    keyed_fingerprint,
    new_key_file,
    read_key,
    read_series_key,
    require_matching_key,
)
from rrpolicy.planning.ledger_account import Account, ApprovalCheck, LedgerBackend
from rrpolicy.planning.plan import Plan, make_plan
from rrpolicy.planning.plan_request import PlannedRelease
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.planning.series import SeriesState
from rrpolicy.planning.waivers import Terms
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.registry import Registry
from rrpolicy.safe_io.document import read_document
from rrpolicy.serialization import JsonDocument
from rrpolicy.source.memory.input_table import InputTable, input_table
from rrpolicy.source.opening import absolute_uri, open_original
from rrpolicy.source.tuning_source import open_tuning_table
from rrpolicy.verb_options import ReleaseOptions, shared, to_path

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

log = logging.getLogger("rrpolicy")
ReleaseInput: TypeAlias = "str | os.PathLike[str] | Policy | PlannedRelease"
"""The inputs of a release: a policy's file or a plan's, a loaded policy, or a plan made in this process."""


@dataclass(frozen=True, slots=True)
class WrittenBundle(JsonDocument):
    """A bundle that was written.

    Attributes:
        policy: the policy of the release.
        bundle: its folder, as the caller named it.
        key: its location; None if it was destroyed.
        digest: digest of release.json, which covers all of public/.
        data: table -> its file in public/.
        files: path in the bundle -> digest of the file's bytes; release.json and audit.json state them.
        findings: results of the privacy requirements.
        utility: the expected value at each utility gate.
        protection: its grade.
    """

    schema: ClassVar[str] = "rrpolicy.released/1"
    written: ClassVar[tuple[str, ...]] = ("schema", "bundle", "key", "findings", "protection")

    policy: Policy = field(repr=False)
    bundle: Path
    key: Path | None
    digest: str
    data: Mapping[str, Path]
    files: Mapping[str, str] = field(repr=False)
    findings: tuple[Finding, ...] = field(repr=False)
    utility: tuple[UtilityFinding, ...] = field(repr=False)
    protection: ReleaseProtection | None = field(repr=False)

    @property
    def public(self) -> Path:
        """Return the folder that may be published."""
        return self.bundle / "public"

    @property
    def audit(self) -> Path:
        """Return the folder for the audit only."""
        return self.bundle / "audit"


@dataclass(frozen=True, slots=True)
class KeyDisposition:
    """The intended disposition of the key.

    Attributes:
        at: the file in which it is kept, or the secret from which it is derived; None: it is destroyed.
    """

    at: KeyLocation | None
    protect: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a passphrase without a file (RR250)."""
        if self.protect is not None and self.path is None:
            raise PolicyError(Problem("RR250", "--key-passphrase protects a key's file: name it with --key"))

    @property
    def path(self) -> Path | None:
        """Return the file."""
        return self.at if isinstance(self.at, Path) else None

    @property
    def secret(self) -> ExternalSecret | None:
        """Return the external secret."""
        return self.at if isinstance(self.at, ExternalSecret) else None

    @property
    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path is not None and self.path.exists()

    def custody(self, drawn_with: KeyFile | SeriesKey) -> KeyStorage:
        """Return the storage stated in audit/ of the key with which a release was drawn."""
        if self.secret is not None:
            return self.secret.custody
        if self.path is None:
            return KeyStorage.DESTROYED
        return KeyStorage.FILE if drawn_with.passphrase is None else KeyStorage.PROTECTED


class ReleaseOrder(Struct, frozen=True):
    """The inputs of one release.

    Attributes:
        opened: the policy as its file states it now, and the table.
        plan: the plan to execute; None if it must be made.
        held: the key of a plan that was made in this process.
        plan_file: a plan's file, with its key in the same folder.
    """

    opened: OpenedPolicy
    policy_file: Path
    plan: Plan | None = None
    held: KeyFile | None = None
    plan_file: Path | None = None


def run_release(
    what: ReleaseInput, out: Path, accounts: LedgerBackend, approve: ApprovalCheck, options: ReleaseOptions
) -> WrittenBundle:
    """Write a release; see `rrpolicy.release` for the errors.

    `approve` requires that the policy was approved. `options["replaces"]` is the digest of the corrected release.
    """
    handed, passphrase = input_table(options["source"]), options["key_passphrase"]
    kept = KeyDisposition(key_location(options["key"]), None if passphrase is None else passphrase.encode())
    order = _release_order(what, handed, to_path(options["root"]))
    files = _named_sink(order.opened.registry, options["sink"])
    terms = Terms.of(options["today"], waivers=options["waivers"])
    with stage(out) as staging:
        for name in staging.swept:
            log.warning("removed %s, which an earlier run that was killed had left", visible(name))
        approve(order.opened.policy, order.policy_file, staging.folder, terms.today)
        _execute_order(order, staging, kept, files, accounts=accounts, terms=terms, options=options)
    return read_written_bundle(order.opened.policy, out, kept.path)


def _named_sink(registry: Registry, name: str | None) -> FileSink:
    """Return the writer of the data files (RR250 if no plugin offers it)."""
    if name is None:
        return LOCAL_SINK
    if name not in registry.sinks:
        expected = ", ".join(sorted(registry.sinks))
        problem = Problem("RR250", f"nothing is called '{visible(name)}' that writes a release", expected=expected)
        raise PolicyError(registry.hinted(problem))
    return registry.sinks[name]


def _release_order(what: ReleaseInput, handed: InputTable, root: Path | None) -> ReleaseOrder:
    if isinstance(what, PlannedRelease):
        return _planned_order(what, handed, root or what.root)
    if isinstance(what, Policy):
        return ReleaseOrder(*_reopened_policy(what, handed, root))
    what = Path(what)
    if not _is_plan_file(what):
        return ReleaseOrder(open_policy(what, source=handed.uri, root=root).reading(handed), what)
    read = read_plan(what, source=handed.uri, root=root)
    if read.plan.source_tag is None:
        message = f"{what} was made without data: its records are collected, each randomised before it is sent"
        hint = (
            "`rrpolicy collect PLAN TABLE --out DIR` makes the release; to release your own table, plan again with it"
        )
        raise RefusedError(Problem("RR523", message, hint=hint))
    return ReleaseOrder(read.opened.reading(handed), read.policy_file, read.plan, plan_file=what)


def _is_plan_file(path: Path) -> bool:
    """Return whether a file is a plan: by its name, or, if that is not enough, by its first brace."""
    if path.suffix in {".json", ".toml"} or not path.is_file():
        return path.suffix == ".json"
    with path.open("rb") as file:
        return file.read(80).lstrip().startswith(b"{")


def _planned_order(what: PlannedRelease, handed: InputTable, root: Path | None) -> ReleaseOrder:
    """Return the order of a plan made in this process, on the same table unless another is passed."""
    if what.held is None:
        message = "the plan is bound to no table, so it cannot be released"
        raise PolicyError(Problem("RR250", message, hint="plan again on the table, with `bound` = true (the default)"))
    stated, file = _reopened_policy(what.opened.policy, InputTable(), root)
    opened = OpenedPolicy(stated.policy, what.opened.registry).reading(handed)
    return ReleaseOrder(opened, file, what.plan, what.held)


def _reopened_policy(policy: Policy, handed: InputTable, root: Path | None) -> tuple[OpenedPolicy, Path]:
    """Open a loaded policy's file again: the release follows its current contents.

    Raises:
        PolicyError: RR250 if it was not loaded from a file.
        RefusedError: RR401 if the file has changed.
    """
    if not policy.files:
        message = "a release copies the policy's file into audit/, and this policy was not loaded from one"
        raise PolicyError(Problem("RR250", message, hint="write the policy as TOML and load it"))
    file = Path(policy.files[0])
    opened = open_policy(file, source=handed.uri or policy.source.uri, root=root)
    own = InputTable(absolute_uri(policy.source.uri, opened.registry.sources, policy.folder))
    opened = opened.reading(own if handed.uri is None else handed)
    if opened.policy.digest() != policy.digest():
        raise stale_plan_error("the policy has changed")
    return opened, file


def _execute_order(
    order: ReleaseOrder,
    staging: Staging,
    kept: KeyDisposition,
    files: FileSink,
    *,
    accounts: LedgerBackend,
    terms: Terms,
    options: ReleaseOptions,
) -> None:
    """Draw into the staging folder with an existing, derived or new key, and publish the bundle."""
    plan_file, opened, progress = order.plan_file, order.opened, options["progress"]
    beside = None if plan_file is None else plan_file.with_name(plan_file.name + ".key")
    series = opened.policy.release.series
    existing = _existing_key_file(order, kept, beside, series)
    held = order.held or (None if existing is None else read_key(existing))
    if held is not None and existing is not None and existing == kept.path:
        _require_protected_key(held, kept)
    if order.plan is not None and held is None and kept.secret is None:
        where = _key_place(kept.path if series is None else None)
        message = f"a plan is released with its own key, which is missing {where}"
        raise RefusedError(Problem("RR403", message, hint="name it with --key, or plan again"))
    known = series is not None and opened.policy.ledger is not None
    begun = accounts.reading(opened.policy, opened.registry).begun(series or "") if known else None
    sources = opened.registry.sources
    with (
        opened.registry.naming_engines(),
        open_original(opened.policy, sources, staging.scratch) as original,
        open_tuning_table(original.policy, sources, staging.scratch / "plan-on") as elsewhere,
    ):
        progress("planning", 0.05)
        plan = order.plan or make_plan(opened.policy, opened.registry, original, progress, elsewhere, begun)
        if series is not None and order.plan is not None:
            _binding_key(plan, original, held, kept)
            plan = replace(plan, source_tag=None)  # the series' key binds it
        drawing = (
            _draw_key(plan, original, held, kept, staging, keep=existing is None)
            if series is None
            else _series_key(series, kept, staging, begun)
        )
        with drawing as secret, open_ledger_account(opened, accounts) as account:
            release(
                plan,
                opened.policy,
                opened.registry,
                original,
                secret.key,
                staging.target,
                stated=ReleaseStatement(**shared(options, ReleaseStatement)),
                policy_file=order.policy_file,
                staging=staging,
                elsewhere=elsewhere,
                terms=terms,
                account=account,
                custody=kept.custody(secret),
                progress=progress,
                files=files,
            )
    if beside is not None and (kept.at is None or (series is not None and beside.exists())):
        destroy_key(beside)


def _existing_key_file(
    order: ReleaseOrder, kept: KeyDisposition, beside: Path | None, series: str | None
) -> Path | None:
    """Return the file of the key that was made with the plan; None if it does not exist yet.

    The key of a series is not such a key.
    """
    if order.held is not None:
        return None
    if series is not None:
        return beside if beside is not None and beside.exists() else None
    return kept.path if kept.exists else (beside if kept.at is None else None)


def open_ledger_account(opened: OpenedPolicy, accounts: LedgerBackend) -> AbstractContextManager[Account | None]:
    """Return the ledger that a policy names, locked until the bundle has appeared; a null context if it names none."""
    return nullcontext() if opened.policy.ledger is None else accounts.writing(opened.policy, opened.registry)


@contextmanager
def _draw_key(
    plan: Plan, original: Original, held: KeyFile | None, kept: KeyDisposition, staging: Staging, *, keep: bool
) -> Iterator[KeyFile]:
    """Yield the key to draw with: the given one, if it is for this plan and table, a derived one, or a fresh one.

    A key that is stored in a file is written before the bundle appears, and removed if the bundle does not appear.
    """
    made = _binding_key(plan, original, held, kept)
    if kept.path is None or not keep:
        yield made
        return
    with new_key_file(kept.path, made, lambda: staging.published):
        yield made


def _binding_key(plan: Plan, original: Original, held: KeyFile | None, kept: KeyDisposition) -> KeyFile:
    """Return the key that binds a plan to the table: the given one, a derived one, or a fresh one."""
    if held is not None:
        tag = plan.source_tag
        if tag is not None and tag == held.source_tag and tag != keyed_fingerprint(held.key, original, tag):
            raise stale_plan_error("the table has changed")
        require_matching_key(held, plan.digest(), original)
        if tag not in {None, held.source_tag}:
            message = f"the key {_key_place(kept.path)} was made with another plan of the same policy and table"
            raise RefusedError(Problem("RR403", message, hint="name the key that was written with this plan"))
        return held
    if kept.secret is not None:
        made = derive_key(kept.secret, plan.digest(), original)
        if plan.source_tag not in {None, made.source_tag}:
            message = "the secret is another one than that which the plan was made with, or the table has changed"
            raise RefusedError(Problem("RR403", message, hint="name the secret of the plan, or plan again"))
        return made
    secret = generate_key()
    return KeyFile(secret, plan.digest(), keyed_fingerprint(secret, original), kept.protect)


def _require_protected_key(key: KeyFile | SeriesKey, kept: KeyDisposition) -> None:
    """Refuse a passphrase for an existing file without one."""
    if kept.protect is not None and key.passphrase is None:
        message = f"the key file {kept.path} exists without a passphrase, and is not overwritten"
        lasting = isinstance(key, SeriesKey)
        hint = "take --key-passphrase out" + (
            ": the series goes on with its key" if lasting else ", or name another file"
        )
        raise RefusedError(Problem("RR403", message, hint=hint))


@contextmanager
def _series_key(series: str, kept: KeyDisposition, staging: Staging, begun: SeriesState | None) -> Iterator[SeriesKey]:
    """Yield the key of a series: the stored one, one derived from a secret, or a fresh one that begins the series.

    `begun` is None for the first release of the series.
    """
    if kept.secret is not None:
        yield SeriesKey(kept.secret.key_of_series(series), series)
        return
    if kept.path is None:
        message = f"the series '{series}' is drawn with its own key, which is kept for all releases of the series"
        raise RefusedError(Problem("RR403", message, hint="name its file, or where the first one goes: --key FILE"))
    if kept.exists:
        made = read_series_key(kept.path, series)
        if begun is None:
            message = (
                f"there is a key of the series '{series}' in {kept.path}, and the ledger contains no release of it"
            )
            hint = "take the ledger from the repository's history; to begin a series, name a key file that is not there"
            raise RefusedError(Problem("RR444", message, hint=hint))
        _require_protected_key(made, kept)
        yield made
        return
    if begun is not None:
        message = f"there is no key in {kept.path}, and the series '{series}' was begun by {begun.by}"
        hint = "name the key that it was begun with; without it, only another series can begin"
        raise RefusedError(Problem("RR403", message, hint=hint))
    made = SeriesKey(generate_key(), series, kept.protect)
    with new_key_file(kept.path, made, lambda: staging.published):
        yield made


def _key_place(key: Path | None) -> str:
    return "next to it (PLAN.key)" if key is None else f"in {key}"


def read_written_bundle(policy: Policy, bundle: Path, key: Path | None) -> WrittenBundle:
    """Return a written bundle by its own documents."""
    manifest = read_release(bundle / "public")
    record = read_document(bundle / "audit" / auditing.AUDIT_FILE)
    findings = read_document(bundle / "audit" / "findings.json")
    assessment = read_assessment(findings).placed([requirement.place for requirement in policy.requirements])
    files = {
        f"{part}/{name}": told
        for part, listed in (("public", manifest.files), ("audit", record["files"]))
        for name, told in listed.items()
    }
    data = {name: bundle / "public" / manifest.pattern(name) for name in manifest.data.tables}
    stated = (assessment.findings, assessment.utility, assessment.protection)
    return WrittenBundle(policy, bundle, key, manifest.digest, data, files, *stated)
