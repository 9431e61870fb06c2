"""Results of a command for every machine-readable format: an outcome, its subjects, and their entries.

Plain frozen data. A format is a function from an outcome to text, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from msgspec import Struct

from rrpolicy.declarations import Waiver
from rrpolicy.errors import Place
from rrpolicy.finding import Basis, Measure

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
"""Meanings of exit statuses."""
FAILURE_MEANINGS = {
    "attack": "an attack is not as predicted, or none could be run",
    "diff": "a weakening is not explained",
    "test": "a test comes out otherwise",
}
"""Meanings of exit status 1 for commands that check no requirements of a table."""


class OutcomeKind(StrEnum):
    """Result of an entry.

    A conditional one is met, given the derived statistics that it names. An open one is undecided. A review is a
    point that needs judgement, an informational one a number without a limit or an unverified statement.
    """

    MET = "pass"
    CONDITIONAL = "conditional"
    FAIL = "fail"
    OPEN = "open"
    ERROR = "error"
    REVIEW = "review"
    INFORMATIONAL = "informational"


class EntryLevel(StrEnum):
    """Severity of an entry, in the words of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NONE = "none"


class EntryPart(StrEnum):
    """Category of an entry."""

    REQUIREMENT = "requirement"
    GATE = "utility gate"
    CHECK = "check"
    CHANGE = "change"
    JUDGEMENT = "point of judgement"
    PROBLEM = "problem"


class OutcomeEntry(Struct, frozen=True):
    """One check and its result.

    Attributes:
        rule: the code of the problem, such as `RR101`; without a code, the name of the model, metric or check.
        identity: stable id, independent of preceding entries in the file; see `rrpolicy.policy.identity`.
        title: the requirement or check, in a few words.
        message: the result in a sentence; never a value of the data.
        place: position in the file that requires it; None if no file does.
        about: subject of the rule, in a sentence; "" for a code, which has a page.
        assessor: name of the assessor, with its distribution.
        derived: ids of the statistics of the table that it is conditional on.
        waived: reason for accepting it nevertheless; None if not waived.
        beside: related measures, listed to avoid confusion with this number.
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
    def advice(self) -> tuple[str, ...]:
        """Return the correct form and the action to take, a line each."""
        told = (("expected", self.expected), ("hint", self.hint))
        return tuple(f"{name}: {text}" for name, text in told if text)

    @property
    def level(self) -> EntryLevel:
        """Return the severity; a waiver does not change it."""
        if self.blocking or self.kind in {OutcomeKind.FAIL, OutcomeKind.ERROR}:
            return EntryLevel.ERROR
        return EntryLevel.WARNING if self.kind in {OutcomeKind.CONDITIONAL, OutcomeKind.REVIEW} else EntryLevel.NONE


class OutcomeNote(Struct, frozen=True):
    """A heading and lines for people, in addition to the entries."""

    title: str
    lines: tuple[str, ...]


class OutcomeSubject(Struct, frozen=True):
    """The policy, release or table that entries belong to.

    Attributes:
        name: name of the policy, or of the checked object.
        version: version of the policy; "" if it has none.
        file: the checked file, as the caller named it; "" if no file.
        status: the exit status for this subject alone.
    """

    name: str
    version: str
    file: str
    status: int
    entries: tuple[OutcomeEntry, ...]
    summary: str = ""
    notes: tuple[OutcomeNote, ...] = ()

    def path(self, entry: OutcomeEntry) -> str:
        """Return the file of an entry: the file that states it, else the checked file."""
        return self.file if entry.place is None else entry.place.file


class CommandOutcome(Struct, frozen=True):
    """Results of a command.

    Attributes:
        command: such as `check`.
        subjects: the checked objects, in order.
        root: the folder that files are named from: the top of the repository that the command ran in, else that folder.
        next: the next step, in a sentence or a command; "" if there is no next step.
    """

    command: str
    exit_status: int
    subjects: tuple[OutcomeSubject, ...]
    root: Path
    next: str = ""

    @property
    def meaning(self) -> str:
        """Return the meaning of the exit status."""
        return self.meaning_of(self.exit_status)

    def meaning_of(self, status: int) -> str:
        """Return the meaning of an exit status of this command, for example that of one subject."""
        said = FAILURE_MEANINGS.get(self.command) if status == 1 else None
        return said or MEANINGS.get(status, "ended")

    def entries(self) -> Iterator[tuple[OutcomeSubject, OutcomeEntry]]:
        """Yield every entry with its subject."""
        for subject in self.subjects:
            for entry in subject.entries:
                yield subject, entry

    def path(self, subject: OutcomeSubject, entry: OutcomeEntry) -> str:
        """Return the file of an entry, relative to the root if it is below it."""
        path = subject.path(entry)
        return self.relative(path) or path

    def relative(self, path: str) -> str | None:
        """Return a path relative to the root; None if it is outside the root, or no file."""
        if not path or "\0" in path:
            return None
        resolved = Path(path).resolve()
        return resolved.relative_to(self.root).as_posix() if resolved.is_relative_to(self.root) else None
