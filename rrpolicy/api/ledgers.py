"""Ledgers of releases of the same people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.api.arguments import PathLike, public_function, require_known, review_options

if TYPE_CHECKING:
    from datetime import date

    from rrpolicy.compliance.inventory import Inventory
    from rrpolicy.governance.ledger.show import LedgerView
    from rrpolicy.governance.ledger.verify import VerifiedLedger
    from rrpolicy.policy.model import Overlap


@public_function
def init_ledger(ledger: PathLike, *, budgets: Sequence[PathLike] = ()) -> str:
    """Begin a ledger, in which releases of the same people are held against one budget.

    Args:
        ledger: the file, which must not exist; policies name it under [ledger].
        budgets: policies, of whose populations all releases promise together what their [[ledger.budget]] states.

    Returns:
        Its head: the hash of its last entry.

    Raises:
        PolicyError: RR250 if a policy keeps no ledger, or two are of one population; RR446; RR2xx for the policies.
        RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.
    """
    from rrpolicy.governance.ledger.ledger_file import init_ledger as begun

    if not budgets:
        return begun(Path(ledger))
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.ledger.amendments import joint_budget
    from rrpolicy.planning.policy_opening import open_policy

    stated = [joint_budget(open_policy(Path(policy)).policy) for policy in budgets]
    if len(dict(stated)) < len(stated):
        raise PolicyError(Problem("RR250", "two of the policies are of one population", expected="one budget for each"))
    return begun(Path(ledger), dict(stated))


@public_function
def verify_ledger(
    ledger: PathLike,
    *,
    expect_head: str | None = None,
    bundles: Sequence[PathLike] = (),
    since: str | None = None,
    plugins: Sequence[str] = (),
) -> VerifiedLedger:
    """Check that no entry of a ledger was changed, taken out, moved or cut off. Nothing is written.

    Args:
        ledger: the file.
        expect_head: hash of an entry that was seen in it before.
        bundles: releases that must stand in it, as they say themselves.
        since: a git revision; every entry that the ledger had there must be in it.
        plugins: distributions to load for the channels that it names.

    Returns:
        Its head, and the releases of which it does not say whether their bundle appeared.

    Raises:
        RefusedError: RR440 if it cannot be relied on, RR443 if there is none.
        RequirementError: RR130 if a bundle is not the release that the ledger holds; RR134 for every promise that its
            releases break together, and that nobody accepted.
        PolicyError: RR260, RR261, RR284 if a bundle is no release, or was changed; RR282 if there is no such revision.
    """
    from rrpolicy.governance.ledger.verify import verify_ledger as verified

    earlier = None
    if since is not None:
        from rrpolicy.governance.diff.revision import Revision

        found = Revision.of(since).content_of(Path(ledger))
        earlier = None if found is None else (found, since)
    return verified(Path(ledger), expect_head, [Path(bundle) for bundle in bundles], earlier, plugins)


@public_function
def add_to_ledger(
    ledger: PathLike,
    bundle: PathLike | None = None,
    *,
    population: str | None = None,
    overlap: Overlap = "any",
    withdraw: str | None = None,
    join: bool = False,
    budget: PathLike | None = None,
    recall: str | None = None,
    replaced_by: str | None = None,
    reason: str | None = None,
    by: str | None = None,
    plugins: Sequence[str] = (),
) -> str:
    """Add to a ledger what no release wrote itself: one of five things.

    Args:
        ledger: the file.
        bundle: enter this release, which was made without the ledger; or note that it appeared, if it stands there.
        population: that its records were drawn from; None, the default, if it may speak of anybody.
        overlap: how its people stand to those of earlier releases, as under [ledger].
        withdraw: note that the bundle of this entry never appeared: it counts no more.
        join: make two histories one, after a merge of two branches.
        budget: from now on, what the [[ledger.budget]] of this policy states holds for all releases of its population,
            in place of what was promised before.
        recall: note that the release of this entry is not to be used any more; it counts as before.
        replaced_by: the entry of the release to use in place of the one that is recalled.
        reason: why; needed for all but a bundle.
        by: who decided it; needed for a budget and a recall.
        plugins: distributions to load for what the bundle names.

    Returns:
        The hash of the release's entry, or of what was added.

    Raises:
        PolicyError: RR250 if the call makes no sense; RR2xx for a policy; RR446 for a population that the ledger does
            not know; RR260, RR261, RR284 if the bundle is no release, or was changed.
        RequirementError: RR130 if the bundle is not the release that the ledger holds.
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written; RR404 to RR406 for plugins.
    """
    from rrpolicy.errors import PolicyError, Problem
    from rrpolicy.governance.ledger import amendments

    decided = budget is not None or recall is not None
    named = [bundle is not None, withdraw is not None, join, budget is not None, recall is not None]
    unsaid = (bundle is None and not reason) or (decided and not by)
    if sum(named) != 1 or unsaid or (replaced_by is not None and recall is None):
        message = (
            "name one bundle; or --withdraw HASH or --join with a --reason; or --budget POLICY or --recall HASH with "
            "a --reason and --by"
        )
        raise PolicyError(Problem("RR250", message, hint="`rrpolicy ledger add --help` tells what each does"))
    if budget is not None:
        from rrpolicy.planning.policy_opening import open_policy

        return amendments.add_budget(Path(ledger), open_policy(Path(budget)).policy, reason or "", by or "")
    if recall is not None:
        return amendments.recall(Path(ledger), recall, reason or "", by or "", replaced_by)
    if bundle is not None:
        require_known("overlap", overlap, ("any", "nested", "same", "none"))
        return amendments.add_bundle(Path(ledger), Path(bundle), population, overlap, plugins)
    if withdraw is not None:
        return amendments.withdraw(Path(ledger), withdraw, reason or "")
    return amendments.join_histories(Path(ledger), reason or "")


@public_function
def inventory(
    policies: Sequence[PathLike],
    *,
    bundles: Sequence[PathLike] = (),
    today: date | None = None,
    out: PathLike | None = None,
    plugins: Sequence[str] = (),
) -> Inventory:
    """List every release that policies and their ledgers know, and what has to be decided.

    Args:
        policies: policies, or folders of policies.
        bundles: folders in which bundles lie, at any depth.
        today: the day on which reviews and waivers are looked at; default: today.
        out: write it as a page here, where no file is; it holds numbers of original tables.
        plugins: distributions to load for what bundles and ledgers name.

    Returns:
        The releases, each with its grade, its dates, who verified, attacked and signed it, and what is to be decided.

    Raises:
        PolicyError: RR200 if a folder holds no policy.
        RefusedError: RR440, RR443 for a ledger; RR411 if the page is there, RR407, RR408 if it cannot be written.
    """
    from rrpolicy.compliance.inventory import build_inventory as listed

    day = review_options(today, waivers=True).today
    found = listed([Path(p) for p in policies], [Path(b) for b in bundles], day, plugins)
    if out is not None:
        from rrpolicy.compliance.evidence_file import inventory_page
        from rrpolicy.safe_io.atomic_write import write_new

        path, page = Path(out), inventory_page(found)
        write_new(path.parent, {path.name: lambda file: file.write_bytes(page)})
    return found


@public_function
def show_ledger(ledger: PathLike, *, plugins: Sequence[str] = ()) -> LedgerView:
    """Show what a ledger holds: every release, what it promised, and what it comes to together with earlier ones.

    Args:
        ledger: the file.
        plugins: distributions to load for the channels that it names.

    Returns:
        Populations with their releases.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR404 to RR406 for plugins.
    """
    from rrpolicy.governance.ledger.show import show_ledger as shown

    return shown(Path(ledger), plugins)
