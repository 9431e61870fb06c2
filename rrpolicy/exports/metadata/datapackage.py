"""public/datapackage.json: the release as a Data Package (v2), for tools without support for rrpolicy.

A function of the manifest and the data files' sizes and digests; verify writes it again and compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from rrpolicy.canonical_json import Json, category_text, file_digest
from rrpolicy.channels.table import Column, TableSpec, engine_type_of
from rrpolicy.escaping import formulas
from rrpolicy.exports.metadata.method_sentences import limitations
from rrpolicy.formats.format import CORE_FORMATS, Format, Formats
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.serialization import plain

_TYPES = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DOUBLE": "number",
    "FLOAT": "number",
    "DECIMAL": "number",
    "DATE": "date",
    "TIME": "time",
    "UUID": "string",
}


def holds_lists(column: Column) -> bool:
    """Return whether a value of the column is a list."""
    return column.kind == "set" or column.type.endswith("[]")


def value_type(column: Column) -> str:
    """Return the type of a column's values, or of the entries of its lists."""
    kind = (column.type or engine_type_of(column.labels)).removesuffix("[]").partition("(")[0]
    if kind.startswith("TIMESTAMP"):
        return "datetime"
    return _TYPES.get(kind, "integer" if kind.endswith(("INT", "INTEGER")) else "string")


NAME = "datapackage.json"
PROFILES = "https://datapackage.org/profiles/2.0"


def datapackage(manifest: Manifest, public: Path, formats: Formats = CORE_FORMATS) -> dict[str, Json]:
    """Return the data package's description.

    The manifest needs no `files` and no `digest` yet.
    """
    policy = manifest.policy
    return {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": _resource_name(policy.name),
        "title": policy.name,
        "version": policy.version,
        "description": policy.purpose,
        "contributors": [{"title": policy.owner, "roles": ["publisher"]}] if policy.owner else [],
        **_licence_entries(manifest.governance.context.licence),
        "resources": [
            _table_resource(table, part, manifest, public, formats[manifest.data.format])
            for table in manifest.tables
            for part in range(len(manifest.data.tables[table.name].files))
        ],
        "rrpolicy": {
            "schema": manifest.schema,
            "release": manifest.release,
            "records": manifest.records,
            "note": " ".join(limitations(manifest.decoders)),
            "channel": plain(manifest.channel),
            "decoders": plain(manifest.decoders),
            "assumptions": plain(manifest.assumptions),
            "governance": manifest.governance.to_json(),
            "governance_digest": manifest.governance_digest,
        },
    }


def _licence_entries(licence: str | None) -> dict[str, Json]:
    """Return the licence in the standard's form: by the name of a known one, or by an address."""
    if licence is None:
        return {}
    if re.fullmatch(r"https?://\S+", licence):
        return {"licenses": [{"path": licence}]}
    if re.fullmatch(r"[A-Za-z0-9._+-]+", licence):
        return {"licenses": [{"name": licence}]}
    return {}  # a licence in words is only in the governance


def _table_resource(table: TableSpec, part: int, manifest: Manifest, public: Path, written: Format) -> Json:
    """Return a file of a table as a resource: several files of one resource would have to be one when concatenated."""
    form, data, cut = written.name, manifest.data.tables[table.name], manifest.data.rows_per_file
    path = public / data.files[part]
    blank = _may_be_blank(table, manifest)
    held: dict[str, Json] = {"rows": data.rows, "digest": data.digest}
    if cut is not None:
        held = {"table": table.name, "rows": min(cut, data.rows - part * cut)}
    resource: dict[str, Json] = {
        "name": _resource_name(table.name if cut is None else f"{table.name}-{part:05d}"),
        "path": data.files[part],
        "$schema": f"{PROFILES}/dataresource.json",
        "format": form,
        "mediatype": written.media_type,
        "hash": file_digest(path),
        "schema": {
            "$schema": f"{PROFILES}/tableschema.json",
            "fields": [_field_descriptor(column, manifest, blank=blank) for column in table.columns],
            "missingValues": [""],
        },
        "rrpolicy": {**held, "sort": plain(table.sort), **_join_columns(table)},
    }
    if written.packaged:
        resource["type"] = "table"
    if form == "csv":
        resource["bytes"] = path.stat().st_size  # the client cannot count those of Parquet, and reports an error
        resource["encoding"] = "utf-8"
        resource["dialect"] = {
            "$schema": f"{PROFILES}/tabledialect.json",
            "delimiter": ",",
            "quoteChar": '"',
            "doubleQuote": True,
            "lineTerminator": "\r\n",
        }
    return resource


def _join_columns(table: TableSpec) -> dict[str, Json]:
    """Return the columns that join a table with others: many-to-many, so that no column is a foreign key."""
    return {"joins": plain(table.joins)} if table.joins else {}


def _may_be_blank(table: TableSpec, manifest: Manifest) -> bool:
    """Return whether a row may consist only of missing values, which clients report as an error of the file."""
    return all(c.kind == "carried" or manifest.missing(c) in c.labels for c in table.columns)


def _field_descriptor(column: Column, manifest: Manifest, *, blank: bool) -> Json:
    form, attribute = manifest.data.format, manifest.of_column.get(column.name)
    field: dict[str, Json] = {"name": column.name, "type": _field_type(column, form)}
    if manifest.escaped(column):
        field["description"] = formulas.ESCAPE_CONVENTION
    if column.kind == "set":
        field["description"] = "a list of categories" + (", as JSON text" if form == "csv" else "")
    elif column.labels:
        spelled = dict(zip(column.labels, _label_spellings(column, manifest), strict=True))
        missing = manifest.missing(column)
        field["constraints"] = {"enum": list(spelled.values()), "required": True}
        if missing in spelled and blank:
            told = f"{missing!r} represents a missing value"
            field["description"] = "; ".join([told, *([str(field["description"])] if "description" in field else [])])
        elif missing in spelled:  # a reader that supports missing values reads it as null, which is valid
            field["missingValues"] = ["", str(spelled.pop(missing))]
            field["constraints"] = {"enum": list(spelled.values())}
    field["rrpolicy"] = {
        "kind": column.kind,
        "attribute": column.attribute,
        "labels": plain(column.labels),
        "role": None if attribute is None else attribute.role.value,
        "scale": None if attribute is None else attribute.scale,
        **({} if attribute is None or attribute.design is None else {"design": attribute.design}),
    }
    return field


def _label_spellings(column: Column, manifest: Manifest) -> list[Json]:
    """Return a column's labels as in the data file."""
    if _field_type(column, manifest.data.format) != "string":
        return [*column.labels]
    texts = map(category_text, column.labels)
    return [formulas.escape_formula(t) if manifest.escaped(column) else t for t in texts]


def _field_type(column: Column, form: str) -> str:
    """Return the type of a column: "any" for Parquet's lists, as the client does not accept its reading of them."""
    if holds_lists(column):
        return "any" if form == "parquet" else "array"
    return value_type(column)


def _resource_name(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "release"
