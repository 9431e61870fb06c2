"""Analyses of a release, and of a table that others randomised or anonymised."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from rrpolicy.api.arguments import public_function
from rrpolicy.verb_options import (
    CheckTableOptions,
    CompareEstimatesOptions,
    ExportOptions,
    OpenReleaseOptions,
    PathLike,
    WhatHoldsOptions,
)

if TYPE_CHECKING:
    from rrpolicy.estimate.comparison.comparison import EstimateComparison, Question
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.uncorrected.release_validity import Holds
    from rrpolicy.source.memory.kinds import Table
    from rrpolicy.table_risk.table import TableCheck


@public_function
def open_release(path: PathLike, **options: Unpack[OpenReleaseOptions]) -> Release:
    """Open a release to estimate from it: a bundle, or its public/ folder alone.

    Checking the digests of release.json and of the data files costs about one read of the files. It finds damage and
    edits, not a bundle that was forged as a whole. A release loads no plugin that is not listed in `plugins`.

    Args:
        path: the bundle's folder or the public/ folder.

    Returns:
        The release, with methods for tables, means, measures of association and more.

    Raises:
        PolicyError: RR260 if there is no readable release, RR261 if its schema is of another version, RR269 if the
            data it names is missing, RR270 if it is of a form that counts cannot be estimated from, RR284 if a file
            is not the one that was released, RR285 if nothing that is loaded reads its format.
        RequirementError: RR133 if a notice in attestations/ recalls it.
        RefusedError: RR404 to RR406 for a plugin.

    Examples:
        >>> rrpolicy.open_release("release").records
        5000
    """
    from rrpolicy.estimate.opening import open_release as opened

    verify, plugins = options["verify"], options["plugins"]
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
    releases: Sequence[Release | PathLike], question: Question, **options: Unpack[CompareEstimatesOptions]
) -> EstimateComparison:
    """Estimate one quantity from several releases, and the differences, ratios or trend of the estimates.

    Draws of different releases are independent of each other, but for releases of a series. Estimates for a population
    depend on each other as far as people are in two of the samples: intervals allow for any dependence that the number
    of these people permits.

    Args:
        releases: opened releases or their folders, in order of time.
        question: a query as for `Release.query`, or a function of a release that returns a result, such as `lambda r:
            r.association("sex", "disease", "phi")`. Rows with the same labels are compared.

    Returns:
        A row for each row of the estimates; for differences and ratios the rows of the second release come first, then
        those of the third. Standard errors allow for the largest dependence as well.

    Raises:
        PolicyError: RR572 for results that cannot be compared, RR288 for counts that are spread inside groups; as
            `open_release` and as the question.

    Examples:
        >>> rrpolicy.compare_estimates(["release", "second"], "SELECT count(*) FROM release").kind
        'difference'
    """
    from rrpolicy.estimate.comparison.comparison import compare_estimates as compared
    from rrpolicy.estimate.release import Release as Opened

    found = [release if isinstance(release, Opened) else open_release(release) for release in releases]
    return compared(found, question, **options)


@public_function
def export(bundle: PathLike, program: str, **options: Unpack[ExportOptions]) -> str:
    """Return the file with which another program reads a release; the bundle is never modified.

    Args:
        bundle: the bundle's folder, or its public/ folder alone.
        program: such as "r"; `rrpolicy export --help` lists them. With `out` it is written as well.

    Raises:
        PolicyError: RR278 if there is no such program; as `open_release`.
        RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.

    Examples:
        >>> "CREATE" in rrpolicy.export("release", "postgres")
        True
    """
    from rrpolicy.exports.programs.program_export import export as exported
    from rrpolicy.safe_io.atomic_write import write_new

    text = exported(open_release(bundle, verify=options["verify"], plugins=options["plugins"]), program)
    if options["out"] is not None:
        path = Path(options["out"])
        write_new(path.parent, {path.name: lambda file: file.write_text(text, encoding="utf-8", newline="\n")})
    return text


@public_function
def what_holds(source: Table, columns: Sequence[str], **options: Unpack[WhatHoldsOptions]) -> Holds:
    """List the analyses of two randomised columns that are valid without the matrices of the randomisation.

    The options declare properties of the matrices, which the data cannot show. Each randomised column has a matrix over
    the categories that occur, and was randomised independently of other columns. For a release of rrpolicy,
    `open_release(…).what_holds()` knows more, for all columns.

    Args:
        source: the released table, as for `plan`. Missing values are a separate category.
        columns: the column in the rows, and the one in the columns.

    Returns:
        The statements, each with its value for this table. In a table of two categories by two, each column's second
        category in sorted order is the one that is present.

    Raises:
        PolicyError: RR505 if not two columns are named; RR506 if the declarations contradict each other; RR268 if they
            have too many categories.
        DataError: RR3xx if the table cannot be read, or lacks a column; RR507 if a column has one category.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.

    Examples:
        >>> len(rrpolicy.what_holds("survey.parquet", ["sex", "disease"]).statements) > 0
        True
    """
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.table_risk.uncorrected_pairs import uncorrected_properties as held

    declared = options["randomised"], options["doubly_stochastic"], options["half"]
    return held(input_table(source), options["table"], columns, *declared, options["plugins"])


@public_function
def check_table(source: Table, **options: Unpack[CheckTableOptions]) -> TableCheck:
    """Measure k, l, t, alpha, beta and delta of a table that others anonymised.

    Args:
        source: the table, as for `plan`.

    Returns:
        The value of each model, and the `risks` of records and people, which have no limit. It passes unless a
        threshold fails, or is undecided.

    Raises:
        PolicyError: RR250 if the call makes no sense; RR2xx if the policy is wrong.
        DataError: RR3xx if the table cannot be read, or lacks a column.
        RefusedError: RR404 to RR406 for a plugin; RR408, RR421 for scratch.

    Examples:
        >>> rrpolicy.check_table("survey.parquet", qi=["sex"], sensitive=["disease"], k=2).passed
        True
    """
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.source.memory.kinds import REFERENCE_SCHEME
    from rrpolicy.table_risk.check_request import run_table_check
    from rrpolicy.table_risk.risks import parse_population_options

    reference = options["reference"]
    people = None if reference is None else input_table(reference, REFERENCE_SCHEME)
    fraction = options["sampling_fraction"]
    told = parse_population_options(options["weights"], fraction, people, options["suda"])
    return run_table_check(input_table(source), options, told)
