"""Classes as JSON documents, back, and as JSON Schemas.

A class is a `msgspec.Struct` or a dataclass. Its document contains its constants (`schema`, `kind`, `form`, `rule`,
`version`), then its fields. Tuples become lists, fractions text such as "4/5", enums their values (those of whole
numbers their names in lower case), infinities "inf". Class variables state what differs:

- `unwritten`: fields that are in no document; they have defaults, or are given when a document is read;
- `sparse`: fields that are in documents only if they differ from their defaults; True for all;
- `audit_only`: fields that are in no published document; they have defaults;
- `renamed`: field -> its key in documents;
- `computed`: properties that follow the fields, with `key=name` where these differ; they are not read;
- `written`: all keys in order, each a field, a constant or a property, with `key=name` where these differ. Only fields
  are read.

msgspec validates what is read, and makes the schemas. Only documents that this module wrote are read: an unknown
field is refused, and every fraction is in lowest terms, so that one value has one document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, ValidationError

from rrpolicy.canonical_json import Json, json_number
from rrpolicy.frozen import has_fields

T = TypeVar("T")
Conversion: TypeAlias = Callable[[Any], Any] | None
"""From a validated value to the field's value; None if they are equal."""

TAGS = ("schema", "kind", "form", "rule", "version")
"""Class constants that are written."""
_TAGGED = "__"
"""Suffix of the name of a class in a union; its schema is that of the class itself."""
_FACTORY = type(msgspec.defstruct("_", [("made", list, [])]).__struct_defaults__[0])
_PLAIN_TYPES = frozenset({str, int, bool, NoneType})
_FRACTION = r"^-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?$"


class MalformedError(ValueError):
    """A document that lacks a field, or has another value in its place.

    Attributes:
        why: the problem, without the place and without a value.
        place: the place, such as `axes[0].column`; "" for the document.
    """

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(f"'{place}' {why}" if place else f"it {why}")
        self.why, self.place = why, place


class UnknownVersionError(ValueError):
    """A description of a known kind in an unsupported version."""


class Described(Struct):
    """The document of a class with `from_json`, which its caller reads: a channel or an axis; more keys may follow.

    Attributes:
        kind: its name.
        version: version of its fields.
    """

    kind: str
    version: int


class Key(NamedTuple):
    """A key of a class's documents.

    Attributes:
        key: key in documents.
        name: name of the field, constant or property.
        default: default of the field; UNSET if it has none, or if it is made for each object.
        required: whether documents must have it to be read.
        field: whether it is read.
        sparse: whether documents omit the default.
        audit: whether published documents omit it.
    """

    key: str
    name: str
    default: Any = UNSET
    required: bool = False
    field: bool = True
    sparse: bool = False
    audit: bool = False


@cache
def keys_of(kind: Any) -> tuple[Key, ...]:
    """Return the keys of a class's documents, in order.

    Raises:
        TypeError: if it is neither a Struct nor a dataclass.
    """
    unwritten, sparse, audit = (_inherited(kind, name) for name in ("unwritten", "sparse", "audit_only"))
    renamed = dict(_inherited(kind, "renamed"))
    own = {
        name: Key(
            renamed.get(name, name),
            name,
            default,
            required=needed,
            sparse=True in sparse or name in sparse,
            audit=name in audit,
        )
        for name, (default, needed) in _field_defaults(kind).items()
        if name not in unwritten
    }
    if not hasattr(kind, "written"):
        constants = (tag for tag in TAGS if tag not in own and isinstance(getattr(kind, tag, None), (str, int)))
        computed = _stated_keys(_inherited(kind, "computed"), {})
        return (*(Key(tag, tag, getattr(kind, tag), field=False) for tag in constants), *own.values(), *computed)
    return tuple(_stated_keys(kind.written, own))


def _inherited(kind: Any, name: str) -> list[Any]:
    """Return the items that a class and its bases state in a class variable."""
    stated = [vars(base).get(name, ()) for base in reversed(kind.__mro__)]
    return [
        item for one in stated for item in (one.items() if isinstance(one, Mapping) else [one] if one is True else one)
    ]


def _stated_keys(stated: Iterable[str], own: Mapping[str, Key]) -> Iterator[Key]:
    """Yield the keys that a class states, of its fields and of others."""
    for one in stated:
        key, _, name = one.partition("=")
        yield (own.get(name or key) or Key(key, name or key, field=False))._replace(key=key)


def _field_defaults(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return field -> (its default; UNSET if it has none or is made for each object, whether it has none)."""
    if issubclass(kind, Struct):
        names, given = kind.__struct_fields__, kind.__struct_defaults__
        defaults = (*(NODEFAULT,) * (len(names) - len(given)), *given)
    else:
        read_fields = [field for field in fields(kind) if field.init]
        names = tuple(field.name for field in read_fields)
        defaults = tuple(
            field.default if field.default is not MISSING else NODEFAULT if field.default_factory is MISSING else UNSET
            for field in read_fields
        )
    return {
        name: (UNSET if default is NODEFAULT or type(default) is _FACTORY else default, default is NODEFAULT)
        for name, default in zip(names, defaults, strict=True)
    }


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Json]], ...] = (
    (IntEnum, lambda value: value.name.lower()),
    (Enum, lambda value: value.value),
    ((str, int, NoneType), lambda value: value),
    (float, json_number),
    ((Fraction, Path), str),
)


def plain(value: Any, *, public: bool = False) -> Json:
    """Return a value as plain data.

    Args:
        value: data, objects of such classes and models of pydantic, in any depth.
        public: omit fields for the audit alone.

    Raises:
        TypeError: if it contains another type.
    """
    if isinstance(value, (list, tuple)):
        return [v if type(v) in _PLAIN_TYPES else plain(v, public=public) for v in value]
    if isinstance(value, Mapping):
        return {str(key): plain(inner, public=public) for key, inner in value.items()}
    for kind, written in _WRITERS:
        if isinstance(value, kind):
            return written(value)
    own = (public and getattr(value, "to_public_json", None)) or getattr(value, "to_json", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    dump = getattr(value, "model_dump", None)
    return record(value, public=public) if dump is None else dump(mode="json")


def record(value: Any, *, public: bool = False, without: Collection[str] = ()) -> dict[str, Json]:
    """Return an object as plain data, key by key; arguments as for `plain`, and names of the fields to omit.

    Raises:
        TypeError: if its class is neither a Struct nor a dataclass.
    """
    found: dict[str, Json] = {}
    kind: Any = type(value)
    for key in keys_of(kind):
        if key.name in without:
            continue
        held = getattr(value, key.name)
        if not ((public and key.audit) or (key.sparse and held == key.default)):
            found[key.key] = plain(held, public=public)
    return found


class JsonDocument:
    """A class whose objects are written as documents."""

    __slots__ = ()

    def to_json(self) -> dict[str, Json]:
        """Return the document as plain data."""
        return record(self)


def read(kind: type[T], document: Any, given: Mapping[str, Any] = MappingProxyType({})) -> T:
    """Read the output of `record`.

    Args:
        kind: the class.
        document: plain data.
        given: fields that are already known; the document may contain them, and they are ignored there.

    Raises:
        UnknownVersionError: if the document has another version.
        MalformedError: if a field is missing, unknown or of another type.
        ValueError: if the fields contradict one another.
    """
    known: Any = kind
    version = getattr(known, "version", None)
    if isinstance(version, int) and isinstance(document, Mapping):
        found = document.get("version")
        if type(found) is not int or found != version:
            raise UnknownVersionError(
                f"version {found!r} of {known.kind!r} is unknown; this program reads version {version}"
            )
    schema, built = _document_type(known, frozenset(given))
    try:
        ignored = {key.key for key in keys_of(known) if key.name in given}
        if ignored and isinstance(document, Mapping):
            document = {key: value for key, value in document.items() if key not in ignored}
        return built(msgspec.convert(document, schema, dec_hook=_read_fraction), given)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise _malformed(str(error)) from None


def faults(document: Any, kind: Any) -> str:
    """Return the reason for which a document does not describe a class, with the place and no value; "" if it does."""
    try:
        msgspec.convert(document, _document_type(kind, frozenset())[0], dec_hook=_read_fraction)
    except ValidationError as error:
        found = _malformed(str(error))
        return f"{found.place or 'the document'} {found.why}"
    return ""


def json_schema(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON Schema of the documents of a class, or of a union of classes."""
    types = [_document_type(each, frozenset())[0] for each in (get_args(kind) or (kind,))]
    found, named = msgspec.json.schema_components(types, schema_hook=_fraction_schema, ref_template="#/$defs/{name}")
    whole = named.pop(types[0].__name__) if len(types) == 1 else {"anyOf": [*found]}
    named = {name.removesuffix(_TAGGED): _in_order(named[name]) for name in sorted(named)}
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_in_order(whole), "title": title}
    text = json.dumps(draft | ({"$defs": named} if named else {}))
    text = re.sub(rf'("#/\$defs/\w+){_TAGGED}"', r'\1"', text)
    return json.loads(re.sub(r'"enum": \[("[^"]*"|\d+)\]', r'"const": \1', text))  # type: ignore[no-any-return]


def _in_order(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in ("title", "description", *schema) if key in schema}


@cache
def _document_type(kind: Any, given: frozenset[str], tag: str = "") -> tuple[Any, Callable[..., Any]]:
    """Return the Struct by which msgspec validates a class's documents, and the conversion of it into the class.

    Args:
        kind: the class.
        given: fields that documents lack.
        tag: constant that distinguishes the classes of a union.
    """
    hints = get_type_hints(kind, include_extras=True)
    about = field_descriptions(kind)
    conversions: dict[str, tuple[str, Conversion]] = {}
    parts: list[tuple[str, Any, Any]] = []
    for index, key in enumerate(k for k in keys_of(kind) if k.name not in given and k.key != tag):
        part = f"f{index}"
        if key.field:
            schema, conversion = _value_type(hints[key.name])
            conversions[key.name] = part, conversion
        else:
            schema = _unread_type(kind, key)
        if key.name in about:
            schema = Annotated[schema, Meta(description=about[key.name])]
        required = key.required or not key.field
        if required and not key.audit and not key.sparse:
            parts.append((part, schema, msgspec.field(name=key.key)))
        else:
            parts.append((part, schema | msgspec.UnsetType, msgspec.field(name=key.key, default=UNSET)))
    made = msgspec.defstruct(
        kind.__name__ + (_TAGGED if tag else ""),
        parts,
        forbid_unknown_fields=True,
        kw_only=True,
        tag_field=tag or None,
        tag=getattr(kind, tag) if tag else None,
        namespace={"__doc__": (kind.__doc__ or "").split("\n")[0]},
    )

    def built(value: Any, known: Mapping[str, Any] = MappingProxyType({})) -> Any:
        found = {name: getattr(value, part) for name, (part, _) in conversions.items()}
        read_ones = {
            name: held if (conversion := conversions[name][1]) is None else conversion(held)
            for name, held in found.items()
            if held is not UNSET
        }
        return kind(**read_ones, **known)

    return made, built


def _unread_type(kind: Any, key: Key) -> Any:
    """Return the type of a constant, or of a property's value."""
    if key.default is not UNSET:
        return Literal[key.default]
    returned = getattr(kind, key.name)
    getter = getattr(returned, "fget", None) or getattr(returned, "func", None)
    if getter is None:
        return Literal[returned]
    hints = get_type_hints(getter, include_extras=True)
    return _value_type(hints["return"])[0]


def _value_type(hint: Any) -> tuple[Any, Conversion]:
    """Return the type by which msgspec validates a field's values in documents, and their conversion."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is not None and origin is not Literal:
        return _generic_type(origin, args)
    if isinstance(hint, type) and issubclass(hint, Enum):
        members = {plain(member): member for member in hint}
        return Literal[tuple(members)], members.__getitem__
    if hasattr(hint, "from_json"):
        return Described, None
    return _document_type(hint, frozenset()) if has_fields(hint) else _SCALARS.get(hint, (hint, None))


def _generic_type(origin: Any, args: tuple[Any, ...]) -> tuple[Any, Conversion]:
    """Return the same of an annotated type, a union, a tuple or a mapping."""
    if origin in {Union, UnionType}:
        return _union_type(args)
    if origin is tuple and args[-1] is not Ellipsis:
        types = [_value_type(each) for each in args]
        made = [conversion or (lambda value: value) for _, conversion in types]
        schemas = tuple(schema for schema, _ in types)
        return tuple.__class_getitem__(schemas), lambda value: tuple(f(x) for f, x in zip(made, value, strict=True))
    if origin is not Annotated and issubclass(origin, Mapping):
        schema, conversion = _value_type(args[1])
        return dict.__class_getitem__((str, schema)), conversion and partial(_convert_values, conversion)
    schema, conversion = _value_type(args[0])
    if origin is Annotated:
        return Annotated[(schema, *args[1:])], conversion
    return tuple.__class_getitem__((schema, ...)), conversion and partial(_convert_each, conversion)


def _convert_values(conversion: Callable[[Any], Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: conversion(value) for key, value in values.items()}


def _convert_each(conversion: Callable[[Any], Any], values: Any) -> tuple[Any, ...]:
    return tuple(map(conversion, values))


def _union_type(args: tuple[Any, ...]) -> tuple[Any, Conversion]:
    """Return the same of one of several types; classes are distinguished by their first constant."""
    kinds = tuple(each for each in args if each not in {NoneType, UnsetType})
    if len(kinds) == 1:
        schema, conversion = _value_type(kinds[0])
    elif all(map(has_fields, kinds)):
        tag = next(key.key for key in keys_of(kinds[0]) if not key.field)
        built = dict(_document_type(each, frozenset(), tag) for each in kinds)
        schema = Union.__getitem__(tuple(built))
        conversion = partial(_build_tagged, built)
    else:
        schema, conversion = Union.__getitem__(kinds), _number if {*kinds} == {float, str} else None
    if NoneType not in args:
        return schema, conversion
    return schema | None, conversion and (lambda value: None if value is None else conversion(value))


def _build_tagged(built: Mapping[Any, Callable[[Any], Any]], value: Any) -> Any:
    return built[type(value)](value)


def _number(value: float | str) -> float | str:
    return float(value) if value in {"inf", "-inf"} else value


_SCALARS: Mapping[Any, tuple[Any, Conversion]] = {
    object: (Any, None),
    float: (int | float | Literal["inf", "-inf"], _number),
    Path: (str, Path),
}
"""Types whose values have other types in documents, with the conversion."""


def _read_fraction(kind: Any, value: Any) -> Fraction:
    """Read a fraction; msgspec calls this for types that it does not know."""
    if kind is not Fraction:
        raise TypeError(f"documents cannot contain {kind!r}: {type(value).__name__}")
    if not isinstance(value, str) or not re.fullmatch(_FRACTION, value):
        raise ValueError('must be a rational such as "4/5"')
    found = Fraction(value)
    if str(found) != value:  # every document has one form
        raise ValueError("must be in lowest terms")
    return found


def _fraction_schema(kind: Any) -> dict[str, Any]:
    if kind is not Fraction:
        raise TypeError(f"documents cannot contain {kind!r}")
    return {"type": "string", "pattern": _FRACTION}


_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def _malformed(message: str) -> MalformedError:
    """Return msgspec's error in our words, without the value that it may quote."""
    why, _, place = message.partition(" - at `$")
    place = place.removesuffix("`").removeprefix(".")
    if found := re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", why, re.DOTALL):
        return MalformedError(
            "is missing" if found[1].startswith("missing") else "is unknown", f"{place}.{found[2]}".lstrip(".")
        )
    if found := re.fullmatch(r"Expected `array` of length (\d+), got \d+", why):
        return MalformedError(f"must be a list of {found[1]}", place)
    if found := re.match(r"Expected `([^`]*)`, got", why):
        names = [name for name in found[1].split(" | ") if name != "null"]
        number = {"int", "float", "str"} == {*names}  # text, for infinities
        return MalformedError(f"must be {'a number' if number else ' or '.join(map(_NAMES.__getitem__, names))}", place)
    if why.startswith("Invalid"):
        return MalformedError("is not an allowed value", place)
    return MalformedError("is not written as it must be" if "regex" in why else why, place)


_SECTION = re.compile(r"^ *Attributes:\n(.*?)(?=\n *\n|\Z)", re.DOTALL | re.MULTILINE)
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.*?)(?=^ {8}\w|\Z)", re.DOTALL | re.MULTILINE)


@cache
def field_descriptions(kind: Any) -> Mapping[str, str]:
    """Return the description of each attribute, from the docstring's section `Attributes`."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        section = _SECTION.search(vars(one).get("__doc__") or "")
        found |= {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section[1] if section else "")}
    return found
