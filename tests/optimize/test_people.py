"""Generalisation under k-map and delta-presence, against every node and every person looked at one by one."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rrpolicy.channels.product.channel import Product
from rrpolicy.errors import RequirementError
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Task
from rrpolicy.optimize.recode.generalise import full_domain, multidimensional
from rrpolicy.optimize.recode.levels import Goal, recoded
from rrpolicy.policy.model import ReferenceSettings
from rrpolicy.privacy.models.delta_presence import DeltaPresence
from rrpolicy.privacy.models.k_map import KMap
from rrpolicy.testing import TableInMemory
from tests.models import requirement_of

_spec = importlib.util.spec_from_file_location("generalising", Path(__file__).with_name("generalising.py"))
assert _spec is not None
assert _spec.loader is not None
small = importlib.util.module_from_spec(_spec)
sys.modules["generalising"] = small
_spec.loader.exec_module(small)

PERSON = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3))
ROWS = st.lists(PERSON, min_size=2, max_size=14)
OTHERS = st.lists(PERSON, min_size=0, max_size=25)
ASKED = {
    "k-map": ("k-map", {"k": 4}),
    "presence at most": ("delta-presence", {"max": "2/3"}),
    "presence between": ("delta-presence", {"max": "9/10", "min": "1/4"}),
}


def asked(name, **more):
    model, options = ASKED[name]
    return requirement_of(model, **(options | more))


def task_of(requirement, rows, others):
    """Return the task of a table whose population is its own people and others."""
    policy = small.policy_of(small.attributes(), [requirement], requirement.options)
    policy = replace(policy, reference=ReferenceSettings())
    names = list(policy.attributes)
    table, people = (
        TableInMemory.of(policy, {name: [row[i] for row in part] for i, name in enumerate(names)})
        for part in (rows, others)
    )
    assessor = (KMap() if requirement.model == "k-map" else DeltaPresence()).assessors()[0]
    return Task(policy, replace(table, others=people), ((requirement, assessor),))


def seen(levels, node, row):
    """Return what somebody's values are released as at a node."""
    return tuple(level[place][value] for level, place, value in zip(levels, node, row[:3], strict=True))


def fine(requirement, records, people):
    """Return the classes that hold what is asked, and whether people of no class stand in the way of all."""
    options = requirement.options
    if requirement.model == "k-map":
        return {c for c in records if people[c] >= options.k}
    if options.min and set(people) - set(records):
        return set()
    return {c for c, f in records.items() if options.min <= Fraction(f, people[c]) <= options.max}


def releases(requirement, levels, rows, others, most):
    """Yield the node, kept classes and loss of every release that is allowed: of each node, what is not suppressed."""
    widths = [[Counter(level) for level in one] for one in levels]
    for node in itertools.product(*(range(len(one)) for one in levels)):
        records = Counter(seen(levels, node, row) for row in rows)
        people = Counter(seen(levels, node, row) for row in (*rows, *others))
        kept = fine(requirement, records, people)
        gone = set(records) - kept
        hidden, hiding = sum(records[c] for c in gone), sum(people[c] for c in gone)
        if hidden > most or not kept:
            continue
        limits = requirement.options
        if gone and requirement.model == "delta-presence" and not limits.min <= Fraction(hidden, hiding) <= limits.max:
            continue
        cost = Fraction(3 * hidden)
        for group in kept:
            share = [Fraction(w[p][g], len(one[0])) for w, p, g, one in zip(widths, node, group, levels, strict=True)]
            cost += records[group] * sum(0 if s * len(one[0]) == 1 else s for s, one in zip(share, levels, strict=True))
        yield node, {c: (records[c], people[c]) for c in kept}, cost / (3 * len(rows))


@pytest.mark.slow
@pytest.mark.parametrize("suppression", [Fraction(0), Fraction(1, 4)])
@pytest.mark.parametrize("name", ASKED)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(rows=ROWS, others=OTHERS)
def test_the_best_node_is_found_among_all(name, suppression, rows, others):
    requirement = asked(name)
    task = task_of(requirement, rows, others)
    found = [recoded(a) for a in task.policy.linking]
    levels = [one.levels for one in found]
    goal = Goal("ncp", (Fraction(1),) * 3, suppression)
    allowed = list(releases(requirement, levels, rows, others, int(suppression * len(rows))))

    def build(axes):
        return Product.of(task.policy.released, axes)

    if not allowed:
        with pytest.raises(RequirementError, match="RR105"):
            full_domain(task, task.original, found, goal, build)
        return

    made = full_domain(task, task.original, found, goal, build)

    assert made.choice.loss == pytest.approx(float(min(cost for *_, cost in allowed)), abs=1e-9)
    (kept,) = [classes for node, classes, _ in allowed if node == made.choice.node]
    (assessor,) = (a for _, a in task.requirements)
    finding = assessor.finding(requirement, made.channel, task.original)
    assert finding.verdict is Verdict.SATISFIED
    if name == "k-map":
        assert finding.achieved.value == min(people for _, people in kept.values())
    elif not suppression:
        assert finding.achieved.value == pytest.approx(float(max(Fraction(f, people) for f, people in kept.values())))


@pytest.mark.parametrize("name", ASKED)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS, others=OTHERS)
def test_boxes_hold_as_many_people_as_are_asked_for(name, rows, others):
    """The population is released through the same boxes, and counted in them: a narrower box would lose people."""
    requirement = asked(name)
    task = task_of(requirement, rows, others)
    found = [recoded(a) for a in task.policy.linking]

    def build(axes):
        return Product.of(task.policy.released, axes)

    whole = Counter({(): len(rows)}), Counter({(): len(rows) + len(others)})
    try:
        channel = multidimensional(task, task.original, found, Goal("ncp", (Fraction(1),) * 3), build)
    except RequirementError:
        assert not fine(requirement, *whole)
        return

    assume(others)
    records = Counter(row[:3] for row in small.released(channel, task.original))
    people = Counter(row[:3] for row in small.released(channel, task.original.reference))
    assert sum(records.values()) == len(rows)
    assert fine(requirement, records, people) == set(records)
    (assessor,) = (a for _, a in task.requirements)
    finding = assessor.finding(requirement, channel, task.original)
    assert finding.verdict is Verdict.SATISFIED
    shares = [Fraction(f, people[c]) for c, f in records.items()]
    worst = min(people[c] for c in records) if name == "k-map" else max(shares)
    assert finding.achieved.value == pytest.approx(float(worst))
    least = [c.measure.value for c in finding.companions if c.name == "least presence"]
    assert least == (
        [] if name == "k-map" else [pytest.approx(0 if set(people) - set(records) else float(min(shares)))]
    )


def test_what_nobody_reaches_says_what_could_be_reached():
    rows, others = [(0, 0, 0, 0), (1, 1, 1, 1)], [(2, 2, 0, 0), (3, 0, 1, 0), (5, 0, 0, 0)]
    goal = Goal("ncp", (Fraction(1),) * 3)
    for requirement, said in (
        (asked("k-map", k=9), r"k-map \(achieves 5\)"),
        (asked("presence at most", max="1/3"), r"delta-presence \(achieves 0\.4\)"),
    ):
        task = task_of(requirement, rows, others)
        found = [recoded(a) for a in task.policy.linking]
        for search in (full_domain, multidimensional):
            with pytest.raises(RequirementError, match=said):
                search(task, task.original, found, goal, lambda axes, task=task: Product.of(task.policy.released, axes))
