"""Tables that stay where they are: their counts in, and SQL for the engines that count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.api.arguments import PathLike, public_function, to_path

if TYPE_CHECKING:
    from rrpolicy.exports.sql.statements import SqlStatements
    from rrpolicy.planning.policy_opening import PolicyLike
    from rrpolicy.source.memory.kinds import CountedTable, Table


@public_function
def counted(table: Table, multiplicity: str = "n") -> CountedTable:
    """Return a table of distinct rows with counts, to be handed over wherever a table of records may be.

    A release is the same from counts as from the records: its public/ has the same bytes under the same key.

    Args:
        table: a path or uri, or a table in memory. Columns that the policy drops may be missing; equal rows are added.
        multiplicity: the column that says how many records each row stands for.

    Returns:
        The table, for `source`, `plan_on` and `reference` of every function.

    Raises:
        PolicyError: RR250 if it is no table.
    """
    from rrpolicy.source.memory.input_table import input_table
    from rrpolicy.source.memory.kinds import CountedTable

    found = CountedTable(table, multiplicity)
    input_table(found)
    return found


@public_function
def sql(policy: PolicyLike, dialect: str, *, table: str | None = None, root: PathLike | None = None) -> SqlStatements:
    """Return the statements by which an engine that rrpolicy does not open counts a policy's table; nothing is read.

    They recode each released column as the policy does, whatever has no category included, and count. The result is a
    table of counts, for `counted`: it gives the release that the records give, or is refused where they are.

    Args:
        policy: a policy's file, or a policy that was loaded.
        dialect: such as postgres; `rrpolicy export sql --help` lists them.
        table: its name in the engine, such as `survey.people`; default: `table` under [source], else what its file is
            called.
        root: as for `load_policy`.

    Returns:
        `counts`, the statement that counts; `units`, which tests how many records a person has; and `expansion`, which
        makes records of released rows with counts in the engine.

    Raises:
        PolicyError: RR2xx for the policy; RR250 if there is no such dialect; RR590 with every column that cannot be
            recoded in it; RR591 for a name that cannot be written in it.
        RefusedError: RR404 to RR406 for plugins.
    """
    from pathlib import PurePath

    from rrpolicy.exports.sql.statements import build_statements
    from rrpolicy.planning.policy_opening import reopen_policy
    from rrpolicy.policy.folder.root import split_counts_uri

    found = reopen_policy(policy, root=to_path(root)).policy
    called = PurePath(split_counts_uri(found.source.uri)[1].rpartition(":")[2]).name.partition(".")[0]
    return build_statements(found, dialect, table or found.source.table or called)
