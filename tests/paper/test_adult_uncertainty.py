"""Adult under rr-qi: uncertainty coefficients from reconstructed two-way marginals, better than the published errors."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy.channels.decoders import RetentionDecoder
from rrpolicy.estimate import release as release_module
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.counts import scan as scan_module
from rrpolicy.estimate.invert import simplex as simplex_module

COLUMNS = ("education", "salary_class", "sex", "race", "occupation")
PUBLISHED = {"E-S": 8.57, "E-G": 0.63, "E-R": 1.86, "S-G": 3.65, "S-R": 0.53, "G-R": 1.08}
PUBLISHED |= {"E-O": 8.72, "S-O": 2.41, "G-O": 4.13, "R-O": 0.54}
RELEASES = 20


@pytest.fixture(scope="module")
def adult(adult_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Return the training rows, as a file and as a frame."""
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    with gzip.open(adult_csv, "rt", encoding="utf-8") as file:
        path.write_text("".join(line for line, _ in zip(file, range(30_163), strict=False)), encoding="utf-8")
    return path, pd.read_csv(path)


def release_of(folder: Path, source: Path, columns: list[str], threshold: str) -> Path:
    """Write a release of the best rr-qi parameters for a threshold."""
    roles = (
        dict.fromkeys(columns, "excluded") | dict.fromkeys(COLUMNS, "quasi-identifier") | {"occupation": "sensitive"}
    )
    kept = [
        f'{c} = {{ role = "{r}"{", domain = " + chr(34) + "observed" + chr(34) if r != "excluded" else ""} }}'
        for c, r in roles.items()
    ]
    (folder / "policy.toml").write_text(
        'schema = 1\n[policy]\nname = "adult"\nversion = "1.0.0"\nowner = "office"\npurpose = "a reproduction"\n'
        f'[source]\nuri = "{source}"\n[attributes]\n'
        + "\n".join(kept)
        + '\n[[privacy]]\nmodel = "attribute-disclosure"\n'
        f'threshold = "{threshold}"\n[mechanism]\nname = "rr-qi"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "rrpolicy.cli.main", "release", "policy.toml", "--out", "bundle"],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bundle"


def coefficient(release: Any, row: str, column: str) -> float:
    """Return 100 U(row, column) as `association` does: the moment estimate, EM where a cell of it is not positive."""
    table = release.crosstab([row, column])
    if table.estimate.min() <= 0:
        table = release.crosstab([row, column], estimator="em")
    x = table.estimate
    return 100 * MEASURES["u"].of(x[x.sum(axis=1) > 0][:, x.sum(axis=0) > 0])[0]


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize("threshold", ["1/3", "1/4", "1/5"])
def test_errors_are_below_the_published_ones(
    adult: tuple[Path, pd.DataFrame],
    vectors: dict[str, Any],
    tmp_path: Path,
    threshold: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, frame = adult
    bundle = release_of(tmp_path, source, list(frame.columns), threshold)
    release = rrpolicy.open_release(bundle)
    original = {c: frame[c].map({v: i for i, v in enumerate(release.domain(c))}).to_numpy() for c in COLUMNS}
    pairs = list(combinations(COLUMNS, 2))
    values = vectors["uncertainty_coefficient_x100_adult"]["values"]
    truth = {p: values["|".join(p)] for p in pairs if p != ("sex", "race")} | {
        ("race", "sex"): 100 * MEASURES["u"].of(pd.crosstab(frame["race"], frame["sex"]).to_numpy(dtype=float))[0]
    }
    measured = [coefficient(release, *p) for p in truth]
    assert release.association("education", "race", "u")["u"] * 100 == pytest.approx(
        measured[list(truth).index(("education", "race"))]
    )
    keep = {
        d.attributes[0]: float(d.blocks[0].keep) for d in release.manifest.decoders if isinstance(d, RetentionDecoder)
    }
    assert set(keep) == set(COLUMNS) - {"occupation"}
    seen: dict[str, np.ndarray] = {}

    def count(_data: Any, axes: Any, *_: Any) -> Any:
        sizes = [len(a.released) for a in axes]
        flat = seen[axes[0].columns[0]] * sizes[1] + seen[axes[1].columns[0]]
        n = np.bincount(flat, minlength=sizes[0] * sizes[1])
        return [*np.divmod(np.arange(sizes[0] * sizes[1]), sizes[1])], n

    for module in (release_module, scan_module, simplex_module):
        monkeypatch.setattr(module, "count", count)
    errors = np.zeros((RELEASES, len(truth)))
    for seed in range(RELEASES):
        rng = np.random.default_rng(seed)
        for c, codes in original.items():
            size = len(release.domain(c))
            kept = rng.random(len(codes)) < keep.get(c, 1.0)
            seen[c] = np.where(kept, codes, (codes + rng.integers(1, size, len(codes))) % size)
        errors[seed] = [abs(coefficient(release, *p) - u) for p, u in truth.items()]

    published = np.mean(
        [abs(v - vectors["uncertainty_coefficient_x100_adult"]["published"][k]) for k, v in PUBLISHED.items()]
    )
    assert published == pytest.approx(0.59, abs=0.005)
    assert errors.mean() < published
