"""How a measure of risk that no requirement limits stands as a finding."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing
from rrpolicy.privacy.classes.class_model import NULLS


def measure_finding(  # noqa: PLR0917 a finding is made of them
    code: str,
    said: str,
    achieved: Measure,
    adversary: str,
    assumptions: Sequence[str],
    companions: Sequence[Companion],
    reference: str,
) -> Finding:
    """Return a finding without limit and verdict.

    Args:
        code: of the measure.
        said: what the number is, in words.
        achieved: the number.
        adversary: whom it speaks of, in a sentence.
        assumptions: what it rests on, besides how missing values count.
        companions: what stands beside it.
        reference: where the formula stands.
    """
    rests = (NULLS, *assumptions)
    told = tuple(companions)
    return Finding(
        code, code, said, None, achieved, None, None, Basis.RELEASE, adversary, rests, told, reference=reference
    )


def related_number(
    name: str, value: float, meaning: str, standing: Standing = Standing.EXACT, of: str = ""
) -> Companion:
    """Return a number that stands beside a measure."""
    return related_measure(name, Measure(float(value), standing), meaning, of)


def related_measure(name: str, measure: Measure, meaning: str, of: str = "") -> Companion:
    """Return a number with its standing that stands beside a measure."""
    return Companion(name, measure, Basis.RELEASE, meaning, of)
