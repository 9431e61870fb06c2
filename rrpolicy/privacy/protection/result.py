"""The success of an attacker without a release and with it: results that documents contain, without the table."""

from __future__ import annotations

from msgspec import Struct

from rrpolicy.finding import Measure
from rrpolicy.privacy.protection.grade import ProtectionGrade


class InferenceLevel(Struct, frozen=True):
    """The success of an attacker with one kind of knowledge.

    Attributes:
        guess: the share of right guesses, over all people.
        worst: the probability given to the true value of the person for whom the records raise it most.
        certain: people whose value the attacker knows for certain.
    """

    guess: Measure
    worst: Measure
    certain: Measure


class ValueInference(Struct, frozen=True):
    """The probability that an attacker gives to one value, on average over the people who have it.

    Attributes:
        value: the released, or generalised, one.
        people: number of people who have it.
        overall: the probability with only overall shares.
        statistics: the probability with the statistics of people with the same quasi-identifiers.
        record: the probability with the knowledge of the person's released record.
        person: the probability with the released records, if the person's record must be found first.
        rise: the largest rise of the probability by the records for any one of these people, by person.
    """

    value: str
    people: int
    overall: float
    statistics: float
    record: float
    person: float
    rise: float


class ColumnInference(Struct, frozen=True):
    """The success of an attacker at one sensitive column, without the release and with it.

    Attributes:
        of: the column, as the policy names it.
        worst: the value of the person for whom the records raise the probability of the true value most.
        overall: success with only overall shares.
        statistics: success with the shares among all other people with the same quasi-identifiers.
        record: success with the knowledge of the person's released record as well.
        person: success with all released records, if the person's record must be found first.
        rise: the rise of the probability for that person, by person.
        record_rise: the largest rise by a known record, for any person.
        epsilon: privacy loss of all sensitive columns together, for an attacker who knows the record; None if
            infinite.
        given_away: people in released groups in which everybody has the same value.
        values: each value's own numbers, those with the largest rise first.
        reads: the column, released exactly, that helps to read the value; "" if none does.
        grade: grade of this column.
        rule: the rule that decided, with its number.
    """

    of: str
    worst: str
    overall: InferenceLevel
    statistics: InferenceLevel
    record: InferenceLevel
    person: InferenceLevel
    rise: Measure
    record_rise: Measure
    epsilon: Measure | None
    given_away: int
    values: tuple[ValueInference, ...]
    reads: str
    grade: ProtectionGrade
    rule: str


class LinkageWithoutAssumption(Struct, frozen=True):
    """The chance of being found by an attacker who also knows columns that are assumed unlinkable.

    Attributes:
        columns: those, released exactly.
        mean: the chance, on average over people.
        worst: the chance for the person who is found best.
    """

    columns: tuple[str, ...]
    mean: Measure
    worst: Measure


class RecordLinkage(Struct, frozen=True):
    """The chance that an attacker who knows a person's quasi-identifiers finds the person's record.

    Attributes:
        without: the chance of drawing the record among all.
        mean: the chance, on average over people.
        worst: the chance for the person who is found best.
        certain: people whose record is found for certain.
        assumption: the chances without the assumption that columns are unlinkable; None if there is no such
            assumption.
        grade: grade of re-identification.
        rule: the rule that decided, with its number.
    """

    without: Measure
    mean: Measure
    worst: Measure
    certain: Measure
    assumption: LinkageWithoutAssumption | None
    grade: ProtectionGrade
    rule: str


class ReleaseProtection(Struct, frozen=True):
    """The protection of a release.

    Attributes:
        grade: grade of the worst sensitive column; of re-identification if there is no such column.
        rule: the rule that decided, with its number.
        linking: the chance that a person's record is found; None without the table.
        ladders: one for each sensitive column that is released.
    """

    grade: ProtectionGrade
    rule: str
    linking: RecordLinkage | None
    ladders: tuple[ColumnInference, ...]
