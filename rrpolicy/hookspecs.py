"""Every hook of rrpolicy. A plugin implements those it needs and registers under the entry-point group `rrpolicy`.

Each hook is called once, when a policy, a bundle or a command is opened, and never during a draw. Each returns an
iterable of parts or of offers: a name and the location of the part. An offer is imported when a policy uses its name,
so that a check stays fast with any number of plugins. Two plugins that offer the same name are refused (exit 4).

    from rrpolicy.plugin import Offer, hookimpl

    @hookimpl
    def rrpolicy_mechanisms():
        return [Offer("acme-oue", "acme_oue.mechanism:UnaryEncoding")]

An offer of assessors has the privacy model's name, or none for several models of its channel, and refers to a
function that returns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Channel
    from rrpolicy.estimate.invert.estimator import Estimator
    from rrpolicy.formats.format import Format
    from rrpolicy.formats.parts import FileSink
    from rrpolicy.mechanism import Mechanism
    from rrpolicy.plugin_spec import Offer
    from rrpolicy.privacy.model import Assessor, PrivacyModel
    from rrpolicy.report import Renderer
    from rrpolicy.source.protocol import Source
    from rrpolicy.utility.metric import UtilityMetric

hookspec = pluggy.HookspecMarker("rrpolicy")
hookimpl = pluggy.HookimplMarker("rrpolicy")


@hookspec
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any] | Offer]:  # type: ignore[empty-body]
    """Offer mechanisms, which read a policy and counts and plan a channel. Called when a policy is opened."""


@hookspec
def rrpolicy_channels() -> Iterable[type[Channel | Axis]]:  # type: ignore[empty-body]
    """Offer channel and axis kinds. Called when a plan or a release that contains them is read."""


@hookspec
def rrpolicy_privacy_models() -> Iterable[PrivacyModel[Any] | Offer]:  # type: ignore[empty-body]
    """Offer privacy models, the kinds of requirements of a policy. Called when a policy is opened."""


@hookspec
def rrpolicy_assessors() -> Iterable[Assessor | Offer]:  # type: ignore[empty-body]
    """Offer assessors, which decide a requirement for a channel kind. Two for the same case are refused.

    A model of equivalence classes brings its own, see `ClassModel`.
    """


@hookspec
def rrpolicy_utility_metrics() -> Iterable[UtilityMetric[Any] | Offer]:  # type: ignore[empty-body]
    """Offer utility metrics. Called when a policy is opened."""


@hookspec
def rrpolicy_sources() -> Iterable[Source]:  # type: ignore[empty-body]
    """Offer engines that open tables, each for its URI schemes or file endings. Called when a table is opened."""


@hookspec
def rrpolicy_renderers() -> Iterable[Renderer | Offer]:  # type: ignore[empty-body]
    """Offer renderers of the report. Called when a release is written or a report is requested."""


@hookspec
def rrpolicy_formats() -> Iterable[Format | Offer]:  # type: ignore[empty-body]
    """Offer formats of released tables: writing, reading, metadata. Called when a policy or bundle is opened.

    Verifying or estimating a release in such a format needs the plugin, which must be listed.
    """


@hookspec
def rrpolicy_sinks() -> Iterable[FileSink | Offer]:  # type: ignore[empty-body]
    """Offer sinks, which expand drawn counts and write a release's files elsewhere. Called when a release names a sink.

    Verifying or estimating the release does not need the plugin: the files are those of the format.
    """


@hookspec
def rrpolicy_estimators() -> Iterable[Estimator | Offer]:  # type: ignore[empty-body]
    """Offer estimators: other point estimates for a table of counts. Called when a release is opened."""


@hookspec
def rrpolicy_codes() -> Iterable[tuple[str, str]]:  # type: ignore[empty-body]
    """Offer pages on the codes of the plugin's errors: each code with its page in Markdown.

    Called by `rrpolicy explain CODE --plugin DISTRIBUTION`. A code is capital letters that identify the plugin, and a
    number: `ACME101`. Codes of rrpolicy itself (RR and digits) and those of other plugins are refused.
    """
