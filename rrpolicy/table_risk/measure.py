"""Findings on counted classes: checked against requirements, or all available measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from rrpolicy.engine.column_types import TypeFamily
from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.finding import Finding, Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.identity import requirement_id
from rrpolicy.policy.model import Attribute, Requirement
from rrpolicy.privacy.classes.class_counts import ClassCounts
from rrpolicy.privacy.classes.class_model import ClassModel, Protected
from rrpolicy.registry import Registry

_WITH_AN_ORDER = {TypeFamily.INTEGER, TypeFamily.REAL, TypeFamily.MOMENT}


def class_models(registry: Registry) -> dict[str, ClassModel[Any]]:
    """Return the models of equivalence classes by name."""
    return {name: model for name, model in registry.privacy_models.items() if isinstance(model, ClassModel)}


class Measurer(Struct, frozen=True):
    """Measures the classes of one table; attributes and types are by the table's columns."""

    registry: Registry
    attributes: Mapping[str, Attribute]
    families: Mapping[str, TypeFamily]

    def hold(self, requirement: Requirement, tally: ClassCounts, sensitive: Sequence[str]) -> list[Finding]:
        """Return one finding for each sensitive column that a requirement protects, or one for class sizes."""
        model, options = class_models(self.registry)[requirement.model], requirement.options
        subgroup = " and ".join(f"{name} = {value}" for name, value in requirement.where.items())
        where = f" where {subgroup}" if subgroup else ""
        _require_known_population(requirement, model, tally)
        if not model.protecting:
            found = _found(model, options, (), tally)
            words = model.describe(options) + where
            return [replace(found, requirement=words, place=requirement.place, identity=requirement_id(requirement))]
        words = model.describe(options.model_copy(update={"sensitive": ()}))
        findings = []
        for name in self._protected(requirement.model, options.sensitive, sensitive):
            column = self._column(name, tally)
            varies = tally.units is not None and name in tally.units.varying
            _require_applicable(model, options, Protected(name) if varies else column)
            found = model.rename_by_kind(_found(model, options, [column], tally), options)
            of = replace(requirement, options=options.model_copy(update={"sensitive": (name,)}))
            asked = f"{words} of {name}{where}"
            findings.append(replace(found, requirement=asked, place=requirement.place, identity=requirement_id(of)))
        return findings

    def measure(self, tally: ClassCounts, sensitive: Sequence[str]) -> Iterator[Finding]:
        """Yield the achieved values of every model and kind, without limits."""
        for column in (None, *(self._column(name, tally) for name in sensitive)):
            for model in class_models(self.registry).values():
                yield from model.measure(column, tally.classes, tally.units)

    def _protected(self, model: str, asked: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that a requirement protects: those it names, by the policy's names or the table's."""
        column = {a.name: c for c, a in self.attributes.items()}
        names = tuple(column.get(name, name) for name in asked) or tuple(sensitive)
        if not names or any(name not in sensitive for name in names):
            absent = ", ".join(name for name in names if name not in sensitive) or "none is named"
            problem = Problem("RR250", f"{model} needs a sensitive column: {absent}", hint="name it with --sensitive")
            raise PolicyError(problem)
        return names

    def _column(self, name: str, tally: ClassCounts) -> Protected:
        """Return the properties of a column: from the policy, else from the type of its values."""
        attribute = self.attributes.get(name)
        if attribute is None:
            return Protected(name, self.families[name] in _WITH_AN_ORDER)
        if attribute.domain is None:
            return Protected(name, self.families[name] in _WITH_AN_ORDER, attribute.hierarchy)
        return Protected.of(attribute, name, len(tally.values[name]) - len(attribute.domain))


def _found(model: ClassModel[Any], options: Any, columns: Sequence[Protected], tally: ClassCounts) -> Finding:
    """Return the finding of records, or of units if the call names the column that identifies them."""
    if tally.units is None:
        return model.find(options, columns, tally.classes)
    if not model.by_units:
        message = f"{model.name} is measured for single records"
        raise PolicyError(Problem("RR250", message, hint="leave --unit out"))
    return model.find_by_units(options, columns, tally.units)


def _require_known_population(requirement: Requirement, model: ClassModel[Any], tally: ClassCounts) -> None:
    """Raise RR250 if the requirement needs more data on the population than the classes have."""
    people = tally.classes.population
    if requirement.needs_reference and (people is None or (model.counted and people.standing is not Standing.EXACT)):
        hint = "name a table of the population with --reference"
        if not model.counted:
            hint += ", or give --weights or --sampling-fraction for an estimate"
        raise PolicyError(Problem("RR250", f"{requirement.model} needs to know of the population", hint=hint))


def _require_applicable(model: ClassModel[Any], options: object, column: Protected) -> None:
    """Raise if options do not apply to a column: for missing properties (RR250), or a value out of order (RR313)."""
    lacking = model.lacks(options, column)
    if lacking is not None:
        hint = f"in a --policy: {lacking[1]}; or take another --{model.kind}"
        raise PolicyError(Problem("RR250", lacking[0], hint=hint))
    if column.unlisted and model.placed(options):
        message = f"'{column.name}' contains {column.unlisted} values that are not in the policy's domain"
        hint = f"they have no place in the {getattr(options, model.kind)} {model.kind}"
        raise DataError(Problem("RR313", message, hint=hint))
