"""Running every attack that fits against written releases of one table; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.attacks.averaging import average
from rrpolicy.attacks.inference import infer
from rrpolicy.attacks.linkage import link
from rrpolicy.attacks.partition import classes, groups
from rrpolicy.attacks.result import Attack, Attacked, undecided
from rrpolicy.attacks.target import Target
from rrpolicy.channel.anatomy.channel import AnatomyChannel
from rrpolicy.channel.base import Channel
from rrpolicy.channel.product.channel import Product
from rrpolicy.errors import PolicyError, Problem, RequirementError
from rrpolicy.formats.format import file_name
from rrpolicy.releasing.tables.read import open_table
from rrpolicy.releasing.verify.audit import AuditSide, verify_audit
from rrpolicy.releasing.verify.outcome import Level, Log
from rrpolicy.releasing.verify.public import PublicSide, verify_public
from rrpolicy.releasing.verify.verify import open_source
from rrpolicy.scratch import scratch
from rrpolicy.source.opening import open_original

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Original, Source

Run = Callable[[Target], Iterator[Attack]]
ATTACKS: Mapping[type[Channel], tuple[Run, ...]] = {Product: (infer, link, classes), AnatomyChannel: (groups,)}
"""The attacks on one release, by its channel."""


def attack(
    bundles: Sequence[Path],
    source: str,
    *,
    folder: str = ".",
    plugins: Sequence[str] = (),
    engines: Mapping[str, Source] | None = None,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Attacked:
    """Attack bundles; see `rrpolicy.attack`.

    Args:
        bundles: each with public/ and audit/.
        source: uri of the original table.
        folder: that a relative uri starts from.
        plugins: distributions that may be imported if a bundle names them.
        engines: of tables in memory, by the scheme of their uris.
        progress: called with (what is being done, share done).
    """
    with ExitStack() as stack:
        opened = []
        for number, bundle in enumerate(bundles):
            progress("opening", number / len(bundles) / 2)
            spilled = stack.enter_context(scratch()).folder
            opened.append(_open(stack, bundle, source, folder, plugins, engines or {}, spilled))
        attacks = []
        for number, (_, target) in enumerate(opened):
            progress("attacking", (1 + number / len(opened)) / 2)
            attacks += list(attacks_on(target, f"release {number + 1}" if len(opened) > 1 else ""))
        attacks += average([target for _, target in opened])
        records = opened[0][1].original.records
    return Attacked(tuple(digest for digest, _ in opened), records, tuple(attacks))


def attacks_on(target: Target, release: str = "") -> Iterator[Attack]:
    """Yield the attacks on one release.

    Args:
        target: the release.
        release: what it is called where there are several.
    """
    runs = ATTACKS.get(type(target.channel))
    if runs is None:
        reason = f"no attack on a channel of the kind {target.channel.kind} is known"
        yield undecided("attribute inference and record linkage", release, "", reason)
        return
    for run in runs:
        for found in run(target):
            yield replace(found, of=": ".join(filter(None, (release, found.of))))


def _open(  # noqa: PLR0917 each is another thing
    stack: ExitStack,
    bundle: Path,
    source: str,
    folder: str,
    plugins: Sequence[str],
    engines: Mapping[str, Source],
    spilled: Path,
) -> tuple[str, Target]:
    """Open a bundle whose files are what they say, and its source."""
    if not (bundle / "public").is_dir() or not (bundle / "audit").is_dir():
        message = f"{bundle} is no whole bundle: it lacks public/ or audit/"
        raise PolicyError(Problem("RR260", message, expected="a bundle written by `rrpolicy release`"))
    log = Log()
    side = verify_public(log, bundle / "public", spilled, plugins)
    audit = None
    if side is not None:
        side = replace(side, registry=side.registry.opening(engines))
        audit = verify_audit(log, bundle / "audit", side, source, folder)
    log.done(Level.AUDIT).require()
    assert side is not None
    assert audit is not None
    stack.enter_context(side.registry.naming_engines())
    opening = open_original(audit.plan.policy, side.registry.sources, spilled / "spill")
    original = stack.enter_context(open_source(opening))
    if original.records != audit.plan.records:
        message = f"{bundle}: the source has another number of records than the release"
        raise RequirementError(Problem("RR124", message))
    return side.manifest.digest, _target(bundle, side, audit, original, spilled)


def _target(bundle: Path, side: PublicSide, audit: AuditSide, original: Original, spilled: Path) -> Target:
    channel = audit.plan.channel
    release = audit.plan.policy.release

    @contextmanager
    def read(name: str) -> Iterator[pa.RecordBatchReader]:
        spec = next(spec for spec in channel.tables() if spec.name == name)
        path = side.folder / file_name(name, release.format)
        with open_table(path, release.format, spec, spilled, release.csv_formulas, side.registry.formats) as table:
            yield table.distinct()

    return Target(str(bundle), audit.plan.policy, channel, original, read, release.series)
