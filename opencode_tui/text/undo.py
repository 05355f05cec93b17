"""Descriptions of the effects of an undo on files, for the TUI and the command line."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.session import UNDO_KEY, SessionInfo
from opencode_tui.schema.session.undo import RevertReport, UndoFile, UndoFiles, UndoNote
from opencode_tui.text.quantity import at_when
from opencode_tui.text.safe_text import screen_line

Fate = Literal["restored", "deleted", "kept", "failed", "stays as it is"]

_LETTERS = {"added": "A", "deleted": "D", "modified": "M"}


class UndoneFile(Struct, frozen=True):
    """What an undo did with a file; `note` says why it was deleted or left alone. Texts are safe."""

    status: str
    path: str
    fate: Fate
    note: str = ""
    additions: int = 0
    deletions: int = 0

    @property
    def is_left(self) -> bool:
        """Return whether the file was left unchanged."""
        return self.fate not in ("restored", "deleted")

    @property
    def words(self) -> str:
        """Return what became of the file and why: `kept: you changed it at 12:05`."""
        return f"{self.fate}: {self.note}" if self.note else self.fate


def undone_files(report: UndoFiles, root: Path, *, now: int) -> list[UndoneFile]:
    """Return every file of a report by its path relative to `root`; files that were left alone come last.

    `now` is in ms since 1970.

    Files say nothing of their own where undo is off in the whole folder.
    """
    groups: Sequence[tuple[Fate, Sequence[UndoFile]]] = (
        ("restored", report.restored),
        ("deleted", report.deleted),
        ("kept", report.kept),
        ("stays as it is", report.unprotected),
        ("failed", report.failed),
    )
    rows = [
        _file(one.changed(reason=None) if one.reason == report.unavailable else one, root, fate, now)
        for fate, files in groups
        for one in files
    ]
    return sorted(rows, key=lambda one: (one.is_left, one.path))


def unchanged_files(report: UndoFiles) -> str:
    """Return `files unchanged (undo is off here: …)` where undo restores no files, else an empty text. Safe."""
    return f"files unchanged ({screen_line(report.unavailable)})" if report.unavailable else ""


def beside_commands(report: UndoFiles) -> str:
    """Return a sentence about background commands whose changes may be among those that are undone, else an empty text. Safe."""
    if not report.beside or not (report.restored or report.deleted):
        return ""
    names = screen_line(", ".join(report.beside))
    return f"In the background ran {names}: some of these changes may be from there."


def stored_report(info: SessionInfo) -> RevertReport | None:
    """Return the report of the current undo from the session's record; None without one, or one of another program."""
    found = (info.metadata or {}).get(UNDO_KEY)
    if info.revert is None or not isinstance(found, dict):
        return None
    try:
        return UndoNote.model_validate(cast("JsonObject", found)).report
    except ValidationError:
        return None


def _file(file: UndoFile, root: Path, fate: Fate, now: int) -> UndoneFile:
    return UndoneFile(
        status=_LETTERS.get(file.status or "", " "),
        path=screen_line(_name(file.path, root)),
        fate=fate,
        note=_reason(file, fate, now),
        additions=file.additions,
        deletions=file.deletions,
    )


def _reason(file: UndoFile, fate: Fate, now: int) -> str:
    if fate == "deleted" and file.status == "added":
        return "created by the agent"
    if fate == "kept" and file.changed_at is not None:
        return f"you changed it {at_when(file.changed_at, now)}"
    return screen_line(", ".join(filter(None, (file.note, file.reason))))


def _name(path: str, root: Path) -> str:
    """Return a path relative to the folder where it is short that way."""
    relative = os.path.relpath(path, root)
    return path if relative.startswith(f"..{os.sep}..") else relative
