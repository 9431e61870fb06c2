"""Measures, findings and verdicts, each with the least data that recomputes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.errors import Place
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number
from rrpolicy.serialization import JsonDocument

VALUE = " = "
"""Separator of an attribute and its value in the subject of a number."""
Bound: TypeAlias = Literal["max", "min"]
"""Whether a limit is a maximum or a minimum."""
BOUND_WORDS: Mapping[Bound, Literal["at most", "at least"]] = {"max": "at most", "min": "at least"}
ERRORS = 3
"""Standard errors from an estimate to the end that decides against a limit: one-sided, 99.9 % confidence."""
WITHHELD = "as the policy requires"
"""Text in place of a requirement whose limit is withheld."""
READ_CORRECTLY = "value read correctly"
"""Name of the probability that the value read from a drawn record is the true one, for any record."""
V_OF = "Cramér's V of "
"""Prefix of the name of the association of an assumed unlinkable column with a randomised one."""
MAXIMUM_POSTERIOR = "maximum posterior"
"""Name of the probability of a record's likeliest original value, for an attacker who knows the record."""
UNCHECKED = "Every record is suppressed: there is no class of records that could be checked."
"""Assumption of findings on equivalence classes if there are none: nothing is achieved, limits are not met."""
CONDITION = "given the published parameters"
"""Suffix of statements that ignore how the published description was derived from the table."""


class Basis(IntEnum):
    """The least data that recompute a number; public/ may show numbers up to RELEASE."""

    POLICY = 0
    CHANNEL = 1
    RELEASE = 2
    ORIGINAL = 3


class Risk(StrEnum):
    """A harm to a person."""

    LINKING = "linking"
    READING = "reading"

    @property
    def meaning(self) -> str:
        """Return the risk in words."""
        return _RISKS[self]


_RISKS = {Risk.LINKING: "linking a record to a person", Risk.READING: "reading a sensitive value of a person"}


class Standing(StrEnum):
    """Relation of a number to the true one: exact, an upper bound or an estimate."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"
    ESTIMATE = "estimate"


class Verdict(StrEnum):
    """The verdict on a requirement. An undecided requirement never passes a gate."""

    SATISFIED = "satisfied"
    FAILED = "failed"
    UNDECIDED = "undecided"


class Measure(Struct, frozen=True):
    """A number with its standing; `error` is the standard error of an estimate, else 0."""

    value: float
    standing: Standing = Standing.EXACT
    error: float = 0.0

    def end(self, bound: Bound) -> float:
        """Return the number that a limit is compared with: an estimate's unfavourable end, else the number.

        Args:
            bound: a maximum uses the upper end, `ERRORS` standard errors above the estimate; a minimum the lower end.
        """
        margin = ERRORS * self.error if self.standing is Standing.ESTIMATE else 0.0
        return self.value + margin if bound == "max" else self.value - margin


class Origin(StrEnum):
    """Source of a parameter; a parameter chosen from the data is a statistic of the data."""

    POLICY = "fixed by the policy"
    RECORDS = "solved from the requirements and the number of records"
    DATA = "chosen from the data"
    ELSEWHERE = "chosen on another table"
    SERIES = "frozen at the first release of the series"


class Derived(Struct, frozen=True):
    """A statistic of the original, beyond the record count, that public/ discloses or that producing it needed.

    An attacker who knows all records but one recomputes it for each candidate value of the unknown record, and
    excludes candidates with another result.

    Attributes:
        id: the name by which a policy accepts it, such as `parameters:sex`, `domain:age`, `marginal:race`, `node` or
            `released`.
        meaning: the disclosed property of the original, in words.
    """

    id: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.id}: {self.meaning}"


@dataclass(frozen=True, slots=True)
class Companion:
    """A measure related to a finding, and shown with it to avoid confusion of the two.

    Attributes:
        name: name of the measure.
        measure: the number.
        basis: the least that recomputes it.
        meaning: the meaning of the number, in a sentence.
        of: the value concerned, such as `disease = Flu`; "" for the finding as a whole.
        compares_tables: see `Finding`.
        given: see `Finding`.
        chance_of: the risk whose probability the number is, for the person at highest risk; None if the number is not
            a probability.
        certain_of: the risk that is certain for as many people as the number counts; None for other numbers.
        limit: the limit of this number; None if values have no separate limits.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("compares_tables", "limit")
    sparse: ClassVar[tuple[str, ...]] = ("chance_of", "certain_of")

    name: str
    measure: Measure
    basis: Basis
    meaning: str
    of: str = ""
    compares_tables: bool = False
    given: tuple[str, ...] = ()
    chance_of: Risk | None = None
    certain_of: Risk | None = None
    limit: Fraction | None = field(default=None, compare=False)


class RelatedNumber(Protocol):
    """A number related to a finding: a companion, or its row in a report."""

    @property
    def name(self) -> str:
        """Return the measure's name."""
        ...

    @property
    def of(self) -> str:
        """Return the value concerned; "" for the finding as a whole."""
        ...


N = TypeVar("N", bound=RelatedNumber)


class ValueTable(Struct, Generic[N], frozen=True):
    """The same measures of several values of one attribute, side by side.

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
    """Separate the measures of the whole finding from those of single values; return one table per attribute.

    Args:
        companions: in any order; `of` is `attribute = value` for a measure of one value.

    Returns:
        the measures in no table, in order; and the tables. Values with other columns form another table.
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


class Profile(Struct, frozen=True):
    """Distribution of a risk across people: `people[i]` of them lie in (edges[i], edges[i+1]]. Audit only.

    Attributes:
        quantity: the risk measure, in words.
        edges: len(people) + 1 increasing bounds; the first bin is closed at both ends.
        before: the same distribution for the original table, if known.
        top: the highest-risk groups, `(description, value, people)`.
        limits: limits of the risk measure: `(the values that a limit applies to, limit)`, "" for all.
    """

    sparse: ClassVar[tuple[str, ...]] = ("limits",)

    quantity: str
    edges: tuple[float, ...]
    people: tuple[int, ...]
    before: tuple[int, ...] | None = None
    top: tuple[tuple[str, float, int], ...] = ()
    limits: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding(JsonDocument):
    """One requirement, or one measurement without a limit, and its result.

    Attributes:
        code: kind of finding, such as `pk-anonymity` or `conforms`; stable.
        model: the privacy model's name.
        requirement: the requirement in words with its limit, such as `k >= 2`.
        place: position in the policy; None if no policy states it.
        achieved: the number achieved; None if undecided.
        limit: the limit; None if there is no limit.
        verdict: None for a measurement without a limit.
        basis: the least that recomputes `achieved`.
        adversary: the attacker to whom the number applies, in a sentence.
        assumptions: the conditions of the result.
        companions: related measures.
        profile: distribution across people (audit only).
        groups_over: equivalence classes over the limit (audit only).
        people_over: people in them (audit only).
        reference: source of the formula.
        assessor: name of the assessor, with its distribution.
        compares_tables: the number bounds how well a release through one channel distinguishes two tables. It does not
            cover a channel, or a decision to release, that would have been different for the other table.
        given: ids of the derived statistics that it is conditional on; empty if unconditional. See `under`.
        identity: stable id of the policy's entry that requires it; see `rrpolicy.policy.identity`. "" if no entry does.
        chance_of: the risk whose probability `achieved` is, for the person at highest risk; None if it is not a
            probability.
        promise: the requirement as a sentence for people; "" if its model has no such sentence, or if there is no
            requirement.
    """

    sparse: ClassVar[tuple[str, ...]] = ("chance_of", "promise")
    written: ClassVar[tuple[str, ...]] = (
        *("code", "model", "requirement", "achieved", "limit_exact=limit", "verdict", "basis", "adversary"),
        *("assumptions", "companions", "profile", "groups_over", "people_over", "reference", "assessor", "given"),
        *("chance_of", "promise", "place", "limit=limit_number"),
    )

    code: str
    model: str
    requirement: str
    place: Place | None
    achieved: Measure | None
    limit: Fraction | None
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
    compares_tables: bool = False
    given: tuple[str, ...] = ()
    identity: str = field(default="", compare=False)
    chance_of: Risk | None = None
    promise: str = ""

    @property
    def limit_number(self) -> float | None:
        """Return the limit as a number."""
        return None if self.limit is None else float(self.limit)

    @property
    def by_limit(self) -> tuple[Companion, ...]:
        """Return, if single values have limits, the number nearest to each of the limits."""
        found: dict[tuple[str, Fraction], Companion] = {}
        for companion in self.companions:
            if companion.limit is not None:
                key = companion.of.partition(VALUE)[0], companion.limit
                found[key] = max(found.get(key, companion), companion, key=lambda c: c.measure.value)
        return tuple(found.values())

    @property
    def stated(self) -> str:
        """Return the requirement, marked if it is met conditionally."""
        return f"{self.requirement}, {CONDITION}" if self.given else self.requirement

    def under(self, derived: Sequence[Derived], *, elsewhere: bool = False) -> Finding:
        """Return the finding made conditional on the statistics derived from the original.

        Args:
            derived: every such statistic. A measure that compares tables, related ones included, becomes conditional on
                all of them, unless it is infinite and guarantees nothing.
            elsewhere: parameters were chosen on another table, which is assumed to contain no information on this one.
        """
        ids = tuple(d.id for d in derived)
        companions = tuple(
            replace(c, given=ids) if c.compares_tables and math.isfinite(c.measure.value) else c
            for c in self.companions
        )
        assumed = self.assumptions
        if self.compares_tables and elsewhere:
            assumed += ("The table that the parameters were chosen on is public, or contains no person of this one.",)
        if not (self.compares_tables and ids):
            return replace(self, companions=companions, assumptions=assumed)
        assumption = (
            f"It applies {CONDITION} ({quoted_list(ids)}): an attacker who knows all other records can recompute "
            f"them for each candidate record of one person, and exclude candidates with other results."
        )
        return replace(self, companions=companions, given=ids, assumptions=(*assumed, assumption))

    def up_to(self, basis: Basis) -> Finding:
        """Return the finding with numbers only up to a basis; public/ may contain those up to RELEASE.

        Args:
            basis: numbers with a higher basis are omitted together with the limit: the choice among several limits is a
                statistic too. The requirement and the verdict always remain.
        """
        if basis is Basis.ORIGINAL:
            return self
        companions = tuple(companion for companion in self.companions if companion.basis <= basis)
        shown = replace(self, companions=companions, profile=None, groups_over=None, people_over=None)
        return shown if self.basis <= basis else replace(shown, achieved=None, limit=None)

    def withheld(self) -> Finding:
        """Return the finding for a release that withholds its matrices: the model and the verdict only.

        With one randomised attribute epsilon determines its keep probability; so does the limit if parameters are
        solved from it.
        """
        shown = self.up_to(Basis.POLICY)
        return replace(shown, requirement=WITHHELD, achieved=None, limit=None, companions=(), promise="")


class UtilityFinding(Struct, frozen=True):
    """One [[utility]] entry and its expected value.

    Attributes:
        metric: its name.
        options: options of the metric.
        expected: None if N and the channel do not determine it, or for the public.
        limit: the maximum or minimum allowed.
        verdict: whether the limit is met.
        meaning: the meaning of the number.
        place: position in the policy; in no document.
        identity: stable id of the entry, such as `utility/expected-l2?attributes=age`, as waivers use it.
        bound: whether the limit is a maximum or a minimum.
        companions: related measures; empty for the public.
    """

    written: ClassVar[tuple[str, ...]] = (
        *("metric", "options", "expected", "limit_exact=limit", "verdict", "meaning", "identity", "bound"),
        *("companions", "limit=limit_number"),
    )

    metric: str
    options: Mapping[str, Json]
    expected: Measure | None
    limit: Fraction
    verdict: Verdict
    meaning: str
    place: Place | None = None
    identity: str = ""
    bound: Bound = "max"
    companions: tuple[Companion, ...] = ()

    @property
    def limit_number(self) -> float:
        """Return the limit as a number."""
        return float(self.limit)

    @property
    def asked(self) -> str:
        """Return the limit in words, such as `at most 0.02`."""
        return f"{BOUND_WORDS[self.bound]} {plain_number(float(self.limit))}"

    @property
    def simulated(self) -> str:
        """Return the source of an expectation estimated by simulation, such as `100 draws, seed 1`; else "".

        If all draws of an unbounded number are equal, the standard error is 0 and bounds nothing: the text states that.
        """
        if self.expected is None or self.expected.standing is not Standing.ESTIMATE or "draws" not in self.options:
            return ""
        alike = ", all equal" if self.expected.error == 0 else ""
        return f"{self.options['draws']} draws{alike}, seed {self.options.get('seed')}"

    @property
    def over(self) -> str:
        """Return the entry's scope: its attributes, then its other options; "" if it has neither."""
        unsaid = {"target", "draws", "seed"}
        said = {key: value for key, value in self.options.items() if value is not None and key not in unsaid}
        attributes = said.pop("attributes", None) or said.pop("attribute", None) or []
        names = attributes if isinstance(attributes, list) else [attributes]
        return ", ".join([*map(str, names), *(f"{key} = {value}" for key, value in said.items())])

    def public(self) -> UtilityFinding:
        """Return the finding for the public: without numbers, which are statistics of the original."""
        return replace(self, expected=None, companions=())
