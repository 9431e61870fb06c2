"""What anybody does with a release, or with a table of somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.api.arguments import PathLike, Threshold, public_function, to_path

if TYPE_CHECKING:
    from rrpolicy.estimate.comparison.comparison import ComparisonKind, EstimateComparison, Question
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.uncorrected.release_validity import Holds
    from rrpolicy.planning.policy_opening import PolicyLike
    from rrpolicy.source.memory.kinds import Table
    from rrpolicy.table_risk.table import TableCheck


@public_function
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
        RequirementError: RR133 if a notice in attestations/ recalls it.
        RefusedError: RR404 to RR406 for a plugin.
    """
    from rrpolicy.estimate.opening import open_release as opened

    if verify and any((folder / "attestations").is_dir() for folder in (Path(path), Path(path).parent)):
        from rrpolicy.signing.signature_checks import refuse_recalled

        refuse_recalled(Path(path))

    if not plugins:
        return opened(Path(path), verify=verify)
    from rrpolicy.discovery import load_registry

    registry = load_registry(plugins)
    return opened(Path(path), verify=verify, formats=registry.formats, estimators=registry.estimators)


@public_function
def compare_estimates(
    releases: Sequence[Release | PathLike],
    question: Question,
    *,
    kind: ComparisonKind = "difference",
    times: Sequence[float] | None = None,
    overlap: int | None = None,
    target: Target | None = None,
    level: float | None = None,
) -> EstimateComparison:
    """Ask several releases one question, and estimate what became of the answers.

    Draws of different releases are independent of each other, but for releases of a series. Answers about a population
    depend on each other as far as people are in two of the samples: intervals allow for any dependence that the number
    of these people leaves room for.

    Args:
        releases: from the earliest on; opened, or their folders.
        question: a query as for `Release.query`, or a function of a release that returns a result, such as `lambda r:
            r.association("sex", "disease", "phi")`. Rows are put beside each other by what they are of.
        kind: "difference": each release's answer less that of the first. "ratio": divided by it. "trend": the slope of
            the least-squares line over the releases' times.
        times: of the releases, for a trend; default 0, 1, 2 and so on.
        overlap: the most people, or other units, that are in two of the releases; 0 for separate samples; None if
            nobody knows: as many as there can be. It makes no difference to this table's answers.
        target: as for `Release.crosstab`; default what the answers speak of.
        level: of the intervals; default that of the answers.

    Returns:
        A row for each row of the answers; of differences and ratios the rows of the second release come first, then
        those of the third. Standard errors allow for the largest dependence as well.

    Raises:
        PolicyError: RR572 for what cannot be compared, RR288 for counts that are spread inside groups; as
            `open_release` and as the question.
    """
    from rrpolicy.estimate.comparison.comparison import compare_estimates as compared
    from rrpolicy.estimate.release import Release as Opened

    found = [release if isinstance(release, Opened) else open_release(release) for release in releases]
    return compared(found, question, kind, times, overlap, target, level)


@public_function
def export(
    bundle: PathLike,
    program: str,
    *,
    out: PathLike | None = None,
    verify: bool = True,
    plugins: Sequence[str] = (),
) -> str:
    """Return the file by which another program reads a release; the bundle is never written into.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
        program: such as "r"; `rrpolicy export --help` lists them.
        out: write it here as well; nothing is overwritten.
        verify: as for `open_release`.
        plugins: as for `open_release`.

    Raises:
        PolicyError: RR278 if there is no such program; as `open_release`.
        RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.
    """
    from rrpolicy.exports.programs.program_export import export as exported
    from rrpolicy.safe_io.atomic_write import write_new

    text = exported(open_release(bundle, verify=verify, plugins=plugins), program)
    if out is not None:
        path = Path(out)
        write_new(path.parent, {path.name: lambda file: file.write_text(text, encoding="utf-8", newline="\n")})
    return text


@public_function
def what_holds(
    source: Table,
    columns: Sequence[str],
    *,
    randomised: str | Sequence[str] | None = None,
    doubly_stochastic: str | Sequence[str] = (),
    half: str | Sequence[str] = (),
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
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.table_risk.uncorrected_pairs import uncorrected_properties as held

    return held(input_table(source), table, columns, randomised, doubly_stochastic, half, plugins)


@public_function
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
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.source.memory.kinds import REFERENCE_SCHEME
    from rrpolicy.table_risk.check_request import run_table_check as checked
    from rrpolicy.table_risk.risks import parse_population_options

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
    people = None if reference is None else input_table(reference, REFERENCE_SCHEME)
    told = parse_population_options(weights, sampling_fraction, people, suda)
    return checked(
        input_table(source), table, qi, sensitive, policy, thresholds, suppressed, told, to_path(root), plugins
    )
