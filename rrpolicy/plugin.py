"""The one module that plugins import: the concepts under stable names. Heavy libraries load only when called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rrpolicy.canonical import Json, Value, exact, pretty
from rrpolicy.channel.base import Axis, Channel, Posterior, Readable, Sink, Transition
from rrpolicy.channel.table import Column, Decoder, TableSpec
from rrpolicy.errors import DataError, Place, PolicyError, Problem, RefusedError, RequirementError, RRPolicyError
from rrpolicy.finding import Basis, Companion, Derived, Finding, Measure, Profile, Standing, Verdict, by_value
from rrpolicy.hookspecs import hookimpl
from rrpolicy.mechanism import Mechanism, Origin, Outline, Proposal, Remark, Task, parameters_of
from rrpolicy.offer import Offer
from rrpolicy.policy.model import Attribute, Policy, Requirement, Role
from rrpolicy.policy.rational import Rational, rational
from rrpolicy.printable import visible
from rrpolicy.privacy.model import Assessor, Order, PerClass, PrivacyModel, Smooth
from rrpolicy.section import Fact, Section, figure, percent
from rrpolicy.source.protocol import Original, Snapshot, Source
from rrpolicy.utility.metric import UtilityMetric

if TYPE_CHECKING:
    from rrpolicy.channel.axes import Block, Domain, Identity, Matrix, Retention, Sets
    from rrpolicy.channel.expected import expected_squared_error, mean_norms
    from rrpolicy.channel.groups import Groups
    from rrpolicy.channel.parted import Parted
    from rrpolicy.channel.probability import keep_probability, retention_probability
    from rrpolicy.channel.product import Product
    from rrpolicy.channel.rank import full_column_rank
    from rrpolicy.channel.recode import ANYTHING, Recode
    from rrpolicy.channel.sampling import split_by_columns
    from rrpolicy.channel.schedule import groups_of, largest_eligible
    from rrpolicy.channel.sets import addition_mean_squared_error
    from rrpolicy.privacy.asked import frequency_l, group_size
    from rrpolicy.privacy.floor import Floor, attribute_floor, linking_floor
    from rrpolicy.report import Renderer, Report
    from rrpolicy.solve.allocate import Allocated, allocate, refuse_without_data
    from rrpolicy.solve.equal import (
        common_retention,
        common_retention_for_epsilon,
        common_retention_for_k,
        round_down,
    )
    from rrpolicy.solve.generalise import Generalised, full_domain, multidimensional
    from rrpolicy.solve.levels import Goal, Recoded, axes_at, class_attributes, recoded
    from rrpolicy.solve.objective import ExpectedError, Term, Variable, marginal, whole_table
    from rrpolicy.solve.optimal import equalise, minimise
    from rrpolicy.solve.problem import Allocation, Solution
    from rrpolicy.solve.tuples import tuple_suppression
    from rrpolicy.solve.workload import Marginal, workload_problems

_LAZY = {
    "addition_mean_squared_error": "rrpolicy.channel.sets",
    "frequency_l": "rrpolicy.privacy.asked",
    "group_size": "rrpolicy.privacy.asked",
    "ANYTHING": "rrpolicy.channel.recode",
    "Generalised": "rrpolicy.solve.generalise",
    "Goal": "rrpolicy.solve.levels",
    "Recode": "rrpolicy.channel.recode",
    "Recoded": "rrpolicy.solve.levels",
    "axes_at": "rrpolicy.solve.levels",
    "full_domain": "rrpolicy.solve.generalise",
    "tuple_suppression": "rrpolicy.solve.tuples",
    "Parted": "rrpolicy.channel.parted",
    "multidimensional": "rrpolicy.solve.generalise",
    "class_attributes": "rrpolicy.solve.levels",
    "recoded": "rrpolicy.solve.levels",
    "Renderer": "rrpolicy.report",
    "Report": "rrpolicy.report",
    "Allocated": "rrpolicy.solve.allocate",
    "Allocation": "rrpolicy.solve.problem",
    "Block": "rrpolicy.channel.retention",
    "Domain": "rrpolicy.channel.matrix",
    "ExpectedError": "rrpolicy.solve.objective",
    "Identity": "rrpolicy.channel.identity",
    "Marginal": "rrpolicy.solve.workload",
    "Matrix": "rrpolicy.channel.matrix",
    "Product": "rrpolicy.channel.product",
    "Retention": "rrpolicy.channel.retention",
    "Groups": "rrpolicy.channel.groups",
    "Sets": "rrpolicy.channel.sets",
    "groups_of": "rrpolicy.channel.schedule",
    "largest_eligible": "rrpolicy.channel.schedule",
    "Solution": "rrpolicy.solve.problem",
    "Term": "rrpolicy.solve.objective",
    "Variable": "rrpolicy.solve.objective",
    "Floor": "rrpolicy.privacy.floor",
    "attribute_floor": "rrpolicy.privacy.floor",
    "allocate": "rrpolicy.solve.allocate",
    "common_retention": "rrpolicy.solve.equal",
    "common_retention_for_epsilon": "rrpolicy.solve.equal",
    "common_retention_for_k": "rrpolicy.solve.equal",
    "equalise": "rrpolicy.solve.optimal",
    "expected_squared_error": "rrpolicy.channel.expected",
    "full_column_rank": "rrpolicy.channel.rank",
    "keep_probability": "rrpolicy.channel.probability",
    "linking_floor": "rrpolicy.privacy.floor",
    "marginal": "rrpolicy.solve.objective",
    "mean_norms": "rrpolicy.channel.expected",
    "minimise": "rrpolicy.solve.optimal",
    "refuse_without_data": "rrpolicy.solve.allocate",
    "retention_probability": "rrpolicy.channel.probability",
    "round_down": "rrpolicy.solve.equal",
    "split_by_columns": "rrpolicy.channel.sampling",
    "whole_table": "rrpolicy.solve.objective",
    "workload_problems": "rrpolicy.solve.workload",
}


def __getattr__(name: str) -> object:
    """Load what only some plugins need when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "ANYTHING",
    "Allocated",
    "Allocation",
    "Assessor",
    "Attribute",
    "Axis",
    "Basis",
    "Block",
    "Channel",
    "Column",
    "Companion",
    "DataError",
    "Decoder",
    "Derived",
    "Domain",
    "ExpectedError",
    "Fact",
    "Finding",
    "Floor",
    "Generalised",
    "Goal",
    "Groups",
    "Identity",
    "Json",
    "Marginal",
    "Matrix",
    "Measure",
    "Mechanism",
    "Offer",
    "Order",
    "Origin",
    "Original",
    "Outline",
    "Parted",
    "PerClass",
    "Place",
    "Policy",
    "PolicyError",
    "Posterior",
    "PrivacyModel",
    "Problem",
    "Product",
    "Profile",
    "Proposal",
    "RRPolicyError",
    "Rational",
    "Readable",
    "Recode",
    "Recoded",
    "RefusedError",
    "Remark",
    "Renderer",
    "Report",
    "Requirement",
    "RequirementError",
    "Retention",
    "Role",
    "Section",
    "Sets",
    "Sink",
    "Smooth",
    "Snapshot",
    "Solution",
    "Source",
    "Standing",
    "TableSpec",
    "Task",
    "Term",
    "Transition",
    "UtilityMetric",
    "Value",
    "Variable",
    "Verdict",
    "addition_mean_squared_error",
    "allocate",
    "attribute_floor",
    "axes_at",
    "by_value",
    "class_attributes",
    "common_retention",
    "common_retention_for_epsilon",
    "common_retention_for_k",
    "equalise",
    "exact",
    "expected_squared_error",
    "figure",
    "frequency_l",
    "full_column_rank",
    "full_domain",
    "group_size",
    "groups_of",
    "hookimpl",
    "keep_probability",
    "largest_eligible",
    "linking_floor",
    "marginal",
    "mean_norms",
    "minimise",
    "multidimensional",
    "parameters_of",
    "percent",
    "pretty",
    "rational",
    "recoded",
    "refuse_without_data",
    "retention_probability",
    "round_down",
    "split_by_columns",
    "tuple_suppression",
    "visible",
    "whole_table",
    "workload_problems",
]
