"""public/release.json: what was released, how, and what holds of it. Read by verify, by estimate and by people.

A release builds it once and hands it to everything that it writes; everybody else gets it from
`rrpolicy.manifest.sealed_manifest`. It holds nothing whose basis is the original, no time, no host and no path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date
from functools import cached_property
from typing import ClassVar, Literal

from rrpolicy.canonical_json import Json, Value, record_digest
from rrpolicy.channels.decoders import Decoder, WithheldDecoder
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.escaping.formulas import Handling
from rrpolicy.finding import Derived, Finding, Origin, UtilityFinding
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.governance import Governance
from rrpolicy.policy.model import DesignPart, Role
from rrpolicy.serialization.fields import SPARSE
from rrpolicy.serialization.reading import read
from rrpolicy.serialization.writing import record

MANIFEST_FILE = "release.json"
WITHHELD = "withheld"
"""The kind of channel that is published in the place of one whose matrices are withheld."""


@frozen
class PolicyIdentity:
    """Which policy it was released under.

    Attributes:
        name: as the policy states it.
        version: likewise.
        owner: likewise.
        purpose: likewise.
        digest: of its resolved meaning; where matrices are withheld, of that and the tag of the source, so that nobody
            confirms a guess of them by hashing it.
    """

    name: str
    version: str
    owner: str
    purpose: str
    digest: str


@frozen
class UnitBound:
    """Units of protection: the most records that one may have. Whether that was tested stands in audit/ alone."""

    max_records: int


@frozen
class ReleasedAttribute:
    """An attribute, as far as the public may know it.

    Attributes:
        name: in the original.
        release_as: the released column's name.
        role: see `Role`.
        domain: its categories; None if it has no list of them.
        observed: the domain was taken from the data.
        nulls: the category of missing values, which no average counts; None if there is none.
        scale: nominal, ordinal or interval.
        hierarchy: of a sensitive attribute, by which t-closeness may be measured; None for any other.
        assume_unlinkable: the steward's reason why the column identifies nobody; None if not assumed.
        unchanged: the steward's reason why the column is released as it is; None if none is stated.
        design: what it is in the design of a survey: weight, stratum or cluster; None if it is none of them.
        rounding: of a weight, its numbers are multiples of this; None if they were not rounded.
        totals: how many people of the population each category has; None if that is not stated.
        keeps_nulls: of a column without categories, that records without a value have none in the release either.
    """

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
    design: DesignPart | None = field(default=None, metadata=SPARSE)
    rounding: float | None = field(default=None, metadata=SPARSE)
    totals: tuple[float, ...] | None = field(default=None, metadata=SPARSE)
    keeps_nulls: bool = field(default=False, metadata=SPARSE)


@frozen
class DataTable:
    """A released table's files in public/, in the order of its rows; how many these are, and their digest."""

    files: tuple[str, ...]
    rows: int
    digest: str


@frozen
class Data:
    """The data files.

    Attributes:
        format: of all.
        csv_formulas: what became of text in CSV that a spreadsheet would run as a formula.
        rows_per_file: of each file of a table but the last; None if every table lies in one.
        tables: by name of the table.
    """

    format: str
    csv_formulas: Handling
    rows_per_file: int | None
    tables: Mapping[str, DataTable]


@frozen
class StatedRequirement:
    """What the policy requires: the privacy model, its options as plain data, and the subgroup it is limited to."""

    model: str
    options: Mapping[str, Json]
    where: Mapping[str, Value]


@frozen
class LedgerPlace:
    """Where a release stands in the ledger that its policy names.

    Attributes:
        head: hash of the entry that its own follows.
        entry: hash of its own.
    """

    head: str
    entry: str


@frozen
class ManifestSeries:
    """The series that a release belongs to: in all of them a person's value is released alike, while it is the same.

    Attributes:
        name: as the policy states it.
        id: of its key: releases of one id, with the same channel, share their noise.
        mechanism: digest of the mechanism and its options, which are frozen beside the channel.
        categories: digest of what the categories of the attributes stand for, frozen likewise.
        persons: how people are told apart, by whole numbers or by text.
    """

    name: str
    id: str
    mechanism: str
    categories: str
    persons: Literal["integer", "text"]


@frozen(slots=False)
class Manifest:
    """All that release.json says.

    Attributes:
        release: its label, such as `2026-11`.
        policy: that it was released under.
        software: that wrote it.
        records: N.
        units: of protection.
        mechanism: the mechanism's name.
        plan_on: parameters were chosen on another table.
        attributes: that are released, in the policy's order.
        channel: its public description; `rrpolicy.channels.json_decoding` makes a channel of it where its plugin is at
        hand. decoders: how to undo it, or that this is withheld.
        tables: what is released.
        data: where it lies.
        requirements: of the policy; without their options where matrices are withheld.
        findings: one for each, with numbers up to the basis release; without any where matrices are withheld.
        utility: one for each gate, without numbers; none where matrices are withheld.
        origins: attribute -> where its parameters come from.
        derived: what it tells of the original.
        assumptions: that the findings rest on.
        governance: what people declared of the policy and decided on it when it was released.
        governance_digest: of that.
        require_signatures: how many keys must have signed it.
        require_roles: in each of these another person must have signed it.
        require_approval: in each of these another person must have approved its policy.
        ledger: where it stands in the ledger; None if the policy names none.
        series: that it belongs to; None if it belongs to none.
        collected: digest of the questionnaire that its records were collected with; None if it was drawn from a table.
        weights_inside: the survey has weights that are not released, so that nothing is known of its population.
        replaces: digest of release.json of the release that it corrects; None if it corrects none.
        test: the draw came from a test's seed; verify refuses it.
        files: path in public/ -> digest of the file's bytes; empty until all are written.
        digest: of all this; "" until then.
    """

    schema: ClassVar[str] = "rrpolicy.release/1"

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
        """Return the distributions that it was written with and that implement a hook, beside rrpolicy's own."""
        return tuple(sorted({p.distribution for p in self.software.plugins if hook in p.hooks} - {"rrpolicy"}))

    @property
    def day(self) -> str | None:
        """Return the label if it is a day, as ISO 8601 writes it: the only date that a release states of itself."""
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
        """Return the attribute that each released column tells of, by the column's name."""
        named = {attribute.name: attribute for attribute in self.attributes}
        return {c.name: named[c.attribute] for c in self.columns if c.attribute in named}

    def missing(self, column: Column) -> Value | None:
        """Return a column's category of missing values; None if it has none."""
        return self.of_column[column.name].nulls if column.name in self.of_column else None

    def escaped(self, column: Column) -> bool:
        """Return whether a column's text is escaped in the file where it begins as a formula does."""
        return (self.data.format, self.data.csv_formulas) == ("csv", "escape") and column.escapable

    @property
    def withheld(self) -> tuple[WithheldDecoder, ...]:
        """Return what is said of the matrices that are withheld; nothing if all are published."""
        return tuple(decoder for decoder in self.decoders if isinstance(decoder, WithheldDecoder))

    @property
    def withholds(self) -> bool:
        """Return whether public/ tells no matrices, and no numbers that they follow from."""
        return self.channel.get("kind") == WITHHELD

    def pattern(self, table: str) -> str:
        """Return what a table is found by in public/: its file, or a pattern that all its files have."""
        first = self.data.tables[table].files[0]
        return first if self.data.rows_per_file is None else f"{first.partition('/')[0]}/*.{self.data.format}"

    def sealed(self, files: Mapping[str, str]) -> Manifest:
        """Return the manifest with the digests of the files that it covers, and its own."""
        whole = replace(self, files=dict(sorted(files.items())))
        return replace(whole, digest=record_digest(whole.to_json()))

    def to_json(self) -> dict[str, Json]:
        """Return release.json; what a release need not have stands in it only where it has it."""
        document = record(self)
        optional = ("ledger", "series", "collected", "weights_inside", "replaces", "test")
        for key in ("require_roles", "require_approval", *optional):
            if not getattr(self, key):
                del document[key]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Manifest:
        """Read what `to_json` wrote; it fits its schema.

        Raises:
            ValueError: if it contradicts itself.
        """
        return read(cls, document)
