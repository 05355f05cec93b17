"""What pydantic knows about records and the types of their fields. Importing this loads pydantic."""

import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union, cast, get_args, get_origin

import pydantic
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic import Tag as PydanticTag
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, core_schema

from opencode_tui.schema.accept import LARGEST_INT, LEAST_INT
from opencode_tui.schema.field import (
    EXPECTED,
    After,
    Before,
    Expected,
    Facts,
    FieldRow,
    SchemaForm,
    Tag,
    TagOf,
    Unlisted,
    WithFields,
    Written,
    is_union,
)

_building = threading.RLock()
_open: set[str] = set()
"""The records whose schemas are being built: what contains itself refers to itself."""


_GENERIC = (list, dict, tuple, Sequence, Mapping)

SKIPPED: Any = cast("Any", SkipJsonSchema)()


def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return what pydantic knows about a type, its JSON schema for one."""
    with _building:
        return TypeAdapter(pydantic_kind(kind))


def validator_of(kind: Any) -> SchemaValidator:
    """Return pydantic's validator of a type. Building it takes 1 to 20 ms."""
    return cast("SchemaValidator", adapter_of(kind).validator)


class _Integer:
    """An integer of 64 bits, which its JSON schema does not say."""

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.int_schema(ge=LEAST_INT, le=LARGEST_INT)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler(core)
        unsaid = {"minimum": LEAST_INT, "maximum": LARGEST_INT}
        return {name: value for name, value in found.items() if unsaid.get(name) != value}


_INTEGER = Annotated[int, _Integer()]


def pydantic_kind(kind: Any) -> Any:
    """Return a type with pydantic's form of what is said about it."""
    if kind is int:
        return _INTEGER
    origin, members = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner = pydantic_kind(members[0])
        for one in members[1:]:
            known = _metadata(one)
            inner = inner if known is None else Annotated[inner, known]
        return inner
    if is_union(kind):
        return Union[tuple(pydantic_kind(one) for one in members)]  # noqa: UP007 - of members that are known when it runs
    if origin in _GENERIC:
        generic: Any = origin
        return generic[tuple(pydantic_kind(one) for one in members)]
    return kind


def has_record(kind: Any) -> bool:
    """Return whether a type is a record, or one of several records."""
    if get_origin(kind) is Annotated or is_union(kind):
        members = get_args(kind)
        return any(map(has_record, members[:1] if get_origin(kind) is Annotated else members))
    return isinstance(kind, type) and issubclass(kind, WithFields)


def _metadata(one: Any) -> Any:
    match one:
        case Facts():
            given: dict[str, Any] = {"discriminator": one.discriminator} if one.discriminator else {}
            return pydantic.Field(**given, **one.bounds) if given or one.bounds else None
        case After(check):
            return AfterValidator(_checked(check))
        case Before(check):
            return BeforeValidator(_checked(check))
        case SchemaForm():
            return WithJsonSchema(one.schema)
        case Unlisted():
            return SKIPPED
        case Tag(name):
            return PydanticTag(name)
        case TagOf(find):
            return Discriminator(find)
        case Written():
            return None
        case _:
            return one


def _checked(check: Any) -> Any:
    def checked(value: Any) -> Any:
        try:
            return check(value)
        except Expected as error:
            raise PydanticCustomError(EXPECTED, "{expected}", {"expected": str(error)}) from None

    return checked


def record_schema(record: type[WithFields], handler: GetCoreSchemaHandler) -> CoreSchema:
    """Return pydantic's schema of a record: its validator makes records of our class."""
    reference = f"{record.__module__}.{record.__qualname__}:{id(record)}"
    if reference in _open:
        return core_schema.definition_reference_schema(reference)
    _open.add(reference)
    try:
        fields = {name: _field(row, handler) for name, row in record.model_fields.items()}
    finally:
        _open.discard(reference)
    config = core_schema.CoreConfig(
        title=record.__name__,
        extra_fields_behavior=record.unknown,
        strict=record.is_strict,
        validate_by_alias=True,
        validate_by_name=record.by_name,
        ser_json_inf_nan="null",
    )
    return core_schema.model_schema(
        record,
        core_schema.model_fields_schema(fields, model_name=record.__name__, extra_behavior=record.unknown),
        frozen=True,
        config=config,
        ref=reference,
    )


def _field(row: FieldRow, handler: GetCoreSchemaHandler) -> core_schema.ModelField:
    schema = handler.generate_schema(pydantic_kind(row.kind))
    if row.default_factory is not None:
        schema = core_schema.with_default_schema(schema, default_factory=row.default_factory)
    elif not row.is_required():
        schema = core_schema.with_default_schema(schema, default=row.default)
    updates = {"description": row.description} if row.description else {}
    return core_schema.model_field(
        schema,
        validation_alias=row.alias,
        serialization_alias=row.alias,
        serialization_exclude=True if row.exclude else None,
        metadata={"pydantic_js_updates": updates} if updates else None,
    )
