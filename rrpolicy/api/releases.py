"""Releases: made, verified, attacked, signed, and told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rrpolicy.api.arguments import (
    PathLike,
    Progress,
    no_progress,
    public_function,
    require_known,
    review_options,
    to_key_location,
    to_path,
)

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport
    from rrpolicy.bundle.release_request import ReleaseInput, WrittenBundle
    from rrpolicy.canonical_json import Json
    from rrpolicy.compliance.evidence_file import RenderedEvidence
    from rrpolicy.reports.rerender import RenderedReport
    from rrpolicy.signing.allowed_signers import AllowedSigners
    from rrpolicy.signing.signing import Signature
    from rrpolicy.source.memory.kinds import Table
    from rrpolicy.verification.outcome import Verification, VerificationLevel


@public_function
def release(
    what: ReleaseInput,
    out: PathLike,
    *,
    source: Table | None = None,
    label: str | None = None,
    key: PathLike | None = None,
    key_passphrase: str | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
    sink: str | None = None,
    replaces: PathLike | None = None,
    push: str | None = None,
    progress: Progress = no_progress,
) -> WrittenBundle:
    """Write a release that every requirement allows, or nothing.

    The bundle appears whole or not at all, and nothing is ever overwritten.

    Args:
        what: a policy's file, a policy that was loaded, a plan that `plan` returned, or the file of a plan. Of a loaded
            policy and of a plan the policy's file is read again, and must still say the same.
        out: the bundle's folder; it must not exist.
        source: the table, as for `plan`; default: the plan's, else the policy's own. Of a plan's file a table in memory
            must be handed over again.
        label: of the release, such as `2026-11`.
        key: keep the key here (created 0600), or, for a policy or a plan's file, use the one that is here; default: it
            is destroyed. Anyone who has it can test any guess about the table. A series needs one, for each release the
            same. `env:NAME` and `command:…`: as for `plan`.
        key_passphrase: that a new key's file is written under.
        root: as for `load_policy`.
        today: as for `check`.
        waivers: as for `check`.
        sink: what expands the drawn counts and writes the data files, such as `spark`; default: this process. The files
            are the same.
        replaces: a release that this one corrects: its bundle, or public/ alone. release.json and the ledger name it.
        push: a branch of a git server that has the ledger, such as `origin/main`: the release is entered there first,
            and is not made if that fails. A policy without a ledger pushes nothing.
        progress: as for `plan`.

    Returns:
        Where the bundle is, its digests and findings.

    Raises:
        RequirementError: RR101 to RR104, RR108, RR109 if the gate does not pass; nothing is written.
        PolicyError: RR2xx as for `plan`.
        DataError: RR3xx as for `plan`.
        RefusedError: RR401 if policy, plugins or table are not those of the plan any more; RR402 if the folder exists;
            RR403 for the key; RR407, RR408 if it cannot be written; RR410, RR421 as for `plan`; RR415 if a review is
            due, RR416 if a waiver expired; RR417 if the policy is not approved; RR440 to RR449 for the ledger; RR593 if
            the sink cannot write.
    """
    from rrpolicy.bundle.release_request import ReleaseOptions, run_release
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.governance.ledger.verify import sealed_manifest
    from rrpolicy.signing.approval_check import require_approval
    from rrpolicy.source.memory.input_table import input_table

    table = input_table(source)
    options = ReleaseOptions(
        label=label,
        root=to_path(root),
        terms=review_options(today, waivers=waivers),
        progress=progress,
        accounts=FileAccounts(push),
        approve=require_approval,
        key=to_key_location(key),
        protect=None if key_passphrase is None else key_passphrase.encode(),
        sink=sink,
        replaces=None if replaces is None else sealed_manifest(Path(replaces)).digest,
    )
    return run_release(what, Path(out), table, options)


@public_function
def verify(
    bundle: PathLike,
    *,
    source: Table | None = None,
    key: PathLike | None = None,
    level: VerificationLevel | Literal["public", "audit", "source", "key"] | None = None,
    plan_on: Table | None = None,
    reference: Table | None = None,
    ledger: PathLike | None = None,
    superseded: bool = False,
    plugins: Sequence[str] = (),
    signed_by: Sequence[PathLike] = (),
    verified_by: Sequence[PathLike] = (),
    signers: PathLike | None = None,
    as_of: date | None = None,
    unsigned: bool = False,
    today: date | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Recompute what a release promises, as far as the inputs allow. Nothing is believed and nothing is written.

    Args:
        bundle: the bundle's folder, or its public/ folder alone; or an archive, of which what the rows would show stays
            undecided.
        source: the original table, as for `plan`. It need not be given as it was for the release: what counts is what
            its columns hold.
        key: the release's key file, or the secret that it is derived from, as for `plan`.
        level: up to which; default: the highest that the inputs allow.
        plan_on: the table that the parameters were chosen on, if not the source.
        reference: the population that people were counted in, where the policy names one.
        ledger: the ledger that the release must stand in, as it says itself, and that knows no release under a newer
            version of its policy.
        superseded: such a newer one is no problem.
        plugins: distributions that may be imported if the bundle names them, such as `acme-oue>=1.2`.
        signed_by: public keys, each of which must have signed the release.
        verified_by: public keys of auditors, each of which must have signed a verification of it; `FILE=LEVEL` asks for
            one to that level at least.
        signers: the file of allowed signers, by which the roles that the release requires are filled.
        as_of: the day as of which their keys are trusted; default: `today`.
        unsigned: do not ask for the signatures that the release requires: it was just made. They stay undecided.
        today: the day on which review dates are looked at, which fail nothing here; default: today.
        progress: as for `plan`.

    Returns:
        Every check with its outcome. It passes if everything that the level recomputes holds; what stays `undecided` is
        no problem, so a strict caller asks for that to be empty.

    Raises:
        PolicyError: RR250 if the level needs what is not given, or is none; RR260 if there is no such release; RR2xx
            for the file of allowed signers.
        DataError: RR3xx if the table cannot be read.
        RefusedError: RR403 for a key of another plan; RR404, RR412 for plugins; RR408, RR421 for scratch; RR430 for a
            public key that is none; RR440, RR443 for a ledger that cannot be relied on, or is not there.
    """
    from rrpolicy.compliance.archive import is_archive, open_archive
    from rrpolicy.governance.ledger.verify import verify_in_ledger
    from rrpolicy.signing.signature_checks import verify_signatures
    from rrpolicy.signing.signing_keys import read_auditor_keys, read_trusted_keys
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.source.memory.kinds import REFERENCE_SCHEME, TUNING_SCHEME
    from rrpolicy.verification.outcome import VerificationLevel
    from rrpolicy.verification.verify import verify as verified

    original, elsewhere, people = (
        input_table(source),
        input_table(plan_on, TUNING_SCHEME),
        input_table(reference, REFERENCE_SCHEME),
    )
    keys, auditors = read_trusted_keys(signed_by), read_auditor_keys(verified_by)
    allowed = _allowed_signers(signers, as_of, today)
    with ExitStack() as stack:
        at, kept, rows = Path(bundle), to_path(ledger), not is_archive(Path(bundle))
        if not rows:
            archived = stack.enter_context(open_archive(at))
            at, kept = archived.bundle, kept or archived.ledger
        found = verified(
            at,
            VerificationLevel.of(require_known("level", level, [known.word for known in VerificationLevel]))
            if isinstance(level, str)
            else level,
            source=original.uri,
            key=to_key_location(key),
            plan_on=elsewhere.uri,
            reference=people.uri,
            plugins=plugins,
            engines={**original.engines, **elsewhere.engines, **people.engines},
            today=today,
            rows=rows,
            progress=progress,
        )
        found = verify_signatures(at, found, keys, auditors, allowed, unsigned=unsigned)
        if kept is None:
            return found
        return verify_in_ledger(kept, at, found, superseded=superseded, plugins=plugins, name=str(bundle))


@public_function
def archive(
    bundle: PathLike, out: PathLike, *, ledger: PathLike | None = None, signers: PathLike | None = None
) -> Mapping[str, Json]:
    """Keep what verifies a release in five years in one file, without its rows.

    It holds the policy with its baselines, the plan, the findings, the signatures, the ledger, the digests of the data
    files, and the version of everything that is installed. audit/ is in it: it is as confidential as that.

    Args:
        bundle: the bundle's folder, with public/ and audit/.
        out: the zip file, which is not there yet; `verify` reads it.
        ledger: that the release stands in.
        signers: the file of allowed signers.

    Returns:
        What archive.json in it says.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify; nothing is written.
        PolicyError: RR260 if it is no bundle with audit/.
        RefusedError: RR411 if the file is there, RR407 or RR408 if it cannot be written; RR440, RR443 for the ledger.
    """
    from rrpolicy.compliance.archive import archive as archived

    return archived(Path(bundle), Path(out), to_path(ledger), to_path(signers))


def _allowed_signers(signers: PathLike | None, as_of: date | None, today: date | None) -> AllowedSigners | None:
    """Return the allowed signers as of a day; None if no file of them is given."""
    if signers is None:
        return None
    from rrpolicy.signing.allowed_signers import read_signers

    return read_signers(Path(signers), as_of or review_options(today, waivers=True).today)


@public_function
def attack(
    *bundles: PathLike,
    source: Table | Sequence[Table],
    plugins: Sequence[str] = (),
    write: bool = False,
    progress: Progress = no_progress,
) -> AttackReport:
    """Attack written releases, and hold what an attacker attains against what is predicted.

    Args:
        bundles: a release, or several, each with public/ and audit/.
        source: the original table, as for `verify`; or a list with that of each release, in their order. Of several
            releases with one table, those that do not fit it stay undecided (RR551).
        plugins: distributions that may be imported if a bundle names them, such as `acme-oue>=1.2`.
        write: put what is found of the first bundle, and of it together with the others, into its audit/, as
            audit/attack.json, and into its audit report, whatever the outcome; otherwise nothing is written.
        progress: as for `plan`.

    Returns:
        Every attack with its success, the exact prediction, and an upper bound of the chance of such a deviation.
        `require()` passes if something was decided and all that was is as predicted (RR550, RR551). Counts and shares
        of the original: it belongs where audit/ lies.

    Raises:
        PolicyError: RR250 if no bundle is named, or another number of tables; RR260 if one lacks public/ or audit/.
        RequirementError: RR110 to RR137 if the files of a bundle are not what it says; RR551 if no attack could be run
            and it is to be written.
        DataError: RR327 if the table does not pass the release's policy, RR3xx if it cannot be read.
        RefusedError: RR553 if the first bundle is to be written into and is signed; RR407 if it cannot be; RR404,
            RR412 for plugins; RR408, RR421 for scratch.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.verification.attack import attack as attacked

    if not bundles:
        raise PolicyError(Problem("RR250", "no release is named", hint="name a bundle, or several of one table"))
    each: Sequence[Any] = source if isinstance(source, (list, tuple)) else [source]
    tables = [input_table(table) for table in each]
    return attacked([Path(bundle) for bundle in bundles], tables, plugins=plugins, write=write, progress=progress)


@public_function
def sign(
    bundle: PathLike,
    key: PathLike,
    *,
    passphrase: str | None = None,
    plugins: Sequence[str] = (),
    recall: str | None = None,
) -> Signature:
    """Sign a release, or approve a policy; a signature is added to those that are there.

    A release that does not verify is not signed. An approval is of what the policy means, and of what was declared and
    decided, as it stands: `release` refuses it once any of that has changed.

    Args:
        bundle: the bundle's folder, with public/ and audit/; or the file of a policy.
        key: the private key, as `rrpolicy keys new` writes it.
        passphrase: of the key; default: RRPOLICY_PASSPHRASE, else it is asked for.
        plugins: as for `verify`.
        recall: why the release is not to be used any more: a notice is signed in place of it, which `verify` and
            estimates heed.

    Returns:
        The envelope's file and the id of the key.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR260 if there is no such release; RR250 for an empty reason; RR2xx for a policy.
        RefusedError: RR430 for the key, RR431 if it has signed the release already; RR407, RR408.
    """
    from rrpolicy.signing.signing import sign as signed
    from rrpolicy.signing.signing_keys import read_signer

    secret = None if passphrase is None else passphrase.encode()
    if Path(bundle).is_file():
        from rrpolicy.planning.policy_opening import open_policy
        from rrpolicy.signing.signing import sign_policy

        return sign_policy(open_policy(Path(bundle)).policy, Path(bundle), read_signer(Path(key), secret))
    if recall is not None:
        from rrpolicy.signing.signing import sign_recall

        return sign_recall(Path(bundle), recall, read_signer(Path(key), secret), datetime.now(UTC))
    return signed(Path(bundle), read_signer(Path(key), secret), plugins=tuple(plugins))


@public_function
def evidence(
    bundle: PathLike,
    regime: str,
    *,
    page: Literal["public", "audit"] | None = None,
    plugins: Sequence[str] = (),
    signed_by: Sequence[PathLike] = (),
    signers: PathLike | None = None,
    as_of: date | None = None,
) -> RenderedEvidence:
    """Return what a release shows of what a law, standard or guidance asks; the release is verified first.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
        regime: such as `iso27559`; `rrpolicy report evidence --help` lists them.
        page: which numbers may be shown; default: audit where audit/ is at hand.
        plugins: as for `verify`.
        signed_by: as for `verify`; a release that requires signatures shows nothing without them.
        signers: as for `verify`, likewise.
        as_of: as for `verify`.

    Returns:
        The evidence, clause by clause, and its bytes as `markdown`, `html`, `json` or `oscal`.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR250 if there is no such regime, or no audit/ for its page; RR260 if there is no release.
    """
    from rrpolicy.compliance.evidence_builder import build_evidence as gathered
    from rrpolicy.compliance.evidence_file import RenderedEvidence
    from rrpolicy.signing.signing_keys import read_trusted_keys

    allowed = _allowed_signers(signers, as_of, None)
    return RenderedEvidence(
        gathered(Path(bundle), regime, page, plugins, read_trusted_keys(signed_by), allowed=allowed)
    )


@public_function
def render(
    bundle: PathLike,
    *,
    page: Literal["public", "audit"] | None = None,
    format: str = "html",  # noqa: A002 as the command line has it
    out: PathLike | None = None,
    plugins: Sequence[str] = (),
    verify: bool = True,
) -> RenderedReport:
    """Print the report of a release again, or that of a plan's file; a bundle is never written into.

    Args:
        bundle: the bundle's folder, or its public/ folder alone; or the file of a plan.
        page: default: of a plan's file its page, audit where audit/report.json is at hand, else public.
        format: html, json, or what a plugin offers.
        out: write it here as well; nothing is overwritten.
        plugins: distributions to load as well.
        verify: check the digests of the release and of the files that are read.

    Returns:
        The report's bytes, and which page it is.

    Raises:
        PolicyError: RR250 if there is no such page.
        PolicyError: RR257 if there is no such renderer; RR258 if `out` lies in the bundle; RR259 to RR261, RR284 if
            there is no readable release, or a file is not the one that was released.
        RefusedError: RR402 if there is a file already; RR407, RR408 if it cannot be written; RR404 for plugins.
    """
    from rrpolicy.reports.rerender import render_report, rerender_report
    from rrpolicy.verification.verify import ATTESTATIONS_FOLDER

    if page is not None:
        require_known("page", page, ["public", "audit"])
    if Path(bundle).is_file():
        from rrpolicy.bundle.preview_page import plan_report
        from rrpolicy.errors import PolicyError, Problem
        from rrpolicy.planning.file import read_plan

        if page is not None:
            raise PolicyError(Problem("RR250", f"{bundle} is a file: of a plan there is no {page} page"))
        read = read_plan(Path(bundle))
        report = plan_report(read.outlook(review_options(None, waivers=True)), read.opened.registry)
        return render_report(report, read.opened.registry, format, to_path(out))
    from rrpolicy.signing.signature_checks import attestation_facts

    stated = attestation_facts(Path(bundle)) if (Path(bundle) / ATTESTATIONS_FOLDER).is_dir() else ()
    return rerender_report(Path(bundle), page, format, to_path(out), plugins, stated, verify=verify)
