"""Declarations and approvals of a release on its pages: stated, not computed."""

from __future__ import annotations

from rrpolicy.declarations import Context, Governance
from rrpolicy.frozen import replace
from rrpolicy.report import Fact, Letterhead
from rrpolicy.serialization import record

MODELS = {
    "public": "public: anybody may have the data",
    "restricted": "restricted: who signs for them may have the data",
    "enclave": "enclave: the data stay inside a secure environment",
}
NAMES = {
    "recipients": "Recipients",
    "release_model": "Release model",
    "environment": "Environment",
    "auxiliary_data": "Other data that were considered",
    "legal_basis": "Legal basis",
    "licence": "Licence",
    "approver": "To approve",
    "auditor": "To audit",
    "approved_by": "Approved by",
    "review_by": "To be reviewed by",
}


def context_facts(governance: Governance, digest: str) -> tuple[Fact, ...]:
    """Return the declared facts, each under its name; empty without declarations."""
    facts = [*declared_facts(governance.context).values()]
    facts += [Fact(f"Waiver of {waiver.finding}", str(waiver)) for waiver in governance.waivers]
    facts += [Fact(f"Changed in {c.version}: {c.what}", f"{c.why} ({c.who})") for c in governance.changes]
    return (*facts, Fact("Digest of what was declared", digest)) if facts else ()


def letterhead(context: Context) -> Letterhead | None:
    """Return the organisation's letterhead of the pages; None without one."""
    made = Letterhead(
        context.organisation or "",
        context.address,
        context.logo or "",
        context.notices,
        context.footer or "",
        context.signatories,
    )
    return None if made == Letterhead() else made


def declared_facts(context: Context) -> dict[str, Fact]:
    """Return the declarations of [context], by key."""
    stated = record(context)
    return {key: Fact(name, _context_value_text(stated[key])) for key, name in NAMES.items() if key in stated}


def declaration_sentences(governance: Governance) -> tuple[str, ...]:
    """Return the declarations and the reasons for weakening the policy, each with its name; waivers are elsewhere."""
    told = context_facts(replace(governance, waivers=()), "")[:-1]
    return tuple(f"{fact.name}: {fact.value}" for fact in told)


def _context_value_text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return MODELS.get(str(value), str(value))
