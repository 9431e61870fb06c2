"""Questions put to rrpolicy: a policy written from its parts, planned on a table, or released several times over.

The releases are drawn with keys that anybody can derive, so that the same numbers come out again: nothing like it may
be done with a table of people that is not public already.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

import rrpolicy

Options = Mapping[str, Any]
Read = TypeVar("Read")
NEVER_FAILS = 1e12
_SECRET = "RRPOLICY_PAPERS_SECRET"  # noqa: S105 a name


_WAIVED: Options = {
    "finding": "protection",
    "reason": "the parameters are the paper's",
    "approver": "papers",
    "until": date(2099, 12, 31),
}


@dataclass(frozen=True)
class Question:
    """What a policy says.

    Attributes:
        roles: of the columns.
        privacy: its entries.
        mechanism: name and options.
        metrics: of utility; each gets a limit that nothing exceeds.
        attributes: more keys of single columns.
    """

    roles: Mapping[str, str]
    privacy: Sequence[Options]
    mechanism: Options
    metrics: Sequence[Options] = ()
    attributes: Mapping[str, Options] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the policy."""
        columns = {
            name: {"role": role, "domain": "observed"} | dict(self.attributes.get(name, {}))
            for name, role in self.roles.items()
        }
        lines = ["schema = 1", "[policy]", 'name = "paper"', 'version = "1.0.0"', 'owner = "papers"']
        lines += ['purpose = "computing a paper again"', "[source]", 'uri = "memory:"', "[attributes]"]
        lines += [f"{json.dumps(name)} = {_toml(keys)}" for name, keys in columns.items()]
        for title, entries in (("privacy", self.privacy), ("utility", self.metrics)):
            limit = {"max": NEVER_FAILS} if title == "utility" else {}
            lines += [f"[[{title}]]\n" + _keys(dict(entry) | limit) for entry in entries]
        return "\n".join([*lines, "[mechanism]", _keys(self.mechanism), "[[waivers]]", _keys(_WAIVED), ""])


def planned(question: Question, table: pd.DataFrame | int) -> Any:
    """Return `rrpolicy.plan` of a question; of a number of records, without data.

    Raises:
        RRPolicyError: if it is refused.
    """
    with _policy(question) as file:
        if isinstance(table, int):
            return rrpolicy.plan(file, expected_rows=table)
        return rrpolicy.plan(file, table, bound=False)


def refused(question: Question, table: pd.DataFrame) -> str | None:
    """Return the code and message of why nothing can be planned; None if it can."""
    try:
        planned(question, table)
    except rrpolicy.RRPolicyError as error:
        return "; ".join(f"{problem.code}: {problem.message}" for problem in error.problems)
    return None


def expected(question: Question, table: pd.DataFrame) -> list[tuple[float, float]] | None:
    """Return what is to be expected of each metric, with its standard error (0 where it is exact); None if refused."""
    try:
        found = planned(question, table).utility
    except rrpolicy.RRPolicyError:
        return None
    return [(float(f.expected.value), float(f.expected.error)) for f in found]


def drawn(question: Question, table: pd.DataFrame, releases: int, read: Callable[[Any], Read]) -> list[Read]:
    """Return what is read of each of several releases, as an analyst who has public/ alone."""
    found = []
    with _policy(question) as file, tempfile.TemporaryDirectory() as folder:
        for number in range(releases):
            with _secret(number):
                made = rrpolicy.release(file, Path(folder) / str(number), source=table, key=f"env:{_SECRET}")
            found.append(read(rrpolicy.open_release(made.public)))
    return found


def keep_probabilities(plan: Any) -> dict[str, float]:
    """Return the keep probability of each randomised attribute of a plan; those that are not randomised have 1."""
    parameters = plan.to_json()["mechanism"]["parameters"]
    return {name: float(p.get("keep_probability", 1.0)) for name, p in parameters.items()}


@contextmanager
def _policy(question: Question) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text(question.text, encoding="utf-8")
        yield file


@contextmanager
def _secret(number: int) -> Iterator[None]:
    os.environ[_SECRET] = hashlib.sha256(b"papers %d" % number).hexdigest()
    try:
        yield
    finally:
        del os.environ[_SECRET]


def _keys(options: Options) -> str:
    return "\n".join(f"{name} = {_toml(value)}" for name, value in options.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)
