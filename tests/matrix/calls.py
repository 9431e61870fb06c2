"""How every command is called on a release: which columns are asked for is read from what it publishes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.estimate.release import Release

from .releases import Made

Call = list[str]
ELSEWHERE: Mapping[str, str] = {
    "init": "drafts a policy from a table",
    "check": "reads policies",
    "plan": "reads a policy and a table",
    "compare": "compares policies",
    "check-table": "measures a table that another person anonymised",
    "export schema": "prints a schema",
    "export sql": "prints SQL for a policy",
    "init packs": "lists baselines",
    "test": "holds policies to small tables",
    "ledger init": "begins a ledger",
    "ledger inventory": "lists what policies and ledgers know",
    "ledger show": "reads a ledger",
    "ledger verify": "reads a ledger",
    "release": "makes every release of the matrix",
    "collect randomize": "randomises a person's answers",
    "collect": "makes a release of answers",
    "keys new": "makes a key",
    "demo": "writes the demo table",
    "explain": "explains a code",
    "plugins": "lists plugins",
    "plugins new": "writes a plugin's skeleton",
}
"""Command -> why it has no row in the matrix: it takes no release."""
UNCALLED: Mapping[str, str] = {
    "diff --since": "reads a git revision; tests/governance/diff asks for it",
    "--plugin": "names a distribution of another person's",
    "--signed-by": "takes keys of who signed before",
    "--verified-by": "takes keys of who verified before",
    "--write": "writes into the release",
    "--sign-with": "writes into the release",
    "--reference": "goes with a policy that names a population",
    "--withdraw": "takes an entry of a ledger whose release never appeared",
    "--reason": "goes with --withdraw",
    "export archive --ledger": "takes the ledger of a release that stands in one",
    "--by": "goes with --budget and --recall; tests/governance/ledger asks for it",
    "--budget": "takes a policy; tests/governance/ledger asks for it",
    "--recall": "ends the use of a release; tests/governance/ledger and tests/attest ask for it",
    "--replaced-by": "goes with --recall",
    "--signers": "takes a file of people and their keys; tests/attest asks for it",
    "--as-of": "goes with --signers",
    "--unsigned": "goes with a release that requires signatures; tests/outputs asks for it",
    "--join": "takes a ledger of two branches",
    "estimate what-holds --table": "names a table inside a database",
    "--root": "takes a folder of policies",
}
"""Option -> why no call of the matrix has it."""
VERDICTS = frozenset({"verify", "attack", "diff"})
"""Commands that end with status 1 where something does not hold."""


class Asked:
    """A release, and what may be asked of it.

    Attributes:
        made: the release.
        first: a column; of those that have categories a sensitive one.
        second: another.
        number: a column of numbers, one with missing values before others; of releases without any, the first.
        value: a category of the first, as SQL.
        label: the same as text.
    """

    def __init__(self, made: Made, work: Path) -> None:
        self.made, self._work, self._new = made, work, count()
        work.mkdir(exist_ok=True)
        release: Release = rrpolicy.open_release(made.bundle)
        parts = [column for table in release.manifest.tables for column in table.columns]
        categories = [c for c in parts if c.labels]
        one, *rest = sorted(categories, key=lambda c: c.name not in {"ill", "my illness"})
        two = min(rest, key=lambda c: c.name not in {"work", "area", "age_group"}, default=one)
        self.first, self.second = one.name, two.name
        self.label = str(one.labels[0])
        self.value, self.second_label = f"'{self.label}'", str(two.labels[0])
        names = {c.name for c in parts}
        self.number = next((n for n in ("score", "grade", "children", "hours") if n in names), one.name)
        self.bundle = str(made.bundle)

    def new(self, suffix: str) -> str:
        """Return a file that is not there yet."""
        return str(self._work / f"{next(self._new)}{suffix}")

    @property
    def condition(self) -> str:
        """Return a condition on the first column."""
        return f"{quoted(self.first)} = {self.value}"

    @property
    def other(self) -> str:
        """Return a condition on the second."""
        return f"{quoted(self.second)} = '{self.second_label}'"


def quoted(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


Calls = Callable[[Asked], Iterator[Call]]


def _estimate(a: Asked) -> Iterator[Call]:
    both = f"{a.first},{a.second}"
    yield []
    yield ["--by", a.first]
    yield ["--by", both, "--population", "--level", "0.9"]
    yield ["--by", both, "--where", a.condition]
    yield ["--by", a.first, "--where", a.other]
    yield ["--by", a.number]
    for estimator in ("em", "projection"):
        yield ["--by", both, "--estimator", estimator]
    yield ["--by", a.second, "--spread"]
    yield ["--by", a.first, "--pairwise"]
    yield ["--by", a.first, "--bootstrap", "99", "--seed", "3"]
    yield ["--by", a.first, "--design", "none", "--no-verify"]
    yield ["--by", a.first, "--json"]
    yield ["--by", both, "--format", "csv", "--plot", a.new(".svg")]


def _query(a: Asked) -> Iterator[Call]:
    first, second, number = map(quoted, (a.first, a.second, a.number))
    by = f"SELECT {first}, count(*) AS n FROM release GROUP BY {first}"
    mean = f"SELECT {second}, avg({number}) AS m, sum({number}) AS s FROM release GROUP BY {second}"
    labels = a.new(".csv")
    Path(labels).write_text(f"code,name\n{a.label},one\n")
    yield ["SELECT count(*) FROM release"]
    yield [by]
    yield [by, "--population", "--level", "0.9"]
    yield [by, "--pairwise"]
    yield [by, "--bootstrap", "99", "--seed", "3"]
    yield [f"{by} HAVING count(*) > 5 ORDER BY n DESC LIMIT 2", "--json"]
    yield [f"SELECT {first}, {second}, count(*), share() FROM release GROUP BY ROLLUP ({first}, {second})"]
    yield [f"SELECT count(*) FILTER (WHERE {a.condition}) / count(*) FROM release"]
    yield [f"SELECT {second}, count(*) / sum(count(*)) OVER (PARTITION BY {second}) FROM release GROUP BY {second}"]
    yield [f"SELECT count({number}), min({number}), max({number}) FROM release"]
    yield [f"SELECT count(*) FROM release WHERE NOT ({a.condition}) OR {second} IS NULL"]
    yield [f"SELECT count(*) FROM release WHERE {number} >= 1"]
    yield [mean]
    yield [mean, "--population", "--design", "none", "--no-verify"]
    yield [mean, "--format", "csv", "--plot", a.new(".svg")]
    yield [f"SELECT avg({second}) AS m FROM release", "--limits", f"{a.second}=0,100"]
    joined = f"SELECT name, count(*) FROM release JOIN labels ON release.{first} = labels.code GROUP BY name"
    yield [joined, "--table", f"labels={labels}"]


def _association(a: Asked) -> Iterator[Call]:
    columns = [a.first, a.second]
    yield columns
    yield [*columns, "--population", "--level", "0.9"]
    yield [*columns, "--spread"]
    yield [*columns, "--deflate"]
    yield [*columns, "--measure", "cramers_v", "--bootstrap", "99", "--seed", "3"]
    yield [*columns, "--where", a.condition]
    yield [a.first, a.number, "--where", a.other]
    yield [*columns, "--row-present", a.label, "--column-present", a.second_label]
    yield [a.first, a.number, "--json", "--design", "none", "--no-verify"]
    yield [*columns, "--format", "csv", "--plot", a.new(".svg")]


def _independence(a: Asked) -> Iterator[Call]:
    columns = [a.first, a.second]
    yield columns
    for method in ("released", "wald", "rao-scott"):
        yield [*columns, "--method", method]
    yield [*columns, "--where", a.condition]
    yield [a.first, a.number, "--json", "--design", "none", "--no-verify"]
    yield [*columns, "--format", "csv"]


def _glm(a: Asked) -> Iterator[Call]:
    first, second, number = (f"`{name}`" for name in (a.first, a.second, a.number))
    yes = f"{first} ~ {second}"
    yield [yes, "--family", "binomial", "--success", a.label]
    yield [yes, "--family", "binomial", "--success", a.label, "--population", "--margins", "--level", "0.9"]
    yield [f"{number} ~ {second}"]
    yield [f"{number} ~ {second}", "--where", a.condition, "--json"]
    yield [f"{number} ~ {first}", "--where", a.other]
    yield [f"{number} ~ {first}", "--family", "poisson", "--design", "none", "--no-verify"]
    yield [f"{number} ~ {first} + {second}", "--format", "csv", "--plot", a.new(".svg")]


def _loglinear(a: Asked) -> Iterator[Call]:
    first, second, number = (f"`{name}`" for name in (a.first, a.second, a.number))
    yield [f"{first} + {second}"]
    yield [f"{first} * {second}", "--json", "--design", "none", "--no-verify"]
    yield [f"{first} + {number}"]
    yield [f"{first} + {second}", "--where", a.condition]
    yield [f"{first} + {second}", "--format", "csv", "--plot", a.new(".svg")]


def _rules(a: Asked) -> Iterator[Call]:
    found = ["--min-support", "0.02", "--min-confidence", "0.3"]
    yield found
    yield [*found, "--columns", f"{a.first},{a.second}", "--longest", "2", "--population", "--level", "0.9"]
    yield [*found, "--where", a.condition, "--json"]
    yield [*found, "--where", a.other]
    yield [*found, "--present", a.label, "--design", "none", "--no-verify"]
    yield ["--rule", f"{a.second} = {a.second_label} -> {a.first} = {a.label}"]
    yield [*found, "--format", "csv", "--plot", a.new(".svg")]


def _replicates(a: Asked) -> Iterator[Call]:
    yield ["--by", f"{a.first},{a.second}", "--out", a.new(".parquet")]
    yield ["--by", a.second, "--out", a.new(".csv"), "--where", a.condition, "--design", "none", "--no-verify"]


def _what_holds(a: Asked) -> Iterator[Call]:
    yield [a.bundle]
    yield [a.bundle, "--json", "--no-verify"]
    yield [a.bundle, "--format", "csv"]
    if a.made.source is not None:
        table = [str(a.made.source), "ill", "sex"]
        yield [*table, "--randomised", "ill", "--doubly-stochastic", "ill", "--half", "ill"]


def _original(a: Asked) -> Call:
    return [] if a.made.source is None else ["--source", str(a.made.source)]


def _verify(a: Asked) -> Iterator[Call]:
    known = ["--reference", str(a.made.source)] if "[reference]" in a.made.policy.read_text() else []
    ledger = [] if a.made.ledger is None else ["--ledger", str(a.made.ledger), "--superseded"]
    yield ["--level", "public"]
    yield ["--level", "audit", "--strict"]
    yield ["--json"]
    yield ["--output-format", "sarif", "--quiet", "--today", "2027-01-01"]
    yield ["--also", f"junit={a.new('.xml')}"]
    if a.made.source is not None:
        yield ["--level", "source", *_original(a), "--plan-on", str(a.made.source.with_name("other.csv")), *known]
        yield [*_original(a), "--key", str(a.made.key), "--strict", *ledger, *known]


def _attack(a: Asked) -> Iterator[Call]:
    if a.made.source is not None:
        yield _original(a)
        yield [*_original(a), "--quiet", "--output-format", "sarif", "--also", f"junit={a.new('.xml')}"]


def _report(a: Asked) -> Iterator[Call]:
    yield ["--out", a.new(".html")]
    yield ["--page", "public", "--out", a.new(".html"), "--no-verify"]
    yield ["--page", "audit", "--format", "json"]
    yield ["--json"]


def _export(a: Asked) -> Iterator[Call]:
    for program in ("r", "stata", "spss", "duckdb", "postgres", "sqlite", "ansi"):
        yield ["--for", program]
    yield ["--for", "r", "--out", a.new(".R"), "--no-verify"]


def _archive(a: Asked) -> Iterator[Call]:
    yield ["--out", a.new(".zip")]
    signers, ledger = Path(a.new(".toml")), [] if a.made.ledger is None else ["--ledger", str(a.made.ledger)]
    signers.write_text("# of the office\n")
    yield ["--out", a.new(".zip"), "--signers", str(signers), *ledger]


def _evidence(a: Asked) -> Iterator[Call]:
    for regime in ("dpia", "ema-0070", "hipaa", "iso27559", "sp800-188"):
        yield ["--for", regime]
    yield ["--for", "dpia", "--format", "oscal"]
    yield ["--for", "dpia", "--format", "json", "--page", "public"]
    yield ["--for", "hipaa", "--format", "markdown", "--out", a.new(".md")]


def _sign(a: Asked) -> Iterator[Call]:
    copied, key = a.new(""), a.new(".pem")
    shutil.copytree(a.bundle, copied)
    assert main(["keys", "new", key]) == 0
    yield [copied, "--key", key]


def _add_to_ledger(a: Asked) -> Iterator[Call]:
    ledger = a.new(".jsonl")
    if a.made.ledger is None:
        rrpolicy.init_ledger(Path(ledger))
    else:
        shutil.copy(a.made.ledger, ledger)
    yield [ledger, a.bundle, "--population", "residents", "--overlap", "same"]


def _on_a_release(options: Calls) -> Calls:
    return lambda a: ([a.bundle, *more] for more in options(a))


CALLS: Mapping[str, Calls] = {
    "estimate": _on_a_release(_estimate),
    "estimate query": _on_a_release(_query),
    "estimate association": _on_a_release(_association),
    "estimate independence": _on_a_release(_independence),
    "estimate glm": _on_a_release(_glm),
    "estimate loglinear": _on_a_release(_loglinear),
    "estimate rules": _on_a_release(_rules),
    "estimate replicates": _on_a_release(_replicates),
    "estimate what-holds": _what_holds,
    "verify": _on_a_release(_verify),
    "attack": _on_a_release(_attack),
    "report": _on_a_release(_report),
    "export": _on_a_release(_export),
    "export archive": _on_a_release(_archive),
    "report evidence": _on_a_release(_evidence),
    "sign": _sign,
    "ledger add": _add_to_ledger,
}
"""Command -> a function that yields the arguments of its calls on a release."""


def _compared(a: Asked, b: Asked) -> Iterator[Call]:
    both = [a.bundle, b.bundle]
    by = f"SELECT {quoted(a.second)}, count(*) AS n FROM release GROUP BY {quoted(a.second)}"
    mean = f"SELECT {quoted(a.second)}, avg({quoted(a.number)}) AS m FROM release GROUP BY {quoted(a.second)}"
    share = f"SELECT count(*) FILTER (WHERE {a.condition}) / count(*) AS s FROM release"
    for kind in ("difference", "ratio", "trend"):
        yield [*both, "--query", by, "--kind", kind]
    yield [*both, "--query", mean]
    yield [*both, "--query", mean, "--kind", "ratio", "--json", "--no-verify"]
    yield [*both, "--query", share, "--population", "--overlap", "0", "--level", "0.9"]
    yield [*both, "--query", share, "--population", "--overlap", "100", "--format", "csv", "--plot", a.new(".svg")]
    yield [*both, "--query", by, "--kind", "trend", "--time", "2024", "--time", "2026", "--population"]


def _changed(a: Asked, b: Asked) -> Iterator[Call]:
    since = [b.bundle, "--since", a.bundle]
    yield since
    yield [*since, "--by", a.first, "--unchanged", "0.5", "--format", "csv"]
    yield [*since, "--by", a.second, "--where", a.condition, "--json"]


def _attacked(a: Asked, b: Asked) -> Iterator[Call]:
    yield [a.bundle, b.bundle, *_original(a), *_original(b), "--json"]


def _diff(a: Asked, b: Asked) -> Iterator[Call]:
    yield [a.bundle, b.bundle]
    yield [a.bundle, b.bundle, "--json"]
    yield [a.bundle, b.bundle, "--output-format", "sarif", "--also", f"junit={a.new('.xml')}", "--today", "2027-01-01"]
    yield [str(a.made.policy), b.bundle, *_original(a)]
    yield [a.bundle, str(b.made.policy), "--expected-rows", "500"]
    yield [str(a.made.policy), str(b.made.policy), "--data"]


PAIRED = {"estimate compare": _compared, "estimate": _changed, "attack": _attacked, "diff": _diff}
"""Command -> a function that yields the arguments of its calls on two releases."""
