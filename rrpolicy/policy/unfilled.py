"""What a draft leaves to be filled in: text with the mark that `rrpolicy init` puts where only a person can decide."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.errors import Problem
from rrpolicy.policy.tree.document import Node

MARK = "fill in:"
UNFILLED = "RR281"


def unfilled(root: Node) -> Iterator[Problem]:
    """Yield a problem for every text of a policy that holds the mark, however it is capitalised."""
    for key, node in root.walk():
        if isinstance(node.value, str) and MARK in node.value.lower():
            start = node.value.lower().index(MARK) + len(MARK)
            name = key.rpartition(".")[2]
            yield Problem(
                UNFILLED,
                f"'{name}' is still to be filled in",
                node.place,
                node.value[start:].strip() or "what only you can decide",
                "write it in place of the whole text",
            )
