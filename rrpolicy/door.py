"""The one public door: what the command line does, as functions. `import rrpolicy` offers them by name.

A function that asks (`check`, `diff`, `compare`, `run_tests`, `plan`, `verify`, `check_table`) returns what was found:
`passed`, `problems`, and `require()`, which raises them. A function that writes (`release`, `render`) writes all of it
or raises; `plan` with `out` writes a plan that passes, and its `file` says so. What is wrong with the call, the policy
or the data always raises `RRPolicyError`, whose `problems` have the codes, places and hints that the command line
prints, and whose `exit_status` is its exit status; what a plugin raises unexpectedly is RR413, which names it. Messages
name arguments as the command line does: `--plan-on` is `plan_on`.

Nothing is printed; what goes beside a result is logged by the logger `rrpolicy`. Nothing heavy is imported before a
function is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from rrpolicy.blame.raised import blaming

if TYPE_CHECKING:
    from rrpolicy.attacks.result import Attacked
    from rrpolicy.attest.signing import Signature
    from rrpolicy.canonical import Value
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.uncorrected.holds import Holds
    from rrpolicy.evidencing.written import Written
    from rrpolicy.govern.cases.run import Tested
    from rrpolicy.govern.compare.comparison import Comparison
    from rrpolicy.govern.diff.altered import Difference
    from rrpolicy.govern.ledger.show import Shown
    from rrpolicy.govern.ledger.verify import Verified
    from rrpolicy.govern.packs.pack import Pack
    from rrpolicy.measuring.table import TableCheck
    from rrpolicy.policy.model import Overlap, Policy
    from rrpolicy.releasing.bundle.releasing import Released, What
    from rrpolicy.releasing.field.questionnaire import Questionnaire
    from rrpolicy.releasing.plan.check import Checked
    from rrpolicy.releasing.plan.custody import KeyAt
    from rrpolicy.releasing.plan.opening import PolicyLike
    from rrpolicy.releasing.plan.planning import Planned
    from rrpolicy.releasing.plan.waivers import Terms
    from rrpolicy.releasing.report.again import Rendered
    from rrpolicy.releasing.verify.outcome import Level, Verification
    from rrpolicy.source.draft.draft import Draft
    from rrpolicy.source.memory.kinds import Table

PathLike: TypeAlias = "str | os.PathLike[str]"
Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done, and the share done."""
Threshold: TypeAlias = int | float | str | Fraction


def _silent(_what: str, _share: float) -> None:
    pass


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)


def _key(key: PathLike | None) -> KeyAt | None:
    from rrpolicy.releasing.plan.custody import secret_of

    return None if key is None else secret_of(os.fspath(key)) or Path(key)


def _terms(today: date | None, *, waivers: bool) -> Terms:
    from rrpolicy.releasing.plan.waivers import Terms

    return Terms(waivers=waivers) if today is None else Terms(today, waivers)


def _one_of(name: str, word: str, known: Sequence[str]) -> str:
    """Return a word that is known, or raise RR250."""
    if word not in known:
        from rrpolicy.errors import PolicyError, Problem

        raise PolicyError(Problem("RR250", f"there is no {name} '{word}'", expected=", ".join(known)))
    return word


@blaming
def load_policy(policy: PathLike, *, root: PathLike | None = None) -> Policy:
    """Load a policy file: inheritance and defaults filled in, every option validated.

    Args:
        policy: the TOML file.
        root: the files that the policy names lie under this folder; default: its repository's top, else its own folder.

    Returns:
        The policy: its `attributes`, `requirements`, `mechanism`, … and `digest()`. Every function here takes it, or
        its file.

    Raises:
        PolicyError: RR2xx, every problem of the file and its baselines at once.
        RefusedError: RR404 to RR406 if a plugin that it lists is missing or broken.
    """
    from rrpolicy.releasing.plan.opening import open_policy

    return open_policy(Path(policy), root=_path(root)).policy


@blaming
def check(
    policy: PolicyLike,
    *,
    extends: PathLike | None = None,
    source: Table | Literal[True] | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
) -> Checked:
    """Check a policy without data, or with a table beside it; nothing is written.

    Args:
        policy: the file, or a policy that was loaded.
        extends: a baseline that it must extend, by itself or through another.
        source: hold a table against it, too, as for `plan`: are names, types and values as the policy says? True is the
            policy's own. Nothing is planned.
        root: as for `load_policy`.
        today: the day on which review dates and waivers are judged; default: today.
        waivers: whether waivers count.

    Returns:
        What the policy alone decides: `findings`, and in `derived` what a plan may tell of the table. It passes unless
        a requirement fails whatever the data are, a review is due or a waiver expired; what is undecided waits for
        `plan`.

    Raises:
        PolicyError: RR2xx, everything that is wrong, at once; RR245 if it does not extend the baseline.
        DataError: RR3xx, everything in the table that the policy does not foresee, at once.
        RefusedError: RR404 to RR406 if a plugin is missing or broken; RR410, RR421 as for `plan`.
    """
    from rrpolicy.releasing.plan.check import check as checked
    from rrpolicy.releasing.plan.check import demand
    from rrpolicy.releasing.plan.opening import opened

    if source is None:
        found = opened(policy, root=_path(root))
    else:
        from rrpolicy.source.memory.handed import handed

        found = opened(policy, handed(None if source is True else source), _path(root))
    if extends is not None:
        demand(found.policy, os.fspath(extends))
    decided = checked(found, _terms(today, waivers=waivers))
    if source is None:
        return decided
    from dataclasses import replace

    from rrpolicy.releasing.plan.fitting import fitting

    return replace(decided, records=fitting(found))


@blaming
def plan(
    policy: PolicyLike,
    source: Table | None = None,
    *,
    out: PathLike | None = None,
    key: PathLike | None = None,
    key_passphrase: str | None = None,
    expected_rows: int | None = None,
    root: PathLike | None = None,
    bound: bool = True,
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = _silent,
) -> Planned:
    """Plan a release: what would be released, at what risk and with what error. Nothing is released.

    Args:
        policy: the file, or a policy that was loaded.
        source: the table, in place of the policy's own: a path or uri, a pandas or polars DataFrame, an Arrow table, a
            DuckDB relation. A table in memory is copied in memory, never to disk.
        out: write the plan here as well if it passes, and its key beside it: `release` in another process then executes
            exactly it. A plan that does not pass has no `file`, and nothing is written. With `expected_rows` there is
            no key: beside it stands its public part, the `questionnaire` that `randomize` takes, and `collect` executes
            it.
        key: where the key goes; default: `out` with .key added. `env:NAME` and `command:…` name a secret of 32 bytes
            that the key is derived from, and no file is written.
        key_passphrase: that the key's file is written under.
        expected_rows: plan for so many records, without data.
        root: as for `load_policy`.
        bound: bind the plan to the table by a fresh key, so that `release` takes it for no other table and not for a
            changed one. It costs a pass over the data; without it the plan can only be looked at.
        today: as for `check`.
        waivers: as for `check`.
        progress: called with what is being done, and the share done.

    Returns:
        The plan with its `findings`, `utility` and `errors`. It passes if the gate does: every requirement and every
        utility limit holds. It does not raise where one fails: `plan(…).require()` does.

    Raises:
        PolicyError: RR2xx if the policy is wrong, or asks for what cannot be; RR250 if the call makes no sense; RR520
            if a plan without data is to be written, and no record can be collected for it.
        RequirementError: RR102 if no parameters reach the requirements.
        DataError: RR3xx if the table cannot be read, or does not fit the policy; RR344, RR345 for a table in memory.
        RefusedError: RR402, RR403 if a file is there already; RR407, RR408 if it cannot be written; RR410 if the table
            changes meanwhile; RR421 if there can be no scratch folder.
    """
    from rrpolicy.govern.ledger.account import FileAccounts
    from rrpolicy.releasing.plan.planning import planned
    from rrpolicy.source.memory.handed import handed

    terms = _terms(today, waivers=waivers)
    return planned(
        policy,
        handed(source),
        _path(out),
        _key(key),
        expected_rows,
        _path(root),
        progress,
        bound=bound,
        terms=terms,
        accounts=FileAccounts(),
        protect=None if key_passphrase is None else key_passphrase.encode(),
    )


@blaming
def diff(
    old: PolicyLike,
    new: PolicyLike,
    *,
    data: bool = False,
    source: Table | None = None,
    expected_rows: int | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    progress: Progress = _silent,
) -> Difference:
    """Compare two policies, or the policies of two folders by their names; nothing is released or written.

    Args:
        old: a policy's file, a folder of policies, `REVISION:PATH` of the git repository that the working directory
            lies in, a release, or a policy that was loaded.
        new: the same, after the change.
        data: plan each policy on its own table, for the guarantees and errors before and after.
        source: plan both on this table, as for `plan`.
        expected_rows: plan both for so many records, without data.
        root: as for `load_policy`; those of a revision lie in that revision.
        today: the day on which both are judged, for waivers and reviews; default: today.
        progress: as for `plan`.

    Returns:
        Each change with its effect (weaker, incomparable, stronger or neutral) and its price, the weakest first, and
        whether only the data changed. It passes unless something is weaker, or cannot be told not to be, without a
        greater version and a new [[policy.changes]] entry (RR140).

    Raises:
        PolicyError: RR2xx if a policy is wrong; RR250 if the call makes no sense; RR282 if there is no such revision;
            RR260 if a release has no audit/ with its policy.
        DataError: RR3xx as for `plan`.
        RefusedError: as for `plan`.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.govern.diff.compare import compare
    from rrpolicy.source.memory.handed import handed

    if data + (source is not None) + (expected_rows is not None) > 1:
        raise PolicyError(Problem("RR250", "one of --data, --source and --expected-rows says what is planned on"))
    on = expected_rows if not (data or source is not None) else handed(source)
    return compare(old, new, on, _path(root), progress, _terms(today, waivers=True))


@blaming
def compare(
    *policies: PathLike,
    mechanisms: Sequence[str] = (),
    vary: Mapping[str, Sequence[object]] | None = None,
    risk: str | None = None,
    error: str | None = None,
    source: Table | None = None,
    expected_rows: int | None = None,
    draws: int = 20,
    resume: PathLike | None = None,
    write: bool = False,
    root: PathLike | None = None,
    plugins: Sequence[str] = (),
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = _silent,
) -> Comparison:
    """Compare policies, mechanisms and values of keys by risk and error on the table; nothing is released.

    Args:
        policies: files; also plans' files and releases, which are compared as they are. Of a release whose table is
            not named as `source` the numbers are those that its audit/ states.
        mechanisms: tried on each policy, its own among them only if it is named; options of the same name are kept,
            and what another mechanism derives is taken to be accepted, which its row says. Default: its own.
        vary: the values that keys of a policy's own file take in turn, such as `{"privacy.0.threshold": ["1/2",
            "1/3"]}`; all combinations are candidates.
        risk: id of the requirement that the front is drawn over; default: the first that most of those that pass have.
        error: id of the error, the same; default: total variation of all two-way marginals.
        source: the table, as for `plan`, in place of each policy's own.
        expected_rows: plan for so many records, without data: errors are told as far as there is a closed form.
        draws: simulated ones of each marginal, 20 to 10,000.
        resume: a file that finished candidates are kept in, and taken from if nothing that they follow from changed; it
            is made where there is none, and as confidential as the comparison.
        write: put the map and the alternatives into audit/ and the audit report of the release that is one of the
            candidates; public/ stays as it is.
        root: as for `load_policy`.
        plugins: as for `verify`.
        today: as for `check`.
        waivers: as for `check`.
        progress: as for `plan`.

    Returns:
        Every candidate with its numbers, or why it is refused, the Pareto front of risk and error, and which one is
        recommended. It passes if a candidate does. It is confidential: all of it was computed from the table.

    Raises:
        PolicyError: RR2xx if a file is no policy; RR250 if there is no such mechanism, key, risk or error, too many
            candidates, or candidates that read different tables, or if there is not one release to be written into;
            RR560 if `resume` is another file.
        DataError: RR3xx if the table cannot be read; one that does not fit a candidate is told in its row.
        RefusedError: as for `plan`; RR553 if the release that is to be written into is signed.
        RequirementError: RR11x if a release is not as it says.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.govern.compare.compare import Call
    from rrpolicy.govern.compare.compare import compare as compared
    from rrpolicy.govern.compare.kept import Kept
    from rrpolicy.govern.ledger.account import FileAccounts
    from rrpolicy.source.memory.handed import handed

    if not policies:
        raise PolicyError(Problem("RR250", "no policy to compare", expected="one policy file or more"))
    if expected_rows is not None and source is not None:
        raise PolicyError(Problem("RR250", "expected_rows plans without data: it goes without a source"))
    files = [Path(policy) for policy in policies]
    kept = None if resume is None else Kept.open(Path(resume))
    terms = _terms(today, waivers=waivers)
    call = Call(risk, error, handed(source), expected_rows, draws, kept, terms, FileAccounts(), write)
    return compared(files, mechanisms, vary or {}, _path(root), plugins, call, progress)


@blaming
def packs(*names: str) -> tuple[Pack, ...]:
    """Return baselines that come with rrpolicy.

    Args:
        names: of the packs; default: all there are.

    Returns:
        What each is a floor for, its sources, its text and its digest.

    Raises:
        PolicyError: RR250 if there is no such pack.
    """
    from rrpolicy.govern.packs import pack

    return tuple(map(pack.pack, names)) if names else pack.packs()


@blaming
def write_pack(name: str, folder: PathLike) -> Path:
    """Write a baseline that comes with rrpolicy into a repository, for policies to extend there.

    Args:
        name: of the pack, as `packs` has it.
        folder: made if missing; nothing is overwritten.

    Returns:
        The file.

    Raises:
        PolicyError: RR250 if there is no such pack.
        RefusedError: RR411 if there is such a file already; RR407, RR408 if it cannot be written.
    """
    from rrpolicy.govern.packs.pack import write_pack as write

    return write(name, Path(folder))


@blaming
def run_tests(*policies: PathLike, root: PathLike | None = None, progress: Progress = _silent) -> Tested:
    """Hold policies to the small tables that lie beside them; nothing is released or written.

    Args:
        policies: files, or folders of policies. The tests of `policies/x.toml` are `policies/tests/x.toml` and the
            files of `policies/tests/x/`.
        root: as for `load_policy`.
        progress: as for `plan`.

    Returns:
        Each test with what is otherwise than it expects, and the entries that no test speaks of. It passes if every
        test comes out as expected (else RR141).

    Raises:
        PolicyError: RR2xx if a policy or a file of tests is wrong; RR256 if a table cannot be made; RR283 if there are
            no tests.
        RefusedError: RR404 to RR406 for plugins.
    """
    from rrpolicy.govern.cases.run import run

    return run([Path(policy) for policy in policies], _path(root), progress)


@blaming
def release(
    what: What,
    out: PathLike,
    *,
    source: Table | None = None,
    label: str | None = None,
    key: PathLike | None = None,
    key_passphrase: str | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = _silent,
) -> Released:
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
            is destroyed. Whoever has it can test any guess about the table. `env:NAME` and `command:…`: as for `plan`.
        key_passphrase: that a new key's file is written under.
        root: as for `load_policy`.
        today: as for `check`.
        waivers: as for `check`.
        progress: as for `plan`.

    Returns:
        Where the bundle is, its digests and findings.

    Raises:
        RequirementError: RR101 to RR104, RR108 if the gate does not pass; nothing is written.
        PolicyError: RR2xx as for `plan`.
        DataError: RR3xx as for `plan`.
        RefusedError: RR401 if policy, plugins or table are not those of the plan any more; RR402 if the folder exists;
            RR403 for the key; RR407, RR408 if it cannot be written; RR410, RR421 as for `plan`; RR415 if a review is
            due, RR416 if a waiver expired.
    """
    from rrpolicy.govern.ledger.account import FileAccounts
    from rrpolicy.releasing.bundle.releasing import released
    from rrpolicy.source.memory.handed import handed

    terms = _terms(today, waivers=waivers)
    accounts, protect = FileAccounts(), None if key_passphrase is None else key_passphrase.encode()
    return released(what, Path(out), handed(source), label, _key(key), _path(root), progress, accounts, terms, protect)


@blaming
def open_questionnaire(path: PathLike, *, plugins: Sequence[str] = ()) -> Questionnaire:
    """Open a questionnaire, to randomise records where they are.

    Args:
        path: the file that `plan` with `expected_rows` and `out` wrote beside the plan.
        plugins: distributions to load for axes of plugins, such as `acme-oue>=1.2`; none is loaded on the file's word.

    Returns:
        What is asked, how answers are randomised, and what is promised.

    Raises:
        PolicyError: RR521 if it is none, or was changed.
        RefusedError: RR404 to RR406, RR412 for a plugin.
    """
    from rrpolicy.releasing.field.questionnaire import read_questionnaire

    return read_questionnaire(Path(path), plugins)


@overload
def randomize(questionnaire: Questionnaire | PathLike, records: Mapping[str, object]) -> dict[str, Value]: ...
@overload
def randomize(
    questionnaire: Questionnaire | PathLike, records: Sequence[Mapping[str, object]]
) -> list[dict[str, Value]]: ...
@blaming
def randomize(
    questionnaire: Questionnaire | PathLike, records: Mapping[str, object] | Sequence[Mapping[str, object]]
) -> dict[str, Value] | list[dict[str, Value]]:
    """Randomise records where they are: what is returned is all that is to be sent. Nothing is written or kept.

    Who asks twice for one person has answered twice: epsilon adds up. Keep what was returned, and send it again.

    Args:
        questionnaire: its file, or what `open_questionnaire` returned.
        records: one, or several: attribute -> answer, None for no answer.

    Returns:
        Released column -> category; of several records a list, in their order.

    Raises:
        PolicyError: RR521 as for `open_questionnaire`.
        DataError: RR522, everything that is wrong with any record, at once; nothing is drawn.
    """
    from rrpolicy.releasing.field.questionnaire import Questionnaire
    from rrpolicy.releasing.field.randomize import randomize as randomized

    asked = questionnaire if isinstance(questionnaire, Questionnaire) else open_questionnaire(questionnaire)
    if isinstance(records, Mapping):
        return randomized(asked, [records])[0]
    return randomized(asked, records)


@blaming
def collect(
    plan: PathLike,
    table: Table,
    out: PathLike,
    *,
    label: str | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = _silent,
) -> Released:
    """Make the release of records that were randomised before they were sent. Nothing is drawn.

    Requirements are assessed for the number of records that came in.

    Args:
        plan: the file that `plan` with `expected_rows` and `out` wrote.
        table: the collected records, as for the source of `plan`: the columns that `randomize` returns.
        out: the bundle's folder; it must not exist.
        label: of the release, such as `2026-11`.
        root: as for `load_policy`.
        today: as for `check`.
        waivers: as for `check`.
        progress: as for `plan`.

    Returns:
        Where the bundle is, its digests and findings.

    Raises:
        RequirementError: RR101, RR104 if the gate does not pass for so many records; nothing is written.
        DataError: RR3xx if the table cannot be read, or holds other columns or values; RR524 if it cannot be what the
            questionnaire's randomisation made.
        RefusedError: RR401 if policy or plugins are not those of the plan any more; RR523 if the plan was made on a
            table; RR402, RR407, RR408, RR410, RR415, RR416, RR421, RR441, RR442 as for `release`.
    """
    from rrpolicy.govern.ledger.account import FileAccounts
    from rrpolicy.releasing.bundle.collecting import collected
    from rrpolicy.source.memory.handed import handed

    terms = _terms(today, waivers=waivers)
    return collected(Path(plan), Path(out), handed(table), label, _path(root), progress, FileAccounts(), terms)


@blaming
def verify(
    bundle: PathLike,
    *,
    source: Table | None = None,
    key: PathLike | None = None,
    level: Level | Literal["public", "audit", "source", "key"] | None = None,
    plan_on: Table | None = None,
    reference: Table | None = None,
    ledger: PathLike | None = None,
    superseded: bool = False,
    plugins: Sequence[str] = (),
    signed_by: Sequence[PathLike] = (),
    verified_by: Sequence[PathLike] = (),
    today: date | None = None,
    progress: Progress = _silent,
) -> Verification:
    """Recompute what a release promises, as far as the inputs allow. Nothing is believed and nothing is written.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
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
        verified_by: public keys of auditors, each of which must have signed a verification of it.
        today: the day on which review dates are looked at, which fail nothing here; default: today.
        progress: as for `plan`.

    Returns:
        Every check with its outcome. It passes if everything that the level recomputes holds; what stays `undecided` is
        no problem, so a strict caller asks for that to be empty.

    Raises:
        PolicyError: RR250 if the level needs what is not given, or is none; RR260 if there is no such release.
        DataError: RR3xx if the table cannot be read.
        RefusedError: RR403 for a key of another plan; RR404, RR412 for plugins; RR408, RR421 for scratch; RR430 for a
            public key that is none; RR440, RR443 for a ledger that cannot be relied on, or is not there.
    """
    from rrpolicy.attest.check import signed
    from rrpolicy.attest.signing_keys import trusted
    from rrpolicy.govern.ledger.verify import verified_in
    from rrpolicy.releasing.verify.outcome import Level
    from rrpolicy.releasing.verify.verify import verify as verified
    from rrpolicy.source.memory.handed import handed
    from rrpolicy.source.memory.kinds import PLAN_ON, REFERENCE

    original, elsewhere, people = handed(source), handed(plan_on, PLAN_ON), handed(reference, REFERENCE)
    keys, auditors = trusted(signed_by), trusted(verified_by)
    found = verified(
        Path(bundle),
        Level.of(_one_of("level", level, [known.word for known in Level])) if isinstance(level, str) else level,
        source=original.uri,
        key=_key(key),
        plan_on=elsewhere.uri,
        reference=people.uri,
        plugins=plugins,
        engines={**original.engines, **elsewhere.engines, **people.engines},
        today=today,
        progress=progress,
    )
    found = signed(Path(bundle), found, keys, auditors)
    return found if ledger is None else verified_in(Path(ledger), Path(bundle), found, superseded=superseded)


@blaming
def attack(
    *bundles: PathLike,
    source: Table,
    plugins: Sequence[str] = (),
    write: bool = False,
    progress: Progress = _silent,
) -> Attacked:
    """Attack written releases, and hold what an attacker attains against what is predicted.

    Args:
        bundles: a release, or several of one table, each with public/ and audit/.
        source: the original table, as for `verify`.
        plugins: distributions that may be imported if a bundle names them, such as `acme-oue>=1.2`.
        write: put what is found of the first bundle, and of it together with the others, into its audit/, as
            audit/attack.json, and into its audit report, whatever the outcome; otherwise nothing is written.
        progress: as for `plan`.

    Returns:
        Every attack with its success, the exact prediction, and an upper bound of the chance of such a deviation.
        `require()` passes if something was decided and all that was is as predicted (RR550, RR551). Counts and shares
        of the original: it belongs where audit/ lies.

    Raises:
        PolicyError: RR250 if no bundle is named; RR260 if one lacks public/ or audit/.
        RequirementError: RR110 to RR137 if the files of a bundle are not what it says; RR551 if no attack could be run
            and it is to be written.
        DataError: RR327 if the table does not pass the release's policy, RR3xx if it cannot be read.
        RefusedError: RR553 if the first bundle is to be written into and is signed; RR407 if it cannot be; RR404,
            RR412 for plugins; RR408, RR421 for scratch.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.releasing.adversarial.bundles import attack as attacked
    from rrpolicy.source.memory.handed import handed

    if not bundles:
        raise PolicyError(Problem("RR250", "no release is named", hint="name a bundle, or several of one table"))
    original = handed(source)
    paths = [Path(bundle) for bundle in bundles]
    uri, engines = original.uri or "", original.engines
    return attacked(paths, uri, plugins=plugins, engines=engines, write=write, progress=progress)


@blaming
def sign(bundle: PathLike, key: PathLike, *, passphrase: str | None = None, plugins: Sequence[str] = ()) -> Signature:
    """Sign a release, or add a signature to those that are there; what does not verify is not signed.

    Args:
        bundle: the bundle's folder, with public/ and audit/.
        key: the private key, as `rrpolicy keys new` writes it.
        passphrase: of the key; default: RRPOLICY_PASSPHRASE, else it is asked for.
        plugins: as for `verify`.

    Returns:
        The envelope's file and the id of the key.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR260 if there is no such release.
        RefusedError: RR430 for the key, RR431 if it has signed the release already; RR407, RR408.
    """
    from rrpolicy.attest.signing import sign as signed
    from rrpolicy.attest.signing_keys import read_signer

    secret = None if passphrase is None else passphrase.encode()
    return signed(Path(bundle), read_signer(Path(key), secret), plugins=tuple(plugins))


@blaming
def evidence(
    bundle: PathLike,
    regime: str,
    *,
    page: Literal["public", "audit"] | None = None,
    plugins: Sequence[str] = (),
    signed_by: Sequence[PathLike] = (),
) -> Written:
    """Return what a release shows of what a law, standard or guidance asks; the release is verified first.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
        regime: such as `iso27559`; `rrpolicy evidence --help` lists them.
        page: which numbers may be shown; default: audit where audit/ is at hand.
        plugins: as for `verify`.
        signed_by: as for `verify`; a release that requires signatures shows nothing without them.

    Returns:
        The evidence, clause by clause, and its bytes as `markdown`, `html`, `json` or `oscal`.

    Raises:
        RequirementError: RR110 to RR137 if the release does not verify.
        PolicyError: RR250 if there is no such regime, or no audit/ for its page; RR260 if there is no release.
    """
    from rrpolicy.attest.signing_keys import trusted
    from rrpolicy.evidencing.gathering import evidence as gathered
    from rrpolicy.evidencing.written import Written

    return Written(gathered(Path(bundle), regime, page, plugins, trusted(signed_by)))


@blaming
def check_table(
    source: Table,
    *,
    qi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    policy: PolicyLike | None = None,
    table: str | None = None,
    k: int | None = None,
    l: Threshold | None = None,
    kind: str = "distinct",
    c: Threshold | None = None,
    t: Threshold | None = None,
    distance: str = "variational",
    alpha: Threshold | None = None,
    beta: Threshold | None = None,
    likeness: str = "basic",
    delta: Threshold | None = None,
    values: str = "all",
    k_map: int | None = None,
    presence_max: Threshold | None = None,
    presence_min: Threshold | None = None,
    decided_by: str | None = None,
    weights: str | None = None,
    sampling_fraction: Threshold | None = None,
    reference: Table | None = None,
    suda: int | None = None,
    suppressed: str | None = None,
    root: PathLike | None = None,
    plugins: Sequence[str] = (),
) -> TableCheck:
    """Measure what a table that somebody else anonymised reaches: k, l, t, alpha, beta and delta.

    Args:
        source: the table, as for `plan`.
        qi: the columns that make a class; default: those of the policy.
        sensitive: the columns to protect; default: those of the policy.
        policy: its roles, orders and hierarchies, and its entries of these models.
        table: the table or view inside a database.
        k: require k-anonymity.
        l: require l-diversity.
        kind: of l-diversity: distinct, frequency, entropy or recursive.
        c: of recursive (c, l)-diversity.
        t: require t-closeness.
        distance: of t-closeness: variational, ordered or hierarchical.
        alpha: with `k`, require (alpha, k)-anonymity.
        beta: require beta-likeness.
        likeness: of beta-likeness: basic or enhanced.
        delta: require delta-disclosure privacy, in bits.
        values: of delta-disclosure privacy: all, or those occurring in a class.
        k_map: require k-map: so many people of the population agree with every class.
        presence_max: require delta-presence against `reference`: at most so likely is somebody of it in the table.
        presence_min: of delta-presence: at least so likely.
        decided_by: "estimate" lets an estimate decide k-map; else what is estimated is undecided, and does not pass.
        weights: the column that says how many people of the population a record stands for.
        sampling_fraction: the share of the population that is in the table.
        reference: a table of the whole population, with the columns of `qi`.
        suda: find minimal sample uniques of so many attributes at most, and score them.
        suppressed: the text of a suppressed value, such as '*': records that have it in all of `qi` are in no class.
        root: as for `load_policy`.
        plugins: distributions to load beside those of the policy, for a table that one of them opens, such as
            `acme-sqlite>=0.3`.

    Returns:
        What each model reaches, and the `risks` of records and people, against which no limit is held. It passes unless
        a threshold fails, or is left undecided.

    Raises:
        PolicyError: RR250 if the call makes no sense; RR2xx if the policy is wrong.
        DataError: RR3xx if the table cannot be read, or lacks a column.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.
    """
    from rrpolicy.measuring.asking import check as checked
    from rrpolicy.measuring.risks import said
    from rrpolicy.source.memory.handed import handed
    from rrpolicy.source.memory.kinds import REFERENCE

    thresholds = {
        "k": k,
        "l": l,
        "kind": kind,
        "c": c,
        "t": t,
        "distance": distance,
        "alpha": alpha,
        "beta": beta,
        "likeness": likeness,
        "delta": delta,
        "values": values,
        "k_map": k_map,
        "presence_max": presence_max,
        "presence_min": presence_min,
        "decided_by": decided_by,
        "sampling_fraction": sampling_fraction,
    }
    people = None if reference is None else handed(reference, REFERENCE)
    told = said(weights, sampling_fraction, people, suda)
    return checked(handed(source), table, qi, sensitive, policy, thresholds, suppressed, told, _path(root), plugins)


@blaming
def open_release(path: PathLike, *, verify: bool = True, plugins: Sequence[str] = ()) -> Release:
    """Open a release to estimate from it: a bundle, or its public/ folder alone.

    Args:
        path: the bundle's folder or the public/ folder.
        verify: check the digests of release.json and of the data files before anything is read of them. It costs about
            one read of the files; it finds damage and edits, not a bundle that was forged as a whole.
        plugins: distributions to load for formats of data files and for estimators, such as `acme-arrow>=1.2`. What the
            release names is never loaded on its word, and for the core's own formats none is needed.

    Returns:
        The release, of which tables, means, measures of association and more can be asked.

    Raises:
        PolicyError: RR260 if there is no readable release, RR261 if its schema is of another version, RR269 if the
            data it names is missing, RR270 if it is of a form that counts cannot be estimated from, RR284 if a file
            is not the one that was released, RR285 if nothing that is loaded reads its format.
        RefusedError: RR404 to RR406 for a plugin.
    """
    from rrpolicy.estimate.opening import open_release as opened

    if not plugins:
        return opened(Path(path), verify=verify)
    from rrpolicy.discovery import load_registry

    registry = load_registry(plugins)
    return opened(Path(path), verify=verify, formats=registry.formats, estimators=registry.estimators)


@blaming
def what_holds(
    source: Table,
    columns: Sequence[str],
    *,
    randomised: Sequence[str] | None = None,
    doubly_stochastic: Sequence[str] = (),
    half: Sequence[str] = (),
    table: str | None = None,
    plugins: Sequence[str] = (),
) -> Holds:
    """Say which analyses of two randomised columns hold without the matrices that they were randomised by.

    What is known of the matrices is declared, and believed: it cannot be seen in the data. Each randomised column has
    one of its own over the categories that occur, and was randomised by itself, not together with another column. Of
    a release of rrpolicy, `open_release(…).what_holds()` knows more, of all columns.

    Args:
        source: the released table, as for `plan`. Missing values are a category of their own.
        columns: the column in the rows, and the one in the columns.
        randomised: those of them that are; default: both.
        doubly_stochastic: those whose matrix has rows that add up to 1 as its columns do, such as retention's.
        half: those whose categories are each kept with a probability of at least one half.
        table: the table or view inside a database.
        plugins: as for `init`.

    Returns:
        The statements, each with what is computed of this table. Of a table of two categories by two, each column's
        second category in sorted order is the one that is present.

    Raises:
        PolicyError: RR505 if not two columns are named; RR506 if what is declared contradicts itself; RR268 if they
            have too many categories.
        DataError: RR3xx if the table cannot be read, or lacks a column; RR507 if a column has one category.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.
    """
    from rrpolicy.measuring.uncorrected import what_holds as held
    from rrpolicy.source.memory.handed import handed

    return held(handed(source), table, columns, randomised, doubly_stochastic, half, plugins)


@blaming
def init(source: Table, *, table: str | None = None, plugins: Sequence[str] = ()) -> Draft:
    """Draft a policy from a table, with guessed roles to be edited.

    Args:
        source: the table, as for `plan`.
        table: the table or view inside a database.
        plugins: distributions to load, for a table that one of them opens, such as `acme-sqlite>=0.3`; the draft lists
            them.

    Returns:
        The draft's `text`, and `warnings`: what to look at first. `check` refuses it until each line that says "fill
        in" is filled in. Its domains and bins are taken from the data: showing them to anybody discloses them.

    Raises:
        DataError: RR3xx if the table cannot be read; RR317 if it is empty.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.source.draft.draft import draft
    from rrpolicy.source.memory.handed import handed

    given = handed(source)
    registry = load_registry(plugins).opening(given.engines)
    with registry.naming_engines():
        return draft(given.uri or "", table, registry.sources, plugins)


@blaming
def render(
    bundle: PathLike,
    *,
    page: Literal["public", "audit"] | None = None,
    format: str = "html",  # noqa: A002 as the command line has it
    out: PathLike | None = None,
    plugins: Sequence[str] = (),
    verify: bool = True,
) -> Rendered:
    """Print the report of a release again; a bundle is never written into.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
        page: default: audit where audit/report.json is at hand, else public.
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
    from rrpolicy.releasing.report.again import rendered

    if page is not None:
        _one_of("page", page, ["public", "audit"])
    return rendered(Path(bundle), page, format, _path(out), plugins, verify=verify)


@blaming
def init_ledger(ledger: PathLike) -> str:
    """Begin a ledger, in which releases of the same people are held against one budget.

    Args:
        ledger: the file, which must not exist; policies name it under [ledger].

    Returns:
        Its head: the hash of its first entry.

    Raises:
        RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.
    """
    from rrpolicy.govern.ledger.file import init_ledger as begun

    return begun(Path(ledger))


@blaming
def verify_ledger(ledger: PathLike, *, expect_head: str | None = None, bundles: Sequence[PathLike] = ()) -> Verified:
    """Check that no entry of a ledger was changed, taken out, moved or cut off. Nothing is written.

    Args:
        ledger: the file.
        expect_head: hash of an entry that was seen in it before.
        bundles: releases that must stand in it, as they say themselves.

    Returns:
        Its head, and the releases of which it does not say whether their bundle appeared.

    Raises:
        RefusedError: RR440 if it cannot be relied on, RR443 if there is none.
        RequirementError: RR130 if a bundle is not the release that the ledger holds.
        PolicyError: RR260, RR261, RR284 if a bundle is no release, or was changed.
    """
    from rrpolicy.govern.ledger.verify import verify_ledger as verified

    return verified(Path(ledger), expect_head, [Path(bundle) for bundle in bundles])


@blaming
def add_to_ledger(
    ledger: PathLike,
    bundle: PathLike | None = None,
    *,
    population: str | None = None,
    overlap: Overlap = "any",
    withdraw: str | None = None,
    join: bool = False,
    reason: str | None = None,
    plugins: Sequence[str] = (),
) -> str:
    """Add to a ledger what no release wrote itself: one of three things.

    Args:
        ledger: the file.
        bundle: enter this release, which was made without the ledger; or note that it appeared, if it stands there.
        population: that its records were drawn from; None, the default, if it may speak of anybody.
        overlap: how its people stand to those of earlier releases, as under [ledger].
        withdraw: note that the bundle of this entry never appeared: it counts no more.
        join: make two histories one, after a merge of two branches.
        reason: why; needed to withdraw and to join.
        plugins: distributions to load for what the bundle names.

    Returns:
        The hash of the release's entry, or of what was added.

    Raises:
        PolicyError: RR250 if the call makes no sense; RR260, RR261, RR284 if the bundle is no release, or was changed.
        RequirementError: RR130 if the bundle is not the release that the ledger holds.
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written; RR404 to RR406 for plugins.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.govern.ledger import add

    if (bundle is not None) + (withdraw is not None) + join != 1 or ((withdraw is not None or join) and not reason):
        message = "name one bundle; or --withdraw HASH with a --reason; or --join with a --reason"
        raise PolicyError(Problem("RR250", message, hint="`rrpolicy ledger add --help` tells what each does"))
    if bundle is not None:
        _one_of("overlap", overlap, ("any", "nested", "same", "none"))
        return add.add_bundle(Path(ledger), Path(bundle), population, overlap, plugins)
    if withdraw is not None:
        return add.withdraw(Path(ledger), withdraw, reason or "")
    return add.join(Path(ledger), reason or "")


@blaming
def show_ledger(ledger: PathLike, *, plugins: Sequence[str] = ()) -> Shown:
    """Show what a ledger holds: every release, what it promised, and what it comes to together with earlier ones.

    Args:
        ledger: the file.
        plugins: distributions to load for the channels that it names.

    Returns:
        Populations with their releases.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR404 to RR406 for plugins.
    """
    from rrpolicy.govern.ledger.show import show_ledger as shown

    return shown(Path(ledger), plugins)
