"""What the command line asks of the screen, and what it leaves behind."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How to begin; `prompt` is sent at once, `model` is `provider/model`.

    `server` is the address of the engine when it is another process, whose turns go on without this screen; `state` is then the
    folder here for what the screen itself keeps.
    """

    directory: Path
    is_continued: bool = False
    session_id: str | None = None
    is_forked: bool = False
    prompt: str | None = None
    model: str | None = None
    agent: str | None = None
    server: str | None = None
    state: Path | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How the screen was left: the session to come back to, and what went wrong, if anything did."""

    session_id: str | None = None
    title: str = ""
    error: BaseException | None = None
