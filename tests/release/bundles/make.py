"""Makes the bundles that every later version must go on verifying: one small release of a few mechanisms.

    python tests/release/bundles/make.py

writes those of this version into an archive of its name. While a version is not released yet, they are made again
whenever its bundles change; those of a released version are never touched.
"""

from __future__ import annotations

import csv
import random
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

import rrpolicy
from rrpolicy.cli.main import main

HERE = Path(__file__).resolve().parent
RECORDS = 48
HEAD = """\
schema = 1
# a small table, made up
[policy]
name = "fixture"
version = "1.0.0"
owner = "Tests"
purpose = "A bundle that later versions verify"
[source]
uri = "people.csv"
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
area = { role = "quasi-identifier", domain = ["a", "b", "c"], hierarchy = "area.csv" }
ill = { role = "sensitive", domain = ["no", "flu", "=1+1", "asthma"] }
"""
LDP = '[[privacy]]\nmodel = "local-dp"\nepsilon = 9\nscope = "attribute"\n'
RISK = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "9/10"\n'
L = '[[privacy]]\nmodel = "l-diversity"\nkind = "{kind}"\nl = 2\n'
K = '[[privacy]]\nmodel = "k-anonymity"\nk = 2\n'
UTILITY = '[[utility]]\nmetric = "expected-l2"\nmax = 1\n'


ACCEPT = 'accept = ["parameters:sex", "parameters:area", "parameters:ill", "released"]\n'


def mechanism(name: str, more: str = "") -> str:
    return f'[mechanism]\nname = "{name}"\n{more}'


CASES = {
    "pram": LDP + RISK + mechanism("pram") + UTILITY + '[release]\nformat = "csv"\n' + ACCEPT,
    "rr-both": RISK + mechanism("rr-both"),
    "rr-qi": RISK + mechanism("rr-qi"),
    "rr-s": RISK + mechanism("rr-s"),
    "sensitive-addition": L.format(kind="frequency") + mechanism("sensitive-addition"),
    "anatomy": L.format(kind="frequency") + mechanism("anatomy") + '[release]\nformat = "csv"\n',
    "full-domain": K + mechanism("l-diversity", 'algorithm = "full-domain"\n') + '[release]\nformat = "csv"\n',
    "mondrian": K + mechanism("l-diversity", 'algorithm = "mondrian"\n') + "[release]\nrows_per_file = 20\n",
}


KEPT = ("pram", "anatomy", "full-domain")
"""Cases whose bundles are kept: matrices, groups and a recoding."""
TESTED = "full-domain"
"""The case whose bundle holds an adversarial test."""


def write_table(folder: Path) -> None:
    """Write the table and what the policies read beside it."""
    rng = random.Random(5)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "sex", "area", "ill"])
        for i in range(RECORDS):
            writer.writerow([i, rng.choice("FM"), rng.choice("abc"), ("no", "flu", "=1+1", "asthma")[i % 4]])
    (folder / "area.csv").write_text("a;ab\nb;ab\nc;c\n")


def make(into: Path, cases: Iterable[str] = CASES) -> None:
    """Write each case: `<case>/policy.toml`, its bundle and its key, and the table that all share."""
    into.mkdir(parents=True)
    write_table(into)
    for name in cases:
        folder = into / name
        folder.mkdir()
        shutil.copy(into / "area.csv", folder)
        (folder / "policy.toml").write_text(HEAD.replace("people.csv", "../people.csv") + CASES[name])
        arguments = ["--out", str(folder / "bundle"), "--key", str(folder / "key.json"), "--as", "2026-11"]
        if main(["release", str(folder / "policy.toml"), *arguments]):
            raise SystemExit(f"{name}: the release was refused")
        tested = ["attack", str(folder / "bundle"), "--source", str(into / "people.csv"), "--write"]
        if name == TESTED and main(tested):
            raise SystemExit(f"{name}: the adversarial test failed")


def archive(version: str) -> Path:
    """Return the archive of a version's bundles."""
    return HERE / f"{version}.tar.xz"


def keep() -> None:
    """Write the archive of this version; whose files they were and when they were made stays outside."""

    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        make(made, KEPT)
        with tarfile.open(archive(rrpolicy.__version__), "w:xz") as packed:
            packed.add(made, arcname=".", filter=anonymous)


if __name__ == "__main__":
    keep()
