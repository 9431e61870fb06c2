"""A frame of pandas or polars with its release: `frame.rrpolicy` estimates from the release.

The rows are the released ones: counting those of randomised columns, or choosing rows by them, gives biased answers.
`frame.rrpolicy` therefore estimates from the release itself, with its own conditions. It refuses a frame with fewer
or more rows than the release, because the estimates would be of other records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.scan import manifest_mismatch_error, open_query
from rrpolicy.estimate.default_level import LEVEL

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.sums.category_values import Limits

NAME = "rrpolicy"
_OF_POLARS = "_rrpolicy_release"


class AttachedRelease(Struct, frozen=True, eq=False):
    """The release of a pandas frame; copies of the frame have the same one.

    Attributes:
        release: the release that the rows come from.
    """

    release: Release

    def __deepcopy__(self, memo: dict[int, Any]) -> AttachedRelease:
        """Return the same object: pandas copies the attributes of frames at every step."""
        return self


class FrameAccessor:
    """Estimates for a frame with a release: `frame.rrpolicy`."""

    def __init__(self, frame: Any) -> None:
        """Take the frame; nothing is looked at before a question."""
        self._frame = frame

    @property
    def release(self) -> Release:
        """Return the release that the frame is of.

        Raises:
            PolicyError: RR517 if it knows none; RR516 if rows were left out or added.
        """
        attrs = getattr(self._frame, "attrs", None)
        known = getattr(self._frame, _OF_POLARS, None) if attrs is None else attrs.get(NAME)
        if not isinstance(known, AttachedRelease):
            message = "this frame knows no release: it was not made by one, or a step after that forgot it"
            hint = "use a frame from release.to_pandas() or release.to_polars(), or a method of the release"
            raise PolicyError(Problem("RR517", message, hint=hint))
        rows, records = len(self._frame), known.release.records
        if rows != records:
            message = f"the frame has {rows:,} rows, and the release {records:,} records"
            hint = "rows contain released values, which cannot select original records: give a condition, where=…"
            raise PolicyError(Problem("RR516", message, expected="the whole frame", hint=hint))
        return known.release

    def crosstab(
        self,
        by: Sequence[str] | str = (),
        where: str | None = None,
        *,
        target: Target | None = None,
        level: float = LEVEL,
    ) -> Any:
        """Return estimated counts with errors and intervals as a frame of the same library; see `Release.crosstab`."""
        return self._shown(self.release.crosstab(by, where, target, level))

    def mean(
        self,
        value: str,
        by: Sequence[str] | str = (),
        where: str | None = None,
        *,
        target: Target | None = None,
        level: float = LEVEL,
        values: Mapping[Value, float | None] | None = None,
        limits: Limits = (None, None),
    ) -> Any:
        """Return estimated means with errors and intervals as a frame of the same library; see `Release.mean`."""
        found = self.release.mean(value, by, where, target=target, level=level, values=values, limits=limits)
        return self._shown(found)

    def query(self, sql: str, target: Target | None = None, level: float = LEVEL) -> Any:
        """Return the answer to a query as a frame of the same library; see `Release.query`."""
        return self._shown(self.release.query(sql, target, level))

    def _shown(self, found: Result) -> Any:
        frame = found.to_frame()
        if hasattr(self._frame, "attrs"):
            return frame
        import polars as pl

        return pl.from_pandas(frame)


def to_pandas(release: Release) -> pd.DataFrame:
    """Return the released records; see `Release.to_pandas`."""
    import pandas as pd

    if not hasattr(pd.DataFrame, NAME):
        pd.api.extensions.register_dataframe_accessor(NAME)(FrameAccessor)
    frame: pd.DataFrame = _rows(release).to_pandas()
    for column in release.data.columns:
        if column.labels and column.kind != "set":
            ordered = column.kind == "interval"
            if not frame[column.name].isin(column.spelled).all():
                raise manifest_mismatch_error(f"the column {column.name!r} contains values outside its domain")
            frame[column.name] = pd.Categorical(frame[column.name], list(column.spelled), ordered=ordered)
    frame.attrs[NAME] = AttachedRelease(release)
    return frame


def to_polars(release: Release) -> pl.DataFrame:
    """Return the released records; see `Release.to_polars`.

    Raises:
        PolicyError: RR518 if polars is not installed.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise PolicyError(Problem("RR518", "polars is not installed", hint="pip install polars")) from error
    if not hasattr(pl.DataFrame, NAME):
        pl.api.register_dataframe_namespace(NAME)(FrameAccessor)
    frame = pl.DataFrame(_rows(release))
    texts = {
        c.name: pl.Enum(list(map(str, c.spelled)))
        for c in release.data.columns
        if c.labels and c.kind != "set" and frame.schema[c.name] == pl.String
    }
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in texts.items())
    setattr(frame, _OF_POLARS, AttachedRelease(release))
    return frame


def _rows(release: Release) -> pa.Table:
    with open_query([release.data], "FROM {}".format) as rows:
        return rows.to_arrow_table()
