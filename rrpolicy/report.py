"""The report as data: one documented dataclass from which every output format is made.

`rrpolicy.reports.report_builder` fills it, renderers (a plugin) print it. A public page is filled from public artifacts
alone, so it cannot show an audit number. Findings carry formatted text, so that every output format agrees; plotted
values (matrices, marginals, histograms, shares of limits) stay numeric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Literal, Protocol

from rrpolicy.canonical_json import Json
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.reading import read
from rrpolicy.serialization.writing import record

SCHEMA = "rrpolicy.report/1"
"""Version of the report's JSON; an added field keeps it, any other change needs the next version."""


@frozen
class Fact:
    """A name with its value, as text."""

    name: str = field(metadata={"help": "what is told"})
    value: str = field(metadata={"help": "what it is"})


@frozen
class Section:
    """A mechanism's own part: paragraphs, facts and a table."""

    title: str = field(metadata={"help": "its heading"})
    paragraphs: tuple[str, ...] = field(default=(), metadata={"help": "plain text"})
    facts: tuple[Fact, ...] = field(default=(), metadata={"help": "names with values"})
    header: tuple[str, ...] = field(default=(), metadata={"help": "column heads of the table"})
    table: tuple[tuple[str, ...], ...] = field(default=(), metadata={"help": "rows of the table"})
    bars: tuple[float, ...] = field(
        default=(), metadata={"help": "a share for each row of the table, to be drawn beside it; or none"}
    )
    shares: str = field(default="", metadata={"help": "what the shares are of: the head of their column"})


@frozen
class CompanionRow:
    """A number that must be read beside a finding."""

    name: str = field(metadata={"help": "what is measured"})
    value: str = field(metadata={"help": "formatted, with its standard error if it is an estimate"})
    standing: str = field(metadata={"help": "exact, upper bound or estimate"})
    meaning: str = field(metadata={"help": "what the number says, in plain words"})
    of: str = field(default="", metadata={"help": "the value that it is of; empty for the finding as a whole"})
    given: tuple[str, ...] = field(
        default=(), metadata={"help": "ids of the derived statistics that it is conditional on"}
    )


@frozen
class Tile:
    """One of the three answers that head the page, in plain words."""

    name: str = field(metadata={"help": "what is answered"})
    figure: str = field(metadata={"help": "the worst number for anybody, in words"})
    meaning: str = field(metadata={"help": "what it says, and of whom; names stand between backticks"})
    limited: str = field(metadata={"help": "whether the policy limits this number; empty where that is no question"})
    tone: Literal["limited", "open", "plain"] = field(
        metadata={"help": "open: a reader would call it disclosure, and the policy does not limit it"}
    )


@frozen
class RiskRow:
    """What an attacker attains of one risk, without the release and with it (audit page only)."""

    name: str = field(metadata={"help": "which risk: reading a column, or finding a person's record"})
    grade: Literal["strong", "limited", "weak", "none"] = field(metadata={"help": "the grade of this risk"})
    before: float = field(metadata={"help": "share of people read rightly, or found, without the release"})
    statistics: float | None = field(
        metadata={"help": "the same, with statistics of people who agree in the quasi-identifiers; None of finding"}
    )
    after: float = field(metadata={"help": "the same, with the released records"})
    record: float | None = field(
        metadata={"help": "the same, for an attacker who knows which record is a person's; None of finding"}
    )
    told: str = field(metadata={"help": "these numbers in a sentence"})
    worst: str = field(metadata={"help": "the same for the person worst off, in a sentence"})
    certain: str = field(metadata={"help": "of how many people the attacker is certain, in a sentence"})
    rule: str = field(metadata={"help": "the rule that decided the grade, with its number"})
    brief: str = field(default="", metadata={"help": "the average and the worst, without and with the release"})
    known: str = field(default="", metadata={"help": "the same if the record is known; empty of finding"})


@frozen
class ProtectionPanel:
    """How strong a release is (audit page only)."""

    grade: Literal["strong", "limited", "weak", "none"] = field(metadata={"help": "of the release as a whole"})
    tone: Literal["good", "plain", "care", "bad"] = field(
        metadata={"help": "good only where the grade is strong, a requirement limits something and nothing is assumed"}
    )
    heading: str = field(metadata={"help": "the grade in sentences, with what it does not show"})
    rule: str = field(metadata={"help": "the rule that decided the grade, with its number"})
    rows: tuple[RiskRow, ...] = field(metadata={"help": "reading each sensitive column, then finding a record"})


@frozen
class LimitLine:
    """A limit that a histogram is read against."""

    at: float = field(metadata={"help": "the limit"})
    of: str = field(metadata={"help": "the values that it is of; empty for all"})


@frozen
class Histogram:
    """How a risk is spread over people (audit page only)."""

    quantity: str = field(metadata={"help": "what is spread, in words"})
    edges: tuple[float, ...] = field(
        metadata={"help": "len(people) + 1 increasing bounds; the first bin is closed at both ends"}
    )
    people: tuple[int, ...] = field(metadata={"help": "people in each bin, in the release"})
    before: tuple[int, ...] | None = field(metadata={"help": "the same for the untouched table, where it is known"})
    top: tuple[tuple[str, float, int], ...] = field(
        metadata={"help": "the groups at the top: description, value, people"}
    )
    limits: tuple[LimitLine, ...] = field(
        default=(), metadata={"help": "the limits of what is spread; none where the requirement limits another number"}
    )


@frozen
class FindingRow:
    """One requirement, as the page shows it. Numbers are formatted; the exact ones stand in findings.json."""

    model: str = field(metadata={"help": "the privacy model's name, as in the policy"})
    requirement: str = field(metadata={"help": "the requirement with its limit"})
    verdict: str = field(metadata={"help": "holds, fails, undecided; or measured, where there is no limit"})
    achieved: str | None = field(
        metadata={"help": "the number achieved; None where this page may not show it, or nothing was achieved"}
    )
    standing: str | None = field(metadata={"help": "exact, upper bound or estimate"})
    limit: str | None = field(metadata={"help": "the limit, exact; None where there is none"})
    margin: str | None = field(metadata={"help": "how far the achieved number is from the limit"})
    basis: str = field(metadata={"help": "the least that recomputes the number: policy, channel, release or original"})
    adversary: str = field(metadata={"help": "which attacker the number is of, in a sentence"})
    assumptions: tuple[str, ...] = field(metadata={"help": "what this finding assumes"})
    companions: tuple[CompanionRow, ...] = field(metadata={"help": "related measures"})
    not_covered: tuple[str, ...] = field(metadata={"help": "what the requirement does not say, in plain words"})
    histogram: Histogram | None = field(metadata={"help": "how the risk is spread over people (audit page only)"})
    groups_over: int | None = field(metadata={"help": "equivalence classes over the limit (audit page only)"})
    people_over: int | None = field(metadata={"help": "people in them (audit page only)"})
    reference: str = field(metadata={"help": "where the formula stands"})
    assessor: str = field(metadata={"help": "who computed it"})
    place: str | None = field(
        metadata={
            "help": "where the policy asks for it; the audit page names the file, which may be one that is extended"
        }
    )
    achieved_of: str | None = field(
        default=None, metadata={"help": "`attribute = value` of which the number achieved is, where it is of one alone"}
    )
    given: tuple[str, ...] = field(
        default=(), metadata={"help": "ids of the derived statistics that the finding is conditional on"}
    )
    promise: str = field(
        default="", metadata={"help": "the requirement as a sentence for people; empty if its model says none"}
    )
    used: float | None = field(
        default=None,
        metadata={
            "help": "share of the limit that is used up: 1 at the limit, more where it is missed; None if unknown"
        },
    )
    by_limit: tuple[Fact, ...] = field(
        default=(),
        metadata={
            "help": "where values have limits of their own, for each limit the value nearest to it, with both numbers"
        },
    )


@frozen
class MatrixPanel:
    """A transition matrix as a heat map: `rows[u][v]` = Pr(released u | original v); every column adds to 1."""

    released: tuple[str, ...] = field(metadata={"help": "the released categories, one a row"})
    original: tuple[str, ...] = field(metadata={"help": "the original categories, one a column"})
    rows: tuple[tuple[float, ...], ...] = field(metadata={"help": "probabilities, (released, original)"})


@frozen
class AttributePanel:
    """One released attribute: how it was treated."""

    name: str = field(metadata={"help": "in the original table"})
    released_as: str = field(metadata={"help": "in the released table"})
    role: str = field(metadata={"help": "quasi-identifier, sensitive or insensitive"})
    treatment: str = field(metadata={"help": "randomised by retention, by a matrix, released as it is, …"})
    origin: str = field(metadata={"help": "fixed by the policy, solved, or chosen from the data"})
    parameters: tuple[Fact, ...] = field(metadata={"help": "probabilities, with the exact fraction"})
    matrix: MatrixPanel | None = field(metadata={"help": "None where nothing is randomised, or it is too big to read"})
    domain: str = field(metadata={"help": "declared by the policy, or observed in the data; and how many categories"})
    reason: str = field(
        default="", metadata={"help": "why it is released as it is, in the policy's words; empty if it is not"}
    )
    change: str = field(default="", metadata={"help": "what becomes of its values, in a few words"})
    changed: tuple[float, float] | None = field(
        default=None,
        metadata={
            "help": "share of values that another one is released for, of the category it is least likely for and of "
            "the one it is likeliest for; None where nothing is exchanged by chance"
        },
    )


@frozen
class MarginalRow:
    """One category: shares of the original (audit), of the release, and reconstructed with its interval."""

    category: str = field(metadata={"help": "the category"})
    original: float | None = field(metadata={"help": "share of the original table, rounded (audit page only)"})
    released: float | None = field(
        metadata={"help": "share of the released table, as it stands there; None where the category cannot be released"}
    )
    estimate: float = field(metadata={"help": "share reconstructed from the release; may lie outside [0, 1]"})
    low: float = field(metadata={"help": "lower end of the interval"})
    high: float = field(metadata={"help": "upper end of the interval"})
    remark: str | None = field(metadata={"help": "why the interval is to be read with care"})


@frozen
class MarginalPanel:
    """The one-way table of an attribute."""

    attribute: str = field(metadata={"help": "the released column"})
    level: float = field(metadata={"help": "of the intervals, such as 0.95; 1 where they are limits that are certain"})
    rows: tuple[MarginalRow, ...] = field(metadata={"help": "in the order of the domain"})
    remark: str | None = field(metadata={"help": "what else there is to say of it"})
    left_out: int = field(metadata={"help": "categories not shown: the rarest in the release"})
    of: Literal["categories", "labels", "inside labels"] = field(
        default="categories",
        metadata={
            "help": "what the rows are: categories; released labels of a generalised column, whose shares are exact; "
            "or the categories inside these labels, with limits that are certain"
        },
    )


@frozen
class UtilityRow:
    """A utility metric: expected (may gate), and realised (audit page only, never gates)."""

    metric: str = field(metadata={"help": "its name"})
    attributes: str = field(metadata={"help": "over which attributes"})
    expected: str | None = field(metadata={"help": "the expectation over draws; None where this page may not show it"})
    standing: str | None = field(metadata={"help": "of the expectation: exact, upper bound or estimate"})
    limit: str | None = field(metadata={"help": "the most, or the least, it may be; None where nothing is asked"})
    verdict: str | None = field(metadata={"help": "holds, fails or undecided; None where nothing is asked"})
    realised: str | None = field(metadata={"help": "what this draw attained (audit page only)"})
    meaning: str = field(metadata={"help": "what the number says"})
    waived: str | None = field(
        default=None, metadata={"help": "until when, by whom and why it may stay unmet; None if nobody waives it"}
    )
    companions: tuple[CompanionRow, ...] = field(
        default=(), metadata={"help": "numbers that must be read beside the expectation (audit page only)"}
    )
    used: float | None = field(default=None, metadata={"help": "as of a requirement"})


@frozen
class PairPanel:
    """The expected errors of one-way and two-way shares (audit page only): what is square and symmetric, below."""

    names: tuple[str, ...] = field(metadata={"help": "the attributes, in the order of rows and columns"})
    errors: tuple[tuple[float | None, ...], ...] = field(
        metadata={
            "help": "row i has i + 1 entries: root mean squared error of the shares of attribute j with i, of i alone "
            "on the diagonal; None where nothing is randomised or it takes more to tell"
        }
    )
    impossible: tuple[tuple[str, ...], ...] = field(metadata={"help": "combinations that cannot be estimated"})
    useless: tuple[str, ...] = field(
        default=(),
        metadata={"help": "how many of them can be used, where some cannot, in sentences"},
    )
    usable: tuple[Fact, ...] = field(
        default=(), metadata={"help": "which tables are good, rough and not usable, by their expected errors"}
    )


@frozen
class AssociationRow:
    """A pair of columns, and how strongly they go together (audit page only)."""

    columns: tuple[str, ...] = field(metadata={"help": "the two released columns"})
    original: str = field(metadata={"help": "Cramér's V in the original table"})
    estimate: str | None = field(
        metadata={"help": "estimated from the release; None where it lets nothing be estimated"}
    )
    error: str | None = field(metadata={"help": "standard error of the estimate; None where there is none"})


@frozen
class Letterhead:
    """What an organisation puts on the pages, as the policy's [context] states it."""

    organisation: str = field(default="", metadata={"help": "its name"})
    address: tuple[str, ...] = field(default=(), metadata={"help": "lines below it"})
    logo: str = field(default="", metadata={"help": "an image, as a data: address"})
    notices: tuple[str, ...] = field(default=(), metadata={"help": "paragraphs below the decision"})
    footer: str = field(default="", metadata={"help": "the last line"})
    signatories: tuple[str, ...] = field(default=(), metadata={"help": "who signs the decision, a box each"})


@frozen
class Obstacle:
    """What stands in the way of a release (page of a plan only)."""

    code: str = field(metadata={"help": "such as RR101; `rrpolicy explain` says more"})
    message: str = field(metadata={"help": "what is wrong"})
    expected: str = field(metadata={"help": "what would do; empty if that is not told"})
    hint: str = field(metadata={"help": "what to do; empty if that is not told"})
    place: str = field(metadata={"help": "line and key of the policy; empty if it is of no line"})


@frozen
class Spread:
    """Where an attack's success lies among those that are as predicted."""

    attained: float = field(metadata={"help": "what the attack came to"})
    predicted: float = field(metadata={"help": "its expectation over all draws"})
    low: float = field(metadata={"help": "the least that is as predicted"})
    high: float = field(metadata={"help": "the most that is as predicted"})


@frozen
class AttackRow:
    """One attack of the adversarial test (audit page only)."""

    name: str = field(metadata={"help": "of the attack, and of what it was run on"})
    knows: str = field(metadata={"help": "what the attacker knows"})
    counts: str = field(metadata={"help": "what a success is; empty if the attack was not run"})
    outcome: Literal["as predicted", "not as predicted", "undecided"] = field(
        metadata={"help": "how the success stands to its prediction; undecided if the attack was not run"}
    )
    reason: str = field(metadata={"help": "why it was not run; empty if it was"})
    attained: str | None = field(metadata={"help": "what the attack came to; None if it was not run"})
    predicted: str | None = field(metadata={"help": "the expectation over all draws; None if it was not run"})
    interval: str | None = field(metadata={"help": "what is as predicted; None if it was not run"})
    without: str | None = field(
        metadata={"help": "what is to be expected of who knows the same and has no release; None where not told"}
    )
    basis: str = field(metadata={"help": "where prediction and interval come from"})
    spread: Spread | None = field(metadata={"help": "the same numbers, to be drawn"})


@frozen
class Tick:
    """A grid line of a plot."""

    at: float = field(metadata={"help": "where it stands, 0 to 1"})
    text: str = field(metadata={"help": "what is written at it"})


@frozen
class MapMark:
    """A candidate on the map of risk and error: places from 0, the better end, to 1."""

    candidate: int = field(metadata={"help": "its place among the candidates, from 1"})
    across: float = field(metadata={"help": "where its error stands"})
    up: float = field(metadata={"help": "where its risk stands"})
    low: float = field(metadata={"help": "the better end of its error, three standard errors off"})
    high: float = field(metadata={"help": "the worse end"})
    passes: bool = field(metadata={"help": "whether a release of it would pass"})
    label: str = field(metadata={"help": "the numbers of the candidates that stand there; empty if another has it"})


@frozen
class RiskMap:
    """The map of risk and error, to be drawn."""

    across: tuple[Tick, ...] = field(metadata={"help": "grid lines of the error"})
    up: tuple[Tick, ...] = field(metadata={"help": "grid lines of the risk"})
    marks: tuple[MapMark, ...] = field(metadata={"help": "the candidates that have both numbers"})
    front: tuple[tuple[float, float], ...] = field(
        metadata={"help": "(error, risk) of those on the Pareto front, from the least error on"}
    )


@frozen
class AlternativeRow:
    """One candidate that the release was compared with, or the release itself (audit page only)."""

    label: str = field(metadata={"help": "what it is called: a file, and what is otherwise than in it"})
    outcome: Literal["passes", "fails", "refused"] = field(metadata={"help": "refused if it could not be planned"})
    released: bool = field(metadata={"help": "whether it is the release"})
    recommended: bool = field(metadata={"help": "whether the comparison recommends it"})
    front: bool = field(metadata={"help": "whether no candidate that passes beats it"})
    risk: str | None = field(metadata={"help": "with its standing; None if it is not known"})
    error: str | None = field(metadata={"help": "with its standing; None if it is not known"})
    problems: tuple[str, ...] = field(
        metadata={"help": "why it does not pass, or what of the first candidate's requirements it leaves open"}
    )
    protection: tuple[str, ...] = field(
        default=(), metadata={"help": "its grade, and each sensitive column without and with the release; or none"}
    )
    unchanged: tuple[str, ...] = field(default=(), metadata={"help": "columns that it releases exactly"})
    usable: bool = field(
        default=True, metadata={"help": "whether some one-way and some two-way table is better than equal shares"}
    )


@frozen
class Alternatives:
    """The comparison that was written into audit/ (audit page only)."""

    risk: str | None = field(metadata={"help": "which risk is compared; None if none could be"})
    risk_meaning: str = field(metadata={"help": "what it says"})
    error: str | None = field(metadata={"help": "which error is compared; None if none could be"})
    error_meaning: str = field(metadata={"help": "what it says"})
    rows: tuple[AlternativeRow, ...] = field(metadata={"help": "the candidates, in order"})
    map: RiskMap | None = field(metadata={"help": "None where no candidate has both numbers"})
    reason: str = field(metadata={"help": "of the recommendation"})
    rule: str = field(metadata={"help": "by which it was chosen"})


@frozen
class ReleasedSet:
    """A set of values that records were released as."""

    members: tuple[int, ...] = field(metadata={"help": "positions of its values in the domain"})
    share: float = field(metadata={"help": "of all records, exact"})


@frozen
class SetPanel:
    """Which sets were released of a column, or of columns whose sets go together, and how often."""

    attribute: str = field(metadata={"help": "the released column, or the columns"})
    values: tuple[str, ...] = field(metadata={"help": "what a set can hold, in the order of the domain"})
    size: int = field(metadata={"help": "values in each set"})
    held: tuple[float, ...] = field(metadata={"help": "for each value the share of records whose set holds it, exact"})
    sets: tuple[ReleasedSet, ...] = field(metadata={"help": "the most frequent sets, most frequent first"})
    different: int = field(metadata={"help": "how many different sets were released"})


@frozen
class Usage:
    """How an analyst uses the release (public page only)."""

    rule: str = field(metadata={"help": "whether rows may be counted: the sentence to know before anything else"})
    counting: tuple[Fact, ...] = field(metadata={"help": "columns, and how records are counted by them"})
    python: tuple[str, ...] = field(metadata={"help": "lines that work as written in the folder of the page"})
    command: str = field(metadata={"help": "the same for a shell"})


@frozen
class AccuracyRow:
    """What an analyst may expect of shares by a column (public page only)."""

    columns: str = field(metadata={"help": "the released column, or those that are counted as one"})
    told: str = field(metadata={"help": "what may be counted or estimated"})
    tenth: str | None = field(
        metadata={"help": "half width of a 95 % interval of a share of 10 %; None where there is none"}
    )
    half: str | None = field(metadata={"help": "the same of a share of 50 %"})
    standing: str | None = field(metadata={"help": "of both numbers: exact or upper bound"})


@frozen
class Promise:
    """A requirement in words (public page only)."""

    told: str = field(metadata={"help": "what holds, in a sentence"})
    requirement: str = field(metadata={"help": "the privacy model and the requirement, as the policy states it"})
    verdict: str = field(metadata={"help": "satisfied, failed or undecided"})


@frozen
class Download:
    """A file of public/ (public page only)."""

    path: str = field(metadata={"help": "relative to the page"})
    told: str = field(metadata={"help": "what it is"})
    size: str = field(metadata={"help": "in bytes or their multiples; empty of files that are written after the page"})
    digest: str = field(metadata={"help": "how its SHA-256 begins; empty of files that are written after the page"})


@frozen
class Published:
    """What the public page alone shows: how to use the release, and what to expect of it."""

    about: tuple[str, ...] = field(metadata={"help": "what this is: whose records, how many, by whom, what for"})
    usage: Usage = field(metadata={"help": "how to use it"})
    protection: tuple[Fact, ...] = field(metadata={"help": "columns, and how they were protected, in two sentences"})
    accuracy: tuple[AccuracyRow, ...] = field(metadata={"help": "what may be expected of each column's shares"})
    promises: tuple[Promise, ...] = field(metadata={"help": "what is guaranteed"})
    open: tuple[str, ...] = field(metadata={"help": "what is not guaranteed, the most important first"})
    owner: str = field(metadata={"help": "whom to ask"})
    downloads: tuple[Download, ...] = field(metadata={"help": "the files"})


@frozen
class Report:
    """Everything a page shows. Template variables are these fields and no others; a test holds this."""

    schema: ClassVar[str] = SCHEMA

    page: Literal["public", "audit", "plan"] = field(
        metadata={"help": "which page: of a release for everybody or the audit, or of what would be released"}
    )
    title: str = field(metadata={"help": "the policy's name and version, and the release's label"})
    decision: str = field(metadata={"help": "released: every requirement holds; or what does not"})
    passed: bool = field(metadata={"help": "whether all gates hold"})
    facts: tuple[Fact, ...] = field(metadata={"help": "records, mechanism, released attributes, format, sampling"})
    assumptions: tuple[str, ...] = field(metadata={"help": "what all findings rest on; heads the findings"})
    findings: tuple[FindingRow, ...] = field(metadata={"help": "requirement by requirement"})
    derived: tuple[str, ...] = field(metadata={"help": "what of the published description is a statistic of the data"})
    remarks: tuple[Fact, ...] = field(metadata={"help": "what the mechanism says of its choice"})
    attributes: tuple[AttributePanel, ...] = field(
        metadata={"help": "treatment, parameters and matrix of each attribute"}
    )
    dropped: tuple[str, ...] = field(metadata={"help": "columns that were not released, with the reason"})
    marginals: tuple[MarginalPanel, ...] = field(
        metadata={"help": "original (audit), released and reconstructed shares"}
    )
    utility: tuple[UtilityRow, ...] = field(metadata={"help": "expected and realised utility"})
    sections: tuple[Section, ...] = field(metadata={"help": "the mechanism's own sections"})
    provenance: tuple[Fact, ...] = field(
        metadata={"help": "versions, plugins, digests; times and commits on the audit page"}
    )
    context: tuple[Fact, ...] = field(
        default=(),
        metadata={"help": "what people declared and decided, and no program computed: recipients, waivers, changes"},
    )
    attacks: tuple[AttackRow, ...] = field(
        default=(), metadata={"help": "the adversarial test (audit page only); empty where none was written"}
    )
    points: tuple[str, ...] = field(
        default=(), metadata={"help": "what needs a person's judgement although nothing fails"}
    )
    alternatives: Alternatives | None = field(
        default=None, metadata={"help": "what it was compared with (audit page only); None where none was written"}
    )
    headline: str = field(
        default="", metadata={"help": "what was done to which columns, and which are exact, in a sentence"}
    )
    true_values: str = field(
        default="",
        metadata={"help": "how many of 100 values of each randomised column are the true ones, in a sentence"},
    )
    sets: tuple[SetPanel, ...] = field(default=(), metadata={"help": "the sets that were released"})
    published: Published | None = field(
        default=None, metadata={"help": "how to use the release and what to expect of it (public page only)"}
    )
    bar: tuple[Fact, ...] = field(
        default=(), metadata={"help": "whose release, which, when, for what and for whom; heads the page"}
    )
    tiles: tuple[Tile, ...] = field(default=(), metadata={"help": "being found, a secret being learnt, usefulness"})
    protection: ProtectionPanel | None = field(
        default=None, metadata={"help": "how strong the release is (audit page only); None where it was not assessed"}
    )
    pairs: PairPanel | None = field(
        default=None, metadata={"help": "expected errors of pairs (audit page only); None where nothing is randomised"}
    )
    associations: tuple[AssociationRow, ...] = field(
        default=(), metadata={"help": "the strongest associations of the original (audit page only)"}
    )
    following: tuple[Fact, ...] = field(default=(), metadata={"help": "what to do next, with the command"})
    attested: tuple[Fact, ...] = field(
        default=(), metadata={"help": "who verified and who signed the release, by signed statements (audit page only)"}
    )
    obstacles: tuple[Obstacle, ...] = field(
        default=(), metadata={"help": "what stands in the way of a release (page of a plan only)"}
    )
    letterhead: Letterhead | None = field(
        default=None, metadata={"help": "what an organisation puts on the pages; None if nothing"}
    )
    texts: tuple[Fact, ...] = field(
        default=(), metadata={"help": "the policy's files as written, by name (audit page only)"}
    )

    def to_json(self) -> dict[str, Json]:
        """Return the report as plain data under its schema's name."""
        return record(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Report:
        """Read the output of `to_json`.

        Raises:
            ValueError: if the schema is unknown or a field is missing, of another type, or unknown.
        """
        return read(cls, document)


class Renderer(Protocol):
    """Renderer of a report."""

    @property
    def name(self) -> str:
        """Return the name, such as `html`."""
        ...

    @property
    def suffix(self) -> str:
        """Return the file ending, such as `.html`."""
        ...

    def render(self, report: Report) -> bytes:
        """Return the page, self-contained: it refers to no other resource."""
        ...
