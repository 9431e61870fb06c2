"""Parts of the core, registered through the same hooks and the same entry-point group as those of plugins.

Offers only: parts that a policy does not name are never imported.
"""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Axis, Channel, Offer, Source, hookimpl

MODELS = {
    "pk-anonymity": "rrpolicy.privacy.models.pk_anonymity:PkAnonymity",
    "local-dp": "rrpolicy.privacy.models.local_dp:LocalDP",
    "rho1-to-rho2": "rrpolicy.privacy.models.rho1_to_rho2:Rho1ToRho2",
    "attribute-disclosure": "rrpolicy.privacy.models.attribute_disclosure:AttributeDisclosure",
    "identity-disclosure": "rrpolicy.privacy.models.identity_disclosure:IdentityDisclosure",
    "k-anonymity": "rrpolicy.privacy.models.k_anonymity:KAnonymity",
    "l-diversity": "rrpolicy.privacy.models.l_diversity:LDiversity",
    "t-closeness": "rrpolicy.privacy.models.t_closeness:TCloseness",
    "alpha-k-anonymity": "rrpolicy.privacy.models.alpha_k_anonymity:AlphaKAnonymity",
    "beta-likeness": "rrpolicy.privacy.models.beta_likeness:BetaLikeness",
    "delta-disclosure": "rrpolicy.privacy.models.delta_disclosure:DeltaDisclosure",
    "k-map": "rrpolicy.privacy.models.k_map:KMap",
    "delta-presence": "rrpolicy.privacy.models.delta_presence:DeltaPresence",
}
"""Privacy model -> its class."""

ASSESSORS = (
    ("", "anatomy", "rrpolicy.privacy.anatomy.assessors:assessors"),
    ("", "suppression", "rrpolicy.privacy.suppression.assessors:assessors"),
    ("l-diversity", "product", "rrpolicy.privacy.addition.diversity:assessors"),
    ("t-closeness", "product", "rrpolicy.privacy.addition.closeness:assessors"),
)
"""Privacy model, kind of channel, and the function that returns the assessors which no model brings itself.

A channel offers those of all models at once; released sets are one of many axes of a product."""

METRICS = {
    "expected-l2": "rrpolicy.utility.expected_l2:ExpectedL2",
    "addition-mse": "rrpolicy.utility.addition_mse:AdditionMSE",
    "total-variation": "rrpolicy.utility.distances:TotalVariation",
    "l1": "rrpolicy.utility.distances:L1",
    "l2": "rrpolicy.utility.distances:L2",
    "hellinger": "rrpolicy.utility.distances:Hellinger",
    "kl-divergence": "rrpolicy.utility.distances:KLDivergence",
    "chi-square": "rrpolicy.utility.distances:ChiSquare",
    "pmse": "rrpolicy.utility.distances:PMSE",
    "interval-overlap": "rrpolicy.utility.interval_overlap:IntervalOverlap",
    "mutual-information-change": "rrpolicy.utility.associations:MutualInformationChange",
    "uncertainty-coefficient-change": "rrpolicy.utility.associations:UncertaintyCoefficientChange",
    "cramers-v-change": "rrpolicy.utility.associations:CramersVChange",
    "ncp": "rrpolicy.utility.losses:NCP",
    "discernibility": "rrpolicy.utility.losses:Discernibility",
    "classification-loss": "rrpolicy.utility.losses:ClassificationLoss",
    "group-by-error": "rrpolicy.utility.query_metrics:GroupByError",
    "cube-error": "rrpolicy.utility.query_metrics:CubeError",
    "random-query-error": "rrpolicy.utility.query_metrics:RandomQueryError",
}
"""Utility metric -> its class."""


@hookimpl
def rrpolicy_channels() -> Iterable[type[Channel | Axis]]:
    """Offer the channels and their axes."""
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.channels.axes.identity import Identity
    from rrpolicy.channels.axes.matrix import Matrix
    from rrpolicy.channels.axes.recode import Recode
    from rrpolicy.channels.axes.retention import Retention
    from rrpolicy.channels.axes.sets import Sets
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.channels.suppression.channel import SuppressionChannel
    from rrpolicy.channels.undisclosed_channel import UndisclosedChannel

    return [Product, AnatomyChannel, SuppressionChannel, UndisclosedChannel, Identity, Retention, Matrix, Recode, Sets]


@hookimpl
def rrpolicy_privacy_models() -> Iterable[Offer]:
    """Offer the privacy models of the core."""
    return [Offer(name, where) for name, where in MODELS.items()]


@hookimpl
def rrpolicy_assessors() -> Iterable[Offer]:
    """Offer the assessors that no model brings itself."""
    return [Offer(model, where, channel) for model, channel, where in ASSESSORS]


@hookimpl
def rrpolicy_utility_metrics() -> Iterable[Offer]:
    """Offer the utility metrics of the core."""
    return [Offer(name, where) for name, where in METRICS.items()]


@hookimpl
def rrpolicy_formats() -> Iterable[Offer]:
    """Offer Parquet, CSV and DuckDB files."""
    from rrpolicy.formats.format import FORMAT_OFFERS

    return FORMAT_OFFERS


@hookimpl
def rrpolicy_sinks() -> Iterable[Offer]:
    """Offer writing by this process."""
    return [Offer("here", "rrpolicy.formats.parts:LOCAL_SINK")]


@hookimpl
def rrpolicy_estimators() -> Iterable[Offer]:
    """Offer maximum likelihood and projection."""
    from rrpolicy.estimate.invert.estimator import OFFERS

    return OFFERS


@hookimpl
def rrpolicy_sources() -> Iterable[Source]:
    """Offer DuckDB (Parquet, CSV, databases) and the demo table."""
    from rrpolicy.drafting.demo.source import DemoSource
    from rrpolicy.source.duckdb.source import DuckDBSource

    return [DuckDBSource(), DemoSource()]
