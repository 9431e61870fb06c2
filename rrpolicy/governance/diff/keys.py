"""The keys of two policies side by side, with all defaults; different notations of a value are equal."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.frozen import field_names
from rrpolicy.governance.diff.changes import ChangeSubject, Effect, PlacePair, PolicyChange
from rrpolicy.governance.diff.diff_inputs import DiffInput
from rrpolicy.governance.diff.entries import OBSERVED, change_effect
from rrpolicy.policy.baseline.category_contents import category_contents, contents_text
from rrpolicy.policy.directions import DIRECTION_RULES, Direction, DirectionRule
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.policy.model import ROW_UNIT, Attribute, Policy, intervals
from rrpolicy.serialization import plain
from rrpolicy.wording import WAIVED

_UNRESOLVED = ("policy.may_relax", "context.demands")
"""Keys that affect only policies which extend this one: they are read from the file."""
_ALLOWS = "context.allows"
_EFFECT_PREFIX = {
    Effect.STRONGER: "the reverse would be weaker: ",
    Effect.INCOMPARABLE: "weaker in one respect, stronger in another: ",
}
"""Prefix of the reason why a key would be weaker, if it is not."""


class _KeyStatement(Struct, frozen=True):
    """The value of a policy under a key.

    Attributes:
        rule: the key of the table of directions.
        compared: the value that determines its direction.
        shown: the value as plain data.
    """

    rule: str
    compared: Any
    shown: Any


def setting_changes(old: DiffInput, new: DiffInput) -> Iterator[PolicyChange]:
    """Yield each key of [policy], [source], [reference], [release], [context], [ledger] that changed, and `plan_on`."""
    kept = all(side.policy.ledger is not None for side in (old, new))
    yield from _key_changes(
        old, new, *({**_setting_statements(side), **_ledger_statements(side, kept=kept)} for side in (old, new))
    )


def column_changes(old: DiffInput, new: DiffInput) -> Iterator[PolicyChange]:
    """Yield the changes of each column; for an added, removed or dropped column, that change alone."""
    before, after = old.policy.attributes, new.policy.attributes
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            yield from _column_added_or_removed(old, new, one, other)
        elif one.role.dropped or other.role.dropped:
            key = f"attributes.{name}.role"
            yield from _key_changes(old, new, {key: _role_statement(one)}, {key: _role_statement(other)})
        else:
            yield from _key_changes(
                old, new, _column_statements(one, old.policy), _column_statements(other, new.policy)
            )
    common = [[name for name in one if name in other] for one, other in ((before, after), (after, before))]
    if common[0] != common[1]:
        why = "the released columns have another order"
        yield PolicyChange("attributes", Effect.NEUTRAL, plain(common[0]), plain(common[1]), why)


def _key_changes(
    old: DiffInput, new: DiffInput, before: Mapping[str, _KeyStatement], after: Mapping[str, _KeyStatement]
) -> Iterator[PolicyChange]:
    for key in dict.fromkeys([*before, *after]):
        one, other = before.get(key), after.get(key)
        stated = one or other
        assert stated is not None
        compared = [None if side is None else side.compared for side in (one, other)]
        shown_old, shown_new = (None if side is None else plain(side.shown) for side in (one, other))
        if compared[0] == compared[1] and shown_old == shown_new:
            continue
        rule = DIRECTION_RULES[stated.rule]
        does = change_effect(rule, *compared)
        why = _EFFECT_PREFIX.get(does, "") + rule.why
        yield PolicyChange(
            key, does, shown_old, shown_new, why, ChangeSubject.PROTECTION, PlacePair(old.at(key), new.at(key))
        )


def _setting_statements(side: DiffInput) -> dict[str, _KeyStatement]:
    policy = side.policy
    source, context = policy.source, policy.governance.context
    found: dict[str, Any] = {
        **{f"policy.{name}": getattr(policy, name) for name in ("name", "version", "owner", "purpose")},
        "policy.extends": tuple(side.extends),
        "policy.plugins": policy.plugins,
        "source.uri": split_counts_uri(source.uri)[1],
        **{f"source.{name}": getattr(source, name) for name in ("table", "multiplicity", "min_rows", "missing")},
        "source.unit": ROW_UNIT if policy.of_rows else policy.unit,
        **{f"source.{name}": getattr(source, name) for name in ("max_records", "one_record_per_unit", "other_columns")},
        **{f"source.csv.{name}": getattr(source.csv, name) for name in field_names(type(source.csv))},
        **{f"mechanism.{name}": getattr(policy.mechanism, name) for name in ("plan_on", "plan_on_table")},
        **{f"reference.{name}": getattr(policy.reference, name, None) for name in ("uri", "table")},
        **{f"release.{name}": getattr(policy.release, name) for name in field_names(type(policy.release))},
        **{f"context.{name}": getattr(context, name) for name in field_names(type(context))},
    }
    for key in (*_UNRESOLVED, *(k for k in DIRECTION_RULES if k.startswith(_ALLOWS))):
        found[key] = side.listed(key)
    stated = {key: _KeyStatement(key, value, value) for key, value in found.items() if value not in {None, ()}}
    if policy.release.signers is not None:
        named = os.path.normpath(policy.release.signers)
        stated["release.signers"] = _KeyStatement("release.signers", (named, side.signers), [named, side.signers])
    if policy.governance.changes:
        stated["policy.changes"] = _KeyStatement("policy.changes.what", None, policy.governance.changes)
    return stated


def _ledger_statements(side: DiffInput, *, kept: bool) -> dict[str, _KeyStatement]:
    """Return the settings of the ledger and of the population, which matters only with a ledger.

    If `kept`, both policies have a ledger; else only its file is compared.
    """
    ledger, population = side.policy.ledger, side.policy.source.population
    told: dict[str, _KeyStatement] = {}
    if population is not None:
        told["source.population"] = _KeyStatement("source.population", population if kept else None, population)
    if ledger is None:
        return told
    told["ledger.file"] = _KeyStatement("ledger.file", os.path.normpath(ledger.file), ledger.file)
    if kept:
        budget = plain(ledger.budget) if ledger.stated else None
        said: dict[str, Any] = {"overlap": ledger.overlap, "uncomposed": ledger.uncomposed, "budget": budget}
        said["different_values"] = ledger.different_values
        for key, value in said.items():
            if value is not None:
                told[f"ledger.{key}"] = _KeyStatement(f"ledger.{key}", value, value)
    return told


def waiver_changes(old: DiffInput, new: DiffInput) -> Iterator[PolicyChange]:
    """Yield each waiver that was added, removed, or has another last day."""
    before, after = ({w.finding: w for w in side.policy.governance.waivers} for side in (old, new))
    rule = DIRECTION_RULES["waivers"]
    for finding in dict.fromkeys([*before, *after]):
        one, other = before.get(finding), after.get(finding)
        if one == other:
            continue
        if one is not None and other is not None:
            said = [(w.reason, w.approver) for w in (one, other)]
            later = change_effect(DirectionRule(Direction.LATER, rule.why), one.until, other.until)
            does = Effect.together([later, Effect.NEUTRAL if said[0] == said[1] else Effect.INCOMPARABLE])
        else:
            does = change_effect(rule, one, other)
        days = [f"not {WAIVED}" if w is None else f"{WAIVED} until {w.until}" for w in (one, other)]
        why = f"{days[0]} before, {days[1]} now"
        if does is Effect.INCOMPARABLE:
            why += ", for another reason or by another approver"
        at = (None if w is None else side.shown(w.place) for w, side in ((one, old), (other, new)))
        yield PolicyChange(
            f"waivers/{finding}", does, plain(one), plain(other), why, ChangeSubject.PROTECTION, PlacePair(*at)
        )


def _role_statement(attribute: Attribute) -> _KeyStatement:
    return _KeyStatement("attributes.*.role", attribute.role.value, attribute.role.value)


def _column_statements(attribute: Attribute, policy: Policy) -> dict[str, _KeyStatement]:
    """Return the settings of a released column; categories are those before `outside` and `nulls`."""
    spare = {"outside": attribute.outside, "nulls": attribute.nulls}
    levels = () if attribute.hierarchy is None else attribute.hierarchy[1:]
    found: dict[str, _KeyStatement] = {"role": _role_statement(attribute)}
    if attribute.bins is not None:
        edges = attribute.bins.edges
        found["bins"] = _KeyStatement("attributes.*.bins", edges, list(edges))
    found["labels"] = _category_labels(attribute, policy)
    categories = _category_statements(attribute)
    if attribute.bins is None and categories is not None:
        found["domain"] = _KeyStatement("attributes.*.domain", categories, categories)
    for key, value in (
        *spare.items(),
        ("scale", attribute.scale),
        ("hierarchy", levels),
        ("release_as", attribute.release_as),
        ("assume_unlinkable", attribute.assume_unlinkable),
        ("unchanged", attribute.why_unchanged),
        ("design", attribute.design),
        ("rounding", attribute.rounding),
        ("totals", attribute.totals),
        ("missing", policy.reading.codes(attribute.name)),
    ):
        if value is not None:
            found[key] = _KeyStatement(f"attributes.*.{key}", value, value)
    return {f"attributes.{attribute.name}.{key}": stated for key, stated in found.items()}


def _category_labels(attribute: Attribute, policy: Policy) -> _KeyStatement:
    """Return the values of each category; self-explanatory labels are omitted."""
    spare, bins = (attribute.outside, attribute.nulls), attribute.bins
    if bins is not None:
        cells: dict[Value, str] = dict(zip(bins.labels, intervals(bins.edges), strict=True))
    else:
        cells = {value: category_text(value) for value in attribute.domain or () if value not in spare}
    limited = {name for r in policy.requirements for name in getattr(r.options, "thresholds", ())}
    contents = category_contents(cells, *spare, limited)
    told = [
        f"{category_text(name)}: {contents_text(content)}"
        for (_, name), content in contents.items()
        if content != {category_text(name)}
    ]
    return _KeyStatement("attributes.*.labels", contents, told)


def _category_statements(attribute: Attribute) -> Any:
    if attribute.observed:
        return OBSERVED
    if attribute.domain is None:
        return None
    spare = (attribute.outside, attribute.nulls)
    return tuple(value for value in attribute.domain if value not in spare)


def _column_added_or_removed(
    old: DiffInput, new: DiffInput, one: Attribute | None, other: Attribute | None
) -> Iterator[PolicyChange]:
    attribute = one or other
    assert attribute is not None
    key = f"attributes.{attribute.name}"
    before, after = (None if a is None else a.role.value for a in (one, other))
    places = PlacePair(None if one is None else old.at(key), None if other is None else new.at(key))
    if attribute.role.dropped:
        does, why = Effect.NEUTRAL, "the column is not released either way"
    elif one is None:
        does, why = Effect.WEAKER, "one more column is released of each person"
    else:
        does, why = Effect.STRONGER, "the column is released no more"
    yield PolicyChange(key, does, before, after, why, ChangeSubject.PROTECTION, places)
