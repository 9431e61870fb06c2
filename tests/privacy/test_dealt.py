"""Dealt groups under the privacy models: by definition before the draw, measured after it, and what stands beside."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.channels.anatomy.channel import QIT, ST, AnatomyChannel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.declarations import Role
from rrpolicy.finding import Basis, Standing, Verdict
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.anatomy.assessors import assessors
from rrpolicy.privacy.classes.histograms import Histograms
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure
from rrpolicy.privacy.models.k_anonymity import KAnonymity, KAnonymityOptions
from rrpolicy.privacy.models.k_map import KMap, KMapOptions
from rrpolicy.privacy.models.l_diversity import LDiversity, LDiversityOptions, group_size
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import TableInMemory, policy_of

ATTRIBUTE, LINKING, DIVERSITY = assessors()
(ANONYMITY,) = (assessor for assessor in KAnonymity().assessors() if assessor.channel is AnatomyChannel)
VALUES = ("flu", "cold", "none", "acne", "gout")
KINDS = [
    {"kind": "distinct", "l": 3},
    {"kind": "frequency", "l": "5/2"},
    {"kind": "frequency", "l": 3},
    {"kind": "entropy", "l": 3},
    {"kind": "recursive", "l": 2, "c": "3/5"},
]


def diversity(**options: Any) -> Requirement:
    return Requirement("l-diversity", LDiversityOptions(**options))


def policy(*requirements: Requirement) -> Policy:
    attributes = [
        Attribute("sex", Role.QUASI_IDENTIFIER, ("f", "m"), release_as="sex"),
        Attribute("age", Role.QUASI_IDENTIFIER, ("young", "old", "oldest"), release_as="age"),
        Attribute("disease", Role.SENSITIVE, VALUES, release_as="disease"),
    ]
    return policy_of(attributes, requirements, "anatomy", LDiversityOptions(kind="distinct", l=2))


def channel(size: int) -> AnatomyChannel:
    return AnatomyChannel.of(policy().released, "disease", size)


def table(seed: int, records: int = 300) -> TableInMemory:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, records)
    disease = np.where(rng.random(records) < 0.1, age, np.arange(records) % 5)
    return TableInMemory.of(policy(), {"sex": rng.integers(0, 2, records), "age": age, "disease": disease})  # type: ignore[dict-item]


class Sink:
    def __init__(self) -> None:
        self.parts: dict[str, list[pa.Table]] = {QIT: [], ST: []}

    def write(
        self, name: str, batch: pa.RecordBatch, n: Any = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        times = pa.array(np.ones(batch.num_rows, np.int64) if n is None else n, pa.int64())
        self.parts[name].append(pa.table([*plain, times], names=[*batch.schema.names, MULTIPLICITY]))

    def distinct(self, name: str) -> pa.RecordBatchReader:
        return pa.concat_tables(self.parts[name]).to_reader()

    def unordered(self, name: str, *columns: str) -> pa.RecordBatchReader:
        whole = pa.concat_tables(self.parts[name])
        rows = whole.take(np.repeat(np.arange(len(whole)), whole.column(MULTIPLICITY).to_numpy())).select(list(columns))
        return rows.take(np.random.default_rng(1).permutation(len(rows))).to_reader()

    def replace(self, name: str, column: str, values: Any) -> None:
        whole = pa.concat_tables(self.parts[name])
        place = whole.schema.get_field_index(column)
        self.parts[name] = [whole.set_column(place, column, pa.array(values))]


def drawn(size: int, original: Any, seed: int = 1) -> Sink:
    sink = Sink()
    channel(size).draw(original, Streams.for_tests(seed), sink)
    return sink


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_what_is_found_without_data_is_what_the_drawn_groups_measure(options, size):
    requirement, original = diversity(**options), table(3)
    found = DIVERSITY.finding(requirement, channel(size), original.records)
    sink = drawn(size, original)
    held = pa.concat_tables(sink.parts[ST])
    code = np.array([VALUES.index(v) for v in held.column("disease").to_pylist()])
    group = held.column("group_id").to_numpy().astype(np.int64) - 1
    histograms = Histograms.of_cells(
        group, code, np.ones(len(code), np.int64), classes=int(group.max()) + 1, values=len(VALUES)
    )
    satisfied = LDiversity().classes_satisfying(requirement.options, histograms)
    everyone = np.ones(histograms.classes, dtype=bool)
    achieved = LDiversity().achieved(requirement.options, histograms, everyone)

    assert (found.verdict is Verdict.SATISFIED) == satisfied.all()
    assert found.achieved == achieved
    assert found.basis is Basis.CHANNEL
    measured = DIVERSITY.measure(requirement, policy(), channel(size), sink)
    assert measured.up_to(Basis.RELEASE).to_json() == found.up_to(Basis.RELEASE).to_json()


@pytest.mark.parametrize("options", KINDS)
def test_groups_are_as_small_as_the_requirement_lets_them(options):
    requirement = diversity(**options)
    size, by = group_size(policy(requirement), "disease")

    assert by is requirement
    assert DIVERSITY.finding(requirement, channel(size), 1000).verdict is Verdict.SATISFIED
    if size > 2:
        assert DIVERSITY.finding(requirement, channel(size - 1), 1000).verdict is Verdict.FAILED


def test_the_largest_entry_decides_and_others_are_not_asked():
    weak, strong = diversity(kind="distinct", l=2), diversity(kind="entropy", l="7/2")

    assert group_size(policy(weak, strong), "disease") == (4, strong)
    assert group_size(policy(), "disease") is None


def test_few_records_leave_an_upper_bound():
    for records, standing in ((7, Standing.UPPER_BOUND), (12, Standing.EXACT)):  # 2 groups and 1 residue; 4 and none
        found = DIVERSITY.finding(diversity(kind="distinct", l=3), channel(3), records)
        expected = Standing.EXACT if records // 3 > records % 3 else standing
        assert found.achieved.standing is expected
    assert DIVERSITY.finding(diversity(kind="distinct", l=3), channel(3), 5).achieved.standing is Standing.UPPER_BOUND


def test_a_table_that_is_not_eligible_fails():
    codes = {"sex": [0] * 6, "age": [0] * 6, "disease": [0, 0, 0, 0, 1, 2]}
    found = DIVERSITY.finding(diversity(kind="frequency", l=2), channel(2), TableInMemory.of(policy(), codes))

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 1)


def disclosed(**options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement("attribute-disclosure", attribute_disclosure.AttributeDisclosureOptions(**options), where)


def test_attribute_disclosure_speaks_of_who_knows_how_values_go_with_the_rest():
    """A group of two acnes and a gout, told apart by its quasi-identifiers: 1/l says nothing of them."""
    sex, age = [0] * 30 + [1] * 3, [0] * 30 + [2] * 3
    original = TableInMemory.of(policy(), {"sex": sex, "age": age, "disease": [0, 1, 2, 3, 4] * 6 + [3, 3, 4]})  # type: ignore[dict-item]
    found = ATTRIBUTE.finding(disclosed(threshold="1/3"), channel(3), original)
    beside = {c.name: c for c in found.companions if not c.of.count("=")}

    assert (found.verdict, found.basis) == (Verdict.FAILED, Basis.ORIGINAL)
    assert (found.achieved.value, found.achieved.standing) == (pytest.approx(0.6369, abs=1e-4), Standing.UPPER_BOUND)
    assert (found.groups_over, found.people_over) == (1, 2)  # the acnes: beside most others nobody else can have it
    assert beside["informed posterior"].measure.value == 1
    assert beside["people with a posterior of 1"].measure.value == 3 + 18  # with an acne and a gout of the others
    assert beside["largest within-group share"].measure.value == pytest.approx(2 / 3)
    assert beside["1/l"].measure.value == pytest.approx(1 / 3)
    assert found.profile is not None
    assert sum(found.profile.people) == 33
    assert not {"k", "epsilon, record scope", "epsilon, attribute scope"} & set(beside)
    others = ATTRIBUTE.finding(disclosed(threshold="1/3", where={"sex": "f"}), channel(3), original)
    assert (others.verdict, others.achieved.value) == (Verdict.SATISFIED, pytest.approx(4 / 35))
    gout = ATTRIBUTE.finding(disclosed(threshold="1/3", where={"disease": "gout"}), channel(3), original)
    assert gout.verdict is Verdict.SATISFIED
    assert 1 / 9 < gout.achieved.value < 1 / 3
    by_value = ATTRIBUTE.finding(disclosed(threshold="2/3", thresholds={"gout": "3/10"}), channel(3), original)
    assert (by_value.verdict, by_value.limit) == (Verdict.FAILED, Fraction(3, 10))
    assert ATTRIBUTE.finding(disclosed(threshold="1/3"), channel(3), 33).verdict is Verdict.UNDECIDED
    assert ATTRIBUTE.measure is None


def test_of_a_table_that_is_not_eligible_nothing_is_taken_to_be_hidden():
    codes = {"sex": [0] * 6, "age": [0] * 6, "disease": [0, 0, 0, 0, 1, 2]}
    found = ATTRIBUTE.finding(disclosed(threshold="1/3"), channel(2), TableInMemory.of(policy(), codes))

    assert found.achieved.value == pytest.approx(4 / 6)


def test_groups_leave_nothing_of_k_and_epsilon():
    """The untouched columns alone randomise nothing, which must not read as an epsilon of 0."""
    link = Requirement("identity-disclosure", identity_disclosure.IdentityDisclosureOptions(threshold="1/2"))
    beside = {c.name: c.measure.value for c in LINKING.finding(link, channel(2), table(3)).companions}

    assert beside["epsilon, attribute scope"] == beside["epsilon, record scope"] == float("inf")
    assert beside["k"] == beside["1/k"] == 1


def test_what_identifies_is_answered_for_the_columns_as_they_are():
    original = table(3)
    sizes = original.counts("sex", "age").n
    link = Requirement("identity-disclosure", identity_disclosure.IdentityDisclosureOptions(threshold="1/2"))
    k = Requirement("k-anonymity", KAnonymityOptions(k=int(sizes.min()) + 1))

    assert LINKING.finding(link, channel(2), original).achieved.value == pytest.approx(1 / sizes.min())
    found = ANONYMITY.finding(k, channel(2), original)
    assert (found.achieved.value, found.verdict) == (sizes.min(), Verdict.FAILED)
    assert LINKING.finding(link, channel(2), 300).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (KAnonymity(), KAnonymityOptions(k=3)),
        (KMap(), KMapOptions(k=40, sampling_fraction="1/20", decided_by="estimate")),
    ],
)
def test_models_of_class_sizes_are_those_of_the_columns_as_they_are(model, options):
    original, asked = table(3), Requirement(model.name, options)
    by_channel = {assessor.channel: assessor for assessor in model.assessors()}

    found = by_channel[AnatomyChannel].finding(asked, channel(2), original)
    assert found == by_channel[Product].finding(asked, channel(2).untouched(), original)
    assert found.achieved.value > 0
    assert all(assessor.channel is not AnatomyChannel for assessor in LDiversity().assessors())


def test_a_subgroup_by_the_sensitive_attribute_is_refused():
    requirement = Requirement("l-diversity", LDiversityOptions(kind="distinct", l=2), {"disease": "flu"})

    assert "disease" in (DIVERSITY.supports(requirement, policy(), ()) or "")
    assert DIVERSITY.supports(Requirement("l-diversity", requirement.options, {"sex": "f"}), policy(), ()) is None


@pytest.mark.parametrize("wrong", ["number", "value twice", "moved", "missing"])
def test_written_groups_that_are_something_else_fail(wrong):
    requirement, original = diversity(kind="frequency", l=3), table(3)
    sink = drawn(3, original)
    numbers = pa.concat_tables(sink.parts[ST]).column("group_id").to_pylist()
    if wrong == "number":
        sink.replace(ST, "group_id", [10**6, *numbers[1:]])
    elif wrong == "value twice":
        sink.replace(ST, "count", [2] + [1] * (len(numbers) - 1))
    elif wrong == "missing":
        sink.parts[ST] = [pa.concat_tables(sink.parts[ST]).slice(1)]
    else:
        held = pa.concat_tables(sink.parts[QIT]).column("group_id").to_pylist()
        sink.replace(QIT, "group_id", [held[0] % 100 + 1, *held[1:]])
    assert DIVERSITY.measure(requirement, policy(), channel(3), sink).verdict is Verdict.FAILED


def test_groups_of_fewer_values_are_measured():
    requirement, original = diversity(kind="frequency", l=3), table(3)
    found = DIVERSITY.measure(requirement, policy(), channel(3), drawn(2, original))

    assert found.verdict is Verdict.FAILED


def test_the_informed_posterior_stands_beside_for_the_audit_alone():
    found = DIVERSITY.finding(diversity(kind="frequency", l=2), channel(2), table(3))
    beside = {c.name: c for c in found.companions}

    assert beside["1/l"].measure.value == 0.5
    assert (beside["groups"].measure.value, beside["residues"].measure.value) == (150, 0)
    informed = beside["informed posterior"]
    assert (informed.basis, informed.measure.standing) == (Basis.ORIGINAL, Standing.UPPER_BOUND)
    assert 0.5 < informed.measure.value <= 1
    assert found.profile is not None
    assert sum(found.profile.people) == 300
    names = [c["name"] for c in found.up_to(Basis.RELEASE).to_json()["companions"]]  # type: ignore[index, union-attr]
    assert names == ["1/l", "groups", "residues"]


def test_a_subgroup_is_looked_at_by_itself():
    requirement = Requirement("l-diversity", LDiversityOptions(kind="distinct", l=2), {"age": "old"})
    original = table(3)
    found = DIVERSITY.finding(requirement, channel(2), original)

    assert found.profile is not None
    assert sum(found.profile.people) == int(original.counts("age").dense()[1])
