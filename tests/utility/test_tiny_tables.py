"""Every built-in metric of tiny tables: constant columns, single categories, empty cells. Each is a number or refused."""

from __future__ import annotations

import importlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from rrpolicy.builtin import METRICS
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Channel
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.cli.main import main
from rrpolicy.declarations import Role
from rrpolicy.errors import RRPolicyError
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, policy_of, policy_text
from rrpolicy.utility.association_tables import cramers_v, mutual_information, uncertainty_coefficients

NAMES = {"a": Role.QUASI_IDENTIFIER, "b": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE}


def metrics() -> Iterator[Any]:
    """Yield every built-in metric."""
    for where in METRICS.values():
        module, _, name = where.partition(":")
        yield getattr(importlib.import_module(module), name)()


def randomised(rng: Random, attribute: Attribute) -> Any:
    """Return an axis that keeps a value hardly more often than chance, mostly, or always; or sets."""
    name, domain = attribute.name, attribute.domain or ()
    least = Fraction(1, len(domain))
    if attribute.role is Role.SENSITIVE and len(domain) > 2 and rng.random() < 0.3:
        return Sets.of(name, domain, rng.randint(2, len(domain) - 1))
    keep = rng.choice([Fraction(1), least + (1 - least) / 40, least + (1 - least) / 2, least + (1 - least) * 9 / 10])
    return Identity.of(name, domain) if rng.random() < 0.2 else Retention.uniform(name, domain, keep, name)


def world(rng: Random) -> tuple[Channel, TableInMemory] | None:
    """Return a channel and a table; None where values cannot be dealt into groups of two."""
    sizes = {name: rng.randint(1, 4) for name in NAMES}
    attributes = [Attribute(n, r, tuple(f"{n}{i}" for i in range(sizes[n])), release_as=n) for n, r in NAMES.items()]
    records = rng.choice([1, 2, 3, 8, 24])
    columns = {n: [min(rng.randrange(size), rng.randrange(size)) for _ in range(records)] for n, size in sizes.items()}
    if rng.random() < 0.3:
        columns[rng.choice(sorted(NAMES))] = [0] * records
    kind = rng.choice(["randomised", "randomised", "dealt", "suppressed", "generalised"])
    channel: Channel
    if kind == "randomised":
        channel = Product.of(attributes, [randomised(rng, a) for a in attributes])
    elif kind == "generalised":
        levels = [[rng.choice("xy") for _ in a.domain or ()] for a in attributes[:2]]
        axes = [
            Recode.by_levels([Domain(a.name, a.domain or ())], [l]) for a, l in zip(attributes[:2], levels, strict=True)
        ]
        channel = Product.of(attributes, [*axes, Identity.of("s", attributes[2].domain or ())])
    elif kind == "suppressed":
        cells = Counter(zip(columns["a"], columns["b"], columns["s"], strict=True))
        moved = [[*cell, rng.randint(1, n)] for cell, n in cells.items() if rng.random() < 0.5]
        channel = SuppressionChannel.of(attributes[:2], attributes[2], moved)
    elif sizes["s"] < 2 or 2 * max(Counter(columns["s"]).values()) > records:
        return None
    else:
        channel = AnatomyChannel.of(attributes, "s", 2)
    table = TableInMemory.of(policy_of(attributes), columns)
    return channel.settle(table), table


def numbers(metric: Any, channel: Channel, table: TableInMemory) -> list[float]:
    """Return what a metric expects, with its standard error and companions; nothing where it is refused."""
    given = {"draws": 20, "over": "largest", "dimensions": 1}
    options = metric.options(**{key: x for key, x in given.items() if key in metric.options.model_fields})
    axes = [(axis.attributes, type(axis)) for axis in getattr(channel, "axes", ())]
    if metric.unfit(options, type(channel), axes):
        return []
    if hasattr(metric, "refuses") and metric.refuses(options, table.policy):
        return []
    try:
        measures = [metric.expected(options, channel, table)]
        measures += [c.measure for c in metric.beside(options, channel, table)] if hasattr(metric, "beside") else []
    except RRPolicyError:
        return []
    return [number for m in measures if m is not None for number in (m.value, m.error)]


def check(seed: int) -> None:
    made = world(Random(seed))
    for metric in metrics() if made else ():
        found = numbers(metric, *made)
        assert not any(map(math.isnan, found)), (metric.name, found)


@pytest.mark.parametrize("seed", [10, 11, 26])
def test_metrics_of_tiny_tables_are_numbers(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_metrics_of_many_tiny_tables_are_numbers(seed: int) -> None:
    for each in range(1_000 * seed, 1_000 * seed + 5):
        check(each)


@pytest.mark.parametrize(
    "shares",
    [
        [[0.6, -0.5, 0.1], [0.5, 0.4, 0.2], [-0.2, 0.1, -0.2]],
        [[1.2, -0.3], [-0.1, 0.2]],
        [[-0.2, -0.8], [-1.2, -0.5]],
        [[0.9, -0.9], [0.5, 0.5]],
        [[1.0, 0.0], [0.0, 0.0]],
    ],
)
def test_associations_of_estimates_with_negative_shares_are_numbers(shares: list[list[float]]) -> None:
    table = np.array(shares)
    assert 0 <= cramers_v(table) <= 1
    assert mutual_information(table) >= 0
    assert all(0 <= u <= 1 + 1e-12 for u in uncertainty_coefficients(table))


GATES = "\n".join(
    f'[[utility]]\nmetric = "{name}"\nmax = 9\n'
    for name in ("cramers-v-change", "mutual-information-change", "uncertainty-coefficient-change")
)


def test_gates_of_a_constant_column_are_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attributes = """\
[attributes]
ward = { role = "quasi-identifier", domain = ["A", "B"] }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
ill = { role = "sensitive", domain = ["no", "flu", "cold"] }
[[privacy]]
model = "local-dp"
epsilon = 1
"""
    (tmp_path / "policy.toml").write_text(
        policy_text(
            f'{attributes}{GATES}[mechanism]\nname = "pram"\n[release]\naccept = ["released"]\n', "wards.csv", "Wards"
        )
    )
    rows = [f"A,{'fm'[i % 2]},{('no', 'no', 'flu', 'no')[i % 4]}" for i in range(24)]
    (tmp_path / "wards.csv").write_text("ward,sex,ill\n" + "\n".join(rows) + "\n")

    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle"), "--json"]) == 0
    capsys.readouterr()
    found = json.loads((tmp_path / "bundle/audit/findings.json").read_text())
    told = [f["expected"]["value"] for f in found["utility"]]
    assert len(told) == 3
    assert all(0 <= value <= 1 for value in told)
