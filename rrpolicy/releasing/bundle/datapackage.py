"""public/datapackage.json: the release as a Data Package (v2), for tools that know nothing of rrpolicy.

A function of the manifest and the data files' sizes and digests; verify writes it again and compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rrpolicy.canonical import Json, file_digest
from rrpolicy.channel.document import read_column
from rrpolicy.channel.table import text
from rrpolicy.untrusted import formulas

NAME = "datapackage.json"
PROFILES = "https://datapackage.org/profiles/2.0"
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
_MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "duckdb": "application/vnd.duckdb.file",
}


def datapackage(document: Mapping[str, Any], public: Path) -> dict[str, Json]:
    """Return the data package's description.

    Args:
        document: release.json, without need of `files` and `digest`.
        public: the folder with the data files.
    """
    policy = document["policy"]
    return {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": _slug(policy["name"]),
        "title": policy["name"],
        "version": policy["version"],
        "description": policy["purpose"],
        "contributors": [{"title": policy["owner"], "roles": ["publisher"]}] if policy["owner"] else [],
        "resources": [_resource(table, document, public) for table in document["tables"]],
        "rrpolicy": {
            "schema": document["schema"],
            "release": document["release"],
            "records": document["records"],
            "note": "values are randomised as `channel` says: estimate with `decoders`, do not count them as they are",
            "channel": document["channel"],
            "decoders": document["decoders"],
            "assumptions": document["assumptions"],
        },
    }


def _resource(table: Mapping[str, Any], document: Mapping[str, Any], public: Path) -> Json:
    form, data = document["data"]["format"], document["data"]["tables"][table["name"]]
    path = public / data["path"]
    blank = _may_be_blank(table, document)
    resource: dict[str, Json] = {
        "name": _slug(table["name"]),
        "path": data["path"],
        "$schema": f"{PROFILES}/dataresource.json",
        "format": form,
        "mediatype": _MEDIA[form],
        "hash": file_digest(path),
        "schema": {
            "$schema": f"{PROFILES}/tableschema.json",
            "fields": [_field(column, document, form, blank=blank) for column in table["columns"]],
            "missingValues": [""],
        },
        "rrpolicy": {"rows": data["rows"], "digest": data["digest"], "sort": table["sort"], **_joins(table)},
    }
    if form != "duckdb":
        resource["type"] = "table"
    if form == "csv":
        resource["bytes"] = path.stat().st_size  # the client cannot count those of Parquet, and then calls it invalid
        resource["encoding"] = "utf-8"
        resource["dialect"] = {
            "$schema": f"{PROFILES}/tabledialect.json",
            "delimiter": ",",
            "quoteChar": '"',
            "doubleQuote": True,
            "lineTerminator": "\r\n",
        }
    return resource


def _joins(table: Mapping[str, Any]) -> dict[str, Json]:
    """Return the columns by which a table is joined with others: many rows with many, so that none is a foreign key."""
    return {"joins": table["joins"]} if table["joins"] else {}


def _attribute(column: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((a for a in document["attributes"] if a["name"] == column["attribute"]), {})


def _may_be_blank(table: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return whether a row may hold nothing but missing values, which clients take for an error of the file."""
    return all(c["kind"] == "carried" or _attribute(c, document).get("nulls") in c["labels"] for c in table["columns"])


def _field(column: Mapping[str, Any], document: Mapping[str, Any], form: str, *, blank: bool) -> Json:
    attribute = _attribute(column, document)
    field: dict[str, Json] = {"name": column["name"], "type": _type(column, form)}
    if form == "csv" and _escaped(column, document):
        field["description"] = formulas.CONVENTION
    if column["kind"] == "set":
        field["description"] = "a list of categories" + (", as JSON text" if form == "csv" else "")
    elif column["labels"]:
        spelled = dict(zip(column["labels"], _spelled(column, document, form), strict=True))
        missing = attribute.get("nulls")
        field["constraints"] = {"enum": list(spelled.values()), "required": True}
        if missing in spelled and blank:
            told = f"{missing!r} stands for a value that is missing"
            field["description"] = "; ".join([told, *([str(field["description"])] if "description" in field else [])])
        elif missing in spelled:  # a reader that knows missing values takes it for none, and none is no error
            field["missingValues"] = ["", str(spelled.pop(missing))]
            field["constraints"] = {"enum": list(spelled.values())}
    field["rrpolicy"] = {
        "kind": column["kind"],
        "attribute": column["attribute"],
        "labels": column["labels"],
        "role": attribute.get("role"),
        "scale": attribute.get("scale"),
    }
    return field


def _spelled(column: Mapping[str, Any], document: Mapping[str, Any], form: str) -> list[Json]:
    """Return a column's labels as the data file holds them."""
    labels: list[Json] = list(column["labels"])
    if _type(column, form) != "string":
        return labels
    texts = [text(label) for label in labels]  # type: ignore[arg-type]
    return [formulas.escaped(t) for t in texts] if form == "csv" and _escaped(column, document) else [*texts]


def _escaped(column: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Return whether a column's text is escaped in CSV where it begins as a formula does."""
    return bool(document["data"]["csv_formulas"] == "escape" and read_column(dict(column)).escapable)


def _type(column: Mapping[str, Any], form: str) -> str:
    """Return the type of a column: of Parquet's lists "any", as the client takes its own reading of them for none."""
    from rrpolicy.releasing.tables.column_types import of_labels

    if column["kind"] == "set" or column["type"].endswith("[]"):
        return "any" if form == "parquet" else "array"
    kind = (column["type"] or of_labels(tuple(column["labels"]))).partition("(")[0]
    if kind.startswith("TIMESTAMP"):
        return "datetime"
    return _TYPES.get(kind, "integer" if kind.endswith("INT") or kind == "INTEGER" else "string")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "release"
