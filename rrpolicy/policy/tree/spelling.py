"""Values as a policy file spells them."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

from rrpolicy.escaping.printable import escape_invisible, inert_text


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return inert_text(escape_invisible(json.dumps(value, ensure_ascii=False), lambda c: f"\\U{ord(c):08x}"))
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else repr(value)
