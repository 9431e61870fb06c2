"""Grades of protection, and the one table of rules that turn numbers into grades.

Every rule compares a number that grows with what an attacker attains with three limits, so that a release that gives
an attacker more in every number is never graded better.

References:
    European Medicines Agency 2018, "External guidance on the implementation of policy 0070", section 5.4, and Health
    Canada 2019, "Public release of clinical information", for a chance of 0.09 (11 people with equal data) when anybody
    may have the data; Hundepool et al. 2012, "Statistical disclosure control", and the CMS cell size policy, for groups
    of 5 to 20; Dwork, Kohli, Mulligan 2019, "Differential privacy in practice: expose your epsilons!", and NIST SP
    800-226 (2025), for values of epsilon in use: 1 and below, up to 3, up to 8, and above 20 no protection by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from rrpolicy.numbers import percent, plain_number, points_of_percent


class ProtectionGrade(StrEnum):
    """Protection of people, from the best to the worst grade."""

    STRONG = "strong"
    LIMITED = "limited"
    WEAK = "weak"
    NONE = "none"

    @property
    def rank(self) -> int:
        """Return its place from the best, 0."""
        return list(ProtectionGrade).index(self)

    def reaches(self, demanded: ProtectionGrade) -> bool:
        """Return whether the grade is as good as another, or better."""
        return self.rank <= demanded.rank


def worst_grade(grades: Iterable[ProtectionGrade]) -> ProtectionGrade:
    """Return the worst grade; strong if there are no grades."""
    return max(grades, key=lambda grade: grade.rank, default=ProtectionGrade.STRONG)


RuleKind = Literal["chance", "rise", "record", "certain", "epsilon"]


class GradeRule(Struct, frozen=True):
    """One row of the table of rules.

    Attributes:
        name: name of the rule in documents and reports.
        what: the number that it compares.
        words: a sentence with that number, without a full stop.
        limits: the largest number for strong, limited and weak; above the last there is no protection. A share or
            probability of 1 is never exceeded.
        source: source of the limits.
    """

    name: RuleKind
    what: str
    words: str
    limits: tuple[Fraction, Fraction, Fraction]
    source: str

    def grade(self, number: float) -> ProtectionGrade:
        """Return the grade of a number; a limit itself still has its grade, up to rounding errors."""
        for limit, grade in zip(self.limits, ProtectionGrade, strict=False):
            if number <= float(limit) * (1 + ROUNDING):
                return grade
        return ProtectionGrade.NONE

    def decided(self, number: float) -> str:
        """Return a number in words, with its grade, the rule's name and the numbers of that grade."""
        grade = self.grade(number)
        worst = "; this rule alone gives no worse grade" if grade.rank == len(self._ends) < len(self.limits) else ""
        decided = f"{grade.value} by the rule `{self.name}`: {self.range_text(grade)}{worst}"
        return f"{self.words.format(self.figure(number))} ({decided})"

    def range_text(self, grade: ProtectionGrade) -> str:
        """Return the numbers of a grade, such as `up to 20.0 %`; `never` for a grade that the rule does not give."""
        ends = [self.figure(float(end)) for end in self._ends]
        if grade.rank < len(ends):
            return f"up to {ends[grade.rank]}"
        return f"above {ends[-1]}" if grade.rank == len(ends) else "never"

    @property
    def _ends(self) -> tuple[Fraction, ...]:
        """Return the limits that a number can exceed: no probability or share exceeds 1."""
        return self.limits if self.name == "epsilon" else tuple(end for end in self.limits if end < 1)

    def figure(self, number: float) -> str:
        """Return a number for readers: an epsilon unmodified, a difference in points, all others as percentages."""
        if self.name == "epsilon":
            return plain_number(number, 3)
        return points_of_percent(number) if self.name in {"rise", "record"} else percent(number)


ROUNDING = 1e-9
"""Relative excess over a limit that is taken for a rounding error."""
_EMA = "EMA and Health Canada: 0.09, groups of 11; statistical offices: groups of 5 and more; 1/2 is a coin's toss"
CHANCE = GradeRule(
    "chance",
    "the largest chance that an attacker who knows a person's quasi-identifiers finds the person's record",
    "somebody's record is found with a chance of {}",
    (Fraction(1, 11), Fraction(1, 5), Fraction(1, 2)),
    _EMA,
)
POSTERIOR_RISE = GradeRule(
    "rise",
    "how much the records raise the probability that an attacker gives to the true value, for the person worst off",
    "the records raise the probability of one person's true value by {}",
    (Fraction(1, 11), Fraction(1, 5), Fraction(1, 2)),
    _EMA,
)
RECORD_CHANCE = GradeRule(
    "record",
    "how much the person's own record raises that probability if the attacker knows which record it is",
    "an attacker who knows which record is a person's raises the probability of the true value by {}",
    (Fraction(1, 2), Fraction(1), Fraction(1)),
    "the attacker of differential privacy (Dwork et al. 2006); 1/2 is a coin's toss; regulators accept exact values "
    "where nobody finds the record, so that this rule alone never gives less than limited",
)
CERTAIN = GradeRule(
    "certain",
    "the share of people whose record is found for certain and whose value follows from it",
    "{} of the people are found for certain, with their value",
    (Fraction(0), Fraction(0), Fraction(1, 20)),
    "a value that is known for certain is a disclosure (Machanavajjhala et al. 2007, section 2)",
)
GROUPS = GradeRule(
    "certain",
    "the share of people in released groups in which everybody has the same value",
    "{} of the people are in released groups in which everybody has the same value",
    (Fraction(0), Fraction(1, 20), Fraction(1)),
    "homogeneity attack (Machanavajjhala et al. 2007, section 2); it shows a statistic of people who look alike, so "
    "that this rule alone never gives none",
)
EPSILON = GradeRule(
    "epsilon",
    "epsilon of all sensitive columns of a person together",
    "epsilon of all sensitive columns together is {}",
    (Fraction(1), Fraction(3), Fraction(8)),
    "values of epsilon in use: Dwork, Kohli, Mulligan 2019; NIST SP 800-226",
)
