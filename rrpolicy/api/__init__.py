"""The public functions, which the commands call too; `import rrpolicy` offers them by name.

`check`, `diff`, `compare`, `run_tests`, `plan`, `verify` and `check_table` return a result: `passed`, `problems`, and
`require()`, which raises the problems. `release` and `render` write all of their files or raise; `plan` with `out`
writes a plan that passes, in its `file`. An error in the call, the policy or the data always raises `RRPolicyError`:
its `problems` have the codes, places and hints of the command line, and `exit_status` is the exit status. An unexpected
error of a plugin is RR413, which names the plugin. Messages name arguments as the command line does: `--plan-on` is
`plan_on`.

Nothing is printed; the logger `rrpolicy` logs notices. Nothing heavy is imported before a function is called. The
examples run, in their order, in the folder that `tests/api/test_examples.py` makes with `rrpolicy demo`.
"""

from __future__ import annotations

from rrpolicy.api.analysis import check_table, compare_estimates, export, open_release, what_holds
from rrpolicy.api.ledgers import add_to_ledger, init_ledger, inventory, show_ledger, verify_ledger
from rrpolicy.api.policies import (
    check,
    compare,
    counted,
    diff,
    init,
    load_policy,
    packs,
    plan,
    preview,
    run_tests,
    sql,
    write_pack,
)
from rrpolicy.api.releases import (
    archive,
    attack,
    collect,
    evidence,
    open_questionnaire,
    randomize,
    release,
    render,
    sign,
    verify,
)

__all__ = [
    "add_to_ledger",
    "archive",
    "attack",
    "check",
    "check_table",
    "collect",
    "compare",
    "compare_estimates",
    "counted",
    "diff",
    "evidence",
    "export",
    "init",
    "init_ledger",
    "inventory",
    "load_policy",
    "open_questionnaire",
    "open_release",
    "packs",
    "plan",
    "preview",
    "randomize",
    "release",
    "render",
    "run_tests",
    "show_ledger",
    "sign",
    "sql",
    "verify",
    "verify_ledger",
    "what_holds",
    "write_pack",
]
