"""A sink of somebody else's writes the files that this process writes; who reads them does not need it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError

HERE = Path(__file__).parent
POLICY = """
schema = 1
[policy]
name = "pooled"
version = "1.0.0"
plugins = ["acme-pool"]
[source]
uri = "people.parquet"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
wave = { role = "sensitive", domain = [1, 2, 3] }
[[privacy]]
model = "local-dp"
epsilon = 4
scope = "attribute"
[mechanism]
name = "pram"
[release]
rows_per_file = 70
"""


@pytest.fixture
def pool(site, distribution, tmp_path: Path) -> Path:
    """Install the distribution, beside a policy that lists it."""
    site(distribution(tmp_path / "site", "acme-pool", "acme-pool", (HERE / "apart" / "acme_pool.py").read_text()))
    n = range(300)
    pq.write_table(
        pa.table({"sex": ["fm"[i % 2] for i in n], "wave": [1 + i % 3 for i in n]}), tmp_path / "people.parquet"
    )
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_its_files_are_those_of_this_process(pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, key = pool / "policy.toml", pool / "key"
    ours = rrpolicy.release(policy, pool / "ours", key=key, sink="here").public

    assert main(["release", str(policy), "--out", str(pool / "theirs"), "--key", str(key), "--sink", "acme-pool"]) == 0

    found, expected = (
        {p.relative_to(b): p.read_bytes() for p in b.rglob("*") if p.is_file()}
        for b in (pool / "theirs" / "public", ours)
    )
    assert found == expected
    assert len(list((ours / "data").iterdir())) == 5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("    def writer(self, parts, scratch):", "whose `writer` takes"),
        ("        return PoolWriter(parts, scratch)", "lacks write, close, abandon"),
    ],
)
def test_one_that_does_not_do_as_its_protocol_says_is_blamed(
    site, distribution, pool: Path, wrong: str, said: str
) -> None:
    code = (pool / "site" / "acme_pool.py").read_text()
    instead = {"    def writer(self, parts, scratch):": "    def writer(self, parts):"}.get(
        wrong, "        return self"
    )
    (pool / "site" / "acme_pool.py").write_text(code.replace(wrong, instead))

    with pytest.raises(RefusedError, match="RR4(06|13)") as caught:
        rrpolicy.release(pool / "policy.toml", pool / "out", sink="acme-pool")

    assert said in str(caught.value)
    assert "acme-pool" in str(caught.value)
    assert not (pool / "out").exists()
