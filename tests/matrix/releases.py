"""Small releases of every mechanism and every option of a release, of one invented table of people."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import dataclass
from pathlib import Path

import rrpolicy
from rrpolicy.cli.main import main

RECORDS = 240
REGIONS, ILLNESSES, WORK = ("north", "south", "west"), ("none", "flu", "cold", "gout"), ("none", "part", "full")
COLUMNS = {
    "person": 'role = "identifier"',
    "sex": 'role = "quasi-identifier", domain = ["F", "M"]',
    "region": 'role = "quasi-identifier", domain = ["north", "south", "west"]',
    "ill": 'role = "sensitive", domain = ["none", "flu", "cold", "gout"]',
    "children": 'role = "sensitive", domain = [0, 1, 2, 3]',
    "hours": 'role = "insensitive", assume_unlinkable = "known to nobody"',
}
AGE = 'role = "quasi-identifier", bins = [0, 30, 50, 70, inf], release_as = "age_group", scale = "ordinal"'
TREE = 'role = "quasi-identifier", domain = ["north", "south", "west"], hierarchy = [{ "coast" = ["north", "west"], "inland" = ["south"] }, { "*" = ["coast", "inland"] }]'
GENERALISED = {"sex": COLUMNS["sex"], "region": TREE, "age": AGE, "ill": COLUMNS["ill"], "hours": COLUMNS["hours"]}
DEALT = {name: COLUMNS[name] for name in ("sex", "region", "ill", "hours")}
DESIGNED = {
    "area": 'role = "insensitive", domain = ["a", "b", "c"], design = "stratum", unchanged = "public"',
    "village": 'role = "insensitive", design = "cluster", unchanged = "numbers of the office"',
    "weight": 'role = "insensitive", design = "weight", assume_unlinkable = "computed by the office"',
}
EPSILON = '[[privacy]]\nmodel = "local-dp"\nepsilon = {}\nscope = "attribute"\n'
RISK = '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "4/5"\n'
LINKING = '[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "9/10"\n'
SETS = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = "{}"\n'
ANONYMOUS = '[[privacy]]\nmodel = "k-anonymity"\nk = {}\n'
PRAM = EPSILON.format(9) + '[mechanism]\nname = "pram"\n'


@dataclass(frozen=True)
class Made:
    """A release, and what it was made of.

    Attributes:
        bundle: its folder.
        source: the original table; None of one whose records were collected, which has none.
        key: its key; None likewise.
        policy: the policy's file.
        ledger: the ledger that it stands in; None if in none.
    """

    bundle: Path
    source: Path | None
    key: Path | None
    policy: Path
    ledger: Path | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of release.

    Attributes:
        rest: the policy after its columns.
        columns: its columns; None for those of all.
        source: more keys of the source.
        several: whether people have several records.
        since: a release of the same series that comes before.
        month: of the table; in later months some people differ.
        ledger: whether it stands in a ledger, in which the series is.
        collected: whether people randomised their own records.
    """

    rest: str = PRAM
    columns: dict[str, str] | None = None
    source: str = ""
    several: bool = False
    since: str | None = None
    month: int = 0
    ledger: bool = False
    collected: bool = False


def _generalised(algorithm: str, privacy: str = ANONYMOUS.format(4), more: str = "") -> Kind:
    return Kind(f'{privacy}[mechanism]\nname = "l-diversity"\nalgorithm = "{algorithm}"\n{more}', GENERALISED)


def _with(**columns: str) -> dict[str, str]:
    return COLUMNS | columns


SERIES = (
    PRAM
    + '[release]\nseries = "monthly"\n[ledger]\nfile = "releases.jsonl"\noverlap = "nested"\n[[ledger.budget]]\nmodel = "local-dp"\nepsilon = 40\nscope = "attribute"\n'
)
CELLS = '{ released = ["F", "M"], original = ["F", "M"], rows = [["9/10", "1/5"], ["1/10", "4/5"]] }'
KINDS: dict[str, Kind] = {
    "pram": Kind(),
    "pram again": Kind(month=1),
    "rr-s": Kind(EPSILON.format(6) + '[mechanism]\nname = "rr-s"\n'),
    "rr-qi": Kind(RISK + '[mechanism]\nname = "rr-qi"\n', DEALT),
    "rr-both": Kind(RISK + '[mechanism]\nname = "rr-both"\n', DEALT),
    "sensitive-addition": Kind(SETS.format(2) + '[mechanism]\nname = "sensitive-addition"\n', DEALT),
    "anatomy": Kind(SETS.format(2) + '[mechanism]\nname = "anatomy"\n', DEALT),
    "anatomy of two": Kind(SETS.format(2) + '[mechanism]\nname = "anatomy"\n', DEALT | {"work": 'role = "sensitive", domain = ["none", "part", "full"], nulls = "no answer"'}),
    "full-domain": _generalised("full-domain"),
    "full-domain with suppression": _generalised("full-domain", ANONYMOUS.format(9), "suppression = 0.2\n"),
    "full-domain, diverse": _generalised("full-domain", ANONYMOUS.format(3) + SETS.format("3/2")),
    "mondrian": _generalised("mondrian"),
    "tp": Kind(SETS.format("3/2") + '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n', {k: v for k, v in GENERALISED.items() if k != "hours"}),
    "generalised and weighted": Kind(_generalised("full-domain").rest, GENERALISED | {"weight": DESIGNED["weight"]}),
    "together": Kind(EPSILON.format(9) + '[mechanism]\nname = "pram"\ntogether = [["sex", "region"]]\n'),
    "blocks": Kind(LINKING + '[mechanism]\nname = "pram"\nattributes = ["sex", "region", "ill"]\nallocation = "fixed"\nkeep_probability = { sex = "3/4", region = "3/4", ill = "4/5" }\nblocks = { region = [["north", "west"], ["south"]] }\n', DEALT),
    "planned elsewhere": Kind(PRAM + 'plan_on = "other.csv"\n'),
    "pk-anonymity": Kind('[[privacy]]\nmodel = "pk-anonymity"\nk = 2\n[mechanism]\nname = "pram"\n', {k: v for k, v in COLUMNS.items() if k != "hours"}),
    "a stated matrix": Kind(EPSILON.format(9) + f'[mechanism]\nname = "pram"\nallocation = "fixed"\nkeep_probability = {{ region = "3/4", ill = "4/5", children = "4/5" }}\nmatrix = {{ sex = {CELLS} }}\n'),
    "withheld": Kind(PRAM + '[release]\ndecoders = "withheld"\n'),
    "csv": Kind(PRAM + '[release]\nformat = "csv"\n'),
    "several files": Kind(PRAM + "[release]\nrows_per_file = 100\n"),
    "duckdb": Kind(PRAM + '[release]\nformat = "duckdb"\n'),
    "dealt in csv": Kind(SETS.format(2) + '[mechanism]\nname = "anatomy"\n[release]\nformat = "csv"\n', DEALT),
    "multiplicity": Kind(source='multiplicity = "times"\n'),
    "several records": Kind(PRAM.replace("= 9", "= 20"), source='unit = "person"\nmax_records = 2\n', several=True),
    "survey": Kind(columns=_with(**DESIGNED)),
    "weights inside": Kind(columns=_with(weight='role = "excluded", design = "weight"')),
    "known totals": Kind(columns=_with(sex=f'{COLUMNS["sex"]}, totals = [1_400, 1_300]')),
    "nulls": Kind(columns=_with(work='role = "sensitive", domain = ["none", "part"], outside = "other", nulls = "unknown"', score='role = "insensitive", assume_unlinkable = "known to nobody", nulls = "keep"')),
    "bins and names": Kind(columns=_with(age=AGE, ill=f'{COLUMNS["ill"]}, release_as = "my illness"')),
    "numbers with nulls": Kind(columns=_with(grade='role = "sensitive", domain = [1, 2, 3], nulls = "no answer"')),
    "nothing audited": Kind(PRAM + "[release]\naudit_counts = false\ndescribed_groups = 5\n"),
    "an observed domain": Kind(PRAM + '[release]\naccept = ["domain:ill", "parameters:sex", "parameters:region", "parameters:ill", "parameters:children", "released"]\n', columns=_with(ill='role = "sensitive", domain = "observed"')),
    "invariant": Kind(LINKING + '[mechanism]\nname = "pram"\nattributes = ["sex", "region", "ill"]\nallocation = "fixed"\nkeep_probability = { sex = "3/4", region = "3/4", ill = "4/5" }\ninvariant = { region = "observed" }\n[release]\naccept = ["marginal:region"]\n', DEALT),
    "a known population": Kind('[[privacy]]\nmodel = "k-map"\nk = 3\n[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n[reference]\nuri = "people.csv"\n', GENERALISED),
    "collected": Kind(columns={name: COLUMNS[name] for name in ("sex", "region", "ill", "children")}, collected=True),
    "series, first": Kind(SERIES, source='unit = "person"\n', ledger=True),
    "series, second": Kind(SERIES, source='unit = "person"\n', month=1, since="series, first", ledger=True),
}  # fmt: skip
"""Name -> a kind of release."""
PAIRS = (
    ("pram", "pram again"),
    ("pram", "several records"),
    ("several records", "pram"),
    ("several records", "survey"),
    ("survey", "pram"),
    ("pram", "withheld"),
    ("withheld", "pram"),
    ("pram", "full-domain"),
    ("full-domain", "mondrian"),
    ("full-domain", "full-domain with suppression"),
    ("sensitive-addition", "full-domain"),
    ("sensitive-addition", "anatomy"),
    ("anatomy", "anatomy of two"),
    ("anatomy", "pram"),
    ("rr-both", "rr-qi"),
    ("known totals", "survey"),
    ("weights inside", "survey"),
    ("nulls", "bins and names"),
    ("multiplicity", "csv"),
)
"""Pairs of releases, each asked after the other."""


def people(month: int = 0, *, several: bool = False) -> list[dict[str, object]]:
    """Return the invented people, a row each; in month 1 a sixth of them have another illness and other work."""
    draw = random.Random(11)
    found = []
    for i in range(RECORDS):
        age, sex, area = draw.randrange(16, 90), draw.choice("FM"), draw.randrange(3)
        illness = draw.choice(ILLNESSES[: 2 + (age > 40) + (sex == "M")])
        work = draw.choice((*WORK, "none"))
        if month and i % 6 == 0:
            illness, work = draw.choice(ILLNESSES), draw.choice(WORK)
        row = {
            "person": f"P{i // 2 if several else i:03}",
            "sex": sex,
            "region": draw.choice(REGIONS),
            "age": age,
            "ill": illness,
            "children": draw.choice((0, 0, 1, 2, 3)),
            "work": work,
            "hours": draw.randrange(20) / 2,
            "score": draw.choice((1.5, 2.5, 4.0, "")),
            "grade": draw.choice((1, 2, 3, "")),
            "area": "abc"[area],
            "village": 10 * area + draw.randrange(4),
            "weight": 4 + 2 * area + i % 2,
            "times": 1,
        }
        found.append(row | ({"work": ""} if i % 40 == 7 else {}))
    return found


def make(name: str, folder: Path, made: dict[str, Made]) -> Made:
    """Make a release of a kind by the command line; one that it follows is taken from those that are made."""
    kind = KINDS[name]
    earlier = None if kind.since is None else made[kind.since]
    own = folder / name.replace(" ", "-").replace(",", "")
    own.mkdir()
    rows = people(kind.month, several=kind.several)
    source = own / "people.csv"
    for path, of in ((source, rows), (own / "other.csv", rows[: RECORDS // 2])):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(of[0]))
            writer.writeheader()
            writer.writerows(of)
    columns = kind.columns or COLUMNS
    text = [
        f'schema = 1\n[policy]\nname = "{name}"\nversion = "1.0.0"\nowner = "an office"\npurpose = "a matrix of tests"',
        f'[source]\nuri = "people.csv"\nother_columns = "excluded"\npopulation = "residents"\n{kind.source}[attributes]',
        *(f"{column} = {{ {keys} }}" for column, keys in columns.items()),
        kind.rest,
    ]
    base = own if earlier is None else earlier.policy.parent
    policy = own / "policy.toml"
    policy.write_text("\n".join(text).replace('"releases.jsonl"', f'"{base / "releases.jsonl"}"'))
    ledger = base / "releases.jsonl" if kind.ledger else None
    if ledger is not None and earlier is None:
        rrpolicy.init_ledger(ledger)
    if kind.collected:
        return _collected(own, policy, rows)
    key = own / "release.key" if earlier is None else earlier.key
    assert main(["release", str(policy), "--out", str(own / "bundle"), "--key", str(key)]) == 0, name
    return Made(own / "bundle", source, key, policy, ledger)


def _collected(folder: Path, policy: Path, rows: list[dict[str, object]]) -> Made:
    rrpolicy.plan(policy, out=folder / "plan.json", expected_rows=RECORDS)
    asked = rrpolicy.open_questionnaire(folder / "plan.questionnaire.json")
    sent = [rrpolicy.randomize(asked, {q: row[q] for q in ("sex", "region", "ill", "children")}) for row in rows]
    (folder / "sent.jsonl").write_text("\n".join(map(json.dumps, sent)))
    rrpolicy.collect(folder / "plan.json", folder / "sent.jsonl", folder / "bundle")
    return Made(folder / "bundle", None, None, policy)
