"""Conditions on released names, read by DuckDB's own parser; nothing of the user's text reaches a query.

A condition is a conjunction. Each of its parts speaks either of columns released as they are, and becomes a filter, or
of one randomised axis, and becomes a 0/1 vector over its original categories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rrpolicy.engine.asking import asking
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.expression import And, Comparison, Constant, Expression, Member, Not, Null, Or

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def parse_condition(text: str) -> tuple[Expression, ...]:
    """Read a condition and return its conjuncts.

    Raises:
        PolicyError: RR264 if DuckDB cannot parse it or it holds more than comparisons, IN, BETWEEN, IS NULL, AND, OR
            and NOT between columns and constants.
    """
    with asking() as connection:
        query = f"SELECT 1 FROM release WHERE {text}\n"  # noqa: S608 - parsed here, never executed
        node = select_node(connection, query)
        differing = set(beyond(connection, node)) - {"where_clause"}
        if differing or not node.get("where_clause"):
            raise unreadable("it holds more than a condition")
        return read_condition(connection, node["where_clause"])


def select_node(connection: Any, query: str) -> Mapping[str, Any]:
    """Return DuckDB's syntax tree of a single SELECT; nothing is executed.

    Raises:
        PolicyError: RR264 if it is not one.
    """
    document = _serialised(connection, query)
    if document["error"]:
        raise unreadable(str(document.get("error_message", "not a condition")))
    statements = document["statements"]
    if len(statements) != 1:
        raise unreadable("it holds more than one statement")
    node: Mapping[str, Any] = statements[0]["node"]
    return node


def beyond(connection: Any, node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of a SELECT that a plain `SELECT 1 FROM release` has not, or has otherwise."""
    plain = select_node(connection, "SELECT 1 FROM release")
    return tuple(k for k in {*node, *plain} if _bare(node.get(k)) != _bare(plain.get(k)))


def read_condition(connection: Any, node: Mapping[str, Any]) -> tuple[Expression, ...]:
    """Return the conjuncts of a WHERE clause's syntax tree; raises as `parse_condition` does."""
    return _conjuncts(_Reader(connection).read(node))


def read_constant(connection: Any, node: Mapping[str, Any]) -> Constant:
    """Return the value of a constant's syntax tree; raises as `parse_condition` does."""
    (value,) = _Reader(connection).constants([node])
    return value


def unreadable(message: str) -> PolicyError:
    """Return the error for a condition that is not one."""
    return PolicyError(
        Problem(
            "RR264",
            f"the condition cannot be read: {message}",
            expected="comparisons of columns with constants, IN, BETWEEN, IS NULL, joined by AND, OR, NOT",
            hint="single quotes for text, double quotes for names with spaces: age_group = '65+' AND \"my col\" = 1",
        )
    )


def _serialised(connection: Any, query: str) -> dict[str, Any]:
    import duckdb

    try:
        ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    except duckdb.Error as error:
        raise unreadable(str(error)) from error
    document: dict[str, Any] = json.loads(text)
    return document


def _bare(part: Any) -> Any:
    """Return a syntax tree without positions."""
    if isinstance(part, dict):
        return {k: _bare(v) for k, v in part.items() if not k.startswith("query_location")}
    return [_bare(v) for v in part] if isinstance(part, list) else part


def _conjuncts(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case And(parts=parts):
            return tuple(c for p in parts for c in _conjuncts(p))
        case _:
            return (expression,)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns DuckDB's syntax tree into expressions; DuckDB evaluates constants, whose spelling differs by version."""

    connection: Any

    def read(self, node: Mapping[str, Any]) -> Expression:
        kind, name = node["class"], node["type"]
        match kind:
            case "CONJUNCTION":
                parts = tuple(self.read(child) for child in node["children"])
                return And(parts) if name == "CONJUNCTION_AND" else Or(parts)
            case "COMPARISON" if name in _COMPARISONS:
                return self._comparison(_COMPARISONS[name], node["left"], node["right"])
            case "BETWEEN":
                column = self._column(node["input"])
                low, high = self.constants([node["lower"], node["upper"]])
                return And((Comparison(column, ">=", low), Comparison(column, "<=", high)))
            case "OPERATOR":
                return self._operator(name, node["children"])
            case "COLUMN_REF":
                return Comparison(self._column(node), "=", True)  # noqa: FBT003 - the constant TRUE
            case _:
                raise unreadable(f"{_in_words(node)} is not supported here")

    def _comparison(self, operator: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Expression:
        if right["class"] == "COLUMN_REF" and left["class"] != "COLUMN_REF":
            left, right, operator = right, left, _MIRRORED[operator]
        (value,) = self.constants([right])
        return Comparison(self._column(left), operator, value)

    def _operator(self, name: str, children: Sequence[Mapping[str, Any]]) -> Expression:
        match name:
            case "OPERATOR_NOT":
                return Not(self.read(children[0]))
            case "COMPARE_IN" | "COMPARE_NOT_IN":
                member = Member(self._column(children[0]), tuple(self.constants(children[1:])))
                return member if name == "COMPARE_IN" else Not(member)
            case "OPERATOR_IS_NULL":
                return Null(self._column(children[0]))
            case "OPERATOR_IS_NOT_NULL":
                return Not(Null(self._column(children[0])))
            case _:
                raise unreadable(f"{name.removeprefix('OPERATOR_')} is not supported here")

    def _column(self, node: Mapping[str, Any]) -> str:
        if node["class"] != "COLUMN_REF":
            raise unreadable(f"one side of each comparison must be a column, not {_in_words(node)}")
        names = node["column_names"]
        if len(names) > 1 and names[:-1] != ["release"]:
            raise unreadable("a column is named by itself, without a table")
        return str(names[-1])

    def constants(self, nodes: Sequence[Mapping[str, Any]]) -> list[Constant]:
        for node in nodes:
            inner = node["child"] if node["class"] == "CAST" else node
            if inner["class"] != "CONSTANT":
                raise unreadable(f"a column is compared with constants only, not with {_in_words(inner)}")
        document = _serialised(self.connection, "SELECT 1")
        document["statements"][0]["node"]["select_list"] = list(nodes)
        values = self._evaluate(json.dumps(document))
        if any(v is None for v in values):
            raise unreadable("nothing equals NULL: write IS NULL")
        return values

    def _evaluate(self, document: str) -> list[Constant]:
        import duckdb

        try:
            ((query,),) = self.connection.execute("SELECT json_deserialize_sql(?)", [document]).fetchall()
            return list(self.connection.execute(query).fetchall()[0])
        except duckdb.Error as error:
            raise unreadable("a constant is not of the type that is written before it") from error


def _in_words(node: Mapping[str, Any]) -> str:
    if node["class"] == "COLUMN_REF":
        return "another column"
    if node["class"] == "CONSTANT":
        return "a constant by itself"
    if node["class"] == "FUNCTION":
        return f"the function {node['function_name']}"
    return str(node["class"]).lower().replace("_", " ")
