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
"""The value of a column's `nulls` and `outside` by which such values are refused."""


class Direction(Enum):
    """The kinds of change by which a key becomes weaker."""

    NEVER = "never"
    APPENDED = "never: entries are added to the baseline's, none is taken away"
    STATED = "when stated, where the baseline does not state it"
    ASSUMED = "when stated, where the baseline does not state it, or for another reason"
    ADMITTED = "when stated of a column that the baseline names without it"
    SET = "when it is"
    LOWERED = "when lowered"
    RAISED = "when raised"
    CHANGED = "when other than the baseline's"
    TABLE = "when other than the baseline's, or stated where the baseline names its table and does not state it"
    HELD = "when a category of the baseline holds something else under the same name"
    FINER = "when it tells apart what the baseline does not, or is in another order, or is not declared"
    UNIT = "when other units of protection are told apart than in the baseline, or none"
    ROLE = "when changed, but to a dropped role, or from insensitive"
    LEDGER = "when other than the baseline's, if that keeps a ledger; of `overlap`, unless it is `any`"
    CLAIMED = "when lowered, or stated where the baseline states none, if that keeps a ledger"
    PASSED_ON = "when it names what the baseline does not let be relaxed"
    WIDENED = "when it lists what the baseline does not list"
    WIDER = "when it comes later in its order: enclave, restricted, public; strong, limited, weak"
    LATER = "when later"


class DirectionRule(Struct, frozen=True):
    """The direction of a key.

    Attributes:
        direction: in which the key is weaker.
        why: the reason, for docs/how-to/baselines.md.
        value: of LEDGER, the strictest value, which is the default; of SET, the weaker value; of WIDER,
            the values in order, the narrowest first; of STATED and ADMITTED, the value without effect; of LOWERED and
            RAISED, the default number, None for no limit; of CHANGED and TABLE, NAME where
            text names no file.
    """

    direction: Direction
    why: str
    value: object = None


_LOCATION = "it says where the data are, or how they are read; the table is the same to every requirement"
_PERSONS = "it is said to people and decides nothing"
_REQUIRED = "the baseline's entries hold as they stand, whatever else is required"
_CODES = "a code less is released as a value, a code more hides a value from the requirements that count it"
_TOLD = "it says why this policy was made weaker; a baseline's entries are not inherited"
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
    "policy.plugins": DirectionRule(Direction.APPENDED, "what a plugin offers has a name of its own"),
    **_same("policy.changes", "version what why who", DirectionRule(Direction.NEVER, _TOLD)),
    "policy.may_relax": DirectionRule(Direction.PASSED_ON, "only the baseline's owner lets the baseline be relaxed"),
    **_same("source", "uri table", DirectionRule(Direction.NEVER, _LOCATION)),
    "source.multiplicity": DirectionRule(
        Direction.TABLE, "a column of counts, or of anything else, would say how many people a row is", NAME_KEY
    ),
    "source.min_rows": DirectionRule(Direction.LOWERED, "a table that came in part is accepted"),
    "source.missing": DirectionRule(Direction.CHANGED, _CODES),
    **_same("source.csv", "delimiter encoding decimal quote skip", DirectionRule(Direction.NEVER, _LOCATION)),
    "source.population": DirectionRule(Direction.LEDGER, "releases of another population have a budget of their own"),
    "source.unit": DirectionRule(
        Direction.UNIT, "every guarantee speaks of a unit, all of whose records are one's own"
    ),
    "source.other_columns": DirectionRule(
        Direction.SET, "a column that nobody thought of is dropped without a decision", value="excluded"
    ),
    "source.max_records": DirectionRule(
        Direction.RAISED, "a unit may have more records, which tell more of it", value=1
    ),
    "source.one_record_per_unit": DirectionRule(
        Direction.TABLE, "other records of each unit are read, or a unit may have several", NAME_KEY
    ),
    "attributes.*.role": DirectionRule(Direction.ROLE, "the role says who may be harmed"),
    "attributes.*.domain": DirectionRule(
        Direction.FINER, "more is told of each person, or the data tell what the domain is"
    ),
    "attributes.*.bins": DirectionRule(Direction.FINER, "more is told of each person"),
    "attributes.*.labels": DirectionRule(
        Direction.HELD, "a requirement of a category would hold for other people; so with `nulls` and `outside`"
    ),
    "attributes.*.outside": DirectionRule(Direction.ADMITTED, "values that were refused are accepted", REJECT_VALUE),
    "attributes.*.nulls": DirectionRule(Direction.ADMITTED, "nulls that were refused are accepted", REJECT_VALUE),
    "attributes.*.scale": DirectionRule(Direction.NEVER, "a requirement that goes by distances names them itself"),
    "attributes.*.hierarchy": DirectionRule(
        Direction.CHANGED, "t-closeness by the hierarchy would measure something else"
    ),
    "attributes.*.release_as": DirectionRule(Direction.NEVER, "it is a name"),
    "attributes.*.assume_unlinkable": DirectionRule(Direction.ASSUMED, "every guarantee rests on it"),
    "attributes.*.unchanged": DirectionRule(Direction.STATED, "a column may then be released as it is"),
    "attributes.*.design": DirectionRule(
        Direction.NEVER, "it tells analysts how the sample was drawn, and decides nothing"
    ),
    "attributes.*.rounding": DirectionRule(
        Direction.CHANGED, "more may be told of each person by the weight", NAME_KEY
    ),
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
    "release.audit_counts": DirectionRule(Direction.SET, "exact counts stand in audit/", value=True),
    "release.csv_formulas": DirectionRule(
        Direction.SET, "a spreadsheet may run text of the data as a formula", value="keep"
    ),
    "release.require_signatures": DirectionRule(Direction.LOWERED, "fewer people stand behind a release", value=0),
    "release.require_roles": DirectionRule(Direction.APPENDED, "who has to sign still signs"),
    "release.require_approval": DirectionRule(Direction.APPENDED, "who has to approve still approves"),
    "release.signers": DirectionRule(Direction.CHANGED, "other people's approvals and signatures would count"),
    "release.protection": DirectionRule(
        Direction.WIDER, "a weaker grade of protection passes", ("strong", "limited", "weak")
    ),
    "release.decoders": DirectionRule(
        Direction.NEVER, "every requirement is held against an attacker who has the matrices"
    ),
    "release.series": DirectionRule(
        Direction.LEDGER, "anyone who links releases sees whose value changed, and when it came back"
    ),
    "context.recipients": DirectionRule(Direction.WIDENED, "somebody else gets the data"),
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
    "context.notices": DirectionRule(Direction.APPENDED, "what the organisation has to say is said"),
    "context.footer": DirectionRule(Direction.NEVER, _PERSONS),
    "context.signatories": DirectionRule(Direction.APPENDED, "who has to sign still signs"),
    "context.demands": DirectionRule(Direction.APPENDED, "what the baseline demands stays demanded"),
    **_same(
        "context.allows",
        "recipients release_model environment legal_basis licence",
        DirectionRule(Direction.WIDENED, _NARROWED),
    ),
    "waivers": DirectionRule(
        Direction.STATED,
        "a gate or review that the baseline asks for, or a warning, is let be; a policy may waive what it alone asks",
    ),
    **_same("waivers", "finding reason approver until", DirectionRule(Direction.NEVER, _WAIVED)),
    "ledger.file": DirectionRule(Direction.CHANGED, "another ledger does not know what was released before"),
    "ledger.overlap": DirectionRule(Direction.LEDGER, "less is held against the budget", value="any"),
    "ledger.different_values": DirectionRule(Direction.CLAIMED, "less is held against the budget"),
    "ledger.uncomposed": DirectionRule(Direction.LEDGER, "a release that no rule composes is made all the same"),
    "ledger.budget": DirectionRule(
        Direction.LEDGER, "what must hold of all releases together would be that, and not every requirement"
    ),
    **_same("ledger.budget", "model where *", DirectionRule(Direction.APPENDED, _REQUIRED)),
}
"""Dotted key -> its rule; `*` stands for a column, or for the other options of a plugin."""

_FREE = frozenset({Direction.NEVER, Direction.APPENDED, Direction.ROLE, Direction.PASSED_ON})
RELAXABLE_KEYS = tuple(
    dict.fromkeys(key.rpartition(".")[2] for key, rule in DIRECTION_RULES.items() if rule.direction not in _FREE)
)
"""The keys that a baseline's `may_relax` may name."""
