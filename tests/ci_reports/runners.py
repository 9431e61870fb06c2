"""What runners of CI jobs do with the files that rrpolicy brings for them: as little as those files need, and no more.

What a file asks for beyond that fails: nothing is passed over.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
INPUT = re.compile(r"\$\[\[\s*inputs\.([\w-]+)\s*\]\]")


@dataclass
class Ran:
    """What a job left behind: its exit status, what it printed, its summary and its outputs."""

    status: int
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


def action(
    file: Path, inputs: Mapping[str, str], workspace: Path, github: Mapping[str, str], environment: Mapping[str, str]
) -> Ran:
    """Run a composite action as GitHub's runner does: each step a bash of its own, stopping at the first that fails."""
    document = yaml.safe_load(file.read_text())
    github = {"action_path": str(file.parent), **github}
    assert inputs.keys() <= document["inputs"].keys()
    given = {}
    for name, spec in document["inputs"].items():
        assert name in inputs or "default" in spec, f"{name} is required"
        given[name] = inputs.get(name, resolved(str(spec.get("default", "")), {"github": github}))
    files = {name: workspace.parent / f"github_{name}" for name in ("output", "step_summary", "path")}
    for path in files.values():
        path.write_text("")
    temp = workspace.parent / "runner_temp"
    temp.mkdir(exist_ok=True)
    own = {f"GITHUB_{name.upper()}": path for name, path in files.items()} | {"RUNNER_TEMP": temp}
    context: dict[str, Any] = {"inputs": given, "github": github, "steps": {}}
    ran = Ran(0)
    assert document["runs"]["using"] == "composite"
    for step in document["runs"]["steps"]:
        assert step.keys() <= {"name", "id", "if", "shell", "env", "run"}, "the runner of the tests knows no more"
        assert "${{" not in step["run"], "what is interpolated into a script is run by it"
        if "if" in step and not condition(step["if"], context):
            continue
        env = {name: resolved(value, context) for name, value in step.get("env", {}).items()}
        assert step["shell"] == "bash"
        script = temp / "step.sh"
        script.write_text(step["run"])
        files["output"].write_text("")
        paths = [*reversed(files["path"].read_text().splitlines()), environment["PATH"]]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env={**environment, "PATH": ":".join(paths), **{k: str(v) for k, v in own.items()}, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        ran.log += done.stdout
        lines = files["output"].read_text().splitlines()
        assert all(re.fullmatch(r"[\w-]+=.*", line) for line in lines)
        context["steps"][step.get("id")] = {"outputs": dict(line.split("=", 1) for line in lines)}
        if done.returncode:
            ran.status = done.returncode
            break
    ran.summary = files["step_summary"].read_text()
    ran.outputs = {name: resolved(spec["value"], context) for name, spec in document.get("outputs", {}).items()}
    return ran


def resolved(text: str, context: Mapping[str, Any]) -> str:
    """Return text with its expressions resolved: paths into the context, and nothing else."""

    def value(found: re.Match[str]) -> str:
        node: Any = context
        assert re.fullmatch(r"[\w.-]+", found[1]), (
            f"an expression that the runner of the tests does not know: {found[1]}"
        )
        for part in found[1].split("."):
            node = node.get(part, {}) if isinstance(node, Mapping) else {}
        return node if isinstance(node, str) else ""

    return EXPRESSION.sub(value, text)


def condition(text: str, context: Mapping[str, Any]) -> bool:
    found = re.fullmatch(r"([\w.-]+) == '([^']*)'", text)
    assert found, f"a condition that the runner of the tests does not know: {text}"
    return resolved("${{ " + found[1] + " }}", context) == found[2]


def component(
    file: Path, job: str, inputs: Mapping[str, str], workspace: Path, environment: Mapping[str, str]
) -> Ran | None:
    """Run a job of a GitLab component as its runner does; None if the job's rules leave it out of the pipeline.

    What GitLab itself tells a job, such as CI_COMMIT_TAG, stands in the environment.
    """
    head, body = yaml.safe_load_all(file.read_text())
    given = {}
    for name, spec in head["spec"]["inputs"].items():
        assert name in inputs or "default" in spec, f"{name} is required"
        given[name] = inputs.get(name, spec.get("default"))
    assert inputs.keys() <= given.keys()
    for name, spec in body.items():
        for line in [*spec.get("before_script", []), *spec.get("script", [])]:
            assert "$[[" not in line, f"{name}: what is interpolated into a script is run by it"
    whole = _filled(body, given)
    spec = {**whole[whole[job].get("extends", job)], **whole[job]}
    if not any(_rule(rule["if"], environment) for rule in spec["rules"]):
        return None
    own = {}
    for name, value in spec.get("variables", {}).items():
        assert value == "0" or value["expand"] is False, f"{name}: a dollar sign in an input is not a variable"
        own[name] = value if value == "0" else value["value"]
    log = ""
    status = 0
    for part in ("before_script", "script"):
        lines = spec.get(part, [])
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
            cwd=workspace,
            env={**environment, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        log += done.stdout
        status = done.returncode
        if status:
            break
    when = spec["artifacts"].get("when", "on_success")
    kept = {}
    if status == 0 or when == "always":
        named = {"paths": spec["artifacts"]["paths"], **{k: [v] for k, v in spec["artifacts"]["reports"].items()}}
        kept = {kind: ",".join(p for p in paths if (workspace / p).exists()) for kind, paths in named.items()}
    return Ran(status, log, outputs=kept)


def _filled(node: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(node, Mapping):
        return {key: _filled(value, given) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, given) for value in node]
    return INPUT.sub(lambda found: str(given[found[1]]), node) if isinstance(node, str) else node


def _rule(text: str, variables: Mapping[str, str]) -> bool:
    equal = re.fullmatch(r'\$(\w+) == "([^"]*)"', text)
    if equal:
        return variables.get(equal[1]) == equal[2]
    alone = re.fullmatch(r"\$(\w+)", text)
    assert alone, f"a rule that the runner of the tests does not know: {text}"
    return bool(variables.get(alone[1]))


def bare_environment(path: Path) -> dict[str, str]:
    """Return what a job starts with: a search path that begins with a folder, and nothing of the caller's settings."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
    return {**kept, "PATH": f"{path}:/usr/local/bin:/usr/bin:/bin"}
