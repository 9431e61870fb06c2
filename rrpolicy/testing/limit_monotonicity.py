"""Monotonicity of verdicts in the strength of a requirement: each numeric option is changed alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from rrpolicy.channels.base import Channel
from rrpolicy.declarations import Role
from rrpolicy.finding import Finding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.model import Assessor, Order, PrivacyModel
from rrpolicy.testing.assertions import convert_to_assertion, demand

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

SHARES = tuple(Fraction(p) for p in ("1/1000000000", "1/1000", "1/10", "1/2", "9/10", "999/1000"))


class AssessorProbe(Struct, frozen=True):
    """An assessor with one channel and one table to assess."""

    assessor: Assessor
    model: PrivacyModel[Any]
    channel: Channel
    original: Original

    def finding(self, requirement: Requirement) -> Finding:
        """Return the finding on a requirement."""
        with convert_to_assertion(f"assess() of '{self.model.describe(requirement.options)}'"):
            return self.assessor.finding(requirement, self.channel, self.original)

    def variants(self, requirement: Requirement) -> dict[str, list[Requirement]]:
        """Return requirements that differ in one numeric option, by its name; invalid ones are omitted."""
        options = requirement.options
        found: dict[str, list[Requirement]] = {}
        for name in type(options).model_fields:
            value = getattr(options, name)
            number = isinstance(value, (int, Fraction, Decimal, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                continue
            made: list[BaseModel] = []
            for asked in _trial_values(value, self.original.records):
                other = _options_with(options, name, asked)
                if other is not None and other not in (options, *made):
                    made.append(other)
            moved = [replace(requirement, options=other) for other in made]
            found[name] = [each for each in moved if self._can_be_asked(each)]
        return {name: moved for name, moved in found.items() if moved}

    def _can_be_asked(self, requirement: Requirement) -> bool:
        kinds = [type(axis) for axis in getattr(self.channel, "axes", ())]
        policy = self.original.policy
        with convert_to_assertion(f"refuses() or supports() of '{self.model.describe(requirement.options)}'"):
            refused = self.model.refuses(requirement.options, policy)
            return refused is None and self.assessor.supports(requirement, policy, kinds) is None

    def check_order(self, judged: Sequence[tuple[Requirement, Finding]]) -> None:
        """Demand that no stronger requirement is satisfied if a weaker one failed."""
        for (one, weak), (other, strong) in permutations(judged, 2):
            if (weak.verdict, strong.verdict) == (Verdict.FAILED, Verdict.SATISFIED):
                order = self.model.compare(one.options, other.options)
                words = [self.model.describe(r.options) for r in (other, one)]
                said = f"'{words[0]}' is satisfied where '{words[1]}' failed"
                demand(order is not Order.STRONGER, f"{said}, and compare() returns that it is stronger")

    def check_heeded(self, requirement: Requirement) -> None:
        """Demand that each option matters if its value can exceed the table's number of records.

        Only the original table is assessed: a release may omit or hide the values that a requirement covers. Options
        that may honestly have no effect are skipped: the number of columns that an attacker knows if there is only one,
        or the distance of values if values are large.
        """
        found = self.variants(requirement)
        if len(found) < 2 or not _suits_options(self.original.policy, self.original.records):  # noqa: PLR2004 one is the limit
            return
        for name, moved in found.items():
            largest = _options_with(requirement.options, name, Fraction(self.original.records + 1))
            asked = [requirement.options, *(r.options for r in moved)]
            if largest not in asked or self.model.compare(requirement.options, largest) is not Order.STRONGER:
                continue
            others = [[{n: getattr(r.options, n)} for r in (requirement, *found[n])] for n in found if n != name]
            seen = set()
            for setting in product(*others):
                stated = {n: value for option in setting for n, value in option.items()}
                seen.add(self._whatever(name, asked, requirement, stated))
                if None in seen:
                    break
            heeded = None in seen or Verdict.SATISFIED not in seen
            demand(heeded, f"however large `{name}` is required, it is satisfied: '{self.model.describe(largest)}'")

    def _whatever(
        self, name: str, asked: Sequence[BaseModel], requirement: Requirement, stated: Mapping[str, object]
    ) -> Verdict | None:
        """Return the verdict if it is the same for all values of one option; None if not, or without other values."""
        found = set()
        for options in asked:
            try:
                whole = {**_stated_options(options), **stated, name: getattr(options, name)}
                together = replace(requirement, options=type(options).model_validate(whole))
            except (ValidationError, TypeError):
                return None
            found.add(self.finding(together).verdict)
            if len(found) > 1:
                return None
        return found.pop()


def _trial_values(value: float | Fraction | Decimal, records: int) -> Iterator[Fraction]:
    """Yield weaker and stronger values of an option, and extreme ones."""
    exact = Fraction(value)
    yield from (exact - 1, exact + 1, exact * 2, Fraction(1), Fraction(2), Fraction(records), Fraction(records + 1))
    if not isinstance(value, int):
        yield from (exact / 2, *SHARES)


def _stated_options(options: BaseModel) -> dict[str, object]:
    return {name: getattr(options, name) for name in options.model_fields_set}


def _options_with(options: BaseModel, name: str, value: Fraction) -> BaseModel | None:
    spelled: list[object] = [int(value)] if value.denominator == 1 else [str(value), float(value)]
    for each in spelled:
        try:
            return type(options).model_validate({**_stated_options(options), name: each})
        except (ValidationError, TypeError):
            continue
    return None


def _suits_options(policy: Policy, records: int) -> bool:
    """Return whether a table suits the options: two quasi-identifiers, and no number above its records."""
    several = len(policy.with_role(Role.QUASI_IDENTIFIER)) > 1
    numbers = [v for a in policy.released for v in a.domain or () if isinstance(v, (int, float))]
    return several and all(a.domain for a in policy.released) and all(abs(v) <= records for v in numbers)
