"""Everything that rrpolicy brings passes the checks that authors of plugins are given."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rrpolicy import builtin
from rrpolicy.builtin import METRICS, MODELS
from rrpolicy.discovery import load_registry
from rrpolicy.drafting.demo.source import DemoSource, survey
from rrpolicy.estimate.invert.estimator import OFFERS as ESTIMATORS
from rrpolicy.formats.format import FORMAT_OFFERS as FORMATS
from rrpolicy.planning.assess import channel_outline
from rrpolicy.planning.plan import make_plan
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.testing import (
    TableInMemory,
    check_assessor,
    check_estimator,
    check_format,
    check_mechanism,
    check_metric,
    check_privacy_model,
    check_renderer,
    check_source,
    open_policy,
    policy_text,
    shared_releases,
)
from rrpolicy.testing.memory import similar_tables
from rrpolicy_spark.source import ParquetSource, TableSource

REGISTRY = load_registry()
ATTRIBUTES = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"], release_as = "part" }
disease = { role = "sensitive", domain = ["none", "flu", "cold"] }
"""


@pytest.mark.parametrize("name", [offer.name for offer in FORMATS])
def test_formats(name):
    check_format(REGISTRY.formats[name])


@pytest.mark.parametrize("name", [offer.name for offer in ESTIMATORS])
def test_estimators(name):
    check_estimator(REGISTRY.estimators[name])


@pytest.mark.parametrize("name", ["html", "json"])
def test_renderers(name):
    check_renderer(REGISTRY.renderers[name])


EXAMPLES = {
    "pk-anonymity": ([{"k": 2}, {"k": 3}, {"k": "7/2"}], [{"k": 0}, {"k": "x"}, {}]),
    "local-dp": (
        [
            {"epsilon": 2},
            {"epsilon": "1/2"},
            {"epsilon": 2, "scope": "attribute"},
            {"epsilon": 3, "scope": "attribute"},
        ],
        [{"epsilon": 0}, {"epsilon": 1, "scope": "table"}, {"epsilon": "nan"}],
    ),
    "rho1-to-rho2": (
        [
            {"rho1": "1/10", "rho2": "1/2"},
            {"rho1": "1/10", "rho2": "2/5", "scope": "attribute"},
            {"rho1": "1/20", "rho2": "9/10"},
        ],
        [{"rho1": "1/2", "rho2": "1/2"}, {"rho1": 0, "rho2": "1/2"}, {"rho1": "1/10"}],
    ),
    "attribute-disclosure": (
        [
            {"threshold": "1/3"},
            {"threshold": "1/2"},
            {"threshold": "1/2", "thresholds": {"flu": "1/5"}},
            {"threshold": "1/2", "measure": "best-guess"},
            {"threshold": "1/3", "measure": "gain"},
            {"threshold": "1/3", "measure": "correct-reading", "thresholds": {"flu": "1/5"}},
        ],
        [{"threshold": 2}, {"threshold": 0}, {}, {"measure": "gain", "thresholds": {"flu": "1/5"}}],
    ),
    "identity-disclosure": ([{"threshold": "1/3"}, {"threshold": "1/2"}], [{"threshold": 2}, {"threshold": -1}]),
    "k-anonymity": ([{"k": 2}, {"k": 5}, {"k": 10}], [{"k": 0}, {"k": 1.5}]),
    "l-diversity": (
        [
            {"kind": "distinct", "l": 2},
            {"kind": "distinct", "l": 3},
            {"kind": "frequency", "l": "5/2"},
            {"kind": "entropy", "l": 2},
            {"kind": "recursive", "l": 2, "c": 3},
            {"kind": "recursive", "l": 3, "c": 3},
        ],
        [{"kind": "distinct", "l": 0}, {"kind": "magic", "l": 2}, {"kind": "recursive", "l": 2}],
    ),
    "t-closeness": ([{"t": "1/5"}, {"t": "1/2"}], [{"t": -1}, {"t": 2}]),
    "alpha-k-anonymity": (
        [{"alpha": "1/2", "k": 5}, {"alpha": "1/3", "k": 5}, {"alpha": "1/2", "k": 2}],
        [{"alpha": 0, "k": 2}, {"alpha": "3/2", "k": 2}, {"alpha": "1/2"}, {"alpha": "1/2", "k": 0}],
    ),
    "k-map": (
        [
            {"k": 5},
            {"k": 9},
            {"k": 5, "sampling_fraction": "1/10", "decided_by": "estimate"},
            {"k": 5, "sampling_fraction": "1/5", "decided_by": "estimate"},
        ],
        [{"k": 0}, {"k": 5, "sampling_fraction": 2}, {"k": 5, "decided_by": "luck"}, {}],
    ),
    "delta-presence": (
        [{"max": "1/2"}, {"max": "1/3"}, {"max": "1/2", "min": "1/4"}],
        [{"max": 2}, {"max": "1/4", "min": "1/2"}, {}],
    ),
    "beta-likeness": (
        [{"beta": 1}, {"beta": "5/2"}, {"beta": 1, "likeness": "enhanced"}],
        [{"beta": 0}, {"beta": 1, "likeness": "better"}, {}],
    ),
    "delta-disclosure": (
        [{"delta": 1}, {"delta": "1/2"}, {"delta": 1, "values": "occurring"}],
        [{"delta": 0}, {"delta": 1, "values": "some"}, {}],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_privacy_models(name):
    examples, refused = EXAMPLES[name]

    check_privacy_model(REGISTRY.privacy_models[name], examples, refused=refused)


def example(rest: str, attributes: str = ATTRIBUTES):
    return open_policy(policy_text(attributes + rest))


MECHANISMS = {
    "pram, local-dp": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "local-dp"\nepsilon = 6',
    "pram, keep probabilities": """
        [mechanism]
        name = "pram"
        keep_probability = { sex = "3/4", region = "3/5", disease = "9/10" }
        [[privacy]]
        model = "local-dp"
        epsilon = 8""",
    "pram, pk-anonymity": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "pk-anonymity"\nk = 2',
    "pram, attribute-disclosure": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "3/5"',
    "pram, breaches": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "rho1-to-rho2"\nrho1 = "1/10"\nrho2 = "4/5"',
    "pram, best guess": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "best-guess"\nthreshold = "3/5"',
    "rr-qi, correct reading": '[mechanism]\nname = "rr-qi"\n[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "correct-reading"\nthreshold = "3/5"',
    "full-domain, correct reading": '[mechanism]\nname = "l-diversity"\n[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "correct-reading"\nthreshold = "3/5"',
    "tp, correct reading": '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "3/2"\n[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "correct-reading"\nthreshold = "3/5"',
    "rr-qi, gain": '[mechanism]\nname = "rr-qi"\n[[privacy]]\nmodel = "attribute-disclosure"\nmeasure = "gain"\nthreshold = "7/10"',
    "pram, identity-disclosure": '[mechanism]\nname = "pram"\n[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "1/20"',
    "rr-both": '[mechanism]\nname = "rr-both"\n[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "7/10"',
    "rr-qi": '[mechanism]\nname = "rr-qi"\n[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "7/10"',
    "rr-s": '[mechanism]\nname = "rr-s"\n[[privacy]]\nmodel = "local-dp"\nepsilon = 3\nscope = "attribute"',
    "full-domain, population": """
        [mechanism]
        name = "l-diversity"
        [reference]
        uri = "everybody.parquet"
        [[privacy]]
        model = "k-map"
        k = 60
        [[privacy]]
        model = "delta-presence"
        max = "1/3"
        min = "1/20"
        """,
    "sensitive-addition": '[mechanism]\nname = "sensitive-addition"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2',
    "anatomy": '[mechanism]\nname = "anatomy"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2',
    "anatomy, disclosure": """
        [mechanism]
        name = "anatomy"
        [[privacy]]
        model = "l-diversity"
        kind = "frequency"
        l = 2
        [[privacy]]
        model = "k-anonymity"
        k = 2
        [[privacy]]
        model = "attribute-disclosure"
        threshold = "9/10"
        decided_by = "estimate"
        [[privacy]]
        model = "attribute-disclosure"
        measure = "gain"
        threshold = "9/10"
        [[privacy]]
        model = "identity-disclosure"
        threshold = "9/10"
        """,
    "anatomy, population": """
        [mechanism]
        name = "anatomy"
        [reference]
        uri = "everybody.parquet"
        [[privacy]]
        model = "l-diversity"
        kind = "frequency"
        l = 2
        [[privacy]]
        model = "k-map"
        k = 60
        [[privacy]]
        model = "delta-presence"
        max = "1/3"
        """,
    "full-domain": '[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n[[privacy]]\nmodel = "k-anonymity"\nk = 5',
    "full-domain, models": """
        [mechanism]
        name = "l-diversity"
        algorithm = "full-domain"
        [[privacy]]
        model = "l-diversity"
        kind = "entropy"
        l = "3/2"
        [[privacy]]
        model = "t-closeness"
        t = "1/2"
        [[privacy]]
        model = "k-map"
        k = 40
        sampling_fraction = "1/20"
        decided_by = "estimate"
        [[privacy]]
        model = "alpha-k-anonymity"
        alpha = "4/5"
        k = 3
        [[privacy]]
        model = "beta-likeness"
        beta = 4
        [[privacy]]
        model = "delta-disclosure"
        delta = 4
        [[privacy]]
        model = "attribute-disclosure"
        threshold = "9/10"
        [[privacy]]
        model = "identity-disclosure"
        threshold = "1/4"
        """,
    "mondrian": '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n[[privacy]]\nmodel = "k-anonymity"\nk = 5',
    "tp": '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "3/2"',
    "tp, models": """
        [mechanism]
        name = "l-diversity"
        algorithm = "tp"
        [[privacy]]
        model = "l-diversity"
        kind = "frequency"
        l = 2
        [[privacy]]
        model = "k-anonymity"
        k = 2
        [[privacy]]
        model = "attribute-disclosure"
        threshold = "9/10"
        [[privacy]]
        model = "identity-disclosure"
        threshold = "1/2"
        """,
}  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms(name):
    policy = example(MECHANISMS[name])
    mechanism = policy.registry.mechanisms[policy.policy.mechanism.name]

    check_mechanism(mechanism, policy, refused=[{"no such option": 1}])


def assessor_of(policy, requirement, outline):
    return policy.registry.assessor(requirement, policy.policy, outline)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_assessors(name):
    policy = example(MECHANISMS[name])
    mechanism = policy.registry.mechanisms[policy.policy.mechanism.name]
    outline = mechanism.outline(policy.policy.mechanism.options, policy.policy)
    for requirement in policy.policy.requirements:
        check_assessor(assessor_of(policy, requirement, outline), policy)


ASKED = {
    "k-map, estimated": '[[privacy]]\nmodel = "k-map"\nk = 40\nsampling_fraction = "1/20"\ndecided_by = "estimate"',
    "t-closeness": '[[privacy]]\nmodel = "t-closeness"\nt = "1/2"',
    "beta-likeness": '[[privacy]]\nmodel = "beta-likeness"\nbeta = 3\nlikeness = "enhanced"',
    "delta-disclosure": '[[privacy]]\nmodel = "delta-disclosure"\ndelta = 3\nvalues = "occurring"',
    "alpha-k-anonymity": '[[privacy]]\nmodel = "alpha-k-anonymity"\nalpha = "2/3"\nk = 2',
    "l-diversity, distinct": '[[privacy]]\nmodel = "l-diversity"\nkind = "distinct"\nl = 2',
    "l-diversity, entropy": '[[privacy]]\nmodel = "l-diversity"\nkind = "entropy"\nl = "3/2"',
    "l-diversity, recursive": '[[privacy]]\nmodel = "l-diversity"\nkind = "recursive"\nl = 2\nc = 3',
    "local-dp of records": '[[privacy]]\nmodel = "local-dp"\nepsilon = 6',
    "identity-disclosure on average": '[[privacy]]\nmodel = "identity-disclosure"\npercentile = 5\nthreshold = "1/5"',
}
"""Requirements that a mechanism does not plan by, and that are assessed of what it planned all the same."""
OF_CLASSES = [asked for asked in ASKED if "dp" not in asked and "average" not in asked]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planned", "asked"),
    [
        *(("tp", asked) for asked in OF_CLASSES),
        *(("full-domain", asked) for asked in OF_CLASSES),
        *(("pram, keep probabilities", asked) for asked in ASKED if "dp" in asked or "average" in asked),
    ],
)
def test_assessors_of_what_was_planned_by_others(planned, asked):
    policy = example(f"{MECHANISMS[planned]}\n{ASKED[asked]}")
    channel, table = made(planned)
    check_assessor(
        assessor_of(policy, policy.policy.requirements[-1], channel_outline(channel)), policy, [channel], [table]
    )


def made(name):
    policy = example(MECHANISMS[name])
    table = TableInMemory.random(policy.policy, 400, 1)
    return make_plan(policy.policy, policy.registry, table).channel, table


def test_nothing_is_left_out():
    policies = [example(text) for text in MECHANISMS.values()]
    brought = [a for model in REGISTRY.privacy_models.values() for a in getattr(model, "assessors", tuple)()]
    brought += [a for offer in builtin.rrpolicy_assessors() for a in offer.load()()]
    offered = {(assessor.model, assessor.channel.kind) for assessor in brought}
    checked = {
        (
            r.model,
            p.registry.mechanisms[p.policy.mechanism.name].outline(p.policy.mechanism.options, p.policy).channel.kind,
        )
        for p in policies
        for r in p.policy.requirements
    } | {
        (model, "suppression")
        for model in ("t-closeness", "alpha-k-anonymity", "beta-likeness", "delta-disclosure", "k-map")
    }

    assert {p.policy.mechanism.name for p in policies} == set(REGISTRY.mechanisms)
    assert offered <= checked
    assert set(EXAMPLES) == set(MODELS)
    assert set(DRAWN) == set(METRICS)
    assert set(REGISTRY.renderers) == {"html", "json"}
    assert {type(source) for source in REGISTRY.sources.values()} == {
        DuckDBSource,
        DemoSource,
        ParquetSource,
        TableSource,
    }


TABLES = (
    "total-variation",
    "l1",
    "l2",
    "hellinger",
    "kl-divergence",
    "chi-square",
    "pmse",
    "group-by-error",
    "cube-error",
)
UTILITY = {
    "expected-l2": '[[utility]]\nmetric = "expected-l2"\nmax = 1\n[[utility]]\nmetric = "expected-l2"\nattributes = ["region"]\nmax = 1',
    "addition-mse": '[[utility]]\nmetric = "addition-mse"\nmax = 1',
    **{name: f'[[utility]]\nmetric = "{name}"\nattributes = ["region"]\nmax = 1' for name in TABLES},
    **{
        name: f'[[utility]]\nmetric = "{name}"\nattributes = ["sex", "region"]\nover = "largest"\nmax = 1'
        for name in ("mutual-information-change", "uncertainty-coefficient-change", "cramers-v-change")
    },
    **{
        name: f'[[utility]]\nmetric = "{name}"\nattributes = ["sex", "region"]\nmax = 1000000'
        for name in ("ncp", "discernibility", "classification-loss")
    },
    "interval-overlap": '[[utility]]\nmetric = "interval-overlap"\nattributes = ["region"]\nmin = 0',
    "random-query-error": '[[utility]]\nmetric = "random-query-error"\nqueries = 20\ndimensions = 1\nmax = 1',
}
DRAWN = {
    **dict.fromkeys(METRICS, "pram, keep probabilities"),
    "addition-mse": "sensitive-addition",
    "ncp": "full-domain",
    "discernibility": "mondrian",
    "classification-loss": "tp",
}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", sorted(set(DRAWN.values())))
def test_metrics(mechanism):
    """All metrics of a mechanism look at the same draws."""
    names = [name for name in METRICS if DRAWN[name] == mechanism]
    policy = example("\n".join([MECHANISMS[mechanism], *(UTILITY[name] for name in names)]))
    with shared_releases():
        tables = similar_tables(policy.policy)
        channels = [make_plan(policy.policy, policy.registry, tables[0]).channel]
        for name in names:
            metric = policy.registry.utility_metrics[name]
            check_metric(metric, policy, channels, tables[:2], refused=[{"target": "everybody"}])


EVERYTHING = """\
[source]
uri = "none"
missing = ["n/a", -9]
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["m", "f", "unknown"], nulls = "unknown" }
region = { role = "quasi-identifier", domain = ["n", "e", "s", "other"], outside = "other" }
children = { role = "quasi-identifier", domain = [0, 1, 2] }
age = { role = "quasi-identifier", bins = [0, 18, 65.5, 100], labels = ["child", "adult", "old"] }
born = { role = "quasi-identifier", bins = [1980-01-01, 1990-01-01, 2000-01-01] }
kind = { role = "quasi-identifier", domain = "observed" }
disease = { role = "sensitive", domain = ["none", "flu"] }
hours = { role = "insensitive", nulls = "keep", assume_unlinkable = "made up" }
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[mechanism]
name = "pram"
"""


@pytest.fixture(scope="module")
def everything():
    return open_policy(
        f'schema = 1\n[policy]\nname = "all"\nversion = "1.0.0"\nowner = "me"\npurpose = "x"\n{EVERYTHING}'
    )


def into_parquet(folder):
    def make(rows):
        pq.write_table(rows, folder / "people.parquet")
        return str(folder / "people.parquet")

    return make


def into_csv(folder):
    def make(rows):
        pa.csv.write_csv(rows, folder / "people.csv")
        return str(folder / "people.csv")

    return make


def into_database(folder):
    def make(rows):
        with duckdb.connect(str(folder / "new.duckdb")) as made:
            made.register("given", rows)
            made.execute("CREATE TABLE people AS SELECT * FROM given")
        return str((folder / "new.duckdb").replace(folder / "people.duckdb"))

    return make


@pytest.mark.slow
@pytest.mark.parametrize(("into", "table"), [(into_parquet, ""), (into_csv, ""), (into_database, "people")])
def test_sources(into, table, everything, tmp_path):
    check_source(DuckDBSource(), everything, into(tmp_path), table=table)


def test_the_source_of_the_demo():
    policy = open_policy(Path("policies/pram.toml"))

    check_source(DemoSource(), policy, "demo:survey?records=200&seed=1", survey(200, 1))
