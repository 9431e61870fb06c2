"""SQL of a column's category in a foreign engine: codes of missing values, bins, domains, and other values.

It matches `rrpolicy.source.duckdb.encoding`, but for a column whose type is not known and only implied by the policy:
numbers for bins of numbers, text for a domain of text. A column of another type ends the statement, or gives values
that are refused when the counts are read.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import date, datetime, time
from itertools import pairwise

from msgspec import Struct
from sqlglot import exp

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.exports.sql import representative_values
from rrpolicy.exports.sql.dialects import DIALECTS, Dialect, Kind, Sql, boolean, moment_type, number
from rrpolicy.exports.sql.representative_values import Point
from rrpolicy.policy.model import Attribute, Bins
from rrpolicy.source.duckdb.encoding import parse_moment
from rrpolicy.source.duckdb.missing import code_number as number_of

Way = tuple[Sql, Sql]
"""A condition, and the SQL of values that meet it."""

_COMPARABLE_KINDS = 10**18


class SqlColumn(Struct, frozen=True):
    """A released attribute as a column of a foreign table."""

    attribute: Attribute
    codes: tuple[Value, ...]
    dialect: Dialect

    @property
    def x(self) -> Sql:
        """Return SQL of the unmodified column."""
        return quoted_column(self.attribute.name)

    @property
    def recoded(self) -> Sql:
        """Return SQL of the column's category representatives.

        Raises:
            PolicyError: RR590 if the dialect cannot express it with certainty.
        """
        attribute = self.attribute
        if attribute.bins is not None:
            return self._binned(attribute.bins)
        if attribute.domain is None:
            return self._as_is()
        meant = [v for v in attribute.domain if v not in (attribute.nulls, attribute.outside)]
        kinds = {type(v) for v in meant or attribute.domain}
        if kinds == {bool}:
            return self._truth()
        if kinds <= {int, float}:
            return self._numbers([v for v in attribute.domain if not isinstance(v, (str, bool))])
        if kinds == {str}:
            return self._texts([v for v in attribute.domain if isinstance(v, str)])
        raise self._refused("its domain contains values of several kinds, which one column cannot contain")

    def _as_is(self) -> Sql:
        """Return a column whose values are its categories, or released unmodified."""
        if self.codes:
            raise self._refused(
                "it has codes of missing values, and no `domain` or `bins` that fix its type",
                "declare its domain, or put nulls in place of the codes in a view",
            )
        if self.dialect.pads:
            raise self._refused(
                "its values are not declared, and this engine may take different texts for one", "declare its domain"
            )
        return self.dialect.category(self.x)

    def _texts(self, domain: Sequence[str]) -> Sql:
        if any(not isinstance(code, str) for code in self.codes):
            raise self._refused(
                "a number is a code of missing values in a column of text, which spells it in several ways",
                "list the texts of missing values: missing = [...] of the attribute",
            )
        if "" in domain and not self.dialect.empty:
            raise self._refused("a category is the empty text, which this engine takes for no value")
        outside = representative_values.unlisted_text(self.attribute, self.codes)
        told = [*domain, outside]
        dates = all(_is_moment(v) for v in domain if v not in (self.attribute.nulls, self.attribute.outside))
        if dates and not self.dialect.iso:
            raise self._refused(
                "its categories are dates, which this engine compares as a column spells them", "give `bins` of dates"
            )
        if self.dialect.pads and len({t.rstrip(" ") for t in told}) < len(set(told)):
            raise self._refused(
                "two categories differ in blanks at their end alone, and this engine groups them as one"
            )

        def same(text: str) -> Sql:  # a column of dates is compared only with dates
            x = self.dialect.as_text(self.x) if dates and not _is_moment(text) else self.x
            return self.dialect.same(x, text)

        missing = [same(str(code)) for code in self.codes]
        ways = [(same(v), self.dialect.text(v)) for v in domain if v not in self.codes]
        return self.dialect.category(self._chosen("text", missing, ways, self.dialect.text(outside)))

    def _numbers(self, domain: Sequence[float]) -> Sql:
        fractions = [v for v in domain if not float(v).is_integer()]
        if self.attribute.outside is not None and any(
            struct.unpack("f", struct.pack("f", v))[0] != v for v in fractions
        ):
            raise self._refused(
                "a column of 32-bit numbers would contain none of its fractions, and `outside` would take them all",
                "give `bins` in place of the domain, or leave `outside` out",
            )
        if any(abs(v) >= _COMPARABLE_KINDS for v in domain):
            raise self._refused("a file of CSV does not distinguish whole numbers of more than 18 digits")
        codes = self._numeric_codes
        x = self._double if any(isinstance(v, float) for v in domain) else self.x
        ways = [(exp.EQ(this=x.copy(), expression=number(v)), number(v)) for v in domain if float(v) not in codes]
        return self._chosen(
            "number", self._no_number, ways, number(representative_values.unlisted_number(self.attribute, codes))
        )

    def _binned(self, bins: Bins) -> Sql:
        """Return SQL of a bin's representative: [a, b), the last one closed."""
        texts = [e for e in bins.edges if isinstance(e, str)]
        known = self._instants(texts) if texts else [float(e) for e in bins.edges if abs(float(e)) != math.inf]
        x, literal = (self.x, self.dialect.moment) if texts else (self._double, number)
        first = [] if known and bins.edges[0] != -math.inf else [None]
        last = [] if known and bins.edges[-1] != math.inf else [None]
        edges = [*first, *known, *last] if known else [None, None]
        codes = self._moments_of(texts) if texts else self._numeric_codes
        inside = [representative_values.value_inside(a, b, codes) for a, b in pairwise(edges)]
        if None in inside:
            raise self._refused("a code of a missing value must lie outside its bins")
        stand = [literal(point) for point in inside if point is not None]
        ways: list[Way] = []
        beyond = representative_values.value_outside_bins(edges, codes)
        outside = self.x if beyond is None else literal(beyond)
        if edges[0] is not None:
            ways.append((exp.LT(this=x.copy(), expression=literal(edges[0])), outside))
        if edges[-1] is not None:
            ways.append((exp.GT(this=x.copy(), expression=literal(edges[-1])), outside.copy()))
        ends = [literal(e) for e in edges[1:-1] if e is not None]
        ways += [(exp.LT(this=x.copy(), expression=end), value) for end, value in zip(ends, stand, strict=False)]
        missing = [exp.EQ(this=self.x, expression=literal(c)) for c in codes] if texts else self._no_number
        return self._chosen("moment" if texts else "number", missing, ways, stand[-1])

    def _instants(self, texts: Sequence[str]) -> list[Point]:
        """Return the dates and times of edges, in one type.

        Raises:
            PolicyError: RR590 if the engine has no such type.
        """
        found = [representative_values.parse_moment(text) for text in texts]
        lacking = {moment_type(point) for point in found} - self.dialect.moments
        if lacking:
            kinds = "times of day" if lacking == {"time"} else "dates or times"
            raise self._refused(f"it is binned by {kinds}, and this engine has no such type")
        if any(isinstance(point, datetime) for point in found):
            return [
                p if isinstance(p, datetime) else datetime.combine(date.fromisoformat(str(p)), time()) for p in found
            ]
        return [*found]

    def _moments_of(self, texts: Sequence[str]) -> list[Point]:
        """Return the codes of missing values that a column of such dates or times can contain."""
        edge = self._instants(texts)[0]
        kind = "TIME" if isinstance(edge, time) else "TIMESTAMP" if isinstance(edge, datetime) else "DATE"
        found = [parse_moment(code, kind) for code in self.codes]
        return [point for point in found if point is not None]

    def _truth(self) -> Sql:
        if not self.dialect.booleans:
            raise self._refused("its categories are true and false, and this engine has no such values")
        if not self.dialect.spelled_booleans:
            return self.x
        ways = [(exp.EQ(this=self.x, expression=boolean(v)), self.dialect.text(str(v).lower())) for v in (True, False)]
        return self.dialect.category(self._chosen("truth", [], ways, None))

    @property
    def _double(self) -> Sql:
        return self.dialect.double(self.x)

    @property
    def _numeric_codes(self) -> list[float]:
        return [n for code in self.codes if (n := number_of(code)) is not None]

    @property
    def _no_number(self) -> list[Sql]:
        """Return SQL that is true for NaN, or a code of missing values, in a column of numbers."""
        nan = [] if self.dialect.nan is None else [self.dialect.nan(self._double)]
        return [*nan, *(exp.EQ(this=self._double, expression=number(code)) for code in self._numeric_codes)]

    def _chosen(self, kind: Kind, missing: Sequence[Sql], ways: Sequence[Way], otherwise: Sql | None) -> Sql:
        """Return SQL of a choice; null without a value, and for representatives of null."""
        words = {"number": "number", "text": "text", "truth": "truth value", "moment": "date or time"}
        stranger = self.dialect.stranger(self.x, kind, f"a value of {self.attribute.name} is not a valid {words[kind]}")
        if stranger is None:
            case = exp.Case().when(exp.or_(self.x.is_(exp.null()), *missing), exp.null())
        else:
            case = exp.Case().when(self.x.is_(exp.null()), exp.null()).when(*stranger)
            case = case.when(exp.or_(*missing), exp.null()) if missing else case
        for condition, value in ways:
            case = case.when(condition, value)
        return case if otherwise is None else case.else_(otherwise)

    def _refused(self, why: str, hint: str | None = None) -> PolicyError:
        message = f"'{self.attribute.name}' cannot be recoded in {self.dialect.name}: {why}"
        expected = "a column that every engine makes the same categories of"
        return PolicyError(Problem("RR590", message, self.attribute.place, expected, hint))


def _is_moment(text: str) -> bool:
    """Return whether a text is a date or a time."""
    return any(parse_moment(text, kind) is not None for kind in ("DATE", "TIME", "TIMESTAMP"))


def quoted_column(name: str) -> Sql:
    """Return SQL of a column, its name quoted unchanged."""
    return exp.column(name, quoted=True)


def category_sql(attribute: Attribute, codes: Sequence[Value], dialect: str) -> str:
    """Return SQL of a released column's category representatives, with the column type that the policy implies.

    Raises:
        PolicyError: RR590 if the dialect cannot express it with certainty.
    """
    return SqlColumn(attribute, tuple(codes), DIALECTS[dialect]).recoded.sql(dialect, comments=False)
