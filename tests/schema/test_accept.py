"""What is accepted without pydantic is exactly what pydantic makes of it, for every record and every setting."""

import importlib
import json
import pkgutil
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from pydantic import ValidationError as PydanticError

import opencode_tui.config.settings
import opencode_tui.engine.tool.builtin
import opencode_tui.extras.opencode2.schema
import opencode_tui.schema
from opencode_tui.config.settings.settings import Settings
from opencode_tui.schema.accept import RefusedError, acceptor
from opencode_tui.schema.field import is_union
from opencode_tui.schema.pydantic_types import adapter_of
from opencode_tui.schema.record import Record, ValidationError

_WORDS = (
    "",
    "a",
    "a/b",
    "text",
    "ses_1",
    "msg_1",
    "https://a.example/x",
    "#ff0000",
    "8 GB",
    "local",
    "1",
    "*",
    "a\nb",
    "é",
    " ",
    "../x",
)
_TEXTS = st.sampled_from(_WORDS) | st.text(max_size=5)
_NUMBERS = st.integers(-2, 5) | st.sampled_from((0.5, 1.0, -1.5, 10**9, 2**63, 1e300))
_DECIMALS = (
    _NUMBERS
    | st.decimals()
    | st.decimals(allow_nan=False, allow_infinity=False).map(str)
    | st.from_regex("-?[0-9]{1,21}([.][0-9]{0,21})?")
)
_LEAVES = st.none() | st.booleans() | _NUMBERS | _TEXTS
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
ANYTHING = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2), max_leaves=4
)


def load(package: Any) -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)


def records(base: type[Record]) -> list[type[Record]]:
    found = [one for child in base.__subclasses__() for one in (child, *records(child))]
    return sorted(
        {one for one in found if one.__module__.startswith(PACKAGES)},
        key=lambda one: f"{one.__module__}.{one.__name__}",
    )


_LOADED = (
    opencode_tui.schema,
    opencode_tui.config.settings,
    opencode_tui.engine.tool.builtin,
    opencode_tui.extras.opencode2.schema,
)
for _package in _LOADED:
    load(_package)
PACKAGES = tuple(f"{one.__name__}." for one in _LOADED)
RECORDS = records(Record)


def near(kind: Any, depth: int = 0, *, is_right: bool = False) -> st.SearchStrategy[Any]:
    """Return values that mostly are of a type; all of them if `is_right`, where nothing but the type says what is right."""
    origin, members = get_origin(kind), get_args(kind)
    if isinstance(kind, ForwardRef | str):
        return ANYTHING
    if origin is Annotated:
        right = near(members[0], depth, is_right=is_right)
    elif origin is Literal:
        right = st.sampled_from(members)
    elif is_union(kind):
        right = st.one_of(*(near(one, depth, is_right=is_right) for one in members))
    elif origin is list:
        right = st.lists(near(members[0], depth + 1, is_right=is_right), max_size=2)
    elif origin is Sequence:
        listed = st.lists(near(members[0], depth + 1, is_right=is_right), max_size=2)
        right = listed | listed.map(tuple)
    elif origin is dict:
        right = st.dictionaries(_key(members[0]), near(members[1], depth + 1, is_right=is_right), max_size=2)
    elif isinstance(kind, type) and issubclass(kind, Record):
        right = st.just({}) if depth > 3 else fields(kind, depth + 1, is_right=is_right)
    else:
        right = {
            str: _TEXTS, int: st.integers(-1, 100), float: _NUMBERS, bool: st.booleans(), type(None): st.none(), Decimal: _DECIMALS,
        }.get(kind, ANYTHING)  # fmt: skip
    return right if depth > 1 or is_right else st.one_of(right, right, right, ANYTHING)


def _key(kind: Any) -> st.SearchStrategy[str]:
    return st.sampled_from(get_args(kind)) | _TEXTS if get_origin(kind) is Literal else _TEXTS


@st.composite
def fields(draw: st.DrawFn, record: type[Record], depth: int = 0, *, is_right: bool = False) -> dict[str, Any]:
    """Return the fields of a record, by either name, some left out, now and then one too many; a right record if `is_right`."""
    value: dict[str, Any] = {}
    for row in record.model_fields.values():
        if row.is_required() or draw(st.integers(0, 2)) == 0:
            name = row.name if not is_right and draw(st.integers(0, 5)) == 0 else row.alias
            value[name] = draw(near(row.kind, depth, is_right=is_right))
    if not is_right and draw(st.integers(0, 3)) == 0:
        value[draw(st.sampled_from(("extra", "sessionID", "session_id", "type", "id")))] = draw(_LEAVES)
    return value


def same(kind: Any, value: Any, *, strict: bool | None = None) -> bool:
    """Return whether a value was accepted, after the comparison with what pydantic makes of it."""
    try:
        accepted = acceptor(kind)(value)
    except RefusedError:
        return False
    read = adapter_of(kind).validate_python(value, strict=strict)
    assert (accepted, str(accepted)) == (read, str(read))
    assert described(accepted) == described(read)
    return True


def described(value: Any) -> Any:
    """Return types, fields that were given, and those of no class, at every depth."""
    if isinstance(value, Record):
        inner = {name: described(one) for name, one in vars(value).items()}
        return type(value), inner, value.model_fields_set, value.model_extra
    if isinstance(value, list):
        return [described(one) for one in value]
    if isinstance(value, dict):
        return {name: described(one) for name, one in value.items()}
    return type(value), value


@pytest.mark.slow
@pytest.mark.parametrize("record", RECORDS, ids=lambda one: f"{one.__module__.rpartition('.')[2]}.{one.__name__}")
def test_what_is_accepted_is_what_pydantic_makes_of_it(record: type[Record]) -> None:
    @settings(
        max_examples=15,  # a record is also part of the examples of those that contain it
        suppress_health_check=SLOW,
        deadline=None,
    )
    @given(st.data())
    def check(data: st.DataObject) -> None:
        same(record, data.draw(fields(record)))

    check()


@pytest.mark.fast_cases(
    "catalog.ModelVariant",
    "settings.LspSettings",
    "event.InstanceDisposed",
    "language.SymbolLocation",
    "settings.FormatterSettings",
    "catalog.SkillValue",
    "permission.PermissionReply",
    "message.RunningCall",
    "stored_error.OverflowData",
    "part.PatchPart",
)
@pytest.mark.parametrize("record", RECORDS, ids=lambda one: f"{one.__module__.rpartition('.')[2]}.{one.__name__}")
def test_a_right_value_is_accepted(record: type[Record]) -> None:
    effort = settings(max_examples=2_000, phases=[Phase.generate], suppress_health_check=SLOW, database=None)
    find(fields(record, is_right=True), lambda value: same(record, value), settings=effort)


@pytest.mark.fast_cases("default_agent", "username", "enabled_providers", "shell")
@pytest.mark.parametrize("key", [*Settings.model_fields])
def test_a_setting_that_is_accepted_is_what_pydantic_makes_of_it(key: str) -> None:
    kind = Settings.model_fields[key].annotation

    @settings(
        max_examples=30,
        suppress_health_check=SLOW,
        deadline=None,
    )
    @given(near(kind))
    def check(value: Any) -> None:
        same(kind, value, strict=True)

    check()


class Box(Record):
    """A text and anything."""

    text: str = ""
    anything: Any = None


_JSON = st.recursive(
    _LEAVES | st.floats() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
).map(json.dumps)
_WRITTEN = _JSON | st.sampled_from(
    (
        "1e400",
        "[1e-400, -0, -0.0]",
        "NaN",
        "[1,]",
        '"\\u0000"',
        '{"a": 1, "a": 2}',
        '"\x01"',
        "\ufeff1",
        "9" * 40,
        "[" * 300 + "]" * 300,
        "",
        "{",
    )
)


@settings(deadline=None, max_examples=300)
@given(text=_WRITTEN, anything=_WRITTEN)
def test_a_text_is_read_as_pydantic_reads_it(text: str, anything: str) -> None:
    data = f'{{"text": {text}, "anything": {anything}, "unknown": {anything}}}'.encode("utf-8", "surrogatepass")
    assert outcome(lambda: Box.model_validate_json(data)) == outcome(lambda: adapter_of(Box).validate_json(data))


def outcome(read: Callable[[], Box]) -> str:
    """Return what was read, or the kinds of what is wrong."""
    try:
        return repr(described(read()))
    except (ValidationError, PydanticError) as error:
        return f"refused: {[one['type'] for one in error.errors()]}"
