"""Writes docs/plugins-reference.md from the docstrings: every hook, protocol and class that plugins meet.

python -m tests.docs.make_plugins_pages
"""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import rrpolicy.plugin
import rrpolicy.plugin.solve
import rrpolicy.plugin.types
import rrpolicy.testing
from rrpolicy import hookspecs
from rrpolicy.skeleton.skeleton import write_skeleton

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE, REFERENCE = DOCS / "plugins.md", DOCS / "plugins-reference.md"
NAME, KINDS = "acme-survey", ("mechanism", "privacy-model", "metric", "source", "renderer")
"""The distribution that the guide goes through."""
BLOCK = re.compile(r"<!-- file: (\S+) -->\n(?:```[a-z]+\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
"""A file that the guide shows."""
WRITTEN = (
    *("Offer", "Mechanism", "Outline", "Task", "Proposal", "Remark"),
    *("Axis", "Transition", "Posterior", "Single", "Several", "Channel", "Column", "TableSpec"),
    *("PrivacyModel", "Requirement", "Assessor", "PerClass", "Smooth", "Finding", "Measure", "Companion"),
    *("UtilityMetric", "Source", "Snapshot", "Original", "Format", "TableWriter", "Estimator", "Inversion"),
    *("Renderer", "Problem", "Derived"),
)
"""What authors write, fill or are handed, told with its members."""
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields|References):$")


def reference() -> str:
    """Return the page."""
    lines = [
        "# Reference of plugins",
        "",
        "Written from the docstrings by `python -m tests.docs.make_plugins_pages`.",
        "",
    ]
    lines += ["## Hooks", ""]
    for name, hook in vars(hookspecs).items():
        if name.startswith("rrpolicy_"):
            lines += [f"### `{name}{shown(hook)}`", "", *told(hook), ""]
    lines += ["## What is written, filled and handed over", ""]
    for name in WRITTEN:
        lines += [*of_class(name, getattr(rrpolicy.plugin, name))]
    lines += ["## The kit: `rrpolicy.testing`", ""]
    for name in rrpolicy.testing.__all__:
        thing = getattr(rrpolicy.testing, name)
        lines += [f"### `{name}{'' if isinstance(thing, type) else shown(thing)}`", "", *told(thing), ""]
    for module in (rrpolicy.plugin, rrpolicy.plugin.solve, rrpolicy.plugin.types):
        lines += [f"## Everything in `{module.__name__}`", "", "| name | |", "|---|---|"]
        for name in module.__all__:
            lines.append(f"| `{name}` | {summary(getattr(module, name))} |")
        lines.append("")
    return "\n".join(lines)


def of_class(name: str, of: type) -> Iterator[str]:
    """Yield a class with its public members."""
    yield from (f"### `{name}`", "", *told(of), "")
    for member, value in vars(of).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if member.startswith("_") or not inspect.isfunction(function) or function.__doc__ is None:
            continue
        heading = f"`{member}`" if isinstance(value, property) else f"`{member}{shown(function)}`"
        yield from (f"#### {heading}", "", *told(function), "")


def shown(function: object) -> str:
    """Return a signature as it is written, without `self`."""
    text = str(inspect.signature(function))  # type: ignore[arg-type]
    return re.sub(r"\((self|cls)(, )?", "(", text).replace("'", "")


def told(thing: object) -> Iterator[str]:
    """Yield a docstring as Markdown: sections are lists."""
    for line in (inspect.getdoc(thing) or "").splitlines():
        entry = re.match(r"^ {4}([\w, `*]+): (.*)$", line)
        if SECTION.match(line):
            yield from (f"**{line[:-1]}**", "")
        elif entry:
            yield f"- `{entry[1]}`: {entry[2]}"
        else:
            yield f"  {line.strip()}" if line.startswith("        ") else line.strip()


def summary(thing: object) -> str:
    """Return the first sentence; of what has no docstring of its own, what it is."""
    own = isinstance(thing, type) or inspect.isfunction(thing)
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|") if own else ""
    return text or "an alias or a constant"


def guide() -> str:
    """Return the guide with the files of the skeleton as they are; those that it has not stay."""
    with tempfile.TemporaryDirectory() as folder:
        written = {str(p.relative_to(folder)): p.read_text() for p in write_skeleton(Path(folder), NAME, KINDS)}

    def filled(block: re.Match[str]) -> str:
        name = block[1]
        language = {".toml": "toml", ".py": "python"}[Path(name).suffix]
        return f"<!-- file: {name} -->\n```{language}\n{written[name]}```" if name in written else block[0]

    return BLOCK.sub(filled, GUIDE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
    GUIDE.write_text(guide(), encoding="utf-8")
