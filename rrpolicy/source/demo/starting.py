"""A folder to start from: the demo table, a policy for it, and the hierarchies that the policy names."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from rrpolicy.errors import Problem, RefusedError, unwritable
from rrpolicy.leaving import unfinished
from rrpolicy.source.demo.source import RECORDS, SEED, survey

TABLE = "survey.parquet"
FILES = ("policy.toml", "hierarchies/education.csv", "hierarchies/region.csv")


def write_demo(folder: Path, records: int = RECORDS, seed: int = SEED) -> tuple[Path, ...]:
    """Write the demo table and its policy.

    Args:
        folder: made if missing.
        records: people in the table.
        seed: another one gives other people of the same kind.

    Returns:
        The written files, the table first.

    Raises:
        ValueError: if `records` or `seed` is out of range.
        RefusedError: RR411 if one of the files is there already, RR407 or RR408 if they cannot be written.
    """
    import pyarrow.parquet as pq

    targets = {name: folder / name for name in (TABLE, *FILES)}
    there = [name for name, path in targets.items() if path.exists()]
    if there:
        raise RefusedError(
            Problem(
                "RR411",
                f"'{folder}' already holds {', '.join(there)}",
                expected="a folder without these files",
                hint="name another folder; nothing is ever overwritten",
            )
        )
    table, whole = survey(records, seed), False
    try:
        (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
        with ExitStack() as begun:
            for path in targets.values():
                begun.enter_context(unfinished(path, lambda: whole))
            pq.write_table(table, targets[TABLE])
            for name in FILES:
                with targets[name].open("xb") as target:
                    target.write((files("rrpolicy.source.demo.example") / name).read_bytes())
            whole = True
    except OSError as error:
        raise unwritable(f"'{folder}'", error) from error
    return tuple(targets.values())
