"""Several releases together, against enumeration: an attacker who sees all public folders and links all rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from random import Random
from types import SimpleNamespace

import pytest

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.governance.ledger import composition, overlap
from rrpolicy.governance.ledger.budget import smallest_class
from rrpolicy.governance.ledger.composition import (
    ReleaseComponent,
    composition_obstacle,
    khatri_rao,
    link_changing_values,
    link_same_values,
)
from rrpolicy.policy.model import Attribute, LedgerSettings, Requirement
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.epsilon.scope_loss import k_of_cross_ratio, scope_loss
from rrpolicy.privacy.models.attribute_disclosure import DISCLOSURE_MODEL
from rrpolicy.testing import policies
from rrpolicy.testing.memory import TableInMemory

Law = Mapping[int, Mapping[object, Fraction]]
"""Original code -> what is released -> probability, of the linked rows of one person."""
LABELS = tuple("abcd")


def retention(name: str, size: int, keep: str) -> Retention:
    return Retention.uniform(name, LABELS[:size], Fraction(keep))


def matrix(name: str, *rows: str) -> Matrix:
    """Return an axis of the rows of a matrix, in tenths."""
    entries = [[Fraction(int(c), 10) for c in row.split()] for row in rows]
    return Matrix.explicit(name, LABELS[: len(entries[0])], LABELS[: len(entries)], entries)


def groups(name: str, *becomes: str) -> Recode:
    return Recode.by_levels([Domain(name, LABELS[: len(becomes)])], [becomes])


SKEW = matrix("x", "7 2", "2 3", "1 5")
OTHER = matrix("x", "6 1", "4 9")
PAIRS = [
    (retention("x", 2, "0.7"), retention("x", 2, "0.8")),
    (retention("x", 3, "0.5"), retention("x", 3, "0.6")),
    (SKEW, OTHER),
    (OTHER, SKEW),
    (SKEW, retention("x", 2, "0.9")),
    (matrix("x", "8 1 1", "1 8 1", "1 1 8"), matrix("x", "2 3 6", "8 7 4")),
]
IDS = [f"{a.kind}{a.original_size}-{b.kind}" for a, b in PAIRS]


def part(*axes: Axis, records: int = 3) -> ReleaseComponent:
    channel = Product.of(
        [Attribute(a.attributes[0], Role.QUASI_IDENTIFIER, LABELS[: a.original_size]) for a in axes], axes
    )
    return ReleaseComponent("a release", channel, records, {name: "d" for axis in axes for name in axis.attributes})


def law_of(*axes: Axis) -> Law:
    """Return the law of linked rows of one attribute with the same value in all releases, written out."""
    found: dict[int, dict[object, Fraction]] = {}
    for code in range(axes[0].original_size):
        columns = [axis.column(code).items() for axis in axes]  # type: ignore[attr-defined]
        found[code] = {
            tuple(u for u, _ in told): math.prod((p for _, p in told), start=Fraction(1))
            for told in itertools.product(*columns)
        }
    return found


def changing(*axes: Axis) -> Law:
    """Return the law where each release has a value of its own: codes number the combinations of values."""
    return {
        code: {
            tuple(u for u, _ in told): math.prod((p for _, p in told), start=Fraction(1))
            for told in itertools.product(*(axis.column(v).items() for axis, v in zip(axes, values, strict=True)))  # type: ignore[attr-defined]
        }
        for code, values in enumerate(itertools.product(*(range(axis.original_size) for axis in axes)))
    }


def ratio(law: Law) -> Fraction | None:
    """Return e^epsilon by enumeration: how far what is seen moves the odds of any two originals."""
    seen = {u for column in law.values() for u, p in column.items() if p}
    if any(u not in column for u in seen for column in law.values()):
        return None
    return max(v[u] / w[u] for u in seen for v, w in itertools.product(law.values(), repeat=2))


def best_link(law: Law, tables: Iterable[Sequence[int]]) -> Fraction:
    """Return the greatest chance with which anybody links the first person, over tables and all that may be seen."""
    best = Fraction(0)
    for table in tables:
        people = range(len(table))
        for rows in itertools.product(*(law[v] for v in table)):
            chances = dict.fromkeys(people, Fraction(0))
            for order in itertools.permutations(people):
                chances[order[0]] += math.prod(
                    (law[v].get(rows[order[i]], Fraction(0)) for i, v in enumerate(table)), start=Fraction(1)
                )
            best = max(best, max(chances.values()) / sum(chances.values()))
    return best


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_epsilon_and_k_of_linked_rows_of_one_table_are_those_of_enumeration(first, second):
    together = scope_loss(link_same_values([part(first), part(second)]).channel)
    law = law_of(first, second)

    assert together.record == ratio(law)
    tables = itertools.product(range(first.original_size), repeat=3)
    assert k_of_cross_ratio(together.cross, 3) == 1 / best_link(law, tables)


@pytest.mark.parametrize(("first", "second"), PAIRS[:5], ids=IDS[:5])
def test_epsilon_and_k_of_values_that_may_change_are_those_of_enumeration(first, second):
    together = scope_loss(link_changing_values([part(first), part(second)]))
    law = changing(first, second)

    assert together.record == ratio(law)
    tables = itertools.product(law, repeat=2)
    assert k_of_cross_ratio(together.cross, 2) == 1 / best_link(law, tables)


def test_people_of_nested_tables_hide_among_those_who_are_in_the_same_releases():
    """Four people, of whom two are in the second table as well; values may change; every way to link is counted."""
    first, second = SKEW, OTHER
    everybody, some = (
        ReleaseComponent("a release", part(a).channel, n, {"x": "d"}) for a, n in ((first, 4), (second, 2))
    )
    earlier = SimpleNamespace(overlap="any")
    groups = overlap.combine_releases([everybody, some], LedgerSettings("", "nested"), [earlier], 2).groups  # type: ignore[list-item]

    assert [group.people for group in groups] == [2, 2]
    ks = [k_of_cross_ratio(scope_loss(group.channel).cross, 2) for group in groups]  # type: ignore[arg-type]
    both, alone = changing(first, second), law_of(first)
    assert ks == [1 / best_link(law, itertools.product(law, repeat=2)) for law in (both, alone)]
    assert min(ks) < k_of_cross_ratio(
        first.min_cross_ratio() * second.min_cross_ratio(), 4
    )  # all four, as if nobody had left


def test_wrong_rules_are_caught_by_the_enumeration():
    law = law_of(SKEW, OTHER)
    alone = [axis.max_ratio() or Fraction(0) for axis in (SKEW, OTHER)]

    assert ratio(law) != max(alone)  # the greater of both
    assert (ratio(law) or 0) < alone[0] * alone[1]  # epsilons added, where no value has the worst of both
    first, second = matrix("x", "9 1 5", "1 9 5"), matrix("x", "5 9 1", "5 1 9")
    cross = [axis.min_cross_ratio() for axis in (first, second)]
    k = 1 / best_link(law_of(first, second), itertools.product(range(3), repeat=3))
    assert k != k_of_cross_ratio(min(cross), 3)  # the worse of both
    assert k > k_of_cross_ratio(cross[0] * cross[1], 3)  # multiplied, where no two values are the worst of both


def test_epsilons_of_attributes_that_do_not_overlap_add_and_of_one_that_does_only_in_its_product():
    y = matrix("y", "6 3", "4 7")
    together = link_same_values([part(SKEW), part(OTHER, y)])
    law = {
        (x, v): {(u, w): p * q for u, p in law_of(SKEW, OTHER)[x].items() for w, q in law_of(y)[v].items()}
        for x, v in itertools.product(range(2), repeat=2)
    }

    assert together.exact
    assert scope_loss(together.channel).record == ratio(law)  # type: ignore[arg-type]
    added = [a.max_ratio() or Fraction(0) for a in (SKEW, OTHER, y)]
    assert (ratio(law) or 0) < math.prod(added, start=Fraction(1))


def random_axis(rng: Random, size: int) -> Axis:
    kind = rng.choice(["retention", "matrix", "identity", "recode"])
    if kind == "retention":
        return retention("x", size, rng.choice(["0.7", "0.8", "0.9"]))
    if kind == "identity":
        return Identity.of("x", LABELS[:size])
    if kind == "recode":
        return groups("x", *(rng.choice("pq") for _ in range(size)))
    columns = []
    for _ in range(size):
        weights = [rng.choice([0, 1, 2, 5]) for _ in range(3)]
        weights[rng.randrange(3)] += 1
        columns.append([Fraction(w, sum(weights)) for w in weights])
    return Matrix.explicit("x", LABELS[:size], "uvw", list(zip(*columns, strict=True)))


def shown(axis: Axis) -> list[dict[int, Fraction]]:
    return [dict(axis.column(code)) for code in range(axis.original_size)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(40))
def test_any_two_axes_of_one_attribute_compose_as_enumeration_has_it(seed):
    rng = Random(seed)
    size = rng.choice([2, 3])
    axes = [random_axis(rng, size) for _ in range(rng.choice([2, 3]))]
    (axis,) = link_same_values([part(a) for a in axes]).channel.axes
    law = law_of(*axes)

    assert axis.max_ratio() == ratio(law)
    assert axis.min_cross_ratio() == 1 / best_link(law, itertools.product(range(size), repeat=2)) - 1
    # every posterior that enumeration gives, the composed axis gives, and no other
    prior = [Fraction(rng.randint(1, 5)) for _ in range(size)]
    assert posteriors(dict(enumerate(shown(axis))), prior) == posteriors(law, prior)


def posteriors(law: Law, prior: Sequence[Fraction]) -> dict[tuple[Fraction, ...], Fraction]:
    """Return each posterior of the original with its chance; rows in proportion have the same."""
    found: dict[tuple[Fraction, ...], Fraction] = {}
    for u in {u for column in law.values() for u in column}:
        weights = [p * law[v].get(u, Fraction(0)) for v, p in enumerate(prior)]
        if sum(weights):
            key = tuple(w / sum(weights) for w in weights)
            found[key] = found.get(key, Fraction(0)) + sum(weights)
    return found


def test_a_constant_release_changes_nothing_and_the_same_again_never_tells_less():
    constant = matrix("x", "3 3", "7 7")
    assert posteriors(law_of(SKEW, constant), [Fraction(1)] * 2) == posteriors(law_of(SKEW), [Fraction(1)] * 2)
    assert scope_loss(link_same_values([part(SKEW), part(constant)]).channel) == scope_loss(
        link_same_values([part(SKEW)]).channel
    )
    once, twice = (scope_loss(link_same_values([part(SKEW)] * n).channel) for n in (1, 2))
    assert (once.record or 0) < (twice.record or 0)
    assert once.cross > twice.cross


def test_many_releases_of_one_plan_are_one_matrix_of_few_rows():
    axis = retention("x", 2, "0.6")
    rows = khatri_rao([axis] * 20)

    assert rows is not None
    assert len(rows) == 21
    together = link_same_values([part(axis)] * 20)
    assert scope_loss(together.channel).record == Fraction(3, 2) ** 20
    assert together.exact


def test_what_is_too_wide_to_list_is_bounded_and_of_retention_exactly(monkeypatch):
    axes = [retention("x", 3, "0.5"), retention("x", 3, "0.6"), retention("x", 3, "0.7")]
    exactly = scope_loss(link_same_values([part(a) for a in axes]).channel)
    monkeypatch.setattr(composition, "MAX_LABELS", 20)
    bounded = link_same_values([part(a) for a in axes])

    assert not bounded.exact
    assert bounded.strange == ()
    assert (scope_loss(bounded.channel).record, scope_loss(bounded.channel).cross) == (exactly.record, exactly.cross)
    skewed = link_same_values([part(SKEW), part(OTHER), part(SKEW), part(OTHER)])
    assert not skewed.exact
    assert (scope_loss(skewed.channel).record or 0) >= (ratio(law_of(SKEW, OTHER, SKEW, OTHER)) or 0)


@pytest.mark.slow
def test_generalisation_then_randomisation_hides_in_the_smallest_class():
    coarse, noisy = groups("x", "p", "p", "q", "q"), retention("x", 4, "0.7")
    table = [0, 1, 1, 2, 3]
    policy = policies.policy_of([Attribute("x", Role.QUASI_IDENTIFIER, LABELS)])
    together = link_same_values([part(coarse, records=5), part(noisy, records=5)])
    smallest = smallest_class(TableInMemory.of(policy, {"x": table}), together.certain)

    assert scope_loss(together.channel).cross == 0
    assert smallest == 2
    k = k_of_cross_ratio(scope_loss(together.drawn).cross, smallest)
    orders = [[table[i], *(v for j, v in enumerate(table) if j != i)] for i in range(5)]
    assert k == 1 / best_link(law_of(coarse, noisy), orders)


def test_two_generalisations_are_the_common_refinement():
    first, second = groups("x", "p", "p", "q", "q"), groups("x", "r", "s", "s", "s")
    (axis,) = link_same_values([part(first), part(second)]).channel.axes

    assert isinstance(axis, Recode)
    codes = [next(iter(axis.column(v))) for v in range(4)]
    assert [codes.index(c) for c in codes] == [0, 1, 2, 2]


@pytest.mark.parametrize("seed", range(12))
def test_attribute_disclosure_of_linked_rows_is_the_formula_over_the_written_out_law(seed, brute):
    rng = Random(seed)
    x = [random_axis(rng, 3) for _ in range(2)]
    y = [retention("y", 2, "0.8"), matrix("y", "9 2", "1 8")][: rng.choice([1, 2])]
    rows = [{"x": rng.randrange(3), "y": rng.randrange(2)} for _ in range(rng.randint(4, 9))]
    attributes = [Attribute("x", Role.QUASI_IDENTIFIER, LABELS[:3]), Attribute("y", Role.SENSITIVE, LABELS[:2])]
    policy = policies.policy_of(attributes)
    original = TableInMemory.of(policy, {name: [r[name] for r in rows] for name in "xy"})
    parts = [part(x[0], y[0], records=len(rows)), part(x[1], *y[1:], records=len(rows))]
    requirement = Requirement("attribute-disclosure", AttributeDisclosureOptions(threshold="1/2"))

    laws = [{(v,): dict(column) for v, column in law_of(*axes).items()} for axes in (x, y)]
    expected = brute.Table(rows, [(("x",), laws[0])], sensitive="y", law=laws[1]).risks()
    found = DISCLOSURE_MODEL.assessor().finding(requirement, link_same_values(parts[::-1]).channel, original)
    assert found.achieved is not None
    assert found.achieved.value == pytest.approx(float(max(expected.values())), rel=1e-9)


def test_an_attribute_with_other_categories_is_another_attribute_and_only_bounded():
    first = part(retention("x", 2, "0.7"))
    again = ReleaseComponent("later", first.channel, 3, {"x": "other"})
    together = link_same_values([first, again])

    assert together.strange
    assert scope_loss(together.channel).record == Fraction(7, 3) ** 2


def test_generalisation_of_several_attributes_is_taken_attribute_by_attribute():
    coarse = Recode.by_levels([Domain("x", LABELS[:2]), Domain("y", LABELS[:2])], [["p", "p"], ["q", "r"]])
    noisy = part(retention("x", 2, "0.7"), retention("y", 2, "0.7"))
    attributes = [Attribute(n, Role.QUASI_IDENTIFIER, LABELS[:2]) for n in "xy"]
    earlier = ReleaseComponent("earlier", Product.of(attributes, [coarse]), 3, {"x": "d", "y": "d"})
    together = link_same_values([earlier, noisy])

    assert together.strange == ()
    ratios = {axis.attributes[0]: axis.max_ratio() for axis in together.channel.axes}
    assert ratios == {"x": Fraction(7, 3), "y": None}


@pytest.mark.parametrize(
    ("axis", "why"),
    [
        (lambda: Sets.of("x", LABELS, 2), "released as sets"),
        (lambda: Recode.by_levels([Domain("x", LABELS)], [list("ppqq")], suppressed=[(0,)]), "suppressed"),
    ],
)
def test_partition_mechanisms_have_no_rule(axis: Callable[[], Axis], why: str):
    assert why in str(composition_obstacle(part(axis()).channel))
    assert composition_obstacle(part(SKEW).channel) is None


def test_a_column_that_is_carried_in_any_release_counts_as_known():
    attributes = [Attribute("x", Role.QUASI_IDENTIFIER, LABELS[:2]), Attribute("z", Role.INSENSITIVE, None)]
    carrying = ReleaseComponent("earlier", Product.of(attributes, [retention("x", 2, "0.7")]), 3, {"x": "d", "z": None})
    together = link_same_values([carrying, part(retention("x", 2, "0.7"))])

    assert together.carried == ("z",)
    assert scope_loss(together.channel).record is None


def test_a_table_is_not_assessed_over_more_cells_than_can_be_looked_at(monkeypatch):
    policy = policies.policy_of([Attribute("x", Role.QUASI_IDENTIFIER, LABELS[:2])])
    original = TableInMemory.of(policy, {"x": [0, 1, 1]})
    parts, earlier = [part(SKEW), part(OTHER)], [SimpleNamespace(overlap="any")]

    (group,) = overlap.combine_releases(parts, LedgerSettings("", "same"), earlier, original).groups  # type: ignore[arg-type]
    assert group.people is original
    monkeypatch.setattr(overlap, "MOST_CELLS", 5)
    (group,) = overlap.combine_releases(parts, LedgerSettings("", "same"), earlier, original).groups  # type: ignore[arg-type]
    assert group.people == 3


class Foreign:
    """An axis of another author's plugin: a matrix that the ledger knows by its columns alone."""

    kind = "foreign"

    def __init__(self, like: Matrix) -> None:
        self.like = like

    def __getattr__(self, name: str) -> object:
        return getattr(self.like, name)


def test_an_axis_of_another_plugin_is_composed_by_its_columns():
    foreign = Foreign(SKEW)
    one = ReleaseComponent("a release", Product((foreign,), (), ("x",)), 3, {"x": "d"})  # type: ignore[arg-type]
    assert composition_obstacle(one.channel) is None
    assert scope_loss(link_same_values([one]).channel).record == ratio(law_of(SKEW))
    together = scope_loss(link_same_values([one, part(OTHER)]).channel)
    assert together.record == ratio(law_of(SKEW, OTHER))


def test_a_column_that_is_linkable_in_any_release_counts_as_linkable():
    attributes = [Attribute("z", Role.INSENSITIVE, None, assume_unlinkable=why) for why in (None, "nobody knows it")]
    parts = [ReleaseComponent("a release", Product.of([a], []), 3, {"z": None}) for a in attributes]
    for order in (parts, parts[::-1]):
        assert link_same_values(order).carried == ("z",)


@pytest.mark.parametrize("most", [1, 5])
def test_a_domain_of_too_many_values_is_not_listed(monkeypatch, most):
    monkeypatch.setattr(composition, "MAX_LABELS", most)
    assert khatri_rao([SKEW, OTHER]) is None
