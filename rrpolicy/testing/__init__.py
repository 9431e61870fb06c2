r"""The conformance kit: checks that every plugin must pass, one for each kind.

Call the checks from the tests of a plugin; each raises AssertionError with the reason in words. The built-ins pass the
same checks. Nothing but rrpolicy is needed, and no plugin need be installed.

    from rrpolicy.testing import check_axis, check_mechanism, open_policy, policy_text

    def test_conformance():
        check_axis(UnaryAxis.of("sex", ["f", "m"], keep=Fraction(3, 4)))
        policy = open_policy(policy_text('[attributes]\nsex = ...'), [acme_oue])
        check_mechanism(UnaryEncoding(), policy, refused=[{"keep": 2}])

Inputs of the checks are made here, too: `open_policy`, `policy_of` and `TableInMemory` for resolved policies and tables
in memory; `policy_text` and `write_csv` for files, which `rrpolicy.release` and the commands take. Several metrics are
checked in the time of one within `shared_releases`.
"""

from rrpolicy.testing.assertions import demand
from rrpolicy.testing.assessors import check_assessor
from rrpolicy.testing.axes import check_axis
from rrpolicy.testing.channels import check_channel
from rrpolicy.testing.draws import shared_releases
from rrpolicy.testing.estimators import check_estimator
from rrpolicy.testing.formats import check_format, check_sink
from rrpolicy.testing.mechanisms import check_mechanism
from rrpolicy.testing.memory import TableInMemory
from rrpolicy.testing.metrics import check_metric
from rrpolicy.testing.models import check_privacy_model
from rrpolicy.testing.policies import open_policy, policy_of, policy_text, write_csv
from rrpolicy.testing.renderers import check_renderer
from rrpolicy.testing.sources import check_source

__all__ = [
    "TableInMemory",
    "check_assessor",
    "check_axis",
    "check_channel",
    "check_estimator",
    "check_format",
    "check_mechanism",
    "check_metric",
    "check_privacy_model",
    "check_renderer",
    "check_sink",
    "check_source",
    "demand",
    "open_policy",
    "policy_of",
    "policy_text",
    "shared_releases",
    "write_csv",
]
