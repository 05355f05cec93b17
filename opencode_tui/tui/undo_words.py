"""What becomes of files in an undo, in the words of the screen."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from opencode_tui.schema.session import UNDO_KEY, SessionInfo
from opencode_tui.schema.undo import RevertReport, UndoFile, UndoFiles, UndoNote
from opencode_tui.tui.items import UndoneFile
from opencode_tui.tui.safe_text import screen_line

Fate = Literal["restored", "removed", "kept"]

_LETTERS = {"added": "A", "deleted": "D", "modified": "M"}


def undone_files(report: UndoFiles, root: Path) -> list[UndoneFile]:
    """Every file of a report, by its path; what is left alone says why."""
    left = [*report.kept, *report.unprotected, *report.failed]
    rows = [
        *(_file(one, root, "restored") for one in report.restored),
        *(_file(one, root, "removed") for one in report.deleted),
        *(_file(one, root, "kept") for one in left),
    ]
    return sorted(rows, key=lambda one: (one.fate == "kept", one.path))


def stored_report(info: SessionInfo) -> RevertReport | None:
    """The report of the undo that is in force, as the session keeps it; None without one, or one of another program."""
    found = (info.metadata or {}).get(UNDO_KEY)
    if info.revert is None or not isinstance(found, dict):
        return None
    try:
        return UndoNote.model_validate(found).report
    except ValidationError:
        return None


def _file(file: UndoFile, root: Path, fate: Fate) -> UndoneFile:
    path = Path(file.path)
    shown = str(path.relative_to(root)) if path.is_relative_to(root) else file.path
    return UndoneFile(
        status=_LETTERS.get(file.status or "", " "),
        path=screen_line(shown),
        fate=fate,
        note=_note(file, fate),
        additions=file.additions,
        deletions=file.deletions,
    )


def _note(file: UndoFile, fate: Fate) -> str:
    if fate == "removed":
        return "the agent made it" if file.status == "added" else screen_line(file.note or "")
    if fate == "kept" and file.changed_at is not None:
        return f"you changed it at {datetime.fromtimestamp(file.changed_at / 1000):%H:%M}"
    return screen_line(file.reason or file.note or "")
