"""Generalisation hierarchies: the semicolon CSV that ARX users have, or levels written in the policy."""

from __future__ import annotations

import csv
import io
import itertools
import os.path
from collections.abc import Iterator, Sequence
from pathlib import Path

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.errors import Problem
from rrpolicy.policy.file import category
from rrpolicy.policy.folder.root import OutsideError, Root
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import short_toml

Levels = tuple[tuple[Value, ...], ...]

_DELIMITERS = ";,\t|"
_SHOWN = 5


class HierarchyError(Exception):
    """A hierarchy that cannot be used, as a problem of the policy."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_hierarchy(node: Node, domain: Sequence[Value], files: Root) -> Levels:
    """Return the generalised value of each category at each level; level 0 is the domain.

    `node` has a file's name relative to its policy file, or an array of levels, each a table group = [members of the
    level below]. Raises HierarchyError: RR215 if the file cannot be read, RR289 if it lies outside of the root, RR216
    if a category is not covered or levels do not nest.
    """
    if isinstance(node.value, str):
        upper = _levels_from_file(node, domain, files)
    elif isinstance(node.value, list):
        upper = _levels_from_policy(node, domain)
    else:
        raise _hierarchy_problem(
            node, "the hierarchy is neither a file nor levels", "a CSV file's name, or an array of levels"
        )
    levels: Levels = (tuple(domain), *upper)
    for below, above in itertools.pairwise(levels):
        first: dict[Value, int] = {}
        for i, part in enumerate(below):
            j = first.setdefault(part, i)
            if above[i] != above[j]:
                both = f"{short_toml(domain[j])} and {short_toml(domain[i])}"
                message = f"the levels do not nest: {both} are in one group, and in two groups one level up"
                raise _hierarchy_problem(node, message, "each group of a level in one group of the next")
    return levels


def hierarchy_categories(node: Node, files: Root) -> tuple[Value, ...]:
    """Return the categories that a hierarchy lists, for a domain that is yet to be observed.

    Raises HierarchyError as `read_hierarchy` does, and RR216 if a member of the first level is not a category.
    """
    if isinstance(node.value, str):
        return tuple(row[0] for row in _hierarchy_rows(node, files))
    return tuple(
        dict.fromkeys(_member_value(member) for level in node.items[:1] for _, member in _level_members(level))
    )


def restrict_levels(levels: Levels, domain: Sequence[Value]) -> Levels | None:
    """Return a hierarchy's levels for some of its categories, which are level 0; None if it lacks one."""
    places = {category_text(value): place for place, value in enumerate(levels[0])}
    chosen = [places.get(category_text(value)) for value in domain]
    upper = [tuple(level[place] for place in chosen if place is not None) for level in levels[1:]]
    return None if None in chosen else (tuple(domain), *upper)


def _levels_from_file(node: Node, domain: Sequence[Value], files: Root) -> list[tuple[Value, ...]]:
    rows = _hierarchy_rows(node, files)
    by_category = {row[0]: row[1:] for row in rows}
    if len(by_category) != len(rows):
        raise _hierarchy_problem(node, "a category is in two rows of the hierarchy", "one row a category")
    missing = [value for value in domain if category_text(value) not in by_category]
    if missing:
        raise _hierarchy_problem(
            node, f"the hierarchy has no row for {_value_list_text(missing)}", "a row for every category of the domain"
        )
    return [tuple(by_category[category_text(v)][level] for v in domain) for level in range(len(rows[0]) - 1)]


def _hierarchy_rows(node: Node, files: Root) -> list[list[str]]:
    path = Path(os.path.dirname(node.place.file)) / str(node.value)  # noqa: PTH120
    try:
        rows = _split_rows(files.read(path).decode("utf-8-sig"))
    except OutsideError as error:
        message, expected, hint = files.outside(str(node.value))
        raise HierarchyError(Problem("RR289", message, node.place, expected, hint)) from error
    except UnicodeDecodeError as error:
        raise _unreadable_hierarchy(node, "it is not UTF-8") from error
    except csv.Error as error:
        raise _unreadable_hierarchy(node, str(error)) from error
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else "not a possible path"
        raise _unreadable_hierarchy(node, told.lower()) from error
    widths = sorted({len(row) for row in rows})
    if not rows or widths == [1]:
        parted = "semicolons, commas, tabs nor vertical bars part its fields"
        raise _unreadable_hierarchy(node, f"neither {parted}" if rows else "it has no rows")
    if len(widths) > 1:
        raise _unreadable_hierarchy(node, f"some rows have {widths[0]} fields, others {widths[-1]}")
    return rows


def _split_rows(text: str) -> list[list[str]]:
    each = []
    for delimiter in _DELIMITERS:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return rows
        each.append(rows)
    return max(each, key=lambda rows: any(len(row) > 1 for row in rows))


def _levels_from_policy(node: Node, domain: Sequence[Value]) -> list[tuple[Value, ...]]:
    below: tuple[Value, ...] = tuple(domain)
    levels: list[tuple[Value, ...]] = []
    for level in node.items:
        if not isinstance(level.value, dict) or not level.value:
            raise _hierarchy_problem(level, "a level is not a table", '{ "group" = ["member", …], … }')
        group_of: dict[Value, str] = {}
        known = set(below)
        for group, member in _level_members(level):
            value = _member_value(member)
            if value not in known:
                raise _hierarchy_problem(
                    member, f"{short_toml(member.value)} is not in the level below", f"one of {_value_list_text(below)}"
                )
            if group_of.setdefault(value, group) != group:
                raise _hierarchy_problem(
                    member, f"{short_toml(member.value)} is in two groups of one level", "each in one group"
                )
        missing = [value for value in dict.fromkeys(below) if value not in group_of]
        if missing:
            raise _hierarchy_problem(
                level, f"the level has no group for {_value_list_text(missing)}", "a group for each"
            )
        below = tuple(group_of[value] for value in below)
        levels.append(below)
    if not levels:
        raise _hierarchy_problem(node, "the hierarchy has no level", "one level at least")
    return levels


def _level_members(level: Node) -> Iterator[tuple[str, Node]]:
    for group, members in level.table.items():
        if not members.items:
            raise _hierarchy_problem(
                members, f"the group '{group}' has no members", "an array of categories of the level below"
            )
        for member in members.items:
            yield group, member


def _member_value(node: Node) -> Value:
    try:
        return category(node.value)
    except ValueError as error:
        raise _hierarchy_problem(node, "a member is not a category", "text, a finite number, true or false") from error


def _value_list_text(values: Sequence[Value]) -> str:
    shown = ", ".join(short_toml(v) for v in list(values)[:_SHOWN])
    return shown + (f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else "")


def _unreadable_hierarchy(node: Node, reason: str) -> HierarchyError:
    expected = "a CSV file in UTF-8, such as `category;group;*`: the category, then what it becomes at each level"
    return HierarchyError(
        Problem("RR215", f"the hierarchy '{node.value}' cannot be read: {reason}", node.place, expected)
    )


def _hierarchy_problem(node: Node, message: str, expected: str) -> HierarchyError:
    return HierarchyError(Problem("RR216", message, node.place, expected))
