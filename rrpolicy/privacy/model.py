"""The interface of a privacy model, and of an assessor for the planner, the gate and the optimiser."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel

from rrpolicy.canonical_json import Value, exact
from rrpolicy.channels.base import Axis, Channel, Layout, lists_values
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Basis, Companion, Finding, Measure, Verdict
from rrpolicy.numbers import plain_number
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.model import Attribute, Policy, Requirement

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.protocol import Original

Options = TypeVar("Options", bound=BaseModel)


class Order(StrEnum):
    """The order of one requirement to another."""

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
OTHER_RELEASES = "Other releases of the same people: disclosures of several releases add up."
EVERY_MODEL = (GROUP_KNOWLEDGE_NOTE, OTHER_RELEASES)
"""The exclusions of every model, unless it states others."""
MORE_RECORDS = "People with more records in the table than the policy admits."
MORE_KNOWN = "Attackers who know another sensitive attribute, or more than the released columns that are not sensitive."
FINDING = (
    "Finding a person's record: the model limits what a class reveals about the sensitive attribute, not who is in it."
)
WHOLE_RELEASE = "Inference about every person from the distribution of the whole release."
SHARED_VALUE_NOTE = (
    "What a class has in common: if all have one sensitive value, it is known of each. l-diversity limits that."
)
"""Exclusions of several models, in one wording: a page of all exclusions lists each once."""


class PrivacyModel(Protocol[Options]):
    """The requirements that a model can state. Assessors compute the numbers.

    Options may have further attributes for planners: see `Requirement`. A model may also have these attributes:

        not_covered: sentences on what its findings do not cover; reports print them. Without them, reports state that
            the model declares none.
        measures: like `not_covered`, by the name of a further measure of its assessors; see `Assessor.attained`.
        promise: a method of the options that returns, in a plain sentence, the guarantee of a satisfied entry.
        Without
            it reports show only `describe`.
        example: keys of an entry as TOML, for hints, for `explain` and for the drafts of `init`.
        methods: the methods of mechanisms that can meet it, the most usual first; see `Mechanism`. `init` drafts it.
        limits_nothing: a method of the options that returns why an entry limits nothing, such as "limits nothing: every
            class has one record", or None. Without it an entry is taken to limit something.
        without_limit: like `limits_nothing`, for an entry that limits only a part of its quantities. assessors: a
        method that returns further assessors, as a hook's function does. A model of equivalence classes
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
        """Return why the requirement does not apply to this policy, or None. No data are needed.

        The place shown is that of the first option which the reason names.
        """
        ...

    def compare(self, old: Options, new: Options) -> Order:
        """Return the order of the new requirement to the old one."""
        ...


@dataclass(frozen=True, slots=True)
class Smooth:
    """A requirement as an optimiser sees it: values that must be <= 0, and how they change.

    Attributes:
        value: keep probabilities -> constraint values, shape (c,): achieved/limit - 1, or another number of that size.
            One probability for each Retention axis, in the channel's order: that of its largest block; the other
            blocks share its retention probability. That of an axis that exchanges nothing, 1, does not matter.
        jacobian: the same -> (c, axes).
        name: name for messages.
        bound: whether the values are a certified upper bound, never below the truth, and not the truth itself.
        monotone: whether no value rises as a keep probability falls towards drawing at random.
    """

    value: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    name: str
    bound: bool = False
    monotone: bool = True


@dataclass(frozen=True, slots=True)
class PerClass:
    """A requirement on single equivalence classes, for lattice search and partitioning.

    Attributes:
        sensitive: the attribute whose histograms it reads; None if it reads class sizes alone, which any has.
        holds: its histograms, (classes, values) counts -> mask (classes,) of those that satisfy it. It is given all
            records that would be released: t-closeness compares with their sum. Suppressed ones are one more class, the
            last, whose verdict is not read.
        monotone: whether merging satisfying classes always satisfies it.
        monotone_with_suppression: the same when failing classes may be suppressed.
        where: the subgroup it is limited to; only classes that may contain a record of it need to satisfy it.
        peaks: a further condition on (classes, values) counts and the most records of each value that agree in the
            untouched quasi-identifiers: mask (classes,). None if `holds` suffices.
        people: a further condition on (classes,) records and (classes,) people of the reference table: mask
            (classes,). Where there are no records, the people are in no class. None if there is no such condition.
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


class MinimumRisk(Struct, frozen=True):
    """The least attainable number of one requirement, and the people who prevent its limit.

    Attributes:
        of: the limited quantity, such as `risk of disease`.
        achieved: the largest number at the floor, over the people that the requirement covers; of those nearest to or
            over their limit.
        limit: theirs.
        groups: number of groups.
        groups_over: number of these groups that cannot be brought under their limit.
        people_over: number of people in these groups who prevent it.
        groups_alike: groups over the limit in which everybody has the same sensitive value.
        people_alike: people in them.
        everything: the floor if all quasi-identifiers and the sensitive attribute were randomised, in one block each.
        hints: remedies.
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
        """Whether the limit is attainable for everybody; other requirements may still prevent it."""
        return self.groups_over == 0

    @property
    def text(self) -> str:
        """Return the floor in a sentence, for the message of RR102. It contains counts: audit-class."""
        said = f"{self.of}: the smallest reachable is {plain_number(self.achieved)}, the limit {exact(self.limit)}"
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
        """Return a table's distinct rows in canonical order, with a column `MULTIPLICITY` of their number."""
        ...

    def unordered(self, table: str, *columns: str) -> pa.RecordBatchReader:
        """Return all rows of some columns in no particular order, which costs a fraction of `distinct`.

        Text of columns with labels may come coded, and then a text that is not a label is null.
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


@dataclass(frozen=True, slots=True)
class Assessor:
    """Decides a requirement for one channel kind. Keyed by (model, channel, axis kinds); overlaps are refused.

    Its functions receive requirements of its model, channels of its class, and the original. One whose `basis` (of
    several records a unit, whose `units`) is CHANNEL or less receives the number of records in its place if that is all
    there is. One that needs more never does: call `finding` and `accepts`.

    Attributes:
        model: the privacy model's name.
        channel: the channel class it reads.
        axes: the axis classes it handles; empty for any, and for channels without axes.
        basis: the least that recomputes its number.
        reference: the source of the formula.
        assess: decides.
        supports: returns a reason to refuse at check time, before any data. Also called for axes that it does not
            handle, which are refused in any case, with its reason.
        smooth: returns the requirement for optimisers; None if not offered.
        per_class: returns tests for lattice search, one for each sensitive attribute; None if not offered. `assess`
            accepts everything that these accept.
        measure: decides again, from the written release; None if not offered. It is called where `basis` is RELEASE or
            less, and gives the finding that `assess` gave before the draw.
        needs: axis classes, at least one of which the channel must have: the assessor leaves other channels to
            others.
        holds: returns the verdict alone, if it costs less than the finding; called where many channels are tried.
        layout: called at check time as well, with the attributes of each axis: returns a reason to refuse, and a
            remedy.
        attained: measures everybody's actual draw, on the written release with the original at hand; None if not
            offered, or if it takes too much. Audit only: it has no limit, and decides nothing.
        estimates: whether it has an estimate that may decide, where an entry has `decided_by = "estimate"`.
        floor: the least attainable number as the named attributes are drawn at random, and the people who prevent the
            limit; None if not offered.
        units: the least that recomputes its number where a unit may have several records, as a requirement's
            `max_records` states; None if it is for single records alone: such a requirement is refused at check time.
        adversary: the attacker of its number, shown if the table that it needs is not at hand.
        assumptions: assumptions of its number in any case, likewise.
        monotone: whether a requirement that a channel meets is met by any function of its releases; unless options
            state otherwise, see `Requirement`.
        sufficient: tests of classes that suffice where all but generalised quasi-identifiers are released unmodified,
            for requirements that `per_class` cannot test; None if not offered.
        least: with a planned channel and the table at hand, the reason for which no release can satisfy the
            requirement (RR510, RR570); None if one may. Called before anything is assessed.
        frequency: given the sensitive attribute, the least l of diversity by frequency with which the requirement is
            met, whichever records are suppressed to reach it; None if unknown.
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
        """Return the least basis that recomputes its number for a requirement; a release has no population."""
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
        """Return whether the requirement is met; no data are read that the verdict does not need."""
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
        achieved: the achieved value; None if undecided.
        holds: whether it is met; None if undecided.
        basis: the least input that recomputes the value.
        adversary: the attacker, in a sentence.
        assumptions: assumptions of the value.
        companions: related measures.
        more: further fields of `Finding`; `limit` where the entry has several, `model` where its kind is named.
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
    """Raise `PolicyError` (RR227) if the `layout` of an assessor refuses the attributes of an axis."""
    refused = None if check is None else check_return_type(tuple[str, str] | None, check)(requirement, policy, axes)
    if refused is not None:
        reason, hint = refused
        raise PolicyError(Problem("RR227", f"{requirement.model}: {reason}", requirement.place, hint=hint))


def subgroup_obstacle(requirement: Requirement, known: Collection[str], why: str) -> str | None:
    """Return that `where` names attributes that are not known, in a sentence that ends with `why`; None if not."""
    others = [name for name in requirement.where if name not in known]
    return f"`where` contains {', '.join(others)}, {why}" if others else None


def unreadable_axes_reason(axes: Sequence[type[Axis]]) -> str | None:
    """Return why disclosure through some axes is unknown: neither `Transition` nor `Posterior`; None if it is known."""
    for axis in axes:
        if not lists_values(axis) and not hasattr(axis, "expected_posterior"):
            return f"'{axis.kind}' axes list no released values and no probability of inferring the original"
    return None
