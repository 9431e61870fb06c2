"""What everything reports with: a measure, a finding, its verdict, and the least that recomputes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from rrpolicy.canonical_json import Json
from rrpolicy.errors import Place
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.fields import SPARSE, UNWRITTEN, document_key
from rrpolicy.serialization.reading import read
from rrpolicy.serialization.writing import record

VALUE = " = "
"""Stands between an attribute and its value in what a number speaks of."""
Bound: TypeAlias = Literal["max", "min"]
"""Whether a limit is the most or the least that a number may be."""
BOUND_WORDS: Mapping[Bound, Literal["at most", "at least"]] = {"max": "at most", "min": "at least"}
ERRORS = 3
"""Standard errors up to the end of an estimate that a limit decides by: one-sided, at a confidence of 99.9 %."""
WITHHELD = "as the policy requires"
"""Stands for a requirement whose limit is withheld."""
READ_CORRECTLY = "value read correctly"
"""Names the chance that the value read off a drawn record is the true one, whosever record it is."""
V_OF = "Cramér's V of "
"""Begins the name of how strongly a column that is assumed unlinkable goes with what is randomised."""
MAXIMUM_POSTERIOR = "maximum posterior"
"""Names the chance that a record had the value that its released one points to most, for one who knows the record."""
UNCHECKED = "Every record is suppressed: there is no class of records that could be checked."
"""An assumption of findings on classes where there are none: nothing is achieved, and limits are not met."""
CONDITION = "given the published parameters"
"""Follows what holds only for an attacker who does not ask how the published description was derived from the table."""


class Basis(IntEnum):
    """The least that recomputes a number; public/ may show numbers up to RELEASE."""

    POLICY = 0
    CHANNEL = 1
    RELEASE = 2
    ORIGINAL = 3


class Risk(StrEnum):
    """What may happen to a person."""

    LINKING = "linking"
    READING = "reading"

    @property
    def meaning(self) -> str:
        """Return the risk in words."""
        return _RISKS[self]


_RISKS = {Risk.LINKING: "linking a record to a person", Risk.READING: "reading a sensitive value of a person"}


class Standing(StrEnum):
    """How a number stands to the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"
    ESTIMATE = "estimate"


class Verdict(StrEnum):
    """Whether a requirement holds. Undecided never passes a gate."""

    SATISFIED = "satisfied"
    FAILED = "failed"
    UNDECIDED = "undecided"


@frozen
class Measure:
    """A number with its standing; `error` is the standard error of an estimate, else 0."""

    value: float
    standing: Standing = Standing.EXACT
    error: float = 0.0

    def end(self, bound: Bound) -> float:
        """Return the number that a limit decides by: of an estimate the end that speaks against it, else the number.

        Args:
            bound: of a limit that is the most, the upper end, `ERRORS` standard errors above; else the lower one.
        """
        margin = ERRORS * self.error if self.standing is Standing.ESTIMATE else 0.0
        return self.value + margin if bound == "max" else self.value - margin


class Origin(StrEnum):
    """Where a parameter comes from; what is chosen from the data is a statistic of the data."""

    POLICY = "fixed by the policy"
    RECORDS = "solved from the requirements and the number of records"
    DATA = "chosen from the data"
    ELSEWHERE = "chosen on another table"
    SERIES = "frozen at the first release of the series"


@frozen
class Derived:
    """A statistic of the original, beyond the number of records, that public/ tells or that was needed to make it.

    An attacker who knows all records but one recomputes it for each candidate of that one, and excludes those that
    differ.

    Attributes:
        id: what a policy accepts, such as `parameters:sex`, `domain:age`, `marginal:race`, `node` or `released`.
        meaning: what of the original it tells, in words.
    """

    id: str
    meaning: str

    def __str__(self) -> str:
        """Return the id with its meaning."""
        return f"{self.id}: {self.meaning}"


@frozen
class Companion:
    """A number that stands beside a finding so that nobody takes one for the other.

    Attributes:
        name: what it is.
        measure: the number.
        basis: the least that recomputes it.
        meaning: what it says, in a sentence.
        of: the value it speaks of, such as `disease = Flu`; "" for the finding as a whole.
        compares_tables: as of `Finding`.
        given: as of `Finding`.
        chance_of: the risk that the number is the chance of, for the person who is worst off; None if it is none.
        certain_of: the risk that befalls so many people with certainty, if the number counts them; else None.
        limit: the limit of this number, where values have limits of their own; else None.
    """

    name: str
    measure: Measure
    basis: Basis
    meaning: str
    of: str = ""
    compares_tables: bool = field(default=False, metadata=UNWRITTEN)
    given: tuple[str, ...] = ()
    chance_of: Risk | None = field(default=None, metadata=SPARSE)
    certain_of: Risk | None = field(default=None, metadata=SPARSE)
    limit: Fraction | None = field(default=None, compare=False, metadata=UNWRITTEN)


class RelatedNumber(Protocol):
    """What stands beside a finding: a companion, or a companion as a report shows it."""

    @property
    def name(self) -> str:
        """Return what it is."""
        ...

    @property
    def of(self) -> str:
        """Return the value it speaks of."""
        ...


N = TypeVar("N", bound=RelatedNumber)


@frozen
class ValueTable(Generic[N]):
    """The same numbers of several values of one attribute, so that they are read side by side.

    Attributes:
        of: the attribute.
        names: the columns.
        rows: each value with its numbers, in the order of the columns; first "" for the attribute as a whole, if that
            has these numbers.
    """

    of: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[N, ...]], ...]


def by_value(companions: Sequence[N]) -> tuple[tuple[N, ...], tuple[ValueTable[N], ...]]:
    """Part what stands beside a finding: what speaks of the whole, and one table an attribute of what speaks of values.

    Args:
        companions: in any order; `of` is `attribute = value` for what speaks of a value.

    Returns:
        what is in no table, in order; and the tables. Values with other columns make a table of their own.
    """
    values: dict[str, list[N]] = {}
    for item in companions:
        if VALUE in item.of:
            values.setdefault(item.of, []).append(item)
    tables: dict[tuple[str, tuple[str, ...]], list[tuple[str, tuple[N, ...]]]] = {}
    whole = {(item.of, item.name): item for item in companions if VALUE not in item.of}
    taken = set()
    for of, items in values.items():
        attribute, _, value = of.partition(VALUE)
        names = tuple(item.name for item in items)
        if (attribute, names) not in tables:
            own = [(attribute, name) for name in names]
            complete = all(key in whole for key in own)
            tables[attribute, names] = [("", tuple(whole[key] for key in own))] if complete else []
            taken |= set(own) if complete else set()
        tables[attribute, names].append((value, tuple(items)))
    rest = tuple(item for key, item in whole.items() if key not in taken)
    return rest, tuple(ValueTable(of, names, tuple(rows)) for (of, names), rows in tables.items())


@frozen
class Profile:
    """How a risk is spread over people: `people[i]` of them lie in (edges[i], edges[i+1]]. Audit only.

    Attributes:
        quantity: what is spread, in words.
        edges: len(people) + 1 increasing bounds; the first bin is closed at both ends.
        before: the same of the untouched table, where it is known.
        top: the groups at the top, `(description, value, people)`.
        limits: what is spread is held against them: `(the values that a limit is of, limit)`, "" for all.
    """

    quantity: str
    edges: tuple[float, ...]
    people: tuple[int, ...]
    before: tuple[int, ...] | None = None
    top: tuple[tuple[str, float, int], ...] = ()
    limits: tuple[tuple[str, float], ...] = field(default=(), metadata=SPARSE)


@frozen
class Finding:
    """One requirement, or one measurement without a limit, and what was found.

    Attributes:
        code: what kind of finding, such as `pk-anonymity` or `conforms`; stable.
        model: the privacy model's name.
        requirement: the requirement in words with its limit, such as `k >= 2`.
        place: where the policy states it; None for what no policy states.
        achieved: the number achieved; None if undecided.
        limit: the limit; None where there is none.
        verdict: None for a measurement without a limit.
        basis: the least that recomputes `achieved`.
        adversary: whom the number speaks of, in a sentence.
        assumptions: what it rests on.
        companions: what must be read beside it.
        profile: how it is spread over people (audit only).
        groups_over: equivalence classes over the limit (audit only).
        people_over: people in them (audit only).
        reference: where the formula stands.
        assessor: name of the assessor, with its distribution.
        compares_tables: it bounds what a release tells of one table against another, through the same channel. A
            channel, or a decision to release, that another table would not have had then takes it out of what it says.
        given: ids of the derived statistics that it is conditional on; empty if it is not. See `under`.
        identity: what machines call the entry that asks for it; see `rrpolicy.policy.identity`. "" where none does.
        chance_of: the risk that `achieved` is the chance of, for the person who is worst off; None if it is none.
        promise: the requirement as a sentence for people; "" if its model says none, or it is none.
    """

    code: str
    model: str
    requirement: str
    place: Place | None = field(metadata=UNWRITTEN)
    achieved: Measure | None
    limit: Fraction | None = field(metadata=document_key("limit_exact"))
    verdict: Verdict | None
    basis: Basis
    adversary: str
    assumptions: tuple[str, ...] = ()
    companions: tuple[Companion, ...] = ()
    profile: Profile | None = None
    groups_over: int | None = 0
    people_over: int | None = 0
    reference: str = ""
    assessor: str = ""
    compares_tables: bool = field(default=False, metadata=UNWRITTEN)
    given: tuple[str, ...] = ()
    identity: str = field(default="", compare=False, metadata=UNWRITTEN)
    chance_of: Risk | None = field(default=None, metadata=SPARSE)
    promise: str = field(default="", metadata=SPARSE)

    @property
    def by_limit(self) -> tuple[Companion, ...]:
        """Return, where values have limits of their own, the number nearest to each of the limits."""
        found: dict[tuple[str, Fraction], Companion] = {}
        for companion in self.companions:
            if companion.limit is not None:
                key = companion.of.partition(VALUE)[0], companion.limit
                found[key] = max(found.get(key, companion), companion, key=lambda c: c.measure.value)
        return tuple(found.values())

    @property
    def stated(self) -> str:
        """Return the requirement, and that it is met conditionally, if so."""
        return f"{self.requirement}, {CONDITION}" if self.given else self.requirement

    def under(self, derived: Sequence[Derived], *, elsewhere: bool = False) -> Finding:
        """Return the finding as it stands beside what was derived from the original.

        Args:
            derived: every such statistic. What compares tables becomes conditional on all of them, here and beside it,
                unless it is infinite and promises nothing.
            elsewhere: parameters were chosen on another table, which is then assumed to tell nothing of this one.
        """
        ids = tuple(d.id for d in derived)
        companions = tuple(
            replace(c, given=ids) if c.compares_tables and math.isfinite(c.measure.value) else c
            for c in self.companions
        )
        assumed = self.assumptions
        if self.compares_tables and elsewhere:
            assumed += ("The table that the parameters were chosen on is public, or holds nobody of this one.",)
        if not (self.compares_tables and ids):
            return replace(self, companions=companions, assumptions=assumed)
        assumption = (
            f"It holds {CONDITION} ({quoted_list(ids)}): who knows all other records can recompute them for each "
            "candidate record of one person, and excludes the candidates that give other ones."
        )
        return replace(self, companions=companions, given=ids, assumptions=(*assumed, assumption))

    def up_to(self, basis: Basis) -> Finding:
        """Return the finding with numbers only up to a basis; public/ may hold those up to RELEASE.

        Args:
            basis: numbers whose basis lies above are left out, the limit with them: which of several limits binds is a
                statistic too. The requirement and the verdict always stay.
        """
        if basis is Basis.ORIGINAL:
            return self
        companions = tuple(companion for companion in self.companions if companion.basis <= basis)
        shown = replace(self, companions=companions, profile=None, groups_over=None, people_over=None)
        return shown if self.basis <= basis else replace(shown, achieved=None, limit=None)

    def withheld(self) -> Finding:
        """Return the finding as a release states it that withholds its matrices: which model, and whether it holds.

        With one randomised attribute epsilon is its keep probability, and where parameters are solved from a limit, so
        is the limit.
        """
        shown = self.up_to(Basis.POLICY)
        return replace(shown, requirement=WITHHELD, achieved=None, limit=None, companions=(), promise="")

    def to_json(self) -> dict[str, Json]:
        """Return the finding as plain data; of its place the line alone, as the policy's digest names the file."""
        return {
            **record(self),
            "place": place_to_json(self.place),
            "limit": None if self.limit is None else float(self.limit),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Finding:
        """Read what `to_json` wrote; the place is in no file.

        Raises:
            ValueError: if it is none.
        """
        told = {key: value for key, value in document.items() if key not in {"place", "limit"}}
        place = document.get("place")
        return read(cls, told, {"place": None if place is None else read(Place, place, {"file": ""})})


@frozen
class UtilityFinding:
    """One [[utility]] entry and what is to be expected.

    Attributes:
        metric: its name.
        options: of the metric.
        expected: None where N and the channel do not tell, or for the public.
        limit: the most, or the least, it may be.
        verdict: whether it is met.
        meaning: what the number says.
        place: where the policy states it; no document tells.
        identity: what the entry is called, such as `utility/expected-l2?attributes=age`; a waiver names it so.
        bound: whether the limit is the most or the least.
        companions: what must be read beside the expectation; none for the public.
    """

    metric: str
    options: Mapping[str, Json]
    expected: Measure | None
    limit: Fraction = field(metadata=document_key("limit_exact"))
    verdict: Verdict
    meaning: str
    place: Place | None = field(default=None, metadata=UNWRITTEN)
    identity: str = ""
    bound: Bound = "max"
    companions: tuple[Companion, ...] = ()

    @property
    def asked(self) -> str:
        """Return the limit in words, such as `at most 0.02`."""
        return f"{BOUND_WORDS[self.bound]} {float(self.limit):g}"

    @property
    def simulated(self) -> str:
        """Return from what an expectation was estimated, such as `100 draws, seed 1`; "" where it was not.

        Draws of a number without a range that are all alike have no error, which bounds nothing: it says so.
        """
        if self.expected is None or self.expected.standing is not Standing.ESTIMATE or "draws" not in self.options:
            return ""
        alike = ", all alike" if self.expected.error == 0 else ""
        return f"{self.options['draws']} draws{alike}, seed {self.options.get('seed')}"

    @property
    def over(self) -> str:
        """Return over what it speaks, as the entry says: its attributes, then its other options; "" if nothing."""
        unsaid = {"target", "draws", "seed"}
        said = {key: value for key, value in self.options.items() if value is not None and key not in unsaid}
        attributes = said.pop("attributes", None) or said.pop("attribute", None) or []
        names = attributes if isinstance(attributes, list) else [attributes]
        return ", ".join([*map(str, names), *(f"{key} = {value}" for key, value in said.items())])

    def public(self) -> UtilityFinding:
        """Return the finding as the public may see it: without numbers, which are statistics of the original."""
        return replace(self, expected=None, companions=())

    def to_json(self) -> dict[str, Json]:
        """Return the finding as plain data."""
        return {**record(self), "limit": float(self.limit)}

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> UtilityFinding:
        """Read what `to_json` wrote.

        Raises:
            ValueError: if it is none.
        """
        return read(cls, {key: value for key, value in document.items() if key != "limit"})


def place_to_json(place: Place | None) -> Json:
    """Return where a finding is asked for, without the file: that is named by the policy's digest."""
    return None if place is None else {"line": place.line, "column": place.column, "key": place.key}
