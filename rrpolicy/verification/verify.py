"""Verifying a bundle: what was written is recomputed, as far as the inputs at hand allow, and nothing is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.escaping.printable import listed
from rrpolicy.planning.custody import KeyAt, Secret
from rrpolicy.planning.keys import KeyFile, SeriesKey, derived_key, inside_of, read_key, read_series_key, tag_of
from rrpolicy.planning.plan import Plan
from rrpolicy.privacy.units import UNDECIDED
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.protocol import Source
from rrpolicy.verification.attacked import check_attacked
from rrpolicy.verification.audit import AuditSide, verify_audit, verify_elsewhere, verify_reference, verify_source
from rrpolicy.verification.key import verify_key
from rrpolicy.verification.outcome import Level, Log, Verification
from rrpolicy.verification.pages import check_audit_page
from rrpolicy.verification.public import PublicSide, verify_public
from rrpolicy.verification.readable import readable
from rrpolicy.verification.records import scan
from rrpolicy.verification.released_from import check_released_from

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original

ATTESTATIONS = "attestations"
APPROVED = "approval.dsse.json"
"""The approval of the policy, which lies there before anybody signs."""
"""The folder of signed statements, beside public/ and audit/."""
INSIDE = "the survey's weights, which are kept inside: only the key shows whether they are those of the release (--key)"
"""What stays undecided without a key, where a release uses weights that it does not contain."""
BELOW = {
    Level.PUBLIC: "what audit/ states",
    Level.AUDIT: "whether the release conforms to its channel",
    Level.SOURCE: "whether the source and the key give this release",
}


def verify(
    bundle: Path,
    level: Level | None = None,
    *,
    source: str | None = None,
    folder: str = ".",
    key: KeyAt | None = None,
    plan_on: str | None = None,
    reference: str | None = None,
    plugins: Sequence[str] = (),
    engines: Mapping[str, Source] | None = None,
    today: date | None = None,
    rows: bool = True,
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Verification:
    """Verify a bundle, or its public/ folder alone.

    Args:
        bundle: the bundle's folder, or public/.
        level: up to which; default: the highest that the inputs allow.
        source: uri of the original table, from level source on.
        folder: that a relative uri starts from.
        key: key file, or the secret that the key is derived from, for level key.
        plan_on: uri of the table that the parameters were chosen on, if that was not the source; from level source on.
        reference: uri of the population, if people were counted in one; from level source on.
        plugins: distributions that may be imported if the bundle names them, as PEP 508 requirements.
        engines: of tables in memory, by the scheme of their uris.
        today: the day on which review dates are looked at; default: today.
        rows: the data files are at hand; else what they would show is undecided.
        progress: called with (what is being done, share done).

    Returns:
        What holds, what does not, and what stays undecided. Anything unknown is a problem.

    Raises:
        PolicyError: RR250 if the level needs an input that is not given, or the whole bundle where public/ alone is;
            RR260 if there is no such folder.
        RefusedError: RR403 for a key of another plan; RR404 for a listed plugin that is missing, RR412 for one that is
            needed and not listed.
        RefusedError: RR408 or RR421 for scratch.
        DataError: RR327 if the source does not pass the release's policy, RR3xx if it cannot be read.
    """
    if not bundle.is_dir():
        raise PolicyError(
            Problem(
                "RR260",
                f"{bundle} is not a release: there is no such folder",
                expected="a bundle written by `rrpolicy release`, or its public/ folder",
            )
        )
    public = bundle / "public" if (bundle / "public").is_dir() else bundle
    if public == bundle and (bundle / "release.json").is_file():
        _alone(bundle, level, given=source is not None or key is not None)
    level = _level(level, audit=public != bundle and (bundle / "audit").is_dir(), source=source, key=key)
    if reference is not None and level < Level.SOURCE:
        hint = "add --source: people are counted in the classes of the table that was released"
        raise PolicyError(Problem("RR250", "a population verifies nothing without the table", hint=hint))
    log, collected = Log(), False
    with scratch_folder() as spilled, readable(log):
        if public != bundle:
            _check_top(log, bundle)
        progress("public", 0.1)
        side = _public(log, public, spilled.folder, plugins, today, rows=rows)
        collected = side is not None and side.manifest.collected is not None
        if collected and level > Level.AUDIT:
            raise no_source(bundle)
        if side is not None and level > Level.PUBLIC:
            side = replace(side, registry=side.registry.opening(engines or {}))
            further = (folder, key, plan_on, reference, spilled.folder, progress)
            _further(log, bundle, side, level, source or "", *further)
    achieved = min(level, log.level)  # what is too broken ends before
    log.undecided += [UNDECIDED] if achieved < Level.SOURCE else []
    lowest = BELOW[Level.PUBLIC] if collected else None  # of what was collected there is no source, and no key
    log.undecided += [text for below, text in BELOW.items() if achieved <= below and lowest in {None, text}]
    return log.done(level)


def _alone(public: Path, level: Level | None, *, given: bool) -> None:
    """Refuse what public/ alone cannot tell: audit/ states what the source and the key are held against."""
    if given or (level is not None and level > Level.PUBLIC):
        hint = "name the bundle's own folder, which holds public/ and audit/, or leave out --source and --key"
        message = f"{public} is public/ alone: it can be verified up to `--level public`"
        raise PolicyError(Problem("RR250", message, expected="the whole bundle, for any level above", hint=hint))


def no_source(bundle: Path) -> PolicyError:
    """Return the error of holding records that were collected against a table: nobody has one."""
    message = f"the records of {bundle} were collected, each randomised before it was sent: there is no source"
    hint = "`rrpolicy verify` without --source and --key: what public/ and audit/ settle is all that can be recomputed"
    return PolicyError(Problem("RR250", message, expected="no table", hint=hint))


def _public(
    log: Log, public: Path, scratch: Path, plugins: Sequence[str], today: date | None, *, rows: bool
) -> PublicSide | None:
    """Check public/; what contradicts itself there is a finding, not an error of this call."""
    try:
        return verify_public(log, public, scratch, plugins, today, rows=rows)
    except (DataError, PolicyError) as error:
        log.check("readable", False, "RR110", f"release.json cannot be read: {error.problems[0].message}")  # noqa: FBT003
        return None


def _further(  # noqa: PLR0917 each level adds an input
    log: Log,
    bundle: Path,
    side: PublicSide,
    level: Level,
    source: str,
    folder: str,
    key: KeyAt | None,
    plan_on: str | None,
    reference: str | None,
    scratch: Path,
    progress: Callable[[str, float], None],
) -> None:
    from rrpolicy.source.opening import open_original

    progress("audit", 0.4)
    audit = verify_audit(log, bundle / "audit", side, source, folder)
    if audit is None:
        return
    if level < Level.SOURCE:
        check_audit_page(log, audit, side, audit.stated.placed(audit.places), None)
        return
    progress("source", 0.5)
    policy = _with_people(audit.plan.policy, reference)
    opening = open_original(policy, side.registry.sources, scratch / "spill")
    with side.registry.naming_engines(), open_source(opening) as original:
        held = _key(key, audit.plan, original) if level is Level.KEY and key is not None else None
        tagged = held is not None and _tagged(held, audit, original)
        conforms = check_released_from(log, audit, side, original, scratch, tagged=tagged)
        if conforms is None:
            return
        if held is None and inside_of(original) is not None:
            log.undecided.append(INSIDE)
        check_audit_page(log, audit, side, verify_source(log, audit, side, original, scratch), original)
        log.findings.append(conforms)
        verify_elsewhere(log, audit, side, original, uri=plan_on, scratch=scratch)
        verify_reference(log, audit, original)
        check_attacked(log, audit, side, original, scratch)
        if held is not None:
            progress("drawing again", 0.8)
            verify_key(log, audit, side, original, held, plan_on=plan_on, scratch=scratch)


def _tagged(held: KeyFile | SeriesKey, audit: AuditSide, original: Original) -> bool:
    """Return whether a table has the tag that the record states."""
    stated: str = audit.record["source_tag"]
    return tag_of(held.key, original, stated) == stated


def _with_people(policy: Policy, reference: str | None) -> Policy:
    """Return a plan's policy with the place of the population, which the plan does not hold.

    Raises:
        PolicyError: RR250 if no population was asked of.
    """
    if reference is None:
        return policy
    if policy.reference is None:
        raise PolicyError(
            Problem("RR250", "--reference: the release's policy names no population", hint="leave it out")
        )
    return replace(policy, reference=replace(policy.reference, uri=reference))


def _key(key: KeyAt, plan: Plan, original: Original) -> KeyFile | SeriesKey:
    """Return the key of a file, or that which a secret gives for this plan and table, or for its series."""
    series = plan.policy.release.series
    if series is not None:
        if isinstance(key, Secret):
            return SeriesKey(key.key_of_series(series), series)
        return read_series_key(key, series)
    if isinstance(key, Secret):
        return derived_key(key, plan.digest(), original)
    return read_key(key)


@contextmanager
def open_source(opening: AbstractContextManager[Original]) -> Iterator[Original]:
    """Open the table that is said to be the source; one that does not pass the release's policy is another one.

    Raises:
        DataError: RR327 for such a table, RR3xx if it cannot be read.
    """
    with ExitStack() as stack:
        try:
            original = stack.enter_context(opening)
        except DataError as error:
            from rrpolicy.source.opening import unreadable

            if unreadable(error):
                raise
            raise DataError(_another(error.problems)) from error
        yield original


_SHOWN = 3
"""Things that are wrong with a table that is not the source; one is enough to tell that it is not."""


def _another(problems: Sequence[Problem]) -> Problem:
    told = "; ".join(problem.message for problem in problems[:_SHOWN])
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    message = f"this is not the table that was released: it does not pass the release's policy: {told}{more}"
    codes = listed(dict.fromkeys(problem.code for problem in problems[:_SHOWN]))
    hint = f"name the release's own source, as it was; `rrpolicy explain` says of {codes} what is wrong with this table"
    return Problem("RR327", message, expected="the table that the release was made from", hint=hint)


def _check_top(log: Log, bundle: Path) -> None:
    """Check that the bundle holds its folders and nothing else; what the statements hold, is checked with them."""
    found = {entry.name for entry in bundle.iterdir()}
    _, odd = scan(bundle)
    links = [path for path, why in odd if "/" not in path and "link" in why]
    extra = sorted((found - {"public", "audit", ATTESTATIONS}) | set(links))
    log.check("the bundle's folders", not extra, "RR113", f"{', '.join(extra)} does not belong to the bundle")


def _level(level: Level | None, *, audit: bool, source: str | None, key: KeyAt | None) -> Level:
    """Return the level to verify at, and refuse one whose inputs are missing."""
    if level is None:
        if key is not None and source is None:
            raise PolicyError(Problem("RR250", "a key verifies nothing without the table", hint="add --source"))
        if source is None:
            return Level.AUDIT if audit else Level.PUBLIC
        return Level.KEY if key is not None else Level.SOURCE
    if level >= Level.SOURCE and source is None:
        raise PolicyError(Problem("RR250", f"level {level.word} needs the table", hint="add --source URI"))
    if level is Level.KEY and key is None:
        raise PolicyError(Problem("RR250", "level key needs the key file", hint="add --key FILE"))
    return level
