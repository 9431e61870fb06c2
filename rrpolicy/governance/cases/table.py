"""The table of a test: its records, repeated, with the columns that are never released made up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.governance.cases.case import Case
from rrpolicy.policy.baseline.floor import URI_SCHEME
from rrpolicy.policy.folder.root import OutsideError, Root
from rrpolicy.policy.model import Policy
from rrpolicy.policy.rational import rational

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.memory.kinds import Table


def build_case_table(case: Case, policy: Policy, files: Root) -> Table:
    """Return the table of a test.

    A column that the policy drops and the test does not give is numbered from 1: each record is then of a unit of its
    own, and nothing else is known of it.

    Args:
        case: the test.
        policy: that it is of.
        files: that a CSV file must lie under, as those that the policy names.

    Raises:
        PolicyError: RR256 if its file cannot be read, or its records are none of one table; RR289 if the file lies
            elsewhere.
    """
    given = case.table
    if given.uri is not None:
        return _path(given.uri, case.folder)
    import numpy as np
    import pyarrow as pa

    records = _csv(case, files) if given.csv is not None else _rows(case)
    repeated = records.take(pa.array(np.repeat(np.arange(len(records)), given.repeat)))
    for attribute in policy.attributes.values():
        if attribute.role.dropped and attribute.name not in repeated.column_names:
            numbers = pa.array(np.arange(1, len(repeated) + 1))
            repeated = repeated.append_column(attribute.name, numbers)
    return cast("Table", repeated)


def _path(uri: str, folder: Path) -> str:
    return uri if URI_SCHEME.match(uri) else str(folder / uri)


def _csv(case: Case, files: Root) -> pa.Table:
    import io

    import pyarrow as pa
    from pyarrow import csv

    assert case.table.csv is not None
    spelled = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    try:
        return csv.read_csv(io.BytesIO(files.read(case.folder / case.table.csv)), convert_options=spelled)
    except OutsideError as error:
        message, expected, hint = files.outside(case.table.csv)
        raise PolicyError(Problem("RR289", f"the test '{case.name}': {message}", case.place, expected, hint)) from error
    except (OSError, ValueError, pa.ArrowInvalid) as error:
        raise _table_error(case, f"the file '{case.table.csv}' cannot be read as CSV") from error


def _rows(case: Case) -> pa.Table:
    import pyarrow as pa

    rows = case.table.rows or []
    columns = {
        name: [_column_value(row.get(name)) for row in rows] for name in dict.fromkeys(n for r in rows for n in r)
    }
    try:
        return pa.table(columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _table_error(case, "a column of `rows` has values of several kinds") from error


def _column_value(value: Any) -> Any:
    """Return a value of TOML as a column holds it; decimals are numbers."""
    return float(rational(value)) if value is not None and type(value).__name__ == "Decimal" else value


def _table_error(case: Case, message: str) -> PolicyError:
    return PolicyError(Problem("RR256", f"the test '{case.name}': {message}", case.place, "a small table"))
