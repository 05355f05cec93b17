"""Terminals of the server: shells behind OpenCode's `/pty` routes. Source: OpenCode's OpenAPI 1.1.65."""

from typing import Annotated, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

Line = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]*$")]


class Pty(Record):
    """A terminal; `status` is exited when its program has ended."""

    id: str
    title: str
    command: str
    args: list[str]
    cwd: FilePath
    status: Literal["running", "exited"]
    pid: int


class PtyCreate(Record):
    """A terminal to start: a login shell in the folder of the request unless more is given; `env` is added to the environment."""

    command: Line | None = absent()
    args: Annotated[list[Line], Field(max_length=256)] | None = absent()
    cwd: Line | None = absent()
    title: Line | None = absent()
    env: dict[Line, Line] | None = absent()


class PtySize(Record):
    """The size of a terminal in cells."""

    rows: Annotated[int, Field(ge=1, le=1000)]
    cols: Annotated[int, Field(ge=1, le=1000)]


class PtyUpdate(Record):
    """Another title or size."""

    title: Line | None = absent()
    size: PtySize | None = absent()
