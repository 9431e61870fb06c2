"""Errors: a place, a problem, and the exceptions that carry problems with an exit status.

A code is `RR` and three digits. The first digit is the exit status of the command that reports it: 1 a requirement is
not met, 2 the policy or the call is wrong, 3 the data do not fit the policy, 4 refused. Codes with a first digit of 5
or more have any status. Every code has a page in `rrpolicy/error_codes/`, printed by `rrpolicy explain CODE`.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias, TypeVar

from msgspec import Meta, Struct

CODE_PREFIX = "RR"
"""Prefix of rrpolicy's codes; plugins have other prefixes, with pages for their codes."""
ExitStatus: TypeAlias = Annotated[int, Meta(extra_json_schema={"enum": [0, 1, 2, 3, 4, 70]})]
"""0: passed, 1: a requirement fails, 2: a wrong policy or command, 3: wrong data, 4: refused, 70: a defect."""
PLUGIN_CONTRACT_CODE = "RR413"
"""Code of an error in a plugin."""


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a value in a policy file.

    Attributes:
        file: path as the user wrote it; in no document, as the policy's digest identifies the file.
        line: number of the line, from 1.
        column: number of the first character, from 1.
        key: dotted key, such as `attributes.sex.domain`.
        text: the whole line, for the caret; never a line of data.
        width: characters to underline.
    """

    written: ClassVar[tuple[str, ...]] = ("line", "column", "key")

    file: str = ""
    line: int = 1
    column: int = 1
    key: str = ""
    text: str = field(default="", compare=False, repr=False)
    width: int = field(default=1, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(Struct, frozen=True):
    """One problem, readable by people and machines.

    Attributes:
        code: stable, such as `RR203`.
        message: the fault, in words; never a value of the data.
        place: the place in the policy; None if there is no such place.
        expected: the correct form.
        hint: the action to take.

    Examples:
        >>> problem = rrpolicy.Problem("RR203", "no such role", hint="write sensitive")
        >>> problem.code
        'RR203'
    """

    written: ClassVar[tuple[str, ...]] = (
        *("code", "message", "file", "line", "column", "width", "key", "expected", "hint"),
    )

    code: str
    message: str
    place: Place | None = None
    expected: str | None = None
    hint: str | None = None

    @property
    def file(self) -> str | None:
        """Return the file of its place."""
        return None if self.place is None else self.place.file

    @property
    def line(self) -> int | None:
        """Return the line of its place."""
        return None if self.place is None else self.place.line

    @property
    def column(self) -> int | None:
        """Return the column of its place."""
        return None if self.place is None else self.place.column

    @property
    def width(self) -> int | None:
        """Return the number of characters of its place."""
        return None if self.place is None else self.place.width

    @property
    def key(self) -> str | None:
        """Return the key of its place."""
        return None if self.place is None else self.place.key


class RRPolicyError(Exception):
    """An error with at least one problem; nothing was written.

    Attributes:
        problems: the problems, at least one.
        asked_of: the policy, release or table on the command line, as named there; "" if unknown.

    Examples:
        >>> try:
        ...     rrpolicy.load_policy("nowhere.toml")
        ... except rrpolicy.RRPolicyError as error:
        ...     print(error.problems[0].code, error.exit_status)
        RR200 2
    """

    exit_status: ClassVar[int] = 70
    asked_of: str = ""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        hints = (f" ({p.hint})" if p.hint else "" for p in self.problems)
        told = (f"{p.code}{f' {p.place}' if p.place else ''}: {p.message}" for p in self.problems)
        super().__init__("\n".join(map("".join, zip(told, hints, strict=True))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts to construct the error again, in another process as well."""
        return type(self), (self.problems,), {"asked_of": self.asked_of}


class RequirementError(RRPolicyError):
    """A requirement fails, cannot be achieved, or is undecided (RR1xx).

    Examples:
        >>> try:
        ...     rrpolicy.release("strict.toml", "strict")
        ... except rrpolicy.RequirementError as error:
        ...     print(error.problems[0].code)
        RR104
    """

    exit_status = 1


class PolicyError(RRPolicyError):
    """The policy or the call is wrong (RR2xx, RR5xx).

    Examples:
        >>> try:
        ...     rrpolicy.open_release("release").crosstab("colour")
        ... except rrpolicy.PolicyError as error:
        ...     print(error.problems[0].code)
        RR262
    """

    exit_status = 2


class DataError(RRPolicyError):
    """The data do not fit the policy (RR3xx, RR5xx).

    Examples:
        >>> try:
        ...     rrpolicy.check("policy.toml", source="nowhere.parquet").require()
        ... except rrpolicy.DataError as error:
        ...     print(error.problems[0].code)
        RR300
    """

    exit_status = 3


class RefusedError(RRPolicyError):
    """Refused: stale plan, existing bundle, foreign key, missing plugin (RR4xx).

    Examples:
        >>> try:
        ...     rrpolicy.release("policy.toml", "release")
        ... except rrpolicy.RefusedError as error:
        ...     print(error.problems[0].code)
        RR402
    """

    exit_status = 4


class MissingNameError(RefusedError):
    """A name in a plan or a release that no loaded plugin offers (RR404).

    Attributes:
        what: kind of the part, such as `privacy model`.
        name: name of the part.
    """

    def __init__(self, what: str, name: str, expected: str | None = None) -> None:
        self.what, self.name = what, name
        hint = "install the plugin that the policy lists, in the version that the release lists"
        super().__init__(Problem("RR404", f"no loaded plugin offers the {what} '{name}'", None, expected, hint))


class HasProblems(Protocol):
    """A result with problems."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems; empty if it passes."""
        ...

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        ...


P = TypeVar("P", bound=HasProblems)


class GatedResult:
    """A decided result: it passes, or `problems` contains the reasons why not."""

    __slots__ = ()

    @property
    def passed(self: HasProblems) -> bool:
        """Return whether there are no problems."""
        return not self.problems

    @property
    def exit_status(self: HasProblems) -> int:
        """Return 0 if it passes, 4 if it is refused (RR4xx), else 1."""
        if not self.problems:
            return 0
        refused = any(problem.code.startswith(f"{CODE_PREFIX}{RefusedError.exit_status}") for problem in self.problems)
        return RefusedError.exit_status if refused else RequirementError.exit_status

    def require(self: P) -> P:  # noqa: PYI019 Self has no problems
        """Return the result itself if it passes.

        Raises:
            RefusedError: with its problems, if one of them refuses it (RR4xx).
            RequirementError: with its problems (RR1xx), unless it passes.
        """
        if self.problems:
            kind = RefusedError if self.exit_status == RefusedError.exit_status else RequirementError
            raise kind(self.problems)
        return self


def write_error(what: str, error: OSError) -> RefusedError:
    """Return the refusal of a file that cannot be written: RR408 if there is no space for it, else RR407.

    Args:
        what: the file, as the message names it.
        error: the error of the operating system, or of a library that wraps one.
    """
    if error.errno == errno.EFBIG:
        hint = "write smaller files (`rows_per_file`), or choose a place without a limit on their size"
        return RefusedError(
            Problem("RR408", f"{what} cannot be written: a file may not be that large there", hint=hint)
        )
    if error.errno in {errno.ENOSPC, errno.EDQUOT} or "No space left" in str(error):
        full = "your disk quota is used up" if error.errno == errno.EDQUOT else "the disk is full"
        return RefusedError(
            Problem("RR408", f"{what} cannot be written: {full}", hint="make room, or choose another place")
        )
    why = error.strerror or "the operating system refuses"
    return RefusedError(Problem("RR407", f"{what} cannot be written: {why}", hint="choose another place"))
