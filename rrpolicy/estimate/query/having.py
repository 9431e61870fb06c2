"""HAVING: which rows of an answer are kept, by what was estimated of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from rrpolicy.estimate.counts.predicate import (
    COMPARISONS,
    MIRRORED,
    as_sql,
    has_no_other_parts,
    is_constant,
    read_constants,
)
from rrpolicy.estimate.expression import (
    And,
    ColumnComparison,
    Expression,
    Not,
    Or,
)
from rrpolicy.estimate.query.aggregate import (
    Aggregate,
    Reader,
    column,
    unsupported_query_error,
)
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value


@frozen
class Having:
    """A condition on the rows of an answer.

    Attributes:
        expression: over `of`, each named by its place.
        of: aggregates, and columns of the result by name.
    """

    expression: Expression
    of: tuple[str | Aggregate, ...]


def read_having(node: exp.Expr, reader: Reader, named: Sequence[tuple[str, str | Aggregate]]) -> Having:
    """Read a condition of aggregates and columns of the result, compared with constants.

    Args:
        node: the condition.
        reader: reads aggregates.
        named: alias -> the item of the SELECT list that it names.

    Raises:
        PolicyError: RR272 for anything else; RR264 for a constant that is none.
    """
    rows = _Rows(reader, {alias.casefold(): item for alias, item in named if alias}, [])
    return Having(rows.read(node), tuple(rows.of))


@frozen
class _Rows:
    """Reads conditions on rows, and keeps what they speak of."""

    reader: Reader
    aliases: Mapping[str, str | Aggregate]
    of: list[str | Aggregate]

    def read(self, node: exp.Expr) -> Expression:
        match node.unnest():
            case exp.And() | exp.Or() as joined:
                parts = tuple(map(self.read, joined.flatten()))
                return And(parts) if isinstance(joined, exp.And) else Or(parts)
            case exp.Not(this=inner):
                return Not(self.read(inner))
            case exp.Between(this=of, args={"low": low, "high": high}) as ends if has_no_other_parts(
                ends, "this", "low", "high"
            ):
                place = self._operand(of)
                return And(
                    (
                        ColumnComparison(place, ">=", self._constant(low)),
                        ColumnComparison(place, "<=", self._constant(high)),
                    )
                )
            case exp.Binary(left=left, right=right) as compared if type(compared) in COMPARISONS:
                operator = COMPARISONS[type(compared)]
                if is_constant(left):
                    left, right, operator = right, left, MIRRORED[operator]
                if is_constant(right):
                    return ColumnComparison(self._operand(left), operator, self._constant(right))
        raise unsupported_query_error(
            f"HAVING compares what is estimated with constants: {as_sql(node)} is something else"
        )

    def _operand(self, node: exp.Expr) -> str:
        """Return the place of what is compared, as a name."""
        inner = node.unnest()
        found: str | Aggregate
        if isinstance(inner, exp.Column):
            found = self.aliases.get(column(inner).casefold(), column(inner))
        else:
            found = self.reader.read(node)
        if found not in self.of:
            self.of.append(found)
        return str(self.of.index(found))

    def _constant(self, node: exp.Expr) -> Value:
        return _comparable_constant(read_constants(self.reader.connection, [node])[0])


def _comparable_constant(value: object) -> Value:
    """Return a constant as estimates are compared with it."""
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (str, int, float, bool)) else str(value)
