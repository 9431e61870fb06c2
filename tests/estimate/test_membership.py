"""Counts from released sets: unbiased with the right variance, by enumeration, in every format and from plain SQL."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.counts.scan import count_sets
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.weights.sets import SetWeights, set_weights
from rrpolicy.exports.files import public_files
from rrpolicy.exports.weights import decoder_weights, weight_files
from rrpolicy.serialization import plain

DISEASES = ("flu", 'it\'s "so"', "none", "cold", "a,b")
A, B = ("x", "y"), (1, 2, 3)


def axis_of(size: int, set_size: int) -> tuple[Sets, SetWeights]:
    axis = Sets.of("a", tuple(f"v{i}" for i in range(size)), set_size)
    return axis, set_weights(axis.decoder())


def pairs(set_size: int) -> Sets:
    return Sets(
        (Domain("a", A), Domain("b", B)),
        (Column("a", "set", A, "VARCHAR[]", "a"), Column("b", "set", B, "BIGINT[]", "b")),
        set_size,
    )


def outcomes(size: int, set_size: int, own: Sequence[int]) -> Any:
    """Every release of a table, all equally likely."""
    return product(*([s for s in combinations(range(size), set_size) if v in s] for v in own))


def weight(size: int, set_size: int, held: Sequence[int], group: Sequence[int]) -> Fraction:
    inclusion = Fraction(set_size - 1, size - 1)
    return (len(set(held) & set(group)) - len(group) * inclusion) / (1 - inclusion)


def counted(size: int, sets: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([len(sets), *(sum(j in s for s in sets) for j in range(size))], dtype=float)


@pytest.mark.parametrize(
    ("size", "set_size", "own"), [(3, 2, (0, 2, 2)), (4, 2, (1, 3)), (4, 3, (0, 1, 1)), (5, 3, (4, 0))]
)
def test_the_law_of_the_estimator(size: int, set_size: int, own: tuple[int, ...]) -> None:
    groups = [[j] for j in range(size)] + [[0, 1], list(range(size)), list(range(1, size))]
    targets = np.array([[j in g for g in groups] for j in range(size)])
    _, weights = axis_of(size, set_size)
    singles = np.eye(size, dtype=bool)
    exact = [[] for _ in groups]
    squares, variances, crosses = [], [], []
    for sets in outcomes(size, set_size, own):
        x = counted(size, sets)
        estimate = [sum((weight(size, set_size, s, g) for s in sets), Fraction(0)) for g in groups]
        for column, value in zip(exact, estimate, strict=True):
            column.append(value)
        found = weights.contract(x, 0, targets, 1)
        second = weights.contract(x, 0, targets, 2)
        squares.append([sum((weight(size, set_size, s, g) ** 2 for s in sets), Fraction(0)) for g in groups])
        variances.append(second - found)
        rows = weights.factors(targets)
        crosses.append(rows.T @ (weights.lifted(x, 0)[:, None] * rows))

        assert found == pytest.approx([float(v) for v in estimate], abs=1e-12)
        assert weights.contract(x, 0, None, 1) == pytest.approx(weights.contract(x, 0, singles, 1))
        assert second[:size] == pytest.approx([float(v) for v in squares[-1][:size]], abs=1e-12)

    true = [Fraction(sum(v in g for v in own)) for g in groups]
    n = len(exact[0])
    means = [sum(values, Fraction(0)) / n for values in exact]
    spreads = [sum(((v - m) ** 2 for v in values), Fraction(0)) / n for values, m in zip(exact, means, strict=True)]
    cross = np.array(
        [[float(sum((a * b for a, b in zip(g, h, strict=True)), Fraction(0)) / n) for h in exact] for g in exact]
    )
    assert means == true
    assert np.mean(variances, axis=0) == pytest.approx([float(v) for v in spreads], abs=1e-12)
    # E sum w_g w_h = cov(estimates) + sum over records of what their own value counts in both groups
    both = np.array([[sum(v in g and v in h for v in own) for h in groups] for g in groups], dtype=float)
    covariance = cross - np.outer([float(m) for m in means], [float(m) for m in means])
    assert np.mean(crosses, axis=0) == pytest.approx(covariance + both, abs=1e-10)


@pytest.mark.parametrize(("size", "l"), [(8, 3), (20, 5)])
def test_the_mean_squared_error_is_that_of_the_formula(size: int, l: int) -> None:
    """(S-1)(l-1)/(n S (S-l)): the mean over values of what the variances of all records add up to."""
    _, weights = axis_of(size, l)
    n = 7
    held = Fraction(l - 1, size - 1)
    variance = n * (size - 1) * held / (1 - held)

    expected = Fraction((size - 1) * (l - 1), n * size * (size - l))

    assert variance / n**2 / size == expected
    assert weights.held == 1
    assert weights.not_held == pytest.approx(float(-held / (1 - held)))


Write = Callable[..., Path]


@pytest.fixture
def write(publish: Any, made: Any) -> Write:
    def make(file_format: str = "parquet", n: int = 1500) -> Path:
        rng = np.random.default_rng(21)
        stream = Streams.for_tests(5).stream("axis")
        disease = Sets((Domain("disease", DISEASES),), (Column("disease", "set", DISEASES, "VARCHAR[]", "disease"),), 3)
        two = pairs(4)
        sex = rng.integers(0, 2, n)
        first = np.where(sex == 1, rng.choice(5, n, p=[0.6, 0.1, 0.1, 0.1, 0.1]), rng.integers(0, 5, n))
        axes = [made.identity("sex", ("F", "M")), made.retention("smoker", ("no", "yes"), [((0, 1), "9/10")])]
        rows: dict[str, Any] = {"sex": np.array(["F", "M"])[sex].tolist(), **made.draw(axes[1], sex, rng)}
        for axis, codes in ((disease, first), (two, rng.integers(0, 6, n))):
            _, released, _ = axis.split(codes, np.ones(n, dtype=np.int64), stream)
            for column, values in zip(axis.columns(), axis.values(released), strict=True):
                lists = values.to_pylist()
                rows[column.name] = [json.dumps(v) for v in lists] if file_format == "csv" else lists
            axes.append(made.Axis(plain(axis.decoder()), tuple(map(plain, axis.columns())), []))
        folder = publish(axes, rows, file_format)
        for path, content in public_files(open_release(folder).manifest).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        (folder / "rows.json").write_text(json.dumps(rows))
        return folder

    return make


def rows_of(folder: Path) -> Mapping[str, list[Any]]:
    rows: Mapping[str, list[Any]] = json.loads((folder / "rows.json").read_text())
    return {k: [json.loads(v) if isinstance(v, str) and v.startswith("[") else v for v in c] for k, c in rows.items()}


def w(held: Any, group: Sequence[Any], size: int, l: int) -> float:
    inclusion = (l - 1) / (size - 1)
    return (sum(tuple(h) in group if isinstance(h, list) else h in group for h in held) - len(group) * inclusion) / (
        1 - inclusion
    )


@pytest.mark.parametrize("file_format", ["parquet", "csv", "duckdb"])
def test_tables_in_every_format(write: Write, file_format: str) -> None:
    folder = write(file_format)
    rows, release = rows_of(folder), open_release(folder)
    smoker = {"no": (9 / 8, -1 / 8), "yes": (-1 / 8, 9 / 8)}

    table = release.crosstab(["sex", "disease"])
    for row in table.rows:
        weights = np.array(
            [
                w(d, [row.group["disease"]], 5, 3) * (s == row.group["sex"])
                for d, s in zip(rows["disease"], rows["sex"], strict=True)
            ]
        )
        assert row.estimate == pytest.approx(weights.sum())
        assert row.se == pytest.approx(np.sqrt((weights**2).sum() - weights.sum()))
        assert row.released == sum(
            row.group["disease"] in d and s == row.group["sex"]
            for d, s in zip(rows["disease"], rows["sex"], strict=True)
        )

    both = release.crosstab(["disease", "smoker", "a", "b"])
    assert both.estimate.shape == (5, 2, 6)
    assert both.estimate.sum() == pytest.approx(len(rows["sex"]))
    cell = sum(
        w(d, ["cold"], 5, 3) * smoker[s][1] * w([list(z) for z in zip(a, b, strict=True)], [("y", 2)], 6, 4)
        for d, s, a, b in zip(*(rows[c] for c in ("disease", "smoker", "a", "b")), strict=True)
    )
    assert both.estimate[3, 1, 4] == pytest.approx(cell)


def test_conditions_on_sets_add_the_weights_of_their_values(write: Write) -> None:
    release = open_release(write())
    by_disease = release.crosstab(["sex", "disease"])

    some = release.crosstab("sex", where="disease IN ('flu', 'cold')")
    others = release.crosstab("sex", where="disease NOT IN ('flu', 'cold')")
    inside = release.crosstab("disease", where="disease IN ('flu', 'cold') AND sex = 'F'")
    asked = release.query("SELECT sex, count(*) FROM release WHERE disease IN ('cold', 'flu') GROUP BY sex")
    cube = release.cube(["sex", "disease"])

    assert some.estimate.ravel() == pytest.approx(by_disease.estimate[:, [0, 3]].sum(axis=1))
    assert (some.estimate + others.estimate).sum() == pytest.approx(release.records)
    assert inside.estimate.ravel() == pytest.approx(by_disease.estimate[0, [0, 3]])
    assert asked.estimate == pytest.approx(some.estimate)
    assert cube.table("disease").estimate.ravel() == pytest.approx(by_disease.estimate.sum(axis=0))
    assert cube.table("sex").estimate.ravel() == pytest.approx(release.crosstab("sex").estimate)
    assert cube.table("sex").se().ravel() == pytest.approx([0, 0], abs=1e-6)


def test_one_of_the_attributes_that_were_released_together(write: Write) -> None:
    release = open_release(write())
    table = release.crosstab(["a", "b"])

    alone = release.crosstab("b")

    assert alone.estimate.ravel() == pytest.approx(table.estimate.reshape(2, 3).sum(axis=0))
    assert alone.domain if hasattr(alone, "domain") else [r.group["b"] for r in alone.rows] == [1, 2, 3]


def test_covariances_have_the_variances_on_their_diagonal_and_rows_that_add_to_nothing(write: Write) -> None:
    release = open_release(write())
    table = release.crosstab(["smoker", "disease"])
    population = release.crosstab(["disease"], target="population")

    assert np.sqrt(np.diag(table.covariance())) == pytest.approx(table.se().reshape(-1))
    assert population.covariance().sum(axis=1) == pytest.approx(np.zeros(5), abs=1e-6)
    assert np.sqrt(np.diag(population.covariance())) == pytest.approx(population.se())


def test_an_association_of_a_randomised_column_with_sets(write: Write) -> None:
    found = open_release(write()).association("sex", "disease", present=(["M"], ["flu"]), measure="phi")

    assert 0.2 < found["phi"] < 0.7
    assert np.isfinite(found.errors["table"]).all()


RUN = """
import duckdb, json, sys
with duckdb.connect() as connection:
    connection.execute(open("estimate.sql").read()).fetchall()
    print(json.dumps({n: connection.sql('FROM "' + n + '"').fetchall() for n in json.loads(sys.argv[1])}))
"""


@pytest.mark.parametrize("file_format", ["parquet", "csv", "duckdb"])
def test_plain_sql_gives_the_same(write: Write, file_format: str) -> None:
    folder = write(file_format)
    release = open_release(folder)
    views = {
        "estimate_disease": ["disease"],
        "estimate_a_b": ["a", "b"],
        "estimate_by_smoker_by_disease": ["smoker", "disease"],
    }
    command = [sys.executable, "-c", RUN, json.dumps(list(views))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)

    for name, columns in views.items():
        found = {tuple(r[: len(columns)]): r[len(columns) :] for r in results[name]}
        table = release.crosstab(columns)
        assert len(found) == len(table.rows)
        for row, other in zip(table.rows, table.se("population").reshape(-1), strict=True):
            mine = found[tuple(row.group[c] for c in columns)]
            assert mine == pytest.approx([row.estimate, row.se, other, row.low, row.high])


def test_weight_tables_and_the_readme_say_how(write: Write) -> None:
    folder = write("csv")
    readme = (folder / "README.md").read_text()
    decoders = open_release(folder).manifest.decoders

    one, together = weight_files([a for d in decoders[2:4] for a in decoder_weights(d)], "escape")

    assert one.path == "weights/disease.csv"
    assert one.text.splitlines()[:2] == ['"original","weight_held","weight_not_held"', '"flu",1,-1']
    assert (folder / together.path).read_text() == together.text
    assert together.text.splitlines()[0] == '"original_1","original_2","weight_held","weight_not_held"'
    assert "as a set of 3 of the 5 categories" in readme
    assert "`weight_held` if its set holds the" in readme
    assert "i-th entries belong together" in readme


@pytest.mark.parametrize("damage", ["missing", "strange", "null"])
def test_sets_that_the_manifest_does_not_describe_are_told(write: Write, publish: Any, made: Any, damage: str) -> None:
    axis, _ = axis_of(4, 2)
    typed = axis.with_columns([Column("a", "set", axis.columns()[0].labels, "VARCHAR", "a")])
    lists = [["v0", "v1"], {"missing": ["v0"], "strange": ["v0", "v9"], "null": None}[damage]]
    folder = publish([made.Axis(plain(typed.decoder()), tuple(map(plain, typed.columns())), [])], {"a": lists})

    release = open_release(folder)
    for ask in (lambda: release.crosstab("a"), lambda: count_sets(release.data, release.columns.axes["a"], 9)):
        with pytest.raises(PolicyError) as caught:
            ask()
        assert caught.value.problems[0].code == "RR269"


def test_what_sets_do_not_allow_is_refused(write: Write) -> None:
    release = open_release(write())

    with pytest.raises(PolicyError) as em:
        release.crosstab("disease", estimator="em")
    with pytest.raises(PolicyError) as mean:
        release.mean("b", ["sex"], "b = 1")

    assert em.value.problems[0].code == "RR278"
    assert mean.value.problems[0].code == "RR274"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["table", "population"])
def test_intervals_cover(publish: Any, made: Any, target: Any) -> None:
    """At 90, 95 and 99 %, for every value, within 5.4 standard errors of a binomial share and a little more."""
    size, l, records, draws = 6, 3, 800, 300
    axis = Sets.of("a", tuple(f"v{i}" for i in range(size)), l)
    rng = np.random.default_rng(17)
    shares = np.array([0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
    table = rng.choice(size, records, p=shares)
    described = made.Axis(plain(axis.decoder()), tuple(map(plain, axis.columns())), [])
    folder = publish([described], {"a": [[f"v{i}" for i in range(l)]] * records})
    release = open_release(folder)
    true = np.bincount(table, minlength=size) if target == "table" else shares * records
    hits = np.zeros((3, size))
    for _ in range(draws):
        own = table if target == "table" else rng.choice(size, records, p=shares)
        order = np.argsort(rng.random((records, size)) - 2.0 * (np.arange(size) == own[:, None]), axis=1)[:, :l]
        sets = [[f"v{i}" for i in sorted(row)] for row in order.tolist()]
        pq.write_table(pa.table({"a": sets}), folder / "data.parquet")
        found = release.crosstab(["a"], target=target)
        for i, level in enumerate((0.9, 0.95, 0.99)):
            low, high = found.conf_int(level).T
            hits[i] += (low <= true) & (true <= high)
    for row, level in zip(hits / draws, (0.9, 0.95, 0.99), strict=True):
        assert np.abs(row - level).max() < 5.4 * np.sqrt(level * (1 - level) / draws) + 0.01
