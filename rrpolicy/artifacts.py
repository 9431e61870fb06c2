"""The JSON documents that rrpolicy writes or prints, each with the class that its JSON Schema is generated from.

`python -m rrpolicy.artifacts FOLDER` writes the schemas; `make schemas` calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args

from rrpolicy.canonical_json import pretty
from rrpolicy.errors import ExitStatus
from rrpolicy.serialization import json_schema


class Artifact(NamedTuple):
    """A document.

    Attributes:
        title: the places in which the document is found.
        where: its class, or the alias of the classes that it may have, as `module:name`.
        printed: whether a command prints it, with its exit status as the first key.
    """

    title: str
    where: str
    printed: bool = False


ARTIFACTS: Mapping[str, Artifact] = {
    "alternatives": Artifact("audit/comparison.json; audit-class", "reports.alternatives:AlternativesRecord"),
    "attack": Artifact("audit/attack.json, and `rrpolicy attack --json`; audit-class", "attacks.result:AttackReport"),
    "audit": Artifact("audit/audit.json", "bundle.audit:AuditRecord"),
    "check": Artifact("rrpolicy check --json", "planning.check_document:CheckDocument"),
    "check-table": Artifact("rrpolicy check-table --json", "table_risk.table:TableCheck", printed=True),
    "comparison": Artifact(
        "rrpolicy compare --json", "governance.compare.comparison:CandidateComparison", printed=True
    ),
    "diff": Artifact("rrpolicy diff --json", "governance.diff.changes:Difference", printed=True),
    "findings": Artifact("audit/findings.json", "bundle.audit:FindingsDocument"),
    "inventory": Artifact("rrpolicy ledger inventory --json", "compliance.inventory:Inventory"),
    "key": Artifact("the key of a plan; as secret as the data", "planning.keys:KeyDocument"),
    "ledger": Artifact("a line of a ledger", "governance.ledger.entry:Entry"),
    "ledger-shown": Artifact("rrpolicy ledger show --json", "governance.ledger.show:ListedLedger"),
    "ledger-verification": Artifact("rrpolicy ledger verify --json", "governance.ledger.verify:LedgerVerification"),
    "packs": Artifact("rrpolicy init packs --json", "governance.packs.pack:PackList"),
    "plan": Artifact("a plan: `plan --json`, `plan --out`, and audit/plan.json", "planning.plan:PlanDocument"),
    "plugins": Artifact("rrpolicy plugins --json", "cli.program.plugins:PluginList"),
    "problems": Artifact("rrpolicy COMMAND --json, if the command fails", "policy.diagnostics:ProblemsDocument"),
    "questionnaire": Artifact("questionnaire.json", "collection.questionnaire:Questionnaire"),
    "release": Artifact("public/release.json", "manifest.manifest:Manifest"),
    "released": Artifact("rrpolicy release --json", "bundle.release_request:WrittenBundle"),
    "report": Artifact("the content of a page, and `rrpolicy report --format json`", "report:Report"),
    "series-key": Artifact("the key of a series; as secret as the data", "planning.keys:SeriesKeyDocument"),
    "test": Artifact("rrpolicy test --json", "governance.cases.run:PolicyTestReport", printed=True),
    "verification": Artifact("rrpolicy verify --json", "verification.outcome:Verification"),
}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document.

    Raises:
        KeyError: if there is no such document.
    """
    artifact = ARTIFACTS[name]
    module, _, kind = artifact.where.partition(":")
    found = json_schema(getattr(import_module(f"rrpolicy.{module}"), kind), artifact.title)
    if artifact.printed:
        status = get_args(ExitStatus)[1].extra_json_schema
        found["properties"] = {"exit_status": {"type": "integer", **status}, **found["properties"]}
        found["required"] = ["exit_status", *found["required"]]
    return found


if __name__ == "__main__":
    for each in ARTIFACTS:
        Path(sys.argv[1], f"rrpolicy.{each}-1.json").write_bytes(pretty(schema(each)))
