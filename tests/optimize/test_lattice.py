"""The lattice search finds what looking at every node finds, and what it finds satisfies its requirements by brute force."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import itertools
import math
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.optimize.recode.class_tests import class_tests, lattice_tables
from rrpolicy.optimize.recode.generalise import choice_axes, full_domain
from rrpolicy.optimize.recode.lattice import LatticeSearch
from rrpolicy.optimize.recode.levels import Goal, class_attributes, recoded
from rrpolicy.optimize.recode.loss import GeneralisationLoss
from rrpolicy.policy.model import Attribute

_here = Path(__file__).parent / "generalising.py"
_spec = importlib.util.spec_from_file_location("generalising", _here)
assert _spec is not None
assert _spec.loader is not None
small = importlib.util.module_from_spec(_spec)
sys.modules["generalising"] = small
_spec.loader.exec_module(small)

LOSSES = ("ncp", "discernibility", "average-class-size", "kl")
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=4, max_size=40
)


def search_of(task, loss, suppression, weights=None):
    found = [recoded(a) for a in class_attributes(task.policy)]
    most = int(suppression * task.records)
    wanted = class_tests(task.requirements, task.policy, found, suppressing=most > 0)
    counted = lattice_tables(task.original, found, wanted)
    shares = np.full(len(found), 1 / len(found)) if weights is None else np.array(weights) / sum(weights)

    def accept(choice):
        channel = Product.of(task.policy.released, choice_axes(choice, found, suppressing=most > 0))
        return all(a.accepts(r, channel, task.original) for r, a in wanted.others)

    lasting = bool(wanted.others) and not (most and wanted.tests)
    return LatticeSearch(counted, wanted.tests, GeneralisationLoss(loss, counted, shares), most, accept, lasting), found


def best_of_all(search):
    """Look at the whole lattice, nothing left out."""
    nodes = [(search.choice(node), node) for node in np.ndindex(*search.tables.shape)]
    best_first = sorted(nodes, key=lambda found: (found[0].loss, sum(found[1]), found[1]))
    good = ((c.loss, sum(n), n) for c, n in best_first if search.satisfies(c) and search.accept(c))
    return next(good, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*small.REQUIREMENTS, *small.DISCLOSURE])
@settings(max_examples=45, deadline=None, derandomize=True)
@given(rows=ROWS, loss=st.sampled_from(LOSSES), suppression=st.sampled_from([0, 0, Fraction(1, 10), Fraction(1, 3)]))
def test_the_search_finds_the_best_node(name, rows, loss, suppression):
    requirements = {**small.REQUIREMENTS, **small.DISCLOSURE}[name]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    search, _ = search_of(small.task_of(policy, rows), loss, suppression)

    found = search.best()

    expected = best_of_all(search)
    assert (None if found is None else found.order) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in small.REQUIREMENTS if n != "some"])
@settings(max_examples=200, deadline=None, derandomize=True)
@given(rows=ROWS, loss=st.sampled_from(LOSSES), suppression=st.sampled_from([0, Fraction(1, 10), Fraction(1, 3)]))
def test_what_is_released_satisfies_its_model(name, rows, loss, suppression):
    requirements = small.REQUIREMENTS[name]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    task = small.task_of(policy, rows)
    goal = Goal(loss, (Fraction(1),) * 3, Fraction(suppression))
    found = [recoded(a) for a in class_attributes(policy)]
    try:
        chosen = full_domain(task, task.original, found, goal, lambda axes: Product.of(policy.released, axes))
    except RequirementError:
        assert best_of_all(search_of(task, loss, suppression)[0]) is None
        return

    table = small.released(chosen.channel, task.original)

    assert len(table) == len(rows)
    assert Counter(row[3] for row in table) == Counter(small.VALUES[row[3]] for row in rows)
    stars = sum(1 for row in table if row[:3] == ("*", "*", "*"))
    if len(set(table)) > 1 and any(row[:3] != ("*", "*", "*") for row in table):
        assert stars == chosen.choice.suppressed <= suppression * len(rows)
    assert small.holds(requirements, table)
    assert all(assessor.accepts(r, chosen.channel, task.original) for r, assessor in task.requirements)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS, weights=st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any))
def test_losses_are_what_their_definitions_say(rows, weights):
    requirements = small.REQUIREMENTS["k"]
    task = small.task_of(small.policy_of(small.attributes(), requirements, requirements[0].options), rows)
    sizes, total = (6, 3, 2), len(rows)
    for suppression in (0, Fraction(1, 3)):
        searches = {loss: search_of(task, loss, suppression, weights)[0] for loss in LOSSES}
        for node in itertools.product(range(4), range(2), range(2)):
            choice = searches["ncp"].choice(node)
            if not searches["ncp"].satisfies(choice):
                continue
            levels = [a.levels[j] for a, j in zip(search_of(task, "ncp", 0)[1], node, strict=True)]
            labels = [tuple(level[v] for level, v in zip(levels, row, strict=False)) for row in rows]
            width = [Counter(level) for level in levels]
            kept_n = Counter(labels)
            gone = {tuple(c) for c in choice.table.codes[~choice.kept].tolist()}
            named = {}
            for row, label in zip(rows, labels, strict=True):
                named[label] = tuple(
                    list(dict.fromkeys(level)).index(x) for level, x in zip(levels, label, strict=True)
                )
                del row
            suppressed = [label for label in labels if named[label] in gone]
            kept = [label for label in labels if named[label] not in gone]

            ncp = sum(
                Fraction(w * width[a][label[a]], sizes[a]) * (width[a][label[a]] > 1)
                for label in kept
                for a, w in enumerate(weights)
            ) / sum(weights)
            assert searches["ncp"].choice(node).loss == pytest.approx(float((ncp + len(suppressed)) / total))
            dm = sum(kept_n[label] ** 2 for label in set(kept)) + len(suppressed) * total
            assert searches["discernibility"].choice(node).loss == pytest.approx(dm)
            classes = len(set(kept)) + bool(suppressed)
            assert searches["average-class-size"].choice(node).loss == pytest.approx(total / classes)
            kl = 0.0
            cells = Counter(row[:3] for row in rows)
            for cell, n in cells.items():
                label = tuple(level[v] for level, v in zip(levels, cell, strict=True))
                volume = math.prod(width[a][label[a]] for a in range(3))
                q = len(suppressed) / total / 36
                q += kept_n[label] / total / volume if named[label] not in gone else 0
                kl += n / total * math.log(n / total / q)
            assert searches["kl"].choice(node).loss == pytest.approx(kl, abs=1e-9)


def test_a_pinned_level_is_kept_and_says_so_when_it_is_in_the_way():
    requirements = small.REQUIREMENTS["k"]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    task = small.task_of(policy, [(i % 6, i % 3, i % 2, i % 4) for i in range(12)])
    free = [recoded(a) for a in class_attributes(policy)]
    pinned = [recoded(a, 0 if a.name == "a" else None) for a in class_attributes(policy)]
    goal = Goal("ncp", (Fraction(1),) * 3)

    def build(axes):
        return Product.of(policy.released, axes)

    assert full_domain(task, task.original, free, goal, build).levels[0] > 0
    with pytest.raises(RequirementError, match=r"RR105.*failing there: k-anonymity"):
        full_domain(task, task.original, pinned, goal, build)


@pytest.fixture(scope="module")
def adult(adult_csv):
    with gzip.open(adult_csv, "rt") as file:
        rows = list(csv.DictReader(file))
    folder = adult_csv.parent / "hierarchies"
    if not folder.exists():
        pytest.skip("the hierarchies of Adult are not beside it")

    def attribute(name, role):
        domain = sorted({row[name] for row in rows})
        path = folder / f"adult_hierarchy_{name.replace('_', '-')}.csv"
        levels = {line.split(";")[0]: line.split(";") for line in path.read_text().splitlines()}
        width = len(next(iter(levels.values())))
        return Attribute(
            name,
            role,
            tuple(domain),
            release_as=name,
            hierarchy=tuple(tuple(levels[v][j] for v in domain) for j in range(width)),
        )

    def make(quasi, requirements):
        found = [*(attribute(q, Role.QUASI_IDENTIFIER) for q in quasi), attribute("occupation", Role.SENSITIVE)]
        policy = small.policy_of(found, requirements, requirements[0].options)
        codes = [{v: i for i, v in enumerate(a.domain)} for a in found]
        return small.task_of(policy, [tuple(c[row[a.name]] for a, c in zip(found, codes, strict=True)) for row in rows])

    return make


FOUR = ("education", "sex", "race", "salary_class")
EIGHT = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country", "salary_class")


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize(
    ("kind", "suppression", "expected"),
    [
        ("distinct", Fraction(0), ((3, 0, 0, 0), 20, 0)),
        ("entropy", Fraction(0), ((3, 0, 0, 0), 20, 0)),
        ("distinct", Fraction(1, 20), ((0, 0, 0, 0), 188, 150)),
        ("entropy", Fraction(1, 20), ((0, 0, 0, 0), 151, 1885)),
    ],
)
def test_four_attributes_of_adult_are_generalised_as_arx_does(adult, kind, suppression, expected):
    wanted = [small.requirement("k-anonymity", k=3), small.requirement("l-diversity", kind=kind, l=3)]
    task = adult(FOUR, wanted)
    search, _ = search_of(task, "ncp", suppression)

    found = search.best()

    assert (found.node, int(found.kept.sum()), found.suppressed) == expected
    for loss in LOSSES:
        other, _ = search_of(task, loss, suppression)
        assert other.best().order == best_of_all(other)


@pytest.mark.adult
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["distinct", "entropy"])
@pytest.mark.parametrize("suppression", [Fraction(0), Fraction(1, 20)])
def test_eight_attributes_of_adult_lose_the_least_of_the_lattice(adult, kind, suppression):
    wanted = [small.requirement("k-anonymity", k=3), small.requirement("l-diversity", kind=kind, l=3)]
    search, _ = search_of(adult(EIGHT, wanted), "ncp", suppression)

    found = search.best()

    assert search.tested < 1000
    assert found.order == best_of_all(search)
