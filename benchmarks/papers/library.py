"""The papers, in the order of the page."""

from __future__ import annotations

from benchmarks.papers.guo import GUO
from benchmarks.papers.guo_ying_wu import GUO_YING_WU
from benchmarks.papers.ikarashi import IKARASHI
from benchmarks.papers.sei_ohsuga import SEI_OHSUGA
from benchmarks.papers.teng_du import TENG_DU

PAPERS = (GUO_YING_WU, TENG_DU, IKARASHI, GUO, SEI_OHSUGA)
