"""What a command loads: nothing heavy that it has no use for, so that it answers at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

POLICIES = Path(__file__).resolve().parent.parent.parent / "policies"
NO_TABLE = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "jinja2", "sqlglot", "cryptography", "rich")
NO_PAGES = ("pandas", "jinja2", "sqlglot", "rich", "frictionless")
NO_POLICY = (*NO_TABLE, "rrpolicy.policy.model", "rrpolicy.discovery")


def loaded(*arguments: str) -> set[str]:
    """Run a command; return the modules that it loaded."""
    code = "import sys\nfrom rrpolicy.cli.main import main\nassert main(sys.argv[1:]) in (0, 1)\n"
    command = [sys.executable, "-c", code + "print(*sys.modules, file=sys.stderr)", *arguments]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("arguments", "none"),
    [
        (["--help"], (*NO_POLICY, "typer")),
        (["--version"], (*NO_POLICY, "typer")),
        (["plan", "--help"], NO_POLICY),
        (["explain", "RR203"], NO_POLICY),
        (["check", str(POLICIES / "pram.toml")], NO_TABLE),
        (["check", str(POLICIES / "rr-both.toml")], NO_TABLE),
        (["schema"], NO_TABLE),
        (["plan", str(POLICIES / "l-diversity.toml")], (*NO_PAGES, "scipy.optimize")),
        (["plan", str(POLICIES / "rr-both.toml")], NO_PAGES),
    ],
    ids=lambda value: " ".join(Path(v).name for v in value) if isinstance(value, list) else "",
)
def test_a_command_loads_what_it_needs(arguments: list[str], none: tuple[str, ...]) -> None:
    assert loaded(*arguments) & set(none) == set()


@pytest.mark.parametrize(
    "policy", sorted(set(POLICIES.glob("*.toml")) - {POLICIES / "baseline.toml"}), ids=lambda path: path.stem
)
def test_a_release_and_its_estimates_load_no_pandas(policy: Path, tmp_path: Path) -> None:
    assert loaded("release", str(policy), "--out", str(tmp_path / "out")) & {"pandas", "sqlglot", "rich"} == set()
    assert loaded("estimate", str(tmp_path / "out"), "--by", "sex") & {"pandas", "jinja2", "rich"} == set()
