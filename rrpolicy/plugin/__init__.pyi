# What plugins import, and where it stands: `__init__.py` reads this list.
from rrpolicy.canonical_json import Value as Value, exact as exact, pretty as pretty
from rrpolicy.channels.anatomy.channel import AnatomyChannel as AnatomyChannel
from rrpolicy.channels.axes.identity import Identity as Identity
from rrpolicy.channels.axes.matrix import Matrix as Matrix
from rrpolicy.channels.axes.recode import Recode as Recode
from rrpolicy.channels.axes.retention import Retention as Retention
from rrpolicy.channels.axes.sets import Sets as Sets
from rrpolicy.channels.axes.categories import Several as Several
from rrpolicy.channels.axes.identity import Single as Single
from rrpolicy.channels.base import (
    Axis as Axis,
    Channel as Channel,
    Posterior as Posterior,
    Readable as Readable,
    Transition as Transition,
    lists_values as lists_values,
)
from rrpolicy.channels.decoders import (
    AdditionDecoder as AdditionDecoder,
    AnatomyDecoder as AnatomyDecoder,
    Decoder as Decoder,
    IdentityDecoder as IdentityDecoder,
    MatrixDecoder as MatrixDecoder,
    RecodeDecoder as RecodeDecoder,
    RetentionDecoder as RetentionDecoder,
)
from rrpolicy.channels.probability import largest_ratio as largest_ratio, smallest_cross_ratio as smallest_cross_ratio
from rrpolicy.channels.product.channel import Product as Product
from rrpolicy.channels.sampling.variates import split_by_columns as split_by_columns
from rrpolicy.channels.suppression.channel import SuppressionChannel as SuppressionChannel
from rrpolicy.channels.table import Column as Column, TableSpec as TableSpec
from rrpolicy.plotting.chart import nice_step as nice_step
from rrpolicy.errors import (
    DataError as DataError,
    PolicyError as PolicyError,
    Problem as Problem,
    RequirementError as RequirementError,
)
from rrpolicy.estimate.invert.estimator import Estimator as Estimator, Inversion as Inversion
from rrpolicy.frozen import replace as replace
from rrpolicy.finding import (
    Basis as Basis,
    Companion as Companion,
    Derived as Derived,
    Finding as Finding,
    Measure as Measure,
    Origin as Origin,
    Risk as Risk,
    Standing as Standing,
    Verdict as Verdict,
    by_value as by_value,
)
from rrpolicy.formats.column_types import arrow_schema as arrow_schema
from rrpolicy.formats.format import Format as Format, TableWriter as TableWriter, UnlikeSpecError as UnlikeSpecError
from rrpolicy.hookspecs import hookimpl as hookimpl
from rrpolicy.mechanism import (
    Mechanism as Mechanism,
    Outline as Outline,
    Proposal as Proposal,
    Remark as Remark,
    Task as Task,
    parameters_of as parameters_of,
)
from rrpolicy.plugin_spec import Offer as Offer
from rrpolicy.policy.model import (
    PLAIN as PLAIN,
    Attribute as Attribute,
    Policy as Policy,
    Reading as Reading,
    Requirement as Requirement,
)
from rrpolicy.declarations import Role as Role
from rrpolicy.policy.rational import Rational as Rational
from rrpolicy.privacy.classes.grouping import (
    equivalence_classes as equivalence_classes,
    written_classes as written_classes,
)
from rrpolicy.privacy.model import (
    Assessor as Assessor,
    Order as Order,
    PerClass as PerClass,
    PrivacyModel as PrivacyModel,
    Smooth as Smooth,
    conclude as conclude,
)
from rrpolicy.numbers import (
    figure as figure,
    percent as percent,
)
from rrpolicy.report import Renderer as Renderer, Report as Report, Section as Section
from rrpolicy.source.duckdb.files import pin as pin
from rrpolicy.source.memory.copied_records import encoded as encoded
from rrpolicy.source.protocol import (
    MULTIPLICITY as MULTIPLICITY,
    Original as Original,
    Snapshot as Snapshot,
    Source as Source,
)
from rrpolicy.escaping.printable import visible as visible
from rrpolicy.escaping.templates import template_environment as template_environment
from rrpolicy.utility.metric import UtilityMetric as UtilityMetric
