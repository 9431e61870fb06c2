"""What passes, what fails and what is wrong: results say it, errors carry the problems that the command line prints."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rrpolicy
from rrpolicy.cli.main import main

from .conftest import people

HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "duckdb", "pydantic", "jinja2", "typer", "logging")
FAILING = '[[utility]]\nmetric = "expected-l2"\nmax = "1/1000000"\n'


def edited(policy: Path, *, old: str = "", new: str = "", more: str = "") -> Path:
    text = policy.read_text()
    assert old in text
    policy.write_text(text.replace(old, new) + more)
    return policy


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    shown = f"print([m for m in {HEAVY} if m in sys.modules])"
    assert python(f"import sys, rrpolicy; dir(rrpolicy); {shown}") == "[]"
    assert (
        python(f"import sys, rrpolicy; [getattr(rrpolicy, n) for n in dir(rrpolicy) if n != 'open_release']; {shown}")
        == "[]"
    )


def test_checking_loads_no_engine(folder: Path) -> None:
    code = f"import sys, rrpolicy; assert rrpolicy.check({str(folder / 'policy.toml')!r}).passed; "
    assert python(code + "print([m for m in ('numpy', 'duckdb', 'pyarrow', 'pandas') if m in sys.modules])") == "[]"


@pytest.mark.parametrize(
    "first", ["rrpolicy.planning.check", "rrpolicy.table_risk.table", "rrpolicy.cli.releases.release"]
)
def test_the_names_are_functions_whatever_was_loaded_first(first: str) -> None:
    code = f"import {first}; import rrpolicy; print(rrpolicy.release.__name__, rrpolicy.check_table.__name__)"
    assert python(code) == "release check_table"


@pytest.mark.parametrize("name", rrpolicy.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    found = getattr(rrpolicy, name)
    if inspect.isfunction(found):
        text = found.__doc__ or ""
        assert "Args:" in text
        assert "Raises:" in text
        assert all(p.annotation is not p.empty for p in inspect.signature(found).parameters.values())
        for parameter in inspect.signature(found).parameters:
            assert f"{parameter}:" in text, parameter


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = rrpolicy.nothing_like_it


def test_a_wrong_policy_raises_the_problems_of_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = edited(folder / "policy.toml", old="epsilon = 4", new="epsilon = 0")
    with pytest.raises(rrpolicy.PolicyError) as raised:
        rrpolicy.check(policy)

    (problem,) = raised.value.problems
    assert main(["check", str(policy)]) == raised.value.exit_status == 2
    shown = capsys.readouterr().err
    assert f"{problem.place}: {problem.code} {problem.message}" in shown


def test_what_fails_the_gate_is_returned_by_plan_and_raised_by_release(folder: Path) -> None:
    policy = edited(folder / "policy.toml", more=FAILING)
    planned = rrpolicy.plan(policy, people())
    assert not planned.passed
    assert "RR104" in repr(planned)
    with pytest.raises(rrpolicy.RequirementError) as required:
        planned.require()
    for what in (planned, policy, rrpolicy.load_policy(policy)):
        with pytest.raises(rrpolicy.RequirementError) as raised:
            rrpolicy.release(what, folder / "bundle", source=people(), key=folder / "key")
        assert [p.code for p in raised.value.problems] == [p.code for p in required.value.problems] == ["RR104"]
    assert not (folder / "bundle").exists()
    assert not (folder / "key").exists()


def test_a_plan_that_does_not_pass_is_returned_and_not_written(folder: Path) -> None:
    edited(folder / "policy.toml", more=FAILING)
    planned = rrpolicy.plan(folder / "policy.toml", people(), out=folder / "plan.json")

    assert not planned.passed
    assert planned.file is None
    assert planned.key is None
    assert not list(folder.glob("plan.json*"))
    with pytest.raises(rrpolicy.RequirementError):
        planned.require()


def test_what_fails_whatever_the_data_fails_the_check(folder: Path) -> None:
    old = '[mechanism]\nname = "pram"\n'
    policy = edited(
        folder / "policy.toml",
        old=old,
        new=old + "[mechanism.keep_probability]\nsex = 0.99\nage = 0.99\nregion = 0.99\n",
    )
    checked = rrpolicy.check(policy)
    assert not checked.passed
    assert {p.code for p in checked.problems} == {"RR101"}
    assert main(["check", str(policy)]) == 1


def test_a_forged_bundle_fails_and_says_where(folder: Path) -> None:
    released = rrpolicy.release(folder / "policy.toml", folder / "bundle")
    (released.public / "README.md").write_text("forged")
    verified = rrpolicy.verify(released.bundle)
    assert not verified.passed
    with pytest.raises(rrpolicy.RequirementError, match="README"):
        verified.require()


def test_a_policy_that_changed_since_it_was_loaded_is_not_released(folder: Path) -> None:
    policy = rrpolicy.load_policy(folder / "policy.toml")
    planned = rrpolicy.plan(policy)
    edited(folder / "policy.toml", old="epsilon = 4", new="epsilon = 5")
    for what in (policy, planned):
        with pytest.raises(rrpolicy.RefusedError, match="RR401"):
            rrpolicy.release(what, folder / "bundle")
    assert not (folder / "bundle").exists()


def test_a_plan_that_is_only_looked_at_is_not_released(folder: Path) -> None:
    for planned in (
        rrpolicy.plan(folder / "policy.toml", expected_rows=600),
        rrpolicy.plan(folder / "policy.toml", bound=False),
    ):
        with pytest.raises(rrpolicy.PolicyError, match="RR250"):
            rrpolicy.release(planned, folder / "bundle")


def test_a_plan_shows_no_key_and_is_not_pickled(folder: Path) -> None:
    planned = rrpolicy.plan(folder / "policy.toml")
    assert planned.held is not None
    assert planned.held.key.hex() not in repr(planned) + str(planned.to_json()) + repr(planned.held)
    with pytest.raises(TypeError, match="out="):
        pickle.dumps(planned)


@pytest.mark.parametrize("call", [{"expected_rows": 5, "out": "plan.json", "key": "key"}, {"key": "key"}])
def test_calls_that_make_no_sense(folder: Path, call: dict[str, object]) -> None:
    with pytest.raises(rrpolicy.PolicyError, match="RR250"):
        rrpolicy.plan(folder / "policy.toml", **call)  # type: ignore[arg-type]


def test_words_that_are_none(folder: Path) -> None:
    released = rrpolicy.release(folder / "policy.toml", folder / "bundle")
    calls = (
        lambda: rrpolicy.verify(released.bundle, level="secret"),  # type: ignore[arg-type]
        lambda: rrpolicy.render(released.bundle, page="secret"),  # type: ignore[arg-type]
        lambda: rrpolicy.check_table(people(), qi=["sex"], sensitive=["region"], l=2, kind="secret"),
        lambda: rrpolicy.check_table(people(), qi=["sex"], k=0),
    )
    for call in calls:
        with pytest.raises(rrpolicy.PolicyError, match="RR250"):
            call()
    with pytest.raises(rrpolicy.PolicyError, match="RR257"):
        rrpolicy.render(released.bundle, format="secret")


def test_a_baseline_can_be_demanded(folder: Path) -> None:
    with pytest.raises(rrpolicy.PolicyError, match="RR245"):
        rrpolicy.check(folder / "policy.toml", extends=folder / "baseline.toml")


def test_two_releases_of_one_plan_are_one_release(folder: Path) -> None:
    planned = rrpolicy.plan(folder / "policy.toml", people())
    first, second = (rrpolicy.release(planned, folder / name) for name in ("one", "two"))
    assert first.digest == second.digest
    with pytest.raises(rrpolicy.RefusedError, match="RR402"):
        rrpolicy.release(planned, folder / "one")


def test_an_error_reaches_another_process_with_its_problems(folder: Path) -> None:
    """As from a pool of workers: pickled and made again."""
    with pytest.raises(rrpolicy.PolicyError) as raised:
        rrpolicy.check(folder / "nothing.toml")
    raised.value.asked_of = "nothing.toml"
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is rrpolicy.PolicyError
    assert (again.problems, again.asked_of, str(again)) == (raised.value.problems, "nothing.toml", str(raised.value))
