"""Freezes what users and auditors get, and compares it with what was frozen.

python -m tests.golden          compare; the exit status is 1 if anything differs
python -m tests.golden --write  freeze it anew, after a change that is meant to be seen
python -m tests.golden --into DIR  write every output into a folder, to be compared with that of another commit

Bundles under a fixed key of every policy of policies/ on four kinds of source, plans, the output of every example of
the commands and of every format that a command prints, the schemas, and the public names with their signatures.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import inspect
import io
import itertools
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path

os.environ["OPENBLAS_CORETYPE"] = "Haswell"  # before numpy: another kernel differs in the last bit of a search
ROOT = Path(__file__).resolve().parents[2]
FROZEN, NAMES = Path(__file__).with_name("outputs.txt"), Path(__file__).with_name("public_names.txt")
KEY, LABEL, DAY = "RRPOLICY_GOLDEN_KEY", "2027-01", date(2027, 1, 1)
SOURCES = ("demo", "parquet", "csv", "duckdb")
POLICIES = tuple(sorted(p.stem for p in (ROOT / "policies").glob("*.toml") if p.stem != "baseline"))
PARTS = 6
MAKES = {"--out", "--report", "--html", "--plot"}
"""Options that name a file to be made; of `plan` --key, too."""
RECORDS = 4000
"""Of the table that commands are asked of."""
FORMATS = ("text", "json", "sarif", "code-scanning", "junit", "github", "gitlab", "markdown")
IN_FORMATS = (
    "check policy.toml",
    "plan policy.toml",
    "diff old.toml new.toml",
    "test policies/",
    "verify release",
    "attack release --source people.csv",
    "check-table people.csv --qi sex,age --sensitive disease --k 5",
)
ALSO = (
    *(
        "estimate release --by sex --json",
        "estimate release --by sex --format csv",
        "estimate what-holds people.csv sex disease",
    ),
    *(
        "estimate query release 'SELECT sex, count(*) FROM release GROUP BY sex' --json",
        "init packs --json",
        "plugins --json",
    ),
    *("ledger show releases.ledger --json", "ledger verify releases.ledger --json", "ledger inventory policies --json"),
    *(f"report evidence release --for {regime}" for regime in ("dpia", "ema-0070", "hipaa", "iso27559", "sp800-188")),
    *(f"export release --for {p}" for p in ("r", "stata", "spss", "duckdb", "postgres", "sqlite", "ansi")),
    *("report release --page public --format json", "plan policy.toml --verbose", "check policy.toml --json"),
)
_MOMENT = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_RANDOM = re.compile(rb"\b[0-9a-f]{12,128}\b")
_BASE64 = re.compile(rb"MCow[A-Za-z0-9+/=]{40,}")


def unmoved(content: bytes) -> bytes:
    """Return content without what differs from run to run: the moment."""
    return _MOMENT.sub(b"<moment>", content)


class Still(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Still:
        """Return noon of the day."""
        return cls(DAY.year, DAY.month, DAY.day, 12, tzinfo=tz)


def stilled() -> None:
    """Let releases be made under a fixed key, at one moment."""
    from rrpolicy.bundle import audit

    os.environ[KEY] = "07" * 32
    audit.datetime = Still  # type: ignore[misc]


def bundles(policy: str) -> dict[str, bytes]:
    """Return what is written under a policy, on every kind of source: the first whole, of others what differs."""
    import duckdb

    import rrpolicy

    stilled()
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(ROOT / "policies", folder / "policies", ignore=shutil.ignore_patterns("tests"))
        assert main(["demo", str(folder / "made")])[0] == 0
        table = folder / "made" / "survey.parquet"
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM '{table}') TO '{folder}/people.csv'")
            connection.execute(f"ATTACH '{folder}/people.duckdb' AS d; CREATE TABLE d.people AS FROM '{table}'")
        given = {"demo": "demo:survey", "parquet": str(table), "csv": f"{folder}/people.csv"}
        given["duckdb"] = f"{folder}/people.duckdb"
        first: dict[str, bytes] = {}
        for kind in SOURCES:
            file, out = folder / "policies" / f"{policy}.toml", folder / kind
            plan = rrpolicy.plan(file, given[kind], key=f"env:{KEY}", out=folder / f"{kind}.json", today=DAY)
            assert plan.file is not None
            found[f"plans/{policy}/{kind}.json"] = plan.file.read_bytes()
            rrpolicy.release(file, out, source=given[kind], key=f"env:{KEY}", label=LABEL, today=DAY)
            written = {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
            found |= {f"bundles/{policy}/{kind}/{n}": c for n, c in written.items() if first.get(n) != c}
            first = first or written
    return found


def main(words: Sequence[str]) -> tuple[int, bytes]:
    """Run a command in this process; return its exit status, and what it prints."""
    from rrpolicy.cli.main import main as run

    class Both(io.TextIOWrapper):
        def isatty(self) -> bool:
            return False

    raw = io.BytesIO()
    text = Both(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        status = run(list(words))
    text.flush()
    return status, raw.getvalue()


def office() -> None:
    """Make, in the working directory, what the examples of the commands name."""
    import duckdb

    import rrpolicy

    assert main(["demo", "made"])[0] == 0
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM 'made/survey.parquet' LIMIT {RECORDS}) TO 'people.csv'")
    shutil.copytree("made/hierarchies", "hierarchies")
    text = Path("made/policy.toml").read_text().replace("survey.parquet", "people.csv").replace("max = 0.03", "max = 9")
    for name in ("policy.toml", "old.toml"):
        Path(name).write_text(text)
    Path("new.toml").write_text(text.replace("k = 2", 'k = "3/2"'))
    shutil.rmtree("made")
    shutil.copytree(ROOT / "policies", "policies", ignore=shutil.ignore_patterns("[alrs]*.toml"))
    Path("releases").mkdir()
    for name in ("release", "survey-2025", "survey-2026", "releases/one"):
        rrpolicy.release("policy.toml", name, key=f"env:{KEY}", label=name, today=DAY)
    assert main(["plan", "policy.toml", "--out", "plan.json", "--key", "plan.key"])[0] == 0
    asked = re.sub(r'role = "insensitive"\nassume_unlinkable = .*', 'role = "excluded"', text)
    Path("asked.toml").write_text(asked)
    assert main(["plan", "asked.toml", "--expected-rows", str(RECORDS), "--out", "asked.json"])[0] == 0
    shutil.copy("asked.questionnaire.json", "plan.questionnaire.json")
    assert main(["keys", "new", "steward.pem"])[0] == 0
    for name in ("releases.ledger", "releases.jsonl"):
        rrpolicy.init_ledger(name)


def calls() -> Iterator[str]:
    """Yield the calls whose output is frozen."""
    from rrpolicy.cli.examples import EXAMPLES

    for examples in EXAMPLES.values():
        for example in examples:
            yield example.removeprefix("rrpolicy ").partition(" > ")[0]
    yield from ALSO
    for call in IN_FORMATS:
        yield from (f"{call} --output-format {form}" for form in FORMATS)
    yield from (f"{name} --help" for name in EXAMPLES)
    yield "--help"


def outputs(kept: Path, part: Sequence[str]) -> dict[str, bytes]:
    """Return the output of some calls, each in a copy of the office that nothing was done in."""
    stilled()
    os.environ |= {"RRPOLICY_PASSPHRASE": "correct horse", "NO_COLOR": "1", "COLUMNS": "100"}
    found, today = {}, datetime.now(UTC).date().isoformat().encode()
    with tempfile.TemporaryDirectory() as made:
        here = Path(made) / "here"
        for call in part:
            os.chdir(made)
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(kept, here)
            os.chdir(here)
            words = shlex.split(call)
            for option, out in itertools.pairwise(words):
                key = option == "--key" and words[0] == "plan"
                if option in MAKES or key or words[:2] in (["keys", "new"], ["ledger", "init"]):
                    shutil.rmtree(out, ignore_errors=True)
                    Path(out).unlink(missing_ok=True)
                    Path(f"{out}.pub").unlink(missing_ok=True)
            status, printed = main(words)
            plain = unmoved(printed).replace(str(here).encode(), b"<here>").replace(today, b"<today>")
            plain = _BASE64.sub(b"<key>", _RANDOM.sub(b"<hex>", plain))
            found[f"commands/{call}"] = b"exit status %d\n" % status + plain
        os.chdir(ROOT)
    return found


def made_office(kept: Path) -> None:
    """Make the office in a folder."""
    stilled()
    os.environ |= {"RRPOLICY_PASSPHRASE": "correct horse"}
    kept.mkdir()
    os.chdir(kept)
    office()
    os.chdir(ROOT)


def schemas() -> dict[str, bytes]:
    """Return every JSON Schema."""
    folder = ROOT / "rrpolicy" / "schemas"
    return {f"schemas/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.json"))}


def public_names() -> Iterator[str]:
    """Yield every public name, with its signature if it can be called."""
    import rrpolicy
    import rrpolicy.plugin
    import rrpolicy.plugin.engines
    import rrpolicy.plugin.solve
    import rrpolicy.plugin.text
    import rrpolicy.plugin.types
    import rrpolicy.testing
    from rrpolicy import hookspecs

    modules = [
        rrpolicy,
        rrpolicy.plugin,
        rrpolicy.plugin.engines,
        rrpolicy.plugin.solve,
        rrpolicy.plugin.text,
        rrpolicy.plugin.types,
    ]
    for module in [*modules, rrpolicy.testing]:
        for name in module.__all__:
            yield f"{module.__name__}.{name}{signature(getattr(module, name))}"
    for name in vars(hookspecs):
        if name.startswith("rrpolicy_"):
            yield f"hook {name}{signature(getattr(hookspecs, name))}"
    from rrpolicy.estimate.release import Release

    for name, member in vars(Release).items():
        if not name.startswith("_"):
            yield f"rrpolicy.estimate.release.Release.{name}{signature(member)}"


def signature(thing: object) -> str:
    """Return how something is called; "" if it is not."""
    try:
        return str(inspect.signature(thing)) if callable(thing) else ""
    except (ValueError, TypeError):
        return ""


def everything() -> tuple[dict[str, bytes], str]:
    """Return all outputs by name, and the public names."""
    with tempfile.TemporaryDirectory() as made, ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        kept, listed = Path(made) / "kept", [*dict.fromkeys(calls())]
        each = [pool.submit(bundles, policy) for policy in POLICIES]
        pool.submit(made_office, kept).result()
        each += [pool.submit(outputs, kept, listed[start::PARTS]) for start in range(PARTS)]
        found = schemas()
        for part in each:
            found |= part.result()
    names = sorted({re.sub(r" at 0x[0-9a-f]+", "", name) for name in public_names()})
    return found, "".join(f"{name}\n" for name in names)


def frozen(found: Mapping[str, bytes]) -> str:
    """Return a line for each output: its digest and its name."""
    return "".join(f"{hashlib.sha256(content).hexdigest()[:32]}  {name}\n" for name, content in sorted(found.items()))


def differing(before: str, after: str) -> Iterator[str]:
    """Yield what is not as it was frozen."""
    old, new = ({line.partition("  ")[2] or line: line for line in text.splitlines()} for text in (before, after))
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{'new' if name not in old else 'gone' if name not in new else 'other'}: {name}"


def run(given: Sequence[str], everything: Callable[[], tuple[dict[str, bytes], str]] = everything) -> int:
    """Compare, write or show; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--into", type=Path)
    asked = parser.parse_args(given)
    found, names = everything()
    if asked.into is not None:
        for name, content in found.items():
            asked.into.mkdir(parents=True, exist_ok=True)
            (asked.into / re.sub(r"[^\w.=,+-]+", "_", name)).write_bytes(content)
    told = frozen(found)
    if asked.write:
        FROZEN.write_text(told)
        NAMES.write_text(names)
        return 0
    lines = [*differing(FROZEN.read_text(), told), *differing(NAMES.read_text(), names)]
    print(
        "\n".join(lines) if lines else f"{len(found)} outputs and {names.count(chr(10))} names are as they were frozen"
    )
    if lines:
        print("\n`python -m tests.golden --into DIR` here and on the commit before shows how; --write freezes it anew")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
