"""Each mutation of an example policy: what the diff says is what planning both policies anew comes to.

The oracle does not use the comparison's own prices. It plans both policies on every table of the mutation: whether a
release passes, how many columns and categories are told, and what the models come to whose entries the mutation touches;
all models, if it touches the mechanism alone. Their numbers are read of entries so lax that they bind nothing, as what an
unchanged limit leaves unused is promised to nobody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

import rrpolicy
from rrpolicy.errors import RRPolicyError

POLICIES = Path(__file__).resolve().parents[3] / "policies"
SURVEY = "demo:survey"
GREATER_IS_BETTER = {"k-anonymity", "pk-anonymity", "l-diversity"}
LAX = {
    "baseline": ['model = "local-dp"\nepsilon = 1000\nscope = "attribute"'],
    "pram": ['model = "pk-anonymity"\nk = "1.000000001"', 'model = "local-dp"\nepsilon = 1000\nscope = "attribute"'],
    "l-diversity": ['model = "k-anonymity"\nk = 2', 'model = "t-closeness"\nt = 1\nsensitive = ["disease"]'],
    "rr-s": ['model = "attribute-disclosure"\nthreshold = 1'],
    "rr-both": ['model = "attribute-disclosure"\nthreshold = 1', 'model = "identity-disclosure"\nthreshold = 1'],
    "sensitive-addition": ['model = "l-diversity"\nkind = "frequency"\nl = 2\nsensitive = ["disease"]'],
    "anatomy": ['model = "l-diversity"\nkind = "frequency"\nl = 2'],
}


@dataclass(frozen=True)
class Mutation:
    """What is changed in which policy, and what a reader would call it.

    `tables` are SQL that makes the tables on which it is felt, of the table `survey`.
    """

    name: str
    policy: str
    old: str
    new: str
    expected: str
    tables: tuple[str, ...] = ("FROM survey",)
    before: tuple[tuple[str, str], ...] = ()
    lax: tuple[str, ...] = ()


K = 'model = "pk-anonymity"\nk = 2'
PK = f"[[privacy]]\n{K}"
AGES = 'age = { role = "quasi-identifier", bins = [16, 45, inf], labels = ["16-44", "45+"]'
DISEASE = 'disease = { role = "sensitive", domain = ["none", "asthma", "diabetes", "heart disease", "depression", "arthritis"], outside = "other" }'
FIXED = ('allocation = "optimal"', 'allocation = "equal"')
GATE = '[[utility]]\nmetric = "expected-l2"\nattributes = ["disease"]\nmax = 0.03'
REGION = 'region = { role = "quasi-identifier", domain = ["Northport", "Lakeland", "Highmoor", "Eastvale", "Capital", "Southbank", "Westshore", "Islands"] }'
INCOME = 'income_band = { role = "quasi-identifier", domain = ["under 15k", "15k to 30k", "30k to 50k", "50k to 80k", "over 80k"] }'
NULLS = "SELECT * REPLACE (CASE WHEN hash(person_id) % 10 = 0 THEN NULL ELSE region END AS region) FROM survey"
STRANGE = "SELECT *, 1 AS shoe_size FROM survey"
UNLISTED = (
    "SELECT * REPLACE (CASE WHEN hash(person_id) % 1000 = 0 THEN 'Atlantis' ELSE region END AS region) FROM survey"
)
TWICE = "SELECT * REPLACE (CAST(hash(person_id) % 40000 AS VARCHAR) AS person_id) FROM survey QUALIFY row_number() OVER (PARTITION BY hash(person_id) % 40000) <= 2"
ARTHRITIS = 'model = "attribute-disclosure"\nthreshold = 1\nwhere = { disease = "arthritis" }'
MUTATIONS = [
    Mutation("a smaller k", "pram", K, K.replace("2", "1.5"), "weaker"),
    Mutation("a greater k", "pram", K, K.replace("2", "3"), "stronger"),
    Mutation("an entry less", "pram", PK, "", "weaker"),
    Mutation("an entry more", "pram", PK, PK + '\n\n[[privacy]]\nmodel = "local-dp"\nepsilon = 4\n', "stronger"),
    Mutation("an entry that another implies", "pram", PK, PK + "\n\n" + PK.replace("2", "1.5"), "neutral"),
    Mutation("a wider record scope", "pram", PK, PK + '\n\n[[privacy]]\nmodel = "local-dp"\nepsilon = 5\nscope = "record"\n', "stronger"),
    Mutation("a gate less", "pram", GATE, "", "weaker", ("FROM survey", "FROM survey LIMIT 12000")),
    Mutation("a looser gate", "pram", "max = 0.03", "max = 0.06", "weaker", ("FROM survey", "FROM survey LIMIT 12000")),
    Mutation("a tighter gate", "pram", "max = 0.03", "max = 0.01", "stronger"),
    Mutation("an assumption more", "pram", 'unchanged = "weekly', 'assume_unlinkable = "weekly', "weaker", before=(('assume_unlinkable = "weekly', 'unchanged = "weekly'),)),
    Mutation("another workload", "pram", ", weight = 2 }", " }", "mechanism"),
    Mutation("another allocation", "pram", FIXED[0], FIXED[1], "mechanism"),
    Mutation("a column less", "rr-s", REGION, 'region = { role = "excluded" }', "stronger"),
    Mutation("a column more", "rr-s", 'income_band = { role = "excluded" }', INCOME, "weaker"),
    Mutation("fewer records are enough", "rr-s", "min_rows = 10_000", "min_rows = 5_000", "weaker", ("FROM survey LIMIT 8000",)),
    Mutation("more records are needed", "rr-s", "min_rows = 10_000", "min_rows = 60_000", "stronger"),
    Mutation("a lower threshold", "rr-s", 'threshold = "1/10"', 'threshold = "1/12"', "stronger"),
    Mutation("a higher threshold", "rr-s", 'threshold = "1/10"', 'threshold = "1/8"', "weaker"),
    Mutation("one value spared", "rr-s", "thresholds = { none = 1 }", "thresholds = { none = 1, arthritis = 1 }", "weaker", lax=(ARTHRITIS,)),
    Mutation("finer bins", "rr-s", AGES, AGES.replace("45, inf", "45, 65, inf").replace('"45+"', '"45-64", "65+"'), "weaker"),
    Mutation("coarser bins", "rr-both", 'bins = [16, 30, 45, 65, inf], labels = ["16-29", "30-44", "45-64", "65+"]', 'bins = [16, 45, 65, inf], labels = ["16-44", "45-64", "65+"]', "stronger"),
    Mutation("other labels", "rr-s", 'labels = ["16-44", "45+"]', 'labels = ["young", "old"]', "neutral"),
    Mutation("a domain of fewer categories", "rr-s", '"depression", "arthritis"]', '"depression"]', "stronger"),
    Mutation("nulls let in", "rr-s", REGION, REGION.replace(" }", ', nulls = "unknown" }'), "weaker", (NULLS,)),
    Mutation("nulls kept out", "rr-both", ', nulls = "unknown"', "", "stronger"),
    Mutation("others let in", "rr-s", '"Islands"] }', '"Islands"], outside = "abroad" }', "weaker", (UNLISTED,)),
    Mutation("columns nobody thought of", "rr-s", "[attributes]", 'other_columns = "excluded"\n\n[attributes]', "weaker", (STRANGE,)),
    Mutation("another name of a column", "rr-s", 'release_as = "age_group"', 'release_as = "ages"', "neutral"),
    Mutation("another owner", "rr-s", 'owner = "survey unit"', 'owner = "another unit"', "neutral"),
    Mutation("several records a person", "baseline", "min_rows = 10_000", "max_records = 2\nmin_rows = 10_000", "weaker", (TWICE,)),
    Mutation("a lower link", "rr-both", 'threshold = "1/50"', 'threshold = "1/80"', "stronger"),
    Mutation("who knows the other values", "rr-both", "known_sensitive = true", "known_sensitive = false", "weaker"),
    Mutation("larger classes", "l-diversity", "k = 10", "k = 400", "stronger"),
    Mutation("smaller classes", "l-diversity", "k = 10", "k = 5", "weaker"),
    Mutation("closer classes", "l-diversity", "t = 0.35", "t = 0.2", "stronger"),
    Mutation("less suppression", "l-diversity", "suppression = 0.02", "suppression = 0.0", "mechanism"),
    Mutation("smaller sets", "sensitive-addition", 'l = 3\nsensitive = ["disease"]', 'l = 2\nsensitive = ["disease"]', "weaker", before=(('threshold = "1/10"', 'threshold = "1/4"'),)),
    Mutation("larger groups", "anatomy", "l = 3", "l = 4", "stronger"),
]  # fmt: skip


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Return a function: SQL of the demo table -> the file with its result."""
    from rrpolicy.drafting.demo.source import survey as demo

    folder = tmp_path_factory.mktemp("tables")
    connection = duckdb.connect()
    connection.register("survey", demo())
    made: dict[str, Path] = {}

    def table(sql: str) -> Path:
        if sql not in made:
            made[sql] = folder / f"{len(made)}.parquet"
            connection.sql(sql).write_parquet(str(made[sql]))
        return made[sql]

    return table


def write(folder: Path, mutation: Mutation, *, mutated: bool, lax: tuple[str, ...] = ()) -> Path:
    """Write the folder of the policies with one of them mutated, and lax entries added."""
    folder.mkdir()
    for file in POLICIES.rglob("*.*"):
        to = folder / file.relative_to(POLICIES)
        to.parent.mkdir(exist_ok=True)
        to.write_bytes(file.read_bytes())
    path = folder / f"{mutation.policy}.toml"
    text = path.read_text()
    for old, new in (*mutation.before, *(((mutation.old, mutation.new),) if mutated else ())):
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text("\n\n[[privacy]]\n".join([text, *lax]))
    return path


def outcome(plain: Path, measured: Path, table: Path) -> tuple[bool, dict[str, float], dict[str, int]]:
    """Return whether a release passes, the numbers reached, and how many labels each released column has."""
    try:
        passes = rrpolicy.plan(plain, str(table), bound=False).passed
        found = rrpolicy.plan(measured, str(table), bound=False)
    except RRPolicyError:
        return False, {}, {}
    # of one model only the lax entry's own number counts: the last
    reached = {f.model: f.achieved.value for f in found.findings if f.achieved is not None}
    labels = {a.release_as: len(a.domain or ()) for a in found.policy.released}
    return passes, {m: v if m.partition("/")[0] in GREATER_IS_BETTER else -v for m, v in reached.items()}, labels


def touched(old: Path, new: Path) -> set[str]:
    """Return the models whose entries two policies state otherwise; all if nothing but the mechanism differs."""
    one, other = (rrpolicy.load_policy(path).to_json() for path in (old, new))
    if {key for key in one if one[key] != other[key]} <= {"mechanism"}:
        return {entry["model"] for entry in one["privacy"]}
    return {e["model"] for a, b in ((one, other), (other, one)) for e in a["privacy"] if e not in b["privacy"]}


def worse(models, one, other) -> bool:
    """Return whether the second outcome is weaker than the first, in any respect."""
    if other[0] and not one[0]:
        return True
    both = [m for m in one[1] if m in other[1] and m.partition("/")[0] in models]
    if any(other[1][m] < one[1][m] and not math.isclose(one[1][m], other[1][m], rel_tol=1e-4) for m in both):
        return True
    more = len(other[2]) > len(one[2]) or sum(other[2].values()) > sum(one[2].values())
    return bool(one[2] and other[2] and more)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.policy}: {m.name}")
def test_the_verdict_is_what_planning_both_again_comes_to(mutation, survey, tmp_path):
    old, new = (write(tmp_path / f"{side}", mutation, mutated=side == "new") for side in ("old", "new"))
    measured = [
        write(
            tmp_path / f"{side}-measured", mutation, mutated=side == "new", lax=(*LAX[mutation.policy], *mutation.lax)
        )
        for side in ("old", "new")
    ]

    found = rrpolicy.diff(old, new, source=str(survey("FROM survey")))

    models = touched(old, new)
    pairs = [
        [outcome(f, m, survey(sql)) for f, m in ((old, measured[0]), (new, measured[1]))] for sql in mutation.tables
    ]
    weaker, stronger = (any(worse(models, *pair[::step]) for pair in pairs) for step in (1, -1))
    oracle = {
        (True, False): "weaker",
        (False, True): "stronger",
        (True, True): "incomparable",
        (False, False): "neutral",
    }
    assert found.effect == oracle[weaker, stronger], (pairs, found.comparisons)
    if mutation.expected != "mechanism":
        assert found.effect == mutation.expected
    assert found.passed == (found.effect in {"stronger", "neutral"})
