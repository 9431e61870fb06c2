"""How soon the command line answers, beside importing what it cannot do without; user and system time of processes.

The processes run in turns, so that what else the machine does falls on all alike, with byte code as an installation
has it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed import Ratio

ROUNDS = 9
POLICIES = Path(__file__).resolve().parent.parent.parent / "policies"
COMMAND = ["-c", "from rrpolicy.cli.main import run; run()"]
LOADED = """
import os, sys
from rrpolicy.cli.main import run
kept, ended = sys.argv.pop(1), os._exit
def leave(status):
    with open(kept, "w") as file:
        print(*(name for name in sys.modules if name != "__main__"), file=file)
    ended(status)
os._exit = leave
run()
"""
"""Runs a command and notes which modules it loaded."""
IMPORTS = """
import gc, importlib, sys
gc.disable()
for name in open(sys.argv[1]).read().split():
    try:
        importlib.import_module(name)
    except ImportError:  # some names are aliases that only their package sets
        pass
"""
"""Imports what a command loaded, and does nothing else: the floor of that command."""


def seconds(*arguments: str) -> float:
    """Return the processor time of one Python process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> list[Ratio]:
    """Measure; the first round makes byte code and does not count."""
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(ROUNDS + 1):
            commands = {
                "check": ["check", str(POLICIES / "pram.toml")],
                "release": ["release", str(POLICIES / "pram.toml"), "--out", f"{folder}/{turn}"],
                "plan": ["plan", str(POLICIES / "rr-both.toml")],
            }
            processes = {
                "engines": ["-c", "import duckdb, scipy.optimize, pydantic"],
                "pydantic": ["-c", "from pydantic import BaseModel"],
            }
            for name, arguments in commands.items():
                loaded = f"{folder}/{name}.txt"
                if turn == 0:  # makes byte code as well
                    seconds("-c", LOADED, loaded, *arguments)
                else:
                    processes |= {name: [*COMMAND, *arguments], f"{name}: imports": ["-c", IMPORTS, loaded]}
            for name, arguments in processes.items():
                taken.setdefault(name, []).append(seconds(*arguments))
    median = {name: statistics.median(times[-ROUNDS:]) for name, times in taken.items()}
    engines = f"of importing duckdb, scipy.optimize and pydantic, {median['engines']:.2f} s"
    pydantic = f"of importing pydantic's models, {median['pydantic']:.2f} s"
    return [
        Ratio("release of the demo, from start to end", median["release"] / median["engines"], 1.6, engines),
        Ratio("release of the demo, imports alone", median["release: imports"] / median["engines"], None, engines),
        Ratio("plan of rr-both", median["plan"] / median["engines"], 2, engines),
        Ratio("plan of rr-both, imports alone", median["plan: imports"] / median["engines"], None, engines),
        Ratio("check", median["check"] / median["pydantic"], 2, pydantic),
        Ratio("check, imports alone", median["check: imports"] / median["pydantic"], None, pydantic),
    ]
