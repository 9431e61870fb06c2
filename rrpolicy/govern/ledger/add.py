"""Entries that no release writes itself: earlier bundles, what became of a release, two histories joined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rrpolicy.discovery import load_registry
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.govern.ledger.account import entry_of
from rrpolicy.govern.ledger.entry import Joining, Settlement
from rrpolicy.govern.ledger.file import Book, locked
from rrpolicy.govern.ledger.verify import find, sealed_manifest, unlike
from rrpolicy.policy.model import LedgerSettings, Overlap
from rrpolicy.releasing.verify.public import public_policy


def add_bundle(
    ledger: Path, bundle: Path, population: str | None, overlap: Overlap, plugins: Sequence[str] = ()
) -> str:
    """Enter a bundle, or note of one that was entered that it appeared; return the hash of its entry.

    Args:
        ledger: the file.
        bundle: a bundle's folder, or its public/ folder alone.
        population: that its records were drawn from; None if that is not declared.
        overlap: how its people stand to those of earlier releases.
        plugins: distributions to load for what it names.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written; RR404 to RR406 for plugins.
        RequirementError: RR130 if it names an entry that the ledger does not hold, or holds for another release.
        PolicyError: RR260, RR261, RR284 if it is no release, or was changed; RR527 if it withholds its matrices.
    """
    manifest = sealed_manifest(bundle)
    if manifest.withholds:
        message = f"{bundle} withholds its matrices, and a ledger composes what was published"
        raise PolicyError(Problem("RR527", message, expected="a release that publishes its decoders"))
    with locked(ledger) as book:
        found = find(book.ledger, manifest)
        if found is not None or manifest.ledger is not None:
            problem = unlike(book.ledger, manifest, str(bundle))
            if problem is not None:
                raise RequirementError(problem)
        if found is None:
            policy = public_policy(manifest, load_registry(plugins))
            declared = LedgerSettings(ledger.name, overlap)
            found = book.append(entry_of(manifest, policy, book.ledger.head, None, population, declared, None))
        if found not in book.ledger.settled:
            book.append(Settlement(book.ledger.head, found, "released", manifest.digest))
    return found


def withdraw(ledger: Path, entry: str, reason: str) -> str:
    """Note that the bundle of a release never appeared: it counts no more. Return the hash of what was added.

    Args:
        ledger: the file.
        entry: hash of the release's entry, or so much of it that no other begins with it.
        reason: how that is known, in words.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written.
        PolicyError: RR250 if no open release has that hash, or the reason is empty.
    """
    if not reason.strip():
        raise PolicyError(Problem("RR250", "the reason is empty", expected="how it is known that no bundle appeared"))
    given = entry.removeprefix("sha256:")
    with locked(ledger) as book:
        named = [own for own in book.ledger.open if given and own.removeprefix("sha256:").startswith(given)]
        if len(named) != 1:
            message = f"{entry} is not the hash of one release of which the ledger leaves open whether it appeared"
            raise PolicyError(Problem("RR250", message, hint="`rrpolicy ledger verify` lists them"))
        return book.append(Settlement(book.ledger.head, named[0], "withdrawn", None, reason))


def join(ledger: Path, reason: str) -> str:
    """Make two histories of a ledger one, after two writers had followed the same entry; return the new head.

    Args:
        ledger: the file, with the lines of both.
        reason: how it came to that, in words.

    Raises:
        RefusedError: RR440, RR443 for the ledger; RR407, RR408 if it cannot be written.
        PolicyError: RR250 if there is one history alone.
    """
    with locked(ledger) as book:
        return _joined(book, reason, ledger)


def _joined(book: Book, reason: str, ledger: Path) -> str:
    first, *others = book.ledger.heads
    if not others:
        message = f"the ledger {ledger} has one last entry: there is nothing to join"
        raise PolicyError(Problem("RR250", message, hint="git's marks of a merge are taken out by hand first"))
    return book.append(Joining(first, tuple(others), reason))
