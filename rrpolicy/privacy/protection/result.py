"""What an attacker attains without a release and with it: plain results, read back from documents without the table."""

from __future__ import annotations

from rrpolicy.finding import Measure
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.protection.grade import ProtectionGrade


@frozen
class InferenceLevel:
    """What an attacker attains with one kind of knowledge.

    Attributes:
        guess: how often the best guess of the value is right, over all people.
        worst: the probability given to the true value of the person for whom the records raise it most.
        certain: people whose value the attacker knows for certain.
    """

    guess: Measure
    worst: Measure
    certain: Measure


@frozen
class ValueInference:
    """The probability that an attacker gives to one value, on average over the people who have it.

    Attributes:
        value: as it is released or generalised.
        people: who have it.
        overall: knowing only overall shares.
        statistics: knowing the statistics of people with the same quasi-identifiers.
        record: knowing which released record is the person's.
        person: with the released records, having to find the person's record first.
        rise: how much the records raise the probability for any one of these people, by person.
    """

    value: str
    people: int
    overall: float
    statistics: float
    record: float
    person: float
    rise: float


@frozen
class ColumnInference:
    """What an attacker attains of one sensitive column, without the release and with it.

    Attributes:
        of: the column, as the policy names it.
        worst: the value of the person for whom the records raise the probability of the true value most.
        overall: knowing only overall shares.
        statistics: knowing the shares among all other people with the same quasi-identifiers.
        record: knowing as well which released record is the person's.
        person: with all released records, having to find the person's record first.
        rise: how much they raise it for that person, by person.
        record_rise: how much a known record raises it most, for whomever that is.
        epsilon: of all sensitive columns together, for an attacker who knows the record; None where there is none.
        given_away: people in released groups in which everybody has the same value.
        values: each value's own numbers, those with the largest rise first.
        reads: the column, released exactly, that helps to read the value; "" if none does.
        grade: of this column.
        rule: which rule decided, with its number.
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


@frozen
class LinkageWithoutAssumption:
    """How well a record is found by an attacker who also knows columns that are assumed to link nobody.

    Attributes:
        columns: that are released exactly, and assumed to link nobody.
        mean: the chance, on average over people.
        worst: the chance for the person who is found best.
    """

    columns: tuple[str, ...]
    mean: Measure
    worst: Measure


@frozen
class RecordLinkage:
    """How well an attacker finds a person's record, who knows the person's quasi-identifiers.

    Attributes:
        without: the chance of drawing the record among all.
        mean: the chance, on average over people.
        worst: the chance for the person who is found best.
        certain: people whose record is found for certain.
        assumption: the chances without the assumption that columns link nobody; None if none is assumed.
        grade: of re-identification.
        rule: which rule decided, with its number.
    """

    without: Measure
    mean: Measure
    worst: Measure
    certain: Measure
    assumption: LinkageWithoutAssumption | None
    grade: ProtectionGrade
    rule: str


@frozen
class ReleaseProtection:
    """How strong a release is.

    Attributes:
        grade: of the whole: that of the worst sensitive column; that of re-identification where there is none.
        rule: which rule decided, with its number.
        linking: how well a person's record is found; None without the table.
        ladders: one for each sensitive column that is released.
    """

    grade: ProtectionGrade
    rule: str
    linking: RecordLinkage | None
    ladders: tuple[ColumnInference, ...]
