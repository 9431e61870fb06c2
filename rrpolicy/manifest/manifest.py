"""public/release.json: the release, its method and its guarantees. Read by verify, by estimate and by people.

A release builds it once and passes it to all writers; all other code reads it by
`rrpolicy.manifest.sealed_manifest`. It contains nothing whose basis is the original, no time, no host and no path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from typing import ClassVar, Literal

from msgspec import Struct, field

from rrpolicy.canonical_json import Json, Value, record_digest
from rrpolicy.channels.decoders import Decoder, WithheldDecoder
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.declarations import DesignPart, Governance, Role
from rrpolicy.escaping.formulas import Handling
from rrpolicy.finding import Derived, Finding, Origin, UtilityFinding
from rrpolicy.frozen import replace
from rrpolicy.plugin_spec import Software
from rrpolicy.serialization import JsonDocument

MANIFEST_FILE = "release.json"
WITHHELD = "withheld"
"""Kind of the channel published in place of one whose matrices are withheld."""


class PolicyIdentity(Struct, frozen=True):
    """The policy of the release.

    Attributes:
        name: name, as the policy states it.
        version: version, as the policy states it.
        owner: owner, as the policy states it.
        purpose: purpose, as the policy states it.
        digest: SHA-256 of the resolved policy; if matrices are withheld, of that and the keyed hash (HMAC) of the
            source, so that hashing confirms no guess of them.
    """

    name: str
    version: str
    owner: str
    purpose: str
    digest: str


class UnitBound(Struct, frozen=True):
    """Units of protection. Only audit/ states whether the number of records per unit was tested.

    Attributes:
        max_records: maximum number of records per unit.
        of: "each row" if the policy protects each row by itself, and no person; absent otherwise.
        one_record: which record of each unit was read, such as "first by visit_date"; None if all were.
    """

    sparse: ClassVar[tuple[str, ...]] = ("of", "one_record")

    max_records: int
    of: Literal["each row"] | None = None
    one_record: str | None = None

    @property
    def of_rows(self) -> bool:
        """Whether the guarantees are of rows, not of people."""
        return self.of is not None

    @property
    def selected(self) -> str:
        """Return which record of each unit was read, to follow the number of records; "" if all were."""
        return "" if self.one_record is None else f": the {self.one_record}"


class ReleasedAttribute(Struct, frozen=True):
    """The public properties of an attribute.

    Attributes:
        name: name of the original column.
        release_as: the released column's name.
        role: see `Role`.
        domain: its categories; None if they are not listed.
        observed: the domain was taken from the data.
        nulls: the category of missing values, excluded from averages; None if there is no such category.
        scale: nominal, ordinal or interval.
        hierarchy: the hierarchy of a sensitive attribute, for t-closeness; None for any other.
        assume_unlinkable: the steward's reason for assuming that the column identifies nobody; None if not assumed.
        unchanged: the steward's reason for releasing the column unmodified; None if not stated.
        design: its use in the survey design: weight, stratum or cluster; None if it has no such use.
        rounding: for a weight, its numbers are multiples of this; None if they were not rounded.
        totals: the number of people in the population per category; None if not stated.
        keeps_nulls: for a column without categories: missing values are missing in the release too.
    """

    sparse: ClassVar[tuple[str, ...]] = ("design", "rounding", "totals", "keeps_nulls")

    name: str
    release_as: str
    role: Role
    domain: tuple[Value, ...] | None
    observed: bool
    nulls: Value | None
    scale: Literal["nominal", "ordinal", "interval"]
    hierarchy: tuple[tuple[Value, ...], ...] | None
    assume_unlinkable: str | None
    unchanged: str | None
    design: DesignPart | None = None
    rounding: float | None = None
    totals: tuple[float, ...] | None = None
    keeps_nulls: bool = False


class DataTable(Struct, frozen=True):
    """A released table's files in public/, in the order of its rows; the number of rows, and their digest."""

    files: tuple[str, ...]
    rows: int
    digest: str


class Data(Struct, frozen=True):
    """The data files.

    Attributes:
        format: format of all files.
        csv_formulas: treatment of text in CSV that a spreadsheet would run as a formula.
        rows_per_file: number of rows in each file of a table but the last; None if every table is in one file.
        tables: name of a table -> its files.
    """

    format: str
    csv_formulas: Handling
    rows_per_file: int | None
    tables: Mapping[str, DataTable]


class StatedRequirement(Struct, frozen=True):
    """A requirement of the policy: the privacy model, its options as plain data, and its subgroup."""

    model: str
    options: Mapping[str, Json]
    where: Mapping[str, Value]


class LedgerPlace(Struct, frozen=True):
    """Position of a release in the ledger that its policy names.

    Attributes:
        head: hash of the preceding entry.
        entry: hash of the release's entry.
    """

    head: str
    entry: str


class ManifestSeries(Struct, frozen=True):
    """The series of a release: in all of them a person's unchanged value has the same noise.

    Attributes:
        name: name, as the policy states it.
        id: id of its key: releases of one id, with the same channel, share their noise.
        mechanism: digest of the mechanism and its options, which are frozen with the channel.
        categories: digest of the meaning of the attributes' categories, frozen likewise.
        persons: type of person identifiers: whole numbers or text.
    """

    name: str
    id: str
    mechanism: str
    categories: str
    persons: Literal["integer", "text"]


class Manifest(JsonDocument, Struct, frozen=True, dict=True):
    """Content of release.json.

    Attributes:
        release: its label, such as `2026-11`.
        policy: the policy of the release.
        software: the software that wrote it.
        records: N.
        units: the unit of protection.
        mechanism: the mechanism's name.
        plan_on: parameters were chosen on another table.
        attributes: the released attributes, in the policy's order.
        channel: its public description; `rrpolicy.channels.json_decoding` makes a channel of it if its plugin is
            loaded.
        decoders: inverses of the channel, or the statement that they are withheld.
        tables: the released tables.
        data: files of the tables.
        requirements: requirements of the policy; without their options if matrices are withheld.
        findings: one for each, with numbers up to the basis release; without numbers if matrices are withheld.
        utility: one for each gate, without numbers; empty if matrices are withheld.
        origins: attribute -> source of its parameters.
        derived: statistics of the original that it discloses.
        assumptions: assumptions of the findings.
        governance: declarations and approvals of the policy at the time of release.
        governance_digest: digest of `governance`.
        require_signatures: the minimum number of keys that sign it.
        require_roles: in each of these roles a different person must have signed it.
        require_approval: in each of these roles a different person must have approved its policy.
        ledger: its position in the ledger; None if the policy names no ledger.
        series: the series that it belongs to; None without a series.
        collected: digest of the questionnaire of the collected records; None if it was drawn from a table.
        weights_inside: whether the survey has weights that are not released, so that the population cannot be
            estimated.
        replaces: digest of release.json of the release that it corrects; None if it corrects none.
        test: the draw used a test's seed; verify refuses it.
        files: path in public/ -> digest of the file's bytes; empty until all are written.
        digest: digest of the whole manifest; "" until all files are written.
    """

    schema: ClassVar[str] = "rrpolicy.release/1"
    sparse: ClassVar[tuple[str, ...]] = (
        *("require_roles", "require_approval", "ledger", "series", "collected", "weights_inside", "replaces", "test"),
    )

    release: str | None
    policy: PolicyIdentity
    software: Software
    records: int
    units: UnitBound
    mechanism: str
    plan_on: bool
    attributes: tuple[ReleasedAttribute, ...]
    channel: Mapping[str, Json]
    decoders: tuple[Decoder, ...]
    tables: tuple[TableSpec, ...]
    data: Data
    requirements: tuple[StatedRequirement, ...]
    findings: tuple[Finding, ...]
    utility: tuple[UtilityFinding, ...]
    origins: Mapping[str, Origin]
    derived: tuple[Derived, ...]
    assumptions: tuple[str, ...]
    governance: Governance
    governance_digest: str
    require_signatures: int
    require_roles: tuple[str, ...] = ()
    require_approval: tuple[str, ...] = ()
    ledger: LedgerPlace | None = None
    series: ManifestSeries | None = None
    collected: str | None = None
    weights_inside: bool = False
    replaces: str | None = None
    test: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    def made_with(self, hook: str) -> tuple[str, ...]:
        """Return the distributions that wrote it and implement a hook, without rrpolicy's."""
        return tuple(sorted({p.distribution for p in self.software.plugins if hook in p.hooks} - {"rrpolicy"}))

    @property
    def day(self) -> str | None:
        """Return the label if it is a day in the format of ISO 8601: the only date in a manifest."""
        if self.release is None or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", self.release):
            return None
        try:
            return date.fromisoformat(self.release).isoformat()
        except ValueError:
            return None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the released columns of all tables, in their order."""
        return tuple(column for table in self.tables for column in table.columns)

    @cached_property
    def of_column(self) -> Mapping[str, ReleasedAttribute]:
        """Return the attribute of each released column, by the column's name."""
        named = {attribute.name: attribute for attribute in self.attributes}
        return {c.name: named[c.attribute] for c in self.columns if c.attribute in named}

    def missing(self, column: Column) -> Value | None:
        """Return a column's category of missing values; None if it has no such category."""
        return self.of_column[column.name].nulls if column.name in self.of_column else None

    def escaped(self, column: Column) -> bool:
        """Return whether the file escapes a column's text if it begins like a formula."""
        return (self.data.format, self.data.csv_formulas) == ("csv", "escape") and column.escapable

    @property
    def withheld(self) -> tuple[WithheldDecoder, ...]:
        """Return the decoders that state that matrices are withheld; empty if all are published."""
        return tuple(decoder for decoder in self.decoders if isinstance(decoder, WithheldDecoder))

    @property
    def withholds(self) -> bool:
        """Return whether public/ contains no matrices, and no numbers that determine them."""
        return self.channel.get("kind") == WITHHELD

    def pattern(self, table: str) -> str:
        """Return the path of a table in public/: of its file, or a pattern that matches all its files."""
        first = self.data.tables[table].files[0]
        return first if self.data.rows_per_file is None else f"{first.partition('/')[0]}/*.{self.data.format}"

    def sealed(self, files: Mapping[str, str]) -> Manifest:
        """Return the manifest with the digests of the files that it covers, and its digest."""
        whole = replace(self, files=dict(sorted(files.items())))
        return replace(whole, digest=record_digest(whole.to_json()))
