"""public/croissant.json: the release for tools of machine learning (Croissant 1.1, with properties of RAI 1.0).

It contains no time of writing, so that the same release gives the same bytes: its date is its label, if that is a day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from rrpolicy.canonical_json import Json, file_digest
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.declarations import Role
from rrpolicy.escaping import formulas
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.exports.metadata.datapackage import holds_lists, value_type
from rrpolicy.exports.metadata.method_sentences import alters_values, column_methods, limitations
from rrpolicy.formats.format import CORE_FORMATS, Format, Formats
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.reports.attributes import survey_role_text
from rrpolicy.reports.context import declared_facts
from rrpolicy.wording import VERDICT_WORDS

NAME = "croissant.json"
CONFORMS = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
ALONE = "The requirements cover this release alone. With another release of the same people, they do not apply."
_OWN = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty"),
    *("fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator"),
    *("source", "subField", "transform"),
)
_CONTEXT: Mapping[str, Json] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _OWN},
}
_DATA_TYPES = {
    "string": "sc:Text",
    "boolean": "sc:Boolean",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "date": "sc:Date",
    "time": "sc:Time",
    "datetime": "sc:DateTime",
}
_ALSO = {"application/vnd.apache.parquet": ("application/x-parquet",)}
"""Registered media type -> the types with which clients of Croissant recognise the format."""
_USAGE = ("recipients", "release_model", "environment", "legal_basis")


def croissant(manifest: Manifest, public: Path, formats: Formats = CORE_FORMATS) -> dict[str, Json]:
    """Return the description of a dataset.

    The manifest needs no `files` and no `digest` yet.
    """
    policy, licence = manifest.policy, manifest.governance.context.licence
    published = manifest.day
    form = formats[manifest.data.format]
    return {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": [*CONFORMS],
        "name": policy.name,
        "version": policy.version,
        "description": _dataset_description(manifest),
        **({"creator": {"@type": "sc:Organization", "name": policy.owner}} if policy.owner else {}),
        **({"license": licence} if licence else {}),
        **({"datePublished": published} if published else {}),
        "usageInfo": _usage_conditions(manifest),
        "prov:wasDerivedFrom": {
            "@type": "prov:Entity",
            "prov:label": _provenance_text(manifest),
        },
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": f"release under the policy with the digest {policy.digest}",
            "prov:wasAssociatedWith": {
                "@type": "prov:SoftwareAgent",
                "prov:label": f"rrpolicy {manifest.software.rrpolicy}, mechanism {manifest.mechanism}",
            },
        },
        **_rai_properties(manifest),
        "distribution": [part for table in manifest.tables for part in _file_objects(table, manifest, public, form)],
        "recordSet": [_table_record_set(table, manifest) for table in manifest.tables],
    }


def _provenance_text(manifest: Manifest) -> str:
    if manifest.collected is not None:
        return (
            f"the answers of {manifest.records} records, randomised before they were sent; no table "
            f"contains the originals"
        )
    return f"the original table of {manifest.records} records, which is not part of the release"


def _dataset_description(manifest: Manifest) -> str:
    policy = manifest.policy
    what = f"{manifest.records} records, released under the policy {policy.name} {policy.version}."
    purpose = [f"Purpose: {policy.purpose}"] if policy.purpose else []
    return " ".join([what, *limitations(manifest.decoders), *purpose])


def _usage_conditions(manifest: Manifest) -> list[Json]:
    """Return the conditions of use: a reference to them, and the declarations of [context]."""
    facts = declared_facts(manifest.governance.context)
    conditions = [{"name": facts[key].name, "text": facts[key].value} for key in _USAGE if key in facts]
    works = [{"name": "How to estimate from these data", "url": "README.md"}, *conditions]
    return [{"@type": "CreativeWork", **work} for work in works]


def _rai_properties(manifest: Manifest) -> dict[str, Json]:
    """Return the properties of the RAI vocabulary, only from policy, findings and [context]."""
    policy, review = manifest.policy, manifest.governance.context.review_by
    held = [f"{f.model}: {f.stated} ({VERDICT_WORDS[f.verdict]})." for f in manifest.findings if f.verdict]
    treated = [
        *(t.words for t in column_methods(manifest.decoders)),
        "The publisher withholds the parameters."
        if manifest.withholds
        else "release.json has the exact parameters (channel, decoders).",
    ]
    found: dict[str, Json] = {
        "rai:personalSensitiveInformation": [*_column_roles(manifest)],
        "rai:dataManipulationProtocol": " ".join([*treated, "Requirements of the policy:", *held]),
        "rai:dataLimitations": [*limitations(manifest.decoders), *manifest.assumptions, ALONE],
    }
    if review:
        found["rai:dataReleaseMaintenancePlan"] = f"To be reviewed by {review}; nothing is released after that day."
    if policy.purpose:
        found["rai:dataUseCases"] = [policy.purpose]
    return found


def _column_roles(manifest: Manifest) -> list[str]:
    unchanged = {name for d in manifest.decoders if not alters_values(d) for name in d.attributes}
    told = []
    for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER, Role.INSENSITIVE):
        names = [a.release_as for a in manifest.attributes if a.role is role]
        same = [a.release_as for a in manifest.attributes if a.role is role and a.name in unchanged]
        if names:
            told.append(
                f"{role.value}: {quoted_list(names)}" + (f"; released unchanged: {quoted_list(same)}" if same else "")
            )
    return told


def _file_objects(table: TableSpec, manifest: Manifest, public: Path, form: Format) -> Iterator[Json]:
    """Yield the files of a table, and the set of them that its records come from if there may be several."""
    encoded: list[Json] = [form.media_type, *_ALSO.get(form.media_type, ())]
    names = manifest.data.tables[table.name].files
    for name in names:
        yield {
            "@type": "cr:FileObject",
            "@id": _local_id(name),
            "name": name,
            "contentUrl": name,
            "encodingFormat": encoded,
            "sha256": file_digest(public / name).removeprefix("sha256:"),
        }
    if manifest.data.rows_per_file is not None:
        found = manifest.pattern(table.name)
        yield {
            "@type": "cr:FileSet",
            "@id": _local_id(found),
            "name": found,
            "encodingFormat": encoded,
            "includes": found,
        }


def _table_record_set(table: TableSpec, manifest: Manifest) -> Json:
    return {
        "@type": "cr:RecordSet",
        "@id": _local_id(table.name),
        "name": table.name,
        "description": f"{manifest.data.tables[table.name].rows} rows",
        "field": [_column_field(column, table, manifest) for column in table.columns],
    }


def _column_field(column: Column, table: TableSpec, manifest: Manifest) -> Json:
    written = manifest.data.format == "csv" and holds_lists(column)
    held = "fileObject" if manifest.data.rows_per_file is None else "fileSet"
    field: dict[str, Json] = {
        "@type": "cr:Field",
        "@id": _local_id(table.name, column.name),
        "name": column.name,
        "description": "; ".join(_column_notes(column, manifest, written=written)),
        "dataType": "sc:Text" if written else _DATA_TYPES[value_type(column)],
        "source": {held: {"@id": _local_id(manifest.pattern(table.name))}, "extract": {"column": column.name}},
    }
    if holds_lists(column) and not written:
        field |= {"isArray": True, "arrayShape": "-1"}
    return field


def _column_notes(column: Column, manifest: Manifest, *, written: bool) -> list[str]:
    told = [f"{column.kind} of the attribute {column.attribute}" if column.attribute else column.kind]
    attribute = manifest.of_column.get(column.name)
    if attribute is not None and attribute.design is not None:
        told.append(survey_role_text(attribute))
    missing = manifest.missing(column)
    if missing is not None and missing in column.labels:
        told.append(f"{missing!r} represents a missing value")
    if written:
        told.append("lists, as JSON text")
    if manifest.escaped(column):
        told.append(formulas.ESCAPE_CONVENTION)
    return told


def _local_id(*names: str) -> str:
    """Return an identifier inside this file: no column name turns it into another address."""
    return "/".join(quote(name, safe="") for name in names)
