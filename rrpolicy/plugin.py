"""The one module that plugins import: the concepts under stable names. Heavy libraries load only when called."""

from __future__ import annotations

from rrpolicy.canonical import Json, Value, exact, pretty
from rrpolicy.channel.base import Axis, Channel, Posterior, Sink, Transition
from rrpolicy.channel.table import Column, Decoder, TableSpec
from rrpolicy.errors import DataError, Place, PolicyError, Problem, RefusedError, RequirementError, RRPolicyError
from rrpolicy.finding import Basis, Companion, Finding, Measure, Profile, Standing, Verdict
from rrpolicy.hookspecs import hookimpl
from rrpolicy.mechanism import Mechanism, Origin, Outline, Proposal, Remark, Task
from rrpolicy.policy.model import Attribute, Policy, Requirement, Role
from rrpolicy.policy.rational import Rational, rational
from rrpolicy.privacy.model import Assessor, Order, PerClass, PrivacyModel, Smooth
from rrpolicy.report import Renderer, Report
from rrpolicy.source.protocol import Original, Snapshot, Source
from rrpolicy.utility.metric import UtilityMetric

__all__ = [
    "Assessor",
    "Attribute",
    "Axis",
    "Basis",
    "Channel",
    "Column",
    "Companion",
    "DataError",
    "Decoder",
    "Finding",
    "Json",
    "Measure",
    "Mechanism",
    "Order",
    "Origin",
    "Original",
    "Outline",
    "PerClass",
    "Place",
    "Policy",
    "PolicyError",
    "Posterior",
    "PrivacyModel",
    "Problem",
    "Profile",
    "Proposal",
    "RRPolicyError",
    "Rational",
    "RefusedError",
    "Remark",
    "Renderer",
    "Report",
    "Requirement",
    "RequirementError",
    "Role",
    "Sink",
    "Smooth",
    "Snapshot",
    "Source",
    "Standing",
    "TableSpec",
    "Task",
    "Transition",
    "UtilityMetric",
    "Value",
    "Verdict",
    "exact",
    "hookimpl",
    "pretty",
    "rational",
]
