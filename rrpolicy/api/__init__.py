"""The one public door: what the command line does, as functions. `import rrpolicy` offers them by name.

A function that asks (`check`, `diff`, `compare`, `run_tests`, `plan`, `verify`, `check_table`) returns what was found:
`passed`, `problems`, and `require()`, which raises them. A function that writes (`release`, `render`) writes all of it
or raises; `plan` with `out` writes a plan that passes, and its `file` says so. What is wrong with the call, the policy
or the data always raises `RRPolicyError`, whose `problems` have the codes, places and hints that the command line
prints, and whose `exit_status` is its exit status; what a plugin raises unexpectedly is RR413, which names it. Messages
name arguments as the command line does: `--plan-on` is `plan_on`.

Nothing is printed; what goes beside a result is logged by the logger `rrpolicy`. Nothing heavy is imported before a
function is called.
"""

from __future__ import annotations

from rrpolicy.api.analysis import check_table, compare_estimates, export, open_release, what_holds
from rrpolicy.api.collection import collect, open_questionnaire, randomize
from rrpolicy.api.ledgers import add_to_ledger, init_ledger, inventory, show_ledger, verify_ledger
from rrpolicy.api.policies import check, compare, diff, init, load_policy, packs, plan, preview, run_tests, write_pack
from rrpolicy.api.releases import archive, attack, evidence, release, render, sign, verify
from rrpolicy.api.warehouse import counted, sql

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
