"""The part of a release's README that speaks R."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rrpolicy.canonical import Value
from rrpolicy.channel.table import Column
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.releasing.handout.readme_formulas import escaped_columns
from rrpolicy.releasing.handout.weights import WeightFile


def r_section(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile]) -> str:
    """Return the README's section for R, "" if nothing is randomised by one column alone.

    Args:
        document: release.json.
        columns: the released columns.
        weights: the weight tables.
    """
    single = [w for w in weights if len(w.axis.columns) == 1 and not isinstance(w.axis, SetWeights)]
    sets = [w for w in weights if len(w.axis.columns) == 1 and isinstance(w.axis, SetWeights)]
    reading = _r_reading(document, columns)
    if not single:
        return "\n".join(["## In R", "", "```r", *reading, *_r_sets(document, sets[0]), "```"]) if sets else ""
    first = single[0]
    column = r_text(first.axis.columns[0])
    lines = [
        "## In R",
        "",
        "```r",
        *reading,
        *_r_weights("w", first),
        f"counts <- as.data.frame(table(released = release[[{column}]], exclude = NULL), stringsAsFactors = FALSE)",
        "w$released <- as.character(w$released)",
        'm <- merge(counts, w, by = "released")',
        "estimate <- tapply(m$Freq * m$weight, m$original, sum)",
        "se <- sqrt(tapply(m$Freq * m$weight^2, m$original, sum) - estimate)",
        "half <- 1.96 * se",
        "data.frame(estimate, se, low = pmax(estimate - half, 0), high = pmin(estimate + half, nrow(release)))",
        "```",
    ]
    if len(single) > 1:
        second = single[1]
        both = f"release[[{column}]], release[[{r_text(second.axis.columns[0])}]]"
        lines += [
            "",
            "Two columns, by matrices (rows: released, columns: original):",
            "",
            "```r",
            *_r_weights("w2", second),
            "wide <- function(w) xtabs(weight ~ released + original, w)",
            "A <- wide(w); B <- wide(w2)",
            f"n <- table({both}, exclude = NULL)",
            "n <- unclass(n)[match(rownames(A), rownames(n)), match(rownames(B), colnames(n)), drop = FALSE]",
            "n[is.na(n)] <- 0",
            "estimate <- t(A) %*% n %*% B",
            "se <- sqrt(t(A^2) %*% n %*% B^2 - estimate)",
            "```",
        ]
    return "\n".join(lines)


def _r_sets(document: Mapping[str, Any], file: WeightFile) -> list[str]:
    """Return the estimates of a column of sets; a list column, or JSON text in CSV."""
    column = f"release[[{r_text(file.axis.columns[0])}]]"
    sets = f"lapply({column}, jsonlite::fromJSON)" if document["data"]["format"] == "csv" else f"as.list({column})"
    kinds = f'c("{_r_class(tuple(c[0] for c in file.axis.original))}", "numeric", "numeric")'
    return [
        f"w <- read.csv({r_text(file.path)}, colClasses = {kinds}, na.strings = character(0))",
        *r_unescaped("w", file.escaped),
        f"sets <- {sets}",
        "held <- sapply(w$original, function(j) sum(vapply(sets, function(s) j %in% s, logical(1))))",
        "estimate <- held * w$weight_held + (length(sets) - held) * w$weight_not_held",
        "se <- sqrt(held * w$weight_held^2 + (length(sets) - held) * w$weight_not_held^2 - estimate)",
        "half <- 1.96 * se",
        "data.frame(original = w$original, estimate, se,",
        "           low = pmax(estimate - half, 0), high = pmin(estimate + half, length(sets)))",
    ]


def _r_reading(document: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    path = r_text(document["data"]["tables"]["data"]["path"])
    match document["data"]["format"]:
        case "parquet":
            return [f"release <- as.data.frame(arrow::read_parquet({path}))"]
        case "csv":
            classes = ["character" if c.kind == "set" else _r_class(c.labels) if c.labels else "" for c in columns]
            kinds = ", ".join(f'"{name}"' if name else "NA" for name in classes)
            options = "na.strings = character(0), check.names = FALSE"
            read = f"release <- read.csv({path}, colClasses = c({kinds}), {options})"
            return [read, *r_unescaped("release", escaped_columns(document, columns))]
        case _:
            return [
                f"connection <- DBI::dbConnect(duckdb::duckdb(), {path}, read_only = TRUE)",
                'release <- DBI::dbReadTable(connection, "data", check.names = FALSE)',
            ]


def _r_weights(name: str, file: WeightFile) -> list[str]:
    released, original = (_r_class(tuple(c[0] for c in cells)) for cells in (file.axis.released, file.axis.original))
    kinds = f'c("{released}", "{original}", "numeric")'
    read = f"{name} <- read.csv({r_text(file.path)}, colClasses = {kinds}, na.strings = character(0))"
    return [read, *r_unescaped(name, file.escaped)]


def r_unescaped(frame: str, columns: Sequence[str]) -> list[str]:
    """Return R that takes off what escapes text that a spreadsheet would run as a formula."""
    cells = (f"{frame}[[{r_text(column)}]]" for column in columns)
    return [f"""{cell} <- sub("^'", "", {cell})""" for cell in cells]


def _r_class(labels: Sequence[Value]) -> str:
    """Return R's class for a column of these labels, so that released values and weights are spelled alike."""
    if all(isinstance(v, bool) for v in labels):
        return "logical"
    return "character" if any(isinstance(v, (str, bool)) for v in labels) else "numeric"


def r_text(text: str) -> str:
    """Return an R string literal."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else _r_escape(c) for c in text)
    return f'"{escaped}"'


def _r_escape(character: str) -> str:
    return "\\" + character if character in '"\\' else f"\\U{{{ord(character):x}}}"
