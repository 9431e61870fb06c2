"""The policy file as it may be written: tables, keys and types. The other modules of the package settle its meaning.

The descriptions are the editor's help: `rrpolicy export schema` prints them.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from rrpolicy.canonical_json import Value
from rrpolicy.declarations import DesignPart
from rrpolicy.escaping.formulas import ESCAPE_CONVENTION, Handling
from rrpolicy.policy.directions import RELAXABLE_KEYS
from rrpolicy.policy.model import MAX_UNIT_RECORDS
from rrpolicy.policy.rational import Rational

POLICY_SCHEMA_VERSION = 1

_SEMVER = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CATEGORY_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean"]}


def _validation_error(expected: str) -> PydanticCustomError:
    return PydanticCustomError("impossible", "Input should be {expected}", {"expected": expected})


def _single_line(text: str) -> str:
    if not text.strip() or _CONTROL.search(text):
        raise _validation_error("text on one line, not empty")
    return text


def _record_order(text: str) -> str:
    if not re.fullmatch(r"(first|last) by .*\S.*", _single_line(text)):
        raise _validation_error('"first by" or "last by" and a column, such as "first by visit_date"')
    return text


def _semantic_version(text: str) -> str:
    if not re.fullmatch(_SEMVER, text, re.ASCII):
        raise _validation_error('a semantic version such as "1.2.0"')
    return text


def precedence(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[int, int, str], ...]]:
    """Return the sort key of a semantic version: numbers, then releases above their pre-releases, part by part."""
    core, _, early = re.sub(r"\+.*", "", version).partition("-")
    parts = ((0, int(p), "") if p.isdigit() else (1, 0, p) for p in early.split(".") if p)
    return tuple(map(int, core.split("."))), not early, tuple(parts)


def _logo_uri(text: str) -> str:
    if not re.fullmatch(_LOGO, text, re.ASCII):
        raise _validation_error(
            'a data: address of a PNG or JPEG of 48 kB at most, such as "data:image/png;base64,iVBOR…"'
        )
    return text


def _relaxable_key(text: str) -> str:
    if text.rpartition(".")[2] not in RELAXABLE_KEYS:
        raise _validation_error(f"one of {', '.join(RELAXABLE_KEYS)}, or one of them after a dotted key")
    return text


def _non_negative(value: Fraction) -> Fraction:
    if value < 0:
        raise _validation_error("0 or more")
    return value


def _strictly_positive(value: Fraction) -> Fraction:
    if value <= 0:
        raise _validation_error("above 0")
    return value


def _rounding_step(value: Fraction) -> Fraction:
    _strictly_positive(value)
    try:
        step = float(value)
    except OverflowError:
        step = 0.0
    if not step > 0:
        raise _validation_error("above 0, and representable in double precision")
    return value


def category(value: object) -> Value:
    """Read a category; dates and times become text as ISO 8601 has it, a space between the two.

    Raises PydanticCustomError if it is not text without NUL, a finite number, a boolean, a date or a time without
    offset.
    """
    if isinstance(value, (date, time)):
        return moment_text(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(float(value)) < float("inf"):
        return float(value)
    if isinstance(value, str) and "\0" in value:
        raise _validation_error("text without the NUL character")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise _validation_error("a number that fits in 64 bits")
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    raise _validation_error("a category: text, a finite number, true or false, a date or a time")


def moment_text(value: date | time) -> str:
    """Return a date or time as engines spell it.

    Raises PydanticCustomError if it has an offset from UTC.
    """
    if isinstance(value, (datetime, time)) and value.tzinfo is not None:
        raise _validation_error("a date or time without an offset from UTC")
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    return text.rstrip("0") if "." in text else text


def missing_code(value: object) -> Value:
    """Read a code of missing values.

    Raises PydanticCustomError as `category` does, and for a boolean.
    """
    if isinstance(value, bool):
        raise _validation_error("a code: text, a finite number, a date or a time")
    return category(value)


def _single_delimiter(text: str) -> str:
    if (
        len(text) != 1
        or not (text.isascii() and (text == "\t" or text.isprintable()))
        or text.isalnum()
        or text in "\"'.-+"
    ):
        raise _validation_error('one character between fields, such as ";" or "\\t"')
    return text


SingleLineText = Annotated[
    str,
    AfterValidator(_single_line),
    WithJsonSchema({"type": "string", "pattern": r"^[^\u0000-\u001f\u007f]*\S[^\u0000-\u001f\u007f]*$"}),
]
Semver = Annotated[str, AfterValidator(_semantic_version), WithJsonSchema({"type": "string", "pattern": _SEMVER})]
RecordOrder = Annotated[
    str,
    AfterValidator(_record_order),
    WithJsonSchema({"type": "string", "pattern": r"^(first|last) by [^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f]"}),
]
Relaxable = Annotated[
    str,
    AfterValidator(_relaxable_key),
    WithJsonSchema({"type": "string", "pattern": f"(^|\\.)({'|'.join(RELAXABLE_KEYS)})$"}),
]
Category = Annotated[Value, PlainValidator(category), WithJsonSchema(_CATEGORY_SCHEMA)]
Code = Annotated[Value, PlainValidator(missing_code), WithJsonSchema({"type": ["string", "number"]})]
Step = Annotated[Rational, AfterValidator(_rounding_step)]
Total = Annotated[Rational, AfterValidator(_non_negative)]
Delimiter = Annotated[
    str, AfterValidator(_single_delimiter), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 1})
]
_LOGO = f"^data:image/(png|jpeg);base64,[A-Za-z0-9+/]{{4,{4 * 16 * 1024}}}={{0,2}}$"
Logo = Annotated[str, AfterValidator(_logo_uri), WithJsonSchema({"type": "string", "pattern": _LOGO})]
ReleaseModel = Literal["public", "restricted", "enclave"]
Demanded = Literal[
    "owner", "purpose", "recipients", "release_model", "environment", "auxiliary_data", "legal_basis", "licence",
    "approver", "auditor", "approved_by", "review_by",
]  # fmt: skip
Encoding = Literal[
    "utf-8", "utf-16", "latin-1", "iso-8859-2", "iso-8859-7", "iso-8859-9", "iso-8859-15", "windows-1250",
    "windows-1251", "windows-1252", "windows-1253", "windows-1254", "cp437", "cp850", "cp852", "mac-roman", "koi8-r",
    "shift_jis", "euc-jp", "euc-kr", "gb18030", "big5",
]  # fmt: skip
Domain = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "observed"},
                {"type": "array", "items": _CATEGORY_SCHEMA, "minItems": 1, "uniqueItems": True},
            ]
        }
    ),
]
Edges = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2})]
Levels = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": _CATEGORY_SCHEMA, "minItems": 1},
                    },
                },
            ]
        }
    ),
]


class PolicyFileTable(BaseModel):
    """A table of the policy file: unknown keys are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ChangeEntry(PolicyFileTable):
    """Why the policy was made weaker."""

    version: Semver = Field(description="The first version of the policy that is weaker.")
    what: SingleLineText = Field(description="The entry or key that became weaker, as `rrpolicy diff` lists it.")
    why: SingleLineText = Field(description="The reason.")
    who: SingleLineText = Field(description="Who decided it: a role, such as data protection officer.")


class PolicyTable(PolicyFileTable):
    """The owner and the purpose of the release."""

    name: SingleLineText | None = Field(None, description="What the policy is called.")
    version: Semver | None = Field(None, description="The policy's semantic version.")
    owner: SingleLineText | None = Field(None, description="Who is responsible for the policy.")
    purpose: str | None = Field(None, description="What the release is for.")
    extends: SingleLineText | None = Field(None, description="A baseline policy, relative to this file; it is a floor.")
    plugins: list[SingleLineText] | None = Field(
        None, description="Distributions to load plugins from, such as acme-oue>=1.2."
    )
    may_relax: list[Relaxable] | None = Field(None, description="What policies that extend this one may relax.")
    changes: list[ChangeEntry] = Field([], description="Why the policy was made weaker, version by version.")


class AllowsTable(PolicyFileTable):
    """Restrictions of the context, for policies that extend this one and for this one."""

    recipients: list[SingleLineText] | None = Field(None, description="Who may get the data.")
    release_model: list[ReleaseModel] | None = Field(None, description="How the data may be given.")
    environment: list[SingleLineText] | None = Field(None, description="Where the data may be used.")
    legal_basis: list[SingleLineText] | None = Field(None, description="What the release may rest on.")
    licence: list[SingleLineText] | None = Field(None, description="Under which licences the data may be released.")


class ContextTable(PolicyFileTable):
    """Facts that auditors need and no program can compute. All are published; none changes a release."""

    recipients: list[SingleLineText] = Field([], description="Who gets the data, such as accredited researchers.")
    release_model: ReleaseModel | None = Field(
        None, description="public: to everybody; restricted: to who signs for it; enclave: inside a secure environment."
    )
    environment: SingleLineText | None = Field(
        None, description="Where the data will be used, and under which controls."
    )
    auxiliary_data: list[SingleLineText] = Field(
        [], description="Other data, that recipients may have, which were considered; a baseline's are added to."
    )
    legal_basis: SingleLineText | None = Field(None, description="What the release rests on in law.")
    licence: SingleLineText | None = Field(None, description="Of the released data: an SPDX identifier, or an address.")
    approver: SingleLineText | None = Field(None, description="Who is to approve the policy: a role.")
    auditor: SingleLineText | None = Field(None, description="Who is to audit the release: a role.")
    approved_by: SingleLineText | None = Field(
        None, description="Who approved this policy: a role; a baseline's approval is not inherited."
    )
    review_by: date | None = Field(
        None, description="The last valid day of these statements; after it, check and release end with exit status 4."
    )
    organisation: SingleLineText | None = Field(None, description="Whose letterhead the reports bear.")
    address: list[SingleLineText] = Field([], description="Lines below the organisation's name.")
    logo: Logo | None = Field(
        None, description="An image on the reports, as a data: address of a PNG or JPEG of 48 kB at most."
    )
    notices: list[SingleLineText] = Field([], description="Paragraphs of the organisation's own, below the decision.")
    footer: SingleLineText | None = Field(
        None, description="The last line of the reports, such as the number of a form."
    )
    signatories: list[SingleLineText] = Field([], description="Who signs the decision, a box each: roles.")
    demands: list[Demanded] = Field([], description="What has to be stated; of a baseline, in all that extend it.")
    allows: AllowsTable = Field(AllowsTable(), description="What may be stated; of a baseline, in all that extend it.")


class WaiverEntry(PolicyFileTable):
    """A finding that would prevent the release, permitted until a day. Never a [[privacy]] entry."""

    finding: SingleLineText = Field(
        description="What is waived: a utility gate, such as utility/expected-l2?attributes=age; a point of judgement, "
        "such as warning/held-by-one; or review_by. `rrpolicy check` lists the names."
    )
    reason: SingleLineText = Field(description="Why it may stay so.")
    approver: SingleLineText = Field(description="Who lets it be: a role.")
    until: date = Field(description="The last day on which it does.")


class CsvTable(PolicyFileTable):
    """How a CSV file is spelled; `rrpolicy init` finds it out."""

    delimiter: Delimiter | None = Field(None, description="Between fields; default a comma, a tab in a .tsv file.")
    encoding: Encoding = Field("utf-8", description="The encoding of the text.")
    decimal: Literal[".", ","] = Field(".", description="The decimal separator of numbers.")
    quote: Literal['"', "'", ""] = Field('"', description="Around fields, doubled inside of them; empty if none is.")
    skip: int = Field(0, ge=0, le=1000, description="Lines before the header, such as a title.")


class SourceTable(PolicyFileTable):
    """Where the table is."""

    uri: SingleLineText | None = Field(
        None, description="A file, glob, database or demo:survey, relative to this file."
    )
    table: SingleLineText | None = Field(None, description="The table or view inside a database.")
    multiplicity: SingleLineText | None = Field(
        None,
        description="The column with the number of records that each row represents, in a table of distinct "
        "rows with counts.",
    )
    min_rows: int | None = Field(None, ge=1, description="Fewer records are refused.")
    population: SingleLineText | None = Field(None, description="The population that the records were drawn from.")
    missing: list[Code] = Field([], description="Codes for a missing value, in every column without its own list.")
    csv: CsvTable = Field(CsvTable(), description="How a CSV file is spelled.")
    unit: SingleLineText | None = Field(
        None,
        description="The column that identifies units of protection (a person, a household); it is never "
        'released. Default: the only identifier. "each row": each row is protected by itself, no matter whose '
        "it is.",
    )
    max_records: int = Field(
        1,
        ge=1,
        le=MAX_UNIT_RECORDS,
        description="The most records that a unit may have; a greater number weakens the guarantees.",
    )
    one_record_per_unit: RecordOrder | None = Field(
        None,
        description='Which record of each unit is read, such as "first by visit_date" or "last by year": all others '
        "are left out before anything else sees them.",
    )
    other_columns: Literal["refused", "excluded"] = Field(
        "refused",
        description="Columns that [attributes] does not name: refused makes the table an error, excluded drops them.",
    )


class AttributeTable(PolicyFileTable):
    """One column of the table."""

    role: Literal["identifier", "excluded", "quasi-identifier", "sensitive", "insensitive"] = Field(
        description="What the column is to an attacker; identifier and excluded columns are never released."
    )
    domain: Domain = Field(None, description='The categories, or "observed" (a disclosure that the report lists).')
    bins: Edges = Field(
        None, description="Edges of intervals [a, b), the last closed: numbers, which may end in inf, dates or times."
    )
    labels: list[SingleLineText] | None = Field(None, description="The categories that the bins become.")
    outside: Category | None = Field(None, description="The category of what is not in the domain; absent refuses it.")
    nulls: Category | None = Field(
        None,
        description='The category of nulls; "reject" (default) refuses them, and of a column without categories "keep" '
        "releases them.",
    )
    scale: Literal["nominal", "ordinal", "interval"] = Field("nominal", description="How the categories compare.")
    hierarchy: Levels = Field(
        None, description="A semicolon CSV (one row a category, one column a level), or levels of {group = [members]}."
    )
    release_as: SingleLineText | None = Field(None, description="The released column's name; default the column's own.")
    assume_unlinkable: SingleLineText | None = Field(
        None, description="The reason why nobody is linked through this column."
    )
    unchanged: SingleLineText | None = Field(None, description="The reason why this column is released unchanged.")
    design: DesignPart | None = Field(
        None,
        description="The column's part in the survey design, so that estimates and their errors describe the "
        "population: weight (the number of people that a record represents), stratum, or cluster (the "
        "primary sampling unit). A weight may be excluded: it is then used, but not released."
        "",
    )
    rounding: Step | None = Field(
        None,
        description="Of a weight: its numbers are rounded to multiples of this before anything else sees them; what "
        "is above 0 becomes one multiple at least.",
    )
    totals: list[Total] | None = Field(
        None,
        description="How many people of the population each category has, in the order of the domain, known without "
        "the table: estimates of the population are calibrated to them.",
    )
    missing: list[Code] | None = Field(
        None, description="Codes for a missing value in this column, in place of those of [source]."
    )


class PrivacyEntry(PolicyFileTable):
    """A requirement; the model's own options are in the same table."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    model: str = Field(description="The privacy model.")
    where: dict[str, Category] = Field(
        {}, description="The subgroup that the requirement is limited to.", examples=[{"sex": "female"}]
    )


class UtilityEntry(PolicyFileTable):
    """A gate; the metric's own options are in the same table. It states either `max` or `min`."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        frozen=True,
        json_schema_extra={"oneOf": [{"required": ["max"]}, {"required": ["min"]}]},
    )
    metric: str = Field(description="The utility metric.")
    max: Annotated[Rational, AfterValidator(_non_negative)] | None = Field(
        None, description="The most that the metric's expected value may be, where smaller is better."
    )
    min: Annotated[Rational, AfterValidator(_non_negative)] | None = Field(
        None, description="The least that the metric's expected value may be, where larger is better."
    )


class MechanismTable(PolicyFileTable):
    """The mechanism; its own options are in the same table."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    name: str | None = Field(None, description="The mechanism.")
    plan_on: SingleLineText | None = Field(
        None, description="Choose parameters on this table of the same columns: public, or of nobody in the source."
    )
    plan_on_table: SingleLineText | None = Field(
        None, description="The table or view inside the database of `plan_on`."
    )


class ReleaseTable(PolicyFileTable):
    """The contents of the release, and the permitted disclosures."""

    format: str = Field("parquet", description="The released data's format.")
    rows_per_file: int | None = Field(
        None,
        ge=1,
        description="Cut every released table into files of so many rows, and a last one of what remains; of Parquet.",
    )
    accept: list[SingleLineText] = Field(
        [], description="Ids of statistics derived from the data that may be disclosed, as `plan` prints them."
    )
    audit_counts: bool = Field(default=False, description="Whether audit/ may contain exact counts of the original.")
    described_groups: int = Field(
        1, ge=1, le=1_000_000, description="Groups of fewer people than this are not described among the highest risks."
    )
    csv_formulas: Handling = Field(
        "escape",
        description="In the CSV files of public/ (data, and weights with data of any format), "
        f"{ESCAPE_CONVENTION}; "
        "keep leaves it out, and a spreadsheet may run formulas in the data.",
    )
    require_signatures: int = Field(
        0, ge=0, le=16, description="How many keys must have signed a release, so that `verify` accepts it."
    )
    require_roles: list[SingleLineText] = Field(
        [], description="Roles, in each of which another person must have signed a release: `verify --signers FILE`."
    )
    require_approval: list[SingleLineText] = Field(
        [],
        description="Roles, in each of which another person must have approved this policy before anything is "
        "released: `rrpolicy sign POLICY`.",
    )
    signers: SingleLineText | None = Field(
        None, description="The file of allowed signers, relative to this file: whose approvals count."
    )
    protection: Literal["strong", "limited", "weak"] = Field(
        "weak", description="The least grade of protection that a release must have; `plan` prints the grade."
    )
    decoders: Literal["published", "withheld"] = Field(
        "published",
        description="withheld: public/ discloses neither the matrices that randomised the data nor any number "
        "that they "
        "follow from, so that analysts are limited to analyses that are valid without them. It is not a privacy "
        "measure: every"
        " privacy number assumes an attacker who has the matrices."
        "",
    )
    series: SingleLineText | None = Field(
        None,
        description="The series of this release. All its releases draw an unchanged value of a person equally. Needs"
        " [ledger], one record a person, and a key of the series.",
    )


class ReferenceTable(PolicyFileTable):
    """The population: everybody that the records are of, one record a person. It is read as [source] is spelled."""

    uri: SingleLineText | None = Field(
        None, description="The table, such as register.parquet; its columns are named as here."
    )
    table: SingleLineText | None = Field(None, description="The table or view inside a database.")


class BudgetEntry(PrivacyEntry):
    """A requirement on all releases of the same people together; as an entry of [[privacy]]."""


class LedgerTable(PolicyFileTable):
    """The ledger of releases of the same people, and the budget that they have together."""

    file: SingleLineText | None = Field(
        None, description="The ledger's file, relative to this file; `rrpolicy ledger init`."
    )
    overlap: Literal["any", "nested", "same", "none"] = Field(
        "any",
        description="The overlap of this table's people with earlier releases of the population. any: some may be "
        "in both, with other values. nested: of any two tables, one contains all people of the other. "
        "same: it is the same table. none: no person was released before."
        "",
    )
    uncomposed: SingleLineText | None = Field(
        None,
        description="The reason why a release is made that no rule composes with earlier ones; there is then no "
        "guarantee for all releases together.",
    )
    different_values: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="The most different values that a person has of any attribute over all releases of a series; "
        "default: one more with each release.",
    )
    budget: list[BudgetEntry] = Field(
        [],
        description="The requirements for all releases together, written as under [[privacy]]; default: every "
        "entry of [[privacy]]."
        "",
    )


class PolicyFile(PolicyFileTable):
    """A release policy of rrpolicy."""

    schema_: Literal[1] = Field(alias="schema", description="The policy language's version.")
    policy: PolicyTable = Field(PolicyTable(), description="Who is responsible for the release, and its purpose.")
    source: SourceTable = Field(SourceTable(), description="Where the table is.")
    attributes: dict[str, AttributeTable] = Field({}, description="Every column of the table.")
    privacy: list[PrivacyEntry] = Field([], description="The requirements; all must be met.")
    mechanism: MechanismTable = Field(MechanismTable(), description="The mechanism that meets the requirements.")
    utility: list[UtilityEntry] = Field([], description="What the release must still be good for; every entry.")
    release: ReleaseTable = Field(ReleaseTable(), description="The files written, and the accepted disclosures.")
    context: ContextTable = Field(ContextTable(), description="What people declare of the release.")
    waivers: list[WaiverEntry] = Field([], description="Temporary exceptions, and who approves them.")
    ledger: LedgerTable | None = Field(None, description="The ledger of releases of the same people.")
    reference: ReferenceTable | None = Field(
        None, description="The population, against which k-map and delta-presence are counted."
    )
