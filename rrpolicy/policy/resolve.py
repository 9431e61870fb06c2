"""From the merged tree to a `Policy`: every section read, every option validated by the class of its plugin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rrpolicy.canonical_json import Value, canonical, digest, exact, same_category
from rrpolicy.declarations import ROUNDING_TOLERANCE, Role
from rrpolicy.errors import Place, PolicyError, Problem, RefusedError
from rrpolicy.escaping import formulas
from rrpolicy.frozen import field_names, replace
from rrpolicy.numbers import fixed_number
from rrpolicy.policy.attributes import resolve_attribute
from rrpolicy.policy.file import (
    LedgerTable,
    PolicyTable,
    PrivacyEntry,
    ReferenceTable,
    ReleaseTable,
    SourceTable,
    UtilityEntry,
)
from rrpolicy.policy.folder.root import Root, counts_uri
from rrpolicy.policy.model import (
    ROW_UNIT,
    Attribute,
    CsvSettings,
    Gate,
    LedgerSettings,
    MechanismChoice,
    ReferenceSettings,
    ReleaseSettings,
    Requirement,
    SourceSettings,
)
from rrpolicy.policy.policy_decoding import Catalogue
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import (
    accepted_keys,
    choices_text,
    entry_text,
    home_table_hint,
    short_toml,
    suggest,
    unknown_name_problem,
    validation_problems,
)
from rrpolicy.serialization import plain

SettingsT = TypeVar("SettingsT")
CatalogueFinder = Callable[[tuple[str, ...], Callable[[int], Place | None]], Catalogue]

_SECRET = re.compile(
    r"://[^/?#]*:[^/?#]*@|[?&][^=&]*(secret|password|passwd|token|credential|signature)[^=&]*=", re.IGNORECASE
)


class Resolver:
    """Reads the sections of a merged tree and collects every problem."""

    def __init__(self, root: Node, problems: list[Problem], files: Root, *, complete: bool) -> None:
        """Prepare to read.

        `problems` may have problems of the shape already. If `complete`, no baseline is missing, so that a missing key
        is really missing.
        """
        self.root = root
        self.problems = problems
        self.files = files
        self.complete = complete

    def head(self) -> PolicyTable | None:
        """Read [policy]."""
        node = self.section("policy")
        if node is None or node.wrong:
            return None
        self.need(node, "name", 'a name such as "residents-2026"')
        self.need(node, "version", 'a semantic version such as "1.0.0"')
        return PolicyTable.model_validate(node.plain())

    def plugins(self) -> tuple[tuple[str, ...], Callable[[int], Place | None]]:
        """Return the distributions listed, each once, with their places."""
        node = self.root.get("policy", "plugins")
        listed = {
            i.value: i.place for i in (node.items if node else ()) if isinstance(i.value, str) and i.value.strip()
        }
        places = list(listed.values())
        return tuple(listed), lambda index: places[index] if index < len(places) else None

    def catalogue(self, find: CatalogueFinder) -> Catalogue | None:
        """Return the names and options classes; a plugin that cannot be loaded is a problem like the others.

        Raises RefusedError if a plugin is refused and nothing else is wrong with the policy so far.
        """
        try:
            return find(*self.plugins())
        except PolicyError as error:
            self.problems += error.problems
        except RefusedError as error:
            if not self.problems:
                raise
            self.problems += error.problems
        return None

    def source(self, override: str | None) -> SourceSettings | None:
        """Read [source]; a uri given by the caller replaces the policy's.

        It also determines whether a table contains counts: the policy's `multiplicity` applies to the policy's table
        only.
        """
        node = self.root.get("source")
        if node is None:
            if override is not None:
                return SourceSettings(override)
            self.missing_section("source")
            return None
        if node.wrong:
            return None
        table = SourceTable.model_validate(node.plain())
        if override is None:
            self.need(node, "uri", 'a file such as "census.parquet"', "or name the table with `--source`")
        self.secret(node.get("uri"))
        uri = override if override is not None else table.uri
        if uri is None:
            return None
        if override is None and table.multiplicity is not None:
            uri = counts_uri(uri, table.multiplicity)
        csv = CsvSettings(**table.csv.model_dump())
        return settings_of(SourceSettings, table, uri=uri, missing=tuple(table.missing), csv=csv)

    def reference(self) -> ReferenceSettings | None:
        """Read [reference]."""
        node = self.root.get("reference")
        if node is None or node.wrong:
            return None
        self.need(node, "uri", 'a table of everybody in the population, such as "register.parquet"')
        self.secret(node.get("uri"))
        return settings_of(ReferenceSettings, ReferenceTable.model_validate(node.plain()))

    def units(self, source: SourceSettings | None, attributes: Mapping[str, Attribute | None]) -> None:
        """Refuse a `unit` that is released or unknown, and a `max_records` that cannot be tested without a column."""
        named, most = self.root.get("source", "unit"), self.root.get("source", "max_records")
        if source is None or any(a is None for a in attributes.values()):
            return
        known = {name: a for name, a in attributes.items() if a is not None}
        expected = "a column with the role identifier or excluded"
        by_row = source.unit == ROW_UNIT and ROW_UNIT not in known
        if named is not None and source.unit is not None and not by_row:
            attribute = known.get(source.unit)
            if attribute is not None and not attribute.role.dropped:
                message = f"'{source.unit}' distinguishes units and is released: it would link their records to people"
                self.problems.append(Problem("RR246", message, named.place, expected))
            elif attribute is None and source.other_columns != "excluded":
                message = f"`unit` is '{source.unit}', which is not an attribute of the policy"
                self.problems.append(
                    Problem("RR246", message, named.place, expected, suggest(source.unit, list(known)))
                )
        elif most is not None and source.max_records > 1:
            identifiers = [a for a in known.values() if a.role is Role.IDENTIFIER]
            if by_row or len(identifiers) != 1:
                message = f"no column identifies people: `max_records = {source.max_records}` cannot be tested"
                hint = 'name it: `unit = "household_id"`, a column with the role identifier or excluded'
                self.problems.append(Problem("RR246", message, most.place, "`unit`, or exactly one identifier", hint))

    def selection(self, source: SourceSettings | None, attributes: Mapping[str, Attribute | None]) -> None:
        """Refuse a choice of one record of each unit that no column decides, or that has nothing to choose."""
        node, ordered = self.root.get("source", "one_record_per_unit"), None if source is None else source.ordered_by
        if source is None or node is None or ordered is None or any(a is None for a in attributes.values()):
            return
        by, hint = ordered[1], None
        identifiers = [name for name, a in attributes.items() if a is not None and a.role is Role.IDENTIFIER]
        unit = source.unit or (identifiers[0] if len(identifiers) == 1 else None)
        expected = "`unit`, a column that all records of a unit share, and a column of the table that orders them"
        if unit is None or (unit == ROW_UNIT and ROW_UNIT not in attributes):
            message = "no column tells units apart, of each of which one record is to be read"
            hint = 'name it: `unit = "patient_id"`, a column with the role identifier or excluded'
        elif source.max_records > 1:
            message = f"of each unit one record is read, and `max_records = {source.max_records}` admits several"
            hint = "take one of the two out"
        elif source.multiplicity is not None:
            message = "a table of counts does not tell which rows are of one unit"
            hint = "give the table of records"
        elif by == unit:
            message = f"all records of a unit have the same '{by}', which orders none of them"
        elif by not in attributes and source.other_columns != "excluded":
            message, hint = f"'{by}' is no attribute of the policy", suggest(by, list(attributes))
        else:
            return
        self.problems.append(Problem("RR246", message, node.place, expected, hint))

    def secret(self, at: Node | None) -> None:
        """Note that a uri contains credentials."""
        if at is not None and isinstance(at.value, str) and _SECRET.search(at.value):
            place = replace(at.place, text="")
            hint = "put them into the engine's own configuration; many people read a policy"
            self.problems.append(Problem("RR221", "the uri contains credentials", place, "a uri without secrets", hint))

    def attributes(self) -> dict[str, Attribute | None]:
        """Read [attributes]; an attribute with a problem is None."""
        node = self.section("attributes")
        if node is None:
            return {}
        found: dict[str, Attribute | None] = {}
        folded: dict[str, str] = {}
        for name, one in node.table.items():
            other = folded.setdefault(name.casefold(), name)
            if other != name:
                message = f"'{other}' and '{name}' differ in capitals alone: a table with both cannot be read"
                self.problems.append(Problem("RR217", message, one.key, hint="rename one of them in the table"))
            if not name.strip() or re.search(r"[\x00-\x1f\x7f]", name):
                self.problems.append(Problem("RR217", "a column's name is empty or has control characters", one.key))
            found[name] = None if one.wrong else resolve_attribute(name, one, self.problems, self.files)
        self.released_names([a for a in found.values() if a is not None and not a.role.dropped], node)
        self.one_weight([a for a in found.values() if a is not None and a.design == "weight"], node)
        self.one_population([a for a in found.values() if a is not None and a.totals is not None], node)
        if found and all(a is not None and a.role.dropped for a in found.values()):
            message = "no attribute is released: all are dropped"
            self.problems.append(Problem("RR220", message, node.place, "one quasi-identifier or sensitive attribute"))
        if not found and self.complete and not node.wrong:
            self.problems.append(
                Problem("RR220", "the policy declares no attribute", node.place, "every column of the table")
            )
        return found

    def released_names(self, attributes: Iterable[Attribute], node: Node) -> None:
        """Refuse two released columns of one name; engines do not distinguish capitals from small letters."""
        first: dict[str, Attribute] = {}
        for attribute in attributes:
            other = first.setdefault(attribute.release_as.lower(), attribute)
            if other.name.casefold() != attribute.name.casefold():
                at = node.table[attribute.name].get("release_as")
                place = at.place if at is not None else attribute.place
                message = f"'{attribute.name}' and '{other.name}' would both be released as '{attribute.release_as}'"
                hint = "give one of them another `release_as`; capitals alone do not distinguish columns"
                self.problems.append(Problem("RR217", message, place, "a distinct name for each released column", hint))

    def one_weight(self, weights: Sequence[Attribute], node: Node) -> None:
        """Refuse several weights: it would be undefined which of them an estimate takes."""
        for other in weights[1:]:
            message = f"'{other.name}' is a weight, and '{weights[0].name}' is one already"
            hint = "of several weights, leave `design` out of all but the one that most estimates need"
            place = node.table[other.name].table["design"].place
            self.problems.append(Problem("RR143", message, place, "one weight", hint))

    def one_population(self, known: Sequence[Attribute], node: Node) -> None:
        """Refuse totals of populations of different sizes; published ones are rounded."""
        sizes = {a.name: sum(a.totals or ()) for a in known}
        if sizes and max(sizes.values()) - min(sizes.values()) > ROUNDING_TOLERANCE * max(sizes.values()):
            told = ", ".join(f"'{name}' {fixed_number(size)}" for name, size in sizes.items())
            place = node.table[known[-1].name].table["totals"].place
            message = f"the totals are of populations of different sizes: {told}"
            self.problems.append(Problem("RR145", message, place, "totals of the same people"))

    def formula_names(self, release: ReleaseSettings | None, attributes: Mapping[str, Attribute | None]) -> None:
        """Refuse released columns of CSV whose names a spreadsheet would run: a header is never escaped."""
        if release is None or (release.format, release.csv_formulas) != ("csv", "escape"):
            return
        for attribute in attributes.values():
            if attribute is not None and not attribute.role.dropped and formulas.any_formula([attribute.release_as]):
                at = self.root.get("attributes", attribute.name, "release_as")
                message = f"a spreadsheet would take the column name '{attribute.release_as}' for a formula"
                hint = 'name it otherwise: `release_as = "..."`; or state `csv_formulas = "keep"` under [release]'
                expected = f"a name that does not begin with any of {formulas.TOLD}"
                place = at.place if at is not None else attribute.place
                self.problems.append(Problem("RR253", message, place, expected, hint))

    def requirements(self, attributes: Mapping[str, Attribute | None], catalogue: Catalogue) -> list[Requirement]:
        """Read [[privacy]]; a requirement that a baseline contains is added once."""
        return self._required("privacy", attributes, catalogue)

    def ledger(
        self, attributes: Mapping[str, Attribute | None], catalogue: Catalogue, requirements: Sequence[Requirement]
    ) -> LedgerSettings | None:
        """Read [ledger]; without a separate budget, every requirement must hold for all releases together."""
        node = self.root.get("ledger")
        if node is None or not isinstance(node.value, dict):
            return None
        self.need(node, "file", 'a file such as "releases.jsonl"')
        budget = self._required("ledger.budget", attributes, catalogue)
        if node.wrong:
            return None
        table = LedgerTable.model_validate({key: n.plain() for key, n in node.table.items() if key != "budget"})
        if table.file is None:
            return None
        return settings_of(LedgerSettings, table, budget=tuple(budget or requirements), stated=bool(budget))

    def _required(
        self, section: str, attributes: Mapping[str, Attribute | None], catalogue: Catalogue
    ) -> list[Requirement]:
        found: dict[bytes, Requirement] = {}
        for index, node in enumerate(self.entries(section)):
            at = node.get("model")
            if at is None or at.wrong:
                continue
            options = self.options("privacy model", catalogue.privacy_models, at, node, {"model", "where"})
            where = {} if (given := node.get("where")) is None else self.where(given, attributes)
            if options is not None:
                place = replace(at.place, key=f"{section}.{index}")
                requirement = Requirement(str(at.value), options, where, place)
                found.setdefault(canonical(plain(requirement)), requirement)
        return list(found.values())

    def where(self, node: Node, attributes: Mapping[str, Attribute | None]) -> dict[str, Value]:
        """Read the subgroup of a requirement: known attributes, known categories."""
        found: dict[str, Value] = {}
        right = {name: at.plain() for name, at in node.table.items() if not at.wrong}
        for name, value in PrivacyEntry.model_validate({"model": "", "where": right}).where.items():
            at = node.table[name]
            if name not in attributes:
                self.problems.append(unknown_name_problem("RR218", "attribute", at, attributes, at_key=True))
                continue
            attribute = attributes[name]
            if attribute is None:
                continue
            if attribute.role.dropped or not attribute.categorical:
                message = f"'{name}' is dropped" if attribute.role.dropped else f"'{name}' has no categories"
                expected = "a released attribute with a domain"
                self.problems.append(Problem("RR218", f"{message}: it cannot limit a requirement", at.key, expected))
            elif attribute.domain is not None and not any(same_category(value, v) for v in attribute.domain):
                known = [str(v) for v in attribute.domain]
                message = f"{short_toml(at.value)} is not a category of '{name}'"
                self.problems.append(
                    Problem("RR218", message, at.place, choices_text(known), suggest(str(value), known))
                )
            found[name] = value
        return found

    def mechanism(self, catalogue: Catalogue) -> MechanismChoice | None:
        """Read [mechanism]."""
        node = self.section("mechanism")
        if node is None:
            return None
        self.need(node, "name", choices_text(sorted(catalogue.mechanisms)))
        at = node.get("name")
        if at is None or at.wrong:
            return None
        own = ("plan_on", "plan_on_table")
        options = self.options("mechanism", catalogue.mechanisms, at, node, {"name", *own})
        self.secret(node.get("plan_on"))
        where = {key: str(uri.value) for key in own if (uri := node.get(key)) is not None and not uri.wrong}
        if options is None:
            return None
        written = {key: one.plain() for key, one in node.table.items() if key not in {"name", *own}}
        stated = digest(json.dumps(written, default=str, sort_keys=True).encode())
        name = catalogue.aliases.get(str(at.value), str(at.value))
        recorded = catalogue.recorded.get(name, "")
        place = replace(at.place, key="mechanism")
        return MechanismChoice(name, options, place, **where, as_stated=stated, recorded=recorded)

    def gates(self, catalogue: Catalogue) -> list[Gate]:
        """Read [[utility]]."""
        found: list[Gate] = []
        for index, node in enumerate(self.entries("utility")):
            at = node.get("metric")
            if at is None or at.wrong:
                continue
            options = self.options("utility metric", catalogue.utility_metrics, at, node, {"metric", "max", "min"})
            limits = self._limits(node)
            if options is not None and limits is not None:
                most, least = (None if end is None else exact(end) for end in (limits.max, limits.min))
                found.append(Gate(str(at.value), options, most, replace(at.place, key=f"utility.{index}"), least))
        return found

    def _limits(self, node: Node) -> UtilityEntry | None:
        """Return the limit of a [[utility]] entry, `max` or `min`; None, and a problem, unless one is stated."""
        stated = {name: limit for name in ("max", "min") if (limit := node.get(name)) is not None}
        if any(limit.wrong for limit in stated.values()):
            return None
        if len(stated) == 1:
            return UtilityEntry.model_validate({"metric": "", **{name: n.plain() for name, n in stated.items()}})
        where = entry_text(node.place.key)
        if stated:
            message, place = f"{where} states both 'max' and 'min'", stated["min"].place
            self.problems.append(Problem("RR286", message, place, "one of them: a number has one better side"))
        else:
            message = f"the key 'max' is missing in {where}"
            self.problems.append(Problem("RR206", message, node.place, "`max`, or `min` where larger is better"))
        return None

    def release(self) -> ReleaseSettings | None:
        """Read [release]."""
        node = self.root.get("release")
        if node is not None and node.wrong:
            return None
        table = ReleaseTable.model_validate({} if node is None else node.plain())
        if table.require_approval and table.signers is None and node is not None:
            self.need(node, "signers", 'the file of allowed signers, such as "signers.toml"')
            return None
        return settings_of(ReleaseSettings, table)

    def known_format(self, catalogue: Catalogue) -> None:
        """Refuse a format of released data that no plugin offers."""
        node = self.root.get("release", "format")
        if node is not None and not node.wrong and node.value not in catalogue.formats:
            self.problems.append(unknown_name_problem("RR210", "format", node, list(catalogue.formats)))

    def options(
        self, what: str, known: Mapping[str, type[BaseModel]], name: Node, node: Node, ours: set[str]
    ) -> BaseModel | None:
        """Validate a plugin's options by its class: without any conversion of types, then with exact decimals.

        Raises RefusedError (RR406) if the class itself fails.
        """
        if name.value not in known:
            self.problems.append(unknown_name_problem("RR210", what, name, sorted(known)))
            return None
        options = known[str(name.value)]
        rest = Node({k: n for k, n in node.table.items() if k not in ours}, node.place, node.key)
        keys = accepted_keys(options)
        if options.model_config.get("extra") != "allow":
            strange = [k for k in rest.table if k not in keys]
            for key in strange:
                at = rest.table.pop(key)
                message = (
                    f"unknown key '{key}' in {entry_text(node.place.key)}: {what} '{name.value}' has no option of "
                    f"that name"
                )
                expected = choices_text(keys) if keys else "no further key: it has no options"
                hint = home_table_hint(key) or suggest(key, keys)
                self.problems.append(Problem("RR205", message, at.key, expected, hint))
        try:
            options.model_validate_json(json.dumps(rest.plain(), default=_json_value), strict=True)
            validated = options.model_validate(rest.plain())
        except ValidationError as error:
            self.problems += validation_problems(error, rest, options)
            return None
        except Exception as error:
            message = f"the options of {what} '{name.value}' cannot be read: {type(error).__name__}: {error}"
            raise RefusedError(
                Problem("RR406", message, name.place, hint="report it to the plugin's authors")
            ) from error
        return validated

    def entries(self, section: str) -> list[Node]:
        """Return the tables of an array of tables."""
        node = self.root.get(*section.split("."))
        return [] if node is None else [item for item in node.items if isinstance(item.value, dict)]

    def section(self, name: str) -> Node | None:
        """Return a table that every policy has."""
        node = self.root.get(name)
        if node is None:
            self.missing_section(name)
            return None
        return node if isinstance(node.value, dict) else None

    def missing_section(self, name: str) -> None:
        """Note that a table is missing."""
        if self.complete:
            message, place = f"the policy has no [{name}]", self.root.place
            near = suggest(name, [k for k, n in self.root.table.items() if n.wrong])
            self.problems.append(Problem("RR206", message, place, f"a table [{name}]", near))

    def need(self, node: Node, key: str, expected: str, hint: str | None = None) -> None:
        """Note that a key is missing."""
        if self.complete and not node.wrong and node.get(key) is None:
            message = f"the key '{key}' is missing in {entry_text(node.place.key)}"
            self.problems.append(Problem("RR206", message, node.place, expected, hint))


def settings_of(kind: type[SettingsT], table: BaseModel, **others: Any) -> SettingsT:
    """Return the settings of a table of the file: its keys, lists without repeated items, and the others given."""
    stated = {name: getattr(table, name) for name in field_names(kind) if name not in others}
    lists = {name: tuple(dict.fromkeys(value)) for name, value in stated.items() if isinstance(value, list)}
    return kind(**{**stated, **lists, **others})


def _json_value(value: Any) -> Any:
    """Return the JSON value of a TOML value: decimals as numbers, dates as text."""
    return value.isoformat() if hasattr(value, "isoformat") else float(value)
