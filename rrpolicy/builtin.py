"""What the core itself brings, registered through the same hooks and the same entry-point group as any plugin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Assessor, Axis, Channel, PrivacyModel, Source, UtilityMetric, hookimpl


@hookimpl
def rrpolicy_channels() -> Iterable[type[Channel | Axis]]:
    """Offer the product channel and its axes."""
    from rrpolicy.channel.axes import Identity, Matrix, Recode, Retention, Sets
    from rrpolicy.channel.product import Product

    return [Product, Identity, Retention, Matrix, Recode, Sets]


@hookimpl
def rrpolicy_privacy_models() -> Iterable[PrivacyModel[Any]]:
    """Offer the privacy models of the core."""
    from rrpolicy.privacy.attribute_disclosure import AttributeDisclosure
    from rrpolicy.privacy.identity_disclosure import IdentityDisclosure
    from rrpolicy.privacy.local_dp import LocalDP
    from rrpolicy.privacy.pk_anonymity import PkAnonymity

    return [PkAnonymity(), LocalDP(), AttributeDisclosure(), IdentityDisclosure()]


@hookimpl
def rrpolicy_assessors() -> Iterable[Assessor]:
    """Offer the assessors of the core's models."""
    from rrpolicy.privacy import attribute_disclosure, identity_disclosure, local_dp, pk_anonymity

    models = (pk_anonymity, local_dp, attribute_disclosure, identity_disclosure)
    return [assessor for model in models for assessor in model.assessors()]


@hookimpl
def rrpolicy_utility_metrics() -> Iterable[UtilityMetric[Any]]:
    """Offer the utility metrics of the core."""
    from rrpolicy.utility.expected_l2 import ExpectedL2

    return [ExpectedL2()]


@hookimpl
def rrpolicy_sources() -> Iterable[Source]:
    """Offer DuckDB (Parquet, CSV, databases) and the demo table."""
    from rrpolicy.source.demo import DemoSource
    from rrpolicy.source.duckdb import DuckDBSource

    return [DuckDBSource(), DemoSource()]
