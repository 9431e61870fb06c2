"""Who must have which plugin installed: one distribution of eight is taken away, and every command is run."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "tutorials" / "plugins.md"
BRING = {
    "mechanism": "acme-keep",
    "axis, channel": "acme-coin",
    "model, assessor": "acme-promise",
    "metric": "acme-loss",
    "source": "acme-rows",
    "format": "acme-ipc",
    "renderer": "acme-card",
    "estimator": "acme-ridge",
}
POLICY = f"""
schema = 1
[policy]
name = "apart"
version = "1.0.0"
owner = "tests"
purpose = "every kind from a distribution of its own"
plugins = {sorted(BRING.values())}

[source]
uri = "acme-rows:survey.rows"

[attributes]
sex = {{ role = "quasi-identifier", domain = ["f", "m"] }}
wave = {{ role = "insensitive", domain = ["1", "2"], assume_unlinkable = "of the survey, not of a person" }}

[[privacy]]
model = "acme-promise"
most = 9

[mechanism]
name = "acme-keep"
coin = true

[[utility]]
metric = "acme-loss"
max = "1/2"

[release]
format = "arrow"
"""


@pytest.fixture
def only(monkeypatch):
    """Have only these distributions installed, each in a folder of its own."""
    path = list(sys.path)

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith("acme_")]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def install(folder: Path, names: list[str]) -> None:
        monkeypatch.setattr(sys, "path", [*(str(folder / name) for name in names), str(HERE / "site"), *path])
        forget()

    yield install
    forget()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Plan and release with everything installed."""
    folder = tmp_path_factory.mktemp("apart")
    for name in BRING.values():
        module = name.replace("-", "_")
        info = folder / name / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rrpolicy]\n{name} = {module}\n")
        shutil.copy(HERE / "apart" / f"{module}.py", folder / name)
    (folder / "policy.toml").write_text(POLICY)
    rows = "".join(f"{'fmf'[i % 3]}|{1 + i % 2}\n" for i in range(600))
    (folder / "survey.rows").write_text("sex|wave\n" + rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*(str(folder / name) for name in BRING.values()), str(HERE / "site"), *sys.path])
        importlib.invalidate_caches()
        assert main(["plan", str(folder / "policy.toml"), "--out", str(folder / "plan.json")]) == 0
        kept = [str(folder / "plan.json"), "--key", str(folder / "plan.json.key")]
        assert main(["release", *kept, "--out", str(folder / "bundle")]) == 0
    return folder


def commands(folder: Path, out: Path) -> dict[str, list[list[str]]]:
    """Return the command lines of each row of the table."""
    policy, plan, bundle, public = (
        str(folder / name) for name in ("policy.toml", "plan.json", "bundle", "bundle/public")
    )
    table, key = f"acme-rows:{folder / 'survey.rows'}", str(folder / "plan.json.key")
    return {
        "`check`, `plan`, `release POLICY`": [
            ["check", policy],
            ["plan", policy],
            ["release", policy, "--out", str(out / "1")],
        ],
        "`release PLAN`": [["release", plan, "--key", key, "--out", str(out / "2")]],
        "`verify` the public folder": [["verify", public]],
        "`verify` the bundle": [["verify", bundle]],
        "`verify --source`": [["verify", bundle, "--source", table]],
        "`verify --source --key`": [["verify", bundle, "--source", table, "--key", key]],
        "`report`, of public": [["report", bundle, "--page", "public"]],
        "`report`, of audit": [["report", bundle]],
        "`report` in its form": [["report", bundle, "--format", "acme-card"]],
        "`estimate`, `query`": [
            ["estimate", bundle, "--by", "sex"],
            ["estimate", "query", bundle, "SELECT sex, count(*) FROM release GROUP BY sex"],
        ],
        "`estimate` by its estimator": [["estimate", bundle, "--by", "sex", "--estimator", "acme-ridge"]],
    }


def cells() -> dict[tuple[str, str], str]:
    """Return the cells of the guide's table by row and kind."""
    lines = GUIDE.read_text().partition("## Who must have what installed")[2].partition("How to read it")[0]
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines.strip().splitlines())
    return {(row[0], kind): cell for row in rows for kind, cell in zip(header[1:], row[1:], strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("at", cells(), ids=" without ".join)
def test_every_cell_of_the_table(only, made, tmp_path, capsys, at):
    (row, kind), cell = at, cells()[at]
    gone = BRING[kind]
    rest = [name for name in BRING.values() if name != gone]
    only(made, rest)
    for given in commands(made, tmp_path)[row]:
        listing = given[0] in {"verify", "report", "estimate", "query"}
        flags = [flag for name in rest for flag in ("--plugin", name)] if listing else []

        status = main([*given, *flags])

        said = capsys.readouterr()
        if cell == "yes":
            assert status != 0
            assert status != 70
            assert gone in said.err
        else:
            assert status == 0, said.err
            assert given[0] == "report" or (gone in said.out.partition("undecided")[2]) == (cell == "undecided")
        assert not [name for name in sys.modules if name == gone.replace("-", "_")]


def test_with_all_of_them_every_command_passes(only, made, tmp_path, capsys):
    only(made, [*BRING.values()])
    for row, lines in commands(made, tmp_path).items():
        for given in lines:
            listing = given[0] in {"verify", "report", "estimate", "query"}
            flags = [flag for name in BRING.values() for flag in ("--plugin", name)] if listing else []
            assert main([*given, *flags]) == 0, (row, capsys.readouterr().err)


@pytest.fixture
def without_mechanism(only, made, tmp_path):
    """Return a plan of one's own, its mechanism no more installed, and its policy to be edited."""
    for name in ("policy.toml", "survey.rows", "plan.json", "plan.json.key"):
        shutil.copy(made / name, tmp_path)
    only(made, [name for name in BRING.values() if name != "acme-keep"])

    def release(old: str, new: str) -> int:
        policy = tmp_path / "policy.toml"
        assert old in policy.read_text()
        policy.write_text(policy.read_text().replace(old, new))
        return main(["release", str(tmp_path / "plan.json"), "--out", str(tmp_path / "bundle")])

    return release


def test_a_comment_makes_no_plan_stale_whose_mechanism_is_absent(without_mechanism, tmp_path):
    assert without_mechanism("coin = true", "coin = true # of two sides") == 0
    assert (tmp_path / "bundle" / "public" / "data.arrow").is_file()


@pytest.mark.parametrize(
    "change",
    [
        ("coin = true", "coin = true\nkeep = 0.9", "what the policy states of the mechanism 'acme-keep'"),
        ("coin = true", 'coin = true\nkeep = "4/5"', "what the policy states of the mechanism 'acme-keep'"),
        ("coin = true", "", "what the policy states of the mechanism 'acme-keep'"),
        ("most = 9", "most = 8", "the policy has changed"),
        ('name = "acme-keep"\ncoin = true', 'name = "pram"', "the policy has changed"),
    ],
)
def test_a_changed_policy_makes_it_stale(without_mechanism, tmp_path, capsys, change):
    *edit, said = change
    assert without_mechanism(*edit) == 4
    assert f"RR401 the plan is stale: {said}" in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()


def test_a_distribution_that_the_plan_was_not_made_with_must_be_there(without_mechanism, capsys):
    assert without_mechanism("'acme-card'", "'acme-card', 'acme-new'") == 4
    assert "RR404" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        ("acme-coin", "release", "the axis kind 'acme.coin'; it needs acme-coin 1.0, which is not installed"),
        (
            "acme-coin",
            "verify",
            "the axis kind 'acme.coin'; it needs acme-coin 1.0, which is not loaded on the word of",
        ),
        ("acme-promise", "verify", "the privacy model 'acme-promise'; it needs acme-promise 1.0"),
    ],
)
def test_what_is_needed_is_named_with_its_distribution(only, made, tmp_path, capsys, case):
    gone, command, said = case
    rest = [name for name in BRING.values() if name != gone]
    only(made, rest)
    plan = [str(made / "plan.json"), "--key", str(made / "plan.json.key"), "--out", str(tmp_path / "bundle")]
    bundle = [str(made / "bundle"), *(flag for name in rest for flag in ("--plugin", name))]

    assert main([command, *(plan if command == "release" else bundle)]) == 4
    assert f"no loaded plugin offers {said}" in capsys.readouterr().err


def test_the_report_of_public_says_what_it_lacks(only, made, capsys):
    only(made, [*BRING.values()])
    assert main(["report", str(made / "bundle"), "--page", "public", "--plugin", "acme-ipc"]) == 0
    said = capsys.readouterr().err
    assert "the page lacks what the axis kind 'acme.coin' shows; --plugin acme-coin loads it" in said


def test_a_table_is_drafted_and_measured_with_the_plugin_that_opens_it(only, made, capsys):
    only(made, ["acme-rows"])
    table = str(made / "survey.rows")

    for command in (["init", table], ["check-table", table, "--qi", "sex"]):
        assert main(command) == 3
        said = capsys.readouterr().err
        assert "RR301" in said
        assert "installed and not listed: acme-arrow, acme-oue, acme-rows" in said
        assert main([*command, "--plugin", "acme-rows"]) == 0
        told = capsys.readouterr().out
        assert ('plugins = ["acme-rows"]' in told) if command[0] == "init" else "600 records" in told


def test_the_functions_take_plugins_as_the_commands_do(only, made):
    only(made, ["acme-rows"])
    table = made / "survey.rows"

    assert rrpolicy.check_table(table, qi=["sex"], plugins=["acme-rows"]).records == 600
    assert 'plugins = ["acme-rows>=1"]' in rrpolicy.init(table, plugins=["acme-rows>=1"]).text
    with pytest.raises(rrpolicy.RefusedError, match="RR404"):
        rrpolicy.init(table, plugins=["acme-nowhere"])
