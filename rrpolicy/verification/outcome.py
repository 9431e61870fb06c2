"""The outcome of a verification: the level, every check with its result, and undecided checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from msgspec import Struct

from rrpolicy.declarations import Waiver
from rrpolicy.errors import GatedResult, Place, Problem
from rrpolicy.finding import Finding, Verdict
from rrpolicy.frozen import replace
from rrpolicy.serialization import JsonDocument

UNSIGNED_CODE = "RR136"
"""The code of a required signature that is missing: it concerns the signers, not the contents."""


class VerificationLevel(IntEnum):
    """The inputs of a verification; each level includes those before."""

    PUBLIC = 0
    AUDIT = 1
    SOURCE = 2
    KEY = 3

    @property
    def word(self) -> str:
        """Return the level as the command line names it."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> VerificationLevel:
        """Return the level of a word.

        Raises:
            ValueError: if the word is not a level.
        """
        for level in cls:
            if level.word == word:
                return level
        raise ValueError(f"no such level: {word!r}; one of {', '.join(level.word for level in cls)}")


class Check(Struct, frozen=True):
    """One check and its outcome.

    Attributes:
        name: name in words.
        level: its level.
        passed: whether it passed.
        detail: the result.
    """

    name: str
    level: VerificationLevel
    passed: bool
    detail: str = ""


class JudgementPoint(Struct, frozen=True):
    """A problem caused by the day, or waived: a person judges it, and it fails nothing.

    Attributes:
        what: its name, as a waiver has it.
        message: message of the problem.
        waiver: the waiver that permits it; None without one.
        place: place in the policy as written; None if not available.
    """

    what: str
    message: str
    waiver: Waiver | None = None
    place: Place | None = None

    def __str__(self) -> str:
        return self.message if self.waiver is None else f"{self.what} was {self.waiver}"


class UnconfirmedClaim(Struct, frozen=True):
    """A claim of a bundle that no available input confirms: its readers have to trust the bundle.

    Attributes:
        file: relative to the bundle, such as `public/release.json`.
        field: its dotted name in the file, without positions in lists; "" for the whole file.
        meaning: meaning of the claim, in words.
    """

    file: str
    field: str
    meaning: str


class CheckFailure(Struct, frozen=True):
    """A failed check, as the document of a verification contains it.

    Attributes:
        code: stable, RR110 to RR129.
        message: the fault, in words.
        hint: the action to take.
    """

    code: str
    message: str
    hint: str | None


class Verification(JsonDocument, Struct, GatedResult, frozen=True):
    """The outcome of verifying a bundle; it passes if every check that its level recomputes passes.

    Attributes:
        level: level of the verification.
        checks: checks in order.
        problems: failed checks, with codes RR110 to RR129.
        findings: recomputed at this level, of the channel that is stated; only a release that is verified is its draw.
        undecided: checks that this level cannot make.
        claims: statements of the bundle that the available inputs do not confirm.
        points: problems caused by the day, and waived ones.
        notes: further remarks; they fail nothing.
        reproduced: agreement of the redraw: "byte for byte", "row for row"; None if it did not agree, or below level
            key.
        policy: the name of the policy that the release states; "" if that cannot be read.
        version: version of that policy; "" if it cannot be read.
    """

    schema: ClassVar[str] = "rrpolicy.verification/1"
    written: ClassVar[tuple[str, ...]] = (
        *("schema", "level", "passed", "checks", "problems=failures", "findings=held", "conditional"),
        *("undecided=open", "stated=claims", "reproduced", "notes=told"),
    )

    level: VerificationLevel
    checks: tuple[Check, ...]
    problems: tuple[Problem, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[str, ...]
    claims: tuple[UnconfirmedClaim, ...] = ()
    reproduced: str | None = None
    policy: str = ""
    version: str = ""
    points: tuple[JudgementPoint, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """Return the remarks, in words."""
        return (*map(str, self.points), *self.notes)

    @property
    def conforms(self) -> bool:
        """Return whether these files are consistent: all checks pass, except perhaps for required signatures."""
        return all(problem.code == UNSIGNED_CODE for problem in self.problems)

    @property
    def conditional(self) -> tuple[str, ...]:
        """Return findings that are valid only given the statistics that the release derives from the table."""
        return tuple(f"{f.model}: {f.stated}" for f in self.findings if f.given)

    def last_line(self) -> str:
        """Return the line that a reader must not miss."""
        verified = "verified" if self.passed else "NOT verified"
        undecided = "; ".join(self.open) or "nothing"
        conditional = f"conditional: {'; '.join(self.conditional)}; " if self.conditional else ""
        return f"{verified} at level {self.level.word}; {conditional}undecided: {undecided}"

    @property
    def failures(self) -> tuple[CheckFailure, ...]:
        """Return the problems, as the document contains them."""
        return tuple(CheckFailure(p.code, p.message, p.hint) for p in self.problems)

    @property
    def open(self) -> tuple[str, ...]:
        """Return the undecided findings at this level, and those for files that are not the channel's draw."""
        return (*self.undecided, *self._loose)

    @property
    def held(self) -> tuple[Finding, ...]:
        """Return the findings; one on the stated channel is undecided for files that are not its draw."""
        if self.conforms:
            return self.findings
        satisfied = (f.verdict is Verdict.SATISFIED for f in self.findings)
        pairs = zip(self.findings, satisfied, strict=True)
        return tuple(replace(f, verdict=Verdict.UNDECIDED) if loose else f for f, loose in pairs)

    @property
    def _loose(self) -> tuple[str, ...]:
        """Return findings that would be valid for the stated channel, if these files were its draw."""
        known = {
            f"{f.model} {f.requirement}" for f in self.findings if not self.conforms and f.verdict is Verdict.SATISFIED
        }
        return tuple(sorted(known - {*self.undecided}))


@dataclass(slots=True)
class Log:
    """Gathers checks of a bundle; a failure does not stop the rest.

    `by` names the versions that wrote the bundle; "" if it was this one.
    """

    level: VerificationLevel = VerificationLevel.PUBLIC
    checks: list[Check] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    claims: dict[tuple[str, str], UnconfirmedClaim] = field(default_factory=dict)
    points: list[JudgementPoint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reproduced: str | None = None
    policy: str = ""
    version: str = ""
    by: str = ""

    def check(
        self, name: str, passed: bool, code: str, failure: str, detail: str = "", *, hint: str | None = None
    ) -> bool:
        """Note one check and, if it fails, the problem with the hint."""
        self.checks.append(Check(name, self.level, passed, detail if passed else failure))
        if not passed:
            self.problems.append(Problem(code, failure, hint=hint))
        return passed

    def again(self, name: str, agrees: bool, code: str, failure: str, by: str | None = None) -> bool:
        """Note a comparison with a regenerated part; one made by another version may differ, and is then undecided."""
        by = self.by if by is None else by
        if agrees or not by:
            return self.check(name, agrees, code, failure)
        self.undecided.append(f"{name}: written by {by}; verify with that version")
        return True

    def claim(self, file: str, meaning: str, *fields: str) -> None:
        """Note a claim of a file that the inputs so far do not confirm."""
        self.claims |= {(file, name): UnconfirmedClaim(file, name, meaning) for name in fields}

    def confirm(self, file: str, *fields: str) -> None:
        """Note that an input confirms a claim of a file."""
        for name in fields:
            self.claims.pop((file, name), None)

    def done(self, level: VerificationLevel) -> Verification:
        """Return the outcome."""
        return Verification(
            level,
            tuple(self.checks),
            tuple(self.problems),
            tuple(self.findings),
            tuple(dict.fromkeys(self.undecided)),
            tuple(self.claims.values()),
            self.reproduced,
            self.policy,
            self.version,
            tuple(self.points),
            tuple(self.notes),
        )
