"""`sensitive-addition`: outline without data, plan with the number of records."""

from __future__ import annotations

from collections.abc import Iterator

from rrpolicy.plugin import Measure, Origin, Outline, Policy, Product, Proposal, Remark, Role, Task, figure
from rrpolicy.plugin.solve import addition_mean_squared_error
from rrpolicy_sensitive_addition.channel import build_channel, outline_axes
from rrpolicy_sensitive_addition.layout import HiddenGroup
from rrpolicy_sensitive_addition.layout_reader import read_hidden_groups
from rrpolicy_sensitive_addition.options import SensitiveAdditionOptions
from rrpolicy_sensitive_addition.set_size_search import larger_set_remarks


class SensitiveAddition:
    """Randomised addition of sensitive values (Sei, Ohsuga): quasi-identifiers stay as they are."""

    name = "sensitive-addition"
    options = SensitiveAdditionOptions

    def outline(self, options: SensitiveAdditionOptions, policy: Policy) -> Outline:
        """Return a product channel with an axis of sets for what is hidden; the channel itself if domains are known.

        Raises:
            PolicyError: RR295 to RR297, all problems at once.
        """
        hidden = read_hidden_groups(options, policy)
        known = all(a.domain is not None for a in policy.released if a.categorical)
        kept = tuple(a.name for a in policy.with_role(Role.QUASI_IDENTIFIER))
        return Outline(Product, outline_axes(hidden, policy), build_channel(hidden, policy) if known else None, kept)

    def plan(self, options: SensitiveAdditionOptions, task: Task) -> Proposal:
        """Return the channel: sets as large as the requirements ask, and no larger.

        Raises:
            PolicyError: RR295 to RR297; RR255 if a domain is observed and only the number of records is given.
        """
        hidden = read_hidden_groups(options, task.policy)
        task.require_domains()
        origins = {a.name: Origin.POLICY for each in hidden for a in each.attributes}
        remarks = tuple(remark for each in hidden for remark in _error_remarks(each, task.records))
        channel = build_channel(hidden, task.policy)
        return Proposal(channel, origins, remarks=(*remarks, *larger_set_remarks(hidden, channel, task)))


def _error_remarks(hidden: HiddenGroup, records: int) -> Iterator[Remark]:
    """Yield both mean squared errors of an estimated share, named."""
    values = hidden.values or 0
    if hidden.set_size == values:
        text = f"every set of {hidden.name} holds all its values: nothing of it is told, and no count can be estimated"
        yield Remark("nothing-released", text)
        return
    table = float(addition_mean_squared_error(values, hidden.set_size, records, "table"))
    population = float(addition_mean_squared_error(values, hidden.set_size, records, "population"))
    what = f"an estimated share of {hidden.name} ({hidden.set_size} of {values} in each set)"
    yield Remark(
        "mean-squared-error-this-table",
        f"{what} has a mean squared error of {figure(table)} as a share of this table",
        Measure(table),
    )
    yield Remark(
        "mean-squared-error-population",
        f"{what} has a mean squared error of {figure(population)} as a share of the population that the table is a"
        " sample of, if its values are equally common there, and less if they are not",
        Measure(population),
    )
