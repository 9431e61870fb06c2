"""What stands beside a risk in the text of a plan: a row a value, every number under its name, said once what it says."""

from __future__ import annotations

from fractions import Fraction

from rrpolicy.cli.text.plan import _finding_lines
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.planning.check import RequirementStatement


def companion(name: str, value: float, of: str, standing: Standing = Standing.EXACT) -> Companion:
    return Companion(name, Measure(value, standing), Basis.ORIGINAL, f"what {name} says", of)


def test_one_table_a_sensitive_attribute() -> None:
    finding = Finding(
        "attribute-disclosure",
        "attribute-disclosure",
        "risk <= 1/4",
        None,
        Measure(0.25),
        Fraction(1, 4),
        Verdict.SATISFIED,
        Basis.ORIGINAL,
        "",
        companions=(
            companion("risk", 0.25, "disease"),
            companion("value read correctly", 0.5, "disease"),
            companion("combinations with zero count", 3, "disease"),
            companion("risk", 0.25, "disease = Flu"),
            companion("value read correctly", 0.5, "disease = Flu"),
            companion("risk", 0.125, "disease = a\x1b[2J"),
            companion("value read correctly", 0.25, "disease = a\x1b[2J", Standing.UPPER_BOUND),
            companion("1/k", 0.01, ""),
        ),
    )
    explained = {"value read correctly"}
    assert [line.rstrip() for line in _finding_lines(finding, RequirementStatement(), explained)] == [
        "  met       attribute-disclosure: risk <= 1/4; achieved 0.25, margin 0 [original]",
        "            related: disease:",
        "                                    risk  value read correctly",
        "              maximum over values   0.25                   0.5",
        "              Flu                   0.25                   0.5",
        "              a\\x1b[2J             0.125          at most 0.25",
        "              a stricter limit of the risk may raise `value read correctly`",
        "              combinations with zero count 3",
        "              risk: what risk says",
        "              combinations with zero count: what combinations with zero count says",
        "            related: 1/k: 0.01",
        "              1/k: what 1/k says",
    ]
    assert explained == {"risk", "value read correctly", "combinations with zero count", "1/k"}
