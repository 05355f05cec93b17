"""The commands of a folder and the messages about its settings: what every run has; the rest of its lists is in `catalog.py`."""

from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent


class CommandSummary(Record):
    """A slash command; `hints` are the placeholders of its template, in order, `built_in` that it is one of ours."""

    name: str
    description: str | None = absent()
    agent: str | None = absent()
    model: str | None = absent()
    source: Literal["command", "mcp", "skill"] = "command"
    template: str
    subtask: bool | None = absent()
    built_in: bool | None = absent()
    hints: list[str] = Field(default_factory=list[str])


class InactiveSetting(Record):
    """A setting without effect: where it is and what it does, and why it has none; no reason if the first says it all."""

    setting: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.setting}: {self.reason}" if self.reason else self.setting


class Notices(Record):
    """Messages about the settings: `warnings`, and the settings `ignored` until the folder is trusted.

    `sources` are the files or variables of the first warnings, whose lines begin with them; the others are about other things.

    `undo_off` says why undo restores no files in this folder; absent where it does. `of_models` are those of the warnings that are
    about models: a default that was replaced, an address that is not known.
    """

    warnings: list[str] = Field(default_factory=list[str])
    ignored: list[InactiveSetting] = Field(default_factory=list[InactiveSetting])
    undo_off: str | None = absent()
    of_models: list[str] | None = absent()
    sources: list[str] | None = absent()
