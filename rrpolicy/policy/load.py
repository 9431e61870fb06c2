"""Loading a policy: TOML, inheritance, options and meaning; every problem of the file at once."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem, RRPolicyError
from rrpolicy.policy.baseline.inheritance import AliasFinder, TreeTransform, read_merged
from rrpolicy.policy.folder.multiplicity import counts_uri, split_counts_uri
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.governance_reader import read_governance
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.placeholders import PLACEHOLDER_CODE, placeholder_problems
from rrpolicy.policy.resolve import CatalogueFinder, Resolver
from rrpolicy.policy.tree.document import Node


def load_policy(
    path: Path,
    catalogue: CatalogueFinder,
    *,
    source: str | None = None,
    root: Path | None = None,
    alter: TreeTransform | None = None,
) -> Policy:
    """Load a policy file.

    Args:
        path: the TOML file.
        catalogue: called once with the distributions that the policy lists and a function index -> place; returns
            the names that the policy may use, with the class that validates the options of each.
        source: a uri, relative to the working directory, that takes the place of the policy's own.
        root: that the files lie under which the policy names; see `Root.of`.
        alter: as for `read_merged`.

    Returns:
        The resolved policy. Its `places` hold every key and value by dotted key, items of arrays by their index:
        `attributes.age.bins.0`, `privacy.1.k`.

    Raises:
        PolicyError: with every problem of the file and its baselines, in the order of their places.
        RefusedError: if the catalogue refuses a plugin and nothing else is wrong.
    """
    problems: list[Problem] = []
    files = Root.of(Path(path), root)
    merged = read_merged(Path(path), problems, files, alter, _mechanism_aliases(catalogue))
    problems += placeholder_problems(merged.root)
    resolver = Resolver(merged.root, problems, files, complete=merged.complete)
    head = resolver.head()
    settings = resolver.source(None if source is None else absolute_uri(source))
    attributes = resolver.attributes()
    release = resolver.release()
    reference = resolver.reference()
    resolver.formula_names(release, attributes)
    declared = read_governance(merged.root, head, problems)
    known = resolver.catalogue(catalogue)
    if known is None:
        raise _policy_error(problems)
    resolver.known_format(known)
    requirements = resolver.requirements(attributes, known)
    resolver.units(settings, attributes)
    mechanism = resolver.mechanism(known)
    gates = resolver.gates(known)
    ledger = resolver.ledger(attributes, known, requirements)
    if problems or head is None or settings is None or release is None or mechanism is None:
        raise _policy_error(problems)
    return Policy(
        name=head.name or "",
        version=head.version or "",
        owner=head.owner or "",
        purpose=head.purpose or "",
        plugins=resolver.plugins()[0],
        source=settings,
        attributes={name: a for name, a in attributes.items() if a is not None},
        requirements=_with_record_bound(requirements, settings.max_records),
        mechanism=mechanism,
        gates=tuple(gates),
        release=release,
        governance=declared,
        ledger=None
        if ledger is None
        else replace(ledger, budget=_with_record_bound(ledger.budget, settings.max_records)),
        reference=reference,
        folder=os.path.dirname(path) or ".",  # noqa: PTH120
        places={key: node.place for key, node in merged.root.walk()},
        files=_policy_files(merged.root),
        baselines=merged.baselines,
    )


def _mechanism_aliases(catalogue: CatalogueFinder) -> AliasFinder:
    """Return what finds the other names of mechanisms; plugins that cannot be loaded have none here."""

    def known(*trees: Node) -> Mapping[str, str]:
        listed = [i.value for t in trees if (node := t.get("policy", "plugins")) is not None for i in node.items]
        names = tuple(dict.fromkeys(name for name in listed if isinstance(name, str) and name.strip()))
        try:
            return catalogue(names, lambda _: None).aliases
        except RRPolicyError:
            return {}

    return known


def _with_record_bound(requirements: Iterable[Requirement], max_records: int) -> tuple[Requirement, ...]:
    """Return requirements that know how many records a unit may have."""
    return tuple(replace(requirement, max_records=max_records) for requirement in requirements)


def _policy_files(root: Node) -> tuple[str, ...]:
    """Return the files that a policy was read from: itself, its baselines and hierarchies."""
    files = dict.fromkeys(node.place.file for _, node in root.walk())
    attributes = root.get("attributes")
    for attribute in attributes.table.values() if attributes else ():
        hierarchy = attribute.get("hierarchy")
        if hierarchy is not None and isinstance(hierarchy.value, str):
            files[os.path.join(os.path.dirname(hierarchy.place.file), hierarchy.value)] = None  # noqa: PTH118, PTH120
    return tuple(files)


def _policy_error(problems: list[Problem]) -> PolicyError:
    """Return every problem once, in the order of the files and lines; what is to be filled in has no other problem."""
    open_places = {p.place for p in problems if p.code == PLACEHOLDER_CODE}
    unique = dict.fromkeys(p for p in problems if p.code == PLACEHOLDER_CODE or p.place not in open_places)
    files = {p.place.file: i for i, p in reversed(list(enumerate(unique))) if p.place is not None}
    return PolicyError(
        sorted(unique, key=lambda p: (files[p.place.file], p.place.line, p.place.column) if p.place else (-1, 0, 0))
    )


FILES = ("parquet", "csv", "duckdb")
"""Schemes that a path follows, of files whose endings do not tell what they are."""


def absolute_uri(source: str, folder: str = ".") -> str:
    """Return a uri so that it no longer depends on a folder: by default a caller's, on the working directory."""
    multiplicity, own = split_counts_uri(source)
    if multiplicity is not None:
        return counts_uri(absolute_uri(own, folder), multiplicity)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", source)
    if scheme and (scheme[1] not in FILES or "://" in source):
        return source
    start = f"{scheme[1]}:" if scheme else ""
    return start + os.path.abspath(os.path.join(folder, source.removeprefix(start)))  # noqa: PTH100, PTH118
