"""How the surveys are released: a policy for each mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.coverage.surveys import Survey


@dataclass(frozen=True)
class Mechanism:
    """A way to release a survey.

    Attributes:
        name: of it.
        about: what is randomised or generalised.
        drawn: whether releases differ from draw to draw.
        certain: whether all that it lets answer is certain, so that few draws show it.
        exact: whether the outcome identifies and is not sensitive, so that it is released as it is.
    """

    name: str
    about: str
    drawn: bool
    exact: bool
    _rest: str
    _unchanged: bool = False
    certain: bool = False

    def policy(self, survey: Survey) -> str:
        """Return the tables of a policy but for its source."""
        rest = self._rest.format(s=survey)
        return f"{_attributes(survey, exact=self.exact, unchanged=self._unchanged)}{rest}"


def _attributes(s: Survey, *, exact: bool, unchanged: bool) -> str:
    def words(domain: tuple[object, ...]) -> str:
        return ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in domain)

    domains = {s.group: s.groups, s.other: s.others, s.outcome: s.outcomes, s.number: s.numbers}
    sensitive = {s.number} if exact else {s.number, s.outcome}

    def keys(name: str, domain: tuple[object, ...]) -> str:
        role = "sensitive" if name in sensitive else "quasi-identifier"
        why = ', unchanged = "everybody may read it"' if unchanged and name not in sensitive else ""
        return f'{name} = {{ role = "{role}", domain = [{words(domain)}]{why} }}'

    lines = [keys(name, domain) for name, domain in domains.items()]
    return "\n".join(["[attributes]", *lines, ""])


_PRAM = """\
[[privacy]]
model = "local-dp"
epsilon = 10
scope = "record"
[mechanism]
name = "pram"
"""
_FIXED = """\
[[privacy]]
model = "attribute-disclosure"
threshold = "19/20"
[mechanism]
name = "pram"
allocation = "fixed"
keep_probability = {{ {s.outcome} = "17/20", {s.number} = "4/5", {s.group} = "1", {s.other} = "1" }}
"""
_BOTH = """\
[[privacy]]
model = "attribute-disclosure"
threshold = "{s.risk}"
[[privacy]]
model = "identity-disclosure"
threshold = "1/{s.crowd}"
[mechanism]
name = "rr-both"
"""
_SETS = """\
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 3
[mechanism]
name = "sensitive-addition"
"""
_ANATOMY = """\
[[privacy]]
model = "l-diversity"
kind = "frequency"
l = 2
[mechanism]
name = "anatomy"
"""
_GROUPS = """\
[[privacy]]
model = "k-anonymity"
k = {s.crowd}
[mechanism]
name = "generalisation"
algorithm = "ALGORITHM"
"""

MECHANISMS = (
    Mechanism("pram", "every column is randomised", drawn=True, exact=False, _rest=_PRAM),
    Mechanism(
        "pram of the sensitive",
        "sensitive columns are randomised",
        drawn=True,
        exact=False,
        _rest=_FIXED,
        _unchanged=True,
    ),
    Mechanism("rr-both", "what identifies and what is sensitive is randomised", drawn=True, exact=False, _rest=_BOTH),
    Mechanism("sensitive-addition", "numbers are hidden in sets of values", drawn=True, exact=True, _rest=_SETS),
    Mechanism("anatomy", "numbers are dealt inside groups", drawn=True, exact=True, _rest=_ANATOMY, certain=True),
    Mechanism(
        "full-domain",
        "columns are generalised",
        drawn=False,
        exact=False,
        _rest=_GROUPS.replace("ALGORITHM", "full-domain"),
    ),
    Mechanism(
        "mondrian", "groups are generalised", drawn=False, exact=False, _rest=_GROUPS.replace("ALGORITHM", "mondrian")
    ),
)
