"""Entries that no release writes: earlier bundles, outcomes of a release, joined histories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rrpolicy.canonical_json import Json
from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.governance.ledger.budget import OTHERS
from rrpolicy.governance.ledger.entry import HistoryJoin, LedgerBudgetEntry, RecallEntry, ReleaseSettlement, entry_date
from rrpolicy.governance.ledger.file_account import release_entry
from rrpolicy.governance.ledger.joint_requirements import refuse_mixed_alphabets, stated_budget, unknown_population
from rrpolicy.governance.ledger.ledger_file import lock_ledger
from rrpolicy.governance.ledger.verify import entry_mismatch, find_entry, sealed_manifest
from rrpolicy.policy.model import LedgerSettings, Overlap, Policy
from rrpolicy.verification.public import policy_from_manifest


def add_bundle(
    ledger: Path, bundle: Path, population: str | None, overlap: Overlap, plugins: Sequence[str] = ()
) -> str:
    """Enter a bundle, or record that the bundle of an entry appeared; return the hash of its entry.

    `overlap` is the relation of its people to those of earlier releases.
    """
    manifest = sealed_manifest(bundle)
    if manifest.withholds:
        message = f"{bundle} withholds its matrices, and a ledger composes what was published"
        raise PolicyError(Problem("RR527", message, expected="a release that publishes its decoders"))
    with lock_ledger(ledger) as book:
        found = find_entry(book.ledger, manifest)
        if found is not None or manifest.ledger is not None:
            problem = entry_mismatch(book.ledger, manifest, str(bundle))
            if problem is not None:
                raise RequirementError(problem)
        if found is None:
            why = unknown_population(book.ledger, population)
            if why is not None:
                raise PolicyError(Problem("RR446", why, expected="a population that the ledger knows", hint=OTHERS))
            policy = policy_from_manifest(manifest, load_registry(plugins))
            declared = LedgerSettings(ledger.name, overlap)
            found = book.append(release_entry(manifest, policy, book.ledger.head, None, population, declared, None))
        if found not in book.ledger.settled:
            book.append(ReleaseSettlement(book.ledger.head, found, "released", manifest.digest, date=entry_date()))
    return found


def withdraw(ledger: Path, entry: str, reason: str) -> str:
    """Record that the bundle of a release never appeared, so that it no longer counts; return the added entry's hash.

    `entry` is the hash of the release's entry, or a unique beginning of it.
    """
    if not reason.strip():
        raise PolicyError(Problem("RR250", "the reason is empty", expected="how it is known that no bundle appeared"))
    with lock_ledger(ledger) as book:
        whose = "with an unknown outcome in the ledger"
        named = _resolve_hash(entry, book.ledger.open, whose, "`rrpolicy ledger verify` lists them")
        return book.append(ReleaseSettlement(book.ledger.head, named, "withdrawn", None, reason, entry_date()))


def _resolve_hash(entry: str, known: Iterable[str], whose: str, hint: str) -> str:
    given = entry.removeprefix("sha256:")
    named = [own for own in known if given and own.removeprefix("sha256:").startswith(given)]
    if len(named) != 1:
        raise PolicyError(Problem("RR250", f"{entry} is not the hash of one release {whose}", hint=hint))
    return named[0]


def recall(ledger: Path, entry: str, reason: str, by: str, replaced_by: str | None = None) -> str:
    """Record that a release must no longer be used; it counts as before. Return the added entry's hash.

    `entry` and `replaced_by` are hashes of releases' entries, or unique beginnings of them.
    """
    _refuse_empty_text(reason, by)
    with lock_ledger(ledger) as book:
        whose, hint = "of the ledger", "`rrpolicy ledger show --json` lists them"
        named = _resolve_hash(entry, book.ledger.releases, whose, hint)
        other = None if replaced_by is None else _resolve_hash(replaced_by, book.ledger.releases, whose, hint)
        if other == named:
            raise PolicyError(Problem("RR250", "a release does not replace itself", expected="another release's hash"))
        return book.append(RecallEntry(book.ledger.head, named, reason, by, entry_date(), other))


def add_budget(ledger: Path, policy: Policy, reason: str, by: str) -> str:
    """Make the budget of a policy the one of its population; return the added entry's hash.

    It ends the joint requirements of earlier releases of that population, and therefore has a reason and a name.
    """
    _refuse_empty_text(reason, by)
    population, requirements = joint_budget(policy)
    with lock_ledger(ledger) as book:
        return book.append(LedgerBudgetEntry(book.ledger.head, population, requirements, entry_date(), reason, by))


def _refuse_empty_text(reason: str, by: str) -> None:
    if not reason.strip() or not by.strip():
        raise PolicyError(Problem("RR250", "`reason` and `by` must not be empty", expected="why, and who decided it"))


def joint_budget(policy: Policy) -> tuple[str | None, tuple[Mapping[str, Json], ...]]:
    """Return the population of a policy, and the joint requirements on all its releases."""
    if policy.ledger is None:
        message = f"the policy '{policy.name}' keeps no ledger, so that it has no budget"
        raise PolicyError(Problem("RR250", message, hint="[ledger] and [[ledger.budget]] in the policy state it"))
    population = policy.source.population
    refuse_mixed_alphabets(population)
    return population, stated_budget(policy)


def join_histories(ledger: Path, reason: str) -> str:
    """Merge two histories of a ledger, after two writers had followed the same entry; return the new head."""
    with lock_ledger(ledger) as book:
        first, *others = book.ledger.heads
        if not others:
            message = f"the ledger {ledger} has one last entry: there is nothing to join"
            raise PolicyError(Problem("RR250", message, hint="git's marks of a merge are taken out by hand first"))
        return book.append(HistoryJoin(first, tuple(others), reason, entry_date()))
