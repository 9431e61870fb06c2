# What plugins import, and where it stands: `plugin.py` reads this list.
from rrpolicy.canonical import Json as Json, Value as Value, exact as exact, pretty as pretty
from rrpolicy.channel.anatomy.channel import AnatomyChannel as AnatomyChannel
from rrpolicy.channel.anatomy.schedule import groups_of as groups_of, largest_eligible as largest_eligible
from rrpolicy.channel.axes.categories import Domain as Domain
from rrpolicy.channel.axes.identity import Identity as Identity
from rrpolicy.channel.axes.matrix import Matrix as Matrix
from rrpolicy.channel.axes.rank import full_column_rank as full_column_rank
from rrpolicy.channel.axes.recode import ANYTHING as ANYTHING, Recode as Recode
from rrpolicy.channel.axes.retention import Retention as Retention
from rrpolicy.channel.axes.set_error import addition_mean_squared_error as addition_mean_squared_error
from rrpolicy.channel.axes.sets import Sets as Sets
from rrpolicy.channel.base import (
    Axis as Axis,
    Channel as Channel,
    Posterior as Posterior,
    Readable as Readable,
    Sink as Sink,
    Transition as Transition,
)
from rrpolicy.channel.decoders import (
    AdditionDecoder as AdditionDecoder,
    AnatomyDecoder as AnatomyDecoder,
    Decoder as Decoder,
    IdentityDecoder as IdentityDecoder,
    MatrixDecoder as MatrixDecoder,
    RecodeDecoder as RecodeDecoder,
    RetentionDecoder as RetentionDecoder,
)
from rrpolicy.channel.probability import keep_probability as keep_probability
from rrpolicy.channel.product.channel import Product as Product
from rrpolicy.channel.sampling.variates import split_by_columns as split_by_columns
from rrpolicy.channel.suppression.channel import SuppressionChannel as SuppressionChannel
from rrpolicy.channel.table import Column as Column, TableSpec as TableSpec
from rrpolicy.errors import (
    DataError as DataError,
    PolicyError as PolicyError,
    Problem as Problem,
    RequirementError as RequirementError,
)
from rrpolicy.estimate.invert.estimator import Estimator as Estimator, Inversion as Inversion
from rrpolicy.finding import (
    Basis as Basis,
    Companion as Companion,
    Derived as Derived,
    Finding as Finding,
    Measure as Measure,
    Origin as Origin,
    Standing as Standing,
    Verdict as Verdict,
    by_value as by_value,
)
from rrpolicy.formats.column_types import arrow_schema as arrow_schema
from rrpolicy.formats.format import (
    Format as Format,
    TableWriter as TableWriter,
    UnlikeSpecError as UnlikeSpecError,
)
from rrpolicy.hookspecs import hookimpl as hookimpl
from rrpolicy.mechanism import (
    Mechanism as Mechanism,
    Outline as Outline,
    Proposal as Proposal,
    Remark as Remark,
    Task as Task,
    parameters_of as parameters_of,
    refuse_without_data as refuse_without_data,
)
from rrpolicy.offer import Offer as Offer
from rrpolicy.policy.model import Attribute as Attribute, Policy as Policy, Requirement as Requirement, Role as Role
from rrpolicy.policy.rational import Rational as Rational
from rrpolicy.privacy.model import (
    Assessor as Assessor,
    Order as Order,
    PerClass as PerClass,
    PrivacyModel as PrivacyModel,
    Smooth as Smooth,
)
from rrpolicy.privacy.models.thresholds import (
    BY_FREQUENCY as BY_FREQUENCY,
    frequency_l as frequency_l,
    group_size as group_size,
)
from rrpolicy.report import Renderer as Renderer, Report as Report
from rrpolicy.section import Fact as Fact, Section as Section, figure as figure, percent as percent
from rrpolicy.solve.recode.generalise import (
    Generalised as Generalised,
    full_domain as full_domain,
    multidimensional as multidimensional,
)
from rrpolicy.solve.recode.levels import (
    Goal as Goal,
    Recoded as Recoded,
    axes_at as axes_at,
    class_attributes as class_attributes,
    recoded as recoded,
)
from rrpolicy.solve.retention.allocate import allocate as allocate
from rrpolicy.solve.retention.workload import Marginal as Marginal, workload_problems as workload_problems
from rrpolicy.solve.suppression import tuple_suppression as tuple_suppression
from rrpolicy.source.protocol import Original as Original, Snapshot as Snapshot, Source as Source
from rrpolicy.untrusted.templates import template_environment as template_environment
from rrpolicy.untrusted.printable import visible as visible
from rrpolicy.utility.metric import UtilityMetric as UtilityMetric
