"""The protection of a planned release: the ladder of every sensitive column, and the chance that a record is found.

An attacker knows a person's quasi-identifiers. *By record* he knows as well which released record is the person's, and
reads it (`reading`). *By person* he finds that record with the chance L, the probability that a record drawn by its
posterior weight is the person's own (`disclosure.identity`), and reads it then; else he guesses by the statistics:

    by person = L (by record) + (1 - L) (by statistics)

A column that is released exactly and is not a quasi-identifier may reveal the value as well: among all such columns
he uses the one with which he reads best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.counts import number_rows
from rrpolicy.declarations import Role
from rrpolicy.finding import Measure, Standing
from rrpolicy.frozen import replace
from rrpolicy.privacy.cells import occupied_cells
from rrpolicy.privacy.classes.unit_classes import fewest_units
from rrpolicy.privacy.disclosure.reconstruction import axis_width, quasi_identifier_reconstruction
from rrpolicy.privacy.epsilon.scope_loss import epsilon_of_ratio, k_of_cross_ratio, scope_loss
from rrpolicy.privacy.evidence import (
    Evidence,
    KnownAndSensitive,
    assumed_unlinkable_columns,
    gather_evidence,
    split_axes,
)
from rrpolicy.privacy.protection.grade import (
    CERTAIN,
    CHANCE,
    EPSILON,
    GROUPS,
    POSTERIOR_RISE,
    RECORD_CHANCE,
    GradeRule,
    ProtectionGrade,
    worst_grade,
)
from rrpolicy.privacy.protection.guessing import (
    TIE_TOLERANCE,
    GuessOutcome,
    certain_guess,
    guess_from_group,
    guess_from_record,
    guess_without_record,
)
from rrpolicy.privacy.protection.result import (
    ColumnInference,
    InferenceLevel,
    LinkageWithoutAssumption,
    RecordLinkage,
    ReleaseProtection,
    ValueInference,
)
from rrpolicy.privacy.suppression.disclosure import suppressed_counts
from rrpolicy.privacy.units import k_of_units

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.policy.model import Policy
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.source.protocol import Original

MOST_VALUES = 20
"""Values of a column that are reported one by one, those with the largest rise first."""
SURE = 1 - 1e-9
"""The least probability of an attacker who counts as certain."""
MOST_CELLS = 1 << 22
"""Released cells of the quasi-identifiers beyond which the chance of finding a record is bounded by 1/k."""
BARELY = 0.05
"""Rise of a probability up to which a column released exactly is taken to add nothing to an epsilon."""
DIGITS = 12
"""Decimals with which people are compared, so that rounding errors do not decide between them."""
NO_TABLE = "only epsilon is known without the table"


class AttackerView(Struct, frozen=True, dict=True):
    """The people of a table, by the attacker's knowledge and by the sensitive value.

    Attributes:
        counts: (groups, cells) people; groups agree in all known attributes.
        part: (cells,) the value of each cell.
        labels: labels of the values.
        like: (groups,) the people whose statistics apply to a group: their released quasi-identifiers agree.
        link: (groups, cells) the chance that a person's record is found.
        standing: standing of that chance.
        exact: whether groups and values are released with certainty, so that anybody can count released groups.
    """

    counts: Ints
    part: Ints
    labels: tuple[str, ...]
    like: Ints
    link: Array
    standing: Standing
    exact: bool

    @cached_property
    def shares(self) -> Array:
        """Return (cells,) shares of the whole table."""
        found: Array = self.counts.sum(axis=0) / self.counts.sum()
        return found

    @cached_property
    def of_value(self) -> Array:
        """Return (values,) people."""
        return self.by_value(np.ones(self.counts.shape))

    def by_value(self, x: Array) -> Array:
        """Return (values,) sums of (groups, cells) numbers over people."""
        sums = np.bincount(self.part, weights=(self.counts * x).sum(axis=0), minlength=len(self.labels))
        return sums.astype(np.float64)

    def pooled(self, which: Ints) -> Ints:
        """Return (numbers, cells) people of groups with the same number."""
        total = np.zeros((int(which.max(initial=0)) + 1, self.counts.shape[1]), dtype=np.int64)
        np.add.at(total, which, self.counts)
        return total


def assess_protection(channel: Channel, original: Original | int, policy: Policy) -> ReleaseProtection:
    """Return the protection of a release; given only the number of records, its grade follows from the channel."""
    sensitive = [a for a in policy.released if a.role is Role.SENSITIVE]
    if isinstance(original, int) or not original.records:
        totals = [_joint_epsilon(channel, policy, a.name) for a in sensitive]
        grades = [ProtectionGrade.NONE if total is None else EPSILON.grade(total.value) for total in totals]
        return ReleaseProtection(worst_grade(grades) if grades else ProtectionGrade.NONE, NO_TABLE, None, ())
    linking = _record_linkage(channel, original)
    ladders = tuple(_column_inference(channel, original, a.name) for a in sensitive)
    if not ladders:
        return ReleaseProtection(linking.grade, linking.rule, linking, ())
    deciding = max(ladders, key=lambda ladder: (ladder.grade.rank, ladder.rise.value))
    return ReleaseProtection(deciding.grade, f"the grade is that of `{deciding.of}`: {deciding.rule}", linking, ladders)


def _is_category_product(channel: Channel, policy: Policy) -> TypeGuard[Product]:
    """Return whether a channel is a product of axes over the policy's categories; others are bounded."""
    if not isinstance(channel, Product):
        return False
    sizes = {a.name: len(a.domain or ()) for a in policy.attributes.values()}
    return all(axis.original_size == math.prod(sizes.get(n, 0) for n in axis.attributes) for axis in channel.axes)


def _record_linkage(channel: Channel, original: Original) -> RecordLinkage:
    chance, n, standing = _linkage_chances(channel, original)
    most = float(chance.max())
    return RecordLinkage(
        Measure(1 / original.records),
        Measure(float((chance * n).sum() / n.sum()), standing),
        Measure(most, standing),
        Measure(float(n[chance >= SURE].sum()), standing),
        _linkage_without_assumption(channel, original),
        CHANCE.grade(most),
        CHANCE.decided(most),
    )


def _linkage_without_assumption(channel: Channel, original: Original) -> LinkageWithoutAssumption | None:
    """Return the chances that a record is found by an attacker who knows all columns that are released exactly."""
    bounded = isinstance(channel, SuppressionChannel)
    product = _identity_release(original) if bounded else channel
    product = product.untouched() if isinstance(product, AnatomyChannel) else product
    if not isinstance(product, Product):
        return None
    columns = assumed_unlinkable_columns(product)
    if not columns:
        return None
    evidence = gather_evidence(original, split_axes(product, original.policy, None, assumptions=False))
    chance, standing = _finding_chances(product, original, evidence)
    standing = Standing.UPPER_BOUND if bounded else standing
    mean = float((chance * evidence.n).sum() / evidence.n.sum())
    return LinkageWithoutAssumption(columns, Measure(mean, standing), Measure(float(chance.max()), standing))


def _linkage_chances(channel: Channel, original: Original) -> tuple[Array, Ints, Standing]:
    """Return the chance of being found of each kind of people, their number, and the standing of the chances."""
    if isinstance(channel, SuppressionChannel):
        people = _suppressed_view(channel, original)
        kinds = people.counts > 0
        return people.link[kinds], people.counts[kinds], people.standing
    product = channel.untouched() if isinstance(channel, AnatomyChannel) else channel
    if not _is_category_product(product, original.policy):
        return np.ones(1), np.array([original.records]), Standing.UPPER_BOUND
    evidence = gather_evidence(original, split_axes(product, original.policy, None))
    chance, standing = _finding_chances(product, original, evidence)
    return chance, evidence.n, standing


def _finding_chances(product: Product, original: Original, evidence: Evidence) -> tuple[Array, Standing]:
    """Return (groups,) the chance that a record drawn by its posterior weight is the person's, and its standing."""
    most = original.policy.source.max_records
    if most > 1:
        units = original.units
        known = [axis for axis in product.axes if {*axis.attributes} <= {*evidence.names}]
        listed = [name for axis in known for name in axis.attributes] == [*evidence.names]
        if units is not None and listed and all(isinstance(axis, (Identity, Recode)) for axis in known):
            return 1 / fewest_units(known, original, evidence.values), Standing.UPPER_BOUND
        cross = scope_loss(product).cross
        bound = 1.0 if units is None else float(1 / k_of_units(cross, units.sizes))
        return np.full(len(evidence.n), bound), Standing.UPPER_BOUND
    if math.prod(map(axis_width, evidence.axes)) * evidence.contexts > MOST_CELLS:
        bound = float(1 / k_of_cross_ratio(scope_loss(product).cross, original.records))
        return np.full(len(evidence.n), bound), Standing.UPPER_BOUND
    standing = Standing.UPPER_BOUND if evidence.revealed else Standing.EXACT
    return quasi_identifier_reconstruction(evidence) / evidence.n, standing


def _column_inference(channel: Channel, original: Original, name: str) -> ColumnInference:
    if not original.policy.attributes[name].categorical:
        return _numeric_column_inference(channel, original, name)
    reads = ""
    if isinstance(channel, SuppressionChannel):
        people = _suppressed_view(channel, original)
        reading = certain_guess(people.counts)
    elif isinstance(channel, AnatomyChannel):
        people = _attacker_view(channel.untouched(*channel.sensitive), original, name)
        people = replace(people, exact=False)
        dealt = any(column.attribute == name for column in channel.sensitive)
        reading = guess_from_group(channel, people.counts, people.shares) if dealt else certain_guess(people.counts)
    elif not _is_category_product(channel, original.policy):
        people = _attacker_view(_identity_release(original), original, name)
        people = replace(people, link=np.ones_like(people.link), standing=Standing.UPPER_BOUND, exact=False)
        reading = certain_guess(people.counts, Standing.UPPER_BOUND)
    else:
        people, reading, reads = _inference_with_best_column(channel, original, name)
    return _inference_levels(people, reading, name, _joint_epsilon(channel, original.policy, name), reads)


def _attacker_view(product: Product, original: Original, name: str) -> AttackerView:
    """Return the people of a table by the attacker's knowledge and by the cells that release a sensitive column."""
    told = split_axes(product, original.policy, name)
    assert told.sensitive is not None
    return _gather_view(product, original, name, told)[0]


def _gather_view(
    product: Product, original: Original, name: str, told: KnownAndSensitive
) -> tuple[AttackerView, Evidence]:
    policy = original.policy
    evidence = gather_evidence(original, told)
    axis = told.sensitive
    assert axis is not None
    domains = [policy.attributes[each].domain or () for each in axis.attributes]
    evidence = evidence.of(name, [len(domain) for domain in domains])
    link, standing = _finding_chances(product, original, evidence)
    part = np.arange(axis.original_size) if evidence.part is None else evidence.part
    people = AttackerView(
        evidence.joint,
        part,
        tuple(map(category_text, policy.attributes[name].domain or ())),
        _visible_group_sizes(evidence, told, policy),
        link[:, None],
        standing,
        exact=isinstance(axis, Identity) and not evidence.axes,
    )
    return people, evidence


def _visible_group_sizes(evidence: Evidence, told: KnownAndSensitive, policy: Policy) -> Ints:
    """Return (groups,) the number of the people whose quasi-identifiers are released equally, where that is certain."""
    columns: list[Ints] = []
    start = 0
    for axis in told.known:
        codes = evidence.values[:, start : start + len(axis.attributes)]
        start += len(axis.attributes)
        if any(policy.attributes[each].role is Role.QUASI_IDENTIFIER for each in axis.attributes):
            columns += list((axis.recode(codes) if isinstance(axis, Recode) else codes).T)
    for place, column in enumerate(told.carried, start + len(told.siblings)):
        if policy.attributes[column.attribute].role is Role.QUASI_IDENTIFIER:
            columns.append(evidence.values[:, place].astype(np.int64))
    return number_rows(columns, len(evidence.n))[0]


def _inference_with_best_column(
    product: Product, original: Original, name: str
) -> tuple[AttackerView, GuessOutcome, str]:
    """Return the people, the guess from a known record, and the column, released exactly, that helps to guess."""
    told = split_axes(product, original.policy, name)
    axis = told.sensitive
    assert axis is not None
    people, evidence = _gather_view(product, original, name, told)
    plain = guess_from_record(axis, people.pooled(people.like), people.shares, people.part).of_groups(people.like)
    if isinstance(axis, Identity):
        return people, plain, ""
    best, reads = float((people.counts * plain.probability).sum()) / original.records, None
    for column in _exact_columns(product, original.policy, axis.attributes):
        counts = _count_by_column(original, column, axis.attributes)
        found = guess_from_record(axis, counts, people.shares, people.part)
        attained = float((counts * found.probability).sum()) / original.records
        if attained > best + BARELY:
            best, reads = attained, column
    if reads is None:
        return people, plain, ""
    finer, known = _gather_view(product, original, name, _add_known_column(told, product, reads))
    place = known.names.index(reads.attribute)
    link, standing = _chances_without_column(people, evidence, known, place)
    finer = replace(finer, link=link, standing=standing)
    which, _ = number_rows([known.values[:, place]], len(known.n))
    return (
        finer,
        guess_from_record(axis, finer.pooled(which), finer.shares, finer.part).of_groups(which),
        reads.attribute,
    )


def _exact_columns(product: Product, policy: Policy, own: tuple[str, ...]) -> Iterator[Column]:
    """Yield the columns that are released exactly and are not quasi-identifiers."""
    exact = [axis.released for axis in product.axes if isinstance(axis, Identity)]
    for column in (*exact, *product.carried):
        if column.attribute not in own and policy.attributes[column.attribute].role is not Role.QUASI_IDENTIFIER:
            yield column


def _count_by_column(original: Original, column: Column, own: tuple[str, ...]) -> Ints:
    """Return (values of the column, cells) people."""
    domains = [len(original.policy.attributes[name].domain or ()) for name in own]
    listed = [column.attribute] if column.labels else []
    codes, n, _ = occupied_cells(original, listed, [] if listed else [column.attribute], own)
    which, values = number_rows([codes[:, 0]], len(codes))
    counts = np.zeros((values, int(np.prod(domains))), dtype=np.int64)
    np.add.at(counts, (which, np.ravel_multi_index(tuple(codes[:, 1:].T), domains)), n)
    return counts


def _add_known_column(told: KnownAndSensitive, product: Product, column: Column) -> KnownAndSensitive:
    if not column.labels:
        return told if column in told.carried else replace(told, carried=(*told.carried, column))
    axis = next(a for a in product.axes if isinstance(a, Identity) and a.released == column)
    return told if axis in told.known else replace(told, known=(*told.known, axis))


def _chances_without_column(
    people: AttackerView, coarse: Evidence, fine: Evidence, place: int
) -> tuple[Array, Standing]:
    """Return (groups, 1) the chances of groups that one more column splits, as if that column were unknown.

    `place`: of the column among those of `fine`.
    """
    if len(fine.names) == len(coarse.names):
        return people.link, people.standing
    others = np.delete(fine.values, place, axis=1)
    if [*fine.labels[:place], *fine.labels[place + 1 :]] != [*coarse.labels]:
        return np.ones((len(others), 1)), Standing.UPPER_BOUND
    return _look_up_rows(coarse.values, people.link[:, 0], others)[:, None], people.standing


def _look_up_rows(rows: Codes, numbers: Array, wanted: Codes) -> Array:
    """Return the number of each wanted row, which is one of the rows that have numbers."""
    every = np.concatenate((rows, wanted))
    number, distinct = number_rows(list(every.T), len(every))
    found = np.zeros(distinct)
    found[number[: len(rows)]] = numbers
    return found[number[len(rows) :]]


def _suppressed_view(channel: SuppressionChannel, original: Original) -> AttackerView:
    parted = suppressed_counts(channel, original)
    top, bottom = parted.chance
    counts = parted.evidence.histograms
    link = np.divide(top, bottom[:, None] * counts, out=np.zeros(counts.shape), where=counts > 0)
    every = np.arange(counts.shape[1])
    labels = tuple(map(category_text, channel.sensitive.labels))
    return AttackerView(counts, every, labels, np.arange(len(counts)), link, Standing.EXACT, exact=True)


def _inference_levels(
    people: AttackerView, reading: GuessOutcome, name: str, total: Measure | None, reads: str
) -> ColumnInference:
    """Return the ladder of a column, from the guesses of people."""
    n = people.counts.sum()
    overall = people.by_value(np.ones(people.counts.shape)) / n
    statistics = guess_without_record(people.pooled(people.like), people.shares, people.part).of_groups(people.like)
    right = people.link * reading.right + (1 - people.link) * statistics.right
    given = people.link * reading.probability + (1 - people.link) * statistics.probability
    of_value = people.of_value
    occurs = np.flatnonzero(of_value)

    def by_value(x: Array) -> Array:
        return np.divide(people.by_value(x), of_value, out=np.zeros(len(of_value)), where=of_value > 0)

    risen = np.where(people.counts > 0, np.round(given - statistics.probability, DIGITS), -1.0)
    worst_off = np.unravel_index(int(risen.argmax()), risen.shape)
    value = int(people.part[worst_off[1]])
    bound = Standing.UPPER_BOUND if Standing.UPPER_BOUND in {reading.standing, people.standing} else reading.standing
    error = 0.0 if reading.error is None else float((people.counts * reading.error).sum() / n)
    of_worst = 0.0 if reading.error is None else float(reading.error[worst_off])

    def rung(found: Array, probability: Array, certain: float, standing: Standing) -> InferenceLevel:
        attained = float((people.counts * found).sum() / n)
        errors = (error, of_worst) if standing is Standing.ESTIMATE else (0.0, 0.0)
        return InferenceLevel(
            Measure(attained, standing, errors[0]),
            Measure(float(probability[worst_off]), standing, errors[1]),
            Measure(float(certain)),
        )

    totals = people.pooled(people.like)
    one = len(occurs) == 1
    of_values = np.zeros((len(totals), len(people.labels)), dtype=np.int64)
    np.add.at(of_values.T, people.part, totals.T)
    alike = (of_values > 0).sum(axis=1) == 1
    homogeneous = int(totals[alike & (totals.sum(axis=1) > 1)].sum())
    sure = (reading.probability >= SURE) & (reading.standing is not Standing.ESTIMATE)
    known = float(people.counts[sure].sum())
    found = float(people.counts[sure & (people.link >= SURE)].sum())
    given_away = homogeneous if people.exact and not one else 0
    rise = Measure(max(float(risen[worst_off]), 0.0), bound, of_worst if bound is Standing.ESTIMATE else 0.0)
    by_record = np.where(people.counts > 0, reading.probability - statistics.probability, 0.0)
    most = int(by_record.argmax())
    deviation = 0.0 if reading.error is None else float(reading.error.flat[most])
    record_rise = Measure(max(float(by_record.flat[most]), 0.0), reading.standing, deviation)
    numbers = [(POSTERIOR_RISE, rise.end("max")), (CERTAIN, 0.0 if one else found / n), (GROUPS, given_away / n)]
    numbers.append((RECORD_CHANCE, record_rise.end("max")))
    grade, rule = _column_grade(numbers, None if reads else total)
    return ColumnInference(
        name,
        people.labels[value],
        InferenceLevel(Measure(float(overall.max())), Measure(float(overall[value])), Measure(float(n if one else 0))),
        rung(statistics.right, statistics.probability, homogeneous, Standing.EXACT),
        rung(reading.right, reading.probability, known, reading.standing),
        rung(right, given, found + given_away, bound),
        rise,
        record_rise,
        total,
        given_away,
        _value_inferences(
            people, risen, overall, [*map(by_value, (statistics.probability, reading.probability, given))]
        ),
        reads,
        grade,
        rule,
    )


def _value_inferences(
    people: AttackerView, risen: Array, overall: Array, means: Sequence[Array]
) -> tuple[ValueInference, ...]:
    """Return the values of a column, starting with the value whose probability rises most for a person."""
    most = np.full(len(people.labels), -1.0)
    np.maximum.at(most, people.part, risen.max(axis=0))
    order = [u for u in np.argsort(-most, kind="stable").tolist() if people.of_value[u]]
    before, record, person = means
    return tuple(
        ValueInference(
            people.labels[u],
            int(people.of_value[u]),
            float(overall[u]),
            float(before[u]),
            float(record[u]),
            float(person[u]),
            max(float(most[u]), 0.0),
        )
        for u in order[:MOST_VALUES]
    )


def _identity_release(original: Original) -> Product:
    """Return the release of all columns unmodified, which bounds that of an unknown channel."""
    return Product.of(original.policy.released, ())


def _numeric_column_inference(channel: Channel, original: Original, name: str) -> ColumnInference:
    """Return the ladder of a column without categories, which is released unmodified: counted value by value."""
    product = channel if isinstance(channel, Product) else _identity_release(original)
    told = split_axes(product, original.policy, name)
    evidence = gather_evidence(original, replace(told, sensitive=None))
    chance, standing = _finding_chances(product, original, evidence)
    attributes = [each for axis in told.known for each in axis.attributes]
    carried = [column.attribute for column in told.carried]
    codes, n, labels = occupied_cells(original, attributes, [*carried, name], [])
    if not isinstance(channel, Product) or [*evidence.labels] != labels[:-1]:
        chance, standing = np.ones(len(evidence.n)), Standing.UPPER_BOUND
    link = _look_up_rows(evidence.values, chance, codes[:, :-1]) if standing is Standing.EXACT else np.ones(len(n))
    like = _look_up_rows(
        evidence.values, _visible_group_sizes(evidence, told, original.policy).astype(np.float64), codes[:, :-1]
    )
    value = codes[:, -1].astype(np.int64)
    right, probability, alone = _guess_by_others(like.astype(np.int64), value, n)
    total, people = int(n.sum()), np.bincount(value, weights=n)
    person = link + (1 - link) * probability
    worst_off = int(np.argmax(np.round(person - probability, DIGITS)))
    rarest = int(value[worst_off])

    def mean(x: Array) -> float:
        return float((n * x).sum() / total)

    found = float(n[link >= SURE].sum())
    given_away = int(n[alone].sum()) if len(people) > 1 else 0
    rise = Measure(float(person[worst_off] - probability[worst_off]), standing)
    record_rise = Measure(float((1 - probability).max()))
    numbers = [(POSTERIOR_RISE, rise.value), (CERTAIN, found / total), (GROUPS, given_away / total)]
    grade, rule = _column_grade([*numbers, (RECORD_CHANCE, record_rise.value)])
    one = Measure(1.0)
    return ColumnInference(
        name,
        category_text(labels[-1][rarest]) if labels[-1][rarest] is not None else "missing",
        InferenceLevel(Measure(float(people.max() / total)), Measure(float(people[rarest] / total)), Measure(0.0)),
        InferenceLevel(Measure(mean(right)), Measure(float(probability[worst_off])), Measure(float(given_away))),
        InferenceLevel(one, one, Measure(float(total))),
        InferenceLevel(
            Measure(mean(link + (1 - link) * right), standing),
            Measure(float(person[worst_off]), standing),
            Measure(found + given_away, standing),
        ),
        rise,
        record_rise,
        None,
        given_away,
        (),
        "",
        grade,
        rule,
    )


def _guess_by_others(group: Ints, value: Ints, n: Ints) -> tuple[Array, Array, Mask]:
    """Return the guess without a record, for (cells,) of a table with very many values, one by one.

    (cells,) the chance of a right guess, the probability of the true value, and whether all others of the group, one at
    least, have it as well. `group` determines the statistics, `n` is people.
    """
    number, distinct = number_rows([group, value], len(n))
    held = np.bincount(number, weights=n, minlength=distinct)
    of = np.zeros(distinct, dtype=np.int64)
    what = np.zeros(distinct, dtype=np.int64)
    of[number], what[number] = group, value
    shares = np.bincount(value, weights=n) / n.sum()
    weight = held + shares[what]
    groups = int(group.max()) + 1
    best = np.zeros(groups)
    np.maximum.at(best, of, weight)
    first = np.zeros(groups, dtype=np.int64)
    first[of[weight == best[of]]] = np.flatnonzero(weight == best[of])
    second = np.zeros(groups)
    rest = np.ones(distinct, dtype=bool)
    rest[first] = False
    np.maximum.at(second, of[rest], weight[rest])
    common = np.sort(shares)[-2:]
    elsewhere = np.where(shares[what] == common[-1], common[0] if len(common) > 1 else 0.0, common[-1])
    others = np.maximum(np.where(first[of] == np.arange(distinct), second[of], best[of]), elsewhere)
    own = weight - 1
    alike = np.abs(own - others) <= TIE_TOLERANCE * others
    inside, outside = (
        _count_equal_weights(of, weight, of, own),
        _count_equal_weights(0 * np.arange(len(shares)), shares, 0 * of, own),
    )
    tied = np.where(held > 1, inside, outside - 1)
    right = np.where(alike, 1 / (1 + np.maximum(tied, 1)), (own > others).astype(np.float64))
    people = np.bincount(group, weights=n)
    same = (held == people[of]) & (held > 1)
    return right[number], (own / people[of])[number], same[number]


def _count_equal_weights(group: Ints, weight: Array, wanted_group: Ints, wanted: Array) -> Ints:
    """Return the number of entries with each wanted group and weight."""
    levels = np.unique(np.round(np.concatenate((weight, wanted)), DIGITS))
    here, there = (np.searchsorted(levels, np.round(x, DIGITS)) for x in (weight, wanted))
    number, counts = np.unique(group * len(levels) + here, return_counts=True)
    key = wanted_group * len(levels) + there
    place = np.minimum(np.searchsorted(number, key), len(number) - 1)
    found: Ints = np.where(number[place] == key, counts[place], 0)
    return found


def _column_grade(
    numbers: Sequence[tuple[GradeRule, float]], total: Measure | None = None
) -> tuple[ProtectionGrade, str]:
    """Return the grade of a column, and the rule that decided: people hide among others, or their values do.

    `total`: epsilon, unless a column helps to read the value.
    """
    deciding = max(numbers, key=lambda each: each[0].grade(each[1]).rank)
    hidden = deciding[0].grade(deciding[1])
    if total is not None:
        noisy = EPSILON.grade(total.value)
        if noisy.rank < hidden.rank:
            return noisy, EPSILON.decided(total.value)
    return hidden, deciding[0].decided(deciding[1])


def _joint_epsilon(channel: Channel, policy: Policy, name: str) -> Measure | None:
    """Return epsilon of all sensitive columns of a person together; None where one is released exactly."""
    if not isinstance(channel, Product) or any(c.attribute == name for c in channel.carried):
        return None
    sensitive = {a.name for a in policy.released if a.role is Role.SENSITIVE} | {name}
    ratio: Fraction | None = Fraction(1)
    for axis in channel.axes:
        if name in axis.attributes or (not sensitive.isdisjoint(axis.attributes) and not isinstance(axis, Identity)):
            own = axis.max_ratio()
            ratio = None if own is None or ratio is None else ratio * own
    if ratio is None:
        return None
    return epsilon_of_ratio(ratio**policy.source.max_records)
