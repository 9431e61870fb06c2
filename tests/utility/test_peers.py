"""Distances as synthpop measures them: two tables of 100 records, given to both.

synthpop 1.9-3 (R), run once:

    utility.tab.synds(structure(list(syn = syn, m = 1), class = "synds"), obs, vars = c("a", "b"))

obs and syn with the counts below; its pMSE, dBhatt (Hellinger distance), MabsDD (summed absolute differences of shares)
and SPECKS (the largest difference over sets of cells) are kept here as it printed them. sdcMicro measures no loss of
categories but by distances between records, which randomised tables do not have.
"""

from __future__ import annotations

import numpy as np
import pytest

from rrpolicy.utility.distances import L1, PMSE, Hellinger, TotalVariation

OBSERVED = np.array([[25, 25], [20, 10], [5, 15]]) / 100
SYNTHETIC = np.array([[22, 22], [19, 18], [9, 10]]) / 100
SYNTHPOP = {
    PMSE: 0.00604648897202089,
    Hellinger: 0.110914074883839,
    L1: 0.24,
    TotalVariation: 0.12,
}


@pytest.mark.parametrize("metric", SYNTHPOP)
def test_as_synthpop_measures_them(metric):
    assert metric().of(OBSERVED, SYNTHETIC) == pytest.approx(SYNTHPOP[metric], rel=1e-12)
    assert metric().of(OBSERVED, SYNTHETIC[::-1]) != pytest.approx(SYNTHPOP[metric], rel=1e-3)
