"""`rrpolicy release POLICY|plan.json`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rrpolicy.cli.quick_check import ROOT
from rrpolicy.cli.text.pasting import command_line
from rrpolicy.untrusted.printable import visible

if TYPE_CHECKING:
    from rrpolicy.canonical import Json
    from rrpolicy.policy.model import Policy
    from rrpolicy.registry import Registry
    from rrpolicy.release.bundle.staging import Staging
    from rrpolicy.release.plan.keys import KeyFile
    from rrpolicy.release.plan.plan import Plan
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be released: a policy, or a plan that was made of it."""

    policy: Policy
    registry: Registry
    policy_file: Path
    plan: Plan | None


def command(  # noqa: PLR0917 each option is one
    what: Annotated[
        Path, typer.Argument(help="A policy, or a plan that `rrpolicy plan --out` wrote.", metavar="POLICY|PLAN")
    ],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder; it must not exist.")],
    label: Annotated[str | None, typer.Option("--as", help="The release's label, such as 2026-11.")] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", help="Keep the key here (created 0600), or use this one; default: it is destroyed."),
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Read this table in place of the policy's.")] = None,
    root: Annotated[Path | None, typer.Option(help=ROOT, metavar="DIR")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print what was released as JSON on standard output.")] = False,
) -> int:
    """Write a release that every requirement allows, or nothing.

    The bundle appears whole or not at all, and nothing is ever overwritten. Whoever has the key can test any guess
    about the table: keep it as secret as the data, or let it be destroyed.
    """
    from rrpolicy.cli.text.progress import progress
    from rrpolicy.release.bundle.staging import stage

    order = _order(what, source, root)
    with progress() as report, stage(out) as staging:
        for name in staging.swept:
            print(f"removed {visible(name)}, which an earlier run that was killed had left", file=sys.stderr)
        findings = _release(order, staging, label, key, what if order.plan else None, report)
    if json:
        from rrpolicy.canonical import pretty

        document: Json = {"bundle": str(out), "key": None if key is None else str(key), "findings": findings}
        sys.stdout.write(pretty(document).decode())
        return 0
    kept = "the key was destroyed" if key is None else f"the key is in {key}"
    print(visible(f"released {order.policy.name} {order.policy.version} into {out}; {kept}"))
    verify = command_line("verify", out, options={"--source": source or _uri(order.policy), "--key": key})
    print(f"next: {verify}")
    column = next((a.release_as or a.name for a in order.policy.released if a.categorical), None)
    if column is not None:
        print(f"      {command_line('estimate', out, options={'--by': column})}")
    return 0


def _order(what: Path, source: str | None, root: Path | None) -> Order:
    """Return what is to be released; a plan is a JSON file."""
    from rrpolicy.release.plan.opening import open_policy

    if what.suffix != ".json":
        opened = open_policy(what, source=source, root=root)
        return Order(opened.policy, opened.registry, what, None)
    from rrpolicy.release.plan.file import read_plan

    read = read_plan(what, source=source, root=root)
    policy = open_policy(read.policy_file, source=source, root=root).policy
    return Order(policy, read.registry, read.policy_file, read.plan)


def _release(  # noqa: PLR0917 each is another thing
    order: Order,
    staging: Staging,
    label: str | None,
    key: Path | None,
    plan_file: Path | None,
    report: Callable[[str, float], None],
) -> Json:
    from rrpolicy.release.bundle.execute import release
    from rrpolicy.release.plan.keys import destroy_key, read_key
    from rrpolicy.release.plan.plan import make_plan
    from rrpolicy.source.elsewhere import open_elsewhere
    from rrpolicy.source.opening import open_original

    beside = None if plan_file is None else plan_file.with_name(plan_file.name + ".key")
    existing = key if key is not None and key.exists() else (beside if key is None else None)
    held = None if existing is None else read_key(existing)
    if order.plan is not None and held is None:
        raise _no_key(key)
    sources = order.registry.sources
    with (
        open_original(order.policy, sources, staging.scratch) as original,
        open_elsewhere(original.policy, sources, staging.scratch / "plan-on") as elsewhere,
    ):
        report("planning", 0.05)
        plan = order.plan or make_plan(order.policy, order.registry, original, report, elsewhere)
        with _kept(plan, original, held, key, staging) as secret:
            bundle = release(
                plan,
                order.policy,
                order.registry,
                original,
                secret,
                staging.target,
                label=label,
                policy_file=order.policy_file,
                staging=staging,
                elsewhere=elsewhere,
                progress=report,
            )
    if key is None and beside is not None:
        destroy_key(beside)
    return _findings(bundle)


@contextmanager
def _kept(plan: Plan, original: Original, held: KeyFile | None, path: Path | None, staging: Staging) -> Iterator[bytes]:
    """Yield the key to draw with: the one held, if it is for this plan and table, or a fresh one, kept if asked for.

    A fresh key's file is written before the bundle appears and is gone again if it does not.
    """
    from rrpolicy.release.plan.keys import KeyFile, fresh_key, new_key, require, source_tag

    if held is not None:
        if plan.source_tag is not None and plan.source_tag == held.source_tag:
            _fresh(plan, held, original)
        require(held, plan.digest(), original.content())
        if plan.source_tag not in {None, held.source_tag}:
            raise _of_another_run(path)
        yield held.key
        return
    secret = new_key()
    if path is None:
        yield secret
        return
    made = KeyFile(secret, plan.digest(), source_tag(secret, original.content()))
    with fresh_key(path, made, lambda: staging.published):
        yield secret


def _fresh(plan: Plan, held: KeyFile, original: Original) -> None:
    """Refuse a plan, made with the key at hand, whose table has changed."""
    from rrpolicy.release.plan.file import stale
    from rrpolicy.release.plan.keys import source_tag

    if plan.source_tag != source_tag(held.key, original.content()):
        raise stale("the table has changed")


def _no_key(key: Path | None) -> Exception:
    from rrpolicy.errors import Problem, RefusedError

    where = "beside it (PLAN.key)" if key is None else f"in {key}"
    return RefusedError(
        Problem(
            "RR403",
            f"a plan is released with the key that was made with it, and there is none {where}",
            hint="name it with --key, or plan again",
        )
    )


def _of_another_run(key: Path | None) -> Exception:
    from rrpolicy.errors import Problem, RefusedError

    where = "beside it (PLAN.key)" if key is None else f"in {key}"
    message = f"the key {where} was made with another plan of the same policy and table"
    return RefusedError(Problem("RR403", message, hint="name the key that was written with this plan"))


def _findings(bundle: Path) -> Json:
    from rrpolicy.untrusted.document import read_document

    found: Json = read_document(bundle / "audit" / "findings.json")["findings"]
    return found


def _uri(policy: Policy) -> str:
    uri = policy.source.uri
    return uri if ":" in uri else str(Path(policy.folder) / uri)
