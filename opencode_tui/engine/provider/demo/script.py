"""Scripts: a goal's course as a generator that yields calls, is sent their answers, and returns how it came out.

A script is a pure function of the turn and the answers. It is run anew at each step with the answers so far, so the
conversation itself is its only memory.
"""

import os.path
from collections.abc import Generator
from typing import Any

from msgspec import Struct

from opencode_tui.engine.provider.demo.output import one_line, read_paths
from opencode_tui.engine.provider.demo.turn import Turn
from opencode_tui.engine.provider.stream import ResultBlock


class Call(Struct, frozen=True):
    """The next tool call, and the sentence that goes before it."""

    tool: str
    input: dict[str, Any]
    say: str


class Outcome(Struct, frozen=True):
    """How a goal came out; after one that is not `is_done` the goals behind it are not begun."""

    text: str
    is_done: bool = True


Script = Generator[Call, ResultBlock, Outcome]
Search = Generator[Call, ResultBlock, str]


def failed(what: str, result: ResultBlock) -> Outcome:
    """Return the outcome of a call that the tool refused, in the tool's words."""
    return Outcome(f"{what} did not work. The `{result.tool}` tool answered: “{one_line(result.text)}”", is_done=False)


def locate(turn: Turn, path: str) -> Search:
    """Return the file that a person means by a name: itself when it has a folder, else the nearest file so called."""
    if not turn.offers("glob") or "/" in path or path == turn.latest_file:
        return path
    pattern = path if "." in path else "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in path) + "*"
    found = yield Call("glob", {"pattern": f"**/{pattern}"}, f"I look for `{path}`.")
    if found.is_error:
        return path
    places = [relative(turn, place) for place in read_paths(found.text)]
    fitting = [place for place in places if os.path.basename(place).lower().startswith(path.lower())]
    return min(fitting, key=lambda place: (place.count("/"), len(place)), default=path)


def relative(turn: Turn, path: str) -> str:
    """Return a path as seen from the working directory when it lies below it."""
    return path.removeprefix(turn.directory.rstrip("/") + "/") if turn.directory else path
