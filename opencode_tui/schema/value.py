"""Small immutable values inside the program; what is stored or sent is a `Record`."""

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """Make a class a slotted dataclass, equal and hashable by content, that type checkers treat as frozen.

    At run time it is not: a frozen one takes 0.16 ms longer to define, and the engine defines a hundred and fifty of them before
    it can send its first request.
    """
    made: Any = dataclass(slots=True)(cls)
    made.__hash__ = _hash
    return made


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, one.name) for one in fields(self) if one.compare))
