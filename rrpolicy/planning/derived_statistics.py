"""Derived statistics: facts about the original in public/ beyond the number of records, each with an id.

A guarantee that compares tables is valid for a channel that was fixed before the data were seen. An attacker who
knows all records but one plans again for each candidate of that one, and excludes those that yield another
description, or no release.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import Basis, Derived, Measure, Origin
from rrpolicy.mechanism import Outline, Proposal, parameters_of
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.policy.model import Policy
from rrpolicy.privacy.model import Assessor
from rrpolicy.registry import Registry

RELEASED = Derived(
    "released",
    "the decision to release: a requirement, a utility gate or the mechanism reads the table, and could have "
    "refused another one",
)


def possible_statistics(policy: Policy, outline: Outline, assessors: Iterable[Assessor]) -> tuple[Derived, ...]:
    """Return every statistic that a plan of the policy may derive from the table; no data are needed."""
    return _listed_statistics(policy, outline, assessors, gated=bool(policy.gates), chosen=outline.solved)


def derived_statistics_of_plan(
    policy: Policy,
    registry: Registry,
    outline: Outline,
    assessors: Iterable[Assessor],
    proposal: Proposal,
    *,
    records: int,
) -> tuple[Derived, ...]:
    """Return every statistic that a plan derived from the table.

    Raises:
        RefusedError: RR409 if the mechanism chose parameters from the data and its outline does not declare it.
    """
    chosen = [name for name, origin in proposal.origins.items() if origin is Origin.DATA]
    silent = [name for name in chosen if name not in outline.solved and not outline.derived]
    if silent:
        message = f"{policy.mechanism.name} chose the parameters of '{silent[0]}' from the data without announcing it"
        hint = "report it to the plugin's authors: an outline lists statistics that are `solved` or `derived`"
        raise RefusedError(Problem("RR409", message, policy.place("mechanism"), hint=hint))
    metrics = registry.utility_metrics
    expected = ((check_return_type(Measure | None, metrics[g.metric].expected), g.options) for g in policy.gates)
    gated = any(expectation(options, proposal.channel, records) is None for expectation, options in expected)
    found = _listed_statistics(policy, outline, assessors, gated=gated, chosen=chosen)
    spared = {parameters_of(name).id for name in outline.solved if name not in chosen}
    return tuple(statistic for statistic in found if statistic.id not in spared)


def _listed_statistics(
    policy: Policy, outline: Outline, assessors: Iterable[Assessor], *, gated: bool, chosen: Collection[str]
) -> tuple[Derived, ...]:
    elsewhere = policy.mechanism.elsewhere  # then nothing is chosen on this table
    told = (*observed_domains(policy), *(() if elsewhere else outline.derived))
    reads = any(a.basis_of(policy.source.max_records) > Basis.CHANNEL for a in assessors)
    solved = tuple(parameters_of(name) for name in outline.solved if name in chosen) if reads or told else ()
    solved = () if elsewhere else solved
    whole = {d.id: d for d in (*told, *solved, *((RELEASED,) if reads or gated or told else ()))}
    return tuple(whole.values())


def observed_domains(policy: Policy) -> tuple[Derived, ...]:
    """Return the domains that the policy deliberately observes in the data."""
    return tuple(
        Derived(f"domain:{a.name}", f"the categories of '{a.release_as or a.name}' were observed in the data")
        for a in policy.released
        if a.observed
    )


def impossible_acceptances(policy: Policy, known: Collection[Derived]) -> Iterator[Problem]:
    """Yield accepted statistics that can never occur under the policy: a misspelt id would accept nothing."""
    ids = [d.id for d in known]
    for index, item in enumerate(policy.release.accept):
        if item not in ids:
            import difflib

            near = difflib.get_close_matches(item, ids, n=1)
            expected = f"one of {quoted_list(ids)}" if ids else "nothing: no statistic of the data is published"
            hint = f"did you mean '{near[0]}'?" if near else "take it out"
            message = f"'{item}' can never be derived from the data under this policy"
            yield Problem("RR224", message, policy.place(f"release.accept.{index}"), expected, hint)


def acceptance_hint(policy: Policy, found: Iterable[Derived]) -> str | None:
    """Return the line to paste below [release] that accepts every statistic found; None if each is accepted."""
    accepted = policy.release.accept
    missing = [d.id for d in found if d.id not in accepted]
    return acceptance_toml((*accepted, *missing)) if missing else None


def acceptance_toml(ids: Iterable[str]) -> str:
    """Return `accept = [...]` as TOML."""
    return f"accept = [{', '.join(json.dumps(item, ensure_ascii=False) for item in ids)}]"
