"""What a command loads: nothing heavy that it has no use for, so that it answers at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

POLICIES = Path(__file__).resolve().parent.parent.parent / "policies"
NO_TABLE = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "jinja2", "sqlglot", "cryptography", "rich")
NO_PAGES = ("pandas", "jinja2", "sqlglot", "rich", "frictionless")
NO_RELEASE = (*NO_TABLE, "rrpolicy.manifest.manifest")
NO_POLICY = (*NO_TABLE, "rrpolicy.policy.model", "rrpolicy.discovery")


def loaded(*commands: list[str]) -> set[str]:
    """Run commands in a process of their own; return the modules that they loaded."""
    code = "import json, sys\nfrom rrpolicy.cli.main import main\nfor command in json.loads(sys.argv[1]):\n"
    code += "    assert main(command) in (0, 1), command\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, json.dumps(commands)]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stderr.splitlines()[-1].split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "none"),
    [
        (["--help"], (*NO_POLICY, "typer")),
        (["--version"], (*NO_POLICY, "typer")),
        (["plan", "--help"], NO_POLICY),
        (["explain", "RR203"], NO_POLICY),
        (["check", str(POLICIES / "pram.toml")], NO_RELEASE),
        (["check", str(POLICIES / "rr-both.toml")], NO_RELEASE),
        (["export", "schema"], NO_TABLE),
        (["plan", str(POLICIES / "l-diversity.toml")], (*NO_PAGES, "scipy.optimize")),
        (["plan", str(POLICIES / "rr-both.toml")], NO_PAGES),
    ],
    ids=lambda value: " ".join(Path(v).name for v in value) if isinstance(value, list) else "",
)
def test_a_command_loads_what_it_needs(arguments: list[str], none: tuple[str, ...]) -> None:
    assert loaded(arguments) & set(none) == set()


@pytest.mark.slow
def test_releases_and_their_estimates_load_no_pandas(tmp_path: Path) -> None:
    """One process after another: what any of a process' commands loads is found when it ends."""
    policies = sorted(set(POLICIES.glob("*.toml")) - {POLICIES / "baseline.toml"})
    assert len(policies) >= 7
    release = loaded(*(["release", str(policy), "--out", str(tmp_path / policy.stem)] for policy in policies))
    assert release & {"pandas", "sqlglot", "rich"} == set()
    estimate = loaded(*(["estimate", str(tmp_path / policy.stem), "--by", "sex"] for policy in policies))
    assert estimate & {"pandas", "jinja2", "rich"} == set()
