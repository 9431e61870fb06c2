"""Labels for Stata and SPSS: interpreted by grammars of this test's own, and by PSPP, whose answer is kept."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.exports.programs.program_export import export
from rrpolicy.frozen import replace
from rrpolicy.testing import policy_text
from tests.survey import waived

KEPT = Path(__file__).resolve().parents[1] / "vectors" / "pspp"
HOSTILE = ['say "hi"', "=1+1", "'tis", "ü$x`y'", "/* not // a comment \\ here", "x" * 130 + "1", "x" * 130 + "2", "."]
NAMES = ["sex", "my column", "ALL", "3rd", "über", "my-column", "v1", "n" * 70, "n" * 70 + "m"]


@pytest.fixture
def release(publish, made):
    """A release whose names and labels no program takes as they are."""
    axes = [
        made.retention(name, HOSTILE if name == "my column" else ["f", "m"],
                       [(list(range(len(HOSTILE) if name == "my column" else 2)), "3/4")])
        for name in NAMES
    ]  # fmt: skip
    axes.append(made.identity("age", [20, 30, -1]))
    axes[-1].columns[0]["type"] = "BIGINT"
    axes.append(made.identity("left", [True, False]))
    n = len(HOSTILE)
    rows = {name: ["f" if i % 2 else "m" for i in range(n)] for name in NAMES}
    rows["my column"] = ["'" + v if v[0] in "='" else v for v in HOSTILE]
    rows |= {"age": [20, 30, -1, 20, 30, -1, 20, 20], "left": [i < 3 for i in range(n)]}
    rows["note"] = ["''quoted", "plain", "'=sum", "", "ü", "a,b", 'c"d', "."]
    carried = made.column("note", [], "carried", "VARCHAR")
    own = {"form": "identity", "attributes": ["note"], "unbiased": True, "independent": True, "column": "note",
           "labels": []}  # fmt: skip
    return publish([*axes, made.Axis(own, (carried,), [])], rows, "csv")


TRUE = [*(["m", "f"] * 4 for name in NAMES), [20, 30, -1, 20, 30, -1, 20, 20], ["true"] * 3 + ["false"] * 5]
TRUE[1] = HOSTILE
NOTES = ["'quoted", "plain", "=sum", "", "ü", "a,b", 'c"d', "."]


def read(folder):
    with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def expression(text):
    """Evaluate a string expression of Stata: literals of plain characters, and uchar(code)."""
    parts = re.findall(r'"([^"`$\\/*\']*)"|uchar\((\d+)\)', text)
    spelled = " + ".join(f'"{plain}"' if not code else f"uchar({code})" for plain, code in parts)
    assert spelled == text, "not of the grammar"
    return "".join(chr(int(code)) if code else plain for plain, code in parts)


def stata(text, rows):  # noqa: PLR0912 a branch for each statement
    """Run a do-file of the form that is written; return values and labels by name."""
    values, labels, told = {}, {}, {}
    columns = {f"v{i}": [row[i - 1] for row in rows] for i in range(1, len(rows[0]) + 1)}
    for line in text.splitlines():
        if m := re.fullmatch(r"generate (?:long|double) (\w+) = \.", line):
            values[m[1]] = [None] * len(rows)
        elif m := re.fullmatch(r"quietly replace (\w+) = (-?[\d.]+) if (v\d+) == (.+)", line):
            category = expression(m[4])
            values[m[1]] = [
                float(m[2]) if c == category else v for c, v in zip(columns[m[3]], values[m[1]], strict=True)
            ]
        elif m := re.fullmatch(r"quietly replace (\w+) = (\.[ab]) if \1 == (-?[\d.]+)", line):
            values[m[1]] = [m[2] if v == float(m[3]) else v for v in values[m[1]]]
        elif m := re.fullmatch(r"assert !missing\((\w+)\)", line):
            assert None not in values[m[1]]
        elif m := re.fullmatch(r'mata: st_vlmodify\("(\w+)", (\.[ab]|\d+), (.+)\)', line):
            labels.setdefault(m[1], {})[m[2] if m[2][0] == "." else int(m[2])] = expression(m[3])
        elif m := re.fullmatch(r"generate double (\w+) = real\((v\d+)\)", line):
            values[m[1]] = [float(c) for c in columns[m[2]]]
        elif m := re.fullmatch(
            r"quietly replace (v\d+) = substr\(\1, 2, \.\) if substr\(\1, 1, 1\) == uchar\(39\)", line
        ):
            columns[m[1]] = [c.removeprefix("'") for c in columns[m[1]]]
        elif m := re.fullmatch(r"rename (v\d+) (\w+)", line):
            values[m[2]] = columns.pop(m[1])
        elif m := re.fullmatch(r"drop (v\d+)", line):
            del columns[m[1]]
        elif m := re.fullmatch(r'mata: st_varlabel\("(\w+)", (.+)\)', line):
            told[m[1]] = expression(m[2])
            assert len(told[m[1]]) <= 80
        elif m := re.fullmatch(r"order (.+)", line):
            assert sorted(m[1].split()) == sorted(values)
            assert not columns
            values = {name: values[name] for name in m[1].split()}
        else:
            known = r"//.*|version 14|clear|import delimited using .*|label values (\w+) \1|save \"data.dta\"|"
            assert re.fullmatch(known, line), line
    return values, labels, told


def spss(text, rows):
    """Run syntax of the form that is written; return values and labels by name."""
    literal = r"'(?:[^']|'')*'(?: \+\n    '(?:[^']|'')*')*"

    def plain(found):
        return "".join(p.replace("''", "'") for p in re.findall(r"'((?:[^']|'')*)'", found))

    columns = {f"v{i}": [row[i - 1] for row in rows] for i in range(1, len(rows[0]) + 1)}
    values, labels, told, missing = {}, {}, {}, {}
    for m in re.finditer(r"^IF \(SUBSTR\((v\d+), 1, 1\) = \"'\"\)", text, re.MULTILINE):
        columns[m[1]] = [c.removeprefix("'") for c in columns[m[1]]]
    for m in re.finditer(rf"^RECODE (v\d+)\n((?:  \({literal} = -?[\d.]+\)\n)+)  INTO (\w+)\.$", text, re.MULTILINE):
        pairs = {plain(c): float(k) for c, k in re.findall(rf"  \(({literal}) = (-?[\d.]+)\)\n", m[2])}
        values[m[3]] = [pairs[c] for c in columns[m[1]]]
    for m in re.finditer(r"^RENAME VARIABLES \((v\d+) = (\w+)\)\.$", text, re.MULTILINE):
        values[m[2]] = columns[m[1]]
    for m in re.finditer(rf"^VALUE LABELS (\w+)\n((?:  -?\d+ {literal}\n?)+)\.$", text, re.MULTILINE):
        labels[m[1]] = {int(k): plain(c) for k, c in re.findall(rf"  (-?\d+) ({literal})", m[2])}
    for m in re.finditer(rf"^VARIABLE LABELS (\w+)\n    ({literal})\.$", text, re.MULTILINE):
        told[m[1]] = plain(m[2])
    for m in re.finditer(r"^MISSING VALUES (\w+) \((-?\d+(?:, -?\d+)?)\)\.$", text, re.MULTILINE):
        missing[m[1]] = tuple(map(int, m[2].split(", ")))
    kept = re.search(r"^ADD FILES /FILE=\*\n  /KEEP=([\w\n ]+)\.$", text, re.MULTILINE)
    return {name: values[name] for name in kept[1].split()}, labels, told, missing


def legal(names, longest, *reserved):
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and len(name) <= longest for name in names)
    assert len({name.lower() for name in names}) == len(names) == len(NAMES) + 3
    assert not {"v1", *reserved} & {name.lower() for name in names}


def test_the_do_file_gives_back_the_release(release):
    values, labels, told = stata(rrpolicy.export(release, "stata"), read(release))
    legal(values, 32)
    assert list(told) == list(values)
    for (name, found), expected in zip(values.items(), [*TRUE, NOTES], strict=True):
        assert ([labels[name][v] for v in found] if name in labels else found) == expected
    assert [told[name].partition(":")[0][:70] for name in list(told)[:3]] == ["sex", "my column", "ALL"]


def test_the_syntax_gives_back_the_release(release):
    text = rrpolicy.export(release, "spss")
    values, labels, told, _ = spss(text, read(release))
    legal(values, 64, "all")
    for (name, found), expected in zip(values.items(), [*TRUE, NOTES], strict=True):
        shown = [labels[name][v] for v in found] if name in labels else found
        if name == "age":
            shown = [int(v) for v in shown]
        cut = [v if not isinstance(v, str) or len(v.encode()) <= 120 else v[:112] for v in expected]
        assert [v[:112] if v in shown and len(str(v)) > 112 else v for v in shown] == cut
        assert len(set(labels.get(name, {}).values())) == len(labels.get(name, {})), "labels that are cut still differ"
        assert all(len(label.encode()) <= 120 for label in labels.get(name, {}).values())
    assert all(len(label.encode()) <= 255 for label in told.values())
    assert all(len(line.encode()) <= 256 for line in text.splitlines())


def test_pspp_read_it_so(release):
    """PSPP 1.6.2 ran this syntax, and what it saved is kept beside it; RRPOLICY_WRITE_PSPP=1 runs it again."""
    if os.environ.get("RRPOLICY_WRITE_PSPP") == "1":
        syntax = rrpolicy.export(release, "spss")
        (KEPT / "labels.sps").write_text(syntax, "utf-8")
        save = f"SAVE TRANSLATE /OUTFILE='{KEPT}/labels.csv' /TYPE=CSV /FIELDNAMES /CELLS=LABELS /REPLACE.\n"
        (release / "run.sps").write_text(syntax + save, "utf-8")
        subprocess.run(["pspp", "run.sps"], cwd=release, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert rrpolicy.export(release, "spss") == (KEPT / "labels.sps").read_text("utf-8"), "make the vectors again"
    with (KEPT / "labels.csv").open(encoding="utf-8", newline="") as file:
        names, *found = csv.reader(file)
    legal(names, 64, "all")
    for place, expected in enumerate([*TRUE, NOTES]):
        shown = [row[place] for row in found]
        assert [v[:112] for v in shown] == [str(v)[:112] for v in expected], names[place]


def test_missing_values_are_told(made, publish, tmp_path):
    import json

    from rrpolicy.canonical_json import record_digest

    axes = [made.retention("disease", ["none", "flu", "unknown"], [([0, 1, 2], "3/4")]), made.identity("age", [20, -1])]
    axes[1].columns[0]["type"] = "BIGINT"
    folder = publish(axes, {"disease": ["flu", "unknown", "none"], "age": [20, -1, 20]}, "csv")
    document = json.loads((folder / "release.json").read_text())
    document["attributes"][0]["nulls"] = "unknown"
    document["attributes"][1]["nulls"] = -1
    document["attributes"][0]["scale"] = "ordinal"
    (folder / "release.json").write_text(json.dumps(document | {"digest": record_digest(document)}))

    values, labels, _ = stata(rrpolicy.export(folder, "stata"), read(folder))
    assert values == {"disease": [2, ".a", 1], "age": [20.0, ".a", 20.0]}
    assert labels == {"disease": {1: "none", 2: "flu", ".a": "unknown"}}
    text = rrpolicy.export(folder, "spss")
    assert spss(text, read(folder))[3] == {"disease": (3,), "age": (-1,)}
    assert "VARIABLE LEVEL disease (ORDINAL)." in text


def test_numbers_beside_a_category_of_missing_values_keep_their_values(tmp_path):
    """The mean that Stata and SPSS take is that of the table: of children 0 to 3, and of randomised rooms."""
    kids, rooms = ["0", "1", "3", "", "2", "3"] * 5, ["1.5", "2.5", "9", "", "1.5", "-2"] * 5
    (tmp_path / "t.csv").write_text("kids,rooms\n" + "".join(f"{k},{r}\n" for k, r in zip(kids, rooms, strict=True)))
    (tmp_path / "policy.toml").write_text(
        policy_text("""\
[attributes]
kids = { role = "insensitive", domain = [0, 1, 2, 3], nulls = "unknown", unchanged = "x", assume_unlinkable = "x" }
rooms = { role = "quasi-identifier", domain = [-2, 1.5, 2.5], nulls = "unknown", outside = "more" }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
[release]
format = "csv"
""")
        + waived("association/kids/rooms", "protection")
    )
    made = rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out", source=tmp_path / "t.csv")
    folder, release = made.bundle / "public", rrpolicy.open_release(made.bundle)

    values, labels, _ = stata(rrpolicy.export(folder, "stata"), read(folder))
    taken, shown, _, missing = spss(rrpolicy.export(folder, "spss"), read(folder))

    assert labels == {"kids": {".a": "unknown"}, "rooms": {".a": "more", ".b": "unknown"}}
    assert shown == {"kids": {-1: "unknown"}, "rooms": {-3: "more", -4: "unknown"}}
    assert missing == {"kids": (-1,), "rooms": (-3, -4)}
    for place, name in enumerate(("kids", "rooms")):
        truth = [float(row[place].removeprefix("'")) for row in read(folder) if row[place] not in {"unknown", "more"}]
        assert [v for v in values[name] if isinstance(v, float)] == truth
        assert [v for v in taken[name] if v not in missing[name]] == truth
    known = [float(v) for v in kids if v]
    mean = sum(v for v in values["kids"] if v != ".a") / len(known)
    assert mean == release.mean("kids").estimate[0] == sum(known) / len(known)


@pytest.mark.parametrize("labels", [["a", "line\nbreak"], ["same", "same "]])
def test_what_spss_cannot_hold_is_refused(made, publish, labels, capsys, tmp_path):
    folder = publish([made.retention("c", labels, [([0, 1], "3/4")])], {"c": labels}, "csv")
    assert main(["export", str(folder), "--for", "spss", "--out", str(tmp_path / "x.sps")]) == 2
    assert "RR512" in capsys.readouterr().err
    assert not (tmp_path / "x.sps").exists()
    values, shown, _ = stata(rrpolicy.export(folder, "stata"), read(folder))
    assert [shown["c"][v] for v in values["c"]] == labels


def test_texts_too_long_for_spss_are_refused(made, publish):
    folder = publish([made.identity("c", ["a", "b"])], {"c": ["a", "b"], "note": ["ü" * 16_384, ""]}, "csv",
                     [made.column("note", (), "carried", "VARCHAR")])  # fmt: skip
    with pytest.raises(PolicyError, match="RR512: 'note' contains text of more than 32,767 bytes.*--for stata"):
        rrpolicy.export(folder, "spss")
    assert "note" in rrpolicy.export(folder, "stata")


def test_data_that_cannot_be_read_are_told(made, publish):
    folder = publish([made.identity("c", ["a", "b"])], {"c": ["a", "b"], "note": ["x", "y"]}, "parquet",
                     [made.column("note", (), "carried", "VARCHAR")])  # fmt: skip
    release = rrpolicy.open_release(folder)
    (folder / "data.parquet").write_bytes(b"PAR1")
    with pytest.raises(PolicyError, match="RR269"):
        export(release, "spss")


def test_other_formats_are_written_as_csv_first(made, publish):
    axis = made.retention("c", ["a", "b"], [([0, 1], "3/4")])
    for form in ("parquet", "duckdb"):
        folder = publish([axis], {"c": ["a", "b", "a"]}, form, name=form)
        for program in ("stata", "spss"):
            assert f"data.{form}" in rrpolicy.export(folder, program)


def test_a_format_of_a_plugin_s_is_refused(made, publish):
    opened = rrpolicy.open_release(publish([made.retention("c", ["a", "b"], [([0, 1], "3/4")])], {"c": ["a"]}, "csv"))
    data = replace(opened.manifest.data, format="arrow")
    other = replace(opened, manifest=replace(opened.manifest, data=data))
    with pytest.raises(PolicyError, match="RR513"):
        export(other, "stata")
