"""Releases: made, collected, verified, attacked, signed and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from rrpolicy.api.arguments import public_function, require_known
from rrpolicy.verb_options import (
    ArchiveOptions,
    AttackOptions,
    CollectOptions,
    EvidenceOptions,
    OpenQuestionnaireOptions,
    PathLike,
    ReleaseOptions,
    RenderOptions,
    SignOptions,
    VerifyOptions,
    to_path,
)

if TYPE_CHECKING:
    from rrpolicy.attacks.result import AttackReport
    from rrpolicy.bundle.release_request import ReleaseInput, WrittenBundle
    from rrpolicy.canonical_json import Json, Value
    from rrpolicy.collection.questionnaire import Questionnaire
    from rrpolicy.compliance.evidence_file import RenderedEvidence
    from rrpolicy.reports.rerender import RenderedReport
    from rrpolicy.signing.allowed_signers import AllowedSigners
    from rrpolicy.signing.signing import Signature
    from rrpolicy.source.memory.kinds import Table
    from rrpolicy.verification.outcome import Verification


@public_function
def release(what: ReleaseInput, out: PathLike, **options: Unpack[ReleaseOptions]) -> WrittenBundle:
    """Write a release that every requirement allows, or nothing.

    The bundle appears whole or not at all, and no file is ever overwritten. Anyone who has the key can test any guess
    about the table. Every release of a series needs the same key. With `push`, the release is entered in the ledger
    of the branch first, and is not made if that fails; a policy without a ledger pushes nothing.

    Args:
        what: a policy's file, a policy that was loaded, a plan that `plan` returned, or the file of a plan. The file of
            a loaded policy or of a plan's policy is read again, and must be unchanged. A plan's file needs a table in
            memory again as `source`.
        out: the bundle's folder; it must not exist.

    Returns:
        The bundle's folder, its digests and findings.

    Raises:
        RequirementError: RR101 to RR104, RR108, RR109 if a requirement is not met; nothing is written.
        PolicyError: RR2xx as for `plan`.
        DataError: RR3xx as for `plan`.
        RefusedError: RR401 if policy, plugins or table are not those of the plan any more; RR402 if the folder exists;
            RR403 for the key; RR407, RR408 if it cannot be written; RR410, RR421 as for `plan`; RR415 if a review is
            due, RR416 if a waiver expired; RR417 if the policy is not approved; RR440 to RR449 for the ledger; RR593 if
            the sink cannot write.

    Examples:
        >>> released = rrpolicy.release("policy.toml", "new", label="2026-11")
        >>> released.public.name, released.key
        ('public', None)
    """
    from rrpolicy.bundle.release_request import run_release
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.governance.ledger.verify import sealed_manifest
    from rrpolicy.signing.signature_checks import require_approval

    replaces = options["replaces"]
    if replaces is not None:
        options["replaces"] = sealed_manifest(Path(replaces)).digest
    return run_release(what, Path(out), FileAccounts(options["push"]), require_approval, options)


@public_function
def open_questionnaire(path: PathLike, **options: Unpack[OpenQuestionnaireOptions]) -> Questionnaire:
    """Open a questionnaire, to randomise records where they are.

    Args:
        path: the file that `plan` with `expected_rows` and `out` wrote next to the plan. It loads no plugin by itself.

    Returns:
        The questions, the randomisation of responses, and the guarantees.

    Raises:
        PolicyError: RR521 if the file is not a questionnaire, or was changed.
        RefusedError: RR404 to RR406, RR412 for a plugin.

    Examples:
        >>> rrpolicy.open_questionnaire("asked.questionnaire.json").policy.name
        'asked'
    """
    from rrpolicy.collection.questionnaire import read_questionnaire

    return read_questionnaire(Path(path), options["plugins"])


@overload
def randomize(questionnaire: Questionnaire | PathLike, records: Mapping[str, object]) -> dict[str, Value]: ...
@overload
def randomize(
    questionnaire: Questionnaire | PathLike, records: Sequence[Mapping[str, object]]
) -> list[dict[str, Value]]: ...
@public_function
def randomize(
    questionnaire: Questionnaire | PathLike, records: Mapping[str, object] | Sequence[Mapping[str, object]]
) -> dict[str, Value] | list[dict[str, Value]]:
    """Randomise records where they are; send only the result. Nothing is written or stored.

    A second call for a person is a second response: epsilon adds up. Store the result, and send it again.

    Args:
        questionnaire: its file, or an open one.
        records: one, or several: attribute -> response, None for no response.

    Returns:
        Released column -> category; of several records a list, in their order.

    Raises:
        PolicyError: RR521 as for `open_questionnaire`.
        DataError: RR522, everything that is wrong with any record, at once; nothing is drawn.

    Examples:
        >>> list(rrpolicy.randomize("asked.questionnaire.json", {"smokes": "yes"}))
        ['smokes']
    """
    from rrpolicy.collection.answers import randomize as randomized
    from rrpolicy.collection.questionnaire import Questionnaire

    asked = questionnaire if isinstance(questionnaire, Questionnaire) else open_questionnaire(questionnaire)
    if isinstance(records, Mapping):
        return randomized(asked, [records])[0]
    return randomized(asked, records)


@public_function
def collect(plan: PathLike, table: Table, out: PathLike, **options: Unpack[CollectOptions]) -> WrittenBundle:
    """Make the release of records that were randomised before they were sent. Nothing is drawn.

    Requirements are assessed for the number of records that came in.

    Args:
        plan: the file that `plan` with `expected_rows` and `out` wrote.
        table: the collected records, as for the source of `plan`: the columns that `randomize` returns.
        out: the bundle's folder; it must not exist.

    Returns:
        The bundle's folder, its digests and findings.

    Raises:
        RequirementError: RR101, RR104 if a requirement is not met for so many records; nothing is written.
        DataError: RR3xx if the table cannot be read, or has other columns or values; RR524 if the questionnaire's
            randomisation cannot have made it.
        RefusedError: RR401 if policy or plugins are not those of the plan any more; RR523 if the plan was made on a
            table; RR402, RR407, RR408, RR410, RR415, RR416, RR417, RR421, RR441, RR442 as for `release`.

    Examples:
        >>> answers = rrpolicy.randomize("asked.questionnaire.json", [{"smokes": "yes"}] * 300)
        >>> rrpolicy.collect("asked.json", pd.DataFrame(answers), "collected").policy.name
        'asked'
    """
    from rrpolicy.bundle.collected_release import write_collected_release
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.signing.signature_checks import require_approval
    from rrpolicy.source.memory.input_table import input_table

    handed = input_table(table)
    account, approve = FileAccounts(), require_approval
    return write_collected_release(Path(plan), Path(out), handed, options, accounts=account, approve=approve)


@public_function
def verify(bundle: PathLike, **options: Unpack[VerifyOptions]) -> Verification:
    """Recompute the statements of a release, as far as the inputs allow. Nothing is trusted and nothing is written.

    `source` may have another form than for the release: only the contents of its columns count. A release that names a
    population needs it as `reference`; `FILE=LEVEL` in `verified_by` requires a verification to that level at least.

    Args:
        bundle: the bundle's folder, or its public/ folder alone; or an archive, which leaves the checks of rows
            undecided.

    Returns:
        Every check with its outcome. It passes if no check that the level recomputes fails; a check that is
        `undecided` is not a problem, so a strict caller requires that no check is undecided.

    Raises:
        PolicyError: RR250 if an input of the level is missing or invalid; RR260 if the release does not exist; RR2xx
            for the file of allowed signers.
        DataError: RR3xx if the table cannot be read.
        RefusedError: RR403 for a key of another plan; RR404, RR412 for plugins; RR408, RR421 for scratch; RR430 for a
            file that is not a public key; RR440, RR443 for a ledger that cannot be relied on, or does not exist.

    Examples:
        >>> found = rrpolicy.verify("release", source="survey.parquet")
        >>> found.passed, found.level.word
        (True, 'source')
    """
    from rrpolicy.compliance.archive import is_archive, open_archive
    from rrpolicy.governance.ledger.verify import verify_in_ledger
    from rrpolicy.signing.signature_checks import verify_signatures
    from rrpolicy.signing.signing_keys import read_auditor_keys, read_trusted_keys
    from rrpolicy.verification.verify import verify as verified

    keys, auditors = read_trusted_keys(options["signed_by"]), read_auditor_keys(options["verified_by"])
    allowed = _allowed_signers(options["signers"], options["as_of"], options["today"])
    with ExitStack() as stack:
        at, kept, rows = Path(bundle), to_path(options["ledger"]), not is_archive(Path(bundle))
        if not rows:
            archived = stack.enter_context(open_archive(at))
            at, kept = archived.bundle, kept or archived.ledger
        found = verified(at, rows=rows, **options)
        found = verify_signatures(at, found, keys, auditors, allowed, unsigned=options["unsigned"])
        if kept is None:
            return found
        superseded, plugins = options["superseded"], options["plugins"]
        return verify_in_ledger(kept, at, found, superseded=superseded, plugins=plugins, name=str(bundle))


@public_function
def archive(bundle: PathLike, out: PathLike, **options: Unpack[ArchiveOptions]) -> Mapping[str, Json]:
    """Store all that verifies a release in five years in one file, without its rows.

    It contains the policy with its baselines, the plan, the findings, the signatures, the ledger, the digests of the
    data files, and the version of every installed package. It is as confidential as audit/, which is in it.

    Args:
        bundle: the bundle's folder, with public/ and audit/.
        out: the zip file, which is not there yet; `verify` reads it.

    Returns:
        The content of archive.json in it.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify; nothing is written.
        PolicyError: RR260 if it is not a bundle with audit/.
        RefusedError: RR411 if the file is there, RR407 or RR408 if it cannot be written; RR440, RR443 for the ledger.

    Examples:
        >>> "environment" in rrpolicy.archive("release", "release.zip")
        True
    """
    from rrpolicy.compliance.archive import archive as archived

    return archived(Path(bundle), Path(out), to_path(options["ledger"]), to_path(options["signers"]))


def _allowed_signers(signers: PathLike | None, as_of: date | None, today: date | None) -> AllowedSigners | None:
    """Return the allowed signers as of a day; None if no file of them is given."""
    if signers is None:
        return None
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.signing.allowed_signers import read_signers

    return read_signers(Path(signers), as_of or Terms.of(today).today)


@public_function
def attack(*bundles: PathLike, **options: Unpack[AttackOptions]) -> AttackReport:
    """Attack written releases, and compare the attacker's success with its exact prediction.

    Args:
        bundles: a release, or several, each with public/ and audit/. Of several releases with one table, those that do
            not fit it are undecided (RR551).

    Returns:
        Every attack with its success, the exact prediction, and an upper bound of the probability of such a deviation.
        `require()` passes if something was decided, and all that was is as predicted (RR550, RR551). It contains counts
        and shares of the original, which are as confidential as audit/.

    Raises:
        PolicyError: RR250 if no bundle is named, or another number of tables; RR260 if one lacks public/ or audit/.
        RequirementError: RR110 to RR137 if the files of a bundle are not those of its documents; RR551 if no attack
            could be run and it is to be written.
        DataError: RR327 if the table does not pass the release's policy, RR3xx if it cannot be read.
        RefusedError: RR553 if the first bundle is to be written into and is signed; RR407 if it cannot be; RR404,
            RR412 for plugins; RR408, RR421 for scratch.

    Examples:
        >>> rrpolicy.attack("release", source="survey.parquet").passed
        True
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.verification.attack import attack as attacked

    if not bundles:
        raise PolicyError(Problem("RR250", "no release is named", hint="name a bundle, or several of one table"))
    source: Any = options["source"]
    tables = [input_table(table) for table in (source if isinstance(source, (list, tuple)) else [source])]
    return attacked([Path(bundle) for bundle in bundles], tables, options)


@public_function
def sign(bundle: PathLike, key: PathLike, **options: Unpack[SignOptions]) -> Signature:
    """Sign a release, or approve a policy; a signature is added to the existing ones.

    A release that does not verify is not signed. An approval covers the resolved policy with its declarations and
    decisions: `release` refuses it once any of them has changed. A recall is a signed notice not to use the release
    any longer; `verify` and estimates then refuse the release.

    Args:
        bundle: the bundle's folder, with public/ and audit/; or the file of a policy.
        key: the private key, as `rrpolicy keys new` writes it.

    Returns:
        The envelope's file and the id of the key.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR260 if there is no such release; RR250 for an empty reason; RR2xx for a policy.
        RefusedError: RR430 for the key, RR431 if it has signed the release already; RR407, RR408.

    Examples:
        >>> rrpolicy.sign("release", "steward.pem", passphrase="correct horse").file.name
        'release.dsse.json'
    """
    from rrpolicy.signing.signing import sign as signed
    from rrpolicy.signing.signing_keys import read_signer

    passphrase, recall, path = options["passphrase"], options["recall"], Path(bundle)
    secret = None if passphrase is None else passphrase.encode()
    if path.is_file():
        from rrpolicy.planning.policy_opening import open_policy
        from rrpolicy.signing.signing import sign_policy

        return sign_policy(open_policy(path).policy, path, read_signer(Path(key), secret))
    if recall is not None:
        from rrpolicy.signing.signing import sign_recall

        return sign_recall(path, recall, read_signer(Path(key), secret), datetime.now(UTC))
    return signed(path, read_signer(Path(key), secret), plugins=tuple(options["plugins"]))


@public_function
def evidence(bundle: PathLike, regime: str, **options: Unpack[EvidenceOptions]) -> RenderedEvidence:
    """Return the evidence of a release for the clauses of a law, standard or guidance; the release is verified first.

    Args:
        bundle: the bundle's folder, or its public/ folder alone. A release that requires signatures needs the keys or
            the file of allowed signers, as for `verify`.
        regime: such as `iso27559`; `rrpolicy report evidence --help` lists them.

    Returns:
        The evidence, clause by clause, and its bytes as `markdown`, `html`, `json` or `oscal`.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR250 if there is no such regime, or no audit/ for its page; RR260 if there is no release.

    Examples:
        >>> rrpolicy.evidence("release", "iso27559").evidence.regime
        'iso27559'
    """
    from rrpolicy.compliance.evidence_builder import build_evidence as gathered
    from rrpolicy.compliance.evidence_file import RenderedEvidence
    from rrpolicy.signing.signing_keys import read_trusted_keys

    allowed = _allowed_signers(options["signers"], options["as_of"], None)
    trusted = read_trusted_keys(options["signed_by"])
    found = gathered(Path(bundle), regime, options["page"], options["plugins"], trusted, allowed=allowed)
    return RenderedEvidence(found)


@public_function
def render(bundle: PathLike, **options: Unpack[RenderOptions]) -> RenderedReport:
    """Print the report of a release again, or that of a plan's file; a bundle is never written into.

    Args:
        bundle: the bundle's folder, or its public/ folder alone; or the file of a plan, which has one page.

    Returns:
        The report's bytes, and the name of its page.

    Raises:
        PolicyError: RR250 if there is no such page; RR257 if there is no such renderer; RR258 if `out` lies in the
            bundle; RR259 to RR261, RR284 if there is no readable release, or a file is not the one that was released.
        RefusedError: RR402 if there is a file already; RR407, RR408 if it cannot be written; RR404 for plugins.

    Examples:
        >>> rrpolicy.render("release", page="public").page
        'public'
    """
    from rrpolicy.reports.rerender import render_report, rerender_report
    from rrpolicy.verification.verify import ATTESTATIONS_FOLDER

    page, form, out, path = options["page"], options["format"], to_path(options["out"]), Path(bundle)
    if page is not None:
        require_known("page", page, ["public", "audit"])
    if path.is_file():
        from rrpolicy.bundle.preview_page import plan_report
        from rrpolicy.errors import PolicyError, Problem
        from rrpolicy.planning.file import read_plan
        from rrpolicy.planning.waivers import Terms

        if page is not None:
            raise PolicyError(Problem("RR250", f"{bundle} is a plan, which has no {page} page"))
        read = read_plan(path)
        return render_report(plan_report(read.outlook(Terms()), read.opened.registry), read.opened.registry, form, out)
    from rrpolicy.signing.signature_checks import attestation_facts

    stated = attestation_facts(path) if (path / ATTESTATIONS_FOLDER).is_dir() else ()
    return rerender_report(path, page, form, out, options["plugins"], stated, verify=options["verify"])
