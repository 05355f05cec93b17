"""Files of one JSON object per line, as Claude Code and Codex write them: lines in order, lines by offset, values of any type.

Such a file may be written while it is read, cut anywhere, or made by someone else. A line that is no JSON object costs itself.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from msgspec import Struct

from opencode_tui.extras.importing.source import Problem
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.json_text import JsonError, TooDeepError, as_object, decode_foreign
from opencode_tui.schema.record import JsonObject

LINE_LIMIT_BYTES = 32 * 1024 * 1024
"""A longer line is left out. The largest that the programs write hold an image of 5 MB twice."""

_HEAD_BYTES = 4 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_EARLIEST_MS = 946_684_800_000
_DAY_MS = 86_400_000
_LISTED = 100
"""Problems of one file that are listed one by one."""


class Line(Struct, frozen=True):
    """A line: its number from 1, its offset and size in bytes, and its object."""

    number: int
    offset: int
    size: int
    value: JsonObject


class JsonLines:
    """Reads one file; `problems` lists its bad lines once, however often they are read."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        """Open the file. Raises StorageError."""
        self.path = path
        self.problems = problems
        self._listed = 0
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._file.close()

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are objects. A last line without its end is read if it is complete."""
        offset, number = 0, 0
        while True:
            self._file.seek(offset)
            data = self._file.readline(LINE_LIMIT_BYTES + 1)
            if not data:
                return
            number += 1
            size = len(data)
            if size > LINE_LIMIT_BYTES and not data.endswith(b"\n"):
                size += self._skip()
                self.report(number, f"longer than {LINE_LIMIT_BYTES // 1024**2} MB")
            elif data.strip():
                value = self._decode(data, number)
                if value is not None:
                    yield Line(number, offset, size, value)
            offset += size

    def at(self, offset: int, size: int) -> JsonObject:
        """Return the object of a line that `lines` yielded; an empty one when the file has changed since."""
        self._file.seek(offset)
        value = decode_object(self._file.read(size))
        return value if isinstance(value, dict) else {}

    def report(self, number: int, reason: str) -> None:
        """List a line that is left out, or what is left out of it."""
        self._listed += 1
        if self._listed <= _LISTED:
            self.problems.append(Problem(str(self.path), str(number), reason))
        elif self._listed == _LISTED + 1:
            self.problems.append(Problem(str(self.path), str(number), "this line and more have problems"))

    def _skip(self) -> int:
        """Pass over the rest of a line and return its size."""
        size = 0
        while piece := self._file.readline(_PIECE_BYTES):
            size += len(piece)
            if piece.endswith(b"\n"):
                break
        return size

    def _decode(self, data: bytes, number: int) -> JsonObject | None:
        value = decode_object(data)
        if isinstance(value, dict):
            return value
        is_cut = not data.endswith(b"\n")
        self.report(number, "is not complete: it is still being written, or the file was cut" if is_cut else value)
        return None


def first_object(path: Path) -> JsonObject:
    """Return the object in the first line of a file; an empty one where there is none."""
    with suppress(OSError), path.open("rb") as file:
        return as_object(decode_object(file.readline(_HEAD_BYTES)))
    return {}


def decode_object(data: bytes) -> JsonObject | str:
    """Return a JSON object, or why the data is none."""
    try:
        value: object = decode_foreign(data)
    except TooDeepError:
        return "is nested too deeply"
    except JsonError:
        return "is not JSON"
    return cast(JsonObject, value) if isinstance(value, dict) else "is not an object"


# Values of any type.


def as_objects(value: object) -> list[JsonObject]:
    """Return the objects in a list; none for any other value."""
    return (
        [cast(JsonObject, one) for one in cast("list[object]", value) if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def as_text(value: object) -> str:
    """Return a text; an empty one for any other value."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a count such as tokens; 0 for what cannot be one."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return cast(int, value) if is_count else 0


def as_time(value: object) -> int | None:
    """Return milliseconds since 1970 of an ISO text, or of a number of seconds or milliseconds; None for no possible time."""
    moment: float
    if isinstance(value, str):
        try:
            written = datetime.fromisoformat(value)
            moment = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp() * 1000
        except (ValueError, OverflowError, OSError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        moment = value * 1000 if value < 1e11 else value
    else:
        return None
    return int(moment) if _EARLIEST_MS <= moment <= system_clock() + _DAY_MS else None


def as_folder(value: object) -> str:
    """Return the absolute path of a folder; empty for what is none."""
    text = as_text(value)
    is_windows = text[1:3] in (":\\", ":/") and text[:1].isalpha()
    return text if (text.startswith("/") or is_windows) and "\0" not in text else ""
