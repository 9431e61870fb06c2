"""Matrices of the policy read against a domain: written out, or invariant."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rrpolicy.plugin import Attribute
from rrpolicy.plugin.solve import full_column_rank
from rrpolicy_pram.layout import ExplicitRule, FixedProbability, InvariantRule, labels_of
from rrpolicy_pram.options import ExplicitMatrix, Label, PramOptions, ProblemCollector, quoted_labels, quoted_names


def read_explicit(
    attributes: Sequence[Attribute], name: str, matrix: ExplicitMatrix, complaints: ProblemCollector
) -> ExplicitRule | None:
    """Return a matrix written out, its columns in domain order; None if something is wrong (RR233)."""
    key, what = f"matrix.{name}", f"the matrix of {quoted_names(attributes)}"
    domain = labels_of(attributes)
    if domain is None or any(a.observed for a in attributes):
        complaints.add("RR233", f"{what} needs a declared domain, not an observed one", key)
        return None
    wrong = _width_problem(len(attributes), matrix) or _labels_problem(domain, matrix) or _shape_problem(matrix)
    if wrong is not None:
        complaints.add("RR233", f"{what}: {wrong}", key)
        return None
    hint = "a column contains the probabilities of all released categories, given one original"
    columns = dict(zip(matrix.original, zip(*matrix.rows, strict=True), strict=True))
    faults = {label: fault for label, column in columns.items() if (fault := _column_problem(column)) is not None}
    for label, fault in faults.items():
        complaints.add("RR233", f"{what}: its column {quoted_labels([label])} {fault}", f"{key}.rows", hint=hint)
    if faults:
        return None
    if not full_column_rank(matrix.rows):
        fault = "cannot be undone: a column is a combination of others, so no count could be estimated"
        complaints.add("RR233", f"{what} {fault}", f"{key}.rows")
        return None
    order = [matrix.original.index(label) for label in domain]
    return ExplicitRule(matrix.released, tuple(tuple(row[i] for i in order) for row in matrix.rows))


def _width_problem(width: int, matrix: ExplicitMatrix) -> str | None:
    """Return why a label is not a combination of the attributes, or is one although there is one attribute."""
    widths = {len(label) if isinstance(label, tuple) else 1 for label in (*matrix.released, *matrix.original)}
    lists = any(isinstance(label, tuple) for label in (*matrix.released, *matrix.original))
    if widths == {width} and lists == (width > 1):
        return None
    return f"name every combination by a list of {width} categories" if width > 1 else "name categories, not lists"


def _labels_problem(domain: tuple[Label, ...], matrix: ExplicitMatrix) -> str | None:
    if sorted(map(repr, matrix.original)) != sorted(map(repr, domain)):
        odd = quoted_labels(v for v in matrix.original if v not in domain)
        missing = quoted_labels(v for v in domain if v not in matrix.original)
        return f"its columns must be the categories of the domain; not in it: {odd}; missing: {missing}"
    if len(set(matrix.released)) < len(matrix.released):
        return "a released category appears twice"
    return None


def _shape_problem(matrix: ExplicitMatrix) -> str | None:
    if len(matrix.rows) != len(matrix.released):
        return f"it has {len(matrix.rows)} rows for {len(matrix.released)} released categories"
    for label, row in zip(matrix.released, matrix.rows, strict=True):
        if len(row) != len(matrix.original):
            row_name, expected = quoted_labels([label]), len(matrix.original)
            return f"its row {row_name} has {len(row)} entries for {expected} original categories"
    return None


def _column_problem(column: tuple[Fraction, ...]) -> str | None:
    if min(column) < 0:
        return "has a negative entry"
    return None if sum(column) == 1 else f"sums to {sum(column)}, not to 1"


def read_invariant(
    attribute: Attribute, options: PramOptions, given: FixedProbability, complaints: ProblemCollector
) -> InvariantRule | None:
    """Return an invariant matrix, its marginal still open if it is to be observed; None if wrong (RR236)."""
    name, marginal = attribute.name, options.invariant[attribute.name]
    key = f"invariant.{name}"
    if given == FixedProbability():
        complaints.add(
            "RR236",
            f"the invariant matrix of '{name}' starts from a retention matrix, whose parameter is missing",
            key,
            hint=f'add keep_probability = {{ {name} = "4/5" }}, or retention_probability',
        )
        return None
    if isinstance(marginal, str):
        return InvariantRule(given, None, "observed")
    if attribute.domain is None or attribute.observed:
        complaints.add("RR236", f"a declared marginal needs the domain of '{name}' declared", key)
        return None
    labels = [str(v) for v in attribute.domain]
    wrong = _marginal_problem(labels, marginal)
    if wrong is not None:
        complaints.add("RR236", f"the marginal of '{name}' {wrong}", key)
        return None
    return InvariantRule(given, tuple(marginal[label] for label in labels), "declared")


def _marginal_problem(labels: list[str], marginal: dict[str, Fraction]) -> str | None:
    if set(labels) != set(marginal):
        odd = quoted_labels(sorted(set(labels) ^ set(marginal)))
        return f"must have a share for every category and nothing else; check {odd}"
    if min(marginal.values()) < 0:
        return "has a negative share"
    total = sum(marginal.values())
    return None if total == 1 else f"sums to {total}, not to 1"
