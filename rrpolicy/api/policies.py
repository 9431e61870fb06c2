"""Policies: drafted, checked, planned, compared and tested."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rrpolicy.api.arguments import (
    PathLike,
    Progress,
    no_progress,
    public_function,
    review_options,
    to_key_location,
    to_path,
)

if TYPE_CHECKING:
    from rrpolicy.drafting.draft import Draft
    from rrpolicy.governance.cases.run import PolicyTestReport
    from rrpolicy.governance.compare.candidates import Vary
    from rrpolicy.governance.compare.comparison import CandidateComparison
    from rrpolicy.governance.diff.changes import Difference
    from rrpolicy.governance.packs.pack import BaselinePack
    from rrpolicy.planning.check import PolicyCheck
    from rrpolicy.planning.plan_request import PlannedRelease
    from rrpolicy.planning.policy_opening import PolicyLike
    from rrpolicy.policy.model import Policy
    from rrpolicy.reports.rerender import RenderedReport
    from rrpolicy.source.memory.kinds import Table


@public_function
def init(
    source: Table,
    *,
    table: str | None = None,
    mechanism: str | None = None,
    models: Sequence[str] = (),
    plugins: Sequence[str] = (),
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Draft:
    """Draft a policy from a table, with guessed roles to be edited.

    Args:
        source: the table, as for `plan`.
        table: the table or view inside a database.
        mechanism: that the draft protects with, such as `generalisation`; default: one that meets the models, `pram`
            if there are none.
        models: privacy models that the draft requires, such as `k-anonymity`; default: the mechanism's usual one.
        plugins: distributions to load, for a table that one of them opens, such as `acme-sqlite>=0.3`; the draft lists
            them.
        progress: is called with what is being done, and the share of the work that was.

    Returns:
        The draft's `text`, and `warnings`: what to look at first. `check` refuses it until each line that says "fill
        in" is filled in. Its domains and bins are taken from the data: showing them to anybody discloses them.

    Raises:
        PolicyError: RR149 if there is no draft with the mechanism or a model, or they do not fit.
        DataError: RR3xx if the table cannot be read; RR317 if it is empty.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.drafting.draft import draft
    from rrpolicy.drafting.protection import protection
    from rrpolicy.source.memory.input_table import input_table

    given = input_table(source)
    registry = load_registry(plugins).opening(given.engines)
    name = None if mechanism is None else registry.mechanisms.aliases.get(mechanism, mechanism)
    protected = protection(name, models) if name is not None or models else None
    with registry.naming_engines():
        return draft(given.uri or "", table, registry.sources, plugins, protected, progress)


@public_function
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
    from rrpolicy.planning.policy_opening import open_policy

    return open_policy(Path(policy), root=to_path(root)).policy


@public_function
def check(
    policy: PolicyLike,
    *,
    extends: PathLike | None = None,
    source: Table | Literal[True] | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
) -> PolicyCheck:
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
    from rrpolicy.planning.check import check as checked
    from rrpolicy.planning.check import require_baseline
    from rrpolicy.planning.policy_opening import reopen_policy

    if source is None:
        found = reopen_policy(policy, root=to_path(root))
    else:
        from rrpolicy.source.memory.input_table import input_table

        found = reopen_policy(policy, input_table(None if source is True else source), to_path(root))
    if extends is not None:
        require_baseline(found.policy, os.fspath(extends))
    decided = checked(found, review_options(today, waivers=waivers))
    if source is None:
        return decided
    from dataclasses import replace

    from rrpolicy.planning.policy_opening import validate_source

    records, seen = validate_source(found, decided.outline)
    return replace(decided, records=records, seen=seen)


@public_function
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
    progress: Progress = no_progress,
) -> PlannedRelease:
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
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.planning.plan_request import run_plan
    from rrpolicy.source.memory.input_table import input_table

    terms = review_options(today, waivers=waivers)
    return run_plan(
        policy,
        input_table(source),
        to_path(out),
        to_key_location(key),
        expected_rows,
        to_path(root),
        progress,
        bound=bound,
        terms=terms,
        accounts=FileAccounts(),
        protect=None if key_passphrase is None else key_passphrase.encode(),
    )


@public_function
def preview(
    policy: PolicyLike | PlannedRelease,
    out: PathLike | None = None,
    *,
    source: Table | None = None,
    format: str = "html",  # noqa: A002 as the command line has it
    trade_off: bool = True,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = no_progress,
) -> RenderedReport:
    """Print the report before the decision: what a policy would release, or why it cannot, and what else it could.

    Nothing is released. The page is confidential: it is computed from the table.

    Args:
        policy: a policy's file, one that was loaded, or a plan that `plan` returned.
        out: write it here as well; nothing is overwritten.
        source: the table, as for `plan`.
        format: html, json, or what a plugin offers.
        trade_off: plan with other limits of a requirement as well, for the map of risk and error: of the first that
            changes anything, from the one nearest its limit.
        root: as for `load_policy`.
        today: as for `check`.
        waivers: as for `check`.
        progress: as for `plan`.

    Returns:
        The report's bytes.

    Raises:
        PolicyError: RR2xx as for `plan`; RR257 if there is no such renderer.
        DataError: RR3xx as for `plan`.
        RefusedError: as for `plan`; RR402 if there is a file already; RR407, RR408 if it cannot be written.
    """
    from rrpolicy.bundle.preview_page import plan_report, refused_policy_report
    from rrpolicy.errors import RequirementError, RRPolicyError
    from rrpolicy.governance.compare.attach import vary_limits
    from rrpolicy.planning.plan_request import PlannedRelease
    from rrpolicy.planning.policy_opening import reopen_policy
    from rrpolicy.reports.rerender import render_report
    from rrpolicy.source.memory.input_table import input_table

    found, problems = None, None
    if isinstance(policy, PlannedRelease):
        found, made = policy, policy.opened
    else:
        made = reopen_policy(policy, input_table(source), to_path(root))
        try:
            found = plan(policy, source, root=root, bound=False, today=today, waivers=waivers, progress=progress)
        except RequirementError as error:
            problems = error.problems
    others, files = None, made.policy.files
    if trade_off and files:

        def compared(vary: Vary, risk: str | None) -> CandidateComparison:
            return compare(
                files[0],
                vary=vary,
                risk=risk,
                source=source,
                root=root,
                today=today,
                waivers=waivers,
                progress=progress,
            )

        findings = () if found is None else found.outlook.assessment.findings
        with suppress(RRPolicyError):  # a page without the map is still the page
            others = vary_limits(made.policy, findings, compared)
    report = (
        refused_policy_report(made.policy, problems or (), others)
        if found is None
        else plan_report(found.outlook, made.registry, others)
    )
    return render_report(report, made.registry, format, to_path(out))


@public_function
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
    progress: Progress = no_progress,
) -> CandidateComparison:
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
            is made where there is none, and as confidential as the comparison. Policies with a ledger or `plan_on` are
            planned again each time.
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
    from rrpolicy.governance.compare.checkpoint import ComparisonCheckpoint
    from rrpolicy.governance.compare.compare import ComparisonRequest
    from rrpolicy.governance.compare.compare import compare as compared
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.source.memory.input_table import input_table

    if not policies:
        raise PolicyError(Problem("RR250", "no policy to compare", expected="one policy file or more"))
    if expected_rows is not None and source is not None:
        raise PolicyError(Problem("RR250", "expected_rows plans without data: it goes without a source"))
    files = [Path(policy) for policy in policies]
    kept = None if resume is None else ComparisonCheckpoint.open(Path(resume))
    terms = review_options(today, waivers=waivers)
    call = ComparisonRequest(risk, error, input_table(source), expected_rows, draws, kept, terms, FileAccounts(), write)
    return compared(files, mechanisms, vary or {}, to_path(root), plugins, call, progress)


@public_function
def diff(
    old: PolicyLike,
    new: PolicyLike | None = None,
    *,
    since: str | None = None,
    data: bool = False,
    source: Table | None = None,
    expected_rows: int | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    progress: Progress = no_progress,
) -> Difference:
    """Compare two policies, or the policies of two folders by their names; nothing is released or written.

    Args:
        old: a policy's file, a folder of policies, `REVISION:PATH` of the git repository that the working directory
            lies in, a release, or a policy that was loaded.
        new: the same, after the change.
        since: a git revision; `old`, a file or a folder, is then the policy after the change, and is compared with the
            same path in the revision, or with a policy that was renamed since.
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
    from rrpolicy.governance.diff.compare import compare, compare_since
    from rrpolicy.source.memory.input_table import input_table

    if data + (source is not None) + (expected_rows is not None) > 1:
        raise PolicyError(Problem("RR250", "one of --data, --source and --expected-rows says what is planned on"))
    on = expected_rows if not (data or source is not None) else input_table(source)
    terms = review_options(today, waivers=True)
    if (new is None) is (since is None):
        raise PolicyError(Problem("RR250", "two policies are compared, or one with `since`, a git revision"))
    if since is not None:
        return compare_since(since, old, on, to_path(root), progress, terms)
    assert new is not None
    return compare(old, new, on, to_path(root), progress, terms)


@public_function
def packs(*names: str) -> tuple[BaselinePack, ...]:
    """Return baselines that come with rrpolicy.

    Args:
        names: of the packs; default: all there are.

    Returns:
        What each is a floor for, its sources, its text and its digest.

    Raises:
        PolicyError: RR250 if there is no such pack.
    """
    from rrpolicy.governance.packs import pack

    return tuple(map(pack.pack, names)) if names else pack.packs()


@public_function
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
    from rrpolicy.governance.packs.pack import write_pack as write

    return write(name, Path(folder))


@public_function
def run_tests(*policies: PathLike, root: PathLike | None = None, progress: Progress = no_progress) -> PolicyTestReport:
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
    from rrpolicy.governance.cases.run import run

    return run([Path(policy) for policy in policies], to_path(root), progress)
