"""The resolved policy: inheritance and defaults filled in, every option validated, every value with its place.

Plain frozen data. `rrpolicy.policy.load.load_policy` makes it; nothing downstream reads TOML.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias

import msgspec
from msgspec import Struct
from pydantic import BaseModel
from typing_extensions import TypeVar

from rrpolicy.canonical_json import Json, Value, canonical, digest
from rrpolicy.declarations import DesignPart, Governance, Role
from rrpolicy.errors import Place
from rrpolicy.escaping.formulas import Handling
from rrpolicy.finding import Bound
from rrpolicy.numbers import exact_number
from rrpolicy.policy.error_key import offending_key
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.serialization import plain, record

Options_co = TypeVar("Options_co", bound=BaseModel, covariant=True, default=Any)


Overlap: TypeAlias = Literal["any", "nested", "same", "none"]
"""The relation between the people of a release and those of earlier ones; see `LedgerSettings`."""


class Bins(Struct, frozen=True):
    """Intervals of a number, a date or a time: [a, b), the last closed.

    Attributes:
        edges: they increase, the outer ones may be infinite; dates and times are text as ISO 8601 has it.
        labels: labels of the intervals.
    """

    edges: tuple[float | str, ...]
    labels: tuple[str, ...]


def intervals(edges: Sequence[float | str]) -> tuple[str, ...]:
    """Return the default labels of bins: `[0, 20)`, the last one closed unless it has no end."""
    shown = [e if isinstance(e, str) else exact_number(e) for e in edges]
    last = "]" if edges[-1] != math.inf else ")"
    ends = [")"] * (len(edges) - 2) + [last]
    return tuple(f"[{a}, {b}{end}" for a, b, end in zip(shown, shown[1:], ends, strict=False))


ROW_UNIT: Final = "each row"
"""The value of `unit`, in place of a column's name, that protects each row by itself."""
MAX_UNIT_RECORDS = 1000
"""The most records per unit that a policy may permit."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of the table and its settings in the policy.

    Attributes:
        name: the column's name in the table.
        role: see `Role`.
        domain: the categories in the policy's order (bin labels for binned numbers; `outside` and `nulls` categories
            included, once). None when observed, or when the column is dropped or released unmodified (insensitive
            without a domain).
        observed: the domain is taken from the data (and is then a disclosure that the report lists).
        outside: the category of values that are not in the domain; None refuses them.
        nulls: the category of null (and NaN); None refuses them.
        scale: nominal, ordinal or interval.
        bins: the intervals that make categories of a number; None for a column of categories.
        release_as: the released column's name.
        hierarchy: `hierarchy[j][i]` is the generalisation of `domain[i]` at level j; level 0 is the domain, or all
            categories that the hierarchy lists while the domain is not observed yet. None if none.
        assume_unlinkable: the steward's reason why the column identifies nobody; None if not assumed.
        unchanged: the steward's reason to release the column unmodified; None if not stated.
        missing: codes for missing values in this column; None: those of [source].
        design: the column's part in the design of a survey: the weight (the number of people that a record represents),
            a
            stratum, or a cluster (the primary sampling unit); None for any other column. An excluded column can be a
            weight, which is used inside and not released.
        rounding: for a weight with unbinned numbers, the unit to whose multiples these are rounded before anything
            else uses them; None if they are not rounded.
        totals: the number of people of the population in each category of the domain; None if unknown.
        place: place of the attribute in the policy.
    """

    sparse: ClassVar[tuple[str, ...]] = ("design", "rounding", "totals")
    unwritten: ClassVar[tuple[str, ...]] = ("place",)

    name: str
    role: Role
    domain: tuple[Value, ...] | None
    observed: bool = False
    outside: Value | None = None
    nulls: Value | None = None
    scale: Literal["nominal", "ordinal", "interval"] = "nominal"
    bins: Bins | None = None
    release_as: str = ""
    hierarchy: tuple[tuple[Value, ...], ...] | None = None
    assume_unlinkable: str | None = None
    unchanged: str | None = None
    missing: tuple[Value, ...] | None = None
    design: DesignPart | None = None
    rounding: float | None = None
    totals: tuple[float, ...] | None = None
    place: Place | None = field(default=None, compare=False)

    @property
    def categorical(self) -> bool:
        """Whether the column has a domain, declared or observed."""
        return self.domain is not None or self.observed

    @property
    def why_unchanged(self) -> str | None:
        """Return the reason to release the column unmodified: that stated, or that for `assume_unlinkable`."""
        return self.assume_unlinkable if self.unchanged is None else self.unchanged


@dataclass(frozen=True, slots=True)
class Requirement(Generic[Options_co]):
    """One [[privacy]] entry.

    Planners read its properties here, and know no model by name. Options of any model may have each of these as an
    attribute or a property of that name; missing ones have the default.

    Attributes:
        model: the privacy model's name.
        options: validated by that model's options class.
        where: its subgroup: attribute to category; empty for everyone.
        max_records: the most records of a unit of protection, all of which it covers together; the policy states it
            once, under [source].
        place: place of the entry in the policy.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("place", "max_records")

    model: str
    options: Options_co
    where: Mapping[str, Value] = field(default_factory=dict)
    place: Place | None = field(default=None, compare=False)
    max_records: int = 1

    @property
    def limit(self) -> Fraction | None:
        """Return the limit of the achieved number; None if it is not a single number."""
        stated = getattr(self.options, "limit", None)
        return None if stated is None else Fraction(stated)

    @property
    def decided_by(self) -> str:
        """Return the kind of number that is compared with the limit: a certain `bound`, or an `estimate`."""
        return str(getattr(self.options, "decided_by", "bound"))

    @property
    def frequency(self) -> Fraction | None:
        """Return l if the requirement limits every sensitive value of a group to a share of 1/l; else None."""
        stated: Fraction | None = getattr(self.options, "frequency", None)
        return stated

    @property
    def implied_by(self) -> Fraction | None:
        """Return the least l for which such a frequency implies it in all classes; None if none does."""
        stated: Fraction | None = getattr(self.options, "implied_by", None)
        return stated

    @property
    def by_some_frequency(self) -> bool:
        """Return whether some such l exists and records are suppressed to reach it; an assessor computes it."""
        return self.implied_by is not None or bool(getattr(self.options, "by_some_frequency", False))

    @property
    def distinct(self) -> int | None:
        """Return how many records with distinct sensitive values satisfy it as a group; None if unknown."""
        stated: int | None = getattr(self.options, "distinct", None)
        return stated

    @property
    def possible(self) -> bool:
        """Return whether it needs every released value to be possible from every original one."""
        return bool(getattr(self.options, "possible", False))

    @property
    def monotone(self) -> bool:
        """Return whether, if its model is monotone by its assessor, it is met by any function of a release."""
        return bool(getattr(self.options, "monotone", True))

    @property
    def needs_reference(self) -> bool:
        """Return whether it needs facts about the population, which come from a policy's reference table."""
        return bool(getattr(self.options, "needs_reference", False))

    @property
    def called(self) -> str:
        """Return the name of its model in findings, such as `attribute-disclosure/gain`."""
        return str(getattr(self.options, "called", self.model))

    @property
    def adversary(self) -> str:
        """Return the attacker whom its number covers, if that depends on its options; "" if its assessor defines it."""
        return str(getattr(self.options, "adversary", ""))

    @property
    def assumptions(self) -> tuple[str, ...] | None:
        """Return the assumptions of its number, if they depend on its options; None if its assessor defines them."""
        stated: tuple[str, ...] | None = getattr(self.options, "assumptions", None)
        return stated

    def protects(self, policy: Policy) -> tuple[str, ...]:
        """Return the sensitive attributes that the requirement protects: its `sensitive`, or all if that is empty.

        A model whose options have no `sensitive` covers no sensitive value.
        """
        named: tuple[str, ...] | None = getattr(self.options, "sensitive", None)
        return () if named is None else named or tuple(a.name for a in policy.with_role(Role.SENSITIVE))


@dataclass(frozen=True, slots=True)
class Gate:
    """One [[utility]] entry: a limit on a metric's expected value.

    Attributes:
        metric: its name.
        options: options of the metric.
        max: the largest value permitted, an exact rational as text, such as "1/50"; None if the least is stated.
        place: place of the entry in the policy.
        min: the smallest value permitted, likewise.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("place",)

    metric: str
    options: BaseModel
    max: str | None
    place: Place | None = field(default=None, compare=False)
    min: str | None = None

    def __post_init__(self) -> None:
        if (self.max is None) == (self.min is None):
            raise ValueError("a utility gate states the most or the least, one of them")

    @property
    def bound(self) -> Bound:
        """Return which of the two limits is stated."""
        return "min" if self.max is None else "max"

    @property
    def limit(self) -> Fraction:
        """Return the limit as an exact number."""
        return Fraction(str(self.min if self.max is None else self.max))

    def __str__(self) -> str:
        """Return the gate in short, such as `l2 <= 1/50`."""
        return f"{self.metric} {'>=' if self.max is None else '<='} {self.min if self.max is None else self.max}"


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """The [mechanism] table: its name, with its validated options, which are all that the mechanism sees.

    Attributes:
        name: name of the mechanism.
        options: options of the mechanism.
        place: place of the table in the policy.
        plan_on: uri of another table, on which parameters are chosen in place of the source; relative to the policy's
            folder. None if there is none. The digest covers its presence but not its uri.
        plan_on_table: inside a database.
        as_stated: digest of the options in the policy's files; "" if they were read from a document. If the mechanism
            is
            not installed, only a comparison with this digest is possible.
        recorded: the earlier name that documents contain in place of the name, so that digests do not change with it;
            "" if it has none.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("place", "as_stated", "recorded")

    name: str
    options: BaseModel
    place: Place | None = field(default=None, compare=False)
    plan_on: str | None = None
    plan_on_table: str | None = None
    as_stated: str = field(default="", compare=False)
    recorded: str = field(default="", compare=False)

    @property
    def elsewhere(self) -> bool:
        """Return whether parameters are chosen on a table other than the source."""
        return self.plan_on is not None

    def to_json(self) -> dict[str, Json]:
        """Return the choice as plain data."""
        return {**record(self), "name": self.recorded or self.name, "plan_on": self.elsewhere}


class CsvSettings(Struct, frozen=True):
    """The [source.csv] table: how a CSV file is spelled.

    Attributes:
        delimiter: the delimiter between fields; None: a comma, in a .tsv file a tab.
        encoding: encoding of the text, a name that Python knows.
        decimal: the decimal separator.
        quote: the quotation mark around fields; empty if fields are not quoted.
        skip: lines before the header.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: Literal[".", ","] = "."
    quote: str = '"'
    skip: int = 0


class Selection(Struct, frozen=True):
    """The one record of each unit that is read; see `SourceSettings.one_record_per_unit`.

    Attributes:
        unit: the column that identifies units.
        by: the column whose least value, or greatest if `last`, a unit's record has.
    """

    unit: str
    by: str
    last: bool = False


class Reading(Struct, frozen=True):
    """Settings with which an engine reads a table.

    Attributes:
        csv: format of a CSV file.
        missing: codes of missing values, in every column.
        of: such codes of single columns, in place of the others.
        multiplicity: the column with the count of each row; None for a table of records.
        rounding: weights that are rounded, and the units to whose multiples.
        read: the columns whose values are read; None for all but `skipped`.
        skipped: columns whose values are not read, so that their types may be unknown.
        column_wise: whether every column is read by itself, so that a text file is parsed into a table first.
        selection: the one record of each unit that is read; None for all records.
    """

    csv: CsvSettings = CsvSettings()
    missing: tuple[Value, ...] = ()
    of: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    multiplicity: str | None = None
    rounding: Mapping[str, float] = msgspec.field(default_factory=dict)
    read: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()
    column_wise: bool = False
    selection: Selection | None = None

    def reads(self, column: str) -> bool:
        """Return whether the values of a column are read; every column may decide which record is selected."""
        wanted = column not in self.skipped if self.read is None else column in self.read
        return wanted or column == self.multiplicity or self.selection is not None

    def codes(self, column: str) -> tuple[Value, ...]:
        """Return the codes for a missing value in a column; the column of counts has none."""
        return () if column == self.multiplicity else self.of.get(column, self.missing)


PLAIN = Reading()
"""The defaults: commas, UTF-8, no codes."""


class SourceSettings(Struct, frozen=True):
    """The [source] table. `uri` is relative to the policy's folder and not part of the digest.

    Attributes:
        uri: uri of the table. It also names the column of counts: see `rrpolicy.policy.folder.root`.
        table: inside a database.
        min_rows: fewer records are refused.
        population: the population that the records were drawn from.
        missing: codes of missing values, in every column without separate codes.
        csv: format of a CSV file.
        unit: the column named to identify units of protection, or `ROW_UNIT`; see `Policy.unit`.
        max_records: the most records that a unit may have.
        other_columns: the treatment of columns that the policy does not name: the table is refused, or they are
            dropped.
        one_record_per_unit: "first by COLUMN" or "last by COLUMN", the record of each unit that is read; None for all.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("uri",)
    sparse: ClassVar[tuple[str, ...]] = ("one_record_per_unit",)

    uri: str
    table: str | None = None
    min_rows: int | None = None
    population: str | None = None
    missing: tuple[Value, ...] = ()
    csv: CsvSettings = CsvSettings()
    unit: str | None = None
    max_records: int = 1
    other_columns: Literal["refused", "excluded"] = "refused"
    one_record_per_unit: str | None = None

    @property
    def ordered_by(self) -> tuple[str, str] | None:
        """Return "first" or "last", and the column by which one record of each unit is read; None for all records."""
        which, _, column = (self.one_record_per_unit or "").partition(" by ")
        return (which, column) if column else None

    @property
    def multiplicity(self) -> str | None:
        """Return the column with the count of each row, named by the uri; None for a table of records."""
        return split_counts_uri(self.uri)[0]


class ReferenceSettings(Struct, frozen=True):
    """The [reference] table: the whole population of the records, one record a person.

    The digest covers its presence but not its uri.

    Attributes:
        uri: uri of the table, relative to the policy's folder; None if the document does not contain it.
        table: inside a database.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("uri",)

    uri: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """The [release] table.

    Attributes:
        format: format of the released data.
        rows_per_file: number of rows in each file of a released table but the last; None for one file per table.
        protection: the least grade that a release must have.
        accept: ids of derived statistics that the release may disclose.
        audit_counts: exact counts of the original may appear in audit/ (else shares, rounded).
        csv_formulas: the treatment of text that a spreadsheet would run as a formula, in every CSV file of public/.
        require_signatures: the number of keys that must have signed the release, so that it verifies.
        require_roles: in each of these roles a different person must have signed it.
        require_approval: in each of these roles a different person must have approved the policy.
        signers: the file of allowed signers, relative to the policy's folder; None if not named.
        series: the name of a series, in whose releases a person's unchanged value is released equally; None for none.
        decoders: whether public/ contains the matrices that randomised the data.
        described_groups: the least people of a group that audit/ describes among those at the highest risk.
    """

    sparse: ClassVar[tuple[str, ...]] = (
        "decoders",
        "described_groups",
        "rows_per_file",
        "protection",
        "require_roles",
        "require_approval",
    )
    unwritten: ClassVar[tuple[str, ...]] = ("signers",)

    format: str = "parquet"
    accept: tuple[str, ...] = ()
    audit_counts: bool = False
    csv_formulas: Handling = "escape"
    require_signatures: int = 0
    series: str | None = None
    decoders: Literal["published", "withheld"] = "published"
    described_groups: int = 1
    rows_per_file: int | None = None
    protection: Literal["strong", "limited", "weak"] = "weak"
    require_roles: tuple[str, ...] = ()
    require_approval: tuple[str, ...] = ()
    signers: str | None = field(default=None, compare=False)

    @property
    def withholds(self) -> bool:
        """Return whether public/ contains no matrices."""
        return self.decoders == "withheld"


class LedgerSettings(Struct, frozen=True):
    """The [ledger] table. `file` is not part of the digest: the ledger's location changes no release.

    Attributes:
        file: file of the ledger, relative to the policy's folder.
        overlap: the relation of the table's people to those of earlier releases of its population. any: nothing is
            known, some may be in both and with other values; nested: of any two tables one contains all people of the
            other; same: it is the same table, people and values; none: no person was released before.
        budget: requirements on all releases together.
        stated: whether the policy states the budget; else it is every requirement.
        uncomposed: the reason for a release that no rule composes with earlier ones; None if there is no such
            release.
        different_values: the most different values that a person has of an attribute over all releases of a series;
            None if unknown.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("file",)

    file: str
    overlap: Overlap = "any"
    budget: tuple[Requirement, ...] = ()
    stated: bool = False
    uncomposed: str | None = None
    different_values: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A resolved policy. `attributes` keeps the order of the file, which is the order of the released columns.

    `files` are those from which it was read: itself, its baselines and hierarchies. `baselines` are those it extends,
    the nearest first. `governance` contains people's declarations and decisions: it has a separate digest, and is not
    part of the policy's.
    """

    name: str
    version: str
    owner: str
    purpose: str
    plugins: tuple[str, ...]
    source: SourceSettings
    attributes: Mapping[str, Attribute]
    requirements: tuple[Requirement, ...]
    mechanism: MechanismChoice
    gates: tuple[Gate, ...]
    release: ReleaseSettings
    ledger: LedgerSettings | None = None
    reference: ReferenceSettings | None = None
    governance: Governance = field(default=Governance(), compare=False)
    folder: str = field(default=".", compare=False)
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)
    files: tuple[str, ...] = field(default=(), compare=False)
    baselines: tuple[str, ...] = field(default=(), compare=False)

    def with_role(self, *roles: Role) -> tuple[Attribute, ...]:
        """Return the attributes that have one of the roles, in the policy's order."""
        return tuple(a for a in self.attributes.values() if a.role in roles)

    @property
    def reading(self) -> Reading:
        """Return the settings with which the table is read."""
        own = {a.name: a.missing for a in self.attributes.values() if a.missing is not None}
        steps = {a.name: a.rounding for a in self.attributes.values() if a.rounding is not None}
        used = [a.name for a in self.attributes.values() if not a.role.dropped or a.design or a.name == self.unit]
        skipped = tuple(a.name for a in self.attributes.values() if a.name not in used)
        others = self.source.other_columns == "excluded"
        read, skipped = (tuple(used), ()) if others else (None, skipped)
        return Reading(
            self.source.csv,
            self.source.missing,
            own,
            rounding=steps,
            read=read,
            skipped=skipped,
            selection=self.selection,
        )

    @property
    def selection(self) -> Selection | None:
        """Return the one record of each unit that is read; None if all are. No table has a unit that is not named."""
        ordered = self.source.ordered_by
        return None if ordered is None else Selection(self.unit or "", ordered[1], last=ordered[0] == "last")

    @property
    def released(self) -> tuple[Attribute, ...]:
        """Return every attribute that is not dropped, in the policy's order."""
        return tuple(a for a in self.attributes.values() if not a.role.dropped)

    @property
    def weight(self) -> Attribute | None:
        """Return the weight of the survey, released or kept inside; None if the policy names none."""
        return next((a for a in self.attributes.values() if a.design == "weight"), None)

    @property
    def weights_inside(self) -> bool:
        """Return whether the survey's weights are used inside and not released."""
        return self.weight is not None and self.weight.role.dropped

    @property
    def linking(self) -> tuple[Attribute, ...]:
        """Return the attributes defining classes: quasi-identifiers and unmodified columns that may identify people."""
        return tuple(
            a
            for a in self.released
            if a.role is Role.QUASI_IDENTIFIER or (a.role is Role.INSENSITIVE and a.assume_unlinkable is None)
        )

    @property
    def unit(self) -> str | None:
        """Return the column that identifies units of protection: the one named, else the only identifier."""
        if self.of_rows:
            return None
        identifiers = self.with_role(Role.IDENTIFIER)
        return self.source.unit or (identifiers[0].name if len(identifiers) == 1 else None)

    @property
    def of_rows(self) -> bool:
        """Return whether the policy protects each row by itself, whichever person it belongs to."""
        return self.source.unit == ROW_UNIT and ROW_UNIT not in self.attributes

    @property
    def budget(self) -> tuple[Requirement, ...]:
        """Return the requirements on all releases of the same people together, if stated."""
        return self.ledger.budget if self.ledger is not None and self.ledger.stated else ()

    def place(self, key: str) -> Place | None:
        """Return the place of a dotted key, or of the nearest key above it."""
        while key and key not in self.places:
            key = key.rpartition(".")[0]
        return self.places.get(key)

    def place_of(self, reason: str, entry: Place | None) -> Place | None:
        """Return the place of the option that a plugin's reason names; that of the entry if it names none."""
        if entry is None:
            return None
        above = f"{entry.key}."
        options = {key.removeprefix(above): place for key, place in self.places.items() if key.startswith(above)}
        named = offending_key(reason, options.keys() - {"model", "metric"})
        return entry if named is None else options[named]

    def to_json(self) -> Json:
        """Return the resolved policy as plain data: without uris, paths and spelling."""
        kept = {key: plain(one) for key in ("ledger", "reference") if (one := getattr(self, key)) is not None}
        return {
            "schema": 1,
            "policy": {
                "name": self.name,
                "version": self.version,
                "owner": self.owner,
                "purpose": self.purpose,
                "plugins": list(self.plugins),
            },
            "source": plain(self.source),
            "attributes": plain([*self.attributes.values()]),
            "privacy": plain(self.requirements),
            "mechanism": plain(self.mechanism),
            "utility": plain(self.gates),
            "release": plain(self.release),
            **kept,
        }

    def digest(self) -> str:
        """Return the digest of the resolved policy."""
        return digest(canonical(self.to_json()))
