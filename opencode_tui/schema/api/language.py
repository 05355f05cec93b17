"""Language servers, symbols and formatters, as the API returns them. Source: OpenCode's OpenAPI description, 1.1.65."""

from typing import Any, Literal, Self

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import JsonObject, Record, absent

ServerStatus = Literal["connected", "error", "starting", "stopped", "ready", "missing"]
"""`ready` would start for a file of its language, `missing` cannot, `stopped` did run; OpenCode knows the first two."""


class LanguageServerState(Record):
    """A language server; `root` is relative to the working folder, `detail` one line, `memory` bytes, `files` the open ones."""

    id: str
    name: str
    root: FilePath
    status: ServerStatus
    detail: str = ""
    memory: int | None = absent()
    files: int = 0


class SymbolLocation(Record):
    """Where a symbol is: a `file:` address and a range of the language server protocol."""

    uri: str
    range: JsonObject


class Symbol(Record):
    """A symbol of the project; `kind` is a number of the language server protocol."""

    name: str
    kind: int
    location: SymbolLocation
    container_name: str | None = absent()

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self | None:
        """Return a symbol that a server sent, None for one without a range."""
        location = given.get("location")
        if not isinstance(location, dict) or "range" not in location:
            return None
        try:
            return cls.model_validate(
                {
                    name: given[name]
                    for name in ("name", "kind", "location", "containerName")
                    if given.get(name) is not None
                }
            )
        except ValueError:
            return None


class FormatterState(Record):
    """A formatter; `enabled`: it runs after edits of files with its extensions. `detail`: why one that is set does not."""

    name: str
    extensions: list[str] = Field(default_factory=list[str])
    enabled: bool
    detail: str | None = absent()
