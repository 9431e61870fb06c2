"""What a command found, as every format for machines says it: an outcome, its subjects, and their entries.

Plain frozen data. A format is a function from an outcome to text, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from rrpolicy.errors import Place
from rrpolicy.finding import Basis, Measure
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.governance import Waiver

BUG = 70
"""The exit status of a defect of rrpolicy itself."""
MEANINGS = {
    0: "passes",
    1: "a requirement fails or is undecided",
    2: "the policy or the call is wrong",
    3: "the data do not fit the policy",
    4: "refused",
    BUG: "a defect of rrpolicy",
}
"""What exit statuses say."""
FAILURE_MEANINGS = {
    "attack": "an attack is not as predicted, or none could be run",
    "diff": "a weakening is not explained",
    "test": "a test comes out otherwise",
}
"""What exit status 1 says of commands that hold no table to requirements."""


class OutcomeKind(StrEnum):
    """What became of an entry.

    A conditional one holds, given the derived statistics that it names. An open one is undecided. A review is a point
    that a person must judge, an informational one a number without a limit, or what is stated and not verified.
    """

    MET = "pass"
    CONDITIONAL = "conditional"
    FAIL = "fail"
    OPEN = "open"
    ERROR = "error"
    REVIEW = "review"
    INFORMATIONAL = "informational"


class EntryLevel(StrEnum):
    """How loudly an entry is told; the words of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NONE = "none"


class EntryPart(StrEnum):
    """What an entry is one of."""

    REQUIREMENT = "requirement"
    GATE = "utility gate"
    CHECK = "check"
    CHANGE = "change"
    JUDGEMENT = "point of judgement"
    PROBLEM = "problem"


@frozen
class OutcomeEntry:
    """One thing that was asked, and what became of it.

    Attributes:
        rule: the code of what is wrong, such as `RR101`; of what holds, the name of its model, metric or check.
        identity: what machines call it, whatever stands before it in its file; see `rrpolicy.policy.identity`.
        part: what it is one of.
        kind: what became of it.
        title: what was asked, in a few words.
        message: what became of it, in a sentence; never a value of the data.
        blocking: the exit status tells of it.
        place: where it is asked for; None for what no file states.
        about: what the rule speaks of, in a sentence; "" for a code, which has a page.
        achieved: the number achieved.
        limit: what it is held against.
        basis: the least that recomputes the number.
        assessor: who decided, with its distribution.
        derived: ids of the statistics of the table that it is conditional on.
        expected: what would have been right.
        hint: what to do.
        waived: why it is accepted all the same; None if it is not.
        beside: numbers that must be read beside it, so that nobody takes it for one of them.
    """

    rule: str
    identity: str
    part: EntryPart
    kind: OutcomeKind
    title: str
    message: str
    blocking: bool = False
    place: Place | None = None
    about: str = ""
    achieved: Measure | None = None
    limit: Fraction | None = None
    basis: Basis | None = None
    assessor: str = ""
    derived: tuple[str, ...] = ()
    expected: str | None = None
    hint: str | None = None
    waived: Waiver | None = None
    beside: tuple[str, ...] = ()

    @property
    def level(self) -> EntryLevel:
        """Return how loudly it is told; what is waived is told as it would be without."""
        if self.blocking or self.kind in {OutcomeKind.FAIL, OutcomeKind.ERROR}:
            return EntryLevel.ERROR
        return EntryLevel.WARNING if self.kind in {OutcomeKind.CONDITIONAL, OutcomeKind.REVIEW} else EntryLevel.NONE


@frozen
class OutcomeNote:
    """What stands beside the entries, for people: a heading and lines."""

    title: str
    lines: tuple[str, ...]


@frozen
class OutcomeSubject:
    """What entries are of: a policy, a release, a table.

    Attributes:
        name: of the policy, or of what was looked at.
        version: of the policy; "" if it has none.
        file: that was looked at, as the caller named it; "" if it is none.
        status: the exit status that it alone would have had.
        entries: in the order of its file.
        summary: what it is, in a few words.
        notes: what else a reader wants to know.
    """

    name: str
    version: str
    file: str
    status: int
    entries: tuple[OutcomeEntry, ...]
    summary: str = ""
    notes: tuple[OutcomeNote, ...] = ()

    def path(self, entry: OutcomeEntry) -> str:
        """Return the file that an entry is told of: the one that states it, else what was looked at."""
        return self.file if entry.place is None else entry.place.file


@frozen
class CommandOutcome:
    """What a command found.

    Attributes:
        command: such as `check`.
        exit_status: of the process.
        subjects: what was looked at, in order.
        root: the folder that files are named from: the top of the repository that the command ran in, else that folder.
        next: what to do now, in a sentence or a command; "" if nothing.
    """

    command: str
    exit_status: int
    subjects: tuple[OutcomeSubject, ...]
    root: Path
    next: str = ""

    @property
    def meaning(self) -> str:
        """Return what the exit status says."""
        return self.meaning_of(self.exit_status)

    def meaning_of(self, status: int) -> str:
        """Return what an exit status of the command says, such as that of one subject."""
        said = FAILURE_MEANINGS.get(self.command) if status == 1 else None
        return said or MEANINGS.get(status, "ended")

    def entries(self) -> Iterator[tuple[OutcomeSubject, OutcomeEntry]]:
        """Yield every entry with what it is of."""
        for subject in self.subjects:
            for entry in subject.entries:
                yield subject, entry

    def relative(self, path: str) -> str | None:
        """Return a file as named from the root; None if it lies elsewhere, or is no file."""
        if not path or "\0" in path:
            return None
        resolved = Path(path).resolve()
        return resolved.relative_to(self.root).as_posix() if resolved.is_relative_to(self.root) else None
