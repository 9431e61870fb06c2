"""Ledgers of releases of the same people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from rrpolicy.api.arguments import public_function, require_known
from rrpolicy.verb_options import (
    AddToLedgerOptions,
    InitLedgerOptions,
    InventoryOptions,
    PathLike,
    ShowLedgerOptions,
    VerifyLedgerOptions,
)

if TYPE_CHECKING:
    from rrpolicy.compliance.inventory import Inventory
    from rrpolicy.governance.ledger.show import LedgerView
    from rrpolicy.governance.ledger.verify import VerifiedLedger


@public_function
def init_ledger(ledger: PathLike, **options: Unpack[InitLedgerOptions]) -> str:
    """Begin a ledger, in which releases of the same people share one budget.

    Args:
        ledger: the file, which must not exist; policies name it under [ledger].

    Returns:
        Its head: the hash of its last entry.

    Raises:
        PolicyError: RR250 if a policy names no ledger, or two are of one population; RR446; RR2xx for the policies.
        RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.

    Examples:
        >>> rrpolicy.init_ledger("new.jsonl")
        'sha256:...'
    """
    from rrpolicy.governance.ledger.ledger_file import init_ledger as begun

    if not options["budgets"]:
        return begun(Path(ledger))
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.ledger.amendments import joint_budget
    from rrpolicy.planning.policy_opening import open_policy

    stated = [joint_budget(open_policy(Path(policy)).policy) for policy in options["budgets"]]
    if len(dict(stated)) < len(stated):
        raise PolicyError(Problem("RR250", "two of the policies are of one population", expected="one budget for each"))
    return begun(Path(ledger), dict(stated))


@public_function
def verify_ledger(ledger: PathLike, **options: Unpack[VerifyLedgerOptions]) -> VerifiedLedger:
    """Check that no entry of a ledger was changed, removed, moved or cut off. Nothing is written.

    Args:
        ledger: the file.

    Returns:
        Its head, and the releases for which it does not record whether their bundle appeared.

    Raises:
        RefusedError: RR440 if it cannot be relied on, RR443 if it does not exist.
        RequirementError: RR130 if a bundle is not the release in the ledger; RR134 for every guarantee that its
            releases break together without a recorded acceptance.
        PolicyError: RR260, RR261, RR284 if a bundle is not a release, or was changed; RR282 if the revision does not
            exist.

    Examples:
        >>> rrpolicy.verify_ledger("releases.jsonl").open
        ()
    """
    from rrpolicy.governance.ledger.verify import verify_ledger as verified

    earlier, since = None, options["since"]
    if since is not None:
        from rrpolicy.governance.diff.revision import Revision

        found = Revision.of(since).content_of(Path(ledger))
        earlier = None if found is None else (found, since)
    bundles = [Path(bundle) for bundle in options["bundles"]]
    return verified(Path(ledger), options["expect_head"], bundles, earlier, options["plugins"])


@public_function
def add_to_ledger(ledger: PathLike, bundle: PathLike | None = None, **options: Unpack[AddToLedgerOptions]) -> str:
    """Add one of five entries to a ledger that no release wrote itself.

    Args:
        ledger: the file.
        bundle: enter this release, which was made without the ledger; if the ledger has it, note that it appeared.

    Returns:
        The hash of the release's entry, or of the addition.

    Raises:
        PolicyError: RR250 if the call makes no sense; RR2xx for a policy; RR446 for a population that the ledger does
            not know; RR260, RR261, RR284 if the bundle is not a release, or was changed.
        RequirementError: RR130 if the bundle is not the release in the ledger.
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written; RR404 to RR406 for plugins.

    Examples:
        >>> rrpolicy.add_to_ledger("releases.jsonl", "release", population="survey")
        'sha256:...'
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.ledger import amendments

    file, reason, by = Path(ledger), options["reason"] or "", options["by"] or ""
    withdraw, join, budget, recall = options["withdraw"], options["join"], options["budget"], options["recall"]
    named = [bundle is not None, withdraw is not None, join, budget is not None, recall is not None]
    unsaid = (bundle is None and not reason) or ((budget is not None or recall is not None) and not by)
    if sum(named) != 1 or unsaid or (options["replaced_by"] is not None and recall is None):
        message = (
            "name one bundle; or --withdraw HASH or --join with a --reason; or --budget POLICY or --recall HASH with "
            "a --reason and --by"
        )
        raise PolicyError(Problem("RR250", message, hint="`rrpolicy ledger add --help` shows what each does"))
    if budget is not None:
        from rrpolicy.planning.policy_opening import open_policy

        return amendments.add_budget(file, open_policy(Path(budget)).policy, reason, by)
    if recall is not None:
        return amendments.recall(file, recall, reason, by, options["replaced_by"])
    if bundle is not None:
        require_known("overlap", options["overlap"], ("any", "nested", "same", "none"))
        return amendments.add_bundle(file, Path(bundle), options["population"], options["overlap"], options["plugins"])
    if withdraw is not None:
        return amendments.withdraw(file, withdraw, reason)
    return amendments.join_histories(file, reason)


@public_function
def inventory(policies: Sequence[PathLike], **options: Unpack[InventoryOptions]) -> Inventory:
    """List every release that policies and their ledgers know, and the decisions that are due.

    Args:
        policies: policies, or folders of policies.

    Returns:
        The releases, each with its grade, its dates, who verified, attacked and signed it, and the decisions due.

    Raises:
        PolicyError: RR200 if a folder contains no policy.
        RefusedError: RR440, RR443 for a ledger; RR411 if the page is there, RR407, RR408 if it cannot be written.

    Examples:
        >>> len(rrpolicy.inventory(["policy.toml"], bundles=["release"]).releases)
        1
    """
    from rrpolicy.compliance.inventory import build_inventory as listed
    from rrpolicy.planning.waivers import Terms

    bundles, out = [Path(bundle) for bundle in options["bundles"]], options["out"]
    found = listed([Path(p) for p in policies], bundles, Terms.of(options["today"]).today, options["plugins"])
    if out is not None:
        from rrpolicy.compliance.evidence_file import inventory_page
        from rrpolicy.safe_io.atomic_write import write_new

        path, page = Path(out), inventory_page(found)
        write_new(path.parent, {path.name: lambda file: file.write_bytes(page)})
    return found


@public_function
def show_ledger(ledger: PathLike, **options: Unpack[ShowLedgerOptions]) -> LedgerView:
    """Show every release of a ledger with its guarantees, and their combination with those of earlier releases.

    Args:
        ledger: the file.

    Returns:
        Populations with their releases.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR404 to RR406 for plugins.

    Examples:
        >>> rrpolicy.show_ledger("releases.jsonl").to_json()["schema"]
        'rrpolicy.ledger-shown/1'
    """
    from rrpolicy.governance.ledger.show import show_ledger as shown

    return shown(Path(ledger), options["plugins"])
