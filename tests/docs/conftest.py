"""papers/ stands beside the package and is not installed; what is installed comes first."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
