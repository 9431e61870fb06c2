"""The options of each verb, stated once: its public function, its command and its documentation are made of them.

Each class is the type of the keywords of one function of `rrpolicy.api` (PEP 692). An `Option` adds the default and
the help to a type. Types in quotes are imported for type checkers alone, as this module is loaded with `rrpolicy`.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import date
    from fractions import Fraction

    from rrpolicy.estimate.comparison.comparison import ComparisonKind
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.planning.policy_opening import PolicyLike
    from rrpolicy.policy.model import Overlap
    from rrpolicy.source.memory.kinds import Table
    from rrpolicy.verification.outcome import VerificationLevel

P = ParamSpec("P")
R = TypeVar("R")
PathLike: TypeAlias = "str | os.PathLike[str]"
Threshold: TypeAlias = "int | float | str | Fraction"
Progress: TypeAlias = Callable[[str, float], None]
"""Called with the current step, and the share done."""


def no_progress(what: str, share: float) -> None:
    """Show no progress."""
    del what, share


def to_path(path: "PathLike | None") -> Path | None:
    """Return a path that a caller named."""
    return None if path is None else Path(path)


class Option(NamedTuple):
    """What a verb's option adds to its type.

    Attributes:
        default: of the keyword.
        help: of the function and of the command.
        flag: of the command; "": `--` and the name; None: the command has no such option.
        metavar: of the command's value.
        kind: type of the command's value; default: by the annotation.
        range: least and greatest number.
    """

    default: Any
    help: str
    flag: str | None = ""
    metavar: str | None = None
    kind: Any = None
    range: tuple[int | None, int | None] = (None, None)


ONE_PLUGIN = "A distribution that a bundle names and you trust, such as acme-oue>=1.2."
THE_PLUGIN = "A distribution that the bundle names and you trust, such as acme-oue>=1.2."
LEDGER_PLUGIN = "A distribution to load, such as acme-oue>=1.2. Again for each."
TABLE_PLUGIN = "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; repeat it for several."
FORMAT_PLUGIN = "A distribution to load for the format of the data, or for an estimator; repeat it for several."
SECRETS = "env:NAME, or command:… as one word, names a secret of 32 bytes that the key is derived from."
NO_VERIFY = "Do not check the digests of release.json and of the files that are read."
SOURCE = "Read this table in place of the policy's."

Root: TypeAlias = Annotated[
    "PathLike | None",
    Option(
        None,
        "The files that a policy names lie under this folder; default: its repository's top, else its own folder.",
        metavar="DIR",
    ),
]
Today: TypeAlias = Annotated[
    "date | None", Option(None, "Judge review dates and waivers as of this day, such as 2027-01-31; default: today.")
]
Waivers: TypeAlias = Annotated["bool", Option(default=True, help="Judge as if nothing were waived.", flag="no-waivers")]
Verifying: TypeAlias = Annotated["bool", Option(default=True, help=NO_VERIFY, flag="no-verify")]
Reporting: TypeAlias = Annotated[
    "Progress", Option(no_progress, "Called with the current step and the share done.", None)
]
KeyPassphrase: TypeAlias = Annotated["str | None", Option(None, "The passphrase of a new key's file.", None)]
ExpectedRows: TypeAlias = Annotated[
    "int | None", Option(None, "Plan for so many records, without data.", range=(1, None))
]
DatabaseTable: TypeAlias = Annotated["str | None", Option(None, "The table or view inside a database.")]
Label: TypeAlias = Annotated["str | None", Option(None, "The release's label, such as 2026-11.", "as")]
Out: TypeAlias = Annotated["PathLike | None", Option(None, "Where to write it; default: standard output.")]
Page: TypeAlias = Literal["public", "audit"]


class CheckOptions(TypedDict, total=False):
    """Options of `check`."""

    extends: Annotated[
        "PathLike | None",
        Option(None, "A baseline: refuse a policy that does not extend it.", metavar="FILE", kind=str),
    ]
    source: Annotated[
        "Table | Literal[True] | None",
        Option(
            None,
            "Hold this table against the policy as well; without a value, behind the policies, the policy's own.",
            metavar="[TABLE]",
        ),
    ]
    root: Root
    today: Today
    waivers: Waivers


class PlanOptions(TypedDict, total=False):
    """Options of `plan`."""

    out: Annotated["PathLike | None", Option(None, "Write the plan here; `release` then executes exactly it.")]
    key: Annotated[
        "PathLike | None",
        Option(None, f"Where the plan's key goes; default: the plan with .key added. {SECRETS}", kind=str),
    ]
    expected_rows: Annotated[
        "int | None",
        Option(
            None,
            "Plan for so many records, without data; --out then writes a questionnaire as well.",
            range=(1, None),
        ),
    ]
    root: Root
    today: Today
    key_passphrase: KeyPassphrase
    waivers: Waivers
    bound: Annotated[
        "bool",
        Option(
            default=True,
            help="Bind the plan to the table by a fresh key, at the cost of a pass over the data: `release` accepts "
            "only this table, unchanged. Without it the plan can only be inspected.",
            flag=None,
        ),
    ]
    progress: Reporting


class PreviewOptions(TypedDict, total=False):
    """Options of `preview`."""

    source: Annotated["Table | None", Option(None, "The table, as for `plan`.", None)]
    format: Annotated["str", Option("html", "html, json, or the name of a plugin's renderer.", None)]
    trade_off: Annotated[
        "bool",
        Option(
            default=True,
            help="Plan with other limits of a requirement as well, for the map of risk and error.",
            flag=None,
        ),
    ]
    root: Root
    today: Today
    waivers: Waivers
    progress: Reporting


class CompareOptions(TypedDict, total=False):
    """Options of `compare`."""

    mechanisms: Annotated[
        "Sequence[str]",
        Option((), "Try these on each policy, in place of its own.", "mechanism", metavar="A,B", kind=str),
    ]
    vary: Annotated[
        "Mapping[str, Sequence[object]] | None",
        Option(
            None,
            "Let a key of the policy's own file take each of these values, such as privacy.0.threshold=1/2,1/3; repeat "
            "it: all combinations are compared.",
            metavar="KEY=VALUES",
            kind=list[str],
        ),
    ]
    source: Annotated["Table | None", Option(None, "Read this table in place of the policies' own.")]
    expected_rows: ExpectedRows
    draws: Annotated["int", Option(20, "Simulated draws of each marginal.", range=(20, 10_000))]
    resume: Annotated[
        "PathLike | None",
        Option(
            None,
            "Keep finished candidates in this file, and take from it those of which nothing changed; it is made where "
            "there is none. Policies with a ledger or plan_on are planned again each time.",
        ),
    ]
    risk: Annotated["str | None", Option(None, "The risk of the map, as the table names it.", metavar="ID")]
    error: Annotated["str | None", Option(None, "The error of the map, the same.", metavar="ID")]
    root: Root
    plugins: Annotated[
        "Sequence[str]",
        Option(
            (),
            "A distribution that a release may load, such as acme-oue>=1.2; none is loaded on its word alone.",
            "plugin",
            metavar="DISTRIBUTION",
        ),
    ]
    today: Today
    write: Annotated[
        "bool",
        Option(
            default=False,
            help="Put the map and the alternatives into audit/ of the release that is one of the candidates, and print "
            "its audit report again.",
        ),
    ]
    waivers: Waivers
    progress: Reporting


class DiffOptions(TypedDict, total=False):
    """Options of `diff`."""

    since: Annotated[
        "str | None",
        Option(None, "Compare the one policy or folder that is named with this git revision of it."),
    ]
    source: Annotated["Table | None", Option(None, "Plan both policies on this table.")]
    expected_rows: Annotated[
        "int | None", Option(None, "Plan both for so many records, without data.", range=(1, None))
    ]
    root: Root
    today: Today
    data: Annotated["bool", Option(default=False, help="Plan each policy on its own table.")]
    progress: Reporting


class RunTestsOptions(TypedDict, total=False):
    """Options of `run_tests`."""

    root: Root
    progress: Reporting


class InitOptions(TypedDict, total=False):
    """Options of `init`."""

    table: DatabaseTable
    mechanism: Annotated[
        "str | None",
        Option(None, "What protects, such as generalisation; default: pram, or what meets the models.", metavar="NAME"),
    ]
    models: Annotated[
        "Sequence[str]",
        Option(
            (),
            "A privacy model that must hold, such as k-anonymity; repeat it for several.",
            "model",
            metavar="NAME",
        ),
    ]
    plugins: Annotated[
        "Sequence[str]",
        Option(
            (),
            "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; the draft lists it.",
            "plugin",
        ),
    ]
    progress: Reporting


class CheckTableOptions(TypedDict, total=False):
    """Options of `check_table`."""

    qi: Annotated[
        "Sequence[str] | None",
        Option(None, "Columns that make a class, with commas between; repeat it for a name with a comma."),
    ]
    sensitive: Annotated["Sequence[str] | None", Option(None, "Columns to protect, with commas between.")]
    policy: Annotated[
        "PolicyLike | None",
        Option(None, "A policy: its roles, orders, hierarchies, and its entries of these models."),
    ]
    table: DatabaseTable
    k: Annotated["int | None", Option(None, "Require k-anonymity.")]
    l: Annotated["Threshold | None", Option(None, "Require l-diversity.")]
    kind: Annotated["str", Option("distinct", "Kind of l-diversity, as in a policy.")]
    c: Annotated["Threshold | None", Option(None, "The c of recursive (c, l)-diversity.")]
    t: Annotated["Threshold | None", Option(None, "Require t-closeness.")]
    distance: Annotated["str", Option("variational", "Distance of t-closeness, as in a policy.")]
    alpha: Annotated["Threshold | None", Option(None, "With --k, require (alpha, k)-anonymity.")]
    beta: Annotated["Threshold | None", Option(None, "Require beta-likeness.")]
    likeness: Annotated["str", Option("basic", "Kind of beta-likeness, as in a policy.")]
    delta: Annotated["Threshold | None", Option(None, "Require delta-disclosure privacy, in bits.")]
    values: Annotated["str", Option("all", "Values of delta-disclosure privacy, as in a policy.")]
    k_map: Annotated["int | None", Option(None, "Require k-map: so many people agree with every class.")]
    presence_max: Annotated["Threshold | None", Option(None, "Require delta-presence of at most so much.")]
    presence_min: Annotated["Threshold | None", Option(None, "Of delta-presence, at least so much.")]
    decided_by: Annotated[
        "str | None", Option(None, "`estimate` lets an estimate decide k-map; else it does not pass.")
    ]
    weights: Annotated[
        "str | None", Option(None, "The column that says how many people a record stands for.", metavar="COLUMN")
    ]
    sampling_fraction: Annotated["Threshold | None", Option(None, "Share of the population in the table.")]
    reference: Annotated[
        "Table | None",
        Option(None, "A table of the whole population, with the columns of --qi.", metavar="TABLE"),
    ]
    suda: Annotated["int | None", Option(None, "Find and score minimal sample uniques of at most so many columns.")]
    suppressed: Annotated[
        "str | None", Option(None, "Text of a suppressed value, such as '*': such records are in no class.")
    ]
    root: Root
    plugins: Annotated["Sequence[str]", Option((), TABLE_PLUGIN, "plugin")]


class WhatHoldsOptions(TypedDict, total=False):
    """Options of `what_holds`."""

    randomised: Annotated[
        "str | Sequence[str] | None",
        Option(None, "A column that is randomised; default: both.", metavar="COLUMN"),
    ]
    doubly_stochastic: Annotated[
        "str | Sequence[str]",
        Option((), "A column whose matrix has rows that add up to 1, as its columns do.", metavar="COLUMN"),
    ]
    half: Annotated[
        "str | Sequence[str]",
        Option((), "A column whose categories are kept with probability 1/2 or more.", metavar="COLUMN"),
    ]
    table: DatabaseTable
    plugins: Annotated["Sequence[str]", Option((), TABLE_PLUGIN, "plugin")]


class CompareEstimatesOptions(TypedDict, total=False):
    """Options of `compare_estimates`."""

    kind: Annotated[
        "ComparisonKind",
        Option(
            "difference",
            "Differences from the first, ratios to it, or the slope over the releases.",
            kind=Literal["difference", "ratio", "trend"],
        ),
    ]
    times: Annotated[
        "Sequence[float] | None",
        Option(
            None,
            "When each release was, for a trend; repeat it for each. Default 0, 1, 2 and so on.",
            "time",
            kind=list[float],
        ),
    ]
    overlap: Annotated[
        "int | None",
        Option(
            None,
            "The most people who are in two of the releases, 0 for separate samples; default: as many as can be. For "
            "--population.",
        ),
    ]
    target: Annotated["Target | None", Option(None, "As for `Release.crosstab`; default: that of the results.", None)]
    level: Annotated["float | None", Option(None, "Level of the intervals; default: that of the results.", None)]


class OpenReleaseOptions(TypedDict, total=False):
    """Options of `open_release`."""

    verify: Verifying
    plugins: Annotated["Sequence[str]", Option((), FORMAT_PLUGIN, "plugin", metavar="DISTRIBUTION")]


class ExportOptions(TypedDict, total=False):
    """Options of `export`."""

    out: Annotated["PathLike | None", Option(None, "A file that is not there yet; default: standard output.")]
    plugins: Annotated[
        "Sequence[str]",
        Option((), "A distribution to load for the format of the data; repeat it for several.", "plugin"),
    ]
    verify: Verifying


class SqlOptions(TypedDict, total=False):
    """Options of `sql`."""

    table: Annotated[
        "str | None",
        Option(None, "The table's name in the engine; default: as the policy calls it.", metavar="NAME"),
    ]
    root: Root


class ReleaseOptions(TypedDict, total=False):
    """Options of `release`."""

    label: Label
    key: Annotated[
        "PathLike | None",
        Option(
            None,
            "Keep the key here (created 0600), or use this one; default: it is destroyed. A series needs one. "
            + SECRETS,
            kind=str,
        ),
    ]
    source: Annotated["Table | None", Option(None, SOURCE)]
    root: Root
    today: Today
    sink: Annotated[
        "str | None",
        Option(None, "What expands the drawn counts and writes the data files, such as spark; default: here."),
    ]
    replaces: Annotated["PathLike | None", Option(None, "A release that this one corrects.", metavar="BUNDLE")]
    push: Annotated[
        "str | None",
        Option(None, "Enter it in the ledger of this branch first, or release nothing.", metavar="REMOTE/BRANCH"),
    ]
    key_passphrase: KeyPassphrase
    waivers: Waivers
    progress: Reporting


class CollectOptions(TypedDict, total=False):
    """Options of `collect`."""

    label: Label
    root: Root
    today: Today
    waivers: Waivers
    progress: Reporting


class OpenQuestionnaireOptions(TypedDict, total=False):
    """Options of `open_questionnaire`."""

    plugins: Annotated[
        "Sequence[str]",
        Option((), "Load this distribution for an axis of a plugin; repeat it.", "plugin", metavar="DISTRIBUTION"),
    ]


class VerifyOptions(TypedDict, total=False):
    """Options of `verify`."""

    level: Annotated[
        "VerificationLevel | Literal['public', 'audit', 'source', 'key'] | None",
        Option(
            None,
            "Up to which; default: the highest that the inputs allow.",
            kind=Literal["public", "audit", "source", "key"],
        ),
    ]
    source: Annotated["Table | None", Option(None, "The original table.")]
    key: Annotated["PathLike | None", Option(None, f"The release's key file. {SECRETS}", kind=str)]
    plan_on: Annotated["Table | None", Option(None, "The table that the parameters were chosen on, if not the source.")]
    reference: Annotated["Table | None", Option(None, "The population that people were counted in, if any were.")]
    today: Annotated[
        "date | None",
        Option(None, "Look at review dates as of this day, such as 2027-01-31; default: today."),
    ]
    ledger: Annotated["PathLike | None", Option(None, "The ledger that the release must stand in.", metavar="FILE")]
    plugins: Annotated["Sequence[str]", Option((), THE_PLUGIN, "plugin")]
    signed_by: Annotated[
        "Sequence[PathLike]",
        Option((), "A public key that must have signed the release; again for each further one."),
    ]
    verified_by: Annotated[
        "Sequence[PathLike]",
        Option(
            (),
            "An auditor's public key that must have signed a verification of it, to that level at least.",
            metavar="FILE[=LEVEL]",
            kind=list[str],
        ),
    ]
    signers: Annotated[
        "PathLike | None",
        Option(None, "The file of allowed signers, for the roles that the release requires."),
    ]
    as_of: Annotated["date | None", Option(None, "With --signers: keys trusted on this day; default: today.")]
    unsigned: Annotated[
        "bool",
        Option(default=False, help="It was just made: the signatures that it requires stay undecided."),
    ]
    superseded: Annotated[
        "bool", Option(default=False, help="With --ledger: it may be of an older version of its policy.")
    ]
    progress: Reporting


class ArchiveOptions(TypedDict, total=False):
    """Options of `archive`."""

    ledger: Annotated["PathLike | None", Option(None, "The ledger that it stands in.", metavar="FILE")]
    signers: Annotated["PathLike | None", Option(None, "The file of allowed signers.", metavar="FILE")]


class AttackOptions(TypedDict, total=False):
    """Options of `attack`."""

    source: Annotated[
        "Table | Sequence[Table]",
        Option(
            ...,
            "The original table; of several releases, the one of all, or repeated, that of each in their order.",
            kind=list[str],
        ),
    ]
    write: Annotated[
        "bool",
        Option(
            default=False,
            help="Put the test into audit/ of the first bundle, and into its report; `verify` and `evidence` then read "
            "it there.",
        ),
    ]
    plugins: Annotated["Sequence[str]", Option((), ONE_PLUGIN, "plugin")]
    progress: Reporting


class SignOptions(TypedDict, total=False):
    """Options of `sign`."""

    recall: Annotated[
        "str | None",
        Option(None, "Sign a notice that the release is not to be used any more: why.", metavar="REASON"),
    ]
    plugins: Annotated["Sequence[str]", Option((), THE_PLUGIN, "plugin")]
    passphrase: Annotated[
        "str | None",
        Option(None, "The key's passphrase; default: RRPOLICY_PASSPHRASE, else it is asked for.", None),
    ]


class EvidenceOptions(TypedDict, total=False):
    """Options of `evidence`."""

    page: Annotated[
        "Literal['public', 'audit'] | None",
        Option(None, "Which numbers may be shown; default: audit where audit/ is at hand.", kind=Page),
    ]
    signed_by: Annotated["Sequence[PathLike]", Option((), "A public key that must have signed the release.")]
    signers: Annotated["PathLike | None", Option(None, "The file of allowed signers, for the roles it requires.")]
    plugins: Annotated["Sequence[str]", Option((), THE_PLUGIN, "plugin")]
    as_of: Annotated["date | None", Option(None, "With `signers`: keys trusted on this day; default: today.", None)]


class RenderOptions(TypedDict, total=False):
    """Options of `render`."""

    format: Annotated["str", Option("html", "html, json, or what a plugin offers.")]
    page: Annotated[
        "Literal['public', 'audit'] | None",
        Option(None, "Default: audit where audit/report.json is at hand, else public.", kind=Page),
    ]
    out: Out
    plugins: Annotated[
        "Sequence[str]",
        Option((), "A distribution to load as well, such as acme-oue>=1.2; a bundle loads none.", "plugin"),
    ]
    verify: Verifying


class InitLedgerOptions(TypedDict, total=False):
    """Options of `init_ledger`."""

    budgets: Annotated[
        "Sequence[PathLike]",
        Option(
            (),
            "A policy: all releases of its population keep its budget. Again for each population.",
            "budget",
            metavar="POLICY",
        ),
    ]


class AddToLedgerOptions(TypedDict, total=False):
    """Options of `add_to_ledger`."""

    population: Annotated["str | None", Option(None, "The population that its records were drawn from.")]
    overlap: Annotated[
        "Overlap",
        Option(
            "any",
            "How its people stand to those of earlier releases, as under [ledger].",
            kind=Literal["any", "nested", "same", "none"],
        ),
    ]
    withdraw: Annotated[
        "str | None",
        Option(None, "The entry of a release whose bundle never appeared: it counts no more.", metavar="HASH"),
    ]
    budget: Annotated[
        "PathLike | None",
        Option(None, "A policy: from now on its budget holds for its population.", metavar="POLICY"),
    ]
    recall: Annotated[
        "str | None", Option(None, "The entry of a release that is not to be used any more.", metavar="HASH")
    ]
    replaced_by: Annotated[
        "str | None",
        Option(None, "With --recall: the entry of the release to use in its place.", metavar="HASH"),
    ]
    reason: Annotated["str | None", Option(None, "Why; it stays in the ledger.")]
    by: Annotated["str | None", Option(None, "Who decided a budget or a recall: a role, or a name.")]
    plugins: Annotated["Sequence[str]", Option((), LEDGER_PLUGIN, "plugin")]
    join: Annotated["bool", Option(default=False, help="Make two histories one, after a merge of two branches.")]


class ShowLedgerOptions(TypedDict, total=False):
    """Options of `show_ledger`."""

    plugins: Annotated["Sequence[str]", Option((), LEDGER_PLUGIN, "plugin")]


class VerifyLedgerOptions(TypedDict, total=False):
    """Options of `verify_ledger`."""

    expect_head: Annotated[
        "str | None",
        Option(None, "A head that was seen before; a ledger that lacks it was cut off.", metavar="HASH"),
    ]
    bundles: Annotated[
        "Sequence[PathLike]",
        Option((), "A release that must stand in it. Again for each further one.", "bundle", metavar="DIR"),
    ]
    since: Annotated[
        "str | None",
        Option(None, "A git revision; the ledger must have every entry that it had there.", metavar="REVISION"),
    ]
    plugins: Annotated["Sequence[str]", Option((), LEDGER_PLUGIN, "plugin")]


class InventoryOptions(TypedDict, total=False):
    """Options of `inventory`."""

    bundles: Annotated[
        "Sequence[PathLike]", Option((), "A folder in which bundles lie. Again for each.", metavar="DIR")
    ]
    today: Today
    out: Annotated["PathLike | None", Option(None, "Write it as a page here. Confidential.")]
    plugins: Annotated["Sequence[str]", Option((), LEDGER_PLUGIN, "plugin")]


def shared(options: Mapping[str, Any], verb: Any) -> Any:
    """Return those of a verb's options that another verb has as well."""
    return {name: value for name, value in options.items() if name in verb.__annotations__}


def options_of(parameter: inspect.Parameter) -> Mapping[str, tuple[str, Option]]:
    """Return the options that `**options: Unpack[…]` takes, by name: the type as text, and the rest."""
    verb = globals()[parameter.annotation.removeprefix("Unpack[").removesuffix("]")]
    return {
        name: (kind.__origin__.__forward_arg__, kind.__metadata__[0]) for name, kind in verb.__annotations__.items()
    }


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that fills in its verb's options; its signature and documentation list them."""
    signature = inspect.signature(function)
    *own, last = signature.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return function
    options = options_of(last)
    defaults = {name: option.default for name, (_, option) in options.items() if option.default is not ...}
    known = {*options, *(parameter.name for parameter in own)}

    @wraps(function)
    def run(*args: P.args, **given: P.kwargs) -> R:
        for name in given:
            if name not in known:
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
        return function(*args, **{**defaults, **given})

    listed = [
        inspect.Parameter(name, last.KEYWORD_ONLY, default=defaults.get(name, last.empty), annotation=kind)
        for name, (kind, _) in options.items()
    ]
    text = "".join(f"\n        {name}: {option.help}" for name, (_, option) in options.items())
    run.__doc__ = re.sub(
        r"\n\n    (?=Returns:|Raises:)", lambda found: text + found[0], function.__doc__ or "", count=1
    )
    vars(run)["__signature__"] = signature.replace(parameters=[*own, *listed])
    return run
