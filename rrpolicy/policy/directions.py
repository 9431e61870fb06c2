"""The direction in which each key of the policy language is weaker: a policy may not go there below its baseline.

A weaker value lets a release pass that the baseline refuses, or discloses more than the baseline permits. A key that is
not in this table fails a test. `rrpolicy.policy.baseline.floor` works from it; docs/how-to/baselines.md has the table
in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

NAME_KEY = "name"
REJECT_VALUE = "reject"
"""The value of a column's `nulls` and `outside` that refuses such values."""


class Direction(Enum):
    """The kinds of change by which a key becomes weaker."""

    NEVER = "never"
    APPENDED = "never: entries are added to the baseline's, none is taken away"
    STATED = "when stated, where the baseline does not state it"
    ASSUMED = "when stated, where the baseline does not state it, or for another reason"
    ADMITTED = "when stated for a column that the baseline declares without it"
    SET = "when it is"
    LOWERED = "when lowered"
    RAISED = "when raised"
    CHANGED = "when other than the baseline's"
    TABLE = "when other than the baseline's, or stated where the baseline declares its table and does not state it"
    HELD = "when a category of the baseline has another meaning under the same name"
    FINER = "when it distinguishes what the baseline does not, or is in another order, or is not declared"
    UNIT = "when other units of protection are distinguished than in the baseline, or none"
    ROLE = "when changed, but to a dropped role, or from insensitive"
    LEDGER = "when other than the baseline's, if that keeps a ledger; of `overlap`, unless it is `any`"
    CLAIMED = "when lowered, or stated where the baseline states none, if that keeps a ledger"
    PASSED_ON = "when it lists an entry that the baseline does not allow to be relaxed"
    WIDENED = "when it lists what the baseline does not list"
    WIDER = "when it comes later in its order: enclave, restricted, public; strong, limited, weak"
    LATER = "when later"


class DirectionRule(Struct, frozen=True):
    """The direction of a key.

    Attributes:
        direction: the direction in which the key is weaker.
        why: the reason, for docs/how-to/baselines.md.
        value: for LEDGER, the strictest value, which is the default; for SET, the weaker value; for WIDER, the values
            in order, the narrowest first; for STATED and ADMITTED, the value without effect; for LOWERED and RAISED,
            the default number, None for no limit; for CHANGED and TABLE, NAME if the text is not a file name.
    """

    direction: Direction
    why: str
    value: object = None


_LOCATION = "it declares where the data are or how they are read; no requirement depends on it"
_PERSONS = "it informs readers and decides nothing"
_REQUIRED = "the baseline's entries apply unchanged, whatever else is required"
_CODES = "a code less is released as a value, a code more hides a value from the requirements that count it"
_TOLD = "it records why this policy was made weaker; a baseline's entries are not inherited"
_DECLARED = "the baseline states it for all that extend it"
_NARROWED = "what the baseline allows may be narrowed, never widened"
_WAIVED = "the entry counts as a whole: see `waivers`"
_DECIDED = "the requirements decide, whatever the mechanism does"


def _same(section: str, keys: str, rule: DirectionRule) -> dict[str, DirectionRule]:
    """Return one rule for several keys of a section."""
    return {f"{section}.{key}": rule for key in keys.split()}


DIRECTION_RULES: Mapping[str, DirectionRule] = {
    "schema": DirectionRule(Direction.NEVER, "it is the version of the language"),
    **_same("policy", "name version owner purpose", DirectionRule(Direction.NEVER, _PERSONS)),
    "policy.extends": DirectionRule(Direction.NEVER, "`check --extends FILE` demands a baseline"),
    "policy.plugins": DirectionRule(Direction.APPENDED, "what a plugin offers has its own name"),
    **_same("policy.changes", "version what why who", DirectionRule(Direction.NEVER, _TOLD)),
    "policy.may_relax": DirectionRule(Direction.PASSED_ON, "only the baseline's owner lets the baseline be relaxed"),
    **_same("source", "uri table", DirectionRule(Direction.NEVER, _LOCATION)),
    "source.multiplicity": DirectionRule(
        Direction.TABLE, "a column of counts, or of anything else, would set how many people a row represents", NAME_KEY
    ),
    "source.min_rows": DirectionRule(Direction.LOWERED, "a table that came in part is accepted"),
    "source.missing": DirectionRule(Direction.CHANGED, _CODES),
    **_same("source.csv", "delimiter encoding decimal quote skip", DirectionRule(Direction.NEVER, _LOCATION)),
    "source.population": DirectionRule(Direction.LEDGER, "releases of another population have a separate budget"),
    "source.unit": DirectionRule(Direction.UNIT, "every guarantee protects a unit with all its records"),
    "source.other_columns": DirectionRule(
        Direction.SET, "a column that nobody thought of is dropped without a decision", value="excluded"
    ),
    "source.max_records": DirectionRule(
        Direction.RAISED, "a unit may have more records, which reveal more about it", value=1
    ),
    "source.one_record_per_unit": DirectionRule(
        Direction.TABLE, "other records of each unit are read, or a unit may have several", NAME_KEY
    ),
    "attributes.*.role": DirectionRule(Direction.ROLE, "the role determines who may be harmed"),
    "attributes.*.domain": DirectionRule(
        Direction.FINER, "more is revealed about each person, or the domain comes from the data"
    ),
    "attributes.*.bins": DirectionRule(Direction.FINER, "more is revealed about each person"),
    "attributes.*.labels": DirectionRule(
        Direction.HELD, "a requirement for a category would cover other people; the same for `nulls` and `outside`"
    ),
    "attributes.*.outside": DirectionRule(Direction.ADMITTED, "values that were refused are accepted", REJECT_VALUE),
    "attributes.*.nulls": DirectionRule(Direction.ADMITTED, "nulls that were refused are accepted", REJECT_VALUE),
    "attributes.*.scale": DirectionRule(Direction.NEVER, "a requirement with distances declares them itself"),
    "attributes.*.hierarchy": DirectionRule(
        Direction.CHANGED, "t-closeness by the hierarchy would measure something else"
    ),
    "attributes.*.release_as": DirectionRule(Direction.NEVER, "it is a name"),
    "attributes.*.assume_unlinkable": DirectionRule(Direction.ASSUMED, "every guarantee rests on it"),
    "attributes.*.unchanged": DirectionRule(Direction.STATED, "a column may then be released unchanged"),
    "attributes.*.design": DirectionRule(
        Direction.NEVER, "it informs analysts about the sample design, and decides nothing"
    ),
    "attributes.*.rounding": DirectionRule(Direction.CHANGED, "the weight may reveal more about each person", NAME_KEY),
    "attributes.*.totals": DirectionRule(Direction.NEVER, "they are known of the population without the table"),
    "attributes.*.missing": DirectionRule(Direction.CHANGED, _CODES),
    **_same("privacy", "model where", DirectionRule(Direction.APPENDED, _REQUIRED)),
    "privacy.decided_by": DirectionRule(Direction.SET, "what is not certain may pass", value="estimate"),
    "privacy.*": DirectionRule(Direction.APPENDED, _REQUIRED),
    "mechanism.name": DirectionRule(Direction.NEVER, _DECIDED),
    "mechanism.plan_on": DirectionRule(
        Direction.TABLE, "parameters would be chosen on another table, such as the source itself"
    ),
    "mechanism.plan_on_table": DirectionRule(Direction.TABLE, "parameters would be chosen on another table", NAME_KEY),
    "mechanism.*": DirectionRule(Direction.NEVER, _DECIDED),
    **_same("utility", "metric max min *", DirectionRule(Direction.APPENDED, _REQUIRED)),
    "reference.uri": DirectionRule(Direction.TABLE, "another table would be taken for the population"),
    "reference.table": DirectionRule(Direction.TABLE, "another table would be taken for the population", NAME_KEY),
    "release.format": DirectionRule(Direction.NEVER, "the same values are written"),
    "release.rows_per_file": DirectionRule(Direction.NEVER, "the same values are written in the same order"),
    "release.accept": DirectionRule(Direction.STATED, "a statistic of the data is disclosed"),
    "release.described_groups": DirectionRule(Direction.LOWERED, "smaller groups of people are described in audit/", 1),
    "release.audit_counts": DirectionRule(Direction.SET, "exact counts are in audit/", value=True),
    "release.csv_formulas": DirectionRule(
        Direction.SET, "a spreadsheet may run text of the data as a formula", value="keep"
    ),
    "release.require_signatures": DirectionRule(Direction.LOWERED, "fewer people approve a release", value=0),
    "release.require_roles": DirectionRule(Direction.APPENDED, "required signers still sign"),
    "release.require_approval": DirectionRule(Direction.APPENDED, "required approvers still approve"),
    "release.signers": DirectionRule(Direction.CHANGED, "other people's approvals and signatures would count"),
    "release.protection": DirectionRule(
        Direction.WIDER, "a weaker grade of protection passes", ("strong", "limited", "weak")
    ),
    "release.decoders": DirectionRule(Direction.NEVER, "every requirement assumes an attacker who has the matrices"),
    "release.series": DirectionRule(
        Direction.LEDGER, "anyone who links releases sees whose value changed, and when it came back"
    ),
    "context.recipients": DirectionRule(Direction.WIDENED, "another person gets the data"),
    "context.release_model": DirectionRule(
        Direction.WIDER, "more people get the data", ("enclave", "restricted", "public")
    ),
    "context.environment": DirectionRule(Direction.CHANGED, _DECLARED, NAME_KEY),
    "context.auxiliary_data": DirectionRule(Direction.APPENDED, "what was considered for the baseline was considered"),
    **_same("context", "legal_basis licence approver auditor", DirectionRule(Direction.CHANGED, _DECLARED, NAME_KEY)),
    "context.approved_by": DirectionRule(
        Direction.NEVER, "an approval is of one policy; a baseline's is not inherited"
    ),
    "context.review_by": DirectionRule(Direction.LATER, "what was to be looked at again by then is not"),
    **_same("context", "organisation address logo", DirectionRule(Direction.NEVER, _PERSONS)),
    "context.notices": DirectionRule(Direction.APPENDED, "the organisation's statement is included"),
    "context.footer": DirectionRule(Direction.NEVER, _PERSONS),
    "context.signatories": DirectionRule(Direction.APPENDED, "required signers still sign"),
    "context.demands": DirectionRule(Direction.APPENDED, "what the baseline demands stays demanded"),
    **_same(
        "context.allows",
        "recipients release_model environment legal_basis licence",
        DirectionRule(Direction.WIDENED, _NARROWED),
    ),
    "waivers": DirectionRule(
        Direction.STATED,
        "a gate or review of the baseline, or a warning, is waived; a policy may waive only its own entries",
    ),
    **_same("waivers", "finding reason approver until", DirectionRule(Direction.NEVER, _WAIVED)),
    "ledger.file": DirectionRule(Direction.CHANGED, "another ledger does not know what was released before"),
    "ledger.overlap": DirectionRule(Direction.LEDGER, "less counts against the budget", value="any"),
    "ledger.different_values": DirectionRule(Direction.CLAIMED, "less counts against the budget"),
    "ledger.uncomposed": DirectionRule(Direction.LEDGER, "a release that no rule composes is made all the same"),
    "ledger.budget": DirectionRule(
        Direction.LEDGER, "only this would be required of all releases together, not every requirement"
    ),
    **_same("ledger.budget", "model where *", DirectionRule(Direction.APPENDED, _REQUIRED)),
}
"""Dotted key -> its rule; `*` stands for a column, or for the other options of a plugin."""

_FREE = frozenset({Direction.NEVER, Direction.APPENDED, Direction.ROLE, Direction.PASSED_ON})
RELAXABLE_KEYS = tuple(
    dict.fromkeys(key.rpartition(".")[2] for key, rule in DIRECTION_RULES.items() if rule.direction not in _FREE)
)
"""The keys that a baseline's `may_relax` may name."""
