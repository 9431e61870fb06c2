"""`[release] decoders = "withheld"`: public/ tells nothing that the matrices follow from, and audit/ holds it to the rest."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import rrpolicy
from rrpolicy import PolicyError
from rrpolicy.bundle.execute import draw_to_folder
from rrpolicy.canonical_json import file_digest
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.cli.main import main
from rrpolicy.discovery import load_registry
from rrpolicy.source.opening import open_original

from .forging import fill_public, load, reseal_audit, reseal_public

SEX, DISEASE = Fraction(7393, 10000), Fraction(6127, 10000)
REGION = [["8117/10000", "1/10", "0"], ["1883/10000", "4/5", "1729/10000"], ["0", "1/10", "8271/10000"]]
DOMAINS = {"sex": ["F", "M"], "region": ["n", "e", "s"], "disease": ["none", "flu", "cold", "asthma", "other"]}
POLICY = f"""
schema = 1
[policy]
name = "kept"
version = "1.0.0"
owner = "Tests"
purpose = "A release for tests"
[source]
uri = "people.csv"
[attributes]
sex = {{ role = "quasi-identifier", domain = {json.dumps(DOMAINS["sex"])} }}
region = {{ role = "quasi-identifier", domain = {json.dumps(DOMAINS["region"])} }}
disease = {{ role = "sensitive", domain = {json.dumps(DOMAINS["disease"])} }}
size = {{ role = "insensitive", domain = ["s", "m", "l"], assume_unlinkable = "a test says so" }}
hours = {{ role = "insensitive", assume_unlinkable = "a test says so" }}
[[privacy]]
model = "attribute-disclosure"
threshold = "9371/10000"
[[privacy]]
model = "identity-disclosure"
threshold = "8713/10000"
[mechanism]
name = "pram"
attributes = ["sex", "region", "disease"]
keep_probability = {{ sex = "{SEX}", disease = "{DISEASE}" }}
matrix = {{ region = {{ released = ["n", "e", "s"], original = ["n", "e", "s"], rows = {json.dumps(REGION)} }} }}
[[utility]]
metric = "expected-l2"
max = 0.9137
[release]
format = "csv"
"""
SOLVED = re.sub(
    r"\[\[privacy\]\](?s:.*?)\[\[utility\]\]",
    """[[privacy]]
model = "local-dp"
epsilon = "1.1787"
scope = "attribute"
[mechanism]
name = "pram"
attributes = ["sex"]
[[utility]]""",
    POLICY,
).replace('role = "quasi-identifier", domain = ["n"', 'role = "insensitive", unchanged = "a", domain = ["n"')
SOLVED = SOLVED.replace('disease = { role = "sensitive"', 'disease = { role = "insensitive", assume_unlinkable = "a"')
SOLVED = SOLVED.replace('unchanged = "a"', 'assume_unlinkable = "a"')
KEPT = 'decoders = "withheld"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and releases of it under each policy, with decoders published and withheld."""
    made = tmp_path_factory.mktemp("withheld")
    rng = np.random.default_rng(5)
    n = 3000
    frame = pd.DataFrame({name: rng.choice(values, n) for name, values in DOMAINS.items()})
    frame["size"] = rng.choice(["s", "m", "l"], n)
    frame["hours"] = rng.integers(0, 60, n)
    frame.to_csv(made / "people.csv", index=False)
    for name, text in (("fixed", POLICY), ("solved", SOLVED)):
        for suffix, told in (("", ""), ("-kept", KEPT)):
            (made / f"{name}{suffix}.toml").write_text(text + told)
            rrpolicy.release(made / f"{name}{suffix}.toml", made / f"{name}{suffix}", key=made / f"{name}{suffix}.key")
    return made


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    """A copy to forge."""
    copied: Path = shutil.copytree(folder / "fixed-kept", tmp_path / "fixed-kept")
    return copied


def told(bundle: Path, page: bool = True) -> str:
    """All that public/ tells besides the records; without digests, and the page without style and pictures.

    Args:
        bundle: with public/.
        page: with its page, which shows what is counted of the released records.
    """
    files = sorted(path for path in (bundle / "public").rglob("*") if path.is_file() and path.name != "data.csv")
    shown = [path for path in files if page or path.name != "report.html"]
    return bare("\n".join(f"{path.relative_to(bundle)}\n{path.read_text()}" for path in shown))


def bare(text: str) -> str:
    return re.sub(r"(?s)\b[0-9a-f]{40,64}\b|<style.*?</style>|<svg.*?</svg>", "", text)


def secrets(plan: Mapping[str, Any], findings: Mapping[str, Any]) -> Iterator[tuple[str, Fraction | float]]:
    """Every parameter of the channel, and every number of the findings."""
    for axis in plan["channel"]["axes"]:
        for block in axis.get("blocks", []):
            p, d = Fraction(block["keep_probability"]), len(block["members"])
            if d > 1:
                q = (1 - p) / (d - 1)
                yield from (("p", p), ("1 - p", 1 - p), ("q", q), ("rho", p - q), ("epsilon", math.log(p / q)))
                yield from (("ratio", p / q), ("kept", (1 - q) / (p - q)), ("moved", -q / (p - q)))
        for row in axis.get("matrix", axis.get("rows", [])):
            yield from (("entry", Fraction(value)) for value in row if Fraction(value).denominator > 100)
    for finding in findings["findings"]:
        for measure in (finding["achieved"], *(c["measure"] for c in finding["companions"])):
            if measure is not None and measure["value"] not in {"inf", 0.0, 1.0}:
                yield "finding", float(measure["value"])
        if finding["limit_exact"]:
            yield "limit", Fraction(finding["limit_exact"])


def spellings(value: Fraction | float, least: int) -> set[str]:
    """How a number may be spelled: as a fraction, as a percentage, with so many significant digits or more."""
    found = {str(value)} if isinstance(value, Fraction) else {repr(value)}
    x = abs(float(value))
    for digits in range(least, 18):
        found |= {f"{x:.{digits}g}", f"{100 * x:.{digits}g} %", f"{100 * x:.{digits}g}%", f"{x:.{digits}f}"}
    cut = {repr(x)[: k + len(repr(x).split(".")[0]) + 1] for k in range(least, 6)}  # cut off, not rounded
    return {text for text in found | cut if re.search("[./]", text) and len(text.strip("0.-% ")) >= least}


def leaks(bundle: Path, text: str, least: int = 3) -> set[str]:
    found = set()
    for name, value in secrets(load(bundle / "audit" / "plan.json"), load(bundle / "audit" / "findings.json")):
        if float(value) != int(float(value)):
            spelled = spellings(value, least)
            found |= {f"{name}: {s}" for s in spelled if re.search(rf"(?<![0-9.]){re.escape(s)}", text)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fixed", "solved"])
def test_no_parameter_and_no_number_that_it_follows_from_is_told(folder, name):
    """The same search finds them in the release that publishes them."""
    kept = folder / f"{name}-kept"
    assert leaks(kept, told(kept, page=False)) == set()
    assert leaks(kept, told(kept), 4) == set()
    found = {leak.partition(":")[0] for leak in leaks(folder / name, told(folder / name), 4)}
    assert found >= ({"p", "kept", "entry"} if name == "fixed" else {"p", "kept", "finding", "epsilon"})
    assert not (kept / "public" / "weights").exists()
    rrpolicy.evidence(kept / "public", "iso27559").write(kept.parent / f"{name}.md", "markdown")
    assert leaks(kept, bare((kept.parent / f"{name}.md").read_text())) == set()


def test_the_page_says_what_cannot_be_counted_and_that_it_protects_nobody(folder):
    page = re.sub(r"<[^>]*>", "", (folder / "fixed-kept" / "public" / "report.html").read_text())

    assert "Nothing can be counted by sex, region and disease. By size and hours alone, counting rows is right." in page
    assert "sensitive columns (sex, region and disease) are randomised with probabilities that are withheld" in page
    assert (
        "Withholding is not a privacy measure: every requirement assumes an attacker who has the probabilities" in page
    )
    assert "found = release.what_holds()" in page
    assert "rrpolicy estimate what-holds ." in page
    assert "The number achieved is a statistic of the original table and not published." in page
    assert "attribute-disclosure" in page
    assert "probability of at most" not in page


def guesses(text: str, d: int) -> set[float]:
    """Keep probabilities of d categories that follow from any number of a text, by any formula that relates them."""
    found = set()
    for number in {*re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?:/\d+)?", text)}:
        try:
            x = float(Fraction(number))
        except (ValueError, ZeroDivisionError):
            continue
        for t in (x, x / 100, 1 - x, 1 / x if x else 0.0):
            found |= {t, 1 - (d - 1) * t, t + (1 - t) / d}
            if 0 < t < 700:
                found |= {math.exp(t) / (math.exp(t) + d - 1), t / (t + d - 1), math.sqrt(t) / (math.sqrt(t) + d - 1)}
                found |= {1 / (1 + (d - 1) / (t + 1)), (t - 1 + d - 1) / (t * d) if t else 0.0}
    return found


@pytest.mark.parametrize(("name", "p", "d"), [("fixed", SEX, 2), ("fixed", DISEASE, 5), ("solved", None, 2)])
def test_no_number_of_the_release_gives_the_keep_probability(folder, name, p, d):
    """Epsilon gives it, and so do limits that it was solved from: neither is told."""
    plan = load(folder / f"{name}-kept" / "audit" / "plan.json")
    (own,) = {
        Fraction(block["keep_probability"])
        for axis in plan["channel"]["axes"]
        for block in axis.get("blocks", [])
        if len(block["members"]) == d
    }
    assert p in {None, own}
    texts = [told(folder / f"{name}{suffix}", page=False) for suffix in ("", "-kept")]
    nearest = [min(abs(g - float(own)) for g in guesses(text, d)) for text in texts]
    assert nearest[0] < 1e-6
    assert nearest[1] > 1e-5


def test_the_policy_cannot_be_guessed_and_confirmed(folder):
    """Who guesses every key of the policy knows its digest, and finds it nowhere."""
    policy = rrpolicy.load_policy(folder / "fixed-kept.toml")
    assert policy.digest() == load(folder / "fixed-kept" / "audit" / "audit.json")["policy_digest"]
    everything = b"".join(p.read_bytes() for p in (folder / "fixed-kept" / "public").rglob("*") if p.is_file())
    assert policy.digest().removeprefix("sha256:").encode() not in everything
    assert (
        load(folder / "fixed" / "public" / "release.json")["policy"]["digest"]
        == rrpolicy.load_policy(folder / "fixed.toml").digest()
    )


def test_no_other_policy_means_another():
    """`published`, stated or not, is the same policy; a resolved one without the key is read."""
    document = {"format": "csv"}
    from rrpolicy.policy.model import ReleaseSettings
    from rrpolicy.serialization import read, record

    assert not {"decoders", "described_groups"} & record(ReleaseSettings()).keys()
    assert read(ReleaseSettings, document).decoders == "published"
    assert read(ReleaseSettings, record(ReleaseSettings(decoders="withheld"))).withholds


def test_withholding_changes_nothing_that_is_drawn(folder, tmp_path):
    """The channel is the same, and so are the rows of the same streams.

    A key's own streams are bound to the plan, which holds the policy: under one key two policies draw differently.
    """
    rows = []
    for name in ("fixed", "fixed-kept"):
        planned = rrpolicy.plan(folder / f"{name}.toml")
        registry = load_registry()
        into = tmp_path / name
        into.mkdir()
        (tmp_path / f"{name}-spill").mkdir()
        with open_original(planned.plan.policy, registry.sources, tmp_path / f"{name}-spill") as original:
            draw_to_folder(planned.plan, original, Streams.for_tests(7), into, tmp_path / f"{name}-spill")
        rows.append(((into / "data.csv").read_bytes(), planned.plan.channel.to_json()))
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", ["fixed-kept", "solved-kept"])
def test_each_level_verifies_and_says_what_it_leaves_open(folder, name):
    key = folder / f"{name}.key"
    table = str(folder / "people.csv")
    public = rrpolicy.verify(folder / name / "public").require()
    models = [finding["model"] for finding in load(folder / name / "public" / "release.json")["findings"]]
    assert [text for text in public.undecided if text.endswith("as the policy requires")] == [
        f"{model} as the policy requires" for model in models
    ]
    assert public.findings == ()
    assert {"findings", "decoders"} <= {claim.field for claim in public.claims}
    source = rrpolicy.verify(folder / name, source=table).require()
    assert [f.model for f in source.findings[: len(models)]] == models
    assert not [text for text in source.undecided if text.endswith("as the policy requires")]
    drawn = rrpolicy.verify(folder / name, source=table, key=key).require()
    assert drawn.reproduced == "byte for byte"
    rrpolicy.verify(folder / name).require()


WAYS = {
    "together": (
        'together = [["sex", "region"]]\nretention_probability = { sex = "3/5", disease = "3/5" }',
        "released",
    ),
    "invariant": (
        'invariant = { region = "observed" }\nretention_probability = { region = "7/10" }',
        "marginal:region",
    ),
    "blocks": ('blocks = { disease = [["none", "flu"], ["cold", "asthma", "other"]] }', "parameters:disease"),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_matrix_of_pram_can_be_withheld(folder, tmp_path, name):
    """Coupled, invariant and in blocks; what the release tells of the table is stated as if it were published."""
    shutil.copy(folder / "people.csv", tmp_path)
    how, tells = WAYS[name]
    text = re.sub(r"keep_probability(?s:.*?)\[\[utility\]\]", f"{how}\n[[utility]]", POLICY)
    text = text.replace('format = "csv"', f'format = "parquet"\n{KEPT}')
    (tmp_path / "p.toml").write_text(text)
    accepted = json.dumps([statistic.id for statistic in rrpolicy.check(tmp_path / "p.toml").derived])
    (tmp_path / "p.toml").write_text(f"{text}accept = {accepted}\n")
    rrpolicy.release(tmp_path / "p.toml", tmp_path / "out")
    assert rrpolicy.verify(tmp_path / "out", source=str(tmp_path / "people.csv")).passed
    assert rrpolicy.verify(tmp_path / "out" / "public").passed
    manifest = load(tmp_path / "out" / "public" / "release.json")
    assert tells in {statistic["id"] for statistic in manifest["derived"]}
    held = rrpolicy.open_release(tmp_path / "out").what_holds()
    (tested,) = [s for s in held.statements if s.analysis.startswith("chi-square test of independence with")]
    assert set(tested.columns) == ({"disease"} if name == "together" else {"sex", "region", "disease"})


def of_sex(document: dict[str, Any], **change: Any) -> None:
    for parts in (document["decoders"], document["channel"]["parts"]):
        next(part for part in parts if part["attributes"] == ["sex"]).update(change)


FORGERIES: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "half": lambda d: of_sex(d, half=False),
    "doubly stochastic": lambda d: of_sex(d, doubly_stochastic=False),
    "what is told of the original": lambda d: d["channel"].update(told=["marginal:sex"]),
    "a requirement's limit": lambda d: d["requirements"][0]["options"].update(threshold="1/2"),
    "a number": lambda d: d["findings"][0].update(limit=0.5, limit_exact="1/2"),
    "the policy's digest": lambda d: d["policy"].update(digest="sha256:" + "0" * 64),
    "a verdict": lambda d: d["findings"][0].update(verdict="failed"),
    "a model": lambda d: d["findings"][0].update(model="local-dp"),
    "an adversary": lambda d: d["findings"][0].update(adversary="Nobody has the matrices."),
    "its own matrix": lambda d: (
        d["decoders"].__setitem__(0, PUBLISHED),
        d["channel"]["parts"].__setitem__(0, PUBLISHED),
    ),
}
PUBLISHED = {
    "form": "retention",
    "attributes": ["sex"],
    "unbiased": True,
    "independent": True,
    "columns": ["sex"],
    "labels": [["F"], ["M"]],
    "blocks": [{"members": [0, 1], "keep_probability": "4/5"}],
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_is_caught(bundle, name):
    """Everything that follows from it was made again, and sealed."""
    reseal_public(bundle, FORGERIES[name])
    try:
        fill_public(bundle)
    except Exception:  # noqa: BLE001 a forger seals what cannot be filled
        reseal_public(bundle)
    reseal_audit(bundle)
    assert not rrpolicy.verify(bundle).passed


QUESTIONS: Mapping[str, Callable[[Any], Any]] = {
    "crosstab": lambda r: r.crosstab("sex"),
    "a condition": lambda r: r.crosstab("size", "disease = 'flu'"),
    "cube": lambda r: r.cube(["size", "region"]),
    "mean": lambda r: r.mean("hours", by=["sex"]),
    "association": lambda r: r.association("size", "sex"),
    "independence": lambda r: r.independence("sex", "region"),
    "loglinear": lambda r: r.loglinear("sex*size"),
    "rules": lambda r: r.rules(0.1, 0.1, ["sex", "size"]),
    "query": lambda r: r.query("SELECT sex, count(*) FROM release GROUP BY sex"),
    "a filter": lambda r: r.query("SELECT count(*) FILTER (WHERE disease = 'flu') FROM release"),
    "domain": lambda r: r.domain("region"),
    "since": lambda r: r.change_since(r, "sex"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_takes_a_matrix_is_refused(folder, name):
    release = rrpolicy.open_release(folder / "fixed-kept" / "public")
    with pytest.raises(PolicyError, match="RR526") as caught:
        QUESTIONS[name](release)
    assert "what-holds" in caught.value.problems[0].hint


def test_columns_left_alone_are_counted_exactly(folder, capsys):
    release = rrpolicy.open_release(folder / "fixed-kept")
    frame = pd.read_csv(folder / "people.csv")
    table = release.crosstab("size")
    counted = frame["size"].value_counts()
    assert {row.group["size"]: row.estimate for row in table.rows} == {k: float(v) for k, v in counted.items()}
    assert not table.se().any()
    assert release.mean("hours").estimate[0] == pytest.approx(frame["hours"].mean())
    assert main(["estimate", str(folder / "fixed-kept"), "--by", "sex"]) == 2
    assert "RR526" in capsys.readouterr().err
    for command in ("check", "plan"):
        capsys.readouterr()
        assert main([command, str(folder / "fixed-kept.toml")]) == 0
        assert "withheld" in capsys.readouterr().out
    assert main(["release", str(folder / "fixed-kept.toml"), "--out", str(folder / "again")]) == 0
    assert "rrpolicy estimate what-holds" in capsys.readouterr().out


def test_what_holds_is_what_holds_of_the_published_matrices(folder):
    """What is told of a withheld matrix says the same as the matrix itself."""
    kept, known = (rrpolicy.open_release(folder / name).what_holds() for name in ("fixed-kept", "fixed"))
    by_text = [{(s.analysis, s.verdict): set(s.columns) for s in held.statements} for held in (kept, known)]
    assert by_text[0] == by_text[1]
    assert by_text[0]["test that the categories are equally frequent", "level kept"] == {"sex", "disease"}
    assert any("kappa" in analysis for analysis, _ in by_text[0])
    readme = (folder / "fixed-kept" / "public" / "README.md").read_text()
    for statement in kept.statements:
        assert statement.because.split(",")[0] in readme


def test_estimate_sql_runs(folder):
    public = folder / "fixed-kept" / "public"
    text = (public / "estimate.sql").read_text()
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{public}'")
        connection.execute(text)
        counted = connection.execute("SELECT size, count(*) FROM release GROUP BY ALL").fetchall()
    assert dict(counted) == pd.read_csv(folder / "people.csv")["size"].value_counts().to_dict()


def test_an_attack_has_the_matrices_and_attains_what_is_predicted(folder):
    found = rrpolicy.attack(folder / "fixed-kept", source=str(folder / "people.csv"))
    assert found.passed
    assert any("the channel" in attack.knows for attack in found.attacks)


def test_audit_holds_what_public_withholds(folder):
    kept, known = (folder / name / "audit" for name in ("fixed-kept", "fixed"))
    pages = [load(audit / "report.json") for audit in (kept, known)]
    for key in ("findings", "attributes"):
        assert [{k: v for k, v in row.items() if k != "place"} for row in pages[0][key]] == [
            {k: v for k, v in row.items() if k != "place"} for row in pages[1][key]
        ]
    assert pages[0]["utility"][0]["expected"] == pages[1]["utility"][0]["expected"]
    assert pages[0]["utility"][0]["realised"] is not None
    assert "not available" not in str(pages[0]["utility"][0]["realised"])


@pytest.mark.parametrize("name", ["anatomy", "sets", "generalised", "series", "ledger"])
def test_it_goes_with_matrices_alone(folder, tmp_path, name):
    shutil.copy(folder / "people.csv", tmp_path)
    text = (folder / "fixed-kept.toml").read_text()
    if name == "series":
        text += 'series = "monthly"\n[ledger]\nfile = "l.jsonl"\n'
    elif name == "ledger":
        text += '[ledger]\nfile = "l.jsonl"\n'
    else:
        own = {
            "anatomy": ("l-diversity", 'kind = "frequency"\nl = 2', "anatomy"),
            "sets": ("l-diversity", 'kind = "frequency"\nl = 2', "sensitive-addition"),
            "generalised": ("k-anonymity", "k = 2", "l-diversity"),
        }[name]
        text = re.sub(
            r"\[\[privacy\]\](?s:.*)\[release\]",
            f'[[privacy]]\nmodel = "{own[0]}"\n{own[1]}\n[mechanism]\nname = "{own[2]}"\n[release]',
            text,
        )
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(PolicyError) as caught:
        rrpolicy.check(tmp_path / "p.toml")
    places = [problem.place for problem in caught.value.problems if problem.code == "RR527"]
    assert {place.key for place in places} == {"release.decoders"}


def test_people_in_the_field_and_ledgers_need_the_matrices(folder, tmp_path):
    shutil.copy(folder / "people.csv", tmp_path)
    (tmp_path / "p.toml").write_text(re.sub(r"(?m)^hours.*\n", "", (folder / "solved-kept.toml").read_text()))
    with pytest.raises(PolicyError, match="RR520"):
        rrpolicy.plan(tmp_path / "p.toml", expected_rows=100, out=tmp_path / "plan.json")
    rrpolicy.init_ledger(tmp_path / "l.jsonl")
    with pytest.raises(PolicyError, match="RR527"):
        rrpolicy.add_to_ledger(tmp_path / "l.jsonl", folder / "fixed-kept")


def test_signed_statements_name_no_limit_and_confirm_no_guess(folder, tmp_path):
    """Of the release, and of what was verified of it; those of the release that publishes its matrices do."""
    key, signed = tmp_path / "steward.pem", {}
    assert main(["keys", "new", str(key), "--no-passphrase"]) == 0
    for name in ("solved-kept", "solved"):
        copied = shutil.copytree(folder / name, tmp_path / name)
        rrpolicy.sign(copied, key)
        assert main(["verify", str(copied), "--sign-with", str(key)]) == 0
        signed[name] = "".join(_payload(path) for path in sorted((copied / "attestations").iterdir()))
        assert rrpolicy.verify(copied, signed_by=[f"{key}.pub"]).passed
        record = load(copied / "audit" / "audit.json")
        known = [record["plan_digest"], record["policy_digest"], file_digest(copied / "audit" / "policy.toml")]
        found = [told.removeprefix("sha256:") in signed[name] for told in known]
        assert found == [name == "solved"] * 3
    assert "HOLDS_LOCAL_DP_AS_THE_POLICY_REQUIRES" in signed["solved-kept"]
    assert "11787" not in signed["solved-kept"]
    assert "11787" in signed["solved"]
    assert leaks(folder / "solved-kept", bare(signed["solved-kept"])) == set()


def _payload(envelope: Path) -> str:
    return base64.b64decode(load(envelope)["payload"]).decode()
