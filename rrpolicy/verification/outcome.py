"""What a verification says: the level, every check with its outcome, and what stays undecided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

from rrpolicy.canonical_json import Json
from rrpolicy.errors import GatedResult, Place, Problem
from rrpolicy.finding import Finding, Verdict
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.governance import Waiver
from rrpolicy.serialization.writing import plain

UNSIGNED_CODE = "RR136"
"""The code of a signature that is asked for and missing: it speaks of who, not of what."""


class VerificationLevel(IntEnum):
    """What a verification has at hand; each level includes those before."""

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
            ValueError: if there is none.
        """
        for level in cls:
            if level.word == word:
                return level
        raise ValueError(f"no such level: {word!r}; one of {', '.join(level.word for level in cls)}")


@frozen
class Check:
    """One thing that was looked at.

    Attributes:
        name: what, in words.
        level: the level that it belongs to.
        passed: whether it holds.
        detail: with what result.
    """

    name: str
    level: VerificationLevel
    passed: bool
    detail: str = ""


@frozen
class JudgementPoint:
    """What the day brings, or somebody let be: a person judges it, and it fails nothing.

    Attributes:
        what: its name, as a waiver has it.
        message: what it is.
        waiver: who lets it be; None if nobody does.
        place: where the policy as written says so; None where that is not at hand.
    """

    what: str
    message: str
    waiver: Waiver | None = None
    place: Place | None = None

    def __str__(self) -> str:
        """Return it in words."""
        return self.message if self.waiver is None else f"{self.what} was {self.waiver}"


@frozen
class UnconfirmedClaim:
    """What a bundle says and nothing at hand confirms: whoever relies on it believes the bundle.

    Attributes:
        file: relative to the bundle, such as `public/release.json`.
        field: its dotted name in the file, without positions in lists; "" for the whole file.
        meaning: what it is, in words.
    """

    file: str
    field: str
    meaning: str


@frozen
class Verification(GatedResult):
    """What was verified of a bundle; it passes if everything that its level recomputes holds.

    Attributes:
        level: up to which it was looked at.
        checks: in order.
        problems: what does not hold, with codes RR110 to RR129.
        findings: recomputed at this level, of the channel that is stated; only a release that is verified is its draw.
        undecided: what this level cannot recompute.
        claims: what the bundle states and the inputs at hand do not confirm.
        points: what the day brings, and what was waived.
        notes: what else is to be read with it; nothing of it fails.
        reproduced: how the redraw agreed: "byte for byte", "row for row"; None if it did not, or below level key.
        policy: what the policy is called that the release states, with its version; "" if that cannot be read.
        version: likewise.
    """

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
        """Return what is to be read with it, in words."""
        return (*map(str, self.points), *self.notes)

    @property
    def conforms(self) -> bool:
        """Return whether these files are what they say: all holds, but perhaps signatures that are asked for."""
        return all(problem.code == UNSIGNED_CODE for problem in self.problems)

    @property
    def conditional(self) -> tuple[str, ...]:
        """Return what holds only given what the release derives from the table, in words."""
        return tuple(f"{f.model}: {f.stated}" for f in self.findings if f.given)

    def last_line(self) -> str:
        """Return the line that a reader must not miss."""
        verified = "verified" if self.passed else "NOT verified"
        undecided = "; ".join((*self.undecided, *self._loose)) or "nothing"
        conditional = f"conditional: {'; '.join(self.conditional)}; " if self.conditional else ""
        return f"{verified} at level {self.level.word}; {conditional}undecided: {undecided}"

    def to_json(self) -> Json:
        """Return the verification as plain data."""
        return {
            "schema": "rrpolicy.verification/1",
            "level": self.level.word,
            "passed": self.passed,
            "checks": plain(self.checks),
            "problems": [{"code": p.code, "message": p.message, "hint": p.hint} for p in self.problems],
            "findings": [f.to_json() for f in self.held],
            "conditional": list(self.conditional),
            "undecided": [*self.undecided, *self._loose],
            "stated": plain(self.claims),
            "reproduced": self.reproduced,
            "notes": list(self.told),
        }

    @property
    def held(self) -> tuple[Finding, ...]:
        """Return the findings; one that holds for the stated channel is undecided for files that are not its draw."""
        if self.conforms:
            return self.findings
        satisfied = (f.verdict is Verdict.SATISFIED for f in self.findings)
        pairs = zip(self.findings, satisfied, strict=True)
        return tuple(replace(f, verdict=Verdict.UNDECIDED) if loose else f for f, loose in pairs)

    @property
    def _loose(self) -> tuple[str, ...]:
        """Return what would hold of the stated channel, if these files were its draw."""
        known = {
            f"{f.model} {f.requirement}" for f in self.findings if not self.conforms and f.verdict is Verdict.SATISFIED
        }
        return tuple(sorted(known - {*self.undecided}))


@dataclass(slots=True)
class Log:
    """Gathers checks while a bundle is looked through; nothing that fails stops the rest."""

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

    def check(
        self, name: str, passed: bool, code: str, failure: str, detail: str = "", *, hint: str | None = None
    ) -> bool:
        """Note one check and, if it fails, the problem with the hint."""
        self.checks.append(Check(name, self.level, passed, detail if passed else failure))
        if not passed:
            self.problems.append(Problem(code, failure, hint=hint))
        return passed

    def again(self, name: str, agrees: bool, code: str, failure: str, by: str) -> bool:
        """Note what was made again and compared; by another version it may come out otherwise, and is then undecided.

        Args:
            name: of what was made again.
            agrees: whether it came out the same.
            code: of the problem if it did not.
            failure: what then is wrong.
            by: the versions that wrote the bundle; "" if it was this one.
        """
        if agrees or not by:
            return self.check(name, agrees, code, failure)
        self.undecided.append(f"{name}: written by {by}; verify with that version")
        return True

    def claim(self, file: str, meaning: str, *fields: str) -> None:
        """Note what a file states and the inputs looked at so far do not confirm."""
        self.claims |= {(file, name): UnconfirmedClaim(file, name, meaning) for name in fields}

    def confirm(self, file: str, *fields: str) -> None:
        """Note that an input confirms what a file states."""
        for name in fields:
            self.claims.pop((file, name), None)

    def done(self, level: VerificationLevel) -> Verification:
        """Return what was found."""
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
