"""Policies: drafted, checked, planned, compared and tested."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from rrpolicy.api.arguments import public_function
from rrpolicy.verb_options import (
    CheckOptions,
    CompareOptions,
    DiffOptions,
    InitOptions,
    PathLike,
    PlanOptions,
    PreviewOptions,
    RunTestsOptions,
    SqlOptions,
    shared,
    to_path,
)

if TYPE_CHECKING:
    from rrpolicy.drafting.draft import Draft
    from rrpolicy.exports.sql.statements import SqlStatements
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
    from rrpolicy.source.memory.kinds import CountedTable, Table


@public_function
def init(source: Table, **options: Unpack[InitOptions]) -> Draft:
    """Draft a policy from a table, with guessed roles to be edited.

    Args:
        source: the table, as for `plan`.

    Returns:
        The draft's `text`, and `warnings`: the points to look at first. `check` refuses it until each line with
        "fill in" is filled in. Its domains and bins are taken from the data: showing them to anybody discloses them.

    Raises:
        PolicyError: RR149 if there is no draft with the mechanism or a model, or they do not fit.
        DataError: RR3xx if the table cannot be read; RR317 if it is empty.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.

    Examples:
        >>> 'model = "k-anonymity"' in rrpolicy.init("survey.parquet", models=["k-anonymity"]).text
        True
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.drafting.draft import draft
    from rrpolicy.drafting.protection import protection
    from rrpolicy.source.memory.input_table import input_table

    given, mechanism, models, plugins = input_table(source), options["mechanism"], options["models"], options["plugins"]
    registry = load_registry(plugins).opening(given.engines)
    name = None if mechanism is None else registry.mechanisms.aliases.get(mechanism, mechanism)
    protected = protection(name, models, registry.mechanisms, registry.privacy_models)
    with registry.naming_engines():
        return draft(given.uri or "", options["table"], registry.sources, plugins, protected, options["progress"])


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

    Examples:
        >>> rrpolicy.load_policy("policy.toml").mechanism.name
        'pram'
    """
    from rrpolicy.planning.policy_opening import open_policy

    return open_policy(Path(policy), root=to_path(root)).policy


@public_function
def check(policy: PolicyLike, **options: Unpack[CheckOptions]) -> PolicyCheck:
    """Check a policy without data, or with a table; nothing is written.

    Args:
        policy: the file, or a policy that was loaded. With `source`, True for the policy's own table, names, types and
            values of a table are compared with the policy.

    Returns:
        Results that need no data: `findings`, and in `derived` the statistics of the table that a plan may disclose.
        It passes unless a requirement fails for all data, a review is due or a waiver expired. `plan` decides the
        rest.

    Raises:
        PolicyError: RR2xx, everything that is wrong, at once; RR245 if it does not extend the baseline.
        DataError: RR3xx, everything in the table that the policy does not allow, at once.
        RefusedError: RR404 to RR406 if a plugin is missing or broken; RR410, RR421 as for `plan`.

    Examples:
        >>> rrpolicy.check("policy.toml", source=True).passed
        True
    """
    from rrpolicy.planning.check import check as checked
    from rrpolicy.planning.check import require_baseline
    from rrpolicy.planning.policy_opening import reopen_policy
    from rrpolicy.planning.waivers import Terms

    source, extends, root = options["source"], options["extends"], to_path(options["root"])
    if source is None:
        found = reopen_policy(policy, root=root)
    else:
        from rrpolicy.source.memory.input_table import input_table

        found = reopen_policy(policy, input_table(None if source is True else source), root)
    if extends is not None:
        require_baseline(found.policy, os.fspath(extends))
    decided = checked(found, Terms.of(options["today"], waivers=options["waivers"]))
    if source is None:
        return decided
    from rrpolicy.frozen import replace
    from rrpolicy.planning.policy_opening import validate_source

    records, seen = validate_source(found, decided.outline)
    return replace(decided, records=records, seen=seen)


@public_function
def plan(policy: PolicyLike, source: Table | None = None, **options: Unpack[PlanOptions]) -> PlannedRelease:
    """Plan a release: its channel, its risks and its errors. Nothing is released.

    Args:
        policy: the file, or a policy that was loaded.
        source: the table, in place of the policy's own: a path or uri, a pandas or polars DataFrame, an Arrow table, a
            DuckDB relation. A table in memory is copied in memory, never to disk.

    Returns:
        The plan with its `findings`, `utility` and `errors`. It passes if every requirement and every utility limit
        is met; `plan(…).require()` raises an error otherwise. `out` writes a plan that passes, and its key in another
        file; for a plan without data it writes the `questionnaire` that `randomize` takes.

    Raises:
        PolicyError: RR2xx if the policy is wrong or cannot be met; RR250 if the call makes no sense; RR520 if a plan
            without data is to be written, and no record can be collected for it.
        RequirementError: RR102 if no parameters meet the requirements.
        DataError: RR3xx if the table cannot be read, or does not fit the policy; RR344, RR345 for a table in memory.
        RefusedError: RR402, RR403 if a file is there already; RR407, RR408 if it cannot be written; RR410 if the table
            changes meanwhile; RR421 if there can be no scratch folder.

    Examples:
        >>> planned = rrpolicy.plan("policy.toml")
        >>> planned.passed, planned.findings[0].model
        (True, 'pk-anonymity')
    """
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.planning.plan_request import run_plan
    from rrpolicy.source.memory.input_table import input_table

    return run_plan(policy, input_table(source), FileAccounts(), **options)


@public_function
def preview(
    policy: PolicyLike | PlannedRelease, out: PathLike | None = None, **options: Unpack[PreviewOptions]
) -> RenderedReport:
    """Print the report before the decision: the planned release, or why it cannot be made, and alternatives.

    Nothing is released. The page is confidential: it is computed from the table.

    Args:
        policy: a policy's file, one that was loaded, or a plan that `plan` returned.
        out: write it here as well; nothing is overwritten.

    Returns:
        The report's bytes.

    Raises:
        PolicyError: RR2xx as for `plan`; RR257 if there is no such renderer.
        DataError: RR3xx as for `plan`.
        RefusedError: as for `plan`; RR402 if there is a file already; RR407, RR408 if it cannot be written.

    Examples:
        >>> rrpolicy.preview("policy.toml", trade_off=False).page
        'plan'
    """
    from rrpolicy.bundle.preview_page import plan_report, refused_policy_report
    from rrpolicy.errors import RequirementError, RRPolicyError
    from rrpolicy.governance.compare.attach import vary_limits
    from rrpolicy.planning.plan_request import PlannedRelease
    from rrpolicy.planning.policy_opening import reopen_policy
    from rrpolicy.reports.rerender import render_report
    from rrpolicy.source.memory.input_table import input_table

    found, problems, source, root = None, None, options["source"], options["root"]
    today, waivers, progress = options["today"], options["waivers"], options["progress"]
    if isinstance(policy, PlannedRelease):
        found, made = policy, policy.opened
    else:
        made = reopen_policy(policy, input_table(source), to_path(root))
        try:
            found = plan(policy, source, root=root, bound=False, today=today, waivers=waivers, progress=progress)
        except RequirementError as error:
            problems = error.problems
    others, files = None, made.policy.files
    if options["trade_off"] and files:

        def compared(vary: Vary, risk: str | None) -> CandidateComparison:
            other = {**shared(options, CompareOptions), "vary": vary, "risk": risk}
            return compare(files[0], **other)

        findings = () if found is None else found.outlook.assessment.findings
        with suppress(RRPolicyError):  # a page without the map is still the page
            others = vary_limits(made.policy, findings, compared)
    report = (
        refused_policy_report(made.policy, problems or (), others)
        if found is None
        else plan_report(found.outlook, made.registry, others)
    )
    return render_report(report, made.registry, options["format"], to_path(out))


@public_function
def compare(*policies: PathLike, **options: Unpack[CompareOptions]) -> CandidateComparison:
    """Compare policies, mechanisms and values of keys by risk and error on the table; nothing is released.

    Args:
        policies: files; also plans' files and releases, which are compared unchanged. Of a release whose table is
            not the `source` the numbers are those of its audit/.

    Returns:
        Every candidate with its numbers, or why it is refused, the Pareto front of risk and error, and a
        recommendation. It passes if a candidate does. It is confidential: all of it is computed from the table.

    Raises:
        PolicyError: RR2xx if a file is not a policy; RR250 if a mechanism, key, risk or error does not exist, too
            many candidates, or candidates that read different tables, or if there is not one release to be written
            into; RR560 if `resume` is another file.
        DataError: RR3xx if the table cannot be read; a table that does not fit a candidate is a remark in its row.
        RefusedError: as for `plan`; RR553 if the release that is to be written into is signed.
        RequirementError: RR11x if a release is not as its documents state.

    Examples:
        >>> found = rrpolicy.compare("policy.toml", vary={"privacy.0.k": [2, 3]})
        >>> len(found.rows)
        2
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.compare.checkpoint import ComparisonCheckpoint
    from rrpolicy.governance.compare.compare import ComparisonRequest
    from rrpolicy.governance.compare.compare import compare as compared
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.source.memory.input_table import input_table

    if not policies:
        raise PolicyError(Problem("RR250", "no policy to compare", expected="one policy file or more"))
    if options["expected_rows"] is not None and options["source"] is not None:
        raise PolicyError(Problem("RR250", "expected_rows plans without data: it goes without a source"))
    files, resume, root = [Path(policy) for policy in policies], options["resume"], to_path(options["root"])
    call = ComparisonRequest(
        options["risk"],
        options["error"],
        input_table(options["source"]),
        options["expected_rows"],
        options["draws"],
        None if resume is None else ComparisonCheckpoint.open(Path(resume)),
        Terms.of(options["today"], waivers=options["waivers"]),
        FileAccounts(),
        options["write"],
    )
    mechanisms, vary = options["mechanisms"], options["vary"] or {}
    return compared(files, mechanisms, vary, root, options["plugins"], call, options["progress"])


@public_function
def diff(old: PolicyLike, new: PolicyLike | None = None, **options: Unpack[DiffOptions]) -> Difference:
    """Compare two policies, or the policies of two folders by their names; nothing is released or written.

    Args:
        old: a policy's file, a folder of policies, `REVISION:PATH` of the git repository that the working directory
            lies in, a release, or a policy that was loaded. With `since`, the policy after the change.
        new: the same, after the change.

    Returns:
        Each change with its effect (weaker, incomparable, stronger or neutral) and its price, the weakest first, and
        whether only the data changed. It passes unless something is weaker or incomparable without a greater version
        and a new [[policy.changes]] entry (RR140).

    Raises:
        PolicyError: RR2xx if a policy is wrong; RR250 if the call makes no sense; RR282 if there is no such revision;
            RR260 if a release has no audit/ with its policy.
        DataError: RR3xx as for `plan`.
        RefusedError: as for `plan`.

    Examples:
        >>> rrpolicy.diff("policy.toml", "policy.toml").passed
        True
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.diff.compare import compare, compare_since
    from rrpolicy.planning.waivers import Terms
    from rrpolicy.source.memory.input_table import input_table

    source, expected_rows, since = options["source"], options["expected_rows"], options["since"]
    if options["data"] + (source is not None) + (expected_rows is not None) > 1:
        raise PolicyError(Problem("RR250", "give at most one of --data, --source and --expected-rows"))
    on = input_table(source) if options["data"] or source is not None else expected_rows
    rest = on, to_path(options["root"]), options["progress"], Terms.of(options["today"])
    if (new is None) is (since is None):
        raise PolicyError(Problem("RR250", "two policies are compared, or one with `since`, a git revision"))
    if since is not None:
        return compare_since(since, old, *rest)
    assert new is not None
    return compare(old, new, *rest)


@public_function
def packs(*names: str) -> tuple[BaselinePack, ...]:
    """Return baselines that come with rrpolicy.

    Args:
        names: names of the packs; default: all packs.

    Returns:
        Each with its purpose, its sources, its text and its digest.

    Raises:
        PolicyError: RR250 if there is no such pack.

    Examples:
        >>> rrpolicy.packs("ema-0070")[0].name
        'ema-0070'
    """
    from rrpolicy.governance.packs import pack

    return tuple(map(pack.pack, names)) if names else pack.packs()


@public_function
def write_pack(name: str, folder: PathLike) -> Path:
    """Write a baseline that comes with rrpolicy into a repository, for policies to extend there.

    Args:
        name: name of the pack, as `packs` returns it.
        folder: made if missing; nothing is overwritten.

    Returns:
        The file.

    Raises:
        PolicyError: RR250 if there is no such pack.
        RefusedError: RR411 if there is such a file already; RR407, RR408 if it cannot be written.

    Examples:
        >>> rrpolicy.write_pack("ema-0070", "baselines").name
        'ema-0070.toml'
    """
    from rrpolicy.governance.packs.pack import write_pack as write

    return write(name, Path(folder))


@public_function
def run_tests(*policies: PathLike, **options: Unpack[RunTestsOptions]) -> PolicyTestReport:
    """Test policies on small tables with expected results; nothing is released or written.

    Args:
        policies: files, or folders of policies. The tests of `policies/x.toml` are `policies/tests/x.toml` and the
            files of `policies/tests/x/`.

    Returns:
        Each test with its deviations from the expected result, and the entries that no test covers. It passes if every
        test has the expected result (else RR141).

    Raises:
        PolicyError: RR2xx if a policy or a file of tests is wrong; RR256 if a table cannot be made; RR283 if there are
            no tests.
        RefusedError: RR404 to RR406 for plugins.

    Examples:
        >>> rrpolicy.run_tests("policy.toml").passed
        True
    """
    from rrpolicy.governance.cases.run import run

    return run([Path(policy) for policy in policies], to_path(options["root"]), options["progress"])


@public_function
def counted(table: Table, multiplicity: str = "n") -> CountedTable:
    """Return a table of distinct rows with counts, which every function takes in place of a table of records.

    A release is the same from counts as from the records: its public/ has the same bytes under the same key.

    Args:
        table: a path or uri, or a table in memory. Columns that the policy drops may be missing; equal rows are added.
        multiplicity: the column with the number of records of each row.

    Returns:
        The table, for `source`, `plan_on` and `reference` of every function.

    Raises:
        PolicyError: RR250 if it is not a table.

    Examples:
        >>> rrpolicy.counted("counts.parquet", "n").multiplicity
        'n'
    """
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.source.memory.kinds import CountedTable

    found = CountedTable(table, multiplicity)
    input_table(found)
    return found


@public_function
def sql(policy: PolicyLike, dialect: str, **options: Unpack[SqlOptions]) -> SqlStatements:
    """Return the statements with which an engine that rrpolicy cannot open counts a policy's table; nothing is read.

    They recode each released column as the policy does, values without a category included, and count. The result is a
    table of counts, for `counted`: it gives the release that the records give, or is refused where they are.

    Args:
        policy: a policy's file, or a policy that was loaded.
        dialect: such as postgres; `rrpolicy export sql --help` lists them.

    Returns:
        `counts`, the statement that counts; `units`, which tests how many records a person has; and `expansion`, which
        makes records of released rows with counts in the engine.

    Raises:
        PolicyError: RR2xx for the policy; RR250 if there is no such dialect; RR590 with every column that cannot be
            recoded in it; RR591 for a name that cannot be written in it.
        RefusedError: RR404 to RR406 for plugins.

    Examples:
        >>> rrpolicy.sql("policy.toml", "postgres", table="people").counts.lstrip().startswith("SELECT")
        True
    """
    from pathlib import PurePath

    from rrpolicy.exports.sql.statements import build_statements
    from rrpolicy.planning.policy_opening import reopen_policy
    from rrpolicy.policy.folder.root import split_counts_uri

    found = reopen_policy(policy, root=to_path(options["root"])).policy
    called = PurePath(split_counts_uri(found.source.uri)[1].rpartition(":")[2]).name.partition(".")[0]
    return build_statements(found, dialect, options["table"] or found.source.table or called)
