"""The base of every stored or sent shape.

Names: `session_id` here is `sessionID` on disk. Unknown fields survive a rewrite, so that data of newer or other programs is kept.
Optional fields are absent, never null; a null inside free-form data (a tool's input) is kept.
"""

import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError

JsonObject = dict[str, Any]
"""A JSON object from or for another program."""

NoNul = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""A text that a record, a file name and an argument can hold."""


def json_name(name: str) -> str:
    """Return the camel-case name of a field as OpenCode writes it: `parent_id` is `parentID`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join("ID" if word == "id" else word.capitalize() for word in rest)


def _is_none(value: object) -> bool:
    return value is None


def absent() -> Any:
    """Return the default of an optional field: None here, no key at all on disk."""
    return Field(default=None, exclude_if=_is_none)


class Record(BaseModel):
    """An immutable record; a changed one is a copy (`changed`)."""

    model_config = ConfigDict(
        alias_generator=json_name,
        populate_by_name=True,
        extra="allow",
        frozen=True,
        protected_namespaces=(),
        defer_build=True,
        ser_json_inf_nan="null",
    )

    def changed(self, **fields: object) -> Self:
        """Return a copy with these fields replaced; the values are trusted, not validated."""
        return self.model_copy(update=fields)

    @classmethod
    def trusted(cls, **fields: object) -> Self:
        """Return a record of these values, not validated: for classes whose validator costs more to build than all its uses."""
        return cls.model_construct(None, **fields)

    def to_json(self) -> bytes:
        """Return the record as UTF-8 JSON with two spaces of indent, as OpenCode writes its files.

        Halves of characters (lone surrogates: an argument that is not UTF-8, a plugin's text) become question marks.
        """
        try:
            return self.model_dump_json(by_alias=True, indent=2).encode()
        except PydanticSerializationError:
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=2).encode("utf-8", "replace")

    def to_dict(self) -> JsonObject:
        """Return the record as plain JSON data with wire names."""
        return self.model_dump(by_alias=True, mode="json")
