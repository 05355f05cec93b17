"""Reads what plainly is of a type, so that most records are made before pydantic is loaded.

What has exactly the right types is accepted. Anything else is refused, and pydantic decides: it converts, or says what is wrong.
So nothing is accepted here that pydantic would reject, or would make something else of (`tests/schema/test_accept.py`).
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, ForwardRef, Literal, cast, get_args, get_origin

from opencode_tui.schema.field import REQUIRED, After, Before, Facts, Tag, TagOf, WithFields, is_union

LEAST_INT, LARGEST_INT = -(2**63), 2**63 - 1
"""Any integer of a record: arrays, caches and indexes have 64 bits for it, and one record must not stop them."""

Accept = Callable[[Any], Any]


class RefusedError(Exception):
    """A value is not plainly of the type."""


def _refuse(_value: Any) -> Any:
    raise RefusedError


def _any(value: Any) -> Any:
    return value


def _exactly(kind: type) -> Accept:
    def accept(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise RefusedError

    return accept


def _int(value: Any) -> Any:
    if type(value) is int and LEAST_INT <= value <= LARGEST_INT:
        return value
    raise RefusedError


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is int and -(2**53) <= value <= 2**53:
        return float(value)
    raise RefusedError


def _decimal(value: Any) -> Any:
    if type(value) is Decimal and value.is_finite():
        return value
    if type(value) is str and _WRITTEN_DECIMAL(value):
        return Decimal(value)
    raise RefusedError


_WRITTEN_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?").fullmatch
"""How records have it; a number of JSON is pydantic's."""


_PLAIN: dict[Any, Accept] = {
    str: _exactly(str),
    int: _int,
    bool: _exactly(bool),
    float: _float,
    Decimal: _decimal,
    None: _exactly(type(None)),
    type(None): _exactly(type(None)),
    Any: _any,
    object: _any,
}


def acceptor(kind: Any) -> Accept:
    """Return the function that reads a value of a type. It raises RefusedError."""
    origin = get_origin(kind)
    if origin is None and kind in _PLAIN:
        return _PLAIN[kind]
    if origin is Annotated:
        return _annotated(*get_args(kind))
    if origin is Literal:
        return _literal(get_args(kind))
    if is_union(kind):
        return _union([acceptor(one) for one in get_args(kind)])
    if origin is list:
        return _list(acceptor(get_args(kind)[0]))
    if origin is Sequence:
        return _sequence(acceptor(get_args(kind)[0]))
    if origin is dict:
        return _dict(*map(acceptor, get_args(kind)))
    if isinstance(kind, type):
        return _class(kind)
    return _refuse


def _class(kind: type) -> Accept:
    if not issubclass(kind, WithFields):
        return _refuse

    def accept(value: Any) -> Any:
        if type(value) is dict:
            return kind.accept_fields(cast("dict[Any, Any]", value))
        if isinstance(value, kind):
            return value
        raise RefusedError

    return accept


def _literal(choices: tuple[Any, ...]) -> Accept:
    if all(type(one) is str for one in choices):
        texts = frozenset(choices)

        def accept_text(value: Any) -> Any:
            if type(value) is str and value in texts:
                return value
            raise RefusedError

        return accept_text

    def accept(value: Any) -> Any:
        if any(type(value) is type(one) and value == one for one in choices):
            return value
        raise RefusedError

    return accept


def _list(member: Accept) -> Accept:
    def accept(value: Any) -> Any:
        if type(value) is list:
            return [member(one) for one in cast("list[Any]", value)]
        raise RefusedError

    return accept


def _sequence(member: Accept) -> Accept:
    accept_list = _list(member)

    def accept(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(accept_list([*cast("tuple[Any, ...]", value)]))
        return accept_list(value)

    return accept


def _dict(key: Accept, member: Accept) -> Accept:
    def accept(value: Any) -> Any:
        if type(value) is dict:
            return {key(name): member(one) for name, one in cast("dict[Any, Any]", value).items()}
        raise RefusedError

    return accept


def _union(members: list[Accept]) -> Accept:
    """Accept what exactly one member accepts: which of several is meant is for pydantic to say."""

    def accept(value: Any) -> Any:
        found: Any = REQUIRED
        for one in members:
            try:
                accepted = one(value)
            except RefusedError:
                continue
            if found is not REQUIRED:
                raise RefusedError
            found = accepted
        if found is REQUIRED:
            raise RefusedError
        return found

    return accept


def _tagged(kinds: tuple[Any, ...], tag_of: Callable[[Any], str], tags: Callable[[Any], tuple[str, ...]]) -> Accept:
    members = {tag: acceptor(kind) for kind in kinds for tag in tags(kind)}

    def accept(value: Any) -> Any:
        member = members.get(tag_of(value))
        if member is None:
            raise RefusedError
        return member(value)

    return accept


def _field_tags(kind: Any, name: str) -> tuple[str, ...]:
    record = cast("type[WithFields]", get_args(kind)[0] if get_origin(kind) is Annotated else kind)
    return get_args(record.model_fields[name].annotation)


def _leaves(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union, also those of unions in it."""
    if is_union(kind):
        return tuple(leaf for one in get_args(kind) for leaf in _leaves(one))
    return (kind,)


def _annotated(kind: Any, *metadata: Any) -> Accept:
    facts = [one for one in metadata if isinstance(one, Facts)]
    name = next((one.discriminator for one in facts if one.discriminator), None)
    find = next((one.find for one in metadata if isinstance(one, TagOf)), None)
    if isinstance(kind, ForwardRef | str):
        return _refuse
    if name is not None:
        accept = _tagged(_leaves(kind), lambda value: _tag_in(value, name), lambda one: _field_tags(one, name))
    elif find is not None:
        accept = _tagged(
            _leaves(kind), find, lambda one: tuple(tag.name for tag in get_args(one) if isinstance(tag, Tag))
        )
    else:
        accept = acceptor(kind)
    for one in metadata:
        if isinstance(one, Facts):
            for bound, limit in one.bounds.items():
                accept = _bounded(accept, bound, limit)
        elif isinstance(one, After):
            accept = _after(accept, one.check)
        elif isinstance(one, Before):
            accept = _before(accept, one.check)
    return accept


def _tag_in(value: Any, name: str) -> Any:
    tag: Any = cast("dict[Any, Any]", value).get(name) if type(value) is dict else getattr(value, name, None)
    return tag if type(tag) is str else None


def _after(accept: Accept, check: Callable[[Any], Any]) -> Accept:
    def accept_checked(value: Any) -> Any:
        try:
            return check(accept(value))
        except (ValueError, AssertionError):
            raise RefusedError from None

    return accept_checked


def _before(accept: Accept, check: Callable[[Any], Any]) -> Accept:
    def accept_checked(value: Any) -> Any:
        try:
            return accept(check(value))
        except (ValueError, AssertionError):
            raise RefusedError from None

    return accept_checked


def _fits(bound: str, limit: Any) -> Callable[[Any], bool]:
    match bound:
        case "ge":
            return lambda value: value >= limit
        case "gt":
            return lambda value: value > limit
        case "le":
            return lambda value: value <= limit
        case "lt":
            return lambda value: value < limit
        case "min_length":
            return lambda value: len(value) >= limit
        case "max_length":
            return lambda value: len(value) <= limit
        case "allow_inf_nan":
            return isfinite
        case "pattern":
            # Python's `$` and `\s` differ from pydantic's for line breaks and other alphabets.
            search = re.compile(limit).search
            return lambda value: value.isascii() and value.isprintable() and search(value) is not None
        case _:
            return lambda value: False


def _bounded(accept: Accept, bound: str, limit: Any) -> Accept:
    fits = _fits(bound, limit)

    def accept_bounded(value: Any) -> Any:
        accepted = accept(value)
        # A bound of an optional type is one of its value.
        if accepted is None or (type(accepted) is not bool and fits(accepted)):
            return accepted
        raise RefusedError

    return accept_bounded
