"""k-anonymity, l-diversity and t-closeness of channels, before the draw and on what was written."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.bundle.tables.lazy_tables import open_data_tables
from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.finding import Basis, Verdict
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Data, DataTable
from rrpolicy.mechanism import Outline
from rrpolicy.policy.model import Attribute, Policy, Requirement, SourceSettings
from rrpolicy.privacy.classes.class_model import ClassModel
from rrpolicy.privacy.classes.grouping import CLASS_CHANNELS, equivalence_classes, written_classes
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models.k_anonymity import KAnonymity, KAnonymityOptions
from rrpolicy.privacy.models.l_diversity import LDiversity, LDiversityOptions
from rrpolicy.privacy.models.t_closeness import TCloseness, TClosenessOptions
from rrpolicy.testing import TableInMemory, policy_of
from tests.models import requirement_of

AGES = ("10", "20", "30", "40", "50")
DECADES = ("10-29", "10-29", "30-59", "30-59", "30-59")
SEXES = ("F", "M")
DISEASES = ("cold", "flu", "HIV", "Unknown")
HIERARCHY = (DISEASES, ("airways", "airways", "other", "other"), ("*",) * 4)
MODELS = {m.name: m for m in (KAnonymity(), LDiversity(), TCloseness())}


EVERY = (
    requirement_of("k-anonymity", k=2),
    requirement_of("l-diversity", kind="distinct", l=2),
    requirement_of("l-diversity", kind="frequency", l=Fraction(3, 2)),
    requirement_of("l-diversity", kind="entropy", l=Fraction(3, 2)),
    requirement_of("l-diversity", kind="recursive", l=2, c=2),
    requirement_of("t-closeness", t=Fraction(1, 4)),
    requirement_of("t-closeness", t=Fraction(1, 4), distance="ordered"),
    requirement_of("t-closeness", t=Fraction(1, 4), distance="hierarchical"),
)


@pytest.fixture(scope="module")
def registry():
    return load_registry()


@pytest.fixture(scope="module")
def people() -> Policy:
    attributes = (
        Attribute("age", Role.QUASI_IDENTIFIER, AGES),
        Attribute("sex", Role.QUASI_IDENTIFIER, SEXES),
        Attribute("disease", Role.SENSITIVE, DISEASES, nulls="Unknown", scale="ordinal", hierarchy=HIERARCHY),
    )
    return policy_of(attributes)


def channel(suppressed=None) -> Product:
    """Return ages in two groups, sexes as they are; the named classes suppressed."""
    domains = (Domain("age", AGES), Domain("sex", SEXES))
    recode = Recode.by_levels(domains, (DECADES, SEXES), suppressed=suppressed)
    return Product((recode, Identity.of("disease", DISEASES)), (), ("age", "sex", "disease"))


records = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30)


def table(policy: Policy, rows) -> TableInMemory:
    return TableInMemory.of(policy, dict(zip(policy.attributes, zip(*rows, strict=True), strict=True)))


def naive(rows, suppressed=()) -> dict[tuple[str, str], Counter[str]]:
    """Return the classes, read out record by record."""
    classes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for age, sex, disease in rows:
        group = (DECADES[age], SEXES[sex])
        if group not in suppressed:
            classes[group][DISEASES[disease]] += 1
    return classes


def find(requirement: Requirement, made: Product, original):
    assessor = MODELS[requirement.model].assessors()[0]
    return assessor.finding(requirement, made, original)


@given(rows=records)
def test_findings_are_those_of_the_classes_counted_by_hand(people, rows):
    classes = naive(rows)
    original = table(people, rows)

    size = find(requirement_of("k-anonymity", k=3), channel(), original)
    assert size.achieved is not None
    assert size.achieved.value == min(sum(c.values()) for c in classes.values())
    failing = [sum(c.values()) for c in classes.values() if sum(c.values()) < 3]
    assert size.verdict is (Verdict.FAILED if failing else Verdict.SATISFIED)
    assert (size.groups_over, size.people_over) == (len(failing), sum(failing))

    values = find(requirement_of("l-diversity", kind="distinct", l=2), channel(), original)
    assert values.achieved is not None
    assert values.achieved.value == min(len(c) for c in classes.values())

    n = len(rows)
    whole = Counter(DISEASES[d] for *_, d in rows)
    far = max(
        sum(abs(Fraction(c[v], sum(c.values())) - Fraction(whole[v], n)) for v in whole) / 2 for c in classes.values()
    )
    close = find(requirement_of("t-closeness", t=far), channel(), original)
    assert close.achieved.value == float(far)  # no margin is left by rounding
    assert close.achieved is not None
    assert close.achieved.value == pytest.approx(float(far))
    assert close.verdict is Verdict.SATISFIED
    if far:
        below = find(
            requirement_of("t-closeness", t=far - Fraction(1, 10**9) if far > Fraction(1, 10**9) else 0),
            channel(),
            original,
        )
        assert below.verdict is Verdict.FAILED


@given(rows=records)
def test_suppressed_classes_are_left_out_and_told(people, rows):
    gone = ("10-29", "M")
    classes = naive(rows, {gone})
    left = sum(sum(c.values()) for c in classes.values())

    finding = find(requirement_of("k-anonymity", k=1), channel(suppressed=[(0, 1)]), table(people, rows))

    beside = {c.name: c.measure.value for c in finding.companions}
    assert beside["equivalence classes"] == len(classes)
    assert beside.get("suppressed records", 0) == len(rows) - left
    assert any("suppressed" in text for text in finding.assumptions) == (left < len(rows))
    if classes:
        assert finding.achieved is not None
        assert finding.achieved.value == min(sum(c.values()) for c in classes.values())


@given(rows=records)
def test_a_subgroup_concerns_the_classes_that_may_hold_it(people, rows):
    classes = {g: c for g, c in naive(rows).items() if g[0] == "30-59"}

    finding = find(requirement_of("k-anonymity", k=2, where={"age": "40"}), channel(), table(people, rows))

    failing = [sum(c.values()) for c in classes.values() if sum(c.values()) < 2]
    assert (finding.groups_over, finding.people_over) == (len(failing), sum(failing))
    assert finding.verdict is (Verdict.FAILED if failing else Verdict.SATISFIED)


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
@pytest.mark.parametrize("suppressed", [None, [(0, 1)]])
def test_the_written_release_gives_the_same_findings(form, suppressed, people, registry, tmp_path):
    rng = np.random.default_rng(4)
    rows = list(zip(rng.integers(0, 5, 200), rng.integers(0, 2, 200), rng.integers(0, 4, 200), strict=True))
    original = table(people, rows)
    made = channel(suppressed).settle(original)
    with released(made, original, registry, form, tmp_path) as (public, written):
        for requirement in (
            *EVERY,
            requirement_of("l-diversity", kind="distinct", l=4, where={"age": "10", "sex": "F"}),
        ):
            assessor = MODELS[requirement.model].assessors()[0]
            before = assessor.finding(requirement, made, original)
            after = assessor.measure(requirement, people, public, written)
            assert after.to_json() == before.to_json()
            assert after.basis is Basis.RELEASE
            assert assessor.finding(requirement, public, 200).verdict is Verdict.UNDECIDED


@contextmanager
def released(made, original, registry, form, folder):
    """Draw a channel into files; yield its public description, and the tables."""
    public_folder, scratch = folder / "public", folder / "scratch"
    public_folder.mkdir()
    scratch.mkdir()
    sink = FolderSink(made.tables(), public_folder, form, scratch)
    made.draw(original, Streams.for_tests(1), sink)
    files = {name: DataTable(w.files, w.rows, w.digest) for name, w in sink.finish().items()}
    public = channel_from_json(made.to_public_json(), registry.kinds)
    with open_data_tables(public_folder, Data(form, "escape", None, files), public.tables(), scratch) as written:
        yield public, written


def histograms(classes) -> list[tuple[int, tuple[int, ...]]]:
    """Return size and counts of each class, in order."""
    (found,) = classes.histograms.values()
    return sorted((int(size), found.counts(i)) for i, size in enumerate(classes.sizes))


PARTED = [(0, 0, 0, 1), (4, 1, 2, 2)]
"""One record of (10, F, cold) and two of (50, M, HIV) are suppressed."""


@pytest.mark.parametrize("parted", [False, True])
def test_classes_of_any_certain_channel_are_those_of_its_rows(parted, people, registry, tmp_path):
    rows = [(0, 0, 0), (0, 0, 0), (0, 0, 1), *[(4, 1, 2)] * 3, (3, 1, 0), (1, 1, 3)]
    original = table(people, rows)
    if parted:
        known = [people.attributes["age"], people.attributes["sex"]]
        made = SuppressionChannel.of(known, people.attributes["disease"], PARTED).settle(original)
        expected = Counter((AGES[a], SEXES[s], DISEASES[d]) for a, s, d in rows)
        for a, s, d, n in PARTED:
            expected[AGES[a], SEXES[s], DISEASES[d]] -= n
            expected["*", "*", DISEASES[d]] += n
    else:
        made = channel([(0, 1)]).settle(original)
        expected = Counter((DECADES[a], SEXES[s], DISEASES[d]) for a, s, d in rows if (DECADES[a], s) != ("10-29", 1))
    by_class = defaultdict(list)
    for (age, sex, _), n in expected.items():
        by_class[age, sex] += [n] if n else []
    truth = sorted((sum(n), tuple(sorted(n))) for n in by_class.values() if n)
    requirement = EVERY[1]

    planned = equivalence_classes(requirement, made, original)
    with released(made, original, registry, "parquet", tmp_path) as (public, written):
        found = written_classes(requirement, people, public, written)

    assert histograms(planned) == histograms(found) == truth
    assert planned.suppressed == found.suppressed == (0 if parted else 1)


def test_what_is_left_to_chance_has_no_classes(people):
    keep = Retention.uniform("disease", DISEASES, Fraction(1, 2))
    made = Product((Identity.of("age", AGES), Identity.of("sex", SEXES), keep), (), ("age", "sex", "disease"))
    with pytest.raises(TypeError, match="released by retention is left to chance"):
        equivalence_classes(EVERY[0], made, table(people, [(0, 0, 0)]))


def test_what_is_released_beside_makes_classes_too(people):
    wide = replace(
        people,
        attributes={**people.attributes, "note": Attribute("note", Role.INSENSITIVE, ("x", "y"))},
    )
    rows = [(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 1)]
    original = table(wide, rows)

    def sizes(note: Identity) -> float:
        axes = (*channel().axes, note)
        finding = find(
            requirement_of("k-anonymity", k=2), Product(axes, (), ("age", "sex", "disease", "note")), original
        )
        assert finding.achieved is not None
        return finding.achieved.value

    assert sizes(Identity.of("note", ("x", "y"))) == 1
    assert sizes(Identity.of("note", ("x", "y"), assume_unlinkable="nobody knows it")) == 3


def test_a_carried_column_makes_classes_too(people):
    original = TableInMemory(
        replace(people, attributes={**people.attributes, "wage": Attribute("wage", Role.INSENSITIVE, None)}),
        {name: np.zeros(4, np.int32) for name in people.attributes},
        {"wage": pa.array([10.5, 10.5, None, None])},
    )
    made = Product(
        channel().axes, (Column("wage", "carried", (), "DOUBLE", "wage"),), ("age", "sex", "disease", "wage")
    )

    finding = find(requirement_of("k-anonymity", k=2), made, original)
    assert finding.achieved is not None
    assert finding.achieved.value == 2
    assert finding.verdict is Verdict.SATISFIED


def test_several_sensitive_attributes_are_protected_each(people):
    both = replace(people, attributes={**people.attributes, "job": Attribute("job", Role.SENSITIVE, ("a", "b"))})
    original = table(both, [(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 0)])
    made = Product((*channel().axes, Identity.of("job", ("a", "b"))), (), ("age", "sex", "disease", "job"))

    finding = find(requirement_of("l-diversity", kind="distinct", l=2), made, original)
    assert finding.achieved is not None
    assert finding.achieved.value == 1
    assert {c.name: c.measure.value for c in finding.companions}["distinct l of disease"] == 3
    assert finding.verdict is Verdict.FAILED
    alone = find(requirement_of("l-diversity", kind="distinct", l=2, sensitive=("disease",)), made, original)
    assert alone.verdict is Verdict.SATISFIED


def test_randomised_values_make_no_classes(people, registry):
    drawn = Outline(Product, ((("age",), Retention), (("disease",), Identity)))
    for requirement in EVERY:
        with pytest.raises(PolicyError) as refused:
            registry.assessor(requirement, people, drawn)
        (problem,) = refused.value.problems
        assert problem.code == "RR228"
        assert "nothing is randomised" in problem.message

    kept = Outline(Product, ((("age", "sex"), Recode), (("disease",), Identity)))
    for requirement in EVERY:
        assert registry.assessor(requirement, people, kept).per_class is not None
    with pytest.raises(PolicyError, match="where"):
        registry.assessor(requirement_of("k-anonymity", k=2, where={"disease": "flu"}), people, kept)


def test_what_cannot_be_asked_of_a_policy_is_refused(people):
    def refused(model, policy=people, **options):
        return model.refuses(model.options(**options), policy)

    k, l, t = KAnonymity(), LDiversity(), TCloseness()
    assert refused(k, k=5) is None
    assert "out of reach" in refused(k, replace(people, source=SourceSettings("t.csv", min_rows=4)), k=5)
    assert refused(l, kind="distinct", l=5) is None  # what l can count is the channel's business
    assert "sensitive" in refused(l, kind="distinct", l=2, sensitive=("age",))
    assert refused(t, t=0, distance="hierarchical") is None
    plain = replace(people.attributes["disease"], scale="nominal", hierarchy=None)
    policy = replace(people, attributes={**people.attributes, "disease": plain})
    assert "no order" in refused(t, policy, t=0, distance="ordered")
    assert "no hierarchy" in refused(t, policy, t=0, distance="hierarchical")
    nobody = replace(people, attributes={"disease": people.attributes["disease"]})
    assert "no quasi-identifier" in refused(k, nobody, k=2)


def test_a_class_cannot_hold_more_values_than_a_domain(people, registry):
    kept = Outline(Product, ((("age", "sex"), Recode), (("disease",), Identity)))
    for kind, c in (("distinct", None), ("entropy", None), ("frequency", None), ("recursive", 2)):
        registry.assessor(requirement_of("l-diversity", kind=kind, l=4, c=c), people, kept)
        with pytest.raises(PolicyError, match="out of reach") as refused:
            registry.assessor(requirement_of("l-diversity", kind=kind, l=5, c=c), people, kept)
        (problem,) = refused.value.problems
        assert problem.code == "RR227"
    parted = Outline(SuppressionChannel)
    with pytest.raises(PolicyError, match="out of reach"):
        registry.assessor(requirement_of("l-diversity", kind="distinct", l=5), people, parted)


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ("", "equal"),
        ("equal equal", "equal"),
        ("equal stronger stronger", "stronger"),
        ("weaker equal", "weaker"),
        ("weaker stronger", "incomparable"),
        ("stronger incomparable", "incomparable"),
        ("equal incomparable", "incomparable"),
    ],
)
def test_several_changes_at_once_are_of_one_direction_or_incomparable(orders, expected):
    assert Order.together(*map(Order, orders.split())) is Order(expected)


def test_requirements_are_ordered_by_strength():
    l = LDiversity()

    def compare(old, new):
        return l.compare(LDiversityOptions(**old), LDiversityOptions(**new))

    assert compare({"kind": "distinct", "l": 2}, {"kind": "distinct", "l": 3}) is Order.STRONGER
    assert compare({"kind": "entropy", "l": 3}, {"kind": "distinct", "l": 3}) is Order.WEAKER
    assert compare({"kind": "entropy", "l": 3}, {"kind": "frequency", "l": 2}) is Order.INCOMPARABLE
    assert compare({"kind": "recursive", "l": 2, "c": 3}, {"kind": "recursive", "l": 3, "c": 2}) is Order.STRONGER
    assert compare({"kind": "recursive", "l": 2, "c": 3}, {"kind": "distinct", "l": 2}) is Order.INCOMPARABLE
    assert compare({"kind": "distinct", "l": 2}, {"kind": "distinct", "l": 2}) is Order.EQUAL
    t = TCloseness()
    assert t.compare(TClosenessOptions(t="1/4"), TClosenessOptions(t="1/5")) is Order.STRONGER
    assert KAnonymity().compare(KAnonymityOptions(k=3), KAnonymityOptions(k=2)) is Order.WEAKER


@given(counts=st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(any), l=st.fractions(1, 5, max_denominator=4))
def test_a_stronger_kind_implies_the_weaker(counts, l):
    from rrpolicy.privacy.classes.histograms import Histograms

    histograms = Histograms.of_dense(np.array([counts]))

    def holds(kind: str, l: Fraction) -> bool:
        return bool(LDiversity().classes_satisfying(LDiversityOptions(kind=kind, l=l), histograms)[0])

    assert holds("entropy", l) or not holds("frequency", l)
    assert holds("distinct", Fraction(l.__floor__())) or not holds("entropy", l)


@pytest.mark.parametrize("member", ["achieved", "classes_satisfying"])
def test_a_model_of_a_plugin_without_a_formula_is_that_plugins_mistake(member):
    model = type("Bare", (ClassModel,), {"__module__": "acme_bare"})()
    arguments = (None,) * (3 if member == "achieved" else 2)

    with pytest.raises(RefusedError, match=rf"RR413.*acme_bare.*{member}.* is not defined"):
        getattr(model, member)(*arguments)


def test_a_channel_states_once_that_it_has_classes():
    offered = load_registry().privacy_models.values()
    for model in (model for model in offered if isinstance(model, ClassModel)):
        channels = {assessor.channel for assessor in model.assessors()}
        expected = {kind.channel for kind in CLASS_CHANNELS if kind.most != 0 or not model.protecting}
        assert channels == expected - ({SuppressionChannel} if model.name == "delta-presence" else set())


def test_a_sensitive_attribute_without_categories_is_refused(people):
    wage = Attribute("wage", Role.SENSITIVE, None)
    policy = replace(people, attributes={**people.attributes, "wage": wage})
    refusal = LDiversity().refuses(LDiversityOptions(kind="distinct", l=2, sensitive=("wage",)), policy)
    assert "'wage' has no domain" in str(refusal)


def test_classes_need_each_sensitive_attribute_by_itself(people):
    whole = table(people, [(0, 0, 0), (1, 1, 1)])
    asked = requirement_of("l-diversity", kind="distinct", l=2)
    absent = Product((Identity.of("age", AGES), Identity.of("sex", SEXES)), (), ("age", "sex"))
    with pytest.raises(PolicyError, match="RR227.*'disease' is not released"):
        equivalence_classes(asked, absent, whole)
    domains = (Domain("sex", SEXES), Domain("disease", DISEASES))
    together = Product(
        (Identity.of("age", AGES), Recode.by_levels(domains, (SEXES, DISEASES))), (), ("age", "sex", "disease")
    )
    with pytest.raises(PolicyError, match="RR227.*is released together with other attributes"):
        equivalence_classes(asked, together, whole)


def test_tuples_are_suppressed_for_one_sensitive_attribute(people):
    flu = Attribute("flu", Role.SENSITIVE, ("no", "yes"))
    policy = replace(people, attributes={**people.attributes, "flu": flu})
    asked = requirement_of("l-diversity", kind="distinct", l=2)
    (assessor,) = (a for a in LDiversity().assessors() if a.channel is SuppressionChannel)
    assert assessor.supports(asked, policy, ()) == "records are parted by one sensitive attribute"
    assert assessor.supports(asked, people, ()) is None


def test_a_model_without_a_limit_measures_nothing_without_one():
    class Bare(ClassModel[KAnonymityOptions]):
        name = "bare"
        options = KAnonymityOptions
        asks = ""

    assert list(Bare().unlimited()) == []
