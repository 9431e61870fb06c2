"""Policies for the tests of plugins: resolved ones, and files, with defaults for everything that a test omits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel, ConfigDict

from rrpolicy.canonical_json import Value
from rrpolicy.declarations import Role
from rrpolicy.discovery import load_registry
from rrpolicy.errors import Place
from rrpolicy.frozen import replace
from rrpolicy.planning import policy_opening
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.plugin_spec import Software
from rrpolicy.policy.model import Attribute, MechanismChoice, Policy, ReleaseSettings, Requirement, SourceSettings
from rrpolicy.registry import Registry


class NoOptions(BaseModel):
    """The options of a mechanism that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def open_policy(
    policy: Policy | str | Path, plugins: Sequence[str | object] = (), folder: Path | None = None
) -> OpenedPolicy:
    """Return a resolved policy, `.policy`, with the registry of its plugins, `.registry`. No table is opened.

        open_policy(policy_text("..."), [acme_oue])

    Args:
        policy: a policy's file; or its text, which may name no files but the table; or a resolved policy.
        plugins: plugins in addition to those that the policy lists: names of installed distributions; or modules or
            objects with hooks, which need not be installed.
        folder: base of a text's relative uri; the working directory by default.

    Raises:
        PolicyError: with every problem of the policy.
        RefusedError: if a plugin is missing, broken, or offers a name that is taken.
    """
    names = [plugin for plugin in plugins if isinstance(plugin, str)]
    held = {_plugin_name(plugin): plugin for plugin in plugins if not isinstance(plugin, str)}

    def find(
        listed: tuple[str, ...], place: Callable[[int], Place | None], planned: Software | None = None
    ) -> Registry:
        del planned
        found = load_registry([*listed, *names], lambda index: place(index) if index < len(listed) else None)
        return found.holding(held) if held else found

    if isinstance(policy, Policy):
        return OpenedPolicy(policy, find(policy.plugins, lambda _: None))
    if isinstance(policy, Path) or "\n" not in policy:
        return policy_opening.open_policy(Path(policy), find=find)
    with TemporaryDirectory() as scratch:
        file = Path(scratch) / "policy.toml"
        file.write_text(policy, encoding="utf-8")
        opened = policy_opening.open_policy(file, find=find)
    return replace(opened, policy=replace(opened.policy, folder=str(folder or Path.cwd())))


def _plugin_name(plugin: object) -> str:
    return str(plugin.__name__ if inspect.ismodule(plugin) else type(plugin).__name__)


def policy_of(
    attributes: Iterable[Attribute] | Mapping[str, Sequence[Value]],
    requirements: Iterable[Requirement] = (),
    mechanism: str = "none",
    options: BaseModel | None = None,
    **more: Any,
) -> Policy:
    """Return a resolved policy for mechanisms, assessors and `TableInMemory`.

        policy_of({"sex": ["f", "m"]}, [Requirement("local-dp", Options(epsilon=2))], "acme-oue", OUE(keep="3/4"))

    Args:
        attributes: attributes in the order of the released columns; or the domain of each quasi-identifier, by name.
        requirements: requirements with their options validated.
        mechanism: name of its mechanism.
        options: options of the mechanism; `NoOptions` by default.
        more: any other field of `Policy`; `uri` for a source that is not opened.
    """
    if isinstance(attributes, Mapping):
        named = attributes.items()
        attributes = [Attribute(n, Role.QUASI_IDENTIFIER, tuple(domain), release_as=n) for n, domain in named]
    stated: dict[str, Any] = {
        "name": "test",
        "version": "1.0.0",
        "owner": "tests",
        "purpose": "tests",
        "plugins": (),
        "source": SourceSettings(more.pop("uri", "none")),
        "mechanism": MechanismChoice(mechanism, NoOptions() if options is None else options),
        "gates": (),
        "release": ReleaseSettings(),
    }
    return Policy(attributes={a.name: a for a in attributes}, requirements=tuple(requirements), **(stated | more))


def policy_text(tables: str, uri: str = "people.csv", name: str = "people", **keys: str) -> str:
    r"""Return the text of a policy file.

        policy_text('[attributes]\nsex = { role = "quasi-identifier", domain = ["f", "m"] }\n[mechanism]\n...')

    Args:
        tables: the file except `schema`, `[policy]` and `[source]`, as TOML.
        uri: uri of the table.
        name: name of the policy.
        keys: other keys of `[policy]` that are plain text, such as owner and purpose.
    """
    stated = "".join(f'{key} = "{value}"\n' for key, value in {"name": name, "version": "1.0.0", **keys}.items())
    return f'schema = 1\n[policy]\n{stated}[source]\nuri = "{uri}"\n{tables}'


def write_csv(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """Write a table as CSV, all text in quotes, and return its path.

    Args:
        path: path of the file.
        columns: values by column; None is a null.
    """
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(_cell, row)) + "\n" for row in rows), encoding="utf-8", newline="")
    return path


def _cell(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else str(value)
