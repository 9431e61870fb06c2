"""Warnings of text in CSV files of a release that a spreadsheet would run: `csv_formulas = "keep"`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rrpolicy.channels.base import Channel
from rrpolicy.channels.table import Column
from rrpolicy.escaping import formulas
from rrpolicy.mechanism import Remark
from rrpolicy.policy.model import Attribute, Policy

CSV_FORMULA_REMARK = "csv-formulas"
"""The name of these remarks."""


def policy_formula_warnings(policy: Policy) -> tuple[Remark, ...]:
    """Return the warning for a policy before any data; () if there is none."""
    return _formula_warning(policy, [a.release_as for a in policy.released if _attribute_may_run(a, policy)])


def channel_formula_warnings(policy: Policy, channel: Channel) -> Iterator[Remark]:
    """Yield the warning for the values that a channel releases."""
    columns = [column for table in channel.tables() for column in table.columns]
    yield from _formula_warning(policy, [column.name for column in columns if _column_runs(column, policy)])


def _attribute_may_run(attribute: Attribute, policy: Policy) -> bool:
    if attribute.domain is None:
        return attribute.observed or policy.release.format == "csv"
    labels = (*attribute.domain, *(label for level in attribute.hierarchy or () for label in level))
    return formulas.any_formula(labels) or _name_runs(attribute.release_as, policy)


def _column_runs(column: Column, policy: Policy) -> bool:
    if column.labels:  # which are in the weights, too, for every format of the data
        return formulas.any_formula(column.labels) or _name_runs(column.name, policy)
    carried = policy.release.format == "csv" and column.escapable
    return carried or _name_runs(column.name, policy)


def _name_runs(name: str, policy: Policy) -> bool:
    return policy.release.format == "csv" and formulas.any_formula([name])


def _formula_warning(policy: Policy, names: Sequence[str]) -> tuple[Remark, ...]:
    if policy.release.csv_formulas == "escape" or not names:
        return ()
    listed = ", ".join(f"'{name}'" for name in names)
    told = (
        f"text of {listed} may begin with {formulas.TOLD}, and CSV files of the release keep it: a spreadsheet that "
        'opens them may run it as a formula. csv_formulas = "escape", the default, prevents it'
    )
    return (Remark(CSV_FORMULA_REMARK, told),)
