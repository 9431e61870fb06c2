"""The [[privacy]] and [mechanism] tables of a draft, from the declarations of mechanisms and privacy models."""

from __future__ import annotations

import difflib
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.policy.load import PLACEHOLDER_MARK
from rrpolicy.policy.tree.problems import toml_value

if TYPE_CHECKING:
    from rrpolicy.mechanism import Mechanism
    from rrpolicy.privacy.model import PrivacyModel

USUAL = ("pram", "local-dp")
"""The mechanism and the model of a draft where they fit; elsewhere the mechanism that meets the most models."""
_HIERARCHIES = """\
# The hierarchies of ordered columns above merge neighbours, level by level. A column without a hierarchy is
# released unchanged or as `*`: give it a hierarchy, such as hierarchy = "region.csv", with the category and
# what it becomes at each level in every row, between semicolons.
"""
_REFERENCE = f"""
# The population: a table with the quasi-identifiers of everybody who could be in the data.
[reference]
uri = "{PLACEHOLDER_MARK} the table of the population, such as register.parquet"
"""


class ProtectionDraft(Struct, frozen=True):
    """Protection of a draft.

    Attributes:
        tables: as TOML.
        generalises: whether quasi-identifiers are generalised along hierarchies.
    """

    tables: str
    generalises: bool


def protection(
    mechanism: str | None,
    models: Sequence[str],
    mechanisms: Mapping[str, Mechanism[Any]],
    known: Mapping[str, PrivacyModel[Any]],
) -> ProtectionDraft:
    """Return the protection of a draft by the caller's names; the first choice that fits replaces missing ones.

    `mechanisms` and `known` are those of the registry. Raises `PolicyError` (RR149) if there is no such draft.
    """
    met = {name: _models_met(each, known) for name, each in mechanisms.items()}
    fits = {name: found for name, found in met.items() if found}
    for what, name, names in (("mechanism", mechanism, fits), *(("privacy model", model, known) for model in models)):
        if name is not None and name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            message = f"there is no draft with the {what} '{name}'"
            hint = f"did you mean '{near[0]}'?" if near else "draft with another one, and edit the draft"
            raise PolicyError(Problem("RR149", message, expected=f"one of: {', '.join(names)}", hint=hint))
    by_choice = sorted(fits, key=lambda name: (name != USUAL[0], -len(fits[name])))
    chosen = mechanism or next((name for name in by_choice if {*models} <= {*fits[name]}), None)
    if chosen is None or not {*models} <= {*fits[chosen]}:
        raise PolicyError(_mechanism_mismatch(chosen, models, fits))
    planner = mechanisms[chosen]
    sizing = _sizing_models(planner, known)
    wanted = tuple(dict.fromkeys((*sizing, *models) or [_usual_model(planner, fits[chosen], known)]))
    entries = "\n".join(_privacy_entry(name, known[name]) for name in wanted)
    reference = _REFERENCE if any(_needs_reference(known[name]) for name in wanted) else ""
    generalises = _method(planner) == "generalised"
    notes = _HIERARCHIES if generalises else ""
    others = ", ".join(name for name in fits[chosen] if name not in wanted)
    if others and not models:
        notes += f"# It can meet {others} as well: `rrpolicy explain MODEL` describes each.\n"
    options = "".join(f"{line}\n" for line in _required_keys(planner.options))
    return ProtectionDraft(f'{entries}{reference}\n{notes}[mechanism]\nname = "{chosen}"\n{options}', generalises)


def _method(mechanism: Mechanism[Any]) -> str:
    method: str = getattr(mechanism, "method", "")
    return method


def _models_met(mechanism: Mechanism[Any], known: Mapping[str, PrivacyModel[Any]]) -> list[str]:
    """Return the privacy models that a mechanism can meet, by their declarations."""
    return [name for name, model in known.items() if _method(mechanism) in getattr(model, "methods", ())]


def _usual_model(mechanism: Mechanism[Any], fits: Sequence[str], known: Mapping[str, PrivacyModel[Any]]) -> str:
    """Return the usual model, or the first whose most usual method is that of the mechanism."""
    own = [name for name in fits if getattr(known[name], "methods", [""])[0] == _method(mechanism)]
    return USUAL[1] if USUAL[1] in fits else (*own, *fits)[0]


def _sizing_models(mechanism: Mechanism[Any], known: Mapping[str, PrivacyModel[Any]]) -> list[str]:
    """Return the models by which a mechanism determines the size of its groups or sets."""
    option = getattr(mechanism, "sized_by", None)
    if option is None:
        return []
    return [name for name, model in known.items() if getattr(example_options(model), option, None) is not None]


def _mechanism_mismatch(mechanism: str | None, models: Sequence[str], fits: Mapping[str, Sequence[str]]) -> Problem:
    """Return the problem of a mechanism that cannot meet privacy models, with suitable ones."""
    if mechanism is None:
        message = f"no mechanism meets {' and '.join(models)} together"
        each = "; ".join(f"{m}: {', '.join(n for n, found in fits.items() if m in found)}" for m in models)
        return Problem("RR149", message, expected="models that one mechanism meets", hint=f"mechanisms of {each}")
    unmet = [model for model in models if model not in fits[mechanism]]
    message = f"the mechanism {mechanism} cannot meet {' and '.join(unmet)}"
    others = [name for name, found in fits.items() if {*models} <= {*found}]
    hint = f"for {' and '.join(models)} take {' or '.join(others)}" if others else "draft without one of the models"
    return Problem("RR149", message, expected=f"of the models one of: {', '.join(fits[mechanism])}", hint=hint)


def example_options(model: PrivacyModel[Any]) -> BaseModel | None:
    """Return the options of a model's example; None if it has none, or one that it refuses."""
    try:
        options: BaseModel = model.options.model_validate(tomllib.loads(getattr(model, "example", "")))
    except (ValidationError, tomllib.TOMLDecodeError):
        return None
    return options


def example_promise(model: PrivacyModel[Any]) -> str:
    """Return the guarantee of a model's example in plain words, with the example; "" if the model states none."""
    options, promise = example_options(model), getattr(model, "promise", None)
    if options is None or promise is None:
        return ""
    return f"{promise(options)} (with {', '.join(getattr(model, 'example', '').splitlines())})"


def _needs_reference(model: PrivacyModel[Any]) -> bool:
    return bool(getattr(example_options(model), "needs_reference", False))


def _privacy_entry(name: str, model: PrivacyModel[Any]) -> str:
    meaning = [f"# {line}" for line in textwrap.wrap(example_promise(model), 118)]
    return "\n".join((*meaning, "[[privacy]]", f'model = "{name}"', *_entry_keys(model), ""))


def _entry_keys(model: PrivacyModel[Any]) -> Iterator[str]:
    """Yield the lines of an entry's keys: those of the example, its numbers to be filled in.

    Without an example they are the keys that the model requires.
    """
    options, fields = example_options(model), model.options.model_fields
    if options is None:
        yield from _required_keys(model.options)
        return
    for line in getattr(model, "example", "").splitlines():
        key, _, example = line.replace('"', "").partition(" = ")
        if isinstance(getattr(options, key, None), (Fraction, int, float)):
            text = f"{PLACEHOLDER_MARK} {_described(fields[key].description)}, such as {example}"
            yield f"{key} = {toml_value(text)}"
        else:
            yield line


def _required_keys(options: type[BaseModel]) -> Iterator[str]:
    """Yield the lines of the keys that have no default, to be filled in."""
    for key, field in options.model_fields.items():
        if field.is_required():
            yield f"{field.alias or key} = {toml_value(f'{PLACEHOLDER_MARK} {_described(field.description)}')}"


def _described(description: str | None) -> str:
    """Return the description of a key, to follow a colon and to be followed by a comma."""
    text = (description or "a value").removesuffix(".")
    return text[0].lower() + text[1:]
