"""Opening a policy: the file, resolved, with the plugins that it names and the table that the caller names or holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rrpolicy.discovery import load_allowed, load_registry, unlisted
from rrpolicy.errors import Place, PolicyError, Problem
from rrpolicy.policy.catalogue import Catalogue
from rrpolicy.policy.load import absolute, load_policy
from rrpolicy.policy.model import Policy
from rrpolicy.registry import Registry
from rrpolicy.source.memory.handed import Handed

PolicyLike: TypeAlias = "str | os.PathLike[str] | Policy"
"""A policy's file, or the policy that was loaded from one."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A resolved policy and the registry of the plugins that it may use."""

    policy: Policy
    registry: Registry

    def reading(self, handed: Handed) -> Opened:
        """Return it with what the caller handed over in place of the policy's own table."""
        if handed.uri is None:
            return self
        source = replace(self.policy.source, uri=absolute(handed.uri))
        return Opened(replace(self.policy, source=source), self.registry.opening(handed.engines))


def open_policy(
    path: Path, *, source: str | None = None, root: Path | None = None, allowed: Sequence[str] | None = None
) -> Opened:
    """Load a policy file and the plugins that it lists.

    Args:
        path: the TOML file.
        source: a uri that takes the place of the policy's own.
        root: that the files lie under which the policy names; default: the top of its repository, else its folder.
        allowed: the only plugins that it may load, where somebody else wrote it; None for the caller's own policy.

    Raises:
        PolicyError: with every problem of the file (RR2xx).
        RefusedError: if a plugin is missing, broken, or takes a name that is taken (RR404 to RR406), or is not
            allowed (RR412).
    """
    registries: list[Registry] = []

    def catalogue(plugins: tuple[str, ...], place: Callable[[int], Place | None]) -> Catalogue:
        registries.append(
            load_registry(plugins, place) if allowed is None else load_allowed(plugins, allowed, path.name)
        )
        return registries[-1].catalogue

    try:
        policy = load_policy(path, catalogue, source=source, root=root)
    except PolicyError as error:
        raise PolicyError([_of_others(problem, registries) for problem in error.problems]) from error
    return Opened(policy, registries[-1])


def _of_others(problem: Problem, registries: Sequence[Registry]) -> Problem:
    """Return a problem of an unknown name (RR210) with the installed plugins that might offer it and are not listed."""
    others = unlisted(registries[-1]) if problem.code == "RR210" and registries else ()
    if not others:
        return problem
    hint = f"if a plugin offers it, list it in `plugins` under [policy]; installed and not listed: {', '.join(others)}"
    return replace(problem, hint=f"{problem.hint}; {hint}" if problem.hint else hint)


def opened(policy: PolicyLike, handed: Handed = Handed(), root: Path | None = None) -> Opened:  # noqa: B008 frozen
    """Open a policy's file, or one that was loaded already.

    Args:
        policy: the file, or the policy.
        handed: the table that the caller names or holds in place of the policy's own.
        root: see `open_policy`; a policy that was loaded needs none.

    Raises:
        PolicyError: as `open_policy`.
        RefusedError: as `open_policy`.
    """
    if isinstance(policy, Policy):
        return Opened(policy, load_registry(policy.plugins)).reading(handed)
    return open_policy(Path(policy), source=handed.uri, root=root).reading(handed)
