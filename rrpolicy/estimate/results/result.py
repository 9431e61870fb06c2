"""The base of all results for analysts: rows with estimates, standard errors, intervals and flags."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.escaping.formulas import Handling
from rrpolicy.estimate.results.chart_layout import PlottedQuantity, chart
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.target import UNWEIGHTED, WEIGHTS_INSIDE, Sample, Target, TargetScope
from rrpolicy.plotting.svg import WIDTH, Figure, svg

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Result(ABC):
    """Rows of estimates; frames, files, text and charts of every kind of result are made here alone.

    Attributes:
        where: the condition, as given or spelled anew; None for none.
        target: the target of the intervals: this table, or the population it was drawn from.
        level: level of the intervals.
        records: N.
        notes: notes that are required to read the rows.
        max_records: the maximum number of records per unit; if above 1, the population is not estimated.
        sample: the sampling design of the estimates; None for a simple random sample.
        weights_inside: whether the publisher withheld the survey's weights, so that the population is not estimated.
    """

    schema: ClassVar[str]
    intervals: ClassVar[str] = "low and high are {level} intervals"
    """The meaning of low and high, in words."""

    where: str | None
    target: Target
    level: float
    records: int
    notes: tuple[str, ...] = ()
    max_records: int = field(default=1, repr=False)
    sample: Sample | None = field(default=None, repr=False)
    weights_inside: bool = field(default=False, repr=False)

    @property
    def scope(self) -> dict[str, Any]:
        """Return the fields that a result made of this one shares with it, by name."""
        names = ("where", "target", "level", "records", "max_records", "sample", "weights_inside")
        return {name: getattr(self, name) for name in names}

    @property
    @abstractmethod
    def title(self) -> str:
        """Return the estimated quantity, in words."""

    @abstractmethod
    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the columns and the quantities, in order."""

    @property
    def same_unit(self) -> bool:
        """Whether all rows have one unit, so that they are printed with as many decimals."""
        return True

    @property
    def target_scope(self) -> TargetScope:
        """Return the possible targets of standard errors and intervals."""
        return TargetScope(self.target, self.max_records, WEIGHTS_INSIDE if self.weights_inside else None)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, with those that follow from the rows."""
        return (*self.notes, UNWEIGHTED) if self.weights_inside else self.notes

    def metadata(self) -> dict[str, Json]:
        """Return the rest of the result as plain data; it precedes the rows."""
        return {}

    def preface(self) -> tuple[str, ...]:
        """Return lines of text between the heading and the rows."""
        return ()

    def method_description(self) -> str:
        """Return the method of estimation, in words; "" if the title names it."""
        return ""

    def interval_description(self) -> str:
        """Return the meaning of low and high, in words; "" if the method states it."""
        return self.intervals

    @property
    def quantities(self) -> tuple[EstimatedQuantity, ...]:
        """Return the quantities, in order."""
        return tuple(part for part in self.contents() if isinstance(part, EstimatedQuantity))

    @property
    def biased(self) -> bool:
        """Whether counts were spread inside groups: then no standard error belongs to them."""
        return any(m.biased for m in self.quantities)

    @property
    def exact(self) -> bool:
        """Whether nothing was drawn, and the target is this table: the numbers are then exact."""
        return self.target == "table" and all(m.exact for m in self.quantities)

    def columns(self) -> dict[str, list[Any]]:
        """Return the result by column: an estimate is followed by its se, low, high, flags and released records."""
        found: dict[str, list[Any]] = {}
        for part in self.contents():
            found |= (
                {part.name: list(part.cells)}
                if isinstance(part, ResultColumn)
                else part.columns(self.level, self.target)
            )
        return found

    def row_keys(self) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
        """Return the grouping columns, and the group of each row; None in a column that it sums over."""
        keys = [part for part in self.contents() if isinstance(part, ResultColumn) and part.key]
        rows = zip(*(part.cells for part in keys), strict=True) if keys else ((),) * self.quantities[0].estimate.size
        return tuple(part.name for part in keys), tuple(rows)

    def labels(self) -> list[str]:
        """Return the group of each row, in words."""
        _, rows = self.row_keys()
        return [", ".join("all" if v is None else str(v) for v in row) or "all records" for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame; a column that a row sums over is None, several flags are joined by "; ".

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.crosstab("sex").to_frame()["sex"].to_list()
            ['female', 'male']
        """
        import pandas as pd

        from rrpolicy.estimate.results.text import plain

        columns = {name: [plain(v) for v in values] for name, values in self.columns().items()}
        frame = pd.DataFrame({n: pd.Series(v, dtype="object" if None in v else None) for n, v in columns.items()})
        if len(frame):
            return frame
        kinds = {name: "float64" for m in self.quantities for name in m.names[:4]}
        return frame.astype({**kinds, **{m.names[5]: "int64" for m in self.quantities if m.released is not None}})

    def to_dict(self) -> dict[str, Json]:
        """Return plain data: `rows[]` by column; numbers that are not there, and ends that do not exist, are null.

        `not_bounded` names the latter, one list per row. A grouping column that is called as a column of results is
        written with ` (group)` after it.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> [row["sex"] for row in release.crosstab("sex").to_dict()["rows"]]
            ['female', 'male']
        """
        columns = self.columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {
            "schema": self.schema,
            **self.metadata(),
            "where": self.where,
            "target": self.target,
            "level": self.level,
            "records": self.records,
            **(
                {}
                if self.sample is None
                else {"design": self.sample.description, "people": json_number(self.sample.population_size)}
            ),
            "notes": list(self.all_notes()),
            "rows": [{k: json_number(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows],
            "not_bounded": [[k for k, v in row.items() if isinstance(v, float) and math.isinf(v)] for row in rows],
        }

    def to_json(self) -> dict[str, Json]:
        """Return the same as `to_dict`."""
        return self.to_dict()

    def to_csv(self, *, formulas: Handling = "escape") -> str:
        """Return the rows as CSV with a header; missing cells are empty, several flags are joined by "; ".

        Args:
            formulas: treatment of text that a spreadsheet would run as a formula; "escape" puts an apostrophe before
                it, as the CSV files of a release have it, "keep" leaves it as it is.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> print(release.crosstab("sex").to_csv())
            sex,estimate,se,low,high,flags,released
            female,...
        """
        from rrpolicy.estimate.results.text import csv

        return csv(self.columns(), formulas)

    def summary(self) -> str:
        """Return the rows as text, with a heading above and the meaning of their flags below.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> print(release.crosstab("sex").summary())
            Estimated counts by sex: ...
        """
        from rrpolicy.estimate.results.text import text

        return text(self)

    def _repr_html_(self) -> str:
        """Return the same as an HTML table for notebooks, with the intervals drawn next to their numbers."""
        from rrpolicy.estimate.results.html import html

        return html(self)

    def plot(self, *, facet: str | None = None, group: str | None = None, width: int = WIDTH) -> Figure:
        """Return a dot-and-interval plot as SVG, one line per row; quantities, and rows that sum over others, apart.

        Args:
            facet: a column of the rows: each of its categories has a panel, all on the same axis.
            group: another one: its categories, four at most, share a line and are distinguished by shape and colour.
            width: width of the picture, in pixels; text keeps its size.

        Raises:
            PolicyError: RR581 if the rows are not of such a column; RR582 if too many categories would share a line.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.crosstab("sex").plot()[:4]
            '<svg'
        """
        return svg(chart(self, facet, group), width)

    def to_altair(self, *, facet: str | None = None, group: str | None = None) -> alt.VConcatChart:
        """Return the same plot as a chart of Altair, with the numbers in it.

        Args:
            facet: see `plot`.
            group: see `plot`.

        Raises:
            PolicyError: RR580 if Altair is not installed; else as `plot`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> chart = release.crosstab(["sex", "age_group"]).to_altair(facet="sex")
            >>> chart.to_dict()["$schema"]
            'https://vega.github.io/schema/vega-lite/...'
        """
        from rrpolicy.plotting.vega import vega_lite

        return vega_lite(chart(self, facet, group))

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the quantities that a plot shows."""
        return (PlottedQuantity(self.quantities[0]),)


def json_number(value: float) -> float | None:
    """Return a number that JSON can represent; None for NaN and infinities."""
    return float(value) if np.isfinite(value) else None
