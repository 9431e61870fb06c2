"""The report as data: one documented dataclass from which every output format is made.

`rrpolicy.reports.report_builder` fills it, renderers (a plugin) print it. A public page is filled from public artifacts
alone, so it cannot show an audit number. Findings carry formatted text, so that every output format agrees; plotted
values (matrices, marginals, histograms, shares of limits) stay numeric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.serialization import read, record

SCHEMA = "rrpolicy.report/1"
"""Version of the report's JSON; an added field keeps it, any other change needs the next version."""


class Fact(Struct, frozen=True):
    """A name with its value, as text.

    Attributes:
        name: what is told
        value: what it is
    """

    name: str
    value: str


class Section(Struct, frozen=True):
    """A mechanism's own part: paragraphs, facts and a table.

    Attributes:
        title: its heading
        paragraphs: plain text
        facts: names with values
        header: column heads of the table
        table: rows of the table
        bars: a share for each row of the table, to be drawn beside it; or none
        shares: what the shares are of: the head of their column
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    header: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()
    shares: str = ""


class CompanionRow(Struct, frozen=True):
    """A number that must be read beside a finding.

    Attributes:
        name: what is measured
        value: formatted, with its standard error if it is an estimate
        standing: exact, upper bound or estimate
        meaning: what the number says, in plain words
        of: the value that it is of; empty for the finding as a whole
        given: ids of the derived statistics that it is conditional on
    """

    name: str
    value: str
    standing: str
    meaning: str
    of: str = ""
    given: tuple[str, ...] = ()


class Tile(Struct, frozen=True):
    """One of the three answers that head the page, in plain words.

    Attributes:
        name: what is answered
        figure: the worst number for anybody, in words
        meaning: what it says, and of whom; names stand between backticks
        limited: whether the policy limits this number; empty where that is no question
        tone: open: a reader would call it disclosure, and the policy does not limit it
    """

    name: str
    figure: str
    meaning: str
    limited: str
    tone: Literal["limited", "open", "plain"]


class RiskRow(Struct, frozen=True):
    """What an attacker attains of one risk, without the release and with it (audit page only).

    Attributes:
        name: which risk: reading a column, or finding a person's record
        grade: the grade of this risk
        before: share of people read rightly, or found, without the release
        statistics: the same, with statistics of people who agree in the quasi-identifiers; None of finding
        after: the same, with the released records
        record: the same, for an attacker who knows which record is a person's; None of finding
        told: these numbers in a sentence
        worst: the same for the person worst off, in a sentence
        certain: of how many people the attacker is certain, in a sentence
        rule: the rule that decided the grade, with its number
        brief: the average and the worst, without and with the release
        known: the same if the record is known; empty of finding
    """

    name: str
    grade: Literal["strong", "limited", "weak", "none"]
    before: float
    statistics: float | None
    after: float
    record: float | None
    told: str
    worst: str
    certain: str
    rule: str
    brief: str = ""
    known: str = ""


class ProtectionPanel(Struct, frozen=True):
    """How strong a release is (audit page only).

    Attributes:
        grade: of the release as a whole
        tone: good only where the grade is strong, a requirement limits something and nothing is assumed
        heading: the grade in sentences, with what it does not show
        rule: the rule that decided the grade, with its number
        rows: reading each sensitive column, then finding a record
    """

    grade: Literal["strong", "limited", "weak", "none"]
    tone: Literal["good", "plain", "care", "bad"]
    heading: str
    rule: str
    rows: tuple[RiskRow, ...]


class LimitLine(Struct, frozen=True):
    """A limit that a histogram is read against.

    Attributes:
        at: the limit
        of: the values that it is of; empty for all
    """

    at: float
    of: str


class Histogram(Struct, frozen=True):
    """How a risk is spread over people (audit page only).

    Attributes:
        quantity: what is spread, in words
        edges: len(people) + 1 increasing bounds; the first bin is closed at both ends
        people: people in each bin, in the release
        before: the same for the untouched table, where it is known
        top: the groups at the top: description, value, people
        limits: the limits of what is spread; none where the requirement limits another number
    """

    quantity: str
    edges: tuple[float, ...]
    people: tuple[int, ...]
    before: tuple[int, ...] | None
    top: tuple[tuple[str, float, int], ...]
    limits: tuple[LimitLine, ...] = ()


class FindingRow(Struct, frozen=True):
    """One requirement, as the page shows it. Numbers are formatted; the exact ones stand in findings.json.

    Attributes:
        model: the privacy model's name, as in the policy
        requirement: the requirement with its limit
        verdict: holds, fails, undecided; or measured, where there is no limit
        achieved: the number achieved; None where this page may not show it, or nothing was achieved
        standing: exact, upper bound or estimate
        limit: the limit, exact; None where there is none
        margin: how far the achieved number is from the limit
        basis: the least that recomputes the number: policy, channel, release or original
        adversary: which attacker the number is of, in a sentence
        assumptions: what this finding assumes
        companions: related measures
        not_covered: what the requirement does not say, in plain words
        histogram: how the risk is spread over people (audit page only)
        groups_over: equivalence classes over the limit (audit page only)
        people_over: people in them (audit page only)
        reference: where the formula stands
        assessor: who computed it
        place: where the policy asks for it; the audit page names the file, which may be one that is extended
        achieved_of: `attribute = value` of which the number achieved is, where it is of one alone
        given: ids of the derived statistics that the finding is conditional on
        promise: the requirement as a sentence for people; empty if its model says none
        used: share of the limit that is used up: 1 at the limit, more where it is missed; None if unknown
        by_limit: where values have limits of their own, for each limit the value nearest to it, with both numbers
    """

    model: str
    requirement: str
    verdict: str
    achieved: str | None
    standing: str | None
    limit: str | None
    margin: str | None
    basis: str
    adversary: str
    assumptions: tuple[str, ...]
    companions: tuple[CompanionRow, ...]
    not_covered: tuple[str, ...]
    histogram: Histogram | None
    groups_over: int | None
    people_over: int | None
    reference: str
    assessor: str
    place: str | None
    achieved_of: str | None = None
    given: tuple[str, ...] = ()
    promise: str = ""
    used: float | None = None
    by_limit: tuple[Fact, ...] = ()


class MatrixPanel(Struct, frozen=True):
    """A transition matrix as a heat map: `rows[u][v]` = Pr(released u | original v); every column adds to 1.

    Attributes:
        released: the released categories, one a row
        original: the original categories, one a column
        rows: probabilities, (released, original)
    """

    released: tuple[str, ...]
    original: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


class AttributePanel(Struct, frozen=True):
    """One released attribute: how it was treated.

    Attributes:
        name: in the original table
        released_as: in the released table
        role: quasi-identifier, sensitive or insensitive
        treatment: randomised by retention, by a matrix, released as it is, …
        origin: fixed by the policy, solved, or chosen from the data
        parameters: probabilities, with the exact fraction
        matrix: None where nothing is randomised, or it is too big to read
        domain: declared by the policy, or observed in the data; and how many categories
        reason: why it is released as it is, in the policy's words; empty if it is not
        change: what becomes of its values, in a few words
        changed: share of values that another one is released for, of the category it is least likely for and of
            the one it is likeliest for; None where nothing is exchanged by chance
    """

    name: str
    released_as: str
    role: str
    treatment: str
    origin: str
    parameters: tuple[Fact, ...]
    matrix: MatrixPanel | None
    domain: str
    reason: str = ""
    change: str = ""
    changed: tuple[float, float] | None = None


class MarginalRow(Struct, frozen=True):
    """One category: shares of the original (audit), of the release, and reconstructed with its interval.

    Attributes:
        category: the category
        original: share of the original table, rounded (audit page only)
        released: share of the released table, as it stands there; None where the category cannot be released
        estimate: share reconstructed from the release; may lie outside [0, 1]
        low: lower end of the interval
        high: upper end of the interval
        remark: why the interval is to be read with care
    """

    category: str
    original: float | None
    released: float | None
    estimate: float
    low: float
    high: float
    remark: str | None


class MarginalPanel(Struct, frozen=True):
    """The one-way table of an attribute.

    Attributes:
        attribute: the released column
        level: of the intervals, such as 0.95; 1 where they are limits that are certain
        rows: in the order of the domain
        remark: what else there is to say of it
        left_out: categories not shown: the rarest in the release
        of: what the rows are: categories; released labels of a generalised column, whose shares are exact; or
            the categories inside these labels, with limits that are certain
    """

    attribute: str
    level: float
    rows: tuple[MarginalRow, ...]
    remark: str | None
    left_out: int
    of: Literal["categories", "labels", "inside labels"] = "categories"


class UtilityRow(Struct, frozen=True):
    """A utility metric: expected (may gate), and realised (audit page only, never gates).

    Attributes:
        metric: its name
        attributes: over which attributes
        expected: the expectation over draws; None where this page may not show it
        standing: of the expectation: exact, upper bound or estimate
        limit: the most, or the least, it may be; None where nothing is asked
        verdict: holds, fails or undecided; None where nothing is asked
        realised: what this draw attained (audit page only)
        meaning: what the number says
        waived: until when, by whom and why it may stay unmet; None if nobody waives it
        companions: numbers that must be read beside the expectation (audit page only)
        used: as of a requirement
    """

    metric: str
    attributes: str
    expected: str | None
    standing: str | None
    limit: str | None
    verdict: str | None
    realised: str | None
    meaning: str
    waived: str | None = None
    companions: tuple[CompanionRow, ...] = ()
    used: float | None = None


class PairPanel(Struct, frozen=True):
    """The expected errors of one-way and two-way shares (audit page only): what is square and symmetric, below.

    Attributes:
        names: the attributes, in the order of rows and columns
        errors: row i has i + 1 entries: root mean squared error of the shares of attribute j with i, of i alone
            on the diagonal; None where nothing is randomised or it takes more to tell
        impossible: combinations that cannot be estimated
        useless: how many of them can be used, where some cannot, in sentences
        usable: which tables are good, rough and not usable, by their expected errors
    """

    names: tuple[str, ...]
    errors: tuple[tuple[float | None, ...], ...]
    impossible: tuple[tuple[str, ...], ...]
    useless: tuple[str, ...] = ()
    usable: tuple[Fact, ...] = ()


class AssociationRow(Struct, frozen=True):
    """A pair of columns, and how strongly they go together (audit page only).

    Attributes:
        columns: the two released columns
        original: Cramér's V in the original table
        estimate: estimated from the release; None where it lets nothing be estimated
        error: standard error of the estimate; None where there is none
    """

    columns: tuple[str, ...]
    original: str
    estimate: str | None
    error: str | None


class Letterhead(Struct, frozen=True):
    """What an organisation puts on the pages, as the policy's [context] states it.

    Attributes:
        organisation: its name
        address: lines below it
        logo: an image, as a data: address
        notices: paragraphs below the decision
        footer: the last line
        signatories: who signs the decision, a box each
    """

    organisation: str = ""
    address: tuple[str, ...] = ()
    logo: str = ""
    notices: tuple[str, ...] = ()
    footer: str = ""
    signatories: tuple[str, ...] = ()


class Obstacle(Struct, frozen=True):
    """What stands in the way of a release (page of a plan only).

    Attributes:
        code: such as RR101; `rrpolicy explain` says more
        message: what is wrong
        expected: what would do; empty if that is not told
        hint: what to do; empty if that is not told
        place: line and key of the policy; empty if it is of no line
    """

    code: str
    message: str
    expected: str
    hint: str
    place: str


class Spread(Struct, frozen=True):
    """Where an attack's success lies among those that are as predicted.

    Attributes:
        attained: what the attack came to
        predicted: its expectation over all draws
        low: the least that is as predicted
        high: the most that is as predicted
    """

    attained: float
    predicted: float
    low: float
    high: float


class AttackRow(Struct, frozen=True):
    """One attack of the adversarial test (audit page only).

    Attributes:
        name: of the attack, and of what it was run on
        knows: what the attacker knows
        counts: what a success is; empty if the attack was not run
        outcome: how the success stands to its prediction; undecided if the attack was not run
        reason: why it was not run; empty if it was
        attained: what the attack came to; None if it was not run
        predicted: the expectation over all draws; None if it was not run
        interval: what is as predicted; None if it was not run
        without: what is to be expected of who knows the same and has no release; None where not told
        basis: where prediction and interval come from
        spread: the same numbers, to be drawn
    """

    name: str
    knows: str
    counts: str
    outcome: Literal["as predicted", "not as predicted", "undecided"]
    reason: str
    attained: str | None
    predicted: str | None
    interval: str | None
    without: str | None
    basis: str
    spread: Spread | None


class Tick(Struct, frozen=True):
    """A grid line of a plot.

    Attributes:
        at: where it stands, 0 to 1
        text: what is written at it
    """

    at: float
    text: str


class MapMark(Struct, frozen=True):
    """A candidate on the map of risk and error: places from 0, the better end, to 1.

    Attributes:
        candidate: its place among the candidates, from 1
        across: where its error stands
        up: where its risk stands
        low: the better end of its error, three standard errors off
        high: the worse end
        passes: whether a release of it would pass
        label: the numbers of the candidates that stand there; empty if another has it
    """

    candidate: int
    across: float
    up: float
    low: float
    high: float
    passes: bool
    label: str


class RiskMap(Struct, frozen=True):
    """The map of risk and error, to be drawn.

    Attributes:
        across: grid lines of the error
        up: grid lines of the risk
        marks: the candidates that have both numbers
        front: (error, risk) of those on the Pareto front, from the least error on
    """

    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    marks: tuple[MapMark, ...]
    front: tuple[tuple[float, float], ...]


class AlternativeRow(Struct, frozen=True):
    """One candidate that the release was compared with, or the release itself (audit page only).

    Attributes:
        label: what it is called: a file, and what is otherwise than in it
        outcome: refused if it could not be planned
        released: whether it is the release
        recommended: whether the comparison recommends it
        front: whether no candidate that passes beats it
        risk: with its standing; None if it is not known
        error: with its standing; None if it is not known
        problems: why it does not pass, or what of the first candidate's requirements it leaves open
        protection: its grade, and each sensitive column without and with the release; or none
        unchanged: columns that it releases exactly
        usable: whether some one-way and some two-way table is better than equal shares
    """

    label: str
    outcome: Literal["passes", "fails", "refused"]
    released: bool
    recommended: bool
    front: bool
    risk: str | None
    error: str | None
    problems: tuple[str, ...]
    protection: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    usable: bool = True


class Alternatives(Struct, frozen=True):
    """The comparison that was written into audit/ (audit page only).

    Attributes:
        risk: which risk is compared; None if none could be
        risk_meaning: what it says
        error: which error is compared; None if none could be
        error_meaning: what it says
        rows: the candidates, in order
        map: None where no candidate has both numbers
        reason: of the recommendation
        rule: by which it was chosen
    """

    risk: str | None
    risk_meaning: str
    error: str | None
    error_meaning: str
    rows: tuple[AlternativeRow, ...]
    map: RiskMap | None
    reason: str
    rule: str


class ReleasedSet(Struct, frozen=True):
    """A set of values that records were released as.

    Attributes:
        members: positions of its values in the domain
        share: of all records, exact
    """

    members: tuple[int, ...]
    share: float


class SetPanel(Struct, frozen=True):
    """Which sets were released of a column, or of columns whose sets go together, and how often.

    Attributes:
        attribute: the released column, or the columns
        values: what a set can hold, in the order of the domain
        size: values in each set
        held: for each value the share of records whose set holds it, exact
        sets: the most frequent sets, most frequent first
        different: how many different sets were released
    """

    attribute: str
    values: tuple[str, ...]
    size: int
    held: tuple[float, ...]
    sets: tuple[ReleasedSet, ...]
    different: int


class Usage(Struct, frozen=True):
    """How an analyst uses the release (public page only).

    Attributes:
        rule: whether rows may be counted: the sentence to know before anything else
        counting: columns, and how records are counted by them
        python: lines that work as written in the folder of the page
        command: the same for a shell
    """

    rule: str
    counting: tuple[Fact, ...]
    python: tuple[str, ...]
    command: str


class AccuracyRow(Struct, frozen=True):
    """What an analyst may expect of shares by a column (public page only).

    Attributes:
        columns: the released column, or those that are counted as one
        told: what may be counted or estimated
        tenth: half width of a 95 % interval of a share of 10 %; None where there is none
        half: the same of a share of 50 %
        standing: of both numbers: exact or upper bound
    """

    columns: str
    told: str
    tenth: str | None
    half: str | None
    standing: str | None


class Promise(Struct, frozen=True):
    """A requirement in words (public page only).

    Attributes:
        told: what holds, in a sentence
        requirement: the privacy model and the requirement, as the policy states it
        verdict: satisfied, failed or undecided
    """

    told: str
    requirement: str
    verdict: str


class Download(Struct, frozen=True):
    """A file of public/ (public page only).

    Attributes:
        path: relative to the page
        told: what it is
        size: in bytes or their multiples; empty of files that are written after the page
        digest: how its SHA-256 begins; empty of files that are written after the page
    """

    path: str
    told: str
    size: str
    digest: str


class Published(Struct, frozen=True):
    """What the public page alone shows: how to use the release, and what to expect of it.

    Attributes:
        about: what this is: whose records, how many, by whom, what for
        usage: how to use it
        protection: columns, and how they were protected, in two sentences
        accuracy: what may be expected of each column's shares
        promises: what is guaranteed
        open: what is not guaranteed, the most important first
        owner: whom to ask
        downloads: the files
    """

    about: tuple[str, ...]
    usage: Usage
    protection: tuple[Fact, ...]
    accuracy: tuple[AccuracyRow, ...]
    promises: tuple[Promise, ...]
    open: tuple[str, ...]
    owner: str
    downloads: tuple[Download, ...]


class Report(Struct, frozen=True):
    """Everything a page shows. Template variables are these fields and no others; a test holds this.

    Attributes:
        page: which page: of a release for everybody or the audit, or of what would be released
        title: the policy's name and version, and the release's label
        decision: released: every requirement holds; or what does not
        passed: whether all gates hold
        facts: records, mechanism, released attributes, format, sampling
        assumptions: what all findings rest on; heads the findings
        findings: requirement by requirement
        derived: what of the published description is a statistic of the data
        remarks: what the mechanism says of its choice
        attributes: treatment, parameters and matrix of each attribute
        dropped: columns that were not released, with the reason
        marginals: original (audit), released and reconstructed shares
        utility: expected and realised utility
        sections: the mechanism's own sections
        provenance: versions, plugins, digests; times and commits on the audit page
        context: what people declared and decided, and no program computed: recipients, waivers, changes
        attacks: the adversarial test (audit page only); empty where none was written
        points: what needs a person's judgement although nothing fails
        alternatives: what it was compared with (audit page only); None where none was written
        headline: what was done to which columns, and which are exact, in a sentence
        true_values: how many of 100 values of each randomised column are the true ones, in a sentence
        sets: the sets that were released
        published: how to use the release and what to expect of it (public page only)
        bar: whose release, which, when, for what and for whom; heads the page
        tiles: being found, a secret being learnt, usefulness
        protection: how strong the release is (audit page only); None where it was not assessed
        pairs: expected errors of pairs (audit page only); None where nothing is randomised
        associations: the strongest associations of the original (audit page only)
        following: what to do next, with the command
        attested: who verified and who signed the release, by signed statements (audit page only)
        obstacles: what stands in the way of a release (page of a plan only)
        letterhead: what an organisation puts on the pages; None if nothing
        texts: the policy's files as written, by name (audit page only)
    """

    schema: ClassVar[str] = SCHEMA

    page: Literal["public", "audit", "plan"]
    title: str
    decision: str
    passed: bool
    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    findings: tuple[FindingRow, ...]
    derived: tuple[str, ...]
    remarks: tuple[Fact, ...]
    attributes: tuple[AttributePanel, ...]
    dropped: tuple[str, ...]
    marginals: tuple[MarginalPanel, ...]
    utility: tuple[UtilityRow, ...]
    sections: tuple[Section, ...]
    provenance: tuple[Fact, ...]
    context: tuple[Fact, ...] = ()
    attacks: tuple[AttackRow, ...] = ()
    points: tuple[str, ...] = ()
    alternatives: Alternatives | None = None
    headline: str = ""
    true_values: str = ""
    sets: tuple[SetPanel, ...] = ()
    published: Published | None = None
    bar: tuple[Fact, ...] = ()
    tiles: tuple[Tile, ...] = ()
    protection: ProtectionPanel | None = None
    pairs: PairPanel | None = None
    associations: tuple[AssociationRow, ...] = ()
    following: tuple[Fact, ...] = ()
    attested: tuple[Fact, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    letterhead: Letterhead | None = None
    texts: tuple[Fact, ...] = ()

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
