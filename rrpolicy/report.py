"""The report as data: one documented dataclass from which every rendering is made.

`rrpolicy.release.report` fills it, renderers (a plugin) print it. A public page is filled from public artifacts alone,
so it cannot show an audit number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with its value, as text."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Beside:
    """A number that must be read beside a finding."""

    name: str
    value: str
    standing: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """How a risk is spread over people (audit page only)."""

    quantity: str
    edges: tuple[float, ...]
    people: tuple[int, ...]
    before: tuple[int, ...] | None
    top: tuple[tuple[str, float, int], ...]


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One requirement, as the page shows it. Numbers are formatted; the exact ones stand in findings.json."""

    model: str
    requirement: str
    verdict: str
    reached: str | None = field(metadata={"help": "with its standing; None where this page may not show it"})
    margin: str | None
    basis: str
    adversary: str
    assumptions: tuple[str, ...]
    beside: tuple[Beside, ...]
    not_covered: tuple[str, ...] = field(metadata={"help": "what the requirement does not say, in plain words"})
    histogram: Histogram | None
    groups_over: int | None
    people_over: int | None
    reference: str
    assessor: str
    place: str | None


@dataclass(frozen=True, slots=True)
class MatrixPanel:
    """A transition matrix as a heat map: `rows[u][v]` = Pr(released u | original v)."""

    released: tuple[str, ...]
    original: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class AttributePanel:
    """One released attribute: how it was treated."""

    name: str
    released_as: str
    role: str
    treatment: str = field(metadata={"help": "randomised by retention, by a matrix, carried as it is, …"})
    origin: str = field(metadata={"help": "fixed by the policy, solved, or chosen from the data"})
    parameters: tuple[Fact, ...]
    matrix: MatrixPanel | None
    domain: str = field(metadata={"help": "declared by the policy, or observed in the data"})


@dataclass(frozen=True, slots=True)
class MarginalRow:
    """One category: shares of the original (audit), of the release, and reconstructed with its interval."""

    category: str
    original: float | None
    released: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Marginal:
    """The one-way table of an attribute."""

    attribute: str
    rows: tuple[MarginalRow, ...]


@dataclass(frozen=True, slots=True)
class UtilityRow:
    """A utility metric: expected (may gate), and realised (audit page only, never gates)."""

    metric: str
    attributes: str
    expected: str | None
    limit: str | None
    verdict: str | None
    realised: str | None
    meaning: str


@dataclass(frozen=True, slots=True)
class Section:
    """A mechanism's own part: paragraphs, facts and a table."""

    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    header: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a page shows. Template variables are these fields and no others; a test holds this."""

    page: Literal["public", "audit"] = field(metadata={"help": "which of the two pages"})
    title: str = field(metadata={"help": "the policy's name and version, and the release's label"})
    decision: str = field(metadata={"help": "released: every requirement holds; or what does not"})
    passed: bool = field(metadata={"help": "whether all gates hold"})
    facts: tuple[Fact, ...] = field(metadata={"help": "records, owner, purpose, mechanism, format"})
    assumptions: tuple[str, ...] = field(metadata={"help": "what all findings rest on; heads the findings"})
    findings: tuple[FindingRow, ...] = field(metadata={"help": "requirement by requirement"})
    derived: tuple[str, ...] = field(metadata={"help": "what of the published description is a statistic of the data"})
    remarks: tuple[Fact, ...] = field(metadata={"help": "what the mechanism says of its choice"})
    attributes: tuple[AttributePanel, ...] = field(
        metadata={"help": "treatment, parameters and matrix of each attribute"}
    )
    dropped: tuple[str, ...] = field(metadata={"help": "columns that were not released, with the reason"})
    marginals: tuple[Marginal, ...] = field(metadata={"help": "original (audit), released and reconstructed shares"})
    utility: tuple[UtilityRow, ...] = field(metadata={"help": "expected and realised utility"})
    sections: tuple[Section, ...] = field(metadata={"help": "the mechanism's own sections"})
    provenance: tuple[Fact, ...] = field(
        metadata={"help": "versions, plugins, digests; times and commits on the audit page"}
    )


class Renderer(Protocol):
    """Prints a report."""

    @property
    def name(self) -> str:
        """Return the name, such as `html`."""
        ...

    @property
    def suffix(self) -> str:
        """Return the file ending, such as `.html`."""
        ...

    def render(self, report: Report) -> bytes:
        """Return the page, self-contained: it refers to nothing outside itself."""
        ...
