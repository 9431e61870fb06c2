"""Findings on measures of risk that no requirement limits."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing
from rrpolicy.privacy.classes.class_model import NULLS


def measure_finding(  # noqa: PLR0917 a finding is made of them
    code: str,
    quantity: str,
    achieved: Measure,
    adversary: str,
    assumptions: Sequence[str],
    companions: Sequence[Companion],
    reference: str,
) -> Finding:
    """Return a finding without limit and verdict; missing values count as in classes."""
    assumed, related = (NULLS, *assumptions), tuple(companions)
    numbers = (achieved, None, None, Basis.RELEASE, adversary, assumed, related)
    return Finding(code, code, quantity, None, *numbers, reference=reference)


def related_number(
    name: str, value: float | Measure, meaning: str, standing: Standing = Standing.EXACT, of: str = ""
) -> Companion:
    """Return a companion of such a finding."""
    measure = value if isinstance(value, Measure) else Measure(float(value), standing)
    return Companion(name, measure, Basis.RELEASE, meaning, of)
