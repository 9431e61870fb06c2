"""Bad input as a user brings it, through the command line: each is refused with its status, code, place and advice.

Whatever is refused, nothing is written, no value of the table is told, and no traceback is shown.
"""

from __future__ import annotations

import csv
import importlib
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.canonical_json import canonical, digest
from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.error_codes import codes
from rrpolicy.escaping.printable import visible
from rrpolicy.frozen import replace
from rrpolicy.planning.key_storage import parse_secret
from rrpolicy.planning.plan import Plan
from rrpolicy.planning.plan_result import randomisation_parameters
from rrpolicy.testing import policy_text

LDP = '[[privacy]]\nmodel = "local-dp"\nepsilon = 6\nscope = "attribute"\n'
POLICY = policy_text(
    f"""\
[attributes]
person_id = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
town = {{ role = "quasi-identifier", domain = ["A", "B", "C"] }}
salary = {{ role = "sensitive", bins = [0, 100, 200, inf] }}
note = {{ role = "excluded" }}
{LDP}[mechanism]
name = "pram"
""",
    "people.csv",
    "survey",
)
HEAD = ("person_id", "sex", "town", "salary", "note")
BLOCKS = 'blocks.town = [["A"], ["B", "C"]]\n'
RECORDS = 300
Row = list[str]


def rows(records: int = RECORDS) -> list[Row]:
    """Return people; what may never be told of them begins with CANARY."""
    rng = random.Random(1)
    return [
        [f"CANARY-{i}", rng.choice("FM"), rng.choice("ABC"), f"{rng.random() * 250:.2f}", f"CANARY-note-{i}"]
        for i in range(records)
    ]


def write(folder: Path, people: Sequence[Row], head: Sequence[str] = HEAD) -> None:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *people])


def one(column: str, value: str, row: int = 77) -> Callable[[Path], None]:
    """Put one value into the table."""

    def change(folder: Path) -> None:
        people = rows()
        people[row][HEAD.index(column)] = value
        write(folder, people)

    return change


def raw(content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / "people.csv").write_bytes(content) and None


def table(head: Sequence[str], people: Sequence[Row]) -> Callable[[Path], None]:
    return lambda folder: write(folder, people, head)


def column(position: int, values: Callable[[int], str], records: int = RECORDS) -> Callable[[Path], None]:
    """Fill a column."""
    return lambda folder: write(
        folder, [[*r[:position], values(i), *r[position + 1 :]] for i, r in enumerate(rows(records))]
    )


@dataclass(frozen=True)
class Bad:
    """What is wrong, and how it is refused.

    Attributes:
        name: of the case.
        status: exit status.
        code: first problem's.
        changes: of the policy's text.
        more: text that is added to it.
        make: changes the table.
        at: the line of the policy that is named holds this; None where no policy is at fault.
        command: that meets it first.
    """

    name: str
    status: int
    code: str
    changes: tuple[tuple[str, str], ...] = ()
    more: str = ""
    make: Callable[[Path], None] = field(default=lambda _: None)
    at: str | None = None
    command: str = "release"


def pk(k: str) -> tuple[tuple[str, str], ...]:
    return ((LDP, f'[[privacy]]\nmodel = "pk-anonymity"\nk = {k}\n'),)


def text(old: str, new: str) -> tuple[tuple[str, str], ...]:
    return ((old, new),)


OBSERVED = text('domain = ["F", "M"]', 'domain = "observed"')
LINE = b"person_id,sex,town,salary,note\n1,F,A,3,x\n"
CASES = (
    Bad("not TOML", 2, "RR202", text("schema = 1", "schema = = 1"), at="= ="),
    Bad("a day of no month", 2, "RR202", more="[context]\nreview_by = 2026-13-40\n", at="2026-13-40"),
    Bad("JSON in place of TOML", 2, "RR202", text("schema = 1", '{"schema": 1}'), at="{"),
    Bad("a domain that is a text", 2, "RR212", text('["F", "M"]', '"F"'), at='"F"'),
    Bad("bins of text", 2, "RR213", text("[0, 100, 200, inf]", '["low"]'), at='"low"'),
    Bad("epsilon in words", 2, "RR208", text("epsilon = 6", 'epsilon = "six"'), at="six"),
    Bad("epsilon is 0", 2, "RR208", text("epsilon = 6", "epsilon = 0"), at="epsilon"),
    Bad("epsilon below 0", 2, "RR208", text("epsilon = 6", "epsilon = -1"), at="epsilon"),
    Bad("epsilon is not a number", 2, "RR208", text("epsilon = 6", "epsilon = nan"), at="epsilon"),
    Bad("epsilon is infinite", 2, "RR208", text("epsilon = 6", "epsilon = inf"), at="epsilon"),
    Bad("epsilon out of reach", 1, "RR102", text("epsilon = 6", "epsilon = 1e-30"), at="local-dp"),
    Bad("k is 1", 2, "RR208", pk("1"), at="k = 1"),
    Bad("k below 1", 2, "RR208", pk("-3"), at="k = -3"),
    Bad("k is true", 2, "RR208", pk("true"), at="k = true"),
    Bad("k is N", 1, "RR102", pk(str(RECORDS)), at="pk-anonymity"),
    Bad("k above N", 1, "RR102", pk(str(RECORDS + 1)), at="pk-anonymity"),
    Bad("blocks with pk-anonymity", 2, "RR235", pk("2"), BLOCKS, at="blocks"),
    Bad("blocks with local-dp", 2, "RR235", (), BLOCKS, at="blocks", command="check"),
    Bad("a domain of one category", 2, "RR212", text('["F", "M"]', '["F"]'), at="sex"),
    Bad("an empty domain", 2, "RR212", text('["F", "M"]', "[]"), at="sex"),
    Bad("nothing required", 2, "RR226", ((LDP, ""),), at="[policy]"),
    Bad("an unknown mechanism", 2, "RR210", text('"pram"', '"prm"'), at="prm"),
    Bad("an empty table", 3, "RR317", make=table(HEAD, []), at="uri"),
    Bad("an empty file", 3, "RR308", make=raw(b""), at="uri"),
    Bad("half a table", 3, "RR318", text("[attributes]", "min_rows = 1000\n[attributes]"), at="min_rows"),
    Bad("a missing column", 3, "RR311", make=table(("person_id", *HEAD[2:]), [[r[0], *r[2:]] for r in rows()]), at="sex"),
    Bad("an extra column", 3, "RR310", make=table((*HEAD, "x"), [[*r, "CANARY"] for r in rows()]), at="[attributes]"),
    Bad("a column in other case", 3, "RR310", make=table(("person_id", "Sex", *HEAD[2:]), rows()), at="[attributes]"),
    Bad("a column twice", 3, "RR308", make=table((*HEAD, "sex"), [[*r, "F"] for r in rows()]), at="uri"),
    Bad("text among numbers", 3, "RR312", make=one("salary", "CANARY"), at="salary"),
    Bad("a domain of another type", 3, "RR312", text('["F", "M"]', "[1, 2]"), at="sex"),
    Bad("a value outside the domain", 3, "RR313", make=one("sex", "CANARY"), at="sex"),
    Bad("a number outside the bins", 3, "RR313", make=one("salary", "-4711"), at="salary"),
    Bad("NaN", 3, "RR314", make=one("salary", "NaN"), at="salary"),
    Bad("minus infinity", 3, "RR313", make=one("salary", "-inf"), at="salary"),
    Bad("an empty field", 3, "RR314", make=one("sex", ""), at="sex"),
    Bad("an observed domain of names", 3, "RR316", OBSERVED, make=column(1, lambda i: f"CANARY-{i}"), at="sex"),
    Bad(
        "a hundred thousand values", 3, "RR316", OBSERVED, at="sex",
        make=raw(LINE + b"".join(b"%d,CANARY%d,A,3,x\n" % (i, i) for i in range(100_000))),
    ),
    Bad("a carried column of names", 3, "RR319", text('note = { role = "excluded"', 'note = { role = "insensitive"'), at="note"),
    Bad("a row too short", 3, "RR303", make=raw(LINE + b"2,M,CANARY\n"), at="uri"),
    Bad("a row too long", 3, "RR303", make=raw(LINE + b"2,M,B,3,CANARY,9\n"), at="uri"),
    Bad("a quote without end", 3, "RR303", make=raw(LINE + b'2,"CANARY,B,1,2\n'), at="uri"),
    Bad("semicolons", 3, "RR303", make=raw(LINE.replace(b",", b";")), at="uri"),
    Bad("Latin-1", 3, "RR304", make=raw(LINE + "2,M,B,3,CANARYé\n".encode("latin-1")), at="uri"),
    Bad("UTF-16", 3, "RR304", make=raw(LINE.decode().encode("utf-16")), at="uri"),
    Bad("no such table", 3, "RR300", text("people.csv", "nowhere.csv"), at="uri"),
    Bad("an address", 3, "RR301", text("people.csv", "https://example.org/x.csv"), at="uri"),
    Bad("an unknown ending", 3, "RR301", text("people.csv", "people.xlsx"), at="uri"),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table and a policy that fit each other."""
    (tmp_path / "policy.toml").write_text(POLICY)
    write(tmp_path, rows())
    return tmp_path


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def refused(capsys: pytest.CaptureFixture[str], code: str) -> str:
    """Return what was said, after looking at what holds of every refusal."""
    output = capsys.readouterr()
    told = output.out + output.err
    assert code in output.err
    assert f"rrpolicy explain {code}" in output.err
    assert "Traceback" not in told
    assert "CANARY" not in told
    assert "\x1b" not in told
    return output.err


def contents(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.lstat().st_mtime_ns for p in folder.rglob("*")}


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_bad_input_is_refused_with_its_place_and_nothing_is_written(bad, folder, capsys):
    policy = folder / "policy.toml"
    stated = POLICY
    for old, new in bad.changes:
        assert old in stated
        stated = stated.replace(old, new)
    policy.write_text(stated + bad.more)
    bad.make(folder)
    before = contents(folder)

    out = ("--out", folder / "bundle", "--key", folder / "key") if bad.command == "release" else ()
    assert run(bad.command, policy, *out, "--json") == bad.status

    assert contents(folder) == before
    output = capsys.readouterr()
    document = json.loads(output.out)
    problem = (document["policies"][0] if bad.command == "check" else document)["problems"][0]
    assert document["exit_status"] == bad.status
    assert problem["code"] == bad.code
    assert bad.code in codes()
    assert problem["expected"] or problem["hint"] or "must be" in problem["message"]
    if bad.at is not None:
        assert bad.at in policy.read_text().splitlines()[problem["line"] - 1]
        assert f"{policy}:{problem['line']}:{problem['column']}: {bad.code}" in output.err
    told = output.out + output.err
    assert "Traceback" not in told
    assert "CANARY" not in told
    assert "4711" not in told


def test_what_is_no_policy(folder, capsys):
    for name, content in (("binary.toml", b"\x00\xff\xfe"), ("empty.toml", b"")):
        (folder / name).write_bytes(content)
        assert run("check", folder / name) == 2
        refused(capsys, "RR20")
    (folder / "no-policies").mkdir()
    assert run("check", folder / "no-policies") == 2
    refused(capsys, "RR200")


def test_k_that_no_table_can_give_says_how_much_is_possible(folder, capsys):
    (folder / "policy.toml").write_text(POLICY.replace(*pk("300")[0]))

    assert run("plan", folder / "policy.toml") == 1
    told = refused(capsys, "RR102")
    assert "the largest reachable is less than 300" in told
    assert "relax the requirement" in told


def test_a_table_of_one_value_is_released_as_such(folder, capsys):
    accepted = '[release]\naccept = ["domain:sex", "parameters:town", "parameters:salary", "released"]\n'
    (folder / "policy.toml").write_text(POLICY.replace(*OBSERVED[0]) + accepted)
    column(1, lambda _: "F")(folder)

    assert run("release", folder / "policy.toml", "--out", folder / "bundle") == 0
    assert run("verify", folder / "bundle", "--source", folder / "people.csv") == 0
    assert "verified at level source" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("table", "code"), [("nowhere.csv", "RR300"), ("people.xlsx", "RR301"), ("ftp://a.b/c", "RR301")]
)
def test_the_callers_table_is_not_sought_in_the_policy(folder, capsys, table, code):
    assert run("plan", folder / "policy.toml", "--source", table) == 3
    said = refused(capsys, code)
    assert "policy.toml" not in said
    assert table.partition(":")[0] in said


def test_a_database_that_somebody_writes_to_is_refused(folder, capsys):
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]);"
        "c.execute('create table people as select * from read_csv(?)', [sys.argv[2]]);"
        "print('open', flush=True); sys.stdin.read()"
    )
    (folder / "policy.toml").write_text(POLICY.replace("people.csv", "people.duckdb"))
    command = [sys.executable, "-c", code, str(folder / "people.duckdb"), str(folder / "people.csv")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"open\n"
        before = contents(folder)
        assert run("release", folder / "policy.toml", "--out", folder / "bundle") == 3
        assert "policy.toml:6:" in refused(capsys, "RR305")
        assert contents(folder) == before
        writer.stdin.close()
    assert run("plan", folder / "policy.toml") == 0


@pytest.mark.parametrize("name", ["people.plan", "plan"])
def test_a_plan_is_released_whatever_its_file_is_called(folder, capsys, name):
    assert run("plan", folder / "policy.toml", "--out", folder / name) == 0
    assert run("release", folder / name, "--out", folder / "bundle") == 0
    (folder / name).write_text("  {}")
    assert run("release", folder / name, "--out", folder / "again") == 4
    assert "is not a plan" in refused(capsys, "RR401")


def test_what_changes_between_plan_and_release_is_named(folder, capsys):
    plan, out = folder / "plan.json", folder / "bundle"
    assert run("plan", folder / "policy.toml", "--out", plan) == 0
    text = plan.read_text()

    one("sex", "M", next(i for i, r in enumerate(rows()) if r[1] == "F"))(folder)
    assert run("release", plan, "--out", out) == 4
    assert "the table has changed" in refused(capsys, "RR401")

    write(folder, rows())
    plan.write_text(text.replace('"keep_exact": "', '"keep_exact": "1', 1))
    assert run("release", plan, "--out", out) == 4
    assert "was changed after it was written" in refused(capsys, "RR401")

    plan.write_text("{}")
    assert run("release", plan, "--out", out) == 4
    refused(capsys, "RR401")
    assert run("release", folder / "nowhere.json", "--out", out) == 4
    assert "no such file" in refused(capsys, "RR401")
    assert run("plan", folder / "policy.toml", "--out", plan) == 4
    assert "nothing is ever overwritten" in refused(capsys, "RR402")
    plan.unlink()
    assert run("plan", folder / "policy.toml", "--out", plan) == 4
    assert "remove it" in refused(capsys, "RR403")

    plan.write_text(text)
    assert not out.exists()
    assert run("release", plan, "--out", out) == 0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release, made once."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "policy.toml").write_text(POLICY)
    write(folder, rows())
    assert run("release", folder / "policy.toml", "--out", folder / "bundle") == 0
    return folder / "bundle"


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 2000])
def test_a_disk_that_is_full_for_a_plan_or_a_report_keeps_neither(size, folder, bundle):
    """A limit on the size of files stands for a full disk; at 2000 bytes the key still fits and the plan does not."""
    plan = ("plan", folder / "policy.toml", "--out", folder / "plan.json")
    report = ("report", bundle, "--out", folder / "report.html")
    demo = ("demo", folder / "demo")
    before = contents(folder)
    for arguments in (plan, report, demo):
        found = subprocess.run(
            [sys.executable, "-B", "-m", "rrpolicy.cli.main", *map(str, arguments)],  # -B: no byte code cut short
            capture_output=True, check=False, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )  # fmt: skip
        assert found.returncode == 4, found.stderr
        assert "RR408" in found.stderr
    written = {k: v for k, v in contents(folder).items() if not (folder / k).is_dir()}
    assert written == before


@pytest.mark.parametrize("place", ["/proc/self", "missing"])
def test_places_that_cannot_be_written_to(place, folder, bundle, capsys):
    target = folder / place / "it"
    before = contents(folder)
    for arguments in (
        ("plan", folder / "policy.toml", "--out", target),
        ("release", folder / "policy.toml", "--out", target),
        ("release", folder / "policy.toml", "--out", folder / "bundle", "--key", target),
        ("report", bundle, "--out", target),
    ):
        assert run(*arguments) == 4
        refused(capsys, "RR407")
    assert contents(folder) == before


def test_a_file_that_is_no_key_is_not_called_a_readable_one(folder, capsys):
    for arguments in (
        ("release", folder / "policy.toml", "--out", folder / "bundle", "--key", folder / "people.csv"),
        ("release", folder / "policy.toml", "--out", folder / "bundle", "--key", folder),
    ):
        assert run(*arguments) == 4
        assert "chmod" not in refused(capsys, "RR403")
    assert (folder / "people.csv").exists()


RTL = "\u202eevil\u202c \u05d0\u05d1"
LABELS = ("plain", "<script>alert(1)</script>", 'a "quoted", label', "two\nlines", "O'Brien; DROP TABLE data; --", RTL)


class Text(HTMLParser):
    """The text of a page, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", set[str]()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_labels_of_any_kind_stand_as_they_are_everywhere(form, folder, capsys):
    spelled = json.dumps(list(LABELS), ensure_ascii=False)
    (folder / "policy.toml").write_text(POLICY.replace('["A", "B", "C"]', spelled) + f'[release]\nformat = "{form}"\n')
    column(2, lambda i: LABELS[i % len(LABELS)])(folder)
    out = folder / "bundle"
    assert run("release", folder / "policy.toml", "--out", out) == 0
    assert run("verify", out, "--source", folder / "people.csv") == 0
    capsys.readouterr()

    assert run("estimate", out / "public", "--by", "town", "--json") == 0
    assert [r["town"] for r in json.loads(capsys.readouterr().out)["rows"]] == list(LABELS)
    assert run("estimate", out / "public", "--by", "town", "--format", "csv") == 0
    read = list(csv.DictReader(capsys.readouterr().out.splitlines(keepends=True)))
    assert [r["town"] for r in read] == list(LABELS)
    assert run("estimate", out / "public", "--by", "town") == 0
    told = capsys.readouterr().out
    assert "\u202e" not in told
    assert "two\nlines" not in told
    for label in LABELS:
        where = "town = '" + label.replace("'", "''") + "'"
        assert run("estimate", out / "public", "--where", where, "--json") == 0
        assert json.loads(capsys.readouterr().out)["where"]
    for page in ("public", "audit"):
        content = (out / page / "report.html").read_text()
        parsed = Text()
        parsed.feed(content)
        assert "script" not in parsed.tags
        assert "\u202e" not in content
        for label in LABELS:
            assert visible(label) in parsed.text


def broken(folder: Path, name: str, plugin: str, code: str) -> Path:
    """Write an installed distribution with one entry point."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rrpolicy]\n{plugin} = {module}\n")
    (folder / f"{module}.py").write_text(code)
    return folder


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder on the path, as an installer would fill it; nothing of it stays behind."""
    added = tmp_path_factory.mktemp("site")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(added))
    yield added
    for name in set(sys.modules) - before:
        if name.startswith("acme_"):
            del sys.modules[name]


HOOK = (
    "from types import SimpleNamespace\nfrom rrpolicy.plugin import hookimpl\n@hookimpl\ndef rrpolicy_mechanisms():\n"
)


@pytest.mark.parametrize(
    ("plugin", "code", "refusal"),
    [
        ("broken", "raise OSError('no licence')\n", "RR406"),
        ("broken", "this is not a Python\n", "RR406"),
        ("broken", HOOK + "    raise KeyError('x')\n", "RR406"),
        ("pram", "raise OSError('never imported')\n", "RR405"),
        ("other", HOOK + "    return [SimpleNamespace(name='pram', options=0, outline=0, plan=0)]\n", "RR405"),
    ],
)
def test_a_plugin_that_is_broken_or_takes_a_name_is_refused(  # noqa: PLR0917 half are fixtures
    plugin, code, refusal, site, folder, capsys
):
    broken(site, "acme-bad", plugin, code)
    importlib.invalidate_caches()
    policy = folder / "policy.toml"
    assert run("check", policy) == 0
    policy.write_text(POLICY.replace('version = "1.0.0"\n', 'version = "1.0.0"\nplugins = ["acme-bad"]\n'))
    capsys.readouterr()

    before = contents(folder)
    for arguments in (("check", policy), ("release", policy, "--out", folder / "bundle")):
        assert run(*arguments) == 4
        assert "acme-bad" in refused(capsys, refusal)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("check", "nowhere.toml", "--json"), 2),
        (("plan", "nowhere.toml", "--json"), 2),
        (("plan", "--json", "--expected-rows", "0", "x.toml"), 2),
        (("release", "nowhere.toml", "--json"), 2),
        (("release", "nowhere.toml", "--out", "{tmp}/bundle", "--json"), 2),
        (("verify", "nowhere", "--json"), 2),
        (("verify", "{bundle}", "--level", "key", "--json"), 2),
        (("verify", "{bundle}", "--level", "all", "--json"), 2),
        (("verify", "{bundle}", "--json"), 0),
        (("estimate", "nowhere", "--json"), 2),
        (("estimate", "{bundle}", "--by", "nothing", "--format", "json"), 2),
        (("estimate", "{bundle}", "--by", "sex", "--level", "7", "--format=json"), 2),
        (("estimate", "{bundle}", "--by", "sex", "--json"), 0),
        (("estimate", "query", "{bundle}", "SELECT", "--json"), 2),
        (("report", "nowhere", "--json"), 2),
        (("report", "{bundle}", "--page", "public", "--json"), 0),
        (("report", "{bundle}/public", "--page", "audit", "--format", "json"), 2),
        (("plugins", "--plugin", "acme-nowhere", "--json"), 4),
        (("nothing", "--json"), 2),
    ],
)
def test_json_is_all_that_standard_output_holds(arguments, status, bundle, tmp_path, capsys):
    given = [a.format(bundle=bundle, tmp=tmp_path) for a in arguments]

    assert run(*given) == status
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert "Value error" not in output.err
    if status:
        assert document["exit_status"] == status
        assert "RR" in output.err
    else:
        assert output.err == ""


def resealed(plan: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change a plan's document and its digest."""
    document = json.loads(plan.read_text())
    change(document)
    document.pop("file_digest")
    plan.write_text(json.dumps({**document, "file_digest": digest(canonical(document))}))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.update(records="many"), "is not a plan: "),
        (lambda d: d["origins"].update(sex="nobody"), "contradicts itself"),
        (lambda d: d.update(records=7), "the plan was changed after it was written"),
    ],
)
def test_a_plan_that_was_edited_with_its_digest_is_refused(folder, capsys, change, expected):
    plan = folder / "plan.json"
    assert run("plan", folder / "policy.toml", "--out", plan) == 0
    resealed(plan, change)
    assert run("release", plan, "--out", folder / "bundle") == 4
    assert expected in refused(capsys, "RR401")


def test_a_plan_of_another_version_is_stale(folder, capsys, monkeypatch):
    plan = folder / "plan.json"
    assert run("plan", folder / "policy.toml", "--out", plan) == 0
    monkeypatch.setattr(rrpolicy, "__version__", "0.0.1")
    assert run("release", plan, "--out", folder / "bundle") == 4
    assert "the plan is stale: rrpolicy or a plugin" in refused(capsys, "RR401")


def test_a_plan_of_another_schema_is_refused():
    with pytest.raises(rrpolicy.RefusedError, match="RR401.*schema"):
        Plan.from_json({"schema": "rrpolicy.plan/0"}, load_registry(()))


def test_a_plan_on_a_full_disk_leaves_nothing(folder, capsys, monkeypatch):
    before = contents(folder)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run("plan", folder / "policy.toml", "--out", folder / "plan.json") == 4
    refused(capsys, "RR408")
    assert contents(folder) == before


def test_a_plan_that_is_broken_off_leaves_no_key(folder, monkeypatch):
    before = contents(folder)

    def broken(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(KeyboardInterrupt):
        rrpolicy.plan(folder / "policy.toml", out=folder / "plan.json")
    assert contents(folder) == before


def test_a_passphrase_without_a_key_file_is_refused(folder):
    for options in ({}, {"out": folder / "plan.json", "key": "env:SECRET"}):
        with pytest.raises(rrpolicy.PolicyError, match="--key-passphrase protects a key"):
            rrpolicy.plan(folder / "policy.toml", key_passphrase="secret", **options)


def test_a_policy_without_a_file_is_planned_but_not_written(folder):
    policy = replace(rrpolicy.load_policy(folder / "policy.toml"), files=())
    with pytest.raises(rrpolicy.PolicyError, match="was not loaded from"):
        rrpolicy.plan(policy, out=folder / "plan.json")
    with pytest.raises(rrpolicy.PolicyError, match="was not loaded from"):
        rrpolicy.release(policy, folder / "bundle")
    assert not (folder / "plan.json").exists()
    assert not (folder / "bundle").exists()


def test_a_key_of_another_table_is_refused(folder, capsys):
    keep = 'allocation = "fixed"\nkeep_probability = { sex = "3/4", town = "1/2", salary = "1/2" }\n'
    (folder / "policy.toml").write_text(POLICY + keep)
    key = folder / "release.key"
    assert run("release", folder / "policy.toml", "--out", folder / "one", "--key", key) == 0
    write(folder, [*rows()[::-1][1:], ["CANARY-x", "F", "A", "1.00", "CANARY-note-x"]])
    assert run("release", folder / "policy.toml", "--out", folder / "two", "--key", key) == 4
    assert "the key was made for another source: the table differs" in refused(capsys, "RR403")


def test_an_invariant_matrix_of_another_table_is_refused(folder, capsys):
    write(folder, rows(200))
    (folder / "people.csv").rename(folder / "others.csv")
    write(folder, rows())
    text = POLICY + 'invariant = { sex = "observed" }\nkeep_probability = { sex = "4/5" }\nplan_on = "others.csv"\n'
    (folder / "policy.toml").write_text(text)
    assert run("plan", folder / "policy.toml") == 2
    assert "an invariant matrix would keep the other table's marginal" in refused(capsys, "RR225")


def test_a_plan_states_the_parameters_of_each_block(folder):
    asked = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = 1\n'
    (folder / "policy.toml").write_text(POLICY.replace(LDP, asked) + BLOCKS)
    plan = rrpolicy.plan(folder / "policy.toml").outlook.plan
    assert plan is not None
    found = randomisation_parameters(plan)["town"]
    assert [block["members"] for block in found["blocks"]] == [[0], [1, 2]]
    assert found["keep_probability"] is None


def test_a_secret_is_written_as_the_command_line_names_it():
    assert [str(parse_secret(text)) for text in ("env:SECRET", "command:pass show x")] == [
        "env:SECRET",
        "command:pass show x",
    ]
