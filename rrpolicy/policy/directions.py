"""In which direction each key of the policy language is weaker: a policy may not go there below its baseline.

Weaker is what lets a release pass that the baseline refuses, or tells more than the baseline lets be told. A key that
is not in this table fails a test. `rrpolicy.policy.baseline.floor` works from it; docs/how-to/baselines.md has the
table in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from rrpolicy.frozen_dataclass import frozen

NAME = "name"
REJECT = "reject"
"""What `nulls` and `outside` of a column say where such values are refused."""


class Direction(Enum):
    """What of a key is weaker, in words."""

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


@frozen
class Rule:
    """The direction of a key.

    Attributes:
        direction: in which the key is weaker.
        why: the reason, for docs/how-to/baselines.md.
        value: of LEDGER, the strictest value, which stands where none is stated; of SET, the weaker value; of WIDER,
            the values from the narrowest on; of STATED and ADMITTED, the value that says nothing; of LOWERED and
            RAISED, the number that stands where none is stated, None for no limit; of CHANGED and TABLE, NAME where
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

RULES: Mapping[str, Rule] = {
    "schema": Rule(Direction.NEVER, "it is the version of the language"),
    "policy.name": Rule(Direction.NEVER, _PERSONS),
    "policy.version": Rule(Direction.NEVER, _PERSONS),
    "policy.owner": Rule(Direction.NEVER, _PERSONS),
    "policy.purpose": Rule(Direction.NEVER, _PERSONS),
    "policy.extends": Rule(Direction.NEVER, "`check --extends FILE` demands a baseline"),
    "policy.plugins": Rule(Direction.APPENDED, "what a plugin offers has a name of its own"),
    "policy.changes.version": Rule(Direction.NEVER, _TOLD),
    "policy.changes.what": Rule(Direction.NEVER, _TOLD),
    "policy.changes.why": Rule(Direction.NEVER, _TOLD),
    "policy.changes.who": Rule(Direction.NEVER, _TOLD),
    "policy.may_relax": Rule(Direction.PASSED_ON, "only the baseline's owner lets the baseline be relaxed"),
    "source.uri": Rule(Direction.NEVER, _LOCATION),
    "source.table": Rule(Direction.NEVER, _LOCATION),
    "source.multiplicity": Rule(
        Direction.TABLE, "a column of counts, or of anything else, would say how many people a row is", NAME
    ),
    "source.min_rows": Rule(Direction.LOWERED, "a table that came in part is accepted"),
    "source.missing": Rule(Direction.CHANGED, _CODES),
    "source.csv.delimiter": Rule(Direction.NEVER, _LOCATION),
    "source.csv.encoding": Rule(Direction.NEVER, _LOCATION),
    "source.csv.decimal": Rule(Direction.NEVER, _LOCATION),
    "source.csv.quote": Rule(Direction.NEVER, _LOCATION),
    "source.csv.skip": Rule(Direction.NEVER, _LOCATION),
    "source.population": Rule(Direction.LEDGER, "releases of another population have a budget of their own"),
    "source.unit": Rule(Direction.UNIT, "every guarantee speaks of a unit, all of whose records are one's own"),
    "source.other_columns": Rule(
        Direction.SET, "a column that nobody thought of is dropped without a decision", value="excluded"
    ),
    "source.max_records": Rule(Direction.RAISED, "a unit may have more records, which tell more of it", value=1),
    "attributes.*.role": Rule(Direction.ROLE, "the role says who may be harmed"),
    "attributes.*.domain": Rule(Direction.FINER, "more is told of each person, or the data tell what the domain is"),
    "attributes.*.bins": Rule(Direction.FINER, "more is told of each person"),
    "attributes.*.labels": Rule(
        Direction.HELD,
        "a requirement of a category would hold for other people; so with `nulls` and `outside`",
    ),
    "attributes.*.outside": Rule(Direction.ADMITTED, "values that were refused are accepted", REJECT),
    "attributes.*.nulls": Rule(Direction.ADMITTED, "nulls that were refused are accepted", REJECT),
    "attributes.*.scale": Rule(Direction.NEVER, "a requirement that goes by distances names them itself"),
    "attributes.*.hierarchy": Rule(Direction.CHANGED, "t-closeness by the hierarchy would measure something else"),
    "attributes.*.release_as": Rule(Direction.NEVER, "it is a name"),
    "attributes.*.assume_unlinkable": Rule(Direction.ASSUMED, "every guarantee rests on it"),
    "attributes.*.unchanged": Rule(Direction.STATED, "a column may then be released as it is"),
    "attributes.*.design": Rule(Direction.NEVER, "it tells analysts how the sample was drawn, and decides nothing"),
    "attributes.*.rounding": Rule(Direction.CHANGED, "more may be told of each person by the weight", NAME),
    "attributes.*.totals": Rule(Direction.NEVER, "they are known of the population without the table"),
    "attributes.*.missing": Rule(Direction.CHANGED, _CODES),
    "privacy.model": Rule(Direction.APPENDED, _REQUIRED),
    "privacy.where": Rule(Direction.APPENDED, _REQUIRED),
    "privacy.decided_by": Rule(Direction.SET, "what is not certain may pass", value="estimate"),
    "privacy.*": Rule(Direction.APPENDED, _REQUIRED),
    "mechanism.name": Rule(Direction.NEVER, _DECIDED),
    "mechanism.plan_on": Rule(
        Direction.TABLE, "parameters would be chosen on another table, such as the source itself"
    ),
    "mechanism.plan_on_table": Rule(Direction.TABLE, "parameters would be chosen on another table", NAME),
    "mechanism.*": Rule(Direction.NEVER, _DECIDED),
    "utility.metric": Rule(Direction.APPENDED, _REQUIRED),
    "utility.max": Rule(Direction.APPENDED, _REQUIRED),
    "utility.min": Rule(Direction.APPENDED, _REQUIRED),
    "utility.*": Rule(Direction.APPENDED, _REQUIRED),
    "reference.uri": Rule(Direction.TABLE, "another table would be taken for the population"),
    "reference.table": Rule(Direction.TABLE, "another table would be taken for the population", NAME),
    "release.format": Rule(Direction.NEVER, "the same values are written"),
    "release.rows_per_file": Rule(Direction.NEVER, "the same values are written in the same order"),
    "release.accept": Rule(Direction.STATED, "a statistic of the data is disclosed"),
    "release.described_groups": Rule(Direction.LOWERED, "smaller groups of people are described in audit/", 1),
    "release.audit_counts": Rule(Direction.SET, "exact counts stand in audit/", value=True),
    "release.csv_formulas": Rule(Direction.SET, "a spreadsheet may run text of the data as a formula", value="keep"),
    "release.require_signatures": Rule(Direction.LOWERED, "fewer people stand behind a release", value=0),
    "release.require_roles": Rule(Direction.APPENDED, "who has to sign still signs"),
    "release.require_approval": Rule(Direction.APPENDED, "who has to approve still approves"),
    "release.signers": Rule(Direction.CHANGED, "other people's approvals and signatures would count"),
    "release.protection": Rule(Direction.WIDER, "a weaker grade of protection passes", ("strong", "limited", "weak")),
    "release.decoders": Rule(Direction.NEVER, "every requirement is held against an attacker who has the matrices"),
    "release.series": Rule(
        Direction.LEDGER, "anyone who links releases sees whose value changed, and when it came back"
    ),
    "context.recipients": Rule(Direction.WIDENED, "somebody else gets the data"),
    "context.release_model": Rule(Direction.WIDER, "more people get the data", ("enclave", "restricted", "public")),
    "context.environment": Rule(Direction.CHANGED, _DECLARED, NAME),
    "context.auxiliary_data": Rule(Direction.APPENDED, "what was considered for the baseline was considered"),
    "context.legal_basis": Rule(Direction.CHANGED, _DECLARED, NAME),
    "context.licence": Rule(Direction.CHANGED, _DECLARED, NAME),
    "context.approver": Rule(Direction.CHANGED, _DECLARED, NAME),
    "context.auditor": Rule(Direction.CHANGED, _DECLARED, NAME),
    "context.approved_by": Rule(Direction.NEVER, "an approval is of one policy; a baseline's is not inherited"),
    "context.review_by": Rule(Direction.LATER, "what was to be looked at again by then is not"),
    "context.organisation": Rule(Direction.NEVER, _PERSONS),
    "context.address": Rule(Direction.NEVER, _PERSONS),
    "context.logo": Rule(Direction.NEVER, _PERSONS),
    "context.notices": Rule(Direction.APPENDED, "what the organisation has to say is said"),
    "context.footer": Rule(Direction.NEVER, _PERSONS),
    "context.signatories": Rule(Direction.APPENDED, "who has to sign still signs"),
    "context.demands": Rule(Direction.APPENDED, "what the baseline demands stays demanded"),
    "context.allows.recipients": Rule(Direction.WIDENED, _NARROWED),
    "context.allows.release_model": Rule(Direction.WIDENED, _NARROWED),
    "context.allows.environment": Rule(Direction.WIDENED, _NARROWED),
    "context.allows.legal_basis": Rule(Direction.WIDENED, _NARROWED),
    "context.allows.licence": Rule(Direction.WIDENED, _NARROWED),
    "waivers": Rule(
        Direction.STATED,
        "a gate or review that the baseline asks for, or a warning, is let be; a policy may waive what it alone asks",
    ),
    "waivers.finding": Rule(Direction.NEVER, _WAIVED),
    "waivers.reason": Rule(Direction.NEVER, _WAIVED),
    "waivers.approver": Rule(Direction.NEVER, _WAIVED),
    "waivers.until": Rule(Direction.NEVER, _WAIVED),
    "ledger.file": Rule(Direction.CHANGED, "another ledger does not know what was released before"),
    "ledger.overlap": Rule(Direction.LEDGER, "less is held against the budget", value="any"),
    "ledger.different_values": Rule(Direction.CLAIMED, "less is held against the budget"),
    "ledger.uncomposed": Rule(Direction.LEDGER, "a release that no rule composes is made all the same"),
    "ledger.budget": Rule(
        Direction.LEDGER, "what must hold of all releases together would be that, and not every requirement"
    ),
    "ledger.budget.model": Rule(Direction.APPENDED, _REQUIRED),
    "ledger.budget.where": Rule(Direction.APPENDED, _REQUIRED),
    "ledger.budget.*": Rule(Direction.APPENDED, _REQUIRED),
}
"""Dotted key -> its rule; `*` stands for a column, or for the other options of a plugin."""

_FREE = frozenset({Direction.NEVER, Direction.APPENDED, Direction.ROLE, Direction.PASSED_ON})
RELAXABLE = tuple(dict.fromkeys(key.rpartition(".")[2] for key, rule in RULES.items() if rule.direction not in _FREE))
"""What a baseline's `may_relax` may name."""
