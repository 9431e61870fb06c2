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
from rrpolicy.serialization import JsonDocument, read

SCHEMA = "rrpolicy.report/1"
"""Version of the report's JSON; an added field keeps it, any other change needs the next version."""


class Fact(Struct, frozen=True):
    """A name with its value, as text.

    Attributes:
        name: name of the fact.
        value: its value.
    """

    name: str
    value: str


class Section(Struct, frozen=True):
    """A mechanism's own part: paragraphs, facts and a table.

    Attributes:
        title: heading.
        paragraphs: plain text.
        facts: names with values.
        header: column heads of the table.
        table: rows of the table.
        bars: share for each row of the table, drawn next to it; may be empty.
        shares: head of the column of shares: the quantity that they are shares of.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    header: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()
    shares: str = ""


class CompanionRow(Struct, frozen=True):
    """A measure related to a finding, to be read with it.

    Attributes:
        name: name of the measure.
        value: formatted number, with its standard error if it is an estimate.
        standing: exact, upper bound or estimate.
        meaning: meaning of the number, in plain words.
        of: value that the number applies to; empty for the finding as a whole.
        given: ids of the derived statistics that the number is conditional on.
    """

    name: str
    value: str
    standing: str
    meaning: str
    of: str = ""
    given: tuple[str, ...] = ()


class Tile(Struct, frozen=True):
    """One of the three key figures at the head of the page, in plain words.

    Attributes:
        name: question that the figure concerns.
        figure: worst number for any person, in words.
        meaning: meaning of the figure, and the people that it applies to; names are in backticks.
        limited: sentence on the policy's limit for this number; empty if no limit is possible.
        tone: `open` if a reader would call the number a disclosure and the policy does not limit it.
    """

    name: str
    figure: str
    meaning: str
    limited: str
    tone: Literal["limited", "open", "plain"]


class RiskRow(Struct, frozen=True):
    """An attacker's success for one risk, without the release and with it (audit page only).

    Attributes:
        name: name of the risk: reading a column, or finding a person's record.
        grade: grade of this risk.
        before: share of people whose value is read correctly, or whose record is found, without the release.
        statistics: the same, given statistics of people with the same quasi-identifiers; None for finding a
            record.
        after: the same, given the released records.
        record: the same, for an attacker who knows which record belongs to the person; None for finding a record.
        told: these numbers in a sentence.
        worst: the same for the person at highest risk, in a sentence.
        certain: number of people about whom the attacker is certain, in a sentence.
        rule: rule that decided the grade, with its number.
        brief: average and worst case, without and with the release.
        known: the same if the attacker knows the record; empty for finding a record.
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
    """Protection of a release against an attacker (audit page only).

    Attributes:
        grade: grade of the release as a whole.
        tone: `good` only if the grade is strong, a requirement limits a risk and nothing is assumed.
        heading: grade in sentences, with the limitations that it does not show.
        rule: rule that decided the grade, with its number.
        rows: reading of each sensitive column, then finding of a record.
    """

    grade: Literal["strong", "limited", "weak", "none"]
    tone: Literal["good", "plain", "care", "bad"]
    heading: str
    rule: str
    rows: tuple[RiskRow, ...]


class LimitLine(Struct, frozen=True):
    """A limit drawn in a histogram.

    Attributes:
        at: the limit.
        of: values that it applies to; empty for all.
    """

    at: float
    of: str


class Histogram(Struct, frozen=True):
    """Distribution of a risk across people (audit page only).

    Attributes:
        quantity: name of the risk, in words.
        edges: len(people) + 1 increasing bounds; the first bin is closed at both ends.
        people: number of people in each bin, in the release.
        before: the same for the unmodified table; None if unknown.
        top: highest-risk groups: description, value, people.
        limits: limits of the quantity; empty if the requirement limits another number.
    """

    quantity: str
    edges: tuple[float, ...]
    people: tuple[int, ...]
    before: tuple[int, ...] | None
    top: tuple[tuple[str, float, int], ...]
    limits: tuple[LimitLine, ...] = ()


class FindingRow(Struct, frozen=True):
    """One requirement as shown on the page. Numbers are formatted; findings.json has the exact ones.

    Attributes:
        model: name of the privacy model, as in the policy.
        requirement: requirement with its limit.
        verdict: satisfied, failed or undecided; measured if there is no limit.
        achieved: achieved number; None if this page may not show it, or no number was achieved.
        standing: exact, upper bound or estimate.
        limit: exact limit; None if there is no limit.
        margin: distance of the achieved number from the limit.
        basis: smallest input that recomputes the number: policy, channel, release or original.
        adversary: attacker that the number applies to, in a sentence.
        assumptions: assumptions of this finding.
        companions: related measures.
        not_covered: limitations of the requirement, in plain words.
        histogram: distribution of the risk across people (audit page only).
        groups_over: number of equivalence classes over the limit (audit page only).
        people_over: number of people in these classes (audit page only).
        reference: source of the formula.
        assessor: assessor that computed the finding.
        place: place in the policy; the audit page names the file, which may be one that the policy extends.
        achieved_of: `attribute = value` of the achieved number, if it applies to one value alone.
        given: ids of the derived statistics that the finding is conditional on.
        promise: requirement as a sentence for readers; empty if the model has no such sentence.
        used: used share of the limit: 1 at the limit, more if it is missed; None if unknown.
        by_limit: if values have separate limits: for each limit the value nearest to it, with both numbers.
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
    """A transition matrix as a heat map: `rows[u][v]` = Pr(released u | original v); every column sums to 1.

    Attributes:
        released: released categories, one per row.
        original: original categories, one per column.
        rows: probabilities, (released, original).
    """

    released: tuple[str, ...]
    original: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


class AttributePanel(Struct, frozen=True):
    """Treatment of one released attribute.

    Attributes:
        name: column of the original table.
        released_as: column of the released table.
        role: quasi-identifier, sensitive or insensitive.
        treatment: randomised by retention, randomised by a matrix, released unmodified, …
        origin: origin of the parameters: fixed by the policy, solved, or chosen from the data.
        parameters: probabilities, with the exact fraction.
        matrix: transition matrix; None if nothing is randomised, or the matrix is too large to read.
        domain: declared by the policy or observed in the data, with the number of categories.
        reason: the policy's reason for an unmodified release; empty if the attribute is modified.
        change: effect on its values, in a few words.
        changed: share of values replaced by another: of the category least likely to be replaced, and of the
            one most likely to be; None if no values are exchanged at random.
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
        category: the category.
        original: share of the original table, rounded (audit page only).
        released: uncorrected share of the released table; None if the category cannot be released.
        estimate: share reconstructed from the release; may lie outside [0, 1].
        low: lower end of the interval.
        high: upper end of the interval.
        remark: reason to read the interval with care.
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
        attribute: released column.
        level: confidence level of the intervals, such as 0.9; 1 if they are certain limits.
        rows: one per category, in the order of the domain.
        remark: remark on the whole table.
        left_out: number of categories not shown: the rarest in the release.
        of: content of the rows: categories; released labels of a generalised column, with exact shares; or
            the categories inside these labels, with certain limits.
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
        metric: name of the metric.
        attributes: attributes that the metric covers.
        expected: expectation over draws; None if this page may not show it.
        standing: standing of the expectation: exact, upper bound or estimate.
        limit: maximum or minimum; None if nothing is required.
        verdict: satisfied, failed or undecided; None if nothing is required.
        realised: realised value of this draw (audit page only).
        meaning: meaning of the number.
        waived: end, approver and reason of the waiver; None if the metric is not waived.
        companions: related measures of the expectation (audit page only).
        used: used share of the limit, as for a requirement.
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
    """Expected errors of one-way and two-way shares (audit page only): a symmetric matrix, lower triangle.

    Attributes:
        names: attributes, in the order of rows and columns.
        errors: row i has i + 1 entries: root mean squared error of shares of attributes i and j (of i alone
            on the diagonal); None if nothing is randomised or the error is unknown.
        impossible: combinations that cannot be estimated.
        useless: number of usable combinations, in sentences; empty if all are usable.
        usable: good, rough and unusable tables, by their expected errors.
    """

    names: tuple[str, ...]
    errors: tuple[tuple[float | None, ...], ...]
    impossible: tuple[tuple[str, ...], ...]
    useless: tuple[str, ...] = ()
    usable: tuple[Fact, ...] = ()


class AssociationRow(Struct, frozen=True):
    """Strength of association of a pair of columns (audit page only).

    Attributes:
        columns: the two released columns.
        original: Cramér's V in the original table.
        estimate: estimate from the release; None if the release permits no estimate.
        error: standard error of the estimate; None if unavailable.
    """

    columns: tuple[str, ...]
    original: str
    estimate: str | None
    error: str | None


class Letterhead(Struct, frozen=True):
    """An organisation's own parts of the pages, from the policy's [context].

    Attributes:
        organisation: name of the organisation.
        address: lines below the name.
        logo: image, as a data: address.
        notices: paragraphs below the decision.
        footer: last line.
        signatories: signatories of the decision, one box each.
    """

    organisation: str = ""
    address: tuple[str, ...] = ()
    logo: str = ""
    notices: tuple[str, ...] = ()
    footer: str = ""
    signatories: tuple[str, ...] = ()


class Obstacle(Struct, frozen=True):
    """A problem that prevents a release (page of a plan only).

    Attributes:
        code: error code such as RR101, which `rrpolicy explain` explains.
        message: description of the problem.
        expected: acceptable input; empty if not stated.
        hint: remedy; empty if not stated.
        place: line and key of the policy; empty if the problem has no line.
    """

    code: str
    message: str
    expected: str
    hint: str
    place: str


class Spread(Struct, frozen=True):
    """Position of an attack's success in the range that agrees with the prediction.

    Attributes:
        attained: success of the attack.
        predicted: expectation over all draws.
        low: smallest success that agrees with the prediction.
        high: largest success that agrees with the prediction.
    """

    attained: float
    predicted: float
    low: float
    high: float


class AttackRow(Struct, frozen=True):
    """One attack of the adversarial test (audit page only).

    Attributes:
        name: name of the attack and of its target.
        knows: knowledge of the attacker.
        counts: definition of a success; empty if the attack was not run.
        outcome: success compared with its prediction; undecided if the attack was not run.
        reason: reason why it was not run, or meaning of a success not as predicted; may be empty.
        attained: success of the attack; None if it was not run.
        predicted: expectation over all draws; None if it was not run.
        interval: range that agrees with the prediction; None if it was not run.
        without: expected success with the same knowledge and no release; None if not stated.
        basis: origin of prediction and interval.
        spread: the same numbers for a plot.
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
        at: position, 0 to 1.
        text: label of the line.
    """

    at: float
    text: str


class MapMark(Struct, frozen=True):
    """A candidate on the map of risk and error; positions range from 0, the better end, to 1.

    Attributes:
        candidate: number of the candidate, starting at 1.
        across: position of its error.
        up: position of its risk.
        low: better end of its error, three standard errors away.
        high: worse end of its error, three standard errors away.
        passes: true if its release would pass.
        label: numbers of the candidates at this position; empty if another mark carries them.
    """

    candidate: int
    across: float
    up: float
    low: float
    high: float
    passes: bool
    label: str


class RiskMap(Struct, frozen=True):
    """The map of risk and error, for a plot.

    Attributes:
        across: grid lines of the error.
        up: grid lines of the risk.
        marks: candidates that have both numbers.
        front: (error, risk) of those on the Pareto front, in order of increasing error.
    """

    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    marks: tuple[MapMark, ...]
    front: tuple[tuple[float, float], ...]


class AlternativeRow(Struct, frozen=True):
    """One candidate of the comparison with the release, or the release itself (audit page only).

    Attributes:
        label: file of the candidate, and its differences from that file.
        outcome: passes or fails; refused if it could not be planned.
        released: true for the release itself.
        recommended: true if the comparison recommends it.
        front: true if no candidate that passes is better.
        risk: risk with its standing; None if unknown.
        error: error with its standing; None if unknown.
        problems: reasons for failure, or requirements of the first candidate that it is not known to meet.
        protection: grade, and each sensitive column without and with the release; may be empty.
        unchanged: columns released exactly.
        usable: true if some one-way and some two-way table is better than equal shares.
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
        risk: compared risk; None if no risk could be compared.
        risk_meaning: meaning of the risk.
        error: compared error; None if no error could be compared.
        error_meaning: meaning of the error.
        rows: candidates, in order.
        map: map of risk and error; None if no candidate has both numbers.
        reason: reason of the recommendation.
        rule: rule of the recommendation.
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
    """A set of values released in place of a single value.

    Attributes:
        members: positions of its values in the domain.
        share: exact share of all records.
    """

    members: tuple[int, ...]
    share: float


class SetPanel(Struct, frozen=True):
    """Released sets of a column, or of columns hidden together, with their frequencies.

    Attributes:
        attribute: released column or columns.
        values: possible values of a set, in the order of the domain.
        size: number of values in each set.
        held: for each value, the exact share of records whose set contains it.
        sets: most frequent sets, in order of decreasing frequency.
        different: number of different released sets.
    """

    attribute: str
    values: tuple[str, ...]
    size: int
    held: tuple[float, ...]
    sets: tuple[ReleasedSet, ...]
    different: int


class Usage(Struct, frozen=True):
    """Instructions for analysts of the release (public page only).

    Attributes:
        rule: rule on counting rows: the sentence to read first.
        counting: columns, with the method of counting records by them.
        python: lines that run unmodified in the folder of the page.
        command: shell command for the same.
    """

    rule: str
    counting: tuple[Fact, ...]
    python: tuple[str, ...]
    command: str


class AccuracyRow(Struct, frozen=True):
    """Expected accuracy of shares by a column (public page only).

    Attributes:
        columns: released column, or columns that are counted as one.
        told: counts or estimates that are possible.
        tenth: half width of an interval for a share of 10 %; None if there is no interval.
        half: the same for a share of 50 %.
        standing: standing of both numbers: exact or upper bound.
        level: confidence level of these intervals, such as 0.9; None if there is no interval.
    """

    columns: str
    told: str
    tenth: str | None
    half: str | None
    standing: str | None
    level: float | None = None


class Promise(Struct, frozen=True):
    """A requirement in words (public page only).

    Attributes:
        told: guarantee in a sentence.
        requirement: privacy model and requirement, as in the policy.
        verdict: satisfied, failed or undecided.
    """

    told: str
    requirement: str
    verdict: str


class Download(Struct, frozen=True):
    """A file of public/ (public page only).

    Attributes:
        path: path relative to the page.
        told: description of the file.
        size: size in bytes or their multiples; empty for files that are written after the page.
        digest: first characters of its SHA-256; empty for files that are written after the page.
    """

    path: str
    told: str
    size: str
    digest: str


class Published(Struct, frozen=True):
    """Content of the public page alone: use of the release, guarantees and expected accuracy.

    Attributes:
        about: description of the release: subjects, number of records, publisher, purpose.
        usage: instructions for use.
        protection: columns with their protection, in two sentences.
        accuracy: expected accuracy of each column's shares.
        promises: guarantees.
        open: risks without a guarantee, most important first.
        owner: contact for questions.
        downloads: files of the release.
    """

    about: tuple[str, ...]
    usage: Usage
    protection: tuple[Fact, ...]
    accuracy: tuple[AccuracyRow, ...]
    promises: tuple[Promise, ...]
    open: tuple[str, ...]
    owner: str
    downloads: tuple[Download, ...]


class Report(JsonDocument, Struct, frozen=True):
    """Content of a page. Its fields are the only template variables, as a test verifies.

    Attributes:
        page: public or audit page of a release, or the page of a plan.
        title: name and version of the policy, and label of the release.
        decision: statement that every requirement is met, or the requirements that are not.
        passed: true if all gates pass.
        facts: records, mechanism, released attributes, format, sampling.
        assumptions: assumptions of all findings; printed above the findings.
        findings: findings by requirement.
        derived: statistics of the data in the published description.
        remarks: remarks of the mechanism on its choice.
        attributes: treatment, parameters and matrix of each attribute.
        dropped: columns that were not released, with the reason.
        marginals: original (audit), released and reconstructed shares.
        utility: expected and realised utility.
        sections: the mechanism's own sections.
        provenance: versions, plugins, digests; times and commits on the audit page.
        context: people's declarations and decisions, which are not computed: recipients, waivers, changes.
        attacks: adversarial test (audit page only); empty if no test was written.
        points: points that need a person's judgement although nothing fails.
        alternatives: comparison with alternatives (audit page only); None if no comparison was written.
        headline: treatment of the columns, with the exact ones, in a sentence.
        true_values: number of true values per 100 of each randomised column, in a sentence.
        sets: released sets.
        published: use of the release and its expected accuracy (public page only).
        bar: owner, identity, date, purpose and recipients of the release; head of the page.
        tiles: re-identification, disclosure of a sensitive value, utility.
        protection: protection of the release (audit page only); None if not assessed.
        pairs: expected errors of pairs (audit page only); None if nothing is randomised.
        associations: strongest associations of the original table (audit page only).
        following: next steps, with their commands.
        attested: verifiers and signers of the release, by signed statements (audit page only).
        obstacles: problems that prevent a release (page of a plan only).
        letterhead: the organisation's parts of the pages; None if the policy declares none.
        texts: policy files as written, by name (audit page only).
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
