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
from rrpolicy.privacy.model import Assessor, Order, PerClass, PrivacyModel, Smooth
from rrpolicy.section import Fact, Section, figure, percent
from rrpolicy.source.protocol import Original, Snapshot, Source
from rrpolicy.untrusted.printable import visible
from rrpolicy.utility.metric import UtilityMetric

if TYPE_CHECKING:
    from rrpolicy.channel.anatomy.channel import Groups
    from rrpolicy.channel.anatomy.schedule import groups_of, largest_eligible
    from rrpolicy.channel.axes.categories import Domain
    from rrpolicy.channel.axes.identity import Identity
    from rrpolicy.channel.axes.matrix import Matrix
    from rrpolicy.channel.axes.rank import full_column_rank
    from rrpolicy.channel.axes.recode import ANYTHING, Recode
    from rrpolicy.channel.axes.retention import Block, Retention
    from rrpolicy.channel.axes.set_error import addition_mean_squared_error
    from rrpolicy.channel.axes.sets import Sets
    from rrpolicy.channel.probability import keep_probability, retention_probability
    from rrpolicy.channel.product.channel import Product
    from rrpolicy.channel.product.expected_error import expected_squared_error, mean_norms
    from rrpolicy.channel.sampling.variates import split_by_columns
    from rrpolicy.channel.suppression.channel import Parted
    from rrpolicy.privacy.disclosure.minimum_risk import attribute_floor, linking_floor
    from rrpolicy.privacy.model import Floor
    from rrpolicy.privacy.models.thresholds import frequency_l, group_size
    from rrpolicy.report import Renderer, Report
    from rrpolicy.solve.recode.generalise import Generalised, full_domain, multidimensional
    from rrpolicy.solve.recode.levels import Goal, Recoded, axes_at, class_attributes, recoded
    from rrpolicy.solve.retention.allocate import Allocated, allocate, refuse_without_data
    from rrpolicy.solve.retention.equal import (
        common_retention,
        common_retention_for_epsilon,
        common_retention_for_k,
        round_down,
    )
    from rrpolicy.solve.retention.objective import ExpectedError, Term, Variable, marginal, whole_table
    from rrpolicy.solve.retention.optimal import equalise, minimise
    from rrpolicy.solve.retention.problem import Allocation, Solution
    from rrpolicy.solve.retention.workload import Marginal, workload_problems
    from rrpolicy.solve.suppression import tuple_suppression

_LAZY = {
    "addition_mean_squared_error": "rrpolicy.channel.axes.set_error",
    "frequency_l": "rrpolicy.privacy.models.thresholds",
    "group_size": "rrpolicy.privacy.models.thresholds",
    "ANYTHING": "rrpolicy.channel.axes.recode",
    "Generalised": "rrpolicy.solve.recode.generalise",
    "Goal": "rrpolicy.solve.recode.levels",
    "Recode": "rrpolicy.channel.axes.recode",
    "Recoded": "rrpolicy.solve.recode.levels",
    "axes_at": "rrpolicy.solve.recode.levels",
    "full_domain": "rrpolicy.solve.recode.generalise",
    "tuple_suppression": "rrpolicy.solve.suppression",
    "Parted": "rrpolicy.channel.suppression.channel",
    "multidimensional": "rrpolicy.solve.recode.generalise",
    "class_attributes": "rrpolicy.solve.recode.levels",
    "recoded": "rrpolicy.solve.recode.levels",
    "Renderer": "rrpolicy.report",
    "Report": "rrpolicy.report",
    "Allocated": "rrpolicy.solve.retention.allocate",
    "Allocation": "rrpolicy.solve.retention.problem",
    "Block": "rrpolicy.channel.axes.retention",
    "Domain": "rrpolicy.channel.axes.matrix",
    "ExpectedError": "rrpolicy.solve.retention.objective",
    "Identity": "rrpolicy.channel.axes.identity",
    "Marginal": "rrpolicy.solve.retention.workload",
    "Matrix": "rrpolicy.channel.axes.matrix",
    "Product": "rrpolicy.channel.product.channel",
    "Retention": "rrpolicy.channel.axes.retention",
    "Groups": "rrpolicy.channel.anatomy.channel",
    "Sets": "rrpolicy.channel.axes.sets",
    "groups_of": "rrpolicy.channel.anatomy.schedule",
    "largest_eligible": "rrpolicy.channel.anatomy.schedule",
    "Solution": "rrpolicy.solve.retention.problem",
    "Term": "rrpolicy.solve.retention.objective",
    "Variable": "rrpolicy.solve.retention.objective",
    "Floor": "rrpolicy.privacy.model",
    "attribute_floor": "rrpolicy.privacy.disclosure.minimum_risk",
    "allocate": "rrpolicy.solve.retention.allocate",
    "common_retention": "rrpolicy.solve.retention.equal",
    "common_retention_for_epsilon": "rrpolicy.solve.retention.equal",
    "common_retention_for_k": "rrpolicy.solve.retention.equal",
    "equalise": "rrpolicy.solve.retention.optimal",
    "expected_squared_error": "rrpolicy.channel.product.expected_error",
    "full_column_rank": "rrpolicy.channel.axes.rank",
    "keep_probability": "rrpolicy.channel.probability",
    "linking_floor": "rrpolicy.privacy.disclosure.minimum_risk",
    "marginal": "rrpolicy.solve.retention.objective",
    "mean_norms": "rrpolicy.channel.product.expected_error",
    "minimise": "rrpolicy.solve.retention.optimal",
    "refuse_without_data": "rrpolicy.solve.retention.allocate",
    "retention_probability": "rrpolicy.channel.probability",
    "round_down": "rrpolicy.solve.retention.equal",
    "split_by_columns": "rrpolicy.channel.sampling.variates",
    "whole_table": "rrpolicy.solve.retention.objective",
    "workload_problems": "rrpolicy.solve.retention.workload",
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
