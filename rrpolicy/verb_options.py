"""The options of each verb, stated once: its public function, its command and its documentation are made of them.

Each class is the type of the keywords of one function of `rrpolicy.api` (PEP 692). An `Option` adds the default and
the help to a type. Types in quotes are imported for type checkers alone, as this module is loaded with `rrpolicy`.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    Required,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
)

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
    """An addition to the type and the help of an option; most have none.

    Attributes:
        default: default of the keyword; "": None, or no items, or false, by the type.
        flag: flag of the command; "": `--` and the name; None: the command has no such option.
        metavar: placeholder of the value in the command's help.
        kind: type of the command's value; default: by the option's type.
        range: least and greatest number.
        type: type of the keyword, as text.
        help: help text of the function and of the command.
    """

    default: Any = ""
    flag: str | None = ""
    metavar: str | None = None
    kind: Any = None
    range: tuple[int | None, int | None] = (None, None)
    type: str = ""
    help: str = ""


ONE_PLUGIN = "A distribution that a bundle lists and you trust, such as acme-oue>=1.2."
THE_PLUGIN = "A distribution that the bundle lists and you trust, such as acme-oue>=1.2."
LEDGER_PLUGIN = "A distribution to load, such as acme-oue>=1.2. Again for each."
TABLE_PLUGIN = "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; repeat it for several."
FORMAT_PLUGIN = "A distribution to load for the format of the data, or for an estimator; repeat it for several."
SECRETS = "env:NAME, or command:… as one word, gives a secret of 32 bytes that the key is derived from."
NO_VERIFY = "Do not check the digests of release.json and of the files that are read."
SOURCE = "Read this table in place of the policy's."

Root: TypeAlias = Annotated[
    "PathLike | None",
    "The folder that contains all files of the policy; default: the top of its repository, else its own folder.",
    Option(metavar="DIR"),
]
Today: TypeAlias = Annotated[
    "date | None", "Judge review dates and waivers as of this day, such as 2027-01-31; default: today."
]
Waivers: TypeAlias = Annotated["bool", "Judge as if nothing were waived.", Option(default=True, flag="no-waivers")]
Verifying: TypeAlias = Annotated["bool", NO_VERIFY, Option(default=True, flag="no-verify")]
Reporting: TypeAlias = Annotated[
    "Progress", "Called with the current step and the share done.", Option(default=no_progress, flag=None)
]
KeyPassphrase: TypeAlias = Annotated["str | None", "The passphrase of a new key's file.", Option(flag=None)]
ExpectedRows: TypeAlias = Annotated["int | None", "Plan for so many records, without data.", Option(range=(1, None))]
DatabaseTable: TypeAlias = Annotated["str | None", "The table or view inside a database."]
Label: TypeAlias = Annotated["str | None", "The release's label, such as 2026-11.", Option(flag="as")]
Out: TypeAlias = Annotated["PathLike | None", "Where to write it; default: standard output."]
Page: TypeAlias = Literal["public", "audit"]


class CheckOptions(TypedDict, total=False):
    """Options of `check`."""

    extends: Annotated[
        "PathLike | None", "A baseline: refuse a policy that does not extend it.", Option(metavar="FILE", kind=str)
    ]
    source: Annotated[
        "Table | Literal[True] | None",
        "Hold this table against the policy as well; without a value, behind the policies, the policy's own.",
        Option(metavar="[TABLE]"),
    ]
    root: Root
    today: Today
    waivers: Waivers


class PlanOptions(TypedDict, total=False):
    """Options of `plan`."""

    out: Annotated["PathLike | None", "Write the plan here; `release` then executes exactly it."]
    key: Annotated[
        "PathLike | None", f"Where the plan's key goes; default: the plan with .key added. {SECRETS}", Option(kind=str)
    ]
    expected_rows: Annotated[
        "int | None",
        "Plan for so many records, without data; --out then writes a questionnaire as well.",
        Option(range=(1, None)),
    ]
    root: Root
    today: Today
    key_passphrase: KeyPassphrase
    waivers: Waivers
    bound: Annotated[
        "bool",
        "Bind the plan to the table by a fresh key, at the cost of a pass over the data: `release` accepts "
        "only this table, unchanged. Without it the plan can only be inspected.",
        Option(default=True, flag=None),
    ]
    progress: Reporting


class PreviewOptions(TypedDict, total=False):
    """Options of `preview`."""

    source: Annotated["Table | None", "The table, as for `plan`.", Option(flag=None)]
    format: Annotated["str", "html, json, or the name of a plugin's renderer.", Option(default="html", flag=None)]
    trade_off: Annotated[
        "bool",
        "Plan with other limits of a requirement as well, for the map of risk and error.",
        Option(default=True, flag=None),
    ]
    root: Root
    today: Today
    waivers: Waivers
    progress: Reporting


class CompareOptions(TypedDict, total=False):
    """Options of `compare`."""

    mechanisms: Annotated[
        "Sequence[str]",
        "Try these on each policy, in place of its mechanism.",
        Option(flag="mechanism", metavar="A,B", kind=str),
    ]
    vary: Annotated[
        "Mapping[str, Sequence[object]] | None",
        "Let a key of the policy's own file take each of these values, such as privacy.0.threshold=1/2,1/3; repeat "
        "it: all combinations are compared.",
        Option(metavar="KEY=VALUES", kind=list[str]),
    ]
    source: Annotated["Table | None", "Read this table in place of the policies' own."]
    expected_rows: ExpectedRows
    draws: Annotated["int", "Simulated draws of each marginal.", Option(default=20, range=(20, 10_000))]
    resume: Annotated[
        "PathLike | None",
        "Store finished candidates in this file, and reuse the unchanged ones; it is created if missing"
        ". Policies with a ledger or plan_on are planned again each time.",
    ]
    risk: Annotated["str | None", "The risk of the map, by its name in the table.", Option(metavar="ID")]
    error: Annotated["str | None", "The error of the map, the same.", Option(metavar="ID")]
    root: Root
    plugins: Annotated[
        "Sequence[str]",
        "A distribution that a release may load, such as acme-oue>=1.2; none is loaded on its word alone.",
        Option(flag="plugin", metavar="DISTRIBUTION"),
    ]
    today: Today
    write: Annotated[
        "bool",
        "Put the map and the alternatives into audit/ of the release that is one of the candidates, and print "
        "its audit report again.",
    ]
    waivers: Waivers
    progress: Reporting


class DiffOptions(TypedDict, total=False):
    """Options of `diff`."""

    since: Annotated["str | None", "Compare the one policy or folder that is named with this git revision of it."]
    source: Annotated["Table | None", "Plan both policies on this table."]
    expected_rows: Annotated["int | None", "Plan both for so many records, without data.", Option(range=(1, None))]
    root: Root
    today: Today
    data: Annotated["bool", "Plan each policy on its own table."]
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
        "What protects, such as generalisation; default: pram, or what meets the models.",
        Option(metavar="NAME"),
    ]
    models: Annotated[
        "Sequence[str]",
        "A required privacy model, such as k-anonymity; repeat it for several.",
        Option(flag="model", metavar="NAME"),
    ]
    plugins: Annotated[
        "Sequence[str]",
        "A distribution to load for a table that it opens, such as acme-sqlite>=0.3; the draft lists it.",
        Option(flag="plugin"),
    ]
    progress: Reporting


class TableRoleOptions(TypedDict, total=False):
    """Options of `check_table` on the roles of columns."""

    qi: Annotated[
        "Sequence[str] | None", "Columns that make a class, with commas between; repeat it for a name with a comma."
    ]
    sensitive: Annotated["Sequence[str] | None", "Columns to protect, with commas between."]
    policy: Annotated["PolicyLike | None", "A policy: its roles, orders, hierarchies, and its entries of these models."]
    table: DatabaseTable


class ClassLimits(TypedDict, total=False):
    """Options of `check_table` that state a requirement: the options of class models, each as its model calls it."""

    k: Annotated["int | None", "Require k-anonymity."]
    l: Annotated["Threshold | None", "Require l-diversity."]
    kind: Annotated["str", "Kind of l-diversity, as in a policy.", Option(default="distinct")]
    c: Annotated["Threshold | None", "The c of recursive (c, l)-diversity."]
    t: Annotated["Threshold | None", "Require t-closeness."]
    distance: Annotated["str", "Distance of t-closeness, as in a policy.", Option(default="variational")]
    alpha: Annotated["Threshold | None", "With --k, require (alpha, k)-anonymity."]
    beta: Annotated["Threshold | None", "Require beta-likeness."]
    likeness: Annotated["str", "Kind of beta-likeness, as in a policy.", Option(default="basic")]
    delta: Annotated["Threshold | None", "Require delta-disclosure privacy, in bits."]
    values: Annotated["str", "Values of delta-disclosure privacy, as in a policy.", Option(default="all")]
    k_map: Annotated["int | None", "Require k-map: so many people agree with every class."]
    presence_max: Annotated["Threshold | None", "Require delta-presence of at most so much."]
    presence_min: Annotated["Threshold | None", "Of delta-presence, at least so much."]
    decided_by: Annotated["str | None", "`estimate` lets an estimate decide k-map; else it does not pass."]


class CheckTableOptions(TableRoleOptions, ClassLimits, total=False):
    """Options of `check_table`."""

    weights: Annotated[
        "str | None", "The column with the number of people that a record represents.", Option(metavar="COLUMN")
    ]
    sampling_fraction: Annotated["Threshold | None", "Share of the population in the table."]
    reference: Annotated[
        "Table | None", "A table of the whole population, with the columns of --qi.", Option(metavar="TABLE")
    ]
    suda: Annotated["int | None", "Find and score minimal sample uniques of at most so many columns."]
    suppressed: Annotated["str | None", "Text of a suppressed value, such as '*': such records are in no class."]
    unit: Annotated[
        "str | None", "The column that all records of a person or household share.", Option(metavar="COLUMN")
    ]
    root: Root
    plugins: Annotated["Sequence[str]", TABLE_PLUGIN, Option(flag="plugin")]


class WhatHoldsOptions(TypedDict, total=False):
    """Options of `what_holds`."""

    randomised: Annotated[
        "str | Sequence[str] | None", "A column that is randomised; default: both.", Option(metavar="COLUMN")
    ]
    doubly_stochastic: Annotated[
        "str | Sequence[str]",
        "A column whose matrix has rows that add up to 1, as its columns do.",
        Option(metavar="COLUMN"),
    ]
    half: Annotated[
        "str | Sequence[str]",
        "A column whose categories are unchanged with probability 1/2 or more.",
        Option(metavar="COLUMN"),
    ]
    table: DatabaseTable
    plugins: Annotated["Sequence[str]", TABLE_PLUGIN, Option(flag="plugin")]


class CompareEstimatesOptions(TypedDict, total=False):
    """Options of `compare_estimates`."""

    kind: Annotated[
        "ComparisonKind",
        "Differences from the first, ratios to it, or the slope over the releases.",
        Option(default="difference", kind=Literal["difference", "ratio", "trend"]),
    ]
    times: Annotated[
        "Sequence[float] | None",
        "When each release was, for a trend; repeat it for each. Default 0, 1, 2 and so on.",
        Option(flag="time", kind=list[float]),
    ]
    overlap: Annotated[
        "int | None",
        "The most people who are in two of the releases, 0 for separate samples; default: as many as can be. For "
        "--population.",
    ]
    target: Annotated["Target | None", "As for `Release.crosstab`; default: that of the results.", Option(flag=None)]
    level: Annotated["float | None", "Level of the intervals; default: that of the results.", Option(flag=None)]


class OpenReleaseOptions(TypedDict, total=False):
    """Options of `open_release`."""

    verify: Verifying
    plugins: Annotated["Sequence[str]", FORMAT_PLUGIN, Option(flag="plugin", metavar="DISTRIBUTION")]


class ExportOptions(TypedDict, total=False):
    """Options of `export`."""

    out: Annotated["PathLike | None", "A file that is not there yet; default: standard output."]
    plugins: Annotated[
        "Sequence[str]",
        "A distribution to load for the format of the data; repeat it for several.",
        Option(flag="plugin"),
    ]
    verify: Verifying


class SqlOptions(TypedDict, total=False):
    """Options of `sql`."""

    table: Annotated[
        "str | None", "The table's name in the engine; default: as the policy calls it.", Option(metavar="NAME")
    ]
    root: Root


class ReleaseOptions(TypedDict, total=False):
    """Options of `release`."""

    label: Label
    key: Annotated[
        "PathLike | None",
        "Keep the key here (created 0600), or use this one; default: it is destroyed. A series needs one. " + SECRETS,
        Option(kind=str),
    ]
    source: Annotated["Table | None", SOURCE]
    root: Root
    today: Today
    sink: Annotated[
        "str | None", "What expands the drawn counts and writes the data files, such as spark; default: here."
    ]
    replaces: Annotated["PathLike | None", "A release that this one corrects.", Option(metavar="BUNDLE")]
    push: Annotated[
        "str | None",
        "Enter it in the ledger of this branch first, or release nothing.",
        Option(metavar="REMOTE/BRANCH"),
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
        "Load this distribution for an axis of a plugin; repeat it.",
        Option(flag="plugin", metavar="DISTRIBUTION"),
    ]


class VerifyOptions(TypedDict, total=False):
    """Options of `verify`."""

    level: Annotated[
        "VerificationLevel | Literal['public', 'audit', 'source', 'key'] | None",
        "Up to which; default: the highest that the inputs allow.",
        Option(kind=Literal["public", "audit", "source", "key"]),
    ]
    source: Annotated["Table | None", "The original table."]
    key: Annotated["PathLike | None", f"The release's key file. {SECRETS}", Option(kind=str)]
    plan_on: Annotated["Table | None", "The table that the parameters were chosen on, if not the source."]
    reference: Annotated["Table | None", "The population that people were counted in, if any were."]
    today: Annotated["date | None", "Look at review dates as of this day, such as 2027-01-31; default: today."]
    ledger: Annotated["PathLike | None", "The ledger that must contain the release.", Option(metavar="FILE")]
    plugins: Annotated["Sequence[str]", THE_PLUGIN, Option(flag="plugin")]
    signed_by: Annotated[
        "Sequence[PathLike]", "A public key that must have signed the release; again for each further one."
    ]
    verified_by: Annotated[
        "Sequence[PathLike]",
        "An auditor's public key that must have signed a verification of it, to that level at least.",
        Option(metavar="FILE[=LEVEL]", kind=list[str]),
    ]
    signers: Annotated["PathLike | None", "The file of allowed signers, for the roles that the release requires."]
    as_of: Annotated["date | None", "With --signers: keys trusted on this day; default: today."]
    unsigned: Annotated["bool", "It was just made: the signatures that it requires stay undecided."]
    superseded: Annotated["bool", "With --ledger: it may be of an older version of its policy."]
    progress: Reporting


class ArchiveOptions(TypedDict, total=False):
    """Options of `archive`."""

    ledger: Annotated["PathLike | None", "The ledger that contains it.", Option(metavar="FILE")]
    signers: Annotated["PathLike | None", "The file of allowed signers.", Option(metavar="FILE")]


class AttackOptions(TypedDict, total=False):
    """Options of `attack`."""

    source: Annotated[
        Required["Table | Sequence[Table]"],
        "The original table; of several releases, the one of all, or repeated, that of each in their order.",
        Option(default=..., kind=list[str]),
    ]
    write: Annotated[
        "bool",
        "Put the test into audit/ of the first bundle, and into its report; `verify` and `evidence` then read "
        "it there.",
    ]
    plugins: Annotated["Sequence[str]", ONE_PLUGIN, Option(flag="plugin")]
    progress: Reporting


class SignOptions(TypedDict, total=False):
    """Options of `sign`."""

    recall: Annotated[
        "str | None", "Sign a notice that the release is not to be used any more: why.", Option(metavar="REASON")
    ]
    plugins: Annotated["Sequence[str]", THE_PLUGIN, Option(flag="plugin")]
    passphrase: Annotated[
        "str | None", "The key's passphrase; default: RRPOLICY_PASSPHRASE, else it is typed in.", Option(flag=None)
    ]


class EvidenceOptions(TypedDict, total=False):
    """Options of `evidence`."""

    page: Annotated[
        "Literal['public', 'audit'] | None",
        "Which numbers may be shown; default: audit where audit/ is at hand.",
        Option(kind=Page),
    ]
    signed_by: Annotated["Sequence[PathLike]", "A public key that must have signed the release."]
    signers: Annotated["PathLike | None", "The file of allowed signers, for the roles it requires."]
    plugins: Annotated["Sequence[str]", THE_PLUGIN, Option(flag="plugin")]
    as_of: Annotated["date | None", "With `signers`: keys trusted on this day; default: today.", Option(flag=None)]


class RenderOptions(TypedDict, total=False):
    """Options of `render`."""

    format: Annotated["str", "html, json, or what a plugin offers.", Option(default="html")]
    page: Annotated[
        "Literal['public', 'audit'] | None",
        "Default: audit where audit/report.json is at hand, else public.",
        Option(kind=Page),
    ]
    out: Out
    plugins: Annotated[
        "Sequence[str]",
        "A distribution to load as well, such as acme-oue>=1.2; a bundle loads none.",
        Option(flag="plugin"),
    ]
    verify: Verifying


class InitLedgerOptions(TypedDict, total=False):
    """Options of `init_ledger`."""

    budgets: Annotated[
        "Sequence[PathLike]",
        "A policy: all releases of its population keep its budget. Again for each population.",
        Option(flag="budget", metavar="POLICY"),
    ]


class AddToLedgerOptions(TypedDict, total=False):
    """Options of `add_to_ledger`."""

    population: Annotated["str | None", "The population that its records were drawn from."]
    overlap: Annotated[
        "Overlap",
        "The overlap of its people with earlier releases, as under [ledger].",
        Option(default="any", kind=Literal["any", "nested", "same", "none"]),
    ]
    withdraw: Annotated[
        "str | None", "The entry of a release whose bundle never appeared: it counts no more.", Option(metavar="HASH")
    ]
    budget: Annotated[
        "PathLike | None", "A policy whose budget applies to its population from now.", Option(metavar="POLICY")
    ]
    recall: Annotated["str | None", "The entry of a release that is not to be used any more.", Option(metavar="HASH")]
    replaced_by: Annotated[
        "str | None", "With --recall: the entry of the release to use in its place.", Option(metavar="HASH")
    ]
    reason: Annotated["str | None", "Why; it stays in the ledger."]
    by: Annotated["str | None", "Who decided a budget or a recall: a role, or a name."]
    plugins: Annotated["Sequence[str]", LEDGER_PLUGIN, Option(flag="plugin")]
    join: Annotated["bool", "Make two histories one, after a merge of two branches."]


class ShowLedgerOptions(TypedDict, total=False):
    """Options of `show_ledger`."""

    plugins: Annotated["Sequence[str]", LEDGER_PLUGIN, Option(flag="plugin")]


class VerifyLedgerOptions(TypedDict, total=False):
    """Options of `verify_ledger`."""

    expect_head: Annotated[
        "str | None", "A head that was seen before; a ledger that lacks it was cut off.", Option(metavar="HASH")
    ]
    bundles: Annotated[
        "Sequence[PathLike]",
        "A release that it must contain. Repeat it for each further one.",
        Option(flag="bundle", metavar="DIR"),
    ]
    since: Annotated[
        "str | None", "A git revision; the ledger must have every entry that it had there.", Option(metavar="REVISION")
    ]
    plugins: Annotated["Sequence[str]", LEDGER_PLUGIN, Option(flag="plugin")]


class InventoryOptions(TypedDict, total=False):
    """Options of `inventory`."""

    bundles: Annotated["Sequence[PathLike]", "A folder in which bundles lie. Again for each.", Option(metavar="DIR")]
    today: Today
    out: Annotated["PathLike | None", "Write it as a page here. Confidential."]
    plugins: Annotated["Sequence[str]", LEDGER_PLUGIN, Option(flag="plugin")]


def shared(options: Mapping[str, Any], verb: Any) -> Any:
    """Return those of a verb's options that another class has as well: of a verb, or of documents."""
    return {name: value for name, value in options.items() if name in verb.__annotations__}


def options_of(parameter: inspect.Parameter) -> Mapping[str, Option]:
    """Return the options that `**options: Unpack[…]` takes, by name."""
    verb = globals()[parameter.annotation.removeprefix("Unpack[").removesuffix("]")]
    kinds = {name: (get_args(kind)[0], *kind.__metadata__) for name, kind in verb.__annotations__.items()}
    return {name: _option(*kind) for name, kind in kinds.items()}


def _option(kind: Any, text: str, option: Option | None = None) -> Option:
    stated: str = (get_args(kind)[0] if get_origin(kind) is Required else kind).__forward_arg__
    option = option or Option()
    default = option.default
    if default == "":
        default = None if stated.endswith("None") else False if stated == "bool" else ()
    return option._replace(default=default, type=stated, help=text)


def _meaning(option: Option) -> str:
    """Return the help as it reads for the function; a flag that switches something off is there False."""
    inverted = option.default is True and option.flag
    return f"False: {option.help[0].lower()}{option.help[1:]}" if inverted else option.help


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that fills in its verb's options; its signature and documentation list them."""
    signature = inspect.signature(function)
    *own, last = signature.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return function
    options = options_of(last)
    defaults = {name: option.default for name, option in options.items() if option.default is not ...}
    known = {*options, *(parameter.name for parameter in own)}

    @wraps(function)
    def run(*args: P.args, **given: P.kwargs) -> R:
        for name in given.keys() - known:
            raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
        for name in options.keys() - defaults.keys() - given.keys():
            raise TypeError(f"{function.__qualname__}() missing a required keyword-only argument: {name!r}")
        return function(*args, **{**defaults, **given})

    listed = [
        inspect.Parameter(name, last.KEYWORD_ONLY, default=defaults.get(name, last.empty), annotation=option.type)
        for name, option in options.items()
    ]
    text = "".join(f"\n        {name}: {_meaning(option)}" for name, option in options.items())
    run.__doc__ = re.sub(
        r"\n\n    (?=Returns:|Raises:)", lambda found: text + found[0], function.__doc__ or "", count=1
    )
    vars(run)["__signature__"] = signature.replace(parameters=[*own, *listed])
    return run
