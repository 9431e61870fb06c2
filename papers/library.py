"""The papers, in the order of the page."""

from __future__ import annotations

from papers.guo_ying_wu import GUO_YING_WU

PAPERS = (GUO_YING_WU,)
