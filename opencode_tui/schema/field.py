"""What a field of a record says besides its type: its default, its name in JSON, its bounds, functions that check or write it."""

import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

from msgspec import Struct


class _Required:
    """The default of a field that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()


class Facts(Struct, frozen=True, eq=False):
    """What `Field` was called with; `bounds` are those of the type, by the names that pydantic gives them."""

    default: Any
    default_factory: Callable[[], Any] | None
    alias: str | None
    description: str | None
    discriminator: str | None
    exclude: bool
    absent: bool
    repr: bool
    bounds: dict[str, Any]


def Field(
    *,
    default: Any = REQUIRED,
    default_factory: Callable[[], Any] | None = None,
    alias: str | None = None,
    description: str | None = None,
    discriminator: str | None = None,
    exclude: bool = False,
    absent: bool = False,
    repr: bool = True,
    **bounds: Any,
) -> Any:
    """Return the facts of a field: its default in the body of a class, or bounds of its type in `Annotated`.

    `alias` is its name in JSON, where that of the class does not fit. A field of `exclude` is never written, one that may be
    `absent` only if it is not None; one without `repr` is a secret, which no text about the record shows. Bounds: `pattern`, `ge`,
    `gt`, `le`, `lt`, `min_length`, `max_length`, `allow_inf_nan`.
    """
    return Facts(default, default_factory, alias, description, discriminator, exclude, absent, repr, bounds)


class After(NamedTuple):
    """A function that checks a value of the right type, or makes another of it. It raises ValueError."""

    check: Callable[[Any], Any]


class Before(NamedTuple):
    """A function that checks or changes what was given, before its type is checked. It raises ValueError."""

    check: Callable[[Any], Any]


class Written(NamedTuple):
    """A function that makes what is written of a value in memory."""

    write: Callable[[Any], Any]


class SchemaForm:
    """The JSON schema of a type, in the place of what would be made of it."""

    __slots__ = ("schema",)

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema


class Unlisted(NamedTuple):
    """A field that is read, and that no JSON schema has."""


UNLISTED = Unlisted()


class Tag(NamedTuple):
    """The tag of a member of a union."""

    name: str


class TagOf(NamedTuple):
    """A function that returns the tag of what is given, in a union whose members have tags."""

    find: Callable[[Any], str]


EXPECTED = "setting_expected"
"""The type of the fault of a value that a function rejected with `Expected`."""


class Expected(ValueError):
    """A value is not what a field is for. The message says what was expected."""


class FieldRow:
    """A field of a class: `annotation` is its type, `metadata` what `Annotated` adds, `alias` its name in JSON.

    A type that is written as text is looked up when it is asked for, in the names of the module `where`: of hundreds of fields of
    the settings, a start asks for a few.
    """

    __slots__ = (
        *("_given", "_known", "_where"),
        *("absent", "alias", "bounds", "default", "default_factory", "description", "discriminator"),
        *("exclude", "name", "repr"),
    )

    def __init__(self, name: str, annotation: Any, value: Any, wire_name: Callable[[str], str], where: str) -> None:
        facts: Facts | None = value if isinstance(value, Facts) else None
        self.name = name
        self._given = annotation
        self._known: tuple[Any, tuple[Any, ...]] | None = None
        self._where = where
        self.default: Any = facts.default if facts else value
        self.default_factory = facts.default_factory if facts else None
        self.alias = (facts and facts.alias) or wire_name(name)
        self.description = facts.description if facts else None
        self.discriminator = facts.discriminator if facts else None
        self.exclude = facts is not None and facts.exclude
        self.absent = facts is not None and facts.absent
        self.repr = facts is None or facts.repr
        self.bounds: dict[str, Any] = facts.bounds if facts else {}

    def is_required(self) -> bool:
        """Return whether the field has no default."""
        return self.default is REQUIRED and self.default_factory is None

    @property
    def annotation(self) -> Any:
        """The type without what `Annotated` adds. Raises NameError for a name that the module does not have."""
        return self._parts()[0]

    @property
    def metadata(self) -> tuple[Any, ...]:
        """What `Annotated` adds to the type."""
        return self._parts()[1]

    @property
    def kind(self) -> Any:
        """The type with all that is said about it."""
        annotation, metadata = self._parts()
        more = [*metadata]
        if self.bounds or self.discriminator:
            more.append(Field(discriminator=self.discriminator, **self.bounds))
        return Annotated[(annotation, *more)] if more else annotation

    def _parts(self) -> tuple[Any, tuple[Any, ...]]:
        if self._known is None:
            found = _looked_up(self._given, self._where)
            self._known = (get_args(found)[0], get_args(found)[1:]) if get_origin(found) is Annotated else (found, ())
        return self._known


def _looked_up(annotation: Any, where: str) -> Any:
    """Return a type whose names are those of a module, which may be written as text, or have such a type in it."""
    if not isinstance(annotation, str) and "ForwardRef(" not in repr(annotation):
        return annotation
    written = SimpleNamespace(__annotations__={"kind": annotation})
    return get_type_hints(written, vars(sys.modules[where]), include_extras=True)["kind"]


class WithFields:
    """The base of classes whose fields are read from JSON: `schema/record.py`.

    `unknown` says what happens to fields that a class does not have. With `is_strict` nothing is converted; with `by_name` fields
    may also be given by the names that they have here.
    """

    __slots__ = ()

    unknown: ClassVar[Literal["allow", "ignore"]] = "allow"
    is_strict: ClassVar[bool] = False
    by_name: ClassVar[bool] = True
    model_fields: ClassVar[Mapping[str, FieldRow]]

    @classmethod
    def accept_fields(cls, given: dict[Any, Any]) -> Self:
        """Return an object of fields that plainly are right. Raises RefusedError."""
        raise NotImplementedError


def writer_of(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes what is written of a value of a type; None where that is the value itself."""
    origin, members = get_origin(kind), get_args(kind)
    if origin is Annotated:
        own = next((one.write for one in members[1:] if isinstance(one, Written)), None)
        return own or writer_of(members[0])
    if origin not in (list, dict) and not is_union(kind):
        return None
    inner = next((found for one in members if (found := writer_of(one)) is not None), None)
    if inner is None:
        return None
    write = inner
    if origin is list:
        return lambda value: [write(one) for one in value]
    if origin is dict:
        return lambda value: {name: write(one) for name, one in value.items()}
    return lambda value: None if value is None else write(value)


def is_union(kind: Any) -> bool:
    """Return whether a type is a union, in either form."""
    return get_origin(kind) in (Union, UnionType)


def is_class_variable(annotation: Any) -> bool:
    """Return whether an annotation of a class is of no field."""
    if isinstance(annotation, str):
        return annotation.startswith("ClassVar")
    return annotation is ClassVar or get_origin(annotation) is ClassVar
