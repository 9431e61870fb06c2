"""Pairs of tables that differ in one record: what tells them apart, outside the drawn data, must have a name.

All tables of a few records are planned and described. Whether a table is refused, and every leaf of release.json and
every file beside it, is compared for all pairs of neighbours; each difference must belong to a derived statistic that
the plan of both names. For a policy that derives nothing there may be no difference at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.bundle.manifest import build_manifest
from rrpolicy.bundle.tables.writer import FolderSink, WrittenTable
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.errors import RRPolicyError
from rrpolicy.exports.files import public_files
from rrpolicy.formats.format import file_name
from rrpolicy.frozen import replace
from rrpolicy.planning.assess import assess
from rrpolicy.planning.gate import gate
from rrpolicy.planning.plan import make_plan
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.planning.waivers import Terms
from rrpolicy.source.opening import open_original
from rrpolicy.testing import policy_text
from rrpolicy.testing.memory import TableInMemory

Table = tuple[tuple[int, ...], ...]
"""Records in any order that is sorted: a multiset."""

HEAD = policy_text(
    """\
[attributes]
""",
    "people.csv",
    "Neighbours",
)
A = 'a = {{ role = "quasi-identifier", domain = {} }}\n'
S = 's = {{ role = "sensitive", domain = {} }}\n'


def domain(name: str, size: int) -> str:
    return json.dumps([f"{name}{i}" for i in range(size)])


def policy(body: str, a: int = 2, s: int = 2) -> str:
    return HEAD + A.format(domain("a", a)) + S.format(domain("s", s)) + body


def privacy(model: str, **options: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    return "\n".join(["[[privacy]]", f'model = "{model}"', *lines, ""])


EPSILON = privacy("local-dp", epsilon=3)
DISCLOSURE = privacy("attribute-disclosure", threshold="2/5")


@dataclass(frozen=True)
class Case:
    """A policy for tables of two columns, and the ids of what it derives from them."""

    text: str
    ids: frozenset[str] = frozenset()
    sizes: tuple[int, int] = (2, 2)
    records: int = 4


def case(body: str, *ids: str, sizes: tuple[int, int] = (2, 2), records: int = 4) -> Case:
    return Case(policy(body, *sizes), frozenset(ids), sizes, records)


KEEP = '[mechanism]\nname = "pram"\nkeep_probability = { a = "0.8", s = "0.7" }\n'
CASES = {
    "pram fixed": case(EPSILON + KEEP),
    "pram fixed, disclosure": case(DISCLOSURE + KEEP, "released"),
    "pram fixed, utility that counts": case(
        EPSILON + KEEP + '[[utility]]\nmetric = "expected-l2"\nmax = "5/4"\ntarget = "population"\n', "released"
    ),
    "pram equal": case(EPSILON + '[mechanism]\nname = "pram"\n'),
    "pram optimal": case(EPSILON + '[mechanism]\nname = "pram"\nallocation = "optimal"\n', sizes=(2, 3), records=3),
    "pram equal, disclosure": case(
        EPSILON + DISCLOSURE + '[mechanism]\nname = "pram"\n', "parameters:a", "parameters:s", "released"
    ),
    "pram in blocks": case(
        privacy("attribute-disclosure", threshold="9/10")
        + '[mechanism]\nname = "pram"\nallocation = "optimal"\nblocks = { s = [["s0", "s1"], ["s2"]] }\n',
        *("parameters:a", "parameters:s", "released"),
        sizes=(2, 3),
        records=3,
    ),
    "pram invariant": case(
        EPSILON
        + '[mechanism]\nname = "pram"\ninvariant = { s = "observed" }\nkeep_probability = { a = "0.8", s = "0.9" }\n'
        + '[release]\naccept = ["marginal:s"]\n',
        *("marginal:s", "released"),
    ),
    "pram invariant, equal": case(
        EPSILON
        + '[mechanism]\nname = "pram"\ninvariant = { s = "observed" }\nkeep_probability = { s = "0.9" }\n'
        + '[release]\naccept = ["marginal:s"]\n',
        *("marginal:s", "parameters:a", "released"),
    ),
    "rr-both": case(EPSILON + '[mechanism]\nname = "rr-both"\nstarts = 1\n'),
    "rr-both, disclosure": case(
        EPSILON + DISCLOSURE + '[mechanism]\nname = "rr-both"\nstarts = 1\n',
        *("parameters:a", "parameters:s", "released"),
    ),
    "rr-qi": case(
        privacy("identity-disclosure", threshold="2/5") + '[mechanism]\nname = "rr-qi"\nstarts = 1\n',
        *("parameters:a", "released"),
    ),
    "rr-s": case(
        privacy("attribute-disclosure", threshold="3/5") + '[mechanism]\nname = "rr-s"\nstarts = 1\n',
        *("parameters:s", "released"),
    ),
    "sensitive-addition": case(
        privacy("l-diversity", kind="frequency", l=2)
        + privacy("attribute-disclosure", threshold="4/5")
        + '[mechanism]\nname = "sensitive-addition"\n',
        "released",
        sizes=(2, 3),
        records=3,
    ),
    "anatomy": case(
        privacy("l-diversity", kind="frequency", l=2) + '[mechanism]\nname = "anatomy"\n', "group-sizes", "released"
    ),
    "full-domain": case(
        privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n',
        *("node", "released"),
    ),
    "full-domain, pinned": case(
        privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\nnode = { a = 0 }\n', "released"
    ),
    "full-domain, suppressing": case(
        privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\nsuppression = "1/2"\n',
        *("node", "suppression", "released"),
    ),
    "mondrian": case(
        privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n',
        *("cuts", "released"),
    ),
    "tp": case(
        privacy("l-diversity", kind="frequency", l=2) + '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n',
        *("suppression", "released"),
    ),
}
CHOSEN = frozenset({"node", "cuts", "suppression", "group-sizes"})


@dataclass(frozen=True)
class Outcome:
    """What everybody sees of a table: nothing but a refusal, or the description of a release."""

    derived: frozenset[str]
    described: Mapping[str, Any] | None


def tables(sizes: Sequence[int], records: int) -> Iterator[Table]:
    yield from combinations_with_replacement(list(product(*map(range, sizes))), records)


def neighbours(all_tables: Sequence[Table]) -> Iterator[tuple[Table, Table]]:
    """Yield the pairs that differ in one record: all but one of their records are the same."""
    for one, other in combinations(all_tables, 2):
        rest = list(other)
        for record in one:
            if record in rest:
                rest.remove(record)
        if len(rest) == 1:
            yield one, other


def outcome(opened: OpenedPolicy, original: Any, elsewhere: Any = None) -> Outcome:
    try:
        plan = make_plan(opened.policy, opened.registry, original, elsewhere=elsewhere)
        plan = replace(plan, channel=plan.channel.settle(original))
        assessment = assess(plan.policy, opened.registry, plan.channel, original, plan.derived)
        accepting = replace(opened.policy.release, accept=tuple(d.id for d in plan.derived))
        gate(assessment, replace(opened.policy, release=accepting), Terms()).require()
    except RRPolicyError:
        return Outcome(frozenset(), None)
    form = plan.policy.release.format
    written = {
        t.name: WrittenTable((file_name(t.name, form),), plan.records, "drawn", {}) for t in plan.channel.tables()
    }
    made = build_manifest(plan, assessment, written, test=False)
    files = {path: content.decode() for path, content in public_files(made).items()}
    document: Any = made.to_json()
    for finding in document["findings"]:  # what the released table settles says no more than the table itself
        if finding["basis"] == "release":
            finding |= {"achieved": None, "companions": [c for c in finding["companions"] if c["basis"] != "release"]}
    sections = [repr(section) for section in plan.channel.sections(plan.records, None)]
    return Outcome(frozenset(d.id for d in plan.derived), {**document, "files": files, "sections": sections})


def in_memory(text: str, folder: Path) -> tuple[OpenedPolicy, Callable[[Table], Outcome]]:
    path = folder / "policy.toml"
    path.write_text(text)
    opened = open_policy(path)

    def of(table: Table) -> Outcome:
        columns = {name: list(values) for name, values in zip("as", zip(*table, strict=True), strict=True)}
        return outcome(opened, TableInMemory.of(opened.policy, columns))

    return opened, of


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(document, (Mapping, list, tuple)) and document:
        for key, value in document.items() if isinstance(document, Mapping) else enumerate(document):
            yield from leaves(value, (*path, key))
    else:
        yield path, document


def told_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    left, right = dict(leaves(one)), dict(leaves(other))
    return [path for path in left.keys() | right.keys() if left.get(path, ...) != right.get(path, ...)]


def speaks_of(path: tuple[Any, ...], document: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids that a part of the description may belong to: the table of everything in release.json."""
    match path:
        case ("attributes", int(place), *_):
            return frozenset({f"domain:{document['attributes'][place]['name']}"})
        case ("channel", "axes", int(place), *_) | ("decoders", int(place), *_):
            names = document["decoders"][place]["attributes"]
        case ("tables", int(table), "columns", int(place), *_):
            names = [document["tables"][table]["columns"][place]["attribute"]]
        case ("files", str(name)) if name.startswith("weights/"):
            names = [d["attributes"][0] for d in document["decoders"]]
        case ("origins", str(name)):  # what an observed domain leaves nothing to exchange is not solved for
            names = [name]
        case ("channel" | "findings" | "files" | "sections" | "derived" | "assumptions", *_):
            names = [a["name"] for a in document["attributes"]]
        case _:
            names = []
    return of_attributes(names) if names else frozenset()


def of_attributes(names: Any) -> frozenset[str]:
    return CHOSEN | {f"{kind}:{name}" for name in names for kind in ("parameters", "domain", "marginal")}


def unexplained(one: Outcome, other: Outcome) -> list[str]:
    """Return what tells two outcomes apart and no derived statistic of both accounts for."""
    if one.described is None or other.described is None:
        told = one.derived | other.derived
        return ["refused"] if one.described is not other.described and "released" not in told else []
    named = one.derived & other.derived
    return [
        ".".join(map(str, path))
        for path in told_apart(one.described, other.described)
        if not (named & speaks_of(path, one.described) or named & speaks_of(path, other.described))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_whatever_tells_neighbours_apart_is_a_named_derived_statistic(name, tmp_path):
    one = CASES[name]
    _, of = in_memory(one.text, tmp_path)
    found = {table: of(table) for table in tables(one.sizes, one.records)}
    released = {table for table, seen in found.items() if seen.described is not None}

    assert released
    assert {seen.derived for table, seen in found.items() if table in released} == {one.ids}
    pairs = [(found[a], found[b]) for a, b in neighbours(list(found))]
    assert [text for a, b in pairs for text in unexplained(a, b)] == []
    blind = [replace(seen, derived=frozenset()) for pair in pairs for seen in pair]
    differ = any(unexplained(a, b) for a, b in zip(blind[::2], blind[1::2], strict=True))
    assert differ == bool(one.ids)  # the comparison can fail


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        (EPSILON + DISCLOSURE + '[mechanism]\nname = "rr-both"\nstarts = 1\n', {"released"}),
        (privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\nalgorithm = "mondrian"\n', {"released"}),
        (privacy("k-anonymity", k=2) + '[mechanism]\nname = "l-diversity"\n', {"released"}),
    ],
)
def test_what_is_chosen_on_another_table_tells_nobody_apart(body, ids, tmp_path):
    opened, _ = in_memory(policy(body + 'plan_on = "census.csv"\n'), tmp_path)
    census = TableInMemory.of(opened.policy, {"a": [0, 0, 1, 1, 0, 1], "s": [0, 1, 0, 1, 0, 1]})

    def of(table: Table) -> Outcome:
        columns = {name: list(values) for name, values in zip("as", zip(*table, strict=True), strict=True)}
        return outcome(opened, TableInMemory.of(opened.policy, columns), census)

    found = {table: of(table) for table in tables((2, 2), 4)}
    released = [seen for seen in found.values() if seen.described is not None]
    assert {seen.derived for seen in released} == {frozenset(ids)}
    assert all(told_apart(released[0].described, seen.described) == [] for seen in released)  # type: ignore[arg-type]
    assert [text for a, b in neighbours(list(found)) for text in unexplained(found[a], found[b])] == []


@pytest.mark.slow
def test_observed_domains_are_named_and_what_follows_from_them(tmp_path):
    text = HEAD + A.format('"observed"') + S.format(domain("s", 2)) + EPSILON + '[mechanism]\nname = "pram"\n'
    (tmp_path / "policy.toml").write_text(text)
    opened = open_policy(tmp_path / "policy.toml")

    def of(table: Table) -> Outcome:
        rows = "".join(f"a{a},s{s}\n" for a, s in table)
        (tmp_path / "people.csv").write_text("a,s\n" + rows)
        with open_original(opened.policy, opened.registry.sources, tmp_path / "scratch") as original:
            return outcome(opened, original)

    found = {table: of(table) for table in tables((2, 2), 3)}
    pairs = [(found[a], found[b]) for a, b in neighbours(list(found))]
    several = {frozenset({"domain:a", "parameters:a", "parameters:s", "released"})}
    alone = {frozenset({"domain:a", "parameters:s", "released"})}
    assert {seen.derived for seen in found.values()} == several | alone
    assert [text for a, b in pairs for text in unexplained(a, b)] == []
    assert any(unexplained(replace(a, derived=frozenset()), replace(b, derived=frozenset())) for a, b in pairs)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_bytes_of_the_data_do_not_tell_how_they_were_drawn(form, tmp_path):
    opened, _ = in_memory(CASES["pram fixed"].text, tmp_path)
    table = TableInMemory.random(opened.policy, 70_000, 1)
    sure = Product((Identity.of("a", ["a0", "a1"]), Identity.of("s", ["s0", "s1"])), (), ("a", "s")).settle(table)
    found = []
    for path in ("cells", "records/2"):
        public, scratch = tmp_path / f"{path[:5]}-public", tmp_path / f"{path[:5]}-scratch"
        public.mkdir()
        scratch.mkdir()
        channel = replace(sure, sampler=path)  # type: ignore[arg-type]
        sink = FolderSink(channel.tables(), public, form, scratch)  # type: ignore[arg-type]
        channel.draw(table, Streams.for_tests(3), sink)
        sink.finish()
        found.append({file.name: file.read_bytes() for file in public.iterdir()})

    assert found[0] == found[1]
