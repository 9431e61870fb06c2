"""What messages say to somebody who meets them for the first time: names apart, examples, and what can be typed."""

from __future__ import annotations

import re

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
"ill, or not" = { role = "sensitive", domain = ["no", "yes"] }
born = { role = "insensitive", unchanged = "a test" }
town = { role = "quasi-identifier", domain = ["A", "B", "C"] }
[[privacy]]
model = "attribute-disclosure"
threshold = "9/10"
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[mechanism]
name = "pram"
[release]
accept = ["parameters:sex", "parameters:ill, or not", "parameters:town", "released"]
""")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [
        f"{'FM'[i % 2]},{'yes' if i % 3 == 0 else 'no'},0{1 + i // 9 % 9}.01.2000,{'ABC'[i % 3]}" for i in range(360)
    ]
    (tmp_path / "people.csv").write_text("\n".join(['sex,"ill, or not",born,town', *rows, ""]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, status, *arguments):
    assert main([*map(str, arguments)]) == status
    return " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("schema = 1", 'schema = "1"', "write the number without quotes"),
        ("town = {", "Stadt/Ort = {", 'needs quotes: "Stadt/Ort" = …'),
        ("town = {", "mar'ried = {", 'needs quotes: "mar\'ried" = …'),
        ("town = {", "a b = {", 'needs quotes: "a b" = …'),
        ('domain = ["A", "B", "C"]', 'bins = "0,20,30"', "an array of edges, such as [0, 20, 30]"),
        ('domain = ["A", "B", "C"]', 'bins = ["2020-01-01", "2021-01-01"]', "have no quotes"),
        ("town = {", "Sex = {", "rename one of them in the table"),
        ('domain = ["A", "B", "C"]', "domain = [A, B]", "text is in quotes"),
    ],
)
def test_what_people_write_at_first_is_answered_by_what_to_write(folder, capsys, old, new, hint):
    (folder / "policy.toml").write_text(POLICY.replace(old, new, 1))
    assert hint in told(capsys, 2, "check", "policy.toml")


def test_a_missing_option_is_told_on_one_line(folder, capsys):
    said = told(capsys, 2, "export", "sql", "policy.toml")
    assert "Choose from: duckdb, postgres" in said
    assert "\\" not in said


@pytest.mark.parametrize(
    ("header", "delimiter", "said"),
    [
        ('a;"b, c";d', None, "parted by semicolons"),
        ("a;b", None, "parted by semicolons"),
        ("a,b,c", ";", "fields are separated by commas, and [source.csv] declares ';'"),
    ],
)
def test_a_file_that_is_parted_by_something_else_is_told_by_what(folder, capsys, header, delimiter, said):
    (folder / "people.csv").write_text(f"{header}\n1;2;3\n")
    told_so = "" if delimiter is None else f'[source.csv]\ndelimiter = "{delimiter}"\n'
    (folder / "policy.toml").write_text(POLICY.replace("[attributes]", f"{told_so}[attributes]", 1))
    assert said in told(capsys, 3, "plan", "policy.toml")


def test_names_with_commas_are_told_apart(folder, capsys):
    (folder / "policy.toml").write_text(POLICY)
    said = told(capsys, 0, "check", "policy.toml")
    assert "sensitive: 'ill, or not' " in said
    assert "parameters:sex, 'parameters:ill, or not', parameters:town, released" in said
    assert "'parameters:ill, or not', parameters:town" in told(capsys, 0, "plan", "policy.toml")
    (folder / "policy.toml").write_text(POLICY.replace('"released"]', '"release"]'))
    assert "expected: one of parameters:sex, 'parameters:ill, or not'," in told(capsys, 2, "check", "policy.toml")
    (folder / "policy.toml").write_text(POLICY.split("[release]", maxsplit=1)[0])
    said = told(capsys, 1, "release", "policy.toml", "--out", "out")
    assert (
        "does not accept these disclosures: parameters:sex, 'parameters:ill, or not', parameters:town, released" in said
    )


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('threshold = "9/10"', 'threshold = 0.9\nwhere = "sex = F"', 'such as `where = { sex = "female" }`'),
        (
            'name = "pram"',
            'name = "pram"\nretention_probability = 0.3',
            "such as `retention_probability = { sex = 0.6 }`",
        ),
        (
            'name = "pram"',
            'name = "pram"\nblocks = [1]',
            'such as `blocks = { region = [["north", "south"], ["west"]] }`',
        ),
    ],
)
def test_a_table_that_is_none_has_an_example(folder, capsys, old, new, hint):
    (folder / "policy.toml").write_text(POLICY.replace(old, new))
    said = told(capsys, 2, "check", "policy.toml")
    assert "RR207" in said
    assert hint in said


def test_what_cannot_be_reached_names_attributes(folder, capsys):
    policy = POLICY.replace("epsilon = 6", "epsilon = 1").partition("[release]")[0]
    policy = policy.replace('[[privacy]]\nmodel = "attribute-disclosure"\nthreshold = "9/10"\n', "")
    (folder / "policy.toml").write_text(policy + "keep_probability = { sex = 0.99 }\n")
    said = told(capsys, 1, "plan", "policy.toml")
    assert "RR102" in said
    assert "hint: let the parameters of sex be solved for, too, or give smaller ones; or randomise born too; or" in said
    assert "or coarsen 'town', which has 3 categories; or relax the requirement" in said


def test_dates_in_text_are_not_compared_letter_by_letter(folder, capsys):
    (folder / "policy.toml").write_text(POLICY)
    assert main(["release", "policy.toml", "--out", "out"]) == 0
    capsys.readouterr()
    for condition in ("born < '03.02.2001'", "born BETWEEN '1/2/99' AND '3/2/2001'"):
        said = told(capsys, 2, "estimate", "out", "--where", condition)
        assert "RR265" in said
        assert "compare alphabetically" in said
    told(capsys, 0, "estimate", "out", "--where", "born IN ('01.01.2000', '02.01.2000')")
    told(capsys, 0, "estimate", "out", "--by", "ill, or not", "--where", "\"ill, or not\" = 'yes'")


def test_lines_of_a_csv_file_are_counted_from_its_first(folder, capsys):
    (folder / "policy.toml").write_text(POLICY)
    lines = (folder / "people.csv").read_text().splitlines()
    lines[100] += ",too much"
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    without = int(re.search(r"line (\d+): 5 fields", told(capsys, 3, "plan", "policy.toml"))[1])
    assert without == 101
    (folder / "policy.toml").write_text(POLICY.replace("[attributes]", "[source.csv]\nskip = 3\n[attributes]"))
    (folder / "people.csv").write_text("\n".join(["a title", "", "of three lines", *lines]) + "\n")
    assert "line 104: 5 fields" in told(capsys, 3, "plan", "policy.toml")


def test_help_says_how_names_and_texts_are_quoted(capsys):
    said = re.sub(r"[^\w'\"]+", " ", told(capsys, 0, "estimate", "--help"))
    assert "text in single quotes" in said
    assert "plain words in double quotes" in said


@pytest.mark.parametrize(
    ("name", "randomised"),
    [
        ("rr-both", "every quasi-identifier and every sensitive attribute"),
        ("rr-qi", "every quasi-identifier by"),
        ("rr-s", "every sensitive attribute by"),
    ],
)
def test_each_mechanism_says_which_roles_it_randomises(capsys, name, randomised):
    assert main(["explain", name]) == 0
    assert f"Randomises {randomised}" in capsys.readouterr().out
