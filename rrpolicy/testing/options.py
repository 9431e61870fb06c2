"""What the options of every plugin must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ValidationError

from rrpolicy.testing.assertions import convert_to_assertion, demand


def check_options(kind: type[BaseModel], refused: Sequence[Mapping[str, object]] = ()) -> None:
    """Check that options cannot be changed, take no key that they do not know, and refuse what they should.

    Args:
        kind: the class of the options.
        refused: tables of options that a policy must not state.

    Raises:
        AssertionError: saying what is not as promised.
    """
    name = getattr(kind, "__name__", repr(kind))
    demand(isinstance(kind, type) and issubclass(kind, BaseModel), f"the options {name} are no class of pydantic")
    demand(kind.model_config.get("frozen") is True, f"{name} is not frozen: a plan could differ from its policy")
    demand(kind.model_config.get("extra") == "forbid", f"{name} takes unknown keys: a misspelt one is passed over")
    for table in refused:
        demand(not _accepts(kind, table), f"{name} takes {dict(table)}, which should be refused")


def _accepts(kind: type[BaseModel], table: Mapping[str, object]) -> bool:
    try:
        with convert_to_assertion(f"refusing {dict(table)} by {kind.__name__}", ValidationError):
            kind.model_validate(table)
    except ValidationError as error:
        demand(all(e["msg"].strip() for e in error.errors()), f"{kind.__name__} refuses {dict(table)} in no words")
        return False
    return True
