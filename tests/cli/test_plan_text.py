"""What a plan says of parameters: what became of each column, and what is released as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

POLICY = policy_text("""\
[attributes]
sex = {{ role = "quasi-identifier", domain = ["F", "M"], release_as = "gender" }}
town = {{ role = "quasi-identifier", domain = ["A", "B", "C", "D"], hierarchy = [{{ ab = ["A", "B"], cd = ["C", "D"] }}] }}
ill = {{ role = "sensitive", domain = ["no", "yes"] }}
[[privacy]]
{0}
[mechanism]
{1}
""")


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Plan with a requirement and a mechanism; return the lines of each section."""
    rows = [f"{'FM'[i % 2]},{'ABCD'[i // 2 % 4]},{'yes' if i % 7 == 0 else 'no'}" for i in range(400)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,ill", *rows]) + "\n")

    def run(requirement: str, mechanism: str, *options: str) -> dict[str, list[str]]:
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(requirement, mechanism))
        assert main(["plan", str(path), *options]) == 0
        parts = capsys.readouterr().out.split("\n\n")
        return {part.splitlines()[0]: [line.strip() for line in part.splitlines()[1:]] for part in parts}

    return run


def test_generalised_columns_are_told_as_labels_and_levels(plan):
    found = plan('model = "k-anonymity"\nk = 60', 'name = "l-diversity"')

    # 50 records of each sex and town: 100 of each sex and pair of towns
    sex, town = found["parameters"]
    assert sex.startswith("sex: its 2 categories unchanged (")
    assert town.startswith("town: 2 labels for 4 categories (")
    assert "'town' is released at level 1 of 2: its 4 categories in 2 groups" in found["chosen so"]
    assert "the loss ncp of this choice: 0.25" in found["chosen so"]  # mean of 0 and 2/4
    assert "gender (not generalised)" in found["released unchanged"]
    (errors,) = (lines for title, lines in found.items() if title.startswith("expected error"))
    assert errors[0].startswith("sex, town: no random error")
    assert not any("unknown without data" in line for line in errors)


def test_the_levels_of_the_policy_are_told_too(plan):
    found = plan('model = "k-anonymity"\nk = 60', 'name = "l-diversity"\nnode = { sex = 0, town = 1 }')

    assert "'town' is released at level 1 of 2: its 4 categories in 2 groups" in found["chosen so"]


def test_what_is_kept_for_certain_is_released_unchanged(plan):
    found = plan('model = "identity-disclosure"\nthreshold = 1', 'name = "rr-qi"')

    kept = [f"{name} (keep probability 1: nobody's value is replaced)" for name in ("gender", "town")]
    assert found["released unchanged"] == ["ill", *kept]


def test_what_cannot_be_reached_is_placed_at_its_own_entry(tmp_path: Path, plan, capsys: pytest.CaptureFixture[str]):
    impossible = '[[privacy]]\nmodel = "identity-disclosure"\nthreshold = "1/401"'
    path = tmp_path / "policy.toml"
    required = 'model = "attribute-disclosure"\nthreshold = "9/10"\n' + impossible
    path.write_text(POLICY.format(required, 'name = "rr-both"'))
    assert main(["plan", str(path)]) == 1

    said = capsys.readouterr().err
    line = path.read_text().splitlines().index('model = "identity-disclosure"') + 1
    assert f"policy.toml:{line}:" in said
    assert "hint: set 1/400 or more: among 400 people" in said
    assert "coarsen" not in said


def test_each_term_is_explained_once_where_it_first_appears(plan):
    entry = 'model = "attribute-disclosure"\nthreshold = 1\n'
    found = plan(
        f'{entry}[[privacy]]\n{entry}where = {{ sex = "F" }}\n[[privacy]]\nmodel = "pk-anonymity"\nk = 1.5',
        'name = "pram"\nkeep_probability = { sex = 0.6, town = 0.4, ill = 0.6 }',
        "--verbose",
    )["requirements"]

    for term in (
        "risk",
        "value read correctly",
        "combinations with zero count",
        "homogeneous groups",
        "maximum posterior",
        "1/k",
    ):
        said = [i for i, line in enumerate(found) if line.startswith(f"{term}: ")]
        assert len(said) == 1, term
        first = next(i for i, line in enumerate(found) if term in line and not line.startswith(("met ", "NOT MET")))
        assert first < said[0]
        assert not any(line.startswith(("met ", "NOT MET")) for line in found[first : said[0]])


def test_what_to_accept_is_told_where_a_requirement_waits_for_it(tmp_path, plan, capsys: pytest.CaptureFixture[str]):
    asked = 'model = "attribute-disclosure"\nthreshold = "9/10"'
    found = plan(asked, 'name = "rr-both"')
    assert found["derived from the data"]
    assert not any("to accept" in line for line in found["derived from the data"])

    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(f'{asked}\n[[privacy]]\nmodel = "local-dp"\nepsilon = 50', 'name = "rr-both"'))
    assert main(["plan", str(path)]) == 1
    assert "to accept this disclosure, under [release]: accept = [" in capsys.readouterr().out


def test_a_set_of_all_values_is_not_said_to_want_data(plan):
    found = plan('model = "l-diversity"\nkind = "frequency"\nl = 2', 'name = "sensitive-addition"')
    (errors,) = (lines for title, lines in found.items() if title.startswith("expected error"))
    assert "ill: cannot be estimated" in errors


@pytest.mark.parametrize(
    ("others", "mechanism", "fails"),
    [
        (('t-closeness"\nt = "1/1000',), "node = { town = 0 }", "t-closeness"),
        (
            ('attribute-disclosure"\nthreshold = "1/100', 'identity-disclosure"\nthreshold = "1/50'),
            "",
            "attribute-disclosure",
        ),
    ],
)
@pytest.mark.usefixtures("plan")
def test_only_what_fails_at_the_coarsest_node_is_named(tmp_path: Path, others, mechanism, fails, capsys):
    entries = [f'model = "{entry}"' for entry in ('k-anonymity"\nk = "60', *others)]
    path = tmp_path / "policy.toml"
    path.write_text(
        POLICY.format("\n[[privacy]]\n".join(entries).replace('"60"', "60"), f'name = "l-diversity"\n{mechanism}')
    )
    assert main(["plan", str(path)]) == 1
    (named,) = re.findall("failing there: (.*)\n", capsys.readouterr().err)
    assert named.partition(" (")[0] == fails
    assert not any(model in named for model in ("k-anonymity", "identity-disclosure"))


@pytest.mark.parametrize("asked", ["epsilon = 3", 'epsilon = 3\nscope = "attribute"', "k = 2"])
def test_what_generalised_values_never_reach_is_refused_before_any_data(tmp_path: Path, plan, asked: str, capsys):
    del plan
    path = tmp_path / "policy.toml"
    model = "pk-anonymity" if asked == "k = 2" else "local-dp"
    path.write_text(POLICY.format(f'model = "{model}"\n{asked}', 'name = "l-diversity"'))
    assert main(["check", str(path)]) == 2
    assert "generalised values are not randomised" in capsys.readouterr().err


def test_a_table_that_is_not_there_is_planned_otherwise(tmp_path: Path, plan, capsys):
    plan('model = "k-anonymity"\nk = 60', 'name = "l-diversity"')
    path = str(tmp_path / "policy.toml")
    assert main(["check", path]) == 0
    assert capsys.readouterr().out.endswith(f"next: rrpolicy plan {path}\n")
    (tmp_path / "people.csv").unlink()
    assert main(["check", path]) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith(f"next: rrpolicy plan {path} --source TABLE (there is not a table at ")
    assert told.endswith(f"without data, rrpolicy plan {path} --expected-rows N")
