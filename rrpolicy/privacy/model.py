"""What a privacy model is, and what an assessor offers the planner, the gate and the optimiser."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel

from rrpolicy.canonical_json import Value, exact
from rrpolicy.channels.base import Axis, Channel, Layout, lists_values
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Basis, Companion, Finding, Measure, Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.model import Attribute, Policy, Requirement

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)


class Order(StrEnum):
    """How one requirement stands to another."""

    STRONGER = "stronger"
    EQUAL = "equal"
    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"

    @classmethod
    def by(cls, stronger: Fraction | int) -> Order:
        """Return the order of a change by how much it is stronger; negative if it is weaker."""
        return cls.STRONGER if stronger > 0 else cls.WEAKER if stronger < 0 else cls.EQUAL

    @classmethod
    def together(cls, *orders: Order) -> Order:
        """Return the order of several changes at once: incomparable if one is, or if they are not of one direction."""
        found = {*orders} - {cls.EQUAL}
        return found.pop() if len(found) == 1 else cls.INCOMPARABLE if found else cls.EQUAL


GROUP_KNOWLEDGE_NOTE = (
    "What the whole table shows of a group: an attacker who knows that a person belongs to it learns what is usual in "
    "it, whether or not that person took part."
)
OTHER_RELEASES = "Other releases of the same people: what several releases tell adds up."
EVERY_MODEL = (GROUP_KNOWLEDGE_NOTE, OTHER_RELEASES)
"""What no model covers that does not say otherwise."""
MORE_RECORDS = "People with more records in the table than the policy admits."
MORE_KNOWN = "Attackers who know another sensitive attribute, or more than the released columns that are not sensitive."
FINDING = "Finding somebody's record: what a class tells of the sensitive attribute is limited, not who is in it."
WHOLE_RELEASE = "What the distribution of the whole release tells of everybody."
SHARED_VALUE_NOTE = (
    "What a class has in common: if all have one sensitive value, it is known of each. l-diversity limits that."
)
"""What several models do not cover, in one wording: a page that lists what all of them leave open says it once."""


class PrivacyModel(Protocol[Options]):
    """What may be required. The numbers are an assessor's business.

    What its options may state for planners: see `Requirement`. A model may also have these attributes:

        not_covered: sentences on what a finding of it does not say, which reports print beside it; without them they
            say that it does not tell.
        measures: the same by the name of what its assessors measure besides; see `Assessor.attained`.
        promise: a method of the options that says in plain words what holds where an entry is satisfied: a sentence.
            Without it reports show what `describe` says alone.
        example: keys of an entry as TOML, for hints.
        limits_nothing: a method of the options that returns why an entry limits nothing, such as "limits nothing: every
            class has one record", or None. Without it an entry is taken to limit something.
        without_limit: the same of an entry that limits a part of what it names, such as "sets no limit for none".
        assessors: a method that returns assessors of its own, as a hook's function does. A model of equivalence classes
            has it, and is measured by `check-table`, if it derives from `rrpolicy.plugin.types.ClassModel`.
    """

    @property
    def name(self) -> str:
        """Return the name that policies use."""
        ...

    @property
    def options(self) -> type[Options]:
        """Return the class that validates a [[privacy]] entry's keys (without `model` and `where`)."""
        ...

    def describe(self, options: Options) -> str:
        """Return the requirement in words with its limit, such as `k >= 2`."""
        ...

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Return why the requirement cannot be asked of this policy, or None. No data are needed.

        The place shown is that of the first option which the reason names.
        """
        ...

    def compare(self, old: Options, new: Options) -> Order:
        """Return how the new requirement stands to the old one."""
        ...


@frozen
class Smooth:
    """A requirement as an optimiser sees it: values that must be <= 0, and how they change.

    Attributes:
        value: keep probabilities -> constraint values, shape (c,): achieved/limit - 1, or another number of that size.
            One probability for each Retention axis, in the channel's order: that of its largest block; the other
            blocks share its retention probability. That of an axis that exchanges nothing, 1, does not matter.
        jacobian: the same -> (c, axes).
        name: for messages.
        bound: whether the values are a certified upper bound, never below the truth, and not the truth itself.
        monotone: whether no value rises as a keep probability falls towards drawing at random.
    """

    value: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    name: str
    bound: bool = False
    monotone: bool = True


@frozen
class PerClass:
    """A requirement on single equivalence classes, for lattice search and partitioning.

    Attributes:
        sensitive: the attribute whose histograms it reads; None if it reads class sizes alone, which any tells.
        holds: its histograms, (classes, values) counts -> mask (classes,) of those that satisfy it. It is given all
            records that would be released: t-closeness compares with their sum. Suppressed ones are one more class, the
            last, whose verdict is not read.
        monotone: whether merging satisfying classes always satisfies it.
        monotone_with_suppression: the same when failing classes may be suppressed.
        where: the subgroup it is limited to; only classes that may hold a record of it need to satisfy it.
        peaks: what it needs besides of (classes, values) counts and the most records of each value that agree in the
            untouched quasi-identifiers: mask (classes,). None if `holds` tells all.
        people: what it needs besides of (classes,) records and (classes,) people of the reference table: mask
            (classes,). Where there are no records, the people are of no class. None if it asks nothing of them.
        hidden: whether suppressed records must satisfy `people` as well, as one class.
    """

    sensitive: str | None
    holds: Callable[[Ints], Mask]
    monotone: bool
    monotone_with_suppression: bool
    where: Mapping[str, Value] = field(default_factory=dict)
    peaks: Callable[[Ints, Ints], Mask] | None = None
    people: Callable[[Ints, Ints], Mask] | None = None
    hidden: bool = False


@frozen
class MinimumRisk:
    """The smallest reachable number of one requirement, and who stands in the way of its limit.

    Attributes:
        of: what is bounded, such as `risk of disease`.
        achieved: the largest number at the floor, over the people that the requirement speaks of; of those nearest to
            or over their limit.
        limit: theirs.
        groups: how many groups there are.
        groups_over: of these, how many cannot be brought under their limit.
        people_over: people in them for whom it cannot.
        groups_alike: groups over the limit in which everybody has the same sensitive value.
        people_alike: people in them.
        everything: the floor if all quasi-identifiers and the sensitive attribute were randomised, in one block each.
        hints: what would help.
    """

    of: str
    achieved: float
    limit: Fraction
    groups: int
    groups_over: int
    people_over: int
    groups_alike: int
    people_alike: int
    everything: float
    hints: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether nobody stands in the way; other requirements may."""
        return self.groups_over == 0

    @property
    def text(self) -> str:
        """Return the floor in a sentence, for the message of RR102. It holds counts: audit-class."""
        said = f"{self.of}: the smallest reachable is {self.achieved:.6g}, the limit {exact(self.limit)}"
        if self.feasible:
            return said
        said += (
            f"; {self.groups_over:,} of {self.groups:,} groups with {self.people_over:,} people stay over it however "
            "much is randomised"
        )
        if self.groups_alike:
            said += (
                f"; in {self.groups_alike:,} of {self.groups:,} groups, {self.people_alike:,} people, because "
                "everybody has the same sensitive value"
            )
        return said


class Written(Protocol):
    """The tables of a release as they were written, read from public/ alone."""

    def distinct(self, table: str) -> pa.RecordBatchReader:
        """Return a table's distinct rows in canonical order, with a column `MULTIPLICITY` of how often each stands."""
        ...

    def unordered(self, table: str, *columns: str) -> pa.RecordBatchReader:
        """Return all rows of some columns in no particular order, which costs a fraction of `distinct`.

        Text of columns with labels may come coded, and what is no label then as null.
        """
        ...

    def classes(
        self,
        table: str,
        known: Sequence[str],
        sensitive: Sequence[str],
        within: Mapping[str, Sequence[Value]],
        suppressed: Sequence[Value] | None,
    ) -> Classes:
        """Return a table's equivalence classes.

        Args:
            table: the table's name.
            known: the columns that make a class.
            sensitive: the columns whose values are counted in each class, in the order of their labels.
            within: column -> released values that a record of a subgroup may have; empty for everyone.
            suppressed: the known columns' values in records that are in no class; None if every record is in one.
        """
        ...


@frozen
class Assessor:
    """Decides a requirement for one channel kind. Keyed by (model, channel, axis kinds); overlaps are refused.

    Its functions are given requirements of its model, channels of its class, and the original; one whose `basis` (of
    several records a unit, whose `units`) is CHANNEL or less is given the number of records in its place where that is
    all there is. One that rests on more never is: ask it by `finding` and `accepts`.

    Attributes:
        model: the privacy model's name.
        channel: the channel class it reads.
        axes: the axis classes it handles; empty for any, and for channels without axes.
        basis: the least that recomputes its number.
        reference: where the formula stands.
        assess: decides.
        supports: asked at check time, before any data: a reason refuses. Also asked about axes that it does not handle,
            which are refused in any case: a reason then says why.
        smooth: for optimisers; None if not offered.
        per_class: for lattice search, one for each sensitive attribute; None if not offered. What these let pass,
            `assess` lets pass.
        measure: decides again, from the written release; None if not offered. It is asked where `basis` is RELEASE or
            less, and gives the finding that `assess` gave before the draw.
        needs: axis classes one of which must be there: the assessor then leaves other channels to others.
        holds: the verdict alone, where it costs less than the finding; asked by anyone who tries many channels.
        layout: asked at check time as well, with the attributes of each axis: a reason refuses, with what helps.
        attained: measures what everybody's draw came to, on the written release with the original at hand; None if not
            offered, or if it takes too much. Audit only: it has no limit, and decides nothing.
        estimates: whether it has an estimate that may decide, where an entry says `decided_by = "estimate"`.
        floor: the smallest reachable as the attributes named are drawn at random, and who stands in the way of the
            limit; None if not offered.
        units: the least that recomputes its number where a unit may have several records, which a requirement's
            `max_records` says; None if it speaks of single records alone: it is then refused at check time.
        adversary: whom its number speaks of, said where the table that it needs is not at hand.
        assumptions: what its number rests on in any case, likewise.
        monotone: whether what holds of a channel holds of whatever is computed from its releases; unless options say
            otherwise, see `Requirement`.
        sufficient: tests of classes that suffice where all but generalised quasi-identifiers is released as it is, for
            requirements that `per_class` cannot tell; None if there are none.
        least: with a planned channel and the table at hand, why no release whatever satisfies the requirement (RR510,
            RR570); None if one may. Asked before anything is assessed.
        frequency: given the sensitive attribute, the l of diversity by frequency from which on the requirement holds of
            whatever is suppressed to reach it; None if none is known.
    """

    model: str
    channel: type[Channel]
    axes: tuple[type[Axis], ...]
    basis: Basis
    reference: str
    assess: Callable[[Requirement, Any, Any], Finding]
    supports: Callable[[Requirement, Policy, Sequence[type[Axis]]], str | None] = lambda *_: None
    smooth: Callable[[Requirement, Any, Any], Smooth] | None = None
    per_class: Callable[[Requirement, Policy], tuple[PerClass, ...]] | None = None
    measure: Callable[[Requirement, Policy, Any, Written], Finding] | None = None
    needs: tuple[type[Axis], ...] = ()
    layout: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] | None = None
    holds: Callable[[Requirement, Any, Any], bool] | None = None
    floor: Callable[[Requirement, Any, Original, Collection[str]], Sequence[MinimumRisk]] | None = None
    attained: Callable[[Any, Original, Written], Finding | None] | None = None
    estimates: bool = False
    units: Basis | None = None
    adversary: str = ""
    assumptions: tuple[str, ...] = ()
    monotone: bool = False
    sufficient: Callable[[Requirement, Policy], tuple[PerClass, ...]] | None = None
    frequency: Callable[[Requirement, Attribute], Fraction] | None = None
    least: Callable[[Requirement, Any, Original], Problem | None] | None = None

    def basis_of(self, max_records: int) -> Basis:
        """Return the least that recomputes its number where a unit may have so many records."""
        return self.basis if max_records == 1 or self.units is None else self.units

    def rests_on(self, requirement: Requirement) -> Basis:
        """Return the least that recomputes its number for a requirement; the population is no part of a release."""
        return Basis.ORIGINAL if requirement.needs_reference else self.basis_of(requirement.max_records)

    def finding(self, requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
        """Return the finding; undecided if the table is needed and only the number of records is given."""
        basis = self.rests_on(requirement)
        if basis > Basis.CHANNEL and isinstance(original, int):
            adversary = requirement.adversary or self.adversary or "decided by who has the table"
            assumed = self.assumptions if requirement.assumptions is None else requirement.assumptions
            return conclude(requirement, None, None, basis, adversary, assumed, model=requirement.called)
        return check_return_type(Finding, self.assess)(requirement, channel, original)

    def accepts(self, requirement: Requirement, channel: Channel, original: Original | int) -> bool:
        """Return whether the requirement holds; no data are read that the verdict does not need."""
        if self.rests_on(requirement) <= Basis.CHANNEL:
            original = original if isinstance(original, int) else original.records
        elif isinstance(original, int):
            return False
        if self.holds is not None:
            return check_return_type(bool, self.holds)(requirement, channel, original)
        return self.finding(requirement, channel, original).verdict is Verdict.SATISFIED


def conclude(  # noqa: PLR0917 a finding is made of them
    requirement: Requirement,
    achieved: Measure | None,
    holds: bool | None,
    basis: Basis,
    adversary: str,
    assumptions: tuple[str, ...] = (),
    companions: tuple[Companion, ...] = (),
    **more: Any,
) -> Finding:
    """Return the finding of a requirement; its words are added by the caller.

    Args:
        requirement: the entry.
        achieved: the number; None if undecided.
        holds: whether it holds; None if undecided.
        basis: the least that recomputes the number.
        adversary: whom it speaks of, in a sentence.
        assumptions: what it rests on.
        companions: what must be read beside it.
        more: further fields of `Finding`; `limit` where the entry states several, `model` where its kind is named.
    """
    limit, model = more.pop("limit", requirement.limit), more.pop("model", requirement.model)
    verdict = Verdict.UNDECIDED if holds is None else Verdict.SATISFIED if holds else Verdict.FAILED
    asked = (requirement.model, model, "", requirement.place)
    return Finding(*asked, achieved, limit, verdict, basis, adversary, assumptions, companions, **more)


def refuse_layout(
    check: Callable[[Requirement, Policy, Layout], tuple[str, str] | None] | None,
    requirement: Requirement,
    policy: Policy,
    axes: Layout,
) -> None:
    """Raise `PolicyError` (RR227) if the `layout` of an assessor refuses how attributes stand together."""
    refused = None if check is None else check_return_type(tuple[str, str] | None, check)(requirement, policy, axes)
    if refused is not None:
        reason, hint = refused
        raise PolicyError(Problem("RR227", f"{requirement.model}: {reason}", requirement.place, hint=hint))


def subgroup_obstacle(requirement: Requirement, known: Collection[str], why: str) -> str | None:
    """Return why the subgroup of a requirement cannot be told, or None.

    Args:
        requirement: the entry.
        known: the attributes that its `where` may name.
        why: the rest of the sentence about others.
    """
    others = [name for name in requirement.where if name not in known]
    return f"`where` names {', '.join(others)}, {why}" if others else None


def unreadable_axes_reason(axes: Sequence[type[Axis]]) -> str | None:
    """Return why disclosure through some axes cannot be told: neither `Transition` nor `Posterior`; None if it can."""
    for axis in axes:
        if not lists_values(axis) and not hasattr(axis, "expected_posterior"):
            return f"'{axis.kind}' axes list no released values, and do not tell how surely one is read back"
    return None
