"""Rules as they are written: `sex = f, region = north -> disease = asthma`."""

from __future__ import annotations

import re

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.frozen_dataclass import frozen

_PART = re.compile(
    r"""\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<name>[^"'=,]+?))\s*=\s*"""
    r"""(?:'(?P<text>(?:[^']|'')*)'|(?P<plain>(?:(?!->)[^,'])+?))\s*(?P<end>,|->|$)"""
)
Part = tuple[str, str]


@frozen
class RuleText:
    """A rule as it was asked for.

    Attributes:
        given: columns, each with a category as it is spelled.
        then: the column and category that follow.
    """

    given: tuple[Part, ...]
    then: Part

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return what is given, and what follows."""
        return (*self.given, self.then)


def read_rule(text: str) -> RuleText:
    """Read a rule.

    Raises:
        PolicyError: RR277 if it is none.
    """
    parts: list[Part] = []
    ends: list[str] = []
    at = 0
    while not ends or ends[-1]:
        found = _PART.match(text, at)
        if found is None:
            raise _rule_syntax_error(text)
        name = found["name"] or found["quoted"].replace('""', '"')
        parts.append((name, found["plain"] if found["text"] is None else found["text"].replace("''", "'")))
        ends.append(found["end"])
        at = found.end()
    if ends[-2:] != ["->", ""] or "->" in ends[:-2]:
        raise _rule_syntax_error(text)
    return RuleText(tuple(parts[:-1]), parts[-1])


def _rule_syntax_error(text: str) -> PolicyError:
    message = f"{visible(text)!r} is no rule"
    expected = "columns with categories, and what follows: sex = f, region = north -> disease = asthma"
    hint = "a name with other characters in double quotes, a category with a comma or a quote in single quotes"
    return PolicyError(Problem("RR277", message, expected=expected, hint=hint))
