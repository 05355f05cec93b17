"""Options that the command line passes to the screen, and the result of the screen."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a conversation to scroll to; `words` is a text of it to mark, empty to mark the whole part."""

    message_id: str
    part_id: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options of the start; `prompt` is sent at once, `model` is `provider/model`; with `is_choosing` the list of
    sessions is shown first.

    `server` is the address of an engine in another process, whose turns continue without this screen; `state` is then the
    local folder for the files of the screen. `place` is where the session is shown first.
    """

    directory: Path
    is_continued: bool = False
    is_choosing: bool = False
    session_id: str | None = None
    is_forked: bool = False
    prompt: str | None = None
    model: str | None = None
    variant: str | None = None
    agent: str | None = None
    server: str | None = None
    state: Path | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The result of the screen: the session to resume, and the error that ended it, if any.

    `reopen` is the folder to open next, with the session, at `place`. `messages` are lines to show in the terminal afterwards.
    `rest_s`: the engine goes on without the screen until it had nothing to do for this time; None: it ends with the screen.
    """

    session_id: str | None = None
    title: str = ""
    error: BaseException | None = None
    reopen: Path | None = None
    place: Place | None = None
    messages: tuple[str, ...] = ()
    rest_s: float | None = None
