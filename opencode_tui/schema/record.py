"""The base of every stored or sent shape.

Names: `session_id` here is `sessionID` on disk. Unknown fields survive a rewrite, so that data of newer or other programs is kept.
Optional fields are absent, never null; a null inside free-form data (a tool's input) is kept.

pydantic says what is a valid record, but is loaded only when it is needed: for a value to convert or to reject, for many records
at once, for a description of the types. Loading it takes a third of the time from the start to the first request, and 10 MB.
"""

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import get_annotations
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

import msgspec

from opencode_tui.schema.accept import Accept, RefusedError, acceptor
from opencode_tui.schema.field import REQUIRED, After, Field, FieldRow, WithFields, is_class_variable, writer_of
from opencode_tui.schema.json_text import decode_json

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema, SchemaValidator

JsonObject = dict[str, Any]
"""A JSON object from or for another program."""

NoNul = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""A text that a record, a file name and an argument can hold."""

MOST = 2**53
"""What a count or an amount of money may be: every program reads it exactly, and the sum of many fits into 64 bits."""


def _countable(value: int) -> int:
    if abs(value) > MOST:
        raise ValueError(f"it must be between -{MOST} and {MOST}")
    return value


def _finite(value: float) -> float:
    return value if abs(value) <= MOST else 0.0


Count = Annotated[int, After(_countable)]
"""A number of tokens, lines or files."""

Amount = Annotated[float, After(_finite)]
"""US dollars; what is no amount, as in records of other programs, counts nothing."""

T = TypeVar("T")


def json_name(name: str) -> str:
    """Return the camel-case name of a field as OpenCode writes it: `parent_id` is `parentID`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join("ID" if word == "id" else word.capitalize() for word in rest)


def absent() -> Any:
    """Return the default of an optional field: None here, no key at all on disk."""
    return Field(default=None, absent=True)


class ValidationError(ValueError):
    """A value is not of its type. `faults` say what is wrong, as pydantic does: `type`, `loc`, `msg`, `input`, `ctx`."""

    def __init__(self, text: str, faults: list[JsonObject]) -> None:
        super().__init__(text)
        self.faults = faults

    def errors(self) -> list[JsonObject]:
        """Return what is wrong."""
        return self.faults


class Kept(NamedTuple):
    """What a stored record has that this version does not know, in words, and the values to write back: some fields, or the whole.

    Source: `session/newer.py`.
    """

    what: str
    fields: JsonObject
    is_whole: bool = False


class _Shape:
    """How records of a class are made and written."""

    def __init__(self, record: "type[Record]") -> None:
        self.rows: dict[str, FieldRow] = {}
        for base in reversed(record.__mro__):
            for name, annotation in get_annotations(base).items():
                if not name.startswith("_") and not is_class_variable(annotation):
                    value = base.__dict__.get(name, REQUIRED)
                    self.rows[name] = FieldRow(name, annotation, value, record.wire_name, base.__module__)
        self.plain = {row.name: row.default for row in self.rows.values() if row.default is not REQUIRED}
        self.made = [(row.name, row.default_factory) for row in self.rows.values() if row.default_factory is not None]

    @cached_property
    def written(self) -> list[tuple[str, str, bool, Callable[[Any], Any] | None]]:
        """Each written field's name, its name in JSON, whether it may be absent, and what makes what is written of its value."""
        rows = (row for row in self.rows.values() if not row.exclude)
        return [(row.name, row.alias, row.absent, writer_of(row.kind)) for row in rows]

    @cached_property
    def readers(self) -> list[tuple[str, str, Accept, Callable[[], Any] | None, Any]]:
        """Each field's name, its name in JSON, what reads its value, and what makes or is its default."""
        return [
            (row.name, row.alias, acceptor(row.kind), row.default_factory, row.default) for row in self.rows.values()
        ]


class _Fields:
    """`model_fields` of a class: its fields by name."""

    def __get__(self, _instance: object, owner: "type[Record]") -> Mapping[str, FieldRow]:
        return owner.record_shape().rows


class _Config:
    """`model_config` of a class: what pydantic's description of it depends on."""

    def __get__(self, _instance: object, owner: "type[Record]") -> Mapping[str, Any]:
        config: JsonObject = {"extra": owner.unknown, "title": owner.__name__}
        return config if owner.adjust_schema is None else {**config, "json_schema_extra": owner.adjust_schema}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class Record(WithFields):
    """An immutable record; a changed one is a copy (`changed`).

    Its methods have the names of pydantic's. A subclass may set `unknown`, what happens to fields that it lacks; `is_strict`,
    with which nothing is converted; `by_name`, whether fields may be given by the names that they have here; `wire_name`, which
    returns the name of a field in JSON; and `adjust_schema`, which changes the JSON schema.
    """

    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__", "__weakref__")

    if TYPE_CHECKING:
        __pydantic_extra__: JsonObject | None
        __pydantic_private__: object
        __pydantic_fields_set__: set[str]

    adjust_schema: ClassVar[Callable[[JsonObject], None] | None] = None
    wire_name: ClassVar[Callable[[str], str]] = staticmethod(json_name)
    model_fields: ClassVar[Mapping[str, FieldRow]] = cast("Mapping[str, FieldRow]", _Fields())

    # What pydantic reads of a class when it describes it.
    model_config: ClassVar[Mapping[str, Any]] = cast("Mapping[str, Any]", _Config())
    __pydantic_root_model__: ClassVar[bool] = False
    __pydantic_complete__: ClassVar[bool] = True
    __pydantic_decorators__: ClassVar[Any] = None

    def __init__(self, **fields: Any) -> None:
        made = _reader_of(type(self)).make(fields)
        _fill(self, made.__dict__, made.__pydantic_extra__, made.__pydantic_fields_set__)

    @classmethod
    def record_shape(cls) -> _Shape:
        """Return how records of the class are made and written."""
        found: _Shape | None = cls.__dict__.get("_shape")
        if found is None:
            found = _Shape(cls)
            type.__setattr__(cls, "_shape", found)
        return found

    @classmethod
    def accept_fields(cls, given: dict[Any, Any]) -> Self:
        """Return a record of fields that plainly are right. Raises RefusedError."""
        values: JsonObject = {}
        present: set[str] = set()
        used: set[str] = set()
        by_name = cls.by_name
        for name, alias, accept, make, default in cls.record_shape().readers:
            if alias in given:
                key = alias
            elif by_name and name in given:
                key = name
            elif make is not None:
                values[name] = make()
                continue
            elif default is REQUIRED:
                raise RefusedError
            else:
                values[name] = default
                continue
            values[name] = accept(given[key])
            present.add(name)
            used.add(key)
        extra: JsonObject | None = {} if cls.unknown == "allow" else None
        for key, value in given.items() if len(used) < len(given) else ():
            if key in used:
                continue
            if (
                type(key) is not str or key in cls.record_shape().rows
            ):  # the latter: a field twice, by both of its names
                raise RefusedError
            if extra is not None:
                extra[key] = value
                present.add(key)
        record = cls.__new__(cls)
        _fill(record, values, extra, present)
        return record

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Return a record of JSON data, or of fields by name. Raises ValidationError."""
        return _reader_of(cls).validate_python(value)

    @classmethod
    def model_validate_json(cls, data: str | bytes | bytearray) -> Self:
        """Return a record of its JSON. Raises ValidationError."""
        return _reader_of(cls).validate_json(data)

    @classmethod
    def model_json_schema(cls) -> JsonObject:
        """Return the JSON schema of what `model_validate` reads; that of fields by their names in JSON."""
        from opencode_tui.schema.pydantic_types import adapter_of

        return adapter_of(cls).json_schema(by_alias=True, mode="validation")

    @classmethod
    def trusted(cls, **fields: object) -> Self:
        """Return a record of these values, not validated: for classes whose validator costs more to build than all its uses."""
        shape = cls.record_shape()
        values: JsonObject = {
            **shape.plain,
            **{name: make() for name, make in shape.made if name not in fields},
            **fields,
        }
        extra: JsonObject | None = {} if cls.unknown == "allow" else None
        if len(values) > len(shape.rows):
            for name in [name for name in values if name not in shape.rows]:
                value = values.pop(name)
                if extra is not None:
                    extra[name] = value
        record = cls.__new__(cls)
        _fill(record, values, extra, {*fields})
        return record

    def changed(self, **fields: object) -> Self:
        """Return a copy with these fields replaced; the values are trusted, not validated."""
        rows = type(self).record_shape().rows
        known = {name: value for name, value in fields.items() if name in rows}
        more = {name: value for name, value in fields.items() if name not in rows}
        extra = self.__pydantic_extra__
        copy = type(self).__new__(type(self))
        _fill(
            copy,
            {**self.__dict__, **known},
            extra if extra is None else {**extra, **more},
            self.__pydantic_fields_set__ | fields.keys(),
        )
        if self.unknown_values is not None:
            replaced = {rows[name].alias for name in known}
            left = {name: value for name, value in self.unknown_values.fields.items() if name not in replaced}
            if left:
                copy.keeping(
                    self.unknown_values if self.unknown_values.is_whole else self.unknown_values._replace(fields=left)
                )
        return copy

    def keeping(self, kept: Kept) -> Self:
        """Return the record itself, which is new, once it keeps what this version does not know of it."""
        _set(self, "__pydantic_private__", kept)
        return self

    @property
    def unknown_values(self) -> Kept | None:
        """Return what this version does not know of a stored record; `to_json` writes it back, and nothing else has it."""
        return cast("Kept | None", self.__pydantic_private__)

    @property
    def model_extra(self) -> JsonObject | None:
        """The fields that the class does not have."""
        return self.__pydantic_extra__

    @property
    def model_fields_set(self) -> set[str]:
        """The names of the fields that were given."""
        return self.__pydantic_fields_set__

    def wire_fields(self) -> JsonObject:
        """Return the fields as they are written, by their names in JSON; the values are still records."""
        values = self.__dict__
        fields: JsonObject = {}
        for name, alias, may_be_absent, write in type(self).record_shape().written:
            value = values.get(name, REQUIRED)
            if value is REQUIRED or (value is None and may_be_absent):
                continue
            fields[alias] = value if write is None else write(value)
        if self.__pydantic_extra__:
            fields.update(self.__pydantic_extra__)
        return fields

    def to_json(self) -> bytes:
        """Return the record as UTF-8 JSON with two spaces of indent, as OpenCode writes its files.

        Halves of characters (lone surrogates: an argument that is not UTF-8, a plugin's text) become question marks.
        """
        if self.unknown_values is not None:
            return _with_kept(self.to_dict(), self.unknown_values)
        try:
            return msgspec.json.format(self.to_line())
        except UnicodeEncodeError:
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=2).encode("utf-8", "replace")

    def to_line(self) -> bytes:
        """Return the record as one line of JSON. Raises UnicodeEncodeError for a lone surrogate."""
        return msgspec.json.encode(self, enc_hook=plain)

    def to_dict(self) -> JsonObject:
        """Return the record as plain JSON data with wire names."""
        return cast("JsonObject", msgspec.to_builtins(self, enc_hook=plain, builtin_types=()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(self) is not type(other):
            return NotImplemented if not isinstance(other, Record) else False
        return self.__dict__ == other.__dict__ and (self.__pydantic_extra__ or {}) == (other.__pydantic_extra__ or {})

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    def __getattr__(self, name: str) -> Any:
        extra = None if name.startswith("__") else self.__pydantic_extra__
        if extra and name in extra:
            return extra[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        rows = type(self).record_shape().rows
        shown = [f"{name}={value!r}" for name, value in self.__dict__.items() if name not in rows or rows[name].repr]
        shown += [f"{name}={value!r}" for name, value in (self.__pydantic_extra__ or {}).items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getstate__(self) -> tuple[JsonObject, JsonObject | None, set[str]]:
        return self.__dict__, self.__pydantic_extra__, self.__pydantic_fields_set__

    def __setstate__(self, state: tuple[JsonObject, JsonObject | None, set[str]]) -> None:
        _fill(self, *state)

    def __copy__(self) -> Self:
        return self.changed()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from opencode_tui.schema.pydantic_types import record_schema

        return record_schema(cls, handler)


_set = object.__setattr__


def _fill(record: Record, values: JsonObject, extra: JsonObject | None, present: set[str]) -> None:
    _set(record, "__dict__", values)
    _set(record, "__pydantic_extra__", extra)
    _set(record, "__pydantic_fields_set__", present)
    _set(record, "__pydantic_private__", None)


_OWNERS = ("id", "sessionID", "messageID")


def _with_kept(shown: JsonObject, kept: Kept) -> bytes:
    fields = kept.fields if kept.is_whole else {**shown, **kept.fields}
    fields = {**fields, **{name: shown[name] for name in _OWNERS if name in shown}}
    return json.dumps(fields, ensure_ascii=False, indent=2).encode("utf-8", "replace")


def plain(value: Any) -> Any:
    """Return what is written of a value that JSON does not have. Raises NotImplementedError for one that is never written."""
    if isinstance(value, Record):
        return value.wire_fields()
    raise NotImplementedError(f"{type(value).__name__} is not written as JSON")


class Reader(Generic[T]):
    """Reads values of a type, as pydantic's TypeAdapter does. A wrong value may load pydantic, which takes up to 100 ms."""

    __slots__ = ("_accept", "_is_strict", "_kind", "_pydantic")

    @overload
    def __init__(self, kind: type[T], *, is_strict: bool = False) -> None: ...

    @overload
    def __init__(self, kind: Any, *, is_strict: bool = False) -> None: ...

    def __init__(self, kind: Any, *, is_strict: bool = False) -> None:
        self._kind = kind
        self._is_strict = is_strict or None  # None leaves it to the type
        self._accept: Accept | None = None
        self._pydantic: SchemaValidator | None = None

    def make(self, value: object) -> T:
        """Return the value of fields of our own. Raises ValidationError."""
        try:
            return self._plainly(value)
        except RefusedError:
            return self._judged(value)

    def validate_python(self, value: object) -> T:
        """Return the value of JSON data. Raises ValidationError."""
        if self._pydantic is None:
            try:
                return self._plainly(value)
            except RefusedError:
                pass  # pydantic says what is wrong with it, or what it can be
        return self._judged(value)

    def validate_json(self, data: str | bytes | bytearray) -> T:
        """Return the value of a JSON text. Raises ValidationError."""
        if self._pydantic is None:
            try:
                return self._plainly(decode_json(data))
            except (ValueError, RefusedError):
                pass  # pydantic says what is wrong with it
        try:
            return (self._pydantic or self._build()).validate_json(data, strict=self._is_strict)
        except ValueError as error:
            raise _ours(error) from error

    def _judged(self, value: object) -> T:
        try:
            return (self._pydantic or self._build()).validate_python(value, strict=self._is_strict)
        except ValueError as error:
            raise _ours(error) from error

    def _plainly(self, value: object) -> T:
        if self._accept is None:
            self._accept = acceptor(self._kind)
        return self._accept(value)

    def _build(self) -> "SchemaValidator":
        from opencode_tui.schema.pydantic_types import validator_of

        self._pydantic = validator_of(self._kind)
        return self._pydantic


def _ours(error: ValueError) -> ValidationError:
    """Return what pydantic found wrong."""
    from pydantic import ValidationError as PydanticError

    if not isinstance(error, PydanticError):
        raise error
    return ValidationError(str(error), cast("list[JsonObject]", error.errors(include_url=False)))


def _reader_of(record: type[Record]) -> Reader[Any]:
    found: Reader[Any] | None = record.__dict__.get("_reader")
    if found is None:
        found = Reader(record)
        type.__setattr__(record, "_reader", found)
    return found
