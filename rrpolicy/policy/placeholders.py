"""What a draft leaves to be filled in: text with the mark that `rrpolicy init` puts where only a person can decide."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.errors import Problem
from rrpolicy.policy.tree.document import Node

PLACEHOLDER_MARK = "fill in:"
PLACEHOLDER_CODE = "RR281"


def placeholder_problems(root: Node) -> Iterator[Problem]:
    """Yield a problem for every text of a policy that holds the mark, however it is capitalised."""
    for key, node in root.walk():
        if isinstance(node.value, str) and PLACEHOLDER_MARK in node.value.lower():
            start = node.value.lower().index(PLACEHOLDER_MARK) + len(PLACEHOLDER_MARK)
            name = key.rpartition(".")[2]
            yield Problem(
                PLACEHOLDER_CODE,
                f"'{name}' is still to be filled in",
                node.place,
                node.value[start:].strip() or "what only you can decide",
                "write it in place of the whole text",
            )
