"""TP suppresses records until every class, and the suppressed ones together, satisfy by brute force what is claimed."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.errors import DataError, RequirementError
from rrpolicy.finding import Verdict
from rrpolicy.optimize.recode.levels import class_attributes
from rrpolicy.optimize.tuple_suppression import suppress_counts, tuple_suppression
from rrpolicy.privacy.models.k_anonymity import KAnonymity
from rrpolicy.privacy.models.l_diversity import LDiversity
from rrpolicy.privacy.suppression import assessors as parted
from rrpolicy.source.protocol import MULTIPLICITY

_spec = importlib.util.spec_from_file_location("generalising", Path(__file__).with_name("generalising.py"))
assert _spec is not None
assert _spec.loader is not None
small = importlib.util.module_from_spec(_spec)
sys.modules["generalising"] = small
_spec.loader.exec_module(small)

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=60
)
ASSESSORS = {model.name: model.assessors()[1] for model in (KAnonymity(), LDiversity())}


def made(rows, kind, l):
    requirements = [small.requirement("l-diversity", kind=kind, l=l), small.requirement("k-anonymity", k=2)]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    task = small.task_of(policy, rows)
    task = type(task)(policy, task.original, tuple((r, ASSESSORS[r.model]) for r in requirements))
    known = [a for a in class_attributes(policy) if a.name != "s"]
    found = tuple_suppression(task, task.original, known, policy.attributes["s"], least=Fraction(l))
    return task, found.channel


def test_what_suppression_cannot_reach_is_refused_by_its_name():
    requirements = [small.requirement("l-diversity", kind="frequency", l=2), small.requirement("k-anonymity", k=2)]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    task = small.task_of(policy, [(0, 0, 0, v % 2) for v in range(8)])
    never = SimpleNamespace(accepts=lambda *_: False, frequency=None)
    task = type(task)(policy, task.original, ((requirements[1], never),))
    known = [a for a in class_attributes(policy) if a.name != "s"]
    with pytest.raises(RequirementError, match="RR105: what tp suppresses does not satisfy k-anonymity.*larger l"):
        tuple_suppression(task, task.original, known, policy.attributes["s"], least=Fraction(2))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(rows=ROWS, l=st.sampled_from(["3/2", "2", "5/2", "3"]))
def test_counts_are_moved_until_everything_is_even_enough(rows, l):
    l = Fraction(l)
    cells = Counter(rows)
    groups = sorted({row[:3] for row in rows})
    histograms = np.array([[cells[*g, s] for s in range(4)] for g in groups], dtype=np.int64)

    moved = suppress_counts(histograms, l)

    whole = histograms.sum(axis=0)
    assert (moved is None) == (int(whole.max()) * l > int(whole.sum()))
    if moved is not None:
        assert ((moved >= 0) & (moved <= histograms)).all()
        for counts in [*(histograms - moved).tolist(), moved.sum(axis=0).tolist()]:
            assert max(counts) * l <= sum(counts)
        satisfied = all(max(row) * l <= sum(row) for row in histograms.tolist())
        assert not satisfied or moved.sum() == 0


@pytest.mark.parametrize("kind", ["distinct", "frequency", "entropy"])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_releases_satisfy_what_frequency_implies(kind, rows):
    try:
        task, channel = made(rows, kind, 2)
    except RequirementError:
        assert max(Counter(row[3] for row in rows).values()) * 2 > len(rows)
        return

    table = small.released(channel, task.original)

    assert Counter(row[3] for row in table) == Counter(small.VALUES[row[3]] for row in rows)
    kept = Counter(row for row in table if row[0] != "*")
    before = Counter((f"a{a}", f"b{b}", f"c{c}", small.VALUES[s]) for a, b, c, s in rows)
    assert all(n <= before[row] for row, n in kept.items())
    classes = defaultdict(Counter)
    for *known, value in table:
        classes[tuple(known)][value] += 1
    assert all(small._holds(r, found, Counter()) for r in task.policy.requirements for found in classes.values())
    assert made(rows, kind, 2)[1] == channel


@settings(max_examples=150, deadline=None, derandomize=True)
@given(rows=ROWS, l=st.sampled_from(["3/2", "2", "3"]))
def test_frequency_implies_disclosure(rows, l):
    try:
        task, channel = made(rows, "frequency", l)
    except RequirementError:
        return
    for assessor, entry in of_disclosure(1 / Fraction(l)):
        assert assessor.accepts(entry, channel, task.original)


def of_disclosure(threshold):
    assessors = parted.assessors()
    return [(a, small.requirement(a.model, threshold=threshold)) for a in assessors]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=ROWS, threshold=st.sampled_from(["1/2", "1/3", "2/5"]))
def test_as_much_is_suppressed_as_disclosure_asks_for(rows, threshold):
    entries = of_disclosure(Fraction(threshold))
    requirements = [small.requirement("l-diversity", kind="distinct", l=1), *(r for _, r in entries)]
    policy = small.policy_of(small.attributes(), requirements, requirements[0].options)
    task = small.task_of(policy, rows)
    assessors = [ASSESSORS["l-diversity"], *(a for a, _ in entries)]
    task = type(task)(policy, task.original, tuple(zip(requirements, assessors, strict=True)))
    known = [a for a in class_attributes(policy) if a.name != "s"]
    enough = 1 / Fraction(threshold)
    try:
        found = tuple_suppression(task, task.original, known, policy.attributes["s"], least=Fraction(1))
    except RequirementError as error:
        (problem,) = error.problems
        assert max(Counter(row[3] for row in rows).values()) * enough > len(rows)
        told = f"tp meets it with l = {enough}" in problem.message and "disclosure" in problem.message
        assert told, problem.message
        return
    assert found.l in {1, enough}
    assert all(a.accepts(r, found.channel, task.original) for r, a in task.requirements)


ROWS_OF_TEN = [(0, 0, 0, 0)] * 4 + [(0, 0, 0, 1), (1, 0, 0, 1), (1, 0, 0, 2), (2, 2, 1, 3), (2, 2, 1, 1), (1, 1, 1, 2)]


def reader(rows):
    counted = Counter(rows)
    columns = {name: pa.array([row[i] for row in counted]) for i, name in enumerate("abcs")}
    return {"data": pa.table({**columns, MULTIPLICITY: pa.array(list(counted.values()), pa.int64())}).to_reader()}


def test_a_release_is_compared_record_by_record():
    task, channel = made(ROWS_OF_TEN, "frequency", 2)
    table = small.released(channel, task.original)

    assert channel.conforms(task.original, reader(table)).verdict is Verdict.SATISFIED
    raw = [(f"a{a}", f"b{b}", f"c{c}", small.VALUES[s]) for a, b, c, s in ROWS_OF_TEN]
    assert channel.conforms(task.original, reader(raw)).verdict is Verdict.FAILED
    assert channel.conforms(task.original, reader(table[1:])).verdict is Verdict.FAILED


def test_public_says_nothing_of_who_is_suppressed_and_another_table_is_refused():
    task, channel = made(ROWS_OF_TEN, "frequency", 2)

    assert SuppressionChannel.from_json(channel.to_json(), {}) == channel
    public = channel.to_public_json()
    assert "moved" not in public
    assert json.dumps(public) == json.dumps(SuppressionChannel(channel.known, channel.sensitive, ()).to_public_json())
    assert SuppressionChannel.from_json(public, {}).decoders() == channel.decoders()
    with pytest.raises(ValueError, match="does not reveal which records"):
        SuppressionChannel.from_json(public, {}).released(task.original)
    other, _ = made([(2, 2, 0, 0), (2, 2, 0, 1)], "frequency", 2)
    with pytest.raises(DataError, match="RR334"):
        channel.released(other.original)


@pytest.mark.parametrize(
    "damage",
    [lambda d: d.update(moved=[["x"]]), lambda d: d.update(moved=[5]), lambda d: d.update(moved=[[0, 0, 0, 9, 1]]), lambda d: d.update(version=9), lambda d: d.update(known=[])],
)  # fmt: skip
def test_a_damaged_description_is_refused(damage):
    _, channel = made(ROWS_OF_TEN, "frequency", 2)
    document = json.loads(json.dumps(channel.to_json()))
    damage(document)

    with pytest.raises(ValueError, match="."):
        SuppressionChannel.from_json(document, {})
