"""One attribute of the policy: its categories, and whether its keys are consistent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import pairwise

from pydantic_core import PydanticCustomError

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.declarations import DesignPart, Role, category_weight
from rrpolicy.errors import Problem
from rrpolicy.frozen import replace
from rrpolicy.numbers import exact_number
from rrpolicy.policy.directions import REJECT_VALUE
from rrpolicy.policy.file import AttributeTable, category, moment_text
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.hierarchy import HierarchyError, hierarchy_categories, read_hierarchy
from rrpolicy.policy.model import Attribute, Bins, intervals
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import short_toml, suggest

KEEP_OUTSIDE = "keep"
"""The value of `nulls` of an unmodified column: nulls are kept."""
_WORDS = (REJECT_VALUE, KEEP_OUTSIDE, "refuse", "suppress", "drop")
"""Words for a treatment of values, in this language or in others: they cannot name a category."""
_LACKING: Mapping[DesignPart, str] = {
    "weight": "a weight of 0 leaves a record out of every estimate",
    "cluster": "a person without a known cluster is a separate cluster",
    "stratum": "its own category makes a stratum of records without a known stratum",
}
"""A table's way to represent a record with an unknown part of the survey design."""
MAX_CATEGORIES = 100_000


def resolve_attribute(name: str, node: Node, problems: list[Problem], files: Root) -> Attribute | None:
    """Return an attribute, or None if something is wrong with it."""
    before = len(problems)
    attribute = _AttributeReader(name, node, problems, files).attribute()
    return attribute if len(problems) == before else None


class _AttributeReader:
    def __init__(self, name: str, node: Node, problems: list[Problem], files: Root) -> None:
        self.files = files
        self.name = name
        self.node = node
        self.problems = problems
        self.table = AttributeTable.model_validate(node.plain())
        self.role = Role(self.table.role)

    def refuse(self, code: str, message: str, at: Node, expected: str | None = None, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, at.place, expected, hint))

    @property
    def categorical(self) -> bool:
        return self.node.get("domain") is not None or self.node.get("bins") is not None

    def attribute(self) -> Attribute:
        place = replace(self.node.key, key=f"attributes.{self.name}")
        self.fit_role()
        missing = None if self.table.missing is None else tuple(self.table.missing)
        if self.role.dropped:
            inside = self.table.design if self.keeps_weight else None
            return Attribute(
                self.name, self.role, None, release_as=self.name, missing=missing, design=inside, place=place
            )
        bins = self.bins()
        domain = bins.labels if bins is not None else self.domain()
        observed = self.table.domain == "observed"
        outside, nulls = self.spare("outside"), self.spare("nulls")
        full = self.extended(domain, outside, nulls)
        outside, nulls = (
            next((v for v in full or () if s is not None and same_category(s, v)), s) for s in (outside, nulls)
        )
        self.sizes(full, observed=observed)
        self.scale(domain, binned=bins is not None)
        return Attribute(
            name=self.name,
            role=self.role,
            domain=full,
            observed=observed,
            outside=outside,
            nulls=nulls,
            scale=self.table.scale,
            bins=bins,
            release_as=self.table.release_as or self.name,
            hierarchy=self.hierarchy(full),
            assume_unlinkable=self.table.assume_unlinkable,
            unchanged=self.table.unchanged,
            missing=missing,
            design=self.design(full, bins),
            rounding=self.rounding(),
            totals=self.totals(full),
            place=place,
        )

    @property
    def keeps_weight(self) -> bool:
        """Return whether the column is a weight that is used inside and not released."""
        return self.role is Role.EXCLUDED and self.table.design == "weight"

    def design(self, full: tuple[Value, ...] | None, bins: Bins | None) -> DesignPart | None:
        """Return the column's part in a survey's design; each category of a weight must state its size."""
        at, part, nulls = self.node.get("design"), self.table.design, self.node.get("nulls")
        if at is None or part is None:
            return None
        one_more = part == "stratum" and self.table.nulls != KEEP_OUTSIDE  # records whose stratum is unknown
        if nulls is not None and self.table.nulls != REJECT_VALUE and not one_more:
            hint = f"take `nulls` out, and correct the table; {_LACKING[part]}"
            self.refuse("RR142", f"'{self.name}' is a {part}, which every record has", nulls, f'"{REJECT_VALUE}"', hint)
        if part != "weight":
            return part
        wrong = next((v for v in full or () if category_weight(v) is None), None)
        if wrong is not None:
            expected = "numbers that are not negative" + (", such as the mean weight of each bin" if bins else "")
            labels = f"labels = {short_toml(['0.5', '1.5'])}, a label for each bin" if bins else None
            message = f"'{self.name}' is a weight, and {short_toml(wrong)} is not a number"
            self.refuse("RR142", message, self.node.get("labels") or at, expected, labels)
        return "weight"

    def rounding(self) -> float | None:
        """Return the unit to whose multiples a weight is rounded."""
        at = self.node.get("rounding")
        if at is None or self.table.rounding is None:
            return None
        if self.table.design != "weight" or self.categorical:
            message = f"'{self.name}' has a rounding, but is not a weight with plain numbers"
            hint = "of other numbers `bins` make intervals; a weight with bins is as coarse as these"
            self.refuse("RR147", message, at, 'design = "weight", without domain and bins', hint)
        return float(self.table.rounding)

    def totals(self, full: tuple[Value, ...] | None) -> tuple[float, ...] | None:
        at = self.node.get("totals")
        if at is None or self.table.totals is None:
            return None
        found = tuple(map(float, self.table.totals))
        if full is None:
            hint = "list the categories: the totals are in their order"
            self.refuse("RR145", f"'{self.name}' has totals and no list of categories", at, "a domain or bins", hint)
        elif len(found) != len(full):
            message = f"'{self.name}' has {len(full)} categories and {len(found)} totals"
            hint = f"one for each of {', '.join(map(short_toml, full))}; 0 for one that nobody of the population has"
            self.refuse("RR145", message, at, f"{len(full)} totals", hint)
        elif not sum(found):
            self.refuse("RR145", f"the totals of '{self.name}' are of nobody", at, "numbers of people")
        return found

    def fit_role(self) -> None:
        for key in ("release_as", "assume_unlinkable", "unchanged", "design", "rounding", "totals"):
            at = self.node.get(key)
            if at is not None and self.role.dropped and not (key == "design" and self.keeps_weight):
                self.refuse("RR219", f"'{self.name}' is {self.role.value} and never released, so it has no {key}", at)
        at = self.node.get("assume_unlinkable")
        if at is not None and self.role is Role.QUASI_IDENTIFIER:
            message = f"'{self.name}' is a quasi-identifier: it links people, and cannot be assumed not to"
            self.refuse("RR219", message, at, hint="give it another role, or take the assumption out")

    def bins(self) -> Bins | None:
        at, labels = self.node.get("bins"), self.node.get("labels")
        if at is None:
            if labels is not None:
                self.refuse("RR213", "labels without bins", labels, "bins, whose categories the labels name")
            return None
        if self.node.get("domain") is not None:
            self.refuse(
                "RR213", "bins and a domain: the bins are the domain", self.node.table["domain"], "one of the two"
            )
        edges = self.edges(at)
        if edges is None:
            return None
        names = self.bin_labels(edges) if self.table.labels is None else tuple(self.table.labels)
        if len(names) != len(edges) - 1:
            message = f"{len(edges) - 1} bins, but {len(names)} labels"
            self.refuse("RR213", message, labels or at, f"{len(edges) - 1} labels")
            return None
        if len(set(names)) != len(names):
            self.refuse("RR213", "a label appears twice", labels or at, "a distinct label for each bin")
            return None
        return Bins(edges, names)

    def bin_labels(self, edges: Sequence[float | str]) -> tuple[str, ...]:
        """Return the default labels of bins; those of a weight are the midpoints, which are its sizes."""
        numbers = [e for e in edges if isinstance(e, float) and math.isfinite(e)]
        if self.table.design != "weight" or len(numbers) < len(edges):
            return intervals(edges)
        return tuple(exact_number((a + b) / 2) for a, b in pairwise(numbers))

    def edges(self, at: Node) -> tuple[float | str, ...] | None:
        expected = "two or more increasing numbers, dates or times; the first may be -inf, the last inf"
        kinds: set[str] = set()
        edges: list[float | str] = []
        for item in at.items:
            value = item.value
            edge = _bin_edge(value)
            if edge is None:
                quoted = isinstance(value, str) and value.strip()[:1].isdigit()
                hint = "numbers, dates and times have no quotes" if quoted else None
                self.refuse("RR213", f"{short_toml(value)} is not an edge of a bin", item, expected, hint)
                return None
            if not isinstance(edge, float) or math.isfinite(edge):
                kinds.add(type(value).__name__ if isinstance(edge, str) else "number")
            if len(kinds) > 1:
                self.refuse("RR213", f"{short_toml(value)} is of another kind than the edge before it", item, expected)
                return None
            if edges and not _is_lower_edge(edges[-1], edge):
                self.refuse("RR213", f"{short_toml(value)} does not lie above the edge before it", item, expected)
                return None
            edges.append(edge)
        if len(edges) < 2:  # noqa: PLR2004
            hint = "an array of edges, such as [0, 20, 30]" if not isinstance(at.value, list) else None
            self.refuse("RR213", "the bins have no interval", at, expected, hint)
            return None
        return tuple(edges)

    def domain(self) -> tuple[Value, ...] | None:
        at = self.node.get("domain")
        if at is None:
            if self.role in {Role.QUASI_IDENTIFIER, Role.SENSITIVE} and self.node.get("bins") is None:
                hint = 'list the categories; `domain = "observed"` takes them from the data, and the report states this'
                message = f"'{self.name}' is {self.role.value} and has no domain"
                self.problems.append(
                    Problem("RR211", message, self.node.key, "domain = [ … ], or bins for a number", hint)
                )
            return None
        if at.value == "observed":
            return None
        if not isinstance(at.value, list):
            near = suggest(str(at.value), ["observed"])
            expected = 'an array of categories, or "observed"'
            self.refuse("RR212", f"{short_toml(at.value)} is not a domain", at, expected, near)
            return None
        return self.categories(at)

    def categories(self, at: Node) -> tuple[Value, ...] | None:
        if len(at.items) > MAX_CATEGORIES:
            message = f"the domain of '{self.name}' has {len(at.items):,} categories"
            hint = "group them in a view of the table, or drop the column"
            self.refuse("RR293", message, at, f"at most {MAX_CATEGORIES:,}", hint)
            return None
        values: list[Value] = []
        seen: set[tuple[bool, Value]] = set()
        for item in at.items:
            try:
                value = category(item.value)
            except PydanticCustomError as error:
                self.refuse(
                    "RR212", f"{short_toml(item.value)} is not a category", item, (error.context or {})["expected"]
                )
                return None
            if (isinstance(value, bool), value) in seen:
                self.refuse("RR212", f"the category {short_toml(item.value)} appears twice", item, "each category once")
                return None
            if values and _value_kind(value) != _value_kind(values[0]):
                self.refuse(
                    "RR212",
                    f"{short_toml(item.value)} is not {_value_kind(values[0])}",
                    item,
                    f"only {_value_kind(values[0])}, as before",
                    f"`nulls = {short_toml(value)}` or `outside = {short_toml(value)}` adds it, and it is not listed"
                    if isinstance(value, str)
                    else None,
                )
                return None
            seen.add((isinstance(value, bool), value))
            values.append(value)
        if not values:
            self.refuse("RR212", "the domain is empty", at, "the categories")
            return None
        return _unified_categories(values)

    def spare(self, key: str) -> Value | None:
        """Return the category of values outside the domain, or null; None if they are rejected."""
        value: Value | None = getattr(self.table, key)
        at = self.node.get(key)
        if value is None or value == REJECT_VALUE or at is None:
            return None
        if key == "nulls" and value != KEEP_OUTSIDE and self.role is Role.INSENSITIVE and not self.categorical:
            message = f"'{self.name}' is released unchanged, and its nulls cannot become {short_toml(value)}"
            hint = f'`nulls = "{KEEP_OUTSIDE}"` releases them as nulls; a `domain` or `bins` makes room for a category'
            self.refuse("RR214", message, at, f'"{KEEP_OUTSIDE}" or "{REJECT_VALUE}"', hint)
        elif self.categorical and value in _WORDS and not (value != KEEP_OUTSIDE and self.named(value)):
            words = f'"{REJECT_VALUE}", which refuses the records' + (
                f'; "{KEEP_OUTSIDE}" is for columns without categories' if key == "nulls" else ""
            )
            message = f"{short_toml(value)} is an instruction for values, and would become a category of '{self.name}'"
            hint = f'name the category, such as `{key} = "unknown"`; the only word here is {words}'
            self.refuse("RR214", message, at, "the name of a category", hint)
        if key == "outside" and self.node.get("bins") is None and not isinstance(self.table.domain, list):
            self.refuse(
                "RR214",
                f"nothing is outside the domain of '{self.name}': it declares none",
                at,
                "a declared domain or bins",
            )
        return value

    def named(self, value: Value) -> bool:
        return value in (
            *(self.table.labels or ()),
            *(self.table.domain if isinstance(self.table.domain, list) else ()),
        )

    def extended(self, domain: tuple[Value, ...] | None, *spare: Value | None) -> tuple[Value, ...] | None:
        """Return the domain with the categories of `outside` and `nulls`, which may be text in a numeric domain."""
        if domain is None:
            return None
        full = list(domain)
        for key, value in zip(("outside", "nulls"), spare, strict=True):
            if value is None or any(same_category(value, v) for v in full):
                continue
            spelled_so = [category_text(v) for v in full]
            if _value_kind(value) != _value_kind(domain[0]) and not isinstance(value, str):
                message = f"{short_toml(value)} is not {_value_kind(domain[0])}, as the domain of '{self.name}' is"
                expected = " or ".join(dict.fromkeys([_value_kind(domain[0]), "text"]))
                self.refuse("RR214", message, self.node.table[key], expected)
            elif category_text(value) in spelled_so:
                message = f"{short_toml(value)} would be released like a category that is not text"
                self.refuse("RR214", message, self.node.table[key], "text that no other category is spelled as")
            else:
                full.append(value)
        return _unified_categories(full)

    def sizes(self, full: tuple[Value, ...] | None, *, observed: bool) -> None:
        protected = self.role in {Role.QUASI_IDENTIFIER, Role.SENSITIVE}
        if full is not None and len(full) == 1 and protected and not observed:
            message = f"'{self.name}' has one category: it contains no information"
            at = self.node.get("domain") or self.node.get("bins") or self.node
            self.refuse(
                "RR212", message, at, "two categories or more", 'list the others, or exclude it: `role = "excluded"`'
            )

    def scale(self, domain: Sequence[Value] | None, *, binned: bool) -> None:
        at = self.node.get("scale")
        if (
            at is not None
            and self.table.scale == "interval"
            and domain
            and not binned
            and isinstance(domain[0], (str, bool))
        ):
            self.refuse(
                "RR222",
                f"the categories of '{self.name}' are not numbers, so they have no distances",
                at,
                '"ordinal" or "nominal", or bins',
            )

    def hierarchy(self, full: tuple[Value, ...] | None) -> tuple[tuple[Value, ...], ...] | None:
        at = self.node.get("hierarchy")
        if at is None:
            return None
        if full is None and self.table.domain != "observed":
            if self.node.get("bins") is None and not isinstance(self.table.domain, list):
                message = f"'{self.name}' has a hierarchy but declares no domain"
                self.refuse("RR216", message, at, "a domain, declared or observed, or bins")
            return None
        try:
            return read_hierarchy(at, hierarchy_categories(at, self.files) if full is None else full, self.files)
        except HierarchyError as error:
            self.problems.append(error.problem)
            return None


def _bin_edge(value: object) -> float | str | None:
    """Return an edge of bins: a double, or a date or time as text; None if it is not an edge."""
    if isinstance(value, (date, time)):
        aware = isinstance(value, (datetime, time)) and value.tzinfo is not None
        return None if aware else moment_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    edge = _nearest_double(value)
    return edge if edge == edge else None  # noqa: PLR0124


def _is_lower_edge(edge: float | str, other: float | str) -> bool:
    """Return whether an edge lies below another; texts of one kind of date or time sort as these do."""
    if isinstance(edge, str) and isinstance(other, str):
        return edge < other
    return edge == -math.inf or other == math.inf if isinstance(edge, str) or isinstance(other, str) else edge < other


def _nearest_double(value: int | Decimal) -> float | None:
    try:
        edge = float(value)
    except OverflowError:
        return None
    written_infinite = isinstance(value, Decimal) and value.is_infinite()
    return None if edge in {float("inf"), float("-inf")} and not written_infinite else edge


def _unified_categories(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return categories with whole numbers as floats where others are floats; 1 and 1.0 are one category."""
    if not any(isinstance(v, float) for v in values):
        return tuple(values)
    return tuple(float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values)


def _value_kind(value: Value) -> str:
    return "text" if isinstance(value, str) else "true or false" if isinstance(value, bool) else "a number"
