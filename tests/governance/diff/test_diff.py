"""`rrpolicy diff`: what it says, what it asks for, and what only the data changed means."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import jsonschema
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.governance.diff import diff_inputs
from tests.governance.diff.conftest import POLICY

ROOT = Path(__file__).resolve().parents[3]
ENTRY = '[[policy.changes]]\nversion = "{}"\nwhat = "{}"\nwhy = "no table was left"\nwho = "data protection officer"\n'
BUMP = ('version = "1.0.0"', 'version = "1.1.0"')
WEAKER = ("k = 2", "k = 1.5")
SOURCE = "[source]\n"


def entry(what: str, version: str = "1.1.0") -> tuple[str, str]:
    return SOURCE, ENTRY.format(version, what) + "\n" + SOURCE


SCHEMA = json.loads((ROOT / "rrpolicy" / "schemas" / "rrpolicy.diff-1.json").read_text())


def told(capsys) -> dict:
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, SCHEMA)
    return document


def test_a_weakening_is_refused_and_what_is_printed_lets_it_pass(write, capsys):
    old, new = write("old.toml"), write("new.toml", WEAKER)

    assert main(["diff", str(old), str(new)]) == 1
    printed = capsys.readouterr()
    assert "weaker       privacy/pk-anonymity" in printed.out
    assert f"{new}:20:9: RR140 privacy/pk-anonymity is weaker" in printed.err
    paste = printed.err[printed.err.index("    [[policy.changes]]") :].split("\n\n")[0]
    assert 'version = "1.1.0"' in printed.err
    filled = "\n".join(line.strip() for line in paste.splitlines()).replace("fill in: ", "")
    answered = write("answered.toml", WEAKER, BUMP, (SOURCE, filled + "\n\n" + SOURCE))
    assert main(["diff", str(old), str(answered)]) == 0
    capsys.readouterr()
    assert main(["diff", str(old), str(answered), "--expected-rows", "1000", "--json"]) == 0
    assert told(capsys)["comparisons"][0]["changes"][0]["announced"] is True


def test_the_version_that_is_asked_for_is_above_the_one_before(write):
    found = rrpolicy.diff(write("old.toml"), write("new.toml", WEAKER, ('version = "1.0.0"', 'version = "0.3.0"')))

    (problem,) = found.problems
    assert "not greater than before (1.0.0)" in problem.message
    assert problem.hint is not None
    assert 'version = "1.1.0"' in problem.hint


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ([WEAKER], ["version", "entry"]),
        ([WEAKER, BUMP], ["entry"]),
        ([WEAKER, entry("privacy/pk-anonymity", "1.0.0")], ["version"]),
        ([WEAKER, BUMP, entry("privacy/pk-anonymity", "1.0.0")], ["entry"]),
        ([WEAKER, BUMP, entry("privacy/local-dp")], ["entry"]),
        (
            [WEAKER, ('version = "1.0.0"', 'version = "1.0.0-rc.1"'), entry("privacy/pk-anonymity", "1.0.0-rc.1")],
            ["version"],
        ),
        ([WEAKER, BUMP, entry("privacy/pk-anonymity")], []),
    ],
)
def test_version_and_entry_are_both_asked_for(write, changes, lacks):
    found = rrpolicy.diff(write("old.toml"), write("new.toml", *changes))

    assert found.passed == (not lacks)
    message = "".join(problem.message for problem in found.problems)
    assert ("the version is not greater" in message) == ("version" in lacks)
    assert ("no new [[policy.changes]] entry" in message) == ("entry" in lacks)


def test_an_entry_that_was_there_before_announces_nothing(write):
    said = entry("privacy/pk-anonymity", "1.1.0")
    old = write("old.toml", BUMP, said)
    new = write("new.toml", BUMP, said, WEAKER)

    assert not rrpolicy.diff(old, new).passed


def test_what_is_declared_needs_no_version(write):
    context = '[context]\nreview_by = 2027-01-01\nrelease_model = "enclave"\n\n'
    later = context.replace("2027", "2028").replace("enclave", "restricted")
    old = write("old.toml", (SOURCE, context + SOURCE))
    silent = rrpolicy.diff(old, write("silent.toml", (SOURCE, later + SOURCE)))
    entries = "".join(ENTRY.format("1.0.0", what) for what in ("context.review_by", "context.release_model"))
    answered = rrpolicy.diff(old, write("answered.toml", (SOURCE, entries + later + SOURCE)))

    assert {c.key: c.effect.value for c in silent.comparisons[0].changes} == {
        "context.review_by": "weaker",
        "context.release_model": "weaker",
    }
    assert [p.code for p in silent.problems] == ["RR140", "RR140"]
    assert answered.passed
    assert answered.comparisons[0].old.digest == answered.comparisons[0].new.digest
    assert answered.comparisons[0].only_data is None


def test_a_waiver_is_weaker_and_an_earlier_end_stronger(write):
    gate = ("[mechanism]", '[[utility]]\nmetric = "expected-l2"\nattributes = ["sex"]\nmax = 0.5\n\n[mechanism]')
    waiver = '[[waivers]]\nfinding = "utility/expected-l2?attributes=sex"\nreason = "first month"\napprover = "steward"\nuntil = {}\n\n'
    files = [write("none.toml", gate)]
    files += [write(f"{y}.toml", gate, (SOURCE, waiver.format(f"{y}-01-01") + SOURCE)) for y in (2097, 2098)]
    effects = [
        rrpolicy.diff(a, b).effect.value for a, b in ((files[0], files[1]), (files[1], files[2]), (files[2], files[1]))
    ]

    assert effects == ["weaker", "weaker", "stronger"]


def test_may_relax_of_a_baseline_is_weaker(write):
    found = rrpolicy.diff(write("old.toml"), write("new.toml", ("[source]", 'may_relax = ["min_rows"]\n\n[source]')))

    (change,) = found.comparisons[0].changes
    assert (change.key, change.effect.value) == ("policy.may_relax", "weaker")


def test_what_means_the_same_is_no_change(write):
    same = [("k = 2", 'k = "4/2" # the same'), ("min_rows = 100", "min_rows = 1_00"), ('"4/5"', "0.8")]
    (comparison,) = rrpolicy.diff(write("old.toml"), write("new.toml", *same)).comparisons

    assert comparison.changes == ()
    assert comparison.only_data is not None


def test_only_the_data_changed_since_a_release(write, tmp_path, capsys):
    policy = write("survey.toml", WEAKER, ('sex = "4/5", age = "3/5"', 'sex = "3/5", age = "2/5"'))
    release = tmp_path / "october"
    rrpolicy.release(policy, release, source="demo:survey?records=500")
    november = write("november.toml", ("demo:survey", "demo:survey?records=700"), text=policy.read_text())

    assert main(["diff", str(release), str(november), "--json"]) == 0
    (comparison,) = told(capsys)["comparisons"]
    statement = comparison["only_data_changed"]
    assert [(c["key"], c["effect"]) for c in comparison["changes"]] == [("source.uri", "neutral")]
    body = {key: value for key, value in statement.items() if key != "id"}
    spelled = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    assert statement["id"] == "sha256:" + hashlib.sha256(spelled).hexdigest()
    record = json.loads((release / "public" / "release.json").read_text())
    assert statement["since"] == record["digest"]
    assert statement["policy"] == json.loads((release / "audit" / "audit.json").read_text())["policy_digest"]
    assert main(["diff", str(release), str(november), "--data"]) == 0
    printed = capsys.readouterr().out
    assert "only the data changed, if anything" in printed
    assert "a release before: passes; after: passes" in printed


def test_no_plugin_is_loaded_because_a_release_names_it(write, tmp_path, monkeypatch):
    policy = write("survey.toml", WEAKER, ('sex = "4/5", age = "3/5"', 'sex = "3/5", age = "2/5"'))
    rrpolicy.release(policy, tmp_path / "october", source="demo:survey?records=500")
    kept = tmp_path / "october" / "audit" / "policy.toml"
    kept.write_text(kept.read_text().replace("[source]", 'plugins = ["evil-plugin>=1"]\n\n[source]', 1))
    asked = []
    real = diff_inputs.load_registry
    monkeypatch.setattr(diff_inputs, "load_registry", lambda *given: asked.append(given[0]) or real(*given))

    with pytest.raises(PolicyError, match="RR260"):  # never RR404: it is not even looked for
        rrpolicy.diff(tmp_path / "october", policy)
    assert asked == [()]


def test_a_release_whose_policy_was_swapped_is_refused(write, tmp_path, capsys):
    policy = write("survey.toml", WEAKER, ('sex = "4/5", age = "3/5"', 'sex = "3/5", age = "2/5"'))
    rrpolicy.release(policy, tmp_path / "october", source="demo:survey?records=500")
    kept = tmp_path / "october" / "audit" / "policy.toml"
    kept.write_text(kept.read_text().replace("k = 1.5", "k = 1.2"))

    assert main(["diff", str(tmp_path / "october"), str(policy)]) == 2
    assert "RR260" in capsys.readouterr().err


def test_the_mechanism_is_as_good_as_its_guarantees(write):
    looser = ('sex = "4/5"', 'sex = "9/10"')
    old, new = write("old.toml"), write("new.toml", looser)
    alone = rrpolicy.diff(old, new)
    priced = [rrpolicy.diff(a, b, expected_rows=1000) for a, b in ((old, new), (new, old))]

    assert alone.effect == "incomparable"
    assert [found.effect.value for found in priced] == ["weaker", "stronger"]
    prices = priced[0].comparisons[0].prices
    (guarantee,) = [price for price in prices.numbers if price.kind == "guarantee"]
    assert guarantee.before.value > guarantee.after.value
    exact = 1 + 999 * (4 / 1) ** -2 * ((3 / 5) / (2 / 15)) ** -2  # N - 1 times the cross ratios of both columns
    assert guarantee.before.value == pytest.approx(exact)
    assert priced[0].comparisons[0].changes[0].key == "mechanism.keep_probability"


def test_a_requirement_that_is_taken_out_still_has_a_number(write):
    dp = '[[privacy]]\nmodel = "local-dp"\nepsilon = 9\n\n'
    old, new = write("old.toml", ("[[privacy]]", dp + "[[privacy]]")), write("new.toml")
    numbers = rrpolicy.diff(old, new, expected_rows=1000).comparisons[0].prices.numbers
    (price,) = [p for p in numbers if p.of.startswith("privacy/local-dp")]

    assert price.before.value == pytest.approx(price.after.value)


def test_folders_are_compared_by_the_names_of_their_policies(write, tmp_path, capsys):
    write("old/a.toml")
    write("old/gone.toml", ('"survey"', '"gone"'))
    write("new/renamed.toml", WEAKER)
    other = ('"demo:survey"', '"other.csv"'), ("sex = ", "colour = "), ("age = ", "shape = "), ("hours = ", "size = ")
    write("new/b.toml", ('"survey"', '"more"'), *other)

    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--json"]) == 1
    document = told(capsys)
    assert [c["new"]["file"] for c in document["comparisons"]] == [str(tmp_path / "new" / "renamed.toml")]
    assert (len(document["added"]), len(document["removed"])) == (1, 1)
    assert document["problems"][0]["code"] == "RR140"


def test_a_new_name_hides_no_change(write, tmp_path):
    write("old/a.toml")
    write("old/b.toml", ('"survey"', '"other"'))
    write("new/a.toml", ('"survey"', '"fresh"'), WEAKER)
    write("new/b.toml", ('"survey"', '"other"'))
    found = rrpolicy.diff(tmp_path / "old", tmp_path / "new")

    assert (found.effect.value, found.added, found.removed) == ("weaker", (), ())
    assert not found.passed


@pytest.mark.parametrize("form", ["json", "sarif", "markdown", "junit", "github", "gitlab"])
def test_every_format_tells_what_is_not_announced(write, form, capsys):
    old, new = write("old.toml"), write("new.toml", WEAKER)

    assert main(["diff", str(old), str(new), "--output-format", form]) == 1
    assert "privacy/pk-anonymity" in capsys.readouterr().out.replace("\\", "")


@pytest.mark.parametrize("more", [["--data", "--expected-rows", "5"], ["--source", "x.csv", "--expected-rows", "5"]])
def test_prices_are_of_one_thing(write, more, capsys):
    file = str(write("x.toml"))

    assert main(["diff", file, file, *more]) == 2
    assert "RR250" in capsys.readouterr().err


def test_a_policy_that_is_wrong_is_told_as_check_tells_it(write, capsys):
    assert main(["diff", str(write("old.toml")), str(write("new.toml", ("k = 2", "kk = 2")))]) == 2
    assert "RR205" in capsys.readouterr().err


def test_a_table_that_does_not_fit_lets_nothing_pass(write):
    old, new = write("old.toml", WEAKER), write("new.toml", WEAKER, ("min_rows = 100", "min_rows = 900"))
    prices = rrpolicy.diff(old, new, source="demo:survey?records=500").comparisons[0].prices

    assert prices.after.problems == ("RR318",)
    assert prices.after.passed is False


def test_what_a_baseline_asks_of_others_is_no_change_of_the_data_alone(write, capsys):
    relaxed = 'may_relax = ["min_rows"]\n\n[source]'
    old, new = write("old.toml"), write("new.toml", (SOURCE.strip(), relaxed))

    assert main(["diff", str(old), str(new)]) == 1
    printed = capsys.readouterr().out
    assert "only the data changed" not in printed
    assert 'weaker       policy.may_relax: added "min_rows"' in printed
    assert main(["diff", str(old), str(new), "--json"]) == 1
    assert told(capsys)["comparisons"][0]["only_data_changed"] is None


def test_a_reviewer_reads_the_reason_beside_the_change(write, capsys):
    old, new = write("old.toml"), write("new.toml", WEAKER, BUMP, entry("privacy/pk-anonymity"))
    reason = "explained: no table was left (decided by: data protection officer)"

    for form in ("text", "markdown", "github"):
        assert main(["diff", str(old), str(new), "--output-format", form]) == 0
        printed = capsys.readouterr().out.replace("\\", "")
        assert reason in printed, form
    assert main(["diff", str(old), str(new), "--json"]) == 0
    (change,) = [c for c in told(capsys)["comparisons"][0]["changes"] if c["effect"] == "weaker"]
    assert (change["said"]["why"], change["said"]["who"]) == ("no table was left", "data protection officer")


def test_markdown_has_the_entry_to_paste(write, capsys):
    old, new = write("old.toml"), write("new.toml", WEAKER)

    assert main(["diff", str(old), str(new), "--output-format", "markdown"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("## rrpolicy diff: a weakening is not explained\n")
    assert '\n[[policy.changes]]\nversion = "1.1.0"\nwhat = "privacy/pk-anonymity"\n' in printed


def test_of_a_list_is_shown_what_came_and_went(write, capsys):
    context = '[context]\napprover = "steward"\nauditor = "Court of Audit"\ndemands = ["owner", {}]\n\n'
    demanded = ('"approver"', '"auditor"')
    sides = [write(f"{n}.toml", (SOURCE, context.format(last) + SOURCE)) for n, last in enumerate(demanded)]

    main(["diff", *map(str, sides)])
    assert 'context.demands: taken out "approver"; added "auditor"\n' in capsys.readouterr().out


def test_a_waiver_is_told_with_its_days(write, capsys):
    waiver = '[[waivers]]\nfinding = "review_by"\nreason = "r"\napprover = "steward"\nuntil = {}-01-01\n\n[source]\n'
    review = "[context]\nreview_by = 2026-01-01\n\n"
    sides = [write(f"{y}.toml", (SOURCE, review + waiver.format(y))) for y in (2097, 2098)]

    main(["diff", *map(str, sides)])
    printed = capsys.readouterr().out
    assert "waived until 2097-01-01 before, waived until 2098-01-01 now" in printed
    assert "baseline" not in printed


def test_what_is_stronger_says_what_would_be_weaker(write, capsys):
    signed = ("[mechanism]", "[release]\nrequire_signatures = 2\n\n[mechanism]")

    assert main(["diff", str(write("old.toml")), str(write("new.toml", signed))]) == 0
    printed = capsys.readouterr().out
    assert "require_signatures: 0 -> 2\n" in printed
    assert "the reverse would be weaker: fewer people approve a release" in printed


def test_another_mechanism_says_once_what_cannot_be_compared(write, capsys):
    """Guarantees that were recomputed are not said not to be; errors that the new one has none of are one line."""
    dp = '[[privacy]]\nmodel = "local-dp"\nepsilon = 9\n\n'
    old = write("old.toml", ("[[privacy]]", dp + "[[privacy]]"))
    new = write(
        "new.toml",
        ('[[privacy]]\nmodel = "pk-anonymity"\nk = 2', '[[privacy]]\nmodel = "k-anonymity"\nk = 2'),
        (
            'name = "pram"\nallocation = "fixed"\nkeep_probability = { sex = "4/5", age = "3/5" }',
            'name = "l-diversity"',
        ),
    )
    assert main(["diff", str(old), str(new), "--source", "demo:survey?records=500"]) == 1
    out = capsys.readouterr().out

    assert "could not be recomputed" not in out
    assert "mechanism.name" in out
    assert "cannot be compared" in out
    assert "3 marginals: " in out
    assert "sex x age: " not in out


def test_a_policy_that_the_table_refuses_is_why_guarantees_are_not_compared(write, capsys):
    stricter = ("min_rows = 100", "min_rows = 900")
    old, new = write("old.toml", stricter), write("new.toml", stricter, ('sex = "4/5"', 'sex = "9/10"'))
    assert main(["diff", str(old), str(new), "--source", "demo:survey?records=500"]) == 1

    assert "there is no plan of the old policy (RR318) and the new policy (RR318)" in capsys.readouterr().out


COLUMNS = 'age = { role = "quasi-identifier", bins = [16, 30, 45, 65, inf] }'
LABELS = COLUMNS.replace(" }", ', labels = ["young", "middle", "old", "oldest"] }')


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        (
            LABELS,
            LABELS.replace("young", "x").replace("oldest", "young").replace('"x"', '"oldest"'),
            "attributes.age.labels",
        ),
        (
            COLUMNS.replace(" }", ', nulls = "none", outside = "child" }'),
            COLUMNS.replace(" }", ', nulls = "child", outside = "none" }'),
            "attributes.age.labels",
        ),
        ('uri = "demo:survey"', 'uri = "demo:survey"\nmultiplicity = "hours"', "source.multiplicity"),
        ('name = "pram"', 'name = "pram"\nplan_on = "census.csv"', "mechanism.plan_on"),
        ("nobody knows them of others", "of no interest", "attributes.hours.assume_unlinkable"),
    ],
)
def test_what_a_name_or_a_table_stands_for_is_compared(write, before, after, key):
    base = (COLUMNS, before) if before.startswith("age") else ("schema = 1", "schema = 1")
    old = write("old.toml", base)
    new = write("new.toml", base, (before, after))

    for one, other in ((old, new), (new, old)):
        found = {change.key: change.effect for c in rrpolicy.diff(one, other).comparisons for change in c.changes}
        assert found[key] == "incomparable", found


def test_another_name_for_the_same_bins_is_no_change_of_protection(write):
    old = write("old.toml", (COLUMNS, LABELS))
    new = write("new.toml", (COLUMNS, LABELS.replace("oldest", "retired")))
    (comparison,) = rrpolicy.diff(old, new).comparisons

    assert {(change.key, change.effect) for change in comparison.changes} == {("attributes.age.labels", "neutral")}


def test_a_waiver_for_another_reason_or_by_somebody_else_is_looked_at(write):
    waiver = (
        '[[waivers]]\nfinding = "warning/held-by-one"\nreason = "a pilot"\napprover = "the owner"\nuntil = 2027-01-01\n'
    )
    old = write("old.toml", (SOURCE, waiver + SOURCE))
    for change in (("a pilot", "because"), ("the owner", "an intern")):
        found = rrpolicy.diff(old, write("new.toml", (SOURCE, waiver + SOURCE), change)).comparisons[0].changes
        assert [change.effect for change in found] == ["incomparable"]


ESTIMATED = 'sampling_fraction = "1/2"\ndecided_by = "estimate"\n'
REFERENCE = '[reference]\nuri = "{}.csv"\n'


@pytest.mark.parametrize("before", [ESTIMATED, REFERENCE.format("register")])
def test_another_population_cannot_be_compared(write, before):
    head = POLICY.partition('model = "pk-anonymity"')[0]
    sex, age = 'domain = ["female", "male"]', "bins = [16, 30, 45, 65, inf]"
    head = head.replace(sex, f'{sex}, hierarchy = [{{ "*" = ["female", "male"] }}]').replace(age, 'domain = ["a", "b"]')
    table = '[mechanism]\nname = "l-diversity"\nnode = { sex = 1 }\n'
    texts = [f'{head}model = "k-map"\nk = 2\n{stated}{table}' for stated in (before, REFERENCE.format("others"))]
    old, new = (write(f"{i}.toml", text=text) for i, text in enumerate(texts))

    for one, other in ((old, new), (new, old)):
        (comparison,) = rrpolicy.diff(one, other).comparisons
        assert {c.key: c.effect for c in comparison.changes}["reference.uri"] == "incomparable"


AGES = (5, 25, 50, 120, None)
"""Ages of the tiny tables; 120 is outside of the bins."""
SPEC = {
    "bins": (0, 20, 40, 100),
    "labels": ("young", "middle", "old"),
    "nulls": None,
    "outside": None,
    "where": "old",
    "k": 2,
}
SPARE = {**SPEC, "nulls": "unknown", "outside": "other"}
SPECS = [
    *({**SPEC, "labels": labels} for labels in itertools.permutations(SPEC["labels"])),
    *({**SPARE, "nulls": nulls, "outside": outside} for nulls, outside in itertools.product((None, "unknown", "other", "old"), repeat=2)),
    *({**SPARE, "where": where} for where in ("young", "unknown", "other")),
    {**SPARE, "where": "other", "nulls": "other", "outside": "unknown"},
    {**SPEC, "k": 3},
    {**SPEC, "bins": (0, 40, 100), "labels": ("young", "old")},
    {**SPEC, "bins": (0, 20, 100), "labels": ("young", "old")},
    {**SPEC, "bins": (0, 20, 40, 45, 100), "labels": ("young", "middle", "old", "oldest")},
    {**SPEC, "bins": (0, 20, 40, 60), "labels": ("young", "middle", "old")},
]  # fmt: skip


def category(spec: dict, age: int | None) -> str | None:
    """Return the released category of an age, as the guide describes bins; None if the record is refused."""
    if age is None:
        return spec["nulls"]
    for low, high, label in zip(spec["bins"], spec["bins"][1:], spec["labels"], strict=False):
        if low <= age < high or age == high == spec["bins"][-1]:
            return label
    return spec["outside"]


def guarded(spec: dict, table: tuple) -> bool:
    """Return whether a table is released: each record of the subgroup is among k that look alike."""
    found = [category(spec, age) for age in table]
    return None not in found and found.count(spec["where"]) not in range(1, spec["k"])


def in_toml(spec: dict) -> str:
    spare = "".join(f', {key} = "{spec[key]}"' for key in ("nulls", "outside") if spec[key] is not None)
    return f"""\
schema = 1
[policy]
name = "tiny"
version = "1.0.0"
[source]
uri = "tiny.csv"
[attributes]
age = {{ role = "quasi-identifier", bins = {list(spec["bins"])}, labels = {json.dumps(spec["labels"])}{spare} }}
[[privacy]]
model = "k-anonymity"
k = {spec["k"]}
where = {{ age = "{spec["where"]}" }}
[mechanism]
name = "l-diversity"
node = {{ age = 0 }}
"""


@pytest.mark.parametrize("base", [SPEC, SPARE], ids=["bins", "spare"])
def test_what_releases_a_tiny_table_that_was_refused_is_never_neutral_or_stronger(write, base):
    tables = [t for n in (1, 2, 3) for t in itertools.combinations_with_replacement(AGES, n)]
    missed, weaker = [], 0
    old = write("old.toml", text=in_toml(base))
    for number, spec in enumerate(SPECS):
        falls = [t for t in tables if guarded(spec, t) and not guarded(base, t)]
        if not falls:
            continue
        weaker += 1
        found = rrpolicy.diff(old, write(f"{number}.toml", text=in_toml(spec)))
        if not found.effect.announced:
            missed.append((spec, falls[0], found.effect))
    assert not missed
    assert weaker > 8


def test_two_policies_of_a_folder_with_one_name_are_refused(write, tmp_path):
    write("old/a.toml")
    write("new/a.toml")
    write("new/b.toml")
    with pytest.raises(rrpolicy.PolicyError, match="are both called 'survey'"):
        rrpolicy.diff(tmp_path / "old", tmp_path / "new")


def test_a_folder_without_a_policy_is_refused(write, tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(rrpolicy.PolicyError, match="contains no policy and is not a release"):
        rrpolicy.diff(tmp_path / "old", write("new.toml"))


def test_a_release_without_its_audit_folder_is_refused(write, tmp_path):
    policy = write("survey.toml", WEAKER, ('sex = "4/5", age = "3/5"', 'sex = "3/5", age = "2/5"'))
    rrpolicy.release(policy, tmp_path / "october", source="demo:survey?records=500")
    (tmp_path / "october" / "audit" / "audit.json").unlink()
    with pytest.raises(rrpolicy.PolicyError, match="has no audit/ to read the policy from"):
        rrpolicy.diff(tmp_path / "october", policy)


def test_a_gate_of_other_options_cannot_be_compared(write):
    gate = '[[utility]]\nmetric = "total-variation"\ndraws = {}\nmax = 0.9\n\n[mechanism]'
    old, new = (write(f"{draws}.toml", ("[mechanism]", gate.format(draws))) for draws in (20, 30))
    (change,) = rrpolicy.diff(old, new).comparisons[0].changes
    assert change.key.startswith("utility/total-variation")
    assert change.effect.value == "incomparable"


def test_a_table_that_cannot_be_read_is_no_price(write):
    old, new = write("old.toml", WEAKER), write("new.toml")
    with pytest.raises(rrpolicy.DataError):
        rrpolicy.diff(old, new, source="nowhere.csv")


def test_another_order_of_the_columns_is_neutral(write):
    sex = 'sex = { role = "quasi-identifier", domain = ["female", "male"] }\n'
    age = 'age = { role = "quasi-identifier", bins = [16, 30, 45, 65, inf] }\n'
    (comparison,) = rrpolicy.diff(write("old.toml"), write("new.toml", (sex + age, age + sex))).comparisons
    (change,) = comparison.changes
    assert (change.key, change.effect.value) == ("attributes", "neutral")
    assert list(change.after) == ["person_id", "age", "sex", "hours"]


def test_of_a_ledger_that_is_begun_only_the_file_is_compared(write):
    (comparison,) = rrpolicy.diff(
        write("old.toml"), write("new.toml", ("[mechanism]", '[ledger]\nfile = "releases.jsonl"\n\n[mechanism]'))
    ).comparisons
    assert [change.key for change in comparison.changes] == ["ledger.file"]


def test_a_waiver_that_stays_is_no_change(write):
    gate = ("[mechanism]", '[[utility]]\nmetric = "expected-l2"\nattributes = ["sex"]\nmax = 0.5\n\n[mechanism]')
    waiver = '[[waivers]]\nfinding = "utility/expected-l2?attributes=sex"\nreason = "r"\napprover = "a"\nuntil = 2097-01-01\n'
    files = [write(f"{k}.toml", gate, (SOURCE, waiver + SOURCE), ("k = 2", f"k = {k}")) for k in (2, 3)]
    (comparison,) = rrpolicy.diff(*files).comparisons
    assert [change.key for change in comparison.changes] == ["privacy/pk-anonymity"]


@pytest.mark.parametrize("named", ['sensitive = ["hours"]', ""])
def test_a_requirement_of_a_column_that_is_dropped_has_no_number_there(write, named):
    hours = 'hours = { role = "insensitive", assume_unlinkable = "nobody knows them of others" }\n'
    sensitive = (hours, 'hours = { role = "sensitive", bins = [0, 20, 40, inf] }\n')
    keep = ('age = "3/5" }', 'age = "3/5", hours = "3/5" }')
    asked = (
        "[mechanism]",
        '[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "9/10"\n' + named + "\n\n[mechanism]",
    )
    old, new = (
        write("old.toml", WEAKER, sensitive, keep, asked),
        write("new.toml", WEAKER, (hours, 'hours = { role = "excluded" }\n')),
    )
    (comparison,) = rrpolicy.diff(old, new, source="demo:survey?records=500").comparisons
    assert comparison.prices is not None
    change = next(c for c in comparison.changes if c.key.startswith("privacy/attribute-disclosure"))
    assert change.after is None
