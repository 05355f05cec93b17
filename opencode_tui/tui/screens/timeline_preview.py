"""What going back to a request would do, at the right of the timeline: messages, files, and one file's change."""

from collections.abc import Sequence

from msgspec import Struct
from textual.strip import Strip

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.undo import RevertPreview
from opencode_tui.text.cells import breaks, clip_front, pad, width
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.change_columns import change_columns
from opencode_tui.tui.diff_cells import CodeRow, code_rows, one_column, unified
from opencode_tui.tui.row import Piece, row
from opencode_tui.tui.screens.timeline_moments import Moment
from opencode_tui.tui.session_facts import clock
from opencode_tui.tui.theme.look import Look

AREA = "panel"
FILES, CODE = 12, 40
"""Rows of files and of code at most."""

Lines = list[Sequence[Piece] | Strip]


class Change(Struct, frozen=True):
    """One file's change since a request, as rows; `path` is safe."""

    path: str
    rows: Sequence[CodeRow]


class Outlook(Struct, frozen=True):
    """What going back would do: `told` is what was said instead, safe."""

    preview: RevertPreview | None = None
    files: Sequence[UndoneFile] = ()
    change: Change | None = None
    told: str = ""


def change_since(found: Sequence[Moment], moment: Moment, files: Sequence[UndoneFile]) -> Change | None:
    """The change of the first file of a turn that would go, from the turn on. Takes long for a large file."""
    going = {one.path for one in files if not one.is_left}
    first = next((one for one in moment.diffs if screen_line(one.file) in going), None)
    if first is None:
        return None
    later = [one for other in found[found.index(moment) + 1 :] for one in other.diffs if one.file == first.file]
    last = later[-1] if later else first
    rows = code_rows(unified(FileDiff(file=first.file, before=first.before, after=last.after)), first.file)
    return Change(screen_line(first.file), rows[:CODE]) if rows else None


def draw_outlook(moment: Moment, outlook: Outlook | None, look: Look, room: int) -> Lines:
    """The lines of the preview."""
    style = look.palette.style
    muted, fill = style("muted", AREA), look.palette.area(AREA)
    title = [(f"Reverting to {clock(moment.time)}", style("text", AREA, bold=True))]
    lines: Lines = [row(room, title, [("preview", muted)], fill=fill), []]
    if outlook is None:
        return lines
    if outlook.preview is None:
        return [*lines, [(outlook.told, muted)]]
    scope = outlook.preview.scope
    if scope is not None:
        told = f"{plural(scope.requests, 'turn')} {'goes' if scope.requests == 1 else 'go'}"
        told += f", {plural(len(scope.messages), 'message')}. Redo brings them back."
        lines += [*([(told[start:end], muted)] for start, end in breaks(told, room)), []]
    lines += _files(outlook.files, look, room) if outlook.files else [[("No file changes.", muted)]]
    change = outlook.change
    if change is not None:
        after = [(f"after {clock(moment.time)}", muted)]
        lines += [[], row(room, [(change.path, style("text", AREA, bold=True))], after, fill=fill)]
        lines += one_column(change.rows, look, room, AREA)
    return lines


def _files(files: Sequence[UndoneFile], look: Look, room: int) -> Lines:
    shown = files[:FILES]
    most = max(12, room - 4 - 11 - 9)
    names = [clip_front(one.path, most, look.glyphs.ellipsis) for one in shown]
    widest = max(width(name) for name in names)
    lines: Lines = []
    for one, name in zip(shown, names, strict=True):
        lines += _file(one, pad(name, widest), look, room)
    if len(files) > FILES:
        lines.append([(f"    and {len(files) - FILES} more", look.palette.style("muted", AREA))])
    return lines


def _file(one: UndoneFile, name: str, look: Look, room: int) -> Lines:
    style = look.palette.style
    is_kept = one.is_left
    left: list[Piece] = [
        (f"{look.glyphs.asks if is_kept else ' '} ", style("warning", AREA, bold=True)),
        (f"{one.status} ", style("muted", AREA)),
        (f"{name}   ", style("text", AREA)),
        (one.fate, style("warning" if is_kept else "muted", AREA, bold=is_kept)),
    ]
    counts = change_columns(look, one.additions, one.deletions, AREA)
    lines: Lines = [row(room, left, counts, fill=look.palette.area(AREA))]
    if is_kept and one.note:
        lines.append([(f"    {one.note}", style("muted", AREA))])
    return lines
