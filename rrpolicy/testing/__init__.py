"""The conformance kit: what every axis, assessor, source and mechanism must do, whoever wrote it.

Call the checks from the tests of a plugin; each raises AssertionError with the reason in words. The built-ins are held
to the same checks.

    from rrpolicy.testing import check_axis, check_mechanism, policy_of

    def test_conformance():
        check_axis(UnaryAxis.of("sex", ["f", "m"], keep=Fraction(3, 4)))
        policy = policy_of({"sex": ["f", "m"]}, requirements, "acme-oue", Options(keep="3/4"))
        check_mechanism(UnaryEncoding(), policy, requirements_with_assessors, 10_000, kinds)

What they are given is made here, too: `policy_of` and `TableInMemory` for resolved policies and tables in memory;
`policy_text` and `write_csv` for files, which `rrpolicy.release` and the commands take.
"""

from rrpolicy.testing.assessors import check_assessor
from rrpolicy.testing.axes import check_axis
from rrpolicy.testing.demand import demand
from rrpolicy.testing.mechanisms import check_mechanism
from rrpolicy.testing.memory import TableInMemory
from rrpolicy.testing.policies import policy_of, policy_text, write_csv
from rrpolicy.testing.sources import check_source

__all__ = [
    "TableInMemory",
    "check_assessor",
    "check_axis",
    "check_mechanism",
    "check_source",
    "demand",
    "policy_of",
    "policy_text",
    "write_csv",
]
