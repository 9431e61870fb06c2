"""Findings on counted classes: held against requirements, or everything that can be measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rrpolicy.canonical import Value
from rrpolicy.engine.column_types import Family
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.finding import Basis, Companion, Finding
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.classes.assessor import Outcome, conclude
from rrpolicy.privacy.classes.tally import Tally
from rrpolicy.privacy.models import k_anonymity, l_diversity, t_closeness
from rrpolicy.privacy.models.l_diversity import Kind
from rrpolicy.privacy.models.t_closeness import Distance, Levels

_MOST_L = 10
_WITH_AN_ORDER = {Family.INTEGER, Family.REAL, Family.MOMENT}


@dataclass(frozen=True, slots=True)
class Measurer:
    """Measures the classes of one table.

    Attributes:
        policy: None without one.
        attributes: the policy's attributes by the table's columns.
        families: of the sensitive columns' types.
    """

    policy: Policy | None
    attributes: Mapping[str, Attribute]
    families: Mapping[str, Family]

    def hold(self, requirement: Requirement, tally: Tally, sensitive: Sequence[str]) -> list[Finding]:
        """Return one finding for each sensitive column that a requirement protects, or one for class sizes."""
        options, classes = requirement.options, tally.classes
        if isinstance(options, k_anonymity.Options):
            found = [k_anonymity.measured(classes, options.k)]
            words = [k_anonymity.KAnonymity().describe(options)]
        elif isinstance(options, l_diversity.Options):
            names = self._protected(requirement.model, options.sensitive, sensitive)
            found = [_named(l_diversity.measured(options, (n,), classes), options.kind) for n in names]
            told = l_diversity.LDiversity().describe(options.model_copy(update={"sensitive": ()}))
            words = [f"{told} of {name}" for name in names]
        else:
            assert isinstance(options, t_closeness.Options)
            names = self._protected(requirement.model, options.sensitive, sensitive)
            found = [self._distance(options.distance, name, tally, options.t) for name in names]
            told = t_closeness.TCloseness().describe(options.model_copy(update={"sensitive": ()}))
            words = [f"{told} of {name}" for name in names]
        where = " and ".join(f"{name} = {value}" for name, value in requirement.where.items())
        suffix = f" where {where}" if where else ""
        return [replace(f, requirement=w + suffix, place=requirement.place) for f, w in zip(found, words, strict=True)]

    def measure(self, tally: Tally, sensitive: Sequence[str]) -> list[Finding]:
        """Return what every model and kind reaches, without limits."""
        classes = tally.classes
        found = [replace(k_anonymity.measured(classes, None), requirement="k")]
        for name in sensitive:
            for kind in (Kind.DISTINCT, Kind.FREQUENCY, Kind.ENTROPY):
                outcome = Outcome(name, l_diversity.reached(kind, classes.histograms[name], classes.concerned, 1), None)
                finding = _named(conclude(l_diversity.words(kind), [outcome], classes, None), kind)
                found.append(replace(finding, requirement=f"{kind.value} l of {name}"))
            found.append(_recursive(name, tally))
            for distance in self._distances(name, tally):
                finding = self._distance(distance, name, tally, None)
                found.append(replace(finding, requirement=f"{distance.value} t of {name}"))
        return found

    def _protected(self, model: str, named: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that a requirement protects: those it names, by the policy's names or the table's."""
        column = {a.name: c for c, a in self.attributes.items()}
        names = tuple(column.get(name, name) for name in named) or tuple(sensitive)
        if not names or any(name not in sensitive for name in names):
            absent = ", ".join(name for name in names if name not in sensitive) or "none is named"
            problem = Problem("RR250", f"{model} needs a sensitive column: {absent}", hint="name it with --sensitive")
            raise PolicyError(problem)
        return names

    def _distances(self, name: str, tally: Tally) -> list[Distance]:
        """Return the distances that a column's values have, as far as all values have a place."""
        known = [Distance.VARIATIONAL]
        if self._ordered(name) and not self._placeless(name, tally):
            known.append(Distance.ORDERED)
        if self._hierarchy(name) is not None and not self._placeless(name, tally):
            known.append(Distance.HIERARCHICAL)
        return known

    def _distance(self, distance: Distance, name: str, tally: Tally, t: Fraction | None) -> Finding:
        if distance is Distance.ORDERED and not self._ordered(name):
            hint = "give a --policy in which its scale is ordinal, or take --distance variational"
            raise PolicyError(Problem("RR250", f"the values of '{name}' have no order", hint=hint))
        if distance is Distance.HIERARCHICAL and self._hierarchy(name) is None:
            hint = "give a --policy in which it has one, or take --distance variational"
            raise PolicyError(Problem("RR250", f"'{name}' has no hierarchy", hint=hint))
        if distance is not Distance.VARIATIONAL and self._placeless(name, tally):
            message = f"'{name}' holds {self._placeless(name, tally)} values that are not in the policy's domain"
            raise DataError(Problem("RR313", message, hint=f"they have no place in the {distance.value} distance"))
        finding = t_closeness.measured(distance, [name], tally.classes, [self._hierarchy(name)], t)
        return _named(finding, distance)

    def _ordered(self, name: str) -> bool:
        attribute = self.attributes.get(name)
        if attribute is None or attribute.domain is None:
            return self.families[name] in _WITH_AN_ORDER
        return attribute.scale != "nominal" or attribute.bins is not None

    def _hierarchy(self, name: str) -> Levels | None:
        attribute = self.attributes.get(name)
        return None if attribute is None else attribute.hierarchy

    def _placeless(self, name: str, tally: Tally) -> int:
        """Return how many values of a column are not in the domain that the policy declares."""
        attribute = self.attributes.get(name)
        domain: Sequence[Value] | None = None if attribute is None else attribute.domain
        return 0 if domain is None else len(tally.values[name]) - len(domain)


def _named(finding: Finding, kind: Kind | Distance) -> Finding:
    """Return a finding under the name of its kind, such as `l-diversity/entropy`."""
    name = f"{finding.model}/{kind.value}"
    return replace(finding, code=name, model=name)


def _recursive(name: str, tally: Tally) -> Finding:
    """Return the least c of recursive diversity at the largest l that any c allows; at smaller ones beside it."""
    classes, kind = tally.classes, Kind.RECURSIVE
    histograms = classes.histograms[name]
    distinct = histograms.distinct[classes.concerned & (histograms.sizes > 0)]
    most = int(distinct.min()) if len(distinct) else 1
    beside = [
        Companion(
            f"c at l = {l}",
            l_diversity.reached(kind, histograms, classes.concerned, l),
            Basis.RELEASE,
            l_diversity.MEANINGS[kind],
        )
        for l in range(1, min(most, _MOST_L + 1))
    ]
    outcome = Outcome(name, l_diversity.reached(kind, histograms, classes.concerned, most), None)
    finding = conclude(l_diversity.words(kind), [outcome], classes, None, beside)
    return replace(_named(finding, kind), requirement=f"recursive c at l = {most} of {name}")
