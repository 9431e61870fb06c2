"""What is said of randomised data without their matrices, held to every small table and matrix that it speaks of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rrpolicy
from rrpolicy import DataError, PolicyError
from rrpolicy.cli.main import main
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.uncorrected import release_validity
from rrpolicy.estimate.uncorrected.release_validity import Holds
from rrpolicy.frozen import replace

ONES = ("odds_ratio", "interest", "conviction", "collective_strength")
STEPS = (0.05, 0.3, 0.5, 0.7, 1.0)
Kind = Literal["none", "general", "doubly", "half", "both"]
DECLARED: tuple[Kind, ...] = ("none", "general", "doubly", "half", "both")


def tables(rows: int, columns: int, total: int) -> np.ndarray:
    """Every table of a total, each cell at least 1 in 20 of a record."""
    cells = rows * columns
    found = [c for c in product(range(total + 1), repeat=cells) if sum(c) == total]
    return (np.array(found, dtype=float) + 0.05).reshape(-1, rows, columns)


def matrices(size: int, kind: Kind) -> np.ndarray:
    """Small matrices of a kind, column-stochastic."""
    if kind == "none":
        return np.eye(size)[None]
    if size == 2:
        found = [np.array([[a, 1 - b], [1 - a, b]]) for a, b in product(STEPS, repeat=2)]
        found += [np.array([[1 - a, b], [a, 1 - b]]) for a, b in product((0.6, 0.95), repeat=2)]
    else:
        orders = [np.eye(size)[list(order)] for order in permutations(range(size))]
        columns = [np.eye(size)[i] for i in range(size)] + [np.full(size, 1 / size)]
        found = [w * p + (1 - w) * q for p, q in product(orders, repeat=2) for w in (0.3, 0.6, 1.0)]
        found += [np.stack(each, axis=1) for each in product(columns, repeat=size)]
    if kind in {"doubly", "both"}:
        found = [P for P in found if np.abs(P.sum(axis=1) - 1).max() < 1e-12]
    if kind in {"half", "both"}:
        found = [P for P in found if np.diag(P).min() >= 0.5]
    return np.unique(np.array(found).round(12), axis=0)


def strength(name: str, x: np.ndarray) -> np.ndarray:
    """How far a measure lies from independence; NaN where it is not defined."""
    with np.errstate(all="ignore"):
        values = MEASURES[name].of(x)[0]
    return np.abs(np.where(np.isfinite(values), values, np.nan) - (1.0 if name in ONES else 0.0))


def randomised(pi: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Expected tables of every table under every pair of matrices: (tables, rows', columns', rows, columns)."""
    return np.einsum("aij,tjk,blk->tabil", row, pi, column, optimize=True)


def growth(name: str, pi: np.ndarray, row: np.ndarray, column: np.ndarray) -> float:
    """By how much a measure grows at most."""
    change = strength(name, randomised(pi, row, column)) - strength(name, pi)[:, None, None]
    return float(np.nanmax(change))


def asked(sizes: tuple[int, int], kinds: tuple[Kind, Kind]) -> Holds:
    """What the public function says of two columns that are declared so."""
    frame = pd.DataFrame([(f"r{i}", f"c{j}") for i in range(sizes[0]) for j in range(sizes[1])], columns=["row", "col"])
    named = dict(zip(("row", "col"), kinds, strict=True))
    return rrpolicy.what_holds(
        frame,
        ["row", "col"],
        randomised=[n for n, kind in named.items() if kind != "none"],
        doubly_stochastic=[n for n, kind in named.items() if kind in {"doubly", "both"}],
        half=[n for n, kind in named.items() if kind in {"half", "both"}],
    )


def never_larger(holds: Holds) -> Iterator[str]:
    for statement in holds.statements:
        if statement.verdict == "never larger":
            yield from statement.released


def wrong(sizes: tuple[int, int], kinds: tuple[Kind, Kind]) -> set[str]:
    """Measures that are said never to grow, and do in some small table."""
    pi = tables(*sizes, 5 if sizes == (2, 2) else 2)
    row, column = (matrices(size, kind) for size, kind in zip(sizes, kinds, strict=True))
    return {name for name in never_larger(asked(sizes, kinds)) if growth(name, pi, row, column) > 1e-9}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 3)])
def test_what_is_said_never_to_grow_does_not(sizes):
    for kinds in product(DECLARED, repeat=2):
        assert not wrong(sizes, kinds), kinds


def test_each_condition_is_needed():
    two, three = tables(2, 2, 5), tables(3, 2, 2)
    general, doubly, half = (matrices(2, kind) for kind in ("general", "doubly", "half"))
    one, wide = np.eye(2)[None], matrices(3, "general")
    # M with any rows, U and tau with any columns, one of three categories alone randomised
    assert growth("m", three, wide, one) > 0.01
    for name in ("u", "tau"):
        assert growth(name, three.swapaxes(1, 2), one, wide) > 0.01
    # a diagonal below one half, for every measure that asks for it
    for name in release_validity.BOUNDS[-1].measures:
        assert growth(name, two, general, general) > 0.01, name
        assert growth(name, two, half, half) <= 1e-9
    assert growth("confidence", two, doubly, doubly) > 0.01  # of which nothing is said
    # columns that are randomised together with a third: x goes with z alone, and y' is z
    x_and_z = np.array([[0.45, 0.05], [0.05, 0.45]])
    before = np.einsum("xz,y->xy", x_and_z, [0.5, 0.5])
    assert strength("chi2", x_and_z) > strength("chi2", before) + 0.1


def reversed_orders(name: str, rows: tuple[np.ndarray, np.ndarray], columns: tuple[np.ndarray, np.ndarray]) -> int:
    """Count the pairs of tables whose order is turned by a clear margin, under any pair of matrices."""
    pi = tables(2, 2, 4)
    before = strength(name, pi)
    turned = 0
    for P, other_P in zip(*rows, strict=True):
        for Q, other_Q in zip(*columns, strict=True):
            first = strength(name, P @ pi @ Q.T)
            second = strength(name, other_P @ pi @ other_Q.T)
            ordered = before[:, None] - before[None, :] > 1e-6
            turned += int((ordered & (first[:, None] - second[None, :] < -1e-9)).sum())
    return turned


def said_ordered(kinds: tuple[Kind, Kind]) -> set[str]:
    return {name for s in asked((2, 2), kinds).statements if s.verdict == "order kept" for name in s.released}


def test_orders_are_kept_as_it_is_said_and_turn_elsewhere():
    one, general = matrices(2, "none"), matrices(2, "general")
    alike, still = (general, general), (one, one)
    assert said_ordered(("general", "general")) == {"ps"}
    assert said_ordered(("general", "none")) == {"ps", "risk_difference"}
    assert said_ordered(("none", "general")) == {"ps", "added_value"}
    assert reversed_orders("ps", alike, alike) == 0
    assert reversed_orders("risk_difference", alike, still) == 0
    assert reversed_orders("added_value", still, alike) == 0
    # the other column randomised too, or pairs that are not randomised alike
    assert reversed_orders("risk_difference", alike, alike) > 0
    assert reversed_orders("added_value", alike, alike) > 0
    assert reversed_orders("ps", (general, general[::-1]), still) > 0
    assert not {s.verdict for s in asked((3, 2), ("general", "general")).statements} & {"order kept"}


def test_a_wrong_condition_is_caught(monkeypatch):
    def without(index: int, **change: Any) -> None:
        found = list(release_validity.BOUNDS)
        found[index] = replace(found[index], **change)
        monkeypatch.setattr(release_validity, "BOUNDS", tuple(found))

    without(1, row=release_validity.any_matrix)
    assert wrong((3, 2), ("general", "none")) == {"m"}
    without(2, column=release_validity.any_matrix)
    assert wrong((2, 3), ("none", "general")) == {"u", "tau"}
    without(4, row=release_validity.two_categories, column=release_validity.two_categories)
    assert wrong((2, 2), ("general", "general")) == set(release_validity.BOUNDS[4].measures)
    monkeypatch.setattr(
        release_validity, "ORDERS", tuple(replace(order, alone=None) for order in release_validity.ORDERS)
    )
    assert said_ordered(("general", "general")) > {"ps"}


ROWS = [("F", "no")] * 40 + [("F", "yes")] * 10 + [("M", "no")] * 20 + [("M", "yes")] * 30


def test_numbers_are_those_of_the_table(tmp_path, capsys):
    """By hand: 40, 10 / 20, 30."""
    frame = pd.DataFrame(ROWS, columns=["sex", "ill"])
    held = rrpolicy.what_holds(frame, ["sex", "ill"], doubly_stochastic=["sex"], half=["sex", "ill"])
    numbers: dict[str, float] = {}
    for statement in held.statements:
        if statement.analysis != "test that the categories are equally frequent":
            numbers |= statement.released
    assert numbers["chi2"] == pytest.approx(100 * (40 * 30 - 10 * 20) ** 2 / (50 * 50 * 60 * 40))
    assert numbers["df"] == 1
    assert numbers["p_value"] == pytest.approx(4.456e-05, rel=1e-3)  # R: pchisq(16.6667, 1, lower.tail = FALSE)
    assert numbers["odds_ratio"] == pytest.approx(6)
    assert numbers["ps"] == pytest.approx(0.3 - 0.5 * 0.4)
    assert numbers["added_value"] == pytest.approx(0.6 - 0.4)
    (flat,) = [s for s in held.statements if s.analysis == "test that the categories are equally frequent"]
    assert (flat.columns, dict(flat.released)) == (("sex",), {"chi2": 0.0, "df": 1.0, "p_value": 1.0})
    assert held.table.endswith("sex in 2 rows, ill in 2 columns, 100 records; present: sex 'M' and ill 'yes'")

    frame.to_csv(tmp_path / "t.csv", index=False)
    given = {"doubly_stochastic": "sex", "half": ["sex", "ill"]}
    others = [
        rrpolicy.what_holds(source, ("sex", "ill"), **given)
        for source in (pa.Table.from_pandas(frame), tmp_path / "t.csv", str(tmp_path / "t.csv"))
    ]
    assert all(other.statements == held.statements for other in others)
    arguments = ["estimate", "what-holds", str(tmp_path / "t.csv"), "sex", "ill", "--doubly-stochastic", "sex"]
    assert main([*arguments, "--half", "sex", "--half", "ill", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps(others[1].to_dict(), allow_nan=False))
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "never larger: no larger than in the original, in the expected proportions" in printed
    assert "chi2 = 16.67, df = 1, p_value < 0.001" in printed
    assert "kappa" not in printed  # nobody said that categories are kept by one half


def test_an_empty_cell_leaves_some_measures_undefined():
    frame = pd.DataFrame([("a", "x")] * 3 + [("b", "y")] * 2 + [("b", "x")], columns=["p", "q"])
    held = rrpolicy.what_holds(frame, ["p", "q"], half=["p", "q"])
    odds = next(s.released for s in held.statements if "odds_ratio" in s.released)
    assert np.isnan(odds["odds_ratio"])
    assert odds["interest"] == pytest.approx(2 / 6 / (3 / 6 * 2 / 6))
    assert "odds_ratio = undefined" in held.summary()
    assert json.loads(json.dumps(held.to_dict(), allow_nan=False))


def test_missing_values_are_a_category_and_columns_as_they_are_are_said():
    frame = pd.DataFrame({"p": ["a", None, "b", None, "a", "b"], "q": [1, 2, 1, 2, 2, 1]})
    held = rrpolicy.what_holds(frame, ["p", "q"], randomised=["q"])
    assert "p in 3 rows" in held.table
    assert [s.columns for s in held.statements if s.verdict == "valid"] == [("p",)]
    plain = rrpolicy.what_holds(frame, ["p", "q"], randomised=[])
    assert [(s.verdict, s.columns) for s in plain.statements] == [("valid", ("p", "q"))]


@pytest.mark.parametrize(
    ("columns", "declared", "code"),
    [
        (["p"], {}, "RR505"),
        (["p", "p"], {}, "RR505"),
        (["p", "q", "one"], {}, "RR505"),
        (["p", "q"], {"randomised": ["one"]}, "RR506"),
        (["p", "q"], {"doubly_stochastic": ["other"]}, "RR506"),
        (["p", "q"], {"randomised": ["p"], "half": ["q"]}, "RR506"),
        (["p", "one"], {}, "RR507"),
        (["p", "r"], {}, "RR311"),
        (["p", "lists"], {}, "RR312"),
    ],
)
def test_wrong_calls_are_refused(columns, declared, code):
    frame = pd.DataFrame({"p": ["a", "b"], "q": ["x", "y"], "one": ["o", "o"], "lists": [["a"], ["b"]]})
    with pytest.raises((PolicyError, DataError)) as caught:
        rrpolicy.what_holds(frame, columns, **declared)
    assert caught.value.problems[0].code == code


def test_text_in_place_of_two_columns_is_refused():
    with pytest.raises(TypeError, match=r"expected Sequence\[str\] as `columns`, got str"):
        rrpolicy.what_holds(pd.DataFrame({"p": ["a"], "q": ["x"]}), "pq")


def test_too_many_cells_are_refused():
    frame = pd.DataFrame({"p": range(1100), "q": range(1100)})
    with pytest.raises(PolicyError, match="RR268"):
        rrpolicy.what_holds(frame, ["p", "q"])


def test_the_command_speaks_of_a_release_or_of_two_columns(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("p,q\na,x\nb,y\n")
    assert main(["estimate", "what-holds", str(tmp_path / "t.csv"), "p"]) == 2
    assert "RR505" in capsys.readouterr().err
    assert main(["estimate", "what-holds", str(tmp_path / "t.csv"), "--half", "p"]) == 2
    assert "RR505" in capsys.readouterr().err


@pytest.mark.slow
def test_the_test_of_independence_keeps_its_level():
    """Independent columns under two general matrices, 4,000 releases: the p-value is at most 5 % about so often.

    A binomial of 4,000 draws at 0.05 lies outside 127 to 282 with a probability below 1e-7; corrected statistics, which
    reject half the time, would be caught.
    """
    rng = np.random.default_rng(11)
    P, Q = np.array([[0.7, 0.4], [0.3, 0.6]]), np.array([[0.6, 0.1, 0.2], [0.3, 0.8, 0.2], [0.1, 0.1, 0.6]])
    p, q = P @ [0.3, 0.7], Q @ [0.2, 0.5, 0.3]
    from rrpolicy.estimate.uncorrected.release_validity import MatrixKnowledge

    def rejections(shares: np.ndarray) -> int:
        found = 0
        for counts in rng.multinomial(2000, shares.reshape(-1), size=4000).reshape(-1, 2, 3).astype(float):
            held = release_validity.what_holds_of_pair(counts, MatrixKnowledge(("p",)), MatrixKnowledge(("q",)), "")
            found += next(s.released["p_value"] for s in held.statements if s.verdict == "level kept") <= 0.05
        return found

    assert 127 <= rejections(np.outer(p, q)) <= 282
    dependent = np.array([[0.05, 0.15, 0.1], [0.15, 0.35, 0.2]]) + np.array([[0.02, -0.02, 0], [-0.02, 0.02, 0]])
    assert rejections(P @ dependent @ Q.T) > 282


@pytest.mark.parametrize(
    ("policy", "valid", "biased"),
    [
        (
            '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\n[mechanism]\nname = "anatomy"',
            "disease",
            "disease",
        ),
        ('[[privacy]]\nmodel = "k-anonymity"\nk = 1000\n[mechanism]\nname = "l-diversity"', "age", "age"),
        (
            '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\n[mechanism]\nname = "sensitive-addition"',
            "sex",
            "disease",
        ),
    ],
)
def test_of_groups_labels_and_sets_it_is_said_what_they_are(
    tmp_path: Path, policy: str, valid: str, biased: str
) -> None:
    import csv

    with (tmp_path / "people.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["sex", "age", "disease"])
        rows.writerows(["fm"[i % 2], i % 60, "abc"[i % 3]] for i in range(1800))
    (tmp_path / "policy.toml").write_text(
        'schema = 1\n[policy]\nname = "p"\nversion = "1.0.0"\nowner = "o"\n[source]\nuri = "people.csv"\n[attributes]\n'
        'sex = { role = "quasi-identifier", domain = ["f", "m"] }\n'
        'age = { role = "quasi-identifier", bins = [0, 15, 30, 45, 60] }\n'
        f'disease = {{ role = "sensitive", domain = ["a", "b", "c"] }}\n{policy}\n'
    )
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle")
    told = rrpolicy.open_release(tmp_path / "bundle").what_holds().statements
    assert any(valid in s.columns and s.verdict == "valid" for s in told)
    assert any(biased in s.columns and s.verdict == "biased" for s in told)
    assert not any("another than the original one" in s.because for s in told)
