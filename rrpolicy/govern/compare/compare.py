"""Every candidate planned on the same table, held against the requirements of all, and measured by the same errors."""

from __future__ import annotations

import math
import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.canonical import canonical
from rrpolicy.codec.writing import plain
from rrpolicy.errors import DataError, PolicyError, Problem, RefusedError, RequirementError
from rrpolicy.finding import Finding, Measure, Standing
from rrpolicy.govern.compare.candidates import Candidate, Vary, candidates
from rrpolicy.govern.compare.comparison import Comparison, Outcome, Quantity, Row, axis_of
from rrpolicy.govern.diff.pricing import held_against
from rrpolicy.policy.identity import identities
from rrpolicy.policy.model import Gate, Policy, Requirement
from rrpolicy.releasing.plan.assess import outline_of
from rrpolicy.releasing.plan.derived import to_accept
from rrpolicy.releasing.plan.preview import Outlook, look_ahead
from rrpolicy.releasing.plan.waivers import Terms
from rrpolicy.releasing.report.wording import direction
from rrpolicy.source.opening import engine, open_snapshot, unreadable

if TYPE_CHECKING:
    from rrpolicy.registry import Registry
    from rrpolicy.releasing.account import Accounts
    from rrpolicy.releasing.plan.opening import Opened
    from rrpolicy.source.memory.handed import Handed
    from rrpolicy.source.original import TableOriginal
    from rrpolicy.source.protocol import Snapshot

Progress = Callable[[str, float], None]
ONE_WAY, TWO_WAY = "total-variation/one-way", "total-variation/two-way"
DRAWS, SEED = 20, 1


def compare(  # noqa: PLR0917 those of `rrpolicy.compare`
    policies: Sequence[Path],
    mechanisms: Sequence[str],
    vary: Vary,
    risk: str | None,
    error: str | None,
    handed: Handed,
    root: Path | None,
    progress: Progress,
    terms: Terms,
    accounts: Accounts,
) -> Comparison:
    """Compare; see `rrpolicy.compare` for the arguments and errors.

    Args:
        policies: files.
        mechanisms: tried on each.
        vary: keys, and the values that they take.
        risk: id of the requirement of the map; None for the first that most have.
        error: id of its error, the same.
        handed: the table, in place of each policy's own.
        root: that the files lie under which the policies name.
        progress: called with what is being done, and the share done.
        terms: on which day all are judged.
        accounts: open the ledgers that policies name.
    """
    from rrpolicy.scratch import scratch

    named = list(candidates(policies, mechanisms, vary, root, handed))
    _refuse_several_tables([one.opened for one in named if one.opened is not None])
    asked = _Asked.of(named)
    rows = []
    with ExitStack() as stack:
        tables = _Tables(stack, stack.enter_context(scratch()).folder)
        for place, one in enumerate(named):

            def tell(what: str, share: float, place: int = place) -> None:
                progress(f"candidate {place + 1} of {len(named)}: {what}", (place + share) / len(named))

            rows.append(_row(one, asked, tables, terms, accounts, tell))
    risks, utilities = asked.risks(rows), asked.utilities(rows)
    across = axis_of(risks, rows, "risk", risk)
    return Comparison(tuple(rows), risks, utilities, across, axis_of(utilities, rows, "error", error))


def _refuse_several_tables(each: Sequence[Opened]) -> None:
    """Refuse candidates that would be planned on different tables: their numbers would not be comparable.

    Raises:
        PolicyError: RR250.
        DataError: RR301 if no engine opens one of them.
    """
    found: dict[tuple[str, str | None], Policy] = {}
    for made in each:
        source = made.policy.source
        uri = engine(source.uri, made.registry.sources, Path(made.policy.folder), made.policy)[1]
        found.setdefault((os.path.normpath(os.path.abspath(uri)), source.table), made.policy)  # noqa: PTH100
    if len(found) > 1:
        one, other = list(found.values())[:2]
        message = f"the candidates read different tables: '{one.source.uri}' and '{other.source.uri}'"
        hint = "name one for all of them: --source TABLE"
        raise PolicyError(Problem("RR250", message, other.place("source.uri"), "one table", hint))


class _Asked:
    """What every candidate is asked: the requirements and gates of all of them, and errors of the same marginals."""

    def __init__(
        self, requirements: Mapping[str, Requirement], gates: Mapping[str, tuple[Gate, Registry]], shared: Sequence[str]
    ) -> None:
        self.requirements, self.gates, self.shared = requirements, gates, shared

    @classmethod
    def of(cls, named: Sequence[Candidate]) -> _Asked:
        requirements: dict[str, Requirement] = {}
        gates: dict[str, tuple[Gate, Registry]] = {}
        opened = [one.opened for one in named if one.opened is not None]
        for made in opened:
            names = identities(made.policy)
            for name, requirement in zip(names.requirements, made.policy.requirements, strict=True):
                requirements.setdefault(name, requirement)
            for name, gate in zip(names.gates, made.policy.gates, strict=True):
                gates.setdefault(name, (gate, made.registry))
        return cls(requirements, gates, _shared([made.policy for made in opened]))

    def risks(self, rows: Sequence[Row]) -> tuple[Quantity, ...]:
        """Return the requirements that something is known of."""
        found = []
        for name in self.requirements:
            findings = [row.findings[name] for row in rows if name in row.findings]
            sides = [_side(finding) for finding in findings if finding.achieved is not None]
            if sides:
                meaning = f"{findings[0].model}: {findings[0].adversary.rstrip('.')}"
                found.append(Quantity(name, meaning, "larger" if sides[0] == "at least" else "smaller"))
        return tuple(found)

    def utilities(self, rows: Sequence[Row]) -> tuple[Quantity, ...]:
        """Return the errors that something is known of: those that are always measured, then the gates."""
        every = "mean total variation distance between the estimated and the true shares, over every"
        told = ", ".join(self.shared)
        known = [
            Quantity(TWO_WAY, f"{every} pair of {told}; {DRAWS} simulated draws each, seed {SEED}", "smaller"),
            Quantity(ONE_WAY, f"{every} one of {told}; {DRAWS} simulated draws each, seed {SEED}", "smaller"),
        ]
        for name, (gate, registry) in self.gates.items():
            metric = registry.utility_metrics[gate.metric]
            known.append(Quantity(name, metric.meaning, "smaller" if gate.bound == "max" else "larger"))
        return tuple(one for one in known if any(one.id in row.utility for row in rows))


def _side(finding: Finding) -> str:
    achieved = None if finding.achieved is None else finding.achieved.value
    limit = None if finding.limit is None else float(finding.limit)
    return direction(finding.requirement, achieved, limit, finding.verdict)


def _shared(policies: Sequence[Policy]) -> tuple[str, ...]:
    """Return the attributes that every policy releases with the same categories, in the order of the first."""
    if not policies:
        return ()
    kinds = [{a.name: (a.domain, a.observed, a.bins) for a in policy.released if a.categorical} for policy in policies]
    return tuple(name for name, kind in kinds[0].items() if all(other.get(name) == kind for other in kinds))


class _Tables:
    """The tables of all candidates: each is opened once, and read once by those that read it alike."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self.folder = stack, folder
        self._open: dict[bytes, Snapshot] = {}
        self._read: list[TableOriginal] = []

    def original(self, made: Opened) -> TableOriginal:
        """Return the table as a policy reads it, with the counts that another one has made already.

        Raises:
            DataError: as `open_original`.
        """
        from rrpolicy.source.original import read

        policy = made.policy
        for one in self._read:
            if _read_alike(one.policy, policy):
                return replace(one, policy=replace(policy, attributes=one.policy.attributes))
        source = policy.source
        key = canonical([source.uri, source.table, policy.folder, plain(policy.reading)])
        if key not in self._open:
            opening = open_snapshot(policy, made.registry.sources, self.folder / f"table-{len(self._open)}")
            self._open[key] = self._stack.enter_context(opening)
        self._read.append(read(policy, self._open[key]))
        return self._read[-1]


def _read_alike(one: Policy, other: Policy) -> bool:
    """Return whether a table that was read under a policy is the same under another, observed domains included."""
    stated = {name: replace(a, domain=None) if a.observed else a for name, a in one.attributes.items()}
    asked = {name: replace(a, domain=None) if a.observed else a for name, a in other.attributes.items()}
    extra = stated.keys() - asked.keys()  # columns that nobody names, and that are excluded
    same = {name: a for name, a in stated.items() if name not in extra} == asked
    unnamed = not extra or (one.source.other_columns == other.source.other_columns == "excluded")
    where = (one.source, one.folder, one.release.series) == (other.source, other.folder, other.release.series)
    return same and unnamed and where and not any(not one.attributes[name].role.dropped for name in extra)


def _row(  # noqa: PLR0917 what it passes on
    one: Candidate, asked: _Asked, tables: _Tables, terms: Terms, accounts: Accounts, progress: Progress
) -> Row:
    """Return what a candidate comes to; what cannot be planned says why.

    Raises:
        DataError: RR3xx if the table cannot be read at all.
    """
    told = (one.label, one.file, one.mechanism, one.changed)
    if one.opened is None:
        return Row(*told, None, Outcome.REFUSED, one.problems)
    made = one.opened
    policy = _named(made.policy)
    try:
        with made.registry.naming_engines():
            return _planned(Row(*told, policy, Outcome.REFUSED), one, made, asked, tables, terms, accounts, progress)
    except (PolicyError, RequirementError, DataError) as error:
        if isinstance(error, DataError) and unreadable(error):
            raise
        return Row(*told, policy, Outcome.REFUSED, error.problems)
    except RefusedError as error:
        if {problem.code for problem in error.problems} != {"RR444"}:  # it would be no going on with a series
            raise
        return Row(*told, policy, Outcome.REFUSED, error.problems)


def _planned(  # noqa: PLR0917 what it passes on
    row: Row,
    one: Candidate,
    made: Opened,
    asked: _Asked,
    tables: _Tables,
    terms: Terms,
    accounts: Accounts,
    progress: Progress,
) -> Row:
    from rrpolicy.source.elsewhere import open_elsewhere

    def looked(made: Opened) -> tuple[Outlook, TableOriginal]:
        account = None if made.policy.ledger is None else accounts.reading(made.policy, made.registry)
        original = tables.original(made)
        with open_elsewhere(original.policy, made.registry.sources, tables.folder / "plan-on") as elsewhere:
            outlook = look_ahead(made.policy, made.registry, original, progress, elsewhere, terms, account)
        return outlook, original

    outlook, original = looked(made)
    accept = None
    if one.accepting is not None and {problem.code for problem in outlook.problems} == {"RR108"}:
        line = to_accept(made.policy, outlook.plan.derived)
        with suppress(PolicyError):  # its baseline does not let it accept that
            made = one.accepting([derived.id for derived in outlook.plan.derived])
            (outlook, original), accept = looked(made), line
            row = replace(row, policy=_named(made.policy))
    progress("measuring", 0.95)
    findings = dict(_findings(outlook, made.registry, asked, original))
    utility = dict(_utility(outlook, made.registry, asked, original))
    return replace(
        row,
        outcome=Outcome.PASSES if outlook.passed else Outcome.FAILS,
        problems=outlook.problems,
        records=outlook.plan.records,
        findings=findings,
        utility=utility,
        expected_errors=outlook.errors,
        accept=accept,
    )


def _named(policy: Policy) -> Mapping[str, str]:
    return {"name": policy.name, "version": policy.version, "digest": policy.digest()}


def _findings(
    outlook: Outlook, registry: Registry, asked: _Asked, original: TableOriginal
) -> Iterator[tuple[str, Finding]]:
    """Yield the finding of each requirement of any candidate, as far as it can be asked of this one."""
    own = {finding.identity: finding for finding in outlook.assessment.findings}
    for name, requirement in asked.requirements.items():
        finding = own.get(name) or held_against(outlook.plan, registry, requirement, original)
        if finding is not None:
            yield name, finding


def _utility(
    outlook: Outlook, registry: Registry, asked: _Asked, original: TableOriginal
) -> Iterator[tuple[str, Measure]]:
    """Yield what is expected at each gate of any candidate, and of the errors that are always measured."""
    from rrpolicy.utility.distances import TotalVariation
    from rrpolicy.utility.marginal import Options

    plan = outlook.plan
    for size, name in ((2, TWO_WAY), (1, ONE_WAY)):
        each = []
        for attributes in combinations(asked.shared, size):
            options = Options(attributes=attributes, draws=DRAWS, seed=SEED)
            each.append(_expected(partial(TotalVariation().expected, options, plan.channel, original)))
        mean = _mean(each)
        if mean is not None:
            yield name, mean
    own = {gate.identity: gate.expected for gate in outlook.assessment.utility}
    outline = outline_of(plan.channel)
    for name, (gate, _) in asked.gates.items():
        metric = registry.utility_metrics.get(gate.metric)
        found = own.get(name)
        if name not in own and metric is not None and not metric.unfit(gate.options, outline.channel, outline.axes):
            found = _expected(partial(metric.expected, gate.options, plan.channel, original))
        if found is not None:
            yield name, found


def _expected(ask: Callable[[], Measure | None]) -> Measure | None:
    """Return an expectation; None where it cannot be told of this candidate."""
    try:
        return ask()
    except (PolicyError, DataError):
        return None


def _mean(each: Sequence[Measure | None]) -> Measure | None:
    """Return the mean of all; None if there is none, or one is not known.

    Draws of different marginals share their bits, so that the standard error of the mean is at most the mean of theirs.
    """
    known = [measure for measure in each if measure is not None]
    if not each or len(known) < len(each):
        return None
    value = math.fsum(measure.value for measure in known) / len(known)
    error = math.fsum(measure.error for measure in known) / len(known)
    drawn = any(measure.standing is Standing.ESTIMATE for measure in known)
    return Measure(value, Standing.ESTIMATE if drawn else Standing.EXACT, error)
