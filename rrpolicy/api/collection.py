"""Collection in the field: what is asked, randomised where people are, and made a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, overload

from rrpolicy.api.arguments import PathLike, Progress, no_progress, public_function, review_options, to_path

if TYPE_CHECKING:
    from rrpolicy.bundle.release_request import WrittenBundle
    from rrpolicy.canonical_json import Value
    from rrpolicy.collection.questionnaire import Questionnaire
    from rrpolicy.source.memory.kinds import Table


@public_function
def open_questionnaire(path: PathLike, *, plugins: Sequence[str] = ()) -> Questionnaire:
    """Open a questionnaire, to randomise records where they are.

    Args:
        path: the file that `plan` with `expected_rows` and `out` wrote beside the plan.
        plugins: distributions to load for axes of plugins, such as `acme-oue>=1.2`; none is loaded on the file's word.

    Returns:
        What is asked, how answers are randomised, and what is promised.

    Raises:
        PolicyError: RR521 if it is none, or was changed.
        RefusedError: RR404 to RR406, RR412 for a plugin.
    """
    from rrpolicy.collection.questionnaire import read_questionnaire

    return read_questionnaire(Path(path), plugins)


@overload
def randomize(questionnaire: Questionnaire | PathLike, records: Mapping[str, object]) -> dict[str, Value]: ...
@overload
def randomize(
    questionnaire: Questionnaire | PathLike, records: Sequence[Mapping[str, object]]
) -> list[dict[str, Value]]: ...
@public_function
def randomize(
    questionnaire: Questionnaire | PathLike, records: Mapping[str, object] | Sequence[Mapping[str, object]]
) -> dict[str, Value] | list[dict[str, Value]]:
    """Randomise records where they are: what is returned is all that is to be sent. Nothing is written or kept.

    Who asks twice for one person has answered twice: epsilon adds up. Keep what was returned, and send it again.

    Args:
        questionnaire: its file, or what `open_questionnaire` returned.
        records: one, or several: attribute -> answer, None for no answer.

    Returns:
        Released column -> category; of several records a list, in their order.

    Raises:
        PolicyError: RR521 as for `open_questionnaire`.
        DataError: RR522, everything that is wrong with any record, at once; nothing is drawn.
    """
    from rrpolicy.collection.questionnaire import Questionnaire
    from rrpolicy.collection.randomize import randomize as randomized

    asked = questionnaire if isinstance(questionnaire, Questionnaire) else open_questionnaire(questionnaire)
    if isinstance(records, Mapping):
        return randomized(asked, [records])[0]
    return randomized(asked, records)


@public_function
def collect(
    plan: PathLike,
    table: Table,
    out: PathLike,
    *,
    label: str | None = None,
    root: PathLike | None = None,
    today: date | None = None,
    waivers: bool = True,
    progress: Progress = no_progress,
) -> WrittenBundle:
    """Make the release of records that were randomised before they were sent. Nothing is drawn.

    Requirements are assessed for the number of records that came in.

    Args:
        plan: the file that `plan` with `expected_rows` and `out` wrote.
        table: the collected records, as for the source of `plan`: the columns that `randomize` returns.
        out: the bundle's folder; it must not exist.
        label: of the release, such as `2026-11`.
        root: as for `load_policy`.
        today: as for `check`.
        waivers: as for `check`.
        progress: as for `plan`.

    Returns:
        Where the bundle is, its digests and findings.

    Raises:
        RequirementError: RR101, RR104 if the gate does not pass for so many records; nothing is written.
        DataError: RR3xx if the table cannot be read, or holds other columns or values; RR524 if it cannot be what the
            questionnaire's randomisation made.
        RefusedError: RR401 if policy or plugins are not those of the plan any more; RR523 if the plan was made on a
            table; RR402, RR407, RR408, RR410, RR415, RR416, RR417, RR421, RR441, RR442 as for `release`.
    """
    from rrpolicy.bundle.collected_release import write_collected_release
    from rrpolicy.bundle.release_request import ReleaseOptions
    from rrpolicy.governance.ledger.file_account import FileAccounts
    from rrpolicy.signing.approval_check import require_approval
    from rrpolicy.source.memory.input_table import input_table

    options = ReleaseOptions(
        label=label,
        root=to_path(root),
        terms=review_options(today, waivers=waivers),
        progress=progress,
        accounts=FileAccounts(),
        approve=require_approval,
    )
    return write_collected_release(Path(plan), Path(out), input_table(table), options)
