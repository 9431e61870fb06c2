"""What a privacy model, a mechanism, a utility metric or a measure of association is, as each says itself."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rrpolicy.untrusted.printable import line

if TYPE_CHECKING:
    from rrpolicy.privacy.model import PrivacyModel
    from rrpolicy.registry import Registry


def offered(registry: Registry, name: str) -> str | None:
    """Return what goes by a name, in some lines of text; None if nothing does."""
    from rrpolicy.estimate.association.measures import MEASURES

    told: list[str] = []
    if name in registry.privacy_models:
        model = registry.privacy_models[name]
        told += [f"{name}: a privacy model", "", *_promised(model), *_keys(model.options)]
        told += ["", "it does not cover", *(f"  {limit}" for limit in getattr(model, "not_covered", ())), ""]
    if name in registry.mechanisms:
        mechanism = registry.mechanisms[name]
        told += [f"{name}: a mechanism", "", *_first(mechanism), *_keys(mechanism.options), ""]
    if name in registry.utility_metrics:
        metric = registry.utility_metrics[name]
        told += [f"{name}: a utility metric", "", metric.meaning, *_keys(metric.options), ""]
    if name in MEASURES:
        told += [f"{name}: a measure of association", "", MEASURES[name].title, ""]
    return "\n".join(map(line, told[:-1])) if told else None


def names(registry: Registry) -> tuple[str, ...]:
    """Return every name that `offered` knows."""
    from rrpolicy.estimate.association.measures import MEASURES

    return (*registry.privacy_models, *registry.mechanisms, *registry.utility_metrics, *MEASURES)


def _promised(model: PrivacyModel[Any]) -> Iterator[str]:
    """Yield what a model promises under the example of its own, if it has one."""
    example, promise = getattr(model, "example", ""), getattr(model, "promise", None)
    try:
        options = model.options.model_validate(tomllib.loads(example))
    except (ValidationError, tomllib.TOMLDecodeError):
        promise = None
    if promise is None:
        yield from _first(model)
    else:
        yield f"{promise(options)} (with {', '.join(example.splitlines())})"


def _first(of: object) -> list[str]:
    """Return the first paragraph of the docstring."""
    return [" ".join((inspect.getdoc(type(of)) or "").partition("\n\n")[0].split())]


def _keys(options: type[BaseModel]) -> Iterator[str]:
    yield from ("", "keys")
    for key, field in options.model_fields.items():
        yield f"  {field.alias or key}{f': {field.description}' if field.description else ''}"
