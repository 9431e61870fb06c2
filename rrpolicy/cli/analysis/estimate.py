"""`rrpolicy estimate BUNDLE`, and the commands below it: estimates from a release."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from rrpolicy import api
from rrpolicy.cli.analysis.common_options import (
    Analysis,
    Form,
    NoVerify,
    ResultFormat,
    SameJson,
    Where,
    analysis,
    parse_categories,
    print_result,
    split_names,
)
from rrpolicy.cli.options import After, with_options
from rrpolicy.cli.text.terminal_layout import wrap_for_stream
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import line
from rrpolicy.estimate.invert.estimator import ESTIMATORS
from rrpolicy.estimate.results.flags import MOMENT
from rrpolicy.verb_options import CompareEstimatesOptions, WhatHoldsOptions

if TYPE_CHECKING:
    from rrpolicy.estimate.association.association import Association
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.sums.category_values import Limits

_ESTIMATORS = ", ".join((f"{MOMENT} (unbiased)", *ESTIMATORS))


@analysis("level", "plot", "bootstrap", "seed", "population", "pairwise")
def command(
    asked: Analysis,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Released columns to group by, separated by commas, names unquoted: 'my column,sex'; repeat it for "
            "a name with a comma."
        ),
    ] = None,
    where: Where = None,
    *,
    estimator: Annotated[
        str,
        After("level"),
        typer.Option(help=f"Of the point estimates: {_ESTIMATORS}, or one that a plugin brings."),
    ] = MOMENT,
    since: Annotated[
        Path | None,
        After("design"),
        typer.Option(help="Estimate how the counts changed since this earlier release.", metavar="BUNDLE"),
    ] = None,
    unchanged: Annotated[
        float | None,
        After("since"),
        typer.Option(
            help="With --since, of a series: at least this share of the earlier release's people have the same values "
            "of the requested columns; this makes standard errors smaller."
        ),
    ] = None,
    spread: Annotated[
        bool,
        After("pairwise"),
        typer.Option(
            "--spread",
            help="Count generalised columns by the categories inside their labels: spread evenly, with certain bounds.",
        ),
    ] = False,
) -> None:
    """Estimate counts, with standard errors and intervals, from a release.

    Counts are unbiased and those of the original table; with --population, those of the population it was drawn from,
    scaled to the number of records. Estimates can be negative; intervals are truncated to [0, N]. Generalised columns
    are counted by the labels that were released, which is exact.
    """
    release, target = asked.release, asked.target
    chosen = split_names(by, release)
    if since is not None:
        others = asked.options["pairwise"] or asked.options["bootstrap"] is not None
        if target == "population" or spread or estimator != MOMENT or others:
            options = "--population, --spread, --pairwise, --estimator, --bootstrap"
            message = f"--since compares unbiased counts of two tables: it goes with no {options}"
            raise PolicyError(Problem("RR250", message))
        earlier = asked.open(since).without_design()
        asked.print(release.change_since(earlier, chosen, where, asked.level, unchanged=unchanged))
        return
    if unchanged is not None:
        raise PolicyError(Problem("RR250", "--unchanged compares with an earlier release: give --since as well"))
    table = asked.ask(lambda r: r.crosstab(chosen, where, target, asked.level, estimator=estimator, spread=spread))
    if asked.print(table) is not ResultFormat.TABLE:
        return
    other = "this table: leave out --population" if target == "population" else "the population: add --population"
    known = len(table.target_scope.targets) > 1 and not table.biased
    notes = [f"\nfor {other}; as data: --format csv or --json" if known else _AS_DATA]
    if release.design is not None:
        notes = [_UNWEIGHTED]
    if not spread and any(release.columns.name(name) in release.columns.spread for name in chosen):
        notes.append("for the categories inside the released labels, with bounds that are certain: add --spread")
    print(wrap_for_stream("\n".join(notes), sys.stdout))


_UNWEIGHTED = "\nfor this table, with equal weights: --design none; as data: --format csv or --json"
_AS_DATA = "\nas data: --format csv or --json"


@analysis("level", "plot", "bootstrap", "seed", "population", "pairwise")
def query(
    asked: Analysis,
    sql: Annotated[
        str, typer.Argument(help="SELECT columns, aggregates FROM release WHERE … GROUP BY …", metavar="SQL")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="A small table of your own that the query joins, such as labels=labels.csv; repeat it for several.",
            metavar="NAME=FILE",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="The least and the largest value of a column in bins of which the first or last has no end, for avg "
            "and sum, such as income=0,250000 or income=,250000; repeat it for several.",
            metavar="COLUMN=LOW,HIGH",
        ),
    ] = None,
) -> None:
    """Ask a release in SQL: counts, shares, sums and averages come corrected, with standard errors and intervals.

    SELECT sex, count(*) AS n, share() AS s, avg(hours) AS h FROM release WHERE age_group IN ('65+')
    GROUP BY ROLLUP (sex) ORDER BY n DESC. A share of another group: count(*) FILTER (WHERE disease = 'asthma') /
    count(*), or count(*) / sum(count(*)) OVER (PARTITION BY sex).

    HAVING chooses rows by estimates; MIN and MAX are of what was not randomised. Labels and regions of your own are
    joined: --table labels=labels.csv, and JOIN labels ON release.region = labels.code.

    What cannot be corrected (joins of records, DISTINCT, subqueries, other windows) is refused with the reason. The SQL
    is parsed and never executed.
    """
    tables = dict(map(_parse_table, table or ()))
    stops = dict(map(_parse_limits, limits or ()))
    asked.print(asked.ask(lambda r: r.query(sql, asked.target, asked.level, tables=tables, limits=stops)))


def _parse_table(given: str) -> tuple[str, str]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise PolicyError(Problem("RR250", f"--table {given!r} is not a table name with a file", expected="NAME=FILE"))
    return name, path


def _parse_limits(given: str) -> tuple[str, Limits]:
    name, equals, ends = given.rpartition("=")
    low, comma, high = ends.partition(",")
    try:
        found = tuple(float(end) if end.strip() else None for end in (low, high))
    except ValueError:
        found = ()
    if not (name and equals and comma and found):
        expected = "COLUMN=LOW,HIGH, one of which may be empty"
        raise PolicyError(
            Problem("RR250", f"--limits {given!r} is not a column name with its limits", expected=expected)
        )
    return name, (found[0], found[1])


@analysis("level", "plot", "population", without=("bundle", "design"))
def compare(
    asked: Analysis,
    bundles: Annotated[
        list[Path], typer.Argument(help="Bundles, or their public/ folders, earliest first.", metavar="BUNDLE...")
    ],
    query: Annotated[
        str, typer.Option(help="The query for all of them, as for `rrpolicy estimate query`.", metavar="SQL")
    ],
    **options: Unpack[CompareEstimatesOptions],
) -> None:
    """Ask several releases in SQL, and estimate what became of the answers from the first one on.

    Draws of different releases are independent. Of the population, people who are in two of the samples make answers
    depend on each other: intervals allow for any dependence that --overlap leaves room for.
    """
    releases = [asked.open(bundle) for bundle in bundles]
    asked.print(api.compare_estimates(releases, lambda r: r.query(query, asked.target, asked.level), **options))


@analysis("level", "plot", "bootstrap", "seed", "population")
def association(  # noqa: PLR0917 each option is one
    asked: Analysis,
    row: Annotated[str, typer.Argument(help="The column in the rows.", metavar="ROW")],
    column: Annotated[str, typer.Argument(help="The column in the columns.", metavar="COLUMN")],
    measure: Annotated[
        list[str] | None, typer.Option(help="A measure, such as odds_ratio or cramers_v; repeat it for several.")
    ] = None,
    where: Where = None,
    row_present: Annotated[
        list[str] | None,
        typer.Option(
            help="A category of ROW that counts as present, for a table of two by two; repeat it for several."
        ),
    ] = None,
    column_present: Annotated[list[str] | None, typer.Option(help="Likewise of COLUMN.")] = None,
    *,
    spread: Annotated[
        bool,
        After("population"),
        typer.Option("--spread", help="Describe counts that are spread inside generalised or dealt groups."),
    ] = False,
    deflate: Annotated[
        bool,
        After("spread"),
        typer.Option("--deflate", help="Subtract the association caused by errors of randomised values alone."),
    ] = False,
) -> None:
    """Estimate how strongly two columns go together: measures of their corrected table, with intervals.

    Intervals are those of score tests; a measure that a cell of the table leaves undefined says so. Without --measure
    all that are defined for the table are estimated. Some have a direction: tau, u and confidence say what ROW tells of
    COLUMN, m and risk_difference what COLUMN tells of ROW. The text says of each which it is.
    """
    release = asked.release
    if (row_present is None) != (column_present is None):
        raise PolicyError(
            Problem("RR250", "give the present category of both columns: --row-present, --column-present")
        )
    present = None
    if row_present is not None and column_present is not None:
        present = (parse_categories(release, row, row_present), parse_categories(release, column, column_present))

    def question(of: Release) -> Association:
        target, level = asked.target, asked.level
        return of.association(
            row, column, measure, where, present=present, target=target, level=level, spread=spread, deflate=deflate
        )

    asked.print(asked.ask(question))


@analysis()
def independence(
    asked: Analysis,
    row: Annotated[str, typer.Argument(help="A column.", metavar="ROW")],
    column: Annotated[str, typer.Argument(help="Another column.", metavar="COLUMN")],
    where: Where = None,
    method: Annotated[
        Literal["released", "score", "wald", "rao-scott"] | None,
        typer.Option(
            help="Pearson's test on the released table, a score test or Wald's on the corrected one, or Rao and "
            "Scott's, which knows a design; default: the last where a design is known, else the first that is valid."
        ),
    ] = None,
) -> None:
    """Test whether two columns are independent in the population that the table is a sample of.

    Estimates are of the table by default, where independence holds or does not; a test is always of the population.

    The released table is tested as it is: the level of the test holds, and its power is lower. Where a design is known
    the weighted and corrected table is, by the design's errors. A test is no estimate:
    how strongly two columns go together is what `rrpolicy estimate association` estimates and draws.
    """
    asked.print(asked.release.independence(row, column, where, method))


class OutcomeFamily(StrEnum):
    """The distribution of the outcome."""

    GAUSSIAN = "gaussian"
    BINOMIAL = "binomial"
    POISSON = "poisson"
    MULTINOMIAL = "multinomial"


@analysis("level", "plot", "population")
def glm(
    asked: Analysis,
    formula: Annotated[
        str,
        typer.Argument(
            help="Outcome and terms, such as 'ill ~ sex + C(region)'; names that are not plain words in backticks.",
            metavar="FORMULA",
        ),
    ],
    family: Annotated[OutcomeFamily, typer.Option(help="What the outcome is.")] = OutcomeFamily.GAUSSIAN,
    success: Annotated[
        list[str] | None,
        typer.Option(help="A category of a binomial outcome that counts as yes; repeat it for several."),
    ] = None,
    where: Where = None,
    *,
    margins: Annotated[
        bool,
        After("population"),
        typer.Option("--margins", help="Print average marginal effects in place of coefficients."),
    ] = False,
) -> None:
    """Fit a regression model to the original table, by corrected scores: outcome and covariates may be randomised.

    Standard errors as a fit to the original table has them need --population. Terms are expressions that run as you.
    """
    yes = None
    if success is not None:
        yes = parse_categories(asked.release, formula.partition("~")[0].strip(" `"), success)
    found = asked.release.glm(formula, family.value, where, success=yes, target=asked.target, level=asked.level)
    asked.print(found.margins() if margins else found)


@analysis("plot")
def loglinear(
    asked: Analysis,
    formula: Annotated[
        str,
        typer.Argument(
            help="The terms, such as 'sex*education + disease'; names that are not plain words in backticks.",
            metavar="FORMULA",
        ),
    ],
    where: Where = None,
) -> None:
    """Fit a hierarchical loglinear model to the corrected table, test it, and say whether it survives randomisation.

    A model that survives is tested on the released table as it is; another by Wald where corrected
    counts allow it.
    """
    asked.print(asked.release.loglinear(formula, where))


@analysis("level", "plot", "population")
def rules(  # noqa: PLR0917 each option is one
    asked: Analysis,
    min_support: Annotated[
        float | None, typer.Option(help="Least share of records with all categories of a rule.")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(help="Least share with the category that follows among those with the others.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="One rule, in place of all that reach the thresholds: 'sex = f, region = north -> "
            "disease = flu'; repeat it for several.",
            metavar="RULE",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to combine, with commas between; default: every column with categories."),
    ] = None,
    where: Where = None,
    longest: Annotated[int | None, typer.Option(help="Most columns in a rule; default: 3.")] = None,
    present: Annotated[
        list[str] | None,
        typer.Option(
            help="A category that counts as present, such as yes: no other of its columns is in a rule; repeat it."
        ),
    ] = None,
) -> None:
    """Estimate association rules: categories of some columns, and a category of another that follows.

    Supports and confidences are corrected, with intervals; a rule is sure if both lower ends reach the thresholds as
    well. Rules are listed because their estimates are large, which tends to be too large: an interval holds for a rule
    that was named beforehand, with --rule.
    """
    release, target, level = asked.release, asked.target, asked.level
    if rule:
        if any(given is not None for given in (min_support, min_confidence, columns, longest, present)):
            searched = "--min-support, --min-confidence, --columns, --longest, --present"
            raise PolicyError(Problem("RR250", f"--rule requests single rules: leave out {searched}"))
        found: Result = release.rule(rule, where, target=target, level=level)
    elif min_support is None or min_confidence is None:
        expected = "--min-support and --min-confidence, or --rule"
        raise PolicyError(Problem("RR250", "no rules are requested", expected=expected))
    else:
        found = release.rules(
            min_support,
            min_confidence,
            split_names(columns, release) if columns else None,
            where,
            longest=3 if longest is None else longest,
            present=present,
            target=target,
            level=level,
        )
    asked.print(found)


@analysis(without=("form", "json"))
def replicates(
    asked: Analysis,
    by: Annotated[
        list[str], typer.Option(help="Released columns that the analysis needs, with commas between, or repeat it.")
    ],
    out: Annotated[Path, typer.Option("--out", help="A file that is not there yet: .parquet or .csv.")],
    where: Where = None,
) -> None:
    """Write the corrected table with replicate weights, from which any survey package computes right errors.

    A row for each combination of original categories: its weight is the estimated count, the replicate weights rep_1,
    rep_2, … are a jackknife's. Errors are of randomisation and sampling together.
    """
    release = asked.release
    found = release.replicates(split_names(by, release), where)
    found.write(out)
    rows, size = found.replicates.shape
    print(line(f"wrote {out}: {rows} rows, {size} replicates, scale {found.scale!r}"), file=sys.stderr)


@with_options
def what_holds(
    source: Annotated[
        str, typer.Argument(help="A bundle, or a table: a Parquet or CSV file, a database.", metavar="BUNDLE|TABLE")
    ],
    columns: Annotated[
        list[str] | None, typer.Argument(help="Of a table: the column in the rows, and the other.", metavar="COLUMNS")
    ] = None,
    form: Annotated[Form, After("table")] = ResultFormat.TABLE,
    *,
    json: SameJson = False,
    no_verify: NoVerify = False,
    **options: Unpack[WhatHoldsOptions],
) -> int:
    """Say which analyses hold on randomised data as they are: tests that keep their level, measures that never grow.

    Of a release, all columns are spoken of, as far as it says how they were randomised. Of any other table, two columns
    are named, with what is known of their matrices: declare it only if the table's publisher says so.
    """
    if columns:
        found = api.what_holds(source, columns, **options)
    elif options.keys() - {"plugins"}:
        message = "what is declared of a table goes with two of its columns"
        raise PolicyError(Problem("RR505", message, expected="estimate what-holds TABLE ROW COLUMN"))
    else:
        found = api.open_release(source, verify=not no_verify, plugins=options.get("plugins", ())).what_holds()
    print_result(found, form, json=json)
    return 0
