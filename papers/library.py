"""The papers, in the order of the page."""

from __future__ import annotations

from papers.guo import GUO
from papers.guo_ying_wu import GUO_YING_WU
from papers.ikarashi import IKARASHI
from papers.sei_ohsuga import SEI_OHSUGA
from papers.teng_du import TENG_DU

PAPERS = (GUO_YING_WU, TENG_DU, IKARASHI, GUO, SEI_OHSUGA)
