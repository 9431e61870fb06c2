"""Bundles opened and attacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import rrpolicy
from rrpolicy.attacks.result import Attacked
from rrpolicy.attacks.run import attacks, attacks_on_each, attacks_together
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.frozen import frozen
from rrpolicy.releasing.plan.plan import fingerprint
from rrpolicy.releasing.verify.attacked import target_of
from rrpolicy.releasing.verify.audit import verify_stated
from rrpolicy.releasing.verify.released_from import another_table
from rrpolicy.releasing.verify.verify import no_source, open_source
from rrpolicy.scratch import scratch
from rrpolicy.source.opening import open_original

if TYPE_CHECKING:
    from rrpolicy.attacks.target import Target
    from rrpolicy.registry import Registry
    from rrpolicy.source.protocol import Original, Source


@frozen
class Opened:
    """A bundle whose files are what they say, with its source.

    Attributes:
        digest: of release.json.
        registry: of the plugins that it names and the caller allows.
        original: the table that was released.
        target: what is attacked.
    """

    digest: str
    registry: Registry
    original: Original
    target: Target


def attack(
    bundles: Sequence[Path],
    source: str,
    *,
    folder: str = ".",
    plugins: Sequence[str] = (),
    engines: Mapping[str, Source] | None = None,
    write: bool = False,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Attacked:
    """Attack bundles; see `rrpolicy.attack`.

    Args:
        bundles: each with public/ and audit/.
        source: uri of the original table.
        folder: that a relative uri starts from.
        plugins: distributions that may be imported if a bundle names them.
        engines: of tables in memory, by the scheme of their uris.
        write: put what is found of the first bundle, and of it together with the others, into its audit/.
        progress: called with (what is being done, share done).
    """
    from rrpolicy.releasing.adversarial.write import write_into
    from rrpolicy.releasing.afterwards import refuse_signed

    if write:
        refuse_signed(bundles[0], "the test")
    with ExitStack() as stack:
        opened = []
        for number, bundle in enumerate(bundles):
            progress("opening", number / len(bundles) / 2)
            opened.append(_open(stack, bundle, source, folder, plugins, engines or {}))
        progress("attacking", 0.5)
        original, targets = opened[0].original, [each.target for each in opened]
        found = Attacked(
            releases=tuple(each.digest for each in opened),
            source=fingerprint(original),
            records=original.records,
            version=rrpolicy.__version__,
            attacks=tuple(attacks_on_each(targets)),
            together=tuple(attacks_together(targets)),
        )
        if write:
            if not found.decided:
                found.require()
            progress("writing", 0.9)
            own = found if len(targets) == 1 else replace(found, attacks=tuple(attacks(targets[0])))
            write_into(bundles[0], own, opened[0].registry)
    return found


def _open(  # noqa: PLR0917 each is another thing
    stack: ExitStack,
    bundle: Path,
    source: str,
    folder: str,
    plugins: Sequence[str],
    engines: Mapping[str, Source],
) -> Opened:
    if not (bundle / "public").is_dir() or not (bundle / "audit").is_dir():
        message = f"{bundle} is no whole bundle: it lacks public/ or audit/"
        raise PolicyError(Problem("RR260", message, expected="a bundle written by `rrpolicy release`"))
    spilled = stack.enter_context(scratch()).folder
    side, audit = verify_stated(bundle, spilled, plugins, engines, uri=source, start=folder)
    if side.manifest.collected is not None:
        raise no_source(bundle)
    stack.enter_context(side.registry.naming_engines())
    opening = open_original(audit.plan.policy, side.registry.sources, spilled / "spill")
    original = stack.enter_context(open_source(opening))
    if original.records != audit.plan.records:
        other = another_table(original.records, audit.plan.records)
        raise RequirementError(replace(other, message=f"{bundle}: {other.message}"))
    target = target_of(str(bundle), side, audit, original, spilled)
    return Opened(side.manifest.digest, side.registry, original, target)
